//===- CostModel.cpp - How long a step of attention takes -----------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Analysis/CostModel.h"
#include "ChainModel.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace lpfa;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Whether scores are more steps ahead than they have buffers.
static bool isBeyondBuffers(ScheduleAttr schedule) {
  return schedule.getScoresAhead() > schedule.getScoreBuffers();
}

/// Whether `lpfa-assign-roles` takes it.
static bool isSchedule(ScheduleAttr schedule) {
  int64_t keys = schedule.getKeyTile(), buffers = schedule.getScoreBuffers(),
          ahead = schedule.getScoresAhead(),
          parts = schedule.getProbabilityParts(),
          slots = schedule.getProbabilityBuffers();
  return schedule.getQueryTiles() > 0 && keys > 0 && schedule.getStages() > 0 &&
         (buffers == 1 || buffers == 2) &&
         (ahead == 0 || ahead == buffers || ahead == buffers + 1) &&
         parts > 0 && keys % (TargetModel::mmaDepth * parts) == 0 &&
         (slots == 1 || slots == buffers);
}

/// Fills in what the schedule takes, and what does not fit.
static void fit(AttentionShape shape, const TargetModel &target,
                ScheduleCost &cost) {
  ScheduleAttr schedule = cost.schedule;
  if (!isSchedule(schedule)) {
    cost.misfit = "is no schedule";
    return;
  }
  // Scores and outputs are laid on 32 columns.
  int64_t tiles = schedule.getQueryTiles(), keys = schedule.getKeyTile();
  int64_t scores = schedule.getScoreBuffers() * llvm::alignTo(keys, 32);
  int64_t large = tiles * (scores + llvm::alignTo(shape.valueHeadDim, 32));
  // The parts of P and the panels of Q have four a column and lie on 16:
  // between them there is room for scales.
  bool inTmem = schedule.getQueriesInTmem();
  int64_t parts = schedule.getProbabilityParts(),
          slots = schedule.getProbabilityBuffers();
  SmallVector<int64_t> operands(tiles * parts, slots * keys / parts / 4);
  for (int64_t panel = 0; inTmem && panel < shape.headDim; panel += 128)
    operands.append(
        tiles,
        llvm::alignTo(std::min<int64_t>(shape.headDim - panel, 128), 32) / 4);
  llvm::sort(operands, std::greater<int64_t>());
  int64_t between = 0;
  for (int64_t width : ArrayRef(operands).drop_back())
    between += llvm::alignTo(width, 16) - width;
  // Each of the scales of a tile, of 128 of its head dimension, is an atom:
  // Q's, in tensor memory, as long as Q, the others in turns where columns are
  // short.
  int64_t keyAtoms = llvm::divideCeil(shape.headDim, 128),
          valueAtoms = llvm::divideCeil(shape.valueHeadDim, 128);
  int64_t places = (2 * keyAtoms + 1 + valueAtoms) * tiles;
  int64_t fewestPlaces =
      inTmem ? keyAtoms * tiles + std::max(keyAtoms, 1 + valueAtoms)
             : std::max(2 * keyAtoms, 1 + valueAtoms);
  int64_t columns = target.getTensorMemoryColumns();
  auto placeSmall = [&] {
    int64_t used = std::accumulate(operands.begin(), operands.end(), large);
    int64_t left = (columns - used) / TargetModel::scaleAtomColumns;
    int64_t taken = std::clamp(left, std::min(fewestPlaces, places), places);
    cost.sharesScales = taken < places;
    cost.tensorColumns =
        used + std::max(between, taken * TargetModel::scaleAtomColumns);
    return cost.tensorColumns <= columns;
  };
  // What is ahead of the product with P does not wait for it.
  bool isAhead = schedule.getScoresFirst() || isBeyondBuffers(schedule);
  if (!placeSmall()) {
    if (!isAhead && slots == schedule.getScoreBuffers()) {
      // Only what has no room beside lies inside; not queries, which stay.
      int64_t queries = inTmem ? llvm::alignTo(shape.headDim, 32) / 4 +
                                     keyAtoms * TargetModel::scaleAtomColumns
                               : 0;
      cost.columnUse = ColumnUse::Inside;
      cost.tensorColumns = std::max(large + tiles * queries, columns);
      cost.sharesScales = false;
    } else if (tiles == 2 && (!isAhead || schedule.getScoreBuffers() == 1)) {
      cost.columnUse = ColumnUse::Turns;
      large -= scores;
      placeSmall();
    }
  }
  const int64_t atom = TargetModel::scaleAtomBytes, rows = TargetModel::mmaRows;
  // A tile for each 128 bytes of a row, and one for what is left.
  auto getRowBytes = [&](int64_t dimension) -> int64_t {
    MLIRContext *context = schedule.getContext();
    int64_t left = llvm::alignTo(dimension % 128, 32), bytes = 0;
    if (left)
      bytes = BufferType::get(context, {rows, left},
                              IntegerType::get(context, 8), MemorySpace::Shared)
                  .getPitch();
    return dimension / 128 * 128 + bytes;
  };
  int64_t keyRow = getRowBytes(shape.headDim),
          valueRow = getRowBytes(shape.valueHeadDim);
  int64_t slot = keys * (keyRow + valueRow) + (keyAtoms + valueAtoms) * atom;
  // Queries, keys and values, P's scales, factors and sums, pieces of outputs.
  cost.sharedBytes = tiles * (rows * keyRow + keyAtoms * atom) +
                     schedule.getStages() * slot +
                     tiles * (slots * atom + 2 * rows * 4) + 2 * rows * 64;
  if (cost.tensorColumns > columns)
    cost.misfit =
        llvm::formatv("needs {0} columns of tensor memory", cost.tensorColumns);
  else if (cost.sharedBytes > TargetModel::sharedMemoryBytes)
    cost.misfit =
        llvm::formatv("needs {0} bytes of shared memory", cost.sharedBytes);
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

/// Instructions of a softmax role for 128 keys of a row, in steps of 128, as
/// docs/Development.md lists them; how many come before the exponentials, to
/// find the maximum; and what each step of fewer keys adds, and each part of
/// the probabilities after the first.
static constexpr double stepInstructions = 40, partInstructions = 9;
static double getSoftmaxInstructions(AttentionShape shape,
                                     const TargetModel &target) {
  if (target.hasTensorMemoryReduction())
    return shape.hasDynamicScales ? 388 : 362;
  return shape.hasDynamicScales ? 450 : 422;
}
static double getMaximumInstructions(const TargetModel &target) {
  return target.hasTensorMemoryReduction() ? 4 : 64;
}

/// Instructions of the tensor core's role for a product and its waits, as lpfa
/// emits them; a product with one more part of the same probabilities takes no
/// copies of scales, but a wait.
static double getIssuedInstructions(ScheduleAttr schedule) {
  return 46 + (schedule.getScoreBuffers() > 1 ? 6 : 0) +
         (schedule.getProbabilityBuffers() > 1 ? 14 : 0);
}
static constexpr double issuedPart = 5, issuedPartWait = 30;

StringRef ScheduleCost::getBound() const {
  const Unit *most = &units.front();
  for (const Unit &unit : units)
    if (unit.clocks > most->clocks)
      most = &unit;
  return most->clocks >= 0.95 * getLeast() ? most->name : "chain";
}

ScheduleCost lpfa::getCost(AttentionShape shape, ScheduleAttr schedule,
                           const TargetModel &target, Ordering ordering,
                           int64_t polynomialColumns) {
  ScheduleCost cost;
  cost.schedule = schedule;
  cost.polynomialColumns = polynomialColumns;
  fit(shape, target, cost);
  if (!cost.misfit.empty())
    return cost;

  const double keys = schedule.getKeyTile(), rows = TargetModel::mmaRows;
  const double tiles = schedule.getQueryTiles(), perTile = 128 / keys;
  const double depth = TargetModel::mmaDepth;
  const bool inTmem = schedule.getQueriesInTmem();
  double scores = shape.headDim / depth *
                  target.getMMAClocks(schedule.getKeyTile(), inTmem);
  double values = keys / depth * target.getMMAClocks(shape.valueHeadDim, true);
  double special = polynomialColumns / 32.0;
  double exponentials =
      rows * keys * (1 - special) / target.getExponentialsPerClock();
  // A polynomial takes four packed operations for two elements more than an
  // exponential.
  double instructions =
      getSoftmaxInstructions(shape, target) / perTile +
      stepInstructions * (1 - 1 / perTile) +
      (schedule.getProbabilityParts() - 1) * partInstructions +
      special * keys * 4;
  double before = getMaximumInstructions(target) / perTile + 20;
  // Operands of scores, and values, at 128 bytes a clock; copies write keys and
  // values once for all query tiles.
  double operands =
      ((inTmem ? 0 : rows) + keys) * shape.headDim + keys * shape.valueHeadDim;
  double copies = keys * (shape.headDim + shape.valueHeadDim) / tiles;
  cost.units = {{"tensor core", perTile * (scores + values)},
                {"shared memory", perTile * (operands + copies) /
                                      TargetModel::sharedBytesPerClock},
                {"exp", perTile * exponentials},
                {"issue", perTile * instructions},
                {"convert", 128 * rows / 2 / TargetModel::conversionsPerClock}};

  const bool drains = ordering == Ordering::Documented;
  for (double read : {100.0, 200.0, 290.0})
    for (double contention : {1.0, 1.2})
      for (double handOver : {60.0, 100.0})
        for (double issue : {1.5, 3.3}) {
          ChainStep step{
              schedule.getQueryTiles(),
              schedule.getScoreBuffers(),
              std::max(schedule.getScoresAhead(), schedule.getScoreBuffers()),
              schedule.getProbabilityParts(),
              schedule.getProbabilityBuffers(),
              schedule.getScoresFirst(),
              cost.columnUse,
              drains && cost.sharesScales,
              drains,
              scores * contention,
              values,
              exponentials,
              before,
              instructions - before,
              read / perTile + 25 * (1 - 1 / perTile),
              issue * getIssuedInstructions(schedule),
              issue * issuedPart + issuedPartWait,
              handOver};
          cost.clocks.push_back(perTile * getStepClocks(step) / tiles);
        }
  return cost;
}

double lpfa::getGain(const ScheduleCost &better, const ScheduleCost &base) {
  double gain = 1;
  for (auto [a, b] : llvm::zip_equal(better.clocks, base.clocks))
    gain = std::min(gain, 1 - a / b);
  return gain;
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

AttentionShape AttentionShape::get(AttentionOp op) {
  return {op.getHeadDim(), op.getValueHeadDim(),
          op.getPScale().getMode() != PScaleMode::Constant,
          AttentionOp::isBlocked(op.getKScales()) ||
              AttentionOp::isBlocked(op.getVScales())};
}

/// All schedules with what is given, the defaults first; those that differ only
/// in the slots of rings follow each other.
static std::vector<ScheduleAttr> getSchedules(MLIRContext *context,
                                              const GivenSchedule &given) {
  auto orElse = [](auto value, auto... choices) {
    using T = typename decltype(value)::value_type;
    return value ? SmallVector<T>{*value} : SmallVector<T>{T(choices)...};
  };
  // Two buffers of scores serve two of probabilities, which may lie inside, or
  // an order in which one's product comes later.
  auto getSlots = [&](bool first, int64_t buffers) {
    if (given.probabilityBuffers)
      return SmallVector<int64_t>{*given.probabilityBuffers};
    if (buffers == 1 || first)
      return SmallVector<int64_t>{1};
    return given.scoreBuffers ? SmallVector<int64_t>{1, buffers}
                              : SmallVector<int64_t>{buffers};
  };
  std::vector<ScheduleAttr> schedules;
  for (int64_t tiles : orElse(given.queryTiles, 2, 1))
    for (int64_t keys : orElse(given.keyTile, 128, 96, 64))
      for (bool first : orElse(given.scoresFirst, false, true))
        for (int64_t buffers : orElse(given.scoreBuffers, 1, 2))
          for (int64_t ahead : orElse(given.scoresAhead, 0, buffers + 1))
            for (bool inTmem : orElse(given.queriesInTmem, false, true)) {
              // There is no use for scores further ahead: their own order or a
              // second buffer has what one step more gives.
              bool isFar = ahead > buffers && (first || buffers > 1);
              if (isFar && !given.scoresAhead)
                continue;
              // Tensor memory spares reads of shared memory that hold products
              // up.
              if (!given.queriesInTmem && inTmem &&
                  TargetModel::getMMAClocks(keys, true) ==
                      TargetModel::getMMAClocks(keys, false))
                continue;
              for (int64_t parts :
                   orElse(given.probabilityParts, 1, keys == 96 ? 3 : 2))
                for (int64_t slots : getSlots(first, buffers))
                  for (int64_t stages : orElse(given.stages, 3, 2))
                    schedules.push_back(ScheduleAttr::get(
                        context, tiles, keys, stages, first, buffers, ahead,
                        inTmem, parts, slots));
            }
  return schedules;
}

/// Whether two schedules differ only in the slots of their rings.
static bool isSameButForStages(ScheduleAttr a, ScheduleAttr b) {
  return ScheduleAttr::get(a.getContext(), a.getQueryTiles(), a.getKeyTile(),
                           b.getStages(), a.getScoresFirst(),
                           a.getScoreBuffers(), a.getScoresAhead(),
                           a.getQueriesInTmem(), a.getProbabilityParts(),
                           a.getProbabilityBuffers()) == b;
}

std::vector<ScheduleCost> lpfa::getCosts(MLIRContext *context,
                                         AttentionShape shape,
                                         const GivenSchedule &given,
                                         const TargetModel &target,
                                         Ordering ordering) {
  std::vector<ScheduleCost> costs;
  for (ScheduleAttr schedule : getSchedules(context, given)) {
    ScheduleCost cost = getCost(shape, schedule, target, ordering);
    // Reads of shared memory are no matter where scores wait for more.
    if (schedule.getQueriesInTmem() && !given.queriesInTmem &&
        cost.columnUse != ColumnUse::Beside)
      continue;
    bool isVariant =
        !costs.empty() && isSameButForStages(costs.back().schedule, schedule);
    if (!isVariant)
      costs.push_back(std::move(cost));
    else if (!costs.back().misfit.empty())
      costs.back() = std::move(cost);
  }
  if (shape.hasBlockedScales && !given.keyTile)
    for (ScheduleCost &cost : costs)
      if (cost.misfit.empty() &&
          TargetModel::mmaRows % cost.schedule.getKeyTile() != 0)
        cost.misfit = "takes kernels that pack the scales of keys and values "
                      "anew: only where key-tile asks for it";
  return costs;
}

std::string lpfa::describe(ScheduleAttr schedule) {
  std::string text = llvm::formatv(
      "query-tiles={0} key-tile={1} stages={2} "
      "scores-first={3} score-buffers={4}",
      schedule.getQueryTiles(), schedule.getKeyTile(), schedule.getStages(),
      schedule.getScoresFirst() ? "true" : "false", schedule.getScoreBuffers());
  if (schedule.getScoresAhead() != 0)
    text += llvm::formatv(" scores-ahead={0}", schedule.getScoresAhead());
  if (schedule.getQueriesInTmem())
    text += " queries-in-tmem=true";
  if (schedule.getProbabilityParts() != 1)
    text +=
        llvm::formatv(" probability-parts={0}", schedule.getProbabilityParts());
  if (schedule.getProbabilityBuffers() != 1)
    text += llvm::formatv(" probability-buffers={0}",
                          schedule.getProbabilityBuffers());
  return text;
}
