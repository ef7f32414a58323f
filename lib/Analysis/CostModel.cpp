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
  int64_t tiles, scoreBuffers, ahead;
  bool scoresFirst;
  ColumnUse columnUse;
  /// Whether scales of both query tiles share places whose last use must have
  /// ended, and whether products must have ended in whose columns others write.
  bool drainsScales, drainsProducts;
  double scores, values, exponentials, issuedBefore, issuedWith, read;
  /// From an arrival to the end of its wait.
  double handOver;
};

/// The roles in time: the tensor core's issues in order and stands still where
/// it waits; the softmax roles share issue slots and the exponential unit.
class ChainModel {
public:
  explicit ChainModel(const Step &step)
      : step(step), times(step.tiles), softmax(step.tiles) {
    for (auto &tile : times)
      tile.assign(numSteps, Times());
    const int64_t ahead = step.ahead;
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
  /// From the issue of the last product to its barrier; a wait in the tensor
  /// core's role and its copies of scales; the end of a softmax step, after its
  /// exponentials.
  static constexpr double latency = 136, issue = 70, tail = 50;
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
    double begin = 0, left = 0, end = 0;
  };

  static bool isWorking(const Softmax &tile) {
    return tile.phase == Maximum || tile.phase == Exponentials;
  }
  double getEnd(size_t i) const;
  double getStart(const Op &op) const;
  void issueProducts();
  double getNextTime();
  void advance(double time);

  Step step;
  std::vector<std::vector<Times>> times;
  std::vector<Softmax> softmax;
  std::vector<Op> program;
  size_t next = 0;
  double now = 0, issued = 0, pipe = 0, scoresDone = 0, valuesDone = 0;
  std::vector<double> rates;
};
} // namespace

/// When what the op waits for is there.
double ChainModel::getStart(const Op &op) const {
  double start = issued;
  if (step.drainsScales)
    start = std::max(start, op.isScores ? scoresDone : valuesDone);
  if (!op.isScores)
    return std::max(start, times[op.tile][op.n].probabilities);
  auto waitUntilRead = [&](int64_t tile, int64_t n) {
    if (n >= 0)
      start = std::max(start, times[tile][n].scoresRead);
  };
  if (step.columnUse == ColumnUse::Beside) {
    waitUntilRead(op.tile, op.n - step.scoreBuffers);
  } else if (step.tiles == 2) {
    // Scales, or new scores, take the place of the other tile's scores.
    waitUntilRead(1 - op.tile, op.tile == 0 ? op.n - 1 : op.n);
  }
  int64_t used = op.n - step.scoreBuffers;
  if (step.columnUse == ColumnUse::Inside && step.drainsProducts && used >= 0)
    start = std::max(start, times[op.tile][used].valuesDone);
  return start;
}

void ChainModel::issueProducts() {
  while (next < program.size() && getStart(program[next]) <= now) {
    const Op &op = program[next++];
    issued = std::max(issued, now) + issue;
    pipe = std::max(pipe, issued) + (op.isScores ? step.scores : step.values);
    Times &time = times[op.tile][op.n];
    (op.isScores ? time.scoresFull : time.valuesDone) =
        (op.isScores ? scoresDone : valuesDone) =
            pipe + latency + step.handOver;
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
  // Who began first goes first: query tiles that began together would else stay
  // so, and leave the exponential unit alone together.
  rates.assign(softmax.size(), 0);
  SmallVector<size_t> order;
  for (auto [i, tile] : llvm::enumerate(softmax))
    if (isWorking(tile))
      order.push_back(i);
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::make_pair(softmax[a].begin, a) <
           std::make_pair(softmax[b].begin, b);
  });
  double slots = allIssue - otherIssue, special = 1;
  for (size_t i : order) {
    double issued = getIssued(softmax[i]),
           exponentials = getExponentials(softmax[i]);
    rates[i] = std::min(warpIssue, slots) / issued;
    if (exponentials > 0)
      rates[i] = std::min(rates[i], special / exponentials);
    slots -= rates[i] * issued;
    special -= rates[i] * exponentials;
    if (rates[i] > 1e-9)
      consider(now + softmax[i].left / rates[i]);
  }
  for (size_t i = 0; i < softmax.size(); ++i)
    if (!isWorking(softmax[i]))
      consider(getEnd(i));
  return time;
}

/// When the phase, which no unit's rate determines, is over.
double ChainModel::getEnd(size_t i) const {
  const Softmax &tile = softmax[i];
  if (tile.phase == Wait)
    return tile.n < numSteps ? times[i][tile.n].scoresFull : never;
  // The last probabilities must have been used.
  if (tile.phase == Tail && tile.n > 0)
    return std::max(tile.end, times[i][tile.n - 1].valuesDone);
  return tile.end;
}

void ChainModel::advance(double time) {
  constexpr double epsilon = 1e-6;
  for (auto [i, tile] : llvm::enumerate(softmax)) {
    tile.left -= rates[i] * (time - now);
    while (isWorking(tile) ? tile.left <= epsilon : getEnd(i) <= time) {
      switch (tile.phase) {
      case Wait:
        tile.phase = Read;
        tile.end = time + step.read;
        times[i][tile.n].scoresRead = tile.end + step.handOver;
        break;
      case Read:
        tile.phase = Maximum;
        tile.begin = time;
        tile.left = 1;
        break;
      case Maximum:
        tile.phase = Exponentials;
        tile.left = 1;
        break;
      case Exponentials:
        tile.phase = Tail;
        tile.end = time + tail;
        break;
      case Tail:
        times[i][tile.n++].probabilities = time + step.handOver;
        tile.phase = Wait;
        break;
      }
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

/// Whether scores are more steps ahead than they have buffers.
static bool isBeyondBuffers(ScheduleAttr schedule) {
  return schedule.getScoresAhead() > schedule.getScoreBuffers();
}

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
  // Scores and outputs are laid on 32 columns. P and Q have four a column, each
  // of the scales of a tile, of 128 of its head dimension, an atom: Q's, in
  // tensor memory, as long as Q, the others in turns where columns are short.
  int64_t scores = schedule.getScoreBuffers() * llvm::alignTo(keys, 32);
  int64_t large = tiles * (scores + llvm::alignTo(shape.valueHeadDim, 32));
  bool inTmem = schedule.getQueriesInTmem();
  bool shares = schedule.getShareScales();
  int64_t operands =
      tiles * (keys + (inTmem ? llvm::alignTo(shape.headDim, 32) : 0)) / 4;
  int64_t keyAtoms = llvm::divideCeil(shape.headDim, 128),
          valueAtoms = llvm::divideCeil(shape.valueHeadDim, 128);
  int64_t places = keyAtoms * (shares && !inTmem ? 1 : tiles) +
                   (keyAtoms + 1 + valueAtoms) * (shares ? 1 : tiles);
  int64_t fewestPlaces =
      inTmem ? keyAtoms * tiles + std::max(keyAtoms, 1 + valueAtoms)
             : std::max(2 * keyAtoms, 1 + valueAtoms);
  int64_t columns = target.getTensorMemoryColumns();
  auto placeSmall = [&] {
    int64_t scaleColumns = TargetModel::scaleAtomColumns;
    int64_t left = (columns - large - operands) / scaleColumns;
    int64_t used = std::clamp(left, std::min(fewestPlaces, places), places);
    cost.sharesScales = schedule.getShareScales() || used < places;
    cost.tensorColumns = large + operands + used * scaleColumns;
    return cost.tensorColumns <= columns;
  };
  // What is ahead of the product with P does not wait for it.
  bool isAhead = schedule.getScoresFirst() || isBeyondBuffers(schedule);
  if (!placeSmall()) {
    if (!isAhead) {
      // Only what has no room beside lies inside.
      cost.columnUse = ColumnUse::Inside;
      cost.tensorColumns = std::max(large, columns);
      cost.sharesScales = false;
    } else if (tiles == 2 && schedule.getScoreBuffers() == 1) {
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
                     tiles * (atom + 2 * rows * 4) + 2 * rows * 64;
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
  double instructions = getSoftmaxInstructions(shape, target) / perTile +
                        stepInstructions * (1 - 1 / perTile) +
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
      for (double handOver : {60.0, 100.0}) {
        Step step{
            schedule.getQueryTiles(),
            schedule.getScoreBuffers(),
            std::max(schedule.getScoresAhead(), schedule.getScoreBuffers()),
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
            handOver};
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
              if (!given.scoreBuffers && buffers == 2 && !first && !isFar)
                continue;
              // Tensor memory spares reads of shared memory that hold products
              // up.
              if (!given.queriesInTmem && inTmem &&
                  TargetModel::getMMAClocks(keys, true) ==
                      TargetModel::getMMAClocks(keys, false))
                continue;
              for (int64_t slots : orElse(given.stages, 3, 2))
                schedules.push_back(ScheduleAttr::get(
                    context, tiles, keys, slots, first, buffers, ahead,
                    given.shareScales.value_or(false), inTmem));
            }
  return schedules;
}

/// Whether two schedules differ only in the slots of their rings.
static bool isSameButForStages(ScheduleAttr a, ScheduleAttr b) {
  return ScheduleAttr::get(a.getContext(), a.getQueryTiles(), a.getKeyTile(),
                           b.getStages(), a.getScoresFirst(),
                           a.getScoreBuffers(), a.getScoresAhead(),
                           a.getShareScales(), a.getQueriesInTmem()) == b;
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
  if (schedule.getShareScales())
    text += " share-scales=true";
  if (schedule.getQueriesInTmem())
    text += " queries-in-tmem=true";
  return text;
}
