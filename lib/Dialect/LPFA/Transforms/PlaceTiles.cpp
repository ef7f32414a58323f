//===- PlaceTiles.cpp - Where tiles lie in on-chip memory -----------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

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
  void setPlace(BufferId buffer, int64_t offset) {
    places.push_back({buffer, offset});
  }

  std::vector<std::pair<BufferId, int64_t>> places;
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

namespace {
/// A buffer of tensor memory that wants a place.
struct Tile {
  BufferId buffer;
  int64_t columns;
  /// Results of products are large; the others may lie inside one of them.
  bool isLarge;
  int64_t offset = -1;
};

/// Columns that large tiles take in turns, or that none takes.
struct Slot {
  int64_t begin, end;
  SmallVector<unsigned> hosts;
};

/// Exact search for the columns of all tiles. Large tiles lie side by side or
/// take turns in a slot; the others lie side by side in a slot or in the
/// columns that are left. It takes the fewest added waits, then the first
/// places in order, that `accept` takes.
class PlacementSearch {
public:
  /// The waits that two tiles in the same columns need; nothing where no wait
  /// lets them share.
  using Cost = std::optional<unsigned>;

  PlacementSearch(std::vector<Tile> &tiles, int64_t limit,
                  function_ref<Cost(unsigned, unsigned)> getCost,
                  function_ref<bool(ArrayRef<Tile>)> accept)
      : tiles(tiles), limit(limit), getCost(getCost), accept(accept) {}

  /// Sets the tiles' offsets. False where nothing fits.
  bool run() {
    visit(0, 0);
    if (best.empty())
      return false;
    tiles = best;
    return true;
  }

private:
  /// Scale copies write four aligned columns; A operands are kept on 16.
  static int64_t getAlignment(const Tile &tile) {
    if (tile.isLarge)
      return 32;
    return getBufferType(tile.buffer).isScales() ? 4 : 16;
  }

  /// The product that reads the tile: its waits are shared with it, for the
  /// scales of one product are copied together.
  static Operation *getProduct(const Tile &tile) {
    for (Operation *user : tile.buffer.declaration->getUsers())
      if (isa<MmaOp>(user))
        return user;
    return tile.buffer.declaration;
  }

  /// The waits of a tile in a slot, which those placed there before may share.
  Cost getCostIn(unsigned index, const Slot &slot) {
    unsigned sum = 0;
    for (unsigned host : slot.hosts) {
      Cost cost = getCost(host, index);
      if (!cost)
        return std::nullopt;
      sum += *cost;
    }
    if (sum == 0 || tiles[index].isLarge)
      return sum;
    for (unsigned other = 0; other < index; ++other)
      if (!tiles[other].isLarge && tiles[other].offset >= slot.begin &&
          tiles[other].offset < slot.end &&
          getProduct(tiles[other]) == getProduct(tiles[index]))
        return 0;
    return 1;
  }

  void visit(unsigned index, unsigned cost) {
    if (cost >= bestCost)
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

  void visitLarge(unsigned index, unsigned cost) {
    Tile &tile = tiles[index];
    // Columns of its own first, then those of tiles before.
    int64_t width = llvm::alignTo(tile.columns, getAlignment(tile));
    if (next + width <= limit) {
      tile.offset = next;
      slots.push_back({next, next + width, {index}});
      next += width;
      visit(index + 1, cost);
      next -= width;
      slots.pop_back();
    }
    for (unsigned i = 0; i < slots.size(); ++i) {
      Cost added = getCostIn(index, slots[i]);
      if (!added || tile.columns > slots[i].end - slots[i].begin)
        continue;
      tile.offset = slots[i].begin;
      slots[i].hosts.push_back(index);
      visit(index + 1, cost + *added);
      slots[i].hosts.pop_back();
    }
  }

  void visitSmall(unsigned index, unsigned cost) {
    Tile &tile = tiles[index];
    auto tryIn = [&](const Slot &slot) {
      Cost added = getCostIn(index, slot);
      if (!added)
        return;
      // The first columns that the small tiles before it have left.
      int64_t begin = llvm::alignTo(slot.begin, getAlignment(tile));
      auto isTaken = [&](const Tile &other) {
        if (other.isLarge || other.offset >= begin + tile.columns ||
            begin >= other.offset + other.columns)
          return false;
        begin = llvm::alignTo(other.offset + other.columns, getAlignment(tile));
        return true;
      };
      while (llvm::any_of(ArrayRef(tiles).take_front(index), isTaken))
        ;
      if (begin + tile.columns > slot.end)
        return;
      tile.offset = begin;
      visit(index + 1, cost + *added);
    };
    tryIn({next, limit, {}});
    for (const Slot &slot : slots)
      tryIn(slot);
  }

  std::vector<Tile> &tiles;
  int64_t limit;
  function_ref<Cost(unsigned, unsigned)> getCost;
  function_ref<bool(ArrayRef<Tile>)> accept;
  std::vector<Slot> slots;
  int64_t next = 0;
  std::vector<Tile> best;
  unsigned bestCost = ~0u;
};
} // namespace

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

LogicalResult PlaceTiles::placeTensorMemory(KernelOp kernel) {
  std::vector<Tile> tiles;
  for (BufferId buffer : getBuffers(kernel, MemorySpace::Tensor))
    tiles.push_back({buffer,
                     getBufferType(buffer).getSize() * getStages(buffer),
                     isResult(buffer)});
  // Large ones first, then wide ones: they are the hardest to place.
  llvm::stable_sort(tiles, [](const Tile &a, const Tile &b) {
    if (a.isLarge || b.isLarge)
      return a.isLarge && !b.isLarge;
    return a.columns > b.columns;
  });

  const int64_t limit = columns;
  auto accept = [](ArrayRef<Tile>) { return true; };
  auto never = [](unsigned, unsigned) { return PlacementSearch::Cost(); };
  if (!PlacementSearch(tiles, limit, never, accept).run()) {
    auto &traces = getAnalysis<KernelTraces>().traces;
    if (failed(traces))
      return failure();
    ScheduleAnalysis analysis(*traces);
    if (!analysis.findWaits())
      return kernel.emitOpError("has accesses that no wait can order");
    std::map<std::pair<unsigned, unsigned>, PlacementSearch::Cost> costs;
    auto getCost = [&](unsigned a, unsigned b) {
      auto [it, inserted] = costs.try_emplace({a, b});
      if (inserted)
        it->second = analysis.countWaits(tiles[a].buffer, tiles[b].buffer);
      return it->second;
    };
    // What is right for each two tiles must be so for all.
    auto areRight = [&](ArrayRef<Tile> placed) {
      ++triedPlacements;
      ScheduleAnalysis whole(*traces);
      for (auto [i, a] : llvm::enumerate(placed))
        for (const Tile &b : placed.drop_front(i + 1))
          if (a.offset < b.offset + b.columns &&
              b.offset < a.offset + a.columns)
            whole.addOverlap(a.buffer, b.buffer);
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
            << tile.columns << " columns, from its writing by "
            << llvm::join(roles.writers, " and ") << " to its reading by "
            << llvm::join(roles.readers, " and ");
      }
      return diagnostic;
    }
  }
  for (const Tile &tile : tiles) {
    setPlace(tile.buffer, tile.offset);
    tensorColumns = std::max(tensorColumns, tile.offset + tile.columns);
    if (llvm::any_of(tiles, [&](const Tile &other) {
          return !(other.buffer == tile.buffer) &&
                 other.columns >= tile.columns &&
                 other.offset < tile.offset + tile.columns &&
                 tile.offset < other.offset + other.columns;
        }))
      ++sharingTiles;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

LogicalResult PlaceTiles::placeSharedMemory(KernelOp kernel) {
  // Swizzled tiles want the alignment of the swizzle's pattern, and come first
  // so that nothing is lost between them.
  std::vector<BufferId> buffers = getBuffers(kernel, MemorySpace::Shared);
  auto getAlignment = [](BufferId buffer) -> int64_t {
    BufferType type = getBufferType(buffer);
    return type.getRank() == 2 ? TargetModel::sharedMemoryAlignment : 128;
  };
  llvm::stable_sort(buffers, [&](BufferId a, BufferId b) {
    return getAlignment(a) > getAlignment(b);
  });
  for (BufferId buffer : buffers) {
    sharedBytes = llvm::alignTo(sharedBytes, getAlignment(buffer));
    setPlace(buffer, sharedBytes);
    sharedBytes += getBufferType(buffer).getSize() * getStages(buffer);
  }
  if (sharedBytes <= TargetModel::sharedMemoryBytes)
    return success();
  // The smallest change: shorter rings.
  int64_t slots = 0;
  for (BufferId buffer : buffers)
    slots = std::max(slots, getStages(buffer));
  auto getBytes = [&](int64_t most) {
    int64_t bytes = 0;
    for (BufferId buffer : buffers)
      bytes =
          llvm::alignTo(bytes, getAlignment(buffer)) +
          getBufferType(buffer).getSize() * std::min(getStages(buffer), most);
    return bytes;
  };
  while (slots > 0 && getBytes(slots) > TargetModel::sharedMemoryBytes)
    --slots;
  InFlightDiagnostic diagnostic = kernel.emitOpError("needs ")
                                  << sharedBytes << " bytes of shared memory, "
                                  << "of " << TargetModel::sharedMemoryBytes;
  if (slots > 0)
    diagnostic << "; with rings of " << slots << " slots at most it would need "
               << getBytes(slots);
  else
    diagnostic << "; rings of one slot would still need " << getBytes(1);
  for (BufferId buffer : buffers)
    diagnostic.attachNote(buffer.declaration->getLoc())
        << "'" << getBufferName(buffer.declaration) << "' takes "
        << getStages(buffer) << " times " << getBufferType(buffer).getSize()
        << " bytes";
  return diagnostic;
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
      BufferType type = getBufferType(it->first);
      attributes.push_back(
          PlaceAttr::get(context, type.getSpace(), it->second, type.getSize()));
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
