//===- CostModel.h - How long a step of attention takes --------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A coarse model of attention's loop on one multiprocessor, for the choice
// between schedules: what a step keeps each unit busy, and an event model of
// the chain from scores by way of the softmax to the next scores. It compares
// schedules and predicts no speed. What is not known well (how long reads of
// tensor memory take, whether copies and products contend for shared memory)
// it takes at its bounds: a gain counts where it stands at each of them.
//
// Rates are those of `TargetModel`. Latencies, from the same measurements: 136
// clocks from the issue of a last product to its barrier
// (SemiAnalysisAI/microbench-blackwell, umma_latency, 128 rows and columns).
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_ANALYSIS_COSTMODEL_H
#define LPFA_ANALYSIS_COSTMODEL_H

#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "lpfa/Target/TargetModel.h"

namespace lpfa {

/// How threads hand something over to others.
enum class Handover {
  /// Every thread arrives at an mbarrier.
  EachThread,
  /// The team meets at a named barrier, then one thread arrives at an mbarrier.
  OneThread,
  /// Warps arrive at a named barrier, and the others wait for it.
  Named
};

/// Issue slots of one use, with so many arriving and waiting warps, by the
/// instructions that lpfa emits: of an mbarrier the arrival (1), the try and
/// its branch, and the phase that turns over (4 in all a wait); of a named
/// barrier one each. With one thread for all there are the team's barrier and
/// the branch around the arrival beside that. An instruction takes one slot of
/// its warp's (ademeure/QuickRunCUDA). Latencies are not in it: no source
/// compares them.
constexpr int64_t getIssueSlots(Handover handover, int64_t arriving,
                                int64_t waiting) {
  switch (handover) {
  case Handover::EachThread:
    return arriving + 4 * waiting;
  case Handover::OneThread:
    return 3 * arriving + 4 * waiting;
  case Handover::Named:
    return arriving + waiting;
  }
}

/// What the model has to know of an attention op.
struct AttentionShape {
  int64_t headDim, valueHeadDim;
  /// Whether P's scales are found a block of keys at a time.
  bool hasDynamicScales;

  static AttentionShape get(AttentionOp op);
};

/// A schedule, and what the model says of it.
struct ScheduleCost {
  ScheduleAttr schedule;
  /// Exponentials of each 32 that the multiply-add pipe computes.
  int64_t polynomialColumns = 0;

  int64_t tensorColumns = 0, sharedBytes = 0;
  /// Whether P and the scales have columns of their own.
  bool isSideBySide = false;
  /// Why it cannot be; empty where it can.
  std::string misfit;

  /// Clocks for 128 keys of 128 queries that each unit is busy.
  struct Unit {
    llvm::StringRef name;
    double clocks;
  };
  std::vector<Unit> units;
  /// The modelled clocks for the same, at each bound of what is not known.
  std::vector<double> clocks;

  double getLeast() const { return *llvm::min_element(clocks); }
  double getMost() const { return *llvm::max_element(clocks); }
  /// The unit that is busy longest, or `chain` where none is busy throughout.
  llvm::StringRef getBound() const;
};

/// Whether the schedule fits, and how long it takes.
ScheduleCost getCost(AttentionShape shape, ScheduleAttr schedule,
                     const TargetModel &target, int64_t polynomialColumns = 0);

/// The least part of its time that `better` gains over `base`, over all that is
/// not known. Below `minScheduleGain` the model cannot tell them apart: it is
/// as much off the published speed of a schedule like the default one. For 128
/// keys of two query tiles it has 2,502 clocks on sm_100a, where TLX's 2.1
/// PFLOP/s on GB200 are 2,190, and 1,534 to 1,850 on sm_103a, where the best
/// published 2.85 on GB300 are 1,700.
double getGain(const ScheduleCost &better, const ScheduleCost &base);
constexpr double minScheduleGain = 0.15;

/// What of a schedule is given.
struct GivenSchedule {
  std::optional<int64_t> queryTiles, keyTile, stages, scoreBuffers;
  std::optional<bool> scoresFirst;
};

/// The schedules with what is given, the defaults first; where two differ in
/// the slots of their rings alone, the one with more comes first.
std::vector<ScheduleAttr> getSchedules(mlir::MLIRContext *context,
                                       const GivenSchedule &given = {});

/// The schedule as options of the pipeline.
std::string describe(ScheduleAttr schedule);

} // namespace lpfa

#endif // LPFA_ANALYSIS_COSTMODEL_H
