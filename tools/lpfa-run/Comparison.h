//===- Comparison.h - How far two results are apart -------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_TOOLS_LPFA_RUN_COMPARISON_H
#define LPFA_TOOLS_LPFA_RUN_COMPARISON_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"

namespace lpfa {

/// Distance of a result from its reference. Infinities of one sign and NaNs
/// are equal to each other; any other pair with a non-finite element is
/// infinitely far apart.
struct Comparison {
  double maxAbsoluteError = 0;
  double rootMeanSquareError = 0;
  /// 10 log10(sum of reference^2 / sum of error^2): +inf for equal results.
  double sqnrDecibels = 0;
  double cosine = 1;
  size_t mismatchedNonFinite = 0;
};

Comparison compare(llvm::ArrayRef<double> result,
                   llvm::ArrayRef<double> reference);

llvm::raw_ostream &operator<<(llvm::raw_ostream &os,
                              const Comparison &comparison);

} // namespace lpfa

#endif // LPFA_TOOLS_LPFA_RUN_COMPARISON_H
