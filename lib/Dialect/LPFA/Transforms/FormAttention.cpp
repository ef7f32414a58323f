//===- FormAttention.cpp - The tile program of attention ------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementwiseKernel.h"
#include "lpfa/Dialect/LPFA/Utils/SizeChecks.h"
#include "lpfa/Target/TargetModel.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <limits>

using namespace mlir;
using namespace lpfa;

/// What the kernel path cannot do yet is an error that says so.
static LogicalResult verifySupported(AttentionOp op) {
  if (op.isJagged())
    return op.emitOpError(
        "with offsets has no kernel yet; the reference runs it");
  auto isSupported = [](Type type) {
    return isa<Float8E4M3FNType, Float8E5M2Type>(type);
  };
  for (Value operand : {op.getQ(), op.getK(), op.getV()}) {
    Type element = cast<RankedTensorType>(operand.getType()).getElementType();
    if (!isSupported(element))
      return op.emitOpError("over ")
             << element << " has no kernel yet; f8E4M3FN and f8E5M2 have one";
  }
  if (!isSupported(op.getPScale().getElement()))
    return op.emitOpError("with probabilities in ")
           << op.getPScale().getElement()
           << " has no kernel yet; f8E4M3FN and f8E5M2 have one";
  for (int64_t dimension : {op.getHeadDim(), op.getValueHeadDim()})
    if (dimension % 16 || dimension > 2 * kAtomRows)
      return op.emitOpError("with head dimension ")
             << dimension
             << " has no kernel; multiples of 16 up to 256 have one";
  return success();
}

static LogicalResult checkCoordinates(OpBuilder &builder, AttentionOp op,
                                      int64_t tileRows) {
  IndexBuilder index(builder, op.getLoc());
  Value batch = index.dim(op.getQ(), 0), heads = index.dim(op.getQ(), 1),
        rows = index.dim(op.getQ(), 2), keys = index.dim(op.getK(), 2);
  // Products of sizes that have passed do not wrap.
  Value sequences = index.mul(batch, heads);
  Value tiles = index.mul(sequences, index.ceildiv(rows, tileRows));
  return checkCountable(builder, op,
                        {batch, heads, rows, keys, sequences, tiles});
}

namespace {
/// A part of a head dimension, as wide as an atom of scales covers.
struct Panel {
  int64_t column, width;
};

/// Writes the tile program of one op.
class AttentionKernelBuilder {
public:
  AttentionKernelBuilder(AttentionOp op, KernelOp kernel, int64_t queryTiles,
                         int64_t keyTile);
  void build(bool longestFirst);

private:
  /// A query tile: Q with its scales, and where its rows begin.
  struct Queries {
    SmallVector<Value> tiles, scales;
    Value row;
  };
  /// Keys or values of a step.
  struct Operand {
    SmallVector<Value> tiles, scales;
  };

  /// Begins the loop over work tiles; the coordinates of batch, head and rows.
  SmallVector<Value> beginWork(bool longestFirst);
  Queries loadQueries(ValueRange coordinates, int64_t i);
  void buildStep(scf::ForOp loop, ArrayRef<Queries> queries, Value b,
                 Value kvHead);
  void buildEnd(ValueRange state, const Queries &queries, Value b, Value h);

  TileType tileOf(Value view, int64_t rows, int64_t columns) {
    return TileType::get(op.getContext(), {rows, columns},
                         cast<ViewType>(view.getType()).getElementType());
  }
  TileType getSums(int64_t columns) {
    return TileType::get(op.getContext(), {rowTile, columns},
                         builder.getF32Type());
  }
  Value load(TileType type, Value view, ValueRange indices) {
    return LoadOp::create(builder, loc, type, view, indices);
  }
  /// The atom of a view of scales at (i, j) of its blocks.
  Value loadAtom(Value view, Value batch, Value head, Value i, Value j) {
    return load(TileType::getAtom(op.getContext()), view,
                {batch, head, i, j, zero, zero, zero});
  }
  /// Values that pass through the loop for each query tile: an output a panel,
  /// then M, l and the largest score.
  int64_t getStateSize() const { return valuePanels.size() + 3; }

  static constexpr int64_t rowTile = TargetModel::mmaRows;

  AttentionOp op;
  OpBuilder builder;
  Location loc;
  IndexBuilder index;
  int64_t queryTiles, keyTile;
  SmallVector<Panel> keyPanels, valuePanels;
  Value q, qScales, k, kScales, v, vScales, output, lse;
  Value zero, rows, keys;
};
} // namespace

/// The panels of a head dimension. Products sum over multiples of 32; what is
/// beyond the tensor is read as 0.
static SmallVector<Panel> getPanels(int64_t dimension) {
  SmallVector<Panel> panels;
  for (int64_t column = 0; column < dimension; column += kAtomRows)
    panels.push_back({column, std::min<int64_t>(
                                  llvm::alignTo(dimension - column, kBlockSize),
                                  kAtomRows)});
  return panels;
}

AttentionKernelBuilder::AttentionKernelBuilder(AttentionOp op, KernelOp kernel,
                                               int64_t queryTiles,
                                               int64_t keyTile)
    : op(op), builder(OpBuilder::atBlockBegin(&kernel.getBody().front())),
      loc(op.getLoc()), index(builder, loc), queryTiles(queryTiles),
      keyTile(keyTile), keyPanels(getPanels(op.getHeadDim())),
      valuePanels(getPanels(op.getValueHeadDim())) {
  Block::BlockArgListType views = kernel.getBody().getArguments();
  q = views[0], qScales = views[1], k = views[2], kScales = views[3],
  v = views[4], vScales = views[5], output = views[6], lse = views[7];
}

void AttentionKernelBuilder::build(bool longestFirst) {
  zero = index.constant(0);
  Value one = index.constant(1);
  rows = index.dim(q, 2), keys = index.dim(k, 2);
  Value group = index.div(index.dim(q, 1), index.dim(k, 1));
  SmallVector<Value> coordinates = beginWork(longestFirst);
  Value b = coordinates[0], h = coordinates[1];
  Value kvHead = index.div(h, group);
  Value firstRow = index.mul(coordinates[2], rowTile * queryTiles);
  auto range = KeyRangeOp::create(builder, loc, firstRow, rowTile * queryTiles,
                                  rows, keys, keyTile, op.getMask());

  SmallVector<Queries> queries;
  SmallVector<Value> initial;
  const float infinity = std::numeric_limits<float>::infinity();
  auto row = TileType::get(op.getContext(), {rowTile}, builder.getF32Type());
  for (int64_t i = 0; i < queryTiles; ++i) {
    queries.push_back(loadQueries(coordinates, i));
    for (const Panel &panel : valuePanels)
      initial.push_back(index.splat(getSums(panel.width), 0));
    for (float value : {-infinity, 0.0f, -infinity})
      initial.push_back(index.splat(row, value));
  }
  auto loop = scf::ForOp::create(builder, loc, range.getFirst(),
                                 range.getLast(), one, initial);
  buildStep(loop, queries, b, kvHead);
  for (auto [i, tile] : llvm::enumerate(queries))
    buildEnd(loop.getResults().slice(i * getStateSize(), getStateSize()), tile,
             b, h);
}

SmallVector<Value> AttentionKernelBuilder::beginWork(bool longestFirst) {
  Value rowTiles = index.ceildiv(rows, rowTile * queryTiles);
  SmallVector<Value> bounds = {index.dim(q, 0), index.dim(q, 1), rowTiles};
  // The persistent grid takes work tiles in order: what is left for the end
  // should be short, where not all are as long.
  bool isDescending = longestFirst && op.getMask().hasRightBound() &&
                      !op.getMask().hasLeftBound();
  if (isDescending)
    std::rotate(bounds.begin(), bounds.end() - 1, bounds.end());
  SmallVector<Value> coordinates(lpfa::beginWork(builder, loc, bounds));
  if (isDescending) {
    std::rotate(coordinates.begin(), coordinates.begin() + 1,
                coordinates.end());
    coordinates[2] = arith::SubIOp::create(
        builder, loc, index.add(rowTiles, -1), coordinates[2]);
  }
  return coordinates;
}

AttentionKernelBuilder::Queries
AttentionKernelBuilder::loadQueries(ValueRange coordinates, int64_t i) {
  Value b = coordinates[0], h = coordinates[1], rowTileIndex = coordinates[2];
  Queries queries;
  queries.row =
      index.add(index.mul(rowTileIndex, rowTile * queryTiles), i * rowTile);
  Value atomRow = index.add(index.mul(rowTileIndex, queryTiles), i);
  // A query tile wholly past the last row reads the last atom of scales.
  if (i > 0)
    atomRow = arith::MinUIOp::create(builder, loc, atomRow,
                                     index.add(index.dim(qScales, 2), -1));
  for (auto [n, panel] : llvm::enumerate(keyPanels)) {
    queries.tiles.push_back(
        load(tileOf(q, rowTile, panel.width), q,
             {b, h, queries.row, index.constant(panel.column)}));
    queries.scales.push_back(
        loadAtom(qScales, b, h, atomRow, index.constant(n)));
  }
  return queries;
}

/// Whether an atom holds the scales of several tiles of keys.
static bool sharesAtoms(int64_t keyTile) {
  return keyTile < kAtomRows && kAtomRows % keyTile == 0;
}

void AttentionKernelBuilder::buildStep(scf::ForOp loop,
                                       ArrayRef<Queries> queries, Value b,
                                       Value kvHead) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value n = loop.getInductionVar();
  Value key = index.mul(n, keyTile);
  Value left = arith::SubIOp::create(builder, loc, keys, key);
  // Where atoms of scales hold several tiles: the atom, and the place in it.
  Value keyAtom = n, from;
  if (sharesAtoms(keyTile)) {
    Value size = index.constant(kAtomRows);
    keyAtom = index.div(key, size);
    from = builder.createOrFold<arith::RemUIOp>(loc, key, size);
  }
  Operand keyOperand, valueOperand;
  for (auto [i, panel] : llvm::enumerate(keyPanels)) {
    keyOperand.tiles.push_back(
        load(tileOf(k, keyTile, panel.width), k,
             {b, kvHead, key, index.constant(panel.column)}));
    keyOperand.scales.push_back(
        loadAtom(kScales, b, kvHead, keyAtom, index.constant(i)));
  }
  for (auto [i, panel] : llvm::enumerate(valuePanels)) {
    valueOperand.tiles.push_back(
        load(tileOf(v, keyTile, panel.width), v,
             {b, kvHead, key, index.constant(panel.column)}));
    valueOperand.scales.push_back(
        loadAtom(vScales, b, kvHead, index.constant(i), keyAtom));
  }

  SmallVector<Value> next;
  TileType scoresType = getSums(keyTile);
  auto row = scoresType.getRow();
  auto probabilitiesType = TileType::get(op.getContext(), scoresType.getShape(),
                                         op.getPScale().getElement());
  for (auto [i, tile] : llvm::enumerate(queries)) {
    ValueRange state =
        loop.getRegionIterArgs().slice(i * getStateSize(), getStateSize());
    ValueRange sums = state.drop_back(3), rest = state.take_back(3);
    Value scores;
    for (size_t p = 0; p < keyPanels.size(); ++p)
      scores = DotOp::create(builder, loc, scoresType, tile.tiles[p],
                             keyOperand.tiles[p], tile.scales[p],
                             keyOperand.scales[p], /*accumulator=*/scores,
                             /*valid=*/Value(), from, /*transpose_b=*/true);
    Value masked = ApplyMaskOp::create(builder, loc, scoresType, scores,
                                       tile.row, key, rows, keys, op.getMask());
    auto step = SoftmaxStepOp::create(
        builder, loc,
        TypeRange{probabilitiesType, TileType::getAtom(op.getContext()), row,
                  row, row, row},
        masked, rest[0], rest[1], rest[2], op.getScaleAttr(), op.getPScale());
    for (auto [p, sum] : llvm::enumerate(sums)) {
      Value rescaled =
          RescaleOp::create(builder, loc, sum.getType(), sum, step.getFactor());
      next.push_back(DotOp::create(
          builder, loc, sum.getType(), step.getProbabilities(),
          valueOperand.tiles[p], step.getScales(), valueOperand.scales[p],
          rescaled, left, from, /*transpose_b=*/false));
    }
    next.append({step.getNewMaximum(), step.getNewSum(), step.getNewLargest()});
  }
  scf::YieldOp::create(builder, loc, next);
}

void AttentionKernelBuilder::buildEnd(ValueRange state, const Queries &queries,
                                      Value b, Value h) {
  ValueRange rest = state.take_back(3);
  Type row = rest[0].getType();
  auto finish =
      SoftmaxFinishOp::create(builder, loc, row, row, rest[0], rest[1], rest[2],
                              op.getScaleAttr(), op.getPScale());
  for (auto [sum, panel] : llvm::zip_equal(state.drop_back(3), valuePanels)) {
    Value normalized =
        NormalizeOp::create(builder, loc, tileOf(output, rowTile, panel.width),
                            sum, finish.getDenominator());
    StoreOp::create(
        builder, loc, normalized, output,
        ValueRange{b, h, queries.row, index.constant(panel.column)});
  }
  StoreOp::create(builder, loc, finish.getLse(), lse,
                  ValueRange{b, h, queries.row});
}

LogicalResult lpfa::checkAttentionTiles(Operation *op, int64_t queryTiles,
                                        int64_t keyTile) {
  if (queryTiles != 1 && queryTiles != 2)
    return op->emitError("query-tiles must be 1 or 2, not ") << queryTiles;
  if (keyTile < 32 || keyTile > 128 || keyTile % 32)
    return op->emitError("key-tile must be 32, 64, 96 or 128, not ") << keyTile;
  return success();
}

/// Packs the row-major scales of keys or values so that each tile of `keyTile`
/// keys has atoms of its own. The rest of an atom is the next tile's, which no
/// product reads.
static FailureOr<Value> packTileScales(AttentionOp op, Value scales,
                                       bool isAlongKeys, int64_t keyTile) {
  Location loc = op.getLoc();
  OpBuilder builder(op);
  auto type = cast<RankedTensorType>(scales.getType());
  // What an atom covers of the last two dimensions, and from where the next
  // begins.
  SmallVector<int64_t> tile = {kAtomRows, kAtomGroups};
  SmallVector<int64_t> step = {keyTile, kAtomGroups};
  if (isAlongKeys) {
    std::swap(tile[0], tile[1]);
    step = {keyTile / kBlockSize, kAtomRows};
  }
  auto getCounts = [&](IndexBuilder &index, Value tensorOrView) {
    SmallVector<Value> counts = {index.dim(tensorOrView, 0),
                                 index.dim(tensorOrView, 1)};
    for (int64_t i : {0, 1})
      counts.push_back(index.ceildiv(index.dim(tensorOrView, 2 + i), step[i]));
    return counts;
  };
  auto getOrder = [&](SmallVector<Value> coordinates) {
    if (isAlongKeys)
      std::swap(coordinates[2], coordinates[3]);
    return coordinates;
  };

  IndexBuilder index(builder, loc);
  SmallVector<Value> counts = getCounts(index, scales);
  Value grid = index.constant(1);
  for (Value count : counts)
    grid = index.mul(grid, count);
  if (failed(checkCountable(builder, op, {grid})))
    return failure();
  TileType atom = TileType::getAtom(op.getContext());
  SmallVector<int64_t> shape;
  SmallVector<Value> open;
  for (Value count : getOrder(counts)) {
    std::optional<int64_t> known = getConstantIntValue(count);
    shape.push_back(known.value_or(ShapedType::kDynamic));
    if (!known)
      open.push_back(count);
  }
  llvm::append_range(shape, atom.getShape());
  auto packedType = RankedTensorType::get(shape, type.getElementType());

  KernelOp kernel = createKernel(op, "pack_tile_scales", {type, packedType});
  {
    OpBuilder::InsertionGuard guard(builder);
    Block &block = kernel.getBody().front();
    builder.setInsertionPointToStart(&block);
    IndexBuilder index(builder, loc);
    SmallVector<Value> bounds = getCounts(index, block.getArgument(0));
    SmallVector<Value> coordinates(beginWork(builder, loc, bounds));
    SmallVector<Value> first(coordinates);
    for (int64_t i : {0, 1})
      first[2 + i] = index.mul(first[2 + i], step[i]);
    Value rows = LoadOp::create(
        builder, loc,
        TileType::get(op.getContext(), tile, type.getElementType()),
        block.getArgument(0), first);
    Value packed = PackAtomOp::create(builder, loc, atom, rows,
                                      /*valid=*/Value(), isAlongKeys);
    SmallVector<Value> place = getOrder(coordinates);
    place.append(3, index.constant(0));
    StoreOp::create(builder, loc, packed, block.getArgument(1), place);
  }
  Value destination = tensor::EmptyOp::create(builder, loc, packedType, open);
  return LaunchOp::create(builder, loc, packedType,
                          FlatSymbolRefAttr::get(kernel.getSymNameAttr()), grid,
                          /*persistent=*/false, scales, destination)
      .getResult(0);
}

/// Row-major scales of keys or values that came blocked.
static Value unpackScales(AttentionOp op, Value operand, Value blocked,
                          bool isAlongKeys) {
  Location loc = op.getLoc();
  OpBuilder builder(op);
  IndexBuilder index(builder, loc);
  auto type = cast<RankedTensorType>(operand.getType());
  SmallVector<int64_t> shape(type.getShape());
  int64_t &size = shape[isAlongKeys ? 2 : 3];
  if (!ShapedType::isDynamic(size))
    size = llvm::divideCeil(size, kBlockSize);
  SmallVector<Value> open;
  if (ShapedType::isDynamic(shape[2])) {
    Value keys = index.dim(operand, 2);
    open.push_back(isAlongKeys ? index.ceildiv(keys, kBlockSize) : keys);
  }
  auto scales = cast<RankedTensorType>(blocked.getType());
  return UnpackScalesOp::create(
      builder, loc, RankedTensorType::get(shape, scales.getElementType()),
      blocked, open, isAlongKeys);
}

LogicalResult lpfa::formAttention(AttentionOp op, int64_t queryTiles,
                                  int64_t keyTile, bool longestFirst) {
  if (failed(verifySupported(op)))
    return failure();
  auto schedule = op->getAttrOfType<ScheduleAttr>("lpfa.schedule");
  if (schedule) {
    queryTiles = schedule.getQueryTiles();
    keyTile = schedule.getKeyTile();
  }
  if (failed(checkAttentionTiles(op, queryTiles, keyTile)))
    return failure();
  OpBuilder builder(op);
  emitSizeChecks(builder, op);
  if (failed(checkCoordinates(builder, op, TargetModel::mmaRows * queryTiles)))
    return failure();
  auto pack = [&](Value scales, bool transposed) {
    return AttentionOp::isBlocked(scales)
               ? scales
               : packScales(builder, op.getLoc(), scales, transposed);
  };
  // Scales of keys and values, where tiles straddle the usual atoms.
  auto packKeys = [&](Value operand, Value scales,
                      bool isAlongKeys) -> FailureOr<Value> {
    if (kAtomRows % keyTile == 0)
      return pack(scales, isAlongKeys);
    if (AttentionOp::isBlocked(scales))
      scales = unpackScales(op, operand, scales, isAlongKeys);
    return packTileScales(op, scales, isAlongKeys, keyTile);
  };
  Value qScales = pack(op.getQScales(), false);
  FailureOr<Value> kScales = packKeys(op.getK(), op.getKScales(), false),
                   vScales = packKeys(op.getV(), op.getVScales(), true);
  if (failed(kScales) || failed(vScales))
    return failure();
  SmallVector<Value> inputs = {op.getQ(), qScales,   op.getK(),
                               *kScales,  op.getV(), *vScales};
  SmallVector<Type> tensors(ValueRange(inputs).getTypes());
  llvm::append_range(tensors, op.getResultTypes());
  KernelOp kernel = createKernel(op, "kernel", tensors);
  AttentionKernelBuilder(op, kernel, queryTiles, keyTile).build(longestFirst);
  if (schedule)
    kernel->setAttr("lpfa.schedule", schedule);

  IndexBuilder index(builder, op.getLoc());
  SmallVector<Value> sizes = {index.dim(op.getQ(), 0), index.dim(op.getQ(), 1),
                              index.dim(op.getQ(), 2),
                              index.constant(op.getValueHeadDim())};
  Value grid =
      index.mul(index.mul(sizes[0], sizes[1]),
                index.ceildiv(sizes[2], TargetModel::mmaRows * queryTiles));
  SmallVector<Value> outputs = {
      createDestination(builder, op.getOutput(), sizes),
      createDestination(builder, op.getLse(), ArrayRef(sizes).take_front(3))};
  auto launch =
      LaunchOp::create(builder, op.getLoc(), op.getResultTypes(),
                       FlatSymbolRefAttr::get(kernel.getSymNameAttr()), grid,
                       /*persistent=*/true, inputs, outputs);
  op.replaceAllUsesWith(launch);
  op.erase();
  return success();
}
