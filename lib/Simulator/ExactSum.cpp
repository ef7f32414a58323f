//===- ExactSum.cpp - Sums without rounding -------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExactSum.h"
#include "llvm/ADT/bit.h"
#include <cmath>

using namespace lpfa::sim::detail;

double ExactSum::roundToOdd() {
  int64_t carry = 0;
  for (int64_t &digit : digits) {
    digit += carry;
    carry = digit >> digitBits;
    digit &= base - 1;
  }
  bool negative = carry < 0;
  if (negative) {
    carry = 1;
    for (int64_t &digit : digits) {
      digit = (~digit & (base - 1)) + carry;
      carry = digit >> digitBits;
      digit &= base - 1;
    }
  }
  int top = numDigits - 1;
  while (top >= 0 && digits[top] == 0)
    --top;
  if (top < 0)
    return 0;
  auto digitAt = [&](int index) {
    return index < 0 ? uint64_t(0) : static_cast<uint64_t>(digits[index]);
  };
  // 64 leading bits from three digits; below 53 everything is one sticky bit.
  uint64_t upper = digitAt(top) << digitBits | digitAt(top - 1);
  uint64_t lower = digitAt(top - 2) << digitBits;
  int shift = llvm::countl_zero(upper);
  if (shift != 0) {
    upper = upper << shift | lower >> (64 - shift);
    lower <<= shift;
  }
  bool sticky = lower != 0 || (upper & 0x7FF) != 0;
  for (int digit = 0; digit < top - 2; ++digit)
    sticky |= digits[digit] != 0;
  uint64_t rounded = upper >> 11 | sticky;
  double value = std::ldexp(static_cast<double>(rounded),
                            11 - shift + (top - 1) * int(digitBits) - bias);
  return negative ? -value : value;
}
