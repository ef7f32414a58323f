//===- Passes.h - lpfa passes -----------------------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_TRANSFORMS_PASSES_H
#define LPFA_DIALECT_LPFA_TRANSFORMS_PASSES_H

#include "lpfa/Dialect/LPFA/IR/LPFADialect.h"
#include "lpfa/Target/TargetModel.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/CommandLine.h"

namespace lpfa {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "lpfa/Dialect/LPFA/Transforms/Passes.h.inc"
} // namespace lpfa

#endif // LPFA_DIALECT_LPFA_TRANSFORMS_PASSES_H
