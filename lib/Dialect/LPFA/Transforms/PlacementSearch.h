//===- PlacementSearch.h - Places in tensor memory --------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_DIALECT_LPFA_TRANSFORMS_PLACEMENTSEARCH_H
#define LPFA_LIB_DIALECT_LPFA_TRANSFORMS_PLACEMENTSEARCH_H

#include "lpfa/Analysis/Buffers.h"
#include <tuple>

namespace lpfa {

/// A buffer of tensor memory that wants a place.
struct Tile {
  BufferId buffer;
  /// Columns of a slot, and how many slots there are.
  int64_t size, stages;
  /// Results of products are large; the others may lie inside one of them.
  bool isLarge;
  /// From slot to slot, where the tile lies by itself: all places of a scratch
  /// buffer may be one.
  int64_t ownDistance;
  /// The scratch buffer that this is one use of, where it was split.
  mlir::Operation *original = nullptr;
  int64_t offset = -1;
  int64_t distance = ownDistance;

  int64_t getColumns() const { return size + (stages - 1) * ownDistance; }
  int64_t getBegin(int64_t slot) const { return offset + slot * distance; }
  int64_t getEnd() const {
    return std::max(offset, getBegin(stages - 1)) + size;
  }
  PlaceAttr getPlace() const {
    return PlaceAttr::get(buffer.declaration->getContext(), MemorySpace::Tensor,
                          offset, size, distance);
  }
};

/// What two tiles share where they lie.
BufferOverlap getOverlap(const Tile &a, const Tile &b);

/// What tiles in the same columns cost: first the waits that they need in the
/// steps of a role, then those outside; then barriers that nothing else needs,
/// and places beyond one for a scratch buffer; then what stalls: waits for the
/// latest content, and how close to each other the products are of which one
/// waits, or with `ordering=documented` would wait, for the other's end.
struct PlacementCost {
  unsigned waits = 0, outside = 0, barriers = 0, homes = 0, latest = 0,
           closeness = 0;

  bool hasWaits() const { return waits + outside > 0; }
  PlacementCost operator+(const PlacementCost &other) const {
    return {waits + other.waits,       outside + other.outside,
            barriers + other.barriers, homes + other.homes,
            latest + other.latest,     closeness + other.closeness};
  }
  bool operator<(const PlacementCost &other) const {
    return std::tie(waits, outside, barriers, homes, latest, closeness) <
           std::tie(other.waits, other.outside, other.barriers, other.homes,
                    other.latest, other.closeness);
  }
};

/// Exact search for the columns of all tiles. Large tiles lie side by side or
/// take turns in a slot; the others lie side by side in a slot or in the
/// columns that are left, or each slot of their ring inside that of a large
/// ring as deep, or they take turns in the place of one before: each product
/// copies its scales anew, to a place of its own choice. Uses of one scratch
/// buffer lie in one place or each in its own. It takes the least cost, then
/// the first places in order, that `accept` takes.
class PlacementSearch {
public:
  /// Which slot of the guest lies in which of the host: any in any, each in
  /// that of the same number, or in the next.
  enum Sharing { All, Same, Next };

  /// What two tiles in the same columns cost; nothing where no wait lets them
  /// share.
  using Cost = std::optional<PlacementCost>;
  using CostFunction =
      llvm::function_ref<Cost(unsigned host, unsigned guest, Sharing sharing)>;

  PlacementSearch(std::vector<Tile> &tiles, int64_t limit, CostFunction getCost,
                  llvm::function_ref<bool(llvm::ArrayRef<Tile>)> accept)
      : tiles(tiles), limit(limit), getCost(getCost), accept(accept) {}

  /// Sets the tiles' offsets. False where nothing fits, or costs less than
  /// `bound`.
  bool run(Cost bound = std::nullopt);

  /// Keeps the uses of one scratch buffer in one place.
  void keepUsesTogether() { usesAreTogether = true; }

  const PlacementCost &getLeastCost() const { return *bestCost; }

private:
  /// Columns that large tiles take in turns, or that none takes.
  struct Slot {
    int64_t begin, end;
    llvm::SmallVector<unsigned> hosts;
  };

  /// Scale copies write four aligned columns; A operands are kept on 16.
  static int64_t getAlignment(const Tile &tile);
  /// The product that reads the tile: its waits are shared with it, for the
  /// scales of one product are copied together.
  static mlir::Operation *getProduct(const Tile &tile);
  /// What a tile costs in a slot: waits that those placed there before do not
  /// need as well.
  Cost getCostIn(unsigned index, const Slot &slot, Sharing sharing);
  void visit(unsigned index, PlacementCost cost);
  void visitLarge(unsigned index, PlacementCost cost);
  /// Moves the tile to the first columns that the small tiles before it have
  /// left.
  void skipTaken(unsigned index);
  /// Whether every slot of the tile's ring has one of each host's for itself.
  bool isAsDeep(const Tile &tile, const Slot &slot) const;
  void visitSmall(unsigned index, PlacementCost cost);
  /// Tries the place of a small tile before it.
  void visitInTurns(unsigned index, unsigned other, PlacementCost cost);
  /// 1 where the tile is a use of a scratch buffer whose uses before it all lie
  /// elsewhere.
  PlacementCost getHomeCost(unsigned index) const;
  /// Whether no small tile before it has its place.
  bool isFirstAt(unsigned index) const;

  std::vector<Tile> &tiles;
  int64_t limit;
  CostFunction getCost;
  llvm::function_ref<bool(llvm::ArrayRef<Tile>)> accept;
  bool usesAreTogether = false;
  std::vector<Slot> slots;
  int64_t next = 0;
  std::optional<std::vector<Tile>> best;
  Cost bestCost;
};

} // namespace lpfa

#endif // LPFA_LIB_DIALECT_LPFA_TRANSFORMS_PLACEMENTSEARCH_H
