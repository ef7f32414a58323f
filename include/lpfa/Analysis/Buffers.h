//===- Buffers.h - A kernel's on-chip buffers -------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_ANALYSIS_BUFFERS_H
#define LPFA_ANALYSIS_BUFFERS_H

#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"

namespace lpfa {

/// One buffer of a channel, an accumulator or a scratch buffer.
struct BufferId {
  mlir::Operation *declaration;
  unsigned index;

  bool operator==(const BufferId &other) const {
    return declaration == other.declaration && index == other.index;
  }
};

/// All buffers of a kernel, in order of declaration.
std::vector<BufferId> getBuffers(KernelOp kernel);

/// Those in one kind of memory.
std::vector<BufferId> getBuffers(KernelOp kernel, MemorySpace space);

/// The type of the buffer, and its place where it has one.
BufferType getBufferType(BufferId buffer);
PlaceAttr getPlace(BufferId buffer);
llvm::StringRef getBufferName(mlir::Operation *declaration);

/// How many slots the buffer's ring has.
int64_t getStages(BufferId buffer);

/// The slot of a scratch buffer's content, counted from 1, 0 being none yet.
inline int64_t getScratchSlot(ScratchOp scratch, int64_t content) {
  return std::max<int64_t>(content - 1, 0) % int64_t(scratch.getStages());
}

/// The names of the roles that write and read a buffer.
struct BufferRoles {
  std::vector<std::string> writers, readers;
};
BufferRoles getRoles(BufferId buffer);

/// Part of a memory: columns of tensor memory or bytes of shared memory.
struct MemoryRange {
  MemorySpace space;
  int64_t begin, end;

  bool overlaps(const MemoryRange &other) const {
    return space == other.space && begin < other.end && other.begin < end;
  }
  bool contains(const MemoryRange &other) const {
    return space == other.space && begin <= other.begin && other.end <= end;
  }
};

llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const MemoryRange &range);

/// What a placed buffer takes from its first slot to its last, and in one slot.
MemoryRange getRange(BufferId buffer);
MemoryRange getRange(BufferId buffer, int64_t slot);

/// Two buffers, and which slots of the one share memory with which of the
/// other.
struct BufferOverlap {
  BufferId a, b;
  std::vector<std::pair<int64_t, int64_t>> slots;

  bool isOf(int64_t slotA, int64_t slotB) const {
    return llvm::is_contained(slots, std::make_pair(slotA, slotB));
  }
};

/// Whether any two buffers of a placed kernel share memory of this kind.
bool hasOverlap(KernelOp kernel, MemorySpace space);

/// What two buffers share in these places.
BufferOverlap getOverlap(BufferId a, PlaceAttr placeA, BufferId b,
                         PlaceAttr placeB);

} // namespace lpfa

#endif // LPFA_ANALYSIS_BUFFERS_H
