//===- Pipelines.h - Named pipelines of lpfa --------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_PIPELINES_H
#define LPFA_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace lpfa {

/// Lowers a module of tensor-level functions to the LLVM dialect, for
/// execution on the CPU (`lpfa-reference`). This is the executable meaning of
/// the tensor-level ops that kernels are compared with.
///
/// Every function gets a C interface, `_mlir_ciface_<name>`. Tensors become
/// memrefs; a narrow float (f8, f6, f4) is an `i8` code. The caller owns the
/// results: each was allocated with `malloc` and aliases no argument and no
/// other result. Sizes that do not fit one another at run time fail an
/// assertion: the code calls `puts` with the message, then `abort`.
void buildReferencePipeline(mlir::OpPassManager &pm);

struct ThreadsToNVVMOptions : mlir::PassPipelineOptions<ThreadsToNVVMOptions> {
  Option<std::string> chip{*this, "chip", llvm::cl::init("sm_100a"),
                           llvm::cl::desc("sm_90a, sm_100a or sm_103a")};
};

/// Lowers every `gpu.module` from the threads stage to the `llvm` and `nvvm`
/// dialects (`lpfa-threads-to-nvvm`) and attaches the chip to it. What stands
/// outside the modules stays. Fails where an op has no instruction.
void buildThreadsToNVVMPipeline(mlir::OpPassManager &pm,
                                const ThreadsToNVVMOptions &options);

/// Makes all of the above available to textual pipelines.
void registerPipelines();

} // namespace lpfa

#endif // LPFA_PIPELINES_H
