//===- ScheduleTimeline.h - One run of a kernel, laid out in time -*- C++ -*-=//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_ANALYSIS_SCHEDULETIMELINE_H
#define LPFA_ANALYSIS_SCHEDULETIMELINE_H

#include "lpfa/Analysis/Buffers.h"

namespace lpfa {

/// The events of one run of a synchronized kernel. Time is logical, without
/// gaps: an event's is more than that of all events which happen before it.
struct ScheduleTimeline {
  /// An access to memory, an arrival or a wait.
  struct Event {
    RoleOp role;
    mlir::Operation *op;
    unsigned time;
    /// Of accesses: what is read and written.
    std::vector<BufferId> reads, writes;
  };
  /// An arrival at a use of a barrier, and a wait for that use.
  struct Arrow {
    size_t from, to;
    BarrierOp barrier;
  };
  /// One content of a buffer, from its first access to its last.
  struct Life {
    BufferId buffer;
    int64_t content;
    MemoryRange range;
    size_t first, last;
  };
  /// Where step `step` of a work tile begins.
  struct Mark {
    int64_t workTile, step;
    unsigned time;
  };

  std::vector<Event> events;
  std::vector<Arrow> arrows;
  std::vector<Life> lives;
  std::vector<Mark> marks;
  unsigned length = 0;
};

/// Runs the kernel with `steps[w]` steps for work tile w. Fails with a
/// diagnostic where the kernel is outside the model or would never end.
mlir::FailureOr<ScheduleTimeline>
buildScheduleTimeline(KernelOp kernel, llvm::ArrayRef<int64_t> steps);

} // namespace lpfa

#endif // LPFA_ANALYSIS_SCHEDULETIMELINE_H
