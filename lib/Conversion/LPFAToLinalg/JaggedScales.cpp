//===- JaggedScales.cpp - scatter_scales and gather_scales ----------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop over the sequences, each packed or unpacked by itself.
//
//===----------------------------------------------------------------------===//

#include "lpfa/Conversion/LPFAToLinalg/LPFAToLinalg.h"
#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "lpfa/Dialect/LPFA/Utils/SizeChecks.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace lpfa;

namespace {
/// Where a sequence lies in the packed scales and in the blocked ones.
struct Span {
  /// First and number of rows, or of groups where transposed.
  Value begin, size;
  Value atom, atoms;
};

/// Loops over the sequences of `op`, which carry the result.
template <typename OpTy> class SequenceLoop {
public:
  SequenceLoop(OpBuilder &builder, OpTy op)
      : b(builder), loc(op.getLoc()), op(op) {}

  /// Without an offset the result's size makes no sense: the first check.
  void checkOffsets() {
    require(arith::CmpIPredicate::sge,
            tensor::DimOp::create(b, loc, op.getOffsets(), 0), constant(1),
            "there are no offsets");
  }

  using Body = function_ref<Value(const Span &, Value)>;
  Value build(Value init, Value packed, Value blocked, Body body);

private:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }
  Value ceilDiv(Value value, int64_t divisor) {
    return affine::AffineApplyOp::create(
        b, loc, AffineMap::get(1, 0, b.getAffineDimExpr(0).ceilDiv(divisor)),
        value);
  }
  Value offset(Value position) {
    Value value = tensor::ExtractOp::create(b, loc, op.getOffsets(), position);
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), value);
  }
  void require(arith::CmpIPredicate predicate, Value x, Value y,
               StringRef message) {
    emitCheck(b, op, arith::CmpIOp::create(b, loc, predicate, x, y), message);
  }

  OpBuilder &b;
  Location loc;
  OpTy op;
};
} // namespace

template <typename OpTy>
Value SequenceLoop<OpTy>::build(Value init, Value packed, Value blocked,
                                Body body) {
  const int64_t rank = cast<RankedTensorType>(packed.getType()).getRank();
  const bool transposed = op.getTransposed();
  const auto sle = arith::CmpIPredicate::sle;
  Value zero = constant(0), one = constant(1);
  Value offsets = tensor::DimOp::create(b, loc, op.getOffsets(), 0);
  Value count = arith::SubIOp::create(b, loc, offsets, one);
  Value packedSize = tensor::DimOp::create(b, loc, packed, rank - 2);
  Value blockedSize =
      tensor::DimOp::create(b, loc, blocked, rank - (transposed ? 1 : 2));
  // Carried: the result, where the next sequence's rows or groups begin, and
  // its atoms.
  auto loop = scf::ForOp::create(b, loc, zero, count, one,
                                 ValueRange{init, zero, zero});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value index = loop.getInductionVar();
  Value first = offset(index);
  Value last = offset(arith::AddIOp::create(b, loc, index, one));
  // The first sequence begins with the first token, the others where the one
  // before ends.
  Value isLater =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, index, zero);
  Value begin = arith::SelectOp::create(b, loc, isLater, first, zero);
  require(arith::CmpIPredicate::eq, first, begin,
          "the offsets do not rise from 0");
  require(sle, first, last, "the offsets do not rise from 0");
  Value length = arith::SubIOp::create(b, loc, last, first);
  Span span;
  span.begin = transposed ? loop.getRegionIterArg(1) : first;
  span.size = transposed ? ceilDiv(length, kBlockSize) : length;
  span.atom = loop.getRegionIterArg(2);
  span.atoms = ceilDiv(length, 128);
  Value end = arith::AddIOp::create(b, loc, span.begin, span.size);
  Value endAtom = arith::AddIOp::create(b, loc, span.atom, span.atoms);
  require(sle, end, packedSize, "the sequences end after the packed scales");
  require(sle, endAtom, blockedSize,
          "the sequences end after the blocked scales");
  Value result = body(span, loop.getRegionIterArg(0));
  scf::YieldOp::create(b, loc, ValueRange{result, end, endAtom});
  return loop.getResult(0);
}

/// A tensor of zeros, the padding of scales.
static Value emitZeros(OpBuilder &builder, Location loc,
                       ArrayRef<OpFoldResult> sizes, RankedTensorType type) {
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0));
  Value byte = EncodeOp::create(builder, loc, type.getElementType(), zero);
  Value empty =
      tensor::EmptyOp::create(builder, loc, sizes, type.getElementType());
  return linalg::FillOp::create(builder, loc, byte, empty).getResult(0);
}

static SmallVector<int64_t> getShape(ArrayRef<OpFoldResult> sizes) {
  SmallVector<int64_t> shape;
  for (OpFoldResult size : sizes)
    shape.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
  return shape;
}

namespace {
/// One sequence's part of the packed and of the blocked scales, as slices.
struct Slices {
  Slices(OpBuilder &builder, Location loc, const Span &span, Value packed,
         Value blocked, bool transposed)
      : packedSizes(tensor::getMixedSizes(builder, loc, packed)),
        blockedSizes(tensor::getMixedSizes(builder, loc, blocked)),
        packedOffsets(packedSizes.size(), builder.getIndexAttr(0)),
        blockedOffsets(blockedSizes.size(), builder.getIndexAttr(0)),
        packedStrides(packedSizes.size(), builder.getIndexAttr(1)),
        blockedStrides(blockedSizes.size(), builder.getIndexAttr(1)) {
    size_t along = packedSizes.size() - 2;
    packedOffsets[along] = span.begin;
    packedSizes[along] = span.size;
    blockedOffsets[along + (transposed ? 1 : 0)] = span.atom;
    blockedSizes[along + (transposed ? 1 : 0)] = span.atoms;
  }

  SmallVector<OpFoldResult> packedSizes, blockedSizes, packedOffsets,
      blockedOffsets, packedStrides, blockedStrides;
};

struct ScatterScalesLowering : OpRewritePattern<ScatterScalesOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScatterScalesOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SequenceLoop<ScatterScalesOp> sequences(rewriter, op);
    sequences.checkOffsets();
    ReifiedRankedShapedTypeDims sizes;
    if (failed(reifyResultShapes(rewriter, op, sizes)))
      return rewriter.notifyMatchFailure(op, "result shapes are not reified");
    Value init = emitZeros(rewriter, loc, sizes[0], op.getBlocked().getType());
    Value result = sequences.build(
        init, op.getScales(), init,
        [&](const Span &span, Value carried) -> Value {
          Slices slices(rewriter, loc, span, op.getScales(), carried,
                        op.getTransposed());
          Value rows = tensor::ExtractSliceOp::create(
              rewriter, loc, op.getScales(), slices.packedOffsets,
              slices.packedSizes, slices.packedStrides);
          auto atoms =
              RankedTensorType::get(getShape(slices.blockedSizes),
                                    op.getBlocked().getType().getElementType());
          Value packed = PackScalesOp::create(rewriter, loc, atoms, rows,
                                              op.getTransposed());
          return tensor::InsertSliceOp::create(
              rewriter, loc, packed, carried, slices.blockedOffsets,
              slices.blockedSizes, slices.blockedStrides);
        });
    if (result.getType() != op.getBlocked().getType())
      result = tensor::CastOp::create(rewriter, loc, op.getBlocked().getType(),
                                      result);
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct GatherScalesLowering : OpRewritePattern<GatherScalesOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GatherScalesOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SequenceLoop<GatherScalesOp> sequences(rewriter, op);
    sequences.checkOffsets();
    ReifiedRankedShapedTypeDims sizes;
    if (failed(reifyResultShapes(rewriter, op, sizes)))
      return rewriter.notifyMatchFailure(op, "result shapes are not reified");
    Value init = emitZeros(rewriter, loc, sizes[0], op.getScales().getType());
    Value result = sequences.build(
        init, init, op.getBlocked(),
        [&](const Span &span, Value carried) -> Value {
          Slices slices(rewriter, loc, span, carried, op.getBlocked(),
                        op.getTransposed());
          Value atoms = tensor::ExtractSliceOp::create(
              rewriter, loc, op.getBlocked(), slices.blockedOffsets,
              slices.blockedSizes, slices.blockedStrides);
          auto type =
              RankedTensorType::get(getShape(slices.packedSizes),
                                    op.getScales().getType().getElementType());
          SmallVector<Value> open;
          for (OpFoldResult size : ArrayRef(slices.packedSizes).take_back(2))
            if (!getConstantIntValue(size))
              open.push_back(cast<Value>(size));
          Value rows = UnpackScalesOp::create(rewriter, loc, type, atoms, open,
                                              op.getTransposed());
          return tensor::InsertSliceOp::create(
              rewriter, loc, rows, carried, slices.packedOffsets,
              slices.packedSizes, slices.packedStrides);
        });
    if (result.getType() != op.getScales().getType())
      result = tensor::CastOp::create(rewriter, loc, op.getScales().getType(),
                                      result);
    rewriter.replaceOp(op, result);
    return success();
  }
};
} // namespace

void lpfa::populateJaggedScalesToLinalgPatterns(RewritePatternSet &patterns) {
  patterns.add<ScatterScalesLowering, GatherScalesLowering>(
      patterns.getContext());
}
