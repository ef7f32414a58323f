//===- Normalization.cpp - Rows and their root mean squares by thread -----===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row lies in the registers of one warp, of eight or of 32. Partial sum j of
// `lpfa.rms_norm` belongs to thread j mod T of the row's T; halves are added
// first within a thread, then across warps through shared memory, then across
// lanes.
//
//===----------------------------------------------------------------------===//

#include "KernelDistribution.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lpfa;

/// Partial sums of a row, a part of the meaning of `lpfa.rms_norm`.
static constexpr int64_t kPartialSums = 1024;

/// Adds upper halves to lower ones, while there are two.
static Value addHalves(ThreadBuilder &b, SmallVector<Value> sums) {
  // Absent ones are 0.
  for (size_t half = llvm::PowerOf2Ceil(sums.size()) / 2; half > 0; half /= 2) {
    for (size_t i = half; i < sums.size(); ++i)
      sums[i - half] = b.add(sums[i - half], sums[i]);
    if (sums.size() > half)
      sums.truncate(half);
  }
  return sums.front();
}

/// The elements as f32.
static Value widen(ThreadBuilder &b, Value x) {
  auto type = cast<VectorType>(x.getType());
  if (type.getElementType().isF32())
    return x;
  return arith::ExtFOp::create(
      b, VectorType::get(type.getShape(), b.getF32Type()), x);
}

/// The sum of the squares of the thread's row, in all of its threads.
Value KernelDistribution::sumSquares(ArrayRef<Value> input) {
  int64_t warps = layout->getWarpsAcross();
  int64_t sums = kPartialSums / (warps * TargetModel::warpThreads);
  SmallVector<Value> partial;
  for (auto [i, piece] : llvm::enumerate(input)) {
    Value x = widen(b, piece);
    int64_t j = int64_t(i) % sums;
    if (j == int64_t(partial.size()))
      partial.push_back(b.f32(0.0f));
    for (int64_t k = 0; k < layout->vector; ++k) {
      Value element = vector::ExtractOp::create(b, x, k);
      partial[j] = FmaOp::create(b, FloatRounding::Nearest, element, element,
                                 partial[j]);
    }
  }
  Value sum = addHalves(b, partial);

  if (warps > 1) {
    // Every warp adds up what all of them found in its lanes' places.
    Value sumsBase =
        b.offset(b.offset(sharedBase, sumsOffset),
                 b.shiftLeft(b.add(b.mul(threadRow, b.i32(32 * warps)),
                                   b.bitAnd(thread, b.i32(31))),
                             2));
    Value warpInRow = b.rem(warp, b.i32(warps));
    LLVM::StoreOp::create(b, sum,
                          b.offset(sumsBase, b.shiftLeft(warpInRow, 7)));
    BarrierSyncOp::create(b, 0, static_cast<int32_t>(getThreads()));
    SmallVector<Value> ofWarps;
    for (int64_t i = 0; i < warps; ++i)
      ofWarps.push_back(
          LLVM::LoadOp::create(b, b.getF32Type(), b.offset(sumsBase, 128 * i)));
    sum = addHalves(b, ofWarps);
  }
  for (int32_t mask = TargetModel::warpThreads / 2; mask > 0; mask /= 2) {
    Value other =
        gpu::ShuffleOp::create(b, b.toBits(sum), mask, TargetModel::warpThreads,
                               gpu::ShuffleMode::XOR)
            .getShuffleResult();
    sum = b.add(sum, b.toFloat(other));
  }
  return sum;
}

/// The same words, but LLVM does not know: to widen elements once for both of
/// their uses would take twice the registers between them.
static Value forget(ThreadBuilder &b, Value piece) {
  auto type = cast<VectorType>(piece.getType());
  if (type.getElementType().isF32())
    return piece;
  auto wordsType = VectorType::get(type.getNumElements() / 2, b.getI32Type());
  Value words = vector::BitCastOp::create(b, wordsType, piece);
  SmallVector<Value> forgotten;
  for (int64_t i = 0; i < wordsType.getNumElements(); ++i)
    forgotten.push_back(LLVM::InlineAsmOp::create(
                            b, b.getI32Type(),
                            Value(vector::ExtractOp::create(b, words, i)),
                            /*asm_string=*/"", /*constraints=*/"=r,0",
                            /*has_side_effects=*/true, /*is_align_stack=*/false,
                            LLVM::TailCallKind::None, /*asm_dialect=*/nullptr,
                            /*operand_attrs=*/nullptr)
                            .getRes());
  return vector::BitCastOp::create(
      b, type, vector::FromElementsOp::create(b, wordsType, forgotten));
}

LogicalResult KernelDistribution::lower(RMSNormTileOp op) {
  SmallVector<Value> input = pieces.lookup(op.getInput());
  Type output = op.getOutput().getType().getElementType();
  Value count = arith::UIToFPOp::create(b, b.getF32Type(),
                                        b.toI32(values.lookup(op.getCount())));
  Value mean = arith::DivFOp::create(b, sumSquares(input), count);
  Value epsilon = b.f32(op.getEpsilon().convertToFloat());
  Value root = math::SqrtOp::create(b, b.add(mean, epsilon));
  Value rstd = arith::DivFOp::create(b, b.f32(1.0f), root);
  values.map(op.getRstd(), rstd);

  auto type = VectorType::get(layout->vector, b.getF32Type());
  Value factors = vector::BroadcastOp::create(b, type, rstd);
  SmallVector<Value> weight = getPieces(op.getWeight()), results;
  for (auto [x, w] : llvm::zip_equal(input, weight)) {
    Value y = b.mul(b.mul(widen(b, forget(b, x)), factors), widen(b, w));
    if (!output.isF32())
      y = arith::TruncFOp::create(b, VectorType::get(layout->vector, output),
                                  y);
    results.push_back(y);
  }
  pieces[op.getOutput()] = std::move(results);
  return success();
}

/// Stores the factor of each row, which all of its threads have.
LogicalResult KernelDistribution::storeRowFactors(StoreOp op) {
  Value view = op.getView();
  int64_t rank = op.getView().getType().getRank();
  SmallVector<Value> indices;
  for (Value index : op.getIndices())
    indices.push_back(values.lookup(index));
  indices.back() = b.add(indices.back(), b.toIndex(threadRow));
  Value isFirst = b.compare(arith::CmpIPredicate::eq, threadColumn, b.i32(0));
  Value isInside = b.compare(arith::CmpIPredicate::slt, indices.back(),
                             getSize(view, rank - 1));
  b.when(b.bitAnd(isFirst, isInside), [&] {
    LLVM::StoreOp::create(b, values.lookup(op.getTile()),
                          getElementAddress(view, indices));
  });
  return success();
}
