//===- CudaConversionTest.cpp - Against the CUDA headers --------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The host conversions of the CUDA toolkit as an oracle. Compiled only where
// the toolkit is installed.

#include "lpfa/Simulator/NarrowFloat.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

using namespace lpfa::sim;

namespace {

float floatFromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/// Calls `visit` with binary32 values: all signs, exponents and upper 11
/// mantissa bits, each with lower bits around the ties.
template <typename Visitor> void forEachFloat(Visitor visit) {
  for (uint32_t upper = 0; upper != 1u << 20; ++upper)
    for (uint32_t lower : {0x000u, 0x001u, 0xFFFu})
      visit(floatFromBits(upper << 12 | lower));
}

/// Counts instead of reporting each of millions of values.
struct Mismatches {
  unsigned count = 0;
  float first = 0;
  void check(float value, uint32_t actual, uint32_t expected) {
    if (actual != expected && count++ == 0)
      first = value;
  }
  void expectNone() const { EXPECT_EQ(count, 0u) << "first for " << first; }
};

TEST(CudaConversion, E4M3) {
  Mismatches mismatches;
  forEachFloat([&](float value) {
    mismatches.check(value, encode(ElementFormat::E4M3, value),
                     __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3));
  });
  mismatches.expectNone();
}

TEST(CudaConversion, E5M2) {
  Mismatches mismatches;
  forEachFloat([&](float value) {
    mismatches.check(value, encode(ElementFormat::E5M2, value),
                     __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E5M2));
  });
  mismatches.expectNone();
}

TEST(CudaConversion, E2M3) {
  Mismatches mismatches;
  forEachFloat([&](float value) {
    mismatches.check(value, encode(ElementFormat::E2M3, value),
                     __nv_cvt_float_to_fp6(value, __NV_E2M3, cudaRoundNearest));
  });
  mismatches.expectNone();
}

TEST(CudaConversion, E3M2) {
  Mismatches mismatches;
  forEachFloat([&](float value) {
    mismatches.check(value, encode(ElementFormat::E3M2, value),
                     __nv_cvt_float_to_fp6(value, __NV_E3M2, cudaRoundNearest));
  });
  mismatches.expectNone();
}

TEST(CudaConversion, E2M1) {
  Mismatches mismatches;
  forEachFloat([&](float value) {
    mismatches.check(value, encode(ElementFormat::E2M1, value),
                     __nv_cvt_float_to_fp4(value, __NV_E2M1, cudaRoundNearest));
  });
  mismatches.expectNone();
}

TEST(CudaConversion, UE8M0) {
  for (bool up : {false, true}) {
    Mismatches mismatches;
    forEachFloat([&](float value) {
      mismatches.check(
          value,
          encode(ElementFormat::UE8M0, value,
                 {up ? Rounding::TowardPositive : Rounding::TowardZero, true,
                  false}),
          __nv_cvt_float_to_e8m0(value, __NV_SATFINITE,
                                 up ? cudaRoundPosInf : cudaRoundZero));
    });
    mismatches.expectNone();
  }
}

TEST(CudaConversion, HalfAndBFloat16) {
  Mismatches half, bfloat;
  forEachFloat([&](float value) {
    __half_raw h = __float2half_rn(value);
    __nv_bfloat16_raw b = __float2bfloat16_rn(value);
    half.check(value, encode(ElementFormat::F16, value), h.x);
    bfloat.check(value, encode(ElementFormat::BF16, value), b.x);
  });
  half.expectNone();
  bfloat.expectNone();
}

TEST(CudaConversion, DecodeToHalf) {
  auto check = [](ElementFormat format, uint32_t code, uint16_t half) {
    float value = decode(format, code);
    if (std::isnan(value))
      EXPECT_GT(half & 0x7FFF, 0x7C00) << code;
    else
      EXPECT_EQ(encode(ElementFormat::F16, value), half)
          << formatName(format).str() << " " << code;
  };
  for (unsigned code = 0; code != 256; ++code) {
    auto byte = static_cast<uint8_t>(code);
    check(ElementFormat::E4M3, code,
          __nv_cvt_fp8_to_halfraw(byte, __NV_E4M3).x);
    check(ElementFormat::E5M2, code,
          __nv_cvt_fp8_to_halfraw(byte, __NV_E5M2).x);
    if (code < 64) {
      check(ElementFormat::E2M3, code,
            __nv_cvt_fp6_to_halfraw(byte, __NV_E2M3).x);
      check(ElementFormat::E3M2, code,
            __nv_cvt_fp6_to_halfraw(byte, __NV_E3M2).x);
    }
    if (code < 16)
      check(ElementFormat::E2M1, code,
            __nv_cvt_fp4_to_halfraw(byte, __NV_E2M1).x);
  }
}

} // namespace
