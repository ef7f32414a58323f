//===- Matmul.cpp - matmul in linalg --------------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both operands are dequantized to f64, which holds their products exactly; B
// is transposed on the way, so that the innermost loop runs over N, where
// vectorization needs no reassociation.
//
//===----------------------------------------------------------------------===//

#include "lpfa/Conversion/LPFAToLinalg/LPFAToLinalg.h"
#include "lpfa/Dialect/LPFA/Utils/SizeChecks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace lpfa;

namespace {
class MatmulBuilder {
public:
  MatmulBuilder(OpBuilder &builder, MatmulOp op)
      : b(builder), loc(op.getLoc()), op(op), batch(op.getBatchRank()) {}

  Value build();

private:
  /// The values of an operand, `... x rows x K` or, transposed, `... x K x
  /// rows`.
  Value dequantize(Value elements, Value scales, bool transposed);
  /// Where the scale of an element is.
  AffineMap getScaleMap(bool isBlocked);
  Value empty(ArrayRef<OpFoldResult> sizes, Type element) {
    return tensor::EmptyOp::create(b, loc, sizes, element);
  }

  OpBuilder &b;
  Location loc;
  MatmulOp op;
  int64_t batch;
};
} // namespace

AffineMap MatmulBuilder::getScaleMap(bool isBlocked) {
  SmallVector<AffineExpr> results;
  for (int64_t i = 0; i < batch; ++i)
    results.push_back(b.getAffineDimExpr(i));
  AffineExpr row = b.getAffineDimExpr(batch);
  AffineExpr group = b.getAffineDimExpr(batch + 1).floorDiv(kBlockSize);
  if (isBlocked)
    llvm::append_range(
        results,
        ArrayRef<AffineExpr>{row.floorDiv(128), group.floorDiv(4), row % 32,
                             (row % 128).floorDiv(32), group % 4});
  else
    llvm::append_range(results, ArrayRef<AffineExpr>{row, group});
  return AffineMap::get(batch + 2, 0, results, b.getContext());
}

Value MatmulBuilder::dequantize(Value elements, Value scales, bool transposed) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, elements);
  AffineMap identity = b.getMultiDimIdentityMap(batch + 2), output = identity;
  if (transposed) {
    std::swap(sizes[batch], sizes[batch + 1]);
    SmallVector<unsigned> order =
        llvm::to_vector(llvm::seq<unsigned>(0, batch + 2));
    std::swap(order[batch], order[batch + 1]);
    output = AffineMap::getPermutationMap(order, b.getContext());
  }
  Value init = empty(sizes, b.getF64Type());
  SmallVector<utils::IteratorType> iterators(batch + 2,
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, loc, init.getType(), ValueRange{elements, scales}, init,
             ArrayRef{identity, getScaleMap(op.isBlocked(scales)), output},
             iterators,
             [](OpBuilder &b, Location loc, ValueRange arguments) {
               auto widen = [&](Value code) -> Value {
                 Value x = DecodeOp::create(b, loc, b.getF32Type(), code);
                 return arith::ExtFOp::create(b, loc, b.getF64Type(), x);
               };
               Value product = arith::MulFOp::create(
                   b, loc, widen(arguments[0]), widen(arguments[1]));
               linalg::YieldOp::create(b, loc, product);
             })
      .getResult(0);
}

Value MatmulBuilder::build() {
  emitSizeChecks(b, op);
  Value left = dequantize(op.getA(), op.getAScales(), /*transposed=*/false);
  Value right = dequantize(op.getB(), op.getBScales(), /*transposed=*/true);

  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, op.getA());
  sizes.back() = tensor::getMixedSize(b, loc, op.getB(), batch);
  Value zero = arith::ConstantOp::create(b, loc, b.getF64FloatAttr(0));
  Value zeros =
      linalg::FillOp::create(b, loc, zero, empty(sizes, b.getF64Type()))
          .getResult(0);
  // Loops over batches, M, K, N.
  auto without = [&](int64_t dimension) {
    return b.getMultiDimIdentityMap(batch + 3).dropResult(batch + dimension);
  };
  SmallVector<utils::IteratorType> iterators(batch + 3,
                                             utils::IteratorType::parallel);
  iterators[batch + 1] = utils::IteratorType::reduction;
  Value sums =
      linalg::GenericOp::create(
          b, loc, zeros.getType(), ValueRange{left, right}, zeros,
          ArrayRef{without(2), without(0), without(1)}, iterators,
          [](OpBuilder &b, Location loc, ValueRange arguments) {
            Value product =
                arith::MulFOp::create(b, loc, arguments[0], arguments[1]);
            Value sum = arith::AddFOp::create(b, loc, arguments[2], product);
            linalg::YieldOp::create(b, loc, sum);
          })
          .getResult(0);

  Type element = op.getD().getType().getElementType();
  AffineMap identity = b.getMultiDimIdentityMap(batch + 2);
  Value init = empty(sizes, element);
  iterators.assign(batch + 2, utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, loc, init.getType(), sums, init, ArrayRef{identity, identity},
             iterators,
             [&](OpBuilder &b, Location loc, ValueRange arguments) {
               Value x = arith::TruncFOp::create(b, loc, b.getF32Type(),
                                                 arguments[0]);
               if (!element.isF32())
                 x = arith::TruncFOp::create(b, loc, element, x);
               linalg::YieldOp::create(b, loc, x);
             })
      .getResult(0);
}

namespace {
struct MatmulLowering : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    Value result = MatmulBuilder(rewriter, op).build();
    if (result.getType() != op.getD().getType())
      result = tensor::CastOp::create(rewriter, op.getLoc(),
                                      op.getD().getType(), result);
    rewriter.replaceOp(op, result);
    return success();
  }
};
} // namespace

void lpfa::populateMatmulToLinalgPatterns(RewritePatternSet &patterns) {
  patterns.add<MatmulLowering>(patterns.getContext());
}
