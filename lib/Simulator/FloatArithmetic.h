//===- FloatArithmetic.h - Floating-point instructions ----------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_SIMULATOR_FLOATARITHMETIC_H
#define LPFA_LIB_SIMULATOR_FLOATARITHMETIC_H

#include "lpfa/Simulator/NarrowFloat.h"
#include "llvm/ADT/bit.h"
#include <cstdint>

namespace lpfa::sim {

class Decoder;

/// Decodes add, sub, mul, div, min, max, abs and neg of floating-point types;
/// false, with nothing taken, for other types.
bool decodeFloat(Decoder &decoder);

/// `.ftz`: a subnormal becomes a zero of its sign.
inline float flush(float value) {
  uint32_t bits = llvm::bit_cast<uint32_t>(value);
  return llvm::bit_cast<float>((bits & 0x7F800000) ? bits : bits & 0x80000000);
}
inline double flush(double value) { return value; }

/// The NaN that arithmetic gives (PTX ISA 9.7.3).
inline float canonicalNaN(float value) {
  return value != value ? llvm::bit_cast<float>(0x7FFFFFFF) : value;
}
inline double canonicalNaN(double value) {
  return value != value ? llvm::bit_cast<double>(0x7FFFFFFFFFFFFFFF) : value;
}

/// a + b, in such a way that rounding it once more to fewer than 52 bits gives
/// the correctly rounded sum: an inexact sum gets an odd last bit.
inline double addToOdd(double a, double b) {
  double sum = a + b;
  double rounded = sum - a;
  double error = (a - (sum - rounded)) + (b - rounded);
  uint64_t bits = llvm::bit_cast<uint64_t>(sum);
  bool inexact = (error < 0) | (error > 0);
  uint64_t step = (error > 0) == (sum > 0) ? 1 : ~uint64_t(0);
  bits += (inexact & !(bits & 1)) ? step : 0;
  return llvm::bit_cast<double>(bits);
}

inline float fusedMultiplyAdd(float a, float b, float c) {
  return float(addToOdd(double(a) * double(b), c));
}

/// binary32 to bfloat16, to nearest even.
inline uint16_t toBFloat16(float value) {
  uint32_t bits = llvm::bit_cast<uint32_t>(value);
  uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
  return value != value ? 0x7FFF : rounded;
}

} // namespace lpfa::sim

#endif // LPFA_LIB_SIMULATOR_FLOATARITHMETIC_H
