//===- PlanExtraction.h - From a host function to its plan ------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_TARGET_PLANEXTRACTION_H
#define LPFA_TARGET_PLANEXTRACTION_H

#include "lpfa/Runtime/LaunchPlan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lpfa {

/// Reads a function that launches kernels, after they have reached the nvvm
/// stage. Its body is one block of `lpfa.launch`, `tensor.empty` and casts of
/// tensors, index arithmetic, `tensor.dim` and `cf.assert` (a check). What each
/// kernel takes is said by `lpfa.parameter` at its arguments; its block size is
/// `nvvm.reqntid`. Reports an op that a plan cannot hold.
mlir::FailureOr<LaunchPlan> extractLaunchPlan(mlir::func::FuncOp func);

} // namespace lpfa

#endif // LPFA_TARGET_PLANEXTRACTION_H
