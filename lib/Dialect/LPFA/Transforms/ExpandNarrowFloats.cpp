//===- ExpandNarrowFloats.cpp - Narrow floats as 8-bit codes --------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "lpfa/Dialect/LPFA/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/StringSwitch.h"

namespace lpfa {
#define GEN_PASS_DEF_EXPANDNARROWFLOATS
#include "lpfa/Dialect/LPFA/Transforms/Passes.h.inc"
} // namespace lpfa

using namespace mlir;
using namespace lpfa;

static bool isNarrowFloat(Type type) {
  auto floatType = dyn_cast<FloatType>(type);
  return floatType && floatType.getWidth() <= 8;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

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

  // The code, an i8, of an f32.
  Value encode(Value x, FloatType type);
  // The f32 that a code, an i8, stands for.
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
  Value code = isa<Float8E8M0FNUType>(type)
                   ? encodeScale(magnitude)
                   : encodeElement(bits, magnitude, Format(type));
  return arith::TruncIOp::create(b, loc, b.getI8Type(), code);
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
  Value wide = arith::ExtUIOp::create(b, loc, b.getI32Type(), code);
  return toFloat(isa<Float8E8M0FNUType>(type)
                     ? decodeScale(wide)
                     : decodeElement(wide, Format(type)));
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

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

// Whether an op moves codes at most, so that another element type changes
// nothing but its types. Regions are judged by the ops in them.
static bool movesCodes(Operation *op) {
  if (isa<EncodeOp, DecodeOp, arith::ConstantOp, arith::SelectOp,
          arith::BitcastOp>(op))
    return true;
  auto isNarrow = [](Type type) {
    return isNarrowFloat(getElementTypeOrSelf(type));
  };
  if (llvm::none_of(op->getOperandTypes(), isNarrow) &&
      llvm::none_of(op->getResultTypes(), isNarrow))
    return true;
  return llvm::StringSwitch<bool>(op->getName().getDialectNamespace())
      .Cases({"affine", "bufferization", "builtin", "cf", "func"}, true)
      .Cases({"linalg", "memref", "scf", "tensor", "ub"}, true)
      .Default(false);
}

// Replaces narrow float types and attributes by those of their codes.
static AttrTypeReplacer getTypeReplacer(MLIRContext *context) {
  Type code = IntegerType::get(context, 8);
  AttrTypeReplacer replacer;
  replacer.addReplacement([=](FloatType type) -> Type {
    return isNarrowFloat(type) ? code : type;
  });
  replacer.addReplacement(
      [=](FloatAttr attr) -> std::optional<std::pair<Attribute, WalkResult>> {
        if (!isNarrowFloat(attr.getType()))
          return std::nullopt;
        APInt bits = attr.getValue().bitcastToAPInt().zext(8);
        return std::pair(IntegerAttr::get(code, bits), WalkResult::skip());
      });
  replacer.addReplacement(
      [=](DenseElementsAttr attr)
          -> std::optional<std::pair<Attribute, WalkResult>> {
        auto floats = dyn_cast<DenseFPElementsAttr>(attr);
        if (!floats || !isNarrowFloat(floats.getElementType()))
          return std::nullopt;
        Attribute codes = floats.mapValues(code, [](const APFloat &value) {
          return value.bitcastToAPInt().zext(8);
        });
        return std::pair(codes, WalkResult::skip());
      });
  return replacer;
}

namespace {
struct ExpandNarrowFloats
    : lpfa::impl::ExpandNarrowFloatsBase<ExpandNarrowFloats> {
  void runOnOperation() override {
    if (failed(verifyInput()))
      return signalPassFailure();
    // What to round to is known only until the types are replaced.
    SmallVector<std::pair<Operation *, FloatType>> ops;
    getOperation().walk([&](Operation *op) {
      if (auto encode = dyn_cast<EncodeOp>(op))
        ops.emplace_back(op, cast<FloatType>(encode.getCode().getType()));
      else if (auto decode = dyn_cast<DecodeOp>(op))
        ops.emplace_back(op, cast<FloatType>(decode.getCode().getType()));
      else if (isa<arith::BitcastOp>(op))
        ops.emplace_back(op, FloatType());
    });
    getTypeReplacer(&getContext())
        .recursivelyReplaceElementsIn(getOperation(), /*replaceAttrs=*/true,
                                      /*replaceLocs=*/false,
                                      /*replaceTypes=*/true);
    IRRewriter rewriter(&getContext());
    for (auto [op, type] : ops) {
      rewriter.setInsertionPoint(op);
      Emitter emitter(rewriter, op->getLoc());
      if (auto encode = dyn_cast<EncodeOp>(op))
        rewriter.replaceOp(op, emitter.encode(encode.getInput(), type));
      else if (auto decode = dyn_cast<DecodeOp>(op))
        rewriter.replaceOp(op, emitter.decode(decode.getCode(), type));
      else
        expandBitcast(rewriter, cast<arith::BitcastOp>(op));
    }
  }

private:
  LogicalResult verifyInput() {
    WalkResult result = getOperation().walk([](Operation *op) {
      if (isa_and_present<LPFADialect>(op->getDialect()) &&
          !isa<EncodeOp, DecodeOp>(op)) {
        op->emitOpError("must be lowered before narrow floats are expanded");
        return WalkResult::interrupt();
      }
      if (movesCodes(op))
        return WalkResult::advance();
      // A named op's own body has no place in the source.
      while (isa<UnknownLoc>(op->getLoc()) && op->getParentOp())
        op = op->getParentOp();
      op->emitOpError("computes on a narrow float, whose conversions are "
                      "'lpfa.decode' and 'lpfa.encode'");
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  // A bitcast of a code: both sides may now be i8, or one is i6 or i4.
  static void expandBitcast(RewriterBase &rewriter, arith::BitcastOp op) {
    Value in = op.getIn();
    Type from = getElementTypeOrSelf(in), to = getElementTypeOrSelf(op);
    if (from == to)
      return rewriter.replaceOp(op, in);
    if (from.isInteger(8) && to.getIntOrFloatBitWidth() < 8)
      rewriter.replaceOpWithNewOp<arith::TruncIOp>(op, op.getType(), in);
    else if (to.isInteger(8) && from.getIntOrFloatBitWidth() < 8)
      rewriter.replaceOpWithNewOp<arith::ExtUIOp>(op, op.getType(), in);
  }
};
} // namespace
