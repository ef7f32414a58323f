//===- SizeChecks.h - Sizes that must fit at run time -----------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_CONVERSION_LPFATOLINALG_SIZECHECKS_H
#define LPFA_LIB_CONVERSION_LPFATOLINALG_SIZECHECKS_H

#include "mlir/IR/Builders.h"

namespace lpfa {

/// Stops the program unless `tensor` has the sizes `expected`, with a message
/// that names `op`, its place in the source and `what` the tensor is. Sizes
/// that both types know were compared by the verifier.
void emitSizeChecks(mlir::OpBuilder &builder, mlir::Operation *op,
                    mlir::Value tensor,
                    llvm::ArrayRef<mlir::OpFoldResult> expected,
                    llvm::StringRef what);

} // namespace lpfa

#endif // LPFA_LIB_CONVERSION_LPFATOLINALG_SIZECHECKS_H
