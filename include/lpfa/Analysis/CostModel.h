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
// tensor memory take, whether copies and products contend for shared memory,
// how long it takes from an arrival to the end of a wait, how fast the tensor
// core's role issues beside others) it takes at its bounds: a gain counts where
// it stands at each of them.
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
  /// Whether scales of keys or values come as atoms of 128 rows.
  bool hasBlockedScales;

  static AttentionShape get(AttentionOp op);
};

/// Where probabilities and scales lie, and with it what new scores wait for.
enum class ColumnUse {
  /// Each in columns of its own: new scores wait until the old have been read.
  Beside,
  /// The same, but the scores of two query tiles take turns in the same
  /// columns: new ones wait until the other's have been read.
  Turns,
  /// Inside scores: these wait until the other's have been read, and their own
  /// probabilities used.
  Inside
};

/// A schedule, and what the model says of it.
struct ScheduleCost {
  ScheduleAttr schedule;
  /// Exponentials of each 32 that the multiply-add pipe computes.
  int64_t polynomialColumns = 0;

  int64_t tensorColumns = 0, sharedBytes = 0;
  ColumnUse columnUse = ColumnUse::Beside;
  /// Whether scales of several products take turns in the same columns.
  bool sharesScales = false;
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

/// Whether the schedule fits, and how long it takes. Where it relies on more
/// order of the tensor core than `ordering` gives, it waits.
ScheduleCost getCost(AttentionShape shape, ScheduleAttr schedule,
                     const TargetModel &target,
                     Ordering ordering = Ordering::Practice,
                     int64_t polynomialColumns = 0);

/// The least part of its time that `better` gains over `base`, over all that is
/// not known. Below `minScheduleGain` the model cannot tell them apart: its
/// bounds lie as far from the published speed of a schedule like the default
/// one, and farther. For 128 keys of two query tiles it has 2,154 to 2,528
/// clocks on sm_100a, where TLX's 2.1 PFLOP/s on GB200 are 2,190, and 1,534 to
/// 2,178 on sm_103a, where the best published 2.85 on GB300 are 1,700.
double getGain(const ScheduleCost &better, const ScheduleCost &base);
constexpr double minScheduleGain = 0.15;

/// What of a schedule is given.
struct GivenSchedule {
  std::optional<int64_t> queryTiles, keyTile, stages, scoreBuffers, scoresAhead,
      probabilityParts, probabilityBuffers;
  std::optional<bool> scoresFirst, queriesInTmem;
};

/// What the model says of all schedules with what is given, the defaults first.
/// Of schedules that differ only in the slots of their rings there is one, with
/// three, or two where three do not fit. Where columns are short scales share
/// them. Probabilities are whole or in the fewest parts, in one slot or, where
/// they may lie inside, in as many as the scores. What an option must ask for
/// has a misfit that says so.
std::vector<ScheduleCost> getCosts(mlir::MLIRContext *context,
                                   AttentionShape shape,
                                   const GivenSchedule &given,
                                   const TargetModel &target,
                                   Ordering ordering = Ordering::Practice);

/// The schedule as options of the pipeline; the newer ones where they are not
/// the default.
std::string describe(ScheduleAttr schedule);

} // namespace lpfa

#endif // LPFA_ANALYSIS_COSTMODEL_H
