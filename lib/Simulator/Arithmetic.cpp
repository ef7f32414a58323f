//===- Arithmetic.cpp - Integer, logic and comparison instructions --------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.1 (integer arithmetic), 9.7.2 (extended precision), 9.7.6
// (comparison and selection), 9.7.8 (logic and shift). Floating-point forms of
// the shared opcodes are handed to FloatArithmetic.cpp.
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "FloatArithmetic.h"
#include "Lanes.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace lpfa::sim;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

namespace {

template <typename T> using Unsigned = std::make_unsigned_t<T>;

struct Add {
  template <typename T> static T apply(T a, T b) {
    return T(Unsigned<T>(a) + Unsigned<T>(b));
  }
};
struct AddSaturating {
  template <typename T> static T apply(T a, T b) {
    int64_t sum = int64_t(a) + int64_t(b);
    return T(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX));
  }
};
struct Subtract {
  template <typename T> static T apply(T a, T b) {
    return T(Unsigned<T>(a) - Unsigned<T>(b));
  }
};
struct SubtractSaturating {
  template <typename T> static T apply(T a, T b) {
    int64_t difference = int64_t(a) - int64_t(b);
    return T(std::clamp<int64_t>(difference, INT32_MIN, INT32_MAX));
  }
};
struct MultiplyLow {
  template <typename T> static T apply(T a, T b) {
    return T(uint64_t(a) * uint64_t(b));
  }
};
struct MultiplyHigh {
  template <typename T> static T apply(T a, T b) {
    using Wide =
        std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    return T(Wide(a) * Wide(b) >> (8 * sizeof(T)));
  }
};
/// The operands are extended to the wide type.
struct MultiplyWide {
  template <typename D, typename A> static D apply(A a, A b) {
    return D(uint64_t(D(a)) * uint64_t(D(b)));
  }
};
struct MadLow {
  template <typename T> static T apply(T a, T b, T c) {
    return T(uint64_t(a) * uint64_t(b) + uint64_t(c));
  }
};
struct MadHigh {
  template <typename T> static T apply(T a, T b, T c) {
    return Add::apply<T>(MultiplyHigh::apply<T>(a, b), c);
  }
};
struct MadWide {
  template <typename D, typename A> static D apply(A a, A b, D c) {
    return D(uint64_t(D(a)) * uint64_t(D(b)) + uint64_t(c));
  }
};
struct SumOfAbsoluteDifference {
  template <typename T> static T apply(T a, T b, T c) {
    return Add::apply<T>(c, a < b ? Subtract::apply<T>(b, a)
                                  : Subtract::apply<T>(a, b));
  }
};
/// Division by zero gives all ones (PTX ISA 9.7.1.8: unspecified, machine
/// specific).
struct Divide {
  template <typename T> static T apply(T a, T b) {
    if (b == 0)
      return T(-1);
    if constexpr (std::is_signed_v<T>)
      if (b == -1)
        return Subtract::apply<T>(0, a);
    return a / b;
  }
};
struct Remainder {
  template <typename T> static T apply(T a, T b) {
    if (b == 0)
      return a;
    if constexpr (std::is_signed_v<T>)
      if (b == -1)
        return 0;
    return a % b;
  }
};
struct Absolute {
  template <typename T> static T apply(T a) {
    return a < 0 ? Subtract::apply<T>(0, a) : a;
  }
};
struct Negate {
  template <typename T> static T apply(T a) { return Subtract::apply<T>(0, a); }
};
struct Minimum {
  template <typename T> static T apply(T a, T b) { return b < a ? b : a; }
};
struct Maximum {
  template <typename T> static T apply(T a, T b) { return a < b ? b : a; }
};
template <typename Op> struct Relu {
  template <typename T> static T apply(T a, T b) {
    return std::max<T>(Op::template apply<T>(a, b), 0);
  }
};
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

//===----------------------------------------------------------------------===//
// Predicates
//===----------------------------------------------------------------------===//

enum Logic { LogicAnd, LogicOr, LogicXor, LogicNot, LogicMove };

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

/// setp p|q, a, b, c. selector: comparison, and combination << 8.
Status setPredicate(Warp &w, const Instruction &i, LaneMask mask) {
  Comparison c = Comparison(i.selector & 0xFF);
  LaneMask first = compareOperands(w, i, c, i[2], i[3], 0);
  bool isPacked = i.sourceType == Type::F16x2 || i.sourceType == Type::BF16x2;
  LaneMask second = isPacked ? compareOperands(w, i, c, i[2], i[3], 1) : ~first;
  if (i[4]) {
    LaneMask p = w.predicate(i[4]);
    auto combine = [&](LaneMask v) {
      switch (Logic(i.selector >> 8)) {
      case LogicAnd:
        return v & p;
      case LogicOr:
        return v | p;
      default:
        return v ^ p;
      }
    };
    first = combine(first);
    second = combine(second);
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
    auto combine = [&](LaneMask v) {
      Logic logic = Logic(i.selector >> 8);
      return logic == LogicAnd ? v & p : logic == LogicOr ? v | p : v ^ p;
    };
    result = combine(result);
    high = combine(high);
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
// Carries (PTX ISA 9.7.2): the condition code is one flag a lane, kept in a
// hidden predicate register.
//===----------------------------------------------------------------------===//

enum CarryFlags { CarryIn = 1, CarryOut = 2, IsSubtract = 4 };

template <typename T>
Status addWithCarry(Warp &w, const Instruction &i, LaneMask mask) {
  const Slot<T> *a = slots<T>(w, i[2]), *b = slots<T>(w, i[3]);
  Slot<T> *d = slots<T>(w, i[0]);
  LaneMask carry = i.flags & CarryIn ? w.predicate(i[4]) : 0;
  LaneMask out = 0;
  for (unsigned l = 0; l != warpSize; ++l) {
    if (!((mask >> l) & 1))
      continue;
    T x = a[l], y = b[l], c = (carry >> l) & 1, r;
    bool overflow;
    if (i.flags & IsSubtract) {
      r = x - y - c;
      overflow = x < y || (x == y && c);
    } else {
      r = x + y + c;
      overflow = r < x || (r == x && c && y != 0);
    }
    d[l] = r;
    out |= LaneMask(overflow) << l;
  }
  if (i.flags & CarryOut)
    w.setPredicate(i[1], out, mask);
  return Status::Next;
}

/// dp4a and dp2a (PTX ISA 9.7.1.23). flags: bit 0 a signed, bit 1 b signed,
/// bit 2 dp2a, bit 3 the high half of b.
Status dotProduct(Warp &w, const Instruction &i, LaneMask mask) {
  const uint32_t *a = w.words(i[1]), *b = w.words(i[2]), *c = w.words(i[3]);
  unsigned flags = i.flags;
  forLanes<uint32_t>(w.words(i[0]), mask, [=](unsigned l) {
    uint32_t sum = c[l];
    auto byte = [](uint32_t v, unsigned n, bool isSigned) {
      uint8_t x = v >> (8 * n);
      return isSigned ? int32_t(int8_t(x)) : int32_t(x);
    };
    if (flags & 4) {
      for (unsigned k = 0; k != 2; ++k) {
        uint16_t x = a[l] >> (16 * k);
        int32_t wide = flags & 1 ? int32_t(int16_t(x)) : int32_t(x);
        sum += uint32_t(wide * byte(b[l], k + (flags & 8 ? 2 : 0), flags & 2));
      }
    } else {
      for (unsigned k = 0; k != 4; ++k)
        sum += uint32_t(byte(a[l], k, flags & 1) * byte(b[l], k, flags & 2));
    }
    return sum;
  });
  return Status::Next;
}

} // namespace

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

/// d, a, b of one type.
static void operands(Decoder &d, Type type, unsigned sources) {
  d.finish();
  d.needOperands(sources + 1);
  d.inst.type = type;
  d.destination(0, type);
  for (unsigned s = 1; s <= sources; ++s)
    d.source(s, type);
}

/// The hidden condition code register.
static Operand conditionCode(Decoder &d) {
  return d.functionDecoder().constant(Constant::Kind::Value, 0, 0, 1);
}

static bool decodeCarry(Decoder &d, bool isSubtract) {
  bool out = d.take("cc");
  bool in = d.syntax.opcode.ends_with("c");
  if (!out && !in)
    return false;
  Type type = d.needType();
  d.finish();
  d.needOperands(3);
  d.inst.type = type;
  d.inst.flags =
      (in ? CarryIn : 0) | (out ? CarryOut : 0) | (isSubtract ? IsSubtract : 0);
  d.destination(0, type);
  d.inst.operands.push_back(conditionCode(d));
  ++d.inst.numDestinations;
  d.source(1, type);
  d.source(2, type);
  if (in)
    d.inst.operands.push_back(conditionCode(d));
  d.inst.execute =
      bytesOf(type) == 8 ? addWithCarry<uint64_t> : addWithCarry<uint32_t>;
  return true;
}

static void decodeAdd(Decoder &d) {
  bool isSubtract = d.syntax.opcode.starts_with("sub");
  if (decodeCarry(d, isSubtract))
    return;
  if (decodeFloat(d))
    return;
  Type type = d.needType();
  bool saturate = d.take("sat");
  operands(d, type, 2);
  if (saturate && type != Type::S32)
    return d.fail("'.sat' needs type .s32");
  d.inst.execute = saturate     ? isSubtract
                                      ? integerBinary<SubtractSaturating>(type)
                                      : integerBinary<AddSaturating>(type)
                   : isSubtract ? integerBinary<Subtract>(type)
                                : integerBinary<Add>(type);
}

static Type widened(Type type) {
  switch (type) {
  case Type::U16:
    return Type::U32;
  case Type::S16:
    return Type::S32;
  case Type::U32:
    return Type::U64;
  case Type::S32:
    return Type::S64;
  default:
    return Type::None;
  }
}

static void decodeMultiply(Decoder &d) {
  if (decodeFloat(d))
    return;
  bool isMad = d.syntax.opcode == "mad";
  Type type = d.needType();
  if (d.take("wide")) {
    d.finish();
    d.needOperands(isMad ? 4 : 3);
    Type wide = widened(type);
    if (wide == Type::None)
      return d.fail("'.wide' needs a 16-bit or 32-bit type");
    d.inst.type = wide;
    d.destination(0, wide);
    d.source(1, type);
    d.source(2, type);
    if (isMad)
      d.source(3, wide);
    switch (type) {
    case Type::U16:
      d.inst.execute =
          isMad ? ternary<MadWide, uint32_t, uint16_t, uint16_t, uint32_t>
                : binary<MultiplyWide, uint32_t, uint16_t, uint16_t>;
      break;
    case Type::S16:
      d.inst.execute =
          isMad ? ternary<MadWide, int32_t, int16_t, int16_t, int32_t>
                : binary<MultiplyWide, int32_t, int16_t, int16_t>;
      break;
    case Type::U32:
      d.inst.execute =
          isMad ? ternary<MadWide, uint64_t, uint32_t, uint32_t, uint64_t>
                : binary<MultiplyWide, uint64_t, uint32_t, uint32_t>;
      break;
    default:
      d.inst.execute =
          isMad ? ternary<MadWide, int64_t, int32_t, int32_t, int64_t>
                : binary<MultiplyWide, int64_t, int32_t, int32_t>;
      break;
    }
    return;
  }
  bool high = d.take("hi");
  if (!high && !d.take("lo"))
    return d.fail("integer '" + d.syntax.opcode + "' needs .lo, .hi or .wide");
  operands(d, type, isMad ? 3 : 2);
  d.inst.execute = isMad  ? high ? integerTernary<MadHigh>(type)
                                 : integerTernary<MadLow>(type)
                   : high ? integerBinary<MultiplyHigh>(type)
                          : integerBinary<MultiplyLow>(type);
}

template <typename Op> static void decodeIntegerBinary(Decoder &d) {
  if (decodeFloat(d))
    return;
  Type type = d.needType();
  operands(d, type, 2);
  d.inst.execute = integerBinary<Op>(type);
}

template <typename Op> static void decodeMinMax(Decoder &d) {
  if (decodeFloat(d))
    return;
  Type type = d.needType();
  bool relu = d.take("relu");
  operands(d, type, 2);
  if (relu && type != Type::S32)
    return d.fail("'.relu' needs type .s32 here");
  d.inst.execute =
      relu ? integerBinary<Relu<Op>>(type) : integerBinary<Op>(type);
}

template <typename Op> static void decodeIntegerUnary(Decoder &d) {
  if (decodeFloat(d))
    return;
  Type type = d.needType();
  operands(d, type, 1);
  d.inst.execute = integerUnary<Op>(type);
}

template <typename Op, Logic logic, Undef undef>
static void decodeLogic(Decoder &d) {
  Type type = d.needType();
  operands(d, type, 2);
  d.inst.undef = undef;
  d.inst.execute =
      type == Type::Pred ? predicateLogic<logic> : integerBinary<Op>(type);
}

static void decodeNot(Decoder &d) {
  Type type = d.needType();
  operands(d, type, 1);
  d.inst.undef = Undef::Bitwise;
  d.inst.execute =
      type == Type::Pred ? predicateLogic<LogicNot> : integerUnary<Not>(type);
}

template <typename Op, bool right> static void decodeShift(Decoder &d) {
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

static void decodeFunnelShift(Decoder &d) {
  bool left = d.take("l");
  if (!left && !d.take("r"))
    return d.fail("'shf' needs .l or .r");
  bool wrap = d.take("wrap");
  if (!wrap && !d.take("clamp"))
    return d.fail("'shf' needs .wrap or .clamp");
  operands(d, d.needType(), 3);
  using T = uint32_t;
  d.inst.execute = left   ? wrap ? ternary<FunnelShift<true, true>, T, T, T, T>
                                 : ternary<FunnelShift<true, false>, T, T, T, T>
                   : wrap ? ternary<FunnelShift<false, true>, T, T, T, T>
                          : ternary<FunnelShift<false, false>, T, T, T, T>;
}

template <typename Op> static void decodeBitCount(Decoder &d) {
  Type type = d.needType();
  d.finish();
  d.needOperands(2);
  d.inst.type = Type::U32;
  d.destination(0, Type::U32);
  d.source(1, type);
  d.inst.execute = bytesOf(type) == 8 ? unary<Op, uint32_t, uint64_t>
                                      : unary<Op, uint32_t, uint32_t>;
}

static void decodeBrev(Decoder &d) {
  Type type = d.needType();
  operands(d, type, 1);
  d.inst.execute = bytesOf(type) == 8 ? unary<BitReverse, uint64_t, uint64_t>
                                      : unary<BitReverse, uint32_t, uint32_t>;
}

static void decodeBfind(Decoder &d) {
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
  d.inst.execute = type == Type::U32   ? pick(uint32_t())
                   : type == Type::S32 ? pick(int32_t())
                   : type == Type::U64 ? pick(uint64_t())
                   : type == Type::S64 ? pick(int64_t())
                                       : nullptr;
}

static void decodeBfe(Decoder &d) {
  Type type = d.needType();
  d.finish();
  d.needOperands(4);
  d.inst.type = type;
  d.destination(0, type);
  d.source(1, type);
  d.source(2, Type::U32);
  d.source(3, Type::U32);
  auto pick = [](auto zero) -> ExecuteFn {
    using T = decltype(zero);
    return ternary<BitFieldExtract, T, T, uint32_t, uint32_t>;
  };
  d.inst.execute = type == Type::U32   ? pick(uint32_t())
                   : type == Type::S32 ? pick(int32_t())
                   : type == Type::U64 ? pick(uint64_t())
                   : type == Type::S64 ? pick(int64_t())
                                       : nullptr;
}

static void decodeBfi(Decoder &d) {
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

static void decodePermute(Decoder &d) {
  static constexpr StringRef modes[] = {"f4e", "b4e", "rc8",
                                        "ecl", "ecr", "rc16"};
  d.inst.flags = d.takeOneOf(modes) + 1;
  operands(d, d.needType(), 3);
  d.inst.undef = d.inst.flags ? Undef::Any : Undef::Permute;
  d.inst.execute = permute;
}

static void decodeLop3(Decoder &d) {
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

static bool takeComparison(Decoder &d, Comparison &comparison) {
  for (StringRef name : d.remaining())
    if (std::optional<Comparison> c = parseComparison(name)) {
      d.take(name);
      comparison = *c;
      return true;
    }
  d.fail("'" + d.syntax.opcode + "' without a comparison");
  return false;
}

/// The shared part of set and setp: comparison, combination, flush.
static void decodeCompare(Decoder &d) {
  Comparison c = Eq;
  takeComparison(d, c);
  static constexpr StringRef logics[] = {"and", "or", "xor"};
  int logic = d.takeOneOf(logics);
  d.inst.selector = c | std::max(logic, 0) << 8;
  d.inst.flags = d.take("ftz");
}

static void decodeSetp(Decoder &d) {
  bool combined = llvm::any_of(d.remaining(), [](StringRef m) {
    return m == "and" || m == "or" || m == "xor";
  });
  decodeCompare(d);
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

static void decodeSet(Decoder &d) {
  bool combined = llvm::any_of(d.remaining(), [](StringRef m) {
    return m == "and" || m == "or" || m == "xor";
  });
  decodeCompare(d);
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

static void decodeSelp(Decoder &d) {
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

static void decodeSlct(Decoder &d) {
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

static void decodeDotProduct(Decoder &d) {
  bool isPair = d.syntax.opcode == "dp2a";
  bool high = d.take("hi");
  if (isPair && !high && !d.take("lo"))
    return d.fail("'dp2a' needs .lo or .hi");
  Type a = d.needType(), b = d.needType();
  operands(d, Type::B32, 3);
  d.inst.flags = isSigned(a) | isSigned(b) << 1 | isPair << 2 | high << 3;
  d.inst.execute = dotProduct;
}

static void decodeSad(Decoder &d) {
  Type type = d.needType();
  operands(d, type, 3);
  d.inst.execute = integerTernary<SumOfAbsoluteDifference>(type);
}

void lpfa::sim::addArithmetic(DecodeTable &table) {
  table["add"] = table["sub"] = decodeAdd;
  table["addc"] = table["subc"] = decodeAdd;
  table["mul"] = table["mad"] = decodeMultiply;
  table["div"] = decodeIntegerBinary<Divide>;
  table["rem"] = decodeIntegerBinary<Remainder>;
  table["min"] = decodeMinMax<Minimum>;
  table["max"] = decodeMinMax<Maximum>;
  table["abs"] = decodeIntegerUnary<Absolute>;
  table["neg"] = decodeIntegerUnary<Negate>;
  table["sad"] = decodeSad;
  table["and"] = decodeLogic<And, LogicAnd, Undef::And>;
  table["or"] = decodeLogic<Or, LogicOr, Undef::Bitwise>;
  table["xor"] = decodeLogic<Xor, LogicXor, Undef::Bitwise>;
  table["not"] = decodeNot;
  table["cnot"] = decodeIntegerUnary<LogicalNot>;
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
  table["setp"] = decodeSetp;
  table["set"] = decodeSet;
  table["selp"] = decodeSelp;
  table["slct"] = decodeSlct;
  table["dp4a"] = table["dp2a"] = decodeDotProduct;
}
