//===- LaunchPlanTest.cpp - Plans as text ---------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Target/LaunchPlan.h"
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

static std::string getError(llvm::StringRef text) {
  llvm::Expected<ModulePlan> plan = parsePlan(text);
  return plan ? "" : llvm::toString(plan.takeError());
}

/// `text` with its first `from` replaced.
static std::string replace(llvm::StringRef from, llvm::StringRef to) {
  auto [before, after] = llvm::StringRef(text).split(from);
  EXPECT_NE(before.size(), llvm::StringRef(text).size());
  return (before + to + after).str();
}

TEST(LaunchPlanTest, Read) {
  ModulePlan plan = cantFail(parsePlan(text));
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
  EXPECT_EQ(cantFail(f.temporaries[0].bytes.evaluate(inputs)), 3 * 512);
  EXPECT_EQ(cantFail(f.results[0].shape[0].evaluate(inputs)), 300);
  EXPECT_EQ(cantFail(f.checks[0].condition.evaluate(inputs)), 1);

  const PlanKernel &kernel = f.kernels[0];
  EXPECT_EQ(kernel.entry, "k");
  EXPECT_EQ(cantFail(kernel.grid[0].evaluate(inputs)), 3);
  EXPECT_EQ(kernel.block[0], 384);
  EXPECT_EQ(kernel.dynamicSharedBytes, 65536);
  ASSERT_EQ(kernel.parameters.size(), 5u);
  const PlanTensorMap &map = kernel.parameters[0].tensorMap;
  EXPECT_EQ(map.buffer.kind, PlanBuffer::Kind::Argument);
  EXPECT_EQ(cantFail(map.strides[0].evaluate(inputs)), 128);
  EXPECT_EQ(map.swizzle, 128);
  EXPECT_EQ(kernel.parameters[1].buffer.kind, PlanBuffer::Kind::Temporary);
  EXPECT_EQ(kernel.parameters[2].kind, PlanParameter::Kind::Int64);
  EXPECT_EQ(kernel.parameters[3].kind, PlanParameter::Kind::Int32);
  EXPECT_EQ(kernel.parameters[4].buffer.kind, PlanBuffer::Kind::Result);
}

TEST(LaunchPlanTest, WriteWhatWasRead) {
  ModulePlan plan = cantFail(parsePlan(text));
  std::string written = printPlan(plan);
  EXPECT_EQ(cantFail(llvm::json::parse(written)),
            cantFail(llvm::json::parse(text)));
  EXPECT_EQ(printPlan(cantFail(parsePlan(written))), written);
}

TEST(LaunchPlanTest, Errors) {
  EXPECT_NE(getError("["), "");
  EXPECT_NE(getError(replace("\"schema_version\": 1", "\"schema_version\": 2"))
                .find("unknown version"),
            std::string::npos);
  EXPECT_NE(getError(replace("\"entry\": \"k\",", "")).find("missing value"),
            std::string::npos);
  EXPECT_NE(getError(replace("[\"temporary\", 0]", "[\"stack\", 0]"))
                .find("expected [\"argument\""),
            std::string::npos);
  EXPECT_NE(getError(replace("\"i32\"", "\"i16\""))
                .find("expected one of pointer, i32, i64 and tensor_map"),
            std::string::npos);
  EXPECT_NE(getError(replace("\"block\": [384, 1, 1]", "\"block\": [384]"))
                .find("expected three values"),
            std::string::npos);
  EXPECT_NE(getError(replace("\"box\": [128, 128]", "\"box\": [128]"))
                .find("do not fit one another"),
            std::string::npos);
}

TEST(LaunchPlanTest, ElementBits) {
  EXPECT_EQ(getElementBits("f4E2M1FN"), 4u);
  EXPECT_EQ(getElementBits("f8E8M0FNU"), 8u);
  EXPECT_EQ(getElementBits("bf16"), 16u);
  EXPECT_EQ(getElementBits("f32"), 32u);
  EXPECT_EQ(getElementBits("tensor"), std::nullopt);
}
