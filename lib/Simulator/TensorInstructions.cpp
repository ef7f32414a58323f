//===- TensorInstructions.cpp - tcgen05
//-------------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.16: tensor memory and the fifth-generation tensor core.
//
//===----------------------------------------------------------------------===//

#include "TensorInstructions.h"
#include "llvm/Support/MathExtras.h"

using namespace lpfa::sim;
using namespace lpfa::sim::tcgen05;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// What all share
//===----------------------------------------------------------------------===//

bool tcgen05::fail(Warp &w, llvm::Error error) {
  w.fault("tmem", llvm::toString(std::move(error)));
  return false;
}

bool tcgen05::checkOperands(Warp &w, const Instruction &i, LaneMask mask) {
  for (const Operand &o : i.operands)
    if (o && w.checkDefined(o, mask, "an operand"))
      return false;
  return true;
}

bool tcgen05::checkGroup(Warp &w, unsigned group) {
  if (group == 2 && w.cluster.ctas.size() % 2) {
    w.fault("tmem", ".cta_group::2 in a cluster of odd size");
    return false;
  }
  unsigned &used = w.cta.tensorGroup;
  if (used && used != group && w.context.options.checks.tmem &&
      w.complain("tmem", ".cta_group::" + Twine(group) +
                             " where the kernel used .cta_group::" +
                             Twine(used) + " before"))
    return false;
  used = group;
  return true;
}

llvm::SmallVector<Cta *, 2> tcgen05::participants(Warp &w, unsigned group) {
  if (group == 1)
    return {&w.cta};
  unsigned even = w.cta.rank & ~1u;
  return {w.cluster.ctas[even].get(), w.cluster.ctas[even + 1].get()};
}

bool tcgen05::checkOneLane(Warp &w, LaneMask mask) {
  if (llvm::popcount(mask) == 1)
    return true;
  return !w.complain("tmem", "issued by " + Twine(llvm::popcount(mask)) +
                                 " lanes of the warp: every one of them "
                                 "starts the operation");
}

Status tcgen05::alignedWarp(Warp &w, LaneMask &mask) {
  switch (w.gather(allLanes, /*samePc=*/true)) {
  case Warp::Gather::Wait:
    return Status::Blocked;
  case Warp::Gather::Fault:
    return Status::Stop;
  case Warp::Gather::Ready:
    break;
  }
  if (mask != w.live)
    return w.fault("tmem", "executed by lanes 0x" + Twine::utohexstr(mask) +
                               " of the warp only");
  return Status::Next;
}

bool tcgen05::noteTensor(AsyncOperation &operation, const Cta &cta,
                         const TensorRegion &region, Access access) {
  RaceDetector *races = operation.issuer.cluster.races.get();
  return !races || races->tensor(operation, cta, region, access);
}

bool tcgen05::noteSharedRead(AsyncOperation &operation, const Cta &cta,
                             uint32_t offset, unsigned bytes) {
  RaceDetector *races = operation.issuer.cluster.races.get();
  return !races ||
         races->shared(operation, cta.rank, offset, bytes, Access::Read);
}

bool tcgen05::issueInPipe(Warp &w, std::unique_ptr<PipeOperation> operation) {
  if (w.cluster.races)
    w.cluster.races->startInPipe(*operation);
  w.cluster.async.orderInPipe(*operation);
  bool ok;
  w.cluster.async.issue(std::move(operation), ok);
  return ok;
}

unsigned tcgen05::takeGroup(Decoder &d, TensorData &data) {
  static constexpr StringRef groups[] = {"cta_group::1", "cta_group::2"};
  int group = d.takeOneOf(groups);
  if (group < 0)
    d.fail("'tcgen05' needs .cta_group::1 or .cta_group::2");
  return data.ctaGroup = group + 1;
}

namespace {

//===----------------------------------------------------------------------===//
// Allocation
//===----------------------------------------------------------------------===//

/// alloc [shared address], columns.
Status allocate(Warp &w, const Instruction &i, LaneMask mask) {
  if (Status s = alignedWarp(w, mask); s != Status::Next)
    return s;
  if (!checkOperands(w, i, mask) || !checkGroup(w, i.as<TensorData>().ctaGroup))
    return Status::Stop;
  // One warp of each CTA of a pair allocates; they wait for each other (PTX ISA
  // 9.7.16.7.1).
  Wait wait;
  wait.kind = Wait::Kind::TensorAllocation;
  if (i.as<TensorData>().ctaGroup == 2) {
    const Wait &before = w.fragment().wait;
    if (before.kind == Wait::Kind::TensorAllocation) {
      wait.value = before.value;
    } else {
      wait.value = ++w.cta.pairAllocations;
      w.cluster.event();
    }
    if (w.cluster.ctas[w.cta.rank ^ 1]->pairAllocations < wait.value)
      return w.block(wait);
  }
  unsigned l = llvm::countr_zero(mask);
  unsigned columns = w.lane(i[1], l);
  llvm::Expected<std::optional<uint32_t>> address =
      w.cta.tensor->allocate(columns);
  if (!address)
    return fail(w, address.takeError()), Status::Stop;
  if (!*address)
    return w.block(wait);
  BytesRef to =
      w.locateShared(w.address(i[0], l) & windowMask, 4, /*isWrite=*/true, 4);
  if (!to.data)
    return Status::Stop;
  if (!w.noteShared(w.address(i[0], l), 4, /*isWrite=*/true))
    return Status::Stop;
  std::memcpy(to.data, &**address, 4);
  std::memset(to.undefined, 0, 4);
  unsigned &most = w.cluster.statistics.maxTensorColumns;
  most = std::max(most, columns);
  return Status::Next;
}

Status deallocate(Warp &w, const Instruction &i, LaneMask mask) {
  if (Status s = alignedWarp(w, mask); s != Status::Next)
    return s;
  if (!checkOperands(w, i, mask) || !checkGroup(w, i.as<TensorData>().ctaGroup))
    return Status::Stop;
  unsigned l = llvm::countr_zero(mask);
  if (llvm::Error e =
          w.cta.tensor->deallocate(w.lane(i[0], l), w.lane(i[1], l)))
    return fail(w, std::move(e)), Status::Stop;
  if (w.cluster.races && !w.cluster.races->deallocate(
                             w, w.lane(i[0], l) & 0xFFFF, w.lane(i[1], l)))
    return Status::Stop;
  w.cluster.event();
  return Status::Next;
}

Status relinquish(Warp &w, const Instruction &i, LaneMask mask) {
  if (Status s = alignedWarp(w, mask); s != Status::Next)
    return s;
  if (!checkGroup(w, i.as<TensorData>().ctaGroup))
    return Status::Stop;
  w.cta.tensor->relinquishPermit();
  return Status::Next;
}

//===----------------------------------------------------------------------===//
// commit and fences
//===----------------------------------------------------------------------===//

class CommitOperation : public PipeOperation {
public:
  CommitOperation(Warp &issuer) : PipeOperation(issuer, Kind::Commit) {}
  Work work() const override {
    Work work;
    work.kind = Work::Kind::Commit;
    work.ctaGroup = instruction.as<TensorData>().ctaGroup;
    return work;
  }
  bool complete() override {
    for (uint32_t address : barriers) {
      MBarrier *b = issuer.cluster.mbarrier(address);
      std::string error = "there is no mbarrier";
      if (b)
        b->noteArrival(instruction.line);
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

/// commit [barrier], CTA mask.
Status commit(Warp &w, const Instruction &i, LaneMask mask) {
  if (!checkOperands(w, i, mask) || !checkGroup(w, i.as<TensorData>().ctaGroup))
    return Status::Stop;
  for (unsigned l = 0; l != warpSize; ++l) {
    if (!((mask >> l) & 1))
      continue;
    auto operation = std::make_unique<CommitOperation>(w);
    uint32_t address = w.address(i[0], l) & windowMask;
    if (i[1]) {
      for (unsigned rank = 0; rank != w.cluster.ctas.size(); ++rank)
        if ((w.lane(i[1], l) >> rank) & 1)
          operation->barriers.push_back((address & ((1u << rankShift) - 1)) |
                                        rank << rankShift);
    } else {
      operation->barriers.push_back(address);
    }
    for (uint32_t barrier : operation->barriers)
      if (!w.findBarrier(barrier, /*isAsync=*/true))
        return Status::Stop;
    if (!issueInPipe(w, std::move(operation)))
      return Status::Stop;
  }
  return Status::Next;
}

/// selector: 1 after_thread_sync.
Status fence(Warp &w, const Instruction &i, LaneMask) {
  if (w.cluster.races)
    w.cluster.races->fenceTensor(w, i.selector);
  return Status::Next;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

void decodeTcgen05(Decoder &d) {
  d.inst.undef = Undef::Self;
  auto data = std::make_shared<TensorData>();
  auto simple = [&](ExecuteFn execute, unsigned operands) {
    d.take("sync");
    d.take("aligned");
    d.take("b32");
    d.takeSpace();
    d.finish();
    d.needOperands(operands);
    d.inst.execute = execute;
    d.inst.data = std::move(data);
  };
  d.functionDecoder().function.usesTensorMemory = true;
  if (d.take("alloc")) {
    takeGroup(d, *data);
    d.address(0);
    d.source(1, Type::B32);
    return simple(allocate, 2);
  }
  if (d.take("dealloc")) {
    takeGroup(d, *data);
    d.source(0, Type::B32);
    d.source(1, Type::B32);
    return simple(deallocate, 2);
  }
  if (d.take("relinquish_alloc_permit")) {
    takeGroup(d, *data);
    return simple(relinquish, 0);
  }
  if (d.take("mma"))
    return decodeMma(d, std::move(data));
  if (d.take("cp"))
    return decodeCopy(d, std::move(data));
  if (d.take("shift"))
    return decodeShift(d, std::move(data));
  if (d.take("commit")) {
    takeGroup(d, *data);
    d.take("mbarrier::arrive::one");
    bool multicast = d.take("multicast::cluster");
    d.take("b64");
    d.address(0);
    if (multicast)
      d.source(1, Type::B16);
    else
      d.absent();
    return simple(commit, 1 + multicast);
  }
  if (d.take("ld"))
    return decodeTransfer(d, std::move(data), false);
  if (d.take("st"))
    return decodeTransfer(d, std::move(data), true);
  if (d.take("wait::ld"))
    return simple(waitForTransfers, 0);
  if (d.take("wait::st")) {
    d.inst.selector = 1;
    return simple(waitForTransfers, 0);
  }
  if (d.take("fence::before_thread_sync"))
    return simple(fence, 0);
  if (d.take("fence::after_thread_sync")) {
    d.inst.selector = 1;
    return simple(fence, 0);
  }
  d.fail("this form of 'tcgen05' is not supported");
}

} // namespace

void lpfa::sim::addTensorInstructions(DecodeTable &table) {
  table["tcgen05"] = decodeTcgen05;
}
