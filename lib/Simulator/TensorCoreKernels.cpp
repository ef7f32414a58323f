//===- TensorCoreKernels.cpp - Inner loops of the adder model ---*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorCoreKernels.h"
#include "lpfa/Simulator/NarrowFloat.h"
#include <cmath>
#include <cstring>

using namespace lpfa::sim;
using namespace lpfa::sim::detail;

namespace {

using Short16 = int16_t __attribute__((vector_size(32)));
using Int16 = int32_t __attribute__((vector_size(64)));
using Long16 = int64_t __attribute__((vector_size(128)));
using Float16 = float __attribute__((vector_size(64)));
using Double16 = double __attribute__((vector_size(128)));

#define LPFA_INLINE __attribute__((always_inline)) static inline

template <typename Vector, typename T>
LPFA_INLINE void loadVector(Vector &vector, const T *source) {
  std::memcpy(&vector, source, sizeof(Vector));
}

/// The accumulator's terms: significand with 23 fraction bits, its sign as a
/// mask, and exponent.
struct AccumulatorTerms {
  Int16 significand;
  Int16 sign;
  Int16 exponent;
};

LPFA_INLINE void splitAccumulator(AccumulatorTerms &terms, const uint32_t *c,
                                  int accumulatorShift) {
  Int16 bits;
  loadVector(bits, c);
  Int16 magnitude = bits & 0x7FFFFFFF;
  Int16 field = magnitude >> 23;
  terms.sign = bits >> 31;
  terms.significand =
      (magnitude & 0x7FFFFF) | (field != 0 ? Int16{} + 0x800000 : Int16{});
  terms.exponent = (field > 1 ? field : Int16{} + 1) - (127 + accumulatorShift);
}

/// values = sum * 2^exponent, exactly.
LPFA_INLINE void scaleSum(const Double16 &sum, const Int16 &exponent,
                          double *values) {
  Long16 power = (__builtin_convertvector(exponent, Long16) + 1023) << 52;
  Double16 factor;
  std::memcpy(&factor, &power, sizeof(factor));
  Double16 result = sum * factor;
  std::memcpy(values, &result, sizeof(result));
}

LPFA_INLINE void alignedColumnBody(const AlignedOperands &operands,
                                   unsigned column, const uint32_t *c,
                                   const AdderOptions &options,
                                   double *values) {
  unsigned rows = operands.paddedRows, numK = operands.k;
  const int16_t *significandsB = operands.significandsB + size_t(column) * numK;
  const int16_t *exponentsB = operands.exponentsB + size_t(column) * numK;
  int cut = static_cast<int>(productFractionBits - options.fractionBits);

  for (unsigned row = 0; row != rows; row += laneCount) {
    // The largest exponent of a nonzero term.
    Short16 largest = Short16{} + static_cast<int16_t>(2 * zeroExponent);
    for (unsigned k = 0; k != numK; ++k) {
      Short16 exponent;
      loadVector(exponent, operands.exponentsA + size_t(k) * rows + row);
      exponent += exponentsB[k];
      largest = exponent > largest ? exponent : largest;
    }
    AccumulatorTerms accumulator;
    splitAccumulator(accumulator, c + row, options.accumulatorShift);
    Int16 top = __builtin_convertvector(largest, Int16);
    top = ((accumulator.significand != 0) & (accumulator.exponent > top))
              ? accumulator.exponent
              : top;
    top = top > options.minExponent ? top : Int16{} + options.minExponent;

    // Its term, aligned: 23 fraction bits become 25, less what F cuts.
    Int16 shift = top - accumulator.exponent + cut;
    shift = shift < 31 ? shift : Int16{} + 31;
    Int16 term =
        (accumulator.significand << (productFractionBits - 23)) >> shift;
    term = (term ^ accumulator.sign) - accumulator.sign;
    Double16 sum = __builtin_convertvector(term, Double16);

    Short16 base = __builtin_convertvector(top + cut, Short16);
    for (unsigned first = 0; first < numK; first += 16) {
      // 16 terms of less than 2^27 fit 32 bits with their sign.
      unsigned last = first + 16 < numK ? first + 16 : numK;
      Int16 partial = {};
      for (unsigned k = first; k != last; ++k) {
        Short16 exponent, significand;
        loadVector(exponent, operands.exponentsA + size_t(k) * rows + row);
        loadVector(significand,
                   operands.significandsA + size_t(k) * rows + row);
        Short16 distance = base - (exponent + exponentsB[k]);
        distance = distance < 31 ? distance : Short16{} + 31;
        Int16 product = __builtin_convertvector(significand, Int16) *
                        static_cast<int32_t>(significandsB[k]);
        Int16 sign = product >> 31;
        Int16 magnitude = (product ^ sign) - sign;
        magnitude >>= __builtin_convertvector(distance, Int16);
        partial += (magnitude ^ sign) - sign;
      }
      sum += __builtin_convertvector(partial, Double16);
    }
    scaleSum(sum, top - static_cast<int>(options.fractionBits), values + row);
  }
}

LPFA_INLINE void nibbleColumnBody(const NibbleOperands &operands,
                                  unsigned column, const uint32_t *c,
                                  const AdderOptions &options, double *values) {
  constexpr unsigned groupSize = 16;
  constexpr unsigned maxGroups = 8;
  // Fraction bits of a group's sum times its scales' significands.
  constexpr unsigned termFractionBits = 2 + 6;
  unsigned rows = operands.paddedRows, numK = operands.k;
  unsigned groups = numK / groupSize;
  const int16_t *valuesB = operands.valuesB + size_t(column) * numK;
  const int16_t *scaleSignificandsB =
      operands.scaleSignificandsB + size_t(column) * operands.scaleVectors;
  const int16_t *scaleExponentsB =
      operands.scaleExponentsB + size_t(column) * operands.scaleVectors;

  for (unsigned row = 0; row != rows; row += laneCount) {
    AccumulatorTerms accumulator;
    splitAccumulator(accumulator, c + row, options.accumulatorShift);
    Int16 top = Int16{} + options.minExponent;
    top = ((accumulator.significand != 0) & (accumulator.exponent > top))
              ? accumulator.exponent
              : top;

    Int16 terms[maxGroups], exponents[maxGroups];
    for (unsigned group = 0; group != groups; ++group) {
      Short16 sum = {};
      for (unsigned k = group * groupSize; k != (group + 1) * groupSize; ++k) {
        Short16 value;
        loadVector(value, operands.valuesA + size_t(k) * rows + row);
        sum += value * valuesB[k];
      }
      unsigned vector = group * operands.scaleVectors / groups;
      Short16 scaleSignificand, scaleExponent;
      loadVector(scaleSignificand,
                 operands.scaleSignificandsA + size_t(vector) * rows + row);
      loadVector(scaleExponent,
                 operands.scaleExponentsA + size_t(vector) * rows + row);
      terms[group] = __builtin_convertvector(sum, Int16) *
                     (__builtin_convertvector(scaleSignificand, Int16) *
                      static_cast<int32_t>(scaleSignificandsB[vector]));
      exponents[group] = __builtin_convertvector(scaleExponent, Int16) +
                         static_cast<int32_t>(scaleExponentsB[vector]);
      top = ((terms[group] != 0) & (exponents[group] > top)) ? exponents[group]
                                                             : top;
    }

    auto align = [&](const Int16 &magnitude, const Int16 &sign,
                     const Int16 &exponent, unsigned fractionBits,
                     Long16 &total) __attribute__((always_inline)) {
      Int16 shift = top - exponent;
      // A shift of 62 leaves nothing of a term of at most 2^46.
      shift = shift < 62 ? shift : Int16{} + 62;
      Long16 term = __builtin_convertvector(magnitude, Long16)
                    << (options.fractionBits - fractionBits);
      Long16 mask = __builtin_convertvector(sign, Long16);
      term >>= __builtin_convertvector(shift, Long16);
      total += (term ^ mask) - mask;
    };
    Long16 total = {};
    align(accumulator.significand, accumulator.sign, accumulator.exponent, 23,
          total);
    for (unsigned group = 0; group != groups; ++group) {
      Int16 sign = terms[group] >> 31;
      align((terms[group] ^ sign) - sign, sign, exponents[group],
            termFractionBits, total);
    }
    scaleSum(__builtin_convertvector(total, Double16),
             top - static_cast<int>(options.fractionBits), values + row);
  }
}

LPFA_INLINE void truncateColumnBody(const double *values, unsigned count,
                                    unsigned fractionBits, uint32_t *results) {
  constexpr int64_t signMask = int64_t(1) << 63;
  constexpr int64_t smallestNormal = int64_t(1023 - 126) << 52;
  int64_t keep = -(int64_t(1) << (52 - fractionBits));
  for (unsigned row = 0; row != count; row += laneCount) {
    Long16 bits;
    loadVector(bits, values + row);
    Long16 magnitude = bits & ~signMask;
    Long16 small = (magnitude < smallestNormal) & (magnitude != 0);
    bits &= keep;
    Double16 truncated;
    std::memcpy(&truncated, &bits, sizeof(bits));
    Float16 rounded = __builtin_convertvector(truncated, Float16);
    std::memcpy(results + row, &rounded, sizeof(rounded));
    int64_t anySmall = 0;
    for (unsigned lane = 0; lane != laneCount; ++lane)
      anySmall |= small[lane];
    if (!anySmall)
      continue;
    for (unsigned lane = 0; lane != laneCount; ++lane)
      if (small[lane])
        results[row + lane] = encode(ElementFormat::F32, values[row + lane],
                                     {Rounding::TowardZero, false, false});
  }
}

} // namespace

//===----------------------------------------------------------------------===//
// One copy for each instruction set
//===----------------------------------------------------------------------===//

#if defined(__x86_64__)

namespace {

__attribute__((target("avx2"))) void
alignedColumnAVX2(const AlignedOperands &operands, unsigned column,
                  const uint32_t *c, const AdderOptions &options,
                  double *values) {
  alignedColumnBody(operands, column, c, options, values);
}

__attribute__((target("avx2"))) void
nibbleColumnAVX2(const NibbleOperands &operands, unsigned column,
                 const uint32_t *c, const AdderOptions &options,
                 double *values) {
  nibbleColumnBody(operands, column, c, options, values);
}

__attribute__((target("avx2"))) void truncateColumnAVX2(const double *values,
                                                        unsigned count,
                                                        unsigned fractionBits,
                                                        uint32_t *results) {
  truncateColumnBody(values, count, fractionBits, results);
}

const bool hasAVX2 = __builtin_cpu_supports("avx2");

} // namespace

#define LPFA_DISPATCH(function, ...)                                           \
  if (hasAVX2)                                                                 \
    return function##AVX2(__VA_ARGS__);                                        \
  return function##Body(__VA_ARGS__)

#else

#define LPFA_DISPATCH(function, ...) return function##Body(__VA_ARGS__)

#endif

void lpfa::sim::detail::alignedColumn(const AlignedOperands &operands,
                                      unsigned column, const uint32_t *c,
                                      const AdderOptions &options,
                                      double *values) {
  LPFA_DISPATCH(alignedColumn, operands, column, c, options, values);
}

void lpfa::sim::detail::nibbleColumn(const NibbleOperands &operands,
                                     unsigned column, const uint32_t *c,
                                     const AdderOptions &options,
                                     double *values) {
  LPFA_DISPATCH(nibbleColumn, operands, column, c, options, values);
}

void lpfa::sim::detail::truncateColumn(const double *values, unsigned count,
                                       unsigned fractionBits,
                                       uint32_t *results) {
  LPFA_DISPATCH(truncateColumn, values, count, fractionBits, results);
}
