//===- FormulaTest.cpp - Integers that depend on sizes --------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Runtime/Formula.h"
#include "gtest/gtest.h"

using namespace lpfa;
using Kind = Formula::Kind;

static FormulaInputs inputs() {
  FormulaInputs inputs;
  inputs.arguments = {ArgumentShape::contiguous({2, 4, 500, 128}),
                      ArgumentShape::contiguous({7})};
  inputs.multiprocessors = 148;
  return inputs;
}

static int64_t evaluate(const Formula &formula) {
  std::string error;
  std::optional<int64_t> value = formula.evaluate(inputs(), error);
  EXPECT_TRUE(value.has_value()) << error;
  return value.value_or(-1);
}

static std::string getError(const Formula &formula) {
  std::string error;
  EXPECT_FALSE(formula.evaluate(inputs(), error).has_value());
  return error;
}

TEST(FormulaTest, SizesAndStrides) {
  EXPECT_EQ(evaluate(Formula::dimension(0, 2)), 500);
  EXPECT_EQ(evaluate(Formula::stride(0, 0)), 4 * 500 * 128);
  EXPECT_EQ(evaluate(Formula::stride(0, 3)), 1);
  EXPECT_EQ(evaluate(Formula::multiprocessors()), 148);
  EXPECT_EQ(getError(Formula::dimension(2, 0)), "a formula needs argument 2");
  EXPECT_EQ(getError(Formula::stride(1, 1)),
            "a formula needs dimension 1 of argument 1");
}

TEST(FormulaTest, Division) {
  // Operands that no constructor can fold.
  Formula seven = Formula::dimension(1, 0);
  Formula minusSeven = Formula(0) - seven;
  struct {
    int64_t divisor, ceil, floor, mod, negativeCeil, negativeFloor, negativeMod;
  } cases[] = {
      {2, 4, 3, 1, -3, -4, 1},
      {-2, -3, -4, -1, 4, 3, -1},
      {7, 1, 1, 0, -1, -1, 0},
      {-1, -7, -7, 0, 7, 7, 0},
  };
  for (auto &c : cases) {
    EXPECT_EQ(evaluate(Formula::get(Kind::CeilDiv, {seven, c.divisor})),
              c.ceil);
    EXPECT_EQ(evaluate(Formula::get(Kind::FloorDiv, {seven, c.divisor})),
              c.floor);
    EXPECT_EQ(evaluate(Formula::get(Kind::Mod, {seven, c.divisor})), c.mod);
    EXPECT_EQ(evaluate(Formula::get(Kind::CeilDiv, {minusSeven, c.divisor})),
              c.negativeCeil);
    EXPECT_EQ(evaluate(Formula::get(Kind::FloorDiv, {minusSeven, c.divisor})),
              c.negativeFloor);
    EXPECT_EQ(evaluate(Formula::get(Kind::Mod, {minusSeven, c.divisor})),
              c.negativeMod);
  }
  EXPECT_EQ(getError(Formula::get(Kind::FloorDiv, {seven, 0})),
            "a formula divides by zero");
}

TEST(FormulaTest, Comparisons) {
  Formula seven = Formula::dimension(1, 0);
  EXPECT_EQ(evaluate(Formula::get(Kind::Min, {seven, 3})), 3);
  EXPECT_EQ(evaluate(Formula::get(Kind::Max, {seven, 3})), 7);
  EXPECT_EQ(evaluate(Formula::get(Kind::Equal, {seven, 7})), 1);
  EXPECT_EQ(evaluate(Formula::get(Kind::NotEqual, {seven, 7})), 0);
  EXPECT_EQ(evaluate(Formula::get(Kind::Less, {seven, 7})), 0);
  EXPECT_EQ(evaluate(Formula::get(Kind::LessEqual, {seven, 7})), 1);
  Formula isSmall = Formula::get(Kind::Less, {seven, 8});
  EXPECT_EQ(evaluate(Formula::get(Kind::Select, {isSmall, 10, 20})), 10);
  // Only the chosen side is computed.
  Formula bad = Formula::get(Kind::FloorDiv, {seven, 0});
  EXPECT_EQ(evaluate(Formula::get(Kind::Select, {isSmall, 10, bad})), 10);
}

TEST(FormulaTest, Overflow) {
  Formula seven = Formula::dimension(1, 0);
  for (const Formula &formula :
       {Formula(INT64_MAX) + seven, Formula(INT64_MIN) - seven,
        Formula(INT64_MAX) * seven})
    EXPECT_EQ(getError(formula), "a formula overflows 64 bits");
}

TEST(FormulaTest, Folding) {
  Formula x = Formula::dimension(0, 1);
  EXPECT_EQ(Formula(3) * Formula(5) + Formula(1), Formula(16));
  EXPECT_EQ(x * Formula(1), x);
  EXPECT_EQ(Formula(1) * x, x);
  EXPECT_EQ(x + Formula(0), x);
  EXPECT_EQ(x - Formula(0), x);
  EXPECT_EQ(Formula::get(Kind::CeilDiv, {x, 1}), x);
  EXPECT_EQ(Formula::get(Kind::Select, {0, 1, x}), x);
  EXPECT_FALSE(x * Formula(2) == x);
  EXPECT_FALSE((x - Formula(2)).getConstant().has_value());
}

TEST(FormulaTest, EmptyDimensionsHaveStrides) {
  EXPECT_EQ(ArgumentShape::contiguous({2, 0, 16}).strides,
            (std::vector<int64_t>{16, 16, 1}));
}

TEST(FormulaTest, Names) {
  unsigned operands = 0;
  EXPECT_STREQ(Formula::getName(Kind::CeilDiv), "ceildiv");
  EXPECT_EQ(Formula::getName(Kind::Constant), nullptr);
  EXPECT_EQ(Formula::getKind("select", operands), Kind::Select);
  EXPECT_EQ(operands, 3u);
  EXPECT_EQ(Formula::getKind("pow", operands), std::nullopt);
}
