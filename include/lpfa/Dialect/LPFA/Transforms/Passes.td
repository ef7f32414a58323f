//===- Passes.td - lpfa passes ------------------------------*- tablegen -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_TRANSFORMS_PASSES_TD
#define LPFA_DIALECT_LPFA_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif // LPFA_DIALECT_LPFA_TRANSFORMS_PASSES_TD
