//===- BulkCopies.cpp - Bulk copies and groups
//------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.9.25: cp.async.bulk; groups also of cp.async (9.7.9.24).
//
//===----------------------------------------------------------------------===//

#include "Copies.h"

using namespace lpfa::sim;
using namespace lpfa::sim::copies;
using llvm::StringRef;
using llvm::Twine;

namespace {

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
      if (i.flags & IsReduction) {
        if (!w.findBarrier(barrier, /*isAsync=*/true))
          return Status::Stop;
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
        if (!addBarriers(w, *load, i, barrier,
                         i.flags & Multicast ? w.lane(i[4], l) : 0))
          return Status::Stop;
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

void decodeBulkCopy(Decoder &d, bool isReduction) {
  if (d.take("prefetch"))
    return decodePrefetch(d);
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
  if (isBulk)
    return decodeBulkCopy(d, isReduction);
  decodeAsyncCopy(d);
}

} // namespace

void copies::decodeGroups(Decoder &d, bool isBulk) {
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

void lpfa::sim::addBulkCopies(DecodeTable &table) { table["cp"] = decodeCp; }
