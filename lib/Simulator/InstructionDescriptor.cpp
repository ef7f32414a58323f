//===- InstructionDescriptor.cpp - tcgen05.mma's idesc operand --*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Simulator/InstructionDescriptor.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include <optional>

using namespace lpfa::sim;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

StringRef lpfa::sim::kindName(MmaKind kind) {
  switch (kind) {
  case MmaKind::F16:
    return "f16";
  case MmaKind::TF32:
    return "tf32";
  case MmaKind::F8F6F4:
    return "f8f6f4";
  case MmaKind::I8:
    return "i8";
  case MmaKind::MXF8F6F4:
    return "mxf8f6f4";
  case MmaKind::MXF4:
    return "mxf4";
  case MmaKind::MXF4NVF4:
    return "mxf4nvf4";
  }
  return "";
}

bool lpfa::sim::isBlockScaled(MmaKind kind) {
  return kind == MmaKind::MXF8F6F4 || kind == MmaKind::MXF4 ||
         kind == MmaKind::MXF4NVF4;
}

namespace {

/// Reads the fields of one descriptor. The first error sticks.
class Decoder {
public:
  Decoder(uint32_t bits, const MmaModifiers &modifiers)
      : bits(bits), modifiers(modifiers) {}

  Expected<InstructionDescriptor> decode();

private:
  unsigned field(unsigned low, unsigned high) const {
    return (bits >> low) & ((1u << (high - low + 1)) - 1);
  }
  Error fail(const Twine &what) const {
    return llvm::createStringError(
        "instruction descriptor 0x" + llvm::utohexstr(bits, true, 8) +
        " of kind " + kindName(modifiers.kind) + ": " + what);
  }
  Error expectZero(unsigned low, unsigned high) const {
    if (unsigned value = field(low, high))
      return fail("reserved bits " + Twine(low) + " to " + Twine(high) +
                  " hold " + Twine(value) + " instead of 0");
    return Error::success();
  }

  std::optional<ElementFormat> operandFormat(unsigned code) const;
  Error decodeOperands();
  Error decodePlain();
  Error decodeScaled();
  Error checkShape() const;
  Error checkColumns() const;
  Error checkMajor() const;

  uint32_t bits;
  const MmaModifiers &modifiers;
  InstructionDescriptor result;
};

/// PTX ISA Tables 44 to 46, "matrix A/B type".
std::optional<ElementFormat> Decoder::operandFormat(unsigned code) const {
  switch (modifiers.kind) {
  case MmaKind::F16:
    if (code < 2)
      return code ? ElementFormat::BF16 : ElementFormat::F16;
    return std::nullopt;
  case MmaKind::TF32:
    if (code == 2)
      return ElementFormat::TF32;
    return std::nullopt;
  case MmaKind::I8:
    if (code < 2)
      return code ? ElementFormat::S8 : ElementFormat::U8;
    return std::nullopt;
  case MmaKind::F8F6F4:
  case MmaKind::MXF8F6F4:
    switch (code) {
    case 0:
      return ElementFormat::E4M3;
    case 1:
      return ElementFormat::E5M2;
    case 3:
      return ElementFormat::E2M3;
    case 4:
      return ElementFormat::E3M2;
    case 5:
      return ElementFormat::E2M1;
    }
    return std::nullopt;
  case MmaKind::MXF4:
  case MmaKind::MXF4NVF4:
    if (code == 1)
      return ElementFormat::E2M1;
    return std::nullopt;
  }
  return std::nullopt;
}

Error Decoder::decodeOperands() {
  // The B field of mxf4 and mxf4nvf4 is one bit shorter; bit 12 is reserved
  // and zero either way.
  unsigned codeA = field(7, 9), codeB = field(10, 12);
  std::optional<ElementFormat> a = operandFormat(codeA);
  if (!a)
    return fail("A has type code " + Twine(codeA));
  std::optional<ElementFormat> b = operandFormat(codeB);
  if (!b)
    return fail("B has type code " + Twine(codeB));
  if (modifiers.kind == MmaKind::F16 && *a != *b)
    return fail("A is " + formatName(*a) + " but B is " + formatName(*b));
  result.aFormat = *a;
  result.bFormat = *b;
  result.negateA = field(13, 13);
  result.negateB = field(14, 14);
  if (modifiers.kind == MmaKind::I8 && (result.negateA || result.negateB))
    return fail("integer operands cannot be negated");
  result.aMnMajor = field(15, 15);
  result.bMnMajor = field(16, 16);
  result.n = field(17, 22) << 3;
  result.sparse = field(2, 2);
  if (result.sparse != modifiers.sparse)
    return fail(result.sparse ? "the sparse bit is set without .sp"
                              : "the sparse bit is clear with .sp");
  return Error::success();
}

/// PTX ISA Table 44.
Error Decoder::decodePlain() {
  if (Error error = expectZero(6, 6))
    return error;
  if (Error error = expectZero(23, 23))
    return error;
  if (Error error = expectZero(29, 29))
    return error;
  result.sparsitySelector = field(0, 1);
  result.saturate = field(3, 3);
  if (result.saturate && modifiers.kind != MmaKind::I8)
    return fail("saturation is for kind i8 only");
  result.m = field(24, 28) << 4;
  result.maxShift = field(30, 31);
  if (result.maxShift && !modifiers.warpSpecialized)
    return fail("a maximum shift is for .ws only");

  unsigned dCode = field(4, 5);
  switch (modifiers.kind) {
  case MmaKind::F16:
    if (dCode > 1 || (dCode == 0 && result.aFormat != ElementFormat::F16))
      return fail("D has type code " + Twine(dCode) + " with " +
                  formatName(result.aFormat) + " operands");
    result.dFormat = dCode ? ElementFormat::F32 : ElementFormat::F16;
    break;
  case MmaKind::F8F6F4:
    if (dCode > 1)
      return fail("D has type code " + Twine(dCode));
    result.dFormat = dCode ? ElementFormat::F32 : ElementFormat::F16;
    break;
  case MmaKind::I8:
    if (dCode != 2)
      return fail("D has type code " + Twine(dCode) + " instead of 2 (s32)");
    result.dFormat = ElementFormat::S32;
    break;
  default:
    if (dCode != 1)
      return fail("D has type code " + Twine(dCode) + " instead of 1 (f32)");
    result.dFormat = ElementFormat::F32;
  }

  result.k = modifiers.kind == MmaKind::F16    ? 16
             : modifiers.kind == MmaKind::TF32 ? 8
                                               : 32;
  return Error::success();
}

/// PTX ISA Tables 45 and 46.
Error Decoder::decodeScaled() {
  for (auto [low, high] : {std::pair(0u, 1u), std::pair(3u, 3u),
                           std::pair(6u, 6u), std::pair(24u, 26u)})
    if (Error error = expectZero(low, high))
      return error;
  bool isMXF8 = modifiers.kind == MmaKind::MXF8F6F4;
  if (bits >> 31)
    return fail(isMXF8 ? "reserved bit 31 is set" : "K = 96 is not supported");
  result.m = field(27, 28) << 7;
  result.k = isMXF8 ? 32 : 64;
  result.dFormat = ElementFormat::F32;
  result.scaleIdB = field(4, 5);
  result.scaleIdA = field(29, 30);
  result.scaleFormat =
      field(23, 23) ? ElementFormat::UE8M0 : ElementFormat::UE4M3;

  unsigned vectors = modifiers.scaleVectors;
  if (vectors == 0 && modifiers.kind != MmaKind::MXF4NVF4)
    vectors = isMXF8 ? 1 : 2;
  bool legal = isMXF8 ? vectors == 1
                      : vectors == 2 || (vectors == 4 &&
                                         modifiers.kind == MmaKind::MXF4NVF4);
  if (!legal)
    return fail("scale_vec::" + Twine(vectors) + "X does not exist");
  result.scaleVectors = vectors;
  // UE4M3 goes with blocks of 16 elements only (PTX ISA Table 54).
  if (result.scaleFormat == ElementFormat::UE4M3 && vectors != 4)
    return fail("scale type ue4m3 with scale_vec::" + Twine(vectors) + "X");
  for (unsigned id : {result.scaleIdA, result.scaleIdB})
    if (id % vectors != 0)
      return fail("scale id " + Twine(id) +
                  " with scale_vec::" + Twine(vectors) + "X");
  return Error::success();
}

/// PTX ISA Tables 39 and 40: M, and which modifiers go together.
Error Decoder::checkShape() const {
  bool ws = modifiers.warpSpecialized;
  unsigned m = result.m;
  if (ws && modifiers.ctaGroup != 1)
    return fail(".ws with cta_group::2");
  if (ws && isBlockScaled(modifiers.kind))
    return fail(".ws does not take scales");
  bool legal;
  if (ws)
    legal = m == 32 || m == 64 || m == 128;
  else if (modifiers.ctaGroup == 2)
    legal = m == 256 ||
            (m == 128 && !(result.sparse && isBlockScaled(modifiers.kind)));
  else
    legal = m == 128 || (m == 64 && !isBlockScaled(modifiers.kind));
  if (!legal)
    return fail("M = " + Twine(m) +
                " with cta_group::" + Twine(modifiers.ctaGroup) +
                (ws ? " and .ws" : "") + (result.sparse ? " and .sp" : ""));
  return Error::success();
}

Error Decoder::checkColumns() const {
  unsigned n = result.n;
  bool legal = n >= 8 && n <= 256;
  if (modifiers.warpSpecialized)
    legal = n == 64 || n == 128 || n == 256;
  else if (modifiers.kind == MmaKind::I8)
    legal &= modifiers.ctaGroup == 2 ? n % 32 == 0
                                     : n == 8 || n == 24 || n % 16 == 0;
  else if (modifiers.ctaGroup == 2)
    legal &= n % 16 == 0;
  // PTX ISA Table 50: MN-major B of eight bits.
  if (result.bMnMajor && formatBits(result.bFormat) == 8)
    legal &= n % (16 * modifiers.ctaGroup) == 0;
  if (!legal)
    return fail("N = " + Twine(n) +
                " with cta_group::" + Twine(modifiers.ctaGroup) +
                (modifiers.warpSpecialized ? " and .ws" : "") +
                (result.bMnMajor ? " and MN-major B" : ""));
  return Error::success();
}

Error Decoder::checkMajor() const {
  bool isFP4 =
      modifiers.kind == MmaKind::MXF4 || modifiers.kind == MmaKind::MXF4NVF4;
  if ((result.aMnMajor && (isFP4 || formatBits(result.aFormat) < 8)) ||
      (result.bMnMajor && (isFP4 || formatBits(result.bFormat) < 8)))
    return fail("operands of less than eight bits must be K-major");
  return Error::success();
}

Expected<InstructionDescriptor> Decoder::decode() {
  if (modifiers.ctaGroup != 1 && modifiers.ctaGroup != 2)
    return fail("cta_group::" + Twine(modifiers.ctaGroup) + " does not exist");
  result.kind = modifiers.kind;
  result.ctaGroup = modifiers.ctaGroup;
  result.warpSpecialized = modifiers.warpSpecialized;
  if (Error error = decodeOperands())
    return error;
  if (Error error =
          isBlockScaled(modifiers.kind) ? decodeScaled() : decodePlain())
    return error;
  if (result.sparse)
    result.k *= 2;
  if (Error error = checkShape())
    return error;
  if (Error error = checkColumns())
    return error;
  if (Error error = checkMajor())
    return error;
  return result;
}

} // namespace

Expected<InstructionDescriptor>
InstructionDescriptor::decode(uint32_t bits, const MmaModifiers &modifiers) {
  return Decoder(bits, modifiers).decode();
}
