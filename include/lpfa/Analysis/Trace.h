//===- Trace.h - What happens before what in a kernel -----------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel's roles run in parallel and meet at channels and accumulators. This
// analysis executes the roles of a kernel at the roles or placed stage for
// given numbers of steps, as a graph of events, and answers which accesses to
// memory are ordered.
//
// An edge from event a to event b says that a happens before b:
//  - program order inside a role, for what its threads do;
//  - an asynchronous op starts after its issue. Ops of the tensor core (mma and
//    scale copies) of a role execute in the order of their issue under the
//    `practice` ordering, else as `TargetModel::getPipeOrder` says;
//  - the copies into a slot happen before its put (transaction bytes), and what
//    else a role issued before it puts, releases or gives before that
//    (tcgen05.commit); stores from a slot before its release, for which the
//    role waits (bulk-group wait);
//  - put before the get of the same use;
//  - the optional edges, each of which costs a wait: release before acquire,
//    give before take, release before a write to memory that overlaps, the end
//    of a work tile before the next one of a role that writes to such memory,
//    and where the tensor core's order does not count, the completion of what a
//    role gave to it before what it gives next.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_ANALYSIS_TRACE_H
#define LPFA_ANALYSIS_TRACE_H

#include "lpfa/Analysis/Buffers.h"
#include "lpfa/Analysis/EventGraph.h"
#include "lpfa/Target/TargetModel.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace lpfa {

/// A wait that a kernel may need.
struct WaitEdge {
  enum Kind {
    /// The readers' release of a channel's slot before the next acquire of it.
    Free,
    /// A role's give of an accumulator before the other role's take.
    Turn,
    /// The readers' end of a work tile, when they have released its contents of
    /// the channel, before `op`, the loop of another role that does not fill
    /// it,
    /// begins the next. The readers end the next one after that.
    WorkTile,
    /// The readers' release of the channel's latest content, or of one `back`
    /// contents ago, before `op`, which writes to memory that overlaps it.
    Overlap,
    /// What the tensor core was given before the role's own latest put, release
    /// or give, before `op`, a later operation of the role: the wait stands for
    /// an order of the tensor core that its manual does not promise.
    Drain
  };
  Kind kind;
  /// The channel or accumulator.
  mlir::Operation *declaration;
  /// The op that waits: an acquire, a take, the loop over work tiles, the
  /// overlapping write, or the operation of the tensor core.
  mlir::Operation *op;
  /// Of an overlap, 1 for the latest content.
  int64_t back = 1;

  bool operator==(const WaitEdge &other) const {
    return kind == other.kind && declaration == other.declaration &&
           back == other.back && op == other.op;
  }
};

/// The events of one execution.
class Trace {
public:
  struct Access {
    BufferId buffer;
    /// The slot of a ring.
    int64_t slot;
    /// Which content: a channel's use, an accumulator's work tile, a scratch
    /// buffer's write.
    int64_t content;
    bool isWrite;
    unsigned node;
    mlir::Operation *op;
    /// The role whose threads access shared memory; null for an engine.
    mlir::Operation *threads = nullptr;
  };

  /// Executes the roles of `kernel` with `steps[w]` steps for work tile w.
  /// Fails with a diagnostic where puts and gets do not balance or the roles
  /// hold what the analysis does not know.
  static mlir::FailureOr<Trace>
  run(KernelOp kernel, llvm::ArrayRef<int64_t> steps, Ordering ordering);

  llvm::ArrayRef<Access> getAccesses() const { return accesses; }

  /// Whether `a` happens before `b`, and the roles can see to it. Threads own
  /// rows of a buffer in shared memory, which lie anywhere in another one: from
  /// one buffer to another their order goes through an arrival of the whole
  /// role, which is where their fence for the engines stands, too.
  bool isOrdered(const HappensBefore &closure, const Access &a,
                 const Access &b) const;

  /// Whether the op, which writes, runs more often than there are work tiles:
  /// it belongs to a role's step.
  bool isInSteps(mlir::Operation *op) const {
    return llvm::count_if(writes, [&](const Write &write) {
             return write.op == op;
           }) > workTileCount;
  }

  /// The optional edges of this execution, with their events.
  llvm::ArrayRef<std::pair<WaitEdge, EventGraph::Edge>> getWaitEdges() const {
    return waitEdges;
  }

  /// The waits for content: from the put of each use of a channel to its gets,
  /// in the order of these.
  llvm::ArrayRef<std::pair<mlir::Operation *, EventGraph::Edge>>
  getContentEdges() const {
    return contentEdges;
  }

  /// For each copy into a slot of `channel`, the edge from it to the put of
  /// the slot of `with` that its role has acquired. Nothing where a copy is
  /// issued without one.
  std::optional<std::vector<EventGraph::Edge>>
  getCopiesWith(mlir::Operation *channel, mlir::Operation *with) const;

  /// One turn of an accumulator: who gives it and who takes it then.
  struct Turn {
    mlir::Operation *accumulator, *give, *take;
    /// Whether it is given in the last step of a work tile.
    bool isLastStep;
  };
  llvm::ArrayRef<Turn> getTurns() const { return turns; }

  /// Whether the get opens a slot, rather than return one that its role holds.
  bool isOpening(mlir::Operation *get) const { return openings.contains(get); }

  /// Adds the edges that a write by `guest` to memory of `host` may wait for.
  void addOverlap(BufferId host, BufferId guest);

  /// The roles' only loops over work tiles that release contents of a channel.
  /// None where a reader has no such loop.
  static llvm::SmallVector<ForWorkOp> getReaderLoops(ChannelOp channel);

  /// What happens before what, given which optional edges are there. Where
  /// content of a channel comes `with` that of another, `with` replaces its
  /// waits for content.
  HappensBefore close(llvm::function_ref<bool(const WaitEdge &)> isPresent,
                      mlir::Operation *channel = nullptr,
                      llvm::ArrayRef<EventGraph::Edge> with = {}) const;

private:
  friend class Tracer;

  int64_t workTileCount = 0;
  std::vector<Access> accesses;
  std::vector<Turn> turns;
  llvm::DenseSet<mlir::Operation *> openings;
  EventGraph graph;
  std::vector<std::pair<WaitEdge, EventGraph::Edge>> waitEdges;
  /// From the put of each use of a channel to its gets.
  std::vector<std::pair<mlir::Operation *, EventGraph::Edge>> contentEdges;

  /// A copy into a slot of a channel, and the slots that its role has acquired:
  /// each a channel and its use.
  struct Copy {
    mlir::Operation *channel;
    unsigned node;
    std::vector<std::pair<mlir::Operation *, int64_t>> held;
  };
  std::vector<Copy> copies;
  llvm::MapVector<mlir::Operation *, std::vector<unsigned>> puts;
  /// The arrivals of each role, in order.
  llvm::DenseMap<mlir::Operation *, std::vector<unsigned>> syncs;

  /// For overlaps: where in program order a role's op wrote, the uses it had
  /// put of each channel so far, and the release events of each use.
  struct Write {
    BufferId buffer;
    mlir::Operation *op;
    unsigned node;
    llvm::MapVector<mlir::Operation *, int64_t> puts;
  };
  std::vector<Write> writes;
  llvm::MapVector<mlir::Operation *, std::vector<std::vector<unsigned>>>
      releases;
  /// Where a work tile begins and ends in a role's program order, and the
  /// arrivals that tell of it.
  struct WorkTile {
    unsigned begin, begun, end, ended;
  };
  /// By loop over work tiles.
  llvm::DenseMap<mlir::Operation *, std::vector<WorkTile>> workTiles;
  void addWorkTileEdges(ChannelOp host, ForWorkOp loop);
};

/// The executions for `getRepresentativeSteps`.
mlir::FailureOr<std::vector<Trace>> runTraces(KernelOp kernel,
                                              Ordering ordering);

/// The same as an analysis, under the `practice` ordering, which passes that
/// leave the roles as they are preserve. A diagnostic has been emitted where
/// there are no traces.
struct KernelTraces {
  explicit KernelTraces(mlir::Operation *op)
      : traces(runTraces(mlir::cast<KernelOp>(op), Ordering::Practice)) {}
  mlir::FailureOr<std::vector<Trace>> traces;
};

} // namespace lpfa

#endif // LPFA_ANALYSIS_TRACE_H
