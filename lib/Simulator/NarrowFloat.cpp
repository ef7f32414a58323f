//===- NarrowFloat.cpp - Element formats and their conversions --*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Simulator/NarrowFloat.h"
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

using namespace lpfa::sim;

namespace {

/// What tells one format from another. The largest finite code is explicit
/// since E4M3 and the 4- and 6-bit formats use codes that IEEE reserves.
struct FormatInfo {
  const char *name;
  unsigned bits;
  unsigned exponentBits;
  unsigned mantissaBits;
  int bias;
  uint32_t maxCode;
  uint32_t nanCode;
  bool hasInfinity;
  bool hasNaN;
};

constexpr FormatInfo infos[] = {
    {"f32", 32, 8, 23, 127, 0x7F7FFFFF, 0x7FFFFFFF, true, true},
    {"f16", 16, 5, 10, 15, 0x7BFF, 0x7FFF, true, true},
    {"bf16", 16, 8, 7, 127, 0x7F7F, 0x7FFF, true, true},
    {"tf32", 32, 8, 10, 127, 0x3FBFF, 0x3FFFF, true, true},
    {"e4m3", 8, 4, 3, 7, 0x7E, 0x7F, false, true},
    {"e5m2", 8, 5, 2, 15, 0x7B, 0x7F, true, true},
    {"e2m3", 6, 2, 3, 1, 0x1F, 0x1F, false, false},
    {"e3m2", 6, 3, 2, 3, 0x1F, 0x1F, false, false},
    {"e2m1", 4, 2, 1, 1, 0x7, 0x7, false, false},
    {"ue8m0", 8, 8, 0, 127, 0xFE, 0xFF, false, true},
    {"ue4m3", 8, 4, 3, 7, 0x7E, 0x7F, false, true},
    {"u8", 8, 0, 0, 0, 0, 0, false, false},
    {"s8", 8, 0, 0, 0, 0, 0, false, false},
    {"s32", 32, 0, 0, 0, 0, 0, false, false},
};

const FormatInfo &info(ElementFormat format) {
  return infos[static_cast<unsigned>(format)];
}

constexpr double powerOfTwo(int exponent) {
  double result = 1;
  for (; exponent > 0; --exponent)
    result *= 2;
  for (; exponent < 0; ++exponent)
    result /= 2;
  return result;
}

/// The value of a code of a format with a sign bit above its exponent.
constexpr float decodeFields(const FormatInfo &format, uint32_t code) {
  unsigned magnitudeBits = format.exponentBits + format.mantissaBits;
  uint32_t magnitude = code & ((1u << magnitudeBits) - 1);
  bool negative = (code >> magnitudeBits) & 1;
  if (format.hasNaN && magnitude > format.maxCode) {
    if (format.hasInfinity && magnitude == format.maxCode + 1)
      return negative ? -std::numeric_limits<float>::infinity()
                      : std::numeric_limits<float>::infinity();
    return std::numeric_limits<float>::quiet_NaN();
  }
  uint32_t mantissa = magnitude & ((1u << format.mantissaBits) - 1);
  int exponent = magnitude >> format.mantissaBits;
  if (exponent != 0)
    mantissa |= 1u << format.mantissaBits;
  else
    exponent = 1;
  double value = mantissa * powerOfTwo(exponent - format.bias -
                                       static_cast<int>(format.mantissaBits));
  return static_cast<float>(negative ? -value : value);
}

using Table = std::array<float, 256>;

constexpr Table makeTable(ElementFormat format) {
  const FormatInfo &fields = infos[static_cast<unsigned>(format)];
  Table table{};
  for (unsigned code = 0; code != 256; ++code) {
    switch (format) {
    case ElementFormat::UE8M0:
      table[code] =
          code == 0xFF
              ? std::numeric_limits<float>::quiet_NaN()
              : static_cast<float>(powerOfTwo(static_cast<int>(code) - 127));
      break;
    case ElementFormat::UE4M3:
      table[code] = decodeFields(fields, code & 0x7F);
      break;
    default:
      table[code] = decodeFields(fields, code & ((1u << fields.bits) - 1));
    }
  }
  return table;
}

constexpr Table e4m3Table = makeTable(ElementFormat::E4M3);
constexpr Table e5m2Table = makeTable(ElementFormat::E5M2);
constexpr Table e2m3Table = makeTable(ElementFormat::E2M3);
constexpr Table e3m2Table = makeTable(ElementFormat::E3M2);
constexpr Table e2m1Table = makeTable(ElementFormat::E2M1);
constexpr Table ue8m0Table = makeTable(ElementFormat::UE8M0);
constexpr Table ue4m3Table = makeTable(ElementFormat::UE4M3);

float floatFromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

float decodeF16(uint32_t code) {
  uint32_t sign = (code & 0x8000) << 16;
  uint32_t magnitude = code & 0x7FFF;
  if (magnitude >= 0x7C00)
    return floatFromBits(sign | 0x7F800000 | (magnitude & 0x3FF) << 13);
  if (magnitude >= 0x400)
    return floatFromBits(sign | ((magnitude << 13) + ((127 - 15) << 23)));
  float value = static_cast<float>(magnitude) * 0x1p-24f;
  return sign ? -value : value;
}

uint32_t encodeUE8M0(double magnitude, const ConvertOptions &options) {
  uint32_t overflow = options.saturateFinite ? 0xFE : 0xFF;
  if (std::isnan(magnitude))
    return 0xFF;
  if (std::isinf(magnitude))
    return overflow;
  if (magnitude <= 0x1p-127)
    return 0;
  int exponent = std::ilogb(magnitude);
  if (options.rounding == Rounding::TowardPositive &&
      magnitude != std::ldexp(1.0, exponent))
    ++exponent;
  return exponent > 127 ? overflow : static_cast<uint32_t>(exponent + 127);
}

/// significand >> shift, rounded.
uint64_t shiftRounded(uint64_t significand, unsigned shift, bool negative,
                      Rounding rounding) {
  if (shift > 63) {
    significand = significand != 0;
    shift = 63;
  }
  uint64_t result = significand >> shift;
  uint64_t rest = significand & ((uint64_t(1) << shift) - 1);
  uint64_t half = uint64_t(1) << (shift - 1);
  switch (rounding) {
  case Rounding::NearestEven:
    return result + (rest > half || (rest == half && (result & 1)));
  case Rounding::NearestAway:
    return result + (rest >= half);
  case Rounding::TowardZero:
    return result;
  case Rounding::TowardPositive:
    return result + (rest != 0 && !negative);
  case Rounding::TowardNegative:
    return result + (rest != 0 && negative);
  }
  return result;
}

} // namespace

llvm::StringRef lpfa::sim::formatName(ElementFormat format) {
  return info(format).name;
}

unsigned lpfa::sim::formatBits(ElementFormat format) {
  return info(format).bits;
}

unsigned lpfa::sim::containerBytes(ElementFormat format) {
  return (info(format).bits + 7) / 8;
}

double lpfa::sim::largestFinite(ElementFormat format) {
  if (format == ElementFormat::TF32)
    return decode(format, info(format).maxCode << 13);
  return decode(format, info(format).maxCode);
}

float lpfa::sim::decode(ElementFormat format, uint32_t code) {
  switch (format) {
  case ElementFormat::F32:
    return floatFromBits(code);
  case ElementFormat::F16:
    return decodeF16(code);
  case ElementFormat::BF16:
    return floatFromBits(code << 16);
  case ElementFormat::TF32:
    return floatFromBits(code & ~0x1FFFu);
  case ElementFormat::E4M3:
    return e4m3Table[code & 0xFF];
  case ElementFormat::E5M2:
    return e5m2Table[code & 0xFF];
  case ElementFormat::E2M3:
    return e2m3Table[code & 0xFF];
  case ElementFormat::E3M2:
    return e3m2Table[code & 0xFF];
  case ElementFormat::E2M1:
    return e2m1Table[code & 0xFF];
  case ElementFormat::UE8M0:
    return ue8m0Table[code & 0xFF];
  case ElementFormat::UE4M3:
    return ue4m3Table[code & 0xFF];
  case ElementFormat::U8:
    return static_cast<float>(static_cast<uint8_t>(code));
  case ElementFormat::S8:
    return static_cast<float>(static_cast<int8_t>(code));
  case ElementFormat::S32:
    return static_cast<float>(static_cast<int32_t>(code));
  }
  return 0;
}

uint32_t lpfa::sim::encode(ElementFormat format, double value,
                           ConvertOptions options) {
  const FormatInfo &fields = info(format);
  bool isTF32 = format == ElementFormat::TF32;
  if (std::isnan(value))
    return isTF32 ? fields.nanCode << 13 : fields.nanCode;
  bool negative = std::signbit(value);
  double magnitude = std::fabs(value);
  if (format == ElementFormat::UE8M0)
    return encodeUE8M0(magnitude, options);
  if (format == ElementFormat::UE4M3)
    negative = false;
  if (options.relu && negative) {
    negative = false;
    magnitude = 0;
  }

  bool saturate = options.saturateFinite || fields.bits <= 8;
  uint64_t code;
  if (std::isinf(magnitude)) {
    code = saturate ? fields.maxCode : fields.maxCode + 1;
  } else if (magnitude == 0) {
    code = 0;
  } else {
    int mantissaBits = static_cast<int>(fields.mantissaBits);
    int exponent;
    auto significand =
        static_cast<uint64_t>(std::ldexp(std::frexp(magnitude, &exponent), 53));
    // magnitude = significand * 2^(exponent - 53), and its leading bit is worth
    // 2^(exponent - 1).
    int minExponent = 1 - fields.bias;
    int base = std::max(exponent - 1, minExponent);
    unsigned shift = (base - mantissaBits) - (exponent - 53);
    // The implicit bit of a normal number adds one to the exponent field.
    code = (static_cast<uint64_t>(base - minExponent) << mantissaBits) +
           shiftRounded(significand, shift, negative, options.rounding);
    if (code > fields.maxCode) {
      bool towardZero =
          options.rounding == Rounding::TowardZero ||
          (options.rounding == Rounding::TowardPositive && negative) ||
          (options.rounding == Rounding::TowardNegative && !negative);
      code = saturate || towardZero ? fields.maxCode : fields.maxCode + 1;
    }
  }
  if (negative)
    code |= uint64_t(1) << (fields.exponentBits + fields.mantissaBits);
  if (isTF32)
    code <<= 13;
  return static_cast<uint32_t>(code);
}
