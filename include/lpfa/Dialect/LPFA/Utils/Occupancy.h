//===- Occupancy.h - How many CTAs a multiprocessor has ---------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_UTILS_OCCUPANCY_H
#define LPFA_DIALECT_LPFA_UTILS_OCCUPANCY_H

#include "llvm/ADT/StringRef.h"

namespace lpfa {

/// An integer attribute of a kernel: how many of its CTAs a multiprocessor is
/// to have at a time, by which ptxas limits the registers of a thread. One
/// where it is absent.
inline constexpr llvm::StringLiteral kMinCTAsName = "lpfa.min_ctas";

/// An integer attribute of a kernel: how many CTAs make a cluster. No clusters
/// where it is absent.
inline constexpr llvm::StringLiteral kClusterName = "lpfa.cluster";

} // namespace lpfa

#endif // LPFA_DIALECT_LPFA_UTILS_OCCUPANCY_H
