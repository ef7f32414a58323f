//===- Tensors.h - Tensors on a device --------------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_RUNTIME_TENSORS_H
#define LPFA_RUNTIME_TENSORS_H

#include "lpfa/Runtime/Arrays.h"
#include "lpfa/Runtime/Launch.h"

namespace lpfa {

/// A tensor in memory of its own, to and from which arrays can be copied.
class DeviceTensor {
public:
  /// The first element lies `offsetBytes` after an aligned address, and
  /// `rowPadding` elements between one row and the next, the last two
  /// dimensions being a matrix. All bytes are 0xFF at first: NaN, in many
  /// types.
  static std::optional<DeviceTensor>
  allocate(const Device &device, const std::string &element,
           const std::vector<int64_t> &sizes, uint64_t offsetBytes,
           int64_t rowPadding, std::string &error);

  const TensorRef &getRef() const { return ref; }

  /// `array` holds a tensor of the same element and sizes.
  bool upload(const NpyArray &array, std::string &error);
  bool download(NpyArray &array, std::string &error) const;

  /// Random bits, for floats wider than six bits with exponents within eight
  /// below one. A pattern of 16 MiB that repeats.
  bool fillRandomly(uint64_t seed, std::string &error);

private:
  DeviceBuffer buffer;
  TensorRef ref;
  uint64_t offsetBytes = 0;
  /// Bytes of a row, and from one to the next; equal without padding.
  uint64_t rowBytes = 0, pitchBytes = 0;
};

/// Whether elements can be filled with random values: floats. Integers may be
/// indices.
bool canBeRandom(const std::string &element);

} // namespace lpfa

#endif // LPFA_RUNTIME_TENSORS_H
