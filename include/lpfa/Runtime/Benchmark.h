//===- Benchmark.h - Timing launches ----------------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How long a launch takes on the GPU. One repetition is a CUDA graph: read a
// buffer of four times the L2 cache, so that nothing of the tensors is left in
// it and nothing in it has to be written back; an event; the kernels; an event.
// The time is that between the events. Launching costs nothing in it, since the
// host is ahead; a pair of events with nothing between is timed beside, and not
// subtracted.
//
// What the memory can do is measured in the same way, by copies that move as
// many bytes, half read and half written: by a kernel, and by the driver's
// cuMemcpyDtoD. The latter is not put into a graph, where the driver would give
// it to a copy engine (on an H200 2.7 TB/s instead of 4.2).
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_RUNTIME_BENCHMARK_H
#define LPFA_RUNTIME_BENCHMARK_H

#include "lpfa/Runtime/Launch.h"

namespace lpfa {

struct BenchmarkOptions {
  /// Repetitions that are not counted, and those that are.
  unsigned warmup = 10;
  unsigned repetitions = 100;
  /// Whether the L2 cache is flushed before each repetition.
  bool flush = true;
};

/// Microseconds over the repetitions.
struct Timing {
  double median = 0, min = 0;
  /// Percentiles.
  double p10 = 0, p90 = 0;
};

struct BenchmarkReport {
  Timing launch;
  /// Moves `bytes` bytes, as do the next.
  Timing copyKernel;
  Timing copyDriver;
  /// Two events with nothing between.
  Timing empty;
  uint64_t bytes = 0;

  /// GB/s, 10^9 bytes, of a time in which `bytes` bytes move.
  double getBandwidth(const Timing &timing) const {
    return bytes / (1e3 * timing.median);
  }
  /// Of the faster copy.
  double getCopyMedian() const {
    return copyKernel.median < copyDriver.median ? copyKernel.median
                                                 : copyDriver.median;
  }
  /// Time of the faster copy by that of the launch.
  double getFractionOfCopy() const { return getCopyMedian() / launch.median; }
};

/// Times `launch`, which has to move `bytes` bytes: its arguments read once and
/// its results written once. Takes device memory for the copies and the flush.
std::optional<BenchmarkReport>
benchmark(const Device &device, const PreparedLaunch &launch, uint64_t bytes,
          const BenchmarkOptions &options, std::string &error);

} // namespace lpfa

#endif // LPFA_RUNTIME_BENCHMARK_H
