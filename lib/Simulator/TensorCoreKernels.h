//===- TensorCoreKernels.h - Inner loops of the adder model -----*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One column of an accumulator at a time, 16 rows side by side, in the vector
// extensions of GCC and Clang. The bodies are inlined into one function for
// each instruction set, chosen at run time.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_SIMULATOR_TENSORCOREKERNELS_H
#define LPFA_LIB_SIMULATOR_TENSORCOREKERNELS_H

#include <cstddef>
#include <cstdint>

namespace lpfa::sim::detail {

/// Rows are padded to a multiple of this.
constexpr unsigned laneCount = 16;

/// Exponent of a zero element, so low that no sum with another exponent is
/// taken for one of a nonzero product.
constexpr int16_t zeroExponent = -8192;

/// Fraction bits of decoded significands: 14 of A and 11 of B, so that a
/// product has the 25 of the adder and every format's significand of at most 11
/// bits fits.
constexpr unsigned fractionBitsA = 14;
constexpr unsigned fractionBitsB = 11;
constexpr unsigned productFractionBits = fractionBitsA + fractionBitsB;

/// A and B as significands and exponents (block scales added). A is stored
/// k-major, rows contiguous and padded with zeros; B is stored row by row.
struct AlignedOperands {
  unsigned paddedRows;
  unsigned k;
  const int16_t *significandsA;
  const int16_t *exponentsA;
  const int16_t *significandsB;
  const int16_t *exponentsB;
};

/// E2M1 elements as integers (twice their value) and scales as significands of
/// 3 fraction bits and exponents, laid out the same way.
struct NibbleOperands {
  unsigned paddedRows;
  unsigned k;
  unsigned scaleVectors;
  const int16_t *valuesA;
  const int16_t *valuesB;
  const int16_t *scaleSignificandsA;
  const int16_t *scaleExponentsA;
  const int16_t *scaleSignificandsB;
  const int16_t *scaleExponentsB;
};

struct AdderOptions {
  /// F: fraction bits kept below the largest exponent.
  unsigned fractionBits;
  /// No alignment below this exponent.
  int minExponent;
  /// Subtracted from the accumulator's exponent.
  int accumulatorShift;
};

/// The exact sum of the truncated terms of column `column`. `c` holds finite
/// binary32 patterns, `values` gets doubles, paddedRows of each.
void alignedColumn(const AlignedOperands &operands, unsigned column,
                   const uint32_t *c, const AdderOptions &options,
                   double *values);

/// The same for mxf4 and mxf4nvf4.
void nibbleColumn(const NibbleOperands &operands, unsigned column,
                  const uint32_t *c, const AdderOptions &options,
                  double *values);

/// Rounds toward zero to binary32 with `fractionBits` fraction bits. Overflow
/// gives infinity.
void truncateColumn(const double *values, unsigned count, unsigned fractionBits,
                    uint32_t *results);

} // namespace lpfa::sim::detail

#endif // LPFA_LIB_SIMULATOR_TENSORCOREKERNELS_H
