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

namespace {
/// One sequence's part of a tensor: `size` along `dimension` from `begin`, and
/// all along the others.
class SequencePart {
public:
  SequencePart(OpBuilder &builder, Location loc, Value tensor,
               int64_t dimension, Value begin, Value size)
      : b(builder), loc(loc), tensor(tensor),
        sizes(tensor::getMixedSizes(builder, loc, tensor)),
        offsets(sizes.size(), builder.getIndexAttr(0)),
        strides(sizes.size(), builder.getIndexAttr(1)) {
    offsets[dimension] = begin;
    sizes[dimension] = size;
  }

  RankedTensorType getType() const {
    SmallVector<int64_t> shape;
    for (OpFoldResult size : sizes)
      shape.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
    auto type = cast<RankedTensorType>(tensor.getType());
    return RankedTensorType::get(shape, type.getElementType());
  }
  /// Those of the last two sizes that the type does not say.
  SmallVector<Value> getOpenSizes() const {
    SmallVector<Value> open;
    for (OpFoldResult size : ArrayRef(sizes).take_back(2))
      if (!getConstantIntValue(size))
        open.push_back(cast<Value>(size));
    return open;
  }
  Value extract() {
    return tensor::ExtractSliceOp::create(b, loc, tensor, offsets, sizes,
                                          strides);
  }
  Value insert(Value part) {
    return tensor::InsertSliceOp::create(b, loc, part, tensor, offsets, sizes,
                                         strides);
  }

private:
  OpBuilder &b;
  Location loc;
  Value tensor;
  SmallVector<OpFoldResult> sizes, offsets, strides;
};
} // namespace

/// Replaces the op by zeros into which `convert` puts one sequence's part after
/// the other. Of the packed and the blocked scales one is null: the result.
template <typename OpTy>
static LogicalResult
lowerSequences(OpTy op, PatternRewriter &rewriter, Value packed, Value blocked,
               function_ref<Value(SequencePart &, SequencePart &)> convert) {
  Location loc = op.getLoc();
  SequenceLoop<OpTy> sequences(rewriter, op);
  sequences.checkOffsets();
  ReifiedRankedShapedTypeDims sizes;
  if (failed(reifyResultShapes(rewriter, op, sizes)))
    return rewriter.notifyMatchFailure(op, "result shapes are not reified");
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Value init = emitZeros(rewriter, loc, sizes[0], type);
  auto packedType = cast<RankedTensorType>(packed ? packed.getType()
                                                  : op->getResult(0).getType());
  const int64_t rowsAt = packedType.getRank() - 2;
  auto convertOne = [&](const Span &span, Value carried) -> Value {
    SequencePart rows(rewriter, loc, packed ? packed : carried, rowsAt,
                      span.begin, span.size);
    SequencePart atoms(rewriter, loc, blocked ? blocked : carried,
                       rowsAt + (op.getTransposed() ? 1 : 0), span.atom,
                       span.atoms);
    return convert(rows, atoms);
  };
  Value result = sequences.build(init, packed ? packed : init,
                                 blocked ? blocked : init, convertOne);
  if (result.getType() != type)
    result = tensor::CastOp::create(rewriter, loc, type, result);
  rewriter.replaceOp(op, result);
  return success();
}

static LogicalResult lower(ScatterScalesOp op, PatternRewriter &rewriter) {
  return lowerSequences(op, rewriter, op.getScales(), /*blocked=*/Value(),
                        [&](SequencePart &rows, SequencePart &atoms) {
                          return atoms.insert(PackScalesOp::create(
                              rewriter, op.getLoc(), atoms.getType(),
                              rows.extract(), op.getTransposed()));
                        });
}

static LogicalResult lower(GatherScalesOp op, PatternRewriter &rewriter) {
  return lowerSequences(op, rewriter, /*packed=*/Value(), op.getBlocked(),
                        [&](SequencePart &rows, SequencePart &atoms) {
                          return rows.insert(UnpackScalesOp::create(
                              rewriter, op.getLoc(), rows.getType(),
                              atoms.extract(), rows.getOpenSizes(),
                              op.getTransposed()));
                        });
}

void lpfa::populateJaggedScalesToLinalgPatterns(RewritePatternSet &patterns) {
  patterns.add<ScatterScalesOp>(lower);
  patterns.add<GatherScalesOp>(lower);
}
