//===- PTX.h - From the nvvm stage to PTX -----------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_TARGET_PTX_H
#define LPFA_TARGET_PTX_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include <string>

namespace lpfa {

/// Translates a `gpu.module` of the nvvm stage to LLVM IR, as text, optimized
/// for the module's target if `optimize`. Reports what cannot be translated,
/// and a missing `#nvvm.target`, at the op. Not inside a pass: it may load
/// dialect translations into the context.
mlir::FailureOr<std::string> emitLLVMIR(mlir::gpu::GPUModuleOp gpuModule,
                                        bool optimize);

/// Compiles a `gpu.module` of the nvvm stage to PTX for the chip in its
/// `#nvvm.target`. The text depends on the module alone. Errors as above.
mlir::FailureOr<std::string> emitPTX(mlir::gpu::GPUModuleOp gpuModule);

} // namespace lpfa

#endif // LPFA_TARGET_PTX_H
