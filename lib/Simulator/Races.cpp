//===- Races.cpp - Data races by vector clocks ----------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Races.h"
#include "Machine.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

using namespace lpfa::sim;
using llvm::Twine;

static constexpr unsigned granuleBytes = 16;

RaceDetector::RaceDetector(Cluster &cluster) : cluster(cluster) {
  const LaunchContext &context = cluster.context;
  unsigned ctas = context.cluster.count();
  warpsPerCta = llvm::divideCeil(context.launch.block.count(), warpSize);
  numWarpComponents = ctas * warpsPerCta * numLanes;
  warps.resize(ctas * warpsPerCta);
  fences.resize(warps.size());
  fencedInits.resize(warps.size());
  epochs.assign(numWarpComponents, 0);
  for (unsigned w = 0; w != warps.size(); ++w) {
    unsigned program = w * numLanes + Program;
    epochs[program] = 1;
    warps[w].order.raise(program, 1);
    warps[w].afterGridWait = !context.function.waitsForGrid;
  }
  sharedGranules.resize(ctas);
  tensorGranules.resize(ctas);
  for (unsigned c = 0; c != ctas; ++c) {
    sharedGranules[c].resize(
        llvm::divideCeil(context.sharedBytes, granuleBytes));
    if (context.function.usesTensorMemory)
      tensorGranules[c].resize(4 * TensorMemory::numColumns);
  }
}

unsigned RaceDetector::component(const Warp &warp, Lane lane) const {
  return (warp.cta.rank * warpsPerCta + warp.index) * numLanes + lane;
}

//===----------------------------------------------------------------------===//
// Synchronization
//===----------------------------------------------------------------------===//

void RaceDetector::release(Warp &warp, History &into) {
  unsigned program = component(warp, Program);
  History &history = warps[program / numLanes];
  into.join(history);
  history.order.raise(program, ++epochs[program]);
}

void RaceDetector::acquire(Warp &warp, const History &from) {
  warps[component(warp, Program) / numLanes].join(from);
}

void RaceDetector::fenceInit(Warp &warp) {
  release(warp, fencedInits[component(warp, Program) / numLanes]);
}

void RaceDetector::releaseInits(const Warp &warp, History &into) const {
  into.join(fencedInits[component(warp, Program) / numLanes]);
}

void RaceDetector::fenceProxy(Warp &warp) {
  History &history = warps[component(warp, Program) / numLanes];
  history.fenced.join(history.order);
  unsigned program = component(warp, Program);
  history.order.raise(program, ++epochs[program]);
}

void RaceDetector::fenceTensor(Warp &warp, bool isAfter) {
  if (!cluster.context.options.checks.strictFences)
    return;
  unsigned program = component(warp, Program);
  History &history = warps[program / numLanes];
  if (isAfter)
    history.taken.join(history.released);
  else
    history.released.join(history.order);
  history.order.raise(program, ++epochs[program]);
}

void RaceDetector::waitForGrid(Warp &warp) {
  warps[component(warp, Program) / numLanes].afterGridWait = true;
}

void RaceDetector::waited(Warp &warp, Lane lane, uint32_t epoch) {
  unsigned c = component(warp, lane);
  warps[c / numLanes].order.raise(c, epoch);
}

uint32_t RaceDetector::lastEpoch(const Warp &warp, Lane lane) const {
  return epochs[component(warp, lane)];
}

void RaceDetector::start(AsyncOperation &operation, Lane readLane,
                         Lane writeLane) {
  Warp &warp = operation.issuer;
  unsigned program = component(warp, Program);
  History &history = warps[program / numLanes];
  operation.history = history;
  history.order.raise(program, ++epochs[program]);
  operation.readComponent = component(warp, readLane);
  operation.writeComponent = component(warp, writeLane);
  operation.epoch = ++epochs[operation.readComponent];
  epochs[operation.writeComponent] = operation.epoch;
  // The tensor pipe does one after another.
  if (readLane == Pipe)
    operation.history.order.raise(operation.readComponent, operation.epoch);
}

void RaceDetector::startInPipe(PipeOperation &operation) {
  using Kind = PipeOperation::Kind;
  start(operation, Pipe, Pipe);
  if (cluster.context.options.ordering == Ordering::Practice)
    return;
  Clock &order = operation.history.order;
  // PTX ISA 9.7.16.6.2: mma after mma into the same accumulator, mma after cp
  // and shift, shift after mma, cp.4x256b after shift, commit after all.
  unsigned warp = component(operation.issuer, Program) / numLanes;
  auto raiseTo = [&](unsigned c) { order.raise(c, epochs[c]); };
  if (operation.kind == Kind::Commit) {
    for (const auto &[key, c] : pipeStreams)
      if (key.first == warp)
        raiseTo(c);
    return;
  }
  constexpr uint64_t copies = 0, shifts = 1, firstAccumulator = 2;
  auto stream = [&](uint64_t key) {
    auto [it, isNew] = pipeStreams.try_emplace({warp, key});
    if (isNew)
      it->second = addComponent(warp, 0);
    return it->second;
  };
  bool isMma = operation.kind == Kind::Mma;
  unsigned own = stream(isMma ? firstAccumulator + operation.accumulator
                        : operation.kind == Kind::Shift ? shifts
                                                        : copies);
  operation.readComponent = operation.writeComponent = own;
  operation.epoch = ++epochs[own];
  if (isMma) {
    raiseTo(stream(copies));
    raiseTo(own);
  }
  if (isMma || operation.kind == Kind::RowCopy)
    raiseTo(stream(shifts));
  if (operation.kind == Kind::Shift)
    for (const auto &[key, c] : pipeStreams)
      if (key.first == warp && key.second >= firstAccumulator)
        raiseTo(c);
}

unsigned RaceDetector::addComponent(unsigned warp, uint32_t barrier) {
  extra.push_back({warp, barrier});
  epochs.push_back(0);
  return epochs.size() - 1;
}

unsigned RaceDetector::warpOf(unsigned component) const {
  return component < numWarpComponents
             ? component / numLanes
             : extra[component - numWarpComponents].first;
}

void RaceDetector::startOnBarrier(AsyncOperation &operation,
                                  MBarrier &barrier) {
  if (!barrier.component)
    barrier.component = addComponent(
        ~0u, operation.barriers.empty() ? 0 : operation.barriers.front());
  Warp &warp = operation.issuer;
  unsigned program = component(warp, Program);
  History &history = warps[program / numLanes];
  operation.history = history;
  history.order.raise(program, ++epochs[program]);
  operation.readComponent = operation.writeComponent = barrier.component;
  operation.epoch = ++epochs[barrier.component];
}

void RaceDetector::complete(const AsyncOperation &operation, History &into) {
  into.join(operation.history);
  into.order.raise(operation.readComponent, operation.epoch);
  into.order.raise(operation.writeComponent, operation.epoch);
  // A commit implies fence::before_thread_sync (PTX ISA 9.7.16.6.4).
  if (cluster.context.options.checks.strictFences &&
      operation.engine == AsyncOperation::Engine::TensorPipe) {
    into.released.raise(operation.writeComponent, operation.epoch);
    unsigned warp = component(operation.issuer, Program) / numLanes;
    for (const auto &[key, c] : pipeStreams)
      if (key.first == warp)
        into.released.raise(c, operation.history.order[c]);
  }
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

RaceDetector::Agent RaceDetector::agentOf(Warp &warp) const {
  unsigned program = component(warp, Program);
  const History &history = warps[program / numLanes];
  return {history,
          uint16_t(program),
          history.order[program],
          warp.current,
          warp,
          true,
          false};
}

RaceDetector::Agent RaceDetector::agentOf(AsyncOperation &operation,
                                          Access access) const {
  unsigned c = access == Access::Read ? operation.readComponent
                                      : operation.writeComponent;
  return {operation.history,
          uint16_t(c),
          operation.epoch,
          &operation.instruction,
          operation.issuer,
          false,
          false};
}

bool RaceDetector::shared(Warp &warp, unsigned rank, uint32_t offset,
                          uint32_t bytes, Access access, bool isUnchanged) {
  Agent agent = agentOf(warp);
  agent.isUnchanged = isUnchanged;
  return range(agent, rank, offset, bytes, access);
}

bool RaceDetector::shared(AsyncOperation &operation, unsigned rank,
                          uint32_t offset, uint32_t bytes, Access access) {
  return range(agentOf(operation, access), rank, offset, bytes, access);
}

bool RaceDetector::range(const Agent &agent, unsigned rank, uint32_t offset,
                         uint32_t bytes, Access access) {
  for (uint32_t end = offset + bytes; offset < end;) {
    uint32_t first = offset % granuleBytes;
    uint32_t count = std::min(granuleBytes - first, end - offset);
    uint16_t mask = ((1u << count) - 1) << first;
    if (!touch(agent, sharedGranules[rank][offset / granuleBytes], mask, access,
               false, rank, offset))
      return false;
    offset += count;
  }
  return true;
}

bool RaceDetector::tensor(AsyncOperation &operation, const Cta &cta,
                          const TensorRegion &region, Access access) {
  Agent agent = agentOf(operation, access);
  // Half quarters, 16 lanes each.
  unsigned firstHalf = region.firstLane / 16;
  unsigned endHalf = llvm::divideCeil(region.firstLane + region.numLanes, 16);
  for (unsigned column = region.firstColumn,
                end = region.firstColumn + region.numColumns;
       column != end; ++column)
    for (unsigned quarter = 0; quarter != 4; ++quarter) {
      uint16_t mask = 0;
      for (unsigned half = 0; half != 2; ++half)
        if (2 * quarter + half >= firstHalf && 2 * quarter + half < endHalf)
          mask |= 1 << half;
      if (mask && !touch(agent, tensorGranules[cta.rank][column * 4 + quarter],
                         mask, access, true, cta.rank, column * 4 + quarter))
        return false;
    }
  return true;
}

void RaceDetector::checkExit() {
  for (unsigned rank = 0; rank != sharedGranules.size(); ++rank) {
    Clock known;
    for (unsigned w = 0; w != warpsPerCta; ++w)
      known.join(warps[rank * warpsPerCta + w].order);
    for (auto [index, granule] : llvm::enumerate(sharedGranules[rank]))
      for (const Record &r : granule) {
        // CUTLASS does not wait for the reads of its last stores.
        bool counts = r.isWrite || cluster.context.options.checks.strictFences;
        if (!counts || known[r.component] >= r.epoch)
          continue;
        Finding finding;
        finding.kind = "race";
        const char *verb = r.isWrite ? "write" : "read";
        finding.message = std::string("a ") + verb + " of shared memory at 0x" +
                          llvm::utohexstr(index * granuleBytes) + " of " +
                          cluster.ctas[rank]->name() +
                          " and the CTA's exit are not ordered";
        finding.sites.push_back(siteOf(r.instruction, r.component));
        finding.notes.push_back("missing: a wait of a thread of the CTA for " +
                                nameOf(r.component) + " after its " + verb);
        cluster.addFinding(std::move(finding));
        if (cluster.stopped())
          return;
        break;
      }
  }
}

RaceDetector::Problem RaceDetector::missingFence(const Agent &agent,
                                                 const Record &earlier,
                                                 bool isWrite,
                                                 bool isTensor) const {
  const Checks &checks = cluster.context.options.checks;
  if (isTensor) {
    // Between asynchronous tcgen05 accesses of different warps; a deallocation
    // is synchronous (PTX ISA 9.7.16.6.1).
    bool sameWarp = warpOf(earlier.component) == warpOf(agent.component);
    return checks.strictFences && !agent.isGeneric && !sameWarp &&
                   (isWrite || earlier.isWrite) &&
                   agent.history.taken[earlier.component] < earlier.epoch
               ? Problem::TensorFence
               : Problem::Unordered;
  }
  if (agent.isGeneric || !earlier.isGeneric ||
      agent.history.fenced[earlier.component] >= earlier.epoch)
    return Problem::Unordered;
  // What the generic proxy wrote is read by the asynchronous one; strictly,
  // what it read or wrote is overwritten, too.
  bool reads = !isWrite && earlier.isWrite;
  return reads ? checks.fences ? Problem::ProxyFence : Problem::Unordered
         : isWrite && checks.strictFences ? Problem::ProxyFence
                                          : Problem::Unordered;
}

bool RaceDetector::deallocate(Warp &warp, unsigned firstColumn,
                              unsigned columns) {
  Agent agent = agentOf(warp);
  constexpr uint16_t allLanesOfQuarter = 3;
  unsigned rank = warp.cta.rank;
  for (unsigned g = 4 * firstColumn; g != 4 * (firstColumn + columns); ++g) {
    if (!touch(agent, tensorGranules[rank][g], allLanesOfQuarter, Access::Write,
               /*isTensor=*/true, rank, g))
      return false;
    tensorGranules[rank][g].clear();
  }
  return true;
}

bool RaceDetector::touch(const Agent &agent, Granule &granule, uint16_t mask,
                         Access access, bool isTensor, unsigned rank,
                         uint32_t where) {
  bool isWrite = access == Access::Write;
  Record *same = nullptr;
  for (Record &r : granule) {
    if (r.component == agent.component && r.isWrite == isWrite &&
        r.epoch == agent.epoch && r.instruction == agent.instruction)
      same = &r;
    if (!(r.mask & mask))
      continue;
    bool isOwn = r.component == agent.component && r.epoch == agent.epoch;
    bool isOrdered = isOwn || agent.history.order[r.component] >= r.epoch;
    if ((isWrite || r.isWrite) && !isOrdered) {
      if (agent.isUnchanged && r.isWrite && r.isGeneric)
        continue;
      if (!report(agent, r, access, isTensor, rank, where, Problem::Unordered))
        return false;
      r.mask &= ~mask;
      continue;
    }
    Problem fence =
        isOwn ? Problem::Unordered : missingFence(agent, r, isWrite, isTensor);
    if (fence != Problem::Unordered) {
      if (!report(agent, r, access, isTensor, rank, where, fence))
        return false;
      r.mask &= ~mask;
      continue;
    }
    // A write replaces what it comes after, a read what the same agent read.
    if (isWrite || (!r.isWrite && r.component == agent.component && &r != same))
      r.mask &= ~mask;
  }
  if (same)
    same->mask |= mask;
  else
    granule.push_back({agent.epoch, agent.component, mask, agent.instruction,
                       isWrite, agent.isGeneric});
  llvm::erase_if(granule, [](const Record &r) { return !r.mask; });
  return true;
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

std::string RaceDetector::nameOf(unsigned component) const {
  unsigned warp = warpOf(component), lane = component % numLanes;
  if (component >= numWarpComponents) {
    if (warp == ~0u)
      return "copy that signals mbarrier 0x" +
             llvm::utohexstr(extra[component - numWarpComponents].second);
    lane = Pipe;
  }
  static constexpr const char *names[] = {"",
                                          "tensor pipe of ",
                                          "tcgen05.ld of ",
                                          "tcgen05.st of ",
                                          "bulk copy of ",
                                          "bulk copy of ",
                                          "cp.async of "};
  const Cta &cta = *cluster.ctas[warp / warpsPerCta];
  return names[lane] + cta.warps[warp % warpsPerCta]->name();
}

Site RaceDetector::siteOf(const Instruction *instruction,
                          unsigned component) const {
  Site site;
  site.agent = nameOf(component);
  if (instruction) {
    site.line = instruction->line;
    site.instruction = instruction->text.str();
  }
  return site;
}

bool RaceDetector::report(const Agent &agent, const Record &earlier,
                          Access access, bool isTensor, unsigned rank,
                          uint32_t where, Problem problem) {
  auto verb = [](bool isWrite) { return isWrite ? "write" : "read"; };
  std::string place = isTensor ? "tensor memory column " +
                                     std::to_string(where / 4) + ", lanes " +
                                     std::to_string(where % 4 * 32) + " to " +
                                     std::to_string(where % 4 * 32 + 31)
                               : "shared memory at 0x" + llvm::utohexstr(where);
  place += " of " + cluster.ctas[rank]->name();
  Finding finding;
  bool isWrite = access == Access::Write;
  std::string pair = std::string("a ") + verb(earlier.isWrite) + " and a " +
                     verb(isWrite) + " of " + place;
  std::string first = nameOf(earlier.component),
              second = nameOf(agent.component);
  switch (problem) {
  case Problem::Unordered:
    finding.kind = "race";
    finding.message = pair + " are not ordered";
    finding.notes.push_back("missing: a barrier that " + first +
                            " reaches after its " + verb(earlier.isWrite) +
                            " and that comes before the " + verb(isWrite) +
                            " of " + second);
    break;
  case Problem::ProxyFence:
    finding.kind = "fence";
    finding.message = pair + " are in the generic and in the asynchronous "
                             "proxy without 'fence.proxy.async' between them";
    finding.notes.push_back("missing: the fence, by " + first + " after its " +
                            verb(earlier.isWrite) +
                            " or by the issuer before the operation");
    break;
  case Problem::TensorFence:
    finding.kind = "fence";
    finding.message = pair + " are of different warps without 'tcgen05.fence' "
                             "between them";
    finding.notes.push_back(
        "missing: 'fence::before_thread_sync' of " + first +
        " before the barrier, or 'fence::after_thread_sync' of " + second +
        " behind it");
    break;
  }
  finding.sites.push_back(siteOf(agent.instruction, agent.component));
  finding.sites.push_back(siteOf(earlier.instruction, earlier.component));
  cluster.addFinding(std::move(finding));
  return !cluster.stopped();
}
