//===- Schedule.cpp - What a kernel has to wait for -----------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Analysis/Schedule.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace mlir;
using namespace lpfa;

void ScheduleAnalysis::addOverlap(const BufferOverlap &overlap) {
  overlaps.push_back(overlap);
  for (Trace &trace : traces) {
    trace.addOverlap(overlap.a, overlap.b);
    trace.addOverlap(overlap.b, overlap.a);
  }
}

void ScheduleAnalysis::addOverlaps(KernelOp kernel) {
  std::vector<BufferId> buffers = getBuffers(kernel);
  for (auto [i, a] : llvm::enumerate(buffers))
    for (BufferId b : ArrayRef(buffers).drop_front(i + 1)) {
      BufferOverlap overlap = getOverlap(a, getPlace(a), b, getPlace(b));
      if (!overlap.slots.empty())
        addOverlap(overlap);
    }
}

using Access = Trace::Access;

/// Whether two accesses to the same memory must be ordered: a write and a read
/// of one content, or accesses of different contents, or of the two turns of an
/// accumulator.
static bool isConflict(const Access &a, const Access &b) {
  if (!a.isWrite && !b.isWrite)
    return false;
  if (!(a.buffer == b.buffer))
    return true;
  if (a.node == b.node)
    return false;
  return a.content != b.content || a.isWrite != b.isWrite ||
         isa<AccumulatorOp>(a.buffer.declaration);
}

/// The pairs that must stay ordered as `closure` orders them. Fails where it
/// does not order one, or where a write falls between the write and a read of
/// another content. `overlaps` are the buffers to look at, each one with itself
/// or with one that it overlaps.
std::optional<std::vector<ScheduleAnalysis::Requirement>>
ScheduleAnalysis::collectRequirements(const Trace &trace,
                                      const HappensBefore &closure,
                                      ArrayRef<BufferOverlap> overlaps,
                                      ScheduleConflict *conflict) {
  std::vector<Requirement> requirements;
  auto fail = [&](StringRef rule, const Access &a, const Access &b) {
    if (conflict)
      *conflict = {rule, a.op, b.op, a.buffer, b.buffer};
    return std::nullopt;
  };
  auto select = [&](BufferId buffer, auto isSlot) {
    std::vector<const Access *> selected;
    for (const Access &access : trace.getAccesses())
      if (access.buffer == buffer && isSlot(access.slot))
        selected.push_back(&access);
    return selected;
  };
  // What waits could still order is reported last.
  std::optional<std::pair<const Access *, const Access *>> unordered;
  // Whether `access` comes between two accesses of the content of `other`, one
  // of `others`: then no further order would help.
  auto isAmid = [&](const Access &access, ArrayRef<const Access *> others,
                    const Access &other) {
    auto isAny = [&](auto isOrdered) {
      return llvm::any_of(others, [&](const Access *candidate) {
        return candidate->content == other.content && isOrdered(*candidate);
      });
    };
    return access.isWrite && isAny([&](const Access &before) {
             return closure.isBefore(before.node, access.node);
           }) &&
           isAny([&](const Access &after) {
             return closure.isBefore(access.node, after.node);
           });
  };
  for (const BufferOverlap &overlap : overlaps) {
    auto as = select(overlap.a, [&](int64_t slot) {
      return llvm::is_contained(llvm::make_first_range(overlap.slots), slot);
    });
    auto bs = select(overlap.b, [&](int64_t slot) {
      return llvm::is_contained(llvm::make_second_range(overlap.slots), slot);
    });
    for (auto [i, a] : llvm::enumerate(as)) {
      for (const Access *b :
           ArrayRef(bs).drop_front(overlap.a == overlap.b ? i + 1 : 0)) {
        if (!overlap.isOf(a->slot, b->slot) || !isConflict(*a, *b))
          continue;
        if (trace.isOrdered(closure, *a, *b))
          requirements.push_back({a, b});
        else if (trace.isOrdered(closure, *b, *a))
          requirements.push_back({b, a});
        else if (a->node == b->node)
          return fail("R1", *a, *b);
        else if (isAmid(*b, as, *a) || isAmid(*a, bs, *b))
          return fail("R2", *a, *b);
        else if (!unordered)
          unordered = {a, b};
      }
    }
  }
  // A content must survive from its first write to its last read: all accesses
  // of another content come before or all come after.
  struct Key {
    BufferId a;
    int64_t contentA;
    BufferId b;
    int64_t contentB;
    bool operator<(const Key &other) const {
      return std::make_tuple(a.declaration, a.index, contentA, b.declaration,
                             b.index, contentB) <
             std::make_tuple(other.a.declaration, other.a.index, other.contentA,
                             other.b.declaration, other.b.index,
                             other.contentB);
    }
  };
  std::map<Key, const Requirement *> orders;
  for (const Requirement &requirement : requirements) {
    const Access &a = *requirement.first, &b = *requirement.second;
    if (a.buffer == b.buffer && a.content == b.content)
      continue;
    orders.try_emplace(Key{a.buffer, a.content, b.buffer, b.content},
                       &requirement);
    if (orders.count(Key{b.buffer, b.content, a.buffer, a.content}))
      return fail("R2", a, b);
  }
  if (unordered)
    return fail("R3", *unordered->first, *unordered->second);
  return requirements;
}

std::vector<BufferOverlap> ScheduleAnalysis::getAllOverlaps() const {
  std::vector<BufferOverlap> all;
  for (const Trace &trace : traces)
    for (const Access &access : trace.getAccesses())
      if (llvm::none_of(all, [&](const BufferOverlap &overlap) {
            return overlap.a == access.buffer;
          })) {
        BufferOverlap &self = all.emplace_back();
        self.a = self.b = access.buffer;
        // All slots of a scratch buffer may lie in one place.
        bool isScratch = isa<ScratchOp>(access.buffer.declaration);
        for (int64_t i = 0, end = getStages(access.buffer); i < end; ++i)
          for (int64_t j = 0; j < end; ++j)
            if (i == j || isScratch)
              self.slots.push_back({i, j});
      }
  llvm::append_range(all, overlaps);
  return all;
}

/// Why roles wait for each other: a wait for content that is read only after
/// the write that would have to wait for it, or the channels themselves.
static ScheduleConflict findCircle(const Trace &trace,
                                   ArrayRef<WaitEdge> waits) {
  for (const WaitEdge &wait : waits) {
    if (wait.kind != WaitEdge::Overlap)
      continue;
    bool isCyclic =
        trace
            .close([&](const WaitEdge &other) {
              return other.kind != WaitEdge::Overlap || other == wait;
            })
            .isCyclic();
    if (!isCyclic)
      continue;
    for (const Access &access : trace.getAccesses())
      if (access.op == wait.op && access.isWrite)
        return {"R2",
                wait.op,
                wait.declaration,
                access.buffer,
                {wait.declaration, 0}};
  }
  return {};
}

std::optional<std::vector<WaitEdge>>
ScheduleAnalysis::findWaits(ScheduleConflict *conflict) {
  // Start with every wait there could be, in the order of the executions.
  std::vector<WaitEdge> waits;
  for (const Trace &trace : traces)
    for (const auto &[wait, edge] : trace.getWaitEdges())
      if (!llvm::is_contained(waits, wait))
        waits.push_back(wait);
  auto isKept = [&](const WaitEdge &wait) {
    return llvm::is_contained(waits, wait);
  };
  std::vector<BufferOverlap> pairs = getAllOverlaps();
  requirements.clear();
  for (const Trace &trace : traces) {
    HappensBefore closure = trace.close(isKept);
    if (closure.isCyclic()) {
      if (conflict)
        *conflict = findCircle(trace, waits);
      return std::nullopt;
    }
    auto collected = collectRequirements(trace, closure, pairs, conflict);
    if (!collected)
      return std::nullopt;
    requirements.push_back(std::move(*collected));
  }

  // Drop what the others imply, first those that stall: drains, then overlaps,
  // of these first those for the latest content.
  std::vector<WaitEdge> order = waits;
  llvm::stable_sort(order, [](const WaitEdge &a, const WaitEdge &b) {
    return std::make_pair(-a.kind, a.back) < std::make_pair(-b.kind, b.back);
  });
  std::vector<std::pair<WaitEdge, ScheduleConflict>> needed;
  for (const WaitEdge &candidate : order) {
    std::vector<WaitEdge> all = waits;
    llvm::erase(waits, candidate);
    const Requirement *lost = nullptr;
    for (auto [trace, needs] : llvm::zip(traces, requirements)) {
      HappensBefore closure = trace.close(isKept);
      auto it =
          llvm::find_if(needs, [&, &trace = trace](const Requirement &need) {
            return !trace.isOrdered(closure, *need.first, *need.second);
          });
      if (it != needs.end()) {
        lost = &*it;
        break;
      }
    }
    if (!lost)
      continue;
    waits = std::move(all);
    needed.push_back({candidate,
                      {"R3", lost->first->op, lost->second->op,
                       lost->first->buffer, lost->second->buffer}});
  }
  reasons.clear();
  for (const WaitEdge &wait : waits)
    reasons.push_back(llvm::find_if(needed, [&](const auto &entry) {
                        return entry.first == wait;
                      })->second);
  found = waits;
  foundClosures.clear();
  for (const Trace &trace : traces)
    foundClosures.push_back(trace.close(isKept));
  return waits;
}

bool ScheduleAnalysis::comesWith(Operation *channel, Operation *with) const {
  return llvm::all_of(llvm::zip(traces, requirements), [&](const auto &both) {
    const auto &[trace, needs] = both;
    auto copies = trace.getCopiesWith(channel, with);
    if (!copies)
      return false;
    HappensBefore closure = trace.close(
        [&](const WaitEdge &wait) { return llvm::is_contained(found, wait); },
        channel, *copies);
    return !closure.isCyclic() &&
           llvm::all_of(needs, [&, &trace = trace](const Requirement &need) {
             return trace.isOrdered(closure, *need.first, *need.second);
           });
  });
}

bool ScheduleAnalysis::isHandedOverInTurn(Operation *channel) const {
  return llvm::all_of(llvm::zip(traces, foundClosures), [&](const auto &both) {
    const auto &[trace, closure] = both;
    std::optional<EventGraph::Edge> previous;
    for (const auto &[content, edge] : trace.getContentEdges()) {
      if (content != channel)
        continue;
      if (previous && !closure.isBefore(previous->second, edge.first))
        return false;
      previous = edge;
    }
    return true;
  });
}

std::vector<std::optional<ScheduleAnalysis::WaitCount>>
ScheduleAnalysis::countWaits(ArrayRef<BufferOverlap> choices) const {
  std::vector<std::optional<WaitCount>> counts(choices.size());
  std::vector<unsigned> open;
  for (auto [index, overlap] : llvm::enumerate(choices)) {
    ScheduleConflict conflict;
    bool isOrdered = llvm::all_of(
        llvm::zip(traces, foundClosures),
        [&, &overlap = overlap](const auto &both) {
          const auto &[trace, closure] = both;
          return collectRequirements(trace, closure, overlap, &conflict)
              .has_value();
        });
    if (isOrdered)
      counts[index] = WaitCount();
    else if (conflict.rule == "R3")
      open.push_back(index);
    // Else it is amid the other's content, and stays there with any wait.
  }
  if (open.empty())
    return counts;
  std::vector<Trace> extended = traces;
  for (Trace &trace : extended) {
    trace.addOverlap(choices.front().a, choices.front().b);
    trace.addOverlap(choices.front().b, choices.front().a);
  }
  // How many more do it, for older contents alone or for the latest too, and
  // between work tiles.
  auto count = [&](bool hasLatest, bool hasWorkTiles) {
    std::vector<WaitEdge> added;
    std::vector<unsigned> right = open;
    for (const Trace &trace : extended) {
      HappensBefore closure = trace.close([&](WaitEdge wait) {
        if (llvm::is_contained(found, wait))
          return true;
        bool isAddable = wait.kind == WaitEdge::WorkTile
                             ? hasWorkTiles
                             : wait.kind == WaitEdge::Overlap &&
                                   (wait.back > 1 || hasLatest);
        if (!isAddable)
          return false;
        // For whichever content: one wait.
        wait.back = 1;
        if (!llvm::is_contained(added, wait))
          added.push_back(wait);
        return true;
      });
      if (closure.isCyclic())
        return;
      llvm::erase_if(right, [&](unsigned index) {
        return !collectRequirements(trace, closure, choices[index], nullptr);
      });
    }
    WaitCount waits;
    for (const WaitEdge &wait : added)
      ++(llvm::any_of(
             traces,
             [&](const Trace &trace) { return trace.isInSteps(wait.op); })
             ? waits.steady
             : waits.outside);
    waits.latest = hasLatest ? added.size() : 0;
    for (unsigned index : right) {
      counts[index] = waits;
      llvm::erase(open, index);
    }
  };
  for (bool hasWorkTiles : {false, true})
    for (bool hasLatest : {false, true})
      if (!open.empty())
        count(hasLatest, hasWorkTiles);
  return counts;
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

static std::string describeAccess(Operation *op, BufferId buffer) {
  return llvm::formatv("role \"{0}\" ({1} of '{2}')",
                       op->getParentOfType<RoleOp>().getName(),
                       op->getName().getStringRef(),
                       getBufferName(buffer.declaration))
      .str();
}

std::string lpfa::describe(const WaitEdge &wait,
                           const ScheduleConflict &reason) {
  StringRef event = "others have read";
  if (wait.kind == WaitEdge::Turn)
    event = "it owns";
  else if (wait.kind == WaitEdge::Drain)
    event = "its own use is over of";
  else if (wait.kind == WaitEdge::WorkTile)
    event = "others have read what the work tile before put into";
  else if (wait.back > 1)
    event = "others have read the content before the latest of";
  return llvm::formatv(
             "role \"{0}\" waits until {1} '{2}': else {3} could overtake {4}",
             wait.op->getParentOfType<RoleOp>().getName(), event,
             getBufferName(wait.declaration),
             describeAccess(reason.second, reason.secondBuffer),
             describeAccess(reason.first, reason.firstBuffer))
      .str();
}

LogicalResult lpfa::emitConflict(KernelOp kernel,
                                 const ScheduleConflict &conflict) {
  if (conflict.rule.empty())
    return kernel.emitOpError("deadlocks: its roles wait for each other");
  StringRef how = "which no wait keeps apart from";
  if (conflict.rule == "R1")
    how = "which the same product overwrites with";
  else if (conflict.rule == "R2")
    how = "of which one is replaced while it is in use by";
  InFlightDiagnostic diagnostic =
      conflict.first->emitOpError("accesses '")
      << getBufferName(conflict.firstBuffer.declaration) << "', " << how << " '"
      << getBufferName(conflict.secondBuffer.declaration)
      << "' in the same memory (" << conflict.rule << ")";
  diagnostic.attachNote(conflict.second->getLoc()) << "the other access";
  return diagnostic;
}
