//===- Registers.cpp - Tiles in registers and their way to memory ---------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelDistribution.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lpfa;

/// The most columns of one `tcgen05.ld` or `tcgen05.st`.
static constexpr int64_t kMaxColumns = 128;

/// How many columns of tensor memory a rescale has in registers at a time.
static constexpr int64_t kRescaleColumns = 32;

//===----------------------------------------------------------------------===//
// Tensor memory
//===----------------------------------------------------------------------===//

/// Calls `callback` with the start and size of pieces that one instruction
/// moves: powers of two.
static void forEachPiece(int64_t columns,
                         function_ref<void(int64_t, int64_t)> callback) {
  for (int64_t start = 0; start < columns;) {
    int64_t size = std::min<int64_t>(llvm::bit_floor(uint64_t(columns - start)),
                                     kMaxColumns);
    callback(start, size);
    start += size;
  }
}

Value KernelDistribution::readTensorMemory(Value address, VectorType type) {
  Value lanes = b.add(address, laneBase);
  int64_t columns = type.getNumElements();
  Value result;
  forEachPiece(columns, [&](int64_t start, int64_t size) {
    auto pieceType = VectorType::get(size, type.getElementType());
    Value piece = Tcgen05LdOp::create(b, pieceType, b.add(lanes, b.i32(start)));
    if (size == columns) {
      result = piece;
      return;
    }
    if (!result)
      result = arith::ConstantOp::create(b, b.getZeroAttr(type));
    result = vector::InsertStridedSliceOp::create(
        b, piece, result, ArrayRef<int64_t>{start}, ArrayRef<int64_t>{1});
  });
  return result;
}

Value KernelDistribution::readWithMaxima(Value address, VectorType type) {
  auto maximaType =
      VectorType::get(type.getNumElements() / kBlockSize, b.getF32Type());
  auto load =
      Tcgen05LdMaxOp::create(b, type, maximaType, b.add(address, laneBase));
  SmallVector<Value> &maxima = rowMaxima[load.getResult()];
  for (int64_t i = 0; i < maximaType.getNumElements(); ++i)
    maxima.push_back(vector::ExtractOp::create(b, load.getMaxima(), i));
  return load.getResult();
}

void KernelDistribution::writeTensorMemory(Value value, Value address) {
  Value lanes = b.add(address, laneBase);
  int64_t columns = cast<VectorType>(value.getType()).getNumElements();
  forEachPiece(columns, [&](int64_t start, int64_t size) {
    Value piece = value;
    if (size != columns)
      piece = vector::ExtractStridedSliceOp::create(
          b, value, ArrayRef<int64_t>{start}, ArrayRef<int64_t>{size},
          ArrayRef<int64_t>{1});
    Tcgen05StOp::create(b, piece, b.add(lanes, b.i32(start)));
  });
}

LogicalResult KernelDistribution::lower(ReadOp op) {
  FailureOr<Type> type = convertType(op, op.getTile().getType());
  if (failed(type))
    return failure();
  Value buffer = values.lookup(op.getBuffer());
  bool isTensor = op.getBuffer().getType().getSpace() == MemorySpace::Tensor;
  auto vectorType = dyn_cast<VectorType>(*type);
  Value result;
  // Scores that go to the softmax as they are need the maxima of their blocks.
  bool hasMaxima =
      isTensor && vectorType && target.hasTensorMemoryReduction() &&
      !op.getTile().use_empty() &&
      llvm::all_of(op.getTile().getUsers(),
                   llvm::IsaPred<SoftmaxMaximumOp, SoftmaxProbabilitiesOp>);
  if (hasMaxima)
    result = readWithMaxima(buffer, vectorType);
  else if (isTensor && vectorType && vectorType.getElementTypeBitWidth() == 32)
    result = readTensorMemory(buffer, vectorType);
  else if (!isTensor && type->isF32())
    result = LLVM::LoadOp::create(b, *type,
                                  b.offset(buffer, b.shiftLeft(thread, 2)));
  else
    return op.emitOpError("cannot read ") << op.getBuffer().getType();
  values.map(op.getTile(), result);
  return success();
}

/// Where the thread's row has its four scales in an atom.
Value KernelDistribution::getAtomOffset() {
  return b.add(b.shiftLeft(b.bitAnd(thread, b.i32(31)), 4),
               b.shiftLeft(b.shiftRight(thread, 5), 2));
}

LogicalResult KernelDistribution::lower(WriteOp op) {
  BufferType type = op.getBuffer().getType();
  Value tile = values.lookup(op.getTile());
  Value buffer = values.lookup(op.getBuffer());
  if (type.getSpace() == MemorySpace::Tensor) {
    auto vectorType = dyn_cast<VectorType>(tile.getType());
    if (!vectorType || vectorType.getElementTypeBitWidth() != 32)
      return op.emitOpError("cannot write ") << type;
    writeTensorMemory(tile, buffer);
    return success();
  }
  if (isa<VectorType>(tile.getType()))
    return writeSharedTile(op);
  Value offset = type.isScales() ? getAtomOffset() : b.shiftLeft(thread, 2);
  LLVM::StoreOp::create(b, tile, b.offset(buffer, offset));
  return success();
}

/// Writes a row in pieces of 16 bytes to where a bulk copy with the same
/// swizzle looks for them: it exclusive-ors the number of the piece with bits
/// of the address from bit 7 on, which are the row's as the tile is aligned.
LogicalResult KernelDistribution::writeSharedTile(WriteOp op) {
  FailureOr<SharedLayout> layout =
      SharedLayout::getUnpadded(op, op.getBuffer().getType());
  if (failed(layout))
    return failure();
  Value buffer = values.lookup(op.getBuffer());
  Value tile = values.lookup(op.getTile());
  auto type = cast<VectorType>(tile.getType());
  int64_t pieceElements = 128 / type.getElementTypeBitWidth();
  int64_t pieces = layout->rowBytes / 16;

  Value rowStart = b.mul(thread, b.i32(layout->rowBytes));
  // The row's bits that the swizzle takes, at the place of the piece's number.
  Value swizzle = b.bitAnd(b.shiftRight(rowStart, 3), b.i32((pieces - 1) * 16));
  auto wordsType = VectorType::get(4, b.getI32Type());
  for (int64_t i = 0; i < layout->blocks * pieces; ++i) {
    Value piece = vector::ExtractStridedSliceOp::create(
        b, tile, ArrayRef<int64_t>{i * pieceElements},
        ArrayRef<int64_t>{pieceElements}, ArrayRef<int64_t>{1});
    Value words = vector::BitCastOp::create(b, wordsType, piece);
    Value column = b.bitXor(swizzle, b.i32(i % pieces * 16));
    Value address =
        b.offset(b.offset(buffer, i / pieces * layout->getBlockBytes()),
                 b.add(rowStart, column));
    LLVM::StoreOp::create(b, words, address, /*alignment=*/16);
  }
  return success();
}

LogicalResult KernelDistribution::lower(RescaleBufferOp op) {
  Value factor = values.lookup(op.getFactor());
  Value address = values.lookup(op.getBuffer());
  Value changes = b.compare(arith::CmpFPredicate::UNE, factor, b.f32(1.0f));
  b.when(AnySyncOp::create(b, changes), [&] {
    int64_t columns = op.getBuffer().getType().getShape()[1];
    for (int64_t start = 0; start < columns; start += kRescaleColumns) {
      auto type = VectorType::get(std::min(kRescaleColumns, columns - start),
                                  b.getF32Type());
      Value place = b.add(address, b.i32(start));
      Value part = readTensorMemory(place, type);
      Value factors = vector::BroadcastOp::create(b, type, factor);
      writeTensorMemory(b.mul(part, factors), place);
    }
    Tcgen05WaitStOp::create(b);
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

LogicalResult KernelDistribution::lower(StoreOp op) {
  if (kernel.getStage() == Stage::Tile) {
    if (scaleTiles.contains(op.getTile()))
      return storeScales(op);
    if (op.getRows())
      return op.emitOpError("can leave out rows of scales only");
    if (pieces.contains(op.getTile()) || keptTiles.contains(op.getTile()))
      return storeElements(op);
    if (layout)
      return rowFactors.contains(op.getTile()) ? storeRowFactors(op)
                                               : storeColumnSums(op);
  }
  if (isa<Float8E8M0FNUType>(op.getTile().getType().getElementType()))
    return storeRowScales(op);
  ViewType type = op.getView().getType();
  Value value = values.lookup(op.getTile());
  if (!value.getType().isF32())
    return op.emitOpError("cannot store ")
           << op.getTile().getType() << " from registers";
  SmallVector<Value> indices;
  for (Value index : op.getIndices())
    indices.push_back(values.lookup(index));
  indices.back() = b.add(indices.back(), b.toIndex(thread));
  Value isInside = b.compare(arith::CmpIPredicate::slt, indices.back(),
                             getSize(op.getView(), type.getRank() - 1));
  b.when(isInside, [&] {
    LLVM::StoreOp::create(b, value, getElementAddress(op.getView(), indices));
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

LogicalResult KernelDistribution::lower(SplatOp op) {
  if (keptTiles.contains(op.getTile())) {
    Value piece = arith::ConstantOp::create(
        b,
        DenseElementsAttr::get(VectorType::get(layout->vector, b.getF32Type()),
                               op.getValueAttr()));
    for (int64_t i = 0; i < layout->steps; ++i)
      keepPiece(op.getTile(), i, piece);
    // A tile of as many zeros may be the first sums of rows too.
    if (op.getTile().hasOneUse())
      return success();
  }
  FailureOr<Type> type = convertType(op, op.getTile().getType());
  if (failed(type))
    return failure();
  if (!op.getTile().getType().getElementType().isF32())
    return op.emitOpError("makes tiles of f32 only");
  Attribute value = op.getValueAttr();
  if (auto vectorType = dyn_cast<VectorType>(*type))
    value = DenseElementsAttr::get(vectorType, value);
  values.map(op.getTile(),
             arith::ConstantOp::create(b, cast<TypedAttr>(value)));
  return success();
}

LogicalResult KernelDistribution::lower(NormalizeOp op) {
  FailureOr<Type> type = convertType(op, op.getResult().getType());
  if (failed(type))
    return failure();
  Value tile = values.lookup(op.getTile());
  Value denominator = values.lookup(op.getDenominator());
  Value divisors = vector::BroadcastOp::create(b, tile.getType(), denominator);
  Value result = arith::DivFOp::create(b, tile, divisors);
  Value isNone = b.compare(arith::CmpFPredicate::OEQ, denominator, b.f32(0.0f));
  Value zero = arith::ConstantOp::create(
      b, cast<TypedAttr>(b.getZeroAttr(tile.getType())));
  result = b.select(isNone, zero, result);
  if (result.getType() != *type)
    result = arith::TruncFOp::create(b, *type, result);
  values.map(op.getResult(), result);
  return success();
}

LogicalResult KernelDistribution::lower(RoundOp op) {
  FailureOr<Type> type = convertType(op, op.getResult().getType());
  if (failed(type))
    return failure();
  Value result = values.lookup(op.getTile());
  if (result.getType() != *type)
    result = arith::TruncFOp::create(b, *type, result);
  values.map(op.getResult(), result);
  return success();
}
