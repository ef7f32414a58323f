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

/// clusterlaunchcontrol.try_cancel. Its 16 bytes are a flag, then the first
/// CTA's position.
class CancelOperation : public AsyncOperation {
public:
  CancelOperation(Warp &issuer) : AsyncOperation(issuer, Engine::Tma) {}
  llvm::SmallVector<uint32_t, 4> results;

  bool read() override {
    LaunchQueue *queue = issuer.cluster.queue;
    if (std::optional<uint64_t> index = queue ? queue->take() : std::nullopt) {
      const LaunchContext &context = issuer.context;
      Dim3 first =
          ctaPosition(context.launch.grid, context.cluster, *index, /*rank=*/0);
      response = {1, first.x, first.y, first.z};
    }
    return true;
  }
  bool write() override {
    for (uint32_t address : results) {
      BytesRef to = issuer.locateShared(address, 16, /*isWrite=*/true, 16);
      if (!to.data || (issuer.cluster.races &&
                       !issuer.cluster.races->shared(
                           *this, address >> rankShift, address & offsetMask,
                           16, RaceDetector::Access::Write)))
        return false;
      std::memcpy(to.data, response.data(), 16);
      std::memset(to.undefined, 0, 16);
    }
    return true;
  }
  bool complete() override { return completeTransactions(*this, 16); }

private:
  std::array<uint32_t, 4> response = {};
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
    if (i.flags & Multicast) {
      for (unsigned rank = 0; rank != w.cluster.ctas.size(); ++rank) {
        cancel->results.push_back(inCta(result, rank));
        cancel->barriers.push_back(inCta(barrier, rank));
      }
    } else {
      cancel->results.push_back(result);
      cancel->barriers.push_back(barrier);
    }
    for (uint32_t signaled : cancel->barriers)
      if (!w.findBarrier(signaled, /*isAsync=*/true))
        return Status::Stop;
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

/// The position is undefined if no launch was canceled. selector: the first
/// coordinate.
Status queryFirst(Warp &w, const Instruction &i, LaneMask mask) {
  const Operand &source = i[i.numDestinations];
  LaneMask undefined = w.undefinedLanes(source);
  for (unsigned e = 0; e != i.numDestinations; ++e) {
    // The fourth element of the vector has no meaning.
    unsigned word = 1 + i.selector + e;
    LaneMask nothing = word == 4 ? mask : undefined & mask;
    for (unsigned l = 0; l != warpSize; ++l) {
      if (!((mask >> l) & 1))
        continue;
      const uint64_t *half = w.doubleWords(source) + word / 2 * warpSize;
      if (!(w.doubleWords(source)[l] & 1))
        nothing |= LaneMask(1) << l;
      if (word != 4)
        w.setLane(i[e], l, uint32_t(half[l] >> (word % 2 * 32)));
    }
    w.setUndefined(i[e], mask & ~nothing, false);
    w.setUndefined(i[e], nothing, true);
  }
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
    d.functionDecoder().function.cancelsLaunches = true;
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
  static constexpr StringRef parts[] = {
      "get_first_ctaid::x", "get_first_ctaid::y", "get_first_ctaid::z",
      "get_first_ctaid"};
  int part = d.takeOneOf(parts);
  if (part < 0 || d.take("v4") != (part == 3))
    return d.fail("this form of 'clusterlaunchcontrol' is not supported");
  d.inst.selector = part % 3;
  d.inst.undef = Undef::Self;
  d.take("b32");
  d.take("b128");
  d.finish();
  d.needOperands(2);
  if (d.destinationVector(0, Type::B32) != (part == 3 ? 4 : 1))
    return d.fail("'get_first_ctaid' gives four registers, or one of a "
                  "coordinate");
  d.source(1, Type::B128);
  d.inst.execute = queryFirst;
}

} // namespace

void lpfa::sim::addLaunchControl(DecodeTable &table) {
  table["clusterlaunchcontrol"] = decodeLaunchControl;
}
