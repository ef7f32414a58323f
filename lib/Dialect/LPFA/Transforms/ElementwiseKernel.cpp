//===- ElementwiseKernel.cpp - Kernels without roles ----------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A work tile is a tile of the last dimensions, the last one running fastest.
//
//===----------------------------------------------------------------------===//

#include "ElementwiseKernel.h"
#include "lpfa/Dialect/LPFA/Utils/SizeChecks.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace lpfa;

unsigned ElementwiseKernel::addTemporary(ArrayRef<Value> sizes) {
  SmallVector<OpFoldResult> mixed;
  for (Value size : sizes)
    mixed.push_back(getAsOpFoldResult(size));
  outputs.push_back(tensor::EmptyOp::create(builder, op->getLoc(), mixed,
                                            builder.getF32Type()));
  results.push_back(nullptr);
  return inputs.size() + outputs.size() - 1;
}

SmallVector<Value> ElementwiseKernel::getTileCounts(IndexBuilder &index,
                                                    Value tensorOrView) {
  SmallVector<Value> counts;
  int64_t batch = getRank() - tile.size();
  for (int64_t i = 0; i < getRank(); ++i) {
    Value size = index.dim(tensorOrView, i);
    counts.push_back(i < batch ? size : index.ceildiv(size, tile[i - batch]));
  }
  return counts;
}

KernelOp ElementwiseKernel::build(StringRef name, unsigned view,
                                  BodyBuilder body, PrologueBuilder prologue) {
  return build(
      name,
      [&](IndexBuilder &index, ValueRange views) {
        return getTileCounts(index, views[view]);
      },
      body, prologue);
}

KernelOp ElementwiseKernel::build(StringRef name, BoundsBuilder getBounds,
                                  BodyBuilder body, PrologueBuilder prologue) {
  SmallVector<Type> types(ValueRange(inputs).getTypes());
  llvm::append_range(types, ValueRange(outputs).getTypes());
  KernelOp kernel = createKernel(op, name, types);
  Location loc = op->getLoc();
  Block &block = kernel.getBody().front();
  OpBuilder b = OpBuilder::atBlockBegin(&block);
  IndexBuilder index(b, loc);
  SmallVector<Value> views(block.getArguments());
  if (prologue)
    prologue(b, views);
  SmallVector<Value> bounds = getBounds(index, views);
  SmallVector<Value> coordinates(beginWork(b, loc, bounds));
  body(b, views, coordinates);
  return kernel;
}

LaunchOp ElementwiseKernel::launch(KernelOp kernel, Value grid,
                                   bool persistent) {
  auto launch =
      LaunchOp::create(builder, op->getLoc(), ValueRange(outputs).getTypes(),
                       FlatSymbolRefAttr::get(kernel.getSymNameAttr()), grid,
                       persistent, inputs, outputs);
  for (auto [result, launched] : llvm::zip_equal(results, launch.getResults()))
    if (result)
      result.replaceAllUsesWith(launched);
  return launch;
}

Value ElementwiseKernel::getGrid() {
  return getGrid([&](IndexBuilder &index, ValueRange) {
    return getTileCounts(index, shaped);
  });
}

Value ElementwiseKernel::getGrid(BoundsBuilder bounds) {
  SmallVector<Value> tensors(inputs);
  llvm::append_range(tensors, outputs);
  Value grid = index.constant(1);
  for (Value bound : bounds(index, tensors))
    grid = index.mul(grid, bound);
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

TileType lpfa::getTile(Value view, ArrayRef<int64_t> shape) {
  return TileType::get(view.getContext(), shape,
                       cast<ViewType>(view.getType()).getElementType());
}

SmallVector<Value> lpfa::getFirst(OpBuilder &b, Location loc,
                                  ValueRange coordinates,
                                  ArrayRef<int64_t> shape) {
  IndexBuilder index(b, loc);
  SmallVector<Value> first(coordinates);
  int64_t batch = first.size() - shape.size();
  for (auto [i, size] : llvm::enumerate(shape))
    first[batch + i] = index.mul(first[batch + i], size);
  return first;
}

SmallVector<Value> lpfa::getAtom(OpBuilder &b, Location loc,
                                 ValueRange coordinates, bool transposed) {
  IndexBuilder index(b, loc);
  SmallVector<Value> atom(coordinates);
  if (transposed)
    std::swap(atom[atom.size() - 2], atom.back());
  atom.append(3, index.constant(0));
  return atom;
}

SmallVector<Value> lpfa::getBlockedSizes(IndexBuilder &index,
                                         ArrayRef<Value> scales,
                                         bool transposed) {
  SmallVector<Value> sizes(scales);
  Value &rows = sizes[sizes.size() - 2], &groups = sizes.back();
  if (transposed)
    std::swap(rows, groups);
  rows = index.ceildiv(rows, kAtomRows);
  groups = index.ceildiv(groups, kAtomGroups);
  return sizes;
}
