//===- ScaleLayout.cpp - pack_scales and unpack_scales in linalg ----------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SizeChecks.h"
#include "lpfa/Conversion/LPFAToLinalg/LPFAToLinalg.h"
#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace lpfa;

namespace {

// Every byte of the blocked tensor looks up its scale, or is padding.
struct PackScalesLowering : OpRewritePattern<PackScalesOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(PackScalesOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value scales = op.getScales();
    RankedTensorType type = op.getBlocked().getType();
    int64_t batchRank = op.getScales().getType().getRank() - 2;
    int64_t rowDim = op.getTransposed() ? batchRank + 1 : batchRank;
    int64_t groupDim = op.getTransposed() ? batchRank : batchRank + 1;

    ReifiedRankedShapedTypeDims sizes;
    if (failed(reifyResultShapes(rewriter, op, sizes)))
      return rewriter.notifyMatchFailure(op, "result shapes are not reified");
    Value blocked =
        tensor::EmptyOp::create(rewriter, loc, sizes[0], type.getElementType());
    Value rows = getValueOrCreateConstantIndexOp(
        rewriter, loc, tensor::getMixedSize(rewriter, loc, scales, rowDim));
    Value groups = getValueOrCreateConstantIndexOp(
        rewriter, loc, tensor::getMixedSize(rewriter, loc, scales, groupDim));
    Value zero =
        arith::ConstantOp::create(rewriter, loc, rewriter.getF32FloatAttr(0));
    Value padding =
        EncodeOp::create(rewriter, loc, type.getElementType(), zero);

    AffineMap identity = rewriter.getMultiDimIdentityMap(type.getRank());
    SmallVector<utils::IteratorType> parallel(type.getRank(),
                                              utils::IteratorType::parallel);
    rewriter.replaceOpWithNewOp<linalg::GenericOp>(
        op, type, ValueRange{}, blocked, ArrayRef{identity}, parallel,
        [&](OpBuilder &b, Location loc, ValueRange) {
          SmallVector<Value> indices;
          for (int64_t dim = 0; dim < type.getRank(); ++dim)
            indices.push_back(linalg::IndexOp::create(b, loc, dim));
          // Row tile, group tile, row % 32, row % 128 / 32, group % 4.
          ValueRange atom = ValueRange(indices).drop_front(batchRank);
          AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1),
                     d2 = b.getAffineDimExpr(2);
          Value row = affine::AffineApplyOp::create(
              b, loc, AffineMap::get(3, 0, d0 * 128 + d1 * 32 + d2),
              ValueRange{atom[0], atom[3], atom[2]});
          Value group = affine::AffineApplyOp::create(
              b, loc, AffineMap::get(2, 0, d0 * 4 + d1),
              ValueRange{atom[1], atom[4]});

          auto less = arith::CmpIPredicate::slt;
          Value inRows = arith::CmpIOp::create(b, loc, less, row, rows);
          Value inGroups = arith::CmpIOp::create(b, loc, less, group, groups);
          Value inside = arith::AndIOp::create(b, loc, inRows, inGroups);
          // There is a scale at (0, 0) wherever there is a blocked byte.
          Value origin = arith::ConstantIndexOp::create(b, loc, 0);
          indices.resize(batchRank + 2);
          indices[rowDim] =
              arith::SelectOp::create(b, loc, inside, row, origin);
          indices[groupDim] =
              arith::SelectOp::create(b, loc, inside, group, origin);
          Value scale = tensor::ExtractOp::create(b, loc, scales, indices);
          Value byte = arith::SelectOp::create(b, loc, inside, scale, padding);
          linalg::YieldOp::create(b, loc, byte);
        });
    return success();
  }
};

// A gather by an affine map.
struct UnpackScalesLowering : OpRewritePattern<UnpackScalesOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(UnpackScalesOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType type = op.getScales().getType();
    int64_t rank = type.getRank();

    ReifiedRankedShapedTypeDims sizes;
    if (failed(reifyResultShapes(rewriter, op, sizes)))
      return rewriter.notifyMatchFailure(op, "result shapes are not reified");
    Value scales =
        tensor::EmptyOp::create(rewriter, loc, sizes[0], type.getElementType());

    SmallVector<OpFoldResult> blocked =
        tensor::getMixedSizes(rewriter, loc, op.getBlocked());
    OpFoldResult rows = sizes[0][rank - 2], groups = sizes[0][rank - 1];
    if (op.getTransposed())
      std::swap(rows, groups);
    AffineExpr d0 = rewriter.getAffineDimExpr(0);
    blocked[rank - 2] = affine::makeComposedFoldedAffineApply(
        rewriter, loc, d0.ceilDiv(128), {rows});
    blocked[rank - 1] = affine::makeComposedFoldedAffineApply(
        rewriter, loc, d0.ceilDiv(4), {groups});
    emitSizeChecks(rewriter, op, op.getBlocked(), blocked,
                   "the blocked scales");

    SmallVector<AffineExpr> source;
    for (int64_t dim = 0; dim < rank - 2; ++dim)
      source.push_back(rewriter.getAffineDimExpr(dim));
    AffineExpr row = rewriter.getAffineDimExpr(rank - 2);
    AffineExpr group = rewriter.getAffineDimExpr(rank - 1);
    if (op.getTransposed())
      std::swap(row, group);
    llvm::append_range(source, ArrayRef<AffineExpr>{row.floorDiv(128),
                                                    group.floorDiv(4), row % 32,
                                                    (row % 128).floorDiv(32),
                                                    group % 4});
    AffineMap map = AffineMap::get(rank, 0, source, rewriter.getContext());
    SmallVector<utils::IteratorType> parallel(rank,
                                              utils::IteratorType::parallel);
    rewriter.replaceOpWithNewOp<linalg::GenericOp>(
        op, type, op.getBlocked(), scales,
        ArrayRef{map, rewriter.getMultiDimIdentityMap(rank)}, parallel,
        [](OpBuilder &b, Location loc, ValueRange args) {
          linalg::YieldOp::create(b, loc, args[0]);
        });
    return success();
  }
};

} // namespace

void lpfa::populateScaleLayoutToLinalgPatterns(RewritePatternSet &patterns) {
  patterns.add<PackScalesLowering, UnpackScalesLowering>(patterns.getContext());
}
