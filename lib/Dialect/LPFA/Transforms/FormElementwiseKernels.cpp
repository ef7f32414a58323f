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

SmallVector<int64_t>
lpfa::chooseTile(ArrayRef<QuantizedResults> quantizations) {
  QuantizeOp first = quantizations.front().op;
  auto isAlongRows = [](const QuantizedResults &results) {
    return !results.isColumn() && !QuantizeOp(results.op).getSquare();
  };
  bool isBlocked =
      llvm::any_of(quantizations, [](const QuantizedResults &results) {
        return !results.packs.empty();
      });
  return ::chooseTile(first.getInput().getType(),
                      !isBlocked && llvm::any_of(quantizations, isAlongRows),
                      !llvm::all_of(quantizations, isAlongRows),
                      first.getBlockSize());
}

LogicalResult lpfa::addQuantized(ElementwiseKernel &kernel, IndexBuilder &index,
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
  SmallVector<int64_t> shape(TileType::getAtom(context).getShape());
  SmallVector<Value> at = getAtom(b, loc, coordinates, isColumn);
  if (tile != ArrayRef<int64_t>{kAtomRows, kAtomGroups * op.getBlockSize()}) {
    // The tile has some runs of 32 rows of each of some atoms.
    IndexBuilder index(b, loc);
    int64_t rank = place.size(), inAtom = kAtomRows / kBlockSize,
            runs = tile.front() / kBlockSize, atoms = tile.back() / kAtomRows;
    Value run = index.mul(coordinates[rank - 2], runs);
    Value row = index.div(run, index.constant(inAtom));
    Value part = index.sub(run, index.mul(row, inAtom));
    at[rank - (isColumn ? 1 : 2)] = row;
    at[rank - (isColumn ? 2 : 1)] = index.mul(coordinates.back(), atoms);
    at[rank + (isColumn ? 2 : 1)] = part;
    shape = {atoms, 32, runs, 4};
    if (isColumn)
      shape = {atoms, 1, 32, 4, runs};
  }
  Value packed =
      PackAtomOp::create(b, loc, TileType::get(context, shape, scale),
                         quantized.getScales(), valid, isColumn);
  StoreOp::create(b, loc, packed, views[*results.blocked], at);
}

static LogicalResult formQuantize(MutableArrayRef<QuantizedResults> group) {
  QuantizeOp first = group.front().op;
  Location loc = first.getLoc();
  SmallVector<int64_t> tile = chooseTile(group);
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

LogicalResult lpfa::checkDequantize(ElementwiseKernel &kernel,
                                    DequantizeOp op) {
  Location loc = op.getLoc();
  if (failed(kernel.checkRows(op.getElements().getType().getElementType())))
    return failure();
  OpBuilder builder(op);
  IndexBuilder index(builder, loc);
  SmallVector<Value> groups;
  for (int64_t i = 0; i < kernel.getRank(); ++i)
    groups.push_back(index.dim(op.getElements(), i));
  groups[op.getAxis()] = index.ceildiv(groups[op.getAxis()], op.getBlockSize());
  for (auto [dimension, size] : llvm::enumerate(groups))
    emitCheck(builder, op,
              builder.createOrFold<arith::CmpIOp>(
                  loc, arith::CmpIPredicate::eq,
                  index.dim(op.getScales(), dimension), size),
              "expects another size of dimension " + std::to_string(dimension) +
                  " of the scales");
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
  if (failed(kernel.checkSizes()) || failed(checkDequantize(kernel, op)))
    return failure();
  unsigned output = kernel.addOutput(op.getOutput(), kernel.getSizes());

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
// All ops
//===----------------------------------------------------------------------===//

LogicalResult lpfa::formElementwiseKernels(ModuleOp module) {
  SmallVector<RMSNormOp> normalizations;
  module.walk([&](RMSNormOp op) { normalizations.push_back(op); });
  for (RMSNormOp op : normalizations)
    if (failed(formRMSNorm(op)))
      return failure();
  SmallVector<RMSNormBackwardOp> gradients;
  module.walk([&](RMSNormBackwardOp op) { gradients.push_back(op); });
  for (RMSNormBackwardOp op : gradients)
    if (failed(formRMSNormBackward(op)))
      return failure();
  if (failed(formQuantizes(module)))
    return failure();
  WalkResult result = module.walk(
      [&](DequantizeOp op) -> WalkResult { return formDequantize(op); });
  if (result.wasInterrupted())
    return failure();
  return formScaleLayouts(module);
}
