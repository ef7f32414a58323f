//===- Sequences.cpp - Which sequence a tile belongs to -------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every warp looks for itself: a lane has one of 32 sequences at a time, and
// sums over lanes say where its rows and tiles begin. All sequences are gone
// through, so that a wrong offset is seen wherever it stands.
//
//===----------------------------------------------------------------------===//

#include "KernelDistribution.h"

using namespace mlir;
using namespace lpfa;

Value KernelDistribution::shuffle(Value x, int32_t lane,
                                  gpu::ShuffleMode mode) {
  return gpu::ShuffleOp::create(b, x, lane, TargetModel::warpThreads, mode)
      .getShuffleResult();
}

/// The sum of an i32 over the lanes up to the thread's own.
Value KernelDistribution::sumLanesUpTo(Value x) {
  Value lane = b.bitAnd(thread, b.i32(31));
  for (int32_t distance = 1; distance < TargetModel::warpThreads;
       distance *= 2) {
    Value isThere = b.compare(arith::CmpIPredicate::uge, lane, b.i32(distance));
    Value below = shuffle(x, distance, gpu::ShuffleMode::UP);
    x = b.add(x, b.select(isThere, below, b.i32(0)));
  }
  return x;
}

/// The sum of an i32 over all lanes.
Value KernelDistribution::sumLanes(Value x) {
  for (int32_t distance = 1; distance < TargetModel::warpThreads; distance *= 2)
    x = b.add(x, shuffle(x, distance, gpu::ShuffleMode::XOR));
  return x;
}

LogicalResult KernelDistribution::lower(SequenceTileOp op) {
  Value offsets = op.getOffsets();
  Value tile = b.toI32(values.lookup(op.getTile()));
  Value last = b.toI32(b.sub(getSize(offsets, 0), b.index(1)));
  Value lane = b.bitAnd(thread, b.i32(31));
  Value zero = b.i32(0), size = b.i32(op.getSize()), no = b.i1(false);
  auto ceilDiv = [&](Value x, int64_t by) {
    return b.div(b.add(x, b.i32(by - 1)), b.i32(by));
  };
  auto loadOffset = [&](Value number) -> Value {
    Value index = b.toIndex(b.min(number, last));
    return LLVM::LoadOp::create(b, b.getI32Type(),
                                getElementAddress(offsets, index));
  };

  // Carried: the rows and tiles of sequences before, and of each lane what it
  // has found and whether it has seen a wrong offset.
  auto loop = scf::ForOp::create(b, b.index(0), b.toIndex(last), b.index(32),
                                 ValueRange{zero, zero, zero, zero, no});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    ValueRange carried = loop.getRegionIterArgs();
    Value number = b.add(b.toI32(loop.getInductionVar()), lane);
    // Past the last sequence both are its end.
    Value begin = loadOffset(number);
    Value end = loadOffset(b.add(number, b.i32(1)));
    Value isFirst = b.compare(arith::CmpIPredicate::eq, number, zero);
    Value isWrong = b.bitOr(
        b.compare(arith::CmpIPredicate::slt, end, begin),
        b.bitAnd(isFirst, b.compare(arith::CmpIPredicate::ne, begin, zero)));
    Value rows = ceilDiv(b.sub(end, begin), op.getGroup());
    Value tiles = ceilDiv(rows, op.getSize());
    Value endRow = b.add(carried[0], sumLanesUpTo(rows));
    Value endTile = b.add(carried[1], sumLanesUpTo(tiles));
    Value above = b.sub(tile, b.sub(endTile, tiles));
    Value isHere = b.bitAnd(b.compare(arith::CmpIPredicate::sge, above, zero),
                            b.compare(arith::CmpIPredicate::slt, above, tiles));
    Value skipped = b.mul(above, size);
    Value row = b.add(b.sub(endRow, rows), skipped);
    Value count = b.min(b.sub(rows, skipped), size);
    const int32_t lastLane = TargetModel::warpThreads - 1;
    scf::YieldOp::create(
        b, ValueRange{shuffle(endRow, lastLane, gpu::ShuffleMode::IDX),
                      shuffle(endTile, lastLane, gpu::ShuffleMode::IDX),
                      b.select(isHere, row, carried[2]),
                      b.select(isHere, count, carried[3]),
                      b.bitOr(carried[4], isWrong)});
  }
  Value rows = loop.getResult(0), tiles = loop.getResult(1);
  Value isWrong = AnySyncOp::create(b, loop.getResult(4));
  auto isMore = [&](Value number, Value limit) {
    return b.compare(arith::CmpIPredicate::sgt, b.toIndex(number),
                     values.lookup(limit));
  };
  isWrong = b.bitOr(isWrong, b.bitOr(isMore(rows, op.getRows()),
                                     isMore(tiles, op.getTiles())));
  b.when(isWrong, [&] { LLVM::Trap::create(b); });

  // One lane has found it, or none.
  Value row = sumLanes(loop.getResult(2)), count = sumLanes(loop.getResult(3));
  Value isNone = b.compare(arith::CmpIPredicate::eq, count, zero);
  Value beyond = b.add(rows, b.mul(b.sub(tile, tiles), size));
  values.map(op.getRow(), b.toIndex(b.select(isNone, beyond, row)));
  values.map(op.getCount(), b.toIndex(count));
  return success();
}
