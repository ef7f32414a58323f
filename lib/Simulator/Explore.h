//===- Explore.h - Schedules that deviate -----------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bounded exploration: a base schedule, and all those that decide otherwise at
// up to a given number of points (delay bounding; Emmi, Qadeer and Rakamaric,
// POPL 2011). After an instruction that other warps or asynchronous work may
// notice, and after every step of an asynchronous operation, the run decides
// which warp goes on or which operation takes a step.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_SIMULATOR_EXPLORE_H
#define LPFA_LIB_SIMULATOR_EXPLORE_H

#include "lpfa/Simulator/Simulator.h"
#include <utility>
#include <vector>

namespace lpfa::sim {

/// A point of decision and the alternative taken there; 0 is the base's.
using Deviation = std::pair<uint32_t, uint32_t>;

/// The decisions of one run.
class Decisions {
public:
  /// `early`: the base does asynchronous work as soon as it can, otherwise when
  /// no warp can run.
  bool early = false;
  std::vector<Deviation> deviations;

  /// Which of `count` alternatives to take. Points without a choice are none.
  unsigned choose(unsigned count);
  /// The number of alternatives at each point of the run so far.
  const std::vector<uint16_t> &alternatives() const { return counts; }

  /// "late", "early,12:1,40:3": what --decisions takes.
  std::string text() const;
  static llvm::Expected<Decisions> parse(llvm::StringRef text);

private:
  std::vector<uint16_t> counts;
};

/// Runs the launch once. `decisions` are those of --schedule=explore, or null.
llvm::Expected<Report> runOnce(const PTXModule &module, const Launch &launch,
                               DeviceMemory &memory, const Options &options,
                               Decisions *decisions);

/// Runs the launch under one schedule after the other, each from the same
/// memory, up to the first that has a finding.
llvm::Expected<Report> explore(const PTXModule &module, const Launch &launch,
                               DeviceMemory &memory, const Options &options);

} // namespace lpfa::sim

#endif // LPFA_LIB_SIMULATOR_EXPLORE_H
