//===- Elementwise.cpp - Tiles of kernels without roles -------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles of elements in registers, see `ElementLayout`, and their way from and
// to global memory. Indices have 32 bits, addresses 64: a tensor may have more
// than 2^31 elements, a dimension may not.
//
//===----------------------------------------------------------------------===//

#include "KernelDistribution.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lpfa;

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

/// A thread's pieces, where nothing else decides.
static constexpr int64_t kSteps = 8;

/// The elements that a thread has in a row: as wide as an access, of 32-bit
/// elements in as many accesses as that takes, so that codes fill words.
static int64_t getVectorSize(Type wide, int64_t accessBytes) {
  return std::max<int64_t>(8, accessBytes * 8 / wide.getIntOrFloatBitWidth());
}

/// The most threads of a CTA that has a row: more are shared by a cluster, so
/// that a multiprocessor still has several CTAs.
static constexpr int64_t kMaxRowThreads = 256;

/// The pieces of a row that a thread has with as many of its gradient, and the
/// most columns of such rows: then a multiprocessor has three CTAs, else two.
static constexpr int64_t kGradientSteps = 4;
static constexpr int64_t kGradientColumns = 8192;

/// The layout of whole rows: the fewest threads a row, a power of two of warps,
/// that have it in so many pieces, or else all that have sums. Vectors of 8
/// neighbors, as the order of summation of `lpfa.rms_norm` has them.
static void layOutRows(ElementLayout &layout, int64_t steps) {
  layout.alongRow = true;
  layout.vector = 8;
  layout.lanes = TargetModel::warpThreads;
  for (int64_t threads = TargetModel::warpThreads;
       threads <= SumSquaresTileOp::kPartialSums; threads *= 2) {
    layout.steps = layout.columns / (threads * layout.vector);
    layout.ctas = llvm::divideCeil(threads, kMaxRowThreads);
    if (layout.steps <= steps)
      break;
  }
}

/// The layout of blocks: a warp has 32 rows where they run along columns, else
/// rows as long as may be.
static void layOutBlocks(ElementLayout &layout, bool alongColumns) {
  int64_t lanes =
      std::min<int64_t>(alongColumns ? 8 : 32, layout.columns / layout.vector);
  layout.lanes = llvm::bit_floor(uint64_t(std::max<int64_t>(lanes, 1)));
  int64_t rows = layout.rows * layout.lanes / TargetModel::warpThreads;
  layout.steps =
      alongColumns ? layout.lanes : std::clamp<int64_t>(rows, 1, kSteps);
}

LogicalResult KernelDistribution::chooseElementLayout() {
  bool hasColumnBlocks = false, hasRows = false, hasGradients = false;
  auto add = [&](Operation *op, TileType wide, bool isColumn) -> LogicalResult {
    int64_t columns = wide.getShape().back();
    int64_t rows = wide.getRank() == 2 ? wide.getShape().front() : 1;
    int64_t vector =
        getVectorSize(wide.getElementType(), target.getAccessBytes());
    hasColumnBlocks |= isColumn;
    if (!layout)
      layout = ElementLayout{rows, columns, vector, 1, 1};
    if (layout->rows != rows || layout->columns != columns ||
        (layout->vector != vector && !hasRows))
      return op->emitOpError("differs in shape or width from the other tiles "
                             "of its kernel");
    return success();
  };
  WalkResult result = kernel.walk([&](Operation *op) -> WalkResult {
    if (auto sum = dyn_cast<SumSquaresTileOp>(op)) {
      hasRows = true;
      return add(op, sum.getInput().getType(), false);
    }
    if (auto sum = dyn_cast<SumProductsTileOp>(op)) {
      hasRows = hasGradients = true;
      return add(op, sum.getInput().getType(), false);
    }
    if (auto gradient = dyn_cast<WeightGradientTileOp>(op)) {
      hasRows = hasGradients = true;
      return add(op, gradient.getInput().getType(), false);
    }
    if (auto sum = dyn_cast<SumColumnsTileOp>(op))
      return add(op, sum.getTile().getType(), false);
    if (auto quantize = dyn_cast<QuantizeTileOp>(op)) {
      return add(op, quantize.getInput().getType(),
                 isAlongColumns(quantize) || quantize.getSquare());
    }
    if (auto dequantize = dyn_cast<DequantizeTileOp>(op)) {
      TileType type = dequantize.getOutput().getType();
      return add(op, type, type.getRank() == 2 && dequantize.getAxis() == 0);
    }
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  if (!layout)
    return success();
  if (hasRows && hasColumnBlocks)
    return kernel.emitOpError("cannot have whole rows in registers and blocks "
                              "along columns");
  if (hasRows)
    layOutRows(*layout, hasGradients && layout->columns <= kGradientColumns
                            ? kGradientSteps
                            : kSteps);
  else
    layOutBlocks(*layout, hasColumnBlocks);
  int64_t across = layout->getWarpColumns() * layout->getWarpsAcross() *
                   (layout->alongRow ? layout->steps : 1);
  if (layout->steps == 0 || layout->rows % layout->getWarpRows() ||
      across != layout->columns ||
      layout->getThreads() > TargetModel::maxThreadsPerCTA)
    return kernel.emitOpError("cannot give warps tiles of ")
           << layout->rows << "x" << layout->columns << " elements";
  return success();
}

/// Registers for the thread's elements in the widest type of the kernel, as
/// many for all else, and some for a row that belongs to all rows, for scales
/// of columns, for codes that no instruction makes or packs, for NVFP4's
/// divisions and for each further result; or for the gradient of a
/// normalization, and more where a cluster dequantizes it or, where arithmetic
/// takes pairs of registers, it is long or has a weight of f32. More threads
/// would not load more at a time.
int64_t KernelDistribution::getMinCTAs() {
  int64_t bits = 16, codes = 0, wide = 0, rowRegisters = 0,
          gradientRegisters = 0;
  bool packs = false, divides = false, hasColumns = false;
  auto isElements = [&](TileType tile) {
    return !tile.getShape().empty() &&
           tile.getShape().back() == layout->columns &&
           (layout->alongRow || layout->rows == 1 || tile.getRank() == 2);
  };
  kernel.walk([&](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op)) {
      if (keptTiles.contains(load))
        return;
      TileType tile = load.getTile().getType();
      if (layout->alongRow && tile.getRank() == 1 && isElements(tile))
        rowRegisters =
            layout->steps * layout->vector * tile.getElementTypeBitWidth() / 32;
    }
    if (isa<RMSNormTileOp>(op) && !layout->alongRow)
      rowRegisters = layout->steps + layout->vector;
    if (auto quantize = dyn_cast<QuantizeTileOp>(op)) {
      divides |= quantize.getGlobalScale() != nullptr;
      hasColumns |= isAlongColumns(quantize) && !quantize.getSquare();
    }
    if (auto store = dyn_cast<StoreOp>(op);
        store && isElements(store.getTile().getType()) &&
        !scaleTiles.contains(store.getTile()))
      ++(store.getTile().getType().getElementTypeBitWidth() > 8 ? wide : codes);
    if (auto gradient = dyn_cast<RMSNormBackwardTileOp>(op)) {
      int64_t elements = layout->steps * layout->vector;
      auto getRegisters = [&](Value tile) {
        return elements *
               cast<TileType>(tile.getType()).getElementTypeBitWidth() / 32;
      };
      gradientRegisters = getRegisters(gradient.getDy());
      bool needsMore = target.hasNarrowFloatConversions() &&
                       (layout->steps > kGradientSteps ||
                        getRegisters(gradient.getWeight()) == elements);
      if (needsMore || (layout->ctas > 1 &&
                        gradient.getDy().getDefiningOp<DequantizeTileOp>()))
        gradientRegisters += elements;
    }
    for (Value result : op->getResults())
      if (auto tile = dyn_cast<TileType>(result.getType());
          tile && isElements(tile) && !keptTiles.contains(result)) {
        int64_t width = tile.getElementTypeBitWidth();
        bits = std::max(bits, width);
        packs |=
            width == 6 || (width < 8 && !target.hasNarrowFloatConversions());
      }
  });
  int64_t registers = 2 * layout->steps * layout->vector * bits / 32;
  registers = std::max<int64_t>(registers, 64) + rowRegisters;
  int64_t further = codes > 0 ? 2 * (codes - 1 + wide) : wide;
  registers += gradientRegisters > 0
                   ? gradientRegisters
                   : (hasColumns ? 16 : 0) + (packs ? 32 : 0) +
                         (divides ? 32 : 0) + 16 * further;
  return std::clamp<int64_t>(TargetModel::registersPerMultiprocessor /
                                 (registers * layout->getThreads()),
                             1, 16);
}

void KernelDistribution::buildClusterPrologue() {
  ctaInCluster = b.toI32(gpu::ClusterBlockIdOp::create(b, gpu::Dimension::x));
  sumsParity = LLVM::AllocaOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext()), b.getI32Type(), b.i32(1));
  LLVM::StoreOp::create(b, b.i32(0), sumsParity);
  // Shared memory of a CTA is written by others once it has begun.
  ClusterSyncOp::create(b);
}

void KernelDistribution::buildElementCoordinates() {
  if (!layout)
    return;
  if (layout->ctas > 1)
    buildClusterPrologue();
  Value warpInTile = warp;
  if (ctaInCluster)
    warpInTile = b.add(warp, b.mul(ctaInCluster, b.i32(layout->getWarps())));
  Value lane = b.bitAnd(thread, b.i32(31));
  laneColumn = b.rem(lane, b.i32(layout->lanes));
  laneRow = b.div(lane, b.i32(layout->lanes));
  Value warpsAcross = b.i32(layout->getWarpsAcross());
  warpRow = b.div(warpInTile, warpsAcross);
  threadRow = b.add(b.mul(warpRow, b.i32(layout->getWarpRows())), laneRow);
  Value warpColumn = b.rem(warpInTile, warpsAcross);
  threadColumn = b.add(b.mul(warpColumn, b.i32(layout->getWarpColumns())),
                       b.mul(laneColumn, b.i32(layout->vector)));
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Value lpfa::widen(ThreadBuilder &b, Value vector) {
  auto type = cast<VectorType>(vector.getType());
  if (type.getElementType().isF32())
    return vector;
  auto wideType = VectorType::get(type.getShape(), b.getF32Type());
  if (!type.getElementType().isBF16())
    return arith::ExtFOp::create(b, wideType, vector);
  int64_t count = type.getNumElements() / 2;
  Value words = vector::BitCastOp::create(
      b, VectorType::get(count, b.getI32Type()), vector);
  SmallVector<Value> elements;
  for (int64_t i = 0; i < count; ++i) {
    Value word = vector::ExtractOp::create(b, words, i);
    elements.push_back(b.toFloat(b.shiftLeft(word, 16)));
    elements.push_back(b.toFloat(b.bitAnd(word, b.i32(0xffff0000))));
  }
  return vector::FromElementsOp::create(b, wideType, elements);
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

VectorType KernelDistribution::getPieceType(Type element) {
  int64_t bytes = layout->vector * element.getIntOrFloatBitWidth() / 8;
  int64_t word = std::min<int64_t>(4, bytes & -bytes);
  return VectorType::get(bytes / word, b.getIntegerType(8 * word));
}

Value KernelDistribution::getElementAddress(Value view, ValueRange indices) {
  int64_t bits =
      cast<ViewType>(view.getType()).getElementType().getIntOrFloatBitWidth();
  if (indices.empty())
    return getPointer(view);
  Value position = b.toI64(indices.back());
  for (auto [dimension, index] : llvm::enumerate(indices.drop_back()))
    position =
        b.add(position, b.mul(b.toI64(index), getStride(view, dimension)));
  Value size = arith::ConstantIntOp::create(b, bits, 64);
  Value bytes = arith::ShRSIOp::create(b, b.mul(position, size),
                                       arith::ConstantIntOp::create(b, 3, 64));
  return b.offset(getPointer(view), bytes);
}

Value KernelDistribution::isAligned(Value view, int64_t bytes) {
  auto type = cast<ViewType>(view.getType());
  int64_t bits = type.getElementType().getIntOrFloatBitWidth();
  if (bytes == 1 && bits >= 8)
    return b.i1(true);
  auto i64 = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, value, 64);
  };
  Value pointer = LLVM::PtrToIntOp::create(b, b.getI64Type(), getPointer(view));
  Value all = b.mul(pointer, i64(8));
  for (int64_t i = 0; i + 1 < type.getRank(); ++i)
    all = b.bitOr(all, b.mul(getStride(view, i), i64(bits)));
  return b.compare(arith::CmpIPredicate::eq, b.bitAnd(all, i64(8 * bytes - 1)),
                   i64(0));
}

namespace {
/// Elements that begin and end with a byte, and the words that hold them: f4 in
/// pairs, f6 in fours.
struct ByteUnit {
  explicit ByteUnit(Type element) {
    int64_t bits = element.getIntOrFloatBitWidth();
    elements = bits == 4 ? 2 : bits == 6 ? 4 : 1;
    words = bits == 6 ? 3 : 1;
    wordBytes = elements * bits / 8 / words;
  }
  int64_t elements, words, wordBytes;
};
} // namespace

PieceAccess KernelDistribution::getPieceAccess(Value view,
                                               ValueRange tileIndices) {
  auto viewType = cast<ViewType>(view.getType());
  Type element = viewType.getElementType();
  int64_t rank = viewType.getRank();
  int64_t bits = element.getIntOrFloatBitWidth();
  PieceAccess access;
  access.type = getPieceType(element);
  int64_t bytes = layout->vector * bits / 8;
  access.alignment = std::min(target.getAccessBytes(), bytes & -bytes);

  SmallVector<Value> indices;
  for (Value index : tileIndices)
    indices.push_back(values.lookup(index));
  Value tileColumn = indices[rank - 1];
  access.columns = getSize(view, rank - 1);
  access.column = b.add(tileColumn, b.toIndex(threadColumn));
  Value isInside =
      b.compare(arith::CmpIPredicate::sle,
                b.add(tileColumn, b.index(layout->columns)), access.columns);
  indices[rank - 1] = access.column;
  access.step = arith::ConstantIntOp::create(
      b, layout->getColumnsPerStep() * bits / 8, 64);
  access.row = b.index(0);
  access.rows = b.index(1);
  if (rank > 1) {
    Value tileRow = indices[rank - 2];
    access.rows = getSize(view, rank - 2);
    access.row = b.add(tileRow, b.toIndex(threadRow));
    isInside =
        b.bitAnd(isInside,
                 b.compare(arith::CmpIPredicate::sle,
                           b.add(tileRow, b.index(layout->rows)), access.rows));
    indices[rank - 2] = access.row;
  }
  if (rank > 1 && !layout->alongRow) {
    // Rows begin with a byte, or the access is not aligned.
    access.step = arith::ShRSIOp::create(
        b,
        b.mul(getStride(view, rank - 2),
              arith::ConstantIntOp::create(b, layout->getRowsPerStep() * bits,
                                           64)),
        arith::ConstantIntOp::create(b, 3, 64));
  }
  access.first = getElementAddress(view, indices);
  Value aligned = isAligned(view, access.alignment);
  access.isWhole = b.bitAnd(isInside, aligned);
  access.isAligned = aligned;
  return access;
}

static Value getPieceAddress(ThreadBuilder &b, const PieceAccess &access,
                             int64_t i) {
  if (i == 0)
    return access.first;
  Value step = arith::ConstantIntOp::create(b, i, 64);
  return b.offset(access.first, b.mul(access.step, step));
}

/// The column where piece `i` begins, and some further.
static Value getColumn(ThreadBuilder &b, const PieceAccess &access,
                       const ElementLayout &layout, int64_t i, int64_t more) {
  return b.add(access.column, b.index(i * layout.getColumnsPerStep() + more));
}

/// Whether piece `i` can be accessed whole.
static Value isPieceWhole(ThreadBuilder &b, const PieceAccess &access,
                          const ElementLayout &layout, Value isRow, int64_t i) {
  Value end = getColumn(b, access, layout, i, layout.vector);
  return b.bitAnd(b.bitAnd(isRow, access.isAligned),
                  b.compare(arith::CmpIPredicate::sle, end, access.columns));
}

/// Whether piece `i` is in a row of the view.
static Value isRowInside(ThreadBuilder &b, const PieceAccess &access,
                         const ElementLayout &layout, int64_t i) {
  Value row = b.add(access.row, b.index(i * layout.getRowsPerStep()));
  return b.compare(arith::CmpIPredicate::slt, row, access.rows);
}

/// Whether the elements of piece `i`, in a row of the view, from `first` on are
/// in its columns too.
static Value isUnitInside(ThreadBuilder &b, const PieceAccess &access,
                          const ElementLayout &layout, Value isRow, int64_t i,
                          int64_t first) {
  Value column = getColumn(b, access, layout, i, first);
  return b.bitAnd(isRow,
                  b.compare(arith::CmpIPredicate::slt, column, access.columns));
}

//===----------------------------------------------------------------------===//
// Two versions of a work tile's program
//===----------------------------------------------------------------------===//

/// Lowers what ops of a work tile compute with indices.
LogicalResult KernelDistribution::lowerIndices(Block &body) {
  for (Operation &op : body)
    if (!isa<LPFADialect>(op.getDialect()) && op.getNumRegions() == 0 &&
        !op.hasTrait<OpTrait::IsTerminator>() && failed(lower(&op)))
      return failure();
  return success();
}

Value KernelDistribution::areTilesWhole(Block &body) {
  Value whole = b.i1(true);
  auto add = [&](Value tile, Value view, ValueRange indices) {
    auto type = cast<TileType>(tile.getType());
    if (!scaleTiles.contains(tile) && !type.isAtom() &&
        !type.getShape().empty() && type.getShape().back() == layout->columns)
      whole = b.bitAnd(whole, getPieceAccess(view, indices).isWhole);
  };
  for (Operation &op : body) {
    if (auto load = dyn_cast<LoadOp>(op); load && !holdsRowFactors(load))
      add(load.getTile(), load.getView(), load.getIndices());
    else if (auto store = dyn_cast<StoreOp>(op))
      add(store.getTile(), store.getView(), store.getIndices());
  }
  return whole;
}

//===----------------------------------------------------------------------===//
// Loads and stores of elements
//===----------------------------------------------------------------------===//

/// A piece at an edge, or of rows that are not aligned: whole or by elements,
/// 0 where it is outside.
static Value loadAtEdge(ThreadBuilder &b, const PieceAccess &access,
                        const ElementLayout &layout, int64_t i, ByteUnit unit) {
  Value address = getPieceAddress(b, access, i);
  Value isRow = isRowInside(b, access, layout, i);
  auto whole = scf::IfOp::create(
      b, access.type, isPieceWhole(b, access, layout, isRow, i), true, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(whole.thenBlock());
  scf::YieldOp::create(b, Value(LLVM::LoadOp::create(b, access.type, address,
                                                     access.alignment)));
  b.setInsertionPointToStart(whole.elseBlock());
  Type word = b.getIntegerType(8 * unit.wordBytes);
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(word));
  SmallVector<Value> words;
  int64_t units = layout.vector / unit.elements;
  for (int64_t u = 0; u < units; ++u) {
    Value isInside =
        isUnitInside(b, access, layout, isRow, i, u * unit.elements);
    auto branch = scf::IfOp::create(b, SmallVector<Type>(unit.words, word),
                                    isInside, true, true);
    OpBuilder::InsertionGuard unitGuard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    SmallVector<Value> loaded;
    for (int64_t k = 0; k < unit.words; ++k)
      loaded.push_back(LLVM::LoadOp::create(
          b, word, b.offset(address, (u * unit.words + k) * unit.wordBytes),
          unit.wordBytes));
    scf::YieldOp::create(b, loaded);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, SmallVector<Value>(unit.words, zero));
    llvm::append_range(words, branch.getResults());
  }
  Value vector = vector::FromElementsOp::create(
      b, VectorType::get(words.size(), word), words);
  scf::YieldOp::create(
      b, Value(vector::BitCastOp::create(b, access.type, vector)));
  return whole.getResult(0);
}

LogicalResult KernelDistribution::lower(LoadOp op) {
  if (scaleTiles.contains(op.getTile()))
    return loadScales(op);
  if (holdsRowFactors(op))
    return loadRowFactors(op);
  TileType tile = op.getTile().getType();
  if (op.getRows())
    return op.emitOpError("can leave out rows of scales only");
  if (!tile.getShape().empty())
    return loadElements(op);
  SmallVector<Value> indices;
  for (Value index : op.getIndices())
    indices.push_back(values.lookup(index));
  values.map(op.getTile(), Value(LLVM::LoadOp::create(
                               b, tile.getElementType(),
                               getElementAddress(op.getView(), indices))));
  return success();
}

LogicalResult KernelDistribution::loadElements(LoadOp op) {
  TileType tile = op.getTile().getType();
  // A row for all rows is one too.
  if (!layout || tile.getShape().back() != layout->columns ||
      (tile.getRank() == 2 && tile.getShape().front() != layout->rows))
    return op.emitOpError("cannot load ") << tile << " to registers";
  Type element = tile.getElementType();
  ByteUnit unit(element);
  PieceAccess access = getPieceAccess(op.getView(), op.getIndices());
  // Of a row for all rows a thread has one piece, unless its pieces are of one
  // row.
  int64_t count = tile.getRank() == 1 && !layout->alongRow ? 1 : layout->steps;
  SmallVector<Value> loaded;
  for (int64_t i = 0; i < count; ++i)
    loaded.push_back(tilesAreWhole
                         ? Value(LLVM::LoadOp::create(
                               b, access.type, getPieceAddress(b, access, i),
                               access.alignment))
                         : loadAtEdge(b, access, *layout, i, unit));
  if (element.getIntOrFloatBitWidth() > 8)
    for (Value &piece : loaded)
      piece = vector::BitCastOp::create(
          b, VectorType::get(layout->vector, element), piece);
  // What all work tiles use is kept in shared memory, each thread's for itself.
  if (keptTiles.contains(op.getTile()))
    for (auto [i, piece] : llvm::enumerate(loaded))
      keepPiece(op.getTile(), i, piece);
  else
    pieces[op.getTile()] = std::move(loaded);
  return success();
}

static void storeAtEdge(ThreadBuilder &b, const PieceAccess &access,
                        const ElementLayout &layout, Value piece, int64_t i,
                        ByteUnit unit) {
  Value address = getPieceAddress(b, access, i);
  Value isRow = isRowInside(b, access, layout, i);
  auto whole = scf::IfOp::create(b, isPieceWhole(b, access, layout, isRow, i),
                                 /*withElse=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(whole.thenBlock());
  LLVM::StoreOp::create(b, piece, address, access.alignment);
  b.setInsertionPointToStart(whole.elseBlock());
  int64_t units = layout.vector / unit.elements;
  auto type =
      VectorType::get(units * unit.words, b.getIntegerType(8 * unit.wordBytes));
  Value words = vector::BitCastOp::create(b, type, piece);
  for (int64_t u = 0; u < units; ++u)
    b.when(isUnitInside(b, access, layout, isRow, i, u * unit.elements), [&] {
      for (int64_t k = 0; k < unit.words; ++k) {
        int64_t word = u * unit.words + k;
        LLVM::StoreOp::create(b, vector::ExtractOp::create(b, words, word),
                              b.offset(address, word * unit.wordBytes),
                              unit.wordBytes);
      }
    });
}

LogicalResult KernelDistribution::storeElements(StoreOp op) {
  SmallVector<Value> stored = getPieces(op.getTile());
  Type element = op.getTile().getType().getElementType();
  ByteUnit unit(element);
  for (Value &piece : stored)
    if (piece.getType() != getPieceType(element))
      piece = vector::BitCastOp::create(b, getPieceType(element), piece);
  PieceAccess access = getPieceAccess(op.getView(), op.getIndices());
  for (int64_t i = 0; i < layout->steps; ++i) {
    if (tilesAreWhole)
      LLVM::StoreOp::create(b, stored[i], getPieceAddress(b, access, i),
                            access.alignment);
    else
      storeAtEdge(b, access, *layout, stored[i], i, unit);
  }
  return success();
}

void KernelDistribution::clearOutside(MutableArrayRef<Value> tile,
                                      LoadOp load) {
  PieceAccess access = getPieceAccess(load.getView(), load.getIndices());
  auto type = cast<VectorType>(tile.front().getType());
  int64_t bits = type.getElementTypeBitWidth(), perWord = 32 / bits;
  SmallVector<Value> words;
  for (int64_t k = 0; k < layout->vector; ++k) {
    Value isInside =
        isUnitInside(b, access, *layout, /*isRow=*/b.i1(true), 0, k);
    uint64_t mask = ~uint64_t(0) >> (64 - bits);
    Value element =
        b.select(isInside, b.i32(mask << (k % perWord * bits)), b.i32(0));
    if (k % perWord == 0)
      words.push_back(element);
    else
      words.back() = b.bitOr(words.back(), element);
  }
  auto wordsType = VectorType::get(words.size(), b.getI32Type());
  Value columnMask = vector::FromElementsOp::create(b, wordsType, words);
  for (auto [i, piece] : llvm::enumerate(tile)) {
    Value rowMask =
        b.select(isRowInside(b, access, *layout, i), b.i32(-1), b.i32(0));
    Value mask = b.bitAnd(columnMask,
                          vector::BroadcastOp::create(b, wordsType, rowMask));
    piece = vector::BitCastOp::create(
        b, type,
        b.bitAnd(vector::BitCastOp::create(b, wordsType, piece), mask));
  }
}
