//===- FormMatmul.cpp - The tile program of a matrix product --------------===//
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

using namespace mlir;
using namespace lpfa;

/// Rows and columns of a work tile, and what a step sums over: those of an atom
/// of scales.
static constexpr int64_t kTile = 128;

/// What the kernel path cannot do yet is an error that says so.
static LogicalResult verifySupported(MatmulOp op) {
  for (Value operand : {op.getA(), op.getB()}) {
    Type element = cast<RankedTensorType>(operand.getType()).getElementType();
    if (!isa<Float8E4M3FNType, Float8E5M2Type>(element))
      return op.emitOpError("over ")
             << element << " has no kernel yet; f8E4M3FN and f8E5M2 have one";
  }
  if (op.getBatchRank() + 2 > TargetModel::maxTensorMapRank)
    return op.emitOpError("of rank ")
           << op.getBatchRank() + 2 << " has no kernel: a tensor map has "
           << TargetModel::maxTensorMapRank << " dimensions at most";
  return success();
}

/// The sizes of the result, by `view` of A and of B.
static SmallVector<Value> getSizes(IndexBuilder &index, Value a, Value b,
                                   int64_t batchRank) {
  SmallVector<Value> sizes;
  for (int64_t i = 0; i < batchRank; ++i)
    sizes.push_back(index.dim(a, i));
  sizes.push_back(index.dim(a, batchRank));
  sizes.push_back(index.dim(b, batchRank));
  return sizes;
}

/// The numbers of work tiles along each dimension of the result.
static SmallVector<Value> getBounds(IndexBuilder &index,
                                    SmallVector<Value> sizes) {
  for (Value &size : MutableArrayRef(sizes).take_back(2))
    size = index.ceildiv(size, kTile);
  return sizes;
}

static LogicalResult checkCoordinates(OpBuilder &builder, MatmulOp op,
                                      ArrayRef<Value> sizes) {
  IndexBuilder index(builder, op.getLoc());
  SmallVector<Value> checked(sizes);
  checked.push_back(index.dim(op.getA(), op.getBatchRank() + 1));
  // Products of sizes that have passed do not wrap.
  Value tiles = index.constant(1);
  for (Value bound : getBounds(index, SmallVector<Value>(sizes)))
    checked.push_back(tiles = index.mul(tiles, bound));
  return checkCountable(builder, op, checked);
}

/// The result is contiguous, and a tensor map takes rows a multiple of 16 bytes
/// apart. Operands may have a pitch: theirs is checked where the map is made.
static LogicalResult checkRows(OpBuilder &builder, MatmulOp op, Value columns,
                               Type element, StringRef what) {
  IndexBuilder index(builder, op.getLoc());
  Value rest = builder.createOrFold<arith::RemUIOp>(
      op.getLoc(), index.mul(columns, element.getIntOrFloatBitWidth() / 8),
      index.constant(16));
  std::string message = ("has rows of " + what +
                         " that are no multiple of 16 bytes, which a kernel "
                         "cannot store")
                            .str();
  std::optional<int64_t> known = getConstantIntValue(rest);
  if (known && *known)
    return op.emitOpError(message);
  emitCheck(builder, op,
            builder.createOrFold<arith::CmpIOp>(
                op.getLoc(), arith::CmpIPredicate::eq, rest, index.constant(0)),
            message);
  return success();
}

namespace {
/// What the kernel of a product writes.
struct Outputs {
  /// The kernel's argument; the result is there where it is used otherwise than
  /// by the quantizations.
  std::optional<unsigned> d;
  SmallVector<QuantizedResults> quantized;
};
} // namespace

/// Takes what can be quantized where the sums are: to codes of 8 bits along one
/// of the last two dimensions.
static Outputs collectOutputs(MatmulOp op) {
  Outputs outputs;
  int64_t rank = op.getBatchRank() + 2;
  for (Operation *user : llvm::make_early_inc_range(op.getD().getUsers())) {
    auto quantize = dyn_cast<QuantizeOp>(user);
    if (!quantize || quantize.getGlobalScale() ||
        int64_t(quantize.getAxis()) < rank - 2 ||
        quantize->getBlock() != op->getBlock() ||
        quantize.getElements().getType().getElementTypeBitWidth() != 8)
      continue;
    if (quantize.use_empty())
      quantize.erase();
    else
      outputs.quantized.emplace_back(quantize);
  }
  // Users come in no order.
  llvm::sort(outputs.quantized, [](QuantizedResults &x, QuantizedResults &y) {
    return x.op->isBeforeInBlock(y.op);
  });
  return outputs;
}

static KernelOp buildKernel(MatmulOp op, TypeRange tensors,
                            const Outputs &outputs) {
  KernelOp kernel = createKernel(op, "kernel", tensors);
  MLIRContext *context = op.getContext();
  Location loc = op.getLoc();
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  IndexBuilder index(builder, loc);
  Block::BlockArgListType views = kernel.getBody().getArguments();
  Value a = views[0], aScales = views[1], b = views[2], bScales = views[3];
  auto tileOf = [&](Type element) {
    return TileType::get(context, {kTile, kTile}, element);
  };
  auto getElement = [](Value view) {
    return cast<ViewType>(view.getType()).getElementType();
  };
  TileType sumsType = tileOf(builder.getF32Type());
  int64_t batchRank = op.getBatchRank();

  Value zero = index.constant(0), one = index.constant(1);
  Value depth = index.dim(a, batchRank + 1);
  SmallVector<Value> sizes = getSizes(index, a, b, batchRank);
  SmallVector<Value> bounds = getBounds(index, sizes);
  ValueRange coordinates = beginWork(builder, loc, bounds);
  Value m = coordinates[batchRank], n = coordinates[batchRank + 1];
  Value row = index.mul(m, kTile), column = index.mul(n, kTile);
  auto at = [&](Value x, Value y) {
    SmallVector<Value> indices(coordinates.take_front(batchRank));
    indices.append({x, y});
    return indices;
  };
  auto atAtom = [&](Value x, Value y) {
    SmallVector<Value> indices = at(x, y);
    indices.append(3, zero);
    return indices;
  };

  auto range = StepRangeOp::create(builder, loc, depth, kTile);
  auto loop =
      scf::ForOp::create(builder, loc, range.getFirst(), range.getLast(), one,
                         index.splat(sumsType, 0));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value step = loop.getInductionVar();
    Value from = index.mul(step, kTile);
    // What is left of K: where it is no whole step, products with the padding
    // of scales are left out.
    Value left = arith::SubIOp::create(builder, loc, depth, from);
    TileType atom = TileType::getAtom(context);
    Value aTile =
        LoadOp::create(builder, loc, tileOf(getElement(a)), a, at(row, from));
    Value aAtom = LoadOp::create(builder, loc, atom, aScales, atAtom(m, step));
    Value bTile = LoadOp::create(builder, loc, tileOf(getElement(b)), b,
                                 at(column, from));
    Value bAtom = LoadOp::create(builder, loc, atom, bScales, atAtom(n, step));
    Value sums = DotOp::create(builder, loc, sumsType, aTile, bTile, aAtom,
                               bAtom, loop.getRegionIterArg(0), left,
                               /*from=*/Value(), /*transpose_b=*/true);
    scf::YieldOp::create(builder, loc, sums);
  }
  Value result = loop.getResult(0);
  if (!outputs.quantized.empty()) {
    Value rows = arith::SubIOp::create(builder, loc, sizes[batchRank], row);
    Value columns =
        arith::SubIOp::create(builder, loc, sizes[batchRank + 1], column);
    result = CropOp::create(builder, loc, result, rows, columns);
  }
  result = RoundOp::create(
      builder, loc, tileOf(op.getD().getType().getElementType()), result);
  if (outputs.d)
    StoreOp::create(builder, loc, result, views[*outputs.d], at(row, column));
  SmallVector<Value> allViews(views);
  for (const QuantizedResults &results : outputs.quantized)
    buildQuantized(builder, allViews, coordinates, result, results);
  return kernel;
}

LogicalResult lpfa::formMatmul(MatmulOp op) {
  if (failed(verifySupported(op)))
    return failure();
  OpBuilder builder(op);
  IndexBuilder index(builder, op.getLoc());
  emitSizeChecks(builder, op);
  SmallVector<Value> sizes =
      getSizes(index, op.getA(), op.getB(), op.getBatchRank());
  if (failed(checkCoordinates(builder, op, sizes)))
    return failure();
  auto pack = [&](Value scales) {
    return op.isBlocked(scales) ? scales
                                : packScales(builder, op.getLoc(), scales,
                                             /*transposed=*/false);
  };
  SmallVector<Value> inputs = {op.getA(), pack(op.getAScales()), op.getB(),
                               pack(op.getBScales())};
  SmallVector<Value> results, destinations;
  auto addOutput = [&](Value result, ArrayRef<Value> resultSizes) -> unsigned {
    results.push_back(result);
    destinations.push_back(createDestination(builder, result, resultSizes));
    return inputs.size() + results.size() - 1;
  };
  Outputs outputs = collectOutputs(op);
  bool isUsed = llvm::any_of(op.getD().getUsers(), [&](Operation *user) {
    return llvm::none_of(outputs.quantized, [&](QuantizedResults &quantized) {
      return quantized.op == user;
    });
  });
  if (isUsed || outputs.quantized.empty()) {
    if (failed(checkRows(builder, op, sizes.back(),
                         op.getD().getType().getElementType(), "D")))
      return failure();
    outputs.d = addOutput(op.getD(), sizes);
  }
  int64_t batchRank = op.getBatchRank();
  for (QuantizedResults &quantized : outputs.quantized) {
    quantized.addOutputs(index, sizes, addOutput);
    quantized.getSize = [=](IndexBuilder &at, ValueRange views,
                            int64_t dimension) {
      return dimension <= batchRank ? at.dim(views[0], dimension)
                                    : at.dim(views[2], batchRank);
    };
    if (quantized.elements && failed(checkRows(builder, op, sizes.back(),
                                               builder.getI8Type(), "codes")))
      return failure();
  }
  SmallVector<Type> tensors(ValueRange(inputs).getTypes());
  llvm::append_range(tensors, ValueRange(results).getTypes());
  KernelOp kernel = buildKernel(op, tensors, outputs);

  Value grid = index.constant(1);
  for (Value bound : getBounds(index, sizes))
    grid = index.mul(grid, bound);
  auto launch =
      LaunchOp::create(builder, op.getLoc(), ValueRange(results).getTypes(),
                       FlatSymbolRefAttr::get(kernel.getSymNameAttr()), grid,
                       /*persistent=*/true, inputs, destinations);
  for (auto [result, launched] : llvm::zip_equal(results, launch.getResults()))
    result.replaceAllUsesWith(launched);
  for (QuantizedResults &quantized : outputs.quantized)
    quantized.erase();
  op.erase();
  return success();
}
