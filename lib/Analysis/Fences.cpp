//===- Fences.cpp - Which fences a schedule needs -------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Analysis/Fences.h"
#include "ScheduleOrder.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace lpfa;

using Access = ScheduleExecution::Access;
using PipeOrder = TargetModel::PipeOrder;

namespace {
/// One run of the kernel, with its order.
struct Run {
  std::unique_ptr<ScheduleExecution> execution;
  std::unique_ptr<ScheduleOrder> order;

  /// The first of the conflicts of accesses that `isConcerned` which is not
  /// ordered.
  std::optional<std::pair<const Access *, const Access *>>
  findUnordered(const std::vector<bool> &isConcerned) const {
    const Access *begin = execution->getAccesses().data();
    for (const auto &[a, b] : execution->getConflicts())
      if ((isConcerned[a - begin] || isConcerned[b - begin]) &&
          !order->isOrdered(*a, *b) && !order->isOrdered(*b, *a))
        return std::make_pair(a, b);
    return std::nullopt;
  }
};
} // namespace

FailureOr<std::vector<Fence>> lpfa::findNeededFences(KernelOp kernel,
                                                     Ordering ordering) {
  std::vector<Fence> fences;
  kernel.walk([&](FenceOp op) {
    if (op.getKind() != FenceKind::TensorStores)
      fences.push_back({op});
  });
  SmallVector<PipeOrder> orders;
  if (ordering == Ordering::Practice)
    orders = {PipeOrder::CopyAfterMMA, PipeOrder::MMAAfterMMA,
              PipeOrder::CopyAfterCopy};
  std::vector<Run> runs;
  for (const std::vector<int64_t> &steps : getRepresentativeSteps(kernel)) {
    Run &run = runs.emplace_back();
    run.execution = std::make_unique<ScheduleExecution>(kernel, steps);
    if (failed(run.execution->run()))
      return failure();
    run.order = std::make_unique<ScheduleOrder>(*run.execution, orders);
    std::vector<bool> all(run.execution->getAccesses().size(), true);
    if (run.findUnordered(all))
      return std::vector<Fence>();
  }

  DenseSet<Operation *> present;
  for (const Fence &fence : fences)
    present.insert(fence.op);
  auto isPresent = [&](Operation *op) { return present.contains(op); };
  for (Fence &fence : fences) {
    present.erase(fence.op);
    for (size_t i = 0; i < runs.size() && !fence.first; ++i) {
      auto lost =
          runs[i].findUnordered(runs[i].execution->setFences(isPresent));
      if (!lost)
        continue;
      auto [a, b] = *lost;
      if (runs[i].order->isBefore(b->issue, a->issue))
        std::swap(a, b);
      fence.first = a->op, fence.second = b->op;
      fence.firstBuffer = a->buffer, fence.secondBuffer = b->buffer;
    }
    if (!fence.first)
      continue;
    present.insert(fence.op);
    for (Run &run : runs)
      run.execution->setFences(isPresent);
  }
  return fences;
}

std::string lpfa::describe(const Fence &fence) {
  auto describeAccess = [](Operation *op, BufferId buffer) {
    return llvm::formatv("role \"{0}\" ({1} of '{2}')",
                         op->getParentOfType<RoleOp>().getName(),
                         op->getName().getStringRef(),
                         getBufferName(buffer.declaration))
        .str();
  };
  return llvm::formatv("fence {0}: {1} comes after {2}",
                       stringifyFenceKind(FenceOp(fence.op).getKind()),
                       describeAccess(fence.second, fence.secondBuffer),
                       describeAccess(fence.first, fence.firstBuffer))
      .str();
}
