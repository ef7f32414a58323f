//===- FormKernels.cpp - Tile programs for tensor-level ops ---------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormKernels.h"
#include "ElementwiseKernel.h"
#include "lpfa/Analysis/CostModel.h"
#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "lpfa/Dialect/LPFA/Transforms/Passes.h"
#include "lpfa/Dialect/LPFA/Utils/SizeChecks.h"
#include "lpfa/Target/TargetModel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <limits>

namespace lpfa {
#define GEN_PASS_DEF_FORMKERNELS
#include "lpfa/Dialect/LPFA/Transforms/Passes.h.inc"
} // namespace lpfa

using namespace mlir;
using namespace lpfa;

namespace {
struct FormKernels : public lpfa::impl::FormKernelsBase<FormKernels> {
  using FormKernelsBase::FormKernelsBase;
  void runOnOperation() override;

private:
  LogicalResult formAttention(AttentionOp op);

  KernelOp buildAttentionKernel(AttentionOp op, TypeRange tensors,
                                int64_t queryTiles, int64_t keyTile);
};
} // namespace

//===----------------------------------------------------------------------===//
// Kernels and launches
//===----------------------------------------------------------------------===//

KernelOp lpfa::createKernel(Operation *user, StringRef name,
                            TypeRange tensors) {
  auto function = user->getParentOfType<func::FuncOp>();
  MLIRContext *context = user->getContext();
  OpBuilder builder(function);
  auto kernel = KernelOp::create(
      builder, user->getLoc(), (function.getName() + "_" + name).str(),
      Stage::Tile, IntegerAttr(), IntegerAttr(), IntegerAttr());
  Block &body = kernel.getBody().emplaceBlock();
  for (Type type : tensors) {
    auto tensor = cast<RankedTensorType>(type);
    body.addArgument(
        ViewType::get(context, tensor.getShape(), tensor.getElementType()),
        user->getLoc());
  }
  SymbolTable(function->getParentOp()).insert(kernel);
  return kernel;
}

Value lpfa::createDestination(OpBuilder &builder, Value result,
                              ArrayRef<Value> sizes) {
  auto type = cast<RankedTensorType>(result.getType());
  SmallVector<Value> dynamic;
  for (auto [dimension, size] : llvm::enumerate(sizes))
    if (type.isDynamicDim(dimension))
      dynamic.push_back(size);
  return tensor::EmptyOp::create(builder, result.getLoc(), type, dynamic);
}

Value lpfa::packScales(OpBuilder &builder, Location loc, Value scales,
                       bool transposed) {
  auto type = cast<RankedTensorType>(scales.getType());
  auto divide = [](int64_t size, int64_t by) -> int64_t {
    return ShapedType::isDynamic(size) ? size
                                       : int64_t(llvm::divideCeil(size, by));
  };
  SmallVector<int64_t> shape(type.getShape());
  int64_t &rows = shape[shape.size() - 2], &groups = shape.back();
  if (transposed)
    std::swap(rows, groups);
  rows = divide(rows, 128);
  groups = divide(groups, 4);
  shape.append({32, 4, 4});
  auto blocked = RankedTensorType::get(shape, type.getElementType());
  return PackScalesOp::create(builder, loc, blocked, scales, transposed);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

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
    if (dimension != 64 && dimension != 128) {
      InFlightDiagnostic diagnostic =
          op.emitOpError("with head dimension ")
          << dimension << " has no kernel yet; 64 and 128 have one";
      auto target = TargetModel::get("sm_100a");
      for (const ScheduleCost &cost :
           getCosts(op.getContext(), AttentionShape::get(op), {}, *target))
        if (cost.misfit.empty())
          return diagnostic << ". Its tiles would fit with "
                            << describe(cost.schedule);
      return diagnostic;
    }
  return success();
}

LogicalResult lpfa::checkCountable(OpBuilder &builder, Operation *op,
                                   ArrayRef<Value> sizes) {
  IndexBuilder index(builder, op->getLoc());
  const char *message = "has a size above 2^30, more than a kernel can count";
  for (Value size : sizes) {
    std::optional<int64_t> known = getConstantIntValue(size);
    if (known && *known > kMaxSize)
      return op->emitOpError(message);
    emitCheck(builder, op,
              builder.createOrFold<arith::CmpIOp>(
                  op->getLoc(), arith::CmpIPredicate::sle, size,
                  index.constant(kMaxSize)),
              message);
  }
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

/// Whether an atom holds the scales of several tiles of keys.
static bool sharesAtoms(int64_t keyTile) {
  return keyTile < kAtomRows && kAtomRows % keyTile == 0;
}

KernelOp FormKernels::buildAttentionKernel(AttentionOp op, TypeRange tensors,
                                           int64_t queryTiles,
                                           int64_t keyTile) {
  KernelOp kernel = createKernel(op, "kernel", tensors);
  MLIRContext *context = &getContext();
  Location loc = op.getLoc();
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  IndexBuilder index(builder, loc);
  Block::BlockArgListType views = kernel.getBody().getArguments();
  Value q = views[0], qScales = views[1], k = views[2], kScales = views[3],
        v = views[4], vScales = views[5], output = views[6], lse = views[7];
  auto tileOf = [&](Value view, int64_t rows, int64_t columns) {
    return TileType::get(context, {rows, columns},
                         cast<ViewType>(view.getType()).getElementType());
  };
  const int64_t rowTile = TargetModel::mmaRows;
  const int64_t headDim = op.getHeadDim(), valueDim = op.getValueHeadDim();
  Type f32 = builder.getF32Type();
  auto scoresType = TileType::get(context, {rowTile, keyTile}, f32);
  auto outputType = TileType::get(context, {rowTile, valueDim}, f32);
  auto rowType = TileType::get(context, {rowTile}, f32);
  TileType atom = TileType::getAtom(context);
  const float infinity = std::numeric_limits<float>::infinity();

  Value zero = index.constant(0), one = index.constant(1);
  Value rows = index.dim(q, 2), keys = index.dim(k, 2);
  Value group = index.div(index.dim(q, 1), index.dim(k, 1));
  Value rowTiles = index.ceildiv(rows, rowTile * queryTiles);
  SmallVector<Value> bounds = {index.dim(q, 0), index.dim(q, 1), rowTiles};
  // The persistent grid takes work tiles in order: what is left for the end
  // should be short, where not all are as long.
  bool isDescending = longestFirst && op.getMask().hasRightBound() &&
                      !op.getMask().hasLeftBound();
  if (isDescending)
    std::rotate(bounds.begin(), bounds.end() - 1, bounds.end());
  // A query tile wholly past the last row reads the last atom of scales.
  Value lastAtom = index.add(index.dim(qScales, 2), -1);
  auto work = ForWorkOp::create(builder, loc, bounds);
  Block &body = work.getBody().emplaceBlock();
  for (Value bound : bounds)
    body.addArgument(bound.getType(), loc);
  builder.setInsertionPointToStart(&body);
  SmallVector<Value> coordinates(body.getArguments());
  if (isDescending) {
    std::rotate(coordinates.begin(), coordinates.begin() + 1,
                coordinates.end());
    coordinates[2] = arith::SubIOp::create(
        builder, loc, index.add(rowTiles, -1), coordinates[2]);
  }
  Value b = coordinates[0], h = coordinates[1], rowTileIndex = coordinates[2];
  Value kvHead = index.div(h, group);
  Value firstRow = index.mul(rowTileIndex, rowTile * queryTiles);
  auto range = KeyRangeOp::create(builder, loc, firstRow, rowTile * queryTiles,
                                  rows, keys, keyTile, op.getMask());

  // The state of each query tile: O, M, l and the largest score.
  SmallVector<Value> qTiles, qAtoms, tileRows, initial;
  for (int64_t i = 0; i < queryTiles; ++i) {
    Value row = index.add(firstRow, i * rowTile);
    Value atomRow = index.add(index.mul(rowTileIndex, queryTiles), i);
    if (i > 0)
      atomRow = arith::MinUIOp::create(builder, loc, atomRow, lastAtom);
    tileRows.push_back(row);
    qTiles.push_back(LoadOp::create(builder, loc, tileOf(q, rowTile, headDim),
                                    q, ValueRange{b, h, row, zero}));
    qAtoms.push_back(
        LoadOp::create(builder, loc, atom, qScales,
                       ValueRange{b, h, atomRow, zero, zero, zero, zero}));
    initial.push_back(index.splat(outputType, 0));
    initial.push_back(index.splat(rowType, -infinity));
    initial.push_back(index.splat(rowType, 0));
    initial.push_back(index.splat(rowType, -infinity));
  }
  auto loop = scf::ForOp::create(builder, loc, range.getFirst(),
                                 range.getLast(), one, initial);
  {
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
    Value kTile = LoadOp::create(builder, loc, tileOf(k, keyTile, headDim), k,
                                 ValueRange{b, kvHead, key, zero});
    Value kAtom =
        LoadOp::create(builder, loc, atom, kScales,
                       ValueRange{b, kvHead, keyAtom, zero, zero, zero, zero});
    Value vTile = LoadOp::create(builder, loc, tileOf(v, keyTile, valueDim), v,
                                 ValueRange{b, kvHead, key, zero});
    Value vAtom =
        LoadOp::create(builder, loc, atom, vScales,
                       ValueRange{b, kvHead, zero, keyAtom, zero, zero, zero});
    SmallVector<Value> next;
    for (int64_t i = 0; i < queryTiles; ++i) {
      ValueRange state = loop.getRegionIterArgs().slice(4 * i, 4);
      Value scores = DotOp::create(builder, loc, scoresType, qTiles[i], kTile,
                                   qAtoms[i], kAtom, /*accumulator=*/Value(),
                                   /*valid=*/Value(), from,
                                   /*transpose_b=*/true);
      Value masked =
          ApplyMaskOp::create(builder, loc, scoresType, scores, tileRows[i],
                              key, rows, keys, op.getMask());
      auto probabilitiesType = TileType::get(context, scoresType.getShape(),
                                             op.getPScale().getElement());
      auto step =
          SoftmaxStepOp::create(builder, loc,
                                TypeRange{probabilitiesType, atom, rowType,
                                          rowType, rowType, rowType},
                                masked, state[1], state[2], state[3],
                                op.getScaleAttr(), op.getPScale());
      Value rescaled = RescaleOp::create(builder, loc, outputType, state[0],
                                         step.getFactor());
      next.push_back(
          DotOp::create(builder, loc, outputType, step.getProbabilities(),
                        vTile, step.getScales(), vAtom, rescaled, left, from,
                        /*transpose_b=*/false));
      next.push_back(step.getNewMaximum());
      next.push_back(step.getNewSum());
      next.push_back(step.getNewLargest());
    }
    scf::YieldOp::create(builder, loc, next);
  }
  auto resultType = tileOf(output, rowTile, valueDim);
  for (int64_t i = 0; i < queryTiles; ++i) {
    ValueRange state = loop.getResults().slice(4 * i, 4);
    auto finish = SoftmaxFinishOp::create(builder, loc, rowType, rowType,
                                          state[1], state[2], state[3],
                                          op.getScaleAttr(), op.getPScale());
    Value normalized = NormalizeOp::create(builder, loc, resultType, state[0],
                                           finish.getDenominator());
    StoreOp::create(builder, loc, normalized, output,
                    ValueRange{b, h, tileRows[i], zero});
    StoreOp::create(builder, loc, finish.getLse(), lse,
                    ValueRange{b, h, tileRows[i]});
  }
  YieldOp::create(builder, loc);
  return kernel;
}

static LogicalResult checkTiles(Operation *op, int64_t queryTiles,
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
    auto work = ForWorkOp::create(builder, loc, bounds);
    Block &body = work.getBody().emplaceBlock();
    for (Value bound : bounds)
      body.addArgument(bound.getType(), loc);
    builder.setInsertionPointToStart(&body);
    SmallVector<Value> first(body.getArguments());
    for (int64_t i : {0, 1})
      first[2 + i] = index.mul(first[2 + i], step[i]);
    Value rows = LoadOp::create(
        builder, loc,
        TileType::get(op.getContext(), tile, type.getElementType()),
        block.getArgument(0), first);
    Value packed = PackAtomOp::create(builder, loc, atom, rows,
                                      /*valid=*/Value(), isAlongKeys);
    SmallVector<Value> place =
        getOrder(SmallVector<Value>(body.getArguments()));
    place.append(3, index.constant(0));
    StoreOp::create(builder, loc, packed, block.getArgument(1), place);
    YieldOp::create(builder, loc);
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

LogicalResult FormKernels::formAttention(AttentionOp op) {
  if (failed(verifySupported(op)))
    return failure();
  int64_t queryTiles = this->queryTiles, keyTile = this->keyTile;
  auto schedule = op->getAttrOfType<ScheduleAttr>("lpfa.schedule");
  if (schedule) {
    queryTiles = schedule.getQueryTiles();
    keyTile = schedule.getKeyTile();
  }
  if (failed(checkTiles(op, queryTiles, keyTile)))
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
  KernelOp kernel = buildAttentionKernel(op, tensors, queryTiles, keyTile);
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

void FormKernels::runOnOperation() {
  if (failed(checkTiles(getOperation(), queryTiles, keyTile)))
    return signalPassFailure();
  SmallVector<AttentionOp> attentions;
  getOperation().walk([&](AttentionOp op) { attentions.push_back(op); });
  for (AttentionOp op : attentions)
    if (failed(formAttention(op)))
      return signalPassFailure();
  SmallVector<MatmulOp> products;
  getOperation().walk([&](MatmulOp op) { products.push_back(op); });
  for (MatmulOp op : products)
    if (failed(formMatmul(op)))
      return signalPassFailure();
  if (failed(formElementwiseKernels(getOperation())))
    signalPassFailure();
}
