//===- ElementValues.cpp - What codes of operands are worth ---------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementValues.h"
#include <cmath>
#include <cstring>

using namespace lpfa::sim;
using namespace lpfa::sim::detail;

static Element makeElement(bool negative, int exponent, int significand) {
  Element element;
  if (significand == 0)
    return element;
  element.significand =
      static_cast<int16_t>(negative ? -significand : significand);
  element.exponent = static_cast<int16_t>(exponent);
  return element;
}

Element detail::splitWide(uint32_t bits) {
  unsigned field = bits >> 23 & 0xFF;
  int fraction = bits >> 9 & 0x3FFF;
  if (field == 0xFF) {
    Element element;
    element.special = bits & 0x7FFFFF ? HasNaN : HasInfinity;
    element.significand = bits >> 31 ? -1 : 1;
    return element;
  }
  if (field == 0)
    return makeElement(bits >> 31, -126, fraction);
  return makeElement(bits >> 31, static_cast<int>(field) - 127,
                     fraction | 0x4000);
}

Element detail::splitF16(uint32_t code) {
  unsigned field = code >> 10 & 0x1F;
  int fraction = (code & 0x3FF) << 4;
  bool negative = code >> 15 & 1;
  if (field == 0x1F) {
    Element element;
    element.special = fraction ? HasNaN : HasInfinity;
    element.significand = negative ? -1 : 1;
    return element;
  }
  if (field == 0)
    return makeElement(negative, -14, fraction);
  return makeElement(negative, static_cast<int>(field) - 15, fraction | 0x4000);
}

static int smallestExponent(ElementFormat format) {
  switch (format) {
  case ElementFormat::E5M2:
    return -14;
  case ElementFormat::E3M2:
    return -2;
  case ElementFormat::E2M3:
  case ElementFormat::E2M1:
    return 0;
  default:
    return -6;
  }
}

static ElementTable makeElementTable(ElementFormat format) {
  ElementTable table;
  int minExponent = smallestExponent(format);
  for (unsigned code = 0; code != 256; ++code) {
    float value = decode(format, code);
    Element &element = table[code];
    if (!std::isfinite(value)) {
      element.special = std::isnan(value) ? HasNaN : HasInfinity;
      element.significand = std::signbit(value) ? -1 : 1;
      continue;
    }
    if (value == 0)
      continue;
    int exponent = std::max(std::ilogb(value), minExponent);
    auto significand =
        static_cast<int>(std::ldexp(std::fabs(value), 14 - exponent));
    element = makeElement(std::signbit(value), exponent, significand);
  }
  return table;
}

const ElementTable &detail::elementTable(ElementFormat format) {
  static const ElementTable e4m3 = makeElementTable(ElementFormat::E4M3);
  static const ElementTable e5m2 = makeElementTable(ElementFormat::E5M2);
  static const ElementTable e2m3 = makeElementTable(ElementFormat::E2M3);
  static const ElementTable e3m2 = makeElementTable(ElementFormat::E3M2);
  static const ElementTable e2m1 = makeElementTable(ElementFormat::E2M1);
  static const ElementTable ue4m3 = makeElementTable(ElementFormat::UE4M3);
  switch (format) {
  case ElementFormat::E5M2:
    return e5m2;
  case ElementFormat::E2M3:
    return e2m3;
  case ElementFormat::E3M2:
    return e3m2;
  case ElementFormat::E2M1:
    return e2m1;
  case ElementFormat::UE4M3:
    return ue4m3;
  default:
    return e4m3;
  }
}

uint32_t detail::loadCode(const MmaOperand &operand, size_t index) {
  switch (containerBytes(operand.format)) {
  case 1:
    return operand.codes[index];
  case 2: {
    uint16_t code;
    std::memcpy(&code, operand.codes + index * 2, sizeof(code));
    return code;
  }
  default:
    uint32_t code;
    std::memcpy(&code, operand.codes + index * 4, sizeof(code));
    return code;
  }
}

Scale detail::splitScale(ElementFormat format, uint8_t code) {
  if (format == ElementFormat::UE8M0)
    return {8, static_cast<int16_t>(code - 127), code == 0xFF};
  const Element &element = elementTable(ElementFormat::UE4M3)[code];
  return {static_cast<int16_t>(element.significand >> 11), element.exponent,
          element.special == HasNaN};
}
