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
  if (!scoresFirst.empty())
    given.scoresFirst = scoresFirst == "true";
  std::vector<ScheduleAttr> candidates = getSchedules(&getContext(), given);
  std::vector<ScheduleCost> costs;
  for (ScheduleAttr candidate : candidates) {
    ScheduleCost cost = getCost(shape, candidate, target);
    // Rings of two slots are for where three do not fit.
    bool isSpare = !costs.empty() && costs.back().misfit.empty() &&
                   !given.stages && candidate.getStages() == 2;
    if (!isSpare)
      costs.push_back(std::move(cost));
  }
  auto isFit = [](const ScheduleCost &cost) { return cost.misfit.empty(); };
  auto base = llvm::find_if(costs, isFit);
  // Nothing fits: the passes that find no place say what would.
  ScheduleAttr chosen = candidates.front();
  std::string why = "none of these fits";
  if (base != costs.end()) {
    auto best = base;
    for (auto it = base; it != costs.end(); ++it)
      if (isFit(*it) && getGain(*it, *base) > getGain(*best, *base))
        best = it;
    double gain = getGain(*best, *base);
    bool isBetter = best != base && gain >= minScheduleGain;
    chosen = isBetter ? best->schedule : base->schedule;
    why = base == costs.begin() ? "the default" : "the first that fits";
    if (isBetter)
      why = llvm::formatv("at least {0:f0} % less than {1}", 100 * gain, why);
    else if (best != base)
      why += llvm::formatv(
                 "; {0} gains {1:f0} % at least, less than the {2:f0} "
                 "% that the model can tell",
                 describe(best->schedule), 100 * gain, 100 * minScheduleGain)
                 .str();
    else if (costs.size() > 1)
      why += ", which no other is sure to beat";
  }
  op->setAttr("lpfa.schedule", chosen);
  if (!explain)
    return;

  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::formatv("schedules of lpfa.attention in @{0} on {1}, head "
                      "dimensions {2} and {3}: clocks for 128 keys of 128 "
                      "queries\n",
                      op->getParentOfType<FunctionOpInterface>().getName(),
                      target.getChip(), shape.headDim, shape.valueHeadDim);
  for (const ScheduleCost &cost : costs) {
    os << "  " << describe(cost.schedule) << ": ";
    if (!isFit(cost)) {
      os << cost.misfit << "\n";
      continue;
    }
    for (const ScheduleCost::Unit &unit : cost.units)
      os << unit.name << " " << std::lround(unit.clocks) << ", ";
    os << "in all " << describeClocks(cost) << ", bound by " << cost.getBound()
       << "; " << cost.tensorColumns << " columns"
       << (cost.isSideBySide ? "" : ", P and scales inside") << ", "
       << cost.sharedBytes << " bytes of shared memory\n";
  }
  os << "chosen: " << describe(chosen) << ": " << why << "\n";
  ScheduleCost exact = getCost(shape, chosen, target);
  if (isFit(exact)) {
    ScheduleCost polynomial = getCost(shape, chosen, target, 8);
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
  if (!scoresFirst.empty() && scoresFirst != "true" && scoresFirst != "false") {
    getOperation().emitError("scores-first must be true or false, not '")
        << std::string(scoresFirst) << "'";
    return signalPassFailure();
  }
  getOperation().walk([&](AttentionOp op) {
    if (target->hasTensorMemory() && !op->hasAttr("lpfa.schedule"))
      choose(op, *target);
  });
}
