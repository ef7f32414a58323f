//===- AsyncCopies.cpp - cp.async
//-------------------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.9.24.
//
//===----------------------------------------------------------------------===//

#include "Copies.h"

using namespace lpfa::sim;
using namespace lpfa::sim::copies;
using llvm::StringRef;
using llvm::Twine;

namespace {

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
      // cp.async is in the generic proxy (PTX ISA 9.7.9.25.1).
      MBarrier *b = w.findBarrier(address);
      if (!b)
        return Status::Stop;
      if (!(i.flags & NoIncrement))
        ++b->pending;
      arrival->barriers.push_back(address);
    }
  for (const std::vector<uint64_t> &group : w.copyGroups.committed)
    arrival->after.append(group.begin(), group.end());
  arrival->after.append(w.copyGroups.open.begin(), w.copyGroups.open.end());
  bool ok;
  issue(w, std::move(arrival), ok);
  return ok ? Status::Next : Status::Stop;
}

} // namespace

void copies::decodeAsyncCopy(Decoder &d) {
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
