//===- EventGraph.cpp - What happens before what --------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Analysis/EventGraph.h"

using namespace lpfa;

HappensBefore EventGraph::close(llvm::ArrayRef<Edge> more) const {
  // Successors of each event in one array.
  std::vector<unsigned> starts(numEvents + 1, 0), missing(numEvents, 0);
  auto forEachEdge = [&](auto callback) {
    for (const auto &[from, to] : edges)
      callback(from, to);
    for (const auto &[from, to] : more)
      callback(from, to);
  };
  forEachEdge([&](unsigned from, unsigned to) {
    ++starts[from + 1];
    ++missing[to];
  });
  for (unsigned event = 0; event < numEvents; ++event)
    starts[event + 1] += starts[event];
  std::vector<unsigned> successors(edges.size() + more.size()), next = starts;
  forEachEdge(
      [&](unsigned from, unsigned to) { successors[next[from]++] = to; });

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
