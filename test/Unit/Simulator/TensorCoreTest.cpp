//===- TensorCoreTest.cpp - Arithmetic of MMA -------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Simulator/TensorCore.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

using namespace lpfa::sim;

namespace {

float floatFromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

/// An instruction with its operands, and the model computed term by term.
struct Case {
  MmaProblem problem;
  std::vector<uint8_t> a, b, scalesA, scalesB;
  std::vector<uint32_t> d;

  Case(ElementFormat format, unsigned m, unsigned n, unsigned k) {
    problem.m = m;
    problem.n = n;
    problem.k = k;
    problem.a.format = problem.b.format = format;
    a.resize(size_t(m) * k * containerBytes(format));
    b.resize(size_t(n) * k * containerBytes(format));
    d.resize(size_t(m) * n);
  }

  void fill(std::mt19937 &random) {
    auto fillOperand = [&](std::vector<uint8_t> &bytes, ElementFormat format) {
      unsigned size = containerBytes(format);
      for (size_t i = 0; i != bytes.size(); i += size) {
        uint32_t code;
        // One element in four is zero.
        do
          code = random() % 4 ? random() : 0;
        while (!std::isfinite(decode(format, code)));
        if (formatBits(format) < 8)
          code &= (1u << formatBits(format)) - 1;
        std::memcpy(&bytes[i], &code, size);
      }
    };
    fillOperand(a, problem.a.format);
    fillOperand(b, problem.b.format);
    scalesA.resize(size_t(problem.m) * problem.scaleVectors);
    scalesB.resize(size_t(problem.n) * problem.scaleVectors);
    for (auto *scales : {&scalesA, &scalesB})
      for (uint8_t &scale : *scales)
        scale = problem.scaleFormat == ElementFormat::UE8M0
                    ? 127 + random() % 31 - 15
                    : random() % 0x7F;
  }

  void run() {
    problem.a.codes = a.data();
    problem.b.codes = b.data();
    problem.a.scales = scalesA.data();
    problem.b.scales = scalesB.data();
    multiply(problem, d.data(), 1, problem.m);
  }

  uint32_t &at(unsigned row, unsigned column) {
    return d[size_t(column) * problem.m + row];
  }

  uint32_t code(const std::vector<uint8_t> &bytes, ElementFormat format,
                size_t index) const {
    uint32_t result = 0;
    unsigned size = containerBytes(format);
    std::memcpy(&result, &bytes[index * size], size);
    return result;
  }

  uint32_t expected(unsigned row, unsigned column, uint32_t c) const;
};

int smallestExponent(ElementFormat format) {
  switch (format) {
  case ElementFormat::F16:
  case ElementFormat::E5M2:
    return -14;
  case ElementFormat::E4M3:
  case ElementFormat::UE4M3:
    return -6;
  case ElementFormat::E3M2:
    return -2;
  case ElementFormat::E2M3:
  case ElementFormat::E2M1:
    return 0;
  default:
    return -126;
  }
}

int exponentOf(double value, ElementFormat format) {
  return std::max(std::ilogb(value), smallestExponent(format));
}

uint32_t Case::expected(unsigned row, unsigned column, uint32_t c) const {
  struct Term {
    double value;
    int exponent;
  };
  std::vector<Term> terms;
  const MmaProblem &p = problem;
  double group = 0;
  for (unsigned k = 0; k != p.k; ++k) {
    double x = decode(p.a.format, code(a, p.a.format, size_t(row) * p.k + k));
    double y =
        decode(p.b.format, code(b, p.b.format, size_t(column) * p.k + k));
    if (p.a.negate)
      x = -x;
    if (p.b.negate)
      y = -y;
    int exponent = 0;
    double scale = 1;
    if (p.scaleVectors) {
      unsigned vector = k / (p.k / p.scaleVectors);
      double sa = decode(p.scaleFormat, scalesA[row * p.scaleVectors + vector]);
      double sb =
          decode(p.scaleFormat, scalesB[column * p.scaleVectors + vector]);
      scale = sa * sb;
      if (scale != 0)
        exponent =
            exponentOf(sa, p.scaleFormat) + exponentOf(sb, p.scaleFormat);
    }
    if (p.packsNibbles) {
      group += x * y;
      if (k % 16 == 15) {
        terms.push_back({group * scale, exponent});
        group = 0;
      }
      continue;
    }
    if (x != 0 && y != 0)
      exponent += exponentOf(x, p.a.format) + exponentOf(y, p.b.format);
    terms.push_back({x * y * scale, exponent});
  }
  if (p.accumulate) {
    float old = p.dFormat == ElementFormat::F16
                    ? decode(ElementFormat::F16, c & 0xFFFF)
                    : floatFromBits(c);
    if (old != 0)
      terms.push_back(
          {std::ldexp(old, -int(p.scaleInputD)),
           exponentOf(old, ElementFormat::F32) - int(p.scaleInputD)});
  }
  int fractionBits = p.packsNibbles                             ? 35
                     : p.arithmetic == MmaArithmetic::HopperFp8 ? 13
                                                                : 25;
  int top = p.dFormat == ElementFormat::F16 ? -21 : -133;
  for (const Term &term : terms)
    if (term.value != 0)
      top = std::max(top, term.exponent);
  double sum = 0;
  for (const Term &term : terms)
    sum += std::trunc(std::ldexp(term.value, fractionBits - top));
  double value = std::ldexp(sum, top - fractionBits);
  if (p.dFormat == ElementFormat::F16)
    return encode(ElementFormat::F16, value);
  if (std::fabs(value) >= 0x1p128)
    return value < 0 ? 0xFF800000 : 0x7F800000;
  uint32_t result =
      encode(ElementFormat::F32, value, {Rounding::TowardZero, false, false});
  // Hopper cuts ten more bits of a normal result.
  return p.arithmetic == MmaArithmetic::HopperFp8 ? result & ~0x3FFu : result;
}

/// Compares `rounds` instructions with the model, D chained from one to the
/// next.
void compare(Case &test, unsigned rounds, unsigned seed) {
  std::mt19937 random(seed);
  unsigned mismatches = 0;
  for (unsigned round = 0; round != rounds; ++round) {
    test.fill(random);
    test.problem.accumulate = round % 4 != 0;
    if (round % 4 == 2)
      for (uint32_t &cell : test.d)
        cell = test.problem.dFormat == ElementFormat::F16
                   ? random() % 0x7C00
                   : bitsOf(std::ldexp(float(random()) - 0x1p31f,
                                       int(random() % 80) - 70));
    std::vector<uint32_t> old = test.d;
    test.run();
    for (unsigned column = 0; column != test.problem.n; ++column)
      for (unsigned row = 0; row != test.problem.m; ++row) {
        uint32_t expected = test.expected(
            row, column, old[size_t(column) * test.problem.m + row]);
        if (test.at(row, column) != expected && mismatches++ == 0)
          ADD_FAILURE() << "row " << row << " column " << column << " round "
                        << round << std::hex << ": " << test.at(row, column)
                        << " instead of " << expected;
      }
  }
  EXPECT_EQ(mismatches, 0u);
}

TEST(TensorCore, PlainKindsFollowTheModel) {
  for (auto [format, k] :
       {std::pair(ElementFormat::F16, 16u), std::pair(ElementFormat::BF16, 16u),
        std::pair(ElementFormat::TF32, 8u), std::pair(ElementFormat::E4M3, 32u),
        std::pair(ElementFormat::E5M2, 32u),
        std::pair(ElementFormat::E2M3, 32u),
        std::pair(ElementFormat::E3M2, 32u),
        std::pair(ElementFormat::E2M1, 32u)}) {
    SCOPED_TRACE(formatName(format).str());
    Case test(format, 37, 11, k);
    compare(test, 12, 1);
  }
}

TEST(TensorCore, OperandsOfTwoFormats) {
  Case test(ElementFormat::E4M3, 32, 8, 32);
  test.problem.b.format = ElementFormat::E2M1;
  test.problem.a.negate = true;
  compare(test, 8, 2);
}

TEST(TensorCore, BinarySixteenAccumulator) {
  for (auto [format, k] : {std::pair(ElementFormat::F16, 16u),
                           std::pair(ElementFormat::E5M2, 32u)}) {
    Case test(format, 16, 16, k);
    test.problem.dFormat = ElementFormat::F16;
    compare(test, 12, 3);
  }
}

TEST(TensorCore, ScaledAccumulator) {
  Case test(ElementFormat::F16, 16, 8, 16);
  test.problem.scaleInputD = 7;
  compare(test, 8, 4);
}

TEST(TensorCore, BlockScaledKindsFollowTheModel) {
  Case mxf8(ElementFormat::E4M3, 64, 24, 32);
  mxf8.problem.scaleVectors = 1;
  compare(mxf8, 12, 5);

  for (auto [format, vectors] : {std::pair(ElementFormat::UE8M0, 2u),
                                 std::pair(ElementFormat::UE8M0, 4u),
                                 std::pair(ElementFormat::UE4M3, 4u)}) {
    Case mxf4(ElementFormat::E2M1, 64, 24, 64);
    mxf4.problem.packsNibbles = true;
    mxf4.problem.scaleVectors = vectors;
    mxf4.problem.scaleFormat = format;
    compare(mxf4, 12, 6);
  }
}

TEST(TensorCore, HopperFp8FollowsTheModel) {
  Case test(ElementFormat::E4M3, 16, 8, 32);
  test.problem.arithmetic = MmaArithmetic::HopperFp8;
  compare(test, 8, 7);
}

TEST(TensorCore, OldContentDoesNotLeakWithoutAccumulation) {
  Case test(ElementFormat::F16, 3, 2, 16);
  std::fill(test.d.begin(), test.d.end(), 0xFFFFFFFF);
  test.run();
  for (uint32_t cell : test.d)
    EXPECT_EQ(cell, 0u);
}

/// Small results: subnormals are kept, and truncated toward zero.
TEST(TensorCore, SubnormalResults) {
  Case test(ElementFormat::BF16, 1, 1, 16);
  uint16_t tiny = 0x1F81, negativeTiny = 0x9F81; // 2^-64 * (1 + 2^-7)
  std::memcpy(&test.a[0], &tiny, 2);
  std::memcpy(&test.b[0], &tiny, 2);
  test.run();
  // 2^-128 * 1.015686..., subnormal.
  double product = 0x1p-128 * 1.0078125 * 1.0078125;
  EXPECT_EQ(test.d[0], static_cast<uint32_t>(product * 0x1p149));
  std::memcpy(&test.b[0], &negativeTiny, 2);
  test.run();
  EXPECT_EQ(test.d[0], 0x80000000u | static_cast<uint32_t>(product * 0x1p149));
}

TEST(TensorCore, OverflowGivesInfinity) {
  Case test(ElementFormat::BF16, 1, 1, 16);
  uint16_t huge = 0x7F7F, negativeHuge = 0xFF7F;
  std::memcpy(&test.a[0], &huge, 2);
  std::memcpy(&test.b[0], &negativeHuge, 2);
  test.run();
  EXPECT_EQ(test.d[0], 0xFF800000u);
}

/// NaN and infinity in row 1 of A, column 2 of B and an accumulator reach
/// exactly the outputs that they should.
TEST(TensorCore, SpecialValues) {
  constexpr uint16_t one = 0x3C00, infinity = 0x7C00, nan = 0x7E00;
  auto makeCase = [&] {
    Case test(ElementFormat::F16, 4, 4, 16);
    for (auto *operand : {&test.a, &test.b})
      for (size_t i = 0; i != operand->size(); i += 2)
        std::memcpy(&(*operand)[i], &one, 2);
    return test;
  };
  auto setA = [](Case &test, unsigned row, unsigned k, uint16_t code) {
    std::memcpy(&test.a[(row * 16 + k) * 2], &code, 2);
  };
  auto setB = [](Case &test, unsigned column, unsigned k, uint16_t code) {
    std::memcpy(&test.b[(column * 16 + k) * 2], &code, 2);
  };

  Case test = makeCase();
  setA(test, 1, 3, infinity);
  setB(test, 2, 3, 0);      // infinity * 0
  setB(test, 3, 3, 0xBC00); // infinity * -1
  test.run();
  EXPECT_EQ(test.at(0, 0), bitsOf(16));
  EXPECT_EQ(test.at(0, 3), bitsOf(14));
  EXPECT_EQ(test.at(1, 0), 0x7F800000u);
  EXPECT_EQ(test.at(1, 2), 0x7FFFFFFFu);
  EXPECT_EQ(test.at(1, 3), 0xFF800000u);

  // The infinities of two products, and of product and accumulator.
  test = makeCase();
  setA(test, 0, 0, infinity);
  setB(test, 1, 1, 0xFC00);
  test.problem.accumulate = true;
  std::fill(test.d.begin(), test.d.end(), 0);
  test.at(0, 2) = 0xFF800000;
  test.at(2, 2) = 0xFF800000;
  test.at(3, 3) = 0x7FC00001;
  test.run();
  EXPECT_EQ(test.at(0, 0), 0x7F800000u);
  EXPECT_EQ(test.at(0, 1), 0x7FFFFFFFu);
  EXPECT_EQ(test.at(0, 2), 0x7FFFFFFFu);
  EXPECT_EQ(test.at(2, 1), 0xFF800000u);
  EXPECT_EQ(test.at(2, 2), 0xFF800000u);
  EXPECT_EQ(test.at(3, 3), 0x7FFFFFFFu);
  EXPECT_EQ(test.at(2, 0), bitsOf(16));

  // NaN, also with a binary16 accumulator.
  for (ElementFormat d : {ElementFormat::F32, ElementFormat::F16}) {
    test = makeCase();
    setB(test, 0, 15, nan);
    test.problem.dFormat = d;
    test.run();
    EXPECT_EQ(test.at(2, 0), d == ElementFormat::F16 ? 0x7FFFu : 0x7FFFFFFFu);
    EXPECT_EQ(test.at(2, 1),
              d == ElementFormat::F16 ? encode(d, 16) : bitsOf(16));
  }
}

TEST(TensorCore, NaNScaleReachesItsRowOnly) {
  for (bool nibbles : {false, true}) {
    unsigned k = nibbles ? 64 : 32;
    Case test(nibbles ? ElementFormat::E2M1 : ElementFormat::E4M3, 3, 3, k);
    test.problem.packsNibbles = nibbles;
    test.problem.scaleVectors = nibbles ? 2 : 1;
    test.scalesA.assign(size_t(3) * test.problem.scaleVectors, 127);
    test.scalesB = test.scalesA;
    test.scalesA[test.problem.scaleVectors] = 0xFF;
    for (MmaArithmetic arithmetic :
         {MmaArithmetic::Hardware, MmaArithmetic::Exact}) {
      test.problem.arithmetic = arithmetic;
      test.run();
      for (unsigned column = 0; column != 3; ++column) {
        EXPECT_EQ(test.at(0, column), 0u);
        EXPECT_EQ(test.at(1, column), 0x7FFFFFFFu);
      }
    }
  }
}

/// The extreme scales of UE8M0 neither overflow nor vanish on the way.
TEST(TensorCore, ExtremeScalesCancel) {
  Case test(ElementFormat::E4M3, 1, 1, 32);
  test.problem.scaleVectors = 1;
  test.a[0] = test.b[0] = 0x38; // 1
  test.scalesA = {254};
  test.scalesB = {0};
  for (MmaArithmetic arithmetic :
       {MmaArithmetic::Hardware, MmaArithmetic::Exact}) {
    test.problem.arithmetic = arithmetic;
    test.run();
    EXPECT_EQ(test.d[0], bitsOf(1));
  }
}

TEST(TensorCore, ExactKeepsWhatTheAdderDrops) {
  // 2^15 * 2^15 - 2^15 * 2^15 + 2^-24 * 2^-24.
  Case test(ElementFormat::F16, 1, 1, 16);
  uint16_t large = 0x7800, negativeLarge = 0xF800, tiny = 0x0001;
  std::memcpy(&test.a[0], &large, 2);
  std::memcpy(&test.b[0], &large, 2);
  std::memcpy(&test.a[2], &large, 2);
  std::memcpy(&test.b[2], &negativeLarge, 2);
  std::memcpy(&test.a[4], &tiny, 2);
  std::memcpy(&test.b[4], &tiny, 2);
  test.run();
  EXPECT_EQ(test.d[0], 0u);
  test.problem.arithmetic = MmaArithmetic::Exact;
  test.run();
  EXPECT_EQ(test.d[0], bitsOf(0x1p-48f));
}

/// Sums that double represents exactly, rounded once.
TEST(TensorCore, ExactRoundsOnceToNearestEven) {
  std::mt19937 random(8);
  for (ElementFormat format : {ElementFormat::E4M3, ElementFormat::E2M1}) {
    Case test(format, 16, 16, 32);
    test.problem.arithmetic = MmaArithmetic::Exact;
    test.problem.accumulate = true;
    for (unsigned round = 0; round != 8; ++round) {
      test.fill(random);
      for (uint32_t &cell : test.d)
        cell = bitsOf(float(random()) * 0x1p-20f);
      std::vector<uint32_t> old = test.d;
      test.run();
      for (unsigned column = 0; column != 16; ++column)
        for (unsigned row = 0; row != 16; ++row) {
          double sum = floatFromBits(old[column * 16 + row]);
          for (unsigned k = 0; k != 32; ++k)
            sum += double(decode(format, test.a[row * 32 + k])) *
                   decode(format, test.b[column * 32 + k]);
          EXPECT_EQ(test.at(row, column), bitsOf(static_cast<float>(sum)));
        }
    }
  }
}

TEST(TensorCore, Integers) {
  Case test(ElementFormat::S8, 1, 1, 32);
  test.problem.b.format = ElementFormat::U8;
  test.problem.dFormat = ElementFormat::S32;
  std::fill(test.a.begin(), test.a.end(), 0x80); // -128
  std::fill(test.b.begin(), test.b.end(), 0xFF); // 255
  test.run();
  EXPECT_EQ(static_cast<int32_t>(test.d[0]), -128 * 255 * 32);
  test.problem.accumulate = true;
  test.d[0] = 0x80000000;
  test.run();
  EXPECT_EQ(test.d[0], 0x80000000u - 128 * 255 * 32);
  test.d[0] = 0x80000000;
  test.problem.saturate = true;
  test.run();
  EXPECT_EQ(test.d[0], 0x80000000u);
}

/// Blackwell's mma.sync of FP8: two instructions of binary16, then C.
TEST(TensorCore, EmulatedFp8) {
  Case test(ElementFormat::E4M3, 1, 1, 32);
  test.problem.arithmetic = MmaArithmetic::EmulatedFp8;
  test.problem.accumulate = true;
  // k = 0 yields 448 * 448 = 200704, whose last bit is worth 2^-6; k = 2 adds
  // 2^-9, which truncation drops; half a bit of C is a tie.
  test.a[0] = test.b[0] = 0x7E;
  test.a[2] = 0x01;
  test.b[2] = 0x38;
  test.d[0] = bitsOf(0x1p-7f);
  test.run();
  EXPECT_EQ(test.d[0], bitsOf(200704.0f));
  // More than half a bit is rounded up.
  test.d[0] = bitsOf(0x1.8p-7f);
  test.run();
  EXPECT_EQ(test.d[0], bitsOf(200704.015625f));
}

TEST(TensorCore, StridesOfD) {
  std::mt19937 random(9);
  Case test(ElementFormat::E4M3, 20, 8, 32);
  test.fill(random);
  test.run();
  std::vector<uint32_t> rowMajor(20 * 10, 7);
  multiply(test.problem, rowMajor.data(), 10, 1);
  for (unsigned row = 0; row != 20; ++row)
    for (unsigned column = 0; column != 10; ++column)
      EXPECT_EQ(rowMajor[row * 10 + column],
                column < 8 ? test.at(row, column) : 7u);
}

} // namespace
