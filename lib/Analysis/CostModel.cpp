//===- CostModel.cpp - How long a step of attention takes -----------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Analysis/CostModel.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lpfa;

//===----------------------------------------------------------------------===//
// The chain
//===----------------------------------------------------------------------===//

namespace {
/// Clocks of the parts of a step.
struct Step {
  int64_t tiles, scoreBuffers;
  bool scoresFirst;
  /// Whether new scores need no more than that the old ones have been read.
  bool isSideBySide;
  double scores, values, exponentials, issuedBefore, issuedWith, read;
};

/// The roles in time: the tensor core's issues in order and stands still where
/// it waits; the softmax roles share issue slots and the exponential unit.
class ChainModel {
public:
  explicit ChainModel(const Step &step)
      : step(step), times(step.tiles), softmax(step.tiles) {
    for (auto &tile : times)
      tile.assign(numSteps, Times());
    const int64_t ahead = step.scoreBuffers;
    for (int64_t n = -ahead; n < numSteps; ++n)
      for (int64_t i = 0; i < step.tiles; ++i) {
        auto add = [&](bool isScores, int64_t at) {
          if (at >= 0 && at < numSteps)
            program.push_back({isScores, i, at});
        };
        if (!step.scoresFirst)
          add(false, n);
        add(true, n + ahead);
        if (step.scoresFirst)
          add(false, n);
      }
  }

  /// Clocks a step in the middle of many.
  double run();

private:
  static constexpr int64_t numSteps = 48, warmUp = 16;
  static constexpr double never = 1e18;
  /// From the issue of the last product to its barrier; from an arrival to the
  /// end of its wait; a wait in the tensor core's role and its copies of
  /// scales; the end of a softmax step, after its exponentials.
  static constexpr double latency = 136, handOver = 60, issue = 70, tail = 50;
  /// What a warp gets of its slots, all together get, and other roles take.
  static constexpr double warpIssue = 0.8, allIssue = 0.95, otherIssue = 0.1;

  struct Times {
    double scoresFull = never, scoresRead = never, probabilities = never,
           valuesDone = never;
  };
  struct Op {
    bool isScores;
    int64_t tile, n;
  };
  enum Phase { Wait, Read, Maximum, Exponentials, Tail };
  struct Softmax {
    Phase phase = Wait;
    int64_t n = 0;
    double left = 0, end = 0;
  };

  double getStart(const Op &op) const;
  void issueProducts();
  double getNextTime();
  void advance(double time);

  Step step;
  std::vector<std::vector<Times>> times;
  std::vector<Softmax> softmax;
  std::vector<Op> program;
  size_t next = 0;
  double now = 0, issued = 0, pipe = 0;
  std::vector<double> rates;
};
} // namespace

/// When what the op waits for is there.
double ChainModel::getStart(const Op &op) const {
  double start = issued;
  if (!op.isScores)
    return std::max(start, times[op.tile][op.n].probabilities);
  if (step.isSideBySide) {
    int64_t before = op.n - step.scoreBuffers;
    return before < 0 ? start
                      : std::max(start, times[op.tile][before].scoresRead);
  }
  // The scales lie in the other tile's scores.
  int64_t other = op.tile == 0 ? op.n - 1 : op.n;
  if (other >= 0 && step.tiles == 2)
    start = std::max(start, times[1 - op.tile][other].scoresRead);
  return start;
}

void ChainModel::issueProducts() {
  while (next < program.size() && getStart(program[next]) <= now) {
    const Op &op = program[next++];
    issued = std::max(issued, now) + issue;
    pipe = std::max(pipe, issued) + (op.isScores ? step.scores : step.values);
    Times &time = times[op.tile][op.n];
    (op.isScores ? time.scoresFull : time.valuesDone) =
        pipe + latency + handOver;
  }
}

/// The next time at which something changes; sets the rates until then.
double ChainModel::getNextTime() {
  double time = issued > now ? issued : never;
  auto consider = [&](double candidate) {
    if (candidate > now)
      time = std::min(time, candidate);
  };
  if (next < program.size())
    consider(getStart(program[next]));
  auto getIssued = [&](const Softmax &tile) {
    return tile.phase == Maximum        ? step.issuedBefore
           : tile.phase == Exponentials ? step.issuedWith
                                        : 0;
  };
  auto getExponentials = [&](const Softmax &tile) {
    return tile.phase == Exponentials ? step.exponentials : 0;
  };
  rates.assign(softmax.size(), 0);
  double slots = 0, special = 0;
  for (auto [i, tile] : llvm::enumerate(softmax)) {
    if (tile.phase != Maximum && tile.phase != Exponentials)
      continue;
    rates[i] = 1 / std::max({getIssued(tile) / warpIssue, getExponentials(tile),
                             1e-9});
    slots += rates[i] * getIssued(tile);
    special += rates[i] * getExponentials(tile);
  }
  double share = std::min({1.0, (allIssue - otherIssue) / std::max(slots, 1e-9),
                           1.0 / std::max(special, 1e-9)});
  for (auto [i, tile] : llvm::enumerate(softmax)) {
    rates[i] *= share;
    if (rates[i] > 0)
      consider(now + tile.left / rates[i]);
    else if (tile.phase == Wait && tile.n < numSteps)
      consider(times[i][tile.n].scoresFull);
    else
      consider(tile.end);
  }
  return time;
}

void ChainModel::advance(double time) {
  constexpr double epsilon = 1e-6;
  for (auto [i, tile] : llvm::enumerate(softmax)) {
    tile.left -= rates[i] * (time - now);
    switch (tile.phase) {
    case Wait:
      if (tile.n < numSteps && times[i][tile.n].scoresFull <= time) {
        tile.phase = Read;
        tile.end = time + step.read;
        times[i][tile.n].scoresRead = tile.end + handOver;
      }
      break;
    case Read:
      if (tile.end <= time) {
        tile.phase = Maximum;
        tile.left = 1;
      }
      break;
    case Maximum:
      if (tile.left <= epsilon) {
        tile.phase = Exponentials;
        tile.left = 1;
      }
      break;
    case Exponentials:
      if (tile.left <= epsilon) {
        // The last probabilities must have been used.
        tile.phase = Tail;
        tile.end = time + tail;
        if (tile.n > 0)
          tile.end = std::max(tile.end, times[i][tile.n - 1].valuesDone);
      }
      break;
    case Tail:
      if (tile.end <= time) {
        times[i][tile.n++].probabilities = time + handOver;
        tile.phase = Wait;
      }
      break;
    }
  }
  now = time;
}

double ChainModel::run() {
  double begin = 0;
  while (next < program.size()) {
    issueProducts();
    double time = getNextTime();
    if (time >= never)
      break;
    advance(time);
    if (begin == 0 && softmax.back().n >= warmUp)
      begin = now;
  }
  return (now - begin) / (numSteps - warmUp);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Fills in what the schedule takes, and what does not fit.
static void fit(AttentionShape shape, const TargetModel &target,
                ScheduleCost &cost) {
  ScheduleAttr schedule = cost.schedule;
  int64_t tiles = schedule.getQueryTiles(), keys = schedule.getKeyTile();
  if (tiles <= 0 || keys <= 0 || schedule.getStages() <= 0 ||
      schedule.getScoreBuffers() <= 0) {
    cost.misfit = "is no schedule";
    return;
  }
  // Scores and outputs are laid on 32 columns; P has four a column, and each of
  // four scales of a tile an atom.
  int64_t large =
      tiles * (schedule.getScoreBuffers() * llvm::alignTo(keys, 32) +
               llvm::alignTo(shape.valueHeadDim, 32));
  int64_t small =
      tiles * (llvm::alignTo(keys / 4, 16) + 4 * TargetModel::scaleAtomColumns);
  int64_t columns = target.getTensorMemoryColumns();
  cost.isSideBySide = large + small <= columns;
  cost.tensorColumns = cost.isSideBySide ? large + small : large;
  const int64_t atom = TargetModel::scaleAtomBytes, rows = TargetModel::mmaRows;
  int64_t slot = keys * (shape.headDim + shape.valueHeadDim) + 2 * atom;
  // Queries, keys and values, P's scales, factors and sums, pieces of outputs.
  cost.sharedBytes = tiles * (rows * shape.headDim + atom) +
                     schedule.getStages() * slot +
                     tiles * (atom + 2 * rows * 4) + 2 * rows * 64;
  if (cost.tensorColumns > columns)
    cost.misfit =
        llvm::formatv("needs {0} columns of tensor memory", cost.tensorColumns);
  else if (schedule.getScoresFirst() && !cost.isSideBySide)
    cost.misfit = llvm::formatv(
        "needs {0} columns of tensor memory, for P beside the scores",
        large + small);
  else if (cost.sharedBytes > TargetModel::sharedMemoryBytes)
    cost.misfit =
        llvm::formatv("needs {0} bytes of shared memory", cost.sharedBytes);
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

/// Instructions of a softmax role for 128 keys of a row, in steps of 128, as
/// docs/Development.md lists them; how many come before the exponentials, to
/// find the maximum; and what each step of fewer keys adds.
static constexpr double stepInstructions = 40;
static double getSoftmaxInstructions(AttentionShape shape,
                                     const TargetModel &target) {
  if (target.hasTensorMemoryReduction())
    return shape.hasDynamicScales ? 388 : 362;
  return shape.hasDynamicScales ? 450 : 422;
}
static double getMaximumInstructions(const TargetModel &target) {
  return target.hasTensorMemoryReduction() ? 4 : 64;
}

StringRef ScheduleCost::getBound() const {
  const Unit *most = &units.front();
  for (const Unit &unit : units)
    if (unit.clocks > most->clocks)
      most = &unit;
  return most->clocks >= 0.95 * getLeast() ? most->name : "chain";
}

ScheduleCost lpfa::getCost(AttentionShape shape, ScheduleAttr schedule,
                           const TargetModel &target,
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
  double scores =
      shape.headDim / depth * target.getMMAClocks(schedule.getKeyTile(), false);
  double values = keys / depth * target.getMMAClocks(shape.valueHeadDim, true);
  double special = polynomialColumns / 32.0;
  double exponentials =
      rows * keys * (1 - special) / target.getExponentialsPerClock();
  // A polynomial takes four packed operations for two elements more than an
  // exponential.
  double instructions = getSoftmaxInstructions(shape, target) / perTile +
                        stepInstructions * (1 - 1 / perTile) +
                        special * keys * 4;
  double before = getMaximumInstructions(target) / perTile + 20;
  // Both operands of scores, and values, at 128 bytes a clock; copies write
  // keys and values once for all query tiles.
  double operands = (rows + keys) * shape.headDim + keys * shape.valueHeadDim;
  double copies = keys * (shape.headDim + shape.valueHeadDim) / tiles;
  cost.units = {{"tensor core", perTile * (scores + values)},
                {"shared memory", perTile * (operands + copies) /
                                      TargetModel::sharedBytesPerClock},
                {"exp", perTile * exponentials},
                {"issue", perTile * instructions},
                {"convert", 128 * rows / 2 / TargetModel::conversionsPerClock}};

  for (double read : {100.0, 200.0, 290.0})
    for (double contention : {1.0, 1.2}) {
      Step step{schedule.getQueryTiles(),
                schedule.getScoreBuffers(),
                schedule.getScoresFirst(),
                cost.isSideBySide,
                scores * contention,
                values,
                exponentials,
                before,
                instructions - before,
                read / perTile + 25 * (1 - 1 / perTile)};
      cost.clocks.push_back(perTile * ChainModel(step).run() / tiles);
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
          op.getPScale().getMode() != PScaleMode::Constant};
}

std::vector<ScheduleAttr> lpfa::getSchedules(MLIRContext *context,
                                             const GivenSchedule &given) {
  auto orElse = [](std::optional<int64_t> value, ArrayRef<int64_t> choices) {
    return value ? SmallVector<int64_t>{*value} : SmallVector<int64_t>(choices);
  };
  SmallVector<bool> orders = {false, true};
  if (given.scoresFirst)
    orders = {*given.scoresFirst};
  std::vector<ScheduleAttr> schedules;
  for (int64_t tiles : orElse(given.queryTiles, {2, 1}))
    for (int64_t keys : orElse(given.keyTile, {128, 64}))
      for (bool first : orders)
        for (int64_t buffers : orElse(given.scoreBuffers, {1, 2})) {
          // Scores two steps ahead come before the product at hand.
          if (!given.scoreBuffers && buffers == 2 && !first)
            continue;
          for (int64_t slots : orElse(given.stages, {3, 2}))
            schedules.push_back(
                ScheduleAttr::get(context, tiles, keys, slots, first, buffers));
        }
  return schedules;
}

std::string lpfa::describe(ScheduleAttr schedule) {
  return llvm::formatv("query-tiles={0} key-tile={1} stages={2} "
                       "scores-first={3} score-buffers={4}",
                       schedule.getQueryTiles(), schedule.getKeyTile(),
                       schedule.getStages(),
                       schedule.getScoresFirst() ? "true" : "false",
                       schedule.getScoreBuffers())
      .str();
}
