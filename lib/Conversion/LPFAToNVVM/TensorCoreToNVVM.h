//===- TensorCoreToNVVM.h - Lowering of tensor core ops ---------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_CONVERSION_LPFATONVVM_TENSORCORETONVVM_H
#define LPFA_LIB_CONVERSION_LPFATONVVM_TENSORCORETONVVM_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/PatternMatch.h"

namespace lpfa {

/// A constant of 32 bits.
inline mlir::Value buildI32(mlir::OpBuilder &builder, mlir::Location loc,
                            int64_t value) {
  return mlir::LLVM::ConstantOp::create(builder, loc, builder.getI32Type(),
                                        value);
}

/// Patterns for the ops of tensor memory, the tensor core and its descriptors.
void populateTensorCoreToNVVMPatterns(mlir::RewritePatternSet &patterns);

} // namespace lpfa

#endif // LPFA_LIB_CONVERSION_LPFATONVVM_TENSORCORETONVVM_H
