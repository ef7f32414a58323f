//===- ExactSum.h - Sums without rounding -----------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_SIMULATOR_EXACTSUM_H
#define LPFA_LIB_SIMULATOR_EXACTSUM_H

#include <array>
#include <cstdint>

namespace lpfa::sim::detail {

/// A fixed-point number wide enough for every term of every format.
class ExactSum {
public:
  /// Adds significand * 2^exponent.
  void add(int64_t significand, int exponent) {
    unsigned position = static_cast<unsigned>(exponent + bias);
    unsigned digit = position / digitBits, shift = position % digitBits;
    bool negative = significand < 0;
    auto magnitude =
        static_cast<uint64_t>(negative ? -significand : significand);
    uint64_t low = (magnitude & (base - 1)) << shift;
    uint64_t high = ((magnitude >> digitBits) << shift) + (low >> digitBits);
    // Digits are signed while terms are added; a few thousand cannot overflow.
    int64_t sign = negative ? -1 : 1;
    digits[digit] += sign * static_cast<int64_t>(low & (base - 1));
    digits[digit + 1] += sign * static_cast<int64_t>(high & (base - 1));
    digits[digit + 2] += sign * static_cast<int64_t>(high >> digitBits);
  }

  /// The sum rounded to odd at 53 bits: a second rounding to a format of at
  /// most 51 bits is then correct.
  double roundToOdd();

private:
  static constexpr int bias = 448;
  static constexpr unsigned digitBits = 32;
  static constexpr int64_t base = int64_t(1) << digitBits;
  static constexpr unsigned numDigits = 28;

  std::array<int64_t, numDigits> digits{};
};

} // namespace lpfa::sim::detail

#endif // LPFA_LIB_SIMULATOR_EXACTSUM_H
