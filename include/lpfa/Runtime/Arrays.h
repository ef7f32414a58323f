//===- Arrays.h - Tensors in .npy files -------------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How tensors travel in NumPy files: an element type that NumPy knows as
// itself, any other as codes of its own width: bf16 in uint16, narrower floats
// one code a byte in uint8.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_RUNTIME_ARRAYS_H
#define LPFA_RUNTIME_ARRAYS_H

#include "lpfa/Runtime/Npy.h"
#include <optional>

namespace lpfa {

/// How NumPy stores an element type.
struct ElementStorage {
  /// As in `NpyArray`.
  char kind = 'u';
  unsigned itemSize = 1;
  /// Bits of a code, where the elements are codes of a type that NumPy lacks;
  /// ml_dtypes writes such arrays as raw bytes. Otherwise zero.
  unsigned codeBits = 0;
};

/// Nothing for a type that no .npy file can hold. `element` is MLIR's name.
std::optional<ElementStorage> getElementStorage(const std::string &element);

/// Fails, and says why in `error`, unless `array` holds a tensor of `element`
/// and `shape`, where negative sizes match any.
bool checkArray(const NpyArray &array, const std::string &element,
                const std::vector<int64_t> &shape, std::string &error);

/// An array of zeros.
NpyArray makeArray(const std::string &element,
                   const std::vector<int64_t> &shape);

/// The codes of `array`, `bits` wide, one after the other without gaps, lowest
/// bits first: as kernels take types narrower than a byte.
std::vector<uint8_t> packCodes(const std::vector<uint8_t> &codes,
                               unsigned bits);
/// The reverse, for `codes.size()` codes.
void unpackCodes(const std::vector<uint8_t> &packed, unsigned bits,
                 std::vector<uint8_t> &codes);

/// Writes `results` to `directory`/result0.npy and so on, making the directory
/// where needed. On failure no result is left behind.
bool writeResults(const std::vector<NpyArray> &results,
                  const std::string &directory, std::string &error);

/// Fails when `directory` can't be made or written to, without touching it.
bool checkWritable(const std::string &directory, std::string &error);

} // namespace lpfa

#endif // LPFA_RUNTIME_ARRAYS_H
