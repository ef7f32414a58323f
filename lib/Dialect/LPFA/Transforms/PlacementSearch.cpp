//===- PlacementSearch.cpp - Places in tensor memory ----------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlacementSearch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lpfa;

BufferOverlap lpfa::getOverlap(const Tile &a, const Tile &b) {
  return getOverlap(a.buffer, a.getPlace(), b.buffer, b.getPlace());
}

bool PlacementSearch::run(Cost bound) {
  best.reset();
  bestCost = bound;
  visit(0, {});
  if (best)
    tiles = *best;
  return best.has_value();
}

int64_t PlacementSearch::getAlignment(const Tile &tile) {
  if (tile.isLarge)
    return 32;
  return getBufferType(tile.buffer).isScales() ? 4 : 16;
}

Operation *PlacementSearch::getProduct(const Tile &tile) {
  for (Operation *user : tile.buffer.declaration->getUsers())
    if (isa<MmaOp>(user))
      return user;
  return tile.buffer.declaration;
}

PlacementSearch::Cost
PlacementSearch::getCostIn(unsigned index, const Slot &slot, Sharing sharing) {
  PlacementCost sum;
  for (unsigned host : slot.hosts) {
    Cost cost = getCost(host, index, sharing);
    if (!cost)
      return std::nullopt;
    sum = sum + *cost;
  }
  const Tile &tile = tiles[index];
  if (!sum.hasWaits() || tile.isLarge)
    return sum;
  sum.waits = std::min(sum.waits, 1u);
  sum.outside = std::min(sum.outside, 1u);
  sum.latest = std::min(sum.latest, 1u);
  for (const Tile &other : ArrayRef(tiles).take_front(index)) {
    if (other.isLarge || other.offset < slot.begin || other.offset >= slot.end)
      continue;
    sum.barriers = 0;
    if (getProduct(other) != getProduct(tile))
      continue;
    if (other.distance == tile.distance)
      return PlacementCost();
    sum.waits = sum.outside = 0;
  }
  return sum;
}

void PlacementSearch::visit(unsigned index, PlacementCost cost) {
  if (bestCost && !(cost < *bestCost))
    return;
  if (index == tiles.size()) {
    if (!accept(tiles))
      return;
    best = tiles;
    bestCost = cost;
    return;
  }
  Tile &tile = tiles[index];
  if (tile.isLarge)
    visitLarge(index, cost);
  else
    visitSmall(index, cost);
  tile.offset = -1;
}

void PlacementSearch::visitLarge(unsigned index, PlacementCost cost) {
  Tile &tile = tiles[index];
  // Columns of its own first, then those of tiles before.
  int64_t width = llvm::alignTo(tile.getColumns(), getAlignment(tile));
  if (next + width <= limit) {
    tile.offset = next;
    slots.push_back({next, next + width, {index}});
    next += width;
    visit(index + 1, cost);
    next -= width;
    slots.pop_back();
  }
  for (unsigned i = 0; i < slots.size(); ++i) {
    Cost added = getCostIn(index, slots[i], All);
    if (!added || tile.getColumns() > slots[i].end - slots[i].begin)
      continue;
    tile.offset = slots[i].begin;
    slots[i].hosts.push_back(index);
    visit(index + 1, cost + *added);
    slots[i].hosts.pop_back();
  }
}

void PlacementSearch::skipTaken(unsigned index) {
  Tile &tile = tiles[index];
  tile.offset = llvm::alignTo(tile.offset, getAlignment(tile));
  auto isTaken = [&](const Tile &other) {
    for (int64_t i = 0; i < tile.stages; ++i)
      for (int64_t j = 0; j < other.stages; ++j) {
        int64_t otherEnd = other.getBegin(j) + other.size;
        if (other.isLarge ||
            other.getBegin(j) >= tile.getBegin(i) + tile.size ||
            tile.getBegin(i) >= otherEnd)
          continue;
        tile.offset =
            llvm::alignTo(otherEnd - i * tile.distance, getAlignment(tile));
        return true;
      }
    return false;
  };
  while (llvm::any_of(ArrayRef(tiles).take_front(index), isTaken))
    ;
}

bool PlacementSearch::isAsDeep(const Tile &tile, const Slot &slot) const {
  return tile.stages > 1 && llvm::all_of(slot.hosts, [&](unsigned host) {
           return tiles[host].stages == tile.stages &&
                  tiles[host].size == tiles[slot.hosts.front()].size;
         });
}

void PlacementSearch::visitSmall(unsigned index, PlacementCost cost) {
  Tile &tile = tiles[index];
  // Where another use of its buffer lies.
  auto before = ArrayRef(tiles).take_front(index);
  auto use = llvm::find_if(before, [&](const Tile &other) {
    return tile.original && other.original == tile.original;
  });
  if (use != before.end()) {
    visitInTurns(index, use - before.begin(), cost);
    if (usesAreTogether)
      return;
  }
  auto tryIn = [&](const Slot &slot, Sharing sharing) {
    tile.offset = slot.begin;
    int64_t end = slot.end;
    if (sharing != All) {
      int64_t width = tiles[slot.hosts.front()].size;
      end = slot.begin + tile.stages * width;
      tile.offset += sharing == Next ? width : 0;
      tile.distance = sharing == Next ? -width : width;
    }
    Cost added = getCostIn(index, slot, sharing);
    skipTaken(index);
    if (added && tile.getEnd() <= end)
      visit(index + 1, cost + *added + getHomeCost(index));
    tile.distance = tile.ownDistance;
  };
  const Slot left = {next, limit, {}};
  tryIn(left, All);
  for (const Slot &slot : slots) {
    tryIn(slot, All);
    if (!isAsDeep(tile, slot))
      continue;
    tryIn(slot, Same);
    // Of two, the next of the last is the first.
    if (tile.stages == 2)
      tryIn(slot, Next);
  }
  // In turns with a small tile before it: the scales of two products.
  for (unsigned other = 0; other < index; ++other)
    if (!tiles[other].isLarge && isFirstAt(other) &&
        (use == before.end() || other != use - before.begin()))
      visitInTurns(index, other, cost);
}

void PlacementSearch::visitInTurns(unsigned index, unsigned other,
                                   PlacementCost cost) {
  Tile &tile = tiles[index];
  if (tiles[other].distance != tiles[other].ownDistance ||
      tiles[other].getColumns() < tile.getColumns() ||
      tiles[other].offset % getAlignment(tile) != 0)
    return;
  auto slot = llvm::find_if(slots, [&](const Slot &slot) {
    return tiles[other].offset >= slot.begin && tiles[other].offset < slot.end;
  });
  tile.offset = tiles[other].offset;
  Cost added = getCostIn(
      index, slot == slots.end() ? Slot{next, limit, {}} : *slot, All);
  for (unsigned host = 0; added && host < index; ++host)
    if (!tiles[host].isLarge && !getOverlap(tiles[host], tile).slots.empty()) {
      Cost turns = getCost(host, index, All);
      added = turns ? Cost(*added + *turns) : Cost();
    }
  if (added)
    visit(index + 1, cost + *added + getHomeCost(index));
}

PlacementCost PlacementSearch::getHomeCost(unsigned index) const {
  const Tile &tile = tiles[index];
  PlacementCost cost;
  bool isUse = false;
  for (const Tile &other : ArrayRef(tiles).take_front(index)) {
    if (!tile.original || other.original != tile.original)
      continue;
    if (other.offset == tile.offset)
      return cost;
    isUse = true;
  }
  cost.homes = isUse;
  return cost;
}

bool PlacementSearch::isFirstAt(unsigned index) const {
  return llvm::none_of(
      ArrayRef(tiles).take_front(index), [&](const Tile &other) {
        return !other.isLarge && other.offset == tiles[index].offset;
      });
}
