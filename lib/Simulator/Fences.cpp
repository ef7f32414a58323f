//===- Fences.cpp - Fences of memory and of proxies -----------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.13.4 (fence).
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "Machine.h"

using namespace lpfa::sim;
using llvm::StringRef;
using llvm::Twine;

namespace {

Status nothing(Warp &, const Instruction &, LaneMask) { return Status::Next; }

Status fenceProxy(Warp &w, const Instruction &, LaneMask mask) {
  w.publishInits(mask);
  if (w.cluster.races)
    w.cluster.races->fenceProxy(w);
  return Status::Next;
}

Status fenceInit(Warp &w, const Instruction &, LaneMask mask) {
  w.hasUnfencedInit = false;
  w.publishInits(mask);
  if (w.cluster.races)
    w.cluster.races->fenceInit(w);
  return Status::Next;
}

/// selector: the scope.
Status fenceMemory(Warp &w, const Instruction &i, LaneMask mask) {
  if (Scope(i.selector) >= Scope::Cluster)
    w.publishInits(mask);
  if (w.cluster.races)
    w.cluster.races->fenceMemory(w, Scope(i.selector));
  return Status::Next;
}

/// Memory is sequentially consistent here; what fences order is the business
/// of the checks.
void decodeFence(Decoder &d) {
  bool isInitFence = llvm::is_contained(d.remaining(), "mbarrier_init");
  bool isProxyFence = llvm::any_of(d.remaining(), [](StringRef m) {
    return m.starts_with("async") || m == "proxy::async";
  });
  bool isOtherProxy = llvm::is_contained(d.remaining(), "proxy");
  bool isCta = llvm::is_contained(d.remaining(), "cta");
  bool isCluster = llvm::is_contained(d.remaining(), "cluster");
  d.inst.selector = uint32_t(isCta       ? Scope::Cta
                             : isCluster ? Scope::Cluster
                                         : Scope::Gpu);
  for (StringRef m : {"sc",
                      "acq_rel",
                      "acquire",
                      "release",
                      "cta",
                      "cluster",
                      "gpu",
                      "sys",
                      "gl",
                      "mbarrier_init",
                      "proxy",
                      "alias",
                      "async",
                      "tensormap",
                      "async::generic",
                      "generic::async",
                      "sync_restrict::shared::cta",
                      "sync_restrict::shared::cluster",
                      "proxy::async",
                      "proxy::tensormap",
                      "tensormap::generic",
                      "global",
                      "shared",
                      "shared::cta",
                      "shared::cluster"})
    d.take(m);
  for (StringRef m : llvm::to_vector(d.remaining()))
    if (m.starts_with("async") || m.starts_with("tensormap") ||
        m.starts_with("sync_restrict"))
      d.take(m);
  d.finish();
  d.inst.execute = isProxyFence   ? fenceProxy
                   : isInitFence  ? fenceInit
                   : isOtherProxy ? nothing
                                  : fenceMemory;
}

} // namespace

void lpfa::sim::addFences(DecodeTable &table) {
  table["fence"] = table["membar"] = decodeFence;
}
