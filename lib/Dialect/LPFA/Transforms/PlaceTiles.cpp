//===- PlaceTiles.cpp - Where tiles lie in on-chip memory -----------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedMemorySearch.h"
#include "TensorPlacement.h"
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
struct PlaceTiles : public lpfa::impl::PlaceTilesBase<PlaceTiles> {
  using PlaceTilesBase::PlaceTilesBase;
  void runOnOperation() override;

private:
  LogicalResult placeTensorMemory(KernelOp kernel);
  LogicalResult placeSharedMemory(KernelOp kernel);
  void setPlaces(KernelOp kernel);

  std::vector<std::pair<BufferId, PlaceAttr>> places;
  int64_t tensorColumns = 0, sharedBytes = 0;
  /// Where scratch buffers were split the roles are others.
  bool isSplit = false;
  std::optional<FailureOr<std::vector<Trace>>> splitTraces;

  FailureOr<std::vector<Trace>> &getTraces(KernelOp kernel) {
    if (!isSplit)
      return getAnalysis<KernelTraces>().traces;
    if (!splitTraces)
      splitTraces = runTraces(kernel, Ordering::Practice);
    return *splitTraces;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Tensor memory
//===----------------------------------------------------------------------===//

LogicalResult PlaceTiles::placeTensorMemory(KernelOp kernel) {
  TensorPlacement placement(kernel, columns);
  if (!placement.placeApart()) {
    LogicalResult result = placement.placeShared(
        [&]() -> auto & { return getTraces(kernel); }, peelPrologue);
    triedPlacements += placement.getTried();
    if (failed(result))
      return failure();
  }
  isSplit = placement.isSplit();
  splitKernels += isSplit;
  ArrayRef<Tile> tiles = placement.getTiles();
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
    auto &traces = getTraces(kernel);
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
  KernelOp kernel = getOperation();
  if (kernel.getStage() != Stage::Roles)
    return markAllAnalysesPreserved();
  places.clear();
  tensorColumns = sharedBytes = 0;
  isSplit = false;
  splitTraces.reset();
  if (failed(placeTensorMemory(kernel)) || failed(placeSharedMemory(kernel)))
    return signalPassFailure();
  if (!isSplit)
    markAnalysesPreserved<KernelTraces>();
  setPlaces(kernel);
  Builder builder(&getContext());
  kernel.setTensorColumnsAttr(builder.getI64IntegerAttr(tensorColumns));
  kernel.setSharedBytesAttr(builder.getI64IntegerAttr(sharedBytes));
  kernel.setStage(Stage::Placed);
  usedColumns = std::max<unsigned>(usedColumns, tensorColumns);
}
