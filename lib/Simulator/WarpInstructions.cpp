//===- WarpInstructions.cpp - Instructions across lanes -------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.9.6 (shfl), 9.7.13.4 (bar.warp.sync), 9.7.13.8 (vote), 9.7.13.10
// (match), 9.7.13.11 (activemask), 9.7.13.12 (redux), 9.7.13.16 (elect).
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "FloatArithmetic.h"
#include "Machine.h"
#include "llvm/Support/MathExtras.h"

using namespace lpfa::sim;
using llvm::StringRef;
using llvm::Twine;

/// Waits until the lanes of a `.sync` instruction's mask are together. Returns
/// Next when they are; `mask` grows by those that have come.
static Status synchronize(Warp &w, const Operand &members, LaneMask &mask) {
  if (w.checkDefined(members, mask, "the member mask"))
    return Status::Stop;
  LaneMask lanes = w.lane(members, llvm::countr_zero(mask));
  if (mask & ~lanes)
    return w.fault("instruction", "lanes 0x" + Twine::utohexstr(mask) +
                                      " execute it with member mask 0x" +
                                      Twine::utohexstr(lanes));
  LaneMask before = w.fragment().mask;
  switch (w.gather(lanes, /*samePc=*/true)) {
  case Warp::Gather::Wait:
    return Status::Blocked;
  case Warp::Gather::Fault:
    return Status::Stop;
  case Warp::Gather::Ready:
    break;
  }
  mask |= (w.fragment().mask & ~before) & lanes;
  return Status::Next;
}

namespace {

/// shfl d|p, a, b, c, members. selector: the mode.
enum ShuffleMode { Up, DownMode, Butterfly, Index };

Status shuffle(Warp &w, const Instruction &i, LaneMask mask) {
  if (Status s = synchronize(w, i[5], mask); s != Status::Next)
    return s;
  uint32_t a[warpSize];
  std::memcpy(a, w.words(i[2]), sizeof a);
  const uint32_t *b = w.words(i[3]), *c = w.words(i[4]);
  uint32_t *d = i[0] ? w.words(i[0]) : nullptr;
  LaneMask valid = 0, undefined = 0, source = w.undefinedLanes(i[2]);
  LaneMask byte[4];
  for (unsigned k = 0; k != 4; ++k)
    byte[k] = source ? w.undefinedByte(i[2], k) : 0;
  LaneMask result[4] = {};
  for (unsigned l = 0; l != warpSize; ++l) {
    if (!((mask >> l) & 1))
      continue;
    unsigned clamp = c[l] & 31, segment = (c[l] >> 8) & 31;
    unsigned low = l & segment, high = low | (clamp & ~segment);
    int j = l;
    bool p = false;
    switch (i.selector) {
    case Up:
      j = int(l) - int(b[l] & 31);
      p = j >= int(high);
      break;
    case DownMode:
      j = l + (b[l] & 31);
      p = j <= int(high);
      break;
    case Butterfly:
      j = l ^ (b[l] & 31);
      p = j <= int(high);
      break;
    case Index:
      j = low | (b[l] & 31 & ~segment);
      p = j <= int(high);
      break;
    }
    if (!p)
      j = l;
    valid |= LaneMask(p) << l;
    bool inactive = !((mask >> j) & 1);
    if (inactive)
      undefined |= LaneMask(1) << l;
    for (unsigned k = 0; k != 4; ++k)
      result[k] |= LaneMask(inactive || ((byte[k] >> j) & 1)) << l;
    if (d)
      d[l] = inactive ? ~0u : a[j];
  }
  if (i[0]) {
    if (source || undefined || w.undefinedLanes(i[0])) {
      for (unsigned k = 0; k != 4; ++k)
        w.setUndefinedByte(i[0], k, mask, result[k]);
      w.summarizeUndefined(i[0]);
    }
  }
  w.setPredicate(i[1], valid, mask);
  w.setUndefined(i[1], mask, false);
  return Status::Next;
}

void decodeShuffle(Decoder &d) {
  if (!d.take("sync"))
    return d.fail("'shfl' without .sync is not supported");
  static constexpr StringRef modes[] = {"up", "down", "bfly", "idx"};
  d.inst.selector = d.takeOneOf(modes);
  Type type = d.needType();
  d.finish();
  d.needOperands(5);
  d.inst.type = type;
  d.inst.undef = Undef::Self;
  if (d.operand(0).kind == ptx::SyntaxOperand::Kind::Pair) {
    d.destinationOf(d.operand(0).elements[0], Type::B32);
    d.destinationOf(d.operand(0).elements[1], Type::Pred);
  } else {
    d.destination(0, Type::B32);
    d.absent();
    ++d.inst.numDestinations;
  }
  for (unsigned s = 1; s != 5; ++s)
    d.source(s, Type::B32);
  d.inst.execute = shuffle;
}

enum VoteMode { VoteAll, VoteAny, VoteUni, Ballot };

/// vote d, a, members.
Status vote(Warp &w, const Instruction &i, LaneMask mask) {
  if (Status s = synchronize(w, i[2], mask); s != Status::Next)
    return s;
  if (w.checkDefined(i[1], mask, "the predicate"))
    return Status::Stop;
  LaneMask p = w.predicate(i[1]) & mask;
  if (i.selector == Ballot) {
    if (i[0])
      for (unsigned l = 0; l != warpSize; ++l)
        if ((mask >> l) & 1)
          w.setLane(i[0], l, p);
  } else {
    bool result = i.selector == VoteAll   ? p == mask
                  : i.selector == VoteAny ? p != 0
                                          : p == 0 || p == mask;
    w.setPredicate(i[0], result ? allLanes : 0, mask);
  }
  w.setUndefined(i[0], mask, false);
  return Status::Next;
}

void decodeVote(Decoder &d) {
  if (!d.take("sync"))
    return d.fail("'vote' without .sync is not supported");
  static constexpr StringRef modes[] = {"all", "any", "uni", "ballot"};
  d.inst.selector = d.takeOneOf(modes);
  d.inst.type = d.needType();
  d.finish();
  d.needOperands(3);
  d.inst.undef = Undef::Self;
  d.destination(0, d.inst.type);
  d.source(1, Type::Pred);
  d.source(2, Type::B32);
  d.inst.execute = vote;
}

/// match d|p, a, members. selector 1: all.
Status match(Warp &w, const Instruction &i, LaneMask mask) {
  if (Status s = synchronize(w, i[3], mask); s != Status::Next)
    return s;
  if (w.checkDefined(i[2], mask, "the compared value"))
    return Status::Stop;
  LaneMask results[warpSize] = {};
  for (unsigned l = 0; l != warpSize; ++l)
    for (unsigned m = 0; m != warpSize; ++m)
      if ((mask >> l) & (mask >> m) & 1 && w.lane(i[2], l) == w.lane(i[2], m))
        results[l] |= LaneMask(1) << m;
  bool all = results[llvm::countr_zero(mask)] == mask;
  for (unsigned l = 0; l != warpSize; ++l)
    if ((mask >> l) & 1)
      w.setLane(i[0], l, i.selector ? all ? mask : 0 : results[l]);
  w.setPredicate(i[1], all ? allLanes : 0, mask);
  w.setUndefined(i[0], mask, false);
  w.setUndefined(i[1], mask, false);
  return Status::Next;
}

void decodeMatch(Decoder &d) {
  static constexpr StringRef modes[] = {"any", "all"};
  d.inst.selector = d.takeOneOf(modes);
  if (!d.take("sync"))
    return d.fail("'match' without .sync");
  Type type = d.needType();
  d.finish();
  d.needOperands(3);
  d.inst.undef = Undef::Self;
  if (d.operand(0).kind == ptx::SyntaxOperand::Kind::Pair) {
    d.destinationOf(d.operand(0).elements[0], Type::B32);
    d.destinationOf(d.operand(0).elements[1], Type::Pred);
  } else {
    d.destination(0, Type::B32);
    d.absent();
    ++d.inst.numDestinations;
  }
  d.source(1, type);
  d.source(2, Type::B32);
  d.inst.execute = match;
}

Status activeMask(Warp &w, const Instruction &i, LaneMask mask) {
  for (unsigned l = 0; l != warpSize; ++l)
    if ((mask >> l) & 1)
      w.setLane(i[0], l, mask);
  return Status::Next;
}

void decodeActiveMask(Decoder &d) {
  d.needType();
  d.finish();
  d.needOperands(1);
  d.destination(0, Type::B32);
  d.inst.execute = activeMask;
}

/// redux d, a, members. flags for f32: 1 .abs, 2 .NaN.
enum ReduxMode { RAdd, RMin, RMax, RAnd, ROr, RXor };

Status redux(Warp &w, const Instruction &i, LaneMask mask) {
  if (Status s = synchronize(w, i[2], mask); s != Status::Next)
    return s;
  if (w.checkDefined(i[1], mask, "the reduced value"))
    return Status::Stop;
  const uint32_t *a = w.words(i[1]);
  uint32_t result = 0;
  bool first = true;
  if (i.type == Type::F32) {
    // +0 is greater than -0; NaNs are ignored without .NaN.
    bool isMax = i.selector == RMax, sawNaN = false;
    float best = 0;
    for (unsigned l = 0; l != warpSize; ++l) {
      if (!((mask >> l) & 1))
        continue;
      uint32_t bits = i.flags & 1 ? a[l] & 0x7FFFFFFF : a[l];
      float v = llvm::bit_cast<float>(bits);
      if (v != v) {
        sawNaN = true;
        continue;
      }
      bool negative = bits >> 31;
      bool bestNegative = llvm::bit_cast<uint32_t>(best) >> 31;
      bool better = isMax
                        ? v > best || (v == best && bestNegative && !negative)
                        : v < best || (v == best && negative && !bestNegative);
      if (first || better)
        best = v;
      first = false;
    }
    result = first || (sawNaN && i.flags & 2) ? 0x7FFFFFFF
                                              : llvm::bit_cast<uint32_t>(best);
  } else {
    for (unsigned l = 0; l != warpSize; ++l) {
      if (!((mask >> l) & 1))
        continue;
      uint32_t v = a[l];
      if (first) {
        result = v;
        first = false;
        continue;
      }
      bool less =
          i.type == Type::S32 ? int32_t(v) < int32_t(result) : v < result;
      switch (i.selector) {
      case RAdd:
        result += v;
        break;
      case RMin:
        result = less ? v : result;
        break;
      case RMax:
        result = less ? result : v;
        break;
      case RAnd:
        result &= v;
        break;
      case ROr:
        result |= v;
        break;
      case RXor:
        result ^= v;
        break;
      }
    }
  }
  for (unsigned l = 0; l != warpSize; ++l)
    if ((mask >> l) & 1)
      w.setLane(i[0], l, result);
  w.setUndefined(i[0], mask, false);
  return Status::Next;
}

void decodeRedux(Decoder &d) {
  if (!d.take("sync"))
    return d.fail("'redux' without .sync");
  static constexpr StringRef modes[] = {"add", "min", "max",
                                        "and", "or",  "xor"};
  int mode = d.takeOneOf(modes);
  d.inst.flags = (d.take("abs") ? 1 : 0) | (d.take("NaN") ? 2 : 0);
  d.inst.type = d.needType();
  d.finish();
  d.needOperands(3);
  bool isFloat = d.inst.type == Type::F32;
  if (mode < 0 || (isFloat && mode != RMin && mode != RMax) ||
      (!isFloat && d.inst.flags))
    return d.fail("'redux' has no such operation");
  d.inst.selector = mode;
  d.inst.undef = Undef::Self;
  d.destination(0, Type::B32);
  d.source(1, Type::B32);
  d.source(2, Type::B32);
  d.inst.execute = redux;
}

/// elect d|p, members: the lowest lane leads, as on every known machine.
Status elect(Warp &w, const Instruction &i, LaneMask mask) {
  if (Status s = synchronize(w, i[2], mask); s != Status::Next)
    return s;
  unsigned leader = llvm::countr_zero(mask);
  for (unsigned l = 0; l != warpSize && i[0]; ++l)
    if ((mask >> l) & 1)
      w.setLane(i[0], l, leader);
  w.setPredicate(i[1], LaneMask(1) << leader, mask);
  w.setUndefined(i[0], mask, false);
  w.setUndefined(i[1], mask, false);
  return Status::Next;
}

void decodeElect(Decoder &d) {
  if (!d.take("sync"))
    return d.fail("'elect' without .sync");
  d.finish();
  d.needOperands(2);
  d.inst.undef = Undef::Self;
  if (d.operand(0).kind != ptx::SyntaxOperand::Kind::Pair)
    return d.fail("'elect' needs a destination d|p");
  d.destinationOf(d.operand(0).elements[0], Type::B32);
  d.destinationOf(d.operand(0).elements[1], Type::Pred);
  d.source(1, Type::B32);
  d.inst.execute = elect;
}

} // namespace

void lpfa::sim::addWarpInstructions(DecodeTable &table) {
  table["shfl"] = decodeShuffle;
  table["vote"] = decodeVote;
  table["match"] = decodeMatch;
  table["activemask"] = decodeActiveMask;
  table["redux"] = decodeRedux;
  table["elect"] = decodeElect;
}
