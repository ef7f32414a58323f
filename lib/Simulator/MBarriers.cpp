//===- MBarriers.cpp - Barriers in shared memory --------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.13.15 (mbarrier).
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "Machine.h"

using namespace lpfa::sim;
using llvm::StringRef;
using llvm::Twine;

MBarrier *Warp::findBarrier(uint64_t address, bool isAsync) {
  if (address >> 32 == sharedWindow >> 32)
    address &= windowMask;
  if (!locateShared(address, 8, /*isWrite=*/true, 8).data)
    return nullptr;
  MBarrier *b = cluster.mbarrier(address);
  if (!b) {
    fault("barrier", "there is no initialized mbarrier at shared address 0x" +
                         Twine::utohexstr(address));
    return nullptr;
  }
  // PTX ISA 9.7.13.4: fence.mbarrier_init makes it known in the cluster.
  bool isForeign = isAsync || address >> rankShift != cta.rank;
  if (isForeign && !b->isPublished && context.options.checks.strictFences &&
      complain("fence",
               "the mbarrier at 0x" + Twine::utohexstr(address) +
                   " is signaled from outside its CTA's threads without "
                   "'fence.mbarrier_init' behind its initialization at line " +
                   Twine(b->initLine)))
    return nullptr;
  return noteShared(address, 8, /*isWrite=*/false) ? b : nullptr;
}

void Warp::publishInits(LaneMask mask) {
  llvm::erase_if(unpublishedInits, [&](uint32_t address) {
    MBarrier *b = cluster.mbarrier(address);
    if (b && !((mask >> b->initLane) & 1))
      return false;
    if (b)
      b->isPublished = true;
    return true;
  });
}

namespace {

/// mbarrier.init [a], count and mbarrier.inval [a]. selector: 1 inval.
Status initOrInval(Warp &w, const Instruction &i, LaneMask mask) {
  if (w.checkDefined(i[0], mask, "the address"))
    return Status::Stop;
  for (unsigned l = 0; l != warpSize; ++l) {
    if (!((mask >> l) & 1))
      continue;
    uint64_t address = w.address(i[0], l);
    if (address >> 32 == sharedWindow >> 32)
      address &= windowMask;
    BytesRef at = w.locateShared(address, 8, /*isWrite=*/true, 8);
    if (!at.data)
      return Status::Stop;
    if (!w.noteShared(address, 8, /*isWrite=*/true))
      return Status::Stop;
    uint32_t offset = address & ((1 << rankShift) - 1);
    Cta &cta = *w.cluster.ctas[address >> rankShift];
    MBarrier *old = cta.mbarrier(offset);
    if (i.selector) {
      if (!old)
        return w.fault("barrier", "'mbarrier.inval' without an mbarrier at 0x" +
                                      Twine::utohexstr(address));
      old->live = false;
      std::memset(at.undefined, 1, 8);
      continue;
    }
    if (old && w.context.options.checks.barriers &&
        w.complain("barrier",
                   "the mbarrier at 0x" + Twine::utohexstr(address) +
                       " from line " + Twine(old->initLine) +
                       " is initialized again without 'mbarrier.inval'"))
      return Status::Stop;
    uint64_t count = w.lane(i[1], l);
    if (count == 0 || count >= 1 << 20)
      return w.fault("barrier", "arrival count " + Twine(count) +
                                    " is outside 1 to 2^20-1");
    MBarrier &b = cta.createMBarrier(offset);
    b = MBarrier();
    b.live = true;
    b.expected = count;
    b.pending = count;
    b.initLine = i.line;
    b.initLane = l;
    w.hasUnfencedInit = true;
    w.unpublishedInits.push_back(address);
    std::memset(at.undefined, 0, 8);
  }
  w.cluster.event();
  return Status::Next;
}

/// A state token holds the phase, and how many arrivals were missing before the
/// one that gave it.
constexpr unsigned pendingBits = 20;

enum ArriveFlags {
  ExpectTx = 1,
  Arrive = 2,
  NoComplete = 4,
  Drop = 8,
  Complete = 16
};

/// mbarrier.arrive, expect_tx and complete_tx: state, [a], count, bytes.
Status arrive(Warp &w, const Instruction &i, LaneMask mask) {
  if (w.checkDefined(i[1], mask, "the address"))
    return Status::Stop;
  for (unsigned s = 2; s != 4; ++s)
    if (i[s] && w.checkDefined(i[s], mask, "the count"))
      return Status::Stop;
  for (unsigned l = 0; l != warpSize; ++l) {
    if (!((mask >> l) & 1))
      continue;
    MBarrier *b = w.findBarrier(w.address(i[1], l));
    if (!b)
      return Status::Stop;
    std::string error;
    uint64_t state = b->phase << pendingBits | b->pending;
    bool ok = true;
    if (w.cluster.races && i.flags & Arrive)
      w.cluster.races->release(w, b->arrived);
    if (i.flags & ExpectTx)
      // An expectation never ends a phase that an arrival is about to change.
      ok = w.cluster.expectTransactions(*b, w.lane(i[3], l), error);
    if (i.flags & Complete)
      ok = w.cluster.expectTransactions(*b, -int64_t(w.lane(i[3], l)), error);
    if (ok && i.flags & Arrive) {
      uint32_t count = i[2] ? w.lane(i[2], l) : 1;
      if (i.flags & Drop) {
        if (b->expected < count + 1) {
          ok = false;
          error = "'arrive_drop' leaves no participant";
        } else {
          b->expected -= count;
        }
      }
      b->noteArrival(i.line);
      ok = ok && w.cluster.arrive(*b, count, error);
      if (ok && i.flags & NoComplete && b->phase != state >> pendingBits) {
        ok = false;
        error = "an arrival with .noComplete ends the phase";
      }
    }
    if (!ok)
      return w.fault("barrier", "mbarrier at 0x" +
                                    Twine::utohexstr(w.address(i[1], l)) +
                                    ": " + error);
    w.setLane(i[0], l, state);
  }
  w.setUndefined(i[0], mask, false);
  w.cluster.event();
  return Status::Next;
}

/// mbarrier.pending_count count, state.
Status pendingCount(Warp &w, const Instruction &i, LaneMask mask) {
  for (unsigned l = 0; l != warpSize; ++l)
    if ((mask >> l) & 1)
      w.setLane(i[0], l, w.lane(i[1], l) & ((1 << pendingBits) - 1));
  return Status::Next;
}

/// test_wait and try_wait: p, [a], state or parity. selector: 0 test, 1 try;
/// flags: by parity.
Status waitForPhase(Warp &w, const Instruction &i, LaneMask mask) {
  if (w.checkDefined(i[1], mask, "the address") ||
      w.checkDefined(i[2], mask, "the phase"))
    return Status::Stop;
  LaneMask result = 0;
  Wait pending;
  for (unsigned l = 0; l != warpSize; ++l) {
    if (!((mask >> l) & 1))
      continue;
    uint64_t address = w.address(i[1], l);
    if (address >> 32 == sharedWindow >> 32)
      address &= windowMask;
    MBarrier *b = w.findBarrier(address);
    if (!b)
      return Status::Stop;
    if (address >> rankShift != w.cta.rank)
      return w.fault("barrier", "a wait for an mbarrier of another CTA");
    Wait wait;
    wait.kind = Wait::Kind::MBarrier;
    wait.object = address;
    wait.byParity = i.flags;
    wait.isPoll = i.selector == 0;
    wait.value = w.lane(i[2], l) >> (i.flags ? 0 : pendingBits);
    wait.phase = b->phase;
    if (wait.byParity && wait.value > 1)
      return w.fault("barrier",
                     "parity " + Twine(wait.value) + " is neither 0 nor 1");
    if (!wait.byParity && b->phase < wait.value)
      return w.fault("barrier", "the state token is not of this mbarrier");
    if (w.cluster.waitIsOver(wait, w))
      result |= LaneMask(1) << l;
    else
      pending = wait;
  }
  // Two phases ended while the fragment waited: it cannot tell.
  const Wait &waited = w.fragment().wait;
  if (pending.kind != Wait::Kind::None && waited.kind == Wait::Kind::MBarrier &&
      waited.object == pending.object && waited.value == pending.value &&
      pending.phase >= waited.phase + 2 && w.context.options.checks.barriers)
    return w.fault(
        "barrier",
        "the wait for parity " + Twine(pending.value) +
            " of the mbarrier at 0x" + Twine::utohexstr(pending.object) +
            " missed a phase: it was in phase " + Twine(waited.phase) +
            " when the wait began and is in " + Twine(pending.phase));
  if (pending.kind != Wait::Kind::None) {
    // A poll waits for something to happen before it fails, so that a loop
    // around it costs nothing. try_wait may fail at any time: it does so once,
    // which finds kernels that do not try again.
    bool mayFail;
    if (pending.isPoll) {
      mayFail = waited.kind == Wait::Kind::MBarrier;
    } else {
      bool hasFailed = waited.object == pending.object &&
                       waited.value == pending.value && waited.lanes == mask;
      mayFail =
          (!hasFailed && w.context.options.schedule != Schedule::Timed) ||
          (w.context.options.schedule == Schedule::Random &&
           waited.kind == Wait::Kind::None && w.cluster.random() % 8 == 0);
    }
    pending.lanes = mask;
    if (!mayFail)
      return w.block(pending);
    w.fragment().wait = pending;
  } else {
    w.fragment().wait = Wait();
  }
  if (result && w.cluster.races)
    for (unsigned l = 0; l != warpSize; ++l)
      if ((result >> l) & 1)
        w.cluster.races->acquire(
            w, w.cluster.mbarrier(w.address(i[1], l) & windowMask)->completed);
  w.setPredicate(i[0], result, mask);
  w.setUndefined(i[0], mask, false);
  return result == mask ? Status::Next : Status::Yield;
}

void decodeMBarrier(Decoder &d) {
  Instruction &inst = d.inst;
  if (d.take("pending_count")) {
    d.take("b64");
    d.finish();
    d.needOperands(2);
    d.destination(0, Type::U32);
    d.source(1, Type::B64);
    inst.execute = pendingCount;
    return;
  }
  inst.undef = Undef::Self;
  for (StringRef m : {"relaxed", "release", "acquire", "cta", "cluster", "b64"})
    d.take(m);
  Space space = d.takeSpace();
  if (space != Space::Shared && space != Space::Generic)
    return d.fail("an mbarrier is in shared memory");
  if (d.take("init") || llvm::is_contained(d.remaining(), "inval")) {
    inst.selector = d.take("inval");
    d.finish();
    d.needOperands(inst.selector ? 1 : 2);
    d.address(0);
    if (!inst.selector)
      d.source(1, Type::U32);
    inst.execute = initOrInval;
    return;
  }
  bool test = d.take("test_wait"), tryWait = d.take("try_wait");
  if (test || tryWait) {
    inst.selector = tryWait;
    inst.flags = d.take("parity");
    d.finish();
    d.needOperands(3, tryWait ? 4 : 3);
    d.destination(0, Type::Pred);
    d.address(1);
    d.source(2, inst.flags ? Type::B32 : Type::B64);
    inst.execute = waitForPhase;
    return;
  }
  bool arrives = d.take("arrive"), drops = d.take("arrive_drop");
  bool expects = d.take("expect_tx"), completes = d.take("complete_tx");
  bool noComplete = d.take("noComplete");
  d.finish();
  inst.flags = (arrives || drops ? Arrive : 0) | (drops ? Drop : 0) |
               (expects ? ExpectTx : 0) | (completes ? Complete : 0) |
               (noComplete ? NoComplete : 0);
  if (!inst.flags)
    return d.fail("this form of 'mbarrier' is not supported");
  unsigned k = 0;
  if (inst.flags & Arrive && !d.isAddress(0)) {
    d.destination(k++, Type::B64);
  } else {
    d.absent();
    ++inst.numDestinations;
  }
  d.address(k++);
  bool hasValue = k < d.numOperands();
  if (hasValue && !(expects || completes))
    d.source(k++, Type::U32);
  else
    d.absent();
  if (expects || completes)
    d.source(k++, Type::U32);
  else
    d.absent();
  if (k != d.numOperands())
    d.fail("'mbarrier' has too many operands");
  inst.execute = arrive;
}

} // namespace

void lpfa::sim::addMBarriers(DecodeTable &table) {
  table["mbarrier"] = decodeMBarrier;
}
