//===- TensorCoreBenchmark.cpp - Speed of the MMA model ---------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How fast one core simulates matrix instructions of 128 x 128 x K. The counter
// is multiply-adds a second.
//
//===----------------------------------------------------------------------===//

#include "lpfa/Simulator/TensorCore.h"
#include <benchmark/benchmark.h>
#include <cmath>
#include <random>
#include <vector>

using namespace lpfa::sim;

static void runMma(benchmark::State &state, ElementFormat format, unsigned k,
                   unsigned scaleVectors, MmaArithmetic arithmetic) {
  constexpr unsigned m = 128, n = 128;
  bool packsNibbles = k == 64;
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 100);
  auto makeOperand = [&](unsigned rows) {
    std::vector<uint8_t> codes;
    for (unsigned i = 0; i != rows * k; ++i) {
      uint32_t code =
          encode(format, packsNibbles ? normal(random) / 50 : normal(random));
      for (unsigned byte = 0; byte != containerBytes(format); ++byte)
        codes.push_back(static_cast<uint8_t>(code >> (8 * byte)));
    }
    return codes;
  };
  std::vector<uint8_t> a = makeOperand(m), b = makeOperand(n);
  std::vector<uint8_t> scales(size_t(m) * 4, 120);
  std::vector<uint32_t> d(m * n);
  MmaProblem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.arithmetic = arithmetic;
  problem.a = {format, a.data(), false, scales.data()};
  problem.b = {format, b.data(), false, scales.data()};
  problem.accumulate = true;
  problem.scaleVectors = scaleVectors;
  problem.packsNibbles = packsNibbles;
  for (auto _ : state) {
    multiply(problem, d.data(), 1, m);
    benchmark::DoNotOptimize(d.data());
    benchmark::ClobberMemory();
  }
  state.counters["MAC/s"] = benchmark::Counter(
      double(m) * n * k, benchmark::Counter::kIsIterationInvariantRate);
}

BENCHMARK_CAPTURE(runMma, mxf8f6f4_e4m3, ElementFormat::E4M3, 32, 1,
                  MmaArithmetic::Hardware);
BENCHMARK_CAPTURE(runMma, f8f6f4_e5m2, ElementFormat::E5M2, 32, 0,
                  MmaArithmetic::Hardware);
BENCHMARK_CAPTURE(runMma, mxf4, ElementFormat::E2M1, 64, 2,
                  MmaArithmetic::Hardware);
BENCHMARK_CAPTURE(runMma, f16_bf16, ElementFormat::BF16, 16, 0,
                  MmaArithmetic::Hardware);
BENCHMARK_CAPTURE(runMma, tf32, ElementFormat::TF32, 8, 0,
                  MmaArithmetic::Hardware);
BENCHMARK_CAPTURE(runMma, mxf8f6f4_e4m3_exact, ElementFormat::E4M3, 32, 1,
                  MmaArithmetic::Exact);

BENCHMARK_MAIN();
