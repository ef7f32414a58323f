//===- Cluster.cpp - CTAs, barriers and schedules -------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

using namespace lpfa::sim;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// CTA
//===----------------------------------------------------------------------===//

Cta::Cta(Cluster &cluster, unsigned rank, Dim3 id)
    : cluster(cluster), rank(rank), id(id) {
  const LaunchContext &context = cluster.context;
  shared.bytes.assign(context.sharedBytes, 0xFF);
  shared.undefined.assign(context.sharedBytes, 1);
  if (context.function.usesTensorMemory)
    tensor = std::make_unique<TensorMemory>();
  liveThreads = context.launch.block.count();
}

std::string Cta::name() const { return ctaName(id); }

MBarrier *Cta::mbarrier(uint32_t offset) {
  auto it = mbarriers.find(offset);
  return it == mbarriers.end() || !it->second.live ? nullptr : &it->second;
}

MBarrier &Cta::createMBarrier(uint32_t offset) { return mbarriers[offset]; }

void Cta::forEachMBarrier(
    llvm::function_ref<void(uint32_t, MBarrier &)> visit) {
  std::vector<uint32_t> offsets;
  for (auto &[offset, barrier] : mbarriers)
    offsets.push_back(offset);
  llvm::sort(offsets);
  for (uint32_t offset : offsets)
    visit(offset, mbarriers[offset]);
}

void Cta::checkNamedBarrier(unsigned id) {
  NamedBarrier &b = barriers[id];
  uint32_t expected = b.expected ? b.expected : liveThreads;
  if (!b.arrived || b.arrived < expected)
    return;
  b.arrived = 0;
  b.expected = 0;
  b.resultPopulation = b.population;
  b.resultAll = b.all;
  b.resultAny = b.any;
  b.result = b.history;
  b.population = 0;
  b.all = true;
  b.any = false;
  ++b.generation;
  cluster.event();
}

void Cta::exitThreads(unsigned count) {
  liveThreads -= count;
  for (unsigned b = 0; b != barriers.size(); ++b)
    if (barriers[b].arrived && !barriers[b].expected)
      checkNamedBarrier(b);
  cluster.checkClusterBarrier();
}

//===----------------------------------------------------------------------===//
// Cluster
//===----------------------------------------------------------------------===//

Cluster::Cluster(LaunchContext &context, uint64_t index)
    : context(context), index(index), async(*this),
      random(context.options.seed * 0x9E3779B97F4A7C15 + index) {
  const Dim3 &size = context.cluster;
  unsigned warps = llvm::divideCeil(context.launch.block.count(), warpSize);
  for (unsigned rank = 0; rank != size.count(); ++rank) {
    Dim3 id = ctaPosition(context.launch.grid, size, index, rank);
    ctas.push_back(std::make_unique<Cta>(*this, rank, id));
    Cta &cta = *ctas.back();
    cta.warps.resize(warps);
    for (unsigned w = 0; w != warps; ++w)
      cta.warps[w] = std::make_unique<Warp>(cta, w);
  }
  statistics.ctas = ctas.size();
  if (context.options.checks.races)
    races = std::make_unique<RaceDetector>(*this);
}

uint64_t Cluster::liveThreads() const {
  uint64_t total = 0;
  for (const auto &cta : ctas)
    total += cta->liveThreads;
  return total;
}

void Cluster::checkClusterBarrier() {
  if (!clusterArrived || clusterArrived < liveThreads())
    return;
  clusterArrived = 0;
  clusterResult = clusterHistory;
  ++clusterGeneration;
  event();
}

MBarrier *Cluster::mbarrier(uint64_t address) {
  uint64_t rank = address >> rankShift;
  if (rank >= ctas.size())
    return nullptr;
  return ctas[rank]->mbarrier(address & ((1 << rankShift) - 1));
}

/// The phase ends when no arrival and no transaction is missing
/// (PTX ISA 9.7.13.15.5).
static void completePhase(Cluster &cluster, MBarrier &b) {
  if (b.pending || b.transactions)
    return;
  ++b.phase;
  b.completed = b.arrived;
  b.pending = b.expected;
  b.endedByThread = !cluster.isStepping;
  cluster.event();
}

bool Cluster::arrive(MBarrier &b, uint32_t count, std::string &error) {
  if (b.pending < int64_t(count)) {
    error = ("arrival of " + Twine(count) + " where only " + Twine(b.pending) +
             " of " + Twine(b.expected) + " are missing in this phase")
                .str();
    return false;
  }
  b.pending -= count;
  completePhase(*this, b);
  return true;
}

bool Cluster::expectTransactions(MBarrier &b, int64_t bytes,
                                 std::string &error) {
  constexpr int64_t limit = (1 << 20) - 1;
  b.transactions += bytes;
  if (b.transactions > limit || b.transactions < -limit) {
    error = ("transaction count " + Twine(b.transactions) +
             " is outside -(2^20-1) to 2^20-1")
                .str();
    return false;
  }
  completePhase(*this, b);
  return true;
}

static bool groupsAreDone(AsyncEngine &async, Warp::Groups &groups,
                          uint64_t allowed, bool readOnly) {
  std::deque<std::vector<uint64_t>> &committed = groups.committed;
  auto done = [&](const std::vector<uint64_t> &group) {
    return llvm::all_of(group, [&](uint64_t id) {
      return readOnly ? async.hasRead(id) : async.isDone(id);
    });
  };
  while (!committed.empty() &&
         llvm::all_of(committed.front(),
                      [&](uint64_t id) { return async.isDone(id); }))
    committed.pop_front();
  size_t pending = 0;
  for (const std::vector<uint64_t> &group : committed)
    pending += !done(group);
  // Groups finish in any order, but waiting counts the most recent ones.
  if (pending <= allowed)
    return true;
  for (size_t g = 0; g + allowed < committed.size(); ++g)
    if (!done(committed[g]))
      return false;
  return true;
}

bool Cluster::waitIsOver(const Wait &wait, Warp &warp) {
  switch (wait.kind) {
  case Wait::Kind::None:
    return true;
  case Wait::Kind::MBarrier: {
    MBarrier *b = mbarrier(wait.object);
    if (!b)
      return true;
    return wait.byParity ? (b->phase & 1) != (wait.value & 1)
                         : b->phase > wait.value;
  }
  case Wait::Kind::NamedBarrier:
    return warp.cta.barriers[wait.object].generation > wait.value;
  case Wait::Kind::ClusterBarrier:
    return clusterGeneration > wait.value;
  case Wait::Kind::BulkGroups:
    return groupsAreDone(async, warp.bulkGroups, wait.value, wait.readOnly);
  case Wait::Kind::CopyGroups:
    return groupsAreDone(async, warp.copyGroups, wait.value, false);
  case Wait::Kind::MatrixGroups:
    return groupsAreDone(async, warp.matrixGroups, wait.value, false);
  case Wait::Kind::TensorLoads:
    return llvm::all_of(warp.tensorLoads, [&](const Warp::PendingLoad &load) {
      return async.isDone(load.operation);
    });
  case Wait::Kind::TensorStores:
    return llvm::all_of(warp.tensorStores,
                        [&](uint64_t id) { return async.isDone(id); });
  case Wait::Kind::Registers:
    return warp.cta.freeRegisters >= int64_t(wait.value);
  case Wait::Kind::TensorAllocation:
  case Wait::Kind::WarpSync:
    return false;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

/// One turn of every warp. Returns the number of instructions that ran.
unsigned Cluster::sweep() {
  if (context.decisions)
    return decide();
  bool isRandom = context.options.schedule == Schedule::Random;
  std::vector<Warp *> order;
  for (const auto &cta : ctas)
    for (const auto &warp : cta->warps)
      if (!warp->finished())
        order.push_back(warp.get());
  unsigned done = 0;
  if (isRandom)
    std::shuffle(order.begin(), order.end(), random);
  for (Warp *warp : order) {
    if (stopped())
      break;
    if (isRandom && random() % 4 == 0)
      advanceRandomly();
    if (isRandom && random() % 4 == 0)
      continue;
    if (warp->mayRun())
      done += warp->run(isRandom ? 1 + random() % 64 : 1024);
  }
  return done;
}

/// Does one step of any operation. False if there is none.
bool Cluster::advanceRandomly() {
  if (async.empty())
    return false;
  std::vector<uint64_t> ready = async.ready();
  if (ready.empty())
    return false;
  async.step(ready[random() % ready.size()]);
  return true;
}

uint64_t Cluster::awaitedOperation(unsigned &steps) const {
  steps = AsyncOperation::numSteps;
  auto firstOf = [&](const Warp::Groups &groups, const Wait &wait) -> uint64_t {
    for (const std::vector<uint64_t> &group : groups.committed)
      for (uint64_t id : group)
        if (wait.readOnly ? !async.hasRead(id) : !async.isDone(id)) {
          if (wait.readOnly)
            steps = 1;
          return id;
        }
    return 0;
  };
  auto awaited = [&](const Warp &warp, const Wait &wait) -> uint64_t {
    switch (wait.kind) {
    case Wait::Kind::MBarrier:
      return async.findSignal(wait.object);
    case Wait::Kind::BulkGroups:
      return firstOf(warp.bulkGroups, wait);
    case Wait::Kind::CopyGroups:
      return firstOf(warp.copyGroups, wait);
    case Wait::Kind::MatrixGroups:
      return firstOf(warp.matrixGroups, wait);
    case Wait::Kind::TensorLoads:
      for (const Warp::PendingLoad &load : warp.tensorLoads)
        if (!async.isDone(load.operation))
          return load.operation;
      return 0;
    case Wait::Kind::TensorStores:
      for (uint64_t id : warp.tensorStores)
        if (!async.isDone(id))
          return id;
      return 0;
    default:
      return 0;
    }
  };
  for (const auto &cta : ctas)
    for (const auto &warp : cta->warps)
      for (const Fragment &f : warp->fragments)
        if (uint64_t id = awaited(*warp, f.wait))
          return id;
  return 0;
}

/// Finishes the operation that some waiting warp waits for. False if no warp
/// waits for one.
bool Cluster::advanceLazily() {
  unsigned steps;
  uint64_t id = awaitedOperation(steps);
  if (id)
    async.finish(id, steps);
  return id;
}

bool Cluster::run() {
  // Instructions without any event, and polls that failed, after which another
  // cluster gets its turn.
  constexpr unsigned maxIdle = 1 << 18, maxFailedPolls = 1 << 8;
  unsigned idleSweeps = 0, idle = 0, failedPolls = 0;
  uint64_t lastEvents = events, counted = 0;
  auto allFinished = [&] {
    return llvm::all_of(ctas, [](const auto &cta) {
      return llvm::all_of(cta->warps,
                          [](const auto &warp) { return warp->finished(); });
    });
  };
  while (!stopped() && !allFinished()) {
    unsigned done = sweep();
    counted += done;
    if (counted >= (1 << 16)) {
      uint64_t total = context.steps += counted;
      counted = 0;
      if (context.options.maxSteps && total > context.options.maxSteps) {
        Finding finding;
        finding.kind = "limit";
        finding.message =
            ("stopped after " + Twine(total) + " warp instructions").str();
        addFinding(std::move(finding));
        stopping = true;
        break;
      }
    }
    if (events != lastEvents) {
      lastEvents = events;
      idleSweeps = idle = failedPolls = 0;
      ++context.activity;
      continue;
    }
    // A random turn leaves warps out, and exploration decides about one alone.
    bool mayRun = llvm::any_of(ctas, [](const auto &cta) {
      return llvm::any_of(cta->warps, [](const auto &warp) {
        return !warp->finished() && warp->mayRun();
      });
    });
    if (!done && (mayRun || (context.decisions && !async.empty())))
      continue;
    idle += done;
    // Warps that only spin must not keep asynchronous work from happening.
    if (done && ++idleSweeps % 256 != 0)
      continue;
    if (stopped())
      break;
    if (advanceLazily())
      continue;
    if (!async.empty() &&
        (done || context.options.schedule != Schedule::Lazy)) {
      async.finish(async.oldest());
      continue;
    }
    if (done && idle < maxIdle)
      continue;
    if (!async.empty()) {
      async.finish(async.oldest());
      continue;
    }
    // Polls may fail, and their warps do something else.
    bool polls = !done && failPolls();
    if (polls && ++failedPolls < maxFailedPolls)
      continue;
    if (done || polls) {
      context.steps += counted;
      return false;
    }
    reportDeadlock();
    break;
  }
  context.steps += counted;
  ++context.activity;
  finishRun();
  return true;
}

void Cluster::giveUp() {
  if (!stopped())
    reportDeadlock();
  finishRun();
}

bool Cluster::failPolls() {
  bool polls = false;
  for (const auto &cta : ctas)
    for (const auto &warp : cta->warps)
      for (Fragment &f : warp->fragments)
        if (f.wait.isPoll) {
          f.blockedAt = ~uint64_t(0);
          polls = true;
        }
  return polls;
}

void Cluster::finishRun() {
  if (!stopped())
    finishAsync();
  if (!stopped() && races)
    races->checkExit();
  for (const auto &cta : ctas) {
    for (const auto &warp : cta->warps) {
      statistics.warpInstructions += warp->instructionCount;
      statistics.threadInstructions += warp->threadInstructionCount;
    }
    if (!stopped() && cta->tensor && context.options.checks.tmem)
      if (llvm::Error e = cta->tensor->checkAllReleased()) {
        Finding finding;
        finding.kind = "tmem";
        finding.message =
            cta->name() + " exits: " + llvm::toString(std::move(e));
        addFinding(std::move(finding));
      }
  }
}

/// What is still under way when the last warp exits.
void Cluster::finishAsync() {
  while (!async.empty() && !stopped())
    async.finish(async.oldest());
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

void Cluster::addFinding(Finding finding) {
  findings.push_back(std::move(finding));
  if (findings.size() >= std::max(1u, context.options.maxFindings)) {
    stopping = true;
    uint64_t old = context.stopAt.load();
    while (old > index && !context.stopAt.compare_exchange_weak(old, index)) {
    }
  }
}

std::string lpfa::sim::describeWait(const Wait &wait, Warp &warp) {
  auto hex = [](uint64_t v) { return "0x" + llvm::utohexstr(v); };
  switch (wait.kind) {
  case Wait::Kind::None:
    return "can run";
  case Wait::Kind::MBarrier: {
    std::string text = "waits for mbarrier " + hex(wait.object) + ", " +
                       (wait.byParity ? "parity " : "phase ") +
                       std::to_string(wait.value);
    if (MBarrier *b = warp.cluster.mbarrier(wait.object)) {
      text += "; it is in phase " + std::to_string(b->phase) + ", missing " +
              std::to_string(b->pending) + " of " +
              std::to_string(b->expected) + " arrivals";
      if (b->transactions)
        text += " and " + std::to_string(b->transactions) + " bytes";
    }
    return text;
  }
  case Wait::Kind::NamedBarrier: {
    const NamedBarrier &b = warp.cta.barriers[wait.object];
    uint32_t expected = b.expected ? b.expected : warp.cta.liveThreads;
    return "waits for barrier " + std::to_string(wait.object) + ", " +
           std::to_string(b.arrived) + " of " + std::to_string(expected) +
           " threads have come";
  }
  case Wait::Kind::ClusterBarrier:
    return "waits for the cluster barrier, " +
           std::to_string(warp.cluster.clusterArrived) + " of " +
           std::to_string(warp.cluster.liveThreads()) + " threads have come";
  case Wait::Kind::BulkGroups:
    return "waits for bulk copies";
  case Wait::Kind::CopyGroups:
    return "waits for cp.async copies";
  case Wait::Kind::MatrixGroups:
    return "waits for wgmma";
  case Wait::Kind::TensorLoads:
    return "waits for tcgen05.ld";
  case Wait::Kind::TensorStores:
    return "waits for tcgen05.st";
  case Wait::Kind::TensorAllocation:
    return wait.value && warp.cluster.ctas[warp.cta.rank ^ 1]->pairAllocations <
                             wait.value
               ? "waits for the pair's other CTA to allocate tensor memory"
               : "waits for tensor memory to be released";
  case Wait::Kind::Registers:
    return "waits for " + std::to_string(wait.value) + " registers, " +
           std::to_string(warp.cta.freeRegisters) + " are free";
  case Wait::Kind::WarpSync:
    return "waits for lanes " + hex(wait.lanes & warp.live) + " of its warp";
  }
  return "";
}

void Cluster::reportDeadlock() {
  Finding finding;
  finding.kind = "deadlock";
  finding.message = "no warp can go on";
  std::vector<uint32_t> awaited;
  for (const auto &cta : ctas)
    for (const auto &warp : cta->warps) {
      if (warp->finished()) {
        finding.notes.push_back(warp->name() + " has exited");
        continue;
      }
      for (const Fragment &f : warp->fragments) {
        Site site;
        site.agent = warp->name();
        if (f.pc < context.function.code.size()) {
          site.line = context.function.code[f.pc].line;
          site.instruction = context.function.code[f.pc].text.str();
        }
        std::string lanes =
            f.mask == warp->live ? "" : " lanes 0x" + llvm::utohexstr(f.mask);
        finding.notes.push_back(warp->name() + lanes + " at line " +
                                std::to_string(site.line) + " " +
                                describeWait(f.wait, *warp));
        if (f.wait.kind == Wait::Kind::MBarrier)
          awaited.push_back(f.wait.object);
        if (finding.sites.empty())
          finding.sites.push_back(site);
      }
    }
  llvm::sort(awaited);
  awaited.erase(std::unique(awaited.begin(), awaited.end()), awaited.end());
  for (uint32_t object : awaited)
    if (MBarrier *b = mbarrier(object); b && b->initLine) {
      std::string note = "mbarrier 0x" + llvm::utohexstr(object) +
                         " was initialized by line " +
                         std::to_string(b->initLine);
      for (auto [index, line] : llvm::enumerate(b->arrivalLines))
        note += (index ? ", " : "; arrivals so far were by lines ") +
                std::to_string(line);
      if (b->arrivalLines.empty())
        note += "; no one has arrived at it";
      finding.notes.push_back(note);
    }
  addFinding(std::move(finding));
  stopping = true;
}
