//===- ExpandNarrowFloats.cpp - Narrow floats as 8-bit codes --------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "lpfa/Dialect/LPFA/Transforms/Passes.h"
#include "lpfa/Dialect/LPFA/Utils/NarrowFloats.h"
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
      Location loc = op->getLoc();
      if (auto encode = dyn_cast<EncodeOp>(op)) {
        Value code = emitEncode(rewriter, loc, encode.getInput(), type);
        rewriter.replaceOpWithNewOp<arith::TruncIOp>(op, rewriter.getI8Type(),
                                                     code);
      } else if (auto decode = dyn_cast<DecodeOp>(op)) {
        Value code = arith::ExtUIOp::create(
            rewriter, loc, rewriter.getI32Type(), decode.getCode());
        rewriter.replaceOp(op, emitDecode(rewriter, loc, code, type));
      } else {
        expandBitcast(rewriter, cast<arith::BitcastOp>(op));
      }
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
