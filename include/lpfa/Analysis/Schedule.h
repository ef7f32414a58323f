//===- Schedule.h - What a kernel has to wait for ---------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which accesses to memory must be ordered, and the fewest waits that do it.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_ANALYSIS_SCHEDULE_H
#define LPFA_ANALYSIS_SCHEDULE_H

#include "lpfa/Analysis/Trace.h"

namespace lpfa {

/// Two accesses that meet.
struct ScheduleConflict {
  /// The rule of `lpfa-verify-schedule` that they break: R1 where one product
  /// makes both, R2 where a content is replaced while it is in use, R3 where
  /// they are not ordered. Empty where the roles deadlock.
  llvm::StringRef rule;
  mlir::Operation *first = nullptr, *second = nullptr;
  /// What they access.
  BufferId firstBuffer = {nullptr, 0}, secondBuffer = {nullptr, 0};
};

/// What could happen without the wait, in words.
std::string describe(const WaitEdge &wait, const ScheduleConflict &reason);

/// Reports accesses that no wait can keep apart, as an error.
mlir::LogicalResult emitConflict(KernelOp kernel,
                                 const ScheduleConflict &conflict);

/// Finds what a kernel's memory needs.
class ScheduleAnalysis {
public:
  explicit ScheduleAnalysis(std::vector<Trace> traces)
      : traces(std::move(traces)) {}

  /// Lets contents of two buffers share memory.
  void addOverlap(const BufferOverlap &overlap);

  /// The same for all buffers of a placed kernel whose places overlap.
  void addOverlaps(KernelOp kernel);

  /// The fewest waits, found by dropping one after the other in order, that
  /// keep every pair of conflicting accesses apart: contents of one slot, and
  /// contents of overlapping buffers, do not meet in time. Nothing where no
  /// wait can do that; then `conflict` says why.
  std::optional<std::vector<WaitEdge>>
  findWaits(ScheduleConflict *conflict = nullptr);

  /// For each wait that `findWaits` found, what it alone keeps apart.
  llvm::ArrayRef<ScheduleConflict> getReasons() const { return reasons; }

  /// Whether the waits that `findWaits` found, with those for content of
  /// `with`, spare those for content of `channel`: its copies are issued while
  /// a slot of `with` is filled, and whoever reads it has waited for that slot.
  bool comesWith(mlir::Operation *channel, mlir::Operation *with) const;

  /// Whether each content of the channel has been got before the next is put,
  /// with the waits that `findWaits` found.
  bool isHandedOverInTurn(mlir::Operation *channel) const;

  /// Waits of the roles' steps, waits outside of these (once for a work tile or
  /// in a prologue), and those among all for the latest content of a channel,
  /// which stall longer than those for what was there before.
  struct WaitCount {
    unsigned steady = 0, outside = 0, latest = 0;
  };

  /// How many waits beyond those that `findWaits` found let two buffers share
  /// memory: none where these suffice, nothing where no wait can do it.
  std::optional<WaitCount> countWaits(const BufferOverlap &overlap) const {
    return countWaits(llvm::ArrayRef(overlap)).front();
  }

  /// The same for each of several ways for the same two buffers to do so.
  std::vector<std::optional<WaitCount>>
  countWaits(llvm::ArrayRef<BufferOverlap> choices) const;

  /// Whether a wait that `findWaits` found is for the buffer's content to have
  /// been read: then it has a barrier for that.
  bool hasWaits(BufferId buffer) const {
    return llvm::any_of(found, [&](const WaitEdge &wait) {
      return wait.declaration == buffer.declaration;
    });
  }

private:
  /// What must hold of one execution: `first` before `second`.
  struct Requirement {
    const Trace::Access *first, *second;
  };
  static std::optional<std::vector<Requirement>>
  collectRequirements(const Trace &trace, const HappensBefore &closure,
                      llvm::ArrayRef<BufferOverlap> overlaps,
                      ScheduleConflict *conflict);
  /// Every buffer with itself, and what overlaps.
  std::vector<BufferOverlap> getAllOverlaps() const;

  std::vector<Trace> traces;
  std::vector<BufferOverlap> overlaps;
  /// Of each trace, what every choice of waits must keep.
  std::vector<std::vector<Requirement>> requirements;
  std::vector<WaitEdge> found;
  std::vector<ScheduleConflict> reasons;
  std::vector<HappensBefore> foundClosures;
};

} // namespace lpfa

#endif // LPFA_ANALYSIS_SCHEDULE_H
