//===- Compiler.h - From a module to launchable kernels ---------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_TARGET_COMPILER_H
#define LPFA_TARGET_COMPILER_H

#include "lpfa/Pipelines.h"
#include "lpfa/Runtime/LaunchPlan.h"
#include "mlir/IR/BuiltinOps.h"

namespace lpfa {

struct CompilerOptions {
  /// The chip and what else `lpfa-to-threads` can be told.
  ToThreadsOptions pipeline;
};

/// The PTX of one `gpu.module`.
struct CompiledPTX {
  /// The module's name, which plans refer to.
  std::string name;
  std::string text;
};

struct CompiledModule {
  ModulePlan plan;
  std::vector<CompiledPTX> modules;
};

/// Lowers `module` in place to the synchronized stage: host functions with
/// launches, and kernels with roles, places and barriers.
mlir::LogicalResult lowerToSynchronized(mlir::ModuleOp module,
                                        const CompilerOptions &options);

/// Lowers `module` in place to the threads stage: host functions with launches,
/// and a `gpu.module` for each kernel.
mlir::LogicalResult lowerToThreads(mlir::ModuleOp module,
                                   const CompilerOptions &options);

/// Lowers `module` in place from the threads stage to the nvvm stage.
mlir::LogicalResult lowerThreadsToNVVM(mlir::ModuleOp module,
                                       const CompilerOptions &options);

/// Emits a module of the nvvm stage: the plans of the functions that launch
/// something, and PTX for every `gpu.module`.
mlir::FailureOr<CompiledModule> emitModule(mlir::ModuleOp module);

/// All three steps. Errors are diagnostics.
mlir::FailureOr<CompiledModule> compile(mlir::ModuleOp module,
                                        const CompilerOptions &options);

} // namespace lpfa

#endif // LPFA_TARGET_COMPILER_H
