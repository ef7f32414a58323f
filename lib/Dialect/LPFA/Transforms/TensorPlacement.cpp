//===- TensorPlacement.cpp - A kernel's tensor memory ---------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorPlacement.h"
#include "SplitScratch.h"
#include "lpfa/Analysis/Schedule.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

using namespace mlir;
using namespace lpfa;

/// Whether the buffer is an accumulator or what a product writes.
static bool isResult(BufferId buffer) {
  if (isa<AccumulatorOp>(buffer.declaration))
    return true;
  return llvm::any_of(buffer.declaration->getUsers(), [&](Operation *user) {
    auto acquire = dyn_cast<AcquireOp>(user);
    return acquire && llvm::any_of(acquire.getBuffers()[buffer.index].getUses(),
                                   [](OpOperand &use) {
                                     auto mma = dyn_cast<MmaOp>(use.getOwner());
                                     return mma && mma.getD() == use.get();
                                   });
  });
}

/// The place in a step of the first product that the tile is an operand or the
/// result of.
static std::optional<int64_t> getPosition(ArrayRef<MmaOp> products,
                                          const Tile &tile) {
  auto isOf = [&](Value value) {
    Operation *definition = value.getDefiningOp();
    if (isa<AcquireOp, GetOp>(definition))
      return definition->getOperand(0).getDefiningOp() ==
                 tile.buffer.declaration &&
             cast<OpResult>(value).getResultNumber() == tile.buffer.index;
    return definition == tile.buffer.declaration;
  };
  for (auto [position, product] : llvm::enumerate(products))
    if (llvm::any_of(product->getOperands(), [&](Value operand) {
          return operand.getDefiningOp() && isOf(operand);
        }))
      return position;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

using Sharing = PlacementSearch::Sharing;
using Cost = PlacementSearch::Cost;

namespace {
/// What each two tiles cost in the same columns.
class SharingCosts {
public:
  /// Where the kernel's own accesses can be ordered.
  static std::optional<SharingCosts>
  get(KernelOp kernel, const std::vector<Trace> &traces, ArrayRef<Tile> tiles) {
    SharingCosts costs(kernel, traces, tiles);
    if (!costs.analysis.findWaits())
      return std::nullopt;
    return costs;
  }

  Cost operator()(unsigned host, unsigned guest, Sharing sharing) {
    auto [it, inserted] = costs.try_emplace({host, guest, sharing});
    if (inserted)
      it->second = compute(tiles[host], tiles[guest], sharing);
    return it->second;
  }

private:
  SharingCosts(KernelOp kernel, const std::vector<Trace> &traces,
               ArrayRef<Tile> tiles)
      : tiles(tiles), analysis(traces) {
    kernel.walk([&](MmaOp product) {
      auto at = product->getParentOfType<AtOp>();
      (at && at.getPrologue() ? prologue : steps).push_back(product);
    });
  }

  Cost compute(const Tile &host, const Tile &guest, Sharing sharing) const;
  unsigned getCloseness(const Tile &host, const Tile &guest) const;

  std::vector<Tile> tiles;
  ScheduleAnalysis analysis;
  /// The products of a prologue, and those of the steps.
  SmallVector<MmaOp> prologue, steps;
  std::map<std::tuple<unsigned, unsigned, Sharing>, Cost> costs;
};
} // namespace

Cost SharingCosts::compute(const Tile &host, const Tile &guest,
                           Sharing sharing) const {
  BufferOverlap overlap{host.buffer, guest.buffer, {}};
  for (int64_t i = 0; i < host.stages; ++i)
    for (int64_t j = 0; j < guest.stages; ++j)
      if (sharing == Sharing::All ||
          i == (j + int64_t(sharing == Sharing::Next)) % host.stages)
        overlap.slots.push_back({i, j});
  auto count = analysis.countWaits(overlap);
  if (!count)
    return std::nullopt;
  PlacementCost cost;
  cost.waits = count->steady;
  cost.outside = count->outside;
  cost.latest = count->latest;
  cost.barriers = cost.hasWaits() && !analysis.hasWaits(overlap.a);
  if (cost.hasWaits() || !host.isLarge || !getPosition(steps, guest))
    cost.closeness = getCloseness(host, guest);
  return cost;
}

/// How close the products of two tiles follow each other in the steps of their
/// role: the number of products less those from one to the other. A tile of a
/// prologue is done before the host's first product after it.
unsigned SharingCosts::getCloseness(const Tile &host, const Tile &guest) const {
  auto first = getPosition(steps, host), second = getPosition(steps, guest);
  if (auto position = getPosition(prologue, guest); position && !second) {
    auto rest = llvm::to_vector(ArrayRef(prologue).drop_front(*position));
    llvm::append_range(rest, steps);
    auto next = getPosition(ArrayRef(rest).drop_front(), host);
    return next ? rest.size() - *next : 0;
  }
  if (!first || !second)
    return 0;
  int64_t count = steps.size(), distance = (*second - *first + count) % count;
  if (!host.isLarge)
    distance = std::min(distance, count - distance);
  return count - distance;
}

//===----------------------------------------------------------------------===//
// TensorPlacement
//===----------------------------------------------------------------------===//

/// The tiles of a kernel; `uses` are the scratch buffers that were split.
static std::vector<Tile> getTiles(KernelOp kernel,
                                  ArrayRef<ScratchUses> uses = {}) {
  std::vector<Tile> tiles;
  for (BufferId buffer : getBuffers(kernel, MemorySpace::Tensor)) {
    int64_t size = getBufferType(buffer).getSize(), stages = getStages(buffer);
    bool isOnePlace = stages > 1 && isa<ScratchOp>(buffer.declaration);
    tiles.push_back(
        {buffer, size, stages, isResult(buffer), isOnePlace ? 0 : size});
    for (const ScratchUses &buffers : uses)
      if (llvm::is_contained(buffers, buffer.declaration))
        tiles.back().original = buffers.front();
  }
  // Large ones first, then wide ones: they are the hardest to place.
  llvm::stable_sort(tiles, [](const Tile &a, const Tile &b) {
    if (a.isLarge || b.isLarge)
      return a.isLarge && !b.isLarge;
    return a.getColumns() > b.getColumns();
  });
  return tiles;
}

static Cost getNoCost(unsigned, unsigned, Sharing) { return std::nullopt; }

static bool acceptAll(ArrayRef<Tile>) { return true; }

TensorPlacement::TensorPlacement(KernelOp kernel, int64_t columns)
    : kernel(kernel), columns(columns), tiles(::getTiles(kernel)) {}

bool TensorPlacement::placeApart() {
  return PlacementSearch(tiles, columns, getNoCost, acceptAll).run();
}

/// Searches for places of `tiles`, with the uses of a scratch buffer `together`
/// or each for itself, at less than `bound`.
static Cost search(std::vector<Tile> &tiles, int64_t columns,
                   SharingCosts &costs, const std::vector<Trace> &traces,
                   bool together, Cost bound, unsigned &tried) {
  // What is right for each two tiles must be so for all.
  auto areRight = [&](ArrayRef<Tile> placed) {
    ++tried;
    ScheduleAnalysis whole(traces);
    for (auto [i, a] : llvm::enumerate(placed))
      for (const Tile &b : placed.drop_front(i + 1))
        if (BufferOverlap overlap = getOverlap(a, b); !overlap.slots.empty())
          whole.addOverlap(overlap);
    return whole.findWaits().has_value();
  };
  PlacementSearch search(tiles, columns, costs, areRight);
  if (together)
    search.keepUsesTogether();
  if (!search.run(bound))
    return std::nullopt;
  return search.getLeastCost();
}

LogicalResult TensorPlacement::placeShared(
    function_ref<FailureOr<std::vector<Trace>> &()> getTraces,
    bool peelPrologue) {
  auto &traces = getTraces();
  if (failed(traces))
    return failure();
  auto costs = SharingCosts::get(kernel, *traces, tiles);
  if (!costs)
    return kernel.emitOpError("has accesses that no wait can order");
  Cost cost = search(tiles, columns, *costs, *traces, /*together=*/false,
                     /*bound=*/std::nullopt, tried);
  if (cost && !cost->hasWaits())
    return success();
  // Uses that are there, then those before the loops' first steps.
  bool isFound = cost.has_value();
  for (Peel peel : {Peel::None, peelPrologue ? Peel::Always : Peel::ForSteps})
    isFound |= splitUses(peel);
  if (isFound)
    return success();

  // How much would do, without overlaps that are wrong together.
  int64_t enough = columns;
  do
    enough += 32;
  while (!PlacementSearch(tiles, enough, *costs, acceptAll).run());
  InFlightDiagnostic diagnostic =
      kernel.emitOpError("finds no place for its tiles in ")
      << columns << " columns of tensor memory; " << enough
      << " would do, as would smaller tiles of keys or fewer of queries";
  for (const Tile &tile : tiles) {
    BufferRoles roles = getRoles(tile.buffer);
    diagnostic.attachNote(tile.buffer.declaration->getLoc())
        << "'" << getBufferName(tile.buffer.declaration) << "' takes "
        << tile.getColumns() << " columns, from its writing by "
        << llvm::join(roles.writers, " and ") << " to its reading by "
        << llvm::join(roles.readers, " and ");
  }
  return diagnostic;
}

/// Gives each use of a scratch buffer a place of its own where that takes fewer
/// waits than one place for all. Uses that then lie in one place are one again.
/// Loops are peeled first: always, or where that spares waits in steps.
bool TensorPlacement::splitUses(Peel peel) {
  OwningOpRef<KernelOp> copy = kernel.clone();
  if (peel != Peel::None && !peelPrologues(*copy))
    return false;
  std::vector<ScratchUses> uses = splitScratch(*copy);
  if (uses.empty())
    return false;
  FailureOr<std::vector<Trace>> traces = runTraces(*copy, Ordering::Practice);
  if (failed(traces))
    return false;
  std::vector<Tile> together = ::getTiles(*copy, uses), apart = together;
  auto costs = SharingCosts::get(*copy, *traces, apart);
  if (!costs)
    return false;
  Cost bound = search(together, columns, *costs, *traces, /*together=*/true,
                      /*bound=*/std::nullopt, tried);
  Cost cost =
      search(apart, columns, *costs, *traces, /*together=*/false, bound, tried);
  if (!cost)
    return false;
  bool sparesInSteps = !bound || cost->waits < bound->waits;
  bool sparesOutside = bound && cost->outside < bound->outside;
  if (!sparesInSteps && (!sparesOutside || peel == Peel::ForSteps))
    return false;
  auto find = [&](ScratchOp use) {
    return llvm::find_if(apart, [&](const Tile &tile) {
      return tile.buffer.declaration == use;
    });
  };
  for (ScratchUses &buffers : uses) {
    ScratchUses kept;
    for (ScratchOp use : buffers) {
      auto same = llvm::find_if(kept, [&](ScratchOp other) {
        return find(other)->offset == find(use)->offset;
      });
      if (same == kept.end()) {
        kept.push_back(use);
        continue;
      }
      apart.erase(find(use));
      use.getBuffer().replaceAllUsesWith(same->getBuffer());
      use.erase();
    }
  }
  kernel.getBody().takeBody(copy->getBody());
  tiles = std::move(apart);
  return split = true;
}
