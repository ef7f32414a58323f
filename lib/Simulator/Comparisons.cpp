//===- Comparisons.cpp - Comparison and selection
//---------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.6 (integer and floating-point comparison and selection).
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "FloatArithmetic.h"
#include "Lanes.h"
#include "llvm/ADT/StringSwitch.h"

using namespace lpfa::sim;
using llvm::StringRef;

namespace {

enum Comparison : uint8_t {
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Lo,
  Ls,
  Hi,
  Hs, // ordered as in the manual
  Equ,
  Neu,
  Ltu,
  Leu,
  Gtu,
  Geu,
  Num,
  Nan
};

std::optional<Comparison> parseComparison(StringRef name) {
  return llvm::StringSwitch<std::optional<Comparison>>(name)
      .Case("eq", Eq)
      .Case("ne", Ne)
      .Cases({"lt", "lo"}, Lt)
      .Cases({"le", "ls"}, Le)
      .Cases({"gt", "hi"}, Gt)
      .Cases({"ge", "hs"}, Ge)
      .Case("equ", Equ)
      .Case("neu", Neu)
      .Case("ltu", Ltu)
      .Case("leu", Leu)
      .Case("gtu", Gtu)
      .Case("geu", Geu)
      .Case("num", Num)
      .Case("nan", Nan)
      .Default(std::nullopt);
}

template <typename T> bool compare(Comparison c, T a, T b) {
  bool unordered = a != a || b != b;
  switch (c) {
  case Eq:
    return a == b;
  case Ne:
    return a != b && !unordered;
  case Lt:
    return a < b;
  case Le:
    return a <= b;
  case Gt:
    return a > b;
  case Ge:
    return a >= b;
  case Equ:
    return a == b || unordered;
  case Neu:
    return a != b || unordered;
  case Ltu:
    return a < b || unordered;
  case Leu:
    return a <= b || unordered;
  case Gtu:
    return a > b || unordered;
  case Geu:
    return a >= b || unordered;
  case Num:
    return !unordered;
  case Nan:
    return unordered;
  default:
    return false;
  }
}

/// Compares registers; the values of 16-bit floats are widened by `Load`.
template <typename T, typename Load>
LaneMask compareLanes(Comparison c, const Slot<T> *a, const Slot<T> *b,
                      Load load) {
  LaneMask result = 0;
  auto loop = [&](auto relation) {
    uint32_t bits[warpSize];
    for (unsigned l = 0; l != warpSize; ++l)
      bits[l] = relation(load(a[l]), load(b[l]));
    for (unsigned l = 0; l != warpSize; ++l)
      result |= bits[l] << l;
  };
  switch (c) {
  case Eq:
    loop([](auto x, auto y) { return x == y; });
    break;
  case Lt:
    loop([](auto x, auto y) { return x < y; });
    break;
  case Gt:
    loop([](auto x, auto y) { return x > y; });
    break;
  default:
    loop([c](auto x, auto y) { return compare(c, x, y); });
  }
  return result;
}

/// flags: bit 0 flushes f32 subnormals. `half`: of a packed pair, 0 or 1.
LaneMask compareOperands(Warp &w, const Instruction &i, Comparison c,
                         const Operand &a, const Operand &b, unsigned half) {
  auto identity = [](auto v) { return v; };
  switch (i.sourceType) {
  case Type::B16:
  case Type::U16:
    return compareLanes<uint16_t>(c, w.words(a), w.words(b),
                                  [](uint32_t v) { return uint16_t(v); });
  case Type::S16:
    return compareLanes<uint16_t>(c, w.words(a), w.words(b),
                                  [](uint32_t v) { return int16_t(v); });
  case Type::B32:
  case Type::U32:
    return compareLanes<uint32_t>(c, w.words(a), w.words(b), identity);
  case Type::S32:
    return compareLanes<uint32_t>(c, w.words(a), w.words(b),
                                  [](uint32_t v) { return int32_t(v); });
  case Type::B64:
  case Type::U64:
    return compareLanes<uint64_t>(c, w.doubleWords(a), w.doubleWords(b),
                                  identity);
  case Type::S64:
    return compareLanes<uint64_t>(c, w.doubleWords(a), w.doubleWords(b),
                                  [](uint64_t v) { return int64_t(v); });
  case Type::F32:
    if (i.flags & 1)
      return compareLanes<uint32_t>(c, w.words(a), w.words(b), [](uint32_t v) {
        return flush(llvm::bit_cast<float>(v));
      });
    return compareLanes<uint32_t>(c, w.words(a), w.words(b), [](uint32_t v) {
      return llvm::bit_cast<float>(v);
    });
  case Type::F64:
    return compareLanes<uint64_t>(
        c, w.doubleWords(a), w.doubleWords(b),
        [](uint64_t v) { return llvm::bit_cast<double>(v); });
  case Type::F16:
  case Type::F16x2:
    return compareLanes<uint32_t>(c, w.words(a), w.words(b), [=](uint32_t v) {
      return decode(ElementFormat::F16, uint16_t(v >> (16 * half)));
    });
  case Type::BF16:
  case Type::BF16x2:
    return compareLanes<uint32_t>(c, w.words(a), w.words(b), [=](uint32_t v) {
      return decode(ElementFormat::BF16, uint16_t(v >> (16 * half)));
    });
  default:
    return 0;
  }
}

/// The comparison's result and the predicate operand.
LaneMask combine(const Instruction &i, LaneMask v, LaneMask p) {
  Logic logic = Logic(i.selector >> 8);
  return logic == LogicAnd ? v & p : logic == LogicOr ? v | p : v ^ p;
}

/// setp p|q, a, b, c. selector: comparison, and combination << 8.
Status setPredicate(Warp &w, const Instruction &i, LaneMask mask) {
  Comparison c = Comparison(i.selector & 0xFF);
  LaneMask first = compareOperands(w, i, c, i[2], i[3], 0);
  bool isPacked = i.sourceType == Type::F16x2 || i.sourceType == Type::BF16x2;
  LaneMask second = isPacked ? compareOperands(w, i, c, i[2], i[3], 1) : ~first;
  if (i[4]) {
    LaneMask p = w.predicate(i[4]);
    first = combine(i, first, p);
    second = combine(i, second, p);
  }
  w.setPredicate(i[0], first, mask);
  w.setPredicate(i[1], second, mask);
  return Status::Next;
}

/// set d, a, b, c: all ones or 1.0 for true.
Status setValue(Warp &w, const Instruction &i, LaneMask mask) {
  Comparison c = Comparison(i.selector & 0xFF);
  LaneMask result = compareOperands(w, i, c, i[1], i[2], 0);
  bool isPacked = i.sourceType == Type::F16x2 || i.sourceType == Type::BF16x2;
  LaneMask high = isPacked ? compareOperands(w, i, c, i[1], i[2], 1) : 0;
  if (i[3]) {
    LaneMask p = w.predicate(i[3]);
    result = combine(i, result, p);
    high = combine(i, high, p);
  }
  uint32_t one = i.type == Type::F32                              ? 0x3F800000
                 : i.type == Type::F16 || i.type == Type::F16x2   ? 0x3C00
                 : i.type == Type::BF16 || i.type == Type::BF16x2 ? 0x3F80
                 : isPacked                                       ? 0xFFFF
                 : bytesOf(i.type) == 2                           ? 0xFFFF
                                                                  : ~0u;
  forLanes<uint32_t>(w.words(i[0]), mask, [=](unsigned l) {
    return ((result >> l) & 1 ? one : 0) | ((high >> l) & 1 ? one << 16 : 0);
  });
  return Status::Next;
}

template <typename T>
Status select(Warp &w, const Instruction &i, LaneMask mask) {
  const Slot<T> *a = slots<T>(w, i[1]), *b = slots<T>(w, i[2]);
  LaneMask p = w.predicate(i[3]);
  forLanes<T>(slots<T>(w, i[0]), mask,
              [=](unsigned l) { return T((p >> l) & 1 ? a[l] : b[l]); });
  return Status::Next;
}

/// slct d, a, b, c: a where c >= 0.
template <typename T>
Status selectBySign(Warp &w, const Instruction &i, LaneMask mask) {
  const Slot<T> *a = slots<T>(w, i[1]), *b = slots<T>(w, i[2]);
  const uint32_t *c = w.words(i[3]);
  bool isFloat = i.sourceType == Type::F32;
  forLanes<T>(slots<T>(w, i[0]), mask, [=](unsigned l) {
    bool first =
        isFloat ? llvm::bit_cast<float>(c[l]) >= 0 : int32_t(c[l]) >= 0;
    return T(first ? a[l] : b[l]);
  });
  return Status::Next;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

bool takeComparison(Decoder &d, Comparison &comparison) {
  for (StringRef name : d.remaining())
    if (std::optional<Comparison> c = parseComparison(name)) {
      d.take(name);
      comparison = *c;
      return true;
    }
  d.fail("'" + d.syntax.opcode + "' without a comparison");
  return false;
}

/// The shared part of set and setp: comparison, flush, and combination with a
/// predicate, which it returns.
bool decodeCompare(Decoder &d) {
  Comparison c = Eq;
  takeComparison(d, c);
  static constexpr StringRef logics[] = {"and", "or", "xor"};
  int logic = d.takeOneOf(logics);
  d.inst.selector = c | std::max(logic, 0) << 8;
  d.inst.flags = d.take("ftz");
  return logic >= 0;
}

void decodeSetp(Decoder &d) {
  bool combined = decodeCompare(d);
  Type type = d.needType();
  d.inst.sourceType = type;
  d.inst.type = Type::Pred;
  d.finish();
  d.needOperands(combined ? 4 : 3);
  if (d.operand(0).kind == ptx::SyntaxOperand::Kind::Pair) {
    d.destinationOf(d.operand(0).elements[0], Type::Pred);
    d.destinationOf(d.operand(0).elements[1], Type::Pred);
  } else {
    d.destination(0, Type::Pred);
    d.absent();
    ++d.inst.numDestinations;
  }
  d.source(1, type);
  d.source(2, type);
  if (combined)
    d.source(3, Type::Pred);
  else
    d.absent();
  d.inst.execute = setPredicate;
}

void decodeSet(Decoder &d) {
  bool combined = decodeCompare(d);
  d.inst.type = d.needType();
  d.inst.sourceType = d.needType();
  d.finish();
  d.needOperands(combined ? 4 : 3);
  if (bytesOf(d.inst.type) > 4)
    return d.fail("'set' with a 64-bit result is not supported");
  d.destination(0, d.inst.type);
  d.source(1, d.inst.sourceType);
  d.source(2, d.inst.sourceType);
  if (combined)
    d.source(3, Type::Pred);
  else
    d.absent();
  d.inst.execute = setValue;
}

void decodeSelp(Decoder &d) {
  Type type = d.needType();
  d.finish();
  d.needOperands(4);
  d.inst.type = type;
  d.inst.undef = Undef::Select;
  d.destination(0, type);
  d.source(1, type);
  d.source(2, type);
  d.source(3, Type::Pred);
  d.inst.execute = bytesOf(type) == 8 ? select<uint64_t> : select<uint32_t>;
}

void decodeSlct(Decoder &d) {
  d.take("ftz");
  Type type = d.needType();
  d.inst.sourceType = d.needType();
  d.finish();
  d.needOperands(4);
  d.inst.type = type;
  d.destination(0, type);
  d.source(1, type);
  d.source(2, type);
  d.source(3, d.inst.sourceType);
  d.inst.execute =
      bytesOf(type) == 8 ? selectBySign<uint64_t> : selectBySign<uint32_t>;
}

} // namespace

void lpfa::sim::addComparisons(DecodeTable &table) {
  table["setp"] = decodeSetp;
  table["set"] = decodeSet;
  table["selp"] = decodeSelp;
  table["slct"] = decodeSlct;
}
