//===- Explore.cpp - Schedules that deviate -------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Explore.h"
#include "Machine.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"

using namespace lpfa::sim;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

unsigned Decisions::choose(unsigned count) {
  if (count < 2)
    return 0;
  uint32_t point = counts.size();
  counts.push_back(std::min(count, 0xFFFFu));
  for (const Deviation &d : deviations)
    if (d.first == point)
      return d.second % count;
  return 0;
}

std::string Decisions::text() const {
  std::string text = early ? "early" : "late";
  for (const Deviation &d : deviations)
    text += "," + std::to_string(d.first) + ":" + std::to_string(d.second);
  return text;
}

Expected<Decisions> Decisions::parse(StringRef text) {
  Decisions decisions;
  llvm::SmallVector<StringRef> parts;
  text.split(parts, ',');
  auto bad = [&] {
    return llvm::createStringError(
        "decisions '" + text +
        "' are not 'late' or 'early' and a list of POINT:ALTERNATIVE");
  };
  if (parts[0] != "late" && parts[0] != "early")
    return bad();
  decisions.early = parts[0] == "early";
  for (StringRef part : llvm::drop_begin(parts)) {
    auto [point, alternative] = part.split(':');
    Deviation d;
    if (point.getAsInteger(10, d.first) ||
        alternative.getAsInteger(10, d.second))
      return bad();
    decisions.deviations.push_back(d);
  }
  return decisions;
}

//===----------------------------------------------------------------------===//
// Runs from the same memory
//===----------------------------------------------------------------------===//

namespace {

/// What is in memory before the launch.
class Snapshot {
public:
  explicit Snapshot(DeviceMemory &memory)
      : memory(memory), lastLaunch(memory.impl().lastLaunch) {
    for (const auto &b : memory.impl().buffers) {
      bytes.emplace_back(b->data, b->data + b->size);
      undefined.push_back(b->undefined);
    }
  }
  void restore() const {
    memory.impl().lastLaunch = lastLaunch;
    for (auto [index, b] : llvm::enumerate(memory.impl().buffers)) {
      llvm::copy(bytes[index], b->data);
      b->undefined = undefined[index];
    }
  }

private:
  DeviceMemory &memory;
  std::shared_ptr<GlobalShadow> lastLaunch;
  std::vector<std::vector<uint8_t>> bytes, undefined;
};

/// Bytes of all buffers after a run, to compare.
std::vector<std::vector<uint8_t>> results(DeviceMemory &memory) {
  std::vector<std::vector<uint8_t>> all;
  for (const auto &b : memory.impl().buffers)
    all.emplace_back(b->data, b->data + b->size);
  return all;
}

/// Enumerates the schedules: first the bases, then all with one deviation, ...
class Explorer {
public:
  Explorer(const PTXModule &module, const Launch &launch, DeviceMemory &memory,
           const Options &options)
      : module(module), launch(launch), memory(memory), options(options),
        snapshot(memory) {}

  Expected<Report> run();

private:
  /// Runs one schedule; false if it ends the exploration.
  Expected<bool> runSchedule(Decisions decisions);
  /// Runs what deviates once more than these; false if it ends the exploration.
  Expected<bool> runDeviations(const std::vector<Decisions> &level,
                               uint64_t total);
  void compareResults(const Decisions &decisions);
  std::string coverage() const;

  const PTXModule &module;
  const Launch &launch;
  DeviceMemory &memory;
  const Options &options;
  Snapshot snapshot;

  Report report;
  Statistics statistics;
  std::vector<std::vector<uint8_t>> expected;
  /// Schedules run, and those there are, by number of deviations; the last
  /// total may be unknown.
  std::vector<std::pair<uint64_t, uint64_t>> levels;
  uint64_t runs = 0;
  /// What runs of this level can be continued from.
  std::vector<Decisions> finished;
};

} // namespace

void Explorer::compareResults(const Decisions &decisions) {
  std::vector<std::vector<uint8_t>> got = results(memory);
  if (expected.empty()) {
    expected = std::move(got);
    return;
  }
  for (auto [index, buffer] : llvm::enumerate(memory.impl().buffers)) {
    auto difference = std::mismatch(got[index].begin(), got[index].end(),
                                    expected[index].begin());
    if (difference.first == got[index].end())
      continue;
    Finding finding;
    finding.kind = "result";
    finding.message = ("byte " + Twine(difference.first - got[index].begin()) +
                       " of buffer '" + buffer->name +
                       "' is not what the first schedule gives")
                          .str();
    report.findings.push_back(std::move(finding));
    return;
  }
}

Expected<bool> Explorer::runSchedule(Decisions decisions) {
  if (runs == options.maxRuns)
    return false;
  snapshot.restore();
  Expected<Report> result =
      runOnce(module, launch, memory, options, &decisions);
  if (!result)
    return result.takeError();
  ++runs;
  ++levels.back().first;
  statistics.add(result->statistics);
  report = std::move(*result);
  report.statistics = statistics;
  if (report.ok() && options.checks.results)
    compareResults(decisions);
  for (Finding &f : report.findings)
    f.notes.push_back("under --schedule=explore --decisions=" +
                      decisions.text());
  finished.push_back(std::move(decisions));
  return report.ok();
}

Expected<bool> Explorer::runDeviations(const std::vector<Decisions> &level,
                                       uint64_t total) {
  levels.push_back({0, total});
  for (const Decisions &base : level) {
    uint32_t first =
        base.deviations.empty() ? 0 : base.deviations.back().first + 1;
    const std::vector<uint16_t> &counts = base.alternatives();
    for (uint32_t point = first; point < counts.size(); ++point)
      for (uint32_t k = 1; k < counts[point]; ++k) {
        Decisions next;
        next.early = base.early;
        next.deviations = base.deviations;
        next.deviations.push_back({point, k});
        Expected<bool> more = runSchedule(std::move(next));
        if (!more || !*more)
          return more;
      }
  }
  return true;
}

/// The schedules that deviate once more.
static uint64_t countDeviations(const std::vector<Decisions> &level) {
  uint64_t total = 0;
  for (const Decisions &base : level) {
    uint32_t first =
        base.deviations.empty() ? 0 : base.deviations.back().first + 1;
    for (size_t p = first; p < base.alternatives().size(); ++p)
      total += base.alternatives()[p] - 1;
  }
  return total;
}

Expected<Report> Explorer::run() {
  levels.push_back({0, 2});
  if (!options.decisions.empty()) {
    Expected<Decisions> decisions = Decisions::parse(options.decisions);
    if (!decisions)
      return decisions.takeError();
    // The first schedule is what results are compared with.
    for (const Decisions &d : {Decisions(), *decisions}) {
      Expected<bool> more = runSchedule(d);
      if (!more)
        return more.takeError();
      if (!*more)
        break;
    }
    return std::move(report);
  }
  bool goesOn = true;
  for (bool early : {false, true}) {
    if (!goesOn)
      break;
    Decisions base;
    base.early = early;
    Expected<bool> more = runSchedule(std::move(base));
    if (!more)
      return more.takeError();
    goesOn = *more;
  }
  for (unsigned d = 0; goesOn && d != options.deviations; ++d) {
    std::vector<Decisions> level = std::move(finished);
    finished.clear();
    uint64_t total = countDeviations(level);
    if (!total)
      break;
    Expected<bool> more = runDeviations(level, total);
    if (!more)
      return more.takeError();
    goesOn = *more;
  }
  report.coverage = coverage();
  return std::move(report);
}

std::string Explorer::coverage() const {
  std::string text = "explored ";
  for (auto [deviations, level] : llvm::enumerate(levels))
    text += (deviations ? ", " : "") + std::to_string(level.first) + " of " +
            std::to_string(level.second) + " schedules with " +
            std::to_string(deviations) +
            (deviations == 1 ? " deviation" : " deviations");
  return report.ok() ? text : text + "; stopped at the first finding";
}

Expected<Report> lpfa::sim::explore(const PTXModule &module,
                                    const Launch &launch, DeviceMemory &memory,
                                    const Options &options) {
  return Explorer(module, launch, memory, options).run();
}

//===----------------------------------------------------------------------===//
// One decision
//===----------------------------------------------------------------------===//

unsigned Cluster::decide() {
  Decisions &decisions = *context.decisions;
  std::vector<Warp *> runnable;
  std::vector<Warp *> all;
  for (const auto &cta : ctas)
    for (const auto &warp : cta->warps)
      all.push_back(warp.get());
  // The warp that ran goes on, unless it only spins.
  for (size_t k = 0; k != all.size(); ++k) {
    Warp *warp = all[(turn + k) % all.size()];
    if (!warp->finished() && warp->mayRun())
      runnable.push_back(warp);
  }
  std::vector<uint64_t> steps = async.ready();
  if (steps.empty() && runnable.empty())
    return 0;
  // An operation that took a step goes on; then comes what some warp waits for,
  // then the oldest.
  uint64_t first = async.find(lastStep) ? lastStep : awaitedOperation();
  for (size_t k = 0; first && k != steps.size(); ++k)
    if (async.leadsTo(steps[k], first)) {
      std::rotate(steps.begin(), steps.begin() + k, steps.begin() + k + 1);
      break;
    }
  size_t choice = decisions.choose(runnable.size() + steps.size());
  bool isStep =
      decisions.early ? choice < steps.size() : choice >= runnable.size();
  if (isStep) {
    lastStep = steps[decisions.early ? choice : choice - runnable.size()];
    async.step(lastStep);
    return 0;
  }
  Warp *warp = runnable[decisions.early ? choice - steps.size() : choice];
  uint64_t before = events;
  constexpr unsigned quantum = 256;
  unsigned done = warp->run(quantum, /*untilEvent=*/true);
  turn = llvm::find(all, warp) - all.begin() + (events == before);
  return done;
}
