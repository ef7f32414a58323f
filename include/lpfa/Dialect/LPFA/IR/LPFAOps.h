//===- LPFAOps.h - Ops, types and attributes of lpfa ------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_IR_LPFAOPS_H
#define LPFA_DIALECT_LPFA_IR_LPFAOPS_H

#include "lpfa/Dialect/LPFA/IR/LPFADialect.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "lpfa/Dialect/LPFA/IR/LPFAEnums.h.inc"

namespace lpfa {
/// How many elements share a scale in the MX formats.
inline constexpr int64_t kBlockSize = 32;

/// How many elements share a scale of `scales`, a tensor or tile of scales: 32,
/// of NVFP4 (f8E4M3FN) 16.
int64_t getBlockSize(mlir::Type scales);

/// Whether `type` is one of the five MX element types: f8E4M3FN, f8E5M2,
/// f6E2M3FN, f6E3M2FN and f4E2M1FN.
bool isMXElementType(mlir::Type type);
} // namespace lpfa

#define GET_ATTRDEF_CLASSES
#include "lpfa/Dialect/LPFA/IR/LPFAAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "lpfa/Dialect/LPFA/IR/LPFATypes.h.inc"

#define GET_OP_CLASSES
#include "lpfa/Dialect/LPFA/IR/LPFAOps.h.inc"

#endif // LPFA_DIALECT_LPFA_IR_LPFAOPS_H
