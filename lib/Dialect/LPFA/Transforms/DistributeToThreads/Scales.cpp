//===- Scales.cpp - Tiles of scales of kernels without roles --------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile of scales is some hundred bytes in shared memory. Whoever computes a
// scale writes its byte there; then all threads move the tile in units as wide
// as they can be. To pack or unpack an atom is to read with other indices.
//
//===----------------------------------------------------------------------===//

#include "KernelDistribution.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lpfa;

/// An atom's bytes in the order of memory, as one row.
static constexpr int64_t kAtomBytes = TargetModel::scaleAtomBytes;

/// Whether a loaded tile holds scales: it is used as such, not as elements.
static bool holdsScales(LoadOp op) {
  return llvm::any_of(op.getTile().getUses(), [](OpOperand &use) {
    auto dequantize = dyn_cast<DequantizeTileOp>(use.getOwner());
    return isa<PackAtomOp, UnpackAtomOp>(use.getOwner()) ||
           (dequantize && dequantize.getScales() == use.get());
  });
}

void KernelDistribution::layOutElementwiseMemory() {
  auto add = [&](Value tile) {
    auto type = cast<TileType>(tile.getType());
    ScaleTile scales;
    scales.offset = sharedBytes;
    scales.isAtom = type.isAtom();
    scales.rows = type.getRank() == 2 ? type.getShape()[0] : 1;
    scales.columns = type.isAtom() ? kAtomBytes : type.getShape().back();
    sharedBytes = llvm::alignTo(sharedBytes + type.getNumElements(), 16);
    scaleTiles[tile] = scales;
  };
  kernel.walk([&](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op); load && holdsScales(load))
      add(load.getTile());
    else if (auto quantize = dyn_cast<QuantizeTileOp>(op);
             quantize && !quantize.getScales().use_empty())
      add(quantize.getScales());
  });
  // The partial sums of rows, one a thread, stand behind.
  bool hasRows = layout && layout->alongRow && layout->getWarpsAcross() > 1;
  sumsOffset = sharedBytes;
  if (hasRows)
    sharedBytes += layout->getThreads() * sizeof(float);
  for (auto load : kernel.getBody().getOps<LoadOp>()) {
    TileType type = load.getTile().getType();
    if (!layout || type.getShape().empty() ||
        type.getShape().back() != layout->columns)
      continue;
    keptTiles[load.getTile()] = sharedBytes;
    sharedBytes += layout->getThreads() * layout->steps * layout->vector *
                   type.getElementType().getIntOrFloatBitWidth() / 8;
  }
}

LogicalResult KernelDistribution::lower(PackAtomOp op) {
  if (kernel.getStage() != Stage::Tile)
    return packRowScales(op);
  ScaleTile tile = scaleTiles.lookup(op.getScales());
  if (tile.isAtom || tile.isUnpacked)
    return op.emitOpError("must pack scales that were loaded or computed");
  tile.isAtom = true;
  tile.isTransposed = op.getTransposed();
  if (op.getValid())
    tile.valid = b.toI32(values.lookup(op.getValid()));
  scaleTiles[op.getAtom()] = tile;
  return success();
}

LogicalResult KernelDistribution::lower(UnpackAtomOp op) {
  ScaleTile tile = scaleTiles.lookup(op.getAtom());
  if (!tile.isAtom || tile.columns != kAtomBytes)
    return op.emitOpError("must unpack an atom that was loaded");
  tile.isUnpacked = true;
  tile.isTransposed = op.getTransposed();
  tile.rows = tile.isTransposed ? 4 : 128;
  tile.columns = tile.isTransposed ? 128 : 4;
  scaleTiles[op.getScales()] = tile;
  return success();
}

void KernelDistribution::synchronizeScales() {
  if (scalesAreNew)
    BarrierSyncOp::create(b, 0, static_cast<int32_t>(getThreads()));
  scalesAreNew = false;
}

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

/// The bytes that a thread moves at once.
static int64_t getUnit(const ScaleTile &tile) {
  if (tile.isUnpacked && tile.isTransposed)
    return 1;
  return std::min<int64_t>(16, tile.columns & -tile.columns);
}

static VectorType getUnitType(Builder &b, int64_t bytes) {
  int64_t word = std::min<int64_t>(4, bytes);
  return VectorType::get(bytes / word, b.getIntegerType(8 * word));
}

Value KernelDistribution::getScaleAddress(const ScaleTile &tile, Value row,
                                          Value column) {
  Value offset;
  if (tile.isUnpacked) {
    if (tile.isTransposed)
      std::swap(row, column);
    // Byte (r % 32) * 16 + r / 32 * 4 + g of an atom.
    offset = b.add(b.add(b.shiftLeft(b.bitAnd(row, b.i32(31)), 4),
                         b.shiftLeft(b.shiftRight(row, 5), 2)),
                   column);
  } else {
    offset = b.add(b.mul(row, b.i32(tile.columns)), column);
  }
  return b.offset(b.offset(sharedBase, tile.offset), offset);
}

/// Calls `body` with the rows and columns, i32, of the thread's units.
void KernelDistribution::forEachScaleUnit(
    const ScaleTile &tile, int64_t unit,
    function_ref<void(Value, Value)> body) {
  int64_t across = tile.columns / unit, count = tile.rows * across;
  for (int64_t first = 0; first < count; first += getThreads()) {
    Value number = b.add(thread, b.i32(first));
    auto run = [&] {
      body(b.div(number, b.i32(across)),
           b.mul(b.rem(number, b.i32(across)), b.i32(unit)));
    };
    if (first + getThreads() <= count)
      run();
    else
      b.when(b.compare(arith::CmpIPredicate::ult, number, b.i32(count)), run);
  }
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

/// The index `first` and an i32 more.
static Value addIndex(ThreadBuilder &b, Value first, Value number) {
  return b.add(first, b.toIndex(number));
}

/// Whether an i32 is below an index.
static Value isBelow(ThreadBuilder &b, Value number, Value end) {
  return b.compare(arith::CmpIPredicate::slt, number, b.toI32(end));
}

LogicalResult KernelDistribution::loadScales(LoadOp op) {
  ScaleTile tile = scaleTiles.lookup(op.getTile());
  Value view = op.getView();
  int64_t rank = op.getView().getType().getRank();
  SmallVector<Value> first;
  for (Value index : op.getIndices())
    first.push_back(values.lookup(index));
  int64_t unit = getUnit(tile);
  VectorType type = getUnitType(b, unit);
  Value aligned = isAligned(view, unit);
  Value isAtomInside = b.i1(true);
  if (tile.isAtom)
    for (int64_t i = std::max<int64_t>(0, rank - 5); i < rank - 3; ++i)
      isAtomInside =
          b.bitAnd(isAtomInside, b.compare(arith::CmpIPredicate::slt, first[i],
                                           getSize(view, i)));
  forEachScaleUnit(tile, unit, [&](Value row, Value column) {
    SmallVector<Value> indices = first;
    indices[rank - 1] = addIndex(b, first[rank - 1], column);
    Value isRow = isAtomInside, isInside = isAtomInside, columns;
    if (!tile.isAtom) {
      columns = getSize(view, rank - 1);
      if (rank > 1) {
        indices[rank - 2] = addIndex(b, first[rank - 2], row);
        isRow = b.compare(arith::CmpIPredicate::slt, indices[rank - 2],
                          getSize(view, rank - 2));
      }
      if (op.getRows())
        isRow = b.bitAnd(isRow, isBelow(b, row, values.lookup(op.getRows())));
      isInside = b.bitAnd(
          isRow, b.compare(arith::CmpIPredicate::sle,
                           b.add(indices[rank - 1], b.index(unit)), columns));
    }
    Value from = getElementAddress(view, indices);
    Value to = getScaleAddress(tile, row, column);
    auto branch = scf::IfOp::create(b, b.bitAnd(isInside, aligned),
                                    /*withElse=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value whole = LLVM::LoadOp::create(b, type, from, unit);
    LLVM::StoreOp::create(b, whole, to, unit);
    b.setInsertionPointToStart(branch.elseBlock());
    for (int64_t i = 0; i < unit; ++i) {
      Value isByte = isRow;
      if (columns)
        isByte = b.bitAnd(isRow, b.compare(arith::CmpIPredicate::slt,
                                           b.add(indices[rank - 1], b.index(i)),
                                           columns));
      auto byte = scf::IfOp::create(b, b.getI8Type(), isByte, true, true);
      OpBuilder::InsertionGuard byteGuard(b);
      b.setInsertionPointToStart(byte.thenBlock());
      scf::YieldOp::create(
          b, Value(LLVM::LoadOp::create(b, b.getI8Type(), b.offset(from, i))));
      b.setInsertionPointToStart(byte.elseBlock());
      scf::YieldOp::create(
          b, Value(arith::ConstantOp::create(b, b.getI8IntegerAttr(0))));
      b.setInsertionPointAfter(byte);
      LLVM::StoreOp::create(b, byte.getResult(0), b.offset(to, i));
    }
  });
  scalesAreNew = true;
  return success();
}

/// The four scales of a row of a tile that is packed.
Value KernelDistribution::readAtomRow(const ScaleTile &tile, Value row) {
  if (!tile.isTransposed)
    return LLVM::LoadOp::create(b, b.getI32Type(),
                                getScaleAddress(tile, row, b.i32(0)));
  Value word;
  for (int64_t group = 0; group < 4; ++group) {
    Value byte = LLVM::LoadOp::create(b, b.getI8Type(),
                                      getScaleAddress(tile, b.i32(group), row));
    Value wide =
        b.shiftLeft(arith::ExtUIOp::create(b, b.getI32Type(), byte), 8 * group);
    word = word ? b.bitOr(word, wide) : wide;
  }
  return word;
}

LogicalResult KernelDistribution::storeScales(StoreOp op) {
  ScaleTile tile = scaleTiles.lookup(op.getTile());
  synchronizeScales();
  Value view = op.getView();
  ViewType viewType = op.getView().getType();
  int64_t rank = viewType.getRank();
  SmallVector<Value> first;
  for (Value index : op.getIndices())
    first.push_back(values.lookup(index));

  if (op.getTile().getType().isAtom()) {
    if (viewType.getShape().take_back(3) != op.getTile().getType().getShape())
      return op.emitOpError("stores an atom of scales to ")
             << viewType << ", whose last dimensions are no atom";
    // A thread writes 16 bytes: the four scales of four rows, 32 apart.
    Value isWriter = b.compare(arith::CmpIPredicate::ult, thread, b.i32(32));
    b.when(isWriter, [&] {
      SmallVector<Value> words;
      for (int64_t i = 0; i < 4; ++i) {
        Value row = b.add(thread, b.i32(32 * i));
        Value word = readAtomRow(tile, row);
        if (tile.valid)
          word = b.select(b.compare(arith::CmpIPredicate::slt, row, tile.valid),
                          word, b.i32(0));
        words.push_back(word);
      }
      Value unit = vector::FromElementsOp::create(
          b, VectorType::get(4, b.getI32Type()), words);
      Value to =
          b.offset(getElementAddress(view, first), b.shiftLeft(thread, 4));
      LLVM::StoreOp::create(b, unit, to, /*alignment=*/16);
    });
    return success();
  }

  int64_t unit = getUnit(tile);
  VectorType type = getUnitType(b, unit);
  Value aligned = isAligned(view, unit);
  Value columns = getSize(view, rank - 1);
  forEachScaleUnit(tile, unit, [&](Value row, Value column) {
    SmallVector<Value> indices = first;
    indices[rank - 1] = addIndex(b, first[rank - 1], column);
    Value isRow = b.i1(true);
    if (rank > 1) {
      indices[rank - 2] = addIndex(b, first[rank - 2], row);
      isRow = b.compare(arith::CmpIPredicate::slt, indices[rank - 2],
                        getSize(view, rank - 2));
    }
    if (op.getRows())
      isRow = b.bitAnd(isRow, isBelow(b, row, values.lookup(op.getRows())));
    Value isInside = b.bitAnd(
        isRow, b.compare(arith::CmpIPredicate::sle,
                         b.add(indices[rank - 1], b.index(unit)), columns));
    Value from = getScaleAddress(tile, row, column);
    Value to = getElementAddress(view, indices);
    auto branch = scf::IfOp::create(b, b.bitAnd(isInside, aligned),
                                    /*withElse=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value whole = LLVM::LoadOp::create(b, type, from, unit);
    LLVM::StoreOp::create(b, whole, to, unit);
    b.setInsertionPointToStart(branch.elseBlock());
    for (int64_t i = 0; i < unit; ++i) {
      Value isByte = b.bitAnd(
          isRow, b.compare(arith::CmpIPredicate::slt,
                           b.add(indices[rank - 1], b.index(i)), columns));
      b.when(isByte, [&] {
        Value byte = LLVM::LoadOp::create(b, b.getI8Type(), b.offset(from, i));
        LLVM::StoreOp::create(b, byte, b.offset(to, i));
      });
    }
  });
  return success();
}
