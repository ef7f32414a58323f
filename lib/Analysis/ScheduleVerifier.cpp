//===- ScheduleVerifier.cpp - Is a synchronized kernel right? -------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Analysis/ScheduleVerifier.h"
#include "ScheduleOrder.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace lpfa;

using Access = ScheduleExecution::Access;
using Agent = ScheduleExecution::Agent;
using PipeOrder = TargetModel::PipeOrder;
constexpr unsigned none = ScheduleExecution::none;

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

void ScheduleFinding::emit() const {
  static constexpr StringRef names[] = {"race", "protocol error", "deadlock"};
  InFlightDiagnostic diagnostic = op->emitOpError(names[kind]);
  if (!rule.empty())
    diagnostic << " (" << rule << ")";
  diagnostic << ": " << message;
  for (const auto &[other, note] : notes)
    diagnostic.attachNote(other->getLoc()) << note;
}

static StringRef describe(PipeOrder order) {
  switch (order) {
  case PipeOrder::Documented:
    return "documented orders";
  case PipeOrder::CopyAfterMMA:
    return "copies after products";
  case PipeOrder::MMAAfterMMA:
    return "products after products of other accumulators";
  case PipeOrder::CopyAfterCopy:
    return "copies after copies";
  }
  llvm_unreachable("unknown order");
}

std::string ScheduleVerdict::describe() const {
  std::string text = "safe";
  llvm::raw_string_ostream os(text);
  if (!assumptions.empty()) {
    os << " assuming that the tensor core keeps the order of ";
    llvm::interleaveComma(assumptions, os,
                          [&](PipeOrder order) { os << ::describe(order); });
  }
  return text;
}

namespace {
template <typename... Parts> std::string concat(const Parts &...parts) {
  std::string text;
  llvm::raw_string_ostream os(text);
  (os << ... << parts);
  return text;
}

/// Checks one execution, given which orders of the tensor core count.
class Checker {
public:
  Checker(const ScheduleExecution &execution, ArrayRef<PipeOrder> orders)
      : execution(execution), order(execution, orders) {}

  std::optional<ScheduleFinding> check();

private:
  using Finding = std::optional<ScheduleFinding>;

  Finding checkArrivals();
  Finding checkNamed();
  Finding checkDeadlock();
  Finding checkPhases();
  Finding checkOperands();
  Finding checkOrder();
  Finding checkContents();
  Finding checkEnd();

  bool hasArrived(const ScheduleExecution::Arrival &earlier,
                  const ScheduleExecution::Use &previous,
                  const ScheduleExecution::Arrival &arrival) const;
  Finding reportUnordered(const Access &a, const Access &b) const;

  bool isBefore(unsigned a, unsigned b) const { return order.isBefore(a, b); }
  bool isBeforeOrAt(unsigned a, unsigned b) const {
    return order.isBeforeOrAt(a, b);
  }
  bool isOrdered(const Access &a, const Access &b) const {
    return order.isOrdered(a, b);
  }
  StringRef getRoleName(const Access &access) const {
    return execution.getRole(access.thread).getName();
  }
  std::string when(int64_t workTile, int64_t step) const;

  const ScheduleExecution &execution;
  ScheduleOrder order;
};
} // namespace

std::string Checker::when(int64_t workTile, int64_t step) const {
  std::string text = concat("in step ", step, " of work tile ", workTile,
                            ", where work tiles have ");
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(execution.getSteps(), os);
  os << " steps";
  return text;
}

static std::string describeAccess(const Access &access) {
  StringRef verb = access.isWrite ? "writes " : "reads ";
  return concat(verb, "'", getBufferName(access.buffer.declaration), "' in ",
                access.range);
}

//===----------------------------------------------------------------------===//
// R4: barriers
//===----------------------------------------------------------------------===//

std::optional<ScheduleFinding> Checker::checkArrivals() {
  for (const auto &[op, barrier] : execution.getBarriers()) {
    auto declaration = cast<BarrierOp>(op);
    auto name = [&](int64_t use) {
      return concat("use ", use, " of barrier '", declaration.getName(), "'");
    };
    auto count = [&](const ScheduleExecution::Use &use) {
      std::string text = concat(use.getCount(), " of ",
                                declaration.getArrivals(), " arrivals");
      if (use.getBytes() || use.expectedBytes)
        text += concat(" and ", use.getBytes(), " of ", use.expectedBytes,
                       " bytes");
      return text;
    };
    for (auto [index, use] : llvm::enumerate(barrier.uses))
      if (use.getCount() > int64_t(declaration.getArrivals()) ||
          use.getBytes() > use.expectedBytes)
        return ScheduleFinding{ScheduleFinding::Protocol,
                               "R4",
                               use.arrivals.back().op,
                               concat(name(index), " gets ", count(use)),
                               {{op, "the barrier"}}};
    for (auto [index, use] : llvm::enumerate(barrier.uses))
      for (const ScheduleExecution::Arrival &expected : use.arrivals) {
        auto keepsOpen = [&](const ScheduleExecution::Arrival &arrival) {
          return arrival.count > 0 && isBefore(expected.event, arrival.event);
        };
        if (isa<ExpectBytesOp>(expected.op) && expected.count == 0 &&
            llvm::none_of(use.arrivals, keepsOpen))
          return ScheduleFinding{
              ScheduleFinding::Protocol,
              "R4",
              expected.op,
              concat("expects bytes for ", name(index),
                     ", but the use may complete before: no arrival at it is "
                     "sure to follow"),
              {{op, "the barrier"}}};
      }
    for (const auto &[index, waits] : barrier.waits) {
      if (index < 0)
        continue;
      bool exists = index < int64_t(barrier.uses.size());
      if (exists && barrier.uses[index].completion != none)
        continue;
      return ScheduleFinding{
          ScheduleFinding::Deadlock,
          "R4",
          waits.front().op,
          concat("waits for ", name(index), ", which gets ",
                 exists ? count(barrier.uses[index]) : "no arrival"),
          {{op, "the barrier"}}};
    }
  }
  return std::nullopt;
}

/// Every use of a named barrier is waited for, by the same threads in order.
std::optional<ScheduleFinding> Checker::checkNamed() {
  for (const auto &[op, barrier] : execution.getBarriers()) {
    auto declaration = cast<BarrierOp>(op);
    if (!declaration.getNamed())
      continue;
    const std::vector<ScheduleExecution::Wait> *previous = nullptr;
    for (auto [index, use] : llvm::enumerate(barrier.uses)) {
      auto waits = barrier.waits.find(index);
      bool isOrdered = waits != barrier.waits.end() &&
                       (!previous || previous->size() == waits->second.size());
      if (isOrdered && previous)
        for (auto [a, b] : llvm::zip_equal(*previous, waits->second))
          isOrdered &= a.event < b.event && a.op->getParentOfType<RoleOp>() ==
                                                b.op->getParentOfType<RoleOp>();
      if (!isOrdered)
        return ScheduleFinding{
            ScheduleFinding::Protocol,
            "R4",
            use.arrivals.empty() ? op : use.arrivals.back().op,
            concat("use ", index, " of named barrier '", declaration.getName(),
                   "' is not waited for as the use before, once and in order"),
            {{op, "the barrier"}}};
      previous = &waits->second;
    }
  }
  return std::nullopt;
}

std::optional<ScheduleFinding> Checker::checkDeadlock() {
  if (!order.isCyclic())
    return std::nullopt;
  // The waits at which roles stand still.
  Finding finding;
  for (const auto &[op, barrier] : execution.getBarriers())
    for (const auto &[index, waits] : barrier.waits)
      for (const ScheduleExecution::Wait &wait : waits) {
        if (order.isReached(wait.event) ||
            (wait.before != none && !order.isReached(wait.before)))
          continue;
        std::string waiter =
            concat("role \"", wait.op->getParentOfType<RoleOp>().getName(),
                   "\" waits for use ", index, " of barrier '",
                   cast<BarrierOp>(op).getName(), "'");
        if (!finding) {
          finding = ScheduleFinding{ScheduleFinding::Deadlock,
                                    "",
                                    wait.op,
                                    "roles wait for each other: " + waiter,
                                    {}};
          continue;
        }
        finding->notes.push_back({wait.op, waiter});
      }
  return finding;
}

/// Whether `earlier`, of the use `previous`, has arrived before `arrival`. What
/// a thread does in order says nothing of the others that it stands for, but
/// for where all of them have met since: at a team barrier, or by arriving at a
/// barrier whose use has completed.
bool Checker::hasArrived(const ScheduleExecution::Arrival &earlier,
                         const ScheduleExecution::Use &previous,
                         const ScheduleExecution::Arrival &arrival) const {
  if (earlier.count <= 1 || earlier.thread != arrival.thread)
    return isBeforeOrAt(earlier.event, arrival.event);
  if (isBeforeOrAt(previous.completion, arrival.event) ||
      llvm::any_of(execution.getTeamBarriers(earlier.thread),
                   [&](unsigned barrier) {
                     return isBefore(earlier.event, barrier) &&
                            isBefore(barrier, arrival.event);
                   }))
    return true;
  auto haveMet = [&](const ScheduleExecution::Use &use) {
    return use.completion != none && isBefore(use.completion, arrival.event) &&
           llvm::any_of(use.arrivals, [&](const auto &later) {
             return later.thread == earlier.thread &&
                    later.count >= earlier.count &&
                    isBefore(earlier.event, later.event);
           });
  };
  return llvm::any_of(execution.getBarriers(), [&](const auto &entry) {
    return llvm::any_of(entry.second.uses, haveMet);
  });
}

std::optional<ScheduleFinding> Checker::checkPhases() {
  for (const auto &[op, barrier] : execution.getBarriers()) {
    auto declaration = cast<BarrierOp>(op);
    const int64_t stages = declaration.getStages();
    const int64_t numUses = barrier.uses.size();
    ArrayRef<ScheduleExecution::Use> uses = barrier.uses;
    auto isComplete = [uses](int64_t use) {
      return use >= 0 && use < int64_t(uses.size()) &&
             uses[use].completion != none;
    };
    // No arrival may come before the phase that it is meant for.
    for (int64_t index = stages; index < numUses; ++index)
      for (const ScheduleExecution::Arrival &arrival :
           barrier.uses[index].arrivals) {
        const ScheduleExecution::Use &previous = barrier.uses[index - stages];
        bool isLate =
            declaration.getNamed()
                ? isBeforeOrAt(previous.completion, arrival.event)
                : previous.completion != none &&
                      llvm::all_of(previous.arrivals, [&](const auto &earlier) {
                        return hasArrived(earlier, previous, arrival);
                      });
        if (!isLate)
          return ScheduleFinding{ScheduleFinding::Protocol,
                                 "R4",
                                 arrival.op,
                                 concat("arrives for use ", index,
                                        " of barrier '", declaration.getName(),
                                        "', but can come before use ",
                                        index - stages, " completes"),
                                 {{op, "the barrier"}}};
      }
    // A named barrier has no parity: who waits is part of its use.
    if (declaration.getNamed())
      continue;
    for (const auto &[index, waits] : barrier.waits)
      for (const ScheduleExecution::Wait &wait : waits) {
        // A parity says no more than whether the phase is an even one: the
        // phase before must have completed, which its last arrival does, and
        // the one after not yet.
        int64_t before = index - stages, after = index + stages;
        auto hasCome = [&](const ScheduleExecution::Arrival &arrival) {
          return isBeforeOrAt(arrival.event, wait.before);
        };
        if (before >= 0 && !(isComplete(before) &&
                             llvm::all_of(uses[before].arrivals, hasCome)))
          return ScheduleFinding{
              ScheduleFinding::Protocol,
              "R4",
              wait.op,
              concat("waits for use ", index, " of barrier '",
                     declaration.getName(), "', but use ", before,
                     " may still be under way, whose parity is the same"),
              {{op, "the barrier"}}};
        if (!isComplete(after))
          continue;
        const auto &arrivals = barrier.uses[after].arrivals;
        if (llvm::none_of(arrivals, [&](const auto &arrival) {
              return isBefore(wait.event, arrival.event);
            }))
          return ScheduleFinding{
              ScheduleFinding::Protocol,
              "R4",
              wait.op,
              concat(
                  "waits for use ", index, " of barrier '",
                  declaration.getName(), "', but use ", after,
                  " may complete before it looks, whose parity is the other"),
              {{arrivals.back().op, "nothing makes this wait for it"}}};
      }
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// R1, R2, R3, R5: memory
//===----------------------------------------------------------------------===//

std::optional<ScheduleFinding> Checker::checkOperands() {
  ArrayRef<Access> accesses = execution.getAccesses();
  for (auto [i, d] : llvm::enumerate(accesses)) {
    if (!d.isWrite || !isa<MmaOp>(d.op))
      continue;
    // The accesses of one op stand together, D's writing last.
    for (size_t j = i; j-- > 0 && accesses[j].event == d.event;) {
      const Access &operand = accesses[j];
      if (!(operand.buffer == d.buffer) && operand.range.overlaps(d.range))
        return ScheduleFinding{ScheduleFinding::Race,
                               "R1",
                               d.op,
                               concat(describeAccess(d), " and ",
                                      describeAccess(operand),
                                      " at the same time"),
                               {}};
    }
  }
  return std::nullopt;
}

std::optional<ScheduleFinding> Checker::reportUnordered(const Access &a,
                                                        const Access &b) const {
  ScheduleFinding finding{ScheduleFinding::Race, "R3", b.op, "", {}};
  // Ordered but for a fence?
  const Access *first = nullptr, *second = nullptr;
  if (isBefore(a.issue, b.event) &&
      (a.event == a.issue || a.done == none || isBefore(a.event, b.event)))
    std::tie(first, second) = std::make_pair(&a, &b);
  else if (isBefore(b.issue, a.event) &&
           (b.event == b.issue || b.done == none || isBefore(b.event, a.event)))
    std::tie(first, second) = std::make_pair(&b, &a);
  bool isFence = first && (first->agent == Agent::Threads ||
                           isBefore(first->event, second->event));
  if (isFence) {
    StringRef missing;
    Operation *where = first->op;
    if (first->range.space == MemorySpace::Shared)
      missing = first->isWrite
                    ? "proxy_async, by the writing threads before they arrive"
                    : "proxy_async, by the reading threads before they arrive";
    else if (first->done == none)
      missing = "tensor_stores, by the writing threads before they arrive";
    else if (first->out == none || !isBefore(first->out, second->event))
      missing = "before_thread_sync, before the arrival that follows this";
    else {
      missing = "after_thread_sync, after the wait that stands before this";
      where = second->op;
    }
    finding.rule = "R5";
    finding.op = second->op;
    finding.message = concat(describeAccess(*second), " after ",
                             describeAccess(*first), " without a fence");
    finding.notes.push_back({first->op, concat("role \"", getRoleName(*first),
                                               "\" ", describeAccess(*first))});
    finding.notes.push_back({where, concat("missing: lpfa.fence ", missing)});
    return finding;
  }
  // Who must wait for whom is the schedule's choice: say what would do.
  finding.message =
      concat(describeAccess(b), " while ", "role \"", getRoleName(a), "\" ",
             describeAccess(a), ", ", when(b.workTile, b.step));
  finding.notes.push_back({a.op, concat("the other access, in step ", a.step,
                                        " of work tile ", a.workTile)});
  auto isEngine = [](const Access &access) {
    return access.agent == Agent::TensorCore;
  };
  StringRef arrival = isEngine(a) ? "lpfa.commit"
                      : a.agent == Agent::BulkCopy
                          ? "lpfa.arrive after lpfa.store_wait, or bytes of a "
                            "copy,"
                          : "lpfa.arrive";
  if (a.thread == b.thread && isEngine(a) && isEngine(b))
    finding.notes.push_back(
        {b.op, "the manual does not promise that the tensor core keeps the "
               "order of the two; an lpfa.commit after the first and a wait "
               "for it before the second would"});
  else
    finding.notes.push_back(
        {b.op, concat("nothing orders them: an ", arrival, " in role \"",
                      getRoleName(a),
                      "\" after the other access, and an "
                      "lpfa.wait for it in role \"",
                      getRoleName(b), "\" before this one, would")});
  return finding;
}

std::optional<ScheduleFinding> Checker::checkOrder() {
  for (const auto &[a, b] : execution.getConflicts())
    if (!isOrdered(*a, *b) && !isOrdered(*b, *a))
      return reportUnordered(*a, *b);
  return std::nullopt;
}

std::optional<ScheduleFinding> Checker::checkContents() {
  // What each read sees: the writes before it.
  DenseMap<const Access *, std::vector<const Access *>> writes;
  for (const auto &[a, b] : execution.getConflicts()) {
    if (a->isWrite && !b->isWrite && isOrdered(*a, *b))
      writes[b].push_back(a);
    else if (b->isWrite && !a->isWrite && isOrdered(*b, *a))
      writes[a].push_back(b);
  }
  for (const Access &read : execution.getAccesses()) {
    if (read.isWrite)
      continue;
    std::vector<const Access *> own, foreign;
    for (const Access *write : writes.lookup(&read)) {
      if (!(write->buffer == read.buffer && write->content == read.content))
        foreign.push_back(write);
      else if (write->isCertain)
        own.push_back(write);
    }
    int64_t covered = read.range.begin;
    llvm::stable_sort(own, [](const Access *a, const Access *b) {
      return a->range.begin < b->range.begin;
    });
    for (const Access *write : own)
      if (write->range.begin <= covered)
        covered = std::max(covered, write->range.end);
    if (covered < read.range.end)
      return ScheduleFinding{
          ScheduleFinding::Race,
          "R2",
          read.op,
          concat(describeAccess(read),
                 ", where this content has not been written, ",
                 when(read.workTile, read.step)),
          {}};
    for (const Access *write : foreign) {
      bool isReplaced = llvm::any_of(own, [&](const Access *later) {
        return later->range.overlaps(write->range) && isOrdered(*write, *later);
      });
      if (!isReplaced)
        return ScheduleFinding{
            ScheduleFinding::Race,
            "R2",
            read.op,
            concat(describeAccess(read), ", of which '",
                   getBufferName(write->buffer.declaration),
                   "' has replaced part, ", when(read.workTile, read.step)),
            {{write->op,
              concat("the last write, to ", write->range, ", in step ",
                     write->step, " of work tile ", write->workTile)}}};
    }
  }
  return std::nullopt;
}

std::optional<ScheduleFinding> Checker::checkEnd() {
  for (const Access &access : execution.getAccesses())
    if (!isBeforeOrAt(access.event, execution.getEnd()))
      return ScheduleFinding{
          ScheduleFinding::Race,
          "",
          access.op,
          concat(describeAccess(access),
                 " and may not have finished when the kernel ends: no role "
                 "waits for it"),
          {}};
  return std::nullopt;
}

std::optional<ScheduleFinding> Checker::check() {
  // Phases after memory: a race says more than that a phase may be missed.
  for (auto step :
       {&Checker::checkArrivals, &Checker::checkNamed, &Checker::checkDeadlock,
        &Checker::checkOperands, &Checker::checkOrder, &Checker::checkContents,
        &Checker::checkPhases, &Checker::checkEnd})
    if (Finding finding = (this->*step)())
      return finding;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Verdict
//===----------------------------------------------------------------------===//

FailureOr<ScheduleVerdict> lpfa::verifySchedule(KernelOp kernel,
                                                Ordering ordering) {
  std::vector<std::vector<int64_t>> steps = getRepresentativeSteps(kernel);
  std::vector<std::unique_ptr<ScheduleExecution>> executions;
  ScheduleVerdict verdict;
  if (ordering == Ordering::Practice)
    verdict.assumptions = {PipeOrder::CopyAfterMMA, PipeOrder::MMAAfterMMA,
                           PipeOrder::CopyAfterCopy};
  for (const std::vector<int64_t> &counts : steps) {
    executions.push_back(std::make_unique<ScheduleExecution>(kernel, counts));
    if (failed(executions.back()->run()))
      return failure();
    verdict.finding = Checker(*executions.back(), verdict.assumptions).check();
    if (verdict.finding)
      return verdict;
  }
  // Drop what is not needed.
  for (PipeOrder candidate : SmallVector<PipeOrder>(verdict.assumptions)) {
    SmallVector<PipeOrder> fewer = verdict.assumptions;
    llvm::erase(fewer, candidate);
    bool isSafe = llvm::all_of(executions, [&](const auto &execution) {
      return !Checker(*execution, fewer).check();
    });
    if (isSafe)
      verdict.assumptions = std::move(fewer);
  }
  return verdict;
}
