//===- Ptxas.h - From PTX to machine code -----------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_TARGET_PTXAS_H
#define LPFA_TARGET_PTXAS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace lpfa {

/// NVIDIA's assembler as found on this machine.
struct Ptxas {
  std::string path;
  /// Of its toolkit, for example 13 and 4.
  unsigned majorVersion = 0;
  unsigned minorVersion = 0;
};

/// Finds the newest ptxas among those of PATH, of the toolkits in CUDA_HOME,
/// CUDA_PATH and /usr/local, of the active Python environment, and of a `.venv`
/// beside a directory that holds `executable` (PyPI's nvidia-cuda-nvcc). The
/// environment variable LPFA_PTXAS names the one to use instead. Versions
/// matter: on the same PTX older ones may spill registers.
std::optional<Ptxas> findPtxas(llvm::StringRef executable);

/// What ptxas says of one kernel.
struct KernelResources {
  std::string entry;
  unsigned registers = 0;
  unsigned stackBytes = 0;
  unsigned spillStoreBytes = 0;
  unsigned spillLoadBytes = 0;
};

struct Cubin {
  /// An ELF file.
  std::string image;
  /// One entry a kernel, in the order of ptxas.
  std::vector<KernelResources> kernels;
};

/// Assembles PTX for `chip`. The error holds what ptxas said.
llvm::Expected<Cubin> assemble(const Ptxas &ptxas, llvm::StringRef ptx,
                               llvm::StringRef chip);

/// The nvdisasm beside a ptxas, else that of PATH: PyPI's nvidia-cuda-nvdisasm
/// goes beside its nvidia-cuda-nvcc.
std::optional<std::string> findNvdisasm(const Ptxas &ptxas);

/// A cubin's machine code as nvdisasm prints it.
llvm::Expected<std::string> disassemble(llvm::StringRef nvdisasm,
                                        llvm::StringRef cubin);

/// Reads what `ptxas -v` prints.
std::vector<KernelResources> parseResources(llvm::StringRef text);

} // namespace lpfa

#endif // LPFA_TARGET_PTXAS_H
