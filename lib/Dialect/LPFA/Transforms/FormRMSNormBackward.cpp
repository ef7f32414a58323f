//===- FormRMSNormBackward.cpp - Kernels of gradients of rows -------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row that a CTA or a cluster has in registers is read once: CTA i takes the
// groups t of rows with t mod N = i, and leaves the partial sums of its
// columns. Wider rows are read twice for dx, and once more by a kernel for the
// partial sums. Another kernel sums these.
//
//===----------------------------------------------------------------------===//

#include "ElementwiseKernel.h"
#include "lpfa/Dialect/LPFA/Utils/PartialRows.h"
#include "lpfa/Dialect/LPFA/Utils/SizeChecks.h"

using namespace mlir;
using namespace lpfa;

/// The elements of a tile: as many as 256 threads have with four vectors of
/// eight elements each. Those of wider rows have up to twice as many, before
/// they are a cluster's.
static constexpr int64_t kTileElements = 8192;

/// The most that a CTA keeps of the weight: two or three share a
/// multiprocessor's memory, which also has their partial sums.
static constexpr int64_t kMaxKeptBytes = 32768;

/// The rows that a CTA reads twice, one after the other.
static constexpr int64_t kRowsPerCTA = 2;

/// The columns whose partial sums a CTA sums: 128 bytes of each row.
static constexpr int64_t kSummedColumns = 32;

/// A loop whose `body` makes the next tiles of those that it carries.
static SmallVector<Value> buildTileLoop(
    OpBuilder &b, Location loc, Value first, Value end, Value step,
    ValueRange carried,
    function_ref<SmallVector<Value>(Value number, ValueRange carried)> body) {
  auto loop = scf::ForOp::create(b, loc, first, end, step, carried);
  OpBuilder::InsertionGuard guard(b);
  if (carried.empty())
    b.setInsertionPoint(loop.getBody()->getTerminator());
  else
    b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> yielded =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!carried.empty())
    scf::YieldOp::create(b, loc, yielded);
  return SmallVector<Value>(loop.getResults());
}

/// A tile of whole rows, a group of them.
static SmallVector<int64_t> chooseGroupTile(int64_t columns) {
  int64_t width = std::max<int64_t>(256, llvm::PowerOf2Ceil(columns));
  int64_t rows = std::clamp<int64_t>(kTileElements / width, 1, 8);
  int64_t vectors = width > kTileElements ? 8 : 4;
  return {rows, int64_t(llvm::alignTo(
                    columns, std::max<int64_t>(256, width / vectors)))};
}

namespace {
/// The tiles of one place.
struct RowTiles {
  Value dy, x, rstd, weight;
};

/// The groups of rows that a tensor, or view, has.
struct RowGroups {
  RowGroups(IndexBuilder &index, Value shaped);
  /// The first row of a group, an index for each dimension but the last.
  SmallVector<Value> getPlace(Value group);

  IndexBuilder &index;
  Value shaped;
  int64_t rank;
  PartialRows partial;
  /// How many there are, of a matrix and of all; and groups of partial sums,
  /// not more than those.
  Value ofMatrix, all, used;
};

/// What the kernels of an op have in common.
class BackwardKernel : public ElementwiseKernel {
public:
  BackwardKernel(RMSNormBackwardOp op, DequantizeOp dequantize,
                 ArrayRef<int64_t> tile)
      : ElementwiseKernel(op, op.getInput(), tile), op(op),
        dequantize(dequantize), loc(op.getLoc()), tile(tile) {
    dy = addInput(dequantize ? dequantize.getElements() : op.getDy());
    if (dequantize)
      scales = addInput(dequantize.getScales());
    x = addInput(op.getInput());
    weight = addInput(op.getWeight());
    rstd = addInput(op.getRstd());
  }

  /// Without the weight.
  RowTiles load(OpBuilder &b, ValueRange views, ValueRange place);
  Value loadWeight(OpBuilder &b, ValueRange views, Value column) {
    return LoadOp::create(b, loc,
                          getTile(views[weight], ArrayRef(tile).take_back()),
                          views[weight], column);
  }
  Value getZeros(OpBuilder &b, ArrayRef<int64_t> shape) {
    IndexBuilder index(b, loc);
    return index.splat(TileType::get(b.getContext(), shape, b.getF32Type()),
                       0.0f);
  }
  Value getNoProducts(OpBuilder &b) {
    return getZeros(b, {tile[0], SumSquaresTileOp::kPartialSums});
  }
  Value addProducts(OpBuilder &b, const RowTiles &tiles, Value sums) {
    return SumProductsTileOp::create(b, loc, tiles.dy, tiles.x, tiles.rstd,
                                     tiles.weight, sums);
  }
  Value addWeightGradient(OpBuilder &b, const RowTiles &tiles, Value sums) {
    return WeightGradientTileOp::create(b, loc, tiles.dy, tiles.x, tiles.rstd,
                                        sums);
  }
  Value getMean(OpBuilder &b, ValueRange views, Value sums) {
    IndexBuilder index(b, loc);
    return MeanTileOp::create(b, loc, cast<TileType>(sums.getType()).getRow(),
                              sums, index.dim(views[x], getRank() - 1));
  }
  void storeInputGradient(OpBuilder &b, Value view, ValueRange place,
                          const RowTiles &tiles, Value mean) {
    Value dx =
        RMSNormBackwardTileOp::create(b, loc, getTile(view, tile), tiles.dy,
                                      tiles.x, tiles.rstd, mean, tiles.weight);
    StoreOp::create(b, loc, dx, view, place);
  }
  /// The numbers of arguments.
  unsigned dy, scales = 0, x, weight, rstd;

private:
  RMSNormBackwardOp op;
  DequantizeOp dequantize;
  Location loc;
  SmallVector<int64_t> tile;
};
} // namespace

/// A constant where that is known, as partial sums of resident rows are.
static Value getColumns(IndexBuilder &index, Value shaped) {
  int64_t columns = cast<ShapedType>(shaped.getType()).getShape().back();
  if (!ShapedType::isDynamic(columns))
    return index.constant(columns);
  return index.dim(shaped, cast<ShapedType>(shaped.getType()).getRank() - 1);
}

RowGroups::RowGroups(IndexBuilder &index, Value shaped)
    : index(index), shaped(shaped),
      rank(cast<ShapedType>(shaped.getType()).getRank()),
      partial(getPartialRows(index.getBuilder(), index.getLoc(),
                             getColumns(index, shaped))) {
  ofMatrix = index.ceildiv(index.dim(shaped, rank - 2), partial.neighbors);
  all = ofMatrix;
  for (int64_t i = 0; i < rank - 2; ++i)
    all = index.mul(all, index.dim(shaped, i));
  used = index.min(all, partial.groups);
}

SmallVector<Value> RowGroups::getPlace(Value group) {
  SmallVector<Value> place(rank - 1);
  Value rest = group, size = ofMatrix;
  for (int64_t i = rank - 2; i > 0; --i) {
    place[i] = index.rem(rest, size);
    rest = index.div(rest, size);
    size = index.dim(shaped, i - 1);
  }
  place[0] = rest;
  place.back() = index.mul(place.back(), partial.neighbors);
  return place;
}

RowTiles BackwardKernel::load(OpBuilder &b, ValueRange views,
                              ValueRange place) {
  // All loads before the first use, which may wait for all threads.
  RowTiles tiles;
  tiles.x = LoadOp::create(b, loc, getTile(views[x], tile), views[x], place);
  tiles.dy = LoadOp::create(b, loc, getTile(views[dy], tile), views[dy], place);
  tiles.rstd =
      LoadOp::create(b, loc, getTile(views[rstd], ArrayRef(tile).take_front()),
                     views[rstd], place.drop_back());
  if (dequantize) {
    IndexBuilder index(b, loc);
    SmallVector<Value> first(place);
    first.back() = index.div(first.back(), index.constant(kBlockSize));
    Value ofBlocks = LoadOp::create(
        b, loc, getTile(views[scales], {tile[0], tile[1] / kBlockSize}),
        views[scales], first);
    auto type = TileType::get(b.getContext(), tile,
                              op.getDy().getType().getElementType());
    tiles.dy = DequantizeTileOp::create(b, loc, type, tiles.dy, ofBlocks,
                                        /*globalScale=*/Value(), /*axis=*/1);
  }
  return tiles;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Both gradients of rows that lie in registers, each where it is used. That of
/// the weight is left in partial sums, which are the result.
static Value formResident(BackwardKernel &kernel, RMSNormBackwardOp op,
                          ArrayRef<int64_t> tile) {
  OpBuilder builder(op);
  IndexBuilder index(builder, op.getLoc());
  RowGroups groups(index, op.getInput());
  std::optional<unsigned> dx, partial;
  if (!op.getDx().use_empty())
    dx = kernel.addOutput(op.getDx(), kernel.getSizes());
  if (!op.getDweight().use_empty())
    partial =
        kernel.addTemporary({index.mul(groups.used, groups.partial.neighbors),
                             kernel.getSizes().back()});

  auto getBounds = [&](IndexBuilder &index, ValueRange tensors) {
    return SmallVector<Value>{RowGroups(index, tensors[kernel.x]).used};
  };
  int64_t keptBytes = std::min(tile[0] * tile[1], 2 * kTileElements) *
                      op.getWeight().getType().getElementTypeBitWidth() / 8;
  Value weight;
  auto loadKept = [&](OpBuilder &b, ValueRange views) {
    IndexBuilder index(b, op.getLoc());
    if (dx && keptBytes <= kMaxKeptBytes)
      weight = kernel.loadWeight(b, views, index.constant(0));
  };
  auto build = [&](OpBuilder &b, ValueRange views, ValueRange coordinates) {
    IndexBuilder index(b, op.getLoc());
    RowGroups groups(index, views[kernel.x]);
    Value zero = index.constant(0);
    SmallVector<Value> carried;
    if (partial)
      carried.push_back(kernel.getZeros(b, tile));
    SmallVector<Value> sums = buildTileLoop(
        b, op.getLoc(), coordinates[0], groups.all, groups.partial.groups,
        carried, [&](Value group, ValueRange carried) {
          SmallVector<Value> place = groups.getPlace(group), results;
          place.push_back(zero);
          RowTiles tiles = kernel.load(b, views, place);
          if (partial)
            results.push_back(
                kernel.addWeightGradient(b, tiles, carried.front()));
          if (dx) {
            tiles.weight = weight ? weight : kernel.loadWeight(b, views, zero);
            Value products =
                kernel.addProducts(b, tiles, kernel.getNoProducts(b));
            kernel.storeInputGradient(b, views[*dx], place, tiles,
                                      kernel.getMean(b, views, products));
          }
          return results;
        });
    if (partial)
      StoreOp::create(
          b, op.getLoc(), sums.front(), views[*partial],
          ValueRange{index.mul(coordinates[0], groups.partial.neighbors),
                     zero});
  };
  LaunchOp launch = kernel.launch(
      kernel.build("rms_norm_backward", getBounds, build, loadKept),
      groups.used);
  return partial ? launch.getResults().back() : Value();
}

/// The gradient of rows that are read twice, piece by piece.
static void formInputGradient(BackwardKernel &kernel, RMSNormBackwardOp op,
                              ArrayRef<int64_t> tile) {
  OpBuilder builder(op);
  IndexBuilder index(builder, op.getLoc());
  unsigned dx = kernel.addOutput(op.getDx(), kernel.getSizes());
  int64_t rank = kernel.getRank();
  auto getBounds = [&](IndexBuilder &index, ValueRange tensors) {
    SmallVector<Value> rows;
    for (int64_t i = 0; i + 1 < rank; ++i)
      rows.push_back(index.dim(tensors[kernel.x], i));
    return rows;
  };
  auto build = [&](OpBuilder &b, ValueRange views, ValueRange row) {
    IndexBuilder index(b, op.getLoc());
    Value count = index.ceildiv(index.dim(views[kernel.x], rank - 1), tile[1]);
    auto buildPieces = [&](ValueRange carried, auto body) {
      return buildTileLoop(
          b, op.getLoc(), index.constant(0), count, index.constant(1), carried,
          [&](Value number, ValueRange carried) {
            SmallVector<Value> place(row);
            place.push_back(index.mul(number, tile[1]));
            RowTiles tiles = kernel.load(b, views, place);
            tiles.weight = kernel.loadWeight(b, views, place.back());
            return body(tiles, place, carried);
          });
    };
    SmallVector<Value> sums =
        buildPieces(kernel.getNoProducts(b),
                    [&](const RowTiles &tiles, ValueRange, ValueRange carried) {
                      return SmallVector<Value>{
                          kernel.addProducts(b, tiles, carried.front())};
                    });
    Value mean = kernel.getMean(b, views, sums.front());
    buildPieces({}, [&](const RowTiles &tiles, ValueRange place, ValueRange) {
      kernel.storeInputGradient(b, views[dx], place, tiles, mean);
      return SmallVector<Value>();
    });
  };
  kernel.launch(kernel.build("rms_norm_backward", getBounds, build),
                index.ceildiv(kernel.getGrid(getBounds), kRowsPerCTA));
}

/// The partial sums of pieces of such rows.
static Value formPartialSums(BackwardKernel &kernel, RMSNormBackwardOp op,
                             ArrayRef<int64_t> tile) {
  int64_t rank = kernel.getRank();
  auto getSizes = [&](IndexBuilder &index, Value shaped) {
    RowGroups groups(index, shaped);
    return SmallVector<Value>{index.mul(groups.used, groups.partial.neighbors),
                              index.dim(shaped, rank - 1)};
  };
  OpBuilder builder(op);
  IndexBuilder index(builder, op.getLoc());
  unsigned partial = kernel.addTemporary(getSizes(index, op.getInput()));
  auto getBounds = [&](IndexBuilder &index, ValueRange tensors) {
    SmallVector<Value> bounds = getSizes(index, tensors[kernel.x]);
    bounds.back() = index.ceildiv(bounds.back(), tile[1]);
    return bounds;
  };
  auto build = [&](OpBuilder &b, ValueRange views, ValueRange coordinates) {
    IndexBuilder index(b, op.getLoc());
    RowGroups groups(index, views[kernel.x]);
    Value row = coordinates[0], column = index.mul(coordinates[1], tile[1]);
    SmallVector<Value> sums = buildTileLoop(
        b, op.getLoc(), index.div(row, groups.partial.neighbors), groups.all,
        groups.partial.groups, kernel.getZeros(b, tile),
        [&](Value group, ValueRange carried) {
          SmallVector<Value> place = groups.getPlace(group);
          place.back() =
              index.add(place.back(), index.rem(row, groups.partial.neighbors));
          place.push_back(column);
          RowTiles tiles = kernel.load(b, views, place);
          return SmallVector<Value>{
              kernel.addWeightGradient(b, tiles, carried.front())};
        });
    StoreOp::create(b, op.getLoc(), sums.front(), views[partial],
                    ValueRange{row, column});
  };
  return kernel
      .launch(kernel.build("weight_gradient", getBounds, build),
              kernel.getGrid(getBounds))
      .getResults()
      .back();
}

/// The gradient of the weight from its partial sums.
static void formColumnSums(RMSNormBackwardOp op, Value partial) {
  SmallVector<int64_t> tile = {RMSNormBackwardOp::kColumnSums, kSummedColumns};
  ElementwiseKernel kernel(op, partial, tile);
  kernel.addInput(partial);
  unsigned output = kernel.addOutput(op.getDweight(), kernel.getSizes().back());
  auto getBounds = [&](IndexBuilder &index, ValueRange tensors) {
    return SmallVector<Value>{index.ceildiv(index.dim(tensors[0], 1), tile[1])};
  };
  auto build = [&](OpBuilder &b, ValueRange views, ValueRange coordinates) {
    Location loc = op.getLoc();
    IndexBuilder index(b, loc);
    Value column = index.mul(coordinates[0], tile[1]);
    TileType type = getTile(views[0], tile);
    SmallVector<Value> sums = buildTileLoop(
        b, loc, index.constant(0),
        index.ceildiv(index.dim(views[0], 0), tile[0]), index.constant(1),
        index.splat(type, 0.0f), [&](Value number, ValueRange carried) {
          Value rows =
              LoadOp::create(b, loc, type, views[0],
                             ValueRange{index.mul(number, tile[0]), column});
          return SmallVector<Value>{
              AddTileOp::create(b, loc, carried.front(), rows)};
        });
    auto columns = getTile(views[output], ArrayRef(tile).take_back());
    Value result = SumColumnsTileOp::create(b, loc, columns, sums.front());
    StoreOp::create(b, loc, result, views[output], column);
  };
  kernel.launch(kernel.build("sum_columns", getBounds, build),
                kernel.getGrid(getBounds));
}

//===----------------------------------------------------------------------===//
// The op
//===----------------------------------------------------------------------===//

/// Asserts sizes that the types leave open.
static void checkOperands(RMSNormBackwardOp op, Value dy) {
  OpBuilder builder(op);
  IndexBuilder index(builder, op.getLoc());
  int64_t rank = op.getInput().getType().getRank();
  auto check = [&](Value tensor, int64_t dimension, int64_t ofInput,
                   StringRef what) {
    emitCheck(builder, op,
              builder.createOrFold<arith::CmpIOp>(
                  op.getLoc(), arith::CmpIPredicate::eq,
                  index.dim(tensor, dimension),
                  index.dim(op.getInput(), ofInput)),
              "expects another size of dimension " + std::to_string(dimension) +
                  " of " + what.str());
  };
  for (int64_t i = 0; i < rank; ++i)
    check(dy, i, i, "dy");
  check(op.getWeight(), 0, rank - 1, "the weight");
  for (int64_t i = 0; i + 1 < rank; ++i)
    check(op.getRstd(), i, i, "rstd");
}

LogicalResult lpfa::formRMSNormBackward(RMSNormBackwardOp op) {
  RankedTensorType type = op.getInput().getType();
  int64_t rank = type.getRank(), columns = type.getShape().back();
  if (rank < 2)
    return op.emitOpError("has a kernel for tensors of two dimensions or more "
                          "only");
  // A gradient that comes quantized along rows is not written.
  auto dequantize = op.getDy().getDefiningOp<DequantizeOp>();
  if (dequantize && (dequantize.getGlobalScale() ||
                     int64_t(dequantize.getAxis()) != rank - 1))
    dequantize = nullptr;
  checkOperands(op, dequantize ? dequantize.getElements() : op.getDy());
  bool isResident = !ShapedType::isDynamic(columns) && columns <= kMaxRow;
  SmallVector<int64_t> tile = {1, kTileElements};
  if (isResident)
    tile = chooseGroupTile(columns);
  BackwardKernel kernel(op, dequantize, tile);
  if (failed(kernel.checkSizes()) ||
      (dequantize && failed(checkDequantize(kernel, dequantize))))
    return failure();

  bool hasDx = !op.getDx().use_empty(),
       hasDweight = !op.getDweight().use_empty();
  Value partial;
  if (isResident && (hasDx || hasDweight)) {
    partial = formResident(kernel, op, tile);
  } else {
    if (hasDx)
      formInputGradient(kernel, op, tile);
    BackwardKernel sums(op, dequantize, tile);
    if (hasDweight)
      partial = formPartialSums(sums, op, tile);
  }
  if (partial)
    formColumnSums(op, partial);
  op.erase();
  if (dequantize && dequantize.use_empty())
    dequantize.erase();
  return success();
}
