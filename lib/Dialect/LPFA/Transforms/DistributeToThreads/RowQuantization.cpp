//===- RowQuantization.cpp - Quantization by threads that have rows -------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A role's thread has a row of a tile of 128 x 128, its warp 32 of them. So a
// block along the row is one thread's, and a square's or a column's largest
// magnitude is one instruction over the warp. Scales of a tile are a word a
// thread: of 128 x 4 ones, those of its row; of 4 x 128 ones, in the warp's
// row, those of columns l, l + 32, l + 64 and l + 96 for lane l.
//
//===----------------------------------------------------------------------===//

#include "KernelDistribution.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lpfa;

static constexpr int64_t kRows = 128, kColumns = 128;
static constexpr int64_t kBlocks = kColumns / kBlockSize;

LogicalResult KernelDistribution::lower(CropOp op) {
  Value tile = values.lookup(op.getTile());
  auto type = cast<VectorType>(tile.getType());
  int64_t columns = type.getNumElements();
  Value rows = b.toI32(values.lookup(op.getRows()));
  Value end = b.toI32(values.lookup(op.getColumns()));
  Value isWhole =
      b.bitAnd(b.compare(arith::CmpIPredicate::sge, rows, b.i32(kRows)),
               b.compare(arith::CmpIPredicate::sge, end, b.i32(columns)));
  auto branch = scf::IfOp::create(b, type, isWhole, true, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, tile);
  b.setInsertionPointToStart(branch.elseBlock());
  end = b.select(b.compare(arith::CmpIPredicate::slt, thread, rows), end,
                 b.i32(0));
  auto numbers = llvm::to_vector(llvm::seq<int32_t>(0, columns));
  auto numbersType = VectorType::get(columns, b.getI32Type());
  Value column = arith::ConstantOp::create(
      b, DenseElementsAttr::get(numbersType, ArrayRef<int32_t>(numbers)));
  Value isInside = b.compare(arith::CmpIPredicate::slt, column,
                             vector::BroadcastOp::create(b, numbersType, end));
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
  scf::YieldOp::create(b, b.select(isInside, tile, zero));
  values.map(op.getResult(), branch.getResult(0));
  return success();
}

/// |x|, which is a modifier of the instructions that take maxima. `math.absf`
/// would become a call.
static Value getMagnitude(ThreadBuilder &b, Value x) {
  return LLVM::CallIntrinsicOp::create(b, x.getType(),
                                       b.getStringAttr("llvm.fabs.f32"), x)
      .getResult(0);
}

/// A row as f32. Those of bf16 by bits, one operation each; LLVM would round
/// one by one, too, were they extended one by one.
static Value widenRow(ThreadBuilder &b, Value row, VectorType type) {
  auto rowType = cast<VectorType>(row.getType());
  if (rowType == type)
    return row;
  if (!rowType.getElementType().isBF16())
    return arith::ExtFOp::create(b, type, row);
  int64_t words = type.getNumElements() / 2;
  auto wordsType = VectorType::get(words, b.getI32Type());
  Value pairs = vector::BitCastOp::create(b, wordsType, row);
  auto spread = [&](int64_t x) -> Value {
    return vector::BroadcastOp::create(b, wordsType, b.i32(x));
  };
  Value lower = arith::ShLIOp::create(b, pairs, spread(16));
  Value upper = b.bitAnd(pairs, spread(int64_t(0xffff) << 16));
  SmallVector<int64_t> order;
  for (int64_t i = 0; i < words; ++i)
    order.append({i, words + i});
  return vector::BitCastOp::create(
      b, type, vector::ShuffleOp::create(b, lower, upper, order));
}

/// The value with the lane's number.
Value KernelDistribution::selectByLane(SmallVector<Value> left) {
  for (int64_t bit = 1; left.size() > 1; bit *= 2) {
    Value isOdd = b.compare(arith::CmpIPredicate::ne,
                            b.bitAnd(thread, b.i32(bit)), b.i32(0));
    for (size_t i = 0; i < left.size() / 2; ++i)
      left[i] = b.select(isOdd, left[2 * i + 1], left[2 * i]);
    left.truncate(left.size() / 2);
  }
  return left.front();
}

LogicalResult KernelDistribution::quantizeRows(QuantizeTileOp op) {
  TileType input = op.getInput().getType();
  Type scale = op.getScales().getType().getElementType();
  auto element = cast<FloatType>(op.getElements().getType().getElementType());
  if (input.getShape() != ArrayRef<int64_t>({kRows, kColumns}) ||
      !isa<Float8E8M0FNUType>(scale) || element.getWidth() != 8)
    return op.emitOpError(
        "can be given a row a thread only of 128x128 to codes "
        "of 8 bits with scales of f8E8M0FNU");
  auto rowType = VectorType::get(kColumns, b.getF32Type());
  Value row = widenRow(b, values.lookup(op.getInput()), rowType);

  // The largest magnitudes of the blocks that the thread has scales of. A
  // column's is known to all lanes: each takes its own to go on with.
  bool hasColumns = op.getAxis() == 0 && !op.getSquare();
  auto blockType = VectorType::get(kBlockSize, b.getF32Type());
  SmallVector<Value> blocks, maxima;
  for (int64_t i = 0; i < kBlocks; ++i) {
    blocks.push_back(vector::ExtractStridedSliceOp::create(
        b, row, ArrayRef<int64_t>{i * kBlockSize},
        ArrayRef<int64_t>{kBlockSize}, ArrayRef<int64_t>{1}));
    SmallVector<Value> magnitudes;
    for (int64_t k = 0; k < kBlockSize; ++k) {
      Value x = vector::ExtractOp::create(b, blocks[i], k);
      magnitudes.push_back(hasColumns ? Value(LargestMagnitudeOp::create(b, x))
                                      : getMagnitude(b, x));
    }
    Value largest = hasColumns ? selectByLane(magnitudes) : b.max(magnitudes);
    maxima.push_back(op.getSquare()
                         ? Value(LargestMagnitudeOp::create(b, largest))
                         : largest);
  }
  SmallVector<Value> words = scaleBlocks(maxima, element, scale, op.getRule(),
                                         /*globalScale=*/Value());
  values.map(op.getScales(), words.front());
  if (op.getElements().use_empty())
    return success();

  auto wordsType = VectorType::get(kBlockSize / 4, b.getI32Type());
  SmallVector<Value> codes;
  for (auto [i, block] : llvm::enumerate(blocks)) {
    Value own = getInverse(b, getByte(b, words, i));
    Value factor;
    if (hasColumns) {
      SmallVector<Value> factors;
      for (int32_t k = 0; k < kBlockSize; ++k)
        factors.push_back(shuffle(own, k, gpu::ShuffleMode::IDX));
      factor = vector::FromElementsOp::create(b, blockType, factors);
    } else {
      factor = vector::BroadcastOp::create(b, blockType, own);
    }
    Value packed = ConvertPackedOp::create(b, wordsType, b.mul(block, factor),
                                           element, FloatRounding::Nearest);
    for (int64_t k = 0; k < wordsType.getNumElements(); ++k)
      codes.push_back(vector::ExtractOp::create(b, packed, k));
  }
  values.map(op.getElements(),
             Value(vector::FromElementsOp::create(
                 b, VectorType::get(codes.size(), b.getI32Type()), codes)));
  return success();
}

LogicalResult KernelDistribution::packRowScales(PackAtomOp op) {
  Value word = values.lookup(op.getScales());
  if (op.getValid()) {
    Value valid = b.toI32(values.lookup(op.getValid()));
    Value row = op.getTransposed() ? b.bitAnd(thread, b.i32(31)) : thread;
    auto isValid = [&](int64_t from) {
      return b.compare(arith::CmpIPredicate::slt, b.add(row, b.i32(from)),
                       valid);
    };
    Value mask;
    if (!op.getTransposed()) {
      mask = b.select(isValid(0), b.i32(-1), b.i32(0));
    } else {
      mask = b.i32(0);
      for (int64_t i = 0; i < kBlocks; ++i)
        mask = b.bitOr(mask, b.select(isValid(i * kBlockSize),
                                      b.i32(int64_t(0xff) << 8 * i), b.i32(0)));
    }
    word = b.bitAnd(word, mask);
  }
  values.map(op.getAtom(), word);
  return success();
}

LogicalResult KernelDistribution::storeRowScales(StoreOp op) {
  Value view = op.getView();
  TileType tile = op.getTile().getType();
  int64_t rank = op.getView().getType().getRank();
  Value word = values.lookup(op.getTile());
  SmallVector<Value> indices;
  for (Value index : op.getIndices())
    indices.push_back(values.lookup(index));
  Value lane = b.bitAnd(thread, b.i32(31));
  auto getBytePart = [&](int64_t i) -> Value {
    return arith::TruncIOp::create(b, b.getI8Type(), b.shiftRight(word, 8 * i));
  };

  if (tile.isAtom()) {
    auto pack = op.getTile().getDefiningOp<PackAtomOp>();
    Value atom = getElementAddress(view, indices);
    if (!pack || !pack.getTransposed()) {
      LLVM::StoreOp::create(b, word, b.offset(atom, getAtomOffset()),
                            /*alignment=*/4);
      return success();
    }
    // The warp's group of the atom's rows l, l + 32, l + 64 and l + 96.
    Value first = b.add(b.shiftLeft(lane, 4), b.shiftRight(thread, 5));
    for (int64_t i = 0; i < kBlocks; ++i)
      LLVM::StoreOp::create(b, getBytePart(i),
                            b.offset(b.offset(atom, first), 4 * i));
    return success();
  }

  bool transposed = tile.getShape().front() != kRows;
  Value row = transposed ? b.shiftRight(thread, 5) : thread;
  indices[rank - 2] = b.add(indices[rank - 2], b.toIndex(row));
  if (transposed)
    indices[rank - 1] = b.add(indices[rank - 1], b.toIndex(lane));
  Value isRow = b.compare(arith::CmpIPredicate::slt, indices[rank - 2],
                          getSize(view, rank - 2));
  Value column = indices[rank - 1], columns = getSize(view, rank - 1);
  Value address = getElementAddress(view, indices);
  int64_t step = transposed ? kBlockSize : 1;
  auto storeBytes = [&] {
    for (int64_t i = 0; i < kBlocks; ++i) {
      Value isColumn = b.compare(arith::CmpIPredicate::slt,
                                 b.add(column, b.index(i * step)), columns);
      b.when(isColumn, [&] {
        LLVM::StoreOp::create(b, getBytePart(i), b.offset(address, i * step));
      });
    }
  };
  b.when(isRow, [&] {
    if (transposed)
      return storeBytes();
    Value isWhole =
        b.bitAnd(isAligned(view, 4),
                 b.compare(arith::CmpIPredicate::sle,
                           b.add(column, b.index(kBlocks)), columns));
    auto branch = scf::IfOp::create(b, isWhole, /*withElse=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    LLVM::StoreOp::create(b, word, address, /*alignment=*/4);
    b.setInsertionPointToStart(branch.elseBlock());
    storeBytes();
  });
  return success();
}
