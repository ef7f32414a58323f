//===- LPFAOps.td - All ops of the lpfa dialect ------------*- tablegen -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_IR_LPFAOPS_TD
#define LPFA_DIALECT_LPFA_IR_LPFAOPS_TD

include "lpfa/Dialect/LPFA/IR/LPFATensorOps.td"
include "lpfa/Dialect/LPFA/IR/LPFABarrierOps.td"
include "lpfa/Dialect/LPFA/IR/LPFABulkCopyOps.td"
include "lpfa/Dialect/LPFA/IR/LPFAJaggedOps.td"
include "lpfa/Dialect/LPFA/IR/LPFAKernelOps.td"
include "lpfa/Dialect/LPFA/IR/LPFAMatmulOps.td"
include "lpfa/Dialect/LPFA/IR/LPFANormalizationOps.td"
include "lpfa/Dialect/LPFA/IR/LPFANormalizationTileOps.td"
include "lpfa/Dialect/LPFA/IR/LPFAParameterAttributes.td"
include "lpfa/Dialect/LPFA/IR/LPFARoleOps.td"
include "lpfa/Dialect/LPFA/IR/LPFASoftmaxOps.td"
include "lpfa/Dialect/LPFA/IR/LPFASynchronizationOps.td"
include "lpfa/Dialect/LPFA/IR/LPFATensorCoreOps.td"
include "lpfa/Dialect/LPFA/IR/LPFAThreadOps.td"
include "lpfa/Dialect/LPFA/IR/LPFATileOps.td"

#endif // LPFA_DIALECT_LPFA_IR_LPFAOPS_TD
