//===- MatrixInstructions.cpp - Matrices between shared memory and lanes --===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.14.5.15 (ldmatrix), 9.7.14.5.16 (stmatrix).
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "Machine.h"
#include "llvm/Support/MathExtras.h"

using namespace lpfa::sim;
using llvm::StringRef;

namespace {

/// Waits for the whole warp.
Status gatherWarp(Warp &w) {
  switch (w.gather(allLanes, /*samePc=*/true)) {
  case Warp::Gather::Wait:
    return Status::Blocked;
  case Warp::Gather::Fault:
    return Status::Stop;
  case Warp::Gather::Ready:
    break;
  }
  return Status::Next;
}

/// The element of lane `l`, half `h` of an 8x8 matrix: row and column.
std::pair<unsigned, unsigned> elementOf(unsigned l, unsigned h, bool trans) {
  unsigned major = l / 4, minor = 2 * (l % 4) + h;
  return trans ? std::pair(minor, major) : std::pair(major, minor);
}

/// Row addresses come from lane 8 * matrix + row. flags: transposed.
Status loadMatrix(Warp &w, const Instruction &i, LaneMask mask) {
  if (Status s = gatherWarp(w); s != Status::Next)
    return s;
  unsigned n = i.numDestinations;
  if (w.checkDefined(i[n], n == 4 ? allLanes : (1u << 8 * n) - 1,
                     "the address"))
    return Status::Stop;
  for (unsigned m = 0; m != n; ++m) {
    BytesRef rows[8];
    for (unsigned r = 0; r != 8; ++r) {
      rows[r] = w.locate(Space::Shared, w.address(i[n], 8 * m + r) & windowMask,
                         16, 8 * m + r,
                         /*isWrite=*/false, 16);
      if (!rows[r].data ||
          !w.noteShared(w.address(i[n], 8 * m + r), 16, /*isWrite=*/false))
        return Status::Stop;
    }
    if (!i[m])
      continue;
    LaneMask undefined[4] = {};
    for (unsigned l = 0; l != warpSize; ++l) {
      uint32_t value = 0;
      for (unsigned h = 0; h != 2; ++h) {
        auto [row, column] = elementOf(l, h, i.flags);
        uint16_t element;
        std::memcpy(&element, rows[row].data + 2 * column, 2);
        value |= uint32_t(element) << (16 * h);
        for (unsigned b = 0; b != 2; ++b)
          if (rows[row].undefined[2 * column + b])
            undefined[2 * h + b] |= LaneMask(1) << l;
      }
      if ((mask >> l) & 1)
        w.words(i[m])[l] = value;
    }
    for (unsigned b = 0; b != 4; ++b)
      w.setUndefinedByte(i[m], b, mask, undefined[b]);
    w.summarizeUndefined(i[m]);
  }
  return Status::Next;
}

/// Address, registers.
Status storeMatrix(Warp &w, const Instruction &i, LaneMask mask) {
  if (Status s = gatherWarp(w); s != Status::Next)
    return s;
  unsigned n = i.operands.size() - 1;
  if (w.checkDefined(i[0], n == 4 ? allLanes : (1u << 8 * n) - 1,
                     "the address"))
    return Status::Stop;
  for (unsigned m = 0; m != n; ++m) {
    BytesRef rows[8];
    for (unsigned r = 0; r != 8; ++r) {
      rows[r] = w.locate(Space::Shared, w.address(i[0], 8 * m + r) & windowMask,
                         16, 8 * m + r,
                         /*isWrite=*/true, 16);
      if (!rows[r].data ||
          !w.noteShared(w.address(i[0], 8 * m + r), 16, /*isWrite=*/true))
        return Status::Stop;
    }
    const Operand &o = i[1 + m];
    LaneMask any = w.undefinedLanes(o);
    for (unsigned l = 0; l != warpSize; ++l) {
      if (!((mask >> l) & 1))
        continue;
      for (unsigned h = 0; h != 2; ++h) {
        auto [row, column] = elementOf(l, h, i.flags);
        uint16_t element = w.words(o)[l] >> (16 * h);
        std::memcpy(rows[row].data + 2 * column, &element, 2);
        for (unsigned b = 0; b != 2; ++b)
          rows[row].undefined[2 * column + b] =
              any ? (w.undefinedByte(o, 2 * h + b) >> l) & 1 : 0;
      }
    }
  }
  return Status::Next;
}

void decodeMatrix(Decoder &d, bool isStore) {
  d.inst.undef = Undef::Self;
  d.take("sync");
  d.take("aligned");
  if (!d.take("m8n8"))
    return d.fail("'" + d.syntax.opcode + "' of this shape is not supported");
  static constexpr StringRef counts[] = {"x1", "x2", "x4"};
  int count = d.takeOneOf(counts);
  d.inst.flags = d.take("trans");
  d.takeSpace();
  if (!d.take("b16"))
    return d.fail("'" + d.syntax.opcode + "' of this type is not supported");
  d.finish();
  d.needOperands(2);
  if (count < 0)
    return d.fail("'" + d.syntax.opcode + "' needs .x1, .x2 or .x4");
  unsigned registers;
  if (isStore) {
    d.address(0);
    registers = d.sourceVector(1, Type::B32);
  } else {
    registers = d.destinationVector(0, Type::B32);
    d.address(1);
  }
  if (registers != 1u << count)
    return d.fail("the vector has the wrong length");
  d.inst.execute = isStore ? storeMatrix : loadMatrix;
}

void decodeLdmatrix(Decoder &d) { decodeMatrix(d, false); }
void decodeStmatrix(Decoder &d) { decodeMatrix(d, true); }

} // namespace

void lpfa::sim::addMatrixInstructions(DecodeTable &table) {
  table["ldmatrix"] = decodeLdmatrix;
  table["stmatrix"] = decodeStmatrix;
}
