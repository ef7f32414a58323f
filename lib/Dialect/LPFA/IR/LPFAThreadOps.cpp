//===- LPFAThreadOps.cpp - Verifiers of the threads stage -----------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lpfa;

LogicalResult SetMaxRegistersOp::verify() {
  int32_t count = getCount();
  if (count < 24 || count > 256 || count % 8 != 0)
    return emitOpError("C1: register count must be a multiple of 8 from 24 to "
                       "256, got ")
           << count;
  return success();
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

static LogicalResult verifyBarrierThreads(Operation *op, int32_t threads) {
  if (threads % 32 != 0)
    return op->emitOpError("C1: threads must be a multiple of 32, got ")
           << threads;
  return success();
}

LogicalResult BarrierSyncOp::verify() {
  return verifyBarrierThreads(*this, getThreads());
}

LogicalResult BarrierArriveOp::verify() {
  return verifyBarrierThreads(*this, getThreads());
}

//===----------------------------------------------------------------------===//
// Bulk copies
//===----------------------------------------------------------------------===//

static LogicalResult verifyRank(Operation *op, size_t rank) {
  if (rank < 1 || rank > 5)
    return op->emitOpError("C1: needs one to five coordinates, got ") << rank;
  return success();
}

LogicalResult BulkTensorLoadOp::verify() {
  return verifyRank(*this, getCoordinates().size());
}

LogicalResult BulkTensorStoreOp::verify() {
  return verifyRank(*this, getCoordinates().size());
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

LogicalResult SharedDescriptorOp::verify() {
  int32_t swizzle = getSwizzle();
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128)
    return emitOpError("C1: swizzle must be 0, 32, 64 or 128, got ") << swizzle;
  auto isOffset = [](int32_t bytes) {
    return bytes >= 0 && bytes <= 262128 && bytes % 16 == 0;
  };
  if (!isOffset(getLeading()))
    return emitOpError("C2: leading must be a multiple of 16 from 0 to 262128, "
                       "got ")
           << getLeading();
  if (!isOffset(getStride()))
    return emitOpError("C2: stride must be a multiple of 16 from 0 to 262128, "
                       "got ")
           << getStride();
  return success();
}

LogicalResult InstructionDescriptorOp::verify() {
  if (getM() != 128)
    return emitOpError("C1: m must be 128, got ") << getM();
  int32_t n = getN();
  if (n < 8 || n > 256 || n % 8 != 0)
    return emitOpError("C1: n must be a multiple of 8 from 8 to 256, got ")
           << n;
  for (auto [type, mnMajor] :
       {std::pair(getAType(), getAMN()), std::pair(getBType(), getBMN())}) {
    if (!isMXElementType(type))
      return emitOpError("C2: no element type of kind mxf8f6f4: ") << type;
    if (mnMajor && type.getIntOrFloatBitWidth() != 8)
      return emitOpError("C3: a tile of ") << type << " cannot be MN-major";
  }
  for (int32_t byte : {getAScaleByte(), getBScaleByte()})
    if (byte < 0 || byte > 3)
      return emitOpError("C4: scale bytes must be from 0 to 3, got ") << byte;
  return success();
}

//===----------------------------------------------------------------------===//
// Tensor memory
//===----------------------------------------------------------------------===//

static LogicalResult verifyColumns(Operation *op, int32_t columns) {
  if (columns < 32 || columns > 512 || !llvm::isPowerOf2_32(columns))
    return op->emitOpError("C1: columns must be 32, 64, 128, 256 or 512, got ")
           << columns;
  return success();
}

LogicalResult Tcgen05AllocOp::verify() {
  return verifyColumns(*this, getColumns());
}

LogicalResult Tcgen05DeallocOp::verify() {
  return verifyColumns(*this, getColumns());
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

LogicalResult Tcgen05LdMaxOp::verify() {
  int64_t columns = getResult().getType().getNumElements();
  int64_t maxima = getMaxima().getType().getNumElements();
  if (columns != 32 * maxima)
    return emitOpError("C1: ") << columns << " columns have " << columns / 32
                               << " maxima, not " << maxima;
  return success();
}

static LogicalResult verifyPacked(Operation *op, VectorType values,
                                  VectorType words, Type format) {
  int64_t length = values.getNumElements();
  int64_t perWord = isa<Float4E2M1FNType>(format) ? 8 : 4;
  if (length % perWord != 0 || words.getNumElements() * perWord != length)
    return op->emitOpError("C1: ")
           << length << " elements do not make " << words.getNumElements()
           << " words of " << perWord;
  return success();
}

LogicalResult ConvertPackedOp::verify() {
  Type format = getFormat();
  if (failed(verifyPacked(*this, getSource().getType(), getResult().getType(),
                          format)))
    return failure();
  FloatRounding rounding = getRounding();
  bool isElement =
      isMXElementType(format) && rounding == FloatRounding::Nearest;
  bool isScale =
      isa<Float8E8M0FNUType>(format) &&
      (rounding == FloatRounding::Up || rounding == FloatRounding::Zero);
  if (!isElement && !isScale)
    return emitOpError("C2: no conversion to ")
           << format << " rounding " << stringifyFloatRounding(rounding);
  return success();
}

LogicalResult ExtendPackedOp::verify() {
  Type format = getFormat();
  if (failed(verifyPacked(*this, getResult().getType(), getSource().getType(),
                          format)))
    return failure();
  if (!isMXElementType(format) && !isa<Float8E8M0FNUType>(format))
    return emitOpError("C2: no conversion from ") << format;
  return success();
}
