//===- LPFAMatmulOps.cpp - Verifier and shape of matrix products ----------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lpfa;

static int64_t ceilDiv(int64_t size, int64_t divisor) {
  return ShapedType::isDynamic(size) ? size : llvm::divideCeil(size, divisor);
}

// C4
static LogicalResult verifyScales(MatmulOp op, StringRef name,
                                  RankedTensorType operand,
                                  RankedTensorType scales) {
  SmallVector<int64_t> rowMajor(operand.getShape());
  rowMajor.back() = ceilDiv(rowMajor.back(), kBlockSize);
  SmallVector<int64_t> blocked(rowMajor);
  blocked[blocked.size() - 2] = ceilDiv(blocked[blocked.size() - 2], 128);
  blocked.back() = ceilDiv(blocked.back(), 4);
  llvm::append_range(blocked, ArrayRef<int64_t>{32, 4, 4});
  if (succeeded(verifyCompatibleShape(scales.getShape(), rowMajor)) ||
      succeeded(verifyCompatibleShape(scales.getShape(), blocked)))
    return success();
  return op.emitOpError("expects scales of ")
         << name << " of type "
         << RankedTensorType::get(rowMajor, scales.getElementType())
         << " or, blocked, "
         << RankedTensorType::get(blocked, scales.getElementType())
         << ", but got " << scales << " (C4)";
}

LogicalResult MatmulOp::verify() {
  RankedTensorType a = getA().getType(), b = getB().getType();
  if (a.getRank() != b.getRank() || a.getRank() < 2)
    return emitOpError("expects A and B of one rank, 2 or more, but got ")
           << a << " and " << b << " (C1)";
  if (failed(verifyCompatibleShape(a.getShape().drop_back(2),
                                   b.getShape().drop_back(2))))
    return emitOpError("expects the batch dimensions of A in B, but got ")
           << a << " and " << b << " (C2)";
  if (failed(verifyCompatibleShape(a.getShape().take_back(),
                                   b.getShape().take_back())))
    return emitOpError("expects A and B with one K, but got ")
           << a.getShape().back() << " and " << b.getShape().back() << " (C3)";
  if (failed(verifyScales(*this, "A", a, getAScales().getType())) ||
      failed(verifyScales(*this, "B", b, getBScales().getType())))
    return failure();
  SmallVector<int64_t> shape(a.getShape());
  shape.back() = b.getDimSize(b.getRank() - 2);
  if (getD().getType().getShape() != ArrayRef(shape))
    return emitOpError("expects a result of type ")
           << RankedTensorType::get(shape, getD().getType().getElementType())
           << ", but got " << getD().getType() << " (C5)";
  return success();
}

LogicalResult MatmulOp::reifyResultShapes(OpBuilder &builder,
                                          ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, getLoc(), getA());
  sizes.back() =
      tensor::getMixedSize(builder, getLoc(), getB(), getBatchRank());
  shapes = {std::move(sizes)};
  return success();
}
