//===- Softmax.cpp - Masks and the probabilities of a row -----------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread has a row. The numbers are those that `#lpfa.p_scale` defines. The
// softmax role's issue slots are what a kernel has least of, so integers are
// kept where one instruction serves several ends: M and the exponents of scales
// are f32 with 1.5 * 2^23 added, so that their bits count and one rounding
// multiply-add makes them. M is -inf before the first step.
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
  MaskAttr mask = op.getMask();
  Value row = values.lookup(op.getRow()), key = values.lookup(op.getKey());
  Value keys = values.lookup(op.getKeys());

  // What the row at the tile's top sees, as columns of the tile: from `first`,
  // before `end`. Both move by one with each row; the end of keys does not.
  Value rowEnd = b.toI32(b.sub(keys, key));
  Value diagonal = b.sub(row, key);
  if (mask.getAlignment() == MaskAlignment::BottomRight)
    diagonal = b.add(diagonal, b.sub(keys, values.lookup(op.getRows())));
  if (mask.hasRightBound()) {
    Value end = b.add(diagonal, b.index(mask.getRight() + 1));
    rowEnd = b.min(rowEnd, b.add(b.toI32(end), thread));
  }

  auto numbers = llvm::to_vector(llvm::seq<int32_t>(0, columns));
  auto numbersType = VectorType::get(columns, b.getI32Type());
  Value column = arith::ConstantOp::create(
      b, DenseElementsAttr::get(numbersType, ArrayRef<int32_t>(numbers)));
  auto spread = [&](Value x) -> Value {
    return vector::BroadcastOp::create(b, numbersType, x);
  };
  Value isVisible =
      b.compare(arith::CmpIPredicate::slt, column, spread(rowEnd));
  if (mask.hasLeftBound()) {
    Value first = b.sub(diagonal, b.index(mask.getLeft()));
    isVisible =
        b.bitAnd(isVisible, b.compare(arith::CmpIPredicate::sge, column,
                                      spread(b.add(b.toI32(first), thread))));
  }
  Value hidden =
      arith::ConstantOp::create(b, DenseElementsAttr::get(type, -INFINITY));
  values.map(op.getResult(), b.select(isVisible, scores, hidden));
  return success();
}

//===----------------------------------------------------------------------===//
// Probabilities
//===----------------------------------------------------------------------===//

namespace {
/// 1.5 * 2^23: what an integer is added to so that it stands in the low bits of
/// the sum, which has no fractions. It does where it is below 2^22.
constexpr float kIntegerBase = 12582912.0f;

/// 2^23, which is an M of -2^22: below that of any row.
constexpr float kLowestInteger = 8388608.0f;

/// How a block is quantized: of score s, v = exp2(fma(s, c, bias)), stored is
/// the code of v * inverse; they count v * valueScale and code * codeScale in
/// units of 2^M. No factor is there where it is 1.
struct BlockScale {
  Value bias;
  Value inverse;
  Value valueScale, codeScale;
  /// The scale's byte as an f32's exponent, bits 23 to 30; nothing where all
  /// blocks have the same.
  Value bits;
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
  /// `offset` and the smallest integer not below score * c (Up), or the largest
  /// not above it (Down), on the base of integers.
  Value roundProduct(Value score, FloatRounding rounding, int64_t offset = 0) {
    return FmaOp::create(b, score.getType(), rounding, score, c,
                         b.f32(kIntegerBase + offset));
  }
  /// M of a row with this largest score, on the base of integers.
  Value getMaximumOf(Value largest) {
    return b.max(roundProduct(largest, FloatRounding::Up),
                 b.f32(kLowestInteger));
  }
  /// An integer from the base to an exponent: `integer` * 2^23.
  Value toExponent(Value integer) { return b.shiftLeft(b.toBits(integer), 23); }
  /// `value` minus an integer on the base.
  Value subtractInteger(float value, Value integer) {
    return b.sub(b.f32(kIntegerBase + value), integer);
  }
  Value slice(Value vector, int64_t start, int64_t size) {
    return vector::ExtractStridedSliceOp::create(
        b, vector, ArrayRef<int64_t>{start}, ArrayRef<int64_t>{size},
        ArrayRef<int64_t>{1});
  }
  Value extract(Value vector, int64_t i) {
    return vector::ExtractOp::create(b, vector, i);
  }
  Value spreadLike(Value x, Value vector) {
    return vector::BroadcastOp::create(b, vector.getType(), x);
  }
  SmallVector<Value> getElements(Value vector);
  /// Adds halves to each other until a pair is left.
  Value getPairSum(Value vector);

  /// `maximum` is on the base of integers.
  BlockScale getScale(Value blockMaximum, Value maximum);
  /// Of one score or a vector of them, some of which are polynomials.
  Value getExponentials(Value scores, Value bias, int64_t polynomials = 0,
                        int64_t degree = 0);
  /// 2^x as a polynomial. What is below 2^-126 becomes about that.
  Value getPolynomials(Value x, int64_t degree);
  /// A positive normal number as the element type rounds it.
  Value quantize(Value x);
  /// The bytes of a row's scales, block by block from the lowest.
  Value packBytes(ArrayRef<BlockScale> scales);

  ThreadBuilder &b;
  PScaleAttr pScale;
  double maxNorm;
  int64_t emax;
  Value c;
};
} // namespace

SmallVector<Value> SoftmaxBuilder::getElements(Value vector) {
  SmallVector<Value> elements;
  int64_t size = cast<VectorType>(vector.getType()).getNumElements();
  for (int64_t i = 0; i < size; ++i)
    elements.push_back(extract(vector, i));
  return elements;
}

Value SoftmaxBuilder::getPairSum(Value vector) {
  for (int64_t half = cast<VectorType>(vector.getType()).getNumElements() / 2;
       half > 1; half /= 2)
    vector = b.add(slice(vector, 0, half), slice(vector, half, half));
  return vector;
}

BlockScale SoftmaxBuilder::getScale(Value blockMaximum, Value maximum) {
  BlockScale scale;
  if (pScale.getMode() == PScaleMode::Constant) {
    int64_t exponent = emax - pScale.getLag();
    scale.bias = subtractInteger(exponent, maximum);
    scale.valueScale = scale.codeScale = b.f32(std::ldexp(1.0f, -exponent));
    return scale;
  }

  if (pScale.getMode() == PScaleMode::RowMax) {
    Value exponent;
    if (pScale.getRounding() == ScaleRule::Rceil) {
      Value x =
          math::FmaOp::create(b, blockMaximum, c, b.f32(-std::log2(maxNorm)));
      exponent = AddOp::create(b, x.getType(), FloatRounding::Up, x,
                               b.f32(kIntegerBase));
    } else {
      FloatRounding rounding = pScale.getRounding() == ScaleRule::Floor
                                   ? FloatRounding::Down
                                   : FloatRounding::Up;
      exponent = roundProduct(blockMaximum, rounding, -emax);
    }
    // The byte is not below 0. A block without a key is at -inf until here.
    exponent = b.max(exponent, b.sub(maximum, b.f32(127.0f)));
    scale.bias = subtractInteger(0, exponent);
    // Biased by 127, and not above it: a lag is at most 32.
    scale.bits = b.add(toExponent(exponent),
                       b.sub(b.i32(127 << 23), toExponent(maximum)));
    scale.valueScale = scale.codeScale = b.toFloat(scale.bits);
    return scale;
  }

  // The block's largest value is that of its largest score.
  scale.bias = subtractInteger(0, maximum);
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
  byte = b.min(byte, b.i32(254));
  scale.bits = b.shiftLeft(byte, 23);
  scale.codeScale = b.toFloat(scale.bits);
  scale.inverse = b.toFloat(b.shiftLeft(b.sub(b.i32(254), byte), 23));
  return scale;
}

Value SoftmaxBuilder::getExponentials(Value scores, Value bias,
                                      int64_t polynomials, int64_t degree) {
  Value factor = c;
  if (isa<VectorType>(scores.getType())) {
    factor = spreadLike(c, scores);
    bias = spreadLike(bias, scores);
  }
  Value x = math::FmaOp::create(b, scores, factor, bias);
  if (polynomials == 0)
    return Exp2Op::create(b, x.getType(), x);
  int64_t others = cast<VectorType>(x.getType()).getNumElements() - polynomials;
  Value first = slice(x, 0, others);
  first = Exp2Op::create(b, first.getType(), first);
  Value last = getPolynomials(slice(x, others, polynomials), degree);
  return vector::ShuffleOp::create(
      b, first, last, llvm::to_vector(llvm::seq<int64_t>(0, kBlockSize)));
}

// Minimax polynomials of 2^f on [-1/2, 1/2] for the relative error, by Remez's
// algorithm; that error, with f32 arithmetic, is 7.5e-5 and 2.7e-6.
static ArrayRef<float> getPolynomial(int64_t degree) {
  static const float cubic[] = {0.99992806f, 0.69326097f, 0.24261113f,
                                0.05517167f};
  static const float quartic[] = {0.99999928f, 0.69312179f, 0.24024744f,
                                  0.05591786f, 0.00957010f};
  return degree == 3 ? ArrayRef(cubic) : ArrayRef(quartic);
}

Value SoftmaxBuilder::getPolynomials(Value x, int64_t degree) {
  auto type = cast<VectorType>(x.getType());
  auto splat = [&](float value) -> Value {
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, value));
  };
  // x = n + f, n in the low bits of a sum.
  x = b.max(x, splat(-126.0f));
  Value integer = b.add(x, splat(kIntegerBase));
  Value fraction = b.sub(x, b.sub(integer, splat(kIntegerBase)));
  ArrayRef<float> coefficients = getPolynomial(degree);
  Value result = splat(coefficients.back());
  for (float coefficient : llvm::reverse(coefficients.drop_back()))
    result = math::FmaOp::create(b, result, fraction, splat(coefficient));
  // The exponent grows by n. A NaN may become a number here; but it is in the
  // row's maximum, and with that in the other exponentials.
  auto bitsType = VectorType::get(type.getShape(), b.getI32Type());
  auto toBits = [&](Value value) -> Value {
    return arith::BitcastOp::create(b, bitsType, value);
  };
  Value by = arith::ConstantOp::create(
      b, DenseElementsAttr::get(bitsType, b.getI32IntegerAttr(23)));
  Value exponent = arith::ShLIOp::create(b, toBits(integer), by);
  return arith::BitcastOp::create(b, type, b.add(toBits(result), exponent));
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

Value SoftmaxBuilder::packBytes(ArrayRef<BlockScale> scales) {
  if (pScale.getMode() == PScaleMode::Constant) {
    uint32_t byte = 127 - (emax - pScale.getLag());
    uint32_t bytes = 0;
    for (size_t i = 0; i < scales.size(); ++i)
      bytes |= byte << 8 * i;
    return b.i32(static_cast<int32_t>(bytes));
  }
  Value bytes;
  for (auto [i, scale] : llvm::enumerate(scales)) {
    // The other bits are 0.
    int64_t shift = 8 * int64_t(i) - 23;
    Value byte = shift < 0 ? b.shiftRight(scale.bits, -shift)
                           : b.shiftLeft(scale.bits, shift);
    bytes = bytes ? b.bitOr(bytes, byte) : byte;
  }
  return bytes;
}

/// The blocks of a row of scores.
static SmallVector<Value> getBlocks(SoftmaxBuilder &softmax, Value scores) {
  SmallVector<Value> blocks;
  int64_t size = cast<VectorType>(scores.getType()).getNumElements();
  for (int64_t i = 0; i < size; i += kBlockSize)
    blocks.push_back(softmax.slice(scores, i, kBlockSize));
  return blocks;
}

LogicalResult KernelDistribution::lower(SoftmaxMaximumOp op) {
  PScaleAttr pScale = op.getPScale();
  SoftmaxBuilder softmax(b, pScale, op.getScale());
  Value scores = values.lookup(op.getScores());
  Value oldMaximum = values.lookup(op.getMaximum());

  // Maxima of blocks where their scales come from them, else only of the row.
  SmallVector<Value> &blockMaxima = rowMaxima[scores];
  SmallVector<Value> candidates = {values.lookup(op.getLargest())};
  if (blockMaxima.empty() && pScale.getMode() != PScaleMode::Constant)
    for (Value block : getBlocks(softmax, scores))
      blockMaxima.push_back(b.max(softmax.getElements(block)));
  if (blockMaxima.empty())
    llvm::append_range(candidates, softmax.getElements(scores));
  else
    llvm::append_range(candidates, blockMaxima);
  Value largest = b.max(candidates);

  // M rises only when the lag is used up; what it is then comes from this tile,
  // as the scores before did not use it up. A NaN rises too, and spreads over
  // the row.
  Value maximum = softmax.getMaximumOf(largest);
  if (pScale.getLag() > 0) {
    Value rises = b.compare(arith::CmpFPredicate::UGT, maximum,
                            b.add(oldMaximum, b.f32(pScale.getLag())));
    maximum = b.select(rises, maximum, oldMaximum);
  }

  // By what the sums so far shrink: a power of two, 0 below the normal ones and
  // where M was -inf.
  Value change =
      b.max(b.sub(b.toBits(oldMaximum), b.toBits(maximum)), b.i32(-127));
  Value factor = b.toFloat(b.add(b.shiftLeft(change, 23), b.i32(127 << 23)));

  values.map(op.getNewMaximum(), maximum);
  values.map(op.getNewLargest(), largest);
  values.map(op.getFactor(), factor);
  return success();
}

LogicalResult KernelDistribution::lower(SoftmaxProbabilitiesOp op) {
  PScaleAttr pScale = op.getPScale();
  if (!isa<Float8E4M3FNType, Float8E5M2Type>(pScale.getElement()))
    return op.emitOpError("makes probabilities of f8E4M3FN and f8E5M2 only");
  FailureOr<Type> codesType = convertType(op, op.getProbabilities().getType());
  if (failed(codesType))
    return failure();
  SoftmaxBuilder softmax(b, pScale, op.getScale());
  Value scores = values.lookup(op.getScores());
  Value maximum = values.lookup(op.getMaximum());
  Value factor = values.lookup(op.getFactor());
  bool isConstant = pScale.getMode() == PScaleMode::Constant;
  ArrayRef<Value> blockMaxima = rowMaxima[scores];
  if (blockMaxima.empty() && !isConstant)
    return op.emitOpError("must follow the maximum of its scores");

  // The scales of all blocks; of those in the part the sum of values, as a pair
  // until the end.
  const int64_t partBlocks =
      op.getProbabilities().getType().getShape()[1] / kBlockSize;
  const int64_t first = op.getPart().value_or(0) * partBlocks;
  SmallVector<BlockScale> scales;
  SmallVector<Value> sums;
  Value codes =
      arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(*codesType)));
  auto partType = VectorType::get(kBlockSize / 4, b.getI32Type());
  for (auto [i, block] : llvm::enumerate(getBlocks(softmax, scores))) {
    BlockScale scale =
        softmax.getScale(isConstant ? Value() : blockMaxima[i], maximum);
    scales.push_back(scale);
    const int64_t inPart = int64_t(i) - first;
    if (inPart < 0 || inPart >= partBlocks)
      continue;
    Value exponentials = softmax.getExponentials(
        block, scale.bias, op.getPolynomialColumns().value_or(0),
        op.getPolynomialDegree().value_or(0));
    sums.push_back(softmax.getPairSum(exponentials));
    if (scale.inverse)
      exponentials =
          b.mul(exponentials, softmax.spreadLike(scale.inverse, exponentials));
    Value part = ConvertPackedOp::create(
        b, partType, exponentials, pScale.getElement(), FloatRounding::Nearest);
    codes = vector::InsertStridedSliceOp::create(
        b, part, codes, ArrayRef<int64_t>{inPart * kBlockSize / 4},
        ArrayRef<int64_t>{1});
  }
  Value pair;
  for (auto [sum, scale] :
       llvm::zip(sums, ArrayRef(scales).slice(first, partBlocks))) {
    bool isScaled = scale.valueScale && !isConstant;
    if (!pair)
      pair = isScaled ? b.mul(sum, softmax.spreadLike(scale.valueScale, sum))
                      : sum;
    else if (isScaled)
      pair = math::FmaOp::create(
          b, sum, softmax.spreadLike(scale.valueScale, sum), pair);
    else
      pair = b.add(pair, sum);
  }
  Value tileSum = b.add(softmax.extract(pair, 0), softmax.extract(pair, 1));
  if (isConstant)
    tileSum = b.mul(tileSum, scales.front().valueScale);
  Value sum = values.lookup(op.getSum());
  sum = first == 0 ? math::FmaOp::create(b, sum, factor, tileSum).getResult()
                   : b.add(sum, tileSum);

  values.map(op.getProbabilities(), codes);
  values.map(op.getScales(), softmax.packBytes(scales));
  values.map(op.getNewSum(), sum);
  return success();
}

LogicalResult KernelDistribution::lower(SoftmaxFinishOp op) {
  SoftmaxBuilder softmax(b, op.getPScale(), op.getScale());
  Value maximum = values.lookup(op.getMaximum());
  Value sum = values.lookup(op.getSum());
  Value largest = values.lookup(op.getLargest());
  Value isNone = softmax.isNone(largest);

  // The largest value as it was stored, in place of what it was.
  BlockScale scale = softmax.getScale(largest, maximum);
  Value value = softmax.getExponentials(largest, scale.bias);
  Value stored =
      softmax.quantize(scale.inverse ? b.mul(value, scale.inverse) : value);
  stored = b.mul(stored, scale.codeScale);
  if (scale.valueScale)
    value = b.mul(value, scale.valueScale);
  Value denominator = b.add(sum, b.sub(stored, value));

  // A row whose largest x is not within the range of integers counts as NaN.
  Value x = softmax.roundProduct(largest, FloatRounding::Up);
  Value isInside = b.bitAnd(
      b.compare(arith::CmpFPredicate::OGT, x, b.f32(kLowestInteger)),
      b.compare(arith::CmpFPredicate::OLT, x, b.f32(2 * kLowestInteger)));
  denominator = b.select(isInside, denominator, b.f32(NAN));
  sum = b.select(isInside, sum, b.f32(NAN));
  values.map(op.getDenominator(), b.select(isNone, b.f32(0.0f), denominator));

  Value logarithm = b.add(b.sub(maximum, b.f32(kIntegerBase)),
                          Log2Op::create(b, sum.getType(), sum));
  Value lse = b.mul(logarithm, b.f32(0.69314718055994531f)); // ln 2
  values.map(op.getLse(), b.select(isNone, b.f32(-INFINITY), lse));
  return success();
}
