//===- LaunchControl.cpp - clusterlaunchcontrol
//-----------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.13.18.
//
//===----------------------------------------------------------------------===//

#include "Copies.h"

using namespace lpfa::sim;
using namespace lpfa::sim::copies;
using llvm::StringRef;
using llvm::Twine;

namespace {

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

void lpfa::sim::addLaunchControl(DecodeTable &table) {
  table["clusterlaunchcontrol"] = decodeLaunchControl;
}
