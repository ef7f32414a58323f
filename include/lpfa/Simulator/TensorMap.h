//===- TensorMap.h - Tensor maps and their boxes ----------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensor maps (PTX ISA 5.5), which describe a tensor in global memory to
// cp.async.bulk.tensor. NVIDIA's 128 bytes are not documented; the simulator
// has its own encoding in an object of the same size.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_SIMULATOR_TENSORMAP_H
#define LPFA_SIMULATOR_TENSORMAP_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <array>
#include <cstdint>
#include <optional>

namespace lpfa::sim {

/// Element types with the codes of `tensormap.replace` (PTX ISA 9.7.9.28).
enum class TensorMapElement : uint8_t {
  U8 = 0,
  U16 = 1,
  U32 = 2,
  S32 = 3,
  U64 = 4,
  S64 = 5,
  F16 = 6,
  F32 = 7,
  F32Ftz = 8,
  F64 = 9,
  BF16 = 10,
  TF32 = 11,
  TF32Ftz = 12,
  U4x16Align8 = 13,  // .b4x16
  U4x16Align16 = 14, // .b4x16_p64
  U6x16Align16 = 15, // .b6x16_p32
};

enum class TensorMapSwizzle : uint8_t {
  None = 0,
  B32 = 1,
  B64 = 2,
  B128 = 3,
  B128Atom32B,
  B128Atom32BFlip8B,
  B128Atom64B,
};

enum class TensorMapInterleave : uint8_t { None = 0, B16 = 1, B32 = 2 };

enum class TensorMapFill : uint8_t { Zero = 0, NaN = 1 };

/// Names as in launch files: "u8", "bf16", "u4x16_align16", "128b",
/// "128b_atom_32b", ... Nothing for an unknown name.
std::optional<TensorMapElement> parseTensorMapElement(llvm::StringRef name);
std::optional<TensorMapSwizzle> parseTensorMapSwizzle(llvm::StringRef name);
llvm::StringRef tensorMapElementName(TensorMapElement element);
llvm::StringRef tensorMapSwizzleName(TensorMapSwizzle swizzle);

/// Bits of one element in global memory: 4 and 6 for the packed types.
unsigned elementBits(TensorMapElement element);

/// A field of `tensormap.replace`.
enum class TensorMapField : uint8_t {
  GlobalAddress,
  Rank, // the new value is rank - 1
  BoxDim,
  GlobalDim,
  GlobalStride,
  ElementStride,
  ElementType,
  InterleaveLayout,
  SwizzleMode,
  SwizzleAtomicity,
  FillMode,
};

/// The opaque object that kernels see.
using TensorMapBlob = std::array<uint8_t, 128>;

struct TensorMap {
  static constexpr unsigned maxRank = 5;

  TensorMapElement element = TensorMapElement::U8;
  unsigned rank = 1;
  /// Addresses are computed modulo 2^64, so that a base before its buffer
  /// works; what is checked is each address that a box touches.
  uint64_t globalAddress = 0;
  /// Elements; dimension 0 is the contiguous one. 1 to 2^31 each: the encoder
  /// of CUDA's driver takes 2^32, but an H200 then faults.
  std::array<uint64_t, maxRank> dims{1, 1, 1, 1, 1};
  /// Bytes from one index of dimension i + 1 to the next.
  std::array<uint64_t, maxRank - 1> strides{};
  /// Elements. For the packed types dimension 0 of the box counts elements too.
  std::array<uint32_t, maxRank> box{1, 1, 1, 1, 1};
  std::array<uint32_t, maxRank> elementStrides{1, 1, 1, 1, 1};
  TensorMapInterleave interleave = TensorMapInterleave::None;
  TensorMapSwizzle swizzle = TensorMapSwizzle::None;
  TensorMapFill fill = TensorMapFill::Zero;
  /// L2 promotion: 0, 64, 128 or 256 bytes. Without effect.
  unsigned l2Promotion = 0;

  /// What cuTensorMapEncodeTiled demands (and PTX ISA 5.5). The error names the
  /// field and its value. The base address must be a multiple of 16 bytes.
  llvm::Error validate() const;

  TensorMapBlob encode() const;
  /// Error if the bytes are no tensor map of this simulator.
  static llvm::Expected<TensorMap> decode(llvm::ArrayRef<uint8_t> bytes);

  /// tensormap.replace: `ordinal` is the dimension of the array-like fields,
  /// `value` the new value in PTX's coding. Not validated as a whole, since
  /// fields are replaced one by one.
  llvm::Error replaceField(TensorMapField field, unsigned ordinal,
                           uint64_t value);

  /// Bytes of the box without the padding that packed types have in shared
  /// memory: what a load adds to `complete_tx`, whatever is out of bounds.
  /// CUTLASS expects these (TmaTransactionBytes of
  /// collective/sm100_blockscaled_mma_warpspecialized.hpp, with the four bits
  /// of float_e2m1_unpacksmem_t).
  uint64_t boxBytes() const;

  /// Bytes to which a box's shared address must be aligned.
  static constexpr unsigned sharedAlignment = 128;

  /// A contiguous run of one box, at most 16 bytes of shared memory.
  struct Run {
    /// Not meaningful if out of bounds.
    uint64_t globalAddress;
    /// Absolute shared-window address, after the swizzle.
    uint32_t sharedAddress;
    /// Bytes in global memory. For packed types with padding the run in shared
    /// memory is these bytes followed by padding (`sharedBytes` in all).
    uint16_t globalBytes;
    uint16_t sharedBytes;
    bool inBounds;
  };

  /// Calls `visit` for every run of the box at `coordinates` (rank of them,
  /// elements) with its image at `sharedAddress`, in order of the unswizzled
  /// image, whose rows are as far apart as the swizzle's span if that is wider
  /// than the box. A run is wholly in or out of bounds. Loads fill
  /// out-of-bounds runs with `fillPattern`, stores and reductions drop them.
  /// Error: wrong number of coordinates, misaligned shared address, interleaved
  /// layouts (not supported), a coordinate of dimension 0 that is not a
  /// multiple of 16 bytes (32 for the padded types), for which an H200 faults.
  llvm::Error forEachRun(llvm::ArrayRef<int32_t> coordinates,
                         uint32_t sharedAddress,
                         llvm::function_ref<void(const Run &)> visit) const;

  /// What stores and reductions demand besides; as measured on an H200. Error:
  /// a negative coordinate, which faults; a box across the end of dimension 0
  /// when that is no multiple of 16 bytes, since the hardware writes all 16.
  llvm::Error checkStore(llvm::ArrayRef<int32_t> coordinates) const;

  /// Writes what an out-of-bounds run holds after a load: zeros, or NaN as
  /// 0x7FF7 in every 16 bits, whatever the type.
  void fillPattern(llvm::MutableArrayRef<uint8_t> bytes) const;

  /// What a load does to the elements of an in-bounds run: TF32 rounds to
  /// nearest even. Other types, those that flush subnormals included, are
  /// copied as they are (measured on an H200).
  void convertLoaded(llvm::MutableArrayRef<uint8_t> bytes) const;
};

} // namespace lpfa::sim

#endif // LPFA_SIMULATOR_TENSORMAP_H
