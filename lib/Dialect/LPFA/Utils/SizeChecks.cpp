//===- SizeChecks.cpp - Constraints on sizes known at run time ------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Dialect/LPFA/Utils/SizeChecks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace lpfa;

void lpfa::emitCheck(OpBuilder &builder, Operation *op, Value condition,
                     StringRef message) {
  if (matchPattern(condition, m_One()))
    return;
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto place = op->getLoc()->findInstanceOf<FileLineColLoc>())
    os << place.getFilename().getValue() << ":" << place.getLine() << ":"
       << place.getColumn() << ": ";
  os << "'" << op->getName() << "' op " << message;
  cf::AssertOp::create(builder, op->getLoc(), condition, text);
}

namespace {
/// Builds checks of sizes.
class SizeChecker {
public:
  SizeChecker(OpBuilder &builder, Operation *op)
      : builder(builder), loc(op->getLoc()), checked(op) {}

protected:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value dim(Value tensor, int64_t dimension) {
    return builder.createOrFold<tensor::DimOp>(loc, tensor, dimension);
  }
  Value ceilDiv(Value value, int64_t divisor) {
    Value sum =
        builder.createOrFold<arith::AddIOp>(loc, value, constant(divisor - 1));
    return builder.createOrFold<arith::DivUIOp>(loc, sum, constant(divisor));
  }
  void require(arith::CmpIPredicate predicate, Value x, Value y,
               StringRef message) {
    emitCheck(builder, checked,
              builder.createOrFold<arith::CmpIOp>(loc, predicate, x, y),
              message);
  }
  void equal(Value x, Value y, StringRef message) {
    require(arith::CmpIPredicate::eq, x, y, message);
  }

  OpBuilder &builder;
  Location loc;

private:
  Operation *checked;
};

class AttentionSizes : SizeChecker {
public:
  AttentionSizes(OpBuilder &builder, AttentionOp op)
      : SizeChecker(builder, op), op(op) {}

  void check();

private:
  void checkScales(Value scales, Value operand, bool alongSequence,
                   StringRef message);

  AttentionOp op;
};

class MatmulSizes : SizeChecker {
public:
  MatmulSizes(OpBuilder &builder, MatmulOp op)
      : SizeChecker(builder, op), op(op) {}

  void check();

private:
  void checkScales(Value scales, Value operand, StringRef message);

  MatmulOp op;
};
} // namespace

void AttentionSizes::checkScales(Value scales, Value operand,
                                 bool alongSequence, StringRef message) {
  Value length = dim(operand, 2), width = dim(operand, 3);
  // A jagged batch starts most scales anew with each sequence.
  SmallVector<Value> expected = {dim(operand, 0), dim(operand, 1)};
  if (AttentionOp::isBlocked(scales)) {
    expected.push_back(ceilDiv(alongSequence ? width : length, 128));
    expected.push_back(ceilDiv(ceilDiv(alongSequence ? length : width, 32), 4));
    if (op.isJagged())
      expected[alongSequence ? 3 : 2] = Value();
  } else if (alongSequence) {
    expected.push_back(op.isJagged() ? Value() : ceilDiv(length, 32));
    expected.push_back(width);
  } else {
    expected.push_back(length);
    expected.push_back(ceilDiv(width, 32));
  }
  for (auto [dimension, size] : llvm::enumerate(expected))
    if (size)
      equal(dim(scales, dimension), size, message);
}

void AttentionSizes::check() {
  Value q = op.getQ(), k = op.getK(), v = op.getV();
  equal(dim(q, 0), dim(k, 0), "(C2) q and k have different batch sizes");
  equal(dim(q, 0), dim(v, 0), "(C2) q and v have different batch sizes");
  equal(dim(k, 1), dim(v, 1), "(C3) k and v have different numbers of heads");
  equal(dim(k, 2), dim(v, 2), "(C3) k and v have different lengths");

  // The maximum keeps an operand without heads from a division by zero.
  Value heads = dim(q, 1), kvHeads = dim(k, 1);
  Value divisor =
      builder.createOrFold<arith::MaxSIOp>(loc, kvHeads, constant(1));
  Value group = builder.createOrFold<arith::DivUIOp>(loc, heads, divisor);
  equal(builder.createOrFold<arith::MulIOp>(loc, group, kvHeads), heads,
        "(C5) the number of heads of q is not a multiple of k's");

  checkScales(op.getQScales(), q, /*alongSequence=*/false,
              "(C7) the scales of q do not have the shape that q asks for");
  checkScales(op.getKScales(), k, /*alongSequence=*/false,
              "(C7) the scales of k do not have the shape that k asks for");
  checkScales(op.getVScales(), v, /*alongSequence=*/true,
              "(C7) the scales of v do not have the shape that v asks for");
  if (!op.isJagged())
    return;
  equal(dim(q, 0), constant(1), "(C9) a jagged batch has a batch size of 1");
  Value offsets = dim(op.getQOffsets(), 0);
  equal(offsets, dim(op.getKvOffsets(), 0),
        "(C9) the offsets of q and of k have different sizes");
  require(arith::CmpIPredicate::sge, offsets, constant(1),
          "(C9) there are no offsets");
}

void MatmulSizes::checkScales(Value scales, Value operand, StringRef message) {
  int64_t batch = op.getBatchRank();
  for (int64_t i = 0; i < batch; ++i)
    equal(dim(scales, i), dim(operand, i), message);
  Value rows = dim(operand, batch);
  Value groups = ceilDiv(dim(operand, batch + 1), kBlockSize);
  bool isBlocked = op.isBlocked(scales);
  equal(dim(scales, batch), isBlocked ? ceilDiv(rows, 128) : rows, message);
  equal(dim(scales, batch + 1), isBlocked ? ceilDiv(groups, 4) : groups,
        message);
}

void MatmulSizes::check() {
  Value a = op.getA(), b = op.getB();
  int64_t batch = op.getBatchRank();
  for (int64_t i = 0; i < batch; ++i)
    equal(dim(a, i), dim(b, i), "(C2) a and b have different batch sizes");
  equal(dim(a, batch + 1), dim(b, batch + 1), "(C3) a and b differ in K");
  checkScales(op.getAScales(), a,
              "(C4) the scales of a do not have the shape that a asks for");
  checkScales(op.getBScales(), b,
              "(C4) the scales of b do not have the shape that b asks for");
}

void lpfa::emitSizeChecks(OpBuilder &builder, MatmulOp op) {
  MatmulSizes(builder, op).check();
}

void lpfa::emitSizeChecks(OpBuilder &builder, AttentionOp op) {
  AttentionSizes(builder, op).check();
}
