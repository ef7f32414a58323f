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

namespace {
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
static BufferOverlap getOverlap(const Tile &a, const Tile &b) {
  return getOverlap(a.buffer, a.getPlace(), b.buffer, b.getPlace());
}

/// Columns that large tiles take in turns, or that none takes.
struct Slot {
  int64_t begin, end;
  SmallVector<unsigned> hosts;
};

/// What tiles in the same columns cost: first the waits that they need, then
/// barriers that nothing else needs, then what stalls: waits for the latest
/// content, and how close to each other the products are of which one waits, or
/// with `ordering=documented` would wait, for the other's end.
struct PlacementCost {
  unsigned waits = 0, barriers = 0, latest = 0, closeness = 0;

  PlacementCost operator+(const PlacementCost &other) const {
    return {waits + other.waits, barriers + other.barriers,
            latest + other.latest, closeness + other.closeness};
  }
  bool operator<(const PlacementCost &other) const {
    return std::tie(waits, barriers, latest, closeness) <
           std::tie(other.waits, other.barriers, other.latest, other.closeness);
  }
};

/// Exact search for the columns of all tiles. Large tiles lie side by side or
/// take turns in a slot; the others lie side by side in a slot or in the
/// columns that are left, or each slot of their ring inside that of a large
/// ring as deep, or they take turns in the place of one before: each product
/// copies its scales anew, to a place of its own choice. It takes the least
/// cost, then the first places in order, that `accept` takes.
class PlacementSearch {
public:
  /// Which slot of the guest lies in which of the host: any in any, each in
  /// that of the same number, or in the next.
  enum Sharing { All, Same, Next };

  /// What two tiles in the same columns cost; nothing where no wait lets them
  /// share.
  using Cost = std::optional<PlacementCost>;
  using CostFunction =
      function_ref<Cost(unsigned host, unsigned guest, Sharing sharing)>;

  PlacementSearch(std::vector<Tile> &tiles, int64_t limit, CostFunction getCost,
                  function_ref<bool(ArrayRef<Tile>)> accept)
      : tiles(tiles), limit(limit), getCost(getCost), accept(accept) {}

  /// Sets the tiles' offsets. False where nothing fits.
  bool run() {
    visit(0, {});
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

  /// What a tile costs in a slot: waits that those placed there before do not
  /// need as well.
  Cost getCostIn(unsigned index, const Slot &slot, Sharing sharing) {
    PlacementCost sum;
    for (unsigned host : slot.hosts) {
      Cost cost = getCost(host, index, sharing);
      if (!cost)
        return std::nullopt;
      sum = sum + *cost;
    }
    const Tile &tile = tiles[index];
    if (sum.waits == 0 || tile.isLarge)
      return sum;
    sum.waits = 1;
    sum.latest = std::min(sum.latest, 1u);
    for (const Tile &other : ArrayRef(tiles).take_front(index)) {
      if (other.isLarge || other.offset < slot.begin ||
          other.offset >= slot.end)
        continue;
      sum.barriers = 0;
      if (getProduct(other) != getProduct(tile))
        continue;
      if (other.distance == tile.distance)
        return PlacementCost();
      sum.waits = 0;
    }
    return sum;
  }

  void visit(unsigned index, PlacementCost cost) {
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

  void visitLarge(unsigned index, PlacementCost cost) {
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

  /// Moves the tile to the first columns that the small tiles before it have
  /// left.
  void skipTaken(unsigned index) {
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

  /// Whether every slot of the tile's ring has one of each host's for itself.
  bool isAsDeep(const Tile &tile, const Slot &slot) const {
    return tile.stages > 1 && llvm::all_of(slot.hosts, [&](unsigned host) {
             return tiles[host].stages == tile.stages &&
                    tiles[host].size == tiles[slot.hosts.front()].size;
           });
  }

  void visitSmall(unsigned index, PlacementCost cost) {
    Tile &tile = tiles[index];
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
        visit(index + 1, cost + *added);
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
    for (unsigned other = 0; other < index; ++other) {
      if (tiles[other].isLarge || !isFirstAt(other) ||
          tiles[other].distance != tiles[other].ownDistance ||
          tiles[other].getColumns() < tile.getColumns() ||
          tiles[other].offset % getAlignment(tile) != 0)
        continue;
      auto slot = llvm::find_if(slots, [&](const Slot &slot) {
        return tiles[other].offset >= slot.begin &&
               tiles[other].offset < slot.end;
      });
      tile.offset = tiles[other].offset;
      Cost added = getCostIn(index, slot == slots.end() ? left : *slot, All);
      for (unsigned host = 0; added && host < index; ++host)
        if (!tiles[host].isLarge &&
            !getOverlap(tiles[host], tile).slots.empty()) {
          Cost turns = getCost(host, index, All);
          added = turns ? Cost(*added + *turns) : Cost();
        }
      if (added)
        visit(index + 1, cost + *added);
    }
  }

  /// Whether no small tile before it has its place.
  bool isFirstAt(unsigned index) const {
    return llvm::none_of(
        ArrayRef(tiles).take_front(index), [&](const Tile &other) {
          return !other.isLarge && other.offset == tiles[index].offset;
        });
  }

  std::vector<Tile> &tiles;
  int64_t limit;
  CostFunction getCost;
  function_ref<bool(ArrayRef<Tile>)> accept;
  std::vector<Slot> slots;
  int64_t next = 0;
  std::vector<Tile> best;
  Cost bestCost;
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
    int64_t size = getBufferType(buffer).getSize();
    places.push_back(
        {buffer, PlaceAttr::get(kernel.getContext(), MemorySpace::Shared,
                                sharedBytes, size)});
    sharedBytes += size * getStages(buffer);
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
