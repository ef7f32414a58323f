//===- Softmax.cpp - Masks and the probabilities of a row -----------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread has a row. The numbers are those that `#lpfa.p_scale` defines; the
// maximum M is kept as an integer in an f32, -inf while no key has been seen.
//
//===----------------------------------------------------------------------===//

#include "KernelDistribution.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>

using namespace mlir;
using namespace lpfa;

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

LogicalResult KernelDistribution::lower(ApplyMaskOp op) {
  Value scores = values.lookup(op.getScores());
  auto type = cast<VectorType>(scores.getType());
  int64_t columns = type.getNumElements();
  int64_t rows = op.getScores().getType().getShape()[0];
  MaskAttr mask = op.getMask();
  Value row = values.lookup(op.getRow()), key = values.lookup(op.getKey());
  Value keys = values.lookup(op.getKeys());

  // What the row at the tile's top sees, as columns of the tile: from `first`,
  // before `end`. Both move by one with each row; the end of keys does not.
  Value end = b.sub(keys, key);
  Value diagonal = b.sub(row, key);
  if (mask.getAlignment() == MaskAlignment::BottomRight)
    diagonal = b.add(diagonal, b.sub(keys, values.lookup(op.getRows())));
  Value maskEnd, maskFirst;
  auto isLess = [&](Value x, Value y) {
    return b.compare(arith::CmpIPredicate::slt, x, y);
  };
  Value isPartial = isLess(end, b.index(columns));
  if (mask.hasRightBound()) {
    maskEnd = b.add(diagonal, b.index(mask.getRight() + 1));
    isPartial = b.bitOr(isPartial, isLess(maskEnd, b.index(columns)));
  }
  if (mask.hasLeftBound()) {
    maskFirst = b.sub(diagonal, b.index(mask.getLeft()));
    isPartial = b.bitOr(isPartial, isLess(b.index(1 - rows), maskFirst));
  }

  auto branch = scf::IfOp::create(b, type, isPartial, true, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  auto numbers = llvm::to_vector(llvm::seq<int32_t>(0, columns));
  auto numbersType = VectorType::get(columns, b.getI32Type());
  Value column = arith::ConstantOp::create(
      b, DenseElementsAttr::get(numbersType, ArrayRef<int32_t>(numbers)));
  auto spread = [&](Value x) -> Value {
    return vector::BroadcastOp::create(b, numbersType, x);
  };
  Value rowEnd = b.toI32(end);
  if (maskEnd)
    rowEnd = b.min(rowEnd, b.add(b.toI32(maskEnd), thread));
  Value isVisible = isLess(column, spread(rowEnd));
  if (maskFirst)
    isVisible = b.bitAnd(isVisible,
                         b.compare(arith::CmpIPredicate::sge, column,
                                   spread(b.add(b.toI32(maskFirst), thread))));
  Value hidden =
      arith::ConstantOp::create(b, DenseElementsAttr::get(type, -INFINITY));
  scf::YieldOp::create(b, b.select(isVisible, scores, hidden));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, scores);
  values.map(op.getResult(), branch.getResult(0));
  return success();
}

//===----------------------------------------------------------------------===//
// Probabilities
//===----------------------------------------------------------------------===//

namespace {
/// How a block is quantized: of score s, v = exp2(fma(s, c, bias)), stored is
/// the code of v * inverse; they count v * valueScale and code * codeScale in
/// units of 2^M. No factor is there where it is 1.
struct BlockScale {
  Value bias;
  Value inverse;
  Value valueScale, codeScale;
  Value byte; // i32
};

class SoftmaxBuilder {
public:
  SoftmaxBuilder(ThreadBuilder &b, PScaleAttr pScale, APFloat scale)
      : b(b), pScale(pScale) {
    const llvm::fltSemantics &semantics =
        cast<FloatType>(pScale.getElement()).getFloatSemantics();
    maxNorm = llvm::APFloat::getLargest(semantics).convertToDouble();
    emax = std::ilogb(maxNorm);
    // log2(e)
    c = b.f32(static_cast<float>(scale.convertToDouble() * 1.4426950408889634));
  }

  Value isNone(Value x) {
    return b.compare(arith::CmpFPredicate::OEQ, x, b.f32(-INFINITY));
  }
  /// The smallest integer not below score * c (Up), or the largest not above it
  /// (Down), exactly: in this range f32 has no fractions.
  Value roundProduct(Value score, FloatRounding rounding) {
    Value magic = b.f32(12582912.0f); // 1.5 * 2^23
    Value sum = FmaOp::create(b, score.getType(), rounding, score, c, magic);
    return b.sub(sum, magic);
  }
  /// 2^x of an integer, as bits: 0 for -127.
  Value powerOfTwo(Value x) {
    Value biased = b.add(toInteger(x), b.i32(127));
    return b.toFloat(b.shiftLeft(biased, 23));
  }
  Value toInteger(Value x) {
    return arith::FPToSIOp::create(b, b.getI32Type(), x);
  }
  Value slice(Value vector, int64_t start, int64_t size) {
    return vector::ExtractStridedSliceOp::create(
        b, vector, ArrayRef<int64_t>{start}, ArrayRef<int64_t>{size},
        ArrayRef<int64_t>{1});
  }
  Value spreadLike(Value x, Value vector) {
    return vector::BroadcastOp::create(b, vector.getType(), x);
  }
  /// As three-input maxima.
  Value getMaximum(Value vector);
  /// By halves, so that pairs add at once.
  Value getSum(Value vector);

  BlockScale getScale(Value blockMaximum, Value maximum);
  /// Of one score or a vector of them.
  Value getExponentials(Value scores, Value bias);
  /// A positive normal number as the element type rounds it.
  Value quantize(Value x);

  ThreadBuilder &b;
  PScaleAttr pScale;
  double maxNorm;
  int64_t emax;
  Value c;
};
} // namespace

Value SoftmaxBuilder::getMaximum(Value vector) {
  SmallVector<Value> level;
  int64_t size = cast<VectorType>(vector.getType()).getNumElements();
  for (int64_t i = 0; i < size; ++i)
    level.push_back(vector::ExtractOp::create(b, vector, i));
  while (level.size() > 1) {
    SmallVector<Value> next;
    for (size_t i = 0; i < level.size(); i += 3) {
      Value value = level[i];
      for (size_t j = i + 1; j < std::min(i + 3, level.size()); ++j)
        value = b.max(value, level[j]);
      next.push_back(value);
    }
    level = std::move(next);
  }
  return level.front();
}

Value SoftmaxBuilder::getSum(Value vector) {
  for (int64_t half = cast<VectorType>(vector.getType()).getNumElements() / 2;
       half > 1; half /= 2)
    vector = b.add(slice(vector, 0, half), slice(vector, half, half));
  return b.add(vector::ExtractOp::create(b, vector, 0),
               vector::ExtractOp::create(b, vector, 1));
}

BlockScale SoftmaxBuilder::getScale(Value blockMaximum, Value maximum) {
  BlockScale scale;
  auto negate = [&](Value x) -> Value { return arith::NegFOp::create(b, x); };

  if (pScale.getMode() == PScaleMode::Constant) {
    int64_t exponent = emax - pScale.getLag();
    scale.bias = b.sub(b.f32(exponent), maximum);
    scale.valueScale = scale.codeScale = b.f32(std::ldexp(1.0f, -exponent));
    scale.byte = b.i32(127 - exponent);
    return scale;
  }

  if (pScale.getMode() == PScaleMode::RowMax) {
    Value exponent;
    if (pScale.getRounding() == ScaleRule::Rceil) {
      Value x =
          math::FmaOp::create(b, blockMaximum, c, b.f32(-std::log2(maxNorm)));
      exponent = math::CeilOp::create(b, x);
    } else {
      FloatRounding rounding = pScale.getRounding() == ScaleRule::Floor
                                   ? FloatRounding::Down
                                   : FloatRounding::Up;
      exponent = b.sub(roundProduct(blockMaximum, rounding), b.f32(emax));
    }
    // The byte is not below 0. A block without a key is at -inf until here.
    exponent = b.max(exponent, b.sub(maximum, b.f32(127.0f)));
    Value biased = b.add(toInteger(b.sub(exponent, maximum)), b.i32(127));
    scale.bias = negate(exponent);
    scale.byte = b.min(biased, b.i32(254));
    scale.valueScale = scale.codeScale = b.toFloat(b.shiftLeft(scale.byte, 23));
    return scale;
  }

  // The block's largest value is that of its largest score.
  scale.bias = negate(maximum);
  Value amax = getExponentials(blockMaximum, scale.bias);
  Value byte;
  if (pScale.getRounding() == ScaleRule::Floor) {
    Value exponent = b.shiftRight(b.toBits(amax), 23);
    byte = b.max(b.sub(exponent, b.i32(emax)), b.i32(0));
  } else {
    // Any bit of the mantissa carries into the exponent; below the normal
    // numbers 2^-127 is the last that byte 0 holds.
    Value ratio = b.toBits(b.mul(amax, b.f32(1.0f / float(maxNorm))));
    Value isSubnormal =
        b.compare(arith::CmpIPredicate::ult, ratio, b.i32(1 << 23));
    Value carry = b.select(isSubnormal, b.i32(0x003fffff), b.i32(0x007fffff));
    byte = b.shiftRight(b.add(ratio, carry), 23);
  }
  scale.byte = b.min(byte, b.i32(254));
  scale.codeScale = b.toFloat(b.shiftLeft(scale.byte, 23));
  scale.inverse = b.toFloat(b.shiftLeft(b.sub(b.i32(254), scale.byte), 23));
  return scale;
}

Value SoftmaxBuilder::getExponentials(Value scores, Value bias) {
  Value factor = c;
  if (isa<VectorType>(scores.getType())) {
    factor = spreadLike(c, scores);
    bias = spreadLike(bias, scores);
  }
  Value x = math::FmaOp::create(b, scores, factor, bias);
  return Exp2Op::create(b, x.getType(), x);
}

Value SoftmaxBuilder::quantize(Value x) {
  // To nearest, ties to even, at the last bit of the mantissa that stays.
  int64_t dropped =
      24 - cast<FloatType>(pScale.getElement()).getFPMantissaWidth();
  Value bits = b.toBits(x);
  Value odd = b.bitAnd(b.shiftRight(bits, dropped), b.i32(1));
  Value rounded = b.add(b.add(bits, b.i32((1 << (dropped - 1)) - 1)), odd);
  rounded = b.bitAnd(rounded, b.i32(-(1 << dropped)));
  return b.min(b.toFloat(rounded), b.f32(maxNorm));
}

LogicalResult KernelDistribution::lower(SoftmaxStepOp op) {
  PScaleAttr pScale = op.getPScale();
  if (!isa<Float8E4M3FNType, Float8E5M2Type>(pScale.getElement()))
    return op.emitOpError("makes probabilities of f8E4M3FN and f8E5M2 only");
  FailureOr<Type> codesType = convertType(op, op.getProbabilities().getType());
  if (failed(codesType))
    return failure();
  SoftmaxBuilder softmax(b, pScale, op.getScale());
  Value scores = values.lookup(op.getScores());
  Value oldMaximum = values.lookup(op.getMaximum());
  int64_t blocks =
      cast<VectorType>(scores.getType()).getNumElements() / kBlockSize;

  // The maximum, which rises only when the lag is used up.
  SmallVector<Value> parts, blockMaxima;
  for (int64_t i = 0; i < blocks; ++i) {
    parts.push_back(softmax.slice(scores, i * kBlockSize, kBlockSize));
    blockMaxima.push_back(softmax.getMaximum(parts.back()));
  }
  Value tileMaximum = blockMaxima.front();
  for (Value blockMaximum : llvm::drop_begin(blockMaxima))
    tileMaximum = b.max(tileMaximum, blockMaximum);
  Value largest = b.max(values.lookup(op.getLargest()), tileMaximum);
  Value exponent = softmax.roundProduct(tileMaximum, FloatRounding::Up);
  // A NaN rises too, and spreads over the row.
  Value rises = b.compare(arith::CmpFPredicate::UGT, exponent,
                          b.add(oldMaximum, b.f32(pScale.getLag())));
  Value newMaximum = b.select(rises, exponent, oldMaximum);
  Value maximum = b.select(softmax.isNone(newMaximum), b.f32(0.0f), newMaximum);

  // By what the sums so far shrink: a power of two, 0 below the normal ones.
  Value change = b.max(b.sub(oldMaximum, maximum), b.f32(-127.0f));
  change = b.select(softmax.isNone(oldMaximum), b.f32(0.0f), change);
  Value factor = softmax.powerOfTwo(change);

  Value sum = b.mul(values.lookup(op.getSum()), factor);
  Value codes =
      arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(*codesType)));
  Value bytes;
  auto partType = VectorType::get(kBlockSize / 4, b.getI32Type());
  for (int64_t i = 0; i < blocks; ++i) {
    BlockScale scale = softmax.getScale(blockMaxima[i], maximum);
    Value exponentials = softmax.getExponentials(parts[i], scale.bias);
    Value partSum = softmax.getSum(exponentials);
    sum = scale.valueScale
              ? Value(math::FmaOp::create(b, partSum, scale.valueScale, sum))
              : b.add(sum, partSum);
    if (scale.inverse)
      exponentials =
          b.mul(exponentials, softmax.spreadLike(scale.inverse, exponentials));
    Value part = ConvertPackedOp::create(
        b, partType, exponentials, pScale.getElement(), FloatRounding::Nearest);
    codes = vector::InsertStridedSliceOp::create(
        b, part, codes, ArrayRef<int64_t>{i * kBlockSize / 4},
        ArrayRef<int64_t>{1});
    Value byte = b.shiftLeft(scale.byte, 8 * i);
    bytes = bytes ? b.bitOr(bytes, byte) : byte;
  }
  values.map(op.getProbabilities(), codes);
  values.map(op.getScales(), bytes);
  values.map(op.getNewMaximum(), newMaximum);
  values.map(op.getNewSum(), sum);
  values.map(op.getNewLargest(), largest);
  values.map(op.getFactor(), factor);
  return success();
}

LogicalResult KernelDistribution::lower(SoftmaxFinishOp op) {
  SoftmaxBuilder softmax(b, op.getPScale(), op.getScale());
  Value newMaximum = values.lookup(op.getMaximum());
  Value sum = values.lookup(op.getSum());
  Value largest = values.lookup(op.getLargest());
  Value isNone = softmax.isNone(newMaximum);
  Value maximum = b.select(isNone, b.f32(0.0f), newMaximum);

  // The largest value as it was stored, in place of what it was.
  BlockScale scale = softmax.getScale(largest, maximum);
  Value value = softmax.getExponentials(largest, scale.bias);
  Value stored =
      softmax.quantize(scale.inverse ? b.mul(value, scale.inverse) : value);
  stored = b.mul(stored, scale.codeScale);
  if (scale.valueScale)
    value = b.mul(value, scale.valueScale);
  Value denominator = b.add(sum, b.sub(stored, value));
  values.map(op.getDenominator(), b.select(isNone, b.f32(0.0f), denominator));

  Value logarithm = b.add(maximum, Log2Op::create(b, sum.getType(), sum));
  Value lse = b.mul(logarithm, b.f32(0.69314718055994531f)); // ln 2
  values.map(op.getLse(), b.select(isNone, b.f32(-INFINITY), lse));
  return success();
}
