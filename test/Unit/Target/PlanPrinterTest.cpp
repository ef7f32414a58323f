//===- PlanPrinterTest.cpp - Plans as text --------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Target/PlanPrinter.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "gtest/gtest.h"

using namespace lpfa;

// Has every kind of formula, buffer and parameter.
static const char text[] = R"({
  "schema_version": 1,
  "chip": "sm_100a",
  "ptxas_version": "13.4",
  "functions": [{
    "function": "f",
    "arguments": [{"element": "f8E4M3FN", "shape": [null, 128]}],
    "results": [{"element": "bf16", "shape": [["dim", 0, 0], 128]}],
    "temporaries": [{"bytes": ["mul", ["ceildiv", ["dim", 0, 0], 128],
                               ["select", ["eq", ["dim", 0, 0], 1], 2, 3]]}],
    "checks": [{"condition": ["lt", 0, ["dim", 0, 0]], "message": "no \"rows\""}],
    "kernels": [{
      "module": "m",
      "entry": "k",
      "grid": [["min", ["dim", 0, 0], ["multiprocessors"]], 1, 1],
      "block": [384, 1, 1],
      "cluster": [2, 1, 1],
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

TEST(PlanPrinterTest, WriteWhatWasRead) {
  std::string error;
  std::optional<ModulePlan> plan = parsePlan(text, error);
  ASSERT_TRUE(plan.has_value()) << error;
  std::string written = printPlan(*plan);
  EXPECT_EQ(llvm::cantFail(llvm::json::parse(written)),
            llvm::cantFail(llvm::json::parse(text)));
}
