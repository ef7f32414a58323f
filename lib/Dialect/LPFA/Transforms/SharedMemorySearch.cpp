//===- SharedMemorySearch.cpp - Places in shared memory -------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedMemorySearch.h"
#include "lpfa/Target/TargetModel.h"
#include "llvm/Support/MathExtras.h"
#include <set>

using namespace mlir;
using namespace lpfa;

/// Swizzled tiles want the alignment of the swizzle's pattern.
static int64_t getAlignment(BufferType type) {
  return type.getRank() == 2 ? TargetModel::sharedMemoryAlignment : 128;
}

SharedTile::SharedTile(BufferId buffer)
    : buffer(buffer), size(getBufferType(buffer).getSize()),
      stages(getStages(buffer)),
      alignment(getAlignment(getBufferType(buffer))) {}

BufferOverlap lpfa::getOverlap(const SharedTile &a, const SharedTile &b) {
  return getOverlap(a.buffer, a.getPlace(), b.buffer, b.getPlace());
}

int64_t lpfa::layOut(MutableArrayRef<SharedTile> tiles) {
  int64_t end = 0;
  for (SharedTile &tile : tiles) {
    tile.offset = llvm::alignTo(end, tile.alignment);
    end = tile.getEnd();
  }
  return end;
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

SharedMemorySearch::Cost SharedMemorySearch::getCost(Pair pair,
                                                     const Slots &slots) {
  auto [it, inserted] = costs.try_emplace({pair, slots});
  BufferOverlap overlap{tiles[pair.first].buffer, tiles[pair.second].buffer,
                        slots};
  if (inserted)
    if (auto count = analysis.countWaits(overlap))
      it->second = getCost(overlap, *count);
  return it->second;
}

PlacementCost
SharedMemorySearch::getCost(const BufferOverlap &overlap,
                            ScheduleAnalysis::WaitCount count) const {
  PlacementCost cost;
  cost.waits = count.steady;
  cost.outside = count.outside;
  cost.latest = count.latest;
  cost.barriers = cost.hasWaits() && !analysis.hasWaits(overlap.a) &&
                  !analysis.hasWaits(overlap.b);
  return cost;
}

void SharedMemorySearch::findPairs() {
  for (unsigned a = 0; a < tiles.size(); ++a)
    for (unsigned b = a + 1; b < tiles.size(); ++b) {
      // A channel's buffers are filled and read together.
      if (tiles[a].buffer.declaration == tiles[b].buffer.declaration)
        continue;
      std::vector<BufferOverlap> choices;
      for (int64_t i = 0; i < tiles[a].stages; ++i)
        for (int64_t j = 0; j < tiles[b].stages; ++j)
          choices.push_back({tiles[a].buffer, tiles[b].buffer, {{i, j}}});
      for (auto [choice, count] :
           llvm::zip_equal(choices, analysis.countWaits(choices))) {
        if (!count)
          continue;
        PlacementCost cost = getCost(choice, *count);
        auto [it, inserted] = pairCosts.try_emplace({a, b}, cost);
        it->second = std::min(it->second, cost);
      }
    }
}

SharedMemorySearch::Cost SharedMemorySearch::getCost() {
  std::map<std::pair<Operation *, Operation *>, PlacementCost> byChannels;
  for (auto [i, a] : llvm::enumerate(placed))
    for (unsigned b : ArrayRef(placed).drop_front(i + 1)) {
      Pair pair = std::minmax(a, b);
      BufferOverlap overlap = getOverlap(tiles[pair.first], tiles[pair.second]);
      if (overlap.slots.empty())
        continue;
      Cost cost = getCost(pair, overlap.slots);
      if (!cost)
        return std::nullopt;
      PlacementCost &most =
          byChannels[std::minmax(overlap.a.declaration, overlap.b.declaration)];
      most = std::max(most, *cost);
    }
  PlacementCost sum;
  for (const auto &entry : byChannels)
    sum = sum + entry.second;
  return sum;
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

bool SharedMemorySearch::canShare(unsigned a, unsigned b) const {
  auto it = pairCosts.find(std::minmax(a, b));
  return it != pairCosts.end() && (!bestCost || it->second < *bestCost);
}

/// The fewest bytes of tiles that hold one of each pair.
static int64_t getCover(ArrayRef<std::pair<unsigned, unsigned>> pairs,
                        ArrayRef<SharedTile> tiles) {
  if (pairs.empty())
    return 0;
  int64_t fewest = std::numeric_limits<int64_t>::max();
  for (unsigned taken : {pairs.front().first, pairs.front().second}) {
    SmallVector<std::pair<unsigned, unsigned>> left;
    for (auto pair : pairs)
      if (pair.first != taken && pair.second != taken)
        left.push_back(pair);
    fewest = std::min(fewest, tiles[taken].getBytes() + getCover(left, tiles));
  }
  return fewest;
}

int64_t SharedMemorySearch::getMostSpared(ArrayRef<unsigned> candidates) const {
  SmallVector<Pair> open;
  for (auto [i, a] : llvm::enumerate(candidates))
    for (unsigned b : candidates.drop_front(i + 1))
      if (canShare(a, b) &&
          !(llvm::is_contained(placed, a) && llvm::is_contained(placed, b)))
        open.push_back({a, b});
  int64_t spared = getCover(open, tiles);
  // What is placed: its bytes without its union.
  SmallVector<std::pair<int64_t, int64_t>> ranges;
  for (unsigned index : placed)
    ranges.push_back({tiles[index].offset, tiles[index].getEnd()});
  llvm::sort(ranges);
  int64_t end = 0;
  for (auto [first, last] : ranges) {
    spared += last - first - std::max<int64_t>(0, last - std::max(first, end));
    end = std::max(end, last);
  }
  return spared;
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

SharedMemorySearch::SharedMemorySearch(std::vector<SharedTile> &tiles,
                                       int64_t limit,
                                       const ScheduleAnalysis &analysis)
    : tiles(tiles), limit(limit), analysis(analysis), excess(-limit) {
  for (const SharedTile &tile : tiles)
    excess += tile.getBytes();
  findPairs();
  for (unsigned index = 0; index < tiles.size(); ++index)
    if (llvm::any_of(pairCosts, [&](const auto &entry) {
          return entry.first.first == index || entry.first.second == index;
        }))
      sharing.push_back(index);
}

bool SharedMemorySearch::run() {
  for (unsigned size = 2; size <= sharing.size(); ++size)
    visitGroups(0, size);
  if (!bestCost)
    return false;
  tiles = best;
  return true;
}

void SharedMemorySearch::visitGroups(unsigned first, unsigned size) {
  if (group.size() == size) {
    placeGroup();
    return;
  }
  std::vector<unsigned> most = group;
  most.insert(most.end(), sharing.begin() + first, sharing.end());
  if (most.size() < size || getMostSpared(most) < excess)
    return;
  for (unsigned i = first; i < sharing.size(); ++i) {
    group.push_back(sharing[i]);
    visitGroups(i + 1, size);
    group.pop_back();
  }
}

void SharedMemorySearch::placeGroup() {
  bool isGroup = llvm::all_of(group, [&](unsigned a) {
    return llvm::any_of(group,
                        [&](unsigned b) { return a != b && canShare(a, b); });
  });
  if (!isGroup)
    return;
  begin = 0;
  for (auto [index, tile] : llvm::enumerate(tiles)) {
    if (tile.alignment != TargetModel::sharedMemoryAlignment ||
        llvm::is_contained(group, index))
      continue;
    tile.offset = llvm::alignTo(begin, tile.alignment);
    begin = tile.getEnd();
  }
  visit();
}

std::vector<int64_t>
SharedMemorySearch::getOffsets(unsigned index,
                               ArrayRef<unsigned> neighbors) const {
  const SharedTile &tile = tiles[index];
  std::set<int64_t, std::greater<>> offsets = {
      int64_t(llvm::alignTo(begin, tile.alignment))};
  for (unsigned neighbor : neighbors) {
    const SharedTile &other = tiles[neighbor];
    for (int64_t i = 1; i <= other.stages; ++i)
      for (int64_t j = 0; j < tile.stages; ++j) {
        int64_t offset = other.offset + i * other.size - j * tile.size;
        if (offset >= begin)
          offsets.insert(llvm::alignTo(offset, tile.alignment));
      }
  }
  return {offsets.begin(), offsets.end()};
}

void SharedMemorySearch::visit() {
  Cost cost = getCost();
  if (!cost || (bestCost && !(*cost < *bestCost)) ||
      getMostSpared(group) < excess)
    return;
  if (placed.size() == group.size()) {
    std::vector<unsigned> rest;
    for (auto [index, tile] : llvm::enumerate(tiles))
      if (tile.alignment != TargetModel::sharedMemoryAlignment &&
          !llvm::is_contained(group, index))
        rest.push_back(index);
    if (placeRest(rest) && isAccepted()) {
      best = tiles;
      bestCost = cost;
    }
    return;
  }
  for (unsigned index : group) {
    if (llvm::is_contained(placed, index))
      continue;
    // What does not lie next to the last one could come before it: of the two
    // orders one is enough.
    std::vector<int64_t> before;
    if (!placed.empty() && index < placed.back())
      before = getOffsets(index, ArrayRef(placed).drop_back());
    for (int64_t offset : getOffsets(index, placed)) {
      tiles[index].offset = offset;
      if (llvm::is_contained(before, offset) || tiles[index].getEnd() > limit)
        continue;
      placed.push_back(index);
      visit();
      placed.pop_back();
    }
  }
}

bool SharedMemorySearch::placeRest(ArrayRef<unsigned> rest) {
  std::vector<unsigned> others = placed;
  for (unsigned index : rest) {
    SharedTile &tile = tiles[index];
    std::vector<int64_t> offsets = getOffsets(index, others);
    auto isFree = [&](int64_t offset) {
      tile.offset = offset;
      return llvm::none_of(others, [&](unsigned other) {
        return !getOverlap(tile, tiles[other]).slots.empty();
      });
    };
    // Behind all others it is free.
    tile.offset = *std::find_if(offsets.rbegin(), offsets.rend(), isFree);
    if (tile.getEnd() > limit)
      return false;
    others.push_back(index);
  }
  return true;
}

bool SharedMemorySearch::isAccepted() {
  ++tried;
  ScheduleAnalysis whole = analysis;
  for (auto [i, a] : llvm::enumerate(placed))
    for (unsigned b : ArrayRef(placed).drop_front(i + 1))
      if (BufferOverlap overlap = getOverlap(tiles[a], tiles[b]);
          !overlap.slots.empty())
        whole.addOverlap(overlap);
  return whole.findWaits().has_value();
}
