//===- NarrowFloat.h - Element formats and their conversions ----*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The element formats of tensor instructions as plain codes, and the
// conversions of PTX `cvt` between them and binary32 (PTX ISA 9.7.9.21).
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_SIMULATOR_NARROWFLOAT_H
#define LPFA_SIMULATOR_NARROWFLOAT_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace lpfa::sim {

/// An element format of an operand, a scale or an accumulator. A code is the
/// element's bits in the low bits of an integer; TF32 codes are binary32
/// patterns whose low 13 bits carry nothing.
enum class ElementFormat : uint8_t {
  F32,
  F16,
  BF16,
  TF32,
  E4M3,
  E5M2,
  E2M3,
  E3M2,
  E2M1,
  UE8M0,
  UE4M3,
  U8,
  S8,
  S32,
};

/// The PTX spelling of a format: "e4m3", "bf16", ...
llvm::StringRef formatName(ElementFormat format);

/// Bits of a code: 4 for E2M1, 6 for E2M3 and E3M2, 32 for TF32, ...
unsigned formatBits(ElementFormat format);

/// Bytes of one element in the dense operand matrices of TensorCore: 1 for
/// every format of at most 8 bits, 2 for F16 and BF16, 4 for TF32.
unsigned containerBytes(ElementFormat format);

/// The largest finite value. Not for integer formats.
double largestFinite(ElementFormat format);

/// The value of a code; bits above the format's are ignored. Exact for every
/// format but S32. UE8M0 code 0 is 2^-127 and code 0xFF is NaN; UE4M3 is the
/// magnitude of E4M3 with bit 7 ignored.
float decode(ElementFormat format, uint32_t code);

enum class Rounding : uint8_t {
  NearestEven,    // .rn
  NearestAway,    // .rna (tf32)
  TowardZero,     // .rz
  TowardPositive, // .rp
  TowardNegative, // .rm
};

struct ConvertOptions {
  Rounding rounding = Rounding::NearestEven;
  /// `.satfinite`: what is beyond the largest finite value becomes it with its
  /// sign. The signed formats of at most 8 bits always saturate, as PTX demands
  /// the modifier for them. Without it UE8M0 overflows to NaN.
  bool saturateFinite = false;
  /// `.relu`: negative values become +0, NaN the canonical NaN.
  bool relu = false;
};

/// The code of a value. NaN becomes the canonical NaN: 0x7FFF for F16 and
/// BF16, 0x7FFFFFFF for F32, 0x7FFFE000 for TF32 (except that cvt.rna.tf32
/// leaves a NaN's bits as they are on an H200, which is left to the caller),
/// 0x7F for E4M3 and E5M2, 0xFF for UE8M0,
/// 0x7F for UE4M3, and the largest positive finite code for E2M3, E3M2 and
/// E2M1, which have no NaN. UE8M0 ignores the sign and knows `.rz` and `.rp`
/// only (any other rounding acts as `.rz`); zero becomes code 0. UE4M3 ignores
/// the sign too. binary32 inputs are exact in double, binary64 ones are rounded
/// once. Not for integer formats.
uint32_t encode(ElementFormat format, double value,
                ConvertOptions options = {});

} // namespace lpfa::sim

#endif // LPFA_SIMULATOR_NARROWFLOAT_H
