//===- EventGraph.h - What happens before what ------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Events of one execution and direct edges between them, and the order that
// follows by transitivity.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_ANALYSIS_EVENTGRAPH_H
#define LPFA_ANALYSIS_EVENTGRAPH_H

#include "llvm/ADT/ArrayRef.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace lpfa {

/// For each event the events that happen before it, a row of bits an event.
class HappensBefore {
public:
  /// Whether some events wait for each other in a circle: a deadlock.
  bool isCyclic() const { return cyclic; }

  /// Whether the event is neither in a circle nor after one.
  bool isReached(unsigned event) const { return reached[event]; }

  bool isBefore(unsigned a, unsigned b) const {
    return bits[b * words + a / 64] >> (a % 64) & 1;
  }

private:
  friend class EventGraph;
  bool cyclic = false;
  size_t words = 0;
  std::vector<uint64_t> bits;
  std::vector<bool> reached;
};

class EventGraph {
public:
  using Edge = std::pair<unsigned, unsigned>;

  unsigned addEvent() { return numEvents++; }
  void addEdge(unsigned from, unsigned to) { edges.push_back({from, to}); }
  unsigned getNumEvents() const { return numEvents; }

  /// The transitive closure of the edges and `more` edges.
  HappensBefore close(llvm::ArrayRef<Edge> more = {}) const;

  /// A shortest chain of edges from one event to another, both included; empty
  /// where there is none.
  std::vector<unsigned> findPath(unsigned from, unsigned to,
                                 llvm::ArrayRef<Edge> more = {}) const;

  /// The length of the longest chain that ends at each event; nothing where
  /// events wait for each other in a circle.
  std::optional<std::vector<unsigned>>
  getLevels(llvm::ArrayRef<Edge> more = {}) const;

private:
  unsigned numEvents = 0;
  std::vector<Edge> edges;
};

} // namespace lpfa

#endif // LPFA_ANALYSIS_EVENTGRAPH_H
