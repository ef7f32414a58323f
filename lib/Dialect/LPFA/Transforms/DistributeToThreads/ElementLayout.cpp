//===- ElementLayout.cpp - Which thread has which elements ----------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layout of the tiles of a kernel without roles, and how many CTAs a
// multiprocessor is to have.
//
//===----------------------------------------------------------------------===//

#include "KernelDistribution.h"

using namespace mlir;
using namespace lpfa;

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
  layout.across = std::max<int64_t>(layout.steps, 1);
}

/// Whether warps can share the rows so: pairs of them have 128 columns, and a
/// partial sum is one piece's.
static bool isRowBlocks(const ElementLayout &layout) {
  return layout.columns <= layout.vector * SumSquaresTileOp::kPartialSums &&
         layout.columns % (2 * layout.ctas * layout.getWarpColumns()) == 0 &&
         (layout.ctas == 1 || layout.rows == layout.getWarpRows());
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

/// The widest rows of which a warp has several, and those in blocks; a thread's
/// pieces, where they are in none.
static constexpr int64_t kMaxNarrowColumns = 1024, kMaxNarrowBlockColumns = 128;
static constexpr int64_t kNarrowSteps = 6;

/// The layout of narrow rows, in pieces of 8 neighbors: the fewest lanes have
/// one in one piece each, or all of them in some, and a warp has a power of two
/// of rows, or 32 where they are in blocks of several.
static bool layOutNarrowRows(ElementLayout &layout, bool inBlocks) {
  constexpr int64_t vector = 8;
  int64_t lanes = std::min(layout.columns / vector, TargetModel::warpThreads);
  if (layout.columns >
          (inBlocks ? kMaxNarrowBlockColumns : kMaxNarrowColumns) ||
      layout.columns < kBlockSize || !llvm::isPowerOf2_64(lanes) ||
      layout.columns % (lanes * vector))
    return false;
  layout.vector = vector;
  layout.lanes = lanes;
  layout.across = layout.columns / (lanes * vector);
  int64_t rows = kBlockSize / layout.getRowsPerStep();
  if (!inBlocks)
    rows = std::min<int64_t>(
        layout.rows / layout.getRowsPerStep(),
        llvm::bit_floor(uint64_t(kNarrowSteps / layout.across)));
  layout.steps = rows * layout.across;
  return true;
}

/// The layout of whole rows in blocks of several: pieces of 8 neighbors, as the
/// order of summation of `lpfa.rms_norm` has them, and the fewest CTAs whose
/// registers have the tile, a power of two.
void KernelDistribution::layOutRowBlocks() {
  layout->vector = layout->lanes = layout->steps = 8;
  int64_t threads = TargetModel::warpThreads * layout->getWarpsAcross() *
                    layout->rows / layout->getWarpRows();
  // A CTA has a multiprocessor's registers, or half a CTA's threads have twice
  // as many.
  int64_t most = TargetModel::maxThreadsPerCTA;
  if (countRegisters() * most > TargetModel::registersPerMultiprocessor)
    most /= 2;
  layout->ctas = llvm::PowerOf2Ceil(llvm::divideCeil(threads, most));
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
  // A thread copies its own pieces.
  result = kernel.walk([&](LoadOp op) -> WalkResult {
    TileType tile = op.getTile().getType();
    if (op.getAhead() &&
        (!layout || !isa<ForWorkOp>(op->getParentOp()) ||
         tile.getElementTypeBitWidth() < 16 ||
         tile.getShape() != ArrayRef<int64_t>{layout->rows, layout->columns}))
      return op.emitOpError("can load only elements of a work tile ahead, not ")
             << tile;
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  if (!layout)
    return success();
  layout->addsRows = hasRows;
  bool isNarrow =
      hasRows && !hasGradients && layOutNarrowRows(*layout, hasColumnBlocks);
  if (!isNarrow && hasRows && hasColumnBlocks)
    layOutRowBlocks();
  else if (!isNarrow && hasRows)
    layOutRows(*layout, hasGradients && layout->columns <= kGradientColumns
                            ? kGradientSteps
                            : kSteps);
  else if (!isNarrow)
    layOutBlocks(*layout, hasColumnBlocks);
  int64_t across =
      layout->getWarpColumns() * layout->getWarpsAcross() * layout->across;
  if (layout->steps == 0 || layout->rows % layout->getWarpRows() ||
      across != layout->columns ||
      (hasRows && hasColumnBlocks && !layout->hasWarpRows() &&
       !isRowBlocks(*layout)) ||
      layout->getThreads() > TargetModel::maxThreadsPerCTA)
    return kernel.emitOpError("cannot give warps tiles of ")
           << layout->rows << "x" << layout->columns << " elements";
  return success();
}

/// Registers for the thread's elements in the widest type of the kernel, as
/// many for all else, or 32 to 48 more where it has sums of rows to add, and
/// some for a row that belongs to all rows, for sums of more than four rows
/// that a warp adds, for scales of columns, for codes that no instruction makes
/// or packs, for NVFP4's divisions and for each further result; or for the
/// gradient of a normalization, and more where a cluster dequantizes it or,
/// where arithmetic takes pairs of registers, it is long or has a weight of
/// f32.
int64_t KernelDistribution::countRegisters() {
  int64_t bits = 16, codes = 0, wide = 0, rowRegisters = 0,
          gradientRegisters = 0;
  bool packs = false, divides = false, hasColumns = false, sumsHalves = false;
  auto isElements = [&](TileType tile) {
    return !tile.getShape().empty() &&
           tile.getShape().back() == layout->columns &&
           (layout->alongRow || layout->rows == 1 || tile.getRank() == 2);
  };
  bool isAhead = false;
  kernel.walk([&](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op)) {
      isAhead |= load.getAhead();
      // What is loaded once is kept in shared memory.
      if (load->getParentOp() == kernel)
        return;
      TileType tile = load.getTile().getType();
      bool isRow =
          tile.getRank() == 1 && tile.getShape().back() == layout->columns;
      int64_t words =
          layout->across * layout->vector * tile.getElementTypeBitWidth() / 32;
      if (layout->alongRow && isRow)
        rowRegisters = words;
      else if (layout->hasWarpRows() && isRow &&
               tile.getElementTypeBitWidth() > 16)
        rowRegisters = words / 2;
    }
    // Those of whole rows are few beside the elements.
    if (isa<RMSNormTileOp>(op) && !layout->alongRow && !layout->addsRows)
      rowRegisters = layout->steps + layout->vector;
    if (auto quantize = dyn_cast<QuantizeTileOp>(op)) {
      divides |= quantize.getGlobalScale() != nullptr;
      hasColumns |= isAlongColumns(quantize) && !quantize.getSquare();
    }
    if (auto store = dyn_cast<StoreOp>(op);
        store && isElements(store.getTile().getType()) &&
        !isa<Float8E8M0FNUType>(store.getTile().getType().getElementType()))
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
    // Each half takes an instruction to become a float, and ptxas has many
    // under way.
    if (auto sum = dyn_cast<SumSquaresTileOp>(op))
      sumsHalves |= sum.getInput().getType().getElementType().isF16();
    // Partial sums are no elements, whatever their number.
    if (isa<SplatOp, SumSquaresTileOp>(op))
      return;
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
  if (sumsHalves && (layout->alongRow || layout->hasWarpRows()))
    rowRegisters += 16;
  int64_t further = codes > 0 ? 2 * (codes - 1 + wide) : wide;
  if (further > 0 && isAhead)
    rowRegisters += 16;
  if (layout->hasWarpRows())
    registers += layout->across > 1 && layout->steps > 4 ? 48 : 32;
  else if (layout->addsRows && !layout->alongRow)
    rowRegisters +=
        4 * std::max<int64_t>(
                kBlockSize * layout->ctas / layout->getWarpsAcross() - 4, 0);
  registers = std::max<int64_t>(registers, 64) + rowRegisters;
  registers += gradientRegisters > 0
                   ? gradientRegisters
                   : (hasColumns ? 16 : 0) + (packs ? 32 : 0) +
                         (divides ? 32 : 0) + 16 * further;
  return registers;
}

/// More threads would not load more at a time.
int64_t KernelDistribution::getMinCTAs() {
  int64_t ctas = TargetModel::registersPerMultiprocessor /
                 (countRegisters() * layout->getThreads());
  int64_t byMemory = TargetModel::sharedMemoryPerMultiprocessor /
                     (sharedBytes + TargetModel::reservedSharedBytes);
  return std::clamp<int64_t>(std::min(ctas, byMemory), 1, 16);
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
  locateThread();
}

void KernelDistribution::locateThread() {
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
  if (ctaInCluster && !layout->alongRow) {
    Value pair =
        b.add(ctaInCluster, b.mul(b.shiftRight(warp, 1), b.i32(layout->ctas)));
    warpColumn = b.add(b.shiftLeft(pair, 1), b.bitAnd(warp, b.i32(1)));
  }
  threadColumn = b.add(b.mul(warpColumn, b.i32(layout->getWarpColumns())),
                       b.mul(laneColumn, b.i32(layout->vector)));
}
