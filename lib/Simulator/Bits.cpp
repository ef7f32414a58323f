//===- Bits.cpp - Logic, shift and bit instructions
//-------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.1 (bits and bit fields), 9.7.8 (logic and shift), 9.7.9.7 (prmt).
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "Lanes.h"
#include "llvm/Support/MathExtras.h"

using namespace lpfa::sim;
using llvm::StringRef;

namespace {

template <typename T> using Unsigned = std::make_unsigned_t<T>;

struct And {
  template <typename T> static T apply(T a, T b) { return a & b; }
};
struct Or {
  template <typename T> static T apply(T a, T b) { return a | b; }
};
struct Xor {
  template <typename T> static T apply(T a, T b) { return a ^ b; }
};
struct Not {
  template <typename T> static T apply(T a) { return ~a; }
};
struct LogicalNot {
  template <typename T> static T apply(T a) { return a == 0; }
};
/// Amounts beyond the width count as the width.
struct ShiftLeft {
  template <typename T> static T apply(T a, uint32_t amount) {
    constexpr unsigned width = 8 * sizeof(T);
    return amount >= width ? 0 : T(Unsigned<T>(a) << (amount & (width - 1)));
  }
};
struct ShiftRight {
  template <typename T> static T apply(T a, uint32_t amount) {
    constexpr unsigned width = 8 * sizeof(T);
    if (amount >= width)
      return std::is_signed_v<T> && a < 0 ? T(-1) : 0;
    return T(a >> amount);
  }
};
/// PTX ISA 9.7.8.8: funnel shifts.
template <bool left, bool wrap> struct FunnelShift {
  template <typename T> static T apply(T low, T high, uint32_t amount) {
    uint32_t n = wrap ? amount & 31 : std::min<uint32_t>(amount, 32);
    uint64_t both = uint64_t(high) << 32 | low;
    return left ? T(both << n >> 32) : T(both >> n);
  }
};
struct CountLeadingZeros {
  template <typename D, typename A> static D apply(A a) {
    return llvm::countl_zero(a);
  }
};
struct PopulationCount {
  template <typename D, typename A> static D apply(A a) {
    return llvm::popcount(a);
  }
};
struct BitReverse {
  template <typename T> static T apply(T a) { return llvm::reverseBits(a); }
};
/// PTX ISA 9.7.1.19. The sign fills if the field is signed.
struct BitFieldExtract {
  template <typename T>
  static T apply(T a, uint32_t position, uint32_t length) {
    constexpr unsigned width = 8 * sizeof(T);
    position &= 0xFF;
    length &= 0xFF;
    if (length == 0)
      return 0;
    Unsigned<T> u = a;
    bool sign = std::is_signed_v<T> &&
                ((u >> std::min(position + length - 1, width - 1)) & 1);
    Unsigned<T> value = position >= width ? 0 : Unsigned<T>(u >> position);
    if (length < width) {
      value &= (Unsigned<T>(1) << length) - 1;
      if (sign)
        value |= Unsigned<T>(-1) << length;
    }
    if (sign && position < width && position > 0 && position + length > width)
      value |= Unsigned<T>(-1) << (width - position);
    if (sign && position >= width)
      value = Unsigned<T>(-1);
    return T(value);
  }
};
struct FindMostSignificant {
  template <typename D, typename A> static D apply(A a) {
    Unsigned<A> u =
        std::is_signed_v<A> && a < 0 ? ~Unsigned<A>(a) : Unsigned<A>(a);
    return u ? 8 * sizeof(A) - 1 - llvm::countl_zero(u) : ~0u;
  }
};
struct FindShiftAmount {
  template <typename D, typename A> static D apply(A a) {
    uint32_t position = FindMostSignificant::apply<uint32_t, A>(a);
    return position == ~0u ? ~0u : 8 * sizeof(A) - 1 - position;
  }
};

template <typename T>
Status bitFieldInsert(Warp &w, const Instruction &i, LaneMask mask) {
  const Slot<T> *a = slots<T>(w, i[1]), *b = slots<T>(w, i[2]);
  const uint32_t *position = w.words(i[3]), *length = w.words(i[4]);
  constexpr unsigned width = 8 * sizeof(T);
  forLanes<T>(slots<T>(w, i[0]), mask, [=](unsigned l) {
    unsigned p = position[l] & 0xFF, n = length[l] & 0xFF;
    if (p >= width || n == 0)
      return T(b[l]);
    T field = n >= width ? T(-1) : T((T(1) << n) - 1);
    field <<= p;
    return T((T(b[l]) & ~field) | (T(a[l] << p) & field));
  });
  return Status::Next;
}

/// PTX ISA 9.7.9.7. flags: the mode.
enum PermuteMode { Generic, F4e, B4e, Rc8, Ecl, Ecr, Rc16 };

Status permute(Warp &w, const Instruction &i, LaneMask mask) {
  const uint32_t *a = w.words(i[1]), *b = w.words(i[2]), *c = w.words(i[3]);
  unsigned mode = i.flags;
  forLanes<uint32_t>(w.words(i[0]), mask, [=](unsigned l) {
    uint64_t both = uint64_t(b[l]) << 32 | a[l];
    uint32_t result = 0, s = c[l] & 3;
    for (unsigned byte = 0; byte != 4; ++byte) {
      unsigned pick = 0;
      bool sign = false;
      switch (mode) {
      case Generic:
        pick = (c[l] >> (4 * byte)) & 7;
        sign = (c[l] >> (4 * byte)) & 8;
        break;
      case F4e:
        pick = s + byte;
        break;
      case B4e:
        pick = (s - byte) & 7;
        break;
      case Rc8:
        pick = s;
        break;
      case Ecl:
        pick = std::max<unsigned>(byte, s);
        break;
      case Ecr:
        pick = std::min<unsigned>(byte, s);
        break;
      case Rc16:
        pick = (s & 1) * 2 + (byte & 1);
        break;
      }
      uint8_t value = both >> (8 * pick);
      if (sign)
        value = value & 0x80 ? 0xFF : 0;
      result |= uint32_t(value) << (8 * byte);
    }
    return result;
  });
  return Status::Next;
}

Status lop3(Warp &w, const Instruction &i, LaneMask mask) {
  const uint32_t *a = w.words(i[1]), *b = w.words(i[2]), *c = w.words(i[3]);
  uint32_t table = i.selector;
  forLanes<uint32_t>(w.words(i[0]), mask, [=](unsigned l) {
    uint32_t result = 0;
    for (unsigned row = 0; row != 8; ++row)
      if ((table >> row) & 1)
        result |= (row & 4 ? a[l] : ~a[l]) & (row & 2 ? b[l] : ~b[l]) &
                  (row & 1 ? c[l] : ~c[l]);
    return result;
  });
  return Status::Next;
}

template <Logic op>
Status predicateLogic(Warp &w, const Instruction &i, LaneMask mask) {
  LaneMask a = w.predicate(i[1]);
  LaneMask b = op == LogicNot || op == LogicMove ? 0 : w.predicate(i[2]);
  w.setPredicate(i[0],
                 op == LogicAnd   ? a & b
                 : op == LogicOr  ? a | b
                 : op == LogicXor ? a ^ b
                 : op == LogicNot ? ~a
                                  : a,
                 mask);
  return Status::Next;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

template <typename Op, Logic logic, Undef undef> void decodeLogic(Decoder &d) {
  Type type = d.needType();
  d.operands(type, 2);
  d.inst.undef = undef;
  d.inst.execute =
      type == Type::Pred ? predicateLogic<logic> : integerBinary<Op>(type);
}

void decodeNot(Decoder &d) {
  Type type = d.needType();
  d.operands(type, 1);
  d.inst.undef = Undef::Bitwise;
  d.inst.execute =
      type == Type::Pred ? predicateLogic<LogicNot> : integerUnary<Not>(type);
}

template <typename Op, bool right> void decodeShift(Decoder &d) {
  Type type = d.needType();
  d.finish();
  d.needOperands(3);
  d.inst.type = type;
  d.inst.undef = Undef::Shift;
  d.inst.flags = right;
  d.destination(0, type);
  d.source(1, type);
  d.source(2, Type::U32);
  switch (type) {
  case Type::B16:
  case Type::U16:
    d.inst.execute = binary<Op, uint16_t, uint16_t, uint32_t>;
    break;
  case Type::B32:
  case Type::U32:
    d.inst.execute = binary<Op, uint32_t, uint32_t, uint32_t>;
    break;
  case Type::B64:
  case Type::U64:
    d.inst.execute = binary<Op, uint64_t, uint64_t, uint32_t>;
    break;
  case Type::S16:
    d.inst.execute = binary<Op, int16_t, int16_t, uint32_t>;
    break;
  case Type::S32:
    d.inst.execute = binary<Op, int32_t, int32_t, uint32_t>;
    break;
  case Type::S64:
    d.inst.execute = binary<Op, int64_t, int64_t, uint32_t>;
    break;
  default:
    break;
  }
}

void decodeFunnelShift(Decoder &d) {
  bool left = d.take("l");
  if (!left && !d.take("r"))
    return d.fail("'shf' needs .l or .r");
  bool wrap = d.take("wrap");
  if (!wrap && !d.take("clamp"))
    return d.fail("'shf' needs .wrap or .clamp");
  d.operands(d.needType(), 3);
  using T = uint32_t;
  d.inst.execute = left   ? wrap ? ternary<FunnelShift<true, true>, T, T, T, T>
                                 : ternary<FunnelShift<true, false>, T, T, T, T>
                   : wrap ? ternary<FunnelShift<false, true>, T, T, T, T>
                          : ternary<FunnelShift<false, false>, T, T, T, T>;
}

template <typename Op> void decodeBitCount(Decoder &d) {
  Type type = d.needType();
  d.finish();
  d.needOperands(2);
  d.inst.type = Type::U32;
  d.destination(0, Type::U32);
  d.source(1, type);
  d.inst.execute = bytesOf(type) == 8 ? unary<Op, uint32_t, uint64_t>
                                      : unary<Op, uint32_t, uint32_t>;
}

void decodeBrev(Decoder &d) {
  Type type = d.needType();
  d.operands(type, 1);
  d.inst.execute = bytesOf(type) == 8 ? unary<BitReverse, uint64_t, uint64_t>
                                      : unary<BitReverse, uint32_t, uint32_t>;
}

/// What `pick` gives for a zero of an integer type of 32 or 64 bits.
template <typename Pick> ExecuteFn pickInteger(Type type, Pick pick) {
  switch (type) {
  case Type::U32:
    return pick(uint32_t());
  case Type::S32:
    return pick(int32_t());
  case Type::U64:
    return pick(uint64_t());
  case Type::S64:
    return pick(int64_t());
  default:
    return nullptr;
  }
}

void decodeBfind(Decoder &d) {
  bool amount = d.take("shiftamt");
  Type type = d.needType();
  d.finish();
  d.needOperands(2);
  d.inst.type = Type::U32;
  d.destination(0, Type::U32);
  d.source(1, type);
  auto pick = [&](auto zero) -> ExecuteFn {
    using T = decltype(zero);
    return amount ? unary<FindShiftAmount, uint32_t, T>
                  : unary<FindMostSignificant, uint32_t, T>;
  };
  d.inst.execute = pickInteger(type, pick);
}

void decodeBfe(Decoder &d) {
  Type type = d.needType();
  d.finish();
  d.needOperands(4);
  d.inst.type = type;
  d.destination(0, type);
  d.source(1, type);
  d.source(2, Type::U32);
  d.source(3, Type::U32);
  d.inst.undef = Undef::Extract;
  auto pick = [](auto zero) -> ExecuteFn {
    using T = decltype(zero);
    return ternary<BitFieldExtract, T, T, uint32_t, uint32_t>;
  };
  d.inst.execute = pickInteger(type, pick);
}

void decodeBfi(Decoder &d) {
  Type type = d.needType();
  d.finish();
  d.needOperands(5);
  d.inst.type = type;
  d.destination(0, type);
  d.source(1, type);
  d.source(2, type);
  d.source(3, Type::U32);
  d.source(4, Type::U32);
  d.inst.execute =
      bytesOf(type) == 8 ? bitFieldInsert<uint64_t> : bitFieldInsert<uint32_t>;
}

void decodePermute(Decoder &d) {
  static constexpr StringRef modes[] = {"f4e", "b4e", "rc8",
                                        "ecl", "ecr", "rc16"};
  d.inst.flags = d.takeOneOf(modes) + 1;
  d.operands(d.needType(), 3);
  d.inst.undef = d.inst.flags ? Undef::Any : Undef::Permute;
  d.inst.execute = permute;
}

void decodeLop3(Decoder &d) {
  if (d.take("BoolOp"))
    return d.fail("'lop3' with a predicate result is not supported");
  Type type = d.needType();
  d.finish();
  d.needOperands(5);
  d.inst.type = type;
  d.inst.selector = d.immediate(4) & 0xFF;
  d.inst.undef = Undef::Bitwise;
  d.destination(0, Type::B32);
  for (unsigned s = 1; s != 4; ++s)
    d.source(s, Type::B32);
  d.inst.execute = lop3;
}

void decodeCnot(Decoder &d) {
  Type type = d.needType();
  d.operands(type, 1);
  d.inst.execute = integerUnary<LogicalNot>(type);
}

} // namespace

void lpfa::sim::addBits(DecodeTable &table) {
  table["and"] = decodeLogic<And, LogicAnd, Undef::And>;
  table["or"] = decodeLogic<Or, LogicOr, Undef::Bitwise>;
  table["xor"] = decodeLogic<Xor, LogicXor, Undef::Bitwise>;
  table["not"] = decodeNot;
  table["cnot"] = decodeCnot;
  table["shl"] = decodeShift<ShiftLeft, false>;
  table["shr"] = decodeShift<ShiftRight, true>;
  table["shf"] = decodeFunnelShift;
  table["clz"] = decodeBitCount<CountLeadingZeros>;
  table["popc"] = decodeBitCount<PopulationCount>;
  table["brev"] = decodeBrev;
  table["bfind"] = decodeBfind;
  table["bfe"] = decodeBfe;
  table["bfi"] = decodeBfi;
  table["prmt"] = decodePermute;
  table["lop3"] = decodeLop3;
}
