//===- TensorCore.cpp - Arithmetic of matrix instructions -----------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Simulator/TensorCore.h"
#include "ElementValues.h"
#include "ExactSum.h"
#include "TensorCoreKernels.h"
#include <cmath>
#include <cstring>
#include <vector>

using namespace lpfa::sim;
using namespace lpfa::sim::detail;

namespace {

constexpr uint32_t nanF32 = 0x7FFFFFFF;
constexpr uint32_t nanF16 = 0x7FFF;
constexpr uint32_t infinityF32 = 0x7F800000;

//===----------------------------------------------------------------------===//
// Scratch memory
//===----------------------------------------------------------------------===//

/// Decoded operands of the instruction in work. Kept from call to call.
struct Scratch {
  std::vector<int16_t> significandsA, exponentsA, significandsB, exponentsB;
  std::vector<int16_t> scaleSignificandsA, scaleExponentsA;
  std::vector<int16_t> scaleSignificandsB, scaleExponentsB;
  std::vector<uint8_t> specialA, specialB;
  std::vector<uint32_t> c, result;
  std::vector<double> values;
};

Scratch &scratch() {
  static thread_local Scratch memory;
  return memory;
}

unsigned padRows(unsigned rows) {
  return (rows + laneCount - 1) / laneCount * laneCount;
}

//===----------------------------------------------------------------------===//
// Infinity and NaN
//===----------------------------------------------------------------------===//

/// The result for an output whose row, column or accumulator holds something
/// that is not finite: NaN if any input is NaN, infinity meets zero or both
/// infinities meet, otherwise the infinity.
uint32_t specialResult(const MmaProblem &problem, unsigned row, unsigned column,
                       uint8_t special, uint32_t c) {
  bool isF16 = problem.dFormat == ElementFormat::F16;
  uint32_t nan = isF16 ? nanF16 : nanF32;
  if ((c & ~0x80000000u) > infinityF32 || (special & HasNaN))
    return nan;
  bool positive = c == infinityF32;
  bool negative = c == (infinityF32 | 0x80000000u);
  for (unsigned k = 0; k != problem.k; ++k) {
    float a = decode(problem.a.format,
                     loadCode(problem.a, size_t(row) * problem.k + k));
    float b = decode(problem.b.format,
                     loadCode(problem.b, size_t(column) * problem.k + k));
    if (!std::isinf(a) && !std::isinf(b))
      continue;
    if (a == 0 || b == 0)
      return nan;
    bool isNegative =
        std::signbit(a) ^ std::signbit(b) ^ problem.a.negate ^ problem.b.negate;
    (isNegative ? negative : positive) = true;
  }
  if (positive && negative)
    return nan;
  uint32_t infinity = isF16 ? 0x7C00 : infinityF32;
  return negative ? infinity | (isF16 ? 0x8000u : 0x80000000u) : infinity;
}

//===----------------------------------------------------------------------===//
// Columns of the accumulator
//===----------------------------------------------------------------------===//

/// Runs `compute(column, c, results)` on every column: `c` is the accumulator
/// as binary32 patterns, padded with zeros, `results` the cells to write. Sees
/// to what is not finite.
template <typename Compute>
void forEachColumn(const MmaProblem &problem, uint32_t *d, size_t rowStride,
                   size_t columnStride, Compute compute) {
  Scratch &memory = scratch();
  unsigned rows = problem.m, paddedRows = padRows(rows);
  memory.c.assign(paddedRows, 0);
  memory.result.resize(paddedRows);
  memory.values.resize(paddedRows);
  uint8_t anySpecialA = Finite;
  for (unsigned row = 0; row != rows; ++row)
    anySpecialA |= memory.specialA[row];

  for (unsigned column = 0; column != problem.n; ++column) {
    uint32_t *cells = d + column * columnStride;
    bool anySpecialC = false;
    if (problem.accumulate) {
      if (problem.dFormat == ElementFormat::F16) {
        for (unsigned row = 0; row != rows; ++row) {
          float value =
              decode(ElementFormat::F16, cells[row * rowStride] & 0xFFFF);
          std::memcpy(&memory.c[row], &value, sizeof(value));
        }
      } else if (rowStride == 1) {
        std::memcpy(memory.c.data(), cells, rows * sizeof(uint32_t));
      } else {
        for (unsigned row = 0; row != rows; ++row)
          memory.c[row] = cells[row * rowStride];
      }
      uint32_t largest = 0;
      for (unsigned row = 0; row != rows; ++row)
        largest = std::max(largest, memory.c[row] & 0x7FFFFFFF);
      anySpecialC = largest >= infinityF32;
    }

    compute(column, memory.c.data(), memory.result.data());

    if (anySpecialA || anySpecialC || memory.specialB[column])
      for (unsigned row = 0; row != rows; ++row) {
        uint8_t special = memory.specialA[row] | memory.specialB[column];
        if (special || (memory.c[row] & 0x7FFFFFFF) >= infinityF32)
          memory.result[row] =
              specialResult(problem, row, column, special, memory.c[row]);
      }
    if (rowStride == 1)
      std::memcpy(cells, memory.result.data(), rows * sizeof(uint32_t));
    else
      for (unsigned row = 0; row != rows; ++row)
        cells[row * rowStride] = memory.result[row];
  }
}

/// Rounds sums to D's format as the hardware does.
void roundColumn(const MmaProblem &problem, const double *values,
                 uint32_t *results) {
  if (problem.dFormat == ElementFormat::F16) {
    for (unsigned row = 0; row != problem.m; ++row)
      results[row] = encode(ElementFormat::F16, values[row]);
    return;
  }
  unsigned fractionBits =
      problem.arithmetic == MmaArithmetic::HopperFp8 ? 13 : 23;
  truncateColumn(values, padRows(problem.m), fractionBits, results);
}

//===----------------------------------------------------------------------===//
// The hardware's adder
//===----------------------------------------------------------------------===//

/// Decodes one operand into significands, exponents (scales added) and what is
/// special a row. Element (row, k) goes to row * rowStride + k * kStride.
void decodeAligned(const MmaProblem &problem, const MmaOperand &operand,
                   unsigned rows, size_t rowStride, size_t kStride,
                   unsigned dropBits, int16_t *significands, int16_t *exponents,
                   uint8_t *special) {
  std::fill_n(special, rows, uint8_t(Finite));
  unsigned vectors = problem.scaleVectors;
  for (unsigned row = 0; row != rows; ++row)
    for (unsigned vector = 0; vector != vectors; ++vector)
      if (splitScale(problem.scaleFormat,
                     operand.scales[row * vectors + vector])
              .isNaN)
        special[row] |= HasNaN;
  forEachElement(
      operand, rows, problem.k,
      [&](unsigned row, unsigned k, const Element &element) {
        size_t index = row * rowStride + k * kStride;
        special[row] |= element.special;
        bool isNumber = element.significand != 0 && !element.special;
        significands[index] =
            isNumber ? static_cast<int16_t>(element.significand >> dropBits)
                     : int16_t(0);
        exponents[index] = isNumber ? element.exponent : zeroExponent;
        if (isNumber && vectors != 0) {
          uint8_t code =
              operand.scales[row * vectors + k * vectors / problem.k];
          exponents[index] += splitScale(problem.scaleFormat, code).exponent;
        }
      });
}

void multiplyAligned(const MmaProblem &problem, uint32_t *d, size_t rowStride,
                     size_t columnStride) {
  Scratch &memory = scratch();
  unsigned paddedRows = padRows(problem.m), numK = problem.k;
  memory.significandsA.assign(size_t(paddedRows) * numK, 0);
  memory.exponentsA.assign(size_t(paddedRows) * numK, zeroExponent);
  memory.significandsB.resize(size_t(problem.n) * numK);
  memory.exponentsB.resize(size_t(problem.n) * numK);
  memory.specialA.resize(problem.m);
  memory.specialB.resize(problem.n);
  decodeAligned(problem, problem.a, problem.m, 1, paddedRows, 0,
                memory.significandsA.data(), memory.exponentsA.data(),
                memory.specialA.data());
  decodeAligned(problem, problem.b, problem.n, numK, 1,
                fractionBitsA - fractionBitsB, memory.significandsB.data(),
                memory.exponentsB.data(), memory.specialB.data());
  AlignedOperands operands{paddedRows,
                           numK,
                           memory.significandsA.data(),
                           memory.exponentsA.data(),
                           memory.significandsB.data(),
                           memory.exponentsB.data()};
  AdderOptions options;
  options.fractionBits =
      problem.arithmetic == MmaArithmetic::HopperFp8 ? 13 : 25;
  options.minExponent = problem.dFormat == ElementFormat::F16 ? -21 : -133;
  options.accumulatorShift = static_cast<int>(problem.scaleInputD);
  forEachColumn(problem, d, rowStride, columnStride,
                [&](unsigned column, const uint32_t *c, uint32_t *results) {
                  alignedColumn(operands, column, c, options,
                                memory.values.data());
                  roundColumn(problem, memory.values.data(), results);
                });
}

/// Decodes one operand of mxf4 or mxf4nvf4.
void decodeNibbles(const MmaProblem &problem, const MmaOperand &operand,
                   unsigned rows, size_t rowStride, size_t kStride,
                   size_t scaleRowStride, size_t vectorStride, int16_t *values,
                   int16_t *scaleSignificands, int16_t *scaleExponents,
                   uint8_t *special) {
  std::fill_n(special, rows, uint8_t(Finite));
  forEachElement(operand, rows, problem.k,
                 [&](unsigned row, unsigned k, const Element &element) {
                   // Twice the value: exponents are 0, 1 and 2.
                   values[row * rowStride + k * kStride] =
                       element.significand == 0
                           ? int16_t(0)
                           : static_cast<int16_t>(
                                 element.significand /
                                 (1 << (13 - element.exponent)));
                 });
  unsigned vectors = problem.scaleVectors;
  for (unsigned row = 0; row != rows; ++row)
    for (unsigned vector = 0; vector != vectors; ++vector) {
      Scale scale = splitScale(problem.scaleFormat,
                               operand.scales[row * vectors + vector]);
      size_t index = row * scaleRowStride + vector * vectorStride;
      scaleSignificands[index] = scale.isNaN ? int16_t(0) : scale.significand;
      scaleExponents[index] = scale.exponent;
      if (scale.isNaN)
        special[row] |= HasNaN;
    }
}

void multiplyNibbles(const MmaProblem &problem, uint32_t *d, size_t rowStride,
                     size_t columnStride) {
  Scratch &memory = scratch();
  unsigned paddedRows = padRows(problem.m), numK = problem.k;
  unsigned vectors = problem.scaleVectors;
  memory.significandsA.assign(size_t(paddedRows) * numK, 0);
  memory.significandsB.resize(size_t(problem.n) * numK);
  memory.scaleSignificandsA.assign(size_t(paddedRows) * vectors, 0);
  memory.scaleExponentsA.assign(size_t(paddedRows) * vectors, 0);
  memory.scaleSignificandsB.resize(size_t(problem.n) * vectors);
  memory.scaleExponentsB.resize(size_t(problem.n) * vectors);
  memory.specialA.resize(problem.m);
  memory.specialB.resize(problem.n);
  decodeNibbles(problem, problem.a, problem.m, 1, paddedRows, 1, paddedRows,
                memory.significandsA.data(), memory.scaleSignificandsA.data(),
                memory.scaleExponentsA.data(), memory.specialA.data());
  decodeNibbles(problem, problem.b, problem.n, numK, 1, vectors, 1,
                memory.significandsB.data(), memory.scaleSignificandsB.data(),
                memory.scaleExponentsB.data(), memory.specialB.data());
  NibbleOperands operands{paddedRows,
                          numK,
                          vectors,
                          memory.significandsA.data(),
                          memory.significandsB.data(),
                          memory.scaleSignificandsA.data(),
                          memory.scaleExponentsA.data(),
                          memory.scaleSignificandsB.data(),
                          memory.scaleExponentsB.data()};
  AdderOptions options{35, -133, static_cast<int>(problem.scaleInputD)};
  forEachColumn(problem, d, rowStride, columnStride,
                [&](unsigned column, const uint32_t *c, uint32_t *results) {
                  nibbleColumn(operands, column, c, options,
                               memory.values.data());
                  roundColumn(problem, memory.values.data(), results);
                });
}

//===----------------------------------------------------------------------===//
// The exact sum
//===----------------------------------------------------------------------===//

void multiplyExact(const MmaProblem &problem, uint32_t *d, size_t rowStride,
                   size_t columnStride) {
  Scratch &memory = scratch();
  unsigned numK = problem.k, vectors = problem.scaleVectors;
  memory.significandsA.resize(size_t(problem.m) * numK);
  memory.exponentsA.resize(size_t(problem.m) * numK);
  memory.significandsB.resize(size_t(problem.n) * numK);
  memory.exponentsB.resize(size_t(problem.n) * numK);
  memory.specialA.resize(problem.m);
  memory.specialB.resize(problem.n);
  decodeAligned(problem, problem.a, problem.m, numK, 1, 0,
                memory.significandsA.data(), memory.exponentsA.data(),
                memory.specialA.data());
  decodeAligned(problem, problem.b, problem.n, numK, 1,
                fractionBitsA - fractionBitsB, memory.significandsB.data(),
                memory.exponentsB.data(), memory.specialB.data());

  // Significands of scales; their exponents are in the elements'.
  auto scaleSignificand = [&](const MmaOperand &operand, size_t row,
                              unsigned k) -> int64_t {
    if (vectors == 0)
      return 8;
    return splitScale(problem.scaleFormat,
                      operand.scales[row * vectors + k * vectors / numK])
        .significand;
  };
  forEachColumn(
      problem, d, rowStride, columnStride,
      [&](unsigned column, const uint32_t *c, uint32_t *results) {
        const int16_t *sb = &memory.significandsB[size_t(column) * numK];
        const int16_t *eb = &memory.exponentsB[size_t(column) * numK];
        for (unsigned row = 0; row != problem.m; ++row) {
          const int16_t *sa = &memory.significandsA[size_t(row) * numK];
          const int16_t *ea = &memory.exponentsA[size_t(row) * numK];
          ExactSum sum;
          for (unsigned k = 0; k != numK; ++k)
            if (int64_t product = int64_t(sa[k]) * sb[k])
              sum.add(product * scaleSignificand(problem.a, row, k) *
                          scaleSignificand(problem.b, column, k),
                      ea[k] + eb[k] - int(productFractionBits) - 6);
          float old;
          std::memcpy(&old, &c[row], sizeof(old));
          if (old != 0 && std::isfinite(old)) {
            int exponent = std::max(std::ilogb(old), -126);
            sum.add(static_cast<int64_t>(std::ldexp(old, 23 - exponent)),
                    exponent - 23 - static_cast<int>(problem.scaleInputD));
          }
          results[row] = encode(problem.dFormat, sum.roundToOdd());
        }
      });
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

void multiplyIntegers(const MmaProblem &problem, uint32_t *d, size_t rowStride,
                      size_t columnStride) {
  Scratch &memory = scratch();
  unsigned numK = problem.k;
  auto widen = [&](const MmaOperand &operand, unsigned rows,
                   std::vector<int16_t> &values) {
    values.resize(size_t(rows) * numK);
    bool isSigned = operand.format == ElementFormat::S8;
    for (size_t i = 0; i != values.size(); ++i)
      values[i] = isSigned ? static_cast<int8_t>(operand.codes[i])
                           : static_cast<int16_t>(operand.codes[i]);
  };
  widen(problem.a, problem.m, memory.significandsA);
  widen(problem.b, problem.n, memory.significandsB);
  for (unsigned column = 0; column != problem.n; ++column)
    for (unsigned row = 0; row != problem.m; ++row) {
      const int16_t *a = &memory.significandsA[size_t(row) * numK];
      const int16_t *b = &memory.significandsB[size_t(column) * numK];
      int32_t products = 0;
      for (unsigned k = 0; k != numK; ++k)
        products += a[k] * b[k];
      uint32_t &cell = d[row * rowStride + column * columnStride];
      int64_t sum = products;
      if (problem.accumulate)
        sum += static_cast<int32_t>(cell);
      if (problem.saturate)
        sum = std::min<int64_t>(std::max<int64_t>(sum, INT32_MIN), INT32_MAX);
      cell = static_cast<uint32_t>(sum);
    }
}

//===----------------------------------------------------------------------===//
// mma.sync of 8-bit formats on sm_100
//===----------------------------------------------------------------------===//

/// The elements with k % 4 in {0, 1} or in {2, 3}, as F16 codes: exact for E4M3
/// and E5M2.
std::vector<uint8_t> unpackHalf(const MmaProblem &problem,
                                const MmaOperand &operand, unsigned rows,
                                unsigned half) {
  std::vector<uint8_t> codes(size_t(rows) * problem.k);
  size_t next = 0;
  for (unsigned row = 0; row != rows; ++row)
    for (unsigned k = 0; k != problem.k; ++k)
      if (k % 4 / 2 == half) {
        uint8_t code = operand.codes[size_t(row) * problem.k + k];
        auto wide = static_cast<uint16_t>(
            encode(ElementFormat::F16, decode(operand.format, code)));
        std::memcpy(&codes[next], &wide, sizeof(wide));
        next += sizeof(wide);
      }
  return codes;
}

void multiplyEmulated(const MmaProblem &problem, uint32_t *d, size_t rowStride,
                      size_t columnStride) {
  bool isF16 = problem.dFormat == ElementFormat::F16;
  std::vector<uint32_t> sum(size_t(problem.m) * problem.n);
  for (unsigned half = 0; half != 2; ++half) {
    std::vector<uint8_t> a = unpackHalf(problem, problem.a, problem.m, half);
    std::vector<uint8_t> b = unpackHalf(problem, problem.b, problem.n, half);
    MmaProblem step = problem;
    step.k = problem.k / 2;
    step.arithmetic = MmaArithmetic::Hardware;
    step.a = {ElementFormat::F16, a.data(), problem.a.negate, nullptr};
    step.b = {ElementFormat::F16, b.data(), problem.b.negate, nullptr};
    step.accumulate = half == 1;
    multiply(step, sum.data(), 1, problem.m);
  }
  for (unsigned column = 0; column != problem.n; ++column)
    for (unsigned row = 0; row != problem.m; ++row) {
      uint32_t &cell = d[row * rowStride + column * columnStride];
      uint32_t products = sum[size_t(column) * problem.m + row];
      if (!problem.accumulate) {
        cell = products;
        continue;
      }
      // Doubles hold the sum of two binary16 values exactly, and round the sum
      // of two binary32 values so that the second rounding does no harm.
      cell = encode(
          problem.dFormat,
          double(decode(problem.dFormat, products)) +
              double(decode(problem.dFormat, isF16 ? cell & 0xFFFF : cell)));
    }
}

} // namespace

void lpfa::sim::multiply(const MmaProblem &problem, uint32_t *d,
                         size_t rowStride, size_t columnStride) {
  if (problem.dFormat == ElementFormat::S32)
    return multiplyIntegers(problem, d, rowStride, columnStride);
  switch (problem.arithmetic) {
  case MmaArithmetic::Exact:
    return multiplyExact(problem, d, rowStride, columnStride);
  case MmaArithmetic::EmulatedFp8:
    return multiplyEmulated(problem, d, rowStride, columnStride);
  case MmaArithmetic::Hardware:
  case MmaArithmetic::HopperFp8:
    if (problem.packsNibbles)
      return multiplyNibbles(problem, d, rowStride, columnStride);
    return multiplyAligned(problem, d, rowStride, columnStride);
  }
}
