//===- NarrowFloats.h - Conversions of narrow floats ------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_UTILS_NARROWFLOATS_H
#define LPFA_DIALECT_LPFA_UTILS_NARROWFLOATS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace lpfa {

/// The code of the f32 `x` in `type`, an MX element type or f8E8M0FNU, as
/// `lpfa.encode` rounds, in 32-bit integer arithmetic. The result is an i32.
mlir::Value emitEncode(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value x, mlir::FloatType type);

/// The f32 that the code in an i32, whose higher bits are 0, stands for, as
/// `lpfa.decode` has it.
mlir::Value emitDecode(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value code, mlir::FloatType type);

} // namespace lpfa

#endif // LPFA_DIALECT_LPFA_UTILS_NARROWFLOATS_H
