//===- RoleInterpreter.cpp - A role's ops in the order of their run -------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Analysis/RoleInterpreter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace lpfa;

std::vector<std::vector<int64_t>>
lpfa::getRepresentativeSteps(KernelOp kernel) {
  int64_t depth = 1;
  for (ChannelOp channel : kernel.getBody().getOps<ChannelOp>())
    depth = std::max<int64_t>(depth, channel.getStages());
  const int64_t many = 2 * depth + 2;
  return {{many, 1, many}, {1, 1, 1, 1}, {0, 0},
          {2, 1, 3},       {1, 0, 0, 2}, {0, 3, 1}};
}

/// A truth value is 0 or 1.
static int64_t toInteger(const APInt &value) {
  return value.getBitWidth() == 1 ? value.getZExtValue() : value.getSExtValue();
}

LogicalResult RoleInterpreter::interpret(RoleOp role) {
  workTile = step = 0;
  uncertainty = 0;
  known.clear();
  return runBlock(role.getBody().front());
}

std::optional<int64_t> RoleInterpreter::getKnown(Value value) const {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return toInteger(constant);
  auto it = known.find(value);
  return it == known.end() ? std::nullopt : std::optional(it->second);
}

LogicalResult RoleInterpreter::runBlock(Block &block) {
  for (Operation &op : block)
    if (failed(runOp(&op)))
      return failure();
  return success();
}

LogicalResult RoleInterpreter::runOp(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](ForWorkOp op) -> LogicalResult {
        for (workTile = 0; workTile < int64_t(steps.size()); ++workTile) {
          beginWorkTile(op);
          if (failed(runBlock(op.getBody().front())))
            return failure();
          endWorkTile(op);
        }
        return success();
      })
      .Case([&](ForStepsOp op) { return runForSteps(op); })
      .Case<KeyRangeOp, StepRangeOp>([&](auto op) {
        known[op.getFirst()] = 0;
        known[op.getLast()] = steps[workTile];
        return LogicalResult(success());
      })
      .Case([&](scf::ForOp op) { return runFor(op); })
      .Case([&](scf::IfOp op) { return runIf(op); })
      .Default([&](Operation *op) -> LogicalResult {
        if (isa<arith::ArithDialect>(op->getDialect())) {
          fold(op);
          return success();
        }
        return visit(op);
      });
}

/// Computes an integer from known ones.
void RoleInterpreter::fold(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumOperands() == 0 ||
      !op->getResult(0).getType().isIntOrIndex())
    return;
  Value result = op->getResult(0);
  known.erase(result);
  SmallVector<Attribute> operands;
  for (Value operand : op->getOperands()) {
    std::optional<int64_t> value = getKnown(operand);
    if (!value)
      return;
    operands.push_back(IntegerAttr::get(operand.getType(), *value));
  }
  SmallVector<OpFoldResult> folded;
  if (failed(op->fold(operands, folded)) || folded.size() != 1)
    return;
  if (auto attribute = dyn_cast<Attribute>(folded.front())) {
    if (auto integer = dyn_cast<IntegerAttr>(attribute))
      known[result] = toInteger(integer.getValue());
  } else if (std::optional<int64_t> value =
                 getKnown(cast<Value>(folded.front()))) {
    known[result] = *value;
  }
}

LogicalResult RoleInterpreter::runForSteps(ForStepsOp op) {
  // (work tile, step, steps of the work tile) of every step.
  SmallVector<std::array<int64_t, 3>> sequence;
  for (auto [w, count] : llvm::enumerate(steps))
    for (int64_t n = 0; n < count; ++n)
      sequence.push_back({int64_t(w), n, count});
  int64_t first = -op.getLeaderShift();
  int64_t prologueEnd = first + (op.hasPrologue() ? op.getPrologueTurns() : 0);
  for (int64_t t = first; t < int64_t(sequence.size()); ++t) {
    for (AtOp at : op.getBody().getOps<AtOp>()) {
      int64_t position = t + at.getShift();
      if (at.getPrologue() != (t < prologueEnd) || position < 0 ||
          position >= int64_t(sequence.size()))
        continue;
      auto [w, n, count] = sequence[position];
      workTile = w;
      step = n;
      Block &body = at.getBody().front();
      known[body.getArgument(0)] = n;
      known[body.getArgument(1)] = n == 0;
      known[body.getArgument(2)] = n == count - 1;
      if (failed(runBlock(body)))
        return failure();
    }
  }
  return success();
}

LogicalResult RoleInterpreter::runFor(scf::ForOp op) {
  std::optional<int64_t> lower = getKnown(op.getLowerBound()),
                         upper = getKnown(op.getUpperBound()),
                         increment = getKnown(op.getStep());
  if (!lower || !upper || !increment || *increment <= 0)
    return op.emitOpError("has a trip count outside the model of the schedule "
                          "analysis");
  for (int64_t n = *lower; n < *upper; n += *increment) {
    known[op.getInductionVar()] = n;
    step = n;
    if (failed(runBlock(*op.getBody())))
      return failure();
  }
  return success();
}

LogicalResult RoleInterpreter::runIf(scf::IfOp op) {
  std::optional<int64_t> condition = getKnown(op.getCondition());
  if (!condition) {
    WalkResult result = op.walk([&](Operation *inner) -> WalkResult {
      if (isSynchronization(inner))
        return inner->emitOpError("may not depend on data");
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
  }
  uncertainty += !condition;
  if ((!condition || *condition) && failed(runBlock(*op.thenBlock())))
    return failure();
  if (op.elseBlock() && (!condition || !*condition) &&
      failed(runBlock(*op.elseBlock())))
    return failure();
  uncertainty -= !condition;
  return success();
}
