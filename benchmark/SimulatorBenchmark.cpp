//===- SimulatorBenchmark.cpp - Speed of simulated kernels ------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How many thread instructions a second one core runs, without checks and with
// all of them: arithmetic like a softmax row's, loads and stores of shared
// memory between barriers, and a stream through global memory.
//
//===----------------------------------------------------------------------===//

#include "lpfa/Simulator/Simulator.h"
#include <benchmark/benchmark.h>
#include <string>
#include <vector>

using namespace lpfa::sim;

static std::string kernel(const std::string &body) {
  return R"(.version 8.8
.target sm_100a
.address_size 64
.shared .align 16 .b8 tile[4096];
.visible .entry kernel(.param .u64 x, .param .u64 y) {
  .reg .b32 %t, %c, %i, %a, %r<8>; .reg .b64 %x, %y; .reg .b16 %h;
  .reg .f32 %f<40>; .reg .b64 %w<8>; .reg .pred %q;
  mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x;
  ld.param.u64 %x, [x]; ld.param.u64 %y, [y];
  mad.lo.u32 %a, %c, 128, %t;
  mad.wide.u32 %x, %a, 16, %x; mad.wide.u32 %y, %a, 16, %y;
  mov.u32 %a, tile; mad.lo.u32 %a, %t, 16, %a;
  mov.u32 %i, 0;
  mov.f32 %f0, 0f3F000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0;
  mov.f32 %f3, %f0; mov.b64 %w0, {%f0, %f1}; mov.b64 %w1, %w0;
  mov.b32 %r0, 1; mov.b32 %r1, 2; mov.b32 %r2, 3; mov.b32 %r3, 4;
loop:
)" + body +
         R"(
  add.u32 %i, %i, 1;
  setp.lt.u32 %q, %i, 200;
  @%q bra loop;
  st.global.v4.f32 [%y], {%f0, %f1, %f2, %f3};
  ret;
}
)";
}

static std::string repeat(const std::string &text, unsigned count) {
  std::string all;
  for (unsigned i = 0; i != count; ++i)
    all += text;
  return all;
}

/// What a row of a softmax does for each element.
static const std::string arithmetic = kernel(repeat(R"(
  max.f32 %f2, %f0, %f1;
  fma.rn.f32x2 %w1, %w0, %w0, %w1;
  ex2.approx.ftz.f32 %f3, %f0;
  add.f32 %f1, %f3, %f2;
  cvt.rn.satfinite.e4m3x2.f32 %h, %f1, %f3;
  shl.b32 %r1, %r0, 3;
  add.u32 %r0, %r1, %r2;
  mul.f32 %f1, %f1, %f0;
)",
                                                    8));

static const std::string exchange = kernel(repeat(R"(
  st.shared.v4.b32 [%a], {%r0, %r1, %r2, %r3};
  add.u32 %r0, %r0, %r1;
  bar.sync 0;
  xor.b32 %r4, %a, 512;
  ld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [%r4];
  add.u32 %r1, %r1, %r0;
  bar.sync 0;
)",
                                                  4));

static const std::string stream = kernel(R"(
  ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%x];
  add.f32 %f0, %f0, %f1;
  add.f32 %f1, %f1, %f2;
  st.global.v4.f32 [%y], {%f0, %f1, %f2, %f3};
  add.u64 %x, %x, 8192;
  add.u64 %y, %y, 8192;
)");

static void runKernel(benchmark::State &state, const std::string &text,
                      bool checked) {
  auto module = PTXModule::parse(text, "benchmark.ptx");
  if (!module)
    return state.SkipWithError(llvm::toString(module.takeError()).c_str());
  std::vector<uint8_t> x(2 << 20, 0x3F), y(2 << 20);
  Launch launch;
  launch.entry = "kernel";
  launch.grid = {4, 1, 1};
  launch.block = {128, 1, 1};
  Options options;
  options.threads = 1;
  if (llvm::Error e =
          parseChecks(checked ? "all,strict-fences" : "none", options.checks))
    return state.SkipWithError(llvm::toString(std::move(e)).c_str());
  uint64_t instructions = 0;
  for (auto _ : state) {
    DeviceMemory memory;
    launch.parameters = {Parameter::buffer(memory.addBuffer("x", x)),
                         Parameter::buffer(memory.addBuffer("y", y))};
    auto report = simulate(**module, launch, memory, options);
    if (!report)
      return state.SkipWithError(llvm::toString(report.takeError()).c_str());
    if (!report->ok())
      return state.SkipWithError(report->findings.front().message.c_str());
    instructions += report->statistics.threadInstructions;
  }
  state.counters["instructions/s"] =
      benchmark::Counter(instructions, benchmark::Counter::kIsRate);
}

BENCHMARK_CAPTURE(runKernel, arithmetic_unchecked, arithmetic, false);
BENCHMARK_CAPTURE(runKernel, arithmetic_checked, arithmetic, true);
BENCHMARK_CAPTURE(runKernel, exchange_unchecked, exchange, false);
BENCHMARK_CAPTURE(runKernel, exchange_checked, exchange, true);
BENCHMARK_CAPTURE(runKernel, stream_unchecked, stream, false);
BENCHMARK_CAPTURE(runKernel, stream_checked, stream, true);
