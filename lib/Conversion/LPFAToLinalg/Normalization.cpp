//===- Normalization.cpp - rms_norm in linalg -----------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SizeChecks.h"
#include "lpfa/Conversion/LPFAToLinalg/LPFAToLinalg.h"
#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace lpfa;

// The partial sums of a row, and the neighbors that one of them takes at once:
// see the op's description.
static constexpr int64_t kPartialSums = 1024;
static constexpr int64_t kNeighbors = 8;

namespace {
class RMSNormBuilder {
public:
  RMSNormBuilder(OpBuilder &builder, RMSNormOp op)
      : b(builder), loc(op.getLoc()), op(op),
        rank(op.getInput().getType().getRank()),
        sizes(tensor::getMixedSizes(builder, loc, op.getInput())),
        rows(ArrayRef(sizes).drop_back()) {}

  /// The sum of the squares of every row, in the order that the op defines.
  Value sumSquares();
  Value reciprocalDeviation(Value sums);
  Value normalize(Value rstd);

private:
  using Body = function_ref<Value(OpBuilder &, Location, ValueRange)>;

  Value f32(float value) {
    return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
  }
  static Value widen(OpBuilder &b, Location loc, Value x) {
    return x.getType().isF32()
               ? x
               : arith::ExtFOp::create(b, loc, b.getF32Type(), x).getResult();
  }
  /// The elements that `body` gives, over all dimensions of `maps`.
  Value generic(ValueRange inputs, Value init, ArrayRef<AffineMap> maps,
                Body body, bool reduces = false);
  Value halve(Value sums, int64_t distance);

  OpBuilder &b;
  Location loc;
  RMSNormOp op;
  int64_t rank;
  SmallVector<OpFoldResult> sizes;
  ArrayRef<OpFoldResult> rows;
};
} // namespace

Value RMSNormBuilder::generic(ValueRange inputs, Value init,
                              ArrayRef<AffineMap> maps, Body body,
                              bool reduces) {
  SmallVector<utils::IteratorType> iterators(maps.front().getNumDims(),
                                             utils::IteratorType::parallel);
  if (reduces)
    iterators.back() = utils::IteratorType::reduction;
  auto build = [&](OpBuilder &builder, Location loc, ValueRange arguments) {
    linalg::YieldOp::create(builder, loc, body(builder, loc, arguments));
  };
  return linalg::GenericOp::create(b, loc, init.getType(), inputs, init, maps,
                                   iterators, build)
      .getResult(0);
}

/// Adds the upper half of 2 * `distance` partial sums of each row to the lower.
Value RMSNormBuilder::halve(Value sums, int64_t distance) {
  SmallVector<OpFoldResult> offsets(rank, b.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(rank, b.getIndexAttr(1));
  SmallVector<OpFoldResult> half(rows);
  half.push_back(b.getIndexAttr(distance));
  Value lower =
      tensor::ExtractSliceOp::create(b, loc, sums, offsets, half, strides);
  offsets.back() = b.getIndexAttr(distance);
  Value upper =
      tensor::ExtractSliceOp::create(b, loc, sums, offsets, half, strides);
  Value init = tensor::EmptyOp::create(b, loc, half, b.getF32Type());
  AffineMap identity = b.getMultiDimIdentityMap(rank);
  return generic({lower, upper}, init, {identity, identity, identity},
                 [](OpBuilder &b, Location loc, ValueRange args) -> Value {
                   return arith::AddFOp::create(b, loc, args[0], args[1]);
                 });
}

Value RMSNormBuilder::sumSquares() {
  SmallVector<OpFoldResult> partial(rows);
  partial.push_back(b.getIndexAttr(kPartialSums));
  Value init =
      linalg::FillOp::create(
          b, loc, f32(0),
          tensor::EmptyOp::create(b, loc, partial, b.getF32Type()).getResult())
          .getResult(0);
  AffineMap identity = b.getMultiDimIdentityMap(rank);
  AffineExpr column = b.getAffineDimExpr(rank - 1);
  AffineMap toPartial = identity.replace(
      column, column.floorDiv(kNeighbors) % kPartialSums, rank, 0);
  Value sums = generic(
      op.getInput(), init, {identity, toPartial},
      [](OpBuilder &b, Location loc, ValueRange args) -> Value {
        Value x = widen(b, loc, args[0]);
        return math::FmaOp::create(b, loc, x, x, args[1]);
      },
      /*reduces=*/true);
  for (int64_t distance = kPartialSums / 2; distance > 0; distance /= 2)
    sums = halve(sums, distance);
  return sums;
}

Value RMSNormBuilder::reciprocalDeviation(Value sums) {
  Value width = arith::IndexCastOp::create(
      b, loc, b.getI64Type(),
      getValueOrCreateConstantIndexOp(b, loc, sizes.back()));
  Value count = arith::SIToFPOp::create(b, loc, b.getF32Type(), width);
  AffineMap rowMap = b.getMultiDimIdentityMap(rank - 1);
  SmallVector<AffineExpr> first(rowMap.getResults());
  first.push_back(b.getAffineConstantExpr(0));
  Value init = tensor::EmptyOp::create(b, loc, rows, b.getF32Type());
  return generic(
      sums, init, {AffineMap::get(rank - 1, 0, first, b.getContext()), rowMap},
      [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
        Value mean = arith::DivFOp::create(b, loc, args[0], count);
        Value epsilon = arith::ConstantOp::create(b, loc, op.getEpsilonAttr());
        Value root = math::SqrtOp::create(
            b, loc, arith::AddFOp::create(b, loc, mean, epsilon));
        Value one = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(1));
        return arith::DivFOp::create(b, loc, one, root);
      });
}

Value RMSNormBuilder::normalize(Value rstd) {
  AffineMap identity = b.getMultiDimIdentityMap(rank);
  AffineMap rowMap = identity.dropResult(rank - 1);
  AffineMap columnMap =
      AffineMap::get(rank, 0, b.getAffineDimExpr(rank - 1), b.getContext());
  Type element = op.getOutput().getType().getElementType();
  Value init = tensor::EmptyOp::create(b, loc, sizes, element);
  return generic(
      {op.getInput(), rstd, op.getWeight()}, init,
      {identity, rowMap, columnMap, identity},
      [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
        Value x =
            arith::MulFOp::create(b, loc, widen(b, loc, args[0]), args[1]);
        Value y = arith::MulFOp::create(b, loc, x, widen(b, loc, args[2]));
        return element.isF32()
                   ? y
                   : arith::TruncFOp::create(b, loc, element, y).getResult();
      });
}

namespace {
struct RMSNormLowering : OpRewritePattern<RMSNormOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RMSNormOp op,
                                PatternRewriter &rewriter) const override {
    emitSizeChecks(
        rewriter, op, op.getWeight(),
        tensor::getMixedSizes(rewriter, op.getLoc(), op.getInput()).back(),
        "the weight");
    RMSNormBuilder builder(rewriter, op);
    Value rstd = builder.reciprocalDeviation(builder.sumSquares());
    SmallVector<Value> results = {builder.normalize(rstd)};
    if (op.getRstd())
      results.push_back(rstd);
    for (auto [result, value] : llvm::zip(op.getResults(), results))
      if (value.getType() != result.getType())
        value = tensor::CastOp::create(rewriter, op.getLoc(), result.getType(),
                                       value);
    rewriter.replaceOp(op, results);
    return success();
  }
};
} // namespace

void lpfa::populateNormalizationToLinalgPatterns(RewritePatternSet &patterns) {
  patterns.add<RMSNormLowering>(patterns.getContext());
}
