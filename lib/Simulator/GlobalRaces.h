//===- GlobalRaces.h - Races on global memory -------------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Global memory is what all clusters of a launch share. Who touched its bytes
// is kept once a launch, page by page and only for pages that were touched, as
// intervals: a row of a tile is one interval. Clusters learn of each other
// through strong accesses alone, as the PTX memory model says (PTX ISA 8.8):
// what was released to a location passes to those who acquire it.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_SIMULATOR_GLOBALRACES_H
#define LPFA_LIB_SIMULATOR_GLOBALRACES_H

#include "Races.h"
#include "lpfa/Simulator/Simulator.h"
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace lpfa::sim {

struct LaunchContext;

/// The accesses of a launch to global memory.
class GlobalShadow {
public:
  GlobalShadow(LaunchContext &context, std::shared_ptr<const Program> program);

  /// Who makes an access.
  struct Agent {
    const History &history;
    uint32_t cluster;
    uint16_t component;
    /// The issuing warp in its cluster.
    uint16_t warp;
    uint32_t epoch;
    const Instruction *instruction;
    bool isGeneric;
    /// Two strong accesses whose scopes include each other do not race.
    Scope scope;
    /// A generic write of what the memory holds already.
    bool isUnchanged;
  };

  /// Notes an access and compares it with those before. Races between clusters
  /// are kept here; those inside of one are its findings. False if the cluster
  /// must stop.
  bool access(const Agent &agent, Cluster &cluster, uint64_t address,
              uint64_t bytes, bool isWrite);

  /// Held from the look whether a store changes memory to the store itself:
  /// CTAs on other host threads may store the same value.
  std::unique_lock<std::mutex> lockStores() {
    return std::unique_lock<std::mutex>(storeMutex);
  }

  //===--------------------------------------------------------------------===//
  // Release and acquire
  //===--------------------------------------------------------------------===//

  /// What was released to a location: to everyone, and to single clusters.
  struct Location {
    std::shared_ptr<const ForeignHistory> wide;
    std::map<uint32_t, std::shared_ptr<const ForeignHistory>> narrow;
  };
  /// Calls `use` with the location, or null if there is none; `create` makes
  /// one. Locked.
  template <typename Use>
  void withLocation(uint64_t address, bool create, Use use) {
    std::lock_guard<std::mutex> lock(locationMutex);
    if (create)
      return use(&locations[address]);
    auto it = locations.find(address);
    use(it == locations.end() ? nullptr : &it->second);
  }

  //===--------------------------------------------------------------------===//
  // Launches
  //===--------------------------------------------------------------------===//

  /// The launch before, for a kernel that waits for it by itself
  /// (griddepcontrol.wait).
  std::shared_ptr<GlobalShadow> previous;

  /// Ends the launch. Gives the races between clusters, by the later cluster,
  /// in order.
  std::vector<std::pair<uint64_t, Finding>> finish();

private:
  static constexpr unsigned pageBytes = 1024;
  struct Record {
    const Instruction *instruction;
    uint32_t cluster, epoch;
    uint16_t component, warp;
    uint16_t begin, end; ///< in the page
    Scope scope;
    bool isWrite, isGeneric;
  };
  using Page = std::vector<Record>;
  struct Shard {
    std::mutex mutex;
    std::unordered_map<uint64_t, Page> pages;
  };

  bool touch(const Agent &agent, Cluster &cluster, Page &page,
             uint64_t pageAddress, Record record);
  bool isOrdered(const Agent &agent, const Record &earlier) const;
  bool mayMeet(const Agent &agent, const Record &earlier) const;
  bool lacksProxyFence(const Agent &agent, const Record &earlier,
                       bool isWrite) const;
  bool comparePrevious(const Agent &agent, Cluster &cluster, uint64_t page,
                       const Record &record);
  static void add(Page &page, const Record &record);

  std::string nameOf(const Record &record) const;
  Site siteOf(const Record &record) const;
  std::string placeOf(uint64_t address) const;
  bool report(Cluster &cluster, const Record &record, const Record &earlier,
              uint64_t address, bool lacksFence);

  const Checks checks;
  const Dim3 grid, clusterSize;
  const unsigned warpsPerCta, maxFindings;
  const std::string entry;
  /// Names and addresses of the buffers.
  std::vector<std::pair<uint64_t, std::string>> buffers;
  std::atomic<uint64_t> &stopAt;
  /// Instructions outlive the launch through it.
  std::shared_ptr<const Program> program;

  std::array<Shard, 64> shards;
  std::mutex locationMutex, storeMutex;
  std::unordered_map<uint64_t, Location> locations;

  /// By the later and the earlier cluster, their lines, and the address.
  using PairKey = std::array<uint64_t, 5>;
  std::mutex findingMutex;
  std::map<PairKey, Finding> findings;
};

/// The position of a CTA in the grid.
Dim3 ctaPosition(const Dim3 &grid, const Dim3 &clusterSize, uint64_t cluster,
                 unsigned rank);
std::string ctaName(const Dim3 &id);

} // namespace lpfa::sim

#endif // LPFA_LIB_SIMULATOR_GLOBALRACES_H
