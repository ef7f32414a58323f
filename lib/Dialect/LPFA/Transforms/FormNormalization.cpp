//===- FormNormalization.cpp - Kernels of normalization -------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementwiseKernel.h"
#include "lpfa/Dialect/LPFA/Utils/SizeChecks.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace lpfa;

/// Work tiles of a CTA, for which it loads the weight once, and of a cluster,
/// whose CTAs also meet before the first. More would leave multiprocessors idle
/// at the end.
static constexpr int64_t kTilesPerCTA = 2;
static constexpr int64_t kTilesPerCluster = 4;

/// The most that a CTA keeps of it: four CTAs share a multiprocessor's memory.
static constexpr int64_t kMaxKeptBytes = 32768;

/// The most of a row that a CTA has; wider ones are shared by a cluster.
static constexpr int64_t kMaxCTAColumns = 16384;

/// A tile of whole rows: as many as 128 threads have with four vectors of eight
/// elements each, or all that there are, but no less than a warp's.
static SmallVector<int64_t> chooseRowTile(RankedTensorType type) {
  constexpr int64_t elements = 4096, warpElements = 256;
  int64_t size = type.getShape().take_back(2).front();
  int64_t columns = type.getShape().back();
  int64_t width = std::max<int64_t>(kBlockSize, llvm::PowerOf2Ceil(columns));
  int64_t rows = std::max<int64_t>(elements / width, 1);
  if (!ShapedType::isDynamic(size))
    rows = std::clamp<int64_t>(
        llvm::PowerOf2Ceil(size),
        std::min(rows, std::max<int64_t>(warpElements / width, 1)), rows);
  // Not more than an eighth of the vectors is to be empty.
  if (columns > warpElements)
    width = llvm::alignTo(columns, std::max(warpElements, width / 8));
  return {rows, width};
}

/// The widest rows of which a warp has several, and in blocks, all 32. A tile
/// of those has an atom's rows.
static constexpr int64_t kMaxNarrowRow = 1024;
static constexpr int64_t kMaxNarrowBlockRow = 128;

/// The widest rows of which a CTA has those of a run of an atom.
static constexpr int64_t kMaxPackedRow = 512;

/// The widest row in blocks that is read once: more CTAs in a cluster would
/// wait for each other longer than it takes to read rows again.
static constexpr int64_t kMaxBlockRow = 4096;

/// Whether a thread has registers for its elements and little else.
static bool isLight(RMSNormOp op, ArrayRef<QuantizedResults> group,
                    bool writesOutput) {
  auto getBits = [](RankedTensorType type) {
    return type.getElementTypeBitWidth();
  };
  int64_t codes = 0;
  for (const QuantizedResults &results : group) {
    QuantizeOp quantize = results.op;
    if (!quantize.getSquare() || getBits(quantize.getElements().getType()) != 8)
      return false;
    codes += !quantize.getElements().use_empty();
  }
  return codes <= 1 && !writesOutput &&
         getBits(op.getInput().getType()) == 16 &&
         getBits(op.getOutput().getType()) == 16;
}

/// A tile of 32 whole rows in blocks: no more than 1,024 threads of a CTA, or
/// 512 that have twice the registers, or those of a cluster have with eight
/// vectors of eight elements each. Pairs of warps have 128 columns.
static SmallVector<int64_t> chooseBlockRowTile(int64_t columns, bool isLight) {
  int64_t most = isLight ? 2048 : 1024;
  int64_t ctas = llvm::PowerOf2Ceil(llvm::divideCeil(columns, most));
  int64_t width = llvm::alignTo(columns, 128 * ctas);
  return {kBlockSize, width};
}

/// The quantizations that a kernel of the normalization can do: those of MX
/// formats along one of the last two dimensions.
static SmallVector<QuantizedResults> getQuantizations(RMSNormOp op) {
  int64_t rank = op.getInput().getType().getRank();
  SmallVector<QuantizedResults> group;
  for (Operation *user : op.getOutput().getUsers()) {
    auto quantize = dyn_cast<QuantizeOp>(user);
    if (quantize && !quantize.getGlobalScale() &&
        int64_t(quantize.getAxis()) >= rank - 2 &&
        quantize->getBlock() == op->getBlock())
      group.emplace_back(quantize);
  }
  // Users come last one first.
  std::reverse(group.begin(), group.end());
  return group;
}

/// Whether anything else uses the normalized tensor.
static bool isOutputUsed(RMSNormOp op, ArrayRef<QuantizedResults> group) {
  return llvm::any_of(op.getOutput().getUsers(), [&](Operation *user) {
    return llvm::none_of(group, [&](const QuantizedResults &results) {
      return results.op == user;
    });
  });
}

/// Normalization with quantization in blocks of several rows: a kernel for the
/// factors of rows, and one over tiles for all else.
static LogicalResult formBlocks(RMSNormOp op,
                                SmallVector<QuantizedResults> group) {
  Location loc = op.getLoc();
  RankedTensorType type = op.getInput().getType();
  OpBuilder builder(op);
  IndexBuilder index(builder, loc);
  auto rstdType =
      RankedTensorType::get(type.getShape().drop_back(), builder.getF32Type());
  auto statistics = RMSNormOp::create(
      builder, loc, TypeRange{op.getOutput().getType(), rstdType},
      op.getInput(), op.getWeight(), op.getEpsilonAttr());
  if (op.getRstd())
    op.getRstd().replaceAllUsesWith(statistics.getRstd());

  SmallVector<int64_t> tile = chooseTile(group);
  ElementwiseKernel kernel(op, op.getInput(), tile);
  if (failed(kernel.checkSizes()))
    return failure();
  kernel.addInput(op.getInput());
  unsigned weight = kernel.addInput(op.getWeight());
  unsigned rstd = kernel.addInput(statistics.getRstd());
  std::optional<unsigned> output;
  if (isOutputUsed(op, group))
    output = kernel.addOutput(op.getOutput(), kernel.getSizes());
  for (QuantizedResults &results : group)
    if (failed(addQuantized(kernel, index, results)))
      return failure();

  auto build = [&](OpBuilder &b, ValueRange views, ValueRange coordinates) {
    SmallVector<Value> place = getFirst(b, loc, coordinates, tile);
    auto load = [&](Value view, ArrayRef<int64_t> shape, ValueRange at) {
      return LoadOp::create(b, loc, getTile(view, shape), view, at).getTile();
    };
    Value x = load(views[0], tile, place);
    Value weights = load(views[weight], tile[1], place.back());
    Value factors =
        load(views[rstd], tile[0], ArrayRef<Value>(place).drop_back());
    auto outputType = TileType::get(b.getContext(), tile,
                                    op.getOutput().getType().getElementType());
    Value y = RMSNormTileOp::create(b, loc, outputType, x, factors, weights);
    if (output)
      StoreOp::create(b, loc, y, views[*output], place);
    for (const QuantizedResults &results : group)
      buildQuantized(b, views, coordinates, y, results);
  };
  kernel.launch(kernel.build("rms_norm_quantize", 0, build));
  for (QuantizedResults &results : group)
    results.erase();
  op.erase();
  return formRMSNorm(statistics);
}

/// Normalization together with quantizations of its output: then the output
/// itself is written only where something else uses it.
LogicalResult lpfa::formRMSNorm(RMSNormOp op) {
  Location loc = op.getLoc();
  RankedTensorType type = op.getInput().getType();
  int64_t rank = type.getRank(), columns = type.getShape().back();
  if (rank < 2)
    return op.emitOpError("has a kernel for tensors of two dimensions or more "
                          "only");
  SmallVector<QuantizedResults> group = getQuantizations(op);
  bool inBlocks = llvm::any_of(group, [](QuantizedResults &results) {
    return results.isColumn() || results.op.getSquare();
  });
  if (inBlocks && (ShapedType::isDynamic(columns) || columns > kMaxBlockRow))
    return formBlocks(op, std::move(group));
  bool isKnown = !ShapedType::isDynamic(columns);
  bool isNarrow =
      isKnown && columns <= (inBlocks ? kMaxNarrowBlockRow : kMaxNarrowRow);
  // A CTA that has few rows does not have those of a run of an atom.
  bool canPack = inBlocks || (isKnown && columns <= kMaxPackedRow);
  bool packs = false;
  for (QuantizedResults &results : group) {
    if (!canPack) {
      results.writesScales |= !results.packs.empty();
      results.packs.clear();
    }
    packs |= !results.packs.empty();
  }
  bool isUsed = isOutputUsed(op, group);
  bool normalizes = isUsed || !group.empty();
  // A row that is only summed up need not stay.
  bool isResident =
      isKnown && columns <= (normalizes ? kMaxRow : kMaxCTAColumns);
  SmallVector<int64_t> tile = {1, kMaxCTAColumns};
  if (isNarrow && inBlocks)
    tile = {kAtomRows, kMaxNarrowBlockRow};
  else if (inBlocks)
    tile = chooseBlockRowTile(columns, isLight(op, group, isUsed));
  else if (packs)
    tile = {kBlockSize,
            std::max<int64_t>(kAtomRows, llvm::PowerOf2Ceil(columns))};
  else if (isResident)
    tile = chooseRowTile(type);
  ElementwiseKernel kernel(op, op.getInput(), tile);
  if (failed(kernel.checkSizes()))
    return failure();
  OpBuilder builder(op);
  IndexBuilder index(builder, loc);
  kernel.addInput(op.getInput());
  unsigned weight = kernel.addInput(op.getWeight());
  emitCheck(builder, op,
            builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq,
                                                index.dim(op.getWeight(), 0),
                                                kernel.getSizes().back()),
            "expects another size of dimension 0 of the weight");
  std::optional<unsigned> output, rstd;
  SmallVector<Value> sizes = kernel.getSizes();
  if (isUsed)
    output = kernel.addOutput(op.getOutput(), sizes);
  if (op.getRstd() && !op.getRstd().use_empty())
    rstd = kernel.addOutput(op.getRstd(), ArrayRef(sizes).drop_back());
  for (QuantizedResults &results : group)
    if (failed(addQuantized(kernel, index, results)))
      return failure();
  if (!normalizes && !rstd) {
    op.erase();
    return success();
  }

  auto loadWeight = [&](OpBuilder &b, ValueRange views, Value column) -> Value {
    return LoadOp::create(b, loc,
                          getTile(views[weight], ArrayRef(tile).take_back()),
                          views[weight], column);
  };
  auto addSquares = [&](OpBuilder &b, Value x, Value sums) -> Value {
    return SumSquaresTileOp::create(b, loc, x, sums);
  };
  auto getNoSums = [&](OpBuilder &b) -> Value {
    auto type =
        TileType::get(b.getContext(), {tile[0], SumSquaresTileOp::kPartialSums},
                      b.getF32Type());
    return SplatOp::create(b, loc, type, b.getF32FloatAttr(0));
  };
  /// The factors of rows, stored where they are wanted.
  auto finishRows = [&](OpBuilder &b, ValueRange views, ValueRange rows,
                        Value sums) -> Value {
    IndexBuilder kernelIndex(b, loc);
    Value factors = RstdTileOp::create(
        b, loc, cast<TileType>(sums.getType()).getRow(), sums,
        kernelIndex.dim(views[0], rank - 1), op.getEpsilonAttr());
    if (rstd)
      StoreOp::create(b, loc, factors, views[*rstd], rows);
    return factors;
  };
  auto normalize = [&](OpBuilder &b, ValueRange views, ValueRange coordinates,
                       Value x, Value factors, Value weights) {
    auto outputType = TileType::get(b.getContext(), tile,
                                    op.getOutput().getType().getElementType());
    Value y = RMSNormTileOp::create(b, loc, outputType, x, factors, weights);
    if (output)
      StoreOp::create(b, loc, y, views[*output],
                      getFirst(b, loc, coordinates, tile));
    for (const QuantizedResults &results : group)
      buildQuantized(b, views, coordinates, y, results);
  };

  // Where shared memory suffices the weight stays there from tile to tile.
  int64_t weightBits =
      op.getWeight().getType().getElementType().getIntOrFloatBitWidth();
  bool keepsWeight =
      isResident && normalizes && !inBlocks && !isNarrow &&
      std::min(tile[1], kMaxCTAColumns) * weightBits / 8 <= kMaxKeptBytes;
  Value kept;
  auto loadKept = [&](OpBuilder &b, ValueRange views) {
    IndexBuilder zero(b, loc);
    if (keepsWeight)
      kept = loadWeight(b, views, zero.constant(0));
  };
  auto buildResident = [&](OpBuilder &b, ValueRange views,
                           ValueRange coordinates) {
    IndexBuilder zero(b, loc);
    SmallVector<Value> place = getFirst(b, loc, coordinates, tile);
    auto x = LoadOp::create(b, loc, getTile(views[0], tile), views[0], place);
    x.setAhead(inBlocks && !isNarrow);
    Value weights = kept;
    if (normalizes && !kept)
      weights = loadWeight(b, views, zero.constant(0));
    Value sums = addSquares(b, x, getNoSums(b));
    Value factors = finishRows(b, views, ArrayRef(place).drop_back(), sums);
    if (normalizes)
      normalize(b, views, coordinates, x, factors, weights);
  };
  // A row that does not fit is read twice, piece by piece.
  auto buildTwice = [&](OpBuilder &b, ValueRange views, ValueRange row) {
    IndexBuilder kernelIndex(b, loc);
    Value zero = kernelIndex.constant(0), one = kernelIndex.constant(1);
    Value count =
        kernelIndex.ceildiv(kernelIndex.dim(views[0], rank - 1), tile[1]);
    auto buildLoop = [&](ValueRange carried, auto body) {
      auto loop = scf::ForOp::create(b, loc, zero, count, one, carried);
      OpBuilder::InsertionGuard guard(b);
      if (carried.empty())
        b.setInsertionPoint(loop.getBody()->getTerminator());
      else
        b.setInsertionPointToStart(loop.getBody());
      SmallVector<Value> coordinates(row);
      coordinates.push_back(loop.getInductionVar());
      Value x = LoadOp::create(b, loc, getTile(views[0], tile), views[0],
                               getFirst(b, loc, coordinates, tile));
      body(loop, coordinates, x);
      return loop;
    };
    auto sums =
        buildLoop(getNoSums(b), [&](scf::ForOp loop, ValueRange, Value x) {
          Value added = addSquares(b, x, loop.getRegionIterArgs().front());
          scf::YieldOp::create(b, loc, added);
        });
    Value factors = finishRows(b, views, row, sums.getResult(0));
    if (!normalizes)
      return;
    buildLoop({}, [&](scf::ForOp, ValueRange coordinates, Value x) {
      Value column = getFirst(b, loc, coordinates, tile).back();
      normalize(b, views, coordinates, x, factors,
                loadWeight(b, views, column));
    });
  };
  if (inBlocks || packs) {
    // Atoms have padding up to 128 rows.
    auto getTiles = [&](IndexBuilder &tiles, ValueRange tensors) {
      SmallVector<Value> bounds;
      for (int64_t i = 0; i + 2 < rank; ++i)
        bounds.push_back(tiles.dim(tensors[0], i));
      Value rows = tiles.dim(tensors[0], rank - 2);
      bounds.push_back(
          packs ? tiles.mul(tiles.ceildiv(rows, kAtomRows), kAtomRows / tile[0])
                : tiles.ceildiv(rows, tile[0]));
      bounds.push_back(tiles.constant(1));
      return bounds;
    };
    kernel.launch(kernel.build("rms_norm", getTiles, buildResident),
                  kernel.getGrid(getTiles), /*persistent=*/!isNarrow);
  } else if (isNarrow) {
    kernel.launch(kernel.build("rms_norm", 0, buildResident));
  } else if (isResident) {
    kernel.launch(kernel.build("rms_norm", 0, buildResident, loadKept),
                  tile[1] > kMaxCTAColumns ? kTilesPerCluster : kTilesPerCTA);
  } else {
    auto getRows = [&](IndexBuilder &rows, ValueRange tensors) {
      SmallVector<Value> bounds;
      for (int64_t i = 0; i + 1 < rank; ++i)
        bounds.push_back(rows.dim(tensors[0], i));
      return bounds;
    };
    kernel.launch(kernel.build("rms_norm", getRows, buildTwice),
                  index.ceildiv(kernel.getGrid(getRows), kTilesPerCTA));
  }
  for (QuantizedResults &results : group)
    results.erase();
  op.erase();
  return success();
}
