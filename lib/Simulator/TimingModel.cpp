//===- TimingModel.cpp - What instructions take ---------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncEngine.h"
#include "Timing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>

using namespace lpfa::sim;
using llvm::StringRef;

const char *lpfa::sim::nameOf(TimedUnit unit) {
  static constexpr const char *names[] = {
      "issue slots", "FMA",           "ALU",           "exponentials",
      "conversions", "tensor memory", "shared memory", "tensor pipe",
      "TMA issue",   "L2 port"};
  return names[unsigned(unit)];
}

TimingModel::TimingModel(StringRef chip)
    : isBlackwellUltra(chip == "sm_103a"),
      // Clocks that the published figures were measured at [SA, QRC].
      clockGHz(isBlackwellUltra ? 1.92 : 1.965),
      expRate(isBlackwellUltra ? 32 : 16) {}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

namespace {

/// The opcode with its modifiers.
struct Opcode {
  explicit Opcode(StringRef text) {
    if (text.starts_with("@"))
      text = text.substr(text.find_first_of(" \t")).ltrim();
    operands = text;
    StringRef name = text.take_until(
        [](char c) { return c == ' ' || c == '\t' || c == ';'; });
    operands = text.drop_front(name.size());
    name.split(parts, '.');
  }
  StringRef base() const { return parts[0]; }
  bool has(StringRef m) const {
    return llvm::is_contained(llvm::ArrayRef(parts).drop_front(), m);
  }
  /// Bytes of the last type and the vector.
  unsigned laneBytes() const {
    unsigned bits = 32, count = has("v2")   ? 2
                                : has("v4") ? 4
                                : has("v8") ? 8
                                            : 1;
    for (StringRef p : parts)
      if (p.size() > 1 && StringRef("bsuf").contains(p[0]))
        p.drop_front().getAsInteger(10, bits);
    return count * bits / 8;
  }
  llvm::SmallVector<StringRef, 8> parts;
  StringRef operands;
};

/// Results a clock and SM, as clocks that a warp takes in a sub-partition.
float cyclesAt(double perSm) { return 4 * 32 / perSm; }

} // namespace

InstructionCost TimingModel::costOf(StringRef text) const {
  Opcode op(text);
  StringRef base = op.base();
  InstructionCost cost;
  auto on = [&](TimedUnit unit, double perSm, float latency = 4) {
    cost.unit = unit;
    cost.cycles = cyclesAt(perSm);
    cost.latency = latency;
    cost.isArithmetic = true;
    return cost;
  };
  bool isFloat = op.has("f32") || op.has("f16") || op.has("bf16") ||
                 op.has("f16x2") || op.has("bf16x2") || op.has("f32x2");

  // Register copies and changes of type are the assembler's business.
  if ((base == "mov" && !op.operands.contains("%tid") &&
       !op.operands.contains("%cta")) ||
      base == "cvta" || base == "pragma") {
    cost.slots = cost.latency = 0;
    cost.isArithmetic = true;
    return cost;
  }
  if (base == "fma" || base == "add" || base == "sub" || base == "mul" ||
      base == "mad") {
    if (op.has("f32x2"))
      return on(TimedUnit::Fma, 64); // [QRC]: no gain but in issue slots
    if (isFloat)
      return on(TimedUnit::Fma, 128);
    if (base == "mul" || base == "mad")
      return on(TimedUnit::Fma, 64); // IMAD
    // 64-bit integers are two instructions.
    InstructionCost c = on(TimedUnit::Alu, 64);
    if (op.has("u64") || op.has("s64")) {
      c.slots = 2;
      c.cycles *= 2;
    }
    return c;
  }
  if (base == "ex2" || base == "lg2" || base == "rcp" || base == "rsqrt" ||
      base == "sqrt" || base == "sin" || base == "cos" || base == "tanh") {
    InstructionCost c =
        on(TimedUnit::Exp, base == "ex2" ? expRate : 16, 16); // [QRC, FGS]
    // Subnormals are scaled before and after.
    if (!op.has("ftz") && op.has("f32"))
      c.slots = 3;
    return c;
  }
  if (base == "div")
    return cost.slots = 8, on(TimedUnit::Exp, 16, 40);
  if (base == "cvt") {
    bool narrows = op.has("e4m3x2") || op.has("e5m2x2");
    if (narrows && op.has("f32"))
      return on(TimedUnit::Convert, 32, 10); // [HAO, QRC]
    return on(TimedUnit::Convert, 64, 10);   // [HAO, QRC]
  }
  if (base == "redux")
    // 1.92 warps a clock and SM; additions 0.5 [QRC].
    return on(TimedUnit::Alu, op.has("add") ? 16 : 61, 20);
  if (base == "shfl" || base == "match")
    return on(TimedUnit::Shared, 128, 24); // 32 lanes a clock and SM [CUDA]
  if (base == "ld" || base == "st" || base == "ldmatrix" ||
      base == "stmatrix" || base == "atom" || base == "red" || base == "ldu") {
    if (op.has("param") || op.has("const"))
      return cost;
    bool isShared =
        base.ends_with("matrix") || op.has("shared") || op.has("shared::cta");
    cost.unit = isShared ? TimedUnit::Shared : TimedUnit::L2;
    cost.laneBytes = base.ends_with("matrix") ? 16 : op.laneBytes();
    cost.latency = isShared ? sharedLatency : loadLatency;
    return cost;
  }
  if (base == "bar" || base == "barrier") {
    cost.latency = barrierLatency;
    return cost;
  }
  if (base == "mbarrier") {
    cost.unit = TimedUnit::Shared;
    cost.cycles = 1;
    cost.latency = waitLatency;
    return cost;
  }
  if (base == "bra" || base == "ret" || base == "exit" || base == "tcgen05" ||
      base == "cp" || base == "fence" || base == "membar" ||
      base == "griddepcontrol" || base == "setmaxnreg" || base == "prefetch" ||
      base == "elect" || base == "trap" || base == "nanosleep")
    return cost;
  // Logic, shifts, permutations, comparisons, selections, minima, votes.
  return on(TimedUnit::Alu, 64); // [QRC]
}

//===----------------------------------------------------------------------===//
// The tensor pipe
//===----------------------------------------------------------------------===//

/// Linear between the measured points, proportional to N behind the last one.
static double interpolate(llvm::ArrayRef<std::pair<unsigned, double>> points,
                          unsigned n) {
  if (n <= points.front().first)
    return points.front().second;
  for (size_t i = 1; i != points.size(); ++i) {
    auto [n0, t0] = points[i - 1];
    auto [n1, t1] = points[i];
    if (n <= n1)
      return t0 + (t1 - t0) * (n - n0) / (n1 - n0);
  }
  return points.back().second * n / points.back().first;
}

double TimingModel::mmaInterval(const Work &mma) const {
  unsigned n = mma.n;
  // [SA]: umma_throughput/tput_results_max.csv; [QRC] for B300. The same for
  // every kind, whose K is 32 bytes.
  if (mma.ctaGroup == 2 && mma.m == 128)
    return interpolate({{64, 25}, {80, 27}, {96, 29}, {112, 30}, {128, 32}}, n);
  if (mma.m == 64 || mma.aInTensorMemory)
    return std::max(n, 64u) / 2.0;
  if (mma.ctaGroup == 2)
    return interpolate({{64, 43}, {80, 45.4}, {96, 49.4}, {112, 56}, {128, 64}},
                       n);
  if (isBlackwellUltra)
    return interpolate({{64, 48}, {96, 48}, {128, 64}}, n);
  return std::max(n / 2.0, n / 4.0 + 32);
}

double TimingModel::mmaLatency(const Work &mma) const {
  // [SA]: umma_latency/fit_results.csv: what a single mma takes beyond N / 2.
  double single = mma.ctaGroup == 2     ? (mma.aInTensorMemory ? 138 : 170)
                  : mma.aInTensorMemory ? 104
                  : mma.m == 64         ? 120
                                        : 136;
  return std::max(0.0, mma.n / 2.0 + single - mmaInterval(mma));
}

std::vector<std::string> TimingModel::assumptions() const {
  return {
      "every PTX instruction is one instruction of the machine; register "
      "copies are none, ex2 without .ftz is three, 64-bit integer additions "
      "two, a division eight",
      "the assembler's order hides 256 clocks of latency of arithmetic and of "
      "queues in front of units",
      "shared memory has no bank conflicts; MMA, copies and warps take turns "
      "at "
      "its 128 bytes a clock",
      "global loads hit in L2 and get 64 bytes a clock and SM; each buffer "
      "comes once from device memory at 7.2 TB/s",
      "a TMA load takes 700 clocks from L2, shared memory 30, bar.sync 30, a "
      "wait that holds 20",
      "scale copies take shared memory's bandwidth and 100 clocks",
      "the clock stays at its maximum; no throttling, no cost of launch"};
}
