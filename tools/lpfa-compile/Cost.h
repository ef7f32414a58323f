//===- Cost.h - The product "cost" -----------------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_TOOLS_LPFA_COMPILE_COST_H
#define LPFA_TOOLS_LPFA_COMPILE_COST_H

#include "lpfa/Target/Ptxas.h"
#include "lpfa/Target/TargetModel.h"
#include "mlir/IR/BuiltinOps.h"

namespace lpfa {

/// For each gpu.module at the threads stage, the clocks that the tensor core
/// takes for the MMAs of one step.
std::vector<double> getTensorClocks(mlir::ModuleOp module);

/// The cost of kernels as text, from their PTX and, where there are `ptxas` and
/// nvdisasm, from what that is assembled to. Says on stderr what is missing.
llvm::Expected<std::string> getCost(llvm::ArrayRef<std::string> ptx,
                                    const std::optional<Ptxas> &ptxas,
                                    const TargetModel &target,
                                    llvm::ArrayRef<double> tensorClocks);

} // namespace lpfa

#endif // LPFA_TOOLS_LPFA_COMPILE_COST_H
