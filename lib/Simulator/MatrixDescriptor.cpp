//===- MatrixDescriptor.cpp - Matrices in shared memory ---------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Simulator/MatrixDescriptor.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include <cstring>

using namespace lpfa::sim;
using llvm::Error;
using llvm::Expected;
using llvm::Twine;

/// Bytes that a row of the swizzle's pattern spans; 0 without swizzle.
static unsigned swizzleSpan(MatrixSwizzle swizzle) {
  switch (swizzle) {
  case MatrixSwizzle::None:
    return 0;
  case MatrixSwizzle::B128Base32:
  case MatrixSwizzle::B128:
    return 128;
  case MatrixSwizzle::B64:
    return 64;
  case MatrixSwizzle::B32:
    return 32;
  }
  return 0;
}

uint32_t lpfa::sim::applySwizzle(MatrixSwizzle swizzle, uint32_t address) {
  switch (swizzle) {
  case MatrixSwizzle::None:
    return address;
  case MatrixSwizzle::B128Base32:
    return address ^ ((address >> 7) & 3) << 5;
  case MatrixSwizzle::B128:
    return address ^ ((address >> 7) & 7) << 4;
  case MatrixSwizzle::B64:
    return address ^ ((address >> 7) & 3) << 4;
  case MatrixSwizzle::B32:
    return address ^ ((address >> 7) & 1) << 4;
  }
  return address;
}

Expected<MatrixDescriptor> MatrixDescriptor::decode(uint64_t bits,
                                                    DescriptorVersion version) {
  auto field = [&](unsigned low, unsigned high) {
    return static_cast<uint32_t>((bits >> low) &
                                 ((uint64_t(1) << (high - low + 1)) - 1));
  };
  auto fail = [&](const Twine &what) {
    return llvm::createStringError(
        "matrix descriptor 0x" + llvm::utohexstr(bits, true, 16) + ": " + what);
  };

  MatrixDescriptor result;
  result.start = field(0, 13) << 4;
  result.leadingOffset = field(16, 29) << 4;
  result.strideOffset = field(32, 45) << 4;
  // It tells where a swizzle's pattern begins: Triton gives one without
  // swizzle.
  auto checkBaseOffset = [&]() -> Expected<MatrixDescriptor> {
    unsigned offset = field(49, 51);
    if (offset && result.swizzle != MatrixSwizzle::None)
      return fail("base offset " + Twine(offset) + " is not supported");
    return result;
  };

  if (version == DescriptorVersion::Hopper) {
    static constexpr MatrixSwizzle swizzles[] = {
        MatrixSwizzle::None, MatrixSwizzle::B128, MatrixSwizzle::B64,
        MatrixSwizzle::B32};
    result.swizzle = swizzles[field(62, 63)];
    return checkBaseOffset();
  }

  if (unsigned value = field(46, 48); value != 1)
    return fail("bits 46 to 48 hold " + Twine(value) + " instead of 1");
  if (field(52, 52))
    return fail("the absolute leading-dimension mode is not supported");
  if (unsigned value = field(53, 60))
    return fail("reserved bits 53 to 60 hold " + Twine(value) +
                " instead of 0");
  switch (unsigned code = field(61, 63)) {
  case 0:
    result.swizzle = MatrixSwizzle::None;
    break;
  case 1:
    result.swizzle = MatrixSwizzle::B128Base32;
    break;
  case 2:
    result.swizzle = MatrixSwizzle::B128;
    break;
  case 4:
    result.swizzle = MatrixSwizzle::B64;
    break;
  case 6:
    result.swizzle = MatrixSwizzle::B32;
    break;
  default:
    return fail("swizzle code " + Twine(code));
  }
  return checkBaseOffset();
}

uint32_t MatrixDescriptor::byteAddress(unsigned row, unsigned column) const {
  unsigned span = swizzleSpan(swizzle);
  uint32_t offset = (row % 8) * (span ? span : 16) + row / 8 * strideOffset +
                    column / 16 * (span ? 16 : leadingOffset);
  return applySwizzle(swizzle, start + offset) + column % 16;
}

/// Bytes of data in a chunk of 16 bytes: the rest is padding.
static unsigned dataBytes(const OperandShape &shape) {
  unsigned bits = formatBits(shape.format);
  return bits < 8 && !shape.packsNibbles ? bits * 2 : 16;
}

/// Elements in a chunk.
static unsigned chunkElements(const OperandShape &shape) {
  return shape.packsNibbles ? 32 : 16 / containerBytes(shape.format);
}

static Error checkLayout(const MatrixDescriptor &descriptor,
                         const OperandShape &shape) {
  bool isBase32 = descriptor.swizzle == MatrixSwizzle::B128Base32;
  bool isTF32 = shape.format == ElementFormat::TF32;
  if (isBase32 && !(shape.mnMajor && isTF32))
    return llvm::createStringError(
        "the 128-byte swizzle with 32-byte atoms is for MN-major tf32 only");
  if (shape.mnMajor && isTF32 && !isBase32)
    return llvm::createStringError(
        "MN-major tf32 needs the 128-byte swizzle with 32-byte atoms");
  if (shape.mnMajor && (shape.packsNibbles || formatBits(shape.format) < 8))
    return llvm::createStringError(
        "operands of less than eight bits must be K-major");
  unsigned elements = chunkElements(shape);
  unsigned extent = shape.mnMajor ? shape.rows : shape.k;
  if (extent % elements != 0)
    return llvm::createStringError(Twine(shape.mnMajor ? "rows" : "k") + " = " +
                                   Twine(extent) +
                                   " is not a multiple of the " +
                                   Twine(elements) + " elements in 16 bytes");
  return Error::success();
}

Error MatrixDescriptor::forEachChunk(
    const OperandShape &shape,
    llvm::function_ref<void(const OperandChunk &)> visit) const {
  if (Error error = checkLayout(*this, shape))
    return error;
  unsigned elements = chunkElements(shape);
  unsigned bytes = dataBytes(shape);
  if (!shape.mnMajor) {
    for (unsigned row = 0; row != shape.rows; ++row)
      for (unsigned chunk = 0; chunk != shape.k / elements; ++chunk)
        visit({byteAddress(row, chunk * 16), bytes, row, chunk * elements});
    return Error::success();
  }

  // PTX ISA 9.7.16.3, MN-major: blocks as wide as the swizzle's span along MN,
  // groups of eight (32-byte atoms: four) along K.
  unsigned span = swizzleSpan(swizzle);
  unsigned group = swizzle == MatrixSwizzle::B128Base32 ? 4 : 8;
  unsigned pitch = span ? span : 16;
  unsigned block = pitch / containerBytes(shape.format);
  uint32_t blockOffset = span ? leadingOffset : strideOffset;
  uint32_t groupOffset = span ? strideOffset : leadingOffset;
  for (unsigned k = 0; k != shape.k; ++k)
    for (unsigned row = 0; row != shape.rows; row += elements) {
      uint32_t offset = row % block * containerBytes(shape.format) +
                        row / block * blockOffset + k % group * pitch +
                        k / group * groupOffset;
      visit({applySwizzle(swizzle, start + offset), bytes, row, k});
    }
  return Error::success();
}

Error MatrixDescriptor::gather(const OperandShape &shape,
                               llvm::ArrayRef<uint8_t> shared,
                               llvm::MutableArrayRef<uint8_t> dense,
                               uint32_t windowBase) const {
  uint32_t outside = 0;
  bool isOutside = false;
  if (Error error = forEachChunk(shape, [&](const OperandChunk &chunk) {
        if (!isOutside && (chunk.address < windowBase ||
                           uint64_t(chunk.address) - windowBase + chunk.bytes >
                               shared.size())) {
          isOutside = true;
          outside = chunk.address;
        }
      }))
    return error;
  if (isOutside)
    return llvm::createStringError(
        "the operand reads shared address 0x" + llvm::utohexstr(outside, true) +
        ", outside the " + Twine(shared.size()) + " bytes of the CTA");
  if (dense.size() != shape.denseBytes())
    return llvm::createStringError("the operand has " +
                                   Twine(shape.denseBytes()) + " bytes, not " +
                                   Twine(dense.size()));

  unsigned element = containerBytes(shape.format);
  unsigned elements = chunkElements(shape);
  unsigned bits = formatBits(shape.format);
  size_t rowBytes = size_t(shape.k) * element;
  return forEachChunk(shape, [&](const OperandChunk &chunk) {
    const uint8_t *source = &shared[chunk.address - windowBase];
    uint8_t *target = &dense[chunk.row * rowBytes + size_t(chunk.k) * element];
    if (shape.mnMajor) {
      for (unsigned i = 0; i != elements; ++i)
        std::memcpy(target + i * rowBytes, source + i * element, element);
    } else if (bits >= 8) {
      std::memcpy(target, source, 16);
    } else if (bits == 4) {
      for (unsigned i = 0; i != elements; ++i)
        target[i] = source[i / 2] >> (i % 2 * 4) & 0xF;
    } else {
      // Four six-bit elements in three bytes.
      for (unsigned i = 0; i != elements; i += 4) {
        const uint8_t *three = source + i / 4 * 3;
        uint32_t word = three[0] | three[1] << 8 | three[2] << 16;
        for (unsigned j = 0; j != 4; ++j)
          target[i + j] = word >> (6 * j) & 0x3F;
      }
    }
  });
}
