//===- SizeChecks.h - Constraints on sizes known at run time ----*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_UTILS_SIZECHECKS_H
#define LPFA_DIALECT_LPFA_UTILS_SIZECHECKS_H

#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"

namespace lpfa {

/// Asserts (`cf.assert`) that `condition` holds; nothing where it is known to.
/// The message names the op and its place in the source.
void emitCheck(mlir::OpBuilder &builder, mlir::Operation *op,
               mlir::Value condition, llvm::StringRef message);

/// Asserts what the constraints of `op` say of the sizes of its operands, where
/// types leave them open and the verifier could not tell. In a jagged batch
/// where each sequence starts is left out: that is in the offsets' values.
void emitSizeChecks(mlir::OpBuilder &builder, AttentionOp op);
void emitSizeChecks(mlir::OpBuilder &builder, MatmulOp op);

} // namespace lpfa

#endif // LPFA_DIALECT_LPFA_UTILS_SIZECHECKS_H
