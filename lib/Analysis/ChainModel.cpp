//===- ChainModel.cpp - The roles of attention in time --------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChainModel.h"

using namespace mlir;
using namespace lpfa;

namespace {
class ChainModel {
public:
  explicit ChainModel(const ChainStep &step)
      : step(step), times(step.tiles), softmax(step.tiles) {
    for (auto &tile : times)
      tile.assign(numSteps, Times(step.parts));
    const int64_t ahead = step.ahead;
    for (int64_t n = -ahead; n < numSteps; ++n)
      for (int64_t i = 0; i < step.tiles; ++i) {
        auto add = [&](bool isScores, int64_t at) {
          if (at < 0 || at >= numSteps)
            return;
          for (int64_t part = 0; part < (isScores ? 1 : step.parts); ++part)
            program.push_back({isScores, i, at, part});
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
  /// From the issue of the last product to its barrier; what hands over
  /// probabilities, after their exponentials.
  static constexpr double latency = 136, tail = 50;
  /// What a warp gets of its slots, all together get, and other roles take.
  static constexpr double warpIssue = 0.8, allIssue = 0.95, otherIssue = 0.1;

  struct Times {
    explicit Times(int64_t parts) : probabilities(parts, never) {}
    double scoresFull = never, scoresRead = never, valuesDone = never;
    std::vector<double> probabilities;
  };
  struct Op {
    bool isScores;
    int64_t tile, n, part;
  };
  enum Phase { Wait, Read, Maximum, Exponentials, Tail };
  struct Softmax {
    Phase phase = Wait;
    int64_t n = 0, part = 0;
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

  ChainStep step;
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
  if (step.drainsScales && op.part == 0)
    start = std::max(start, op.isScores ? scoresDone : valuesDone);
  if (!op.isScores)
    return std::max(start, times[op.tile][op.n].probabilities[op.part]);
  auto waitUntilRead = [&](int64_t tile, int64_t n) {
    if (n >= 0)
      start = std::max(start, times[tile][n].scoresRead);
  };
  int64_t used = op.n - step.scoreBuffers;
  if (step.columnUse == ColumnUse::Beside) {
    waitUntilRead(op.tile, used);
  } else if (step.tiles == 2) {
    // New scores, or their scales, take the place of the other tile's scores:
    // those of the same slot, or the oldest.
    if (op.tile == 0)
      waitUntilRead(1, used);
    else
      waitUntilRead(0, step.columnUse == ColumnUse::Turns ? op.n : used + 1);
  }
  if (step.columnUse == ColumnUse::Inside && step.drainsProducts && used >= 0)
    start = std::max(start, times[op.tile][used].valuesDone);
  return start;
}

void ChainModel::issueProducts() {
  while (next < program.size() && getStart(program[next]) <= now) {
    const Op &op = program[next++];
    issued =
        std::max(issued, now) + (op.part == 0 ? step.issue : step.issuePart);
    pipe = std::max(pipe, issued) +
           (op.isScores ? step.scores : step.values / step.parts);
    double done = pipe + latency + step.handOver;
    (op.isScores ? scoresDone : valuesDone) = done;
    Times &time = times[op.tile][op.n];
    if (op.isScores)
      time.scoresFull = done;
    else if (op.part == step.parts - 1)
      time.valuesDone = done;
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
           : tile.phase == Exponentials ? step.issuedWith / step.parts
                                        : 0;
  };
  auto getExponentials = [&](const Softmax &tile) {
    return tile.phase == Exponentials ? step.exponentials / step.parts : 0;
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
  // The probabilities before in the same slot must have been used, all parts.
  int64_t used = tile.n - step.probabilityBuffers;
  if (tile.phase == Tail && used >= 0)
    return std::max(tile.end, times[i][used].valuesDone);
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
        times[i][tile.n].probabilities[tile.part] = time + step.handOver;
        if (++tile.part < step.parts) {
          tile.phase = Exponentials;
          tile.begin = time;
          tile.left = 1;
          break;
        }
        ++tile.n;
        tile.part = 0;
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

double lpfa::getStepClocks(const ChainStep &step) {
  return ChainModel(step).run();
}
