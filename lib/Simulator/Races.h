//===- Races.h - Data races by vector clocks --------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Who knows of whose accesses. Each warp and each engine that works for it (its
// tensor pipe, its tensor-memory loads and stores, its bulk copies, ...) has a
// component in a vector clock, and so has each mbarrier for the copies that
// signal it. Barriers carry clocks from those who arrive to those who wait. Two
// accesses to the same bytes, one of them a write, of which neither is known to
// the other's agent, race, in whatever order the schedule made them happen.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_SIMULATOR_RACES_H
#define LPFA_LIB_SIMULATOR_RACES_H

#include "lpfa/Simulator/TensorMemory.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace lpfa::sim {

class AsyncOperation;
class Cluster;
class Cta;
class PipeOperation;
class Warp;
struct Instruction;
struct MBarrier;
struct Site;

/// A vector clock; components beyond its end are zero.
class Clock {
public:
  uint32_t operator[](unsigned component) const {
    return component < values.size() ? values[component] : 0;
  }
  void raise(unsigned component, uint32_t epoch) {
    if (component >= values.size())
      values.resize(component + 1);
    values[component] = std::max(values[component], epoch);
  }
  void join(const Clock &other) {
    if (other.values.size() > values.size())
      values.resize(other.values.size());
    for (size_t i = 0, e = other.values.size(); i != e; ++i)
      values[i] = std::max(values[i], other.values[i]);
  }

private:
  std::vector<uint32_t> values;
};

/// What is known of accesses of other clusters, by the cluster's index: those
/// that happened before, and of them those that a proxy fence has passed on.
struct ForeignHistory {
  std::map<uint32_t, std::pair<Clock, Clock>> clusters;

  static std::shared_ptr<const ForeignHistory>
  join(std::shared_ptr<const ForeignHistory> a,
       std::shared_ptr<const ForeignHistory> b);
};

/// What an agent knows.
struct History {
  /// Accesses that happened before.
  Clock order;
  /// Of those, generic accesses that a proxy fence has passed on to the
  /// asynchronous proxy (PTX ISA 9.7.13.4).
  Clock fenced;
  /// Of those, tcgen05 accesses that a fence::before_thread_sync (or a commit)
  /// has let go, and those that a fence::after_thread_sync has taken over
  /// (PTX ISA 9.7.16.6.4). Kept for strict fences alone.
  Clock released, taken;
  /// Null as long as nothing was acquired from another cluster.
  std::shared_ptr<const ForeignHistory> foreign;
  /// Whether griddepcontrol.wait came before.
  bool afterGridWait = false;

  void join(const History &other) {
    order.join(other.order);
    fenced.join(other.fenced);
    released.join(other.released);
    if (other.foreign && other.foreign != foreign)
      foreign = ForeignHistory::join(foreign, other.foreign);
    afterGridWait |= other.afterGridWait;
  }
};

/// The threads that a strong access or a fence includes (PTX ISA 8.5); weak
/// accesses include no one.
enum class Scope : uint8_t { Weak, Cta, Cluster, Gpu };

class RaceDetector {
public:
  /// The components of a warp.
  enum Lane : uint8_t {
    Program,
    Pipe,
    TensorLoad,
    TensorStore,
    BulkRead,
    BulkWrite,
    AsyncCopy,
    numLanes
  };
  enum class Access : uint8_t { Read, Write };

  explicit RaceDetector(Cluster &cluster);

  //===--------------------------------------------------------------------===//
  // Synchronization
  //===--------------------------------------------------------------------===//

  /// The warp's knowledge passes to a barrier; what it does next is new.
  void release(Warp &warp, History &into);
  void acquire(Warp &warp, const History &from);
  /// fence.mbarrier_init, and what it has released.
  void fenceInit(Warp &warp);
  void releaseInits(const Warp &warp, History &into) const;
  /// fence.proxy.async.
  void fenceProxy(Warp &warp);
  /// tcgen05.fence.
  void fenceTensor(Warp &warp, bool isAfter);
  /// fence.acq_rel and fence.sc: makes what strong accesses of the warp around
  /// it read and write acquire and release.
  void fenceMemory(Warp &warp, Scope scope);
  /// A strong write to global memory, before it happens, and a strong read of
  /// it, after it has happened; an atomic is both.
  void releaseGlobal(Warp &warp, uint64_t address, Scope scope, bool isRelease,
                     bool isReadWrite);
  void acquireGlobal(Warp &warp, uint64_t address, Scope scope, bool isAcquire);
  /// griddepcontrol.wait.
  void waitForGrid(Warp &warp);
  /// The warp has waited for the work of one of its engines up to an epoch.
  void waited(Warp &warp, Lane lane, uint32_t epoch);
  uint32_t lastEpoch(const Warp &warp, Lane lane) const;

  /// Gives an operation its history and its components at issue. Operations on
  /// a barrier take the barrier's component.
  void start(AsyncOperation &operation, Lane readLane, Lane writeLane);
  void startOnBarrier(AsyncOperation &operation, MBarrier &barrier);
  /// An operation of the tensor pipe comes after all earlier ones of its warp
  /// or, under Ordering::Documented, after those that the manual names.
  void startInPipe(PipeOperation &operation);
  /// An operation's effects become known through a barrier.
  void complete(const AsyncOperation &operation, History &into);

  //===--------------------------------------------------------------------===//
  // Accesses; false if the run must stop
  //===--------------------------------------------------------------------===//

  /// A generic access of the warp to shared memory. A write of the value that
  /// the memory holds already does not race with the write that put it there:
  /// compilers let every warp store the same.
  bool shared(Warp &warp, unsigned rank, uint32_t offset, uint32_t bytes,
              Access access, bool isUnchanged = false);
  /// An access through the asynchronous proxy.
  bool shared(AsyncOperation &operation, unsigned rank, uint32_t offset,
              uint32_t bytes, Access access);
  bool tensor(AsyncOperation &operation, const Cta &cta,
              const TensorRegion &region, Access access);
  /// Accesses to global memory; see GlobalRaces.h.
  bool global(Warp &warp, uint64_t address, uint64_t bytes, Access access,
              Scope scope, bool isUnchanged);
  bool global(AsyncOperation &operation, uint64_t address, uint64_t bytes,
              Access access, Scope scope);
  /// Columns of the warp's CTA are released, behind all accesses to them, which
  /// no longer matter.
  bool deallocate(Warp &warp, unsigned firstColumn, unsigned columns);
  /// The end of the cluster: a CTA's shared memory is gone when its last thread
  /// exits, so one of its warps must know of every access.
  void checkExit();

private:
  /// Who makes an access.
  struct Agent {
    const History &history;
    uint16_t component;
    uint32_t epoch;
    const Instruction *instruction;
    Warp &warp;
    bool isGeneric;
    bool isUnchanged;
  };
  /// An access of the past to some bytes of a granule.
  struct Record {
    uint32_t epoch;
    uint16_t component;
    uint16_t mask;
    const Instruction *instruction;
    bool isWrite;
    bool isGeneric;
  };
  using Granule = llvm::SmallVector<Record, 2>;

  unsigned component(const Warp &warp, Lane lane) const;
  Agent agentOf(Warp &warp) const;
  Agent agentOf(AsyncOperation &operation, Access access) const;
  bool range(const Agent &agent, unsigned rank, uint32_t offset, uint32_t bytes,
             Access access);
  bool touch(const Agent &agent, Granule &granule, uint16_t mask, Access access,
             bool isTensor, unsigned rank, uint32_t where);
  enum class Problem : uint8_t { Unordered, ProxyFence, TensorFence };
  bool report(const Agent &agent, const Record &earlier, Access access,
              bool isTensor, unsigned rank, uint32_t where, Problem problem);
  /// The fence that is missing between two ordered accesses, or Unordered.
  Problem missingFence(const Agent &agent, const Record &earlier, bool isWrite,
                       bool isTensor) const;
  std::string nameOf(unsigned component) const;
  Site siteOf(const Instruction *instruction, unsigned component) const;
  /// The warp of a component, or ~0u for copies on a barrier.
  unsigned warpOf(unsigned component) const;
  unsigned addComponent(unsigned warp, uint32_t barrier);

  /// What a warp's fences let strong writes release, to its cluster and to
  /// everyone, and what strong reads have seen that a fence is to acquire.
  struct Fences {
    History narrow, wide, awaiting;
    bool any = false;
  };

  Cluster &cluster;
  unsigned warpsPerCta;
  unsigned numWarpComponents;
  std::vector<History> warps;
  std::vector<Fences> fences;
  std::vector<History> fencedInits; ///< of each warp, at its last fence
  std::vector<uint32_t> epochs;     ///< last one given out, by component
  /// Of the components behind those of the warps: the warp to whose pipe they
  /// belong, or ~0u, and the mbarrier that they signal.
  std::vector<std::pair<unsigned, uint32_t>> extra;
  /// Ordering::Documented: a component for each warp's copies, its shifts, and
  /// its MMAs into each accumulator.
  std::map<std::pair<unsigned, uint64_t>, uint16_t> pipeStreams;
  /// Per CTA: 16-byte granules of shared memory; lane quarters of columns of
  /// tensor memory.
  std::vector<std::vector<Granule>> sharedGranules, tensorGranules;
};

} // namespace lpfa::sim

#endif // LPFA_LIB_SIMULATOR_RACES_H
