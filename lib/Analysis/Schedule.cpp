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

void ScheduleAnalysis::addOverlap(BufferId a, BufferId b) {
  overlaps.push_back({a, b});
  for (Trace &trace : traces) {
    trace.addOverlap(a, b);
    trace.addOverlap(b, a);
  }
}

void ScheduleAnalysis::addOverlaps(KernelOp kernel) {
  std::vector<BufferId> buffers = getBuffers(kernel);
  for (auto [i, a] : llvm::enumerate(buffers))
    for (BufferId b : ArrayRef(buffers).drop_front(i + 1))
      if (getRange(a).overlaps(getRange(b)))
        addOverlap(a, b);
}

using Access = Trace::Access;

/// Whether two accesses must be ordered: a write and a read of one content, or
/// accesses of different contents of one slot, of overlapping memory, or of the
/// two turns of an accumulator.
static bool isConflict(const Access &a, const Access &b) {
  if (!a.isWrite && !b.isWrite)
    return false;
  if (!(a.buffer == b.buffer))
    return true;
  if (a.node == b.node || a.slot != b.slot)
    return false;
  return a.content != b.content || a.isWrite != b.isWrite ||
         isa<AccumulatorOp>(a.buffer.declaration);
}

/// The pairs that must stay ordered as `closure` orders them. Fails where it
/// does not order one, or where a write falls between the write and a read of
/// another content. `pairs` are the buffers to look at, each one with itself or
/// with one that it overlaps.
std::optional<std::vector<ScheduleAnalysis::Requirement>>
ScheduleAnalysis::collectRequirements(
    const Trace &trace, const HappensBefore &closure,
    ArrayRef<std::pair<BufferId, BufferId>> pairs, ScheduleConflict *conflict) {
  std::vector<Requirement> requirements;
  auto fail = [&](StringRef rule, const Access &a, const Access &b) {
    if (conflict)
      *conflict = {rule, a.op, b.op, a.buffer, b.buffer};
    return std::nullopt;
  };
  auto select = [&](BufferId buffer) {
    std::vector<const Access *> selected;
    for (const Access &access : trace.getAccesses())
      if (access.buffer == buffer)
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
  for (const auto &[first, second] : pairs) {
    std::vector<const Access *> as = select(first), bs = select(second);
    for (auto [i, a] : llvm::enumerate(as)) {
      for (const Access *b :
           ArrayRef(bs).drop_front(first == second ? i + 1 : 0)) {
        if (!isConflict(*a, *b))
          continue;
        if (closure.isBefore(a->node, b->node))
          requirements.push_back({a, b});
        else if (closure.isBefore(b->node, a->node))
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

/// Every buffer with itself, and the pairs that overlap.
static std::vector<std::pair<BufferId, BufferId>>
getPairs(ArrayRef<Trace> traces,
         ArrayRef<std::pair<BufferId, BufferId>> overlaps) {
  std::vector<std::pair<BufferId, BufferId>> pairs;
  for (const Trace &trace : traces)
    for (const Access &access : trace.getAccesses())
      if (llvm::none_of(pairs, [&](const auto &pair) {
            return pair.first == access.buffer;
          }))
        pairs.push_back({access.buffer, access.buffer});
  llvm::append_range(pairs, overlaps);
  return pairs;
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
  std::vector<std::pair<BufferId, BufferId>> pairs = getPairs(traces, overlaps);
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

  // Drop what the others imply, first those that stall: drains, then overlaps.
  std::vector<WaitEdge> order = waits;
  llvm::stable_sort(order, [](const WaitEdge &a, const WaitEdge &b) {
    return a.kind > b.kind;
  });
  std::vector<std::pair<WaitEdge, ScheduleConflict>> needed;
  for (const WaitEdge &candidate : order) {
    std::vector<WaitEdge> all = waits;
    llvm::erase(waits, candidate);
    const Requirement *lost = nullptr;
    for (auto [trace, needs] : llvm::zip(traces, requirements)) {
      HappensBefore closure = trace.close(isKept);
      auto it = llvm::find_if(needs, [&](const Requirement &need) {
        return !closure.isBefore(need.first->node, need.second->node);
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
           llvm::all_of(needs, [&](const Requirement &need) {
             return closure.isBefore(need.first->node, need.second->node);
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

std::optional<unsigned> ScheduleAnalysis::countWaits(BufferId a,
                                                     BufferId b) const {
  std::pair<BufferId, BufferId> pair = {a, b};
  auto isOrdered = [&](const Trace &trace, const HappensBefore &closure) {
    return !closure.isCyclic() &&
           collectRequirements(trace, closure, pair, nullptr).has_value();
  };
  if (llvm::all_of(llvm::zip(traces, foundClosures), [&](const auto &both) {
        return isOrdered(std::get<0>(both), std::get<1>(both));
      }))
    return 0;
  std::vector<WaitEdge> added;
  for (const Trace &base : traces) {
    Trace trace = base;
    trace.addOverlap(a, b);
    trace.addOverlap(b, a);
    HappensBefore closure = trace.close([&](const WaitEdge &wait) {
      if (wait.kind != WaitEdge::Overlap)
        return llvm::is_contained(found, wait);
      if (!llvm::is_contained(added, wait))
        added.push_back(wait);
      return true;
    });
    if (!isOrdered(trace, closure))
      return std::nullopt;
  }
  return added.size();
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
