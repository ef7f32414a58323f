//===- ScheduleOrder.cpp - Which access comes first -----------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleOrder.h"

using namespace mlir;
using namespace lpfa;

using Agent = ScheduleExecution::Agent;
constexpr unsigned none = ScheduleExecution::none;

ScheduleOrder::ScheduleOrder(const ScheduleExecution &execution,
                             ArrayRef<TargetModel::PipeOrder> orders) {
  EventGraph pipes;
  std::vector<EventGraph::Edge> edges;
  for (auto [pipe, pairs] :
       llvm::zip_equal(execution.getPipes(), execution.getPipeEdges(orders))) {
    unsigned base = pipes.getNumEvents();
    for (const auto &operation : pipe)
      pipeIndex[operation.event] = pipes.addEvent();
    for (auto [first, second] : pairs) {
      pipes.addEdge(base + first, base + second);
      edges.push_back({pipe[first].event, pipe[second].event});
    }
  }
  order = execution.getGraph().close(edges);
  pipeOrder = pipes.close();
}

bool ScheduleOrder::isPiped(const Access &a, const Access &b) const {
  if (a.agent != Agent::TensorCore || b.agent != Agent::TensorCore ||
      a.thread != b.thread)
    return false;
  return pipeOrder.isBefore(pipeIndex.lookup(a.event),
                            pipeIndex.lookup(b.event));
}

bool ScheduleOrder::isOrdered(const Access &a, const Access &b) const {
  if (a.range.space == MemorySpace::Tensor) {
    if (a.thread == b.thread && a.agent == b.agent)
      return a.agent == Agent::Threads
                 ? a.done != none && isBeforeOrAt(a.done, b.event)
                 : isPiped(a, b) || isBeforeOrAt(a.out, b.in);
    return a.out != none && b.in != none && isBefore(a.out, b.in);
  }
  if (!isBefore(a.event, b.event))
    return false;
  // What threads have written, and what they have read in another buffer. That
  // a ring's slot is written anew without a fence every known kernel relies on.
  bool needsFence = a.agent == Agent::Threads && b.agent != Agent::Threads &&
                    (a.isWrite || !(a.buffer == b.buffer));
  if (!needsFence)
    return true;
  return (a.proxyOut != none && isBefore(a.proxyOut, b.event)) ||
         (b.proxyIn != none && isBefore(a.event, b.proxyIn));
}
