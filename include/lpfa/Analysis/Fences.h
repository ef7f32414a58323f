//===- Fences.h - Which fences a schedule needs ----------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_ANALYSIS_FENCES_H
#define LPFA_ANALYSIS_FENCES_H

#include "lpfa/Analysis/Buffers.h"
#include "lpfa/Target/TargetModel.h"

namespace lpfa {

/// A fence of a synchronized kernel, other than waits for stores.
struct Fence {
  FenceOp op;
  /// Two accesses that nothing would order without it; none where those fences
  /// that have them order all.
  mlir::Operation *first = nullptr, *second = nullptr;
  BufferId firstBuffer = {nullptr, 0}, secondBuffer = {nullptr, 0};
};

/// The fences of a kernel in order. What those order that have no accesses
/// here, the others do; nothing is returned where accesses are not ordered
/// anyway. Fails with a diagnostic where the kernel is outside the model.
mlir::FailureOr<std::vector<Fence>> findNeededFences(KernelOp kernel,
                                                     Ordering ordering);

/// Why a fence stands, in words.
std::string describe(const Fence &fence);

} // namespace lpfa

#endif // LPFA_ANALYSIS_FENCES_H
