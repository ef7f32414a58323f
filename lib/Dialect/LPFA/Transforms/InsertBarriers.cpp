//===- InsertBarriers.cpp - Barriers for channels and overlaps ------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BarrierPlan.h"
#include "TensorFences.h"
#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "lpfa/Dialect/LPFA/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

namespace lpfa {
#define GEN_PASS_DEF_INSERTBARRIERS
#include "lpfa/Dialect/LPFA/Transforms/Passes.h.inc"
} // namespace lpfa

using namespace mlir;
using namespace lpfa;

//===----------------------------------------------------------------------===//
// What roles do to buffers
//===----------------------------------------------------------------------===//

/// Whether threads of the role read or write shared memory.
static bool accessesShared(RoleOp role) {
  return role
      ->walk([](Operation *op) {
        Value buffer;
        if (auto read = dyn_cast<ReadOp>(op))
          buffer = read.getBuffer();
        else if (auto write = dyn_cast<WriteOp>(op))
          buffer = write.getBuffer();
        return buffer && cast<BufferType>(buffer.getType()).getSpace() ==
                             MemorySpace::Shared
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

static bool isInTensorMemory(Value buffer) {
  auto type = dyn_cast<BufferType>(buffer.getType());
  return type && type.getSpace() == MemorySpace::Tensor;
}

namespace {
/// What a cursor counts: the slots of a channel, an accumulator's turns, or
/// work tiles.
enum class Counts { Slots, Takes, Gives, WorkTiles };

/// The barriers of one channel, and how its roles arrive at them.
struct Barriers {
  Value full, free;
  Arrival put;
  DenseMap<Operation *, Arrival> releases;
};

struct InsertBarriers : public lpfa::impl::InsertBarriersBase<InsertBarriers> {
  using InsertBarriersBase::InsertBarriersBase;
  void runOnOperation() override;

private:
  FailureOr<BarrierPlan> makePlan(KernelOp kernel);
  void declareBarriers(KernelOp kernel);
  void rewriteRole(RoleOp role);
  void rewriteBegin(RoleOp role, Operation *op, ChannelOp channel);
  void rewriteEnd(RoleOp role, Operation *op, ChannelOp channel);
  void rewriteTurn(RoleOp role, Operation *op);
  void rewriteWorkTiles(RoleOp role, const WaitEdge &wait);

  int64_t getCount(RoleOp role, Arrival arrival) {
    return arrival == Arrival::Threads ? role.getThreads() : 1;
  }

  /// The role's cursor for a channel or accumulator, made at its start.
  Value getCursor(RoleOp role, Operation *declaration,
                  Counts counts = Counts::Slots);
  void emitWait(OpBuilder &builder, Value barrier, Value cursor, int64_t back);
  void emitArrive(OpBuilder &builder, Arrival arrival, Value barrier,
                  Value cursor);
  /// Before what may hand over memory that an engine uses for another buffer.
  void emitSharingFence(OpBuilder &builder, RoleOp role, Location loc) {
    if (sharingRoles.contains(role))
      FenceOp::create(builder, loc, FenceKind::ProxyAsync);
  }

  BarrierPlan plan;
  /// Where buffers overlap in shared memory, the roles whose threads access it.
  DenseSet<Operation *> sharingRoles;
  llvm::MapVector<Operation *, Barriers> channelBarriers;
  /// By channel and the loop that waits: its readers have ended a work tile,
  /// and the loop has begun one.
  llvm::MapVector<std::pair<Operation *, Operation *>, std::pair<Value, Value>>
      workTileBarriers;
  /// By accumulator and the role that waits.
  llvm::MapVector<std::pair<Operation *, Operation *>, Value> turnBarriers;
  /// By role, channel or accumulator, and purpose.
  DenseMap<std::tuple<Operation *, Operation *, unsigned>, Value> cursors;
};
} // namespace

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

void InsertBarriers::declareBarriers(KernelOp kernel) {
  Operation *firstRole = *kernel.getBody().getOps<RoleOp>().begin();
  OpBuilder builder(firstRole);
  auto declare = [&](Operation *op, StringRef suffix, int64_t stages,
                     int64_t arrivals, const Twine &guards,
                     bool isNamed = false) -> Value {
    ++barriers;
    return BarrierOp::create(builder, op->getLoc(),
                             BarrierType::get(&getContext()),
                             (getBufferName(op) + "." + suffix).str(), isNamed,
                             stages, arrivals, builder.getStringAttr(guards));
  };
  for (ChannelOp channel : kernel.getBody().getOps<ChannelOp>()) {
    Barriers &made = channelBarriers[channel];
    int64_t putCount = 0, freeCount = 0;
    for (RoleOp role : kernel.getBody().getOps<RoleOp>()) {
      bool puts = false, releases = false;
      for (Operation *user : channel.getChannel().getUsers()) {
        puts |= isa<PutOp>(user) && role->isAncestor(user);
        releases |= isa<ReleaseOp>(user) && role->isAncestor(user);
      }
      if (puts) {
        made.put = getPutArrival(role, channel);
        putCount += getCount(role, made.put);
      }
      if (releases) {
        Arrival arrival = getReleaseArrival(role, channel);
        made.releases[role] = arrival;
        freeCount += getCount(role, arrival);
      }
    }
    if (!plan.mergedChannels.contains(channel)) {
      std::string names = channel.getName().str();
      for (ChannelOp other : kernel.getBody().getOps<ChannelOp>())
        if (plan.mergedChannels.lookup(other) == channel)
          names += " and " + other.getName().str();
      made.full = declare(channel, "full", channel.getStages(), putCount,
                          "content of " + names + " is there",
                          plan.namedChannels.contains(channel));
    }
    if (plan.needsFree(channel))
      made.free = declare(channel, "free", channel.getStages(), freeCount,
                          "content of " + channel.getName() + " has been read");
  }
  for (const WaitEdge &wait : plan.waits) {
    if (wait.kind != WaitEdge::WorkTile)
      continue;
    auto channel = cast<ChannelOp>(wait.declaration);
    RoleOp waiter = getRole(wait.op);
    int64_t count = 0;
    for (auto &[reader, arrival] : channelBarriers[channel].releases)
      count += getCount(cast<RoleOp>(reader), arrival);
    StringRef name = waiter.getName();
    workTileBarriers[{channel, wait.op}] = {
        declare(channel, ("read.for." + name).str(), 1, count,
                "a work tile's content of " + channel.getName() +
                    " has been read"),
        declare(channel, ("awaited.by." + name).str(), 1,
                getCount(waiter, Arrival::Threads),
                name + " has begun a work tile")};
  }
  for (AccumulatorOp accumulator : kernel.getBody().getOps<AccumulatorOp>()) {
    for (Operation *user : accumulator.getBuffer().getUsers()) {
      auto take = dyn_cast<TakeOp>(user);
      if (!take)
        continue;
      RoleOp taker = getRole(take);
      Value &barrier = turnBarriers[{accumulator, taker}];
      for (Operation *other : accumulator.getBuffer().getUsers()) {
        RoleOp giver = getRole(other);
        if (barrier || !isa<GiveOp>(other) || giver == taker ||
            !plan.needsTurn(accumulator, giver))
          continue;
        bool commits = multiplies(giver);
        barrier = declare(
            accumulator, ("for." + taker.getName()).str(), 1,
            getCount(giver, commits ? Arrival::Commit : Arrival::Threads),
            accumulator.getName() + " belongs to " + taker.getName());
      }
    }
  }
}

Value InsertBarriers::getCursor(RoleOp role, Operation *declaration,
                                Counts counts) {
  Value &cursor = cursors[{role, declaration, unsigned(counts)}];
  if (!cursor) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointToStart(&role.getBody().front());
    auto channel = dyn_cast<ChannelOp>(declaration);
    cursor = CursorOp::create(builder, declaration->getLoc(),
                              CursorType::get(&getContext()),
                              channel ? channel.getStages() : 1);
  }
  return cursor;
}

void InsertBarriers::emitWait(OpBuilder &builder, Value barrier, Value cursor,
                              int64_t back) {
  ++insertedWaits;
  Location loc = barrier.getLoc();
  WaitOp::create(builder, loc, barrier, cursor,
                 builder.getI64IntegerAttr(back));
}

void InsertBarriers::emitArrive(OpBuilder &builder, Arrival arrival,
                                Value barrier, Value cursor) {
  Location loc = barrier.getLoc();
  if (arrival == Arrival::Commit) {
    CommitOp::create(builder, loc, barrier, cursor);
    return;
  }
  ArriveOp::create(builder, loc, barrier, cursor);
}

void InsertBarriers::rewriteBegin(RoleOp role, Operation *op,
                                  ChannelOp channel) {
  OpBuilder builder(op);
  Value cursor = getCursor(role, channel);
  const Barriers &made = channelBarriers[channel];
  ChannelOp with = plan.mergedChannels.lookup(channel);
  Value full = with ? channelBarriers[with].full : made.full;
  Value fullCursor = with ? getCursor(role, with) : cursor;
  if (auto acquire = dyn_cast<AcquireOp>(op)) {
    if (plan.isNeeded(WaitEdge::Free, channel, op))
      emitWait(builder, made.free, cursor, channel.getStages());
    if (made.put == Arrival::Bytes) {
      int64_t bytes = 0;
      for (BufferType buffer : channel.getChannel().getType().getBuffers())
        bytes += buffer.getSize();
      // After what comes with it, which is expected first.
      OpBuilder::InsertionGuard guard(builder);
      if (Operation *copy = getFirstCopy(acquire))
        builder.setInsertionPoint(copy);
      ExpectBytesOp::create(builder, op->getLoc(), full, fullCursor, bytes,
                            /*no_arrival=*/bool(with));
    }
  } else if (plan.openings.contains(op) && !with) {
    emitWait(builder, made.full, cursor, 0);
  }
  auto slot = SlotAtOp::create(builder, op->getLoc(), op->getResultTypes(),
                               channel.getChannel(), cursor);
  for (Operation *user : llvm::to_vector(op->getUsers()))
    if (auto load = dyn_cast<LoadAsyncOp>(user)) {
      load.getBarrierMutable().assign(full);
      load.getCursorMutable().assign(fullCursor);
    }
  op->replaceAllUsesWith(slot);
  op->erase();
}

void InsertBarriers::rewriteEnd(RoleOp role, Operation *op, ChannelOp channel) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  Value cursor = getCursor(role, channel);
  const Barriers &made = channelBarriers[channel];
  SmallVector<Operation *> users;
  auto collect = [&](Operation *slot) {
    for (Value buffer : slot->getResults())
      llvm::append_range(users, buffer.getUsers());
  };
  role->walk([&](SlotAtOp slot) {
    if (slot.getChannel() == channel.getChannel())
      collect(slot);
  });
  if (isa<PutOp>(op)) {
    // What threads wrote is there for the engines that read it.
    bool toTensor = false, toShared = false;
    for (Operation *user : users)
      if (auto write = dyn_cast<WriteOp>(user))
        (isInTensorMemory(write.getBuffer()) ? toTensor : toShared) = true;
    bool isReadByEngine =
        llvm::any_of(channel.getChannel().getUsers(), [&](Operation *user) {
          if (!isa<GetOp, SlotAtOp>(user) || role->isAncestor(user))
            return false;
          return llvm::any_of(
              user->getUsers(),
              llvm::IsaPred<CopyScalesOp, CopyTileOp, MmaOp, StoreAsyncOp>);
        });
    if (toTensor)
      FenceOp::create(builder, loc, FenceKind::TensorStores);
    if (toShared && isReadByEngine && !sharingRoles.contains(role))
      FenceOp::create(builder, loc, FenceKind::ProxyAsync);
    emitSharingFence(builder, role, loc);
    if (made.put != Arrival::Bytes)
      emitArrive(builder, made.put, made.full, cursor);
  } else {
    if (llvm::any_of(users, llvm::IsaPred<StoreAsyncOp>))
      StoreWaitOp::create(builder, loc, /*complete=*/false);
    emitSharingFence(builder, role, loc);
    if (made.free)
      emitArrive(builder, made.releases.lookup(role), made.free, cursor);
  }
  AdvanceOp::create(builder, loc, cursor);
  op->erase();
}

void InsertBarriers::rewriteTurn(RoleOp role, Operation *op) {
  OpBuilder builder(op);
  Operation *accumulator = op->getOperand(0).getDefiningOp();
  if (isa<TakeOp>(op)) {
    if (plan.needsTakes(accumulator, role) &&
        !plan.unmatchedTakes.contains(op)) {
      Value barrier = turnBarriers.lookup({accumulator, role});
      Value cursor = getCursor(role, accumulator, Counts::Takes);
      if (plan.isNeeded(WaitEdge::Turn, accumulator, op))
        emitWait(builder, barrier, cursor, 0);
      AdvanceOp::create(builder, op->getLoc(), cursor);
    }
  } else {
    emitSharingFence(builder, role, op->getLoc());
    for (auto &[key, barrier] : turnBarriers) {
      if (!barrier || key.first != accumulator || key.second == role)
        continue;
      bool commits = multiplies(role);
      Value cursor = getCursor(role, accumulator, Counts::Gives);
      if (plan.lastGives.contains(op)) {
        Value isLast = cast<AtOp>(op->getParentOp()).getBody().getArgument(2);
        auto branch = scf::IfOp::create(builder, op->getLoc(), isLast);
        builder.setInsertionPoint(branch.thenYield());
      }
      emitArrive(builder, commits ? Arrival::Commit : Arrival::Threads, barrier,
                 cursor);
      AdvanceOp::create(builder, op->getLoc(), cursor);
    }
  }
  op->erase();
}

/// The role waits at the beginning of each work tile, or others for it at the
/// end of theirs: no one is more than a use of a barrier ahead.
void InsertBarriers::rewriteWorkTiles(RoleOp role, const WaitEdge &wait) {
  auto channel = cast<ChannelOp>(wait.declaration);
  auto [read, begun] = workTileBarriers.lookup({channel, wait.op});
  Operation *barrier = read.getDefiningOp();
  Location loc = channel.getLoc();
  OpBuilder builder(&getContext());
  auto getWorkTile = [&]() -> Value {
    return getCursor(role, barrier, Counts::WorkTiles);
  };
  if (role->isAncestor(wait.op)) {
    Value cursor = getWorkTile();
    builder.setInsertionPointToStart(&wait.op->getRegion(0).front());
    emitWait(builder, read, cursor, 1);
    emitArrive(builder, Arrival::Threads, begun, cursor);
    AdvanceOp::create(builder, loc, cursor);
    return;
  }
  for (ForWorkOp loop : Trace::getReaderLoops(channel)) {
    if (getRole(loop) != role)
      continue;
    Value cursor = getWorkTile();
    builder.setInsertionPoint(loop.getBody().front().getTerminator());
    emitWait(builder, begun, cursor, 0);
    emitSharingFence(builder, role, loc);
    emitArrive(builder, channelBarriers[channel].releases.lookup(role), read,
               cursor);
    AdvanceOp::create(builder, loc, cursor);
  }
}

void InsertBarriers::rewriteRole(RoleOp role) {
  // Waits before other ops first, while these are as analyzed. The role's
  // cursor of the channel, or of the turns it gave, is one past the latest use.
  for (const WaitEdge &wait : plan.waits) {
    if (wait.kind == WaitEdge::WorkTile)
      rewriteWorkTiles(role, wait);
    if (wait.kind < WaitEdge::Overlap || !role->isAncestor(wait.op))
      continue;
    OpBuilder builder(wait.op);
    if (wait.kind == WaitEdge::Overlap)
      ++overlapWaits;
    else
      ++drainWaits;
    auto channel = dyn_cast<ChannelOp>(wait.declaration);
    if (!channel) {
      for (auto &[key, barrier] : turnBarriers)
        if (barrier && key.first == wait.declaration && key.second != role)
          emitWait(builder, barrier,
                   getCursor(role, wait.declaration, Counts::Gives), 1);
      continue;
    }
    const Barriers &made = channelBarriers[channel];
    bool isDrain = wait.kind == WaitEdge::Drain;
    emitWait(builder, isDrain && writes(role, channel) ? made.full : made.free,
             getCursor(role, channel), wait.back);
  }
  SmallVector<Operation *> ops;
  role->walk([&](Operation *op) {
    if (isa<AcquireOp, GetOp, PutOp, ReleaseOp, TakeOp, GiveOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    if (isa<TakeOp, GiveOp>(op)) {
      rewriteTurn(role, op);
      continue;
    }
    auto channel = op->getOperand(0).getDefiningOp<ChannelOp>();
    if (isa<AcquireOp, GetOp>(op))
      rewriteBegin(role, op, channel);
    else
      rewriteEnd(role, op, channel);
  }
}

FailureOr<BarrierPlan> InsertBarriers::makePlan(KernelOp kernel) {
  if (ordering == Ordering::Documented) {
    FailureOr<std::vector<Trace>> traces = runTraces(kernel, ordering);
    return failed(traces) ? FailureOr<BarrierPlan>()
                          : BarrierPlan::get(kernel, *traces);
  }
  auto &traces = getAnalysis<KernelTraces>().traces;
  return failed(traces) ? FailureOr<BarrierPlan>()
                        : BarrierPlan::get(kernel, *traces);
}

void InsertBarriers::runOnOperation() {
  KernelOp kernel = getOperation();
  if (kernel.getStage() != Stage::Placed)
    return;
  channelBarriers.clear();
  workTileBarriers.clear();
  turnBarriers.clear();
  cursors.clear();
  sharingRoles.clear();
  if (hasOverlap(kernel, MemorySpace::Shared))
    for (RoleOp role : kernel.getBody().getOps<RoleOp>())
      if (accessesShared(role))
        sharingRoles.insert(role);
  FailureOr<BarrierPlan> made = makePlan(kernel);
  if (failed(made))
    return signalPassFailure();
  plan = std::move(*made);
  mergedBarriers += plan.mergedChannels.size();
  namedBarriers += plan.namedChannels.size();
  declareBarriers(kernel);
  for (RoleOp role : kernel.getBody().getOps<RoleOp>())
    rewriteRole(role);
  std::optional<unsigned> spared = insertTensorFences(kernel, ordering);
  if (!spared)
    return signalPassFailure();
  sparedFences += *spared;
  kernel.setStage(Stage::Synchronized);
}
