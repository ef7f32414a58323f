//===- Movement.cpp - Moves, address spaces and hints ---------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "Lanes.h"

using namespace lpfa::sim;
using llvm::StringRef;

namespace {

//===----------------------------------------------------------------------===//
// mov (PTX ISA 9.7.9.5, 9.7.9.6)
//===----------------------------------------------------------------------===//

template <typename T>
Status move(Warp &w, const Instruction &i, LaneMask mask) {
  const Slot<T> *a = slots<T>(w, i[1]);
  forLanes<T>(slots<T>(w, i[0]), mask, [=](unsigned l) { return T(a[l]); });
  return Status::Next;
}

Status movePredicate(Warp &w, const Instruction &i, LaneMask mask) {
  w.setPredicate(i[0], w.predicate(i[1]), mask);
  return Status::Next;
}

/// 128-bit registers hold the low halves of all lanes, then the high halves.
uint64_t *wideHalf(Warp &w, const Operand &o, unsigned half) {
  return w.doubleWords(o) + half * warpSize;
}

Status moveWide(Warp &w, const Instruction &i, LaneMask mask) {
  for (unsigned h = 0; h != 2; ++h) {
    const uint64_t *a = wideHalf(w, i[1], h);
    forLanes<uint64_t>(wideHalf(w, i[0], h), mask,
                       [=](unsigned l) { return a[l]; });
  }
  return Status::Next;
}

Status packTwoWords(Warp &w, const Instruction &i, LaneMask mask) {
  const uint32_t *low = w.words(i[1]), *high = w.words(i[2]);
  forLanes<uint64_t>(w.doubleWords(i[0]), mask, [=](unsigned l) {
    return uint64_t(high[l]) << 32 | low[l];
  });
  return Status::Next;
}

Status unpackTwoWords(Warp &w, const Instruction &i, LaneMask mask) {
  // A copy, since a destination may be the source's register.
  uint64_t a[warpSize];
  std::memcpy(a, w.doubleWords(i[2]), sizeof a);
  if (i[0])
    forLanes<uint32_t>(w.words(i[0]), mask,
                       [&](unsigned l) { return uint32_t(a[l]); });
  if (i[1])
    forLanes<uint32_t>(w.words(i[1]), mask,
                       [&](unsigned l) { return uint32_t(a[l] >> 32); });
  return Status::Next;
}

Status packTwoDoubleWords(Warp &w, const Instruction &i, LaneMask mask) {
  for (unsigned h = 0; h != 2; ++h) {
    const uint64_t *a = w.doubleWords(i[1 + h]);
    forLanes<uint64_t>(wideHalf(w, i[0], h), mask,
                       [=](unsigned l) { return a[l]; });
  }
  return Status::Next;
}

Status unpackTwoDoubleWords(Warp &w, const Instruction &i, LaneMask mask) {
  for (unsigned h = 0; h != 2; ++h) {
    if (!i[h])
      continue;
    const uint64_t *a = wideHalf(w, i[2], h);
    forLanes<uint64_t>(w.doubleWords(i[h]), mask,
                       [=](unsigned l) { return a[l]; });
  }
  return Status::Next;
}

/// Any other vector of elements into one register of up to 64 bits.
Status pack(Warp &w, const Instruction &i, LaneMask mask) {
  unsigned n = i.operands.size() - 1, bits = 8 * bytesOf(i.type) / n;
  uint64_t low = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  for (unsigned l = 0; l != warpSize; ++l) {
    if (!((mask >> l) & 1))
      continue;
    uint64_t value = 0;
    for (unsigned e = 0; e != n; ++e)
      value |= (w.lane(i[1 + e], l) & low) << (bits * e);
    w.setLane(i[0], l, value);
  }
  return Status::Next;
}

Status unpack(Warp &w, const Instruction &i, LaneMask mask) {
  unsigned n = i.numDestinations, bits = 8 * bytesOf(i.type) / n;
  uint64_t low = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  for (unsigned l = 0; l != warpSize; ++l) {
    if (!((mask >> l) & 1))
      continue;
    uint64_t value = w.lane(i[n], l);
    for (unsigned e = 0; e != n; ++e)
      w.setLane(i[e], l, (value >> (bits * e)) & low);
  }
  return Status::Next;
}

Type elementType(unsigned bytes) {
  switch (bytes) {
  case 1:
    return Type::B8;
  case 2:
    return Type::B16;
  case 4:
    return Type::B32;
  case 8:
    return Type::B64;
  default:
    return Type::None;
  }
}

void decodeMove(Decoder &d) {
  using Kind = ptx::SyntaxOperand::Kind;
  Type type = d.needType();
  d.finish();
  d.needOperands(2);
  d.inst.type = type;
  d.inst.undef = Undef::Copy;
  bool packs = d.operand(1).kind == Kind::Vector;
  bool unpacks = d.operand(0).kind == Kind::Vector;
  if (packs && unpacks)
    return d.fail("'mov' from a vector to a vector is not supported");
  if (packs || unpacks) {
    unsigned n = d.operand(packs ? 1 : 0).elements.size();
    Type element = n ? elementType(bytesOf(type) / n) : Type::None;
    if (element == Type::None || n < 2)
      return d.fail("the vector's elements do not fit the type");
    if (packs) {
      d.destination(0, type);
      d.sourceVector(1, element);
      d.inst.execute = type == Type::B128 && n == 2   ? packTwoDoubleWords
                       : bytesOf(type) == 8 && n == 2 ? packTwoWords
                       : bytesOf(type) <= 8           ? pack
                                                      : nullptr;
    } else {
      d.destinationVector(0, element);
      d.source(1, type);
      d.inst.execute = type == Type::B128 && n == 2   ? unpackTwoDoubleWords
                       : bytesOf(type) == 8 && n == 2 ? unpackTwoWords
                       : bytesOf(type) <= 8           ? unpack
                                                      : nullptr;
    }
    return;
  }
  d.destination(0, type);
  d.source(1, type);
  d.inst.execute = type == Type::Pred    ? movePredicate
                   : bytesOf(type) == 16 ? moveWide
                   : bytesOf(type) == 8  ? move<uint64_t>
                                         : move<uint32_t>;
}

//===----------------------------------------------------------------------===//
// Address spaces
//===----------------------------------------------------------------------===//

uint64_t windowOf(Space space) {
  switch (space) {
  case Space::Shared:
    return sharedWindow;
  case Space::Local:
    return localWindow;
  case Space::Param:
    return paramWindow;
  default:
    return 0;
  }
}

/// cvta: selector is the window's number; flags: to the space.
Status convertAddress(Warp &w, const Instruction &i, LaneMask mask) {
  uint64_t window = uint64_t(i.selector) << 32;
  bool to = i.flags;
  for (unsigned l = 0; l != warpSize; ++l)
    if ((mask >> l) & 1) {
      uint64_t a = w.address(i[1], l);
      w.setLane(i[0], l, to ? a - window : a + window);
    }
  return Status::Next;
}

void decodeCvta(Decoder &d) {
  bool to = d.take("to");
  Space space = d.takeSpace();
  Type type = d.needType();
  d.finish();
  d.needOperands(2);
  d.inst.type = type;
  d.inst.flags = to;
  d.inst.selector = windowOf(space) >> 32;
  d.destination(0, type);
  if (d.isAddress(1))
    d.address(1);
  else
    d.source(1, type);
  d.inst.execute = convertAddress;
}

Status isInSpace(Warp &w, const Instruction &i, LaneMask mask) {
  LaneMask result = 0;
  for (unsigned l = 0; l != warpSize; ++l) {
    uint64_t window = w.address(i[1], l) >> 32;
    bool in = i.selector ? window == i.selector
                         : window >= uint64_t(1) << (bufferShift - 32);
    // .shared::cta: the own CTA's window only.
    if (in && i.flags)
      in = (w.address(i[1], l) & windowMask) >> rankShift == w.cta.rank;
    result |= LaneMask(in) << l;
  }
  w.setPredicate(i[0], result, mask);
  return Status::Next;
}

void decodeIsspacep(Decoder &d) {
  d.inst.flags = llvm::is_contained(d.remaining(), "shared::cta");
  Space space = d.takeSpace();
  d.finish();
  d.needOperands(2);
  d.inst.selector = windowOf(space) >> 32;
  d.destination(0, Type::Pred);
  d.source(1, Type::B64);
  d.inst.execute = isInSpace;
}

/// mapa: the same offset in another CTA of the cluster.
Status mapAddress(Warp &w, const Instruction &i, LaneMask mask) {
  constexpr uint64_t offsets = (uint64_t(1) << rankShift) - 1;
  for (unsigned l = 0; l != warpSize; ++l) {
    if (!((mask >> l) & 1))
      continue;
    uint64_t a = w.address(i[1], l), rank = w.lane(i[2], l);
    if (rank >= w.cluster.ctas.size())
      return w.fault("bounds", "'mapa' to CTA " + llvm::Twine(rank) +
                                   " of a cluster of " +
                                   llvm::Twine(w.cluster.ctas.size()));
    w.setLane(i[0], l, (a & ~(windowMask & ~offsets)) | rank << rankShift);
  }
  return Status::Next;
}

void decodeMapa(Decoder &d) {
  d.takeSpace();
  Type type = d.needType();
  d.finish();
  d.needOperands(3);
  d.inst.type = type;
  d.destination(0, type);
  d.source(1, type);
  d.source(2, Type::U32);
  d.inst.execute = mapAddress;
}

Status addressRank(Warp &w, const Instruction &i, LaneMask mask) {
  for (unsigned l = 0; l != warpSize; ++l)
    if ((mask >> l) & 1)
      w.setLane(i[0], l, (w.address(i[1], l) & windowMask) >> rankShift);
  return Status::Next;
}

void decodeGetctarank(Decoder &d) {
  d.takeSpace();
  Type type = d.needType();
  d.finish();
  d.needOperands(2);
  d.destination(0, Type::U32);
  d.source(1, type);
  d.inst.execute = addressRank;
}

//===----------------------------------------------------------------------===//
// Hints
//===----------------------------------------------------------------------===//

Status nothing(Warp &, const Instruction &, LaneMask) { return Status::Next; }
Status letOthersRun(Warp &, const Instruction &, LaneMask) {
  return Status::Yield;
}

/// Cache hints have no effect on what is computed.
void decodeHint(Decoder &d) { d.inst.execute = nothing; }
void decodeNanosleep(Decoder &d) { d.inst.execute = letOthersRun; }

Status zero(Warp &w, const Instruction &i, LaneMask mask) {
  forLanes<uint64_t>(w.doubleWords(i[0]), mask,
                     [](unsigned) { return uint64_t(0); });
  return Status::Next;
}

/// A cache policy is opaque: zero stands for every one.
void decodeCreatepolicy(Decoder &d) {
  d.destination(0, Type::B64);
  d.inst.execute = zero;
}

/// Kernels run one after another, so there is nothing to wait for; what must
/// come behind the wait is the race detector's business.
Status waitForGrid(Warp &w, const Instruction &, LaneMask) {
  if (w.cluster.races)
    w.cluster.races->waitForGrid(w);
  return Status::Next;
}

void decodeGriddepcontrol(Decoder &d) {
  bool waits = d.take("wait");
  if (!waits && !d.take("launch_dependents"))
    return d.fail("'griddepcontrol' needs .wait or .launch_dependents");
  d.finish();
  if (waits)
    d.functionDecoder().function.waitsForGrid = true;
  d.inst.execute = waits ? waitForGrid : nothing;
}

} // namespace

void lpfa::sim::addMovement(DecodeTable &table) {
  table["mov"] = decodeMove;
  table["cvta"] = decodeCvta;
  table["isspacep"] = decodeIsspacep;
  table["mapa"] = decodeMapa;
  table["getctarank"] = decodeGetctarank;
  table["prefetch"] = table["prefetchu"] = table["discard"] =
      table["applypriority"] = table["pmevent"] = decodeHint;
  table["createpolicy"] = decodeCreatepolicy;
  table["nanosleep"] = decodeNanosleep;
  table["griddepcontrol"] = decodeGriddepcontrol;
}
