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

/// Columns whose scales an atom of 1x32 or 32x32 blocks has; those of a
/// transposed one.
static constexpr int64_t kAtomColumns = 128;

/// The most atoms of a tile that is packed or unpacked.
static constexpr int64_t kMaxAtoms = 16;

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
    scales.rows = type.getRank() == 2 ? type.getShape()[0] : type.getAtoms();
    scales.columns = type.isAtom() ? kAtomBytes : type.getShape().back();
    scales.pitch = scales.columns;
    // A warp reads a word of each of 32 rows that are packed: not all of them
    // in two banks.
    if (scales.columns == 4 * kMaxAtoms)
      scales.pitch += 16;
    sharedBytes = llvm::alignTo(sharedBytes + scales.rows * scales.pitch, 16);
    scaleTiles[tile] = scales;
  };
  kernel.walk([&](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op); load && holdsScales(load))
      add(load.getTile());
    else if (auto quantize = dyn_cast<QuantizeTileOp>(op);
             quantize && !quantize.getScales().use_empty())
      add(quantize.getScales());
  });
  // The partial sums of rows, one a thread, stand behind; of clusters those of
  // two rows.
  sumsOffset = sharedBytes;
  if (layout && layout->alongRow && layout->getWarpsAcross() > 1)
    sharedBytes += layout->getThreads() * sizeof(float) *
                   (layout->ctas > 1 ? 2 * layout->ctas : 1);
  else if (layout && !layout->alongRow && layout->addsRows &&
           !layout->hasWarpRows())
    sharedBytes = llvm::alignTo(sharedBytes + getBlockSumsBytes(), 16);
  kernel.walk([&](SumColumnsTileOp) {
    sharedBytes += layout->getWarps() * layout->columns * sizeof(float);
  });
  kernel.walk([&](LoadOp load) {
    if (!load.getAhead())
      return;
    tilesAhead[load.getTile()] = sharedBytes;
    sharedBytes += layout->getThreads() * layout->steps * layout->vector *
                   load.getTile().getType().getElementTypeBitWidth() / 8;
  });
  if (layout)
    layOutKeptTiles();
}

LogicalResult KernelDistribution::lower(PackAtomOp op) {
  if (kernel.getStage() != Stage::Tile)
    return packRowScales(op);
  ScaleTile tile = scaleTiles.lookup(op.getScales());
  if (tile.isAtom || tile.isUnpacked)
    return op.emitOpError("must pack scales that were loaded or computed");
  tile.isAtom = true;
  tile.isTransposed = op.getTransposed();
  TileType atom = op.getAtom().getType();
  tile.atoms = atom.getRank() > 3 ? atom.getShape().front() : 1;
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
  tile.atoms = tile.rows;
  tile.rows = tile.isTransposed ? 4 * tile.atoms : 128;
  tile.columns = tile.isTransposed ? 128 : 4 * tile.atoms;
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
                   b.bitAnd(column, b.i32(3)));
    offset = b.add(offset, b.mul(b.shiftRight(column, 2), b.i32(kAtomBytes)));
  } else {
    offset = b.add(b.mul(row, b.i32(tile.pitch)), column);
  }
  return b.offset(b.offset(sharedBase, tile.offset), offset);
}

/// Calls `body` with the rows and columns, i32, of the thread's units.
void KernelDistribution::forEachScaleUnit(
    const ScaleTile &tile, int64_t unit,
    function_ref<void(Value, Value)> body) {
  int64_t across = tile.columns / unit, count = tile.rows * across;
  // A CTA of a cluster has a run of units of each piece of the row, or of each
  // turn.
  int64_t run = across;
  if (ctaInCluster) {
    count /= layout->ctas;
    run = layout->alongRow ? count / layout->steps
                           : across / (layout->columns / kAtomColumns);
  }
  for (int64_t first = 0; first < count; first += getThreads()) {
    Value number = b.add(thread, b.i32(first));
    auto move = [&] {
      Value unitInTile = number;
      if (ctaInCluster)
        unitInTile = b.add(
            b.add(b.mul(b.div(number, b.i32(run)), b.i32(run * layout->ctas)),
                  b.mul(ctaInCluster, b.i32(run))),
            b.rem(number, b.i32(run)));
      body(b.div(unitInTile, b.i32(across)),
           b.mul(b.rem(unitInTile, b.i32(across)), b.i32(unit)));
    };
    if (first + getThreads() <= count)
      move();
    else
      b.when(b.compare(arith::CmpIPredicate::ult, number, b.i32(count)), move);
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

/// Moves the bytes from `offset` on of a unit in a row: whole if they are
/// inside and aligned, else by words, then by bytes. `skip` sees bytes outside.
static void moveUnit(ThreadBuilder &b, const UnitPlace &place, int64_t offset,
                     int64_t bytes,
                     function_ref<void(int64_t offset, int64_t bytes)> move,
                     function_ref<void(int64_t offset)> skip) {
  Value isInside = place.isRow;
  if (place.columns)
    isInside = b.bitAnd(isInside,
                        b.compare(arith::CmpIPredicate::sle,
                                  b.add(place.column, b.index(offset + bytes)),
                                  place.columns));
  if (bytes > 1)
    isInside = b.bitAnd(isInside, bytes > 4 ? place.isAligned : place.areWords);
  auto branch = scf::IfOp::create(b, isInside, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  move(offset, bytes);
  b.setInsertionPointToStart(branch.elseBlock());
  if (bytes == 1)
    return skip(offset);
  int64_t part = bytes > 4 ? 4 : 1;
  for (int64_t i = 0; i < bytes; i += part)
    moveUnit(b, place, offset + i, part, move, skip);
}

UnitPlace KernelDistribution::getUnitPlace(Value view, int64_t unit) {
  UnitPlace place;
  place.isAligned = isAligned(view, unit);
  place.areWords = unit > 4 ? isAligned(view, 4) : place.isAligned;
  return place;
}

LogicalResult KernelDistribution::loadScales(LoadOp op) {
  ScaleTile tile = scaleTiles.lookup(op.getTile());
  Value view = op.getView();
  int64_t rank = op.getView().getType().getRank();
  SmallVector<Value> first;
  for (Value index : op.getIndices())
    first.push_back(values.lookup(index));
  int64_t unit = getUnit(tile);
  UnitPlace place = getUnitPlace(view, unit);
  auto isIndexInside = [&](ArrayRef<Value> indices, int64_t dimension) {
    return b.compare(arith::CmpIPredicate::slt, indices[dimension],
                     getSize(view, dimension));
  };
  forEachScaleUnit(tile, unit, [&](Value row, Value column) {
    SmallVector<Value> indices = first;
    indices[rank - 1] = addIndex(b, first[rank - 1], column);
    place.isRow = b.i1(true);
    if (tile.isAtom) {
      if (rank > 3)
        indices[rank - 4] = addIndex(b, first[rank - 4], row);
      for (int64_t i = std::max<int64_t>(0, rank - 5); i < rank - 3; ++i)
        place.isRow = b.bitAnd(place.isRow, isIndexInside(indices, i));
    } else {
      place.column = indices[rank - 1];
      place.columns = getSize(view, rank - 1);
      if (rank > 1) {
        indices[rank - 2] = addIndex(b, first[rank - 2], row);
        place.isRow = isIndexInside(indices, rank - 2);
      }
      if (op.getRows())
        place.isRow =
            b.bitAnd(place.isRow, isBelow(b, row, values.lookup(op.getRows())));
    }
    Value from = getElementAddress(view, indices);
    Value to = getScaleAddress(tile, row, column);
    moveUnit(
        b, place, 0, unit,
        [&](int64_t offset, int64_t bytes) {
          Value loaded = LLVM::LoadOp::create(b, getUnitType(b, bytes),
                                              b.offset(from, offset), bytes);
          LLVM::StoreOp::create(b, loaded, b.offset(to, offset), bytes);
        },
        [&](int64_t offset) {
          Value zero = arith::ConstantOp::create(b, b.getI8IntegerAttr(0));
          LLVM::StoreOp::create(b, zero, b.offset(to, offset));
        });
  });
  scalesAreNew = true;
  return success();
}

/// The four scales of a row of an atom that is packed.
Value KernelDistribution::readAtomRow(const ScaleTile &tile, Value atom,
                                      Value row) {
  Value group = b.shiftLeft(atom, 2);
  if (!tile.isTransposed)
    return LLVM::LoadOp::create(b, b.getI32Type(),
                                getScaleAddress(tile, row, group));
  Value word;
  for (int64_t i = 0; i < 4; ++i) {
    Value byte = LLVM::LoadOp::create(
        b, b.getI8Type(), getScaleAddress(tile, b.add(group, b.i32(i)), row));
    Value wide =
        b.shiftLeft(arith::ExtUIOp::create(b, b.getI32Type(), byte), 8 * i);
    word = word ? b.bitOr(word, wide) : wide;
  }
  return word;
}

/// Neighbors in a row of a tile; of unpacked atoms they lie apart.
Value KernelDistribution::readScales(const ScaleTile &tile, Value row,
                                     Value column, int64_t bytes) {
  VectorType type = getUnitType(b, bytes);
  int64_t run = !tile.isUnpacked ? bytes : tile.isTransposed ? 1 : 4;
  if (bytes <= run)
    return LLVM::LoadOp::create(b, type, getScaleAddress(tile, row, column),
                                bytes);
  VectorType runType = getUnitType(b, run);
  SmallVector<Value> runs;
  for (int64_t i = 0; i < bytes; i += run) {
    Value loaded = LLVM::LoadOp::create(
        b, runType, getScaleAddress(tile, row, b.add(column, b.i32(i))), run);
    runs.push_back(vector::ExtractOp::create(b, loaded, 0));
  }
  Value vector = vector::FromElementsOp::create(
      b, VectorType::get(runs.size(), runType.getElementType()), runs);
  return vector::BitCastOp::create(b, type, vector);
}

/// A thread writes 16 bytes: the four scales of four rows, 32 apart.
LogicalResult KernelDistribution::storeAtoms(StoreOp op, const ScaleTile &tile,
                                             ArrayRef<Value> first) {
  Value view = op.getView();
  ViewType viewType = op.getView().getType();
  int64_t rank = viewType.getRank();
  ArrayRef<int64_t> shape = op.getTile().getType().getShape();
  if (viewType.getShape().take_back(3) != shape.take_back(3))
    return op.emitOpError("stores an atom of scales to ")
           << viewType << ", whose last dimensions are no atom";
  const int64_t rows = 32, count = rows * tile.atoms;
  Value to = getElementAddress(view, first);
  for (int64_t done = 0; done < count; done += getThreads()) {
    Value number = b.add(thread, b.i32(done));
    Value atom = b.div(number, b.i32(rows));
    Value isWriter = b.compare(arith::CmpIPredicate::ult, number, b.i32(count));
    if (tile.atoms > 1)
      isWriter =
          b.bitAnd(isWriter, b.compare(arith::CmpIPredicate::slt,
                                       addIndex(b, first[rank - 4], atom),
                                       getSize(view, rank - 4)));
    b.when(isWriter, [&] {
      SmallVector<Value> words;
      for (int64_t i = 0; i < 4; ++i) {
        Value row = b.add(b.rem(number, b.i32(rows)), b.i32(rows * i));
        Value word = readAtomRow(tile, atom, row);
        if (tile.valid)
          word = b.select(b.compare(arith::CmpIPredicate::slt, row, tile.valid),
                          word, b.i32(0));
        words.push_back(word);
      }
      Value unit = vector::FromElementsOp::create(
          b, VectorType::get(4, b.getI32Type()), words);
      LLVM::StoreOp::create(b, unit, b.offset(to, b.shiftLeft(number, 4)),
                            /*alignment=*/16);
    });
  }
  return success();
}

/// A thread writes what one row of an atom has of some runs of 32 rows, or,
/// transposed, what a row has of some groups.
void KernelDistribution::storePartsOfAtoms(StoreOp op, const ScaleTile &tile,
                                           ArrayRef<Value> first) {
  Value view = op.getView();
  bool transposed = tile.isTransposed;
  int64_t parts = op.getTile().getType().getShape()[transposed ? 4 : 2];
  int64_t rank = op.getView().getType().getRank();
  int64_t along = transposed ? rank - 5 : rank - 4;
  int64_t perAtom = transposed ? kAtomColumns : 32;
  int64_t ctas = ctaInCluster ? layout->ctas : 1;
  int64_t count = tile.atoms / ctas * perAtom;
  auto load = [&](Type type, Value row, Value column) -> Value {
    return LLVM::LoadOp::create(b, type, getScaleAddress(tile, row, column));
  };
  auto keepValid = [&](Value row, Value scales) -> Value {
    if (!tile.valid)
      return scales;
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(scales.getType()));
    return b.select(b.compare(arith::CmpIPredicate::slt, row, tile.valid),
                    scales, zero);
  };
  for (int64_t done = 0; done < count; done += getThreads()) {
    Value number = b.add(thread, b.i32(done));
    Value atom = b.div(number, b.i32(perAtom));
    Value unit = b.rem(number, b.i32(perAtom));
    if (ctaInCluster)
      atom = b.add(b.mul(atom, b.i32(ctas)), ctaInCluster);
    SmallVector<Value> indices(first);
    indices[along] = b.add(first[along], b.toIndex(atom));
    Value isWriter = b.compare(arith::CmpIPredicate::slt, indices[along],
                               getSize(view, along));
    if (done + getThreads() > count)
      isWriter = b.bitAnd(
          isWriter, b.compare(arith::CmpIPredicate::ult, number, b.i32(count)));
    b.when(isWriter, [&] {
      Value address = getElementAddress(view, indices);
      SmallVector<Value> scales;
      if (!transposed) {
        for (int64_t i = 0; i < parts; ++i) {
          Value row = b.add(unit, b.i32(32 * i));
          scales.push_back(
              keepValid(row, load(b.getI32Type(), row, b.shiftLeft(atom, 2))));
        }
        address = b.offset(address, b.shiftLeft(unit, 4));
      } else {
        Value row = b.add(b.mul(atom, b.i32(kAtomColumns)), unit);
        for (int64_t i = 0; i < parts; ++i)
          scales.push_back(keepValid(row, load(b.getI8Type(), b.i32(i), row)));
        address =
            b.offset(address, b.add(b.shiftLeft(b.bitAnd(unit, b.i32(31)), 4),
                                    b.shiftLeft(b.shiftRight(unit, 5), 2)));
      }
      auto type = VectorType::get(parts, scales.front().getType());
      LLVM::StoreOp::create(b, vector::FromElementsOp::create(b, type, scales),
                            address,
                            /*alignment=*/parts * (transposed ? 1 : 4));
    });
  }
}

LogicalResult KernelDistribution::storeScales(StoreOp op) {
  ScaleTile tile = scaleTiles.lookup(op.getTile());
  synchronizeScales();
  Value view = op.getView();
  int64_t rank = op.getView().getType().getRank();
  SmallVector<Value> first;
  for (Value index : op.getIndices())
    first.push_back(values.lookup(index));
  if (op.getTile().getType().isAtom())
    return storeAtoms(op, tile, first);
  if (tile.isAtom && !tile.isUnpacked) {
    storePartsOfAtoms(op, tile, first);
    return success();
  }

  int64_t unit = getUnit(tile);
  if (ctaInCluster && !layout->alongRow)
    unit = std::min(unit, tile.columns * kAtomColumns / layout->columns);
  UnitPlace place = getUnitPlace(view, unit);
  place.columns = getSize(view, rank - 1);
  forEachScaleUnit(tile, unit, [&](Value row, Value column) {
    SmallVector<Value> indices = first;
    place.column = indices[rank - 1] = addIndex(b, first[rank - 1], column);
    place.isRow = b.i1(true);
    if (rank > 1) {
      indices[rank - 2] = addIndex(b, first[rank - 2], row);
      place.isRow = b.compare(arith::CmpIPredicate::slt, indices[rank - 2],
                              getSize(view, rank - 2));
    }
    if (op.getRows())
      place.isRow =
          b.bitAnd(place.isRow, isBelow(b, row, values.lookup(op.getRows())));
    Value to = getElementAddress(view, indices);
    moveUnit(
        b, place, 0, unit,
        [&](int64_t offset, int64_t bytes) {
          Value read =
              readScales(tile, row, b.add(column, b.i32(offset)), bytes);
          LLVM::StoreOp::create(b, read, b.offset(to, offset), bytes);
        },
        [](int64_t) {});
  });
  return success();
}
