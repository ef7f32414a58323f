//===- GlobalRaces.cpp - Races on global memory ---------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GlobalRaces.h"
#include "Machine.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

using namespace lpfa::sim;
using llvm::Twine;

Dim3 lpfa::sim::ctaPosition(const Dim3 &grid, const Dim3 &size,
                            uint64_t cluster, unsigned rank) {
  Dim3 count = {grid.x / size.x, grid.y / size.y, grid.z / size.z};
  return {
      uint32_t(cluster % count.x) * size.x + rank % size.x,
      uint32_t(cluster / count.x % count.y) * size.y + rank / size.x % size.y,
      uint32_t(cluster / count.x / count.y) * size.z + rank / size.x / size.y};
}

std::string lpfa::sim::ctaName(const Dim3 &id) {
  return ("CTA (" + Twine(id.x) + "," + Twine(id.y) + "," + Twine(id.z) + ")")
      .str();
}

//===----------------------------------------------------------------------===//
// What clusters know of each other
//===----------------------------------------------------------------------===//

std::shared_ptr<const ForeignHistory>
ForeignHistory::join(std::shared_ptr<const ForeignHistory> a,
                     std::shared_ptr<const ForeignHistory> b) {
  if (!b || a == b)
    return a;
  if (!a)
    return b;
  auto both = std::make_shared<ForeignHistory>(*a);
  for (const auto &[cluster, known] : b->clusters) {
    auto &[order, fenced] = both->clusters[cluster];
    order.join(known.first);
    fenced.join(known.second);
  }
  return both;
}

/// All that a history knows, in a form for other clusters.
static std::shared_ptr<const ForeignHistory> publish(const History &history,
                                                     uint32_t cluster) {
  auto own = std::make_shared<ForeignHistory>();
  own->clusters[cluster] = {history.order, history.fenced};
  return ForeignHistory::join(history.foreign, own);
}

/// Takes over what others published; `isWide`: also of other clusters.
static void take(History &history, const ForeignHistory &from, uint32_t cluster,
                 bool isWide) {
  auto own = from.clusters.find(cluster);
  if (own != from.clusters.end()) {
    history.order.join(own->second.first);
    history.fenced.join(own->second.second);
  }
  if (isWide)
    history.foreign = ForeignHistory::join(
        history.foreign, std::make_shared<const ForeignHistory>(from));
}

void RaceDetector::fenceMemory(Warp &warp, Scope scope) {
  unsigned program = component(warp, Program);
  History &history = warps[program / numLanes];
  Fences &f = fences[program / numLanes];
  // Strong reads before the fence, then strong writes behind it.
  if (scope < Scope::Gpu)
    f.awaiting.foreign = nullptr;
  history.join(f.awaiting);
  f.awaiting = History();
  f.narrow = history;
  if (scope >= Scope::Gpu)
    f.wide = history;
  f.any = true;
  history.order.raise(program, ++epochs[program]);
}

void RaceDetector::releaseGlobal(Warp &warp, uint64_t address, Scope scope,
                                 bool isRelease, bool isReadWrite) {
  GlobalShadow &shadow = *cluster.context.shadow;
  Fences &f = fences[component(warp, Program) / numLanes];
  uint32_t index = cluster.index;
  if (!isRelease && !f.any) {
    // A store without a release ends the release sequence.
    if (!isReadWrite)
      shadow.withLocation(address, false, [&](GlobalShadow::Location *l) {
        if (l)
          *l = GlobalShadow::Location();
      });
    return;
  }
  History narrow = f.narrow, wide = f.wide;
  if (isRelease) {
    History known;
    release(warp, known);
    narrow.join(known);
    if (scope >= Scope::Gpu)
      wide.join(known);
  }
  shadow.withLocation(address, true, [&](GlobalShadow::Location *l) {
    if (!isReadWrite)
      *l = GlobalShadow::Location();
    l->narrow[index] =
        ForeignHistory::join(l->narrow[index], publish(narrow, index));
    if (scope >= Scope::Gpu)
      l->wide = ForeignHistory::join(l->wide, publish(wide, index));
  });
}

void RaceDetector::acquireGlobal(Warp &warp, uint64_t address, Scope scope,
                                 bool isAcquire) {
  unsigned w = component(warp, Program) / numLanes;
  History &into = isAcquire ? warps[w] : fences[w].awaiting;
  uint32_t index = cluster.index;
  cluster.context.shadow->withLocation(
      address, false, [&](GlobalShadow::Location *l) {
        if (!l)
          return;
        bool isWide = scope >= Scope::Gpu;
        auto narrow = l->narrow.find(index);
        if (narrow != l->narrow.end())
          take(into, *narrow->second, index, isWide);
        if (l->wide)
          take(into, *l->wide, index, isWide);
      });
}

bool RaceDetector::global(Warp &warp, uint64_t address, uint64_t bytes,
                          Access access, Scope scope, bool isUnchanged) {
  unsigned program = component(warp, Program);
  const History &history = warps[program / numLanes];
  GlobalShadow::Agent agent = {history,
                               uint32_t(cluster.index),
                               uint16_t(program),
                               uint16_t(program / numLanes),
                               history.order[program],
                               warp.current,
                               true,
                               scope,
                               isUnchanged};
  return cluster.context.shadow->access(agent, cluster, address, bytes,
                                        access == Access::Write);
}

bool RaceDetector::global(AsyncOperation &operation, uint64_t address,
                          uint64_t bytes, Access access, Scope scope) {
  unsigned program = component(operation.issuer, Program);
  GlobalShadow::Agent agent = {operation.history,
                               uint32_t(cluster.index),
                               access == Access::Read
                                   ? operation.readComponent
                                   : operation.writeComponent,
                               uint16_t(program / numLanes),
                               operation.epoch,
                               &operation.instruction,
                               false,
                               scope,
                               false};
  return cluster.context.shadow->access(agent, cluster, address, bytes,
                                        access == Access::Write);
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

GlobalShadow::GlobalShadow(LaunchContext &context,
                           std::shared_ptr<const Program> program)
    : checks(context.options.checks), grid(context.launch.grid),
      clusterSize(context.cluster),
      warpsPerCta(llvm::divideCeil(context.launch.block.count(), warpSize)),
      maxFindings(std::max(1u, context.options.maxFindings)),
      entry(context.launch.entry), stopAt(context.stopAt),
      program(std::move(program)) {
  for (const GlobalBuffer *b : context.buffers)
    buffers.push_back({b->address, b->name});
}

bool GlobalShadow::access(const Agent &agent, Cluster &cluster,
                          uint64_t address, uint64_t bytes, bool isWrite) {
  for (uint64_t end = address + bytes; address < end;) {
    uint64_t page = address / pageBytes, first = address % pageBytes;
    uint64_t count = std::min(pageBytes - first, end - address);
    Record record = {agent.instruction,       agent.cluster, agent.epoch,
                     agent.component,         agent.warp,    uint16_t(first),
                     uint16_t(first + count), agent.scope,   isWrite,
                     agent.isGeneric};
    if (previous && !agent.history.afterGridWait &&
        !previous->comparePrevious(agent, cluster, page, record))
      return false;
    Shard &shard = shards[page % shards.size()];
    std::lock_guard<std::mutex> lock(shard.mutex);
    if (!touch(agent, cluster, shard.pages[page], page * pageBytes, record))
      return false;
    address += count;
  }
  return true;
}

bool GlobalShadow::isOrdered(const Agent &agent, const Record &earlier) const {
  if (earlier.cluster == agent.cluster)
    return (earlier.component == agent.component &&
            earlier.epoch == agent.epoch) ||
           agent.history.order[earlier.component] >= earlier.epoch;
  if (!agent.history.foreign)
    return false;
  const auto &clusters = agent.history.foreign->clusters;
  auto it = clusters.find(earlier.cluster);
  return it != clusters.end() &&
         it->second.first[earlier.component] >= earlier.epoch;
}

/// Whether two accesses are strong and each one's scope includes the other's
/// agent (PTX ISA 8.7.1): they may happen in any order.
bool GlobalShadow::mayMeet(const Agent &agent, const Record &earlier) const {
  Scope scope = std::min(agent.scope, earlier.scope);
  if (agent.cluster != earlier.cluster)
    return scope >= Scope::Gpu;
  bool sameCta = agent.warp / warpsPerCta == earlier.warp / warpsPerCta;
  return scope >= (sameCta ? Scope::Cta : Scope::Cluster);
}

/// What the generic proxy wrote is read by the asynchronous one; strictly, what
/// it touched is overwritten, too. As for shared memory.
bool GlobalShadow::lacksProxyFence(const Agent &agent, const Record &earlier,
                                   bool isWrite) const {
  if (agent.isGeneric || !earlier.isGeneric)
    return false;
  if (isWrite ? !checks.strictFences : !(checks.fences && earlier.isWrite))
    return false;
  const Clock *fenced = &agent.history.fenced;
  if (earlier.cluster != agent.cluster)
    fenced =
        &agent.history.foreign->clusters.find(earlier.cluster)->second.second;
  return (*fenced)[earlier.component] < earlier.epoch;
}

bool GlobalShadow::touch(const Agent &agent, Cluster &cluster, Page &page,
                         uint64_t pageAddress, Record record) {
  bool isWrite = record.isWrite;
  for (size_t k = 0; k < page.size(); ++k) {
    Record &r = page[k];
    uint16_t begin = std::max(r.begin, record.begin);
    uint16_t end = std::min(r.end, record.end);
    if (begin >= end)
      continue;
    bool conflicts = isWrite || r.isWrite;
    bool ordered = isOrdered(agent, r);
    if (conflicts && !ordered) {
      if (mayMeet(agent, r) || (agent.isUnchanged && r.isWrite && r.isGeneric))
        continue;
      if (!report(cluster, record, r, pageAddress + begin, false))
        return false;
      if (r.cluster != agent.cluster)
        continue;
    } else if (conflicts && lacksProxyFence(agent, r, isWrite)) {
      if (!report(cluster, record, r, pageAddress + begin, true))
        return false;
    } else if (!isWrite && (r.isWrite || r.cluster != agent.cluster ||
                            r.component != agent.component)) {
      continue;
    }
    // A write replaces what it comes after, a read what the same agent read.
    Record tail = r;
    tail.begin = end;
    r.end = begin;
    if (tail.begin < tail.end && r.begin < r.end)
      page.push_back(tail);
    else if (tail.begin < tail.end)
      page[k] = tail;
  }
  llvm::erase_if(page, [](const Record &r) { return r.begin >= r.end; });
  add(page, record);
  return true;
}

void GlobalShadow::add(Page &page, const Record &record) {
  // Neighboring lanes and rows.
  if (!page.empty()) {
    Record &last = page.back();
    if (last.end == record.begin && last.instruction == record.instruction &&
        last.cluster == record.cluster && last.epoch == record.epoch &&
        last.component == record.component && last.isWrite == record.isWrite) {
      last.end = record.end;
      return;
    }
  }
  // Every CTA may read the same bytes, or count at the same place. Of many
  // clusters the first ones are enough: what races with one that is left out
  // races with them, unless just they are ordered before it.
  constexpr unsigned kept = 8;
  if (!record.isWrite || record.scope != Scope::Weak) {
    unsigned same = 0;
    Record *last = nullptr;
    for (Record &r : page)
      if (r.begin == record.begin && r.end == record.end &&
          r.isWrite == record.isWrite && r.cluster != record.cluster) {
        ++same;
        if (!last || r.cluster > last->cluster)
          last = &r;
      }
    if (same >= kept) {
      *last = record;
      return;
    }
  }
  page.push_back(record);
}

bool GlobalShadow::comparePrevious(const Agent &agent, Cluster &cluster,
                                   uint64_t pageNumber, const Record &record) {
  Shard &shard = shards[pageNumber % shards.size()];
  std::lock_guard<std::mutex> lock(shard.mutex);
  auto it = shard.pages.find(pageNumber);
  if (it == shard.pages.end())
    return true;
  for (const Record &r : it->second) {
    uint16_t begin = std::max(r.begin, record.begin);
    if (begin >= std::min(r.end, record.end) || !(record.isWrite || r.isWrite))
      continue;
    auto verb = [](bool isWrite) { return isWrite ? "write" : "read"; };
    Finding finding;
    finding.kind = "race";
    finding.message =
        std::string("a ") + verb(r.isWrite) + " by the launch of '" + entry +
        "' before and a " + verb(record.isWrite) + " of " +
        placeOf(pageNumber * pageBytes + begin) + " are not ordered";
    finding.sites.push_back(cluster.context.shadow->siteOf(record));
    finding.sites.push_back(siteOf(r));
    finding.notes.push_back(
        "missing: 'griddepcontrol.wait' before the access, by its warp or "
        "before a barrier that the warp has passed");
    cluster.addFinding(std::move(finding));
    return !cluster.stopped();
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

std::string GlobalShadow::nameOf(const Record &record) const {
  unsigned rank = record.warp / warpsPerCta;
  std::string warp =
      ctaName(ctaPosition(grid, clusterSize, record.cluster, rank)) + " warp " +
      std::to_string(record.warp % warpsPerCta);
  return record.isGeneric ? warp : "copy of " + warp;
}

Site GlobalShadow::siteOf(const Record &record) const {
  return {record.instruction->line, record.instruction->text.str(),
          nameOf(record)};
}

std::string GlobalShadow::placeOf(uint64_t address) const {
  auto it = llvm::find_if(llvm::reverse(buffers),
                          [&](const auto &b) { return b.first <= address; });
  if (it == buffers.rend())
    return "global memory";
  return "byte " + std::to_string(address - it->first) + " of buffer '" +
         it->second + "'";
}

bool GlobalShadow::report(Cluster &cluster, const Record &record,
                          const Record &earlier, uint64_t address,
                          bool lacksFence) {
  bool isLast = record.cluster >= earlier.cluster;
  const Record &first = isLast ? earlier : record;
  const Record &second = isLast ? record : earlier;
  auto verb = [](const Record &r) {
    return std::string(r.isWrite ? "write" : "read");
  };
  Finding finding;
  std::string pair =
      "a " + verb(first) + " and a " + verb(second) + " of " + placeOf(address);
  if (lacksFence) {
    finding.kind = "fence";
    finding.message = pair + " are in the generic and in the asynchronous "
                             "proxy without 'fence.proxy.async' between them";
    finding.notes.push_back("missing: the fence, by " + nameOf(first) +
                            " after its " + verb(first) +
                            " or by the issuer before the operation");
  } else {
    finding.kind = "race";
    finding.message = pair + " are not ordered";
    finding.notes.push_back(
        first.cluster == second.cluster
            ? (first.isGeneric
                   ? "missing: a barrier"
                   : "missing: a wait for the copy, or a barrier,") +
                  std::string(" between the ") + verb(first) + " of " +
                  nameOf(first) + " and the " + verb(second) + " of " +
                  nameOf(second)
            : "missing: a release of .gpu scope by " + nameOf(first) +
                  " after its " + verb(first) + " that " + nameOf(second) +
                  " acquires before its " + verb(second) +
                  "; CTAs of a grid are not ordered otherwise");
  }
  finding.sites.push_back(siteOf(second));
  finding.sites.push_back(siteOf(first));
  if (first.cluster == second.cluster) {
    cluster.addFinding(std::move(finding));
    return !cluster.stopped();
  }
  // Clusters run side by side: the pair of the first ones is what every run
  // reports.
  std::lock_guard<std::mutex> lock(findingMutex);
  PairKey key = {second.cluster, first.cluster, second.instruction->line,
                 first.instruction->line, address};
  findings.try_emplace(key, std::move(finding));
  if (findings.size() > maxFindings)
    findings.erase(std::prev(findings.end()));
  if (findings.size() == maxFindings) {
    uint64_t last = findings.rbegin()->first[0];
    uint64_t old = stopAt.load();
    while (old > last && !stopAt.compare_exchange_weak(old, last)) {
    }
  }
  return !cluster.stopped();
}

std::vector<std::pair<uint64_t, Finding>> GlobalShadow::finish() {
  previous = nullptr;
  locations.clear();
  std::vector<std::pair<uint64_t, Finding>> list;
  for (auto &[key, finding] : findings)
    list.push_back({key[0], std::move(finding)});
  findings.clear();
  return list;
}
