//===- LPFATensorOps.td - Ops of the tensor level ------------*- tablegen -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_IR_LPFATENSOROPS_TD
#define LPFA_DIALECT_LPFA_IR_LPFATENSOROPS_TD

include "lpfa/Dialect/LPFA/IR/LPFAAttributes.td"
include "lpfa/Dialect/LPFA/IR/LPFATypes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

#endif // LPFA_DIALECT_LPFA_IR_LPFATENSOROPS_TD
