//===- Attention.cpp - The meaning of lpfa.attention ----------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes attention as the plain loops over sequences, heads and query rows, one
// whole row of scores at a time:
//
//   for each sequence, KV head:
//     K^T, V = dequantized                        f32
//     for each of the head's query heads, row:
//       s = q K^T                                 f64 sums, rounded to f32
//       for each block of 32 keys:
//         p, l = exponentials, quantized          f64
//       O = p V / l                               f64 sums, rounded to f32
//
// The products of codes are exact in f64, so the order of summation changes
// next to nothing, and the innermost loops run over keys (K^T) and over the
// head dimension (V), where vectorization needs no reassociation. Only visible
// keys take part: what stands in V for a hidden key has no influence.
//
//===----------------------------------------------------------------------===//

#include "lpfa/Conversion/LPFAToLinalg/LPFAToLinalg.h"
#include "lpfa/Dialect/LPFA/Utils/SizeChecks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>

using namespace mlir;
using namespace lpfa;

namespace {

constexpr int64_t kBlockSize = 32;

/// Builds scalar arithmetic; index, f32 and f64 alike.
class ScalarBuilder : public ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(*this, value);
  }
  Value f32(float value) {
    return arith::ConstantOp::create(*this, getF32FloatAttr(value));
  }
  Value f64(double value) {
    return arith::ConstantOp::create(*this, getF64FloatAttr(value));
  }

  Value add(Value x, Value y) {
    return binary<arith::AddIOp, arith::AddFOp>(x, y);
  }
  Value sub(Value x, Value y) {
    return binary<arith::SubIOp, arith::SubFOp>(x, y);
  }
  Value mul(Value x, Value y) {
    return binary<arith::MulIOp, arith::MulFOp>(x, y);
  }
  Value min(Value x, Value y) {
    return binary<arith::MinSIOp, arith::MinimumFOp>(x, y);
  }
  Value max(Value x, Value y) {
    return binary<arith::MaxSIOp, arith::MaximumFOp>(x, y);
  }
  /// Of indices that are not negative.
  Value div(Value x, int64_t y) {
    return arith::DivUIOp::create(*this, x, index(y));
  }
  Value rem(Value x, int64_t y) {
    return arith::RemUIOp::create(*this, x, index(y));
  }
  Value ceilDiv(Value x, int64_t y) { return div(add(x, index(y - 1)), y); }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(*this, condition, x, y);
  }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(*this, predicate, x, y);
  }

  Value toF64(Value x) { return arith::ExtFOp::create(*this, getF64Type(), x); }
  Value toF32(Value x) {
    return arith::TruncFOp::create(*this, getF32Type(), x);
  }
  /// 2^x, rounded to f32 from f64 so that it is correctly rounded.
  Value exp2(Value x) { return toF32(math::Exp2Op::create(*this, toF64(x))); }

  Value dim(Value tensor, int64_t dimension) {
    return createOrFold<tensor::DimOp>(getLoc(), tensor, dimension);
  }
  Value empty(ArrayRef<OpFoldResult> sizes, Type elementType) {
    return tensor::EmptyOp::create(*this, sizes, elementType);
  }
  Value fill(Value value, Value tensor) {
    return linalg::FillOp::create(*this, value, tensor).getResult(0);
  }

  /// A loop over [from, to) that carries `inits`; `body` returns the next
  /// values.
  SmallVector<Value>
  loop(Value from, Value to, ValueRange inits,
       function_ref<SmallVector<Value>(Value, ValueRange)> body) {
    auto loop = scf::ForOp::create(
        *this, from, to, index(1), inits,
        [&](OpBuilder &, Location, Value iv, ValueRange carried) {
          // The callback's builder is this one, moved into the loop.
          scf::YieldOp::create(*this, body(iv, carried));
        });
    return SmallVector<Value>(loop.getResults());
  }

  /// A tensor computed element by element.
  Value generate(ArrayRef<OpFoldResult> sizes, Type elementType,
                 function_ref<Value(ValueRange)> element) {
    unsigned rank = sizes.size();
    auto map = getMultiDimIdentityMap(rank);
    SmallVector<utils::IteratorType> iterators(rank,
                                               utils::IteratorType::parallel);
    Value init = empty(sizes, elementType);
    auto op = linalg::GenericOp::create(
        *this, init.getType(), ValueRange(), init, map, iterators,
        [&](OpBuilder &, Location, ValueRange) {
          SmallVector<Value> indices;
          for (unsigned i = 0; i < rank; ++i)
            indices.push_back(linalg::IndexOp::create(*this, i));
          linalg::YieldOp::create(*this, element(indices));
        });
    return op.getResult(0);
  }

  /// The row vector x times `matrix`, summed in f64, with the loop over
  /// columns innermost.
  Value vectorTimesMatrix(Value x, Value matrix, OpFoldResult columns) {
    MLIRContext *context = getContext();
    AffineExpr row, column;
    bindDims(context, row, column);
    AffineMap maps[] = {AffineMap::get(2, 0, row),
                        AffineMap::get(2, 0, {row, column}, context),
                        AffineMap::get(2, 0, column)};
    utils::IteratorType iterators[] = {utils::IteratorType::reduction,
                                       utils::IteratorType::parallel};
    Value sum = fill(f64(0), empty(columns, getF64Type()));
    auto widen = [&](Value v) { return v.getType().isF64() ? v : toF64(v); };
    auto op = linalg::GenericOp::create(
        *this, sum.getType(), ValueRange{x, matrix}, sum, maps, iterators,
        [&](OpBuilder &, Location, ValueRange in) {
          Value product = mul(widen(in[0]), widen(in[1]));
          linalg::YieldOp::create(*this, add(in[2], product));
        });
    return op.getResult(0);
  }

private:
  template <typename IntegerOp, typename FloatOp>
  Value binary(Value x, Value y) {
    if (isa<FloatType>(x.getType()))
      return FloatOp::create(*this, x, y);
    return IntegerOp::create(*this, x, y);
  }
};

/// Where the sequence at hand lies in the operands.
struct Sequence {
  Value batch;
  /// First query and key, and how many.
  Value query, queries, key, keys;
  /// First group of V's row-major scales, and first atom of 128 in the blocked
  /// scales of Q and those of K and V.
  Value group, queryAtom, keyAtom;
};

/// How a block of P is quantized: an unquantized value is
/// v = exp2(fma(s, c, bias)), its code encode(v * inverse), and they count
/// v * valueScale and decode(code) * codeScale, in units of 2^M.
struct BlockScale {
  Value bias, inverse;         // f32
  Value codeScale, valueScale; // f64
};

class AttentionLowering {
public:
  AttentionLowering(PatternRewriter &rewriter, AttentionOp op)
      : b(op.getLoc(), rewriter), op(op), pScale(op.getPScale()) {
    const llvm::fltSemantics &semantics =
        cast<FloatType>(pScale.getElement()).getFloatSemantics();
    maxNorm = llvm::APFloat::getLargest(semantics).convertToDouble();
    emax = std::ilogb(maxNorm);
    c = b.f32(static_cast<float>(op.getScale().convertToDouble() *
                                 1.4426950408889634));
  }

  SmallVector<Value> lower();

private:
  void require(Value condition, StringRef message) {
    emitCheck(b, op, condition, message);
  }

  SmallVector<Value> lowerSequence(const Sequence &sequence,
                                   ValueRange results);
  SmallVector<Value> lowerRow(const Sequence &sequence, Value head, Value row,
                              Value keysTransposed, Value values,
                              ValueRange results);
  Value dequantize(Value elements, Value scales, ValueRange elementIndices,
                   Value scaleRow, Value scaleGroup, Value firstAtom,
                   bool alongSequence, Value firstGroup);
  std::pair<Value, Value> visibleKeys(const Sequence &sequence, Value row);
  Value rowMaximum(Value scores, Value from, Value to);
  BlockScale blockScale(Value blockMaximum, Value rowExponent);
  Value exponential(Value score, const BlockScale &scale);
  Value quantized(Value value, const BlockScale &scale);

  ScalarBuilder b;
  AttentionOp op;
  PScaleAttr pScale;
  double maxNorm;
  int emax;
  Value c;
};

} // namespace

//===----------------------------------------------------------------------===//
// Sequences and heads
//===----------------------------------------------------------------------===//

SmallVector<Value> AttentionLowering::lower() {
  emitSizeChecks(b, op);

  auto init = [&](Value value, Type type) {
    auto tensorType = cast<RankedTensorType>(type);
    SmallVector<OpFoldResult> sizes;
    for (auto [dimension, size] : llvm::enumerate(tensorType.getShape())) {
      if (!ShapedType::isDynamic(size))
        sizes.push_back(b.getIndexAttr(size));
      else
        sizes.push_back(
            b.dim(dimension == 3 ? op.getV() : op.getQ(), dimension));
    }
    return b.fill(value, b.empty(sizes, tensorType.getElementType()));
  };
  Type outputType = op.getOutput().getType().getElementType();
  Value zero = arith::ConstantOp::create(b, b.getFloatAttr(outputType, 0.0));
  SmallVector<Value> results = {init(zero, op.getOutput().getType()),
                                init(b.f32(-INFINITY), op.getLse().getType())};

  Value first = b.index(0);
  if (!op.isJagged())
    return b.loop(first, b.dim(op.getQ(), 0), results,
                  [&](Value batch, ValueRange carried) {
                    Sequence sequence;
                    sequence.batch = batch;
                    sequence.query = sequence.key = first;
                    sequence.queries = b.dim(op.getQ(), 2);
                    sequence.keys = b.dim(op.getK(), 2);
                    sequence.group = first;
                    sequence.queryAtom = sequence.keyAtom = first;
                    return lowerSequence(sequence, carried);
                  });

  Value count = b.sub(b.dim(op.getQOffsets(), 0), b.index(1));
  results.append(3, first); // group, queryAtom, keyAtom
  results = b.loop(first, count, results, [&](Value g, ValueRange carried) {
    auto span = [&](Value offsets, Value operand) {
      auto at = [&](Value position) -> Value {
        Value offset = tensor::ExtractOp::create(b, offsets, position);
        return arith::IndexCastOp::create(b, b.getIndexType(), offset);
      };
      Value begin = at(g), end = at(b.add(g, b.index(1)));
      const char *message = "the offsets do not rise from 0 to at most the "
                            "length of the packed operands";
      require(b.compare(arith::CmpIPredicate::sge, begin, first), message);
      require(b.compare(arith::CmpIPredicate::sle, begin, end), message);
      require(b.compare(arith::CmpIPredicate::sle, end, b.dim(operand, 2)),
              message);
      return std::make_pair(begin, b.sub(end, begin));
    };
    Sequence sequence;
    sequence.batch = first;
    std::tie(sequence.query, sequence.queries) =
        span(op.getQOffsets(), op.getQ());
    std::tie(sequence.key, sequence.keys) = span(op.getKvOffsets(), op.getK());
    sequence.group = carried[2];
    sequence.queryAtom = carried[3];
    sequence.keyAtom = carried[4];

    Value nextGroup =
        b.add(sequence.group, b.ceilDiv(sequence.keys, kBlockSize));
    Value nextQueryAtom =
        b.add(sequence.queryAtom, b.ceilDiv(sequence.queries, 128));
    Value nextKeyAtom = b.add(sequence.keyAtom, b.ceilDiv(sequence.keys, 128));
    auto fits = [&](Value scales, int64_t dimension, Value end) {
      require(
          b.compare(arith::CmpIPredicate::sle, end, b.dim(scales, dimension)),
          "(C7) the scales are too few for the sequences");
    };
    if (AttentionOp::isBlocked(op.getQScales()))
      fits(op.getQScales(), 2, nextQueryAtom);
    if (AttentionOp::isBlocked(op.getKScales()))
      fits(op.getKScales(), 2, nextKeyAtom);
    if (AttentionOp::isBlocked(op.getVScales()))
      fits(op.getVScales(), 3, nextKeyAtom);
    else
      fits(op.getVScales(), 2, nextGroup);

    SmallVector<Value> next = lowerSequence(sequence, carried.take_front(2));
    next.append({nextGroup, nextQueryAtom, nextKeyAtom});
    return next;
  });
  results.truncate(2);
  return results;
}

/// The value of one element. `scaleRow` and `scaleGroup` are its place in the
/// sequence's own matrix of scales.
Value AttentionLowering::dequantize(Value elements, Value scales,
                                    ValueRange indices, Value scaleRow,
                                    Value scaleGroup, Value firstAtom,
                                    bool alongSequence, Value firstGroup) {
  SmallVector<Value> at = {indices[0], indices[1]};
  if (AttentionOp::isBlocked(scales)) {
    Value rowAtom = b.div(scaleRow, 128), groupAtom = b.div(scaleGroup, 4);
    (alongSequence ? groupAtom : rowAtom) =
        b.add(alongSequence ? groupAtom : rowAtom, firstAtom);
    at.append({rowAtom, groupAtom, b.rem(scaleRow, 32),
               b.div(b.rem(scaleRow, 128), 32), b.rem(scaleGroup, 4)});
  } else if (alongSequence) {
    at.append({b.add(firstGroup, scaleGroup), scaleRow});
  } else {
    at.append({indices[2], scaleGroup});
  }
  Value scale = DecodeOp::create(b, b.getF32Type(),
                                 tensor::ExtractOp::create(b, scales, at));
  Value element = DecodeOp::create(
      b, b.getF32Type(), tensor::ExtractOp::create(b, elements, indices));
  return b.mul(element, scale);
}

SmallVector<Value> AttentionLowering::lowerSequence(const Sequence &sequence,
                                                    ValueRange results) {
  Value k = op.getK(), v = op.getV();
  Value kvHeads = b.dim(k, 1), heads = b.dim(op.getQ(), 1);
  // The guard keeps an empty operand from dividing by zero.
  Value group = arith::DivUIOp::create(b, heads, b.max(kvHeads, b.index(1)));

  Value zero = b.index(0);
  return b.loop(zero, kvHeads, results, [&](Value kvHead, ValueRange results) {
    OpFoldResult keys = getAsOpFoldResult(sequence.keys);
    Value keysTransposed = b.generate(
        {b.getIndexAttr(op.getHeadDim()), keys}, b.getF32Type(),
        [&](ValueRange at) {
          Value key = b.add(sequence.key, at[1]);
          return dequantize(k, op.getKScales(),
                            {sequence.batch, kvHead, key, at[0]}, at[1],
                            b.div(at[0], kBlockSize), sequence.keyAtom,
                            /*alongSequence=*/false, Value());
        });
    Value values = b.generate({keys, b.getIndexAttr(op.getValueHeadDim())},
                              b.getF32Type(), [&](ValueRange at) {
                                Value key = b.add(sequence.key, at[0]);
                                return dequantize(
                                    v, op.getVScales(),
                                    {sequence.batch, kvHead, key, at[1]}, at[1],
                                    b.div(at[0], kBlockSize), sequence.keyAtom,
                                    /*alongSequence=*/true, sequence.group);
                              });
    return b.loop(zero, group, results, [&](Value member, ValueRange results) {
      Value head = b.add(b.mul(kvHead, group), member);
      return b.loop(zero, sequence.queries, results,
                    [&](Value row, ValueRange results) {
                      return lowerRow(sequence, head, row, keysTransposed,
                                      values, results);
                    });
    });
  });
}

//===----------------------------------------------------------------------===//
// One row
//===----------------------------------------------------------------------===//

/// The range of keys that a row sees; empty ranges have length 0.
std::pair<Value, Value> AttentionLowering::visibleKeys(const Sequence &sequence,
                                                       Value row) {
  MaskAttr mask = op.getMask();
  Value from = b.index(0), to = sequence.keys;
  Value diagonal = row;
  if (mask.getAlignment() == MaskAlignment::BottomRight)
    diagonal = b.add(row, b.sub(sequence.keys, sequence.queries));
  if (mask.hasLeftBound())
    from = b.min(b.max(b.sub(diagonal, b.index(mask.getLeft())), from), to);
  if (mask.hasRightBound())
    to = b.min(b.add(diagonal, b.index(mask.getRight() + 1)), to);
  return {from, b.max(from, to)};
}

/// The largest of scores [from, to), -inf for none; NaN if there is a NaN.
Value AttentionLowering::rowMaximum(Value scores, Value from, Value to) {
  return b.loop(from, to, b.f32(-INFINITY),
                [&](Value j, ValueRange carried) -> SmallVector<Value> {
                  Value score = tensor::ExtractOp::create(b, scores, j);
                  return {b.max(carried[0], score)};
                })[0];
}

/// The scale of a block whose largest score is `blockMaximum`, in a row with
/// the exponent M.
BlockScale AttentionLowering::blockScale(Value blockMaximum,
                                         Value rowExponent) {
  Value one = b.f64(1.0);
  BlockScale scale;
  if (pScale.getMode() == PScaleMode::RowMax) {
    Value exponent;
    if (pScale.getRounding() == ScaleRule::Rceil) {
      Value x =
          math::FmaOp::create(b, blockMaximum, c, b.f32(-std::log2(maxNorm)));
      exponent = b.toF64(math::CeilOp::create(b, x));
    } else {
      // The product is exact in f64.
      Value x = b.mul(b.toF64(blockMaximum), b.toF64(c));
      Value integer = pScale.getRounding() == ScaleRule::Floor
                          ? Value(math::FloorOp::create(b, x))
                          : Value(math::CeilOp::create(b, x));
      exponent = b.sub(integer, b.f64(emax));
    }
    // The scale's byte is not below 0.
    exponent = b.max(exponent, b.sub(rowExponent, b.f64(127)));
    scale.bias = b.toF32(arith::NegFOp::create(b, exponent));
    scale.inverse = b.f32(1.0f);
    scale.codeScale = math::Exp2Op::create(b, b.sub(exponent, rowExponent));
    scale.valueScale = scale.codeScale;
    return scale;
  }

  scale.bias = b.toF32(arith::NegFOp::create(b, rowExponent));
  scale.valueScale = one;
  if (pScale.getMode() == PScaleMode::Constant) {
    int exponent = emax - pScale.getLag();
    scale.inverse = b.f32(std::ldexp(1.0f, exponent));
    scale.codeScale = b.f64(std::ldexp(1.0, -exponent));
    return scale;
  }
  // The largest value is that of the largest score.
  Value amax = exponential(blockMaximum, scale);
  Value byte = emitBlockScale(b, b.getLoc(), emitMagnitude(b, b.getLoc(), amax),
                              cast<FloatType>(pScale.getElement()),
                              pScale.getRounding());
  scale.codeScale = b.toF64(DecodeOp::create(b, b.getF32Type(), byte));
  scale.inverse =
      b.toF32(arith::DivFOp::create(b, one, scale.codeScale)); // exact
  return scale;
}

/// The unquantized value of a score, f32.
Value AttentionLowering::exponential(Value score, const BlockScale &scale) {
  return b.exp2(math::FmaOp::create(b, score, c, scale.bias));
}

/// The quantized value in units of 2^M, f64.
Value AttentionLowering::quantized(Value value, const BlockScale &scale) {
  Value code =
      EncodeOp::create(b, pScale.getElement(), b.mul(value, scale.inverse));
  Value decoded = DecodeOp::create(b, b.getF32Type(), code);
  return b.mul(b.toF64(decoded), scale.codeScale);
}

SmallVector<Value> AttentionLowering::lowerRow(const Sequence &sequence,
                                               Value head, Value row,
                                               Value keysTransposed,
                                               Value values,
                                               ValueRange results) {
  Type f32 = b.getF32Type(), f64 = b.getF64Type();
  OpFoldResult unit = b.getIndexAttr(1), zero = b.getIndexAttr(0);
  OpFoldResult headDim = b.getIndexAttr(op.getHeadDim());
  OpFoldResult valueDim = b.getIndexAttr(op.getValueHeadDim());

  // Positions of keys count from the first visible one.
  Value from, to;
  std::tie(from, to) = visibleKeys(sequence, row);
  Value count = b.sub(to, from);
  OpFoldResult columns = count, firstColumn = from;

  // Scores.
  Value query = b.add(sequence.query, row);
  Value q = b.generate(headDim, f32, [&](ValueRange at) {
    return dequantize(op.getQ(), op.getQScales(),
                      {sequence.batch, head, query, at[0]}, row,
                      b.div(at[0], kBlockSize), sequence.queryAtom,
                      /*alongSequence=*/false, Value());
  });
  Value visibleK = tensor::ExtractSliceOp::create(
      b, keysTransposed, {zero, firstColumn}, {headDim, columns}, {unit, unit});
  Value sums = b.vectorTimesMatrix(q, visibleK, columns);
  Value scores = b.generate(columns, f32, [&](ValueRange at) {
    return b.toF32(tensor::ExtractOp::create(b, sums, at));
  });

  // The row's exponent. A row of -inf counts as one that sees no key.
  Value maximum = rowMaximum(scores, b.index(0), count);
  Value none = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, maximum,
                                     b.f32(-INFINITY));
  Value exponent = math::CeilOp::create(b, b.mul(b.toF64(maximum), b.toF64(c)));
  exponent = b.select(none, b.f64(0), exponent);

  // Probabilities, and l in units of 2^M. Blocks start at multiples of 32 of
  // the sequence's keys.
  SmallVector<Value> softmax = b.loop(
      b.div(from, kBlockSize), b.ceilDiv(to, kBlockSize),
      {b.empty(columns, f64), b.f64(0)},
      [&](Value block, ValueRange carried) -> SmallVector<Value> {
        Value begin = b.mul(block, b.index(kBlockSize));
        Value end = b.add(begin, b.index(kBlockSize));
        begin = b.sub(b.max(begin, from), from);
        end = b.sub(b.min(end, to), from);
        BlockScale scale = blockScale(rowMaximum(scores, begin, end), exponent);
        SmallVector<Value> inner =
            b.loop(begin, end, {carried[0], b.f64(0)},
                   [&](Value j, ValueRange carried) -> SmallVector<Value> {
                     Value score = tensor::ExtractOp::create(b, scores, j);
                     Value value = exponential(score, scale);
                     Value p = tensor::InsertOp::create(
                         b, quantized(value, scale), carried[0], j);
                     return {p, b.add(carried[1], b.toF64(value))};
                   });
        return {inner[0], b.add(carried[1], b.mul(inner[1], scale.valueScale))};
      });
  Value p = softmax[0], l = softmax[1];

  // The largest p is rounded while l is not: the divisor takes the rounding
  // over, so that a row that sees one key has exactly its V.
  BlockScale scale = blockScale(maximum, exponent);
  Value largest = exponential(maximum, scale);
  Value rounding = b.sub(quantized(largest, scale),
                         b.mul(b.toF64(largest), scale.valueScale));
  Value divisor = b.add(l, rounding);

  // O and LSE.
  Value visibleV = tensor::ExtractSliceOp::create(
      b, values, {firstColumn, zero}, {columns, valueDim}, {unit, unit});
  Value weighted = b.vectorTimesMatrix(p, visibleV, valueDim);
  Type outputType = op.getOutput().getType().getElementType();
  Value output = b.generate(valueDim, outputType, [&](ValueRange at) {
    Value sum = tensor::ExtractOp::create(b, weighted, at);
    Value quotient = b.toF32(arith::DivFOp::create(b, sum, divisor));
    Value value = b.select(none, b.f32(0), quotient);
    if (outputType.isF32())
      return value;
    return Value(arith::TruncFOp::create(b, outputType, value));
  });
  Value log = b.add(exponent, math::Log2Op::create(b, l));
  Value lse = b.toF32(b.mul(log, b.f64(0.6931471805599453)));

  SmallVector<OpFoldResult> place = {sequence.batch, head, query, zero};
  Value newOutput = tensor::InsertSliceOp::create(
      b, output, results[0], place, {unit, unit, unit, valueDim},
      SmallVector<OpFoldResult>(4, unit));
  Value newLse = tensor::InsertOp::create(
      b, lse, results[1], ValueRange{sequence.batch, head, query});
  return {newOutput, newLse};
}

namespace {
struct LowerAttention : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, AttentionLowering(rewriter, op).lower());
    return success();
  }
};
} // namespace

void lpfa::populateAttentionToLinalgPatterns(RewritePatternSet &patterns) {
  patterns.add<LowerAttention>(patterns.getContext());
}
