//===- Copies.h - Copies to and from shared memory --------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the files of copies share: BulkCopies.cpp (bulk copies, groups),
// TensorMapCopies.cpp (tensor copies, tensor maps), AsyncCopies.cpp (cp.async),
// AsyncStores.cpp (st.async, red.async), LaunchControl.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_SIMULATOR_COPIES_H
#define LPFA_LIB_SIMULATOR_COPIES_H

#include "Decoder.h"
#include "Machine.h"
#include "lpfa/Simulator/Reduction.h"

namespace lpfa::sim::copies {

constexpr uint64_t offsetMask = (uint64_t(1) << rankShift) - 1;

/// A shared address, with the rank, of a generic or a shared one.
inline uint32_t sharedAddress(uint64_t address) {
  return uint32_t(address & windowMask);
}

/// The same offset in another CTA.
inline uint32_t inCta(uint32_t address, unsigned rank) {
  return uint32_t((address & offsetMask) | uint64_t(rank) << rankShift);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// Bytes on their way, with the marks of undefined ones.
struct Staging {
  std::vector<uint8_t> bytes, undefined;
  void append(BytesRef from, unsigned count) {
    bytes.insert(bytes.end(), from.data, from.data + count);
    if (from.undefined)
      undefined.insert(undefined.end(), from.undefined, from.undefined + count);
    else
      undefined.insert(undefined.end(), count, 0);
  }
  void append(llvm::ArrayRef<uint8_t> fill) {
    bytes.insert(bytes.end(), fill.begin(), fill.end());
    undefined.insert(undefined.end(), fill.size(), 0);
  }
};

/// One contiguous piece of a copy.
struct Piece {
  uint64_t global = 0;
  uint32_t shared = 0;
  uint32_t globalBytes = 0;
  uint32_t sharedBytes = 0;
  bool inBounds = true;
};

/// Copies between global and shared memory, piece by piece.
class CopyOperation : public AsyncOperation {
public:
  CopyOperation(Warp &issuer, bool isLoad, Engine engine = Engine::Tma)
      : AsyncOperation(issuer, engine), isLoad(isLoad) {}

  bool isLoad;
  std::vector<Piece> pieces;
  TensorMap map; ///< for its fill pattern
  Staging staging;

  Work work() const override {
    Work work;
    work.kind = engine == Engine::Copy ? Work::Kind::SmallCopy
                : isLoad               ? Work::Kind::Load
                                       : Work::Kind::Store;
    for (const Piece &p : pieces)
      work.bytes += p.sharedBytes;
    return work;
  }

protected:
  bool note(uint32_t address, unsigned bytes, RaceDetector::Access access) {
    return !issuer.cluster.races ||
           issuer.cluster.races->shared(*this, address >> rankShift,
                                        address & offsetMask, bytes, access);
  }
  bool noteGlobal(uint64_t address, uint64_t bytes, RaceDetector::Access access,
                  Scope scope = Scope::Weak) {
    return !issuer.cluster.races || !bytes ||
           issuer.cluster.races->global(*this, address, bytes, access, scope);
  }
  /// Writes the staged bytes of a piece to shared memory of one CTA.
  bool writeShared(uint32_t address, size_t offset, unsigned bytes);
};

/// Signals `bytes` done at barriers.
bool completeTransactions(const AsyncOperation &operation, uint64_t bytes);

/// Global (or shared) memory to the shared memory of one or more CTAs.
class LoadOperation : public CopyOperation {
public:
  LoadOperation(Warp &issuer, Engine engine = Engine::Tma)
      : CopyOperation(issuer, /*isLoad=*/true, engine) {}
  /// CTAs that receive the data; empty: where the addresses say.
  llvm::SmallVector<unsigned, 4> ranks;
  uint64_t transactionBytes = 0;
  bool fromShared = false;

  bool read() override;
  bool write() override;
  bool complete() override {
    return completeTransactions(*this, transactionBytes);
  }
};

/// Shared memory to global memory, or into it by a reduction.
class StoreOperation : public CopyOperation {
public:
  StoreOperation(Warp &issuer) : CopyOperation(issuer, /*isLoad=*/false) {}
  std::optional<ReduceOp> reduceOp;
  ReduceType type = ReduceType::F32;
  /// Reductions into shared memory of the cluster signal a barrier.
  bool toShared = false;
  uint64_t transactionBytes = 0;

  bool read() override;
  bool write() override;
  bool complete() override {
    return completeTransactions(*this, transactionBytes);
  }

private:
  bool writePiece(const Piece &p, size_t offset);
};

//===----------------------------------------------------------------------===//
// Issue
//===----------------------------------------------------------------------===//

/// Reports an undefined operand; returns false.
bool checkOperands(Warp &w, const Instruction &i, LaneMask mask);

enum BulkFlags {
  Multicast = 1,
  ToShared = 2,   ///< a load; otherwise a store
  FromShared = 4, ///< between CTAs
  IsReduction = 8,
  ZeroFill = 16,
  NoIncrement = 32,
  Pair = 64, ///< .cta_group::2
};

struct BulkData : InstructionData {
  unsigned rank = 0; ///< of the tensor; 0 if not a tensor copy
  ReduceOp op = ReduceOp::Add;
  ReduceType type = ReduceType::F32;
};

/// The barriers that a load signals and, for a multicast, the CTAs it goes to.
/// False after reporting that one cannot be signaled.
bool addBarriers(Warp &w, LoadOperation &operation, const Instruction &i,
                 uint32_t barrier, uint64_t ctaMask);
/// Tells the race detector of an operation and starts it.
uint64_t issue(Warp &w, std::unique_ptr<AsyncOperation> operation, bool &ok);

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

std::optional<ReduceOp> takeReduceOp(Decoder &d);
std::optional<ReduceType> parseReduceType(Type type);
/// Takes the direction: the first space is the destination's.
void takeDirection(Decoder &d, bool &toShared, bool &fromShared);
/// Takes modifiers without effect on what is copied.
void takeCommon(Decoder &d);
/// A prefetch, which does nothing.
void decodePrefetch(Decoder &d);
void decodeTensorCopy(Decoder &d, bool isReduction);
void decodeGroups(Decoder &d, bool isBulk);
/// cp.async and cp.async.mbarrier.arrive.
void decodeAsyncCopy(Decoder &d);
/// st.async and red.async.
void decodeAsyncStore(Decoder &d, bool isReduction);

} // namespace lpfa::sim::copies

#endif // LPFA_LIB_SIMULATOR_COPIES_H
