//===- SplitScratch.h - A scratch buffer for each use -----------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_DIALECT_LPFA_TRANSFORMS_SPLITSCRATCH_H
#define LPFA_LIB_DIALECT_LPFA_TRANSFORMS_SPLITSCRATCH_H

#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"

namespace lpfa {

/// The buffers of one scratch buffer's uses, in order of declaration.
using ScratchUses = llvm::SmallVector<ScratchOp>;

/// Splits live ranges: gives each copy into a scratch buffer, with the products
/// that read what it wrote, a buffer of its own. The last copy keeps the one
/// that was there. A buffer stays whole that is a ring, or where a product may
/// read what either of two copies wrote. Returns what was split.
std::vector<ScratchUses> splitScratch(KernelOp kernel);

/// Gives what loops over steps copy to scratch buffers before the first step
/// ops of its own, marked `prologue`. Returns whether there are any.
bool peelPrologues(KernelOp kernel);

} // namespace lpfa

#endif // LPFA_LIB_DIALECT_LPFA_TRANSFORMS_SPLITSCRATCH_H
