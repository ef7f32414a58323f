//===- FormElementwiseKernels.cpp - Tile programs without roles -----------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A work tile is a tile of the last two dimensions, the last one running
// fastest. Tiles are powers of two of whole blocks; blocked scales want those
// of an atom.
//
//===----------------------------------------------------------------------===//

#include "FormKernels.h"
#include "lpfa/Dialect/LPFA/Utils/SizeChecks.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace lpfa;

/// Rows, or columns of a transposed tile, and groups of an atom of scales.
static constexpr int64_t kAtomRows = 128;
static constexpr int64_t kAtomGroups = 4;

//===----------------------------------------------------------------------===//
// What all have in common
//===----------------------------------------------------------------------===//

namespace {
/// The kernel of some ops and its launch, in the making.
class ElementwiseKernel {
public:
  /// `shaped` is the tensor whose last dimensions are tiled.
  ElementwiseKernel(Operation *op, Value shaped, ArrayRef<int64_t> tile)
      : op(op), builder(op), index(builder, op->getLoc()), shaped(shaped),
        tile(tile) {}

  /// Adds an operand, or a result with the sizes that its type leaves open. The
  /// numbers are those of the kernel's arguments.
  unsigned addInput(Value input) {
    inputs.push_back(input);
    return inputs.size() - 1;
  }
  /// All inputs come first.
  unsigned addOutput(Value result, ArrayRef<Value> sizes) {
    outputs.push_back(createDestination(builder, result, sizes));
    results.push_back(result);
    return inputs.size() + outputs.size() - 1;
  }

  /// Sizes of `shaped` on the host.
  SmallVector<Value> getSizes() {
    SmallVector<Value> sizes;
    for (int64_t i = 0; i < getRank(); ++i)
      sizes.push_back(index.dim(shaped, i));
    return sizes;
  }
  int64_t getRank() const {
    return cast<RankedTensorType>(shaped.getType()).getRank();
  }

  /// A kernel that visits the tiles of argument `view`; `body` gets the
  /// coordinates of the tile at hand, `prologue` builds what comes before all.
  KernelOp
  build(StringRef name, unsigned view,
        function_ref<void(OpBuilder &, ValueRange views, ValueRange tile)> body,
        function_ref<void(OpBuilder &, ValueRange views)> prologue = nullptr);
  /// Launches the kernel in place of the ops whose results were added, a CTA
  /// for some tiles.
  void launch(KernelOp kernel, int64_t tiles = 1);

  /// Refuses, or asserts at the launch, sizes that cannot be counted.
  LogicalResult checkSizes();
  /// Likewise rows of packed codes that end within a byte.
  LogicalResult checkRows(Type element);

private:
  Value getGrid();

  Operation *op;
  OpBuilder builder;
  IndexBuilder index;
  Value shaped;
  SmallVector<int64_t> tile;
  SmallVector<Value> inputs, outputs, results;
};
} // namespace

KernelOp ElementwiseKernel::build(
    StringRef name, unsigned view,
    function_ref<void(OpBuilder &, ValueRange, ValueRange)> body,
    function_ref<void(OpBuilder &, ValueRange)> prologue) {
  SmallVector<Type> types(ValueRange(inputs).getTypes());
  llvm::append_range(types, ValueRange(outputs).getTypes());
  KernelOp kernel = createKernel(op, name, types);
  Location loc = op->getLoc();
  Block &block = kernel.getBody().front();
  OpBuilder b = OpBuilder::atBlockBegin(&block);
  IndexBuilder index(b, loc);
  SmallVector<Value> views(block.getArguments()), bounds;
  if (prologue)
    prologue(b, views);
  int64_t batch = getRank() - tile.size();
  for (int64_t i = 0; i < getRank(); ++i) {
    Value size = index.dim(block.getArgument(view), i);
    bounds.push_back(i < batch ? size : index.ceildiv(size, tile[i - batch]));
  }
  auto work = ForWorkOp::create(b, loc, bounds);
  Block &workBlock = work.getBody().emplaceBlock();
  for (Value bound : bounds)
    workBlock.addArgument(bound.getType(), loc);
  b.setInsertionPointToStart(&workBlock);
  SmallVector<Value> coordinates(workBlock.getArguments());
  body(b, views, coordinates);
  YieldOp::create(b, loc);
  return kernel;
}

void ElementwiseKernel::launch(KernelOp kernel, int64_t tiles) {
  Value grid = index.ceildiv(getGrid(), tiles);
  auto launch =
      LaunchOp::create(builder, op->getLoc(), ValueRange(results).getTypes(),
                       FlatSymbolRefAttr::get(kernel.getSymNameAttr()), grid,
                       /*persistent=*/false, inputs, outputs);
  for (auto [result, launched] : llvm::zip_equal(results, launch.getResults()))
    result.replaceAllUsesWith(launched);
}

Value ElementwiseKernel::getGrid() {
  SmallVector<Value> sizes = getSizes();
  int64_t batch = getRank() - tile.size();
  Value grid = index.constant(1);
  for (int64_t i = 0; i < getRank(); ++i)
    grid = index.mul(
        grid, i < batch ? sizes[i] : index.ceildiv(sizes[i], tile[i - batch]));
  return grid;
}

LogicalResult ElementwiseKernel::checkSizes() {
  SmallVector<Value> sizes = getSizes();
  sizes.push_back(getGrid());
  return checkCountable(builder, op, sizes);
}

LogicalResult ElementwiseKernel::checkRows(Type element) {
  Location loc = op->getLoc();
  int64_t bits = element.getIntOrFloatBitWidth();
  if (bits >= 8)
    return success();
  int64_t perByte = bits == 4 ? 2 : 4;
  Value columns = index.dim(shaped, getRank() - 1);
  const char *message = bits == 4 ? "has rows of packed f4 of an odd length"
                                  : "has rows of packed f6 whose length is no "
                                    "multiple of 4";
  std::optional<int64_t> known = getConstantIntValue(columns);
  if (known && *known % perByte)
    return op->emitOpError(message);
  Value rest = builder.createOrFold<arith::RemUIOp>(loc, columns,
                                                    index.constant(perByte));
  emitCheck(builder, op,
            builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq,
                                                rest, index.constant(0)),
            message);
  return success();
}

static TileType getTile(Value view, ArrayRef<int64_t> shape) {
  return TileType::get(view.getContext(), shape,
                       cast<ViewType>(view.getType()).getElementType());
}

/// The first element of the tile at `coordinates`, where tiles have `shape`.
static SmallVector<Value> getFirst(OpBuilder &b, Location loc,
                                   ValueRange coordinates,
                                   ArrayRef<int64_t> shape) {
  IndexBuilder index(b, loc);
  SmallVector<Value> first(coordinates);
  int64_t batch = first.size() - shape.size();
  for (auto [i, size] : llvm::enumerate(shape))
    first[batch + i] = index.mul(first[batch + i], size);
  return first;
}

/// The atom at `coordinates`, whose last two are a row and a group tile, or the
/// other way round where `transposed`.
static SmallVector<Value> getAtom(OpBuilder &b, Location loc,
                                  ValueRange coordinates, bool transposed) {
  IndexBuilder index(b, loc);
  SmallVector<Value> atom(coordinates);
  if (transposed)
    std::swap(atom[atom.size() - 2], atom.back());
  atom.append(3, index.constant(0));
  return atom;
}

/// The sizes of blocked scales of row-major ones with the sizes `scales`.
static SmallVector<Value>
getBlockedSizes(IndexBuilder &index, ArrayRef<Value> scales, bool transposed) {
  SmallVector<Value> sizes(scales);
  Value &rows = sizes[sizes.size() - 2], &groups = sizes.back();
  if (transposed)
    std::swap(rows, groups);
  rows = index.ceildiv(rows, kAtomRows);
  groups = index.ceildiv(groups, kAtomGroups);
  return sizes;
}

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
/// long and their blocks run along them: then so long that the scales of a row
/// fill half a sector of memory.
static SmallVector<int64_t> chooseTile(RankedTensorType type, bool isAlongRows,
                                       int64_t block) {
  if (type.getRank() == 1)
    return {2048};
  int64_t columns = type.getShape().back();
  if (isAlongRows && !ShapedType::isDynamic(columns) && columns > 256)
    return {32, 512};
  if (!ShapedType::isDynamic(columns) && columns <= 64 && isAlongRows)
    return {256, 64};
  return {kAtomRows, kAtomGroups * block};
}

//===----------------------------------------------------------------------===//
// Quantization
//===----------------------------------------------------------------------===//

namespace {
/// An `lpfa.quantize` and what its kernel writes of it.
struct QuantizedResults {
  explicit QuantizedResults(QuantizeOp op);
  bool isColumn() const {
    return getRank() > 1 && QuantizeOp(op).getAxis() == uint64_t(getRank() - 2);
  }
  int64_t getRank() const {
    return QuantizeOp(op).getInput().getType().getRank();
  }

  QuantizeOp op;
  /// Of its scales; all give the same.
  SmallVector<PackScalesOp> packs;
  bool writesScales = false;
  /// The kernel's arguments.
  std::optional<unsigned> globalScale, elements, scales, blocked;
};
} // namespace

QuantizedResults::QuantizedResults(QuantizeOp op) : op(op) {
  for (Operation *user : op.getScales().getUsers()) {
    auto pack = dyn_cast<PackScalesOp>(user);
    if (pack && getRank() > 1 && pack.getTransposed() == isColumn())
      packs.push_back(pack);
    else
      writesScales = true;
  }
}

/// Adds what a kernel writes of a quantization.
static LogicalResult addQuantized(ElementwiseKernel &kernel,
                                  IndexBuilder &index,
                                  QuantizedResults &results) {
  QuantizeOp op = results.op;
  if (failed(kernel.checkRows(op.getElements().getType().getElementType())))
    return failure();
  SmallVector<Value> sizes = kernel.getSizes();
  if (!op.getElements().use_empty())
    results.elements = kernel.addOutput(op.getElements(), sizes);
  sizes[op.getAxis()] = index.ceildiv(sizes[op.getAxis()], op.getBlockSize());
  if (results.writesScales)
    results.scales = kernel.addOutput(op.getScales(), sizes);
  if (results.packs.empty())
    return success();
  Value blocked = results.packs.front().getBlocked();
  results.blocked = kernel.addOutput(
      blocked, getBlockedSizes(index, sizes, results.isColumn()));
  for (PackScalesOp pack : ArrayRef(results.packs).drop_front())
    pack.replaceAllUsesWith(blocked);
  return success();
}

/// Quantizes the tile `x` at `coordinates` of the tensor `views[0]`, and
/// stores.
static void buildQuantized(OpBuilder &b, ValueRange views,
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
    valid = arith::SubIOp::create(b, loc, rows.dim(views[0], dimension),
                                  place[dimension]);
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
  bool isAlongRows = llvm::all_of(group, [](const QuantizedResults &results) {
    return !results.isColumn() && !QuantizeOp(results.op).getSquare() &&
           results.packs.empty();
  });
  SmallVector<int64_t> tile =
      chooseTile(type, isAlongRows, first.getBlockSize());
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
    for (PackScalesOp pack : results.packs)
      pack.erase();
  for (QuantizedResults &results : group)
    results.op.erase();
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
  SmallVector<int64_t> tile = chooseTile(type, !isColumn, op.getBlockSize());
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

/// The widest row that a CTA has in registers.
static constexpr int64_t kMaxRow = 65536;

/// Work tiles of a CTA, for which it loads the weight once.
static constexpr int64_t kTilesPerCTA = 8;

/// The most that a CTA keeps of it: four CTAs share a multiprocessor's memory.
static constexpr int64_t kMaxKeptBytes = 32768;

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
  if (rank < 2 || ShapedType::isDynamic(columns))
    return op.emitOpError("has a kernel for rows of known width of tensors of "
                          "two dimensions or more only");
  if (columns > kMaxRow)
    return op.emitOpError("over rows of ")
           << columns << " elements has no kernel yet; up to " << kMaxRow
           << " have one";
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
  SmallVector<int64_t> tile = chooseRowTile(columns);
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
                                                index.constant(columns)),
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

  // Where shared memory suffices the weight stays there from tile to tile.
  int64_t weightBits =
      op.getWeight().getType().getElementType().getIntOrFloatBitWidth();
  bool keepsWeight = tile[1] * weightBits / 8 <= kMaxKeptBytes;
  Value weightTile;
  auto loadWeight = [&](OpBuilder &b, ValueRange views) {
    IndexBuilder zero(b, loc);
    weightTile = LoadOp::create(
        b, loc, getTile(views[weight], ArrayRef(tile).take_back()),
        views[weight], ValueRange(zero.constant(0)));
  };
  auto build = [&](OpBuilder &b, ValueRange views, ValueRange coordinates) {
    IndexBuilder kernelIndex(b, loc);
    SmallVector<Value> place = getFirst(b, loc, coordinates, tile);
    Value x = LoadOp::create(b, loc, getTile(views[0], tile), views[0], place);
    if (!keepsWeight)
      loadWeight(b, views);
    auto outputType = TileType::get(b.getContext(), tile,
                                    op.getOutput().getType().getElementType());
    auto normalized = RMSNormTileOp::create(
        b, loc, TypeRange{outputType, outputType.getRow()}, x, weightTile,
        kernelIndex.constant(columns), op.getEpsilonAttr());
    if (output)
      StoreOp::create(b, loc, normalized.getOutput(), views[*output], place);
    if (rstd)
      StoreOp::create(b, loc, normalized.getRstd(), views[*rstd],
                      ArrayRef(place).drop_back());
    for (const QuantizedResults &results : group)
      buildQuantized(b, views, coordinates, normalized.getOutput(), results);
  };
  auto prologue = [&](OpBuilder &b, ValueRange views) {
    if (keepsWeight)
      loadWeight(b, views);
  };
  kernel.launch(kernel.build("rms_norm", 0, build, prologue), kTilesPerCTA);
  for (QuantizedResults &results : group)
    results.op.erase();
  op.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Layouts of scales
//===----------------------------------------------------------------------===//

namespace {
/// Kernels by the types that they move between, and whether transposed: equal
/// ones are shared.
using LayoutKernels =
    llvm::MapVector<std::tuple<Type, Type, unsigned>, KernelOp>;
} // namespace

static SmallVector<int64_t> getLayoutTile(bool transposed) {
  SmallVector<int64_t> tile = {kAtomRows, kAtomGroups};
  if (transposed)
    std::swap(tile[0], tile[1]);
  return tile;
}

static LogicalResult formPackScales(PackScalesOp op, LayoutKernels &kernels) {
  Location loc = op.getLoc();
  bool transposed = op.getTransposed();
  SmallVector<int64_t> tile = getLayoutTile(transposed);
  ElementwiseKernel kernel(op, op.getScales(), tile);
  kernel.addInput(op.getScales());
  if (failed(kernel.checkSizes()))
    return failure();
  OpBuilder builder(op);
  IndexBuilder index(builder, loc);
  kernel.addOutput(op.getBlocked(),
                   getBlockedSizes(index, kernel.getSizes(), transposed));
  KernelOp &shared = kernels[{op.getScales().getType(),
                              op.getBlocked().getType(), transposed}];
  if (!shared)
    shared = kernel.build(
        "pack_scales", 0,
        [&](OpBuilder &b, ValueRange views, ValueRange coordinates) {
          Value scales =
              LoadOp::create(b, loc, getTile(views[0], tile), views[0],
                             getFirst(b, loc, coordinates, tile));
          TileType atom =
              getTile(views[1], TileType::getAtom(b.getContext()).getShape());
          Value packed = PackAtomOp::create(b, loc, atom, scales,
                                            /*valid=*/Value(), transposed);
          StoreOp::create(b, loc, packed, views[1],
                          getAtom(b, loc, coordinates, transposed));
        });
  kernel.launch(shared);
  op.erase();
  return success();
}

static LogicalResult formUnpackScales(UnpackScalesOp op,
                                      LayoutKernels &kernels) {
  Location loc = op.getLoc();
  bool transposed = op.getTransposed();
  RankedTensorType type = op.getScales().getType();
  int64_t rank = type.getRank();
  OpBuilder builder(op);
  IndexBuilder index(builder, loc);
  SmallVector<Value> sizes;
  ValueRange open = op.getSizes();
  for (int64_t i = 0; i < rank; ++i) {
    if (!type.isDynamicDim(i)) {
      sizes.push_back(index.constant(type.getDimSize(i)));
    } else if (i < rank - 2) {
      sizes.push_back(index.dim(op.getBlocked(), i));
    } else {
      sizes.push_back(open.front());
      open = open.drop_front();
    }
  }
  for (auto [dimension, size] :
       llvm::enumerate(getBlockedSizes(index, sizes, transposed)))
    emitCheck(builder, op,
              builder.createOrFold<arith::CmpIOp>(
                  loc, arith::CmpIPredicate::eq,
                  index.dim(op.getBlocked(), dimension), size),
              "expects another size of dimension " + std::to_string(dimension) +
                  " of the blocked scales");
  // The result, before there is a tensor of its sizes.
  Value destination = createDestination(builder, op.getScales(), sizes);
  SmallVector<int64_t> tile = getLayoutTile(transposed);
  ElementwiseKernel kernel(op, destination, tile);
  kernel.addInput(op.getBlocked());
  if (failed(kernel.checkSizes()))
    return failure();
  kernel.addOutput(op.getScales(), sizes);
  KernelOp &shared =
      kernels[{op.getBlocked().getType(), type, 2 + unsigned(transposed)}];
  if (!shared)
    shared = kernel.build(
        "unpack_scales", 1,
        [&](OpBuilder &b, ValueRange views, ValueRange coordinates) {
          TileType atom =
              getTile(views[0], TileType::getAtom(b.getContext()).getShape());
          Value packed = LoadOp::create(
              b, loc, atom, views[0], getAtom(b, loc, coordinates, transposed));
          Value scales = UnpackAtomOp::create(b, loc, getTile(views[1], tile),
                                              packed, transposed);
          StoreOp::create(b, loc, scales, views[1],
                          getFirst(b, loc, coordinates, tile));
        });
  kernel.launch(shared);
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
  if (failed(formQuantizes(module)))
    return failure();
  LayoutKernels layoutKernels;
  WalkResult result = module.walk([&](Operation *op) -> WalkResult {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case(
            [](DequantizeOp dequantize) { return formDequantize(dequantize); })
        .Case([&](PackScalesOp pack) {
          return formPackScales(pack, layoutKernels);
        })
        .Case([&](UnpackScalesOp unpack) {
          return formUnpackScales(unpack, layoutKernels);
        })
        .Default([](Operation *) { return success(); });
  });
  return failure(result.wasInterrupted());
}
