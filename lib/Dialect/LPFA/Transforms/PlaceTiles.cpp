//===- PlaceTiles.cpp - Where tiles lie in on-chip memory -----------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlacementSearch.h"
#include "SharedMemorySearch.h"
#include "lpfa/Analysis/Schedule.h"
#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "lpfa/Dialect/LPFA/Transforms/Passes.h"
#include "lpfa/Target/TargetModel.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <map>

namespace lpfa {
#define GEN_PASS_DEF_PLACETILES
#include "lpfa/Dialect/LPFA/Transforms/Passes.h.inc"
} // namespace lpfa

using namespace mlir;
using namespace lpfa;

namespace {
struct PlaceTiles : public lpfa::impl::PlaceTilesBase<PlaceTiles> {
  using PlaceTilesBase::PlaceTilesBase;
  void runOnOperation() override;

private:
  LogicalResult placeTensorMemory(KernelOp kernel);
  LogicalResult placeSharedMemory(KernelOp kernel);
  void setPlaces(KernelOp kernel);

  std::vector<std::pair<BufferId, PlaceAttr>> places;
  int64_t tensorColumns = 0, sharedBytes = 0;
};
} // namespace

/// The buffers of a kernel in `space`, in order of declaration.
static std::vector<BufferId> getBuffers(KernelOp kernel, MemorySpace space) {
  std::vector<BufferId> buffers = getBuffers(kernel);
  llvm::erase_if(buffers, [&](BufferId buffer) {
    return getBufferType(buffer).getSpace() != space;
  });
  return buffers;
}

//===----------------------------------------------------------------------===//
// Tensor memory
//===----------------------------------------------------------------------===//

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

/// How close the products of two tiles follow each other in the steps of their
/// role: the number of products less those from one to the other.
static unsigned getCloseness(ArrayRef<MmaOp> products, const Tile &host,
                             const Tile &guest) {
  auto first = getPosition(products, host),
       second = getPosition(products, guest);
  if (!first || !second)
    return 0;
  int64_t count = products.size(),
          distance = (*second - *first + count) % count;
  if (!host.isLarge)
    distance = std::min(distance, count - distance);
  return count - distance;
}

LogicalResult PlaceTiles::placeTensorMemory(KernelOp kernel) {
  std::vector<Tile> tiles;
  for (BufferId buffer : getBuffers(kernel, MemorySpace::Tensor)) {
    int64_t size = getBufferType(buffer).getSize(), stages = getStages(buffer);
    bool isOnePlace = stages > 1 && isa<ScratchOp>(buffer.declaration);
    tiles.push_back(
        {buffer, size, stages, isResult(buffer), isOnePlace ? 0 : size});
  }
  // Large ones first, then wide ones: they are the hardest to place.
  llvm::stable_sort(tiles, [](const Tile &a, const Tile &b) {
    if (a.isLarge || b.isLarge)
      return a.isLarge && !b.isLarge;
    return a.getColumns() > b.getColumns();
  });

  const int64_t limit = columns;
  auto accept = [](ArrayRef<Tile>) { return true; };
  auto never = [](unsigned, unsigned, PlacementSearch::Sharing) {
    return PlacementSearch::Cost();
  };
  if (!PlacementSearch(tiles, limit, never, accept).run()) {
    auto &traces = getAnalysis<KernelTraces>().traces;
    if (failed(traces))
      return failure();
    ScheduleAnalysis analysis(*traces);
    if (!analysis.findWaits())
      return kernel.emitOpError("has accesses that no wait can order");
    SmallVector<MmaOp> products;
    kernel.walk([&](MmaOp product) { products.push_back(product); });
    using Sharing = PlacementSearch::Sharing;
    std::map<std::tuple<unsigned, unsigned, Sharing>, PlacementSearch::Cost>
        costs;
    auto getCost = [&](unsigned host, unsigned guest, Sharing sharing) {
      auto [it, inserted] = costs.try_emplace({host, guest, sharing});
      if (inserted) {
        BufferOverlap overlap{tiles[host].buffer, tiles[guest].buffer, {}};
        for (int64_t i = 0; i < tiles[host].stages; ++i)
          for (int64_t j = 0; j < tiles[guest].stages; ++j)
            if (sharing == Sharing::All ||
                i == (j + int64_t(sharing == Sharing::Next)) %
                         tiles[host].stages)
              overlap.slots.push_back({i, j});
        if (auto count = analysis.countWaits(overlap)) {
          PlacementCost cost;
          cost.waits = count->waits;
          cost.latest = count->latest;
          cost.barriers = cost.waits > 0 && !analysis.hasWaits(overlap.a);
          if (cost.waits > 0 || !tiles[host].isLarge)
            cost.closeness = getCloseness(products, tiles[host], tiles[guest]);
          it->second = cost;
        }
      }
      return it->second;
    };
    // What is right for each two tiles must be so for all.
    auto areRight = [&](ArrayRef<Tile> placed) {
      ++triedPlacements;
      ScheduleAnalysis whole(*traces);
      for (auto [i, a] : llvm::enumerate(placed))
        for (const Tile &b : placed.drop_front(i + 1))
          if (BufferOverlap overlap = getOverlap(a, b); !overlap.slots.empty())
            whole.addOverlap(overlap);
      return whole.findWaits().has_value();
    };
    if (!PlacementSearch(tiles, limit, getCost, areRight).run()) {
      // How much would do, without overlaps that are wrong together.
      int64_t enough = limit;
      do
        enough += 32;
      while (!PlacementSearch(tiles, enough, getCost, accept).run());
      InFlightDiagnostic diagnostic =
          kernel.emitOpError("finds no place for its tiles in ")
          << limit << " columns of tensor memory; " << enough
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
  }
  for (const Tile &tile : tiles) {
    places.push_back({tile.buffer, tile.getPlace()});
    tensorColumns = std::max(tensorColumns, tile.getEnd());
    if (llvm::any_of(tiles, [&](const Tile &other) {
          return !(other.buffer == tile.buffer) &&
                 other.getColumns() >= tile.getColumns() &&
                 !getOverlap(tile, other).slots.empty();
        }))
      ++sharingTiles;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

/// Reports tiles that do not fit, which take `bytes` side by side, and the
/// smallest change that would do: shorter rings.
static LogicalResult
emitSharedMisfit(KernelOp kernel, ArrayRef<SharedTile> tiles, int64_t bytes) {
  int64_t slots = 0;
  for (const SharedTile &tile : tiles)
    slots = std::max(slots, tile.stages);
  auto getBytes = [&](int64_t most) {
    std::vector<SharedTile> shorter(tiles);
    for (SharedTile &tile : shorter)
      tile.stages = std::min(tile.stages, most);
    return layOut(shorter);
  };
  while (slots > 0 && getBytes(slots) > TargetModel::sharedMemoryBytes)
    --slots;
  InFlightDiagnostic diagnostic = kernel.emitOpError("needs ")
                                  << bytes << " bytes of shared memory, "
                                  << "of " << TargetModel::sharedMemoryBytes;
  if (slots > 0)
    diagnostic << "; with rings of " << slots << " slots at most it would need "
               << getBytes(slots);
  else
    diagnostic << "; rings of one slot would still need " << getBytes(1);
  for (const SharedTile &tile : tiles)
    diagnostic.attachNote(tile.buffer.declaration->getLoc())
        << "'" << getBufferName(tile.buffer.declaration) << "' takes "
        << tile.stages << " times " << tile.size << " bytes";
  return diagnostic;
}

LogicalResult PlaceTiles::placeSharedMemory(KernelOp kernel) {
  std::vector<SharedTile> tiles;
  for (BufferId buffer : getBuffers(kernel, MemorySpace::Shared))
    tiles.emplace_back(buffer);
  // Swizzled tiles come first so that nothing is lost between them.
  llvm::stable_sort(tiles, [](const SharedTile &a, const SharedTile &b) {
    return a.alignment > b.alignment;
  });
  const int64_t limit = TargetModel::sharedMemoryBytes;
  int64_t bytes = layOut(tiles);
  if (bytes > limit) {
    auto &traces = getAnalysis<KernelTraces>().traces;
    if (failed(traces))
      return failure();
    ScheduleAnalysis analysis(*traces);
    for (auto [i, a] : llvm::enumerate(places))
      for (const auto &b : ArrayRef(places).drop_front(i + 1))
        if (BufferOverlap overlap =
                getOverlap(a.first, a.second, b.first, b.second);
            !overlap.slots.empty())
          analysis.addOverlap(overlap);
    ScheduleConflict conflict;
    if (!analysis.findWaits(&conflict))
      return emitConflict(kernel, conflict);
    SharedMemorySearch search(tiles, limit, analysis);
    bool fits = search.run();
    triedPlacements += search.getTried();
    if (!fits)
      return emitSharedMisfit(kernel, tiles, bytes);
  }
  for (const SharedTile &tile : tiles) {
    places.push_back({tile.buffer, tile.getPlace()});
    sharedBytes = std::max(sharedBytes, tile.getEnd());
    if (llvm::any_of(tiles, [&](const SharedTile &other) {
          return !(other.buffer == tile.buffer) &&
                 other.getBytes() >= tile.getBytes() &&
                 !getOverlap(tile, other).slots.empty();
        }))
      ++sharingTiles;
  }
  return success();
}

void PlaceTiles::setPlaces(KernelOp kernel) {
  MLIRContext *context = &getContext();
  for (Operation &op : kernel.getBody().front()) {
    SmallVector<Attribute> attributes;
    for (unsigned index = 0;; ++index) {
      auto it = llvm::find_if(places, [&](const auto &place) {
        return place.first == BufferId{&op, index};
      });
      if (it == places.end())
        break;
      attributes.push_back(it->second);
    }
    if (attributes.empty())
      continue;
    if (auto channel = dyn_cast<ChannelOp>(op))
      channel.setPlacesAttr(ArrayAttr::get(context, attributes));
    else if (auto accumulator = dyn_cast<AccumulatorOp>(op))
      accumulator.setPlaceAttr(cast<PlaceAttr>(attributes.front()));
    else
      cast<ScratchOp>(op).setPlaceAttr(cast<PlaceAttr>(attributes.front()));
  }
}

void PlaceTiles::runOnOperation() {
  markAnalysesPreserved<KernelTraces>();
  KernelOp kernel = getOperation();
  if (kernel.getStage() != Stage::Roles)
    return;
  places.clear();
  tensorColumns = sharedBytes = 0;
  if (failed(placeTensorMemory(kernel)) || failed(placeSharedMemory(kernel)))
    return signalPassFailure();
  setPlaces(kernel);
  Builder builder(&getContext());
  kernel.setTensorColumnsAttr(builder.getI64IntegerAttr(tensorColumns));
  kernel.setSharedBytesAttr(builder.getI64IntegerAttr(sharedBytes));
  kernel.setStage(Stage::Placed);
  usedColumns = std::max<unsigned>(usedColumns, tensorColumns);
}
