//===- Arithmetic.cpp - Integer arithmetic --------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.1 (integer arithmetic), 9.7.2 (extended precision).
// Floating-point forms of the shared opcodes are handed to FloatArithmetic.cpp.
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
  d.operands(type, 2);
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
  d.operands(type, isMad ? 3 : 2);
  d.inst.execute = isMad  ? high ? integerTernary<MadHigh>(type)
                                 : integerTernary<MadLow>(type)
                   : high ? integerBinary<MultiplyHigh>(type)
                          : integerBinary<MultiplyLow>(type);
}

template <typename Op> static void decodeIntegerBinary(Decoder &d) {
  if (decodeFloat(d))
    return;
  Type type = d.needType();
  d.operands(type, 2);
  d.inst.execute = integerBinary<Op>(type);
}

template <typename Op> static void decodeMinMax(Decoder &d) {
  if (decodeFloat(d))
    return;
  Type type = d.needType();
  bool relu = d.take("relu");
  d.operands(type, 2);
  if (relu && type != Type::S32)
    return d.fail("'.relu' needs type .s32 here");
  d.inst.execute =
      relu ? integerBinary<Relu<Op>>(type) : integerBinary<Op>(type);
}

template <typename Op> static void decodeIntegerUnary(Decoder &d) {
  if (decodeFloat(d))
    return;
  Type type = d.needType();
  d.operands(type, 1);
  d.inst.execute = integerUnary<Op>(type);
}

static void decodeDotProduct(Decoder &d) {
  bool isPair = d.syntax.opcode == "dp2a";
  bool high = d.take("hi");
  if (isPair && !high && !d.take("lo"))
    return d.fail("'dp2a' needs .lo or .hi");
  Type a = d.needType(), b = d.needType();
  d.operands(Type::B32, 3);
  d.inst.flags = isSigned(a) | isSigned(b) << 1 | isPair << 2 | high << 3;
  d.inst.execute = dotProduct;
}

static void decodeSad(Decoder &d) {
  Type type = d.needType();
  d.operands(type, 3);
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
  table["dp4a"] = table["dp2a"] = decodeDotProduct;
}
