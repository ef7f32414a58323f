//===- MatrixDescriptor.h - Matrices in shared memory -----------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The 64-bit shared-memory matrix descriptor of tcgen05 (PTX ISA 9.7.16.4.1)
// and wgmma (PTX ISA 9.7.15.5.1.2.2), and where each element of its operand
// lies (the canonical layouts of PTX ISA 9.7.16.3).
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_SIMULATOR_MATRIXDESCRIPTOR_H
#define LPFA_SIMULATOR_MATRIXDESCRIPTOR_H

#include "lpfa/Simulator/NarrowFloat.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <cstdint>

namespace lpfa::sim {

enum class MatrixSwizzle : uint8_t {
  None,
  /// 128 bytes with 32-byte atoms: MN-major tf32 only.
  B128Base32,
  B128,
  B64,
  B32,
};

/// An operand as one CTA reads it: `rows` of A (M) or of B (N) by `k` elements.
struct OperandShape {
  unsigned rows = 0;
  unsigned k = 0;
  ElementFormat format = ElementFormat::F16;
  bool mnMajor = false;
  /// Four-bit elements are stored two a byte, low nibble first; otherwise
  /// elements of 4 and 6 bits are stored 16 in 16 bytes, data first, then
  /// padding (the layout of tensor-map types 16U4_ALIGN16B, 16U6_ALIGN16B).
  bool packsNibbles = false;

  /// Bytes of the dense matrix that `gather` fills: one element in
  /// `containerBytes(format)`, row by row, k running fastest.
  size_t denseBytes() const {
    return size_t(rows) * k * containerBytes(format);
  }
};

/// A contiguous piece of an operand in shared memory, at most 16 bytes, padding
/// not included.
struct OperandChunk {
  /// Address in the CTA's shared window.
  uint32_t address;
  unsigned bytes;
  /// The first element. The chunk's elements follow it along k if K-major,
  /// along the rows if MN-major.
  unsigned row;
  unsigned k;
};

/// Which instruction reads the descriptor: wgmma's has other version bits and
/// codes of the swizzle.
enum class DescriptorVersion : uint8_t { Hopper, Blackwell };

struct MatrixDescriptor {
  /// Byte values, already multiplied by 16.
  uint32_t start = 0;
  uint32_t leadingOffset = 0;
  uint32_t strideOffset = 0;
  MatrixSwizzle swizzle = MatrixSwizzle::None;

  /// Decodes and validates: version, reserved bits, swizzle code; the nonzero
  /// base offset of a swizzle and the absolute leading-dimension mode are
  /// refused as not supported.
  static llvm::Expected<MatrixDescriptor>
  decode(uint64_t bits,
         DescriptorVersion version = DescriptorVersion::Blackwell);

  /// Calls `visit` for every piece of the operand, rows outermost if K-major,
  /// k outermost if MN-major. Fails, before any call, for a layout that the
  /// hardware does not have (MN-major of sub-byte formats, 32-byte atoms for
  /// anything but MN-major tf32, partial chunks).
  llvm::Error
  forEachChunk(const OperandShape &shape,
               llvm::function_ref<void(const OperandChunk &)> visit) const;

  /// Reads the operand into `dense` (shape.denseBytes() bytes), one code an
  /// element, from the CTA's shared memory whose byte 0 has window address
  /// `windowBase`. Fails, naming the address, if the operand leaves it; nothing
  /// is written then.
  llvm::Error gather(const OperandShape &shape, llvm::ArrayRef<uint8_t> shared,
                     llvm::MutableArrayRef<uint8_t> dense,
                     uint32_t windowBase = 0) const;

  /// The address of byte `column` of row `row` of a K-major matrix of bytes
  /// (what tcgen05.cp reads).
  uint32_t byteAddress(unsigned row, unsigned column) const;
};

/// The swizzle's permutation of a shared address: an involution on 16-byte
/// (B128Base32: 32-byte) units.
uint32_t applySwizzle(MatrixSwizzle swizzle, uint32_t address);

} // namespace lpfa::sim

#endif // LPFA_SIMULATOR_MATRIXDESCRIPTOR_H
