//===- ChooseSchedule.cpp - How attention is scheduled --------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Analysis/CostModel.h"
#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "lpfa/Dialect/LPFA/Transforms/Passes.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

namespace lpfa {
#define GEN_PASS_DEF_CHOOSESCHEDULE
#include "lpfa/Dialect/LPFA/Transforms/Passes.h.inc"
} // namespace lpfa

using namespace mlir;
using namespace lpfa;

/// Less is not worth a word.
constexpr double minShownGain = 0.01;

/// The value of an option that leaves the choice to the pass.
constexpr int64_t kChoose = -1;

namespace {
struct ChooseSchedule : public lpfa::impl::ChooseScheduleBase<ChooseSchedule> {
  using ChooseScheduleBase::ChooseScheduleBase;
  void runOnOperation() override;

private:
  void choose(AttentionOp op, const TargetModel &target);
};
} // namespace

static std::string describeClocks(const ScheduleCost &cost) {
  return llvm::formatv("{0} to {1}", std::lround(cost.getLeast()),
                       std::lround(cost.getMost()))
      .str();
}

static StringRef describe(ColumnUse use) {
  switch (use) {
  case ColumnUse::Beside:
    return "";
  case ColumnUse::Turns:
    return ", scores in turns";
  case ColumnUse::Inside:
    return ", P and scales inside";
  }
}

void ChooseSchedule::choose(AttentionOp op, const TargetModel &target) {
  AttentionShape shape = AttentionShape::get(op);
  GivenSchedule given;
  auto set = [](std::optional<int64_t> &value, int64_t option) {
    if (option != kChoose)
      value = option;
  };
  set(given.queryTiles, queryTiles);
  set(given.keyTile, keyTile);
  set(given.stages, stages);
  set(given.scoreBuffers, scoreBuffers);
  set(given.scoresAhead, scoresAhead);
  set(given.probabilityParts, probabilityParts);
  set(given.probabilityBuffers, probabilityBuffers);
  auto setFlag = [](std::optional<bool> &value, const std::string &option) {
    if (!option.empty())
      value = option == "true";
  };
  setFlag(given.scoresFirst, scoresFirst);
  setFlag(given.queriesInTmem, queriesInTmem);
  std::vector<ScheduleCost> costs =
      getCosts(&getContext(), shape, given, target, ordering);
  auto isFit = [](const ScheduleCost &cost) { return cost.misfit.empty(); };
  auto getHandover = [](const ScheduleCost &cost) {
    return std::make_pair(cost.schedule.getProbabilityParts(),
                          cost.schedule.getProbabilityBuffers());
  };
  auto base = llvm::find_if(costs, isFit);
  // Nothing fits: the passes that find no place say what would.
  const ScheduleCost *chosen = &costs.front();
  std::string why = "none of these fits";
  if (base != costs.end()) {
    chosen = &*base;
    why = base == costs.begin() ? "the default" : "the first that fits";
    // The quickest at its worst of those that are surely better. Another way to
    // hand over probabilities must be so over the best without.
    const ScheduleCost *closest = nullptr;
    for (bool handsOverElse : {false, true}) {
      const ScheduleCost *best = chosen;
      for (const ScheduleCost &cost : costs) {
        if (!isFit(cost) || &cost == best ||
            handsOverElse != (getHandover(cost) != getHandover(*base)))
          continue;
        if (getGain(cost, *best) < minScheduleGain) {
          if (getGain(cost, *base) >
              (closest ? getGain(*closest, *base) : minShownGain))
            closest = &cost;
        } else if (chosen == best || cost.getMost() < chosen->getMost()) {
          chosen = &cost;
        }
      }
    }
    if (chosen != &*base)
      why = llvm::formatv("at least {0:f0} % less than {1}, and least at its "
                          "worst of those that surely gain",
                          100 * getGain(*chosen, *base), why);
    else if (closest)
      why +=
          llvm::formatv("; {0} gains {1:f0} % at least, less than the {2:f0} "
                        "% that the model can tell",
                        describe(closest->schedule),
                        100 * getGain(*closest, *base), 100 * minScheduleGain)
              .str();
    else if (costs.size() > 1)
      why += ", which no other is sure to beat";
  }
  op->setAttr("lpfa.schedule", chosen->schedule);
  if (!explain)
    return;

  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::formatv("schedules of lpfa.attention in @{0} on {1}, head "
                      "dimensions {2} and {3}: modelled clocks for 128 keys of "
                      "128 queries\n",
                      op->getParentOfType<FunctionOpInterface>().getName(),
                      target.getChip(), shape.headDim, shape.valueHeadDim);
  SmallVector<const ScheduleCost *> lines(llvm::make_pointer_range(costs));
  llvm::stable_sort(lines, [&](const ScheduleCost *a, const ScheduleCost *b) {
    if (!isFit(*a) || !isFit(*b))
      return isFit(*a) && !isFit(*b);
    return a->getMost() < b->getMost();
  });
  for (const ScheduleCost *cost : lines) {
    os << "  " << describe(cost->schedule) << ": ";
    if (!isFit(*cost)) {
      os << cost->misfit << "\n";
      continue;
    }
    os << "in all " << describeClocks(*cost) << ", bound by "
       << cost->getBound();
    if (double gain = getGain(*cost, *base); gain >= minShownGain)
      os << ", gains " << std::lround(100 * gain) << " % at least";
    os << " (";
    llvm::interleaveComma(cost->units, os, [&](const auto &unit) {
      os << unit.name << " " << std::lround(unit.clocks);
    });
    os << "); " << cost->tensorColumns << " columns"
       << describe(cost->columnUse)
       << (cost->sharesScales ? ", scales in turns" : "") << ", "
       << cost->sharedBytes << " bytes of shared memory\n";
  }
  os << "chosen: " << describe(chosen->schedule) << ": " << why << "\n";
  if (base != costs.end()) {
    ScheduleCost polynomial =
        getCost(shape, chosen->schedule, target, ordering, 8);
    os << "  with polynomial-columns=8 (not chosen: it changes results in "
          "their "
          "last bits): in all "
       << describeClocks(polynomial) << ", bound by " << polynomial.getBound()
       << "\n";
  }
  llvm::outs() << text;
}

void ChooseSchedule::runOnOperation() {
  std::optional<TargetModel> target = TargetModel::get(chip);
  if (!target) {
    getOperation().emitError("unknown chip '") << std::string(chip) << "'";
    return signalPassFailure();
  }
  auto isFlag = [&](StringRef name, StringRef value) {
    if (value.empty() || value == "true" || value == "false")
      return true;
    getOperation().emitError(name)
        << " must be true or false, not '" << value << "'";
    return false;
  };
  if (!isFlag("scores-first", scoresFirst) ||
      !isFlag("queries-in-tmem", queriesInTmem))
    return signalPassFailure();
  getOperation().walk([&](AttentionOp op) {
    if (target->hasTensorMemory() && !op->hasAttr("lpfa.schedule"))
      choose(op, *target);
  });
}
