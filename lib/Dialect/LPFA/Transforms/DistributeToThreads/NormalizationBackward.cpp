//===- NormalizationBackward.cpp - Gradients of normalized rows -----------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows lie as those of Normalization.cpp. A thread adds to the sums of columns
// of its own elements, which stay in shared memory from row to row: registers
// have two rows already. Sums of 256 rows lie in those of some warps, each with
// neighbors: halves are added within a thread, across lanes, then across warps.
//
//===----------------------------------------------------------------------===//

#include "KernelDistribution.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lpfa;

static Value broadcast(ThreadBuilder &b, Value x, Value vector) {
  return vector::BroadcastOp::create(
      b, cast<VectorType>(vector.getType()).clone(b.getF32Type()), x);
}

static Value makeFma(ThreadBuilder &b, Value x, Value y, Value z) {
  return FmaOp::create(b, FloatRounding::Nearest, x, y, z);
}

/// The elements of a vector as f32 once more. By an instruction of its own
/// where they are bf16: else LLVM, or ptxas, would widen once for both uses,
/// which takes twice the registers between them.
static Value widenAgain(ThreadBuilder &b, Value vector) {
  auto type = cast<VectorType>(vector.getType());
  if (!type.getElementType().isBF16())
    return widen(b, forgetPiece(b, vector));
  // Bytes of the word, above two of zeros.
  auto permute = [&](Value word, StringRef bytes) {
    std::string text = "prmt.b32 $0, $1, 0, " + bytes.str() + ";";
    Value bits = LLVM::InlineAsmOp::create(
                     b, b.getI32Type(), word, text, "=r,r",
                     /*has_side_effects=*/false, /*is_align_stack=*/false,
                     LLVM::TailCallKind::None, /*asm_dialect=*/nullptr,
                     /*operand_attrs=*/nullptr)
                     .getRes();
    return b.toFloat(bits);
  };
  return widenPairs(b, vector, [&](Value word) -> std::array<Value, 2> {
    return {permute(word, "0x1044"), permute(word, "0x3244")};
  });
}

/// The gradient of the weight that goes over the same elements.
static WeightGradientTileOp findWeightGradient(SumProductsTileOp op) {
  for (Operation *user : op.getDy().getUsers())
    if (auto gradient = dyn_cast<WeightGradientTileOp>(user);
        gradient && gradient->getBlock() == op->getBlock() &&
        gradient.getInput() == op.getInput() &&
        gradient.getRstd() == op.getRstd())
      return gradient;
  return nullptr;
}

void KernelDistribution::addWeightGradient(WeightGradientTileOp op, int64_t i,
                                           Value dy, Value n) {
  Value sum = getPiece(op.getSums(), i);
  keepPiece(op.getResult(), i, makeFma(b, dy, n, sum));
}

LogicalResult KernelDistribution::lower(SumProductsTileOp op) {
  Value sums = values.lookup(op.getSums()),
        rstd = rowFactors.lookup(op.getRstd()).front();
  int64_t count = cast<VectorType>(sums.getType()).getNumElements();
  SmallVector<Value> partial;
  for (int64_t j = 0; j < count; ++j)
    partial.push_back(vector::ExtractOp::create(b, sums, j));
  // Together with the gradient of the weight: n is not to wait in registers.
  WeightGradientTileOp gradient = findWeightGradient(op);
  for (int64_t i = 0; i < layout->steps; ++i) {
    Value x = widen(b, getPiece(op.getInput(), i));
    Value dy = widen(b, getPiece(op.getDy(), i));
    Value n = b.mul(x, broadcast(b, rstd, x));
    Value g = b.mul(dy, widen(b, getPiece(op.getWeight(), i)));
    Value &sum = partial[i % count];
    for (int64_t k = 0; k < layout->vector; ++k)
      sum = makeFma(b, vector::ExtractOp::create(b, g, k),
                    vector::ExtractOp::create(b, n, k), sum);
    if (gradient)
      addWeightGradient(gradient, i, dy, n);
  }
  values.map(op.getResult(), vector::FromElementsOp::create(
                                 b, cast<VectorType>(sums.getType()), partial)
                                 .getResult());
  return success();
}

LogicalResult KernelDistribution::lower(WeightGradientTileOp op) {
  if (!keptTiles.contains(op.getSums()) || !op.getSums().hasOneUse())
    return op.emitOpError("must have sums that a loop carries, for it alone");
  bool isDone = llvm::any_of(op->getBlock()->getOps<SumProductsTileOp>(),
                             [&](SumProductsTileOp products) {
                               return findWeightGradient(products) == op;
                             });
  if (isDone)
    return success();
  for (int64_t i = 0; i < layout->steps; ++i) {
    Value x = widen(b, getPiece(op.getInput(), i));
    Value n =
        b.mul(x, broadcast(b, rowFactors.lookup(op.getRstd()).front(), x));
    addWeightGradient(op, i, widen(b, getPiece(op.getDy(), i)), n);
  }
  return success();
}

LogicalResult KernelDistribution::lower(MeanTileOp op) {
  Value count = arith::UIToFPOp::create(b, b.getF32Type(),
                                        b.toI32(values.lookup(op.getCount())));
  Value sum = addPartialSums(values.lookup(op.getSums()));
  values.map(op.getMean(), arith::DivFOp::create(b, sum, count).getResult());
  return success();
}

LogicalResult KernelDistribution::lower(RMSNormBackwardTileOp op) {
  Type output = op.getDx().getType().getElementType();
  Value rstd = rowFactors.lookup(op.getRstd()).front();
  Value negated = arith::NegFOp::create(b, values.lookup(op.getMean()));
  SmallVector<Value> results;
  for (int64_t i = 0; i < layout->steps; ++i) {
    Value x = widenAgain(b, getPiece(op.getInput(), i));
    Value dy = widenAgain(b, getPiece(op.getDy(), i));
    Value factors = broadcast(b, rstd, x);
    Value n = b.mul(x, factors);
    Value g = b.mul(dy, widen(b, getPiece(op.getWeight(), i)));
    Value dx = b.mul(makeFma(b, broadcast(b, negated, x), n, g), factors);
    if (!output.isF32())
      dx = arith::TruncFOp::create(b, VectorType::get(layout->vector, output),
                                   dx);
    results.push_back(dx);
  }
  pieces[op.getDx()] = std::move(results);
  return success();
}

//===----------------------------------------------------------------------===//
// Sums of partial sums
//===----------------------------------------------------------------------===//

LogicalResult KernelDistribution::lower(AddTileOp op) {
  bool isKept = keptTiles.contains(op.getSum());
  SmallVector<Value> sums;
  for (int64_t i = 0; i < layout->steps; ++i) {
    Value sum = b.add(getPiece(op.getA(), i), getPiece(op.getB(), i));
    if (isKept)
      keepPiece(op.getSum(), i, sum);
    else
      sums.push_back(sum);
  }
  if (!isKept)
    pieces[op.getSum()] = std::move(sums);
  return success();
}

LogicalResult KernelDistribution::lower(SumColumnsTileOp op) {
  if (layout->getWarpRows() != RMSNormBackwardOp::kColumnSumNeighbors ||
      layout->getWarpsAcross() != 1)
    return op.emitOpError("cannot sum columns of ") << op.getTile().getType();
  Value sum = addHalves(b, getPieces(op.getTile()));
  SmallVector<Value> columns;
  for (int64_t k = 0; k < layout->vector; ++k) {
    Value column = vector::ExtractOp::create(b, sum, k);
    for (int64_t mask = TargetModel::warpThreads / 2; mask >= layout->lanes;
         mask /= 2)
      column = b.add(column, b.toFloat(shuffle(b.toBits(column), mask,
                                               gpu::ShuffleMode::XOR)));
    columns.push_back(column);
  }
  Value base = b.offset(sharedBase, sumsOffset);
  constexpr int64_t bytes = sizeof(float);
  b.when(b.compare(arith::CmpIPredicate::eq, laneRow, b.i32(0)), [&] {
    Value place = b.add(b.mul(warpRow, b.i32(layout->columns)), threadColumn);
    LLVM::StoreOp::create(
        b,
        vector::FromElementsOp::create(
            b, VectorType::get(layout->vector, b.getF32Type()), columns),
        b.offset(base, b.mul(place, b.i32(bytes))), /*alignment=*/16);
  });
  BarrierSyncOp::create(b, 0, static_cast<int32_t>(getThreads()));
  // A column a thread, and more threads than columns.
  Value column = b.rem(thread, b.i32(layout->columns));
  SmallVector<Value> ofWarps;
  for (int64_t i = 0; i < layout->getWarps(); ++i) {
    Value place = b.add(column, b.i32(i * layout->columns));
    ofWarps.push_back(LLVM::LoadOp::create(
        b, b.getF32Type(), b.offset(base, b.mul(place, b.i32(bytes)))));
  }
  Value result = addHalves(b, ofWarps);
  Type element = op.getResult().getType().getElementType();
  if (!element.isF32())
    result = arith::TruncFOp::create(b, element, result);
  values.map(op.getResult(), result);
  return success();
}

/// Stores the sum of each column, which its thread has.
LogicalResult KernelDistribution::storeColumnSums(StoreOp op) {
  Value view = op.getView();
  SmallVector<Value> indices;
  for (Value index : op.getIndices())
    indices.push_back(values.lookup(index));
  indices.back() = b.add(indices.back(), b.toIndex(thread));
  Value isColumn =
      b.compare(arith::CmpIPredicate::ult, thread, b.i32(layout->columns));
  Value isInside =
      b.compare(arith::CmpIPredicate::slt, indices.back(),
                getSize(view, op.getView().getType().getRank() - 1));
  b.when(b.bitAnd(isColumn, isInside), [&] {
    LLVM::StoreOp::create(b, values.lookup(op.getTile()),
                          getElementAddress(view, indices));
  });
  return success();
}
