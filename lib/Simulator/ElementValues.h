//===- ElementValues.h - What codes of operands are worth -------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_SIMULATOR_ELEMENTVALUES_H
#define LPFA_LIB_SIMULATOR_ELEMENTVALUES_H

#include "TensorCoreKernels.h"
#include "lpfa/Simulator/TensorCore.h"
#include <array>

namespace lpfa::sim::detail {

/// What an element, a row of them or an accumulator holds besides numbers.
enum Special : uint8_t { Finite = 0, HasInfinity = 1, HasNaN = 2 };

/// A value as significand * 2^(exponent - 14). Subnormals keep the smallest
/// exponent of their format; zero has none.
struct Element {
  int16_t significand = 0;
  int16_t exponent = zeroExponent;
  Special special = Finite;
};

/// The value of the bits of a BF16 or TF32 element, as binary32, and of an F16.
Element splitWide(uint32_t bits);
Element splitF16(uint32_t code);

using ElementTable = std::array<Element, 256>;

/// The values of all codes of a format of at most 8 bits.
const ElementTable &elementTable(ElementFormat format);

uint32_t loadCode(const MmaOperand &operand, size_t index);

/// A scale as significand * 2^(exponent - 3).
struct Scale {
  int16_t significand;
  int16_t exponent;
  bool isNaN;
};

Scale splitScale(ElementFormat format, uint8_t code);

/// Calls `visit(row, k, element)` for all elements of an operand, signs
/// applied, without scales.
template <typename Visitor>
void forEachElement(const MmaOperand &operand, unsigned rows, unsigned numK,
                    Visitor visit) {
  auto walk = [&](auto split) {
    for (unsigned row = 0; row != rows; ++row)
      for (unsigned k = 0; k != numK; ++k) {
        Element element = split(size_t(row) * numK + k);
        if (operand.negate)
          element.significand = static_cast<int16_t>(-element.significand);
        visit(row, k, element);
      }
  };
  switch (operand.format) {
  case ElementFormat::F16:
    return walk([&](size_t i) { return splitF16(loadCode(operand, i)); });
  case ElementFormat::BF16:
    return walk(
        [&](size_t i) { return splitWide(loadCode(operand, i) << 16); });
  case ElementFormat::TF32:
    // The hardware ignores the low 13 bits.
    return walk([&](size_t i) {
      return splitWide(loadCode(operand, i) & ~uint32_t(0x1FFF));
    });
  default: {
    const ElementTable &table = elementTable(operand.format);
    return walk([&](size_t i) { return table[operand.codes[i]]; });
  }
  }
}

} // namespace lpfa::sim::detail

#endif // LPFA_LIB_SIMULATOR_ELEMENTVALUES_H
