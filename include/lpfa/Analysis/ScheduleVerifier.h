//===- ScheduleVerifier.h - Is a synchronized kernel right? -----*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A judgement from the barriers as they stand in the IR; how they came there
// does not matter. The rules are those of the pass `lpfa-verify-schedule`.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_ANALYSIS_SCHEDULEVERIFIER_H
#define LPFA_ANALYSIS_SCHEDULEVERIFIER_H

#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "lpfa/Target/TargetModel.h"

namespace lpfa {

/// What is wrong with a schedule.
struct ScheduleFinding {
  enum Kind { Race, Protocol, Deadlock };
  Kind kind;
  /// `R1` to `R5`; empty for what is no rule of its own.
  llvm::StringRef rule;
  mlir::Operation *op;
  std::string message;
  std::vector<std::pair<mlir::Operation *, std::string>> notes;

  void emit() const;
};

/// The word on a schedule: safe where nothing was found, as long as the tensor
/// core keeps the orders in `assumptions`.
struct ScheduleVerdict {
  std::optional<ScheduleFinding> finding;
  llvm::SmallVector<TargetModel::PipeOrder> assumptions;

  /// `safe`, or `safe assuming ...`.
  std::string describe() const;
};

/// Judges a kernel at the synchronized stage. Fails with a diagnostic where it
/// holds what the model does not know.
mlir::FailureOr<ScheduleVerdict> verifySchedule(KernelOp kernel,
                                                Ordering ordering);

} // namespace lpfa

#endif // LPFA_ANALYSIS_SCHEDULEVERIFIER_H
