//===- CudaDevice.h - Running a compiled function on a GPU ------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_TOOLS_LPFA_RUN_CUDADEVICE_H
#define LPFA_TOOLS_LPFA_RUN_CUDADEVICE_H

#include "lpfa/Runtime/Npy.h"
#include "lpfa/Target/Compiler.h"
#include "llvm/Support/Error.h"

namespace lpfa {

struct CudaOptions {
  /// A chip that is empty becomes the GPU's.
  CompilerOptions compiler;
  /// The tool's own path, near which ptxas is looked for. Without ptxas the
  /// driver compiles the PTX.
  std::string executable;
};

/// Compiles `@entry` of `module`, which is consumed, and runs its kernels on
/// the first GPU that the process may use. `arguments` have been checked
/// against the signature.
llvm::Expected<std::vector<NpyArray>>
runOnCuda(mlir::ModuleOp module, llvm::StringRef entry,
          llvm::ArrayRef<NpyArray> arguments, CudaOptions &options);

} // namespace lpfa

#endif // LPFA_TOOLS_LPFA_RUN_CUDADEVICE_H
