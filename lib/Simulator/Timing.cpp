//===- Timing.cpp - Runs in the order of modelled time --------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Timing.h"
#include "Machine.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <map>
#include <queue>

using namespace lpfa::sim;
using llvm::Twine;

namespace {

constexpr double never = 1e300;
constexpr unsigned numPartitions = 4;

/// A unit that serves one request after the other.
struct Server {
  double free = 0, busy = 0;
  /// Serves a request that comes at `time`; returns when it is done.
  double serve(double time, double cycles) {
    free = std::max(free, time) + cycles;
    busy += cycles;
    return free;
  }
};

struct Sm {
  Server local[numPartitions][unsigned(TimedUnit::numLocal)];
  Server common[numTimedUnits];
  /// Operations of the tensor pipe that have not begun.
  std::deque<std::pair<Cluster *, uint64_t>> pipe;
  bool pipeIsBusy = false;
  /// When the last operation of the pipe takes effect.
  double pipeEffect = 0;

  Server &unit(TimedUnit u, unsigned partition) {
    return u < TimedUnit::numLocal ? local[partition][unsigned(u)]
                                   : common[unsigned(u)];
  }
};

/// What a fragment waits for, in short.
const char *nameOf(Wait::Kind kind) {
  static constexpr const char *names[] = {
      "nothing",     "mbarrier",      "barrier",    "cluster barrier",
      "bulk copies", "cp.async",      "tcgen05.ld", "tcgen05.st",
      "wgmma",       "tensor memory", "registers",  "lanes"};
  return names[unsigned(kind)];
}

/// Why a warp did not issue.
struct Reason {
  enum Kind : uint8_t { Operands, Unit, Blocked } kind;
  TimedUnit unit = TimedUnit::Issue;
  Wait::Kind wait = Wait::Kind::None;
  unsigned line = 0;
  bool operator<(const Reason &o) const {
    return std::tie(kind, unit, wait, line) <
           std::tie(o.kind, o.unit, o.wait, o.line);
  }
};

struct WarpClock {
  Warp *warp;
  Sm *sm;
  double next = 0;
  std::vector<double> ready; ///< by register
  bool blocked = false;
  double blockedSince = 0;
  Reason blockedBy;
  uint32_t awaited = 0; ///< the mbarrier
  double started = 0, finished = 0, issued = 0;
  double copiesDone = 0; ///< cp.async
  std::map<Reason, double> waits;
};

/// Something that happens at a time.
struct Event {
  double time;
  uint64_t sequence;
  Cluster *cluster;
  uint64_t operation;
  /// How many of the operation's steps are then done.
  unsigned steps;
  /// The SM whose tensor pipe is then free, or null.
  Sm *pipe;
  bool operator<(const Event &o) const {
    return std::tie(time, sequence) > std::tie(o.time, o.sequence);
  }
};

/// A cluster at work on its SMs.
struct Running {
  std::unique_ptr<Cluster> cluster;
  std::vector<WarpClock> warps;
  uint64_t seenOperation = 0;
  unsigned group = 0, slot = 0, failedPolls = 0;
};

class TimedRun {
public:
  TimedRun(LaunchContext &context, Report &report);
  void run();

private:
  void start(unsigned group, unsigned slot);
  bool issueNext();
  bool handleEvent();
  void finishCluster(size_t index);
  void charge(WarpClock &w, double time, uint64_t lanes);
  double earliest(WarpClock &w, Reason &reason);
  static double operandsReady(const WarpClock &w, const Instruction &i);
  void scheduleNew(Running &r);
  void schedule(Running &r, AsyncOperation &o);
  void beginPipe(Sm &sm, double time);
  void push(Event event) {
    event.sequence = sequence++;
    events.push(event);
  }
  Sm &smOf(const Cta &cta) { return *smOfCta.at(&cta); }
  void slice(const std::string &track, const std::string &name, double from,
             double to);
  bool unstick();
  void summarize();

  LaunchContext &context;
  Report &report;
  TimingModel model;
  std::vector<InstructionCost> costs;
  std::deque<Sm> sms;
  std::map<const Cta *, Sm *> smOfCta;
  std::vector<std::unique_ptr<Running>> running;
  std::priority_queue<Event> events;
  uint64_t sequence = 0;
  double now = 0, last = 0;
  /// Clusters that each sampled group of SMs has still to run.
  std::vector<std::deque<uint64_t>> queues;
  std::shared_ptr<Timing> timing;
};

} // namespace

//===----------------------------------------------------------------------===//
// Launch
//===----------------------------------------------------------------------===//

/// Clusters that fit side by side on their SMs.
static unsigned occupancy(const LaunchContext &context) {
  // 228 KiB of shared memory, of which a CTA takes 1 KiB more than it asks for,
  // 2048 threads, 64 K registers, 32 CTAs; whole tensor memory for each.
  uint64_t threads = llvm::alignTo(context.launch.block.count(), warpSize);
  uint64_t count = std::min<uint64_t>(32, 2048 / threads);
  count = std::min<uint64_t>(count, 228 * 1024 / context.sharedBytes);
  if (context.registers)
    count = std::min<uint64_t>(count, 65536 / (context.registers * threads));
  if (context.function.usesTensorMemory)
    count = std::min<uint64_t>(count, 1);
  return std::max<uint64_t>(count, 1);
}

TimedRun::TimedRun(LaunchContext &context, Report &report)
    : context(context), report(report), model(context.options.chip),
      timing(std::make_shared<Timing>()) {
  for (const Instruction &i : context.function.code)
    costs.push_back(model.costOf(i.text));
  uint64_t clusters = context.launch.grid.count() / context.cluster.count();
  uint64_t groups =
      std::max<uint64_t>(1, model.multiprocessors / context.cluster.count());
  uint64_t used = std::min(groups, clusters);
  uint64_t sampled =
      context.options.sampledGroups
          ? std::min<uint64_t>(context.options.sampledGroups, used)
          : used;
  // Clusters go round the SMs.
  queues.resize(sampled);
  for (uint64_t s = 0; s != sampled; ++s)
    for (uint64_t c = s * used / sampled; c < clusters; c += used)
      queues[s].push_back(c);
  sms.resize(sampled * context.cluster.count());
  timing->clusters = clusters;
  timing->clockGHz = model.clockGHz;
  timing->chip = context.options.chip;
  timing->assumptions = model.assumptions();
}

void TimedRun::start(unsigned group, unsigned slot) {
  if (queues[group].empty())
    return;
  uint64_t index = queues[group].front();
  queues[group].pop_front();
  auto r = std::make_unique<Running>();
  r->cluster = std::make_unique<Cluster>(context, index);
  r->group = group;
  r->slot = slot;
  for (const auto &cta : r->cluster->ctas) {
    Sm &sm = sms[group * context.cluster.count() + cta->rank];
    smOfCta[cta.get()] = &sm;
    for (const auto &warp : cta->warps) {
      WarpClock w;
      w.warp = warp.get();
      w.sm = &sm;
      w.next = w.started = now;
      w.ready.assign(context.function.numRegisters, 0);
      r->warps.push_back(std::move(w));
    }
  }
  ++timing->sampledClusters;
  running.push_back(std::move(r));
}

void TimedRun::run() {
  unsigned slots = occupancy(context);
  for (unsigned slot = 0; slot != slots; ++slot)
    for (unsigned group = 0; group != queues.size(); ++group)
      start(group, slot);
  auto stopped = [&] {
    return llvm::any_of(running,
                        [](const auto &r) { return r->cluster->stopped(); });
  };
  while (!running.empty() && context.stopAt == ~uint64_t(0) && !stopped()) {
    if (!issueNext() && !handleEvent() && !unstick())
      break;
    for (size_t k = 0; k < running.size();)
      if (llvm::all_of(running[k]->warps,
                       [](const WarpClock &w) { return w.warp->finished(); }) &&
          running[k]->cluster->async.empty())
        finishCluster(k);
      else
        ++k;
  }
  summarize();
  report.timing = timing;
}

void TimedRun::finishCluster(size_t index) {
  std::unique_ptr<Running> r = std::move(running[index]);
  running.erase(running.begin() + index);
  last = std::max(last, now);
  for (WarpClock &w : r->warps) {
    Timing::WarpTime t;
    t.name = w.warp->name();
    t.cycles = w.finished - w.started;
    t.instructions = w.warp->instructionCount;
    t.issueCycles = w.issued;
    for (const auto &[reason, cycles] : w.waits) {
      std::string what;
      switch (reason.kind) {
      case Reason::Operands:
        what = "operands";
        break;
      case Reason::Unit:
        what = nameOf(reason.unit);
        break;
      case Reason::Blocked:
        what = nameOf(reason.wait) + std::string(" at line ") +
               std::to_string(reason.line);
        break;
      }
      t.waits.push_back({what, cycles});
    }
    llvm::stable_sort(t.waits, [](const auto &a, const auto &b) {
      return a.second > b.second;
    });
    timing->warps.push_back(std::move(t));
  }
  r->cluster->finishRun();
  report.statistics.add(r->cluster->statistics);
  for (Finding &f : r->cluster->findings)
    report.findings.push_back(std::move(f));
  for (const auto &cta : r->cluster->ctas)
    smOfCta.erase(cta.get());
  start(r->group, r->slot);
}

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

double TimedRun::earliest(WarpClock &w, Reason &reason) {
  const Instruction *i = w.warp->peek();
  double time = std::max(now, w.next);
  if (!i)
    return time;
  const InstructionCost &cost = costs[i - context.function.code.data()];
  double operands = operandsReady(w, *i);
  // The assembler moves arithmetic apart; what leaves the warp's registers
  // comes in order.
  if (cost.isArithmetic)
    operands -= TimingModel::scheduled;
  unsigned partition = w.warp->index % numPartitions;
  double issue = cost.slots ? w.sm->unit(TimedUnit::Issue, partition).free : 0;
  double unit =
      cost.unit == TimedUnit::Issue ? 0 : w.sm->unit(cost.unit, partition).free;
  unit -= cost.isArithmetic ? TimingModel::scheduled : TimingModel::queued;
  reason = {Reason::Operands};
  double earliest = std::max({time, operands, issue, unit});
  if (earliest == unit)
    reason = {Reason::Unit, cost.unit};
  else if (earliest == issue)
    reason = {Reason::Unit, TimedUnit::Issue};
  return earliest;
}

double TimedRun::operandsReady(const WarpClock &w, const Instruction &i) {
  double time = i.guard ? w.ready[i.guard.reg] : 0;
  for (const Operand &o : i.operands)
    if (o)
      time = std::max(time, w.ready[o.reg]);
  return time;
}

/// An instruction was issued at `time`.
void TimedRun::charge(WarpClock &w, double time, uint64_t lanes) {
  const Instruction &i = *w.warp->current;
  const InstructionCost &cost = costs[&i - context.function.code.data()];
  unsigned partition = w.warp->index % numPartitions;
  if (cost.slots)
    w.sm->unit(TimedUnit::Issue, partition).serve(time, cost.slots);
  w.issued += cost.slots;
  w.next = time + cost.slots;
  double done = std::max(time, operandsReady(w, i));
  if (cost.laneBytes) {
    double rate = cost.unit == TimedUnit::Shared ? TimingModel::sharedBytes
                                                 : TimingModel::l2Bytes;
    double cycles = std::max(1.0, lanes * cost.laneBytes / rate);
    done = w.sm->unit(cost.unit, partition).serve(time, cycles);
  } else if (cost.cycles) {
    double served = w.sm->unit(cost.unit, partition).serve(time, cost.cycles);
    done = std::max(done, served - cost.cycles);
  }
  for (unsigned d = 0; d != i.numDestinations; ++d)
    if (const Operand &o = i.operands[d])
      w.ready[o.reg] = done + cost.latency;
}

/// Runs one instruction of the warp that may issue first, unless an event comes
/// before. False if there is none.
bool TimedRun::issueNext() {
  double best = events.empty() ? never : events.top().time;
  Running *from = nullptr;
  WarpClock *chosen = nullptr;
  Reason why{Reason::Operands};
  for (const auto &r : running)
    for (WarpClock &w : r->warps) {
      if (w.warp->finished() || std::max(now, w.next) >= best ||
          !w.warp->mayRun())
        continue;
      Reason reason{Reason::Operands};
      // A warp that waits looks again when something has happened.
      double time = w.blocked ? now : earliest(w, reason);
      // Of those that may issue at once the youngest does (arXiv 2503.20481).
      if (time < best || (time == best && chosen)) {
        best = time;
        from = r.get();
        chosen = &w;
        why = reason;
      }
    }
  if (!chosen)
    return false;
  WarpClock &w = *chosen;
  now = std::max(now, best);
  uint64_t lanes = w.warp->threadInstructionCount;
  uint64_t before = w.warp->instructionCount;
  w.warp->run(1);
  bool ran = w.warp->instructionCount != before;
  if (w.warp->finished())
    w.finished = now;
  if (!ran) {
    if (!w.blocked && !w.warp->finished()) {
      w.blocked = true;
      w.blockedSince = now;
      const Instruction *i = w.warp->current;
      const Wait &wait = w.warp->fragment().wait;
      w.blockedBy = {Reason::Blocked, TimedUnit::Issue, wait.kind,
                     i ? i->line : 0};
      w.awaited = wait.object;
    }
    scheduleNew(*from);
    return true;
  }
  double time = now;
  if (w.blocked) {
    w.blocked = false;
    // What an asynchronous operation signals has its latency already.
    if (w.blockedBy.wait == Wait::Kind::MBarrier) {
      MBarrier *b = from->cluster->mbarrier(w.awaited);
      if (b && b->endedByThread)
        time += TimingModel::wakeLatency;
    }
    w.waits[w.blockedBy] += time - w.blockedSince;
    slice(w.warp->name(),
          nameOf(w.blockedBy.wait) + std::string(" at line ") +
              std::to_string(w.blockedBy.line),
          w.blockedSince, time);
  } else if (now > w.next) {
    w.waits[why] += now - w.next;
  }
  charge(w, now, w.warp->threadInstructionCount - lanes);
  w.next += time - now;
  scheduleNew(*from);
  return true;
}

//===----------------------------------------------------------------------===//
// Asynchronous operations
//===----------------------------------------------------------------------===//

/// Gives the operations that an instruction started their times.
void TimedRun::scheduleNew(Running &r) {
  for (const auto &o : r.cluster->async.pending())
    if (o->id > r.seenOperation) {
      r.seenOperation = o->id;
      schedule(r, *o);
    }
}

void TimedRun::schedule(Running &r, AsyncOperation &o) {
  Cluster *cluster = r.cluster.get();
  Sm &sm = smOf(o.issuer.cta);
  Work work = o.work();
  constexpr unsigned all = AsyncOperation::numSteps;
  auto &clock = *llvm::find_if(
      r.warps, [&](const WarpClock &w) { return w.warp == &o.issuer; });
  switch (work.kind) {
  case Work::Kind::Mma:
  case Work::Kind::ScaleCopy:
  case Work::Kind::Commit: {
    // The pair's pipes work as one.
    Sm &leader =
        work.ctaGroup == 2 ? smOf(*cluster->ctas[o.issuer.cta.rank & ~1u]) : sm;
    leader.pipe.push_back({cluster, o.id});
    if (!leader.pipeIsBusy)
      beginPipe(leader, now);
    return;
  }
  case Work::Kind::TensorLoad:
  case Work::Kind::TensorStore: {
    bool isLoad = work.kind == Work::Kind::TensorLoad;
    double rate =
        isLoad ? TimingModel::tensorLoadBytes : TimingModel::tensorStoreBytes;
    unsigned partition = o.issuer.index % numPartitions;
    double done = sm.unit(TimedUnit::TensorMemory, partition)
                      .serve(now, work.bytes / rate);
    push({done, 0, cluster, o.id, all, nullptr});
    return;
  }
  case Work::Kind::Load:
  case Work::Kind::Store: {
    double begin =
        sm.common[unsigned(TimedUnit::Tma)].serve(now, TimingModel::tmaGap) -
        TimingModel::tmaGap;
    double moved = sm.common[unsigned(TimedUnit::L2)].serve(
        begin, work.bytes / TimingModel::l2Bytes);
    sm.common[unsigned(TimedUnit::Shared)].serve(
        begin, work.bytes / TimingModel::sharedBytes);
    double done = moved + TimingModel::tmaLatency;
    if (work.kind == Work::Kind::Store)
      push({moved, 0, cluster, o.id, 1, nullptr});
    push({done, 0, cluster, o.id, all, nullptr});
    slice(o.issuer.cta.name() + " TMA",
          work.kind == Work::Kind::Load ? "load" : "store", begin, done);
    return;
  }
  case Work::Kind::SmallCopy: {
    double moved = sm.common[unsigned(TimedUnit::L2)].serve(
        now, work.bytes / TimingModel::l2Bytes);
    clock.copiesDone =
        std::max(clock.copiesDone, moved + TimingModel::loadLatency);
    push({clock.copiesDone, 0, cluster, o.id, all, nullptr});
    return;
  }
  case Work::Kind::None:
    push({std::max(now, clock.copiesDone), 0, cluster, o.id, all, nullptr});
    return;
  }
}

/// Begins the next operation of the pipe.
void TimedRun::beginPipe(Sm &sm, double time) {
  sm.pipeIsBusy = !sm.pipe.empty();
  if (sm.pipe.empty())
    return;
  auto [cluster, id] = sm.pipe.front();
  sm.pipe.pop_front();
  AsyncOperation *o = cluster->async.find(id);
  Work work = o->work();
  constexpr unsigned all = AsyncOperation::numSteps, computed = 2;
  Server &pipe = sm.common[unsigned(TimedUnit::Tensor)];
  Server &shared = sm.common[unsigned(TimedUnit::Shared)];
  double end = time;
  switch (work.kind) {
  case Work::Kind::Mma: {
    double fed = shared.serve(time, work.bytes / TimingModel::sharedBytes);
    double interval = model.mmaInterval(work);
    end = std::max(pipe.serve(time, interval), fed);
    sm.pipeEffect = std::max(sm.pipeEffect, end + model.mmaLatency(work));
    slice(o->issuer.cta.name() + " tensor pipe",
          "mma line " + std::to_string(o->instruction.line), time, end);
    break;
  }
  case Work::Kind::ScaleCopy:
    end = shared.serve(time, work.bytes / TimingModel::sharedBytes);
    sm.pipeEffect = std::max(sm.pipeEffect, end + TimingModel::copyLatency);
    break;
  default:
    push({std::max(sm.pipeEffect, time), 0, cluster, id, all, nullptr});
    beginPipe(sm, time);
    return;
  }
  push({end, 0, cluster, id, computed, &sm});
  push({sm.pipeEffect, 0, cluster, id, all, nullptr});
}

/// Does what comes first. False if nothing is under way.
bool TimedRun::handleEvent() {
  if (events.empty())
    return false;
  Event e = events.top();
  events.pop();
  now = std::max(now, e.time);
  while (AsyncOperation *o = e.cluster->async.find(e.operation)) {
    if (o->step >= e.steps || !e.cluster->async.step(e.operation))
      break;
  }
  if (e.pipe)
    beginPipe(*e.pipe, now);
  return true;
}

/// No warp can go on: polls fail, if there are any.
bool TimedRun::unstick() {
  constexpr unsigned maxFailedPolls = 1 << 14;
  bool polls = false;
  for (const auto &r : running)
    polls |= ++r->failedPolls < maxFailedPolls && r->cluster->failPolls();
  if (!polls)
    for (const auto &r : running) {
      r->cluster->reportDeadlock();
      report.findings.push_back(r->cluster->findings.front());
      break;
    }
  return polls;
}

//===----------------------------------------------------------------------===//
// Summary
//===----------------------------------------------------------------------===//

void TimedRun::slice(const std::string &track, const std::string &name,
                     double from, double to) {
  if (context.options.trace && to > from)
    timing->slices.push_back({track, name, from, to});
}

void TimedRun::summarize() {
  for (const auto &r : running)
    for (Finding &f : r->cluster->findings)
      if (report.findings.empty())
        report.findings.push_back(std::move(f));
  timing->cycles = std::max(last, 1.0);
  for (unsigned u = 0; u != numTimedUnits; ++u) {
    double busy = 0;
    unsigned count = 0;
    for (Sm &sm : sms)
      for (unsigned p = 0; p != numPartitions; ++p)
        if (u < unsigned(TimedUnit::numLocal) || p == 0) {
          busy += sm.unit(TimedUnit(u), p).busy;
          ++count;
        }
    timing->units.push_back(
        {nameOf(TimedUnit(u)), busy / count / timing->cycles});
  }
  double bytes = 0;
  for (const GlobalBuffer *b : context.buffers)
    bytes += b->size;
  double memoryCycles =
      bytes / TimingModel::memoryBytesPerSecond * model.clockGHz * 1e9;
  timing->units.push_back({"device memory", memoryCycles / timing->cycles});
  timing->cycles = std::max(timing->cycles, memoryCycles);
}

void lpfa::sim::runTimed(LaunchContext &context, Report &report) {
  TimedRun(context, report).run();
}
