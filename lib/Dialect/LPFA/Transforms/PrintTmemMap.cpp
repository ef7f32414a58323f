//===- PrintTmemMap.cpp - Who lies where in tensor memory -----------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Analysis/ScheduleReport.h"
#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "lpfa/Dialect/LPFA/Transforms/Passes.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

namespace lpfa {
#define GEN_PASS_DEF_PRINTTMEMMAP
#include "lpfa/Dialect/LPFA/Transforms/Passes.h.inc"
} // namespace lpfa

using namespace mlir;
using namespace lpfa;

namespace {
struct PrintTmemMap : public lpfa::impl::PrintTmemMapBase<PrintTmemMap> {
  using PrintTmemMapBase::PrintTmemMapBase;
  void runOnOperation() override;

private:
  LogicalResult print(KernelOp kernel);
};
} // namespace

static StringRef getTileName(BufferId buffer) {
  return getBufferName(buffer.declaration);
}

/// The parts in which a tile lies: the slots of a ring by themselves where
/// others lie between them.
static std::vector<MemoryRange> getParts(BufferId tile) {
  PlaceAttr place = getPlace(tile);
  if (place.getDistance() == place.getSize() || place.getDistance() == 0)
    return {getRange(tile)};
  std::vector<MemoryRange> parts;
  for (int64_t slot = 0; slot < getStages(tile); ++slot)
    parts.push_back(getRange(tile, slot));
  return parts;
}

static void printText(raw_ostream &os, KernelOp kernel,
                      ArrayRef<BufferId> tiles, ArrayRef<OverlapProof> proofs) {
  os << "tensor memory of @" << kernel.getSymName() << ": "
     << kernel.getTensorColumns().value_or(0) << " columns\n";
  std::vector<std::pair<MemoryRange, BufferId>> lines;
  for (BufferId tile : tiles)
    for (MemoryRange part : getParts(tile))
      lines.push_back({part, tile});
  llvm::sort(lines, [](const auto &a, const auto &b) {
    return std::make_tuple(a.first.begin, -a.first.end, getTileName(a.second)) <
           std::make_tuple(b.first.begin, -b.first.end, getTileName(b.second));
  });
  for (auto [index, line] : llvm::enumerate(lines)) {
    const auto &[range, tile] = line;
    os << llvm::format("%5lld-%-5lld", (long long)range.begin,
                       (long long)range.end);
    // Those before, in this order, that the tile lies in.
    for (const auto &other : ArrayRef(lines).take_front(index))
      if (other.first.contains(range))
        os << " .";
    BufferRoles roles = getRoles(tile);
    os << " " << getTileName(tile) << ", written by "
       << llvm::join(roles.writers, ", ") << ", read by "
       << llvm::join(roles.readers, ", ") << "\n";
  }
  for (const OverlapProof &proof : proofs)
    os << getTileName(proof.second) << " after " << getTileName(proof.first)
       << ": " << llvm::join(proof.chain, " -> ") << "\n";
}

static void printJSON(raw_ostream &os, KernelOp kernel,
                      ArrayRef<BufferId> tiles, ArrayRef<OverlapProof> proofs) {
  llvm::json::Array tileArray, overlapArray;
  for (BufferId tile : tiles) {
    BufferRoles roles = getRoles(tile);
    for (MemoryRange part : getParts(tile))
      tileArray.push_back(
          llvm::json::Object{{"name", getTileName(tile)},
                             {"begin", part.begin},
                             {"end", part.end},
                             {"writers", llvm::json::Array(roles.writers)},
                             {"readers", llvm::json::Array(roles.readers)}});
  }
  for (const OverlapProof &proof : proofs)
    overlapArray.push_back(
        llvm::json::Object{{"first", getTileName(proof.first)},
                           {"second", getTileName(proof.second)},
                           {"begin", proof.range.begin},
                           {"end", proof.range.end},
                           {"proof", llvm::json::Array(proof.chain)}});
  os << llvm::json::Value(llvm::json::Object{
            {"kernel", kernel.getSymName()},
            {"columns", int64_t(kernel.getTensorColumns().value_or(0))},
            {"tiles", std::move(tileArray)},
            {"overlaps", std::move(overlapArray)}})
     << "\n";
}

LogicalResult PrintTmemMap::print(KernelOp kernel) {
  if (kernel.getStage() < Stage::Placed)
    return success();
  std::vector<BufferId> tiles = getBuffers(kernel, MemorySpace::Tensor);
  llvm::sort(tiles, [](BufferId a, BufferId b) {
    MemoryRange x = getRange(a), y = getRange(b);
    return std::make_tuple(x.begin, -x.end, getTileName(a)) <
           std::make_tuple(y.begin, -y.end, getTileName(b));
  });
  std::vector<OverlapProof> proofs;
  if (kernel.getStage() == Stage::Synchronized) {
    FailureOr<std::vector<OverlapProof>> explained = explainOverlaps(kernel);
    if (failed(explained))
      return failure();
    proofs = std::move(*explained);
  }
  if (json)
    printJSON(llvm::outs(), kernel, tiles, proofs);
  else
    printText(llvm::outs(), kernel, tiles, proofs);
  return success();
}

void PrintTmemMap::runOnOperation() {
  markAllAnalysesPreserved();
  for (KernelOp kernel : getOperation().getOps<KernelOp>())
    if (failed(print(kernel)))
      return signalPassFailure();
}
