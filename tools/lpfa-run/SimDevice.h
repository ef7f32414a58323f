//===- SimDevice.h - Running a compiled function simulated ------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_TOOLS_LPFA_RUN_SIMDEVICE_H
#define LPFA_TOOLS_LPFA_RUN_SIMDEVICE_H

#include "lpfa/Runtime/Npy.h"
#include "lpfa/Simulator/Simulator.h"
#include "lpfa/Target/Compiler.h"
#include "llvm/Support/Error.h"

namespace lpfa {

struct SimulationOptions {
  SimulationOptions() { simulator.checks.strictFences = true; }

  CompilerOptions compiler;
  /// With the checks that lpfa's own kernels must pass.
  sim::Options simulator;
  /// What persistent grids are made for.
  int64_t multiprocessors = 1;
};

/// Compiles `@entry` of `module`, which is consumed, and runs its kernels in
/// order in the simulator. `arguments` have been checked against the
/// signature.
///
/// What a check of the simulator finds is an error, with a report on stderr
/// that gives the line of PTX; so is a result with an element that no kernel
/// wrote.
llvm::Expected<std::vector<NpyArray>>
runOnSimulator(mlir::ModuleOp module, llvm::StringRef entry,
               llvm::ArrayRef<NpyArray> arguments,
               const SimulationOptions &options);

} // namespace lpfa

#endif // LPFA_TOOLS_LPFA_RUN_SIMDEVICE_H
