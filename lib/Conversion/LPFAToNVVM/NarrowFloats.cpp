//===- NarrowFloats.cpp - Conversions to and from narrow floats ---------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NarrowFloats.h"
#include "lpfa/Dialect/LPFA/Utils/NarrowFloats.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace lpfa;

std::optional<TargetModel> lpfa::getTargetModel(gpu::GPUModuleOp gpuModule) {
  if (ArrayAttr targets = gpuModule.getTargetsAttr())
    for (Attribute attr : targets)
      if (auto target = dyn_cast<NVVM::NVVMTargetAttr>(attr))
        return TargetModel::get(target.getChip());
  return std::nullopt;
}

/// Whether the chip converts to and from `format` by an instruction.
static bool hasInstruction(Operation *op, Type format) {
  if (isa<Float8E4M3FNType, Float8E5M2Type>(format))
    return true;
  std::optional<TargetModel> model =
      getTargetModel(op->getParentOfType<gpu::GPUModuleOp>());
  return !model || model->hasNarrowFloatConversions();
}

namespace {
/// Builds the conversions of one op.
class PackedBuilder : public ImplicitLocOpBuilder {
public:
  PackedBuilder(OpBuilder &builder, Operation *op, Type format)
      : ImplicitLocOpBuilder(op->getLoc(), builder),
        format(cast<FloatType>(format)), i32(getI32Type()) {}

  int64_t getCodesPerWord() const {
    return isa<Float4E2M1FNType>(format) ? 8 : 4;
  }
  Value constant(int64_t value) {
    return arith::ConstantOp::create(*this, getI32IntegerAttr(value));
  }
  Value extract(Value vector, int64_t i) {
    return LLVM::ExtractElementOp::create(*this, vector, constant(i));
  }
  Value insert(Value vector, Value element, int64_t i) {
    return LLVM::InsertElementOp::create(*this, vector, element, constant(i));
  }
  Value shiftLeft(Value word, int64_t by) {
    return by ? arith::ShLIOp::create(*this, word, constant(by)) : word;
  }
  Value shiftRight(Value word, int64_t by) {
    return by ? arith::ShRUIOp::create(*this, word, constant(by)) : word;
  }
  Value bitOr(Value x, Value y) {
    return x ? arith::OrIOp::create(*this, x, y) : y;
  }

  Value bitAnd(Value x, int64_t mask) {
    return arith::AndIOp::create(*this, x, constant(int32_t(mask)));
  }
  Value f32(float value) {
    return arith::ConstantOp::create(*this, getF32FloatAttr(value));
  }

  Value packByInstruction(ArrayRef<Value> values, FloatType type,
                          NVVM::FPRoundingMode rounding);
  /// Four elements of six bits by the conversion to eight bits.
  Value packSixBits(ArrayRef<Value> values);
  /// Eight f4E2M1FN.
  Value packFourBits(ArrayRef<Value> values);
  /// Four f8E8M0FNU, rounded up.
  Value packScales(ArrayRef<Value> values);
  SmallVector<Value> unpackByInstruction(Value word, FloatType type);
  SmallVector<Value> unpackSixBits(Value word);
  SmallVector<Value> unpackFourBits(Value word);
  SmallVector<Value> unpackScales(Value word);

  Value pack(ArrayRef<Value> values, NVVM::FPRoundingMode rounding,
             bool byInstruction);
  SmallVector<Value> unpack(Value word, bool byInstruction);

private:
  /// x within the format's range; NaN becomes the largest number.
  Value clamp(Value x);
  /// An f8 type with as many mantissa bits as a format of six bits, and the
  /// exponent of what its values are larger by for the same exponent field.
  std::pair<FloatType, int> getCarrier();

  FloatType format;
  Type i32;
};
} // namespace

Value PackedBuilder::clamp(Value x) {
  float largest =
      APFloat::getLargest(format.getFloatSemantics()).convertToFloat();
  // In this order NaN becomes positive.
  x = arith::MinNumFOp::create(*this, x, f32(largest));
  return arith::MaxNumFOp::create(*this, x, f32(-largest));
}

std::pair<FloatType, int> PackedBuilder::getCarrier() {
  if (isa<Float6E3M2FNType>(format))
    return {Float8E5M2Type::get(getContext()), 12};
  return {Float8E4M3FNType::get(getContext()), 6};
}

Value PackedBuilder::packByInstruction(ArrayRef<Value> values, FloatType type,
                                       NVVM::FPRoundingMode rounding) {
  if (type.getWidth() < 8) {
    // By shifts, which LLVM joins with those that close the gaps of six bits.
    bool isFour = isa<Float4E2M1FNType>(type);
    Value word;
    for (int64_t i = 0, e = getCodesPerWord(); i < e; i += 2) {
      // The first operand becomes the upper half.
      Value pair;
      if (isFour)
        pair = NVVM::ConvertF32x2ToF4x2Op::create(*this, getI8Type(),
                                                  values[i + 1], values[i],
                                                  /*relu=*/false, type);
      else
        pair = NVVM::ConvertF32x2ToF6x2Op::create(*this, getI16Type(),
                                                  values[i + 1], values[i],
                                                  /*relu=*/false, type);
      Value wide = arith::ExtUIOp::create(*this, i32, pair);
      word = bitOr(word, shiftLeft(wide, 32 / e * i));
    }
    return word;
  }
  // A word of its own for each two pairs: LLVM joins pairs of wider vectors
  // with 64-bit shifts.
  Value pairs = LLVM::PoisonOp::create(*this, VectorType::get(2, getI16Type()));
  for (int64_t half = 0; half < 2; ++half) {
    Value pair = NVVM::ConvertF32x2ToF8x2Op::create(
        *this, getI16Type(), values[2 * half + 1], values[2 * half], rounding,
        NVVM::SaturationMode::SATFINITE, /*relu=*/false, type);
    pairs = insert(pairs, pair, half);
  }
  return LLVM::BitcastOp::create(*this, i32, pairs);
}

Value PackedBuilder::packSixBits(ArrayRef<Value> values) {
  auto [carrier, exponent] = getCarrier();
  SmallVector<Value> scaled;
  for (Value x : values)
    scaled.push_back(arith::MulFOp::create(*this, clamp(x),
                                           f32(std::ldexp(1.0f, -exponent))));
  Value word = packByInstruction(scaled, carrier, NVVM::FPRoundingMode::RN);
  return bitOr(bitAnd(word, 0x1f1f1f1f),
               bitAnd(shiftRight(word, 2), 0x20202020));
}

Value PackedBuilder::packFourBits(ArrayRef<Value> values) {
  Value word;
  for (auto [i, x] : llvm::enumerate(values)) {
    Value clamped = clamp(x);
    Value bits = arith::BitcastOp::create(*this, i32, clamped);
    Value magnitude =
        arith::BitcastOp::create(*this, getF32Type(), bitAnd(bits, 0x7fffffff));
    // The power of two below, at least 1, and half of it as the last place of a
    // number that the addition rounds to.
    Value power = arith::MaxUIOp::create(*this, bitAnd(bits, 0x7f800000),
                                         constant(0x3f800000));
    Value anchor = arith::AddIOp::create(*this, power, constant(22 << 23));
    Value sum = arith::AddFOp::create(
        *this, magnitude,
        arith::BitcastOp::create(*this, getF32Type(), anchor));
    Value halves = arith::SubIOp::create(
        *this, arith::BitcastOp::create(*this, i32, sum), anchor);
    // Each power of two begins two codes further.
    Value steps = shiftRight(
        arith::SubIOp::create(*this, power, constant(0x3f800000)), 22);
    Value code = bitOr(arith::AddIOp::create(*this, halves, steps),
                       bitAnd(shiftRight(bits, 28), 8));
    word = bitOr(word, shiftLeft(code, 4 * i));
  }
  return word;
}

Value PackedBuilder::packScales(ArrayRef<Value> values) {
  Value word;
  for (auto [i, x] : llvm::enumerate(values))
    word =
        bitOr(word, shiftLeft(emitEncode(*this, getLoc(), x, format), 8 * i));
  return word;
}

SmallVector<Value> PackedBuilder::unpackByInstruction(Value word,
                                                      FloatType type) {
  SmallVector<Value> values;
  auto halves = VectorType::get(2, getF16Type());
  auto bytes = VectorType::get(2, getI8Type());
  for (int64_t i = 0, e = isa<Float4E2M1FNType>(type) ? 8 : 4; i < e; i += 2) {
    Value shifted = shiftRight(word, 32 / e * i);
    Value pair;
    if (isa<Float4E2M1FNType>(type)) {
      Value byte = arith::TruncIOp::create(*this, getI8Type(), shifted);
      pair = NVVM::ConvertF4x2ToF16x2Op::create(*this, halves, byte,
                                                /*relu=*/false, type);
    } else {
      Value half = arith::TruncIOp::create(*this, getI16Type(), shifted);
      Value codes = LLVM::BitcastOp::create(*this, bytes, half);
      if (type.getWidth() == 6)
        pair = NVVM::ConvertF6x2ToF16x2Op::create(*this, halves, codes,
                                                  /*relu=*/false, type);
      else
        pair = NVVM::ConvertF8x2ToF16x2Op::create(*this, halves, codes,
                                                  /*relu=*/false, type);
    }
    for (int64_t k = 0; k < 2; ++k)
      values.push_back(
          arith::ExtFOp::create(*this, getF32Type(), extract(pair, k)));
  }
  return values;
}

SmallVector<Value> PackedBuilder::unpackSixBits(Value word) {
  auto [carrier, exponent] = getCarrier();
  Value codes =
      bitOr(bitAnd(word, 0x1f1f1f1f), shiftLeft(bitAnd(word, 0x20202020), 2));
  SmallVector<Value> values = unpackByInstruction(codes, carrier);
  for (Value &x : values)
    x = arith::MulFOp::create(*this, x, f32(std::ldexp(1.0f, exponent)));
  return values;
}

SmallVector<Value> PackedBuilder::unpackFourBits(Value word) {
  // As f8E5M2: the last mantissa bit 0, exponents 14 smaller.
  SmallVector<Value> halves[2], values;
  for (int64_t odd = 0; odd < 2; ++odd) {
    Value nibbles = shiftRight(word, 4 * odd);
    Value codes = bitOr(shiftLeft(bitAnd(nibbles, 0x07070707), 1),
                        shiftLeft(bitAnd(nibbles, 0x08080808), 4));
    halves[odd] = unpackByInstruction(codes, Float8E5M2Type::get(getContext()));
  }
  for (int64_t i = 0; i < 8; ++i)
    values.push_back(arith::MulFOp::create(*this, halves[i % 2][i / 2],
                                           f32(std::ldexp(1.0f, 14))));
  return values;
}

SmallVector<Value> PackedBuilder::unpackScales(Value word) {
  SmallVector<Value> values;
  for (int64_t i = 0; i < 4; ++i) {
    Value code = bitAnd(shiftRight(word, 8 * i), 0xff);
    values.push_back(emitDecode(*this, getLoc(), code, format));
  }
  return values;
}

Value PackedBuilder::pack(ArrayRef<Value> values, NVVM::FPRoundingMode rounding,
                          bool byInstruction) {
  if (byInstruction)
    return packByInstruction(values, format, rounding);
  if (format.getWidth() == 8)
    return packScales(values);
  return format.getWidth() == 6 ? packSixBits(values) : packFourBits(values);
}

SmallVector<Value> PackedBuilder::unpack(Value word, bool byInstruction) {
  if (byInstruction)
    return unpackByInstruction(word, format);
  if (format.getWidth() == 8)
    return unpackScales(word);
  return format.getWidth() == 6 ? unpackSixBits(word) : unpackFourBits(word);
}

Value lpfa::buildConvertPacked(OpBuilder &builder, ConvertPackedOp op) {
  Type format = op.getFormat();
  NVVM::FPRoundingMode rounding = NVVM::FPRoundingMode::RN;
  if (op.getRounding() == FloatRounding::Up)
    rounding = NVVM::FPRoundingMode::RP;
  else if (op.getRounding() == FloatRounding::Zero)
    rounding = NVVM::FPRoundingMode::RZ;
  bool byInstruction = hasInstruction(op, format);
  if (!byInstruction && op.getRounding() == FloatRounding::Zero)
    return {};

  PackedBuilder b(builder, op, format);
  Value result = LLVM::PoisonOp::create(b, op.getType());
  for (int64_t i = 0, e = op.getType().getNumElements(); i < e; ++i) {
    SmallVector<Value> values;
    for (int64_t k = 0; k < b.getCodesPerWord(); ++k)
      values.push_back(b.extract(op.getSource(), i * b.getCodesPerWord() + k));
    Value word = b.pack(values, rounding, byInstruction);
    result = b.insert(result, word, i);
  }
  return result;
}

Value lpfa::buildExtendPacked(OpBuilder &builder, ExtendPackedOp op) {
  Type format = op.getFormat();
  // There is none from f8E8M0FNU to f32.
  bool byInstruction =
      !isa<Float8E8M0FNUType>(format) && hasInstruction(op, format);
  PackedBuilder b(builder, op, format);
  Value result = LLVM::PoisonOp::create(b, op.getType());
  int64_t position = 0;
  for (int64_t i = 0, e = op.getSource().getType().getNumElements(); i < e;
       ++i) {
    Value word = b.extract(op.getSource(), i);
    for (Value value : b.unpack(word, byInstruction))
      result = b.insert(result, value, position++);
  }
  return result;
}
