//===- Comparison.cpp - How far two results are apart ---------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Comparison.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include <cmath>
#include <limits>

using namespace lpfa;

Comparison lpfa::compare(llvm::ArrayRef<double> result,
                         llvm::ArrayRef<double> reference) {
  const double infinity = std::numeric_limits<double>::infinity();
  Comparison comparison;
  double error = 0, signal = 0, energy = 0, product = 0;
  for (auto [x, y] : llvm::zip_equal(result, reference)) {
    if (!std::isfinite(x) || !std::isfinite(y)) {
      bool equal = (std::isnan(x) && std::isnan(y)) || x == y;
      comparison.mismatchedNonFinite += !equal;
      continue;
    }
    comparison.maxAbsoluteError =
        std::max(comparison.maxAbsoluteError, std::abs(x - y));
    error += (x - y) * (x - y);
    energy += x * x;
    signal += y * y;
    product += x * y;
  }
  if (comparison.mismatchedNonFinite) {
    comparison.maxAbsoluteError = infinity;
    comparison.rootMeanSquareError = infinity;
    comparison.sqnrDecibels = -infinity;
    comparison.cosine = 0;
    return comparison;
  }
  if (!result.empty())
    comparison.rootMeanSquareError = std::sqrt(error / result.size());
  comparison.sqnrDecibels =
      error == 0 ? infinity : 10 * std::log10(signal / error);
  if (signal != 0 && energy != 0)
    comparison.cosine = product / std::sqrt(signal) / std::sqrt(energy);
  else if (signal != energy)
    comparison.cosine = 0;
  return comparison;
}

llvm::raw_ostream &lpfa::operator<<(llvm::raw_ostream &os,
                                    const Comparison &comparison) {
  os << "max abs error " << llvm::format("%.3g", comparison.maxAbsoluteError)
     << ", RMSE " << llvm::format("%.3g", comparison.rootMeanSquareError)
     << ", SQNR " << llvm::format("%.2f", comparison.sqnrDecibels)
     << " dB, cosine " << llvm::format("%.6f", comparison.cosine);
  if (comparison.mismatchedNonFinite)
    os << ", " << comparison.mismatchedNonFinite
       << " elements finite on one side only or unequal";
  return os;
}
