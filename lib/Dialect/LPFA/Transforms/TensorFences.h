//===- TensorFences.h - Fences of tensor memory ----------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_DIALECT_LPFA_TRANSFORMS_TENSORFENCES_H
#define LPFA_LIB_DIALECT_LPFA_TRANSFORMS_TENSORFENCES_H

#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "lpfa/Target/TargetModel.h"

namespace lpfa {

/// Puts fences around the synchronization of accesses to tensor memory, and
/// drops all fences of the kernel that no order rests on: how many. A remark
/// says of each of the others what it orders. Nothing where the kernel is
/// outside the model; then a diagnostic has been emitted.
std::optional<unsigned> insertTensorFences(KernelOp kernel, Ordering ordering);

} // namespace lpfa

#endif // LPFA_LIB_DIALECT_LPFA_TRANSFORMS_TENSORFENCES_H
