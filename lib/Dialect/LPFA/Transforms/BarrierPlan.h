//===- BarrierPlan.h - What needs barriers, and of what kind ----*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_DIALECT_LPFA_TRANSFORMS_BARRIERPLAN_H
#define LPFA_LIB_DIALECT_LPFA_TRANSFORMS_BARRIERPLAN_H

#include "lpfa/Analysis/Schedule.h"
#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"

namespace lpfa {

/// How a role ends its part of a slot or a turn.
enum class Arrival { Threads, Commit, Bytes };

/// How the role puts and releases contents of the channel.
Arrival getPutArrival(RoleOp role, ChannelOp channel);
Arrival getReleaseArrival(RoleOp role, ChannelOp channel);

inline RoleOp getRole(mlir::Operation *op) {
  return op->getParentOfType<RoleOp>();
}

/// Whether the role puts contents into the channel.
bool writes(RoleOp role, mlir::Operation *channel);

/// Whether the role's work on an accumulator is the tensor core's.
bool multiplies(RoleOp role);

/// The first op that fills what is acquired, in the block of the acquire.
mlir::Operation *getFirstCopy(AcquireOp acquire);

/// What the roles of a placed kernel wait for, and which barriers spare others.
class BarrierPlan {
public:
  /// Finds it in executions of the roles; remarks say why. An error where no
  /// waits keep all accesses apart.
  static mlir::FailureOr<BarrierPlan> get(KernelOp kernel,
                                          llvm::ArrayRef<Trace> traces);

  /// Whether the wait was found to be necessary.
  bool isNeeded(WaitEdge::Kind kind, mlir::Operation *declaration,
                mlir::Operation *op) const {
    return llvm::is_contained(waits, WaitEdge{kind, declaration, op});
  }
  bool needsFree(mlir::Operation *channel) const;
  /// Whether the role ever waits when it takes an accumulator.
  bool needsTakes(mlir::Operation *accumulator, RoleOp taker) const {
    return waitingTakers.contains({accumulator, taker});
  }
  /// Whether anyone waits for what `giver` gives.
  bool needsTurn(mlir::Operation *accumulator, RoleOp giver) const;

  std::vector<WaitEdge> waits;
  /// Gets that return more than what their role holds already.
  llvm::DenseSet<mlir::Operation *> openings;
  /// Channels whose content comes with that of another.
  llvm::DenseMap<mlir::Operation *, ChannelOp> mergedChannels;
  /// Channels with a named barrier.
  llvm::DenseSet<mlir::Operation *> namedChannels;
  /// Gives that others wait for in the last step of a work tile only, and the
  /// takes of other steps.
  llvm::DenseSet<mlir::Operation *> lastGives, unmatchedTakes;

private:
  void findLastGives(llvm::ArrayRef<Trace> traces);
  void mergeArrivals(KernelOp kernel, const ScheduleAnalysis &analysis);
  void chooseNamed(KernelOp kernel, const ScheduleAnalysis &analysis);

  /// Accumulators and the roles that wait for them. The takes in `waits` are
  /// erased as roles are rewritten.
  llvm::DenseSet<std::pair<mlir::Operation *, mlir::Operation *>> waitingTakers;
};

} // namespace lpfa

#endif // LPFA_LIB_DIALECT_LPFA_TRANSFORMS_BARRIERPLAN_H
