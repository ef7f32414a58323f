//===- FormScaleLayouts.cpp - Kernels of layouts of scales ----------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementwiseKernel.h"
#include "lpfa/Dialect/LPFA/Utils/SizeChecks.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace lpfa;

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

LogicalResult lpfa::formScaleLayouts(ModuleOp module) {
  LayoutKernels kernels;
  WalkResult result = module.walk([&](Operation *op) -> WalkResult {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case([&](PackScalesOp pack) { return formPackScales(pack, kernels); })
        .Case([&](UnpackScalesOp unpack) {
          return formUnpackScales(unpack, kernels);
        })
        .Default([](Operation *) { return success(); });
  });
  return failure(result.wasInterrupted());
}
