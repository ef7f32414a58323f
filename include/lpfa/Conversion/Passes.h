//===- Passes.h - lpfa passes -----------------------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_CONVERSION_PASSES_H
#define LPFA_CONVERSION_PASSES_H

#include "lpfa/Dialect/LPFA/IR/LPFADialect.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/Pass.h"

namespace lpfa {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "lpfa/Conversion/Passes.h.inc"
} // namespace lpfa

#endif // LPFA_CONVERSION_PASSES_H
