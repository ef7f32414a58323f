//===- NarrowFloatTest.cpp - Formats and conversions ------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Simulator/NarrowFloat.h"
#include "llvm/ADT/APFloat.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>
#include <vector>

using namespace lpfa::sim;
using llvm::APFloat;
using llvm::APInt;

namespace {

constexpr ElementFormat signedFormats[] = {
    ElementFormat::F16,  ElementFormat::BF16, ElementFormat::E4M3,
    ElementFormat::E5M2, ElementFormat::E2M3, ElementFormat::E3M2,
    ElementFormat::E2M1};

const llvm::fltSemantics &semantics(ElementFormat format) {
  switch (format) {
  case ElementFormat::F16:
    return APFloat::IEEEhalf();
  case ElementFormat::BF16:
    return APFloat::BFloat();
  case ElementFormat::E4M3:
    return APFloat::Float8E4M3FN();
  case ElementFormat::E5M2:
    return APFloat::Float8E5M2();
  case ElementFormat::E2M3:
    return APFloat::Float6E2M3FN();
  case ElementFormat::E3M2:
    return APFloat::Float6E3M2FN();
  default:
    return APFloat::Float4E2M1FN();
  }
}

TEST(NarrowFloat, DecodeAgreesWithAPFloatOnAllCodes) {
  for (ElementFormat format : signedFormats) {
    unsigned bits = formatBits(format);
    for (uint32_t code = 0; code != 1u << bits; ++code) {
      APFloat value(semantics(format), APInt(bits, code));
      bool losesInfo;
      value.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven,
                    &losesInfo);
      float expected = value.convertToFloat(), actual = decode(format, code);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(actual)) << formatName(format).str() << code;
        continue;
      }
      EXPECT_EQ(actual, expected) << formatName(format).str() << " " << code;
      EXPECT_EQ(std::signbit(actual), std::signbit(expected));
    }
  }
}

TEST(NarrowFloat, FiniteCodesRoundTripInEveryRounding) {
  for (ElementFormat format : signedFormats)
    for (uint32_t code = 0; code != 1u << formatBits(format); ++code) {
      float value = decode(format, code);
      if (!std::isfinite(value))
        continue;
      for (Rounding rounding :
           {Rounding::NearestEven, Rounding::NearestAway, Rounding::TowardZero,
            Rounding::TowardPositive, Rounding::TowardNegative})
        EXPECT_EQ(encode(format, value, {rounding, false, false}), code)
            << formatName(format).str();
    }
}

/// Every gap between neighboring finite values, at its ends, just inside them,
/// just beside its middle and in the middle.
TEST(NarrowFloat, RoundsInEveryGap) {
  for (ElementFormat format : signedFormats) {
    uint32_t sign = 1u << (formatBits(format) - 1);
    for (uint32_t code = 0;; ++code) {
      double low = decode(format, code), high = decode(format, code + 1);
      if (low == largestFinite(format))
        break;
      double middle = (low + high) / 2;
      double justAboveLow = std::nextafter(low, high);
      double justBelowMiddle = std::nextafter(middle, low);
      double justAboveMiddle = std::nextafter(middle, high);
      double justBelowHigh = std::nextafter(high, low);
      auto check = [&](double value, Rounding rounding, bool up) {
        EXPECT_EQ(encode(format, value, {rounding, false, false}), code + up)
            << formatName(format).str() << " " << value;
        // Mirrored below zero, with the directed roundings exchanged.
        Rounding mirrored =
            rounding == Rounding::TowardPositive   ? Rounding::TowardNegative
            : rounding == Rounding::TowardNegative ? Rounding::TowardPositive
                                                   : rounding;
        EXPECT_EQ(encode(format, -value, {mirrored, false, false}),
                  (code + up) | sign)
            << formatName(format).str() << " " << -value;
      };
      check(justAboveLow, Rounding::NearestEven, false);
      check(justBelowMiddle, Rounding::NearestEven, false);
      check(middle, Rounding::NearestEven, code & 1);
      check(justAboveMiddle, Rounding::NearestEven, true);
      check(justBelowHigh, Rounding::NearestEven, true);
      check(middle, Rounding::NearestAway, true);
      check(justBelowMiddle, Rounding::NearestAway, false);
      check(justBelowHigh, Rounding::TowardZero, false);
      check(justAboveLow, Rounding::TowardPositive, true);
      check(justBelowHigh, Rounding::TowardNegative, false);
    }
  }
}

TEST(NarrowFloat, Overflow) {
  double infinity = std::numeric_limits<double>::infinity();
  // Beyond the last half gap an IEEE format overflows, others saturate.
  EXPECT_EQ(encode(ElementFormat::F16, 65519.0), 0x7BFFu);
  EXPECT_EQ(encode(ElementFormat::F16, 65520.0), 0x7C00u);
  EXPECT_EQ(encode(ElementFormat::F16, -infinity), 0xFC00u);
  ConvertOptions saturate;
  saturate.saturateFinite = true;
  EXPECT_EQ(encode(ElementFormat::F16, 1e9, saturate), 0x7BFFu);
  EXPECT_EQ(encode(ElementFormat::F16, -infinity, saturate), 0xFBFFu);
  ConvertOptions towardZero;
  towardZero.rounding = Rounding::TowardZero;
  EXPECT_EQ(encode(ElementFormat::BF16, 1e39, towardZero), 0x7F7Fu);
  EXPECT_EQ(encode(ElementFormat::BF16, infinity, towardZero), 0x7F80u);
  EXPECT_EQ(encode(ElementFormat::E4M3, 449.0), 0x7Eu);
  EXPECT_EQ(encode(ElementFormat::E4M3, -infinity), 0xFEu);
  EXPECT_EQ(encode(ElementFormat::E5M2, 1e30), 0x7Bu);
  EXPECT_EQ(encode(ElementFormat::E2M3, infinity), 0x1Fu);
  EXPECT_EQ(encode(ElementFormat::E3M2, -29.0), 0x3Fu);
  EXPECT_EQ(encode(ElementFormat::E2M1, 100.0), 0x7u);
}

TEST(NarrowFloat, NaNIsCanonical) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  ConvertOptions relu;
  relu.relu = true;
  for (double value : {nan, -nan}) {
    EXPECT_EQ(encode(ElementFormat::F16, value), 0x7FFFu);
    EXPECT_EQ(encode(ElementFormat::BF16, value, relu), 0x7FFFu);
    EXPECT_EQ(encode(ElementFormat::TF32, value), 0x7FFFE000u);
    EXPECT_EQ(encode(ElementFormat::E4M3, value), 0x7Fu);
    EXPECT_EQ(encode(ElementFormat::E5M2, value), 0x7Fu);
    EXPECT_EQ(encode(ElementFormat::E2M3, value), 0x1Fu);
    EXPECT_EQ(encode(ElementFormat::E3M2, value), 0x1Fu);
    EXPECT_EQ(encode(ElementFormat::E2M1, value), 0x7u);
    EXPECT_EQ(encode(ElementFormat::UE8M0, value), 0xFFu);
    EXPECT_EQ(encode(ElementFormat::UE4M3, value), 0x7Fu);
  }
}

TEST(NarrowFloat, ReluClampsNegativeValuesToPositiveZero) {
  ConvertOptions relu;
  relu.relu = true;
  EXPECT_EQ(encode(ElementFormat::E4M3, -3.0, relu), 0u);
  EXPECT_EQ(encode(ElementFormat::F16, -0.0, relu), 0u);
  EXPECT_EQ(encode(ElementFormat::F16, 1.0, relu), 0x3C00u);
}

TEST(NarrowFloat, TF32KeepsThePlaceOfItsBits) {
  EXPECT_EQ(encode(ElementFormat::TF32, 1.0), 0x3F800000u);
  EXPECT_EQ(encode(ElementFormat::TF32, -1.5), 0xBFC00000u);
  // A tie: to even, away, toward zero.
  double tie = 1.0 + 0x1p-11;
  EXPECT_EQ(encode(ElementFormat::TF32, tie), 0x3F800000u);
  EXPECT_EQ(
      encode(ElementFormat::TF32, tie, {Rounding::NearestAway, false, false}),
      0x3F802000u);
  EXPECT_EQ(
      encode(ElementFormat::TF32, tie, {Rounding::TowardZero, false, false}),
      0x3F800000u);
  EXPECT_EQ(decode(ElementFormat::TF32, 0x3F801FFF), 1.0f);
  EXPECT_EQ(encode(ElementFormat::TF32, 0x1p-149), 0u);
}

TEST(NarrowFloat, UE8M0) {
  ConvertOptions up{Rounding::TowardPositive, true, false};
  ConvertOptions down{Rounding::TowardZero, true, false};
  for (unsigned code = 0; code != 255; ++code) {
    double value = std::ldexp(1.0, static_cast<int>(code) - 127);
    EXPECT_EQ(decode(ElementFormat::UE8M0, code), value);
    EXPECT_EQ(encode(ElementFormat::UE8M0, value, up), code);
    EXPECT_EQ(encode(ElementFormat::UE8M0, -value, down), code);
    float above = std::nextafter(static_cast<float>(value), INFINITY);
    EXPECT_EQ(encode(ElementFormat::UE8M0, above, down), code);
    EXPECT_EQ(encode(ElementFormat::UE8M0, above, up),
              std::min(code + 1, 254u));
  }
  EXPECT_TRUE(std::isnan(decode(ElementFormat::UE8M0, 0xFF)));
  EXPECT_EQ(encode(ElementFormat::UE8M0, 0.0, up), 0u);
  EXPECT_EQ(encode(ElementFormat::UE8M0, 0x1p-149, up), 0u);
  EXPECT_EQ(encode(ElementFormat::UE8M0, INFINITY, up), 0xFEu);
  EXPECT_EQ(encode(ElementFormat::UE8M0, INFINITY), 0xFFu);
}

TEST(NarrowFloat, UE4M3IsTheMagnitudeOfE4M3) {
  for (unsigned code = 0; code != 0x7F; ++code)
    EXPECT_EQ(decode(ElementFormat::UE4M3, code),
              decode(ElementFormat::E4M3, code));
  EXPECT_TRUE(std::isnan(decode(ElementFormat::UE4M3, 0x7F)));
  EXPECT_EQ(encode(ElementFormat::UE4M3, 448.0), 0x7Eu);
}

TEST(NarrowFloat, LargestFinite) {
  EXPECT_EQ(largestFinite(ElementFormat::E4M3), 448);
  EXPECT_EQ(largestFinite(ElementFormat::E5M2), 57344);
  EXPECT_EQ(largestFinite(ElementFormat::E2M3), 7.5);
  EXPECT_EQ(largestFinite(ElementFormat::E3M2), 28);
  EXPECT_EQ(largestFinite(ElementFormat::E2M1), 6);
  EXPECT_EQ(largestFinite(ElementFormat::F16), 65504);
  EXPECT_EQ(largestFinite(ElementFormat::UE8M0), 0x1p127);
}

} // namespace
