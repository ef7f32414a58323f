//===- BlockRowSums.cpp - Sums of rows that lie in blocks of several ------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Partial sum j is that of columns 8 j to 8 j + 7, one piece of one thread:
// bits 0 to 2 of j are a lane's, bit 3 says which warp of a pair, the next ones
// which CTA of the cluster, and the rest are a pair's number in the CTA. So
// pairs are added first, then CTAs, then the warps of a pair, then lanes.
//
//===----------------------------------------------------------------------===//

#include "KernelDistribution.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lpfa;

/// Rows of a block, and the partial sums that a pair of warps has of each.
static constexpr int64_t kBlockRows = 32, kPairSums = 16;

/// From the partial sums of a warp to those of the next: rows of eight, in
/// other banks of shared memory.
static constexpr int64_t kWarpSumsBytes = (kBlockRows * 8 + 8) * sizeof(float);

int64_t KernelDistribution::getBlockSumsBytes() const {
  int64_t bytes =
      layout->getWarps() * kWarpSumsBytes + layout->rows * sizeof(float);
  if (layout->ctas > 1)
    bytes += 2 * layout->ctas * kBlockRows * kPairSums * sizeof(float);
  return bytes;
}

SmallVector<Value>
KernelDistribution::addBlockRows(Value partial,
                                 function_ref<Value(Value)> finish) {
  int64_t warps = layout->getWarpsAcross() / layout->ctas, pairs = warps / 2;
  Value sums = b.offset(sharedBase, sumsOffset);
  Value factors = b.offset(sums, layout->getWarps() * kWarpSumsBytes);
  Value lane = b.bitAnd(thread, b.i32(31));
  Value own = b.offset(b.offset(sums, b.mul(warp, b.i32(kWarpSumsBytes))),
                       b.shiftLeft(lane, 2));
  for (int64_t i = 0; i < layout->steps; ++i)
    LLVM::StoreOp::create(b, vector::ExtractOp::create(b, partial, i),
                          b.offset(own, i * 128));
  BarrierSyncOp::create(b, 0, static_cast<int32_t>(getThreads()));

  // The warps of a block take its rows by turns. A lane has every second pair's
  // sums of one column.
  Value block = b.div(warp, b.i32(warps)),
        warpInBlock = b.rem(warp, b.i32(warps));
  Value half = b.shiftRight(lane, 4), column = b.bitAnd(lane, b.i32(7));
  Value first = b.add(
      b.mul(block, b.i32(warps)),
      b.add(b.shiftLeft(half, 1), b.bitAnd(b.shiftRight(lane, 3), b.i32(1))));
  first = b.offset(b.offset(sums, b.mul(first, b.i32(kWarpSumsBytes))),
                   b.shiftLeft(column, 2));
  // Where there is no such row, the last one once more.
  SmallVector<Value> rows, totals;
  for (int64_t i = 0; i < kBlockRows; i += warps) {
    Value row = b.add(warpInBlock, b.i32(i));
    rows.push_back(i + warps <= kBlockRows ? row
                                           : b.min(row, b.i32(kBlockRows - 1)));
  }
  auto loadSum = [&](Value address) -> Value {
    return LLVM::LoadOp::create(b, b.getF32Type(), address);
  };
  for (Value row : rows) {
    Value address = b.offset(first, b.shiftLeft(row, 5));
    SmallVector<Value> ofPairs;
    for (int64_t i = 0; i < pairs; i += 2) {
      Value pair = b.offset(address, i * 2 * kWarpSumsBytes);
      if (i + 1 < pairs) {
        ofPairs.push_back(loadSum(pair));
        continue;
      }
      auto branch = scf::IfOp::create(
          b, b.getF32Type(),
          b.compare(arith::CmpIPredicate::eq, half, b.i32(0)), true, true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(b, loadSum(pair));
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, b.f32(0.0f));
      ofPairs.push_back(branch.getResult(0));
    }
    totals.push_back(addLanes(addHalves(b, ofPairs), 16, 16));
  }
  if (ctaInCluster) {
    // As in `exchangeSums`, one of two places by turns.
    constexpr int64_t bytes = kBlockRows * kPairSums * sizeof(float);
    Value parity = b.load(sumsParity);
    LLVM::StoreOp::create(b, b.bitXor(parity, b.i32(1)), sumsParity);
    Value places = b.offset(b.offset(factors, layout->rows * sizeof(float)),
                            b.mul(parity, b.i32(layout->ctas * bytes)));
    Value lower = b.shiftLeft(b.bitAnd(lane, b.i32(kPairSums - 1)), 2);
    auto getPlace = [&](Value row) {
      return b.offset(places, b.add(b.shiftLeft(row, 6), lower));
    };
    auto type = LLVM::LLVMPointerType::get(b.getContext(), /*addressSpace=*/7);
    b.when(b.compare(arith::CmpIPredicate::ult, lane, b.i32(kPairSums)), [&] {
      for (auto [row, total] : llvm::zip_equal(rows, totals)) {
        Value place =
            b.offset(getPlace(row), b.mul(ctaInCluster, b.i32(bytes)));
        for (int64_t i = 0; i < layout->ctas; ++i)
          LLVM::StoreOp::create(b, total,
                                MapSharedOp::create(b, type, place, b.i32(i)));
      }
    });
    ClusterSyncOp::create(b);
    for (auto [row, total] : llvm::zip_equal(rows, totals)) {
      SmallVector<Value> ofCTAs;
      for (int64_t i = 0; i < layout->ctas; ++i)
        ofCTAs.push_back(loadSum(b.offset(getPlace(row), i * bytes)));
      total = addHalves(b, ofCTAs);
    }
  }
  for (Value &total : totals)
    total = addLanes(total, 8, 1);
  // A lane finishes each row.
  int64_t count = rows.size();
  totals.resize(llvm::PowerOf2Ceil(count), totals.back());
  Value factor = finish(selectByLane(totals));
  Value row = b.add(warpInBlock, b.mul(lane, b.i32(warps)));
  Value isRow =
      b.bitAnd(b.compare(arith::CmpIPredicate::ult, lane, b.i32(count)),
               b.compare(arith::CmpIPredicate::ult, row, b.i32(kBlockRows)));
  b.when(isRow, [&] {
    Value place = b.add(b.mul(block, b.i32(kBlockRows)), row);
    LLVM::StoreOp::create(b, factor, b.offset(factors, b.shiftLeft(place, 2)));
  });
  BarrierSyncOp::create(b, 0, static_cast<int32_t>(getThreads()));
  SmallVector<Value> results;
  Value ownFactors = b.offset(factors, b.shiftLeft(threadRow, 2));
  for (int64_t i = 0; i < layout->steps; ++i)
    results.push_back(loadSum(
        b.offset(ownFactors, i * layout->getRowsPerStep() * sizeof(float))));
  return results;
}
