//===- Quantization.cpp - quantize and dequantize in linalg ---------------===//
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
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace lpfa;

// The bit pattern of infinity: larger ones are NaN.
static constexpr int64_t kInfinity = 0x7f800000;

static Value emitI32(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI32IntegerAttr(value));
}

static Value emitF32(OpBuilder &builder, Location loc, const APFloat &value) {
  return arith::ConstantOp::create(
      builder, loc, builder.getFloatAttr(builder.getF32Type(), value));
}

Value lpfa::emitMagnitude(OpBuilder &builder, Location loc, Value x) {
  Value bits = arith::BitcastOp::create(builder, loc, builder.getI32Type(), x);
  return arith::AndIOp::create(builder, loc, bits,
                               emitI32(builder, loc, 0x7fffffff));
}

Value lpfa::emitBlockScale(OpBuilder &builder, Location loc, Value magnitude,
                           FloatType element, ScaleRule rule) {
  Type f32 = builder.getF32Type();
  APFloat maxNorm = APFloat::getLargest(element.getFloatSemantics());
  APFloat factor(1.0f);
  Value base = magnitude;
  if (rule == ScaleRule::Rceil) {
    factor = APFloat(1.0f / maxNorm.convertToFloat());
  } else {
    // The power of two below: without the mantissa.
    base = arith::AndIOp::create(builder, loc, magnitude,
                                 emitI32(builder, loc, kInfinity));
    factor = scalbn(factor, -ilogb(maxNorm), APFloat::rmNearestTiesToEven);
  }
  Value amax = arith::BitcastOp::create(builder, loc, f32, base);
  Value ratio =
      arith::MulFOp::create(builder, loc, amax, emitF32(builder, loc, factor));
  Value isFinite =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, magnitude,
                            emitI32(builder, loc, kInfinity));
  Value nan = emitF32(builder, loc, APFloat::getNaN(APFloat::IEEEsingle()));
  Value rounded = arith::SelectOp::create(builder, loc, isFinite, ratio, nan);
  return EncodeOp::create(
      builder, loc, Float8E8M0FNUType::get(builder.getContext()), rounded);
}

// From an element's index to its block's, where a block has `size` elements
// along each of `axes`.
static AffineMap getBlockMap(MLIRContext *context, int64_t rank,
                             ArrayRef<int64_t> axes, int64_t size) {
  Builder builder(context);
  AffineMap map = builder.getMultiDimIdentityMap(rank);
  for (int64_t axis : axes) {
    AffineExpr dim = builder.getAffineDimExpr(axis);
    map = map.replace(dim, dim.floorDiv(size), rank, 0);
  }
  return map;
}

static Value emitEmpty(OpBuilder &builder, Location loc,
                       ArrayRef<OpFoldResult> sizes, Type type) {
  return tensor::EmptyOp::create(builder, loc, sizes,
                                 getElementTypeOrSelf(type));
}

static Value emitWidened(OpBuilder &builder, Location loc, Value x) {
  if (x.getType().isF32())
    return x;
  return arith::ExtFOp::create(builder, loc, builder.getF32Type(), x);
}

// The scale of an NVFP4 block and an element's code, see `lpfa.quantize`.
static Value emitNVScale(OpBuilder &b, Location loc, Value magnitude,
                         Value globalScale) {
  Type f32 = b.getF32Type();
  Value amax = arith::BitcastOp::create(b, loc, f32, magnitude);
  Value product = arith::MulFOp::create(b, loc, amax, globalScale);
  Value bits = emitMagnitude(b, loc, product);
  Value scaled = arith::BitcastOp::create(b, loc, f32, bits);
  Value ratio = arith::MulFOp::create(b, loc, scaled,
                                      emitF32(b, loc, APFloat(1.0f / 6.0f)));
  Value isFinite = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                         magnitude, emitI32(b, loc, kInfinity));
  Value nan = emitF32(b, loc, APFloat::getNaN(APFloat::IEEEsingle()));
  Value rounded = arith::SelectOp::create(b, loc, isFinite, ratio, nan);
  return EncodeOp::create(b, loc, Float8E4M3FNType::get(b.getContext()),
                          rounded);
}

static Value emitNVRatio(OpBuilder &b, Location loc, Value x, Value scale,
                         Value globalScale) {
  Value y = arith::MulFOp::create(b, loc, x, globalScale);
  Value zero = emitF32(b, loc, APFloat(0.0f));
  Value signedZero = math::CopySignOp::create(b, loc, zero, y);
  Value isZero =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, scale, zero);
  Value ratio = arith::DivFOp::create(b, loc, y, scale);
  return arith::SelectOp::create(b, loc, isZero, signedZero, ratio);
}

// A 0-d tensor's element, or nothing.
static Value emitScalar(OpBuilder &builder, Location loc, Value tensor) {
  if (!tensor)
    return Value();
  return tensor::ExtractOp::create(builder, loc, tensor, ValueRange());
}

namespace {

// Three loops: the largest magnitude of every block, its scale, the elements.
// Of squares the first has one for each square, the second one for each row, or
// column, of them.
struct QuantizeLowering : OpRewritePattern<QuantizeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(QuantizeOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value input = op.getInput();
    int64_t rank = op.getInput().getType().getRank();
    int64_t axis = op.getAxis(), blockSize = op.getBlockSize();
    auto element = cast<FloatType>(op.getElements().getType().getElementType());
    ScaleRule rule = op.getRule();
    Value globalScale = emitScalar(rewriter, loc, op.getGlobalScale());

    ReifiedRankedShapedTypeDims sizes;
    if (failed(reifyResultShapes(rewriter, op, sizes)))
      return rewriter.notifyMatchFailure(op, "result shapes are not reified");
    SmallVector<int64_t> axes = {axis}, other;
    if (op.getSquare()) {
      other.push_back(axis == rank - 1 ? rank - 2 : rank - 1);
      axes.push_back(other.front());
    }
    MLIRContext *context = rewriter.getContext();
    AffineMap elementMap = rewriter.getMultiDimIdentityMap(rank);
    AffineMap scaleMap = getBlockMap(context, rank, axis, blockSize);
    AffineMap blockMap = getBlockMap(context, rank, axes, blockSize);
    // From a scale's index to its block's.
    AffineMap repeatMap = getBlockMap(context, rank, other, blockSize);
    SmallVector<utils::IteratorType> parallel(rank,
                                              utils::IteratorType::parallel);
    SmallVector<utils::IteratorType> reduction = parallel;
    SmallVector<OpFoldResult> blocks = sizes[1];
    for (int64_t dim : axes)
      reduction[dim] = utils::IteratorType::reduction;
    for (int64_t dim : other)
      blocks[dim] = affine::makeComposedFoldedAffineApply(
          rewriter, loc, rewriter.getAffineDimExpr(0).ceilDiv(blockSize),
          {blocks[dim]});

    Value zeros = linalg::FillOp::create(
                      rewriter, loc, emitI32(rewriter, loc, 0),
                      emitEmpty(rewriter, loc, blocks, rewriter.getI32Type()))
                      .getResult(0);
    Value magnitudes =
        linalg::GenericOp::create(
            rewriter, loc, zeros.getType(), input, zeros,
            ArrayRef{elementMap, blockMap}, reduction,
            [](OpBuilder &b, Location loc, ValueRange args) {
              Value magnitude =
                  emitMagnitude(b, loc, emitWidened(b, loc, args[0]));
              Value largest =
                  arith::MaxUIOp::create(b, loc, magnitude, args[1]);
              linalg::YieldOp::create(b, loc, largest);
            })
            .getResult(0);

    Value scales =
        linalg::GenericOp::create(
            rewriter, loc, op.getScales().getType(), magnitudes,
            emitEmpty(rewriter, loc, sizes[1], op.getScales().getType()),
            ArrayRef{repeatMap, elementMap}, parallel,
            [&](OpBuilder &b, Location loc, ValueRange args) {
              Value scale =
                  globalScale ? emitNVScale(b, loc, args[0], globalScale)
                              : emitBlockScale(b, loc, args[0], element, rule);
              linalg::YieldOp::create(b, loc, scale);
            })
            .getResult(0);

    // Dividing by a power of two is exact but for results that are subnormal in
    // f32, which are 0 in every element type; by the scale NaN it makes the
    // block NaN.
    Value elements =
        linalg::GenericOp::create(
            rewriter, loc, op.getElements().getType(),
            ValueRange{input, scales},
            emitEmpty(rewriter, loc, sizes[0], op.getElements().getType()),
            ArrayRef{elementMap, scaleMap, elementMap}, parallel,
            [&](OpBuilder &b, Location loc, ValueRange args) {
              Value x = emitWidened(b, loc, args[0]);
              Value scale = DecodeOp::create(b, loc, b.getF32Type(), args[1]);
              Value ratio =
                  globalScale ? emitNVRatio(b, loc, x, scale, globalScale)
                              : Value(arith::DivFOp::create(b, loc, x, scale));
              Value code = EncodeOp::create(b, loc, element, ratio);
              linalg::YieldOp::create(b, loc, code);
            })
            .getResult(0);
    rewriter.replaceOp(op, {elements, scales});
    return success();
  }
};

struct DequantizeLowering : OpRewritePattern<DequantizeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(DequantizeOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType type = op.getOutput().getType();
    int64_t rank = type.getRank();
    AffineMap elementMap = rewriter.getMultiDimIdentityMap(rank);
    AffineMap blockMap = getBlockMap(rewriter.getContext(), rank, op.getAxis(),
                                     op.getBlockSize());
    Value globalScale = emitScalar(rewriter, loc, op.getGlobalScale());
    SmallVector<utils::IteratorType> parallel(rank,
                                              utils::IteratorType::parallel);
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(rewriter, loc, op.getElements());
    SmallVector<OpFoldResult> blocks = sizes;
    blocks[op.getAxis()] = affine::makeComposedFoldedAffineApply(
        rewriter, loc, rewriter.getAffineDimExpr(0).ceilDiv(op.getBlockSize()),
        {sizes[op.getAxis()]});
    emitSizeChecks(rewriter, op, op.getScales(), blocks, "the scales");
    Value output = emitEmpty(rewriter, loc, sizes, type);
    rewriter.replaceOpWithNewOp<linalg::GenericOp>(
        op, type, ValueRange{op.getElements(), op.getScales()}, output,
        ArrayRef{elementMap, blockMap, elementMap}, parallel,
        [&](OpBuilder &b, Location loc, ValueRange args) {
          Type f32 = b.getF32Type();
          Value element = DecodeOp::create(b, loc, f32, args[0]);
          Value scale = DecodeOp::create(b, loc, f32, args[1]);
          Value product = arith::MulFOp::create(b, loc, element, scale);
          if (globalScale)
            product = arith::DivFOp::create(b, loc, product, globalScale);
          if (!type.getElementType().isF32())
            product =
                arith::TruncFOp::create(b, loc, type.getElementType(), product);
          linalg::YieldOp::create(b, loc, product);
        });
    return success();
  }
};

} // namespace

void lpfa::populateQuantizationToLinalgPatterns(RewritePatternSet &patterns) {
  patterns.add<QuantizeLowering, DequantizeLowering>(patterns.getContext());
}
