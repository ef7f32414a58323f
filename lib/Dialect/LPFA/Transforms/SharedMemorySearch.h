//===- SharedMemorySearch.h - Places in shared memory -----------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_DIALECT_LPFA_TRANSFORMS_SHAREDMEMORYSEARCH_H
#define LPFA_LIB_DIALECT_LPFA_TRANSFORMS_SHAREDMEMORYSEARCH_H

#include "PlacementSearch.h"
#include "lpfa/Analysis/Schedule.h"
#include <map>

namespace lpfa {

/// A buffer of shared memory that wants a place: its slots lie one after the
/// other.
struct SharedTile {
  BufferId buffer;
  /// Bytes of a slot, and how many slots there are.
  int64_t size, stages, alignment;
  int64_t offset = -1;

  explicit SharedTile(BufferId buffer);
  int64_t getBytes() const { return size * stages; }
  int64_t getEnd() const { return offset + getBytes(); }
  PlaceAttr getPlace() const {
    return PlaceAttr::get(buffer.declaration->getContext(), MemorySpace::Shared,
                          offset, size);
  }
};

BufferOverlap getOverlap(const SharedTile &a, const SharedTile &b);

/// Lays the tiles one after the other and returns where they end.
int64_t layOut(llvm::MutableArrayRef<SharedTile> tiles);

/// Exact search for places of tiles that do not fit side by side. Groups of
/// tiles are tried, small ones first, whose members share memory; all others
/// lie side by side. The tiles of a group are taken in every order, each to
/// every offset at which a slot of it begins where the group does, or where a
/// slot of one before ends: those of any other placement could move down to
/// such ones without meeting in more slots. It takes the least cost, then the
/// first in order, that the whole of the analysis accepts.
///
/// What bounds its time is how few tiles the analysis lets share at all, and
/// how much they could spare at most: of tiles that meet in a byte all but one
/// are in any set that holds one of each two that can share.
class SharedMemorySearch {
public:
  /// `analysis` has the overlaps in tensor memory, and has found its waits.
  SharedMemorySearch(std::vector<SharedTile> &tiles, int64_t limit,
                     const ScheduleAnalysis &analysis);

  /// Sets the tiles' offsets. False where nothing fits.
  bool run();

  /// How many placements were judged as a whole.
  unsigned getTried() const { return tried; }

private:
  using Cost = std::optional<PlacementCost>;
  using Slots = std::vector<std::pair<int64_t, int64_t>>;
  using Pair = std::pair<unsigned, unsigned>;

  /// What sharing these slots costs; nothing where no wait allows it.
  Cost getCost(Pair pair, const Slots &slots);
  PlacementCost getCost(const BufferOverlap &overlap,
                        ScheduleAnalysis::WaitCount count) const;
  /// What all that is placed costs: buffers of two channels have their waits in
  /// common.
  Cost getCost();

  /// Finds the pairs that can share memory in some slots.
  void findPairs();
  /// Whether two tiles can share memory for less than the best so far.
  bool canShare(unsigned a, unsigned b) const;
  /// How many bytes these tiles can spare at most: those that are placed, what
  /// they do, and the others whatever the analysis allows.
  int64_t getMostSpared(llvm::ArrayRef<unsigned> tiles) const;

  void visitGroups(unsigned first, unsigned size);
  void placeGroup();
  void visit();
  /// Puts the tiles outside the group behind the others, and between them.
  bool placeRest(llvm::ArrayRef<unsigned> rest);
  bool isAccepted();

  /// The offsets for a tile next to those in `neighbors`, the last first.
  std::vector<int64_t> getOffsets(unsigned index,
                                  llvm::ArrayRef<unsigned> neighbors) const;

  std::vector<SharedTile> &tiles;
  const int64_t limit;
  const ScheduleAnalysis &analysis;
  std::map<std::pair<Pair, Slots>, Cost> costs;
  /// The least cost of any two slots, of those pairs that can share memory.
  std::map<Pair, PlacementCost> pairCosts;
  std::vector<unsigned> sharing, group;
  /// Where the group begins, and which of it are placed, in that order.
  int64_t begin = 0;
  std::vector<unsigned> placed;
  /// What must be spared.
  int64_t excess = 0;
  std::vector<SharedTile> best;
  Cost bestCost;
  unsigned tried = 0;
};

} // namespace lpfa

#endif // LPFA_LIB_DIALECT_LPFA_TRANSFORMS_SHAREDMEMORYSEARCH_H
