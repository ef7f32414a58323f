//===- ScheduleExecution.h - One run of a synchronized kernel ---*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The events of a kernel at the synchronized stage, for given numbers of steps,
// from its barriers as written: accesses to memory, arrivals, waits.
//
// A role is one thread here, or two where one of its threads arrives for all,
// that one and any other, or where buffers overlap in shared memory. Threads of
// a role own rows, in tensor memory and in what they write to shared memory;
// the rows of one buffer lie anywhere in another.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_ANALYSIS_SCHEDULEEXECUTION_H
#define LPFA_LIB_ANALYSIS_SCHEDULEEXECUTION_H

#include "lpfa/Analysis/Buffers.h"
#include "lpfa/Analysis/EventGraph.h"
#include "lpfa/Analysis/RoleInterpreter.h"
#include "lpfa/Target/TargetModel.h"
#include <map>

namespace lpfa {

class ScheduleExecution : RoleInterpreter {
public:
  static constexpr unsigned none = ~0u;

  /// Who reads or writes.
  enum class Agent { Threads, TensorCore, BulkCopy };

  struct Access {
    BufferId buffer;
    /// A channel's use, an accumulator's work tile, the number of a scratch
    /// buffer's write.
    int64_t content;
    MemoryRange range;
    bool isWrite;
    /// Whether it happens whatever the data are.
    bool isCertain;
    Agent agent;
    unsigned thread;
    /// The event at which it is issued, and the one at which it happens.
    unsigned issue, event;
    /// For tensor memory: from which event on the thread itself, and others,
    /// may rely on it, and from which event on it may rely on others. None
    /// where a fence is missing.
    unsigned done, out = none, in = none;
    /// For shared memory: the first proxy fence after, the last before.
    unsigned proxyOut = none, proxyIn = none;
    mlir::Operation *op = nullptr;
    int64_t workTile = 0, step = 0;
  };

  /// An arrival, or bytes of a copy, at a use of a barrier.
  struct Arrival {
    unsigned event;
    unsigned thread;
    /// More than one where the thread stands for several.
    int64_t count, bytes;
    mlir::Operation *op;
  };

  struct Wait {
    unsigned event;
    /// The event before it in its thread.
    unsigned before;
    mlir::Operation *op;
  };

  /// One use of a barrier, counted from 0.
  struct Use {
    std::vector<Arrival> arrivals;
    int64_t expectedBytes = 0;
    unsigned completion = none;

    int64_t getCount() const;
    int64_t getBytes() const;
  };

  /// The uses of a barrier, and the waits for each, which may be for a use
  /// before the first.
  struct Barrier {
    std::vector<Use> uses;
    std::map<int64_t, std::vector<Wait>> waits;
  };

  /// An operation of the tensor core.
  struct PipeOperation {
    TargetModel::PipeOp kind;
    /// For an MMA, the columns and the shape of D.
    MemoryRange accumulator;
    mlir::Type shape;
    unsigned event;
  };

  ScheduleExecution(KernelOp kernel, llvm::ArrayRef<int64_t> steps)
      : RoleInterpreter(kernel, steps) {}

  /// Executes all roles. Fails with a diagnostic where something is outside the
  /// model.
  llvm::LogicalResult run();

  /// Lets only these fences count, and wait for stores. True for accesses that
  /// this concerns.
  std::vector<bool>
  setFences(llvm::function_ref<bool(mlir::Operation *)> isPresent);

  llvm::ArrayRef<Access> getAccesses() const { return accesses; }
  const llvm::MapVector<mlir::Operation *, Barrier> &getBarriers() const {
    return barriers;
  }
  /// Pairs of accesses that must be ordered: they may touch the same bytes or
  /// cells, one of them in writing.
  llvm::ArrayRef<std::pair<const Access *, const Access *>>
  getConflicts() const {
    return conflicts;
  }
  /// The op of an event; a barrier for the completion of a use.
  mlir::Operation *getOp(unsigned event) const { return eventOps[event]; }
  const EventGraph &getGraph() const { return graph; }
  /// The event at which all roles have ended.
  unsigned getEnd() const { return end; }
  /// The operations of each thread that issues any, in order.
  llvm::ArrayRef<std::vector<PipeOperation>> getPipes() const { return pipes; }
  /// For each thread that issues operations of the tensor core, the pairs of
  /// their indices that execute in order, where these orders count. What
  /// follows from other pairs is left out.
  std::vector<std::vector<EventGraph::Edge>>
  getPipeEdges(llvm::ArrayRef<TargetModel::PipeOrder> orders) const;
  /// The edges between events by the orders that every known kernel relies on.
  std::vector<EventGraph::Edge> getAssumedPipeEdges() const;
  RoleOp getRole(unsigned thread) const { return threads[thread].role; }
  /// The events at which the threads of a role waited for each other.
  llvm::ArrayRef<unsigned> getTeamBarriers(unsigned thread) const {
    return threads[thread].teamBarriers;
  }
  llvm::ArrayRef<int64_t> getSteps() const { return steps; }

private:
  struct Bound {
    BufferId buffer = {nullptr, 0};
    int64_t content = 0;
    MemoryRange range;
  };

  struct Thread {
    RoleOp role;
    unsigned last = none;
    unsigned lastCommit = none;
    /// The operations that no commit has followed yet.
    std::vector<unsigned> uncommitted;
    std::vector<unsigned> stores, teamBarriers;
    /// Indices of accesses that `tensor_stores` still has to follow.
    std::vector<unsigned> awaitingStores;
    /// The fences of each kind, with their events.
    std::vector<std::pair<mlir::Operation *, unsigned>> fences[4];
  };

  llvm::LogicalResult visit(mlir::Operation *op) override;
  bool isSynchronization(mlir::Operation *op) const override;

  unsigned newEvent(mlir::Operation *op);
  unsigned addEvent(Thread &thread);
  unsigned addAsync(unsigned issue);
  /// An access to the buffer of `value`, by the threads of the role at hand,
  /// or by an engine at `event`.
  void addAccess(mlir::Value value, bool isWrite, Agent agent, unsigned thread,
                 unsigned issue, unsigned event, mlir::Operation *op);
  Bound getBound(mlir::Value value);
  Use &getUse(mlir::Value barrier, mlir::Value cursor);
  void addFence(FenceOp op, unsigned thread);
  void addPipeOperation(TargetModel::PipeOp kind, unsigned event,
                        mlir::Value accumulator);
  void connectBarriers();
  bool isConflict(const Access &a, const Access &b) const;
  void findConflicts();

  EventGraph graph;
  std::vector<mlir::Operation *> eventOps;
  std::vector<Access> accesses;
  std::vector<std::pair<const Access *, const Access *>> conflicts;
  llvm::MapVector<mlir::Operation *, Barrier> barriers;
  std::vector<Thread> threads;
  std::vector<std::vector<PipeOperation>> pipes;
  unsigned end = none;

  /// The threads of the role at hand, and the op.
  unsigned firstThread = 0;
  mlir::Operation *current = nullptr;
  llvm::DenseMap<mlir::Value, int64_t> cursors;
  llvm::DenseMap<mlir::Value, Bound> bound;
  llvm::DenseMap<mlir::Operation *, int64_t> scratchContents;
};

} // namespace lpfa

#endif // LPFA_LIB_ANALYSIS_SCHEDULEEXECUTION_H
