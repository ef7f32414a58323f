//===- Buffers.cpp - A kernel's on-chip buffers ---------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Analysis/Buffers.h"
#include "llvm/ADT/TypeSwitch.h"
#include <set>

using namespace mlir;
using namespace lpfa;

std::vector<BufferId> lpfa::getBuffers(KernelOp kernel) {
  std::vector<BufferId> buffers;
  for (Operation &op : kernel.getBody().front()) {
    unsigned count = 0;
    if (auto channel = dyn_cast<ChannelOp>(op))
      count = channel.getChannel().getType().getBuffers().size();
    else if (isa<AccumulatorOp, ScratchOp>(op))
      count = 1;
    for (unsigned index = 0; index < count; ++index)
      buffers.push_back({&op, index});
  }
  return buffers;
}

std::vector<BufferId> lpfa::getBuffers(KernelOp kernel, MemorySpace space) {
  std::vector<BufferId> buffers = getBuffers(kernel);
  llvm::erase_if(buffers, [&](BufferId buffer) {
    return getBufferType(buffer).getSpace() != space;
  });
  return buffers;
}

BufferType lpfa::getBufferType(BufferId buffer) {
  if (auto channel = dyn_cast<ChannelOp>(buffer.declaration))
    return channel.getChannel().getType().getBuffers()[buffer.index];
  return cast<BufferType>(buffer.declaration->getResult(0).getType());
}

PlaceAttr lpfa::getPlace(BufferId buffer) {
  return TypeSwitch<Operation *, PlaceAttr>(buffer.declaration)
      .Case([&](ChannelOp op) {
        return op.getPlaces() ? cast<PlaceAttr>((*op.getPlaces())[buffer.index])
                              : PlaceAttr();
      })
      .Case<AccumulatorOp, ScratchOp>(
          [](auto op) { return op.getPlace().value_or(PlaceAttr()); })
      .Default([](Operation *) { return PlaceAttr(); });
}

StringRef lpfa::getBufferName(Operation *declaration) {
  return TypeSwitch<Operation *, StringRef>(declaration)
      .Case<ChannelOp, AccumulatorOp, ScratchOp>(
          [](auto op) { return op.getName(); })
      .Default([](Operation *) { return StringRef(); });
}

int64_t lpfa::getStages(BufferId buffer) {
  if (auto channel = dyn_cast<ChannelOp>(buffer.declaration))
    return channel.getStages();
  auto scratch = dyn_cast<ScratchOp>(buffer.declaration);
  return scratch ? scratch.getStages() : 1;
}

static void collectUsers(Value buffer, SmallVectorImpl<OpOperand *> &uses) {
  for (OpOperand &use : buffer.getUses()) {
    if (auto slice = dyn_cast<SliceOp>(use.getOwner()))
      collectUsers(slice.getResult(), uses);
    else
      uses.push_back(&use);
  }
}

BufferRoles lpfa::getRoles(BufferId buffer) {
  SmallVector<OpOperand *> uses;
  if (isa<ChannelOp>(buffer.declaration)) {
    for (Operation *user : buffer.declaration->getUsers())
      if (isa<AcquireOp, GetOp, SlotAtOp>(user))
        collectUsers(user->getResult(buffer.index), uses);
  } else {
    collectUsers(buffer.declaration->getResult(0), uses);
  }
  std::set<std::string> writers, readers;
  for (OpOperand *use : uses) {
    Operation *op = use->getOwner();
    std::string role = op->getParentOfType<RoleOp>().getName().str();
    bool isDestination =
        isa<RescaleBufferOp, LoadAsyncOp>(op) ||
        (isa<WriteOp, CopyScalesOp, CopyTileOp>(op) &&
         use->getOperandNumber() == 1) ||
        (isa<MmaOp>(op) && use->get() == cast<MmaOp>(op).getD());
    bool isSource = !isDestination || isa<RescaleBufferOp>(op);
    if (isa<TakeOp, GiveOp>(op))
      continue;
    if (isDestination)
      writers.insert(role);
    if (isSource)
      readers.insert(role);
  }
  return {{writers.begin(), writers.end()}, {readers.begin(), readers.end()}};
}

llvm::raw_ostream &lpfa::operator<<(llvm::raw_ostream &os,
                                    const MemoryRange &range) {
  return os << (range.space == MemorySpace::Tensor ? "columns " : "bytes ")
            << range.begin << " to " << range.end << " of "
            << stringifyMemorySpace(range.space) << " memory";
}

static MemoryRange getSlotRange(PlaceAttr place, int64_t slot) {
  int64_t begin = place.getOffset() + place.getDistance() * slot;
  return {place.getSpace(), begin, begin + place.getSize()};
}

MemoryRange lpfa::getRange(BufferId buffer) {
  PlaceAttr place = getPlace(buffer);
  MemoryRange first = getSlotRange(place, 0);
  MemoryRange last = getSlotRange(place, getStages(buffer) - 1);
  return {place.getSpace(), std::min(first.begin, last.begin),
          std::max(first.end, last.end)};
}

MemoryRange lpfa::getRange(BufferId buffer, int64_t slot) {
  return getSlotRange(getPlace(buffer), slot);
}

BufferOverlap lpfa::getOverlap(BufferId a, PlaceAttr placeA, BufferId b,
                               PlaceAttr placeB) {
  BufferOverlap overlap{a, b, {}};
  for (int64_t i = 0, end = getStages(a); i < end; ++i)
    for (int64_t j = 0, last = getStages(b); j < last; ++j)
      if (getSlotRange(placeA, i).overlaps(getSlotRange(placeB, j)))
        overlap.slots.push_back({i, j});
  return overlap;
}

bool lpfa::hasOverlap(KernelOp kernel, MemorySpace space) {
  std::vector<BufferId> buffers = getBuffers(kernel, space);
  for (auto [i, a] : llvm::enumerate(buffers))
    for (BufferId b : ArrayRef(buffers).drop_front(i + 1))
      if (!getOverlap(a, getPlace(a), b, getPlace(b)).slots.empty())
        return true;
  return false;
}
