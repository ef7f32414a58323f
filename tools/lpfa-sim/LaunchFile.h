//===- LaunchFile.h - Launch descriptions in JSON ---------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_TOOLS_LPFA_SIM_LAUNCHFILE_H
#define LPFA_TOOLS_LPFA_SIM_LAUNCHFILE_H

#include "lpfa/Runtime/Npy.h"
#include "lpfa/Simulator/Simulator.h"
#include "llvm/ADT/StringMap.h"
#include <deque>

namespace lpfa::sim {

/// A launch with the arrays that it works on.
struct LaunchFile {
  struct Buffer {
    std::string name;
    NpyArray array;
    /// Written to the output directory as `<output>.npy`.
    bool isOutput = false;
    std::string output;
  };

  Launch launch;
  /// In the order of DeviceMemory's numbers.
  std::deque<Buffer> buffers;

  /// Reads the description and the arrays it names, relative to its folder, and
  /// adds them to `memory`. Errors name the file and the member.
  static llvm::Expected<LaunchFile> read(llvm::StringRef path,
                                         DeviceMemory &memory);
};

} // namespace lpfa::sim

#endif // LPFA_TOOLS_LPFA_SIM_LAUNCHFILE_H
