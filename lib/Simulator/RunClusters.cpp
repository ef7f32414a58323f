//===- RunClusters.cpp - The clusters of a launch on host threads ---------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread runs one cluster after the other, each to its end. One whose warps
// only spin may wait for another cluster to write to global memory: it is laid
// aside until others have done something.
//
//===----------------------------------------------------------------------===//

#include "Machine.h"
#include "llvm/Support/MathExtras.h"
#include <list>
#include <thread>

using namespace lpfa::sim;

namespace {

class Runner {
public:
  Runner(LaunchContext &context, uint64_t clusters, uint64_t threads,
         uint64_t maxInFlight, ClusterResults &results)
      : context(context), clusters(clusters), results(results),
        numQueues(context.function.cancelsLaunches
                      ? llvm::divideCeil(clusters, queueLength)
                      : clusters),
        threads(std::min(threads, numQueues)),
        room(std::max<uint64_t>(1, maxInFlight / this->threads)) {}

  void run() {
    if (threads == 1)
      return work();
    std::vector<std::thread> pool;
    for (uint64_t t = 0; t != threads; ++t)
      pool.emplace_back([this] { work(); });
    for (std::thread &t : pool)
      t.join();
  }

private:
  /// Who may cancel whose launch must not depend on host threads.
  static constexpr uint64_t queueLength = 4;
  /// Rounds in which nothing happens in any cluster, until that is a deadlock.
  static constexpr unsigned maxIdleRounds = 1 << 12;

  /// What one thread has under way.
  struct Local {
    std::list<LaunchQueue> queues;
    std::list<Cluster> spinning;
  };

  void work() {
    Local local;
    startAll(local);
    // What is left waits for other clusters.
    uint64_t seen = context.activity;
    for (unsigned idle = 0; !local.spinning.empty(); ++idle) {
      bool isStuck = idle == maxIdleRounds;
      for (auto it = local.spinning.begin(); it != local.spinning.end();) {
        auto cluster = it++;
        if (isStuck)
          cluster->giveUp();
        else if (!cluster->run())
          continue;
        finish(*cluster);
        local.spinning.erase(cluster);
        startAll(local);
      }
      if (busy || context.activity != seen) {
        seen = context.activity;
        idle = 0;
      }
    }
  }

  void startAll(Local &local) {
    ++busy;
    while (startNext(local)) {
    }
    --busy;
  }

  /// Runs the next cluster until it ends or spins; false if there is none, or
  /// no room for it.
  bool startNext(Local &local) {
    if (local.spinning.size() >= room)
      return false;
    std::optional<uint64_t> index;
    if (!local.queues.empty())
      index = local.queues.back().take();
    if (!index) {
      uint64_t first = next++;
      if (first >= numQueues)
        return false;
      local.queues.push_back({first, numQueues, clusters});
      index = local.queues.back().take();
    }
    if (context.stopAt < *index)
      return true;
    Cluster &cluster = local.spinning.emplace_back(context, *index);
    cluster.queue = &local.queues.back();
    if (cluster.run()) {
      finish(cluster);
      local.spinning.pop_back();
    }
    return true;
  }

  void finish(Cluster &cluster) {
    ++results.done;
    std::lock_guard<std::mutex> lock(mutex);
    results.statistics.add(cluster.statistics);
    if (!cluster.findings.empty())
      results.findings.push_back({cluster.index, std::move(cluster.findings)});
  }

  LaunchContext &context;
  uint64_t clusters;
  ClusterResults &results;
  uint64_t numQueues, threads, room;
  std::atomic<uint64_t> next{0};
  /// Threads that run clusters for the first time.
  std::atomic<unsigned> busy{0};
  std::mutex mutex;
};

} // namespace

void lpfa::sim::runClusters(LaunchContext &context, uint64_t clusters,
                            uint64_t threads, uint64_t maxInFlight,
                            ClusterResults &results) {
  Runner(context, clusters, threads, maxInFlight, results).run();
}
