//===- ControlFlow.cpp - Loops, branches, sizes and cursors ---------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelDistribution.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace lpfa;

//===----------------------------------------------------------------------===//
// All ops
//===----------------------------------------------------------------------===//

LogicalResult KernelDistribution::lower(Block &block) {
  for (Operation &op : block)
    if (!op.hasTrait<OpTrait::IsTerminator>() && failed(lower(&op)))
      return failure();
  return success();
}

static LogicalResult expandApply(affine::AffineApplyOp op, ThreadBuilder &b,
                                 IRMapping &values) {
  SmallVector<Value> operands;
  for (Value operand : op.getMapOperands())
    operands.push_back(values.lookup(operand));
  auto results =
      affine::expandAffineMap(b, op.getLoc(), op.getAffineMap(), operands);
  if (!results)
    return op.emitOpError("cannot be expanded");
  values.map(op.getResult(), results->front());
  return success();
}

LogicalResult KernelDistribution::lower(Operation *op) {
  b.setLoc(op->getLoc());
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<scf::IfOp, scf::ForOp, ForWorkOp, ForStepsOp, KeyRangeOp,
            StepRangeOp, DimOp, CursorOp, AdvanceOp>(
          [&](auto op) { return lower(op); })
      .Case<ChannelOp, AccumulatorOp, ScratchOp, SlotAtOp, SliceOp, WaitOp,
            ArriveOp, CommitOp, TeamBarrierOp, ExpectBytesOp, FenceOp,
            LoadAsyncOp, StoreAsyncOp, StoreWaitOp, CopyScalesOp, CopyTileOp,
            MmaOp>([&](auto op) { return lower(op); })
      .Case<ReadOp, WriteOp, RescaleBufferOp, StoreOp, SplatOp, NormalizeOp,
            RoundOp, CropOp>([&](auto op) { return lower(op); })
      .Case<LoadOp, PackAtomOp, UnpackAtomOp, QuantizeTileOp, DequantizeTileOp,
            SumSquaresTileOp, RstdTileOp, RMSNormTileOp, SequenceTileOp>(
          [&](auto op) { return lower(op); })
      .Case<SumProductsTileOp, WeightGradientTileOp, MeanTileOp,
            RMSNormBackwardTileOp, AddTileOp, SumColumnsTileOp>(
          [&](auto op) { return lower(op); })
      .Case<ApplyMaskOp, SoftmaxMaximumOp, SoftmaxProbabilitiesOp,
            SoftmaxFinishOp>([&](auto op) { return lower(op); })
      .Case([&](affine::AffineApplyOp apply) {
        return expandApply(apply, b, values);
      })
      .Default([&](Operation *op) -> LogicalResult {
        if (isa<LPFADialect>(op->getDialect()) || op->getNumRegions() > 0)
          return op->emitOpError("cannot be distributed to threads at the ")
                 << stringifyStage(kernel.getStage()) << " stage";
        b.clone(*op, values);
        return success();
      });
}

FailureOr<Type> KernelDistribution::convertType(Operation *op, Type type) {
  auto tile = dyn_cast<TileType>(type);
  if (!tile)
    return type;
  ArrayRef<int64_t> shape = tile.getShape();
  Type element = tile.getElementType();
  constexpr int64_t partialSums = SumSquaresTileOp::kPartialSums;
  if (layout && element.isF32() &&
      shape == ArrayRef<int64_t>{layout->rows, partialSums})
    return Type(VectorType::get(layout->alongRow
                                    ? partialSums / layout->getRowThreads()
                                    : layout->steps,
                                element));
  // Scales of a row, or of four columns 32 apart, are the bytes of a word.
  if (isa<Float8E8M0FNUType>(element) &&
      (tile.isAtom() || shape == ArrayRef<int64_t>({128, 4}) ||
       shape == ArrayRef<int64_t>({4, 128})))
    return Type(b.getI32Type());
  if (!isa<Float8E8M0FNUType>(element) && !shape.empty() &&
      shape.front() == 128) {
    if (shape.size() == 1 && element.isF32())
      return element;
    if (shape.size() == 2 &&
        (element.isF32() || element.isBF16() || element.isF16()))
      return Type(VectorType::get(shape[1], element));
    if (shape.size() == 2 && element.getIntOrFloatBitWidth() == 8 &&
        shape[1] % 4 == 0)
      return Type(VectorType::get(shape[1] / 4, b.getI32Type()));
  }
  return op->emitOpError("has ")
         << tile << ", which cannot be held a row a thread by 128 threads";
}

//===----------------------------------------------------------------------===//
// Structured control flow
//===----------------------------------------------------------------------===//

LogicalResult KernelDistribution::lowerYield(Block &block) {
  Operation *yield = block.getTerminator();
  b.setLoc(yield->getLoc());
  SmallVector<Value> operands;
  for (Value operand : yield->getOperands())
    operands.push_back(values.lookup(operand));
  scf::YieldOp::create(b, operands);
  return success();
}

LogicalResult KernelDistribution::lower(scf::IfOp op) {
  SmallVector<Type> types;
  for (Type type : op.getResultTypes()) {
    FailureOr<Type> converted = convertType(op, type);
    if (failed(converted))
      return failure();
    types.push_back(*converted);
  }
  bool hasElse = !op.getElseRegion().empty();
  auto branch = scf::IfOp::create(b, types, values.lookup(op.getCondition()),
                                  /*addThenBlock=*/true,
                                  /*addElseBlock=*/hasElse);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  if (failed(lower(*op.thenBlock())) || failed(lowerYield(*op.thenBlock())))
    return failure();
  if (hasElse) {
    b.setInsertionPointToStart(branch.elseBlock());
    if (failed(lower(*op.elseBlock())) || failed(lowerYield(*op.elseBlock())))
      return failure();
  }
  values.map(op.getResults(), branch.getResults());
  return success();
}

LogicalResult KernelDistribution::lower(scf::ForOp op) {
  // Tiles of elements stay in shared memory.
  SmallVector<Value> inits, carried, results;
  for (auto [init, argument, result] : llvm::zip_equal(
           op.getInitArgs(), op.getRegionIterArgs(), op.getResults())) {
    if (keptTiles.contains(init))
      continue;
    inits.push_back(values.lookup(init));
    carried.push_back(argument);
    results.push_back(result);
  }
  auto loop = scf::ForOp::create(b, values.lookup(op.getLowerBound()),
                                 values.lookup(op.getUpperBound()),
                                 values.lookup(op.getStep()), inits);
  // Created with a terminator where nothing is carried.
  Block *body = loop.getBody();
  body->clear();
  values.map(op.getInductionVar(), loop.getInductionVar());
  values.map(carried, loop.getRegionIterArgs());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(body);
  if (layout) {
    auto yielded = lowerVersions(*op.getBody(), loop.getResultTypes());
    if (failed(yielded))
      return failure();
    // The next iteration overwrites what this one has in shared memory.
    if (llvm::any_of(*op.getBody(), [&](Operation &inner) {
          return isa<MeanTileOp>(inner) ||
                 llvm::any_of(inner.getResults(), [&](Value result) {
                   return scaleTiles.contains(result);
                 });
        }))
      BarrierSyncOp::create(b, 0, static_cast<int32_t>(getThreads()));
    scf::YieldOp::create(b, *yielded);
  } else if (failed(lower(*op.getBody())) ||
             failed(lowerYield(*op.getBody()))) {
    return failure();
  }
  values.map(results, loop.getResults());
  return success();
}

//===----------------------------------------------------------------------===//
// Work tiles
//===----------------------------------------------------------------------===//

Value KernelDistribution::getWorkCount(ValueRange bounds) {
  Value count = b.index(1);
  for (Value bound : bounds)
    count = b.mul(count, values.lookup(bound));
  return count;
}

/// Maps the arguments of `block` to the coordinates of work tile `work`, the
/// last running fastest.
void KernelDistribution::mapCoordinates(Block &block, Value work,
                                        ValueRange bounds) {
  Value rest = work;
  for (int64_t i = int64_t(bounds.size()) - 1; i >= 0; --i) {
    if (i == 0) {
      values.map(block.getArgument(i), rest);
      break;
    }
    Value bound = values.lookup(bounds[i]);
    values.map(block.getArgument(i), b.rem(rest, bound));
    rest = b.div(rest, bound);
  }
}

// Tiles that are inside and aligned, which most are, have a version of their
// own: all of its accesses can be scheduled among its arithmetic.
FailureOr<SmallVector<Value>>
KernelDistribution::lowerVersions(Block &block, TypeRange types) {
  if (failed(lowerIndices(block)))
    return failure();
  auto branch = scf::IfOp::create(b, types, areTilesWhole(block), true, true);
  for (bool whole : {true, false}) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(whole ? branch.thenBlock() : branch.elseBlock());
    tilesAreWhole = whole;
    scaleWords.clear();
    // What the rare version computes of the thread's place is not to be kept in
    // registers through the other.
    Value row = threadRow, column = threadColumn;
    if (!whole) {
      threadRow = b.forget(row);
      threadColumn = b.forget(column);
    }
    if (failed(lower(block)))
      return failure();
    threadRow = row;
    threadColumn = column;
    tilesAreWhole = false;
    SmallVector<Value> yielded;
    for (Value operand : block.getTerminator()->getOperands())
      if (!keptTiles.contains(operand))
        yielded.push_back(values.lookup(operand));
    scf::YieldOp::create(b, yielded);
  }
  return SmallVector<Value>(branch.getResults());
}

LogicalResult KernelDistribution::lower(ForWorkOp op) {
  // A cluster works as one.
  Value first, step;
  if (ctaInCluster) {
    first = gpu::ClusterIdOp::create(b, gpu::Dimension::x);
    step = gpu::ClusterDimOp::create(b, gpu::Dimension::x);
  } else {
    first = gpu::BlockIdOp::create(b, gpu::Dimension::x);
    step = gpu::GridDimOp::create(b, gpu::Dimension::x);
  }
  Block &body = op.getBody().front();
  Value count = getWorkCount(op.getBounds());
  auto copyAll = [&](Value work) -> LogicalResult {
    if (tilesAhead.empty())
      return success();
    mapCoordinates(body, work, op.getBounds());
    if (failed(lowerIndices(body)))
      return failure();
    b.when(b.compare(arith::CmpIPredicate::slt, work, count), [&] {
      for (auto load : body.getOps<LoadOp>())
        if (tilesAhead.contains(load.getTile()))
          copyAhead(load);
    });
    NVVM::CpAsyncCommitGroupOp::create(b);
    return success();
  };
  if (failed(copyAll(first)))
    return failure();
  auto loop = scf::ForOp::create(b, first, count, step);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value work = loop.getInductionVar();
  if (!tilesAhead.empty()) {
    // Little of what follows from the thread's number is to be kept in
    // registers from tile to tile: the elements take most.
    thread = b.forget(thread);
    warp = b.shiftRight(thread, 5);
    locateThread();
    mapCoordinates(body, work, op.getBounds());
    if (failed(lowerIndices(body)))
      return failure();
    for (auto load : body.getOps<LoadOp>())
      if (tilesAhead.contains(load.getTile()))
        takeAhead(load);
    if (failed(copyAll(b.add(work, step))))
      return failure();
  }
  mapCoordinates(body, work, op.getBounds());
  if (kernel.getStage() != Stage::Tile)
    return lower(body);

  // A work tile that is a loop over tiles leaves versions to it.
  bool isLoop = !body.getOps<scf::ForOp>().empty();
  if (layout && !isLoop) {
    if (failed(lowerVersions(body, {})))
      return failure();
  } else if (failed(lower(body))) {
    return failure();
  }
  // The next work tile overwrites what this one has in shared memory, not
  // before its sums are known where rows in blocks have some.
  bool sumsFirst =
      layout && layout->addsRows && !layout->alongRow && !layout->hasWarpRows();
  if (sharedBytes > 0 && !sumsFirst)
    BarrierSyncOp::create(b, 0, static_cast<int32_t>(getThreads()));
  return success();
}

// The steps of all work tiles are one sequence. The position of the largest
// shift walks along it, and those of smaller shifts are where it was some steps
// before:
//
//   for turns of the prologue, if any
//     turn with the bodies of the prologue
//   while (leader or any follower is inside the sequence)
//     turn with the other bodies
//
//   turn:
//     bodies of lpfa.at, each if its position is inside
//     followers = leader and all followers but the last
//     leader = next step, or first step of the next work tile with steps
LogicalResult KernelDistribution::lower(ForStepsOp op) {
  SmallVector<AtOp> prologue, parts;
  int64_t leaderShift = op.getLeaderShift(), leastShift = leaderShift;
  for (AtOp at : op.getBody().front().getOps<AtOp>()) {
    (at.getPrologue() ? prologue : parts).push_back(at);
    leastShift = std::min<int64_t>(leastShift, at.getShift());
  }
  if (parts.empty())
    return success();
  int64_t followers = leaderShift - leastShift;

  Value count = getWorkCount(op.getBounds());
  Value stride = gpu::GridDimOp::create(b, gpu::Dimension::x);
  Value zero = b.index(0), one = b.index(1);
  Type index = b.getIndexType();
  LogicalResult result = success();

  // The first work tile with steps from `start` on, and its range of them. No
  // work tile is left where the result is not below `count`.
  auto search = [&](Value start) {
    auto loop = scf::WhileOp::create(b, TypeRange{index, index, index}, start);
    OpBuilder::InsertionGuard guard(b);
    Block *before = b.createBlock(&loop.getBefore(), {}, index, {b.getLoc()});
    Value work = before->getArgument(0);
    Value isInside = b.compare(arith::CmpIPredicate::slt, work, count);
    auto branch =
        scf::IfOp::create(b, TypeRange{index, index}, isInside, true, true);
    b.setInsertionPointToStart(branch.thenBlock());
    Block &range = op.getRange().front();
    mapCoordinates(range, work, op.getBounds());
    if (failed(lower(range)) || failed(lowerYield(range)))
      result = failure();
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, ValueRange{zero, zero});
    b.setInsertionPointToEnd(before);
    Value first = branch.getResult(0), last = branch.getResult(1);
    Value isEmpty = b.compare(arith::CmpIPredicate::sge, first, last);
    scf::ConditionOp::create(b, b.bitAnd(isInside, isEmpty),
                             ValueRange{work, first, last});
    Block *after = b.createBlock(&loop.getAfter(), {}, {index, index, index},
                                 SmallVector<Location>(3, b.getLoc()));
    scf::YieldOp::create(b, b.add(after->getArgument(0), stride));
    return SmallVector<Value>(loop.getResults());
  };

  // Carried: work tile, first, last and present step of the leader; then for
  // each follower whether it is inside, its step, whether that is the
  // first, and the last, of its work tile.
  SmallVector<Value> state =
      search(gpu::BlockIdOp::create(b, gpu::Dimension::x));
  state.push_back(state[1]);
  Value no = b.i1(false);
  for (int64_t i = 0; i < followers; ++i)
    state.append({no, zero, no, no});
  SmallVector<Type> types(ValueRange(state).getTypes());
  SmallVector<Location> locs(types.size(), b.getLoc());

  // One turn from a state to the next.
  auto turn = [&](MutableArrayRef<AtOp> parts, ValueRange state) {
    Value work = state[0], first = state[1], last = state[2], tile = state[3];
    Value next = b.add(tile, one);
    SmallVector<Value> leader = {
        b.compare(arith::CmpIPredicate::slt, work, count), tile,
        b.compare(arith::CmpIPredicate::eq, tile, first),
        b.compare(arith::CmpIPredicate::eq, next, last)};
    auto getPosition = [&](int64_t shift) -> SmallVector<Value> {
      if (shift == leaderShift)
        return leader;
      return SmallVector<Value>(state.slice(4 * (leaderShift - shift), 4));
    };

    // Neighbors of one shift share their branch.
    for (size_t i = 0; i < parts.size();) {
      int64_t shift = parts[i].getShift();
      SmallVector<Value> position = getPosition(shift);
      b.setLoc(parts[i].getLoc());
      b.when(position[0], [&] {
        for (; i < parts.size() && int64_t(parts[i].getShift()) == shift; ++i) {
          Block &body = parts[i].getBody().front();
          for (int64_t j = 0; j < 3; ++j)
            values.map(body.getArgument(j), position[j + 1]);
          if (failed(lower(body)))
            result = failure();
        }
      });
    }

    b.setLoc(op.getLoc());
    Value isTileDone =
        b.bitAnd(leader[0], b.compare(arith::CmpIPredicate::sge, next, last));
    auto advance = scf::IfOp::create(b, TypeRange{index, index, index, index},
                                     isTileDone, true, true);
    {
      OpBuilder::InsertionGuard branchGuard(b);
      b.setInsertionPointToStart(advance.thenBlock());
      SmallVector<Value> found = search(b.add(work, stride));
      found.push_back(found[1]);
      scf::YieldOp::create(b, found);
      b.setInsertionPointToStart(advance.elseBlock());
      scf::YieldOp::create(b, ValueRange{work, first, last, next});
    }
    SmallVector<Value> carried(advance.getResults());
    for (int64_t i = 0; i < followers; ++i)
      carried.append(getPosition(leaderShift - i));
    return carried;
  };

  if (!prologue.empty()) {
    auto loop =
        scf::ForOp::create(b, zero, b.index(op.getPrologueTurns()), one, state);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(b, turn(prologue, loop.getRegionIterArgs()));
    state = loop.getResults();
  }

  auto loop = scf::WhileOp::create(b, types, state);
  OpBuilder::InsertionGuard guard(b);
  Block *before = b.createBlock(&loop.getBefore(), {}, types, locs);
  Value isActive =
      b.compare(arith::CmpIPredicate::slt, before->getArgument(0), count);
  for (int64_t i = 0; i < followers; ++i)
    isActive = b.bitOr(isActive, before->getArgument(4 + 4 * i));
  scf::ConditionOp::create(b, isActive, before->getArguments());

  Block *after = b.createBlock(&loop.getAfter(), {}, types, locs);
  scf::YieldOp::create(b, turn(parts, after->getArguments()));
  return result;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

LogicalResult KernelDistribution::lower(DimOp op) {
  values.map(op.getSize(), getSize(op.getView(), op.getDimension()));
  return success();
}

// The rows' windows of keys follow each other without gaps, so all together
// they see one range of keys, cut to [0, keys).
LogicalResult KernelDistribution::lower(KeyRangeOp op) {
  MaskAttr mask = op.getMask();
  Value rows = values.lookup(op.getRows()), keys = values.lookup(op.getKeys());
  Value row = values.lookup(op.getRow());
  Value zero = b.index(0);
  // The row's place on the diagonal, in keys.
  Value diagonal = zero;
  if (mask.getAlignment() == MaskAlignment::BottomRight)
    diagonal = b.sub(keys, rows);
  Value from = zero, to = keys;
  if (mask.hasLeftBound())
    from = b.max(b.sub(b.add(row, diagonal), b.index(mask.getLeft())), zero);
  if (mask.hasRightBound()) {
    Value end = b.min(b.add(row, b.index(op.getCount())), rows);
    to = b.min(b.add(b.add(end, diagonal), b.index(mask.getRight())), keys);
  }
  Value tile = b.index(op.getTile());
  Value isSome = b.bitAnd(b.compare(arith::CmpIPredicate::slt, from, to),
                          b.compare(arith::CmpIPredicate::slt, row, rows));
  Value first = b.div(from, tile);
  Value last = b.div(b.add(to, b.index(op.getTile() - 1)), tile);
  values.map(op.getFirst(), b.select(isSome, first, zero));
  values.map(op.getLast(), b.select(isSome, last, zero));
  return success();
}

LogicalResult KernelDistribution::lower(StepRangeOp op) {
  Value size = values.lookup(op.getSize());
  values.map(op.getFirst(), b.index(0));
  values.map(op.getLast(), b.div(b.add(size, b.index(op.getTile() - 1)),
                                 b.index(op.getTile())));
  return success();
}

//===----------------------------------------------------------------------===//
// Cursors
//===----------------------------------------------------------------------===//

/// A variable of 32 bits, in the entry block, where LLVM promotes it to a
/// register.
Value KernelDistribution::declareVariable() {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&func.getBody().front());
  return LLVM::AllocaOp::create(b, LLVM::LLVMPointerType::get(b.getContext()),
                                b.getI32Type(), b.i32(1));
}

LogicalResult KernelDistribution::lower(CursorOp op) {
  CursorVariables variables;
  variables.stages = op.getStages();
  variables.phase = declareVariable();
  LLVM::StoreOp::create(b, b.i32(0), variables.phase);
  if (variables.stages > 1) {
    variables.slot = declareVariable();
    LLVM::StoreOp::create(b, b.i32(0), variables.slot);
  }
  cursors[op.getCursor()] = variables;
  return success();
}

LogicalResult KernelDistribution::lower(AdvanceOp op) {
  const CursorVariables &variables = cursors[op.getCursor()];
  Value phase = b.load(variables.phase);
  Value flipped = b.bitXor(phase, b.i32(1));
  if (!variables.slot) {
    LLVM::StoreOp::create(b, flipped, variables.phase);
    return success();
  }
  Value next = b.add(b.load(variables.slot), b.i32(1));
  Value wraps =
      b.compare(arith::CmpIPredicate::eq, next, b.i32(variables.stages));
  LLVM::StoreOp::create(b, b.select(wraps, b.i32(0), next), variables.slot);
  LLVM::StoreOp::create(b, b.select(wraps, flipped, phase), variables.phase);
  return success();
}
