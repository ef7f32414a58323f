//===- ScheduleTimeline.cpp - One run of a kernel, laid out in time -------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Analysis/ScheduleTimeline.h"
#include "ScheduleExecution.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lpfa;

namespace {
class TimelineBuilder {
public:
  /// `levels` are the execution's events' times, with gaps.
  TimelineBuilder(const ScheduleExecution &execution, ArrayRef<unsigned> levels)
      : execution(execution), levels(levels) {}

  ScheduleTimeline build() {
    addAccesses();
    addBarriers();
    closeGaps();
    return std::move(timeline);
  }

private:
  /// The number of the shown event at an event of the execution.
  size_t show(unsigned event, Operation *op);
  void addAccesses();
  void addBarriers();
  void closeGaps();

  const ScheduleExecution &execution;
  ArrayRef<unsigned> levels;
  ScheduleTimeline timeline;
  llvm::DenseMap<unsigned, size_t> shown;
};
} // namespace

size_t TimelineBuilder::show(unsigned event, Operation *op) {
  auto [it, isNew] = shown.try_emplace(event, timeline.events.size());
  if (isNew)
    timeline.events.push_back(
        {op->getParentOfType<RoleOp>(), op, levels[event], {}, {}});
  return it->second;
}

void TimelineBuilder::addAccesses() {
  // One life for each content of each slot, in the order of their beginnings.
  std::map<std::tuple<Operation *, unsigned, int64_t, int64_t>, size_t> lives;
  for (const ScheduleExecution::Access &access : execution.getAccesses()) {
    size_t event = show(access.event, access.op);
    ScheduleTimeline::Event &shownEvent = timeline.events[event];
    std::vector<BufferId> &list =
        access.isWrite ? shownEvent.writes : shownEvent.reads;
    if (!llvm::is_contained(list, access.buffer))
      list.push_back(access.buffer);
    auto [it, isNew] =
        lives.try_emplace({access.buffer.declaration, access.buffer.index,
                           access.content, access.range.begin},
                          timeline.lives.size());
    if (isNew)
      timeline.lives.push_back(
          {access.buffer, access.content, access.range, event, event});
    ScheduleTimeline::Life &life = timeline.lives[it->second];
    life.range.end = std::max(life.range.end, access.range.end);
    // A step begins with the first operation of the tensor core in it.
    if (access.agent == ScheduleExecution::Agent::TensorCore) {
      auto mark = llvm::find_if(
          timeline.marks, [&](const ScheduleTimeline::Mark &mark) {
            return mark.workTile == access.workTile && mark.step == access.step;
          });
      if (mark == timeline.marks.end())
        timeline.marks.push_back(
            {access.workTile, access.step, shownEvent.time});
      else
        mark->time = std::min(mark->time, shownEvent.time);
    }
    auto at = [&](size_t index) { return timeline.events[index].time; };
    if (at(event) < at(life.first))
      life.first = event;
    if (at(event) > at(life.last))
      life.last = event;
  }
}

void TimelineBuilder::addBarriers() {
  for (const auto &[op, barrier] : execution.getBarriers())
    for (const auto &[use, waits] : barrier.waits)
      for (const ScheduleExecution::Wait &wait : waits) {
        size_t to = show(wait.event, wait.op);
        if (use < 0 || use >= int64_t(barrier.uses.size()))
          continue;
        for (const auto &arrival : barrier.uses[use].arrivals)
          timeline.arrows.push_back(
              {show(arrival.event, arrival.op), to, cast<BarrierOp>(op)});
      }
}

void TimelineBuilder::closeGaps() {
  std::vector<unsigned> times;
  for (const ScheduleTimeline::Event &event : timeline.events)
    times.push_back(event.time);
  llvm::sort(times);
  times.erase(llvm::unique(times), times.end());
  auto close = [&](unsigned &time) {
    time = llvm::lower_bound(times, time) - times.begin();
  };
  for (ScheduleTimeline::Event &event : timeline.events)
    close(event.time);
  for (ScheduleTimeline::Mark &mark : timeline.marks)
    close(mark.time);
  timeline.length = times.size();
}

FailureOr<ScheduleTimeline>
lpfa::buildScheduleTimeline(KernelOp kernel, ArrayRef<int64_t> steps) {
  ScheduleExecution execution(kernel, steps);
  if (failed(execution.run()))
    return failure();

  std::optional<std::vector<unsigned>> levels =
      execution.getGraph().getLevels(execution.getAssumedPipeEdges());
  if (!levels)
    return kernel.emitOpError("has no timeline: its roles wait for each other "
                              "in a circle");
  return TimelineBuilder(execution, *levels).build();
}
