//===- Trace.cpp - What happens before what in a kernel -------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Analysis/Trace.h"
#include "lpfa/Analysis/RoleInterpreter.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace lpfa;

//===----------------------------------------------------------------------===//
// Tracer
//===----------------------------------------------------------------------===//

namespace lpfa {
/// Executes the roles one after the other and records events. Which put a get
/// waits for follows from use numbers alone, so the order of the roles does not
/// matter.
class Tracer : RoleInterpreter {
public:
  Tracer(KernelOp kernel, ArrayRef<int64_t> steps, Ordering ordering)
      : RoleInterpreter(kernel, steps), ordering(ordering) {}

  LogicalResult run() {
    trace.workTileCount = steps.size();
    for (RoleOp op : kernel.getBody().getOps<RoleOp>()) {
      role = op;
      last = lastTensor = lastCopy = std::nullopt;
      lastProducts.clear();
      ownSyncs.clear();
      stores.clear();
      storedChannels.clear();
      slotCopies.clear();
      cursors.clear();
      putCounts.clear();
      if (failed(interpret(op)))
        return failure();
      if (!held.empty()) {
        held.begin()->second->emitError("is not followed by its lpfa.put or "
                                        "lpfa.release in every execution");
        return failure();
      }
    }
    return connect();
  }

  Trace trace;

private:
  /// What a value of buffer type is in the current execution.
  struct Bound {
    BufferId buffer = {nullptr, 0};
    int64_t slot = 0;
    int64_t content = 0;
  };

  bool isSynchronization(Operation *op) const override {
    return isa<AcquireOp, PutOp, GetOp, ReleaseOp, TakeOp, GiveOp>(op);
  }

  void beginWorkTile(ForWorkOp loop) override {
    unsigned begin = addNode(), begun = addSync();
    trace.workTiles[loop].push_back({begin, begun, begin, begun});
  }

  void endWorkTile(ForWorkOp loop) override {
    Trace::WorkTile &tile = trace.workTiles[loop].back();
    tile.end = addNode();
    tile.ended = addSync();
  }

  LogicalResult visit(Operation *op) override {
    return TypeSwitch<Operation *, LogicalResult>(op)
        .Case<AcquireOp, GetOp>([&](auto op) { return runBegin(op); })
        .Case<PutOp, ReleaseOp>([&](auto op) { return runEnd(op); })
        .Case<GiveOp>([&](GiveOp op) {
          unsigned node = addSync();
          ownSyncs[op.getAccumulator().getDefiningOp()] = node;
          turnEvents[op.getAccumulator().getDefiningOp()][role].gives.push_back(
              {node, op, step + 1 == steps[workTile]});
          return success();
        })
        .Case<TakeOp>([&](TakeOp op) {
          unsigned node = addNode();
          turnEvents[op.getAccumulator().getDefiningOp()][role].takes.push_back(
              {node, op});
          return success();
        })
        .Case<SliceOp>([&](SliceOp op) {
          Bound buffer = getBound(op.getBuffer());
          bound[op.getResult()] = buffer;
          return success();
        })
        .Case<ReadOp>([&](ReadOp op) {
          addAccess(op.getBuffer(), false, addNode(), op);
          return success();
        })
        .Case<WriteOp>([&](WriteOp op) {
          countContent(op.getBuffer());
          addAccess(op.getBuffer(), true, addNode(), op);
          return success();
        })
        .Case<RescaleBufferOp>([&](RescaleBufferOp op) {
          unsigned node = addNode();
          addAccess(op.getBuffer(), false, node, op);
          addAccess(op.getBuffer(), true, node, op);
          return success();
        })
        .Case<LoadAsyncOp>([&](LoadAsyncOp op) {
          unsigned node = addAsync();
          addAccess(op.getBuffer(), true, node, op);
          Operation *channel = getBound(op.getBuffer()).buffer.declaration;
          slotCopies[channel].push_back(node);
          Trace::Copy copy{channel, node, {}};
          for (auto [other, begin] : held)
            if (isa<AcquireOp>(begin))
              copy.held.push_back({other, cursors[other]});
          trace.copies.push_back(std::move(copy));
          return success();
        })
        .Case<StoreAsyncOp>([&](StoreAsyncOp op) {
          unsigned node = addAsync();
          addAccess(op.getBuffer(), false, node, op);
          storedChannels.insert(getBound(op.getBuffer()).buffer.declaration);
          stores.push_back(node);
          return success();
        })
        .Case<CopyScalesOp, CopyTileOp>([&](auto op) {
          unsigned node = addTensor(op, Value());
          addAccess(op.getSource(), false, node, op);
          countContent(op.getDestination());
          addAccess(op.getDestination(), true, node, op);
          return success();
        })
        .Case<MmaOp>([&](MmaOp op) {
          unsigned node = addTensor(op, op.getD());
          for (Value operand :
               {op.getA(), op.getB(), op.getScalesA(), op.getScalesB()})
            addAccess(cast<TypedValue<BufferType>>(operand), false, node, op);
          addAccess(op.getD(), true, node, op);
          return success();
        })
        .Default([&](Operation *op) -> LogicalResult {
          bool touchesBuffers = llvm::any_of(
              op->getOperandTypes(), llvm::IsaPred<BufferType, ChannelType>);
          if (touchesBuffers)
            return op->emitOpError("is outside the model of the schedule "
                                   "analysis");
          return success();
        });
  }

  template <typename OpTy> LogicalResult runBegin(OpTy op) {
    auto channel = op.getChannel().template getDefiningOp<ChannelOp>();
    int64_t use = cursors[channel];
    unsigned node = addNode();
    if (isa<AcquireOp>(op)) {
      if (held.insert({channel, op}).second)
        acquires.push_back({channel, op, use, node});
      else if (isFilledByCopies(op))
        return op.emitOpError("acquires a slot again that copies fill");
    } else {
      if (held.insert({channel, op}).second)
        trace.openings.insert(op);
      gets.push_back({channel, op, use, node});
    }
    for (auto [index, result] : llvm::enumerate(op.getBuffers()))
      bound[result] = Bound{
          {channel, unsigned(index)}, use % int64_t(channel.getStages()), use};
    return success();
  }

  /// Whether asynchronous copies write to what is acquired.
  static bool isFilledByCopies(Operation *acquire) {
    return llvm::any_of(acquire->getUsers(), llvm::IsaPred<LoadAsyncOp>);
  }

  template <typename OpTy> LogicalResult runEnd(OpTy op) {
    auto channel = op.getChannel().template getDefiningOp<ChannelOp>();
    if (!held.erase(channel))
      return op.emitOpError("ends a slot that its role does not hold");
    int64_t use = cursors[channel]++;
    // The role waits until stores have read the slot.
    if (isa<ReleaseOp>(op) && storedChannels.contains(channel)) {
      unsigned wait = addNode();
      for (unsigned store : stores)
        trace.graph.addEdge(store, wait);
      stores.clear();
    }
    unsigned node = addSync();
    for (unsigned copy : slotCopies[channel])
      trace.graph.addEdge(copy, node);
    slotCopies[channel].clear();
    ownSyncs[channel] = node;
    if (isa<PutOp>(op)) {
      trace.puts[channel].push_back(node);
      putCounts[channel] = use + 1;
    } else {
      auto &releases = trace.releases[channel];
      if (int64_t(releases.size()) <= use)
        releases.resize(use + 1);
      releases[use].push_back(node);
    }
    return success();
  }

  Bound getBound(Value value) {
    if (auto scratch = value.getDefiningOp<ScratchOp>())
      return {{scratch, 0},
              getScratchSlot(scratch, scratchContents[scratch]),
              scratchContents[scratch]};
    if (auto accumulator = value.getDefiningOp<AccumulatorOp>())
      return {{accumulator, 0}, 0, workTile};
    return bound.lookup(value);
  }

  /// A write to a scratch buffer begins a content of it.
  void countContent(Value destination) {
    if (Operation *scratch = destination.getDefiningOp<ScratchOp>())
      ++scratchContents[scratch];
  }

  void addAccess(TypedValue<BufferType> value, bool isWrite, unsigned node,
                 Operation *op) {
    Bound what = getBound(value);
    if (!what.buffer.declaration)
      return;
    bool isByThreads = isa<ReadOp, WriteOp>(op) &&
                       value.getType().getSpace() == MemorySpace::Shared;
    trace.accesses.push_back({what.buffer, what.slot, what.content, isWrite,
                              node, op,
                              isByThreads ? role.getOperation() : nullptr});
    if (isWrite)
      trace.writes.push_back({what.buffer, op, issued, putCounts});
  }

  /// An event in the role's program order.
  unsigned addNode() {
    unsigned node = trace.graph.addEvent();
    if (last)
      trace.graph.addEdge(*last, node);
    last = issued = node;
    return node;
  }

  /// The execution of an asynchronous op, after its issue.
  unsigned addAsync() {
    unsigned issue = addNode();
    unsigned node = trace.graph.addEvent();
    trace.graph.addEdge(issue, node);
    return node;
  }

  /// An operation of the tensor core; `d` is what a product writes.
  unsigned addTensor(Operation *op, Value d) {
    unsigned issue = addNode();
    unsigned node = trace.graph.addEvent();
    trace.graph.addEdge(issue, node);
    if (ordering == Ordering::Practice) {
      if (lastTensor)
        trace.graph.addEdge(*lastTensor, node);
      lastTensor = node;
      return node;
    }
    // A product comes after the copies and after products with the same D.
    if (d) {
      if (lastCopy)
        trace.graph.addEdge(*lastCopy, node);
      Bound bound = getBound(d);
      auto &product = lastProducts[{bound.buffer.declaration,
                                    {bound.buffer.index, bound.slot}}];
      if (product)
        trace.graph.addEdge(*product, node);
      product = node;
    } else {
      lastCopy = addJoin(lastCopy, node);
    }
    lastTensor = addJoin(lastTensor, node);
    for (auto [declaration, sync] : ownSyncs)
      trace.waitEdges.push_back(
          {WaitEdge{WaitEdge::Drain, declaration, op}, {sync, issue}});
    return node;
  }

  /// An event after both.
  unsigned addJoin(std::optional<unsigned> earlier, unsigned node) {
    if (!earlier)
      return node;
    unsigned join = trace.graph.addEvent();
    trace.graph.addEdge(*earlier, join);
    trace.graph.addEdge(node, join);
    return join;
  }

  /// An arrival: after all that the role has issued but copies, whose bytes
  /// arrive by themselves, and stores. It is not in the role's program order
  /// itself, for the role does not wait for it.
  unsigned addSync() {
    unsigned node = trace.graph.addEvent();
    if (last)
      trace.graph.addEdge(*last, node);
    if (lastTensor)
      trace.graph.addEdge(*lastTensor, node);
    trace.syncs[role].push_back(node);
    return node;
  }

  /// Edges between roles.
  LogicalResult connect() {
    for (auto &[channel, op, use, node] : gets) {
      auto it = trace.puts.find(channel);
      if (it == trace.puts.end() || use >= int64_t(it->second.size()))
        return op->emitOpError("has no lpfa.put of its use ") << use;
      trace.contentEdges.push_back({channel, {it->second[use], node}});
    }
    for (auto &[channel, events] : trace.puts) {
      auto &releases = trace.releases[channel];
      for (int64_t use = 0; use < int64_t(events.size()); ++use)
        if (use >= int64_t(releases.size()) || releases[use].empty())
          return channel->emitOpError("use ") << use << " is never released";
    }
    for (auto &[channel, op, use, node] : acquires) {
      int64_t stages = cast<ChannelOp>(channel).getStages();
      if (use < stages)
        continue;
      for (unsigned release : trace.releases[channel][use - stages])
        trace.waitEdges.push_back(
            {WaitEdge{WaitEdge::Free, channel, op}, {release, node}});
    }
    for (auto &[accumulator, roles] : turnEvents) {
      if (roles.size() != 2)
        return accumulator->emitOpError("must be shared by two roles");
      for (unsigned i : {0, 1}) {
        auto &giver = (roles.begin() + i)->second;
        auto &taker = (roles.begin() + (1 - i))->second;
        if (giver.gives.size() != taker.takes.size())
          return accumulator->emitOpError("is given ")
                 << giver.gives.size() << " times and taken "
                 << taker.takes.size() << " times";
        for (auto [give, take] : llvm::zip(giver.gives, taker.takes)) {
          trace.turns.push_back(
              {accumulator, give.op, take.second, give.isLastStep});
          trace.waitEdges.push_back(
              {WaitEdge{WaitEdge::Turn, accumulator, take.second},
               {give.node, take.first}});
        }
      }
    }
    return success();
  }

  Ordering ordering;

  // The current role.
  RoleOp role;
  std::optional<unsigned> last, lastTensor, lastCopy;
  std::map<std::pair<Operation *, std::pair<unsigned, int64_t>>,
           std::optional<unsigned>>
      lastProducts;
  llvm::MapVector<Operation *, unsigned> ownSyncs;
  unsigned issued = 0;
  std::vector<unsigned> stores;
  DenseSet<Operation *> storedChannels;
  /// The copies into each slot that is held.
  llvm::MapVector<Operation *, std::vector<unsigned>> slotCopies;
  llvm::MapVector<Operation *, int64_t> cursors;
  llvm::MapVector<Operation *, Operation *> held;
  llvm::MapVector<Operation *, int64_t> putCounts;

  DenseMap<Value, Bound> bound;
  DenseMap<Operation *, int64_t> scratchContents;

  struct Begin {
    Operation *channel;
    Operation *op;
    int64_t use;
    unsigned node;
  };
  std::vector<Begin> acquires, gets;
  struct Give {
    unsigned node;
    Operation *op;
    bool isLastStep;
  };
  struct Turns {
    std::vector<Give> gives;
    std::vector<std::pair<unsigned, Operation *>> takes;
  };
  llvm::MapVector<Operation *, llvm::MapVector<Operation *, Turns>> turnEvents;
};
} // namespace lpfa

FailureOr<Trace> Trace::run(KernelOp kernel, ArrayRef<int64_t> steps,
                            Ordering ordering) {
  Tracer tracer(kernel, steps, ordering);
  if (failed(tracer.run()))
    return failure();
  return std::move(tracer.trace);
}

FailureOr<std::vector<Trace>> lpfa::runTraces(KernelOp kernel,
                                              Ordering ordering) {
  std::vector<Trace> traces;
  for (const std::vector<int64_t> &steps : getRepresentativeSteps(kernel)) {
    FailureOr<Trace> trace = Trace::run(kernel, steps, ordering);
    if (failed(trace))
      return failure();
    traces.push_back(std::move(*trace));
  }
  return traces;
}

bool Trace::isOrdered(const HappensBefore &closure, const Access &a,
                      const Access &b) const {
  if (!closure.isBefore(a.node, b.node))
    return false;
  if (!a.threads || a.buffer == b.buffer ||
      (a.threads == b.threads && cast<RoleOp>(a.threads).getElected()))
    return true;
  auto arrivals = syncs.find(a.threads);
  return arrivals != syncs.end() &&
         llvm::any_of(arrivals->second, [&](unsigned sync) {
           return closure.isBefore(a.node, sync) &&
                  closure.isBefore(sync, b.node);
         });
}

void Trace::addOverlap(BufferId host, BufferId guest) {
  auto it = releases.find(host.declaration);
  if (it == releases.end())
    return;
  auto isFilledBy = [&](Operation *role) {
    return llvm::any_of(host.declaration->getUsers(), [&](Operation *user) {
      return isa<PutOp>(user) && role->isAncestor(user);
    });
  };
  for (const Write &write : writes) {
    if (!(write.buffer == guest))
      continue;
    if (auto loop = write.op->getParentOfType<ForWorkOp>();
        loop && getBufferType(host).getSpace() == MemorySpace::Shared &&
        !isFilledBy(loop->getParentOfType<RoleOp>())) {
      addWorkTileEdges(cast<ChannelOp>(host.declaration), loop);
      continue;
    }
    auto count = write.puts.find(host.declaration);
    if (count == write.puts.end())
      continue;
    // The latest content, and the one in the slot that is written next.
    for (int64_t back : {int64_t(1), getStages(host)}) {
      if (back > count->second)
        continue;
      for (unsigned release : it->second[count->second - back])
        waitEdges.push_back(
            {WaitEdge{WaitEdge::Overlap, host.declaration, write.op, back},
             {release, write.node}});
      if (getStages(host) == 1)
        break;
    }
  }
}

/// The role's loop over work tiles, where it is the only one.
static ForWorkOp getOnlyLoop(RoleOp role) {
  auto loops = llvm::to_vector(role.getBody().getOps<ForWorkOp>());
  return loops.size() == 1 ? loops.front() : ForWorkOp();
}

SmallVector<ForWorkOp> Trace::getReaderLoops(ChannelOp channel) {
  llvm::SetVector<Operation *> loops;
  for (Operation *user : channel.getChannel().getUsers()) {
    if (!isa<ReleaseOp>(user))
      continue;
    ForWorkOp loop = getOnlyLoop(user->getParentOfType<RoleOp>());
    if (!loop)
      return {};
    loops.insert(loop);
  }
  return llvm::map_to_vector(
      loops, [](Operation *loop) { return cast<ForWorkOp>(loop); });
}

void Trace::addWorkTileEdges(ChannelOp host, ForWorkOp loop) {
  WaitEdge wait{WaitEdge::WorkTile, host, loop};
  bool isThere = llvm::any_of(
      waitEdges, [&](const auto &entry) { return entry.first == wait; });
  SmallVector<ForWorkOp> readers = getReaderLoops(host);
  if (isThere || llvm::is_contained(readers, loop) ||
      loop != getOnlyLoop(loop->getParentOfType<RoleOp>()))
    return;
  for (ForWorkOp reader : readers) {
    ArrayRef<WorkTile> own = workTiles[loop], others = workTiles[reader];
    for (auto [index, tile] : llvm::enumerate(own)) {
      if (index > 0)
        waitEdges.push_back({wait, {others[index - 1].ended, tile.begin}});
      waitEdges.push_back({wait, {tile.begun, others[index].end}});
    }
  }
}

std::optional<std::vector<EventGraph::Edge>>
Trace::getCopiesWith(Operation *channel, Operation *with) const {
  std::vector<EventGraph::Edge> edges;
  for (const Copy &copy : copies) {
    if (copy.channel != channel)
      continue;
    auto slot = llvm::find_if(
        copy.held, [&](const auto &held) { return held.first == with; });
    if (slot == copy.held.end())
      return std::nullopt;
    edges.push_back({copy.node, puts.find(with)->second[slot->second]});
  }
  return edges;
}

HappensBefore Trace::close(function_ref<bool(const WaitEdge &)> isPresent,
                           Operation *channel,
                           ArrayRef<EventGraph::Edge> with) const {
  std::vector<EventGraph::Edge> present(with);
  for (const auto &[content, edge] : contentEdges)
    if (content != channel)
      present.push_back(edge);
  // Edges of one wait stand together: ask once.
  const WaitEdge *last = nullptr;
  bool isLastPresent = false;
  for (const auto &[wait, edge] : waitEdges) {
    if (!last || !(*last == wait)) {
      last = &wait;
      isLastPresent = isPresent(wait);
    }
    if (isLastPresent)
      present.push_back(edge);
  }
  return graph.close(present);
}
