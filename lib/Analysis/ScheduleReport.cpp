//===- ScheduleReport.cpp - What a schedule rests on ----------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Analysis/ScheduleReport.h"
#include "ScheduleExecution.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace lpfa;

using Access = ScheduleExecution::Access;
using PipeOrder = TargetModel::PipeOrder;

/// An op as a link of a chain.
static std::string describe(Operation *op) {
  std::string what;
  if (isa<WaitOp, ArriveOp, CommitOp, ExpectBytesOp>(op))
    what = cast<BarrierOp>(op->getOperand(0).getDefiningOp()).getName();
  StringRef name = op->getName().stripDialect();
  auto role = op->getParentOfType<RoleOp>();
  return llvm::formatv("{0}: {1}{2}{3}", role.getName(), name,
                       what.empty() ? "" : " ", what)
      .str();
}

static std::string describe(const Access &access) {
  return llvm::formatv("{0}: {1} {2}",
                       access.op->getParentOfType<RoleOp>().getName(),
                       access.isWrite ? "write" : "read",
                       getBufferName(access.buffer.declaration))
      .str();
}

/// The chain from `a` to `b`, without what only passes on the thread's order.
static std::vector<std::string>
buildChain(const ScheduleExecution &execution, const Access &a, const Access &b,
           ArrayRef<EventGraph::Edge> pipeEdges) {
  std::vector<unsigned> path =
      execution.getGraph().findPath(a.event, b.event, pipeEdges);
  std::vector<std::string> chain = {describe(a)};
  for (size_t i = 1; i < path.size(); ++i) {
    Operation *op = execution.getOp(path[i]);
    if (llvm::is_contained(pipeEdges, std::make_pair(path[i - 1], path[i])))
      chain.push_back("order of the tensor core");
    // Arrivals that complete a use of a barrier, and the waits for it.
    if (isa<BarrierOp>(op)) {
      chain.push_back(describe(execution.getOp(path[i - 1])));
      chain.push_back(describe(execution.getOp(path[i + 1])));
    }
  }
  chain.push_back(describe(b));
  chain.erase(llvm::unique(chain), chain.end());
  return chain;
}

FailureOr<std::vector<OverlapProof>> lpfa::explainOverlaps(KernelOp kernel) {
  std::vector<int64_t> steps = getRepresentativeSteps(kernel).front();
  ScheduleExecution execution(kernel, steps);
  if (failed(execution.run()))
    return failure();
  const std::vector<EventGraph::Edge> pipeEdges =
      execution.getAssumedPipeEdges();
  HappensBefore order = execution.getGraph().close(pipeEdges);

  // A write in the middle of the first work tile, and the last access to the
  // other tile before it.
  const int64_t middle = steps.front() / 2;
  std::vector<OverlapProof> proofs;
  std::vector<BufferId> buffers = getBuffers(kernel);
  for (BufferId first : buffers)
    for (BufferId second : buffers) {
      if (first == second || !getRange(first).overlaps(getRange(second)))
        continue;
      const Access *last = nullptr, *write = nullptr;
      for (auto [x, y] : execution.getConflicts())
        for (auto [a, b] : {std::make_pair(x, y), std::make_pair(y, x)}) {
          if (!(a->buffer == first) || !(b->buffer == second) || !b->isWrite ||
              b->workTile != 0 || b->step != middle ||
              !order.isBefore(a->event, b->event))
            continue;
          if (write && b != write)
            continue;
          write = b;
          if (!last || order.isBefore(last->event, a->event))
            last = a;
        }
      if (!last)
        continue;
      MemoryRange range = last->range;
      range.begin = std::max(range.begin, write->range.begin);
      range.end = std::min(range.end, write->range.end);
      proofs.push_back({first, second, range,
                        buildChain(execution, *last, *write, pipeEdges)});
    }
  return proofs;
}
