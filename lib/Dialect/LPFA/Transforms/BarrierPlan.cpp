//===- BarrierPlan.cpp - What needs barriers, and of what kind ------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BarrierPlan.h"
#include "lpfa/Analysis/CostModel.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace lpfa;

/// The ops of `role` that touch slots of `channel` that `Begin` opens.
template <typename Begin>
static SmallVector<Operation *> getSlotUsers(RoleOp role, ChannelOp channel) {
  SmallVector<Operation *> users;
  for (Operation *user : channel.getChannel().getUsers())
    if (auto begin = dyn_cast<Begin>(user); begin && role->isAncestor(begin))
      for (Value buffer : begin.getBuffers())
        llvm::append_range(users, buffer.getUsers());
  return users;
}

bool lpfa::writes(RoleOp role, Operation *channel) {
  return llvm::any_of(channel->getUsers(), [&](Operation *user) {
    return isa<PutOp>(user) && role->isAncestor(user);
  });
}

static bool isTensorCore(Operation *op) {
  return isa<MmaOp, CopyScalesOp, CopyTileOp>(op);
}

bool lpfa::multiplies(RoleOp role) {
  return role->walk([](MmaOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

Arrival lpfa::getPutArrival(RoleOp role, ChannelOp channel) {
  SmallVector<Operation *> users = getSlotUsers<AcquireOp>(role, channel);
  if (llvm::any_of(users, isTensorCore))
    return Arrival::Commit;
  return llvm::any_of(users, llvm::IsaPred<LoadAsyncOp>) ? Arrival::Bytes
                                                         : Arrival::Threads;
}

Arrival lpfa::getReleaseArrival(RoleOp role, ChannelOp channel) {
  SmallVector<Operation *> users = getSlotUsers<GetOp>(role, channel);
  return llvm::any_of(users, isTensorCore) ? Arrival::Commit : Arrival::Threads;
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

/// Says why a wait stands.
static void explain(KernelOp kernel, const WaitEdge &wait,
                    const ScheduleConflict &reason) {
  static constexpr StringRef names[] = {
      "wait-free", "wait-turn", "wait-work-tile", "wait-overlap", "wait-drain"};
  remark::passed(wait.op->getLoc(), remark::RemarkOpts::name(names[wait.kind])
                                        .category("lpfa-barriers")
                                        .function(kernel.getSymName()))
      << describe(wait, reason);
}

FailureOr<BarrierPlan> BarrierPlan::get(KernelOp kernel,
                                        ArrayRef<Trace> traces) {
  ScheduleAnalysis analysis(traces);
  analysis.addOverlaps(kernel);
  ScheduleConflict conflict;
  std::optional<std::vector<WaitEdge>> found = analysis.findWaits(&conflict);
  if (!found)
    return emitConflict(kernel, conflict);
  BarrierPlan plan;
  plan.waits = std::move(*found);
  for (const WaitEdge &wait : plan.waits)
    if (wait.kind == WaitEdge::Turn)
      plan.waitingTakers.insert({wait.declaration, getRole(wait.op)});
  for (auto [wait, reason] : llvm::zip(plan.waits, analysis.getReasons()))
    explain(kernel, wait, reason);
  for (const Trace &trace : traces)
    kernel.walk([&](GetOp get) {
      if (trace.isOpening(get))
        plan.openings.insert(get);
    });
  plan.findLastGives(traces);
  plan.mergeArrivals(kernel, analysis);
  plan.chooseNamed(kernel, analysis);
  return plan;
}

bool BarrierPlan::needsFree(Operation *channel) const {
  return llvm::any_of(waits, [&](const WaitEdge &wait) {
    if (wait.kind == WaitEdge::WorkTile ||
        (wait.kind == WaitEdge::Drain && writes(getRole(wait.op), channel)))
      return false;
    return wait.declaration == channel;
  });
}

bool BarrierPlan::needsTurn(Operation *accumulator, RoleOp giver) const {
  return llvm::any_of(waits, [&](const WaitEdge &wait) {
    return wait.declaration == accumulator &&
           (wait.kind == WaitEdge::Drain) == (getRole(wait.op) == giver);
  });
}

/// Where a role is waited for only after what it gives in the last step of a
/// work tile, it arrives only then, and uses are counted by work tiles.
void BarrierPlan::findLastGives(ArrayRef<Trace> traces) {
  // By accumulator and role: a wait of the giver itself needs every arrival.
  llvm::MapVector<std::pair<Operation *, Operation *>, bool> isLastOnly;
  auto forEachTurn = [&](auto callback) {
    for (const Trace &trace : traces)
      for (const Trace::Turn &turn : trace.getTurns())
        callback(turn, isLastOnly[{turn.accumulator, getRole(turn.give)}]);
  };
  forEachTurn([](const Trace::Turn &, bool &isLast) { isLast = true; });
  forEachTurn([&](const Trace::Turn &turn, bool &isLast) {
    isLast &= isa<AtOp>(turn.give->getParentOp()) &&
              turn.isLastStep ==
                  isNeeded(WaitEdge::Turn, turn.accumulator, turn.take);
  });
  for (const WaitEdge &wait : waits)
    if (wait.kind == WaitEdge::Drain)
      isLastOnly[{wait.declaration, getRole(wait.op)}] = false;
  forEachTurn([&](const Trace::Turn &turn, bool &isLast) {
    if (!isLast)
      return;
    lastGives.insert(turn.give);
    if (!turn.isLastStep)
      unmatchedTakes.insert(turn.take);
  });
}

/// The op that acquires the channel's slots for copies to fill, where it is the
/// only one.
static AcquireOp getFilledByCopies(ChannelOp channel) {
  AcquireOp found;
  for (Operation *user : channel.getChannel().getUsers()) {
    auto acquire = dyn_cast<AcquireOp>(user);
    if (!acquire)
      continue;
    if (found || !llvm::all_of(acquire->getUsers(), llvm::IsaPred<LoadAsyncOp>))
      return nullptr;
    found = acquire;
  }
  return found;
}

Operation *lpfa::getFirstCopy(AcquireOp acquire) {
  for (Operation &op : llvm::make_range(std::next(acquire->getIterator()),
                                        acquire->getBlock()->end()))
    if (llvm::is_contained(acquire->getUsers(), &op))
      return &op;
  return nullptr;
}

/// Where copies into one channel stand among those into another, who waits for
/// the other's content need not wait for the one's: one barrier counts the
/// bytes of both.
void BarrierPlan::mergeArrivals(KernelOp kernel,
                                const ScheduleAnalysis &analysis) {
  auto channels = llvm::to_vector(kernel.getBody().getOps<ChannelOp>());
  DenseSet<Operation *> hosts;
  for (ChannelOp channel : channels) {
    AcquireOp inner = getFilledByCopies(channel);
    if (!inner || hosts.contains(channel) || multiplies(getRole(inner)))
      continue;
    for (ChannelOp with : channels) {
      AcquireOp outer = getFilledByCopies(with);
      if (!outer || with == channel || mergedChannels.contains(with) ||
          getRole(inner) != getRole(outer))
        continue;
      // The slot is the other's next when its latest use has been read, and the
      // bytes of both are expected before the barrier's arrival.
      Operation *begin = outer->getBlock()->findAncestorOpInBlock(*inner);
      Operation *copy = getFirstCopy(outer);
      if (!isNeeded(WaitEdge::Free, with, outer) || !begin || !copy ||
          !outer->isBeforeInBlock(begin) || !begin->isBeforeInBlock(copy) ||
          !analysis.comesWith(channel, with))
        continue;
      mergedChannels[channel] = with;
      hosts.insert(with);
      remark::passed(inner->getLoc(), remark::RemarkOpts::name("merged")
                                          .category("lpfa-barriers")
                                          .function(kernel.getSymName()))
          << llvm::formatv("content of '{0}' comes with that of '{1}': who "
                           "reads it has waited for that",
                           channel.getName(), with.getName())
                 .str();
      break;
    }
  }
}

/// Hands over from team to team what costs least: by named barriers, as long as
/// there are any, where each content is got before the next is put.
void BarrierPlan::chooseNamed(KernelOp kernel,
                              const ScheduleAnalysis &analysis) {
  // Number 0 is the kernel's, and each warpgroup may have one for its team.
  int64_t left = TargetModel::namedBarriers - 1 -
                 int64_t(*kernel.getThreads()) /
                     (TargetModel::warpThreads * TargetModel::warpgroupWarps);
  for (ChannelOp channel : kernel.getBody().getOps<ChannelOp>()) {
    RoleOp writer, reader;
    bool isBetweenTeams = channel.getStages() == 1;
    for (Operation *user : channel.getChannel().getUsers()) {
      RoleOp &role = isa<AcquireOp, PutOp>(user) ? writer : reader;
      isBetweenTeams &= !role || role == getRole(user);
      role = getRole(user);
    }
    if (!isBetweenTeams || !writer || !reader || writer.getElected() ||
        reader.getElected() ||
        getPutArrival(writer, channel) != Arrival::Threads || left == 0 ||
        !analysis.isHandedOverInTurn(channel))
      continue;
    auto getSlots = [&](Handover handover) {
      return getIssueSlots(handover, writer.getWarps(), reader.getWarps());
    };
    int64_t named = getSlots(Handover::Named),
            each = getSlots(Handover::EachThread),
            one = getSlots(Handover::OneThread);
    if (named >= std::min(each, one))
      continue;
    --left;
    namedChannels.insert(channel);
    remark::passed(channel.getLoc(), remark::RemarkOpts::name("named")
                                         .category("lpfa-barriers")
                                         .function(kernel.getSymName()))
        << llvm::formatv("content of '{0}' is handed over at a named barrier: "
                         "{1} issue slots a use, an mbarrier {2} with an "
                         "arrival a thread, {3} with one a team",
                         channel.getName(), named, each, one)
               .str();
  }
}
