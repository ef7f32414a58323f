//===- SplitMaskedLoops.cpp - Masks only where some key is hidden ---------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "lpfa/Dialect/LPFA/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

namespace lpfa {
#define GEN_PASS_DEF_SPLITMASKEDLOOPS
#include "lpfa/Dialect/LPFA/Transforms/Passes.h.inc"
} // namespace lpfa

using namespace mlir;
using namespace lpfa;

namespace {
/// Index arithmetic before a loop.
class BoundBuilder : public ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(*this, value);
  }
  Value add(Value x, int64_t y) {
    return arith::AddIOp::create(*this, x, constant(y));
  }
  Value min(Value x, Value y) { return arith::MinSIOp::create(*this, x, y); }
  Value max(Value x, Value y) { return arith::MaxSIOp::create(*this, x, y); }
  Value divide(Value x, int64_t y) {
    Value positive = max(x, constant(0));
    return arith::DivUIOp::create(*this, positive, constant(y));
  }
};
} // namespace

/// The mask of a loop over key tiles: one whose tile begins at a multiple of
/// the counter.
static ApplyMaskOp findMask(scf::ForOp loop, int64_t &tile) {
  auto masks = loop.getBody()->getOps<ApplyMaskOp>();
  if (!llvm::hasSingleElement(masks))
    return {};
  ApplyMaskOp mask = *masks.begin();
  auto product = mask.getKey().getDefiningOp<arith::MulIOp>();
  APInt size;
  if (!product || product.getLhs() != loop.getInductionVar() ||
      !matchPattern(product.getRhs(), m_ConstantInt(&size)))
    return {};
  tile = size.getSExtValue();
  auto isOutside = [&](Value value) {
    return loop.isDefinedOutsideOfLoop(value);
  };
  if (!llvm::all_of(ValueRange{mask.getRow(), mask.getRows(), mask.getKeys()},
                    isOutside))
    return {};
  return mask;
}

/// The same loop from `first` to `last`, with or without its mask.
static scf::ForOp buildSegment(OpBuilder &builder, scf::ForOp loop, Value first,
                               Value last, ValueRange initial, bool isMasked) {
  IRMapping mapping;
  mapping.map(loop.getLowerBound(), first);
  mapping.map(loop.getUpperBound(), last);
  mapping.map(loop.getInitArgs(), initial);
  auto copy = cast<scf::ForOp>(builder.clone(*loop, mapping));
  copy.setLowerBound(first);
  copy.setUpperBound(last);
  copy.getInitArgsMutable().assign(initial);
  if (isMasked)
    return copy;
  for (auto mask :
       llvm::make_early_inc_range(copy.getBody()->getOps<ApplyMaskOp>())) {
    mask.getResult().replaceAllUsesWith(mask.getScores());
    mask.erase();
  }
  return copy;
}

static void split(scf::ForOp loop, ApplyMaskOp op, int64_t tile) {
  BoundBuilder b(loop.getLoc(), loop);
  MaskAttr mask = op.getMask();
  int64_t rows = op.getScores().getType().getShape()[0];
  Value first = loop.getLowerBound(), last = loop.getUpperBound();
  // Where the first row is on the diagonal, in keys.
  Value diagonal = op.getRow();
  if (mask.getAlignment() == MaskAlignment::BottomRight)
    diagonal = arith::AddIOp::create(
        b, diagonal, arith::SubIOp::create(b, op.getKeys(), op.getRows()));

  // Keys that all rows see: up to the end of the first row's, and from the
  // beginning of the last row's on.
  Value end = op.getKeys();
  if (mask.hasRightBound())
    end = b.min(end, b.add(diagonal, mask.getRight() + 1));
  Value wholeFirst = first;
  if (mask.hasLeftBound()) {
    Value begin = b.add(diagonal, rows - 1 - mask.getLeft());
    wholeFirst = b.divide(b.add(begin, tile - 1), tile);
    wholeFirst = b.min(b.max(wholeFirst, first), last);
  }
  Value wholeLast = b.min(b.max(b.divide(end, tile), wholeFirst), last);

  ValueRange state = loop.getInitArgs();
  auto build = [&](Value from, Value to, bool isMasked) {
    state = buildSegment(b, loop, from, to, state, isMasked).getResults();
  };
  if (mask.hasLeftBound())
    build(first, wholeFirst, /*isMasked=*/true);
  build(wholeFirst, wholeLast, /*isMasked=*/false);
  build(wholeLast, last, /*isMasked=*/true);
  loop.replaceAllUsesWith(state);
  loop.erase();
}

namespace {
struct SplitMaskedLoops
    : public lpfa::impl::SplitMaskedLoopsBase<SplitMaskedLoops> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (kernel.getStage() != Stage::Synchronized)
      return;
    SmallVector<scf::ForOp> loops;
    kernel->walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops) {
      int64_t tile = 0;
      if (ApplyMaskOp mask = findMask(loop, tile))
        split(loop, mask, tile);
    }
  }
};
} // namespace
