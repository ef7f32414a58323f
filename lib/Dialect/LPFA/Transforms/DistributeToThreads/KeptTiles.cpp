//===- KeptTiles.cpp - Tiles of elements in shared memory -----------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all work tiles use, and what loops carry from tile to tile, would take
// registers for long. Each thread has its pieces of it in shared memory, for
// itself: nobody waits.
//
//===----------------------------------------------------------------------===//

#include "KernelDistribution.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lpfa;

void KernelDistribution::layOutKeptTiles() {
  auto keep = [&](ArrayRef<Value> tiles) {
    auto type = dyn_cast<TileType>(tiles.front().getType());
    if (!type || type.getShape().empty() ||
        type.getShape().back() != layout->columns)
      return;
    for (Value tile : tiles)
      keptTiles[tile] = sharedBytes;
    sharedBytes += layout->getThreads() * layout->getPieces(type) *
                   layout->vector * type.getElementTypeBitWidth() / 8;
  };
  for (auto load : kernel.getBody().getOps<LoadOp>())
    keep({load.getTile()});
  // What loops carry from tile to tile.
  kernel.walk([&](scf::ForOp loop) {
    for (auto [init, carried, yielded, result] :
         llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs(),
                         loop.getYieldedValues(), loop.getResults()))
      keep({init, carried, yielded, result});
  });
}

/// Where shared memory has accesses of 16 bytes of a piece of a kept tile, each
/// with those of all threads side by side.
SmallVector<Value> KernelDistribution::getKeptAddresses(Value tile, int64_t i) {
  constexpr int64_t bytes = 16;
  int64_t count = layout->vector *
                  cast<TileType>(tile.getType()).getElementTypeBitWidth() / 8 /
                  bytes;
  Value first = b.offset(b.offset(sharedBase, keptTiles.lookup(tile)),
                         b.mul(thread, b.i32(bytes)));
  SmallVector<Value> addresses;
  for (int64_t access = i * count; access < (i + 1) * count; ++access)
    addresses.push_back(b.offset(first, access * bytes * getThreads()));
  return addresses;
}

void KernelDistribution::keepPiece(Value tile, int64_t i, Value piece) {
  auto type = cast<VectorType>(piece.getType());
  SmallVector<Value> addresses = getKeptAddresses(tile, i);
  int64_t part = type.getNumElements() / addresses.size();
  for (auto [k, address] : llvm::enumerate(addresses))
    LLVM::StoreOp::create(b,
                          vector::ExtractStridedSliceOp::create(
                              b, piece, int64_t(k) * part, part, 1),
                          address, /*alignment=*/16);
}

Value KernelDistribution::getPiece(Value tile, int64_t i) {
  if (!keptTiles.contains(tile))
    return pieces.lookup(tile)[i];
  auto type = VectorType::get(layout->vector,
                              cast<TileType>(tile.getType()).getElementType());
  SmallVector<Value> addresses = getKeptAddresses(tile, i);
  int64_t part = layout->vector / addresses.size();
  auto partType = VectorType::get(part, type.getElementType());
  Value piece;
  for (auto [k, address] : llvm::enumerate(addresses)) {
    Value loaded = LLVM::LoadOp::create(b, partType, address, /*alignment=*/16);
    if (partType == type)
      return loaded;
    if (!piece)
      piece = arith::ConstantOp::create(b, b.getZeroAttr(type));
    piece = vector::InsertStridedSliceOp::create(b, loaded, piece,
                                                 int64_t(k) * part, 1);
  }
  return piece;
}

SmallVector<Value> KernelDistribution::getPieces(Value tile) {
  if (!keptTiles.contains(tile))
    return pieces.lookup(tile);
  SmallVector<Value> all;
  int64_t count = layout->getPieces(cast<TileType>(tile.getType()));
  for (int64_t i = 0; i < count; ++i)
    all.push_back(getPiece(tile, i));
  return all;
}
