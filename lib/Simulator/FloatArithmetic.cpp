//===- FloatArithmetic.cpp - Floating-point instructions ------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.3 (f32, f64, f32x2), 9.7.4 (f16, bf16 and their pairs). The
// approximate functions are rounded from a result that is good to 50 bits,
// which is within their documented error but not what a GPU gives to the bit.
//
//===----------------------------------------------------------------------===//

#include "FloatArithmetic.h"
#include "Decoder.h"
#include "Lanes.h"
#include "llvm/ADT/STLExtras.h"
#include <cfenv>
#include <cmath>

using namespace lpfa::sim;
using llvm::StringRef;

namespace {

//===----------------------------------------------------------------------===//
// Operations. `apply` is the operation in T; `narrow` gives a double from which
// one rounding to 16 bits is right.
//===----------------------------------------------------------------------===//

/// The condition for `apply` to be the operation for narrow types.
template <typename Op> struct ViaApply {
  template <typename... A> static double narrow(A... a) {
    return Op::apply(double(a)...);
  }
};

struct FAdd {
  template <typename T> static T apply(T a, T b) { return a + b; }
  static double narrow(double a, double b) { return addToOdd(a, b); }
};
struct FSub {
  template <typename T> static T apply(T a, T b) { return a - b; }
  static double narrow(double a, double b) { return addToOdd(a, -b); }
};
struct FMul : ViaApply<FMul> {
  template <typename T> static T apply(T a, T b) { return a * b; }
};
struct FDiv : ViaApply<FDiv> {
  template <typename T> static T apply(T a, T b) { return a / b; }
};
struct Fma {
  static float apply(float a, float b, float c) {
    return fusedMultiplyAdd(a, b, c);
  }
  static double apply(double a, double b, double c) {
    return std::fma(a, b, c);
  }
  static double narrow(double a, double b, double c) {
    return addToOdd(a * b, c);
  }
};
struct FmaRelu {
  template <typename T> static T apply(T a, T b, T c) {
    T r = Fma::apply(a, b, c);
    return r < 0 ? T(0) : r;
  }
  static double narrow(double a, double b, double c) {
    double r = Fma::narrow(a, b, c);
    return r < 0 ? 0 : r;
  }
};

template <typename T>
using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

template <typename T> T absolute(T a) {
  using B = Bits<T>;
  return llvm::bit_cast<T>(
      B(llvm::bit_cast<B>(a) & ~(B(1) << (8 * sizeof(B) - 1))));
}

/// One of two, -0 below +0, a NaN only if both are, or if either is and
/// `propagate`.
template <bool isMax, bool propagate> struct Extremum {
  template <typename T> static T apply(T a, T b) {
    using B = Bits<T>;
    B x = llvm::bit_cast<B>(a), y = llvm::bit_cast<B>(b);
    T r = (isMax ? a < b : b < a) ? b : a;
    r = a == b ? llvm::bit_cast<T>(B(isMax ? x & y : x | y)) : r;
    r = b != b ? (propagate ? b : a) : r;
    r = a != a ? (propagate ? a : b) : r;
    return r;
  }
  template <typename T> static T apply(T a, T b, T c) {
    return apply(apply(a, b), c);
  }
  template <typename... A> static double narrow(A... a) {
    return apply(double(a)...);
  }
};
/// The magnitudes' extremum.
template <typename Op> struct OfMagnitudes {
  template <typename T> static T apply(T a, T b) {
    return Op::apply(absolute(a), absolute(b));
  }
  template <typename T> static T apply(T a, T b, T c) {
    return Op::apply(absolute(a), absolute(b), absolute(c));
  }
  template <typename... A> static double narrow(A... a) {
    return apply(double(a)...);
  }
};
/// .xorsign.abs
template <typename Op> struct XorSign {
  template <typename T> static T apply(T a, T b) {
    using B = Bits<T>;
    B sign = (llvm::bit_cast<B>(a) ^ llvm::bit_cast<B>(b)) &
             (B(1) << (8 * sizeof(B) - 1));
    T r = Op::apply(absolute(a), absolute(b));
    return llvm::bit_cast<T>(B(llvm::bit_cast<B>(r) | sign));
  }
  template <typename... A> static double narrow(A... a) {
    return apply(double(a)...);
  }
};
struct FAbs : ViaApply<FAbs> {
  template <typename T> static T apply(T a) { return absolute(a); }
};
struct FNeg : ViaApply<FNeg> {
  template <typename T> static T apply(T a) { return -a; }
};
struct Reciprocal : ViaApply<Reciprocal> {
  template <typename T> static T apply(T a) { return T(1) / a; }
};
struct SquareRoot : ViaApply<SquareRoot> {
  template <typename T> static T apply(T a) { return std::sqrt(a); }
};
struct ReciprocalSquareRoot : ViaApply<ReciprocalSquareRoot> {
  template <typename T> static T apply(T a) {
    return T(1.0 / std::sqrt(double(a)));
  }
};
struct LogBase2 : ViaApply<LogBase2> {
  template <typename T> static T apply(T a) { return T(std::log2(double(a))); }
};
struct Sine : ViaApply<Sine> {
  template <typename T> static T apply(T a) { return T(std::sin(double(a))); }
};
struct Cosine : ViaApply<Cosine> {
  template <typename T> static T apply(T a) { return T(std::cos(double(a))); }
};
struct HyperbolicTangent : ViaApply<HyperbolicTangent> {
  template <typename T> static T apply(T a) { return T(std::tanh(double(a))); }
};
/// 2^x by range reduction to [-1/2, 1/2] and the series of exp, without
/// branches.
struct ExponentialBase2 : ViaApply<ExponentialBase2> {
  static double power(double x) {
    constexpr double shifter = 0x1.8p52;
    constexpr double c[] = {1,
                            6.93147180559945286e-01,
                            2.40226506959100694e-01,
                            5.55041086648215762e-02,
                            9.61812910762847688e-03,
                            1.33335581464284411e-03,
                            1.54035303933816061e-04,
                            1.52527338040598393e-05,
                            1.32154867901443093e-06,
                            1.01780860092396997e-07,
                            7.05491162080112333e-09,
                            4.44553827187081150e-10,
                            2.56784359934882051e-11};
    double limited = x < -300 ? -300 : x > 300 ? 300 : x;
    double shifted = limited + shifter;
    double r = limited - (shifted - shifter);
    double p = c[12];
    for (int k = 11; k >= 0; --k)
      p = p * r + c[k];
    uint64_t scale = (llvm::bit_cast<uint64_t>(shifted) + 1023) << 52;
    return x != x ? x : p * llvm::bit_cast<double>(scale);
  }
  template <typename T> static T apply(T a) { return T(power(double(a))); }
};
struct CopySign : ViaApply<CopySign> {
  template <typename T> static T apply(T a, T b) { return std::copysign(b, a); }
};

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

enum FloatFlags { Ftz = 1, Sat = 2, Relu = 4, Raw = 8 };

template <typename T, bool ftz> T finishFloat(T r, bool sat, bool raw) {
  r = raw ? r : canonicalNaN(r);
  if (ftz)
    r = flush(r);
  // .sat maps NaN to +0 (PTX ISA 9.7.3).
  if (sat)
    r = r >= 0 ? (r > 1 ? T(1) : r == 0 ? T(0) : r) : T(0);
  return r;
}

template <typename Op, typename T, bool ftz, unsigned n>
Status floatLanes(Warp &w, const Instruction &i, LaneMask mask) {
  const Slot<T> *a = slots<T>(w, i[1]);
  const Slot<T> *b = n > 1 ? slots<T>(w, i[2]) : nullptr;
  const Slot<T> *c = n > 2 ? slots<T>(w, i[3]) : nullptr;
  auto get = [](Slot<T> s) {
    T v = llvm::bit_cast<T>(s);
    return ftz ? flush(v) : v;
  };
  bool sat = i.flags & Sat, raw = i.flags & Raw;
  auto loop = [&](auto finish) {
    forLanes<T>(slots<T>(w, i[0]), mask, [=](unsigned l) {
      T r;
      if constexpr (n == 1)
        r = Op::apply(get(a[l]));
      else if constexpr (n == 2)
        r = Op::apply(get(a[l]), get(b[l]));
      else
        r = Op::apply(get(a[l]), get(b[l]), get(c[l]));
      return finish(r);
    });
  };
  if (!sat && !raw)
    loop([](T r) { return finishFloat<T, ftz>(r, false, false); });
  else
    loop([=](T r) { return finishFloat<T, ftz>(r, sat, raw); });
  return Status::Next;
}

/// With a rounding mode other than to nearest even: selector is the mode of
/// <cfenv>.
template <typename Op, typename T, unsigned n>
Status directedLanes(Warp &w, const Instruction &i, LaneMask mask) {
  Slot<T> *d = slots<T>(w, i[0]);
  bool ftz = i.flags & Ftz;
  auto get = [&](unsigned s, unsigned l) {
    T v = llvm::bit_cast<T>(slots<T>(w, i[s])[l]);
    return ftz ? flush(v) : v;
  };
  for (unsigned l = 0; l != warpSize; ++l) {
    if (!((mask >> l) & 1))
      continue;
    volatile T a = get(1, l), b = n > 1 ? get(2, l) : T(0),
               c = n > 2 ? get(3, l) : T(0);
    std::fesetround(i.selector);
    volatile T r;
    if constexpr (n == 1)
      r = Op::apply(T(a));
    else if constexpr (n == 2)
      r = Op::apply(T(a), T(b));
    else
      r = std::fma(T(a), T(b), T(c));
    std::fesetround(FE_TONEAREST);
    T value = r;
    d[l] = llvm::bit_cast<Slot<T>>(
        ftz ? finishFloat<T, true>(value, i.flags & Sat, false)
            : finishFloat<T, false>(value, i.flags & Sat, false));
  }
  return Status::Next;
}

template <typename Op, bool ftz, unsigned n>
Status pairLanes(Warp &w, const Instruction &i, LaneMask mask) {
  const uint64_t *a = w.doubleWords(i[1]);
  const uint64_t *b = n > 1 ? w.doubleWords(i[2]) : nullptr;
  const uint64_t *c = n > 2 ? w.doubleWords(i[3]) : nullptr;
  auto get = [](uint64_t v, unsigned h) {
    float f = llvm::bit_cast<float>(uint32_t(v >> (32 * h)));
    return ftz ? flush(f) : f;
  };
  forLanes<uint64_t>(w.doubleWords(i[0]), mask, [=](unsigned l) {
    uint64_t result = 0;
    for (unsigned h = 0; h != 2; ++h) {
      float r;
      if constexpr (n == 2)
        r = Op::apply(get(a[l], h), get(b[l], h));
      else
        r = Op::apply(get(a[l], h), get(b[l], h), get(c[l], h));
      result |= uint64_t(llvm::bit_cast<uint32_t>(
                    finishFloat<float, ftz>(r, false, false)))
                << (32 * h);
    }
    return result;
  });
  return Status::Next;
}

/// f16, bf16 and their pairs.
template <typename Op, unsigned n>
Status narrowLanes(Warp &w, const Instruction &i, LaneMask mask) {
  bool isBf16 = i.type == Type::BF16 || i.type == Type::BF16x2;
  ElementFormat format = isBf16 ? ElementFormat::BF16 : ElementFormat::F16;
  unsigned halves = bytesOf(i.type) / 2;
  const uint32_t *source[3] = {};
  for (unsigned s = 0; s != n; ++s)
    source[s] = w.words(i[1 + s]);
  bool ftz = i.flags & Ftz, sat = i.flags & Sat, relu = i.flags & Relu;
  ConvertOptions options;
  options.relu = relu;
  if (i.selector == FE_TOWARDZERO)
    options.rounding = Rounding::TowardZero;
  // f16 subnormals are those below 2^-14.
  auto flushed = [&](double v) {
    return ftz && !isBf16 && std::fabs(v) < 0x1p-14 ? std::copysign(0.0, v) : v;
  };
  forLanes<uint32_t>(w.words(i[0]), mask, [&](unsigned l) {
    uint32_t result = 0;
    for (unsigned h = 0; h != halves; ++h) {
      double v[3] = {};
      for (unsigned s = 0; s != n; ++s)
        v[s] = flushed(decode(format, uint16_t(source[s][l] >> (16 * h))));
      double r;
      if constexpr (n == 1)
        r = Op::narrow(v[0]);
      else if constexpr (n == 2)
        r = Op::narrow(v[0], v[1]);
      else
        r = Op::narrow(v[0], v[1], v[2]);
      if (sat)
        r = r >= 0 ? std::min(r, 1.0) : 0.0;
      uint32_t code = encode(format, r, options);
      if (ftz && !isBf16 && !(code & 0x7C00))
        code &= 0x8000;
      result |= code << (16 * h);
    }
    return result;
  });
  return Status::Next;
}

/// abs and neg of narrow types touch the sign alone. selector: and mask,
/// flags: xor mask is the sign.
template <bool isNegate>
Status narrowSign(Warp &w, const Instruction &i, LaneMask mask) {
  const uint32_t *a = w.words(i[1]);
  uint32_t sign = bytesOf(i.type) == 2 ? 0x8000 : 0x80008000;
  forLanes<uint32_t>(w.words(i[0]), mask, [=](unsigned l) {
    return isNegate ? a[l] ^ sign : a[l] & ~sign;
  });
  return Status::Next;
}

/// An fma of f32 whose factors have 16 bits, rounded to nearest.
template <ElementFormat factors>
Status mixedFma(Warp &w, const Instruction &i, LaneMask mask) {
  const uint32_t *a = w.words(i[1]), *b = w.words(i[2]), *c = w.words(i[3]);
  forLanes<uint32_t>(w.words(i[0]), mask, [=](unsigned l) {
    return llvm::bit_cast<uint32_t>(canonicalNaN(fusedMultiplyAdd(
        decode(factors, a[l] & 0xFFFF), decode(factors, b[l] & 0xFFFF),
        llvm::bit_cast<float>(c[l]))));
  });
  return Status::Next;
}

Status testProperty(Warp &w, const Instruction &i, LaneMask mask) {
  LaneMask result = 0;
  for (unsigned l = 0; l != warpSize; ++l) {
    double v = i.type == Type::F64
                   ? llvm::bit_cast<double>(w.doubleWords(i[1])[l])
                   : llvm::bit_cast<float>(w.words(i[1])[l]);
    double smallest = i.type == Type::F64 ? 0x1p-1022 : 0x1p-126;
    bool r = false;
    switch (i.selector) {
    case 0:
      r = std::isfinite(v);
      break;
    case 1:
      r = std::isinf(v);
      break;
    case 2:
      r = !std::isnan(v);
      break;
    case 3:
      r = std::isnan(v);
      break;
    case 4:
      r = std::isfinite(v) && std::fabs(v) >= smallest;
      break;
    case 5:
      r = v != 0 && std::fabs(v) < smallest;
      break;
    }
    result |= LaneMask(r) << l;
  }
  w.setPredicate(i[0], result, mask);
  return Status::Next;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

bool isNarrow(Type t) {
  return t == Type::F16 || t == Type::BF16 || t == Type::F16x2 ||
         t == Type::BF16x2;
}

/// Sets the function for the decoded type and flags.
template <typename Op, unsigned n> void choose(Decoder &d) {
  Instruction &inst = d.inst;
  bool ftz = inst.flags & Ftz;
  bool directed = inst.selector != FE_TONEAREST;
  if constexpr (n > 1) {
    if (inst.type == Type::F32x2) {
      if (directed)
        return d.fail("this rounding of .f32x2 is not supported");
      inst.execute = ftz ? pairLanes<Op, true, n> : pairLanes<Op, false, n>;
      return;
    }
  }
  switch (inst.type) {
  case Type::F32:
    inst.execute = directed ? directedLanes<Op, float, n>
                   : ftz    ? floatLanes<Op, float, true, n>
                            : floatLanes<Op, float, false, n>;
    return;
  case Type::F64:
    inst.execute = directed ? directedLanes<Op, double, n>
                            : floatLanes<Op, double, false, n>;
    return;
  case Type::F16:
  case Type::BF16:
  case Type::F16x2:
  case Type::BF16x2:
    inst.execute = narrowLanes<Op, n>;
    return;
  default:
    return;
  }
}

/// Takes rounding, .ftz, .sat and .relu, and the operands.
void floatOperands(Decoder &d, Type type, unsigned n) {
  static constexpr StringRef modes[] = {"rn", "rz", "rm", "rp"};
  static constexpr int rounding[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD,
                                     FE_UPWARD};
  int mode = d.takeOneOf(modes);
  d.inst.selector = rounding[std::max(mode, 0)];
  d.inst.flags = (d.take("ftz") ? Ftz : 0) | (d.take("sat") ? Sat : 0);
  d.inst.type = type;
  d.needOperands(n + 1);
  d.destination(0, type);
  for (unsigned s = 1; s <= n; ++s)
    d.source(s, type);
}

std::optional<Type> peekFloat(Decoder &d) {
  for (StringRef m : d.remaining())
    if (m == "f32" || m == "f64" || m == "f16" || m == "bf16" || m == "f16x2" ||
        m == "bf16x2" || m == "f32x2")
      return d.takeType();
  return std::nullopt;
}

template <bool isMax> void decodeExtremum(Decoder &d, Type type) {
  bool propagate = d.take("NaN"), abs = d.take("abs");
  bool xorSign = d.take("xorsign");
  unsigned n = d.numOperands() - 1;
  if (n != 3)
    n = 2;
  floatOperands(d, type, n);
  d.finish();
  using Quiet = Extremum<isMax, false>;
  using Loud = Extremum<isMax, true>;
  if (xorSign) {
    if (n == 3 || !abs)
      return d.fail("'.xorsign' needs .abs and two sources");
    return propagate ? choose<XorSign<Loud>, 2>(d)
                     : choose<XorSign<Quiet>, 2>(d);
  }
  if (n == 3)
    abs         ? propagate ? choose<OfMagnitudes<Loud>, 3>(d)
                            : choose<OfMagnitudes<Quiet>, 3>(d)
    : propagate ? choose<Loud, 3>(d)
                : choose<Quiet, 3>(d);
  else
    abs         ? propagate ? choose<OfMagnitudes<Loud>, 2>(d)
                            : choose<OfMagnitudes<Quiet>, 2>(d)
    : propagate ? choose<Loud, 2>(d)
                : choose<Quiet, 2>(d);
}

template <typename Op> void decodeFunction(Decoder &d) {
  Type type = d.needType();
  d.take("approx");
  d.take("full");
  floatOperands(d, type, 1);
  d.finish();
  choose<Op, 1>(d);
}

void decodeFma(Decoder &d) {
  Type type = d.needType();
  bool relu = d.take("relu");
  std::optional<Type> factors = peekFloat(d);
  floatOperands(d, type, 3);
  if (factors) {
    if (type != Type::F32 ||
        (*factors != Type::BF16 && *factors != Type::F16) || relu ||
        d.inst.flags || d.inst.selector != FE_TONEAREST)
      return d.fail("'fma' of these types is not supported");
    d.source(1, *factors);
    d.source(2, *factors);
    d.finish();
    d.inst.execute = *factors == Type::BF16 ? mixedFma<ElementFormat::BF16>
                                            : mixedFma<ElementFormat::F16>;
    return;
  }
  d.finish();
  relu ? choose<FmaRelu, 3>(d) : choose<Fma, 3>(d);
}

void decodeCopysign(Decoder &d) {
  Type type = d.needType();
  floatOperands(d, type, 2);
  d.finish();
  d.inst.flags |= Raw;
  choose<CopySign, 2>(d);
}

void decodeTestp(Decoder &d) {
  static constexpr StringRef names[] = {"finite",     "infinite", "number",
                                        "notanumber", "normal",   "subnormal"};
  int test = d.takeOneOf(names);
  Type type = d.needType();
  d.finish();
  d.needOperands(2);
  if (test < 0)
    return d.fail("'testp' without a property");
  d.inst.selector = test;
  d.inst.type = type;
  d.destination(0, Type::Pred);
  d.source(1, type);
  d.inst.execute = testProperty;
}

} // namespace

bool lpfa::sim::decodeFloat(Decoder &d) {
  std::optional<Type> type = peekFloat(d);
  if (!type)
    return false;
  StringRef opcode = d.syntax.opcode;
  if (opcode == "min" || opcode == "max") {
    opcode == "max" ? decodeExtremum<true>(d, *type)
                    : decodeExtremum<false>(d, *type);
    return true;
  }
  if (opcode == "abs" || opcode == "neg") {
    floatOperands(d, *type, 1);
    d.finish();
    d.inst.flags |= Raw;
    if (isNarrow(*type))
      d.inst.execute = opcode == "neg" ? narrowSign<true> : narrowSign<false>;
    else
      opcode == "neg" ? choose<FNeg, 1>(d) : choose<FAbs, 1>(d);
    return true;
  }
  if (opcode == "mad") {
    floatOperands(d, *type, 3);
    d.finish();
    choose<Fma, 3>(d);
    return true;
  }
  if (opcode == "div") {
    d.take("approx");
    d.take("full");
  }
  floatOperands(d, *type, 2);
  d.finish();
  if (opcode == "add")
    choose<FAdd, 2>(d);
  else if (opcode == "sub")
    choose<FSub, 2>(d);
  else if (opcode == "mul")
    choose<FMul, 2>(d);
  else if (opcode == "div")
    choose<FDiv, 2>(d);
  else
    d.fail("'" + opcode + "' of this type is not supported");
  return true;
}

void lpfa::sim::addFloatArithmetic(DecodeTable &table) {
  table["fma"] = decodeFma;
  table["rcp"] = decodeFunction<Reciprocal>;
  table["sqrt"] = decodeFunction<SquareRoot>;
  table["rsqrt"] = decodeFunction<ReciprocalSquareRoot>;
  table["ex2"] = decodeFunction<ExponentialBase2>;
  table["lg2"] = decodeFunction<LogBase2>;
  table["sin"] = decodeFunction<Sine>;
  table["cos"] = decodeFunction<Cosine>;
  table["tanh"] = decodeFunction<HyperbolicTangent>;
  table["copysign"] = decodeCopysign;
  table["testp"] = decodeTestp;
}
