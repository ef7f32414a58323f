//===- ScheduleExecution.cpp - One run of a synchronized kernel -----------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleExecution.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace lpfa;

int64_t ScheduleExecution::Use::getCount() const {
  int64_t count = 0;
  for (const Arrival &arrival : arrivals)
    count += arrival.count;
  return count;
}

int64_t ScheduleExecution::Use::getBytes() const {
  int64_t bytes = 0;
  for (const Arrival &arrival : arrivals)
    bytes += arrival.bytes;
  return bytes;
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

unsigned ScheduleExecution::newEvent(Operation *op) {
  eventOps.push_back(op);
  return graph.addEvent();
}

unsigned ScheduleExecution::addEvent(Thread &thread) {
  unsigned event = newEvent(current);
  if (thread.last != none)
    graph.addEdge(thread.last, event);
  thread.last = event;
  return event;
}

/// What an engine does after its issue.
unsigned ScheduleExecution::addAsync(unsigned issue) {
  unsigned event = newEvent(current);
  graph.addEdge(issue, event);
  return event;
}

ScheduleExecution::Bound ScheduleExecution::getBound(Value value) {
  if (auto scratch = value.getDefiningOp<ScratchOp>()) {
    BufferId buffer{scratch, 0};
    int64_t content = scratchContents[scratch];
    return {buffer, content,
            getRange(buffer, getScratchSlot(scratch, content))};
  }
  if (auto accumulator = value.getDefiningOp<AccumulatorOp>()) {
    BufferId buffer{accumulator, 0};
    return {buffer, workTile, getRange(buffer)};
  }
  return bound.lookup(value);
}

void ScheduleExecution::addAccess(Value value, bool isWrite, Agent agent,
                                  unsigned thread, unsigned issue,
                                  unsigned event, Operation *op) {
  if (auto scratch = value.getDefiningOp<ScratchOp>();
      scratch && isWrite && thread == firstThread)
    ++scratchContents[scratch];
  Bound what = getBound(value);
  Thread &state = threads[thread];
  Access access{what.buffer,
                what.content,
                what.range,
                isWrite,
                /*isCertain=*/uncertainty == 0,
                agent,
                thread,
                issue,
                event,
                /*done=*/event};
  access.op = op;
  access.workTile = workTile;
  access.step = step;
  // A store of its own is asynchronous; a rescaling waits for its stores.
  if (agent == Agent::Threads && what.range.space == MemorySpace::Tensor &&
      issue != event) {
    access.done = none;
    state.awaitingStores.push_back(accesses.size());
  }
  accesses.push_back(access);
}

void ScheduleExecution::addFence(FenceOp op, unsigned index) {
  Thread &thread = threads[index];
  unsigned event = addEvent(thread);
  thread.fences[unsigned(op.getKind())].push_back({op, event});
  if (op.getKind() != FenceKind::TensorStores)
    return;
  for (unsigned access : thread.awaitingStores) {
    accesses[access].done = event;
    graph.addEdge(accesses[access].event, event);
  }
  thread.awaitingStores.clear();
}

std::vector<bool>
ScheduleExecution::setFences(function_ref<bool(Operation *)> isPresent) {
  // A thread's events have ascending numbers.
  auto findAfter = [&](const Thread &thread, FenceKind kind, unsigned event) {
    for (const auto &[op, fence] : thread.fences[unsigned(kind)])
      if (event != none && fence > event && isPresent(op))
        return fence;
    return none;
  };
  auto findBefore = [&](const Thread &thread, FenceKind kind, unsigned event) {
    for (const auto &[op, fence] : llvm::reverse(thread.fences[unsigned(kind)]))
      if (fence < event && isPresent(op))
        return fence;
    return none;
  };
  std::vector<bool> changed;
  for (Access &access : accesses) {
    const Thread &thread = threads[access.thread];
    Access old = access;
    if (access.range.space == MemorySpace::Tensor) {
      access.out =
          access.agent == Agent::Threads
              ? findAfter(thread, FenceKind::BeforeThreadSync, access.done)
              : access.event;
      access.in = findBefore(thread, FenceKind::AfterThreadSync, access.issue);
    } else if (access.agent == Agent::Threads) {
      access.proxyOut = findAfter(thread, FenceKind::ProxyAsync, access.event);
    } else {
      access.proxyIn = findBefore(thread, FenceKind::ProxyAsync, access.issue);
    }
    changed.push_back(old.out != access.out || old.in != access.in ||
                      old.proxyOut != access.proxyOut ||
                      old.proxyIn != access.proxyIn);
  }
  return changed;
}

void ScheduleExecution::addPipeOperation(TargetModel::PipeOp kind,
                                         unsigned event, Value accumulator) {
  pipes.resize(threads.size());
  PipeOperation operation{kind, {}, Type(), event};
  if (accumulator) {
    operation.accumulator = getBound(accumulator).range;
    operation.shape = accumulator.getType();
  }
  pipes[firstThread].push_back(operation);
  threads[firstThread].uncommitted.push_back(event);
}

std::vector<std::vector<EventGraph::Edge>>
ScheduleExecution::getPipeEdges(ArrayRef<TargetModel::PipeOrder> orders) const {
  std::vector<std::vector<EventGraph::Edge>> edges;
  for (const std::vector<PipeOperation> &pipe : pipes) {
    std::vector<EventGraph::Edge> &made = edges.emplace_back();
    std::vector<llvm::BitVector> before;
    for (auto [j, second] : llvm::enumerate(pipe)) {
      before.emplace_back(pipe.size());
      // The latest operations first: those before them follow.
      for (unsigned i = j; i-- > 0;) {
        const PipeOperation &first = pipe[i];
        bool sameAccumulator =
            first.accumulator.begin == second.accumulator.begin &&
            first.shape == second.shape;
        TargetModel::PipeOrder why =
            TargetModel::getPipeOrder(first.kind, second.kind, sameAccumulator);
        if (before[j].test(i) || (why != TargetModel::PipeOrder::Documented &&
                                  !llvm::is_contained(orders, why)))
          continue;
        before[j] |= before[i];
        before[j].set(i);
        made.push_back({i, unsigned(j)});
      }
    }
  }
  return edges;
}

std::vector<EventGraph::Edge> ScheduleExecution::getAssumedPipeEdges() const {
  using PipeOrder = TargetModel::PipeOrder;
  std::vector<EventGraph::Edge> edges;
  for (auto [pipe, pairs] : llvm::zip_equal(
           pipes, getPipeEdges({PipeOrder::CopyAfterMMA, PipeOrder::MMAAfterMMA,
                                PipeOrder::CopyAfterCopy})))
    for (auto [first, second] : pairs)
      edges.push_back({pipe[first].event, pipe[second].event});
  return edges;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

bool ScheduleExecution::isSynchronization(Operation *op) const {
  return isa<WaitOp, ArriveOp, CommitOp, ExpectBytesOp, AdvanceOp, LoadAsyncOp,
             StoreAsyncOp, StoreWaitOp, TeamBarrierOp, FenceOp>(op);
}

ScheduleExecution::Use &ScheduleExecution::getUse(Value barrier, Value cursor) {
  std::vector<Use> &uses = barriers[barrier.getDefiningOp()].uses;
  int64_t use = cursors.lookup(cursor);
  if (int64_t(uses.size()) <= use)
    uses.resize(use + 1);
  return uses[use];
}

LogicalResult ScheduleExecution::visit(Operation *op) {
  current = op;
  const unsigned numThreads = threads.size();
  Thread &first = threads[firstThread];
  RoleOp role = first.role;
  bool isEngineOp = isa<CommitOp, ExpectBytesOp, LoadAsyncOp, StoreAsyncOp,
                        StoreWaitOp, CopyScalesOp, CopyTileOp, MmaOp>(op);
  if (isEngineOp && !role.getElected())
    return op->emitOpError("outside the model: issued by every thread of role ")
           << role.getNameAttr() << ", which is not elected";
  auto access = [&](Value buffer, bool isWrite, Agent agent, unsigned issue,
                    unsigned event) {
    addAccess(buffer, isWrite, agent, firstThread, issue, event, op);
  };
  auto forEachThread = [&](auto callback) {
    for (unsigned thread = firstThread; thread < numThreads; ++thread)
      callback(thread);
  };
  auto accessByThreads = [&](Value buffer, bool reads, bool writes) {
    bool isStore =
        isa<WriteOp>(op) &&
        cast<BufferType>(buffer.getType()).getSpace() == MemorySpace::Tensor;
    forEachThread([&](unsigned thread) {
      unsigned issue = addEvent(threads[thread]);
      unsigned event = isStore ? addAsync(issue) : issue;
      if (reads)
        addAccess(buffer, false, Agent::Threads, thread, issue, event, op);
      if (writes)
        addAccess(buffer, true, Agent::Threads, thread, issue, event, op);
    });
    return success();
  };

  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](CursorOp op) {
        cursors[op.getCursor()] = 0;
        return success();
      })
      .Case([&](AdvanceOp op) {
        ++cursors[op.getCursor()];
        return success();
      })
      .Case([&](SlotAtOp op) {
        auto channel = op.getChannel().getDefiningOp<ChannelOp>();
        int64_t use = cursors.lookup(op.getCursor());
        for (auto [index, result] : llvm::enumerate(op.getBuffers())) {
          BufferId buffer{channel, unsigned(index)};
          bound[result] = {buffer, use,
                           getRange(buffer, use % getStages(buffer))};
        }
        return success();
      })
      .Case([&](SliceOp op) {
        Bound slice = getBound(op.getBuffer());
        BufferType type = op.getResult().getType();
        slice.range.begin +=
            op.getColumn() * type.getElementType().getIntOrFloatBitWidth() / 32;
        slice.range.end = slice.range.begin + type.getSize();
        bound[op.getResult()] = slice;
        return success();
      })
      .Case([&](WaitOp op) {
        int64_t use = cursors.lookup(op.getCursor()) - int64_t(op.getBack());
        Barrier &barrier = barriers[op.getBarrier().getDefiningOp()];
        forEachThread([&](unsigned thread) {
          unsigned before = threads[thread].last;
          barrier.waits[use].push_back({addEvent(threads[thread]), before, op});
        });
        return success();
      })
      .Case([&](ArriveOp op) {
        Use &use = getUse(op.getBarrier(), op.getCursor());
        int64_t rest = op.getOneThread() ? 1 : role.getThreads();
        for (unsigned thread = firstThread; thread < numThreads && rest > 0;
             ++thread) {
          int64_t count = thread + 1 < numThreads ? 1 : rest;
          use.arrivals.push_back(
              {addEvent(threads[thread]), thread, count, 0, op});
          rest -= count;
        }
        return success();
      })
      .Case([&](CommitOp op) {
        unsigned event = addAsync(addEvent(first));
        if (first.lastCommit != none)
          graph.addEdge(first.lastCommit, event);
        for (unsigned operation : first.uncommitted)
          graph.addEdge(operation, event);
        first.uncommitted.clear();
        first.lastCommit = event;
        getUse(op.getBarrier(), op.getCursor())
            .arrivals.push_back({event, firstThread, 1, 0, op});
        return success();
      })
      .Case([&](TeamBarrierOp) {
        unsigned event = newEvent(current);
        forEachThread([&](unsigned thread) {
          if (threads[thread].last != none)
            graph.addEdge(threads[thread].last, event);
          threads[thread].last = event;
          threads[thread].teamBarriers.push_back(event);
        });
        return success();
      })
      .Case([&](ExpectBytesOp op) {
        Use &use = getUse(op.getBarrier(), op.getCursor());
        int64_t count = op.getNoArrival() ? 0 : 1;
        use.arrivals.push_back({addEvent(first), firstThread, count, 0, op});
        use.expectedBytes += op.getBytes();
        return success();
      })
      .Case([&](FenceOp op) {
        forEachThread([&](unsigned thread) { addFence(op, thread); });
        return success();
      })
      .Case([&](LoadAsyncOp op) -> LogicalResult {
        if (!op.getBarrier())
          return op.emitOpError("outside the model: signals no barrier");
        unsigned issue = addEvent(first), event = addAsync(issue);
        access(op.getBuffer(), true, Agent::BulkCopy, issue, event);
        getUse(op.getBarrier(), op.getCursor())
            .arrivals.push_back({event, firstThread, 0,
                                 op.getBuffer().getType().getSize(), op});
        return success();
      })
      .Case([&](StoreAsyncOp op) {
        unsigned issue = addEvent(first), event = addAsync(issue);
        access(op.getBuffer(), false, Agent::BulkCopy, issue, event);
        first.stores.push_back(event);
        return success();
      })
      .Case([&](StoreWaitOp) {
        unsigned event = addEvent(first);
        for (unsigned store : first.stores)
          graph.addEdge(store, event);
        first.stores.clear();
        return success();
      })
      .Case<CopyScalesOp, CopyTileOp>([&](auto op) {
        unsigned issue = addEvent(first), event = addAsync(issue);
        access(op.getSource(), false, Agent::TensorCore, issue, event);
        access(op.getDestination(), true, Agent::TensorCore, issue, event);
        addPipeOperation(TargetModel::PipeOp::Copy, event, Value());
        return success();
      })
      .Case([&](MmaOp op) {
        unsigned issue = addEvent(first), event = addAsync(issue);
        for (Value operand :
             {op.getA(), op.getB(), op.getScalesA(), op.getScalesB()})
          access(operand, false, Agent::TensorCore, issue, event);
        if (op.getAccumulate() && getKnown(op.getAccumulate()).value_or(1))
          access(op.getD(), false, Agent::TensorCore, issue, event);
        access(op.getD(), true, Agent::TensorCore, issue, event);
        addPipeOperation(TargetModel::PipeOp::MMA, event, op.getD());
        return success();
      })
      .Case([&](ReadOp op) {
        return accessByThreads(op.getBuffer(), true, false);
      })
      .Case([&](WriteOp op) {
        return accessByThreads(op.getBuffer(), false, true);
      })
      .Case([&](RescaleBufferOp op) {
        return accessByThreads(op.getBuffer(), true, true);
      })
      .Default([&](Operation *op) -> LogicalResult {
        if (llvm::any_of(op->getOperandTypes(),
                         llvm::IsaPred<BufferType, ChannelType, BarrierType>))
          return op->emitOpError("outside the model of the schedule analysis");
        return success();
      });
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

void ScheduleExecution::connectBarriers() {
  for (auto &[op, barrier] : barriers) {
    int64_t arrivals = cast<BarrierOp>(op).getArrivals();
    for (auto [index, use] : llvm::enumerate(barrier.uses)) {
      if (use.getCount() != arrivals || use.getBytes() != use.expectedBytes)
        continue;
      auto waits = barrier.waits.find(index);
      bool isNamed = cast<BarrierOp>(op).getNamed();
      // Who waits for a named barrier arrives at it.
      if (isNamed && waits == barrier.waits.end())
        continue;
      use.completion = newEvent(op);
      for (const Arrival &arrival : use.arrivals)
        graph.addEdge(arrival.event, use.completion);
      if (waits == barrier.waits.end())
        continue;
      for (const Wait &wait : waits->second) {
        if (isNamed && wait.before != none)
          graph.addEdge(wait.before, use.completion);
        graph.addEdge(use.completion, wait.event);
      }
    }
  }
}

bool ScheduleExecution::isConflict(const Access &a, const Access &b) const {
  if ((!a.isWrite && !b.isWrite) || a.event == b.event ||
      !a.range.overlaps(b.range))
    return false;
  // Threads of one role own rows.
  bool isSameTeam = a.agent == Agent::Threads && b.agent == Agent::Threads &&
                    getRole(a.thread) == getRole(b.thread);
  bool haveSameRows = a.range.space == MemorySpace::Tensor ||
                      a.buffer == b.buffer ||
                      (a.range.begin == b.range.begin &&
                       getBufferType(a.buffer) == getBufferType(b.buffer));
  return !isSameTeam || a.thread == b.thread || !haveSameRows;
}

void ScheduleExecution::findConflicts() {
  // In order of memory, so that neighbors alone are compared.
  std::vector<const Access *> sorted;
  for (const Access &access : accesses)
    sorted.push_back(&access);
  llvm::sort(sorted, [](const Access *a, const Access *b) {
    return std::make_tuple(a->range.space, a->range.begin, a) <
           std::make_tuple(b->range.space, b->range.begin, b);
  });
  for (auto [i, a] : llvm::enumerate(sorted))
    for (const Access *b : ArrayRef(sorted).drop_front(i + 1)) {
      if (b->range.space != a->range.space || b->range.begin >= a->range.end)
        break;
      if (isConflict(*a, *b))
        conflicts.push_back(std::minmax(a, b));
    }
  // In order of the roles and their programs, for the reports.
  llvm::sort(conflicts);
}

LogicalResult ScheduleExecution::run() {
  const bool sharesMemory = hasOverlap(kernel, MemorySpace::Shared);
  for (RoleOp role : kernel.getBody().getOps<RoleOp>()) {
    firstThread = threads.size();
    auto addThread = [&] { threads.emplace_back().role = role; };
    addThread();
    bool isSplit =
        sharesMemory || role->walk([](Operation *op) {
                              auto arrive = dyn_cast<ArriveOp>(op);
                              return isa<TeamBarrierOp>(op) ||
                                             (arrive && arrive.getOneThread())
                                         ? WalkResult::interrupt()
                                         : WalkResult::advance();
                            })
                            .wasInterrupted();
    if (isSplit && !role.getElected())
      addThread();
    if (failed(interpret(role)))
      return failure();
  }
  end = newEvent(kernel);
  for (const Thread &thread : threads)
    if (thread.last != none)
      graph.addEdge(thread.last, end);
  connectBarriers();
  findConflicts();
  setFences([](Operation *) { return true; });
  return success();
}
