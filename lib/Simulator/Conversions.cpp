//===- Conversions.cpp - Conversions between types ------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.9.21 (cvt).
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "FloatArithmetic.h"
#include "Lanes.h"
#include "llvm/ADT/StringSwitch.h"
#include <cfenv>
#include <cmath>

using namespace lpfa::sim;
using llvm::StringRef;

namespace {

struct Cast {
  template <typename D, typename A> static D apply(A a) { return D(a); }
};

enum ConvertFlags {
  CFtz = 1,
  CSat = 2,
  CRelu = 4,
  CSatfinite = 8,
  ToInteger = 16
};

/// How a value is rounded, for cvt's many spellings.
enum RoundingMode : uint8_t { Nearest, Zero, Down, Up, NearestAwayMode };

int hostMode(unsigned mode) {
  switch (mode) {
  case Zero:
    return FE_TOWARDZERO;
  case Down:
    return FE_DOWNWARD;
  case Up:
    return FE_UPWARD;
  default:
    return FE_TONEAREST;
  }
}

double roundToInteger(double v, unsigned mode) {
  switch (mode) {
  case Zero:
    return std::trunc(v);
  case Down:
    return std::floor(v);
  case Up:
    return std::ceil(v);
  default:
    return std::nearbyint(v);
  }
}

double loadFloat(Type type, uint64_t bits) {
  switch (type) {
  case Type::F16:
    return decode(ElementFormat::F16, bits & 0xFFFF);
  case Type::BF16:
    return decode(ElementFormat::BF16, bits & 0xFFFF);
  case Type::F32:
    return llvm::bit_cast<float>(uint32_t(bits));
  default:
    return llvm::bit_cast<double>(bits);
  }
}

uint64_t storeFloat(Type type, double value, unsigned mode, unsigned flags) {
  switch (type) {
  case Type::F16:
  case Type::BF16: {
    ConvertOptions options;
    options.rounding = mode == Zero   ? Rounding::TowardZero
                       : mode == Down ? Rounding::TowardNegative
                       : mode == Up   ? Rounding::TowardPositive
                                      : Rounding::NearestEven;
    options.relu = flags & CRelu;
    options.saturateFinite = flags & CSatfinite;
    return encode(type == Type::F16 ? ElementFormat::F16 : ElementFormat::BF16,
                  value, options);
  }
  case Type::F32: {
    std::fesetround(hostMode(mode));
    volatile double v = value;
    volatile float r = float(v);
    std::fesetround(FE_TONEAREST);
    float f = canonicalNaN(float(r));
    return llvm::bit_cast<uint32_t>(flags & CFtz ? flush(f) : f);
  }
  default:
    return llvm::bit_cast<uint64_t>(value);
  }
}

int64_t signExtend(uint64_t bits, unsigned bytes) {
  unsigned shift = 64 - 8 * bytes;
  return int64_t(bits << shift) >> shift;
}

uint64_t zeroExtend(uint64_t bits, unsigned bytes) {
  unsigned shift = 64 - 8 * bytes;
  return bits << shift >> shift;
}

/// A saturated integer: float to integer conversions clamp (PTX ISA 9.7.9.21),
/// NaN becomes 0, or the lowest value of a 64-bit type.
uint64_t floatToInteger(double v, Type type) {
  unsigned bits = 8 * bytesOf(type);
  if (v != v)
    return bits == 64 ? uint64_t(1) << 63 : 0;
  if (isSigned(type)) {
    double limit = std::ldexp(1.0, bits - 1);
    if (v >= limit)
      return (uint64_t(1) << (bits - 1)) - 1;
    if (v < -limit)
      return uint64_t(1) << (bits - 1);
    return uint64_t(int64_t(v));
  }
  if (v <= 0)
    return 0;
  if (v >= std::ldexp(1.0, bits))
    return bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  return uint64_t(v);
}

uint64_t integerToFloat(uint64_t bits, Type from, Type to, unsigned mode) {
  bool negative = isSigned(from) && signExtend(bits, bytesOf(from)) < 0;
  if (to == Type::F16 || to == Type::BF16) {
    // Sticky conversion to double: at most 64 bits, cut to odd.
    uint64_t magnitude = negative
                             ? 0 - uint64_t(signExtend(bits, bytesOf(from)))
                             : zeroExtend(bits, bytesOf(from));
    uint64_t cut = magnitude >> 53 ? (magnitude & ~uint64_t(0x7FF)) |
                                         ((magnitude & 0x7FF) ? 0x800 : 0)
                                   : magnitude;
    return storeFloat(to, negative ? -double(cut) : double(cut), mode, 0);
  }
  std::fesetround(hostMode(mode));
  volatile int64_t s = signExtend(bits, bytesOf(from));
  volatile uint64_t u = zeroExtend(bits, bytesOf(from));
  uint64_t result;
  if (to == Type::F32) {
    volatile float r = isSigned(from) ? float(s) : float(u);
    result = llvm::bit_cast<uint32_t>(float(r));
  } else {
    volatile double r = isSigned(from) ? double(s) : double(u);
    result = llvm::bit_cast<uint64_t>(double(r));
  }
  std::fesetround(FE_TONEAREST);
  return result;
}

/// The value of an integer, clamped to the destination's range.
uint64_t saturateInteger(uint64_t bits, Type from, Type to) {
  __int128 v = isSigned(from) ? __int128(signExtend(bits, bytesOf(from)))
                              : __int128(zeroExtend(bits, bytesOf(from)));
  unsigned width = 8 * bytesOf(to);
  __int128 low = isSigned(to) ? -(__int128(1) << (width - 1)) : 0;
  __int128 high = (__int128(1) << (isSigned(to) ? width - 1 : width)) - 1;
  return uint64_t(std::clamp(v, low, high));
}

bool isInteger(Type t) { return !isFloat(t) && t != Type::Pred; }

/// Scalar conversions. selector: the rounding mode.
Status convert(Warp &w, const Instruction &i, LaneMask mask) {
  Type to = i.type, from = i.sourceType;
  for (unsigned l = 0; l != warpSize; ++l) {
    if (!((mask >> l) & 1))
      continue;
    uint64_t bits = w.lane(i[1], l), result;
    if (isInteger(from) && isInteger(to)) {
      result = i.flags & CSat   ? saturateInteger(bits, from, to)
               : isSigned(from) ? uint64_t(signExtend(bits, bytesOf(from)))
                                : zeroExtend(bits, bytesOf(from));
    } else if (isInteger(from)) {
      result = integerToFloat(bits, from, to, i.selector);
    } else {
      double v = loadFloat(from, bits);
      if (i.flags & CFtz && from == Type::F32)
        v = flush(float(v));
      if (isInteger(to)) {
        result = floatToInteger(roundToInteger(v, i.selector), to);
      } else {
        if (i.flags & ToInteger)
          v = roundToInteger(v, i.selector);
        if (i.flags & CSat)
          v = v >= 0 ? std::min(v, 1.0) : 0.0;
        result = storeFloat(to, v, i.flags & ToInteger ? Nearest : i.selector,
                            i.flags);
      }
    }
    // A wider destination register is extended by the type's sign.
    if (isInteger(to))
      result = isSigned(to) ? uint64_t(signExtend(result, bytesOf(to)))
                            : zeroExtend(result, bytesOf(to));
    if (i[0].bytes == 4 && bytesOf(to) < 4)
      result = isInteger(to) && isSigned(to) && i.flags & 32
                   ? result
                   : zeroExtend(result, bytesOf(to));
    w.setLane(i[0], l, result);
  }
  return Status::Next;
}

/// cvt.rn.bf16x2.f32 d, a, b.
Status toBFloat16Pair(Warp &w, const Instruction &i, LaneMask mask) {
  const uint32_t *a = w.words(i[1]), *b = w.words(i[2]);
  forLanes<uint32_t>(w.words(i[0]), mask, [=](unsigned l) {
    return uint32_t(toBFloat16(llvm::bit_cast<float>(a[l]))) << 16 |
           toBFloat16(llvm::bit_cast<float>(b[l]));
  });
  return Status::Next;
}

/// Formats of packed conversions.
struct PackedConversion : InstructionData {
  ElementFormat to = ElementFormat::F16, from = ElementFormat::F32;
  unsigned toBits = 16, fromBits = 32;
  ConvertOptions options;
  bool ftz = false;
};

/// Bits that an element takes in a packed register: six-bit formats take bytes.
unsigned packedBits(ElementFormat format) {
  unsigned bits = formatBits(format);
  return bits == 6 ? 8 : bits;
}

/// d = {a, b} from two f32, a in the upper half.
Status packFromFloat(Warp &w, const Instruction &i, LaneMask mask) {
  const PackedConversion &c = i.as<PackedConversion>();
  const uint32_t *a = w.words(i[1]), *b = w.words(i[2]);
  forLanes<uint32_t>(w.words(i[0]), mask, [&](unsigned l) {
    float high = llvm::bit_cast<float>(a[l]), low = llvm::bit_cast<float>(b[l]);
    if (c.ftz) {
      high = flush(high);
      low = flush(low);
    }
    return encode(c.to, high, c.options) << c.toBits |
           encode(c.to, low, c.options);
  });
  return Status::Next;
}

/// Both halves of a packed register.
Status convertPair(Warp &w, const Instruction &i, LaneMask mask) {
  const PackedConversion &c = i.as<PackedConversion>();
  const uint32_t *a = w.words(i[1]);
  uint32_t low = (uint32_t(1) << c.fromBits) - 1;
  forLanes<uint32_t>(w.words(i[0]), mask, [&](unsigned l) {
    return encode(c.to, decode(c.from, (a[l] >> c.fromBits) & low), c.options)
               << c.toBits |
           encode(c.to, decode(c.from, a[l] & low), c.options);
  });
  return Status::Next;
}

/// cvt.tf32.f32.
Status toTf32(Warp &w, const Instruction &i, LaneMask mask) {
  const PackedConversion &c = i.as<PackedConversion>();
  const uint32_t *a = w.words(i[1]);
  forLanes<uint32_t>(w.words(i[0]), mask, [&](unsigned l) {
    return encode(ElementFormat::TF32, llvm::bit_cast<float>(a[l]), c.options);
  });
  return Status::Next;
}

std::optional<ElementFormat> packedFormat(StringRef name) {
  return llvm::StringSwitch<std::optional<ElementFormat>>(name)
      .Case("f16x2", ElementFormat::F16)
      .Case("bf16x2", ElementFormat::BF16)
      .Case("e4m3x2", ElementFormat::E4M3)
      .Case("e5m2x2", ElementFormat::E5M2)
      .Case("e2m3x2", ElementFormat::E2M3)
      .Case("e3m2x2", ElementFormat::E3M2)
      .Case("e2m1x2", ElementFormat::E2M1)
      .Case("ue8m0x2", ElementFormat::UE8M0)
      .Case("tf32", ElementFormat::TF32)
      .Default(std::nullopt);
}

Type registerType(unsigned bits) {
  return bits == 8 ? Type::B8 : bits == 16 ? Type::B16 : Type::B32;
}

/// Rounding and saturation as the packed conversions spell them.
void takeOptions(Decoder &d, PackedConversion &c) {
  if (d.take("rz"))
    c.options.rounding = Rounding::TowardZero;
  else if (d.take("rp"))
    c.options.rounding = Rounding::TowardPositive;
  else if (d.take("rna"))
    c.options.rounding = Rounding::NearestAway;
  else
    d.take("rn");
  c.options.saturateFinite = d.take("satfinite");
  c.options.relu = d.take("relu");
  c.ftz = d.take("ftz");
}

bool decodePacked(Decoder &d) {
  std::optional<ElementFormat> formats[2];
  unsigned count = 0;
  bool fromF32 = false;
  for (StringRef m : llvm::to_vector(d.remaining())) {
    if (std::optional<ElementFormat> f = packedFormat(m); f && count < 2)
      formats[count++] = f;
    else if (m == "f32" && count == 1)
      fromF32 = true;
    else
      continue;
  }
  if (!count)
    return false;
  for (StringRef m : llvm::to_vector(d.remaining()))
    if (packedFormat(m) || (m == "f32" && fromF32))
      d.take(m);
  auto c = std::make_shared<PackedConversion>();
  takeOptions(d, *c);
  d.finish();
  c->to = *formats[0];
  c->toBits = packedBits(c->to);
  if (c->to == ElementFormat::TF32) {
    d.needOperands(2);
    d.inst.type = Type::B32;
    d.destination(0, Type::B32);
    d.source(1, Type::F32);
    d.inst.execute = toTf32;
  } else if (fromF32) {
    d.needOperands(3);
    d.inst.type = registerType(2 * c->toBits);
    d.destination(0, d.inst.type);
    d.source(1, Type::F32);
    d.source(2, Type::F32);
    bool plain = c->to == ElementFormat::BF16 && !c->options.relu && !c->ftz &&
                 !c->options.saturateFinite &&
                 c->options.rounding == Rounding::NearestEven;
    d.inst.execute = plain ? toBFloat16Pair : packFromFloat;
  } else if (count == 2) {
    d.needOperands(2);
    c->from = *formats[1];
    c->fromBits = packedBits(c->from);
    d.inst.type = registerType(2 * c->toBits);
    d.destination(0, d.inst.type);
    d.source(1, registerType(2 * c->fromBits));
    d.inst.execute = convertPair;
  } else {
    d.fail("this conversion is not supported");
  }
  d.inst.data = std::move(c);
  return true;
}

/// The common integer widenings and narrowings, as SIMD code.
ExecuteFn integerCast(Type to, Type from, const Instruction &i) {
  bool wide = i[0].bytes == 8, fromWide = i[1].bytes == 8;
  if (bytesOf(to) < 4 || wide != (bytesOf(to) == 8) ||
      fromWide != (bytesOf(from) == 8))
    return nullptr;
  auto pick = [&](auto zero) -> ExecuteFn {
    using A = decltype(zero);
    return wide ? unary<Cast, uint64_t, A> : unary<Cast, uint32_t, A>;
  };
  switch (from) {
  case Type::U8:
    return pick(uint8_t());
  case Type::S8:
    return pick(int8_t());
  case Type::U16:
    return pick(uint16_t());
  case Type::S16:
    return pick(int16_t());
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

/// cvt.pack d, a, b, c (PTX ISA 9.7.9.22): a and b, saturated, side by side
/// with b at the bottom; above them the low bits of c. selector: bits of each;
/// flags: signed.
Status pack(Warp &w, const Instruction &i, LaneMask mask) {
  unsigned bits = i.selector;
  int64_t low = i.flags ? -(int64_t(1) << (bits - 1)) : 0;
  int64_t high = (int64_t(1) << (i.flags ? bits - 1 : bits)) - 1;
  const uint32_t *a = w.words(i[1]), *b = w.words(i[2]);
  const uint32_t *c = i[3] ? w.words(i[3]) : nullptr;
  auto saturate = [=](uint32_t x) {
    int64_t value = std::clamp<int64_t>(int32_t(x), low, high);
    return uint32_t(value) & uint32_t((int64_t(1) << bits) - 1);
  };
  forLanes<uint32_t>(w.words(i[0]), mask, [=](unsigned l) {
    uint32_t pair = saturate(a[l]) << bits | saturate(b[l]);
    return c ? c[l] << (2 * bits) | pair : pair;
  });
  return Status::Next;
}

void decodePack(Decoder &d) {
  if (!d.take("sat"))
    return d.fail("'cvt.pack' needs .sat");
  static constexpr StringRef types[] = {"u16", "s16", "u8", "s8",
                                        "u4",  "s4",  "u2", "s2"};
  int type = d.takeOneOf(types);
  bool isFromS32 = d.take("s32"), hasRest = d.take("b32");
  d.finish();
  if (type < 0 || !isFromS32 || hasRest == (type < 2))
    return d.fail("'cvt.pack' has no such types");
  d.needOperands(hasRest ? 4 : 3);
  d.inst.selector = 16 >> (type / 2);
  d.inst.flags = type & 1;
  d.destination(0, Type::B32);
  d.source(1, Type::S32);
  d.source(2, Type::S32);
  if (hasRest)
    d.source(3, Type::B32);
  else
    d.absent();
  d.inst.execute = pack;
}

void decodeConvert(Decoder &d) {
  if (d.take("pack"))
    return decodePack(d);
  if (decodePacked(d))
    return;
  static constexpr StringRef modes[] = {"rn",  "rz",  "rm",  "rp",
                                        "rni", "rzi", "rmi", "rpi"};
  int mode = d.takeOneOf(modes);
  d.inst.flags = (d.take("ftz") ? CFtz : 0) | (d.take("sat") ? CSat : 0) |
                 (d.take("relu") ? CRelu : 0) |
                 (d.take("satfinite") ? CSatfinite : 0);
  if (mode >= 4)
    d.inst.flags |= ToInteger;
  d.inst.selector = std::max(mode, 0) % 4;
  Type to = d.needType(), from = d.needType();
  d.finish();
  d.needOperands(2);
  d.inst.type = to;
  d.inst.sourceType = from;
  d.wideDestination(0, to);
  d.wideSource(1, from);
  if (d.failed())
    return;
  if (to == Type::Pred || from == Type::Pred || bytesOf(to) > 8 ||
      bytesOf(from) > 8)
    return d.fail("this conversion is not supported");
  // Sub-word registers hold zero-extended values unless they are wider.
  if (d.functionDecoder().syntax.registers.size() > d.operand(0).index) {
    StringRef declared =
        d.functionDecoder().syntax.registers[d.operand(0).index].type;
    if (ptx::typeBytes(declared) >= 4)
      d.inst.flags |= 32;
  }
  d.inst.execute = convert;
  if (isInteger(to) && isInteger(from) && !(d.inst.flags & CSat)) {
    if (ExecuteFn fast = integerCast(to, from, d.inst)) {
      d.inst.execute = fast;
      if (bytesOf(to) <= bytesOf(from) || !isSigned(from)) {
        // Bytes are copied or zero-filled.
        d.inst.undef = Undef::Bitwise;
      }
    } else if (bytesOf(to) <= bytesOf(from)) {
      d.inst.undef = Undef::Bitwise;
    }
  }
}

} // namespace

void lpfa::sim::addConversions(DecodeTable &table) {
  table["cvt"] = decodeConvert;
}
