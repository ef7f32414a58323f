//===- ReferenceDevice.h - Running a function on the CPU --------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_TOOLS_LPFA_RUN_REFERENCEDEVICE_H
#define LPFA_TOOLS_LPFA_RUN_REFERENCEDEVICE_H

#include "lpfa/Runtime/Npy.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace lpfa {

/// Runs `@entry` of `module`, which is consumed, by the lpfa-reference pipeline
/// and MLIR's JIT. The arguments have been checked against the signature. A
/// run-time assertion (sizes that do not fit one another) ends the process with
/// its message and exit code 1.
llvm::Expected<std::vector<NpyArray>>
runOnReference(mlir::ModuleOp module, llvm::StringRef entry,
               llvm::ArrayRef<NpyArray> arguments);

} // namespace lpfa

#endif // LPFA_TOOLS_LPFA_RUN_REFERENCEDEVICE_H
