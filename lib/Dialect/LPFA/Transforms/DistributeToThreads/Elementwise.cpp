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
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lpfa;

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Value lpfa::widenPairs(ThreadBuilder &b, Value vector,
                       function_ref<std::array<Value, 2>(Value)> split) {
  auto type = cast<VectorType>(vector.getType());
  int64_t count = type.getNumElements() / 2;
  Value words = vector::BitCastOp::create(
      b, VectorType::get(count, b.getI32Type()), vector);
  SmallVector<Value> elements;
  for (int64_t i = 0; i < count; ++i)
    llvm::append_range(elements, split(vector::ExtractOp::create(b, words, i)));
  return vector::FromElementsOp::create(b, type.clone(b.getF32Type()),
                                        elements);
}

Value lpfa::widen(ThreadBuilder &b, Value vector) {
  auto type = cast<VectorType>(vector.getType());
  if (type.getElementType().isF32())
    return vector;
  if (!type.getElementType().isBF16())
    return arith::ExtFOp::create(b, type.clone(b.getF32Type()), vector);
  return widenPairs(b, vector, [&](Value word) -> std::array<Value, 2> {
    return {b.toFloat(b.shiftLeft(word, 16)),
            b.toFloat(b.bitAnd(word, b.i32(0xffff0000)))};
  });
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
  // No other tile is beside one in which rows are known to end.
  access.knownColumns = viewType.getDimSize(rank - 1);
  access.isRagged = !viewType.isDynamicDim(rank - 1) &&
                    access.knownColumns < layout->columns &&
                    access.knownColumns % layout->vector == 0;
  Value inPieces = access.isRagged ? b.i1(true) : isInside;
  access.row = b.index(0);
  access.rows = b.index(1);
  if (rank > 1) {
    Value tileRow = indices[rank - 2];
    access.rows = getSize(view, rank - 2);
    access.row = b.add(tileRow, b.toIndex(threadRow));
    Value areRows =
        b.compare(arith::CmpIPredicate::sle,
                  b.add(tileRow, b.index(layout->rows)), access.rows);
    isInside = b.bitAnd(isInside, areRows);
    inPieces = b.bitAnd(inPieces, areRows);
    indices[rank - 2] = access.row;
  }
  if (rank > 1 && !layout->alongRow) {
    // Rows begin with a byte, or the access is not aligned.
    access.rowStep = arith::ShRSIOp::create(
        b,
        b.mul(getStride(view, rank - 2),
              arith::ConstantIntOp::create(b, layout->getRowsPerStep() * bits,
                                           64)),
        arith::ConstantIntOp::create(b, 3, 64));
  }
  access.first = getElementAddress(view, indices);
  Value aligned = isAligned(view, access.alignment);
  access.isWhole = b.bitAnd(isInside, aligned);
  access.isInPieces = b.bitAnd(inPieces, aligned);
  access.isAligned = aligned;
  return access;
}

static Value getPieceAddress(ThreadBuilder &b, const PieceAccess &access,
                             const ElementLayout &layout, int64_t i) {
  Value address = access.first;
  if (int64_t row = i / layout.across)
    address =
        b.offset(address, b.mul(access.rowStep,
                                arith::ConstantIntOp::create(b, row, 64)));
  int64_t bits = access.type.getElementTypeBitWidth() *
                 access.type.getNumElements() / layout.vector;
  return b.offset(address, layout.getColumn(i) * bits / 8);
}

/// The column where piece `i` begins, and some further.
static Value getColumn(ThreadBuilder &b, const PieceAccess &access,
                       const ElementLayout &layout, int64_t i, int64_t more) {
  return b.add(access.column, b.index(layout.getColumn(i) + more));
}

/// Whether piece `i` can be accessed whole.
static Value isPieceWhole(ThreadBuilder &b, const PieceAccess &access,
                          const ElementLayout &layout, Value isRow, int64_t i) {
  Value end = getColumn(b, access, layout, i, layout.vector);
  return b.bitAnd(b.bitAnd(isRow, access.isAligned),
                  b.compare(arith::CmpIPredicate::sle, end, access.columns));
}

/// Calls `body` for pieces that are inside or outside as a whole, with a
/// condition if they may be outside.
static void forWholePieces(
    ThreadBuilder &b, const PieceAccess &access, const ElementLayout &layout,
    int64_t count,
    function_ref<void(int64_t first, int64_t end, Value isInside)> body) {
  // Pieces one below the other are inside together.
  int64_t group = layout.across > 1 ? 1 : count;
  for (int64_t i = 0; i < count; i += group) {
    Value isInside;
    int64_t end = layout.getColumn(i) + layout.getColumnsPerStep();
    if (access.isRagged && end > access.knownColumns)
      isInside = b.compare(arith::CmpIPredicate::slt,
                           getColumn(b, access, layout, i, 0), access.columns);
    body(i, i + group, isInside);
  }
}

/// Whether piece `i` is in a row of the view.
static Value isRowInside(ThreadBuilder &b, const PieceAccess &access,
                         const ElementLayout &layout, int64_t i) {
  Value row = b.add(access.row, b.index(layout.getRow(i)));
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

/// Lowers sizes and what ops of a work tile compute with indices.
LogicalResult KernelDistribution::lowerIndices(Block &body) {
  for (Operation &op : body)
    if ((isa<DimOp>(op) || !isa<LPFADialect>(op.getDialect())) &&
        op.getNumRegions() == 0 && !op.hasTrait<OpTrait::IsTerminator>() &&
        failed(lower(&op)))
      return failure();
  return success();
}

Value KernelDistribution::areTilesWhole(Block &body) {
  Value whole = b.i1(true);
  auto add = [&](Value tile, Value view, ValueRange indices) {
    auto type = cast<TileType>(tile.getType());
    if (!scaleTiles.contains(tile) && !type.isAtom() &&
        !type.getShape().empty() && type.getShape().back() == layout->columns)
      whole = b.bitAnd(whole, getPieceAccess(view, indices).isInPieces);
  };
  for (Operation &op : body) {
    if (auto load = dyn_cast<LoadOp>(op); load && !holdsRowFactors(load))
      add(load.getTile(), load.getView(), load.getIndices());
    else if (auto store = dyn_cast<StoreOp>(op);
             store && !store.getTile().getDefiningOp<RstdTileOp>())
      add(store.getTile(), store.getView(), store.getIndices());
  }
  return whole;
}

//===----------------------------------------------------------------------===//
// Loads and stores of elements
//===----------------------------------------------------------------------===//

/// Pieces that are whole, 0 where they are outside.
static SmallVector<Value> loadWhole(ThreadBuilder &b, const PieceAccess &access,
                                    const ElementLayout &layout,
                                    int64_t count) {
  SmallVector<Value> loaded;
  auto load = [&](int64_t first, int64_t end, Value isInside) {
    auto loadAll = [&] {
      SmallVector<Value> all;
      for (int64_t i = first; i < end; ++i)
        all.push_back(LLVM::LoadOp::create(
            b, access.type, getPieceAddress(b, access, layout, i),
            access.alignment));
      return all;
    };
    if (!isInside) {
      llvm::append_range(loaded, loadAll());
      return;
    }
    auto branch = scf::IfOp::create(
        b, SmallVector<Type>(end - first, access.type), isInside, true, true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, loadAll());
    b.setInsertionPointToStart(branch.elseBlock());
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(access.type));
    scf::YieldOp::create(b, SmallVector<Value>(end - first, zero));
    llvm::append_range(loaded, branch.getResults());
  };
  forWholePieces(b, access, layout, count, load);
  return loaded;
}

/// A piece at an edge, or of rows that are not aligned: whole or by elements,
/// 0 where it is outside.
static Value loadAtEdge(ThreadBuilder &b, const PieceAccess &access,
                        const ElementLayout &layout, int64_t i, ByteUnit unit) {
  Value address = getPieceAddress(b, access, layout, i);
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
  // Before the work tile's program.
  if (tilesAhead.contains(op.getTile()))
    return success();
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
  SmallVector<Value> loaded;
  int64_t count = layout->getPieces(tile);
  if (tilesAreWhole)
    loaded = loadWhole(b, access, *layout, count);
  else
    for (int64_t i = 0; i < count; ++i)
      loaded.push_back(loadAtEdge(b, access, *layout, i, unit));
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
  Value address = getPieceAddress(b, access, layout, i);
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
  if (!tilesAreWhole) {
    for (int64_t i = 0; i < layout->steps; ++i)
      storeAtEdge(b, access, *layout, stored[i], i, unit);
    return success();
  }
  auto store = [&](int64_t first, int64_t end, Value isInside) {
    auto storeAll = [&] {
      for (int64_t i = first; i < end; ++i)
        LLVM::StoreOp::create(b, stored[i],
                              getPieceAddress(b, access, *layout, i),
                              access.alignment);
    };
    isInside ? b.when(isInside, storeAll) : storeAll();
  };
  forWholePieces(b, access, *layout, layout->steps, store);
  return success();
}

/// Bytes of an asynchronous copy that goes by the L1 cache.
static constexpr int64_t kCopyBytes = 16;

/// Calls `body` with where the thread's pieces are in the view, and not to be
/// kept in registers through all of a work tile's program.
void KernelDistribution::withPieceAccess(
    LoadOp op, function_ref<void(const PieceAccess &)> body) {
  Value row = threadRow, column = threadColumn;
  threadRow = b.forget(row);
  threadColumn = b.forget(column);
  body(getPieceAccess(op.getView(), op.getIndices()));
  threadRow = row;
  threadColumn = column;
}

/// Where shared memory has piece `i` of a tile that is loaded ahead, beside
/// those of all threads.
Value KernelDistribution::getSlot(LoadOp op, int64_t i) {
  int64_t bytes =
      layout->vector * op.getTile().getType().getElementTypeBitWidth() / 8;
  return b.offset(b.offset(sharedBase, tilesAhead.lookup(op.getTile()) +
                                           i * bytes * getThreads()),
                  b.mul(thread, b.i32(bytes)));
}

void KernelDistribution::copyAhead(LoadOp op) {
  int64_t elementBytes = op.getTile().getType().getElementTypeBitWidth() / 8;
  int64_t bytes = layout->vector * elementBytes;
  auto copy = [&](const PieceAccess &access, bool isWhole) {
    // Bytes of a piece that are in the view's columns.
    Value inside = b.mul(b.toI32(b.sub(access.columns, access.column)),
                         b.i32(elementBytes));
    for (int64_t i = 0; i < layout->steps; ++i) {
      Value from = getPieceAddress(b, access, *layout, i), to = getSlot(op, i);
      Value isRow = isRowInside(b, access, *layout, i);
      for (int64_t k = 0; k < bytes; k += kCopyBytes) {
        Value left;
        if (!isWhole)
          left = b.select(isRow,
                          b.min(b.max(b.sub(inside, b.i32(k)), b.i32(0)),
                                b.i32(kCopyBytes)),
                          b.i32(0));
        NVVM::CpAsyncOp::create(b, b.offset(to, k), b.offset(from, k),
                                kCopyBytes, NVVM::LoadCacheModifierKind::CG,
                                left);
      }
    }
  };
  b.when(isAligned(op.getView(), kCopyBytes), [&] {
    withPieceAccess(op, [&](const PieceAccess &access) {
      auto branch = scf::IfOp::create(b, access.isWhole, /*withElse=*/true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      copy(access, /*isWhole=*/true);
      b.setInsertionPointToStart(branch.elseBlock());
      copy(access, /*isWhole=*/false);
    });
  });
}

void KernelDistribution::takeAhead(LoadOp op) {
  Type element = op.getTile().getType().getElementType();
  NVVM::CpAsyncWaitGroupOp::create(b, 0);
  Value isLate = b.bitXor(isAligned(op.getView(), kCopyBytes), b.i1(true));
  b.when(isLate, [&] {
    withPieceAccess(op, [&](const PieceAccess &access) {
      for (int64_t i = 0; i < layout->steps; ++i)
        LLVM::StoreOp::create(
            b, loadAtEdge(b, access, *layout, i, ByteUnit(element)),
            getSlot(op, i), /*alignment=*/kCopyBytes);
    });
  });
  auto type = VectorType::get(layout->vector, element);
  SmallVector<Value> taken;
  for (int64_t i = 0; i < layout->steps; ++i)
    taken.push_back(LLVM::LoadOp::create(b, type, getSlot(op, i),
                                         /*alignment=*/kCopyBytes));
  pieces[op.getTile()] = std::move(taken);
}

void KernelDistribution::clearOutside(MutableArrayRef<Value> tile,
                                      LoadOp load) {
  PieceAccess access = getPieceAccess(load.getView(), load.getIndices());
  if (tilesAreWhole && !access.isRagged)
    return;
  auto type = cast<VectorType>(tile.front().getType());
  int64_t bits = type.getElementTypeBitWidth(), perWord = 32 / bits;
  auto wordsType = VectorType::get(layout->vector * bits / 32, b.getI32Type());
  SmallVector<Value> columnMasks;
  for (int64_t i = 0; i < layout->across; ++i) {
    SmallVector<Value> words;
    for (int64_t k = 0; k < layout->vector; ++k) {
      Value isInside =
          isUnitInside(b, access, *layout, /*isRow=*/b.i1(true), i, k);
      uint64_t mask = ~uint64_t(0) >> (64 - bits);
      Value element =
          b.select(isInside, b.i32(mask << (k % perWord * bits)), b.i32(0));
      if (k % perWord == 0)
        words.push_back(element);
      else
        words.back() = b.bitOr(words.back(), element);
    }
    columnMasks.push_back(vector::FromElementsOp::create(b, wordsType, words));
  }
  for (auto [i, piece] : llvm::enumerate(tile)) {
    Value mask = columnMasks[i % layout->across];
    if (!tilesAreWhole) {
      Value rowMask =
          b.select(isRowInside(b, access, *layout, i), b.i32(-1), b.i32(0));
      mask = b.bitAnd(mask, vector::BroadcastOp::create(b, wordsType, rowMask));
    }
    piece = vector::BitCastOp::create(
        b, type,
        b.bitAnd(vector::BitCastOp::create(b, wordsType, piece), mask));
  }
}
