//===- EventGraph.cpp - What happens before what --------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Analysis/EventGraph.h"

using namespace lpfa;

/// Successors of each event in one array: those of event i from `starts[i]` to
/// `starts[i + 1]`.
static void sortEdges(llvm::ArrayRef<EventGraph::Edge> edges,
                      llvm::ArrayRef<EventGraph::Edge> more, unsigned numEvents,
                      std::vector<unsigned> &starts,
                      std::vector<unsigned> &successors) {
  starts.assign(numEvents + 1, 0);
  auto forEachEdge = [&](auto callback) {
    for (const auto &[from, to] : edges)
      callback(from, to);
    for (const auto &[from, to] : more)
      callback(from, to);
  };
  forEachEdge([&](unsigned from, unsigned) { ++starts[from + 1]; });
  for (unsigned event = 0; event < numEvents; ++event)
    starts[event + 1] += starts[event];
  successors.resize(edges.size() + more.size());
  std::vector<unsigned> next = starts;
  forEachEdge(
      [&](unsigned from, unsigned to) { successors[next[from]++] = to; });
}

HappensBefore EventGraph::close(llvm::ArrayRef<Edge> more) const {
  std::vector<unsigned> starts, successors, missing(numEvents, 0);
  sortEdges(edges, more, numEvents, starts, successors);
  for (unsigned to : successors)
    ++missing[to];

  HappensBefore order;
  order.words = (numEvents + 63) / 64;
  order.bits.assign(numEvents * order.words, 0);
  order.reached.assign(numEvents, false);
  std::vector<unsigned> ready;
  for (unsigned event = 0; event < numEvents; ++event)
    if (!missing[event])
      ready.push_back(event);
  unsigned visited = 0;
  while (!ready.empty()) {
    unsigned event = ready.back();
    ready.pop_back();
    ++visited;
    order.reached[event] = true;
    const uint64_t *before = &order.bits[event * order.words];
    for (unsigned i = starts[event]; i < starts[event + 1]; ++i) {
      uint64_t *row = &order.bits[successors[i] * order.words];
      for (size_t word = 0; word < order.words; ++word)
        row[word] |= before[word];
      row[event / 64] |= uint64_t(1) << (event % 64);
      if (!--missing[successors[i]])
        ready.push_back(successors[i]);
    }
  }
  order.cyclic = visited != numEvents;
  return order;
}

std::vector<unsigned> EventGraph::findPath(unsigned from, unsigned to,
                                           llvm::ArrayRef<Edge> more) const {
  std::vector<unsigned> starts, successors;
  sortEdges(edges, more, numEvents, starts, successors);
  std::vector<unsigned> origin(numEvents, numEvents), queue = {from};
  for (size_t i = 0; i < queue.size() && origin[to] == numEvents; ++i)
    for (unsigned j = starts[queue[i]]; j < starts[queue[i] + 1]; ++j)
      if (origin[successors[j]] == numEvents && successors[j] != from) {
        origin[successors[j]] = queue[i];
        queue.push_back(successors[j]);
      }
  if (origin[to] == numEvents)
    return {};
  std::vector<unsigned> path = {to};
  while (path.back() != from)
    path.push_back(origin[path.back()]);
  std::reverse(path.begin(), path.end());
  return path;
}

std::optional<std::vector<unsigned>>
EventGraph::getLevels(llvm::ArrayRef<Edge> more) const {
  std::vector<unsigned> starts, successors, missing(numEvents, 0), ready;
  sortEdges(edges, more, numEvents, starts, successors);
  for (unsigned to : successors)
    ++missing[to];
  for (unsigned event = 0; event < numEvents; ++event)
    if (!missing[event])
      ready.push_back(event);
  std::vector<unsigned> levels(numEvents, 0);
  for (size_t i = 0; i < ready.size(); ++i)
    for (unsigned j = starts[ready[i]]; j < starts[ready[i] + 1]; ++j) {
      unsigned to = successors[j];
      levels[to] = std::max(levels[to], levels[ready[i]] + 1);
      if (!--missing[to])
        ready.push_back(to);
    }
  if (ready.size() != numEvents)
    return std::nullopt;
  return levels;
}
