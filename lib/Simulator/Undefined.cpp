//===- Undefined.cpp - Undefined register bytes ---------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Undefined.h"
#include "Machine.h"

using namespace lpfa::sim;

UndefinedResult::UndefinedResult(Warp &warp, const Instruction &instruction,
                                 LaneMask mask, LaneMask undefined)
    : warp(warp), instruction(instruction), mask(mask) {
  switch (instruction.undef) {
  case Undef::Copy:
    copy();
    break;
  case Undef::Bitwise:
  case Undef::And:
    bitwise();
    break;
  case Undef::Shift:
    shift();
    break;
  case Undef::Extract:
    extract();
    break;
  case Undef::Permute:
    permute();
    break;
  case Undef::Select:
    select();
    break;
  case Undef::Any:
  case Undef::Self:
    all(undefined);
    break;
  }
}

void UndefinedResult::all(LaneMask undefined) {
  for (unsigned d = 0; d != instruction.numDestinations; ++d)
    if (const Operand &o = instruction[d])
      for (unsigned b = 0, n = Warp::trackedBytes(o); b != n; ++b)
        add(o, b, undefined);
}

LaneMask UndefinedResult::source(const Operand &o, unsigned byte) const {
  return o && byte < Warp::trackedBytes(o) ? warp.undefinedByte(o, byte) : 0;
}

void UndefinedResult::add(const Operand &destination, unsigned byte,
                          LaneMask lanes) {
  bytes.push_back({destination, byte, lanes});
}

/// Sources, end to end, become the destinations, end to end. The bytes of an
/// element are those of `type` on the wide side and of `sourceType` (if given)
/// on the narrow one.
void UndefinedResult::copy() {
  unsigned numSources =
      instruction.operands.size() - instruction.numDestinations;
  // Bytes that an operand of a pack or unpack contributes.
  unsigned total = std::max(1u, bytesOf(instruction.type));
  unsigned perSource = total / std::max(1u, numSources);
  unsigned perDestination =
      total / std::max<unsigned>(1, instruction.numDestinations);
  if (instruction.vector > 1 || instruction.type == Type::None) {
    perSource = perDestination = std::max(1u, bytesOf(instruction.type));
    total = perSource * numSources;
  }
  for (unsigned d = 0; d != instruction.numDestinations; ++d) {
    const Operand &o = instruction[d];
    if (!o)
      continue;
    for (unsigned b = 0, n = Warp::trackedBytes(o); b != n; ++b) {
      unsigned position = d * perDestination + b;
      LaneMask lanes = 0;
      if (b < perDestination && position < total)
        lanes = source(
            instruction[instruction.numDestinations + position / perSource],
            position % perSource);
      add(o, b, lanes);
    }
  }
}

void UndefinedResult::bitwise() {
  const Operand &o = instruction[0];
  for (unsigned b = 0, n = Warp::trackedBytes(o); b != n; ++b) {
    LaneMask lanes = 0;
    for (unsigned s = 1; s != instruction.operands.size(); ++s)
      lanes |= source(instruction[s], b);
    // A defined zero byte decides an `and`.
    if (instruction.undef == Undef::And && lanes && o.bytes)
      for (unsigned s = 1; s != instruction.operands.size(); ++s)
        for (unsigned l = 0; l != warpSize; ++l)
          if (!((source(instruction[s], b) >> l) & 1) &&
              uint8_t(warp.lane(instruction[s], l) >> (8 * b)) == 0)
            lanes &= ~(LaneMask(1) << l);
    add(o, b, lanes);
  }
}

/// Whether an operand is defined and the same in lane 0 and all active ones.
bool UndefinedResult::isUniform(const Operand &o) const {
  uint64_t first = warp.lane(o, 0);
  bool uniform = !warp.undefinedLanes(o);
  for (unsigned l = 0; l != warpSize && uniform; ++l)
    uniform = !((mask >> l) & 1) || warp.lane(o, l) == first;
  return uniform;
}

/// flags bit 0: to the right.
void UndefinedResult::shift() {
  const Operand &o = instruction[0], &value = instruction[1],
                &amount = instruction[2];
  unsigned size = std::max(1u, bytesOf(instruction.type));
  uint64_t first = warp.lane(amount, 0);
  bool byBytes = isUniform(amount) && first % 8 == 0 && first / 8 <= size;
  bool right = instruction.flags & 1;
  bool isArithmetic = right && isSigned(instruction.type);
  LaneMask any = warp.undefinedLanes(value) | warp.undefinedLanes(amount);
  for (unsigned b = 0, n = Warp::trackedBytes(o); b != n; ++b) {
    LaneMask lanes = any;
    if (byBytes) {
      int from = right ? int(b + first / 8) : int(b) - int(first / 8);
      if (from >= int(size) && isArithmetic)
        from = size - 1;
      lanes = from < 0 || from >= int(size) ? 0 : source(value, from);
    }
    add(o, b, lanes);
  }
}

/// bfe d, a, position, length.
void UndefinedResult::extract() {
  const Operand &o = instruction[0], &value = instruction[1],
                &position = instruction[2], &length = instruction[3];
  uint64_t first = warp.lane(position, 0), count = warp.lane(length, 0);
  bool isConstant =
      isUniform(position) && isUniform(length) && !isSigned(instruction.type);
  LaneMask any = warp.undefinedLanes(value) | warp.undefinedLanes(position) |
                 warp.undefinedLanes(length);
  for (unsigned b = 0, n = Warp::trackedBytes(o); b != n; ++b) {
    LaneMask lanes = any;
    if (isConstant) {
      // The bytes that have any of the result's bits 8 b to 8 b + 7.
      uint64_t begin = first + 8 * b;
      uint64_t end = first + std::min<uint64_t>(8 * b + 8, count);
      lanes = 0;
      for (uint64_t from = begin / 8; begin < end && from <= (end - 1) / 8;
           ++from)
        lanes |= source(value, from);
    }
    add(o, b, lanes);
  }
}

void UndefinedResult::permute() {
  const Operand &o = instruction[0], &selector = instruction[3];
  for (unsigned b = 0; b != 4; ++b) {
    LaneMask lanes = warp.undefinedLanes(selector);
    for (unsigned l = 0; l != warpSize; ++l) {
      unsigned nibble = (warp.lane(selector, l) >> (4 * b)) & 7;
      const Operand &from = instruction[nibble < 4 ? 1 : 2];
      lanes |= source(from, nibble % 4) & (LaneMask(1) << l);
    }
    add(o, b, lanes);
  }
}

/// selp d, a, b, p.
void UndefinedResult::select() {
  const Operand &o = instruction[0], &p = instruction[3];
  LaneMask chosen = warp.predicate(p);
  for (unsigned b = 0, n = Warp::trackedBytes(o); b != n; ++b)
    add(o, b,
        (source(instruction[1], b) & chosen) |
            (source(instruction[2], b) & ~chosen) | warp.undefinedLanes(p));
}

void UndefinedResult::apply() {
  for (const Byte &b : bytes)
    warp.setUndefinedByte(b.destination, b.byte, mask, b.lanes);
  for (unsigned d = 0; d != instruction.numDestinations; ++d)
    if (const Operand &o = instruction[d])
      warp.summarizeUndefined(o);
}
