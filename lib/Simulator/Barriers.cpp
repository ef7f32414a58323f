//===- Barriers.cpp - Barriers of threads, and register budgets -----------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.13.1 (bar), 9.7.13.2 (bar.warp.sync), 9.7.13.3 (barrier.cluster),
// 9.7.19.5 (setmaxnreg).
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "Machine.h"
#include "llvm/Support/MathExtras.h"

using namespace lpfa::sim;
using llvm::StringRef;
using llvm::Twine;

namespace {

//===----------------------------------------------------------------------===//
// bar and barrier
//===----------------------------------------------------------------------===//

enum BarMode { BarSync, BarArrive, BarPopc, BarAnd, BarOr };

/// Operands: result, id, count, predicate. flags: aligned.
Status bar(Warp &w, const Instruction &i, LaneMask mask) {
  Fragment &f = w.fragment();
  if (f.wait.kind == Wait::Kind::NamedBarrier) {
    if (!w.cluster.waitIsOver(f.wait, w)) {
      f.blockedAt = w.cluster.events;
      return Status::Blocked;
    }
    const NamedBarrier &b = w.cta.barriers[f.wait.object];
    if (i.selector == BarPopc)
      for (unsigned l = 0; l != warpSize; ++l) {
        if ((mask >> l) & 1)
          w.setLane(i[0], l, b.resultPopulation);
      }
    else if (i.selector > BarPopc)
      w.setPredicate(
          i[0],
          (i.selector == BarAnd ? b.resultAll : b.resultAny) ? allLanes : 0,
          mask);
    w.setUndefined(i[0], mask, false);
    if (w.cluster.races)
      w.cluster.races->acquire(w, b.result);
    return Status::Next;
  }
  if (i.flags)
    switch (w.gather(allLanes, /*samePc=*/true)) {
    case Warp::Gather::Wait:
      return Status::Blocked;
    case Warp::Gather::Fault:
      return Status::Stop;
    case Warp::Gather::Ready:
      break;
    }
  unsigned lane = llvm::countr_zero(mask);
  if (w.checkDefined(i[1], mask, "the barrier's number") ||
      (i[2] && w.checkDefined(i[2], mask, "the thread count")))
    return Status::Stop;
  uint64_t id = w.lane(i[1], lane);
  uint32_t count = i[2] ? w.lane(i[2], lane) : 0;
  if (id >= w.cta.barriers.size())
    return w.fault("barrier", "barrier " + Twine(id) + " does not exist");
  bool checks = w.context.options.checks.barriers;
  if (i[2] && (count == 0 || count % warpSize))
    return w.fault("barrier", "thread count " + Twine(count) +
                                  " is no multiple of the warp size");
  NamedBarrier &b = w.cta.barriers[id];
  if (b.arrived && b.expected != count && checks &&
      w.complain("barrier", "barrier " + Twine(id) + " is used with " +
                                Twine(count) + " threads while others use " +
                                Twine(b.expected)))
    return Status::Stop;
  b.expected = count;
  LaneMask here = w.fragment().mask;
  b.arrived += count && here == w.live ? warpSize : llvm::popcount(here);
  if (count && b.arrived > count)
    return w.fault("barrier", "more than " + Twine(count) +
                                  " threads come to barrier " + Twine(id));
  if (i.selector >= BarPopc) {
    LaneMask p = w.predicate(i[3]) & mask;
    b.population += llvm::popcount(p);
    b.all &= p == mask;
    b.any |= p != 0;
  }
  if (w.cluster.races)
    w.cluster.races->release(w, b.history);
  Wait wait;
  wait.kind = Wait::Kind::NamedBarrier;
  wait.object = id;
  wait.value = b.generation;
  w.cta.checkNamedBarrier(id);
  if (i.selector == BarArrive)
    return Status::Next;
  w.fragment().wait = wait;
  return bar(w, i, mask);
}

Status warpBarrier(Warp &w, const Instruction &i, LaneMask mask) {
  LaneMask members = w.lane(i[0], llvm::countr_zero(mask));
  switch (w.gather(members, /*samePc=*/false)) {
  case Warp::Gather::Wait:
    return Status::Blocked;
  case Warp::Gather::Fault:
    return Status::Stop;
  case Warp::Gather::Ready:
    return Status::Next;
  }
  return Status::Next;
}

/// barrier.cluster. selector: 0 arrive, 1 wait.
Status clusterBarrier(Warp &w, const Instruction &i, LaneMask mask) {
  Cluster &c = w.cluster;
  if (i.selector == 0) {
    if (w.clusterArrived & mask)
      return w.fault("barrier", "a thread arrives twice at the cluster "
                                "barrier without waiting");
    w.clusterArrived |= mask;
    w.clusterGeneration = c.clusterGeneration;
    // A relaxed arrival passes on no more than what fence.mbarrier_init has
    // released.
    if (c.races) {
      if (i.flags && w.hasUnfencedInit)
        c.races->releaseInits(w, c.clusterHistory);
      else
        c.races->release(w, c.clusterHistory);
    }
    if (!i.flags)
      w.publishInits(mask);
    c.clusterArrived += llvm::popcount(mask);
    c.checkClusterBarrier();
    return Status::Next;
  }
  Fragment &f = w.fragment();
  if (f.wait.kind != Wait::Kind::ClusterBarrier) {
    if (mask & ~w.clusterArrived)
      return w.fault("barrier",
                     "a thread waits for the cluster barrier without arriving");
    f.wait.kind = Wait::Kind::ClusterBarrier;
    f.wait.value = w.clusterGeneration;
  }
  if (!c.waitIsOver(f.wait, w)) {
    f.blockedAt = c.events;
    return Status::Blocked;
  }
  w.clusterArrived &= ~mask;
  if (c.races)
    c.races->acquire(w, c.clusterResult);
  return Status::Next;
}

void decodeBar(Decoder &d) {
  if (d.take("warp")) {
    d.take("sync");
    d.finish();
    d.needOperands(1);
    d.source(0, Type::B32);
    d.inst.execute = warpBarrier;
    return;
  }
  bool isBar = d.syntax.opcode == "bar";
  if (d.take("cluster")) {
    bool isWait = d.take("wait");
    d.take("arrive");
    d.take("aligned");
    d.take("acquire");
    d.take("release");
    d.inst.flags = d.take("relaxed");
    d.finish();
    d.needOperands(0);
    d.inst.selector = isWait;
    d.inst.execute = clusterBarrier;
    return;
  }
  d.take("cta");
  d.inst.flags = d.take("aligned") || isBar;
  d.inst.undef = Undef::Self;
  bool isRed = d.take("red");
  static constexpr StringRef modes[] = {"sync", "arrive", "popc", "and", "or"};
  int mode = d.takeOneOf(modes);
  std::optional<Type> type = d.takeType();
  d.finish();
  if (mode < 0 || isRed != (mode >= BarPopc))
    return d.fail("'" + d.syntax.opcode + "' without an operation");
  d.inst.selector = mode;
  unsigned k = 0;
  if (isRed) {
    d.destination(k++, type.value_or(Type::Pred));
  } else {
    d.absent();
    ++d.inst.numDestinations;
  }
  unsigned rest = d.numOperands() - k - isRed;
  if (d.numOperands() < k + isRed + 1 || rest > 2)
    return d.fail("'" + d.syntax.opcode + "' has the wrong number of operands");
  d.source(k++, Type::U32);
  if (rest == 2)
    d.source(k++, Type::U32);
  else
    d.absent();
  if (isRed)
    d.source(k++, Type::Pred);
  d.inst.execute = bar;
}

//===----------------------------------------------------------------------===//
// setmaxnreg
//===----------------------------------------------------------------------===//

/// flags: 1 increase.
Status setMaxRegisters(Warp &w, const Instruction &i, LaneMask mask) {
  unsigned count = i.selector;
  if (!w.numRegisters)
    return Status::Next;
  if (i.flags ? count < w.numRegisters : count > w.numRegisters) {
    // PTX ISA 9.7.19.5: the count must not shrink on .inc nor grow on .dec.
    if (w.context.options.checks.barriers &&
        w.complain("registers", Twine(i.flags ? "increase" : "decrease") +
                                    " from " + Twine(w.numRegisters) + " to " +
                                    Twine(count) + " registers"))
      return Status::Stop;
    return Status::Next;
  }
  int64_t more = (int64_t(count) - int64_t(w.numRegisters)) * warpSize;
  if (more > w.cta.freeRegisters) {
    Wait wait;
    wait.kind = Wait::Kind::Registers;
    wait.value = more;
    return w.block(wait);
  }
  w.cta.freeRegisters -= more;
  w.numRegisters = count;
  if (more < 0)
    w.cluster.event();
  return Status::Next;
}

void decodeSetmaxnreg(Decoder &d) {
  bool increase = d.take("inc");
  if (!increase && !d.take("dec"))
    return d.fail("'setmaxnreg' needs .inc or .dec");
  d.take("sync");
  d.take("aligned");
  d.takeType();
  d.finish();
  d.needOperands(1);
  int64_t count = d.immediate(0);
  if (count < 24 || count > 256 || count % 8)
    return d.fail("register count " + Twine(count) +
                  " is no multiple of 8 from 24 to 256");
  d.inst.flags = increase;
  d.inst.selector = count;
  d.inst.execute = setMaxRegisters;
}

} // namespace

void lpfa::sim::addBarriers(DecodeTable &table) {
  table["bar"] = table["barrier"] = decodeBar;
  table["setmaxnreg"] = decodeSetmaxnreg;
}
