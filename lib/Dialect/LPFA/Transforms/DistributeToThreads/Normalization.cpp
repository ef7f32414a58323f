//===- Normalization.cpp - Rows and their root mean squares by thread -----===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row lies in the registers of a power of two of warps, up to 32, of one CTA
// or of a cluster. Partial sum j of `lpfa.rms_norm` belongs to thread j mod T
// of the row's T; halves are added first within a thread, then across warps
// through shared memory, then across lanes. Of narrow rows a warp has several:
// its lanes, or a power of two of them, have the sums of each. Wider rows that
// are quantized in blocks of several lie otherwise, see BlockRowSums.cpp.
//
//===----------------------------------------------------------------------===//

#include "KernelDistribution.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lpfa;

Value lpfa::addHalves(ThreadBuilder &b, SmallVector<Value> sums) {
  // Absent ones are 0.
  for (size_t half = llvm::PowerOf2Ceil(sums.size()) / 2; half > 0; half /= 2) {
    for (size_t i = half; i < sums.size(); ++i)
      sums[i - half] = b.add(sums[i - half], sums[i]);
    if (sums.size() > half)
      sums.truncate(half);
  }
  return sums.front();
}

Value KernelDistribution::exchangeSums(Value sum) {
  int64_t warps = layout->getWarpsAcross();
  Value base = b.offset(sharedBase, sumsOffset);
  Value lane = b.bitAnd(thread, b.i32(31));
  if (!ctaInCluster) {
    base = b.offset(
        base, b.shiftLeft(b.add(b.mul(threadRow, b.i32(32 * warps)), lane), 2));
    Value warpInRow = b.rem(warp, b.i32(warps));
    LLVM::StoreOp::create(b, sum, b.offset(base, b.shiftLeft(warpInRow, 7)));
    BarrierSyncOp::create(b, 0, static_cast<int32_t>(getThreads()));
    return base;
  }
  // Each CTA of the cluster has a copy. While one still reads this row's,
  // another may write the next one's; not yet those behind, since all meet once
  // a row.
  Value parity = b.load(sumsParity);
  LLVM::StoreOp::create(b, b.bitXor(parity, b.i32(1)), sumsParity);
  base = b.offset(
      base, b.add(b.mul(parity, b.i32(128 * warps)), b.shiftLeft(lane, 2)));
  Value warpInRow = b.add(b.mul(ctaInCluster, b.i32(layout->getWarps())), warp);
  Value place = b.offset(base, b.shiftLeft(warpInRow, 7));
  auto type = LLVM::LLVMPointerType::get(b.getContext(), /*addressSpace=*/7);
  for (int64_t i = 0; i < layout->ctas; ++i)
    LLVM::StoreOp::create(b, sum,
                          MapSharedOp::create(b, type, place, b.i32(i)));
  ClusterSyncOp::create(b);
  return base;
}

Value KernelDistribution::addPartialSums(Value partial) {
  SmallVector<Value> sums;
  for (int64_t i = 0, e = cast<VectorType>(partial.getType()).getNumElements();
       i < e; ++i)
    sums.push_back(vector::ExtractOp::create(b, partial, i));
  Value sum = addHalves(b, sums);
  int64_t warps = layout->getWarpsAcross();
  if (warps > 1) {
    Value sumsBase = exchangeSums(sum);
    SmallVector<Value> ofWarps;
    for (int64_t i = 0; i < warps; ++i)
      ofWarps.push_back(
          LLVM::LoadOp::create(b, b.getF32Type(), b.offset(sumsBase, 128 * i)));
    sum = addHalves(b, ofWarps);
  }
  return addLanes(sum, TargetModel::warpThreads / 2, 1);
}

/// Adds what lanes have whose numbers differ in bit `from`, ..., bit `to`.
Value KernelDistribution::addLanes(Value sum, int32_t from, int32_t to) {
  for (int32_t mask = from; mask >= to; mask /= 2) {
    Value other =
        gpu::ShuffleOp::create(b, b.toBits(sum), mask, TargetModel::warpThreads,
                               gpu::ShuffleMode::XOR)
            .getShuffleResult();
    sum = b.add(sum, b.toFloat(other));
  }
  return sum;
}

// Lanes share the rows while they add: at every exchange a lane keeps its half
// of them, as long as it has two, and each row is finished once. Sums commute.
SmallVector<Value>
KernelDistribution::addWarpRows(Value partial,
                                function_ref<Value(Value)> finish) {
  SmallVector<Value> sums;
  for (int64_t i = 0; i < layout->steps; i += layout->across) {
    SmallVector<Value> ofRow;
    for (int64_t k = i; k < i + layout->across; ++k)
      ofRow.push_back(vector::ExtractOp::create(b, partial, k));
    sums.push_back(addHalves(b, ofRow));
  }
  int64_t rows = sums.size();
  for (int64_t mask = layout->lanes / 2; mask > 0; mask /= 2) {
    if (sums.size() == 1) {
      sums.front() = addLanes(sums.front(), mask, mask);
      continue;
    }
    Value isUpper = b.compare(arith::CmpIPredicate::ne,
                              b.bitAnd(laneColumn, b.i32(mask)), b.i32(0));
    size_t half = sums.size() / 2;
    for (size_t i = 0; i < half; ++i) {
      Value given = b.select(isUpper, sums[i], sums[half + i]);
      Value kept = b.select(isUpper, sums[half + i], sums[i]);
      Value taken = gpu::ShuffleOp::create(
                        b, b.toBits(given), static_cast<int32_t>(mask),
                        TargetModel::warpThreads, gpu::ShuffleMode::XOR)
                        .getShuffleResult();
      sums[i] = b.add(kept, b.toFloat(taken));
    }
    sums.truncate(half);
  }
  int64_t each = sums.size(), lanesEach = layout->lanes * each / rows;
  for (Value &sum : sums)
    sum = finish(sum);
  Value first =
      b.bitAnd(thread, b.i32(TargetModel::warpThreads - layout->lanes));
  Value width = b.i32(TargetModel::warpThreads);
  SmallVector<Value> factors;
  for (int64_t i = 0; i < rows; ++i) {
    Value lane = b.add(first, b.i32(i / each * lanesEach));
    factors.push_back(
        b.toFloat(gpu::ShuffleOp::create(b, b.toBits(sums[i % each]), lane,
                                         width, gpu::ShuffleMode::IDX)
                      .getShuffleResult()));
  }
  return factors;
}

Value lpfa::forgetPiece(ThreadBuilder &b, Value piece) {
  auto type = cast<VectorType>(piece.getType());
  if (type.getElementType().isF32())
    return piece;
  auto wordsType = VectorType::get(type.getNumElements() / 2, b.getI32Type());
  Value words = vector::BitCastOp::create(b, wordsType, piece);
  SmallVector<Value> forgotten;
  for (int64_t i = 0; i < wordsType.getNumElements(); ++i)
    forgotten.push_back(b.forget(vector::ExtractOp::create(b, words, i)));
  return vector::BitCastOp::create(
      b, type, vector::FromElementsOp::create(b, wordsType, forgotten));
}

LogicalResult KernelDistribution::lower(SumSquaresTileOp op) {
  Value sums = values.lookup(op.getSums());
  int64_t count = cast<VectorType>(sums.getType()).getNumElements();
  SmallVector<Value> partial;
  for (int64_t j = 0; j < count; ++j)
    partial.push_back(vector::ExtractOp::create(b, sums, j));
  for (auto [i, piece] : llvm::enumerate(pieces.lookup(op.getInput()))) {
    // What was taken before the versions of the program would be widened there.
    bool isAhead = tilesAhead.contains(op.getInput());
    Value x = widen(b, isAhead ? forgetPiece(b, piece) : piece);
    Value &sum = partial[i % count];
    for (int64_t k = 0; k < layout->vector; ++k) {
      Value element = vector::ExtractOp::create(b, x, k);
      sum = FmaOp::create(b, FloatRounding::Nearest, element, element, sum);
    }
  }
  values.map(op.getResult(), vector::FromElementsOp::create(
                                 b, cast<VectorType>(sums.getType()), partial)
                                 .getResult());
  return success();
}

LogicalResult KernelDistribution::lower(RstdTileOp op) {
  Value count = arith::UIToFPOp::create(b, b.getF32Type(),
                                        b.toI32(values.lookup(op.getCount())));
  Value epsilon = b.f32(op.getEpsilon().convertToFloat());
  auto finish = [&](Value sum) -> Value {
    Value mean = arith::DivFOp::create(b, sum, count);
    Value root = math::SqrtOp::create(b, b.add(mean, epsilon));
    return arith::DivFOp::create(b, b.f32(1.0f), root);
  };
  Value sums = values.lookup(op.getSums());
  if (layout->alongRow)
    rowFactors[op.getRstd()] = {finish(addPartialSums(sums))};
  else if (layout->hasWarpRows())
    rowFactors[op.getRstd()] = addWarpRows(sums, finish);
  else
    rowFactors[op.getRstd()] = addBlockRows(sums, finish);
  return success();
}

bool lpfa::holdsRowFactors(LoadOp op) {
  return llvm::any_of(op.getTile().getUses(), [](OpOperand &use) {
    return llvm::TypeSwitch<Operation *, bool>(use.getOwner())
        .Case<RMSNormTileOp, SumProductsTileOp, WeightGradientTileOp,
              RMSNormBackwardTileOp>(
            [&](auto user) { return user.getRstd() == use.get(); })
        .Default(false);
  });
}

/// Loads the factors of the rows of the thread's pieces, 0 past the last row.
LogicalResult KernelDistribution::loadRowFactors(LoadOp op) {
  if (!layout ||
      op.getTile().getType().getShape() != ArrayRef<int64_t>{layout->rows})
    return op.emitOpError("cannot give threads the factors of rows of ")
           << op.getTile().getType();
  Value view = op.getView();
  SmallVector<Value> indices;
  for (Value index : op.getIndices())
    indices.push_back(values.lookup(index));
  indices.back() = b.add(indices.back(), b.toIndex(threadRow));
  Value first = getElementAddress(view, indices);
  Value rows = getSize(view, op.getView().getType().getRank() - 1);
  auto load = [&](Value address) -> Value {
    return LLVM::LoadOp::create(b, b.getF32Type(), address);
  };
  SmallVector<Value> factors;
  for (int64_t i = 0; i < layout->steps; i += layout->across) {
    int64_t step = layout->getRow(i);
    Value address = b.offset(first, step * sizeof(float));
    if (tilesAreWhole) {
      factors.push_back(load(address));
      continue;
    }
    Value isInside = b.compare(arith::CmpIPredicate::slt,
                               b.add(indices.back(), b.index(step)), rows);
    auto branch = scf::IfOp::create(b, b.getF32Type(), isInside, true, true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, load(address));
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, b.f32(0.0f));
    factors.push_back(branch.getResult(0));
  }
  rowFactors[op.getTile()] = std::move(factors);
  return success();
}

LogicalResult KernelDistribution::lower(RMSNormTileOp op) {
  Type output = op.getOutput().getType().getElementType();
  auto type = VectorType::get(layout->vector, b.getF32Type());
  SmallVector<Value> factors = rowFactors.lookup(op.getRstd()),
                     input = pieces.lookup(op.getInput()),
                     weight = getPieces(op.getWeight()), results;
  if (factors.empty() || input.empty() || weight.empty())
    return op.emitOpError("must have operands that were loaded or computed");
  for (auto [i, piece] : llvm::enumerate(input)) {
    Value factor =
        vector::BroadcastOp::create(b, type, factors[i / layout->across]);
    Value x = op.getInput().hasOneUse() ? piece : forgetPiece(b, piece);
    Value y =
        b.mul(b.mul(widen(b, x), factor), widen(b, weight[i % layout->across]));
    if (!output.isF32())
      y = arith::TruncFOp::create(b, VectorType::get(layout->vector, output),
                                  y);
    results.push_back(y);
  }
  // A factor or a weight that is not finite makes no 0 of what is outside,
  // which matters to blocks of several rows and to the padding of atoms.
  auto load = op.getInput().getDefiningOp<LoadOp>();
  if (load && !layout->alongRow)
    clearOutside(results, load);
  pieces[op.getOutput()] = std::move(results);
  return success();
}

/// Stores the factor of each row: the row's first thread does.
LogicalResult KernelDistribution::storeRowFactors(StoreOp op) {
  Value view = op.getView();
  int64_t rank = op.getView().getType().getRank();
  SmallVector<Value> indices;
  for (Value index : op.getIndices())
    indices.push_back(values.lookup(index));
  Value row = b.add(indices.back(), b.toIndex(threadRow));
  Value isFirst = b.compare(arith::CmpIPredicate::eq, threadColumn, b.i32(0));
  for (auto [i, factor] : llvm::enumerate(rowFactors.lookup(op.getTile()))) {
    indices.back() = b.add(row, b.index(int64_t(i) * layout->getRowsPerStep()));
    Value isInside = b.compare(arith::CmpIPredicate::slt, indices.back(),
                               getSize(view, rank - 1));
    b.when(b.bitAnd(isFirst, isInside), [&, &factor = factor] {
      LLVM::StoreOp::create(b, factor, getElementAddress(view, indices));
    });
  }
  return success();
}
