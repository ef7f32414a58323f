//===- FormElementwiseKernels.cpp - Tile programs without roles -----------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles are powers of two of whole blocks; blocked scales want those of an
// atom.
//
//===----------------------------------------------------------------------===//

#include "ElementwiseKernel.h"
#include "lpfa/Dialect/LPFA/Utils/SizeChecks.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace lpfa;

static SmallVector<int64_t> getScaleTile(ArrayRef<int64_t> tile, int64_t axis,
                                         int64_t block) {
  SmallVector<int64_t> scales(tile);
  scales[axis] /= block;
  return scales;
}

/// An error unless `axis` is one of the dimensions that kernels tile.
template <typename OpTy>
static LogicalResult verifyAxis(OpTy op, int64_t rank) {
  int64_t axis = op.getAxis();
  if (axis < rank - 2)
    return op.emitOpError("along dimension ")
           << axis << " of " << rank
           << " has no kernel yet; one of the last two has";
  if (op.getGlobalScale() && axis != rank - 1)
    return op.emitOpError("with a global scale has a kernel along the last "
                          "dimension only");
  return success();
}

/// Tiles of elements: what an atom's scales scale, unless rows are known to be
/// long and have row-major scales: then so long that those of a row fill half a
/// sector of memory.
static SmallVector<int64_t> chooseTile(RankedTensorType type, bool hasRowScales,
                                       bool hasColumnBlocks, int64_t block) {
  if (type.getRank() == 1)
    return {2048};
  int64_t columns = type.getShape().back();
  if (hasRowScales && !ShapedType::isDynamic(columns)) {
    if (columns > 256)
      return {32, 512};
    if (columns <= 64 && !hasColumnBlocks)
      return {256, 64};
  }
  return {kAtomRows, kAtomGroups * block};
}

//===----------------------------------------------------------------------===//
// Quantization
//===----------------------------------------------------------------------===//

QuantizedResults::QuantizedResults(QuantizeOp op) : op(op) {
  for (Operation *user : op.getScales().getUsers()) {
    auto pack = dyn_cast<PackScalesOp>(user);
    if (pack && getRank() > 1 && pack.getTransposed() == isColumn())
      packs.push_back(pack);
    else
      writesScales = true;
  }
}

void QuantizedResults::addOutputs(
    IndexBuilder &index, SmallVector<Value> sizes,
    function_ref<unsigned(Value, ArrayRef<Value>)> addOutput) {
  if (!op.getElements().use_empty())
    elements = addOutput(op.getElements(), sizes);
  Value &size = sizes[op.getAxis()];
  size = index.ceildiv(size, op.getBlockSize());
  if (writesScales)
    scales = addOutput(op.getScales(), sizes);
  if (packs.empty())
    return;
  Value first = packs.front().getBlocked();
  blocked = addOutput(first, getBlockedSizes(index, sizes, isColumn()));
  for (PackScalesOp pack : ArrayRef(packs).drop_front())
    pack.replaceAllUsesWith(first);
}

void QuantizedResults::erase() {
  for (PackScalesOp pack : packs)
    pack.erase();
  op.erase();
}

/// Adds what a kernel writes of a quantization.
static LogicalResult addQuantized(ElementwiseKernel &kernel,
                                  IndexBuilder &index,
                                  QuantizedResults &results) {
  QuantizeOp op = results.op;
  if (failed(kernel.checkRows(op.getElements().getType().getElementType())))
    return failure();
  results.addOutputs(index, kernel.getSizes(),
                     [&](Value result, ArrayRef<Value> sizes) {
                       return kernel.addOutput(result, sizes);
                     });
  return success();
}

void lpfa::buildQuantized(OpBuilder &b, ValueRange views,
                          ValueRange coordinates, Value x,
                          const QuantizedResults &results) {
  QuantizeOp op = results.op;
  Location loc = op.getLoc();
  MLIRContext *context = b.getContext();
  auto tile = llvm::to_vector(cast<TileType>(x.getType()).getShape());
  SmallVector<Value> place = getFirst(b, loc, coordinates, tile);
  Value globalScale;
  if (results.globalScale) {
    Value view = views[*results.globalScale];
    globalScale = LoadOp::create(b, loc, getTile(view, {}), view, ValueRange());
  }
  bool isColumn = results.isColumn();
  int64_t axis = isColumn ? 0 : int64_t(tile.size()) - 1;
  SmallVector<int64_t> scaleShape = getScaleTile(tile, axis, op.getBlockSize());
  Type scale = op.getScales().getType().getElementType();
  auto quantized = QuantizeTileOp::create(
      b, loc,
      TileType::get(context, tile, op.getElements().getType().getElementType()),
      TileType::get(context, scaleShape, scale), x, globalScale, axis,
      op.getSquare(), op.getRule());
  if (results.elements)
    StoreOp::create(b, loc, quantized.getElements(), views[*results.elements],
                    place);
  if (results.scales)
    StoreOp::create(b, loc, quantized.getScales(), views[*results.scales],
                    getFirst(b, loc, coordinates, scaleShape));
  if (!results.blocked)
    return;
  // A square's scale is also that of rows past the last.
  Value valid;
  if (op.getSquare()) {
    IndexBuilder rows(b, loc);
    int64_t dimension = results.getRank() - (isColumn ? 1 : 2);
    Value size = results.getSize ? results.getSize(rows, views, dimension)
                                 : rows.dim(views[0], dimension);
    valid = arith::SubIOp::create(b, loc, size, place[dimension]);
  }
  auto atom =
      TileType::get(context, TileType::getAtom(context).getShape(), scale);
  Value packed =
      PackAtomOp::create(b, loc, atom, quantized.getScales(), valid, isColumn);
  StoreOp::create(b, loc, packed, views[*results.blocked],
                  getAtom(b, loc, coordinates, isColumn));
}

static LogicalResult formQuantize(MutableArrayRef<QuantizedResults> group) {
  QuantizeOp first = group.front().op;
  Location loc = first.getLoc();
  RankedTensorType type = first.getInput().getType();
  auto isAlongRows = [](const QuantizedResults &results) {
    return !results.isColumn() && !QuantizeOp(results.op).getSquare();
  };
  bool isBlocked = llvm::any_of(group, [](const QuantizedResults &results) {
    return !results.packs.empty();
  });
  SmallVector<int64_t> tile =
      chooseTile(type, !isBlocked && llvm::any_of(group, isAlongRows),
                 !llvm::all_of(group, isAlongRows), first.getBlockSize());
  ElementwiseKernel kernel(first, first.getInput(), tile);
  OpBuilder builder(first);
  IndexBuilder index(builder, loc);
  if (failed(kernel.checkSizes()))
    return failure();
  kernel.addInput(first.getInput());
  for (QuantizedResults &results : group)
    if (Value globalScale = results.op.getGlobalScale())
      results.globalScale = kernel.addInput(globalScale);
  for (QuantizedResults &results : group)
    if (failed(addQuantized(kernel, index, results)))
      return failure();

  auto build = [&](OpBuilder &b, ValueRange views, ValueRange coordinates) {
    SmallVector<Value> place = getFirst(b, loc, coordinates, tile);
    Value x = LoadOp::create(b, loc, getTile(views[0], tile), views[0], place);
    for (const QuantizedResults &results : group)
      buildQuantized(b, views, coordinates, x, results);
  };
  kernel.launch(kernel.build("quantize", 0, build));
  for (QuantizedResults &results : group)
    results.erase();
  return success();
}

/// All ops of a block that quantize one tensor the same way of blocks make one
/// kernel, at the first of them.
static LogicalResult formQuantizes(ModuleOp module) {
  using Key = std::tuple<Block *, Value, int64_t>;
  llvm::MapVector<Key, SmallVector<QuantizedResults>> groups;
  SmallVector<QuantizeOp> ops, late;
  module.walk([&](QuantizeOp op) { ops.push_back(op); });
  for (QuantizeOp op : ops) {
    if (failed(verifyAxis(op, op.getInput().getType().getRank())))
      return failure();
    if (op.use_empty()) {
      op.erase();
      continue;
    }
    auto &group = groups[{op->getBlock(), op.getInput(), op.getBlockSize()}];
    // A global scale must be there before the kernel is.
    Operation *scale =
        op.getGlobalScale() ? op.getGlobalScale().getDefiningOp() : nullptr;
    if (!group.empty() && scale && scale->getBlock() == op->getBlock() &&
        !scale->isBeforeInBlock(group.front().op))
      late.push_back(op);
    else
      group.emplace_back(op);
  }
  for (auto &group : llvm::make_second_range(groups))
    if (failed(formQuantize(group)))
      return failure();
  for (QuantizeOp op : late) {
    SmallVector<QuantizedResults> alone = {QuantizedResults(op)};
    if (failed(formQuantize(alone)))
      return failure();
  }
  return success();
}

static LogicalResult formDequantize(DequantizeOp op) {
  Location loc = op.getLoc();
  RankedTensorType type = op.getElements().getType();
  int64_t rank = type.getRank();
  if (failed(verifyAxis(op, rank)))
    return failure();
  bool isColumn = rank > 1 && int64_t(op.getAxis()) == rank - 2;
  SmallVector<int64_t> tile =
      chooseTile(type, !isColumn, isColumn, op.getBlockSize());
  int64_t axis = isColumn ? 0 : int64_t(tile.size()) - 1;
  SmallVector<int64_t> scaleShape = getScaleTile(tile, axis, op.getBlockSize());
  ElementwiseKernel kernel(op, op.getElements(), tile);
  kernel.addInput(op.getElements());
  unsigned scales = kernel.addInput(op.getScales());
  std::optional<unsigned> globalScale;
  if (op.getGlobalScale())
    globalScale = kernel.addInput(op.getGlobalScale());
  if (failed(kernel.checkSizes()) ||
      failed(kernel.checkRows(type.getElementType())))
    return failure();
  OpBuilder builder(op);
  IndexBuilder index(builder, loc);
  SmallVector<Value> sizes = kernel.getSizes(), groups = sizes;
  groups[op.getAxis()] = index.ceildiv(groups[op.getAxis()], op.getBlockSize());
  for (auto [dimension, size] : llvm::enumerate(groups))
    emitCheck(builder, op,
              builder.createOrFold<arith::CmpIOp>(
                  loc, arith::CmpIPredicate::eq,
                  index.dim(op.getScales(), dimension), size),
              "expects another size of dimension " + std::to_string(dimension) +
                  " of the scales");
  unsigned output = kernel.addOutput(op.getOutput(), sizes);

  auto build = [&](OpBuilder &b, ValueRange views, ValueRange coordinates) {
    SmallVector<Value> place = getFirst(b, loc, coordinates, tile);
    Value codes =
        LoadOp::create(b, loc, getTile(views[0], tile), views[0], place);
    Value scaleTile = LoadOp::create(b, loc, getTile(views[scales], scaleShape),
                                     views[scales],
                                     getFirst(b, loc, coordinates, scaleShape));
    Value scale;
    if (globalScale)
      scale = LoadOp::create(b, loc, getTile(views[*globalScale], {}),
                             views[*globalScale], ValueRange());
    Value x = DequantizeTileOp::create(b, loc, getTile(views[output], tile),
                                       codes, scaleTile, scale, axis);
    StoreOp::create(b, loc, x, views[output], place);
  };
  kernel.launch(kernel.build("dequantize", 0, build));
  op.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Normalization
//===----------------------------------------------------------------------===//

/// The widest row that a CTA, or a cluster, has in registers.
static constexpr int64_t kMaxRow = 65536;

/// Work tiles of a CTA, for which it loads the weight once, and of a cluster,
/// whose CTAs also meet before the first. More would leave multiprocessors idle
/// at the end.
static constexpr int64_t kTilesPerCTA = 2;
static constexpr int64_t kTilesPerCluster = 4;

/// The most that a CTA keeps of it: four CTAs share a multiprocessor's memory.
static constexpr int64_t kMaxKeptBytes = 32768;

/// The most of a row that a CTA has; wider ones are shared by a cluster.
static constexpr int64_t kMaxCTAColumns = 16384;

/// A tile of whole rows: as many as 256 threads have with eight vectors of
/// eight elements each.
static SmallVector<int64_t> chooseRowTile(int64_t columns) {
  constexpr int64_t elements = 16384;
  int64_t width = std::max<int64_t>(256, llvm::PowerOf2Ceil(columns));
  // Not more than an eighth of the vectors is to be empty.
  if (columns > 2048)
    width = llvm::alignTo(columns, width / 8);
  return {std::clamp<int64_t>(elements / llvm::PowerOf2Ceil(width), 1, 8),
          width};
}

/// Normalization together with quantizations of its output along rows: then the
/// output itself is written only where something else uses it.
static LogicalResult formRMSNorm(RMSNormOp op) {
  Location loc = op.getLoc();
  RankedTensorType type = op.getInput().getType();
  int64_t rank = type.getRank(), columns = type.getShape().back();
  if (rank < 2)
    return op.emitOpError("has a kernel for tensors of two dimensions or more "
                          "only");
  SmallVector<QuantizedResults> group;
  for (Operation *user : op.getOutput().getUsers()) {
    auto quantize = dyn_cast<QuantizeOp>(user);
    if (!quantize || quantize.getSquare() || quantize.getGlobalScale() ||
        int64_t(quantize.getAxis()) != rank - 1 ||
        quantize->getBlock() != op->getBlock())
      continue;
    QuantizedResults results(quantize);
    // A CTA does not have the rows of an atom.
    results.writesScales |= !results.packs.empty();
    results.packs.clear();
    group.push_back(results);
  }
  bool isResident = !ShapedType::isDynamic(columns) && columns <= kMaxRow;
  SmallVector<int64_t> tile = {1, kMaxCTAColumns};
  if (isResident)
    tile = chooseRowTile(columns);
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
  bool isUsed = llvm::any_of(op.getOutput().getUsers(), [&](Operation *user) {
    return llvm::none_of(group, [&](const QuantizedResults &results) {
      return results.op == user;
    });
  });
  SmallVector<Value> sizes = kernel.getSizes();
  if (isUsed)
    output = kernel.addOutput(op.getOutput(), sizes);
  if (op.getRstd() && !op.getRstd().use_empty())
    rstd = kernel.addOutput(op.getRstd(), ArrayRef(sizes).drop_back());
  for (QuantizedResults &results : group)
    if (failed(addQuantized(kernel, index, results)))
      return failure();
  if (!isUsed && !rstd && group.empty()) {
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
      isResident &&
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
    Value x = LoadOp::create(b, loc, getTile(views[0], tile), views[0], place);
    Value weights = kept ? kept : loadWeight(b, views, zero.constant(0));
    Value sums = addSquares(b, x, getNoSums(b));
    Value factors = finishRows(b, views, ArrayRef(place).drop_back(), sums);
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
    buildLoop({}, [&](scf::ForOp, ValueRange coordinates, Value x) {
      Value column = getFirst(b, loc, coordinates, tile).back();
      normalize(b, views, coordinates, x, factors,
                loadWeight(b, views, column));
    });
  };
  if (isResident) {
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
    results.op.erase();
  op.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// All ops
//===----------------------------------------------------------------------===//

LogicalResult lpfa::formElementwiseKernels(ModuleOp module) {
  SmallVector<RMSNormOp> normalizations;
  module.walk([&](RMSNormOp op) { normalizations.push_back(op); });
  for (RMSNormOp op : normalizations)
    if (failed(formRMSNorm(op)))
      return failure();
  WalkResult gradients = module.walk([](RMSNormBackwardOp op) -> WalkResult {
    return op.emitOpError("has no kernel yet; the reference runs it");
  });
  if (gradients.wasInterrupted() || failed(formQuantizes(module)))
    return failure();
  WalkResult result = module.walk(
      [&](DequantizeOp op) -> WalkResult { return formDequantize(op); });
  if (result.wasInterrupted())
    return failure();
  return formScaleLayouts(module);
}
