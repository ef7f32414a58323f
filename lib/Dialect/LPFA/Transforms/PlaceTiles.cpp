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
#include "llvm/Support/MathExtras.h"

namespace lpfa {
#define GEN_PASS_DEF_PLACETILES
#include "lpfa/Dialect/LPFA/Transforms/Passes.h.inc"
} // namespace lpfa

using namespace mlir;
using namespace lpfa;

namespace {
/// A buffer of tensor memory that wants a place.
struct Tile {
  BufferId buffer;
  int64_t columns;
  int64_t offset = -1;
};

/// Columns that guests may share: what no tile takes, or those of a host.
struct Room {
  /// Null for columns that no tile takes.
  Tile *host;
  int64_t begin, end;
};

/// What a guest costs in a room: the waits that it adds, by the op that needs
/// them, or that it cannot live there.
struct Cost {
  bool isPossible = false;
  unsigned waits = 0;
};

struct PlaceTiles : public lpfa::impl::PlaceTilesBase<PlaceTiles> {
  using PlaceTilesBase::PlaceTilesBase;
  void runOnOperation() override;

private:
  LogicalResult placeTensorMemory(KernelOp kernel);
  void placeSharedMemory(KernelOp kernel);
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

/// Whether other tiles may lie inside the buffer while its content is dead:
/// accumulators live all the time, and small tiles are not worth a wait.
static bool isHost(BufferId buffer) {
  if (!isa<ChannelOp>(buffer.declaration))
    return false;
  return llvm::any_of(buffer.declaration->getUsers(), [&](Operation *user) {
    auto acquire = dyn_cast<AcquireOp>(user);
    return acquire &&
           llvm::any_of(acquire.getBuffers()[buffer.index].getUsers(),
                        llvm::IsaPred<MmaOp>);
  });
}

//===----------------------------------------------------------------------===//
// Tensor memory
//===----------------------------------------------------------------------===//

namespace {
/// Exact search for the rooms of guests: the fewest added waits, then the first
/// rooms in order. A wait is counted once for each room and product that needs
/// it, since the scales of one product are copied together.
class GuestSearch {
public:
  GuestSearch(std::vector<Tile> &guests, std::vector<Room> &rooms,
              std::vector<std::vector<Cost>> &costs)
      : guests(guests), rooms(rooms), costs(costs), choice(guests.size()),
        best(guests.size()), used(rooms.size(), 0) {}

  bool run() {
    visit(0, 0);
    if (bestCost == ~0u)
      return false;
    std::vector<int64_t> next;
    for (const Room &room : rooms)
      next.push_back(room.begin);
    for (auto [guest, room] : llvm::zip(guests, best)) {
      int64_t offset = llvm::alignTo(next[room], getAlignment(guest));
      guest.offset = offset;
      next[room] = offset + guest.columns;
    }
    return true;
  }

private:
  /// Scale copies write four aligned columns; A operands are kept on 16.
  static int64_t getAlignment(const Tile &tile) {
    return getBufferType(tile.buffer).isScales() ? 4 : 16;
  }

  /// The product that reads the guest: its waits are shared with it.
  static Operation *getProduct(const Tile &tile) {
    for (Operation *user : tile.buffer.declaration->getUsers())
      if (isa<MmaOp>(user))
        return user;
    return tile.buffer.declaration;
  }

  void visit(size_t index, unsigned cost) {
    if (cost >= bestCost)
      return;
    if (index == guests.size()) {
      bestCost = cost;
      best = choice;
      return;
    }
    const Tile &guest = guests[index];
    for (auto [r, room] : llvm::enumerate(rooms)) {
      if (!costs[index][r].isPossible)
        continue;
      int64_t begin = llvm::alignTo(room.begin + used[r], getAlignment(guest));
      if (begin + guest.columns > room.end)
        continue;
      unsigned added = costs[index][r].waits ? 1 : 0;
      for (size_t other = 0; added && other < index; ++other)
        if (choice[other] == r && costs[other][r].waits &&
            getProduct(guests[other]) == getProduct(guest))
          added = 0;
      int64_t before = used[r];
      used[r] = begin + guest.columns - room.begin;
      choice[index] = r;
      visit(index + 1, cost + added);
      used[r] = before;
    }
  }

  std::vector<Tile> &guests;
  std::vector<Room> &rooms;
  std::vector<std::vector<Cost>> &costs;
  std::vector<size_t> choice, best;
  std::vector<int64_t> used;
  unsigned bestCost = ~0u;
};
} // namespace

LogicalResult PlaceTiles::placeTensorMemory(KernelOp kernel) {
  const int64_t limit = columns;
  std::vector<Tile> fixed, guests;
  for (BufferId buffer : getBuffers(kernel, MemorySpace::Tensor)) {
    Tile tile{buffer, getBufferType(buffer).getSize() * getStages(buffer)};
    bool isGuest = !isa<AccumulatorOp>(buffer.declaration) && !isHost(buffer);
    (isGuest ? guests : fixed).push_back(tile);
  }
  auto describe = [&](InFlightDiagnostic &diagnostic) {
    for (const std::vector<Tile> *tiles : {&fixed, &guests})
      for (const Tile &tile : *tiles)
        diagnostic.attachNote(tile.buffer.declaration->getLoc())
            << "'" << getBufferName(tile.buffer.declaration) << "' takes "
            << tile.columns << " columns";
  };

  int64_t next = 0;
  for (Tile &tile : fixed) {
    tile.offset = next;
    next += llvm::alignTo(tile.columns, 32);
  }
  if (next > limit) {
    InFlightDiagnostic diagnostic =
        kernel.emitOpError("needs ")
        << next << " columns of tensor memory for scores and accumulators, of "
        << limit << "; a key tile or a number of query tiles smaller by half "
        << "would need " << next / 2;
    describe(diagnostic);
    return failure();
  }

  // Wide guests first: they are the hardest to place.
  llvm::stable_sort(guests, [](const Tile &a, const Tile &b) {
    return a.columns > b.columns;
  });
  std::vector<Room> rooms = {{nullptr, next, limit}};
  int64_t wanted = 0;
  for (const Tile &guest : guests)
    wanted += llvm::alignTo(guest.columns, 4);
  std::vector<std::vector<Cost>> costs(guests.size(), {{true, 0}});
  if (next + wanted > limit) {
    auto &traces = getAnalysis<KernelTraces>().traces;
    if (failed(traces))
      return failure();
    ScheduleAnalysis analysis(*traces);
    if (!analysis.findWaits())
      return kernel.emitOpError("has accesses that no wait can order");
    for (Tile &tile : fixed) {
      if (!isHost(tile.buffer))
        continue;
      rooms.push_back({&tile, tile.offset, tile.offset + tile.columns});
      for (auto [index, guest] : llvm::enumerate(guests)) {
        std::optional<unsigned> waits =
            analysis.countWaits(tile.buffer, guest.buffer);
        costs[index].push_back({waits.has_value(), waits.value_or(0)});
      }
    }
  }
  if (!GuestSearch(guests, rooms, costs).run()) {
    InFlightDiagnostic diagnostic =
        kernel.emitOpError("needs more than ")
        << limit << " columns of tensor memory: " << next
        << " for scores and accumulators, and no home for the rest, " << wanted
        << " columns, in free columns or in dead scores";
    describe(diagnostic);
    return failure();
  }
  for (const std::vector<Tile> *tiles : {&fixed, &guests})
    for (const Tile &tile : *tiles) {
      setPlace(tile.buffer, tile.offset);
      tensorColumns = std::max(tensorColumns, tile.offset + tile.columns);
    }
  return success();
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

void PlaceTiles::placeSharedMemory(KernelOp kernel) {
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
  if (failed(placeTensorMemory(kernel)))
    return signalPassFailure();
  placeSharedMemory(kernel);
  if (sharedBytes > TargetModel::sharedMemoryBytes) {
    kernel.emitOpError("needs ")
        << sharedBytes << " bytes of shared memory, of "
        << TargetModel::sharedMemoryBytes << "; fewer ring stages would fit";
    return signalPassFailure();
  }
  setPlaces(kernel);
  Builder builder(&getContext());
  kernel.setTensorColumnsAttr(builder.getI64IntegerAttr(tensorColumns));
  kernel.setSharedBytesAttr(builder.getI64IntegerAttr(sharedBytes));
  kernel.setStage(Stage::Placed);
  usedColumns = std::max<unsigned>(usedColumns, tensorColumns);
}
