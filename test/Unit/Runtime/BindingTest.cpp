//===- BindingTest.cpp - Checking a launch --------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Runtime/Launch.h"
#include "gtest/gtest.h"

using namespace lpfa;
using Kind = Formula::Kind;

/// f(x: ?x64 bf16, y: ? i8) -> (rows x 64 bf16, rows / 32 i8), with a tensor
/// map of x, two temporaries, and a 32-bit parameter for the rows.
static LaunchPlan getPlan() {
  Formula rows = Formula::dimension(0, 0), length = Formula::dimension(1, 0);
  Formula blocks = Formula::get(Kind::CeilDiv, {rows, 32});
  LaunchPlan plan;
  plan.function = "f";
  plan.arguments = {{"bf16", {-1, 64}}, {"i8", {-1}}};
  plan.results = {{"bf16", {rows, 64}}, {"i8", {blocks}}};
  plan.temporaries = {{rows * Formula(3)}, {Formula(5)}};
  plan.checks = {
      {Formula::get(Kind::LessEqual, {length, rows}), "y is longer"}};
  PlanKernel kernel;
  kernel.module = "m";
  kernel.entry = "k";
  kernel.grid = {Formula::get(Kind::Min, {blocks, Formula::multiprocessors()}),
                 1, 1};
  kernel.block = {128, 1, 1};
  PlanParameter map, pointer, size, narrow;
  map.kind = PlanParameter::Kind::TensorMap;
  map.tensorMap.buffer = {PlanBuffer::Kind::Argument, 0};
  map.tensorMap.element = "bf16";
  map.tensorMap.sizes = {64, Formula::get(Kind::Max, {rows, 1})};
  map.tensorMap.strides = {Formula::stride(0, 0) * Formula(2)};
  map.tensorMap.box = {64, 128};
  map.tensorMap.swizzle = 128;
  pointer.buffer = {PlanBuffer::Kind::Temporary, 1};
  size.kind = PlanParameter::Kind::Int64;
  size.value = length;
  narrow.kind = PlanParameter::Kind::Int32;
  narrow.value = rows;
  kernel.parameters = {map, pointer, size, narrow};
  plan.kernels = {kernel};
  return plan;
}

namespace {
/// A launch that is right; the tests spoil it.
struct LaunchTest : testing::Test {
  LaunchPlan plan = getPlan();
  std::vector<TensorRef> arguments = {{0x10000, "bf16", {100, 64}, {}},
                                      {0x20000, "i8", {7}, {}}};
  std::vector<TensorRef> results = {{0x30000, "bf16", {100, 64}, {}},
                                    {0x40000, "i8", {4}, {}}};
  uint64_t workspace = 0x50000;

  std::optional<std::vector<BoundKernel>> bind(std::string &error) {
    return bindLaunch(plan, arguments, results, workspace,
                      /*multiprocessors=*/3, error);
  }
  std::vector<BoundKernel> bind() {
    std::string error;
    auto kernels = bind(error);
    EXPECT_TRUE(kernels.has_value()) << error;
    return kernels.value_or(std::vector<BoundKernel>());
  }
  std::string getError() {
    std::string error;
    EXPECT_FALSE(bind(error).has_value());
    return error;
  }
};
} // namespace

TEST_F(LaunchTest, Binds) {
  std::string error;
  auto shape = inferShape(plan, arguments, 3, error);
  ASSERT_TRUE(shape.has_value()) << error;
  EXPECT_EQ(shape->results,
            (std::vector<std::vector<int64_t>>{{100, 64}, {4}}));
  // 300 and 5 bytes, each rounded to 256.
  EXPECT_EQ(shape->workspaceBytes, 512u + 256u);

  std::vector<BoundKernel> kernels = bind();
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].grid, (std::array<uint32_t, 3>{3, 1, 1}));
  const auto &parameters = kernels[0].parameters;
  ASSERT_EQ(parameters.size(), 4u);
  ASSERT_TRUE(parameters[0].map.has_value());
  const BoundTensorMap &map = *parameters[0].map;
  EXPECT_EQ(map.address, 0x10000u);
  EXPECT_EQ(map.sizes, (std::vector<uint64_t>{64, 100}));
  EXPECT_EQ(map.strides, (std::vector<uint64_t>{128}));
  EXPECT_EQ(map.box, (std::vector<uint32_t>{64, 128}));
  EXPECT_EQ(parameters[1].value, 0x50000u + 512u);
  EXPECT_EQ(parameters[2].value, 7u);
  EXPECT_EQ(parameters[3].value, 100u);
  EXPECT_EQ(parameters[3].bytes, 4u);
}

TEST_F(LaunchTest, StridedArgument) {
  arguments[0].strides = {72, 1};
  EXPECT_EQ(bind()[0].parameters[0].map->strides, (std::vector<uint64_t>{144}));
  arguments[0].strides = {-72, 1};
  EXPECT_EQ(getError(), "argument 0: stride 0 is -72, which is negative");
  arguments[0].strides = {128, 2};
  EXPECT_EQ(getError(),
            "argument 0: stride 1 is 2, but the kernels take only 1 there");
  arguments[0].strides = {1};
  EXPECT_EQ(getError(), "argument 0: there are 1 strides for 2 dimensions");
  // No kernel is given the stride of y; of one element it has no meaning.
  arguments[0].strides = {};
  arguments[1].strides = {2};
  EXPECT_EQ(getError(),
            "argument 1: stride 0 is 2, but the kernels take only 1 there");
  arguments[1].sizes = {1};
  bind();
}

TEST_F(LaunchTest, NothingToLaunch) {
  arguments[0].sizes[0] = results[0].sizes[0] = 0;
  arguments[1].sizes = results[1].sizes = {0};
  // Empty tensors may be null.
  for (auto *group : {&arguments, &results})
    for (TensorRef &tensor : *group)
      tensor.address = 0;
  EXPECT_TRUE(bind().empty());
}

TEST_F(LaunchTest, BadArguments) {
  auto right = arguments;
  arguments.pop_back();
  EXPECT_EQ(getError(), "f takes 2 arguments, not 1");
  arguments = right;
  arguments[0].element = "f16";
  EXPECT_EQ(getError(), "argument 0: the elements are f16, expected bf16");
  plan.arguments[0].element = arguments[0].element = "index";
  EXPECT_EQ(getError(), "argument 0: kernels take no index");
  plan.arguments[0].element = "bf16";
  arguments = right;
  arguments[0].sizes = {100, 65};
  EXPECT_EQ(getError(), "argument 0: the shape is 100x65, expected ?x64");
  arguments[0].sizes = {100};
  EXPECT_EQ(getError(), "argument 0: the shape is 100, expected ?x64");
  arguments[0].sizes = {-1, 64};
  EXPECT_EQ(getError(), "argument 0: the shape is ?x64, expected ?x64");
  arguments[0].sizes = {int64_t(1) << 58, 64};
  EXPECT_EQ(getError(), "argument 0: the tensor is too large");
  arguments = right;
  arguments[1].sizes = {101};
  EXPECT_EQ(getError(), "y is longer");
}

TEST_F(LaunchTest, BadResults) {
  auto right = results;
  results.pop_back();
  EXPECT_EQ(getError(), "f has 2 results, not 1");
  results = right;
  results[1].element = "i16";
  EXPECT_EQ(getError(), "result 1: the elements are i16, expected i8");
  results = right;
  results[1].sizes = {5};
  EXPECT_EQ(getError(), "result 1: the shape is 5, expected 4");
  results = right;
  results[0].strides = {72, 1};
  EXPECT_EQ(getError(), "result 0: results are contiguous");
}

TEST_F(LaunchTest, BadPointers) {
  arguments[1].address = 0;
  EXPECT_EQ(getError(), "argument 1: the pointer is null");
  arguments[1].address = 0x20008;
  EXPECT_EQ(getError(), "argument 1: the address is not a multiple of 16");
  arguments[1].address = 0x20010;
  bind();
  results[0].address = 0;
  EXPECT_EQ(getError(), "result 0: the pointer is null");
  results[0].address = ~uint64_t(15);
  EXPECT_EQ(getError(), "result 0: the tensor goes beyond the end of memory");
  results[0].address = 0x30000;
  workspace = 0x50010;
  EXPECT_EQ(getError(), "the workspace: the address is not a multiple of 256");
  workspace = 0;
  EXPECT_EQ(getError(), "the workspace: the pointer is null");
}

TEST_F(LaunchTest, Overlap) {
  // x has 12,800 bytes; its neighbors may touch it.
  results[1].address = 0x10000 + 12800;
  bind();
  results[1].address -= 16;
  EXPECT_EQ(getError(), "result 1 overlaps argument 0");
  results[1].address = 0x30000 + 32;
  EXPECT_EQ(getError(), "result 1 overlaps result 0");
  results[1].address = 0x50000 + 752;
  EXPECT_EQ(getError(), "the workspace overlaps result 1");
  results[1].address = 0x40000;
  // Arguments are only read.
  arguments[1].address = 0x10000;
  bind();
  // Padding between rows belongs to the argument.
  arguments[0].strides = {128, 1};
  results[1].address = 0x10000 + 12800;
  EXPECT_EQ(getError(), "result 1 overlaps argument 0");
}

TEST_F(LaunchTest, TensorMapLimits) {
  PlanTensorMap &map = plan.kernels[0].parameters[0].tensorMap;
  arguments[0].strides = {68, 1};
  EXPECT_EQ(getError(), "kernel k: TMA of argument 0: a stride of 136 bytes, "
                        "multiples of 16 below 2^40 are possible");
  arguments[0].strides = {};
  map.sizes[0] = int64_t(1) << 31;
  bind();
  map.sizes[0] = (int64_t(1) << 31) + 1;
  EXPECT_EQ(getError(), "kernel k: TMA of argument 0: a dimension of "
                        "2147483649, from 1 to 2^31 are possible");
  map.sizes[0] = 64;
  map.box[1] = 257;
  EXPECT_EQ(getError(), "kernel k: TMA of argument 0: a box of 257, from 1 to "
                        "256 are possible");
  map.box = {128, 64};
  EXPECT_EQ(getError(), "kernel k: TMA of argument 0: a box of 256 bytes in a "
                        "row with a swizzle of 128");
  map.swizzle = 0;
  bind();
  map.box = {12, 64};
  EXPECT_EQ(getError(), "kernel k: TMA of argument 0: a box of 24 bytes in a "
                        "row with a swizzle of 0");
}

TEST_F(LaunchTest, IndexRange) {
  // 2^31 rows of 64: only the 32-bit parameter is too narrow.
  int64_t rows = int64_t(1) << 31;
  arguments[0] = {uint64_t(1) << 44, "bf16", {rows, 64}, {}};
  results[0] = {uint64_t(1) << 45, "bf16", {rows, 64}, {}};
  results[1] = {uint64_t(1) << 46, "i8", {rows / 32}, {}};
  workspace = uint64_t(1) << 47;
  EXPECT_EQ(getError(), "kernel k: a size or stride of 2147483648 is past the "
                        "32-bit index range");
  plan.kernels[0].parameters.pop_back();
  EXPECT_EQ(bind()[0].parameters[0].map->sizes[1], uint64_t(rows));

  plan.kernels[0].grid[1] = Formula::dimension(0, 0);
  EXPECT_EQ(getError(), "kernel k: a grid of 2147483648 in dimension 1, at "
                        "most 65535 are possible");
  plan.kernels[0].grid = {Formula::dimension(0, 0), 1, 1};
  EXPECT_EQ(getError(), "kernel k: a grid of 2147483648 in dimension 0, at "
                        "most 2147483647 are possible");
}

TEST_F(LaunchTest, Cluster) {
  plan.kernels[0].cluster = {2, 1, 1};
  EXPECT_EQ(getError(),
            "kernel k: a grid of 3 is no multiple of the cluster's 2");
}

TEST(FindFunctionTest, Names) {
  ModulePlan plan;
  std::string error;
  EXPECT_EQ(findFunction(plan, "", error), nullptr);
  EXPECT_EQ(error, "choose a function: the plan has none");
  plan.functions.resize(1);
  plan.functions[0].function = "f";
  EXPECT_EQ(findFunction(plan, "", error), &plan.functions[0]);
  plan.functions.push_back({"g", {}, {}, {}, {}, {}});
  EXPECT_EQ(findFunction(plan, "g", error), &plan.functions[1]);
  EXPECT_EQ(findFunction(plan, "", error), nullptr);
  EXPECT_EQ(error, "choose a function: the plan has f, g");
  EXPECT_EQ(findFunction(plan, "h", error), nullptr);
  EXPECT_EQ(error, "no function h: the plan has f, g");
}

TEST(DeviceTest, Compatible) {
  EXPECT_TRUE(isCompatible("sm_90a", 90));
  EXPECT_FALSE(isCompatible("sm_100a", 90));
  EXPECT_FALSE(isCompatible("sm_100a", 103));
  EXPECT_FALSE(isCompatible("sm_103a", 100));
  EXPECT_TRUE(isCompatible("sm_100f", 103));
  EXPECT_FALSE(isCompatible("sm_103f", 100));
  EXPECT_TRUE(isCompatible("sm_80", 86));
  EXPECT_FALSE(isCompatible("sm_86", 80));
  EXPECT_FALSE(isCompatible("sm_80", 90));
  for (const char *chip : {"", "sm_", "sm_90x", "90a", "gfx942"})
    EXPECT_FALSE(isCompatible(chip, 90)) << chip;
}
