//===- LPFADialect.h - The lpfa dialect -------------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_IR_LPFADIALECT_H
#define LPFA_DIALECT_LPFA_IR_LPFADIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"

#include "lpfa/Dialect/LPFA/IR/LPFADialect.h.inc"

#endif // LPFA_DIALECT_LPFA_IR_LPFADIALECT_H
