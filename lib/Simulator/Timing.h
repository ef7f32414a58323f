//===- Timing.h - A model of how long kernels take --------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An event-driven estimate. Every PTX instruction counts as one instruction of
// the machine unless the table of costs says otherwise; warps issue in order,
// one instruction a clock in each of an SM's four sub-partitions; units are
// servers with a rate and a latency. Rates are measurements that others
// published:
//
//   [SA]   SemiAnalysisAI/microbench-blackwell (tcgen05.mma, memory latency)
//   [QRC]  ademeure/QuickRunCUDA (pipes, tensor memory, B300)
//   [HAO]  hao-ai-lab/flash-attention-fp4 (exponentials, conversions)
//   [FGS]  FlashGPU-Sim (latencies, issue gap of TMA)
//   [CUDA] CUDA C++ Programming Guide, throughput of native instructions
//
// and what none of them says is marked as assumed.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_SIMULATOR_TIMING_H
#define LPFA_LIB_SIMULATOR_TIMING_H

#include "lpfa/Simulator/Simulator.h"
#include <memory>
#include <vector>

namespace lpfa::sim {

struct Function;
struct Instruction;
struct LaunchContext;
struct Work;

/// Units of an SM. Those up to `numLocal` exist once in each sub-partition.
enum class TimedUnit : uint8_t {
  Issue,
  Fma,
  Alu,
  Exp,
  Convert,
  TensorMemory,
  Shared,
  Tensor,
  Tma,
  L2,
  numUnits,
  numLocal = Shared
};
constexpr unsigned numTimedUnits = unsigned(TimedUnit::numUnits);
const char *nameOf(TimedUnit unit);

/// What an instruction of a warp takes.
struct InstructionCost {
  TimedUnit unit = TimedUnit::Issue;
  /// Issue slots, clocks of the unit, and clocks until a result can be used.
  float slots = 1;
  float cycles = 0;
  float latency = 4;
  /// Bytes a lane that go through shared memory or L2, in place of `cycles`.
  unsigned laneBytes = 0;
  /// Works on registers alone.
  bool isArithmetic = false;
};

class TimingModel {
public:
  /// `chip` is "sm_100a" or "sm_103a".
  explicit TimingModel(llvm::StringRef chip);

  InstructionCost costOf(llvm::StringRef text) const;
  /// Clocks that the tensor pipe takes for an mma, and those from its end to
  /// its commit's arrival.
  double mmaInterval(const Work &mma) const;
  double mmaLatency(const Work &mma) const;
  std::vector<std::string> assumptions() const;

  bool isBlackwellUltra;
  double clockGHz;
  unsigned multiprocessors = 148;
  /// Exponentials a clock and SM [HAO, QRC].
  double expRate;

  static constexpr double sharedBytes = 128; ///< a clock and SM [QRC]
  /// A clock and sub-partition: a load of 32 columns takes 72 to 77 clocks,
  /// stores 97 to 131 TB/s on the whole chip [QRC].
  static constexpr double tensorLoadBytes = 55, tensorStoreBytes = 98;
  static constexpr double tmaGap = 40;        ///< 32 to 48 [FGS, QRC]
  static constexpr double l2Bytes = 64;       ///< a clock and SM; assumed
  static constexpr double loadLatency = 380;  ///< from L2: 356 to 400 [SA]
  static constexpr double tmaLatency = 700;   ///< from L2; assumed
  static constexpr double sharedLatency = 30; ///< assumed
  /// How far the assembler's order hides latencies of arithmetic and queues of
  /// units, in clocks; assumed.
  static constexpr double scheduled = 256;
  /// What waits in front of shared memory and L2 without stopping the warp, in
  /// clocks; assumed.
  static constexpr double queued = 32;
  /// Arrival of a thread until a waiter goes on: 60 to 100 [HAO].
  static constexpr double wakeLatency = 80;
  static constexpr double barrierLatency = 30; ///< bar.sync; assumed
  static constexpr double copyLatency = 100;   ///< tcgen05.cp; assumed
  static constexpr double waitLatency = 20; ///< of a wait that holds; assumed
  static constexpr double memoryBytesPerSecond = 7.2e12; ///< HBM by TMA [SA]
};

/// Runs the launch in the order of the model's time, on one SM (or cluster of
/// SMs) or more, and reports the time.
void runTimed(LaunchContext &context, Report &report);

} // namespace lpfa::sim

#endif // LPFA_LIB_SIMULATOR_TIMING_H
