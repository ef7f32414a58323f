//===- RoleInterpreter.h - A role's ops in the order of their run -*- C++ -*-=//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The control flow of a kernel's roles depends on the numbers of work tiles and
// of their steps alone, so that for given numbers a role is a sequence of ops.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_ANALYSIS_ROLEINTERPRETER_H
#define LPFA_ANALYSIS_ROLEINTERPRETER_H

#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace lpfa {

/// Numbers of steps, one a work tile, that stand for all. Dependences have a
/// constant distance in uses, so that few steps show every case: twice the
/// depth of the deepest ring and two more go around every ring, and short work
/// tiles, of 0 to 3 steps, show the seams.
std::vector<std::vector<int64_t>> getRepresentativeSteps(KernelOp kernel);

/// Walks roles with `steps[w]` steps for work tile w.
class RoleInterpreter {
public:
  RoleInterpreter(KernelOp kernel, llvm::ArrayRef<int64_t> steps)
      : kernel(kernel), steps(steps) {}
  virtual ~RoleInterpreter() = default;

protected:
  /// Visits the ops of the role. Fails with a diagnostic where a trip count is
  /// not known, or synchronization depends on data.
  llvm::LogicalResult interpret(RoleOp role);

  /// An op other than control flow. Ops under a condition on data are visited:
  /// they may happen.
  virtual llvm::LogicalResult visit(mlir::Operation *op) = 0;

  /// Around the body of each work tile of a loop over them.
  virtual void beginWorkTile(ForWorkOp loop) {}
  virtual void endWorkTile(ForWorkOp loop) {}

  /// Whether the op meets other roles: it may not depend on data.
  virtual bool isSynchronization(mlir::Operation *op) const = 0;

  /// The integer value, where it follows from the numbers of steps.
  std::optional<int64_t> getKnown(mlir::Value value) const;

  KernelOp kernel;
  llvm::ArrayRef<int64_t> steps;
  /// The work tile at hand, and the step of it.
  int64_t workTile = 0, step = 0;
  /// How many conditions on data the op at hand stands under.
  unsigned uncertainty = 0;

private:
  llvm::LogicalResult runBlock(mlir::Block &block);
  llvm::LogicalResult runOp(mlir::Operation *op);
  llvm::LogicalResult runForSteps(ForStepsOp op);
  llvm::LogicalResult runFor(mlir::scf::ForOp op);
  llvm::LogicalResult runIf(mlir::scf::IfOp op);
  void fold(mlir::Operation *op);

  llvm::DenseMap<mlir::Value, int64_t> known;
};

} // namespace lpfa

#endif // LPFA_ANALYSIS_ROLEINTERPRETER_H
