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
#include "lpfa/Dialect/LPFA/Utils/PartialRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace lpfa;

// The partial sums of a row, and the neighbors that one of them takes at once:
// see the op's description.
static constexpr int64_t kPartialSums = 1024;
static constexpr int64_t kNeighbors = 8;

namespace {
using Body = function_ref<Value(OpBuilder &, Location, ValueRange)>;

/// What normalization and its gradients have in common.
class RowBuilder {
protected:
  RowBuilder(OpBuilder &builder, Location loc, Value input)
      : b(builder), loc(loc),
        rank(cast<RankedTensorType>(input.getType()).getRank()),
        sizes(tensor::getMixedSizes(builder, loc, input)),
        rows(ArrayRef(sizes).drop_back()) {}

  Value f32(float value) {
    return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
  }
  static Value widen(OpBuilder &b, Location loc, Value x) {
    return x.getType().isF32()
               ? x
               : arith::ExtFOp::create(b, loc, b.getF32Type(), x).getResult();
  }
  static Value round(OpBuilder &b, Location loc, Type element, Value x) {
    return element.isF32()
               ? x
               : arith::TruncFOp::create(b, loc, element, x).getResult();
  }
  Value empty(ArrayRef<OpFoldResult> shape, Type element) {
    return tensor::EmptyOp::create(b, loc, shape, element);
  }
  Value zeros(ArrayRef<OpFoldResult> shape) {
    return linalg::FillOp::create(b, loc, f32(0), empty(shape, b.getF32Type()))
        .getResult(0);
  }
  /// The elements that `body` gives, over all dimensions of `maps`; the one
  /// that it `reduces` runs innermost.
  Value generic(ValueRange inputs, Value init, ArrayRef<AffineMap> maps,
                Body body, std::optional<int64_t> reduces = std::nullopt);
  /// Adds halves of a dimension of `sums`, of that many, until one is left.
  Value addHalves(Value sums, int64_t dimension, int64_t count);
  /// Sums over rows in the order that `lpfa.rms_norm` defines; `body` adds to
  /// its last argument.
  Value sumRows(ValueRange inputs, ArrayRef<AffineMap> maps, Body body);
  /// The number of columns as f32.
  Value getWidth();
  /// Of what has a value for each row, for each column.
  AffineMap getRowMap() {
    return b.getMultiDimIdentityMap(rank).dropResult(rank - 1);
  }
  AffineMap getColumnMap() {
    return AffineMap::get(rank, 0, b.getAffineDimExpr(rank - 1),
                          b.getContext());
  }

  OpBuilder &b;
  Location loc;
  int64_t rank;
  SmallVector<OpFoldResult> sizes;
  ArrayRef<OpFoldResult> rows;
};

class RMSNormBuilder : RowBuilder {
public:
  RMSNormBuilder(OpBuilder &builder, RMSNormOp op)
      : RowBuilder(builder, op.getLoc(), op.getInput()), op(op) {}

  /// The sum of the squares of every row, in the order that the op defines.
  Value sumSquares();
  Value reciprocalDeviation(Value sums);
  Value normalize(Value rstd);

private:
  RMSNormOp op;
};

/// Over matrices: leading dimensions make one.
class RMSNormBackwardBuilder : RowBuilder {
public:
  RMSNormBackwardBuilder(OpBuilder &builder, RMSNormBackwardOp op, Value dy,
                         Value x, Value rstd, OpFoldResult rowsOfMatrix)
      : RowBuilder(builder, op.getLoc(), x), op(op), dy(dy), x(x), rstd(rstd),
        rowsOfMatrix(rowsOfMatrix) {}

  Value getInputGradient();
  Value getWeightGradient();

private:
  Value getIndex(OpFoldResult size);
  template <typename OpTy> Value compute(Value x, Value y) {
    return b.createOrFold<OpTy>(loc, x, y);
  }
  /// `sums` with what `body` makes of a row of it, its last argument, and of
  /// the given rows or elements of the operands.
  Value addToRow(Value sums, Value row,
                 ArrayRef<std::pair<Value, Value>> operands, Body body);
  /// A loop over that many rows, in their order.
  Value sumOverRows(Value count, Value sums,
                    function_ref<Value(Value row, Value sums)> body);

  RMSNormBackwardOp op;
  Value dy, x, rstd;
  /// Before leading dimensions became one.
  OpFoldResult rowsOfMatrix;
};
} // namespace

Value RowBuilder::generic(ValueRange inputs, Value init,
                          ArrayRef<AffineMap> maps, Body body,
                          std::optional<int64_t> reduces) {
  SmallVector<utils::IteratorType> iterators(maps.front().getNumDims(),
                                             utils::IteratorType::parallel);
  if (reduces)
    iterators[*reduces] = utils::IteratorType::reduction;
  auto build = [&](OpBuilder &builder, Location loc, ValueRange arguments) {
    linalg::YieldOp::create(builder, loc, body(builder, loc, arguments));
  };
  return linalg::GenericOp::create(b, loc, init.getType(), inputs, init, maps,
                                   iterators, build)
      .getResult(0);
}

Value RowBuilder::addHalves(Value sums, int64_t dimension, int64_t count) {
  SmallVector<OpFoldResult> half = tensor::getMixedSizes(b, loc, sums);
  SmallVector<OpFoldResult> strides(half.size(), b.getIndexAttr(1));
  AffineMap identity = b.getMultiDimIdentityMap(half.size());
  for (int64_t distance = count / 2; distance > 0; distance /= 2) {
    SmallVector<OpFoldResult> offsets(half.size(), b.getIndexAttr(0));
    half[dimension] = b.getIndexAttr(distance);
    Value lower =
        tensor::ExtractSliceOp::create(b, loc, sums, offsets, half, strides);
    offsets[dimension] = b.getIndexAttr(distance);
    Value upper =
        tensor::ExtractSliceOp::create(b, loc, sums, offsets, half, strides);
    sums = generic({lower, upper}, empty(half, b.getF32Type()),
                   {identity, identity, identity},
                   [](OpBuilder &b, Location loc, ValueRange args) -> Value {
                     return arith::AddFOp::create(b, loc, args[0], args[1]);
                   });
  }
  return sums;
}

Value RowBuilder::sumRows(ValueRange inputs, ArrayRef<AffineMap> maps,
                          Body body) {
  SmallVector<OpFoldResult> partial(rows);
  partial.push_back(b.getIndexAttr(kPartialSums));
  AffineExpr column = b.getAffineDimExpr(rank - 1);
  SmallVector<AffineMap> allMaps(maps);
  allMaps.push_back(b.getMultiDimIdentityMap(rank).replace(
      column, column.floorDiv(kNeighbors) % kPartialSums, rank, 0));
  Value sums = generic(inputs, zeros(partial), allMaps, body, rank - 1);
  return addHalves(sums, rank - 1, kPartialSums);
}

Value RowBuilder::getWidth() {
  Value width = arith::IndexCastOp::create(
      b, loc, b.getI64Type(),
      getValueOrCreateConstantIndexOp(b, loc, sizes.back()));
  return arith::SIToFPOp::create(b, loc, b.getF32Type(), width);
}

Value RMSNormBuilder::sumSquares() {
  return sumRows(op.getInput(), b.getMultiDimIdentityMap(rank),
                 [](OpBuilder &b, Location loc, ValueRange args) -> Value {
                   Value x = widen(b, loc, args[0]);
                   return math::FmaOp::create(b, loc, x, x, args[1]);
                 });
}

Value RMSNormBuilder::reciprocalDeviation(Value sums) {
  Value count = getWidth();
  AffineMap rowMap = b.getMultiDimIdentityMap(rank - 1);
  SmallVector<AffineExpr> first(rowMap.getResults());
  first.push_back(b.getAffineConstantExpr(0));
  return generic(sums, empty(rows, b.getF32Type()),
                 {AffineMap::get(rank - 1, 0, first, b.getContext()), rowMap},
                 [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
                   Value mean = arith::DivFOp::create(b, loc, args[0], count);
                   Value epsilon =
                       arith::ConstantOp::create(b, loc, op.getEpsilonAttr());
                   Value root = math::SqrtOp::create(
                       b, loc, arith::AddFOp::create(b, loc, mean, epsilon));
                   Value one =
                       arith::ConstantOp::create(b, loc, b.getF32FloatAttr(1));
                   return arith::DivFOp::create(b, loc, one, root);
                 });
}

Value RMSNormBuilder::normalize(Value rstd) {
  AffineMap identity = b.getMultiDimIdentityMap(rank);
  Type element = op.getOutput().getType().getElementType();
  return generic({op.getInput(), rstd, op.getWeight()}, empty(sizes, element),
                 {identity, getRowMap(), getColumnMap(), identity},
                 [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
                   Value x = arith::MulFOp::create(
                       b, loc, widen(b, loc, args[0]), args[1]);
                   Value y =
                       arith::MulFOp::create(b, loc, x, widen(b, loc, args[2]));
                   return round(b, loc, element, y);
                 });
}

/// x * rstd and dy * weight of an element, from dy, x, rstd and the weight.
static std::pair<Value, Value> getProducts(OpBuilder &b, Location loc, Value dy,
                                           Value x, Value rstd, Value weight) {
  return {arith::MulFOp::create(b, loc, x, rstd),
          arith::MulFOp::create(b, loc, dy, weight)};
}

Value RMSNormBackwardBuilder::getInputGradient() {
  AffineMap identity = b.getMultiDimIdentityMap(rank), rowMap = getRowMap();
  SmallVector<AffineMap> maps = {identity, identity, rowMap, getColumnMap()};
  SmallVector<Value> inputs = {dy, x, rstd, op.getWeight()};
  Value sums = sumRows(
      inputs, maps, [](OpBuilder &b, Location loc, ValueRange args) -> Value {
        auto [n, g] =
            getProducts(b, loc, widen(b, loc, args[0]), widen(b, loc, args[1]),
                        args[2], widen(b, loc, args[3]));
        return math::FmaOp::create(b, loc, g, n, args[4]);
      });
  SmallVector<AffineExpr> first(rowMap.getResults());
  first.push_back(b.getAffineConstantExpr(0));
  Value width = getWidth();
  Type element = op.getDx().getType().getElementType();
  inputs.push_back(sums);
  maps.push_back(AffineMap::get(rank, 0, first, b.getContext()));
  maps.push_back(identity);
  return generic(inputs, empty(sizes, element), maps,
                 [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
                   auto [n, g] = getProducts(b, loc, widen(b, loc, args[0]),
                                             widen(b, loc, args[1]), args[2],
                                             widen(b, loc, args[3]));
                   Value c = arith::DivFOp::create(b, loc, args[4], width);
                   Value rest = math::FmaOp::create(
                       b, loc, arith::NegFOp::create(b, loc, c), n, g);
                   Value dx = arith::MulFOp::create(b, loc, rest, args[2]);
                   return round(b, loc, element, dx);
                 });
}

Value RMSNormBackwardBuilder::getIndex(OpFoldResult size) {
  return getValueOrCreateConstantIndexOp(b, loc, size);
}

Value RMSNormBackwardBuilder::addToRow(
    Value sums, Value row, ArrayRef<std::pair<Value, Value>> operands,
    Body body) {
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
  SmallVector<OpFoldResult> strides = {one, one};
  AffineMap first =
      AffineMap::get(1, 0, {b.getAffineConstantExpr(0), b.getAffineDimExpr(0)},
                     b.getContext());
  AffineMap scalar =
      AffineMap::get(1, 0, {b.getAffineConstantExpr(0)}, b.getContext());
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (auto [tensor, at] : operands) {
    bool isMatrix = cast<RankedTensorType>(tensor.getType()).getRank() == 2;
    SmallVector<OpFoldResult> offsets = {at}, slice = {one};
    if (isMatrix) {
      offsets.push_back(zero);
      slice.push_back(sizes[1]);
    }
    inputs.push_back(tensor::ExtractSliceOp::create(
        b, loc, tensor, offsets, slice,
        ArrayRef(strides).take_front(offsets.size())));
    maps.push_back(isMatrix ? first : scalar);
  }
  maps.push_back(first);
  SmallVector<OpFoldResult> offsets = {row, zero}, slice = {one, sizes[1]};
  Value old =
      tensor::ExtractSliceOp::create(b, loc, sums, offsets, slice, strides);
  return tensor::InsertSliceOp::create(b, loc, generic(inputs, old, maps, body),
                                       sums, offsets, slice, strides);
}

Value RMSNormBackwardBuilder::sumOverRows(
    Value count, Value sums, function_ref<Value(Value row, Value sums)> body) {
  auto loop = scf::ForOp::create(b, loc, getIndex(b.getIndexAttr(0)), count,
                                 getIndex(b.getIndexAttr(1)), sums);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(b, loc,
                       body(loop.getInductionVar(), loop.getRegionIterArg(0)));
  return loop.getResult(0);
}

Value RMSNormBackwardBuilder::getWeightGradient() {
  Value matrixRows = getIndex(rowsOfMatrix);
  PartialRows of = getPartialRows(b, loc, getIndex(sizes[1]));
  Value groupsOfMatrix = compute<arith::CeilDivUIOp>(matrixRows, of.neighbors);
  Value count = compute<arith::MulIOp>(of.neighbors, of.groups);
  Value partial = sumOverRows(
      getIndex(sizes[0]), zeros({getAsOpFoldResult(count), sizes[1]}),
      [&](Value row, Value sums) {
        Value rowInMatrix = compute<arith::RemUIOp>(row, matrixRows);
        Value group = compute<arith::AddIOp>(
            compute<arith::MulIOp>(compute<arith::DivUIOp>(row, matrixRows),
                                   groupsOfMatrix),
            compute<arith::DivUIOp>(rowInMatrix, of.neighbors));
        Value to = compute<arith::AddIOp>(
            compute<arith::MulIOp>(compute<arith::RemUIOp>(group, of.groups),
                                   of.neighbors),
            compute<arith::RemUIOp>(rowInMatrix, of.neighbors));
        return addToRow(
            sums, to, {{dy, row}, {x, row}, {rstd, row}},
            [](OpBuilder &b, Location loc, ValueRange args) -> Value {
              Value n = arith::MulFOp::create(b, loc, widen(b, loc, args[1]),
                                              args[2]);
              return math::FmaOp::create(b, loc, widen(b, loc, args[0]), n,
                                         args[3]);
            });
      });
  constexpr int64_t all = RMSNormBackwardOp::kColumnSums,
                    neighborSums = RMSNormBackwardOp::kColumnSumNeighbors;
  Value sums = sumOverRows(
      count, zeros({b.getIndexAttr(all), sizes[1]}),
      [&](Value row, Value sums) {
        Value to = compute<arith::RemUIOp>(row, getIndex(b.getIndexAttr(all)));
        return addToRow(
            sums, to, {{partial, row}},
            [](OpBuilder &b, Location loc, ValueRange args) -> Value {
              return arith::AddFOp::create(b, loc, args[1], args[0]);
            });
      });
  auto type = cast<RankedTensorType>(sums.getType());
  sums = tensor::ExpandShapeOp::create(
      b, loc,
      RankedTensorType::get(
          {all / neighborSums, neighborSums, type.getDimSize(1)},
          b.getF32Type()),
      sums, ArrayRef<ReassociationIndices>{{0, 1}, {2}},
      {b.getIndexAttr(all / neighborSums), b.getIndexAttr(neighborSums),
       sizes[1]});
  sums = addHalves(addHalves(sums, 1, neighborSums), 0, all / neighborSums);
  Type element = op.getDweight().getType().getElementType();
  AffineExpr none = b.getAffineConstantExpr(0);
  AffineMap first =
      AffineMap::get(1, 0, {none, none, b.getAffineDimExpr(0)}, b.getContext());
  return generic(sums, empty(sizes[1], element),
                 {first, b.getMultiDimIdentityMap(1)},
                 [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
                   return round(b, loc, element, args[0]);
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

struct RMSNormBackwardLowering : OpRewritePattern<RMSNormBackwardOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RMSNormBackwardOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(rewriter, loc, op.getInput());
    emitSizeChecks(rewriter, op, op.getDy(), sizes, "dy");
    emitSizeChecks(rewriter, op, op.getWeight(), sizes.back(), "the weight");
    emitSizeChecks(rewriter, op, op.getRstd(), ArrayRef(sizes).drop_back(),
                   "rstd");
    // One dimension of rows.
    int64_t rank = sizes.size();
    SmallVector<ReassociationIndices> matrix(2), vector(1);
    for (int64_t i = 0; i + 1 < rank; ++i) {
      matrix[0].push_back(i);
      vector[0].push_back(i);
    }
    matrix[1].push_back(rank - 1);
    auto collapse = [&](Value tensor,
                        ArrayRef<ReassociationIndices> groups) -> Value {
      auto type = cast<RankedTensorType>(tensor.getType());
      int64_t to = groups.size();
      if (type.getRank() == to)
        return tensor;
      if (type.getRank() > to)
        return tensor::CollapseShapeOp::create(rewriter, loc, tensor, groups);
      // A vector is a row, a scalar the factor of one.
      SmallVector<int64_t> shape = {1};
      llvm::append_range(shape, type.getShape());
      SmallVector<ReassociationIndices> whole;
      if (type.getRank() == 1)
        whole.push_back({0, 1});
      return tensor::ExpandShapeOp::create(
          rewriter, loc, RankedTensorType::get(shape, type.getElementType()),
          tensor, whole);
    };
    RMSNormBackwardBuilder builder(
        rewriter, op, collapse(op.getDy(), matrix),
        collapse(op.getInput(), matrix), collapse(op.getRstd(), vector),
        rank == 1 ? OpFoldResult(rewriter.getIndexAttr(1)) : sizes[rank - 2]);
    Value dx = builder.getInputGradient();
    if (rank == 1)
      dx = tensor::CollapseShapeOp::create(
          rewriter, loc, dx, ArrayRef<ReassociationIndices>{{0, 1}});
    else if (rank > 2)
      dx = tensor::ExpandShapeOp::create(rewriter, loc, op.getDx().getType(),
                                         dx, matrix, sizes);
    SmallVector<Value> results = {dx, builder.getWeightGradient()};
    for (auto [result, value] : llvm::zip(op.getResults(), results))
      if (value.getType() != result.getType())
        value = tensor::CastOp::create(rewriter, loc, result.getType(), value);
    rewriter.replaceOp(op, results);
    return success();
  }
};
} // namespace

void lpfa::populateNormalizationToLinalgPatterns(RewritePatternSet &patterns) {
  patterns.add<RMSNormLowering, RMSNormBackwardLowering>(patterns.getContext());
}
