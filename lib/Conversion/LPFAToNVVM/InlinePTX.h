//===- InlinePTX.h - Instructions that MLIR has no op for -------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_CONVERSION_LPFATONVVM_INLINEPTX_H
#define LPFA_LIB_CONVERSION_LPFATONVVM_INLINEPTX_H

#include "mlir/IR/Builders.h"

namespace lpfa {

/// Loads `type`, a vector of N 32-bit elements, from tensor memory at `address`
/// with `tcgen05.ld.32x32b.xN`, and waits. In one piece of assembly, since LLVM
/// would move copies of the loaded registers above a wait of its own.
mlir::Value buildTensorMemoryLoad(mlir::OpBuilder &builder, mlir::Location loc,
                                  mlir::VectorType type, mlir::Value address);

/// The same with `tcgen05.ld.red.32x32b.x32.max`: also the maximum of each 32
/// columns, which MLIR has no op for.
std::pair<mlir::Value, mlir::Value>
buildTensorMemoryLoadMax(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::VectorType type, mlir::VectorType maximaType,
                         mlir::Value address);

/// Stores a vector of N 32-bit elements to tensor memory at `address` with
/// `tcgen05.st.32x32b.xN`. LLVM would join the operands of NVVM's op in pairs,
/// with 64-bit shifts where they are packed codes.
void buildTensorMemoryStore(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value value, mlir::Value address);

/// Blocks until the phase of `parity` of the mbarrier has completed. NVVM's op
/// of this loop promises ptxas that a warp's threads leave it together, which
/// `mbarrier.try_wait` does not.
void buildMBarrierWait(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value barrier, mlir::Value parity);

} // namespace lpfa

#endif // LPFA_LIB_CONVERSION_LPFATONVVM_INLINEPTX_H
