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
/// Kernels by the kind of their op, the types that they move between, and
/// whether transposed: equal ones are shared.
using LayoutKernels =
    llvm::MapVector<std::tuple<StringRef, FunctionType, unsigned>, KernelOp>;
} // namespace

template <typename OpTy>
static KernelOp &getShared(LayoutKernels &kernels, OpTy op) {
  // Sizes are not the kernel's arguments.
  SmallVector<Type> inputs;
  for (Type type : op->getOperandTypes())
    if (isa<RankedTensorType>(type))
      inputs.push_back(type);
  auto type = FunctionType::get(op.getContext(), inputs, op->getResultTypes());
  return kernels[{OpTy::getOperationName(), type, op.getTransposed()}];
}

static SmallVector<int64_t> getLayoutTile(bool transposed, int64_t atoms = 1) {
  SmallVector<int64_t> tile = {kAtomRows, kAtomGroups * atoms};
  if (transposed)
    std::swap(tile[0], tile[1]);
  return tile;
}

/// Atoms of a tile: so many that its rows fill sectors of memory, where there
/// are as many.
static int64_t getAtoms(RankedTensorType scales, bool transposed) {
  constexpr int64_t most = 16;
  int64_t groups = scales.getShape().take_back(2)[transposed ? 0 : 1];
  if (ShapedType::isDynamic(groups))
    return most;
  return std::clamp<int64_t>(llvm::divideCeil(groups, kAtomGroups), 1, most);
}

/// A tile of atoms, and where it is in blocked scales.
static TileType getAtomTile(Value view, int64_t atoms) {
  SmallVector<int64_t> shape(TileType::getAtom(view.getContext()).getShape());
  if (atoms > 1)
    shape.insert(shape.begin(), atoms);
  return getTile(view, shape);
}
static SmallVector<Value> getFirstAtom(OpBuilder &b, Location loc,
                                       ValueRange coordinates, bool transposed,
                                       int64_t atoms) {
  IndexBuilder index(b, loc);
  SmallVector<Value> first = getAtom(b, loc, coordinates, transposed);
  Value &group = first[first.size() - 4];
  group = index.mul(group, atoms);
  return first;
}

static LogicalResult formPackScales(PackScalesOp op, LayoutKernels &kernels) {
  Location loc = op.getLoc();
  bool transposed = op.getTransposed();
  int64_t atoms = getAtoms(op.getScales().getType(), transposed);
  SmallVector<int64_t> tile = getLayoutTile(transposed, atoms);
  ElementwiseKernel kernel(op, op.getScales(), tile);
  kernel.addInput(op.getScales());
  if (failed(kernel.checkSizes()))
    return failure();
  OpBuilder builder(op);
  IndexBuilder index(builder, loc);
  kernel.addOutput(op.getBlocked(),
                   getBlockedSizes(index, kernel.getSizes(), transposed));
  KernelOp &shared = getShared(kernels, op);
  if (!shared)
    shared = kernel.build(
        "pack_scales", 0,
        [&](OpBuilder &b, ValueRange views, ValueRange coordinates) {
          Value scales =
              LoadOp::create(b, loc, getTile(views[0], tile), views[0],
                             getFirst(b, loc, coordinates, tile));
          Value packed =
              PackAtomOp::create(b, loc, getAtomTile(views[1], atoms), scales,
                                 /*valid=*/Value(), transposed);
          StoreOp::create(b, loc, packed, views[1],
                          getFirstAtom(b, loc, coordinates, transposed, atoms));
        });
  kernel.launch(shared);
  op.erase();
  return success();
}

/// The sizes of row-major scales; `open` has what `blocked` does not say.
static SmallVector<Value> getRowMajorSizes(IndexBuilder &index,
                                           RankedTensorType type, Value blocked,
                                           ValueRange open) {
  SmallVector<Value> sizes;
  for (int64_t i = 0; i < type.getRank(); ++i) {
    if (!type.isDynamicDim(i)) {
      sizes.push_back(index.constant(type.getDimSize(i)));
    } else if (i < type.getRank() - 2) {
      sizes.push_back(index.dim(blocked, i));
    } else {
      sizes.push_back(open.front());
      open = open.drop_front();
    }
  }
  return sizes;
}

static LogicalResult formUnpackScales(UnpackScalesOp op,
                                      LayoutKernels &kernels) {
  Location loc = op.getLoc();
  bool transposed = op.getTransposed();
  RankedTensorType type = op.getScales().getType();
  OpBuilder builder(op);
  IndexBuilder index(builder, loc);
  SmallVector<Value> sizes =
      getRowMajorSizes(index, type, op.getBlocked(), op.getSizes());
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
  int64_t atoms = getAtoms(type, transposed);
  SmallVector<int64_t> tile = getLayoutTile(transposed, atoms);
  ElementwiseKernel kernel(op, destination, tile);
  kernel.addInput(op.getBlocked());
  if (failed(kernel.checkSizes()))
    return failure();
  kernel.addOutput(op.getScales(), sizes);
  KernelOp &shared = getShared(kernels, op);
  if (!shared)
    shared = kernel.build(
        "unpack_scales", 1,
        [&](OpBuilder &b, ValueRange views, ValueRange coordinates) {
          Value packed = LoadOp::create(
              b, loc, getAtomTile(views[0], atoms), views[0],
              getFirstAtom(b, loc, coordinates, transposed, atoms));
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
// Packed sequences
//===----------------------------------------------------------------------===//

namespace {
/// What the kernels of packed sequences have in common. A row of scales belongs
/// to one token or, transposed, to 32; an atom has 128 such rows, or 4.
struct Sequences {
  Sequences(int64_t rank, bool transposed)
      : rank(rank), transposed(transposed), tile(getLayoutTile(transposed)),
        atomAxis(transposed ? rank - 1 : rank - 2) {}

  /// Where the atom with number `atom` of all sequences is in packed scales.
  SequenceTileOp locate(OpBuilder &b, Location loc, Value atom, Value offsets,
                        Value scales, Value blocked) const {
    IndexBuilder index(b, loc);
    return SequenceTileOp::create(
        b, loc, atom, offsets, tile[0], transposed ? kBlockSize : 1,
        index.dim(scales, rank - 2), index.dim(blocked, atomAxis));
  }
  /// The first element in packed scales, whose sequence's row is `row`, of what
  /// the atom at `coordinates` scales.
  SmallVector<Value> getPlace(OpBuilder &b, Location loc,
                              ValueRange coordinates, Value row) const {
    IndexBuilder index(b, loc);
    SmallVector<Value> place(coordinates.take_front(rank));
    if (transposed)
      std::swap(place[rank - 2], place[rank - 1]);
    place[rank - 2] = row;
    place[rank - 1] = index.mul(place[rank - 1], tile[1]);
    return place;
  }

  int64_t rank;
  bool transposed;
  SmallVector<int64_t> tile;
  /// The dimension of blocked scales that counts atoms of sequences.
  int64_t atomAxis;
};
} // namespace

/// Without an offset the number of sequences makes no sense.
static void checkOffsets(OpBuilder &builder, Operation *op, Value offsets) {
  IndexBuilder index(builder, op->getLoc());
  emitCheck(builder, op,
            builder.createOrFold<arith::CmpIOp>(
                op->getLoc(), arith::CmpIPredicate::sge, index.dim(offsets, 0),
                index.constant(1)),
            "there are no offsets");
}

static LogicalResult formScatterScales(ScatterScalesOp op,
                                       LayoutKernels &kernels) {
  Location loc = op.getLoc();
  int64_t rank = op.getScales().getType().getRank();
  Sequences sequences(rank, op.getTransposed());
  OpBuilder builder(op);
  IndexBuilder index(builder, loc);
  checkOffsets(builder, op, op.getOffsets());
  SmallVector<Value> sizes;
  for (int64_t i = 0; i < rank; ++i)
    sizes.push_back(index.dim(op.getScales(), i));
  Value offsets = index.dim(op.getOffsets(), 0);
  SmallVector<Value> counted(sizes);
  counted.push_back(offsets);
  if (failed(checkCountable(builder, op, counted)))
    return failure();
  // As many atoms as sequences of any lengths may need.
  int64_t atomRows = sequences.tile[0];
  Value most = builder.createOrFold<arith::AddIOp>(
      loc, sizes[rank - 2], index.mul(index.add(offsets, -1), atomRows - 1));
  sizes = getBlockedSizes(index, sizes, op.getTransposed());
  sizes[sequences.atomAxis] = index.div(most, index.constant(atomRows));
  for (int64_t size : TileType::getAtom(op.getContext()).getShape())
    sizes.push_back(index.constant(size));

  // The result, before there is a tensor of its sizes.
  Value destination = createDestination(builder, op.getBlocked(), sizes);
  ArrayRef<int64_t> atom = TileType::getAtom(op.getContext()).getShape();
  ElementwiseKernel kernel(op, destination, atom);
  kernel.addInput(op.getScales());
  kernel.addInput(op.getOffsets());
  if (failed(kernel.checkSizes()))
    return failure();
  kernel.addOutput(op.getBlocked(), sizes);
  KernelOp &shared = getShared(kernels, op);
  if (!shared)
    shared = kernel.build(
        "scatter_scales", 2,
        [&](OpBuilder &b, ValueRange views, ValueRange coordinates) {
          auto at = sequences.locate(b, loc, coordinates[sequences.atomAxis],
                                     views[1], views[0], views[2]);
          Value scales = LoadOp::create(
              b, loc, getTile(views[0], sequences.tile), views[0],
              sequences.getPlace(b, loc, coordinates, at.getRow()),
              at.getCount());
          Value packed =
              PackAtomOp::create(b, loc, getTile(views[2], atom), scales,
                                 /*valid=*/Value(), op.getTransposed());
          StoreOp::create(b, loc, packed, views[2],
                          getFirst(b, loc, coordinates, atom));
        });
  kernel.launch(shared);
  op.erase();
  return success();
}

/// Its work tiles are the atoms, then those rows of scales that no sequence
/// owns; as many as that may take.
static LogicalResult formGatherScales(GatherScalesOp op,
                                      LayoutKernels &kernels) {
  Location loc = op.getLoc();
  RankedTensorType type = op.getScales().getType();
  int64_t rank = type.getRank();
  Sequences sequences(rank, op.getTransposed());
  OpBuilder builder(op);
  IndexBuilder index(builder, loc);
  checkOffsets(builder, op, op.getOffsets());
  SmallVector<Value> sizes =
      getRowMajorSizes(index, type, op.getBlocked(), op.getSizes());
  SmallVector<Value> blocked =
      getBlockedSizes(index, sizes, op.getTransposed());
  int64_t otherAxis = op.getTransposed() ? rank - 2 : rank - 1;
  emitCheck(builder, op,
            builder.createOrFold<arith::CmpIOp>(
                loc, arith::CmpIPredicate::eq,
                index.dim(op.getBlocked(), otherAxis), blocked[otherAxis]),
            "expects another size of dimension " + std::to_string(otherAxis) +
                " of the blocked scales");
  Value destination = createDestination(builder, op.getScales(), sizes);
  ElementwiseKernel kernel(op, destination, sequences.tile);
  kernel.addInput(op.getBlocked());
  kernel.addInput(op.getOffsets());
  kernel.addOutput(op.getScales(), sizes);
  auto getBounds = [&](IndexBuilder &at, ValueRange tensors) {
    SmallVector<Value> bounds;
    for (int64_t i = 0; i < rank; ++i)
      bounds.push_back(at.dim(tensors[0], i));
    Value unowned = at.ceildiv(at.dim(tensors[2], rank - 2), sequences.tile[0]);
    Value &atoms = bounds[sequences.atomAxis];
    atoms = at.add(atoms, unowned);
    return bounds;
  };
  SmallVector<Value> counted(sizes);
  for (int64_t i = 0; i < rank; ++i)
    counted.push_back(index.dim(op.getBlocked(), i));
  counted.push_back(index.dim(op.getOffsets(), 0));
  Value grid = kernel.getGrid(getBounds);
  counted.push_back(grid);
  if (failed(checkCountable(builder, op, counted)))
    return failure();
  KernelOp &shared = getShared(kernels, op);
  if (!shared)
    shared = kernel.build(
        "gather_scales", getBounds,
        [&](OpBuilder &b, ValueRange views, ValueRange coordinates) {
          IndexBuilder zero(b, loc);
          SmallVector<Value> place(coordinates);
          Value &atom = place[sequences.atomAxis];
          auto at =
              sequences.locate(b, loc, atom, views[1], views[2], views[0]);
          // What is not there is 0.
          Value isNone = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                               at.getCount(), zero.constant(0));
          Value outside = zero.dim(views[0], sequences.atomAxis);
          atom = arith::SelectOp::create(b, loc, isNone, outside, atom);
          place.append(3, zero.constant(0));
          TileType atomType =
              getTile(views[0], TileType::getAtom(b.getContext()).getShape());
          Value packed = LoadOp::create(b, loc, atomType, views[0], place);
          Value scales =
              UnpackAtomOp::create(b, loc, getTile(views[2], sequences.tile),
                                   packed, op.getTransposed());
          Value count = arith::SelectOp::create(
              b, loc, isNone, zero.constant(sequences.tile[0]), at.getCount());
          StoreOp::create(b, loc, scales, views[2],
                          sequences.getPlace(b, loc, coordinates, at.getRow()),
                          count);
        });
  kernel.launch(shared, grid);
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
        .Case([&](ScatterScalesOp scatter) {
          return formScatterScales(scatter, kernels);
        })
        .Case([&](GatherScalesOp gather) {
          return formGatherScales(gather, kernels);
        })
        .Default([](Operation *) { return success(); });
  });
  return failure(result.wasInterrupted());
}
