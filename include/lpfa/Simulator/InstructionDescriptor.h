//===- InstructionDescriptor.h - tcgen05.mma's idesc operand ----*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The 32-bit instruction descriptor of tcgen05.mma (PTX ISA 9.7.16.4.2, Tables
// 44 to 46) and the shapes that each kind admits (Tables 39 and 40).
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_SIMULATOR_INSTRUCTIONDESCRIPTOR_H
#define LPFA_SIMULATOR_INSTRUCTIONDESCRIPTOR_H

#include "lpfa/Simulator/NarrowFloat.h"
#include "llvm/Support/Error.h"
#include <cstdint>

namespace lpfa::sim {

/// The `.kind::` qualifier of tcgen05.mma.
enum class MmaKind : uint8_t {
  F16,
  TF32,
  F8F6F4,
  I8,
  MXF8F6F4,
  MXF4,
  MXF4NVF4,
};

/// "f16", "mxf8f6f4", ...
llvm::StringRef kindName(MmaKind kind);

/// Whether the kind takes scales: mxf8f6f4, mxf4, mxf4nvf4.
bool isBlockScaled(MmaKind kind);

/// What the instruction's mnemonic says, which decides how its descriptor
/// reads.
struct MmaModifiers {
  MmaKind kind = MmaKind::F16;
  /// `.cta_group::1` or `::2`.
  unsigned ctaGroup = 1;
  /// `.ws`.
  bool warpSpecialized = false;
  /// `.sp`.
  bool sparse = false;
  /// Scales a row and instruction, from `.scale_vec::` or `.block`: 1, 2 or 4.
  /// 0 takes the kind's default (mxf8f6f4: 1, mxf4: 2); mxf4nvf4 must say.
  unsigned scaleVectors = 0;
};

/// A decoded descriptor.
struct InstructionDescriptor {
  MmaKind kind = MmaKind::F16;
  unsigned ctaGroup = 1;
  bool warpSpecialized = false;
  bool sparse = false;
  unsigned sparsitySelector = 0;
  /// `I8` only.
  bool saturate = false;
  /// F16, F32 or S32.
  ElementFormat dFormat = ElementFormat::F32;
  ElementFormat aFormat = ElementFormat::F16;
  ElementFormat bFormat = ElementFormat::F16;
  bool negateA = false;
  bool negateB = false;
  /// MN-major ("transposed") instead of K-major.
  bool aMnMajor = false;
  bool bMnMajor = false;
  /// The instruction's shape over all its CTAs. K counts elements: 16 for f16,
  /// 8 for tf32, 32 for 8-bit kinds, 64 for mxf4 and mxf4nvf4; twice that if
  /// sparse.
  unsigned m = 0;
  unsigned n = 0;
  unsigned k = 0;
  /// `.ws` only: columns by which B may be shifted, as its code 0..3.
  unsigned maxShift = 0;
  /// Block-scaled kinds only.
  ElementFormat scaleFormat = ElementFormat::UE8M0;
  /// Scales a row: k / scaleVectors elements share one. 0 if not block-scaled.
  unsigned scaleVectors = 0;
  /// First byte of a scale cell that the instruction selects, 0..3.
  unsigned scaleIdA = 0;
  unsigned scaleIdB = 0;

  /// Rows of A (and D) that one CTA supplies, and columns of B that it holds.
  unsigned rowsPerCta() const { return m / ctaGroup; }
  unsigned columnsPerCta() const { return n / ctaGroup; }

  /// Whether operand elements of four bits are stored two a byte (mxf4 and
  /// mxf4nvf4) rather than padded to bytes (f8f6f4 and mxf8f6f4).
  bool packsNibbles() const {
    return kind == MmaKind::MXF4 || kind == MmaKind::MXF4NVF4;
  }

  /// Decodes and validates. The error says which field is wrong and what it
  /// holds.
  static llvm::Expected<InstructionDescriptor>
  decode(uint32_t bits, const MmaModifiers &modifiers);
};

} // namespace lpfa::sim

#endif // LPFA_SIMULATOR_INSTRUCTIONDESCRIPTOR_H
