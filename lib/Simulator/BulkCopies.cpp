//===- BulkCopies.cpp - TMA, bulk copies and cp.async ---------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.9.24 (cp.async), 9.7.9.25 (cp.async.bulk), 9.7.9.27
// (cp.async.bulk.tensor), 9.7.9.28 (tensormap.replace), 9.7.13.17
// (tensormap.cp_fenceproxy), 9.7.13.18 (clusterlaunchcontrol).
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "Machine.h"
#include "lpfa/Simulator/Reduction.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace lpfa::sim;
using llvm::StringRef;
using llvm::Twine;

static constexpr uint64_t offsetMask = (uint64_t(1) << rankShift) - 1;

/// A shared address, with the rank, of a generic or a shared one.
static uint32_t sharedAddress(uint64_t address) {
  return uint32_t(address & windowMask);
}

/// The same offset in another CTA.
static uint32_t inCta(uint32_t address, unsigned rank) {
  return uint32_t((address & offsetMask) | uint64_t(rank) << rankShift);
}

namespace {

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
  bool writeShared(uint32_t address, size_t offset, unsigned bytes) {
    BytesRef to = issuer.locateShared(address, bytes, /*isWrite=*/true, 1);
    if (!to.data || !note(address, bytes, RaceDetector::Access::Write))
      return false;
    std::memcpy(to.data, &staging.bytes[offset], bytes);
    std::memcpy(to.undefined, &staging.undefined[offset], bytes);
    return true;
  }
};

/// Signals `bytes` done at barriers.
bool completeTransactions(const AsyncOperation &operation, uint64_t bytes) {
  Warp &w = operation.issuer;
  for (uint32_t address : operation.barriers) {
    MBarrier *b = w.cluster.mbarrier(address);
    if (!b) {
      w.fault("barrier", "completion at shared address 0x" +
                             Twine::utohexstr(address) +
                             ", where there is no mbarrier");
      return false;
    }
    if (w.cluster.races)
      w.cluster.races->complete(operation, b->arrived);
    std::string error;
    if (!w.cluster.expectTransactions(*b, -int64_t(bytes), error)) {
      w.fault("barrier",
              "mbarrier at 0x" + Twine::utohexstr(address) + ": " + error);
      return false;
    }
  }
  return true;
}

/// Global (or shared) memory to the shared memory of one or more CTAs.
class LoadOperation : public CopyOperation {
public:
  LoadOperation(Warp &issuer, Engine engine = Engine::Tma)
      : CopyOperation(issuer, /*isLoad=*/true, engine) {}
  /// CTAs that receive the data; empty: where the addresses say.
  llvm::SmallVector<unsigned, 4> ranks;
  uint64_t transactionBytes = 0;
  bool fromShared = false;

  bool read() override {
    for (const Piece &p : pieces) {
      if (!p.inBounds) {
        llvm::SmallVector<uint8_t, 16> fill(p.sharedBytes);
        map.fillPattern(fill);
        staging.append(fill);
        continue;
      }
      BytesRef from =
          fromShared ? issuer.locateShared(p.global, p.globalBytes, false, 1)
                     : issuer.locate(Space::Global, p.global, p.globalBytes, 0,
                                     /*isWrite=*/false, 1);
      if (!from.data || !(fromShared ? note(p.global, p.globalBytes,
                                            RaceDetector::Access::Read)
                                     : noteGlobal(p.global, p.globalBytes,
                                                  RaceDetector::Access::Read)))
        return false;
      staging.append(from, p.globalBytes);
      llvm::SmallVector<uint8_t, 16> padding(p.sharedBytes - p.globalBytes, 0);
      staging.append(padding);
    }
    return true;
  }
  bool write() override {
    size_t offset = 0;
    for (const Piece &p : pieces) {
      if (ranks.empty() && !writeShared(p.shared, offset, p.sharedBytes))
        return false;
      for (unsigned rank : ranks)
        if (!writeShared(inCta(p.shared, rank), offset, p.sharedBytes))
          return false;
      offset += p.sharedBytes;
    }
    issuer.cluster.statistics.globalBytesLoaded += offset;
    return true;
  }
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

  bool read() override {
    for (const Piece &p : pieces) {
      BytesRef from =
          issuer.locateShared(p.shared, p.sharedBytes, /*isWrite=*/false, 1);
      if (!from.data ||
          !note(p.shared, p.sharedBytes, RaceDetector::Access::Read))
        return false;
      staging.append(from, p.sharedBytes);
    }
    return true;
  }
  bool write() override {
    size_t offset = 0;
    for (const Piece &p : pieces) {
      if (p.inBounds && !writePiece(p, offset))
        return false;
      offset += p.sharedBytes;
    }
    issuer.cluster.statistics.globalBytesStored += offset;
    return true;
  }
  bool complete() override {
    return completeTransactions(*this, transactionBytes);
  }

private:
  bool writePiece(const Piece &p, size_t offset) {
    BytesRef to =
        toShared
            ? issuer.locateShared(p.global, p.globalBytes, true, 1)
            : issuer.locate(Space::Global, p.global, p.globalBytes, 0, true, 1);
    if (!to.data)
      return false;
    // A reduction is relaxed at gpu scope (PTX ISA 9.7.9.25.4.3): any number
    // of them may meet.
    if (!toShared &&
        !noteGlobal(p.global, p.globalBytes, RaceDetector::Access::Write,
                    reduceOp ? Scope::Gpu : Scope::Weak))
      return false;
    const uint8_t *undefined = &staging.undefined[offset];
    if (issuer.context.options.checks.uninitialized && !toShared &&
        std::memchr(undefined, 1, p.globalBytes) &&
        issuer.complain("uninitialized",
                        "the copy writes an undefined byte of shared address "
                        "0x" +
                            Twine::utohexstr(p.shared) + " to global memory"))
      return false;
    llvm::ArrayRef<uint8_t> source(&staging.bytes[offset], p.globalBytes);
    if (reduceOp) {
      std::lock_guard<std::mutex> lock(issuer.context.atomicMutex);
      if (to.undefined && std::memchr(to.undefined, 1, p.globalBytes) &&
          issuer.context.options.checks.uninitialized &&
          issuer.complain("uninitialized",
                          "the reduction reads undefined memory"))
        return false;
      reduce(*reduceOp, type, {to.data, p.globalBytes}, source);
    } else {
      std::memcpy(to.data, source.data(), p.globalBytes);
    }
    if (to.undefined)
      std::memset(to.undefined, 0, p.globalBytes);
    return true;
  }
};

/// clusterlaunchcontrol.try_cancel: no other CTA is ever canceled.
class CancelOperation : public AsyncOperation {
public:
  CancelOperation(Warp &issuer) : AsyncOperation(issuer, Engine::Tma) {}
  llvm::SmallVector<uint32_t, 4> results;

  bool write() override {
    for (uint32_t address : results) {
      BytesRef to = issuer.locateShared(address, 16, /*isWrite=*/true, 16);
      if (!to.data || (issuer.cluster.races &&
                       !issuer.cluster.races->shared(
                           *this, address >> rankShift, address & offsetMask,
                           16, RaceDetector::Access::Write)))
        return false;
      std::memset(to.data, 0, 16);
      std::memset(to.undefined, 0, 16);
    }
    return true;
  }
  bool complete() override { return completeTransactions(*this, 16); }
};

/// cp.async.mbarrier.arrive: an arrival when earlier copies are done.
class CopyArrival : public AsyncOperation {
public:
  CopyArrival(Warp &issuer) : AsyncOperation(issuer, Engine::Copy) {}
  bool complete() override {
    for (uint32_t address : barriers) {
      MBarrier *b = issuer.cluster.mbarrier(address);
      std::string error = "there is no mbarrier";
      if (b && issuer.cluster.races)
        issuer.cluster.races->complete(*this, b->arrived);
      if (!b || !issuer.cluster.arrive(*b, 1, error)) {
        issuer.fault("barrier", "mbarrier at 0x" + Twine::utohexstr(address) +
                                    ": " + error);
        return false;
      }
    }
    return true;
  }
};

//===----------------------------------------------------------------------===//
// Issue
//===----------------------------------------------------------------------===//

bool checkOperands(Warp &w, const Instruction &i, LaneMask mask) {
  for (const Operand &o : i.operands)
    if (o && w.checkDefined(o, mask, "an operand"))
      return false;
  return true;
}

enum BulkFlags {
  Multicast = 1,
  ToShared = 2,   ///< a load; otherwise a store
  FromShared = 4, ///< between CTAs
  IsReduction = 8,
  ZeroFill = 16,
  NoIncrement = 32,
};

struct BulkData : InstructionData {
  unsigned rank = 0; ///< of the tensor; 0 if not a tensor copy
  ReduceOp op = ReduceOp::Add;
  ReduceType type = ReduceType::F32;
};

void addBarriers(Warp &w, LoadOperation &operation, const Instruction &i,
                 uint32_t barrier, uint64_t ctaMask) {
  if (!(i.flags & Multicast)) {
    operation.barriers.push_back(barrier);
    return;
  }
  for (unsigned rank = 0; rank != w.cluster.ctas.size(); ++rank)
    if ((ctaMask >> rank) & 1) {
      operation.ranks.push_back(rank);
      operation.barriers.push_back(inCta(barrier, rank));
    }
}

bool isBarrier(Warp &w, uint32_t address) {
  if (!w.locateShared(address, 8, /*isWrite=*/true, 8).data)
    return false;
  if (w.cluster.mbarrier(address))
    return true;
  w.fault("barrier", "there is no initialized mbarrier at shared address 0x" +
                         Twine::utohexstr(address));
  return false;
}

/// Reads a tensor map; false after reporting.
bool readMap(Warp &w, uint64_t address, unsigned lane, TensorMap &map) {
  BytesRef at = w.locate(Space::Generic, address, 128, lane, false, 64);
  if (!at.data)
    return false;
  llvm::Expected<TensorMap> decoded =
      TensorMap::decode(llvm::ArrayRef<uint8_t>(at.data, 128));
  if (!decoded) {
    w.fault("instruction", llvm::toString(decoded.takeError()));
    return false;
  }
  map = *decoded;
  if (llvm::Error e = map.validate()) {
    w.fault("instruction", "tensor map: " + llvm::toString(std::move(e)));
    return false;
  }
  return true;
}

/// Tells the race detector of an operation and starts it.
uint64_t issue(Warp &w, std::unique_ptr<AsyncOperation> operation, bool &ok) {
  if (RaceDetector *races = w.cluster.races.get()) {
    if (operation->engine == AsyncOperation::Engine::Copy)
      races->start(*operation, RaceDetector::AsyncCopy,
                   RaceDetector::AsyncCopy);
    else if (operation->barriers.empty())
      races->start(*operation, RaceDetector::BulkRead, RaceDetector::BulkWrite);
    else
      races->startOnBarrier(*operation,
                            *w.cluster.mbarrier(operation->barriers.front()));
  }
  return w.cluster.async.issue(std::move(operation), ok);
}

/// Operands: map, coordinates..., shared address, barrier, CTA mask.
Status tensorCopy(Warp &w, const Instruction &i, LaneMask mask) {
  if (!checkOperands(w, i, mask))
    return Status::Stop;
  const BulkData &data = i.as<BulkData>();
  for (unsigned l = 0; l != warpSize; ++l) {
    if (!((mask >> l) & 1))
      continue;
    TensorMap map;
    if (!readMap(w, w.address(i[0], l), l, map))
      return Status::Stop;
    if (map.rank != data.rank)
      return w.fault("instruction", "tensor map of rank " + Twine(map.rank) +
                                        " in an instruction for rank " +
                                        Twine(data.rank));
    llvm::SmallVector<int32_t, 5> coordinates;
    for (unsigned d = 0; d != data.rank; ++d)
      coordinates.push_back(int32_t(w.lane(i[1 + d], l)));
    uint32_t shared = sharedAddress(w.address(i[1 + data.rank], l));
    std::unique_ptr<CopyOperation> operation;
    if (i.flags & ToShared) {
      auto load = std::make_unique<LoadOperation>(w);
      uint32_t barrier = sharedAddress(w.address(i[2 + data.rank], l));
      if (!isBarrier(w, barrier))
        return Status::Stop;
      addBarriers(w, *load, i, barrier,
                  i.flags & Multicast ? w.lane(i[3 + data.rank], l) : 0);
      load->transactionBytes = map.boxBytes();
      operation = std::move(load);
    } else {
      auto store = std::make_unique<StoreOperation>(w);
      if (i.flags & IsReduction) {
        std::optional<ReduceType> type = reduceType(map.element);
        if (!type || !isLegalReduction(data.op, *type))
          return w.fault("instruction",
                         "this reduction does not exist for elements of type " +
                             tensorMapElementName(map.element));
        store->reduceOp = data.op;
        store->type = *type;
      }
      operation = std::move(store);
    }
    operation->map = map;
    llvm::Error error =
        map.forEachRun(coordinates, shared, [&](const TensorMap::Run &run) {
          Piece p;
          p.global = run.globalAddress;
          p.shared = run.sharedAddress;
          p.globalBytes = run.globalBytes;
          p.sharedBytes = run.sharedBytes;
          p.inBounds = run.inBounds;
          operation->pieces.push_back(p);
        });
    if (error)
      return w.fault("instruction", llvm::toString(std::move(error)));
    bool ok;
    uint64_t id = issue(w, std::move(operation), ok);
    if (!ok)
      return Status::Stop;
    if (!(i.flags & ToShared))
      w.bulkGroups.open.push_back(id);
  }
  return Status::Next;
}

/// Operands: destination, source, size, barrier, CTA mask.
Status bulkCopy(Warp &w, const Instruction &i, LaneMask mask) {
  if (!checkOperands(w, i, mask))
    return Status::Stop;
  for (unsigned l = 0; l != warpSize; ++l) {
    if (!((mask >> l) & 1))
      continue;
    uint64_t to = w.address(i[0], l), from = w.address(i[1], l);
    uint64_t size = uint32_t(w.lane(i[2], l));
    if (size % 16 || to % 16 || from % 16)
      return w.fault("alignment", "bulk copy of " + Twine(size) +
                                      " bytes from 0x" +
                                      Twine::utohexstr(from) + " to 0x" +
                                      Twine::utohexstr(to) +
                                      ": all must be multiples of 16");
    Piece p;
    p.globalBytes = p.sharedBytes = size;
    uint64_t id = 0;
    bool ok = true;
    if (i.flags & ToShared) {
      uint32_t barrier = sharedAddress(w.address(i[3], l));
      if (!isBarrier(w, barrier))
        return Status::Stop;
      if (i.flags & IsReduction) {
        auto store = std::make_unique<StoreOperation>(w);
        p.shared = sharedAddress(from);
        p.global = sharedAddress(to);
        store->toShared = true;
        store->reduceOp = i.as<BulkData>().op;
        store->type = i.as<BulkData>().type;
        store->barriers.push_back(barrier);
        store->transactionBytes = size;
        store->pieces.push_back(p);
        issue(w, std::move(store), ok);
      } else {
        auto load = std::make_unique<LoadOperation>(w);
        p.shared = sharedAddress(to);
        p.global = i.flags & FromShared ? sharedAddress(from) : from;
        load->fromShared = i.flags & FromShared;
        addBarriers(w, *load, i, barrier,
                    i.flags & Multicast ? w.lane(i[4], l) : 0);
        load->transactionBytes = size;
        load->pieces.push_back(p);
        issue(w, std::move(load), ok);
      }
    } else {
      auto store = std::make_unique<StoreOperation>(w);
      p.shared = sharedAddress(from);
      p.global = to;
      if (i.flags & IsReduction) {
        store->reduceOp = i.as<BulkData>().op;
        store->type = i.as<BulkData>().type;
      }
      store->pieces.push_back(p);
      id = issue(w, std::move(store), ok);
      w.bulkGroups.open.push_back(id);
    }
    if (!ok)
      return Status::Stop;
  }
  return Status::Next;
}

/// selector: 0 bulk, 1 cp.async.
Warp::Groups &groupsOf(Warp &w, const Instruction &i) {
  return i.selector ? w.copyGroups : w.bulkGroups;
}

Status commitGroup(Warp &w, const Instruction &i, LaneMask) {
  Warp::Groups &groups = groupsOf(w, i);
  groups.committed.push_back(std::move(groups.open));
  groups.open.clear();
  if (w.cluster.races) {
    groups.epochs.push_back(w.cluster.races->lastEpoch(
        w, i.selector ? RaceDetector::AsyncCopy : RaceDetector::BulkWrite));
    constexpr size_t kept = 64;
    if (groups.epochs.size() > 2 * kept)
      groups.epochs.erase(groups.epochs.begin(), groups.epochs.end() - kept);
  }
  return Status::Next;
}

/// flags: 1 only reads; 2 all, committed or not. target: groups that may stay.
Status waitGroup(Warp &w, const Instruction &i, LaneMask) {
  if (i.flags & 2 && w.fragment().wait.kind == Wait::Kind::None)
    commitGroup(w, i, 0);
  Wait wait;
  wait.kind = i.selector ? Wait::Kind::CopyGroups : Wait::Kind::BulkGroups;
  wait.readOnly = i.flags & 1;
  wait.value = i.target;
  if (!w.cluster.waitIsOver(wait, w))
    return w.block(wait);
  const std::vector<uint32_t> &epochs = groupsOf(w, i).epochs;
  if (w.cluster.races && epochs.size() > i.target) {
    uint32_t epoch = epochs[epochs.size() - 1 - i.target];
    RaceDetector &races = *w.cluster.races;
    if (i.selector) {
      races.waited(w, RaceDetector::AsyncCopy, epoch);
    } else {
      races.waited(w, RaceDetector::BulkRead, epoch);
      if (!wait.readOnly)
        races.waited(w, RaceDetector::BulkWrite, epoch);
    }
  }
  return Status::Next;
}

/// cp.async [dst], [src], size, source size. flags: ZeroFill if it is given.
Status asyncCopy(Warp &w, const Instruction &i, LaneMask mask) {
  if (!checkOperands(w, i, mask))
    return Status::Stop;
  auto load = std::make_unique<LoadOperation>(w, AsyncOperation::Engine::Copy);
  unsigned size = i.selector;
  for (unsigned l = 0; l != warpSize; ++l) {
    if (!((mask >> l) & 1))
      continue;
    uint64_t to = w.address(i[0], l), from = w.address(i[1], l);
    if (to % size || from % size)
      return w.fault("alignment", "cp.async of " + Twine(size) +
                                      " bytes from 0x" +
                                      Twine::utohexstr(from) + " to 0x" +
                                      Twine::utohexstr(to) + " is not aligned");
    Piece p;
    p.shared = sharedAddress(to);
    p.global = from;
    uint32_t bytes = size;
    if (i.flags & ZeroFill)
      bytes = i[2].bytes                     ? uint32_t(w.lane(i[2], l))
              : (w.predicate(i[2]) >> l) & 1 ? 0
                                             : size;
    if (bytes > size)
      return w.fault("instruction", "source size is larger than the copy");
    p.globalBytes = bytes;
    p.sharedBytes = size;
    p.inBounds = bytes != 0;
    load->pieces.push_back(p);
  }
  bool ok;
  w.copyGroups.open.push_back(issue(w, std::move(load), ok));
  return ok ? Status::Next : Status::Stop;
}

Status copyArrive(Warp &w, const Instruction &i, LaneMask mask) {
  if (!checkOperands(w, i, mask))
    return Status::Stop;
  auto arrival = std::make_unique<CopyArrival>(w);
  for (unsigned l = 0; l != warpSize; ++l)
    if ((mask >> l) & 1) {
      uint32_t address = sharedAddress(w.address(i[0], l));
      if (!isBarrier(w, address))
        return Status::Stop;
      if (!(i.flags & NoIncrement))
        ++w.cluster.mbarrier(address)->pending;
      arrival->barriers.push_back(address);
    }
  for (const std::vector<uint64_t> &group : w.copyGroups.committed)
    arrival->after.append(group.begin(), group.end());
  arrival->after.append(w.copyGroups.open.begin(), w.copyGroups.open.end());
  bool ok;
  issue(w, std::move(arrival), ok);
  return ok ? Status::Next : Status::Stop;
}

//===----------------------------------------------------------------------===//
// Tensor maps in memory, cluster launch control
//===----------------------------------------------------------------------===//

/// tensormap.replace [map], (ordinal,) value. selector: the field; target: the
/// ordinal.
Status replaceField(Warp &w, const Instruction &i, LaneMask mask) {
  if (!checkOperands(w, i, mask))
    return Status::Stop;
  for (unsigned l = 0; l != warpSize; ++l) {
    if (!((mask >> l) & 1))
      continue;
    BytesRef at = w.locate(i.space, w.address(i[0], l), 128, l, true, 64);
    if (!at.data)
      return Status::Stop;
    llvm::ArrayRef<uint8_t> bytes(at.data, 128);
    TensorMap map;
    // A map is built from zeros, field by field.
    if (llvm::any_of(bytes, [](uint8_t b) { return b != 0; })) {
      llvm::Expected<TensorMap> decoded = TensorMap::decode(bytes);
      if (!decoded)
        return w.fault("instruction", llvm::toString(decoded.takeError()));
      map = *decoded;
    }
    if (llvm::Error e = map.replaceField(TensorMapField(i.selector), i.target,
                                         w.lane(i[1], l)))
      return w.fault("instruction", llvm::toString(std::move(e)));
    TensorMapBlob blob = map.encode();
    std::memcpy(at.data, blob.data(), blob.size());
    if (at.undefined)
      std::memset(at.undefined, 0, 128);
  }
  return Status::Next;
}

Status copyMap(Warp &w, const Instruction &i, LaneMask mask) {
  if (!checkOperands(w, i, mask))
    return Status::Stop;
  unsigned l = llvm::countr_zero(mask);
  BytesRef from =
      w.locateShared(sharedAddress(w.address(i[1], l)), 128, false, 128);
  if (!from.data)
    return Status::Stop;
  BytesRef to = w.locate(Space::Generic, w.address(i[0], l), 128, l, true, 128);
  if (!to.data)
    return Status::Stop;
  std::memcpy(to.data, from.data, 128);
  if (to.undefined)
    std::memcpy(to.undefined, from.undefined, 128);
  return Status::Next;
}

Status tryCancel(Warp &w, const Instruction &i, LaneMask mask) {
  if (!checkOperands(w, i, mask))
    return Status::Stop;
  for (unsigned l = 0; l != warpSize; ++l) {
    if (!((mask >> l) & 1))
      continue;
    auto cancel = std::make_unique<CancelOperation>(w);
    uint32_t result = sharedAddress(w.address(i[0], l));
    uint32_t barrier = sharedAddress(w.address(i[1], l));
    if (!isBarrier(w, barrier))
      return Status::Stop;
    if (i.flags & Multicast) {
      for (unsigned rank = 0; rank != w.cluster.ctas.size(); ++rank) {
        cancel->results.push_back(inCta(result, rank));
        cancel->barriers.push_back(inCta(barrier, rank));
      }
    } else {
      cancel->results.push_back(result);
      cancel->barriers.push_back(barrier);
    }
    bool ok;
    issue(w, std::move(cancel), ok);
    if (!ok)
      return Status::Stop;
  }
  return Status::Next;
}

Status queryCanceled(Warp &w, const Instruction &i, LaneMask mask) {
  LaneMask result = 0;
  for (unsigned l = 0; l != warpSize; ++l)
    result |= LaneMask(w.doubleWords(i[1])[l] & 1) << l;
  w.setPredicate(i[0], result, mask);
  return Status::Next;
}

Status queryFirst(Warp &w, const Instruction &i, LaneMask mask) {
  for (unsigned e = 0; e != i.numDestinations; ++e)
    for (unsigned l = 0; l != warpSize; ++l)
      if ((mask >> l) & 1)
        w.setLane(i[e], l, 0);
  return Status::Next;
}

Status nothing(Warp &, const Instruction &, LaneMask) { return Status::Next; }

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

std::optional<ReduceOp> takeReduceOp(Decoder &d) {
  static constexpr StringRef names[] = {"add", "min", "max", "inc",
                                        "dec", "and", "or",  "xor"};
  int op = d.takeOneOf(names);
  return op < 0 ? std::nullopt : std::optional<ReduceOp>(ReduceOp(op));
}

/// Takes the direction: the first space is the destination's.
void takeDirection(Decoder &d, bool &toShared, bool &fromShared) {
  llvm::SmallVector<bool, 2> shared;
  for (StringRef m : llvm::to_vector(d.remaining()))
    if (m == "global" || m.starts_with("shared")) {
      shared.push_back(m != "global");
      d.take(m);
    }
  if (shared.size() != 2)
    d.fail("the copy needs a destination and a source space");
  shared.resize(2);
  toShared = shared[0];
  fromShared = shared[1];
}

void takeCommon(Decoder &d) {
  for (StringRef m :
       {"mbarrier::complete_tx::bytes", "bulk_group", "tile", "cta_group::1",
        "cta_group::2", "noftz", "weak", "relaxed", "cta", "cluster", "gpu"})
    d.take(m);
}

std::optional<ReduceType> parseReduceType(Type type) {
  switch (type) {
  case Type::U32:
  case Type::B32:
    return ReduceType::U32;
  case Type::S32:
    return ReduceType::S32;
  case Type::U64:
  case Type::B64:
    return ReduceType::U64;
  case Type::S64:
    return ReduceType::S64;
  case Type::F16:
    return ReduceType::F16;
  case Type::BF16:
    return ReduceType::BF16;
  case Type::F32:
    return ReduceType::F32;
  case Type::F64:
    return ReduceType::F64;
  default:
    return std::nullopt;
  }
}

void decodeTensorCopy(Decoder &d, bool isReduction) {
  auto data = std::make_shared<BulkData>();
  static constexpr StringRef ranks[] = {"1d", "2d", "3d", "4d", "5d"};
  data->rank = d.takeOneOf(ranks) + 1;
  if (!data->rank)
    return d.fail("a tensor copy needs a rank");
  if (d.take("prefetch")) {
    d.inst.execute = nothing;
    return;
  }
  bool toShared = false, fromShared = false;
  takeDirection(d, toShared, fromShared);
  if (isReduction) {
    std::optional<ReduceOp> op = takeReduceOp(d);
    if (!op)
      return d.fail("the reduction needs an operation");
    data->op = *op;
  }
  takeCommon(d);
  bool multicast = d.take("multicast::cluster");
  bool hint = d.take("L2::cache_hint");
  d.finish();
  if (toShared == fromShared)
    return d.fail("a tensor copy is between global and shared memory");
  unsigned expected = (toShared ? 3 : 2) + multicast + hint;
  d.needOperands(expected);
  const ptx::SyntaxOperand &tensor = d.operand(toShared ? 1 : 0);
  if (tensor.kind != ptx::SyntaxOperand::Kind::Address ||
      tensor.elements.size() != 2 ||
      tensor.elements[1].elements.size() != data->rank)
    return d.fail("expected [tensor map, {" + Twine(data->rank) +
                  " coordinates}]");
  d.addressOf(tensor);
  for (const ptx::SyntaxOperand &c : tensor.elements[1].elements)
    d.sourceOf(c, Type::B32);
  d.address(toShared ? 0 : 1);
  if (toShared)
    d.address(2);
  if (multicast)
    d.source(3, Type::B16);
  d.inst.flags = (multicast ? Multicast : 0) | (toShared ? ToShared : 0) |
                 (isReduction ? IsReduction : 0);
  d.inst.data = std::move(data);
  d.inst.execute = tensorCopy;
}

void decodeGroups(Decoder &d, bool isBulk) {
  d.inst.selector = !isBulk;
  if (d.take("commit_group")) {
    d.finish();
    d.needOperands(0);
    d.inst.execute = commitGroup;
    return;
  }
  bool all = d.take("wait_all");
  d.take("wait_group");
  bool read = d.take("read");
  d.finish();
  d.needOperands(all ? 0 : 1);
  d.inst.flags = read | all << 1;
  d.inst.target = all ? 0 : d.immediate(0);
  d.inst.execute = waitGroup;
}

bool has(Decoder &d, StringRef modifier) {
  return llvm::is_contained(d.remaining(), modifier);
}

void decodeCp(Decoder &d) {
  d.inst.undef = Undef::Self;
  bool isReduction = d.take("reduce");
  if (!d.take("async"))
    return d.fail("'cp' without .async");
  bool isBulk = d.take("bulk");
  if (has(d, "commit_group") || has(d, "wait_group") || has(d, "wait_all"))
    return decodeGroups(d, isBulk);
  if (isBulk && d.take("tensor"))
    return decodeTensorCopy(d, isReduction);
  if (isBulk) {
    if (d.take("prefetch")) {
      d.inst.execute = nothing;
      return;
    }
    bool toShared = false, fromShared = false;
    takeDirection(d, toShared, fromShared);
    takeCommon(d);
    auto data = std::make_shared<BulkData>();
    if (isReduction) {
      std::optional<ReduceOp> op = takeReduceOp(d);
      std::optional<ReduceType> type = parseReduceType(d.needType());
      if (!op || !type || !isLegalReduction(*op, *type))
        return d.fail("this reduction does not exist");
      data->op = *op;
      data->type = *type;
    }
    bool multicast = d.take("multicast::cluster");
    bool hint = d.take("L2::cache_hint");
    d.finish();
    d.needOperands((toShared ? 4 : 3) + multicast + hint);
    d.address(0);
    d.address(1);
    d.source(2, Type::B32);
    if (toShared)
      d.address(3);
    if (multicast)
      d.source(4, Type::B16);
    d.inst.flags = (multicast ? Multicast : 0) | (toShared ? ToShared : 0) |
                   (fromShared ? FromShared : 0) |
                   (isReduction ? IsReduction : 0);
    d.inst.data = std::move(data);
    d.inst.execute = bulkCopy;
    return;
  }
  if (d.take("mbarrier")) {
    d.take("arrive");
    d.inst.flags = d.take("noinc") ? NoIncrement : 0;
    d.takeSpace();
    d.take("b64");
    d.finish();
    d.needOperands(1);
    d.address(0);
    d.inst.execute = copyArrive;
    return;
  }
  d.take("ca");
  d.take("cg");
  bool toShared = false, fromShared = false;
  takeDirection(d, toShared, fromShared);
  for (StringRef m : llvm::to_vector(d.remaining()))
    if (m.starts_with("L2::") && m != "L2::cache_hint")
      d.take(m);
  bool hint = d.take("L2::cache_hint");
  d.finish();
  d.needOperands(3 + hint, 4 + hint);
  if (!toShared || fromShared)
    return d.fail("cp.async copies from global to shared memory");
  d.address(0);
  d.address(1);
  int64_t size = d.immediate(2);
  if (size != 4 && size != 8 && size != 16)
    return d.fail("cp.async copies 4, 8 or 16 bytes");
  d.inst.selector = size;
  if (d.numOperands() == 4u + hint) {
    d.inst.flags = ZeroFill;
    const ptx::SyntaxOperand &o = d.operand(3);
    bool isPredicate =
        o.kind == ptx::SyntaxOperand::Kind::Register &&
        d.functionDecoder().syntax.registers[o.index].type == "pred";
    d.source(3, isPredicate ? Type::Pred : Type::B32);
  }
  d.inst.execute = asyncCopy;
}

void decodeTensormap(Decoder &d) {
  d.inst.undef = Undef::Self;
  if (d.take("cp_fenceproxy")) {
    for (StringRef m :
         {"global", "shared::cta", "tensormap::generic", "proxy", "release",
          "acquire", "cta", "cluster", "gpu", "sys", "sync", "aligned"})
      d.take(m);
    d.finish();
    d.needOperands(3);
    d.address(0);
    d.address(1);
    d.inst.execute = copyMap;
    return;
  }
  if (!d.take("replace"))
    return d.fail("this form of 'tensormap' is not supported");
  d.take("tile");
  static constexpr StringRef fields[] = {"global_address", "rank",
                                         "box_dim",        "global_dim",
                                         "global_stride",  "element_stride",
                                         "elemtype",       "interleave_layout",
                                         "swizzle_mode",   "swizzle_atomicity",
                                         "fill_mode"};
  int field = d.takeOneOf(fields);
  if (field < 0)
    return d.fail("'tensormap.replace' without a known field");
  d.take("b1024");
  d.inst.space = d.takeSpace();
  Type type = d.needType();
  d.finish();
  bool hasOrdinal = field >= 2 && field <= 5;
  d.needOperands(hasOrdinal ? 3 : 2);
  d.address(0);
  d.inst.target = hasOrdinal ? d.immediate(1) : 0;
  d.source(hasOrdinal ? 2 : 1, type);
  d.inst.selector = field;
  d.inst.execute = replaceField;
}

void decodeLaunchControl(Decoder &d) {
  if (d.take("try_cancel")) {
    d.inst.undef = Undef::Self;
    for (StringRef m :
         {"async", "shared::cta", "mbarrier::complete_tx::bytes", "b128"})
      d.take(m);
    d.inst.flags = d.take("multicast::cluster::all") ? Multicast : 0;
    d.finish();
    d.needOperands(2);
    d.address(0);
    d.address(1);
    d.inst.execute = tryCancel;
    return;
  }
  if (!d.take("query_cancel"))
    return d.fail("this form of 'clusterlaunchcontrol' is not supported");
  if (d.take("is_canceled")) {
    d.take("pred");
    d.take("b128");
    d.finish();
    d.needOperands(2);
    d.destination(0, Type::Pred);
    d.source(1, Type::B128);
    d.inst.execute = queryCanceled;
    return;
  }
  static constexpr StringRef parts[] = {"get_first_ctaid", "get_first_ctaid::x",
                                        "get_first_ctaid::y",
                                        "get_first_ctaid::z"};
  if (d.takeOneOf(parts) < 0)
    return d.fail("this form of 'clusterlaunchcontrol' is not supported");
  d.take("v4");
  d.take("b32");
  d.take("b128");
  d.finish();
  d.needOperands(2);
  d.destinationVector(0, Type::B32);
  d.source(1, Type::B128);
  d.inst.execute = queryFirst;
}

} // namespace

void lpfa::sim::addBulkCopies(DecodeTable &table) {
  table["cp"] = decodeCp;
  table["tensormap"] = decodeTensormap;
  table["clusterlaunchcontrol"] = decodeLaunchControl;
}
