//===- TensorCore.h - Arithmetic of matrix instructions ---------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What one matrix instruction computes, bit by bit, on dense operands.
//
// The hardware's adder, as published for B200 (arXiv 2512.07004, arXiv
// 2511.10909): the products of the whole K of an instruction and the
// accumulator are aligned to the largest exponent among them, truncated toward
// zero to F fraction bits below it, summed exactly and rounded once: toward
// zero to binary32, to nearest even to binary16.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_SIMULATOR_TENSORCORE_H
#define LPFA_SIMULATOR_TENSORCORE_H

#include "lpfa/Simulator/NarrowFloat.h"
#include <cstddef>
#include <cstdint>

namespace lpfa::sim {

/// Which adder computes.
enum class MmaArithmetic : uint8_t {
  /// tcgen05.mma of Blackwell, and mma.sync and wgmma of 16-bit formats and
  /// tf32 on Hopper and Blackwell: F = 25; for operands of mxf4 and mxf4nvf4
  /// (`packsNibbles`) groups of 16 products summed exactly and F = 35.
  Hardware,
  /// wgmma of 8-bit formats on Hopper: F = 13, and the result cut to 13
  /// fraction bits.
  HopperFp8,
  /// mma.sync of 8-bit formats, made of two 16-bit instructions: k%4 < 2, then
  /// k%4 >= 2 on top of it, then a separate addition of C rounded to nearest.
  /// Holds for sm_100, and for sm_90 as CUDA 13's ptxas compiles it.
  EmulatedFp8,
  /// The exact sum, rounded once to nearest even.
  Exact,
};

/// A dense operand: `rows` x `k` codes, row by row, each in
/// `containerBytes(format)` little-endian bytes.
struct MmaOperand {
  ElementFormat format = ElementFormat::F16;
  const uint8_t *codes = nullptr;
  /// Each element's sign is flipped.
  bool negate = false;
  /// rows x scaleVectors scale codes, one a byte; only with block scaling.
  const uint8_t *scales = nullptr;
};

/// D = A * B^T (+ D * 2^-scaleInputD).
struct MmaProblem {
  unsigned m = 0;
  unsigned n = 0;
  unsigned k = 0;
  MmaArithmetic arithmetic = MmaArithmetic::Hardware;
  MmaOperand a;
  MmaOperand b;
  /// F32, F16 (in the low half of a cell; the upper half is written 0) or S32
  /// (operands U8 or S8).
  ElementFormat dFormat = ElementFormat::F32;
  /// Whether D is read. Otherwise its old content, NaN included, has no effect.
  bool accumulate = false;
  /// tcgen05.mma's scale-input-d, 0..15.
  unsigned scaleInputD = 0;
  /// S32 only: clamp instead of wrap.
  bool saturate = false;
  /// 0: no block scales. Otherwise element k of a row is scaled by its scale
  /// number k / (k_total / scaleVectors).
  unsigned scaleVectors = 0;
  ElementFormat scaleFormat = ElementFormat::UE8M0;
  /// The operands came from mxf4 or mxf4nvf4, whose adder differs.
  bool packsNibbles = false;
};

/// Computes the instruction in place. D's element (row, column) is the 32-bit
/// cell d[row * rowStride + column * columnStride]. Safe to call from several
/// threads at once. Fastest with rowStride 1.
void multiply(const MmaProblem &problem, uint32_t *d, size_t rowStride,
              size_t columnStride);

} // namespace lpfa::sim

#endif // LPFA_SIMULATOR_TENSORCORE_H
