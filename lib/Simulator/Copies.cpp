//===- Copies.cpp - Copies to and from shared memory
//------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Copies.h"

using namespace lpfa::sim;
using namespace lpfa::sim::copies;
using llvm::StringRef;
using llvm::Twine;

bool copies::completeTransactions(const AsyncOperation &operation,
                                  uint64_t bytes) {
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

bool CopyOperation::writeShared(uint32_t address, size_t offset,
                                unsigned bytes) {
  BytesRef to = issuer.locateShared(address, bytes, /*isWrite=*/true, 1);
  if (!to.data || !note(address, bytes, RaceDetector::Access::Write))
    return false;
  std::memcpy(to.data, &staging.bytes[offset], bytes);
  std::memcpy(to.undefined, &staging.undefined[offset], bytes);
  return true;
}

bool LoadOperation::read() {
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
    if (!from.data ||
        !(fromShared ? note(p.global, p.globalBytes, RaceDetector::Access::Read)
                     : noteGlobal(p.global, p.globalBytes,
                                  RaceDetector::Access::Read)))
      return false;
    staging.append(from, p.globalBytes);
    llvm::SmallVector<uint8_t, 16> padding(p.sharedBytes - p.globalBytes, 0);
    staging.append(padding);
  }
  return true;
}

bool LoadOperation::write() {
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

bool StoreOperation::read() {
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

bool StoreOperation::write() {
  size_t offset = 0;
  for (const Piece &p : pieces) {
    if (p.inBounds && !writePiece(p, offset))
      return false;
    offset += p.sharedBytes;
  }
  issuer.cluster.statistics.globalBytesStored += offset;
  return true;
}

bool StoreOperation::writePiece(const Piece &p, size_t offset) {
  BytesRef to = toShared ? issuer.locateShared(p.global, p.globalBytes, true, 1)
                         : issuer.locate(Space::Global, p.global, p.globalBytes,
                                         0, true, 1);
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

//===----------------------------------------------------------------------===//
// Issue
//===----------------------------------------------------------------------===//

bool copies::checkOperands(Warp &w, const Instruction &i, LaneMask mask) {
  for (const Operand &o : i.operands)
    if (o && w.checkDefined(o, mask, "an operand"))
      return false;
  return true;
}

bool copies::addBarriers(Warp &w, LoadOperation &operation,
                         const Instruction &i, uint32_t barrier,
                         uint64_t ctaMask) {
  if (!(i.flags & Multicast)) {
    operation.barriers.push_back(barrier);
    return w.findBarrier(barrier, /*isAsync=*/true);
  }
  // Of each destination CTA's pair the one whose rank is as even as that of
  // the given barrier's CTA (PTX ISA 9.7.9.27.5.2).
  unsigned parity = (barrier >> rankShift) & 1;
  for (unsigned rank = 0; rank != w.cluster.ctas.size(); ++rank)
    if ((ctaMask >> rank) & 1) {
      operation.ranks.push_back(rank);
      operation.barriers.push_back(
          inCta(barrier, i.flags & Pair ? (rank & ~1u) | parity : rank));
      if (!w.findBarrier(operation.barriers.back(), /*isAsync=*/true))
        return false;
    }
  return true;
}

uint64_t copies::issue(Warp &w, std::unique_ptr<AsyncOperation> operation,
                       bool &ok) {
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

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

std::optional<ReduceOp> copies::takeReduceOp(Decoder &d) {
  static constexpr StringRef names[] = {"add", "min", "max", "inc",
                                        "dec", "and", "or",  "xor"};
  int op = d.takeOneOf(names);
  return op < 0 ? std::nullopt : std::optional<ReduceOp>(ReduceOp(op));
}

void copies::takeDirection(Decoder &d, bool &toShared, bool &fromShared) {
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

void copies::takeCommon(Decoder &d) {
  for (StringRef m :
       {"mbarrier::complete_tx::bytes", "bulk_group", "tile", "cta_group::1",
        "noftz", "weak", "relaxed", "cta", "cluster", "gpu"})
    d.take(m);
}

std::optional<ReduceType> copies::parseReduceType(Type type) {
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

static Status nothing(Warp &, const Instruction &, LaneMask) {
  return Status::Next;
}

void copies::decodePrefetch(Decoder &d) { d.inst.execute = nothing; }
