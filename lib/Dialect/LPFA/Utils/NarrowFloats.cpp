//===- NarrowFloats.cpp - Conversions of narrow floats in integers -----===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Dialect/LPFA/Utils/NarrowFloats.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace lpfa;

namespace {

// An element type in numbers. An f32 has 8 exponent bits with bias 127 and 23
// mantissa bits.
struct Format {
  explicit Format(FloatType type)
      : width(type.getWidth()), mantissa(type.getFPMantissaWidth() - 1) {
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    minExponent = APFloat::semanticsMinExponent(semantics);
    largest = APFloat::getLargest(semantics).bitcastToAPInt().getZExtValue();
    hasInfinity = APFloat::semanticsHasInf(semantics);
    hasNaN = APFloat::semanticsHasNaN(semantics);
  }

  // The code's bits but for the sign.
  int64_t magnitudeMask() const { return (int64_t(1) << (width - 1)) - 1; }
  // The code that NaN becomes.
  int64_t nan() const { return hasNaN ? magnitudeMask() : largest; }
  // How many mantissa bits f32 has more.
  int64_t shift() const { return 23 - mantissa; }
  // What the exponent fields of f32 and of this format differ by.
  int64_t rebias() const { return 127 + minExponent - 1; }

  int64_t width;
  int64_t mantissa;
  int64_t minExponent; // Of normal numbers.
  int64_t largest;     // The code of the largest finite number.
  bool hasInfinity;
  bool hasNaN;
};

// Builds 32-bit arithmetic.
class Emitter {
public:
  Emitter(OpBuilder &builder, Location loc) : b(builder), loc(loc) {}

  // The code, in an i32, of an f32.
  Value encode(Value x, FloatType type);
  // The f32 that a code, in an i32, stands for.
  Value decode(Value code, FloatType type);

private:
  Value encodeScale(Value magnitude);
  Value encodeElement(Value bits, Value magnitude, const Format &format);
  Value decodeScale(Value code);
  Value decodeElement(Value code, const Format &format);

  Value constant(int64_t value) {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
  }
  // The bits of the f32 2^exponent, for normal numbers.
  Value powerOfTwo(int64_t exponent) {
    return constant((127 + exponent) << 23);
  }
  Value toBits(Value x) {
    return arith::BitcastOp::create(b, loc, b.getI32Type(), x);
  }
  Value toFloat(Value bits) {
    return arith::BitcastOp::create(b, loc, b.getF32Type(), bits);
  }
  Value isLess(Value lhs, Value rhs) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, lhs, rhs);
  }
  Value isEqual(Value lhs, Value rhs) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, lhs, rhs);
  }
  Value select(Value condition, Value a, Value c) {
    return arith::SelectOp::create(b, loc, condition, a, c);
  }
  Value add(Value lhs, Value rhs) {
    return arith::AddIOp::create(b, loc, lhs, rhs);
  }
  Value sub(Value lhs, Value rhs) {
    return arith::SubIOp::create(b, loc, lhs, rhs);
  }
  Value bitAnd(Value lhs, int64_t mask) {
    return arith::AndIOp::create(b, loc, lhs, constant(mask));
  }
  Value bitOr(Value lhs, Value rhs) {
    return arith::OrIOp::create(b, loc, lhs, rhs);
  }
  Value shiftLeft(Value value, int64_t by) {
    return arith::ShLIOp::create(b, loc, value, constant(by));
  }
  Value shiftRight(Value value, int64_t by) {
    return arith::ShRUIOp::create(b, loc, value, constant(by));
  }
  Value minimum(Value value, int64_t limit) {
    return arith::MinUIOp::create(b, loc, value, constant(limit));
  }

  OpBuilder &b;
  Location loc;
};

} // namespace

static constexpr int64_t kInfinityBits = 0x7f800000;
static constexpr int64_t kNaNBits = 0x7fc00000;

Value Emitter::encode(Value x, FloatType type) {
  Value bits = toBits(x);
  Value magnitude = bitAnd(bits, 0x7fffffff);
  return isa<Float8E8M0FNUType>(type)
             ? encodeScale(magnitude)
             : encodeElement(bits, magnitude, Format(type));
}

Value Emitter::encodeScale(Value magnitude) {
  // The exponent field, rounded up: any mantissa bit carries into it. Below the
  // normal numbers, 2^-127 = 0x00400000 is the last that byte 0 holds.
  Value isSubnormal = isLess(magnitude, constant(1 << 23));
  Value carry = select(isSubnormal, constant(0x003fffff), constant(0x007fffff));
  Value byte = minimum(shiftRight(add(magnitude, carry), 23), 254);
  Value isNaN = isLess(constant(kInfinityBits), magnitude);
  return select(isNaN, constant(255), byte);
}

Value Emitter::encodeElement(Value bits, Value magnitude,
                             const Format &format) {
  // Normal numbers: to nearest by adding half a unit of the last place that
  // stays, less one bit where that place is even, then the other bias.
  int64_t shift = format.shift();
  Value isOdd = bitAnd(shiftRight(magnitude, shift), 1);
  Value rounded = add(add(magnitude, constant((1 << (shift - 1)) - 1)), isOdd);
  Value normal = sub(shiftRight(rounded, shift),
                     constant(format.rebias() << format.mantissa));

  // Subnormal numbers: adding a power of two whose last place is the format's
  // smallest number lets the addition round.
  Value anchor = powerOfTwo(format.minExponent + shift);
  Value sum =
      arith::AddFOp::create(b, loc, toFloat(magnitude), toFloat(anchor));
  Value subnormal = sub(toBits(sum), anchor);

  Value isSubnormal = isLess(magnitude, powerOfTwo(format.minExponent));
  Value finite =
      minimum(select(isSubnormal, subnormal, normal), format.largest);
  Value sign =
      bitAnd(shiftRight(bits, 32 - format.width), format.magnitudeMask() + 1);
  Value isNaN = isLess(constant(kInfinityBits), magnitude);
  return select(isNaN, constant(format.nan()), bitOr(finite, sign));
}

Value Emitter::decode(Value code, FloatType type) {
  return toFloat(isa<Float8E8M0FNUType>(type)
                     ? decodeScale(code)
                     : decodeElement(code, Format(type)));
}

Value Emitter::decodeScale(Value code) {
  Value power = shiftLeft(code, 23);
  Value finite =
      select(isEqual(code, constant(0)), constant(0x00400000), power);
  return select(isEqual(code, constant(255)), constant(kNaNBits), finite);
}

Value Emitter::decodeElement(Value code, const Format &format) {
  Value magnitude = bitAnd(code, format.magnitudeMask());
  Value normal = add(shiftLeft(magnitude, format.shift()),
                     constant(format.rebias() << 23));
  // Subnormal numbers have no leading one: with the smallest normal exponent
  // they come out too large by just that power.
  Value anchor = powerOfTwo(format.minExponent);
  Value tooLarge = add(normal, constant(1 << 23));
  Value subnormal =
      toBits(arith::SubFOp::create(b, loc, toFloat(tooLarge), toFloat(anchor)));
  Value isSubnormal = isLess(magnitude, constant(1 << format.mantissa));
  Value value = select(isSubnormal, subnormal, normal);
  if (format.hasInfinity)
    value = select(isEqual(magnitude, constant(format.largest + 1)),
                   constant(kInfinityBits), value);
  Value sign =
      shiftLeft(bitAnd(code, format.magnitudeMask() + 1), 32 - format.width);
  value = bitOr(value, sign);
  if (!format.hasNaN)
    return value;
  int64_t lastNumber = format.largest + (format.hasInfinity ? 1 : 0);
  Value isNaN = isLess(constant(lastNumber), magnitude);
  return select(isNaN, constant(kNaNBits), value);
}

Value lpfa::emitEncode(OpBuilder &builder, Location loc, Value x,
                       FloatType type) {
  return Emitter(builder, loc).encode(x, type);
}

Value lpfa::emitDecode(OpBuilder &builder, Location loc, Value code,
                       FloatType type) {
  return Emitter(builder, loc).decode(code, type);
}
