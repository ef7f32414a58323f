//===- LaunchPlanTest.cpp - Plans as text ---------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Runtime/LaunchPlan.h"
#include "gtest/gtest.h"

using namespace lpfa;

static const char text[] = R"({
  "schema_version": 1,
  "chip": "sm_100a",
  "ptxas_version": "13.4",
  "functions": [{
    "function": "f",
    "arguments": [{"element": "f8E4M3FN", "shape": [null, 128]}],
    "results": [{"element": "bf16", "shape": [["dim", 0, 0], 128]}],
    "temporaries": [{"bytes": ["mul", ["ceildiv", ["dim", 0, 0], 128], 512]}],
    "checks": [{"condition": ["lt", 0, ["dim", 0, 0]], "message": "no rows"}],
    "kernels": [{
      "module": "m",
      "entry": "k",
      "grid": [["ceildiv", ["dim", 0, 0], 128], 1, 1],
      "block": [384, 1, 1],
      "cluster": [1, 1, 1],
      "dynamic_shared_bytes": 65536,
      "parameters": [
        {"tensor_map": {
          "buffer": ["argument", 0], "element": "i8",
          "sizes": [128, ["dim", 0, 0]], "strides": [["stride", 0, 0]],
          "box": [128, 128], "swizzle": 128, "fill": "zero"}},
        {"pointer": ["temporary", 0]},
        {"i64": ["dim", 0, 0]},
        {"i32": 7},
        {"pointer": ["result", 0]}
      ]
    }]
  }]
})";

static ModulePlan parse(const std::string &text) {
  std::string error;
  std::optional<ModulePlan> plan = parsePlan(text, error);
  EXPECT_TRUE(plan.has_value()) << error;
  return plan.value_or(ModulePlan());
}

static std::string getError(const std::string &text) {
  std::string error;
  EXPECT_FALSE(parsePlan(text, error).has_value());
  return error;
}

/// `text` with its first `from` replaced.
static std::string replace(const std::string &from, const std::string &to) {
  std::string result = text;
  size_t position = result.find(from);
  EXPECT_NE(position, std::string::npos) << from;
  return result.replace(position, from.size(), to);
}

static int64_t evaluate(const Formula &formula, const FormulaInputs &inputs) {
  std::string error;
  return formula.evaluate(inputs, error).value_or(-1);
}

TEST(LaunchPlanTest, Read) {
  ModulePlan plan = parse(text);
  EXPECT_EQ(plan.chip, "sm_100a");
  EXPECT_EQ(plan.ptxasVersion, "13.4");
  ASSERT_EQ(plan.functions.size(), 1u);
  const LaunchPlan &f = plan.functions[0];
  EXPECT_EQ(f.function, "f");
  EXPECT_EQ(f.arguments[0].element, "f8E4M3FN");
  EXPECT_EQ(f.arguments[0].shape, (std::vector<int64_t>{-1, 128}));
  EXPECT_EQ(f.checks[0].message, "no rows");

  FormulaInputs inputs;
  inputs.arguments = {ArgumentShape::contiguous({300, 128})};
  EXPECT_EQ(evaluate(f.temporaries[0].bytes, inputs), 3 * 512);
  EXPECT_EQ(evaluate(f.results[0].shape[0], inputs), 300);
  EXPECT_EQ(evaluate(f.checks[0].condition, inputs), 1);

  const PlanKernel &kernel = f.kernels[0];
  EXPECT_EQ(kernel.entry, "k");
  EXPECT_EQ(evaluate(kernel.grid[0], inputs), 3);
  EXPECT_EQ(kernel.block[0], 384);
  EXPECT_EQ(kernel.dynamicSharedBytes, 65536);
  ASSERT_EQ(kernel.parameters.size(), 5u);
  const PlanTensorMap &map = kernel.parameters[0].tensorMap;
  EXPECT_EQ(map.buffer.kind, PlanBuffer::Kind::Argument);
  EXPECT_EQ(evaluate(map.strides[0], inputs), 128);
  EXPECT_EQ(map.swizzle, 128);
  EXPECT_EQ(kernel.parameters[1].buffer.kind, PlanBuffer::Kind::Temporary);
  EXPECT_EQ(kernel.parameters[2].kind, PlanParameter::Kind::Int64);
  EXPECT_EQ(kernel.parameters[3].kind, PlanParameter::Kind::Int32);
  EXPECT_EQ(kernel.parameters[4].buffer.kind, PlanBuffer::Kind::Result);
}

TEST(LaunchPlanTest, Errors) {
  EXPECT_EQ(getError("["), "line 1: the text ends too early");
  EXPECT_EQ(getError("[]"), "line 1: expected an object with 'schema_version'");
  EXPECT_EQ(getError(replace("\"schema_version\": 1", "\"schema_version\": 2")),
            "line 2: the schema's version is not 1");
  EXPECT_EQ(getError(replace("\"entry\": \"k\",", "")),
            "line 11: 'entry' is missing");
  EXPECT_EQ(
      getError(replace("[\"temporary\", 0]", "[\"stack\", 0]")),
      "line 23: expected [\"argument\" | \"temporary\" | \"result\", number]");
  EXPECT_EQ(getError(replace("[\"temporary\", 0]", "[\"temporary\", 1]")),
            "line 23: there is no temporary 1");
  EXPECT_EQ(getError(replace("\"i32\"", "\"i16\"")),
            "line 25: expected one of pointer, i32, i64 and tensor_map");
  EXPECT_EQ(getError(replace("\"block\": [384, 1, 1]", "\"block\": [384]")),
            "line 15: expected three values");
  EXPECT_EQ(getError(replace("\"box\": [128, 128]", "\"box\": [128]")),
            "line 19: sizes, strides and box do not fit one another");
  EXPECT_EQ(getError(replace("\"fill\": \"zero\"", "\"fill\": \"nan\"")),
            "line 22: unknown fill 'nan'");
  EXPECT_EQ(getError(replace("f8E4M3FN", "f8")),
            "line 7: unknown element type 'f8'");
  EXPECT_EQ(getError(replace("[null, 128]", "[-1, 128]")),
            "line 7: expected a number that is not negative");
}

TEST(LaunchPlanTest, BadFormulas) {
  auto getFormulaError = [](const std::string &formula) {
    return getError(replace("[\"lt\", 0, [\"dim\", 0, 0]]", formula));
  };
  EXPECT_EQ(getFormulaError("\"dim\""),
            "line 10: expected a number, or an array that begins with an "
            "operation");
  EXPECT_EQ(getFormulaError("[]"),
            "line 10: expected a number, or an array that begins with an "
            "operation");
  EXPECT_EQ(getFormulaError("[\"pow\", 1, 2]"),
            "line 10: unknown operation 'pow'");
  EXPECT_EQ(getFormulaError("[\"add\", 1]"), "line 10: 'add' takes 2 operands");
  EXPECT_EQ(getFormulaError("[\"dim\", -1, 0]"),
            "line 10: expected a number that is not negative");
  EXPECT_EQ(getFormulaError("[\"dim\", 0, 2]"),
            "line 10: there is no dimension 2 of argument 0");
  EXPECT_EQ(getFormulaError("[\"stride\", 1, 0]"),
            "line 10: there is no dimension 0 of argument 1");
  EXPECT_EQ(getFormulaError("[\"add\", 1, 1.5]"),
            "line 10: a number is not an integer");
}

TEST(LaunchPlanTest, ElementBits) {
  EXPECT_EQ(getElementBits("f4E2M1FN"), 4u);
  EXPECT_EQ(getElementBits("f8E8M0FNU"), 8u);
  EXPECT_EQ(getElementBits("bf16"), 16u);
  EXPECT_EQ(getElementBits("f32"), 32u);
  EXPECT_EQ(getElementBits("tensor"), std::nullopt);
}
