//===- Npy.h - NumPy array files --------------------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes .npy files, format versions 1.0, 2.0 and 3.0: numeric
// element types, little-endian, C order. C++17 only, no LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_RUNTIME_NPY_H
#define LPFA_RUNTIME_NPY_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lpfa {

/// An array as a .npy file holds it.
struct NpyArray {
  /// NumPy's type character: 'b' boolean, 'i' signed, 'u' unsigned, 'f' float,
  /// 'c' complex, 'V' raw bytes (what ml_dtypes' types are written as).
  char kind = 'u';
  /// Bytes of an element.
  unsigned itemSize = 1;
  std::vector<int64_t> shape;
  /// The elements in C order, numElements() * itemSize bytes.
  std::vector<uint8_t> data;

  int64_t numElements() const;
  /// NumPy's name: "<f4", "|u1", ...
  std::string typeString() const;
};

/// Reads `path`. On failure returns false and sets `error` to one line that
/// names the file. Refuses big-endian data, Fortran order of more than one
/// dimension, structured types and truncated files.
bool readNpy(const std::string &path, NpyArray &array, std::string &error);

/// Writes `path` (format version 1.0, or 2.0 for a huge header) through a
/// temporary file beside it, so that a failed write leaves nothing.
bool writeNpy(const std::string &path, const NpyArray &array,
              std::string &error);

} // namespace lpfa

#endif // LPFA_RUNTIME_NPY_H
