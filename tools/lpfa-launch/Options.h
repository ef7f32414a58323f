//===- Options.h - Command line of lpfa-launch ------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_TOOLS_LPFA_LAUNCH_OPTIONS_H
#define LPFA_TOOLS_LPFA_LAUNCH_OPTIONS_H

#include "lpfa/Runtime/Benchmark.h"

namespace lpfa {

/// Where one argument comes from.
struct ArgumentSource {
  /// A .npy file; empty for random values.
  std::string file;
  std::vector<int64_t> sizes;
};

struct LaunchOptions {
  bool help = false;
  std::string plan;
  std::string function;
  std::vector<ArgumentSource> arguments;
  std::string outputDirectory;
  int device = 0;
  uint64_t seed = 0;
  /// Placement of the tensors, for tests.
  int64_t offsetBytes = 0;
  int64_t rowPadding = 0;

  enum class Format { None, Text, JSON };
  Format benchmark = Format::None;
  BenchmarkOptions timing;
};

extern const char *const launchHelp;

bool parseOptions(int argc, char **argv, LaunchOptions &options,
                  std::string &error);

} // namespace lpfa

#endif // LPFA_TOOLS_LPFA_LAUNCH_OPTIONS_H
