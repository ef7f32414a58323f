//===- PrintSchedule.cpp - What each role does and waits for --------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Analysis/Buffers.h"
#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "lpfa/Dialect/LPFA/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/JSON.h"

namespace lpfa {
#define GEN_PASS_DEF_PRINTSCHEDULE
#include "lpfa/Dialect/LPFA/Transforms/Passes.h.inc"
} // namespace lpfa

using namespace mlir;
using namespace lpfa;

namespace {
/// One line: an op of the schedule or a loop around some.
struct Line {
  unsigned depth;
  StringRef op;
  std::string what;
};

struct PrintSchedule : public lpfa::impl::PrintScheduleBase<PrintSchedule> {
  using PrintScheduleBase::PrintScheduleBase;
  void runOnOperation() override;

private:
  void print(KernelOp kernel);
};
} // namespace

/// The buffer that a value is, or is part of.
static StringRef getName(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto slice = dyn_cast<SliceOp>(op))
    return getName(slice.getBuffer());
  if (auto slot = dyn_cast<SlotAtOp>(op))
    return getBufferName(slot.getChannel().getDefiningOp());
  if (auto barrier = dyn_cast<BarrierOp>(op))
    return barrier.getName();
  return getBufferName(op);
}

static void collect(Block &block, unsigned depth, std::vector<Line> &lines) {
  for (Operation &op : block) {
    StringRef name = op.getName().stripDialect();
    if (op.getNumRegions() > 0) {
      size_t start = lines.size();
      std::string what;
      if (auto at = dyn_cast<AtOp>(op))
        what = "shift " + std::to_string(at.getShift()) +
               (at.getPrologue() ? " prologue" : "");
      lines.push_back({depth, name, what});
      for (Region &region : op.getRegions())
        if (!region.empty())
          collect(region.front(), depth + 1, lines);
      if (lines.size() == start + 1) // nothing of the schedule inside
        lines.pop_back();
      continue;
    }
    if (!isa<WaitOp, ArriveOp, CommitOp, ExpectBytesOp, FenceOp, TeamBarrierOp,
             LoadAsyncOp, StoreAsyncOp, StoreWaitOp, CopyScalesOp, CopyTileOp,
             MmaOp, ReadOp, WriteOp, RescaleBufferOp>(op))
      continue;
    SmallVector<StringRef> operands;
    for (Value operand : op.getOperands())
      if (isa<BufferType, BarrierType>(operand.getType()))
        operands.push_back(getName(operand));
    if (auto fence = dyn_cast<FenceOp>(op))
      operands.push_back(stringifyFenceKind(fence.getKind()));
    lines.push_back({depth, name, llvm::join(operands, ", ")});
  }
}

/// The roles with an op among the barrier's users.
template <typename... OpTys>
static std::vector<std::string> getRoles(BarrierOp barrier) {
  llvm::SmallSetVector<StringRef, 4> roles;
  for (Operation *user : barrier.getBarrier().getUsers())
    if (isa<OpTys...>(user))
      roles.insert(user->getParentOfType<RoleOp>().getName());
  std::vector<std::string> names(roles.begin(), roles.end());
  llvm::sort(names);
  return names;
}

void PrintSchedule::print(KernelOp kernel) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::Array roles, barriers;
  os << "schedule of @" << kernel.getSymName() << "\n";
  for (RoleOp role : kernel.getBody().getOps<RoleOp>()) {
    os << "role " << role.getName() << ", " << role.getThreads()
       << (role.getThreads() == 1 ? " thread" : " threads") << "\n";
    std::vector<Line> lines;
    collect(role.getBody().front(), 1, lines);
    llvm::json::Array ops;
    for (const Line &line : lines) {
      os.indent(2 * line.depth) << line.op;
      if (!line.what.empty())
        os << " " << line.what;
      os << "\n";
      ops.push_back(llvm::json::Object{
          {"op", line.op}, {"what", line.what}, {"depth", line.depth}});
    }
    roles.push_back(llvm::json::Object{{"name", role.getName()},
                                       {"threads", role.getThreads()},
                                       {"ops", std::move(ops)}});
  }
  for (BarrierOp barrier : kernel.getBody().getOps<BarrierOp>()) {
    auto arrive =
        getRoles<ArriveOp, CommitOp, ExpectBytesOp, LoadAsyncOp>(barrier);
    auto wait = getRoles<WaitOp>(barrier);
    os << (barrier.getNamed() ? "named barrier " : "barrier ")
       << barrier.getName();
    if (barrier.getStages() > 1)
      os << " of " << barrier.getStages();
    os << ", " << barrier.getArrivals()
       << (barrier.getArrivals() == 1 ? " arrival" : " arrivals") << ": "
       << barrier.getGuards().value_or("") << "; " << llvm::join(arrive, ", ")
       << " -> " << llvm::join(wait, ", ") << "\n";
    barriers.push_back(
        llvm::json::Object{{"name", barrier.getName()},
                           {"stages", int64_t(barrier.getStages())},
                           {"arrivals", int64_t(barrier.getArrivals())},
                           {"guards", barrier.getGuards().value_or("")},
                           {"arrive", llvm::json::Array(arrive)},
                           {"wait", llvm::json::Array(wait)}});
  }
  if (json)
    llvm::outs() << llvm::json::Value(
                        llvm::json::Object{{"kernel", kernel.getSymName()},
                                           {"roles", std::move(roles)},
                                           {"barriers", std::move(barriers)}})
                 << "\n";
  else
    llvm::outs() << text;
}

void PrintSchedule::runOnOperation() {
  markAllAnalysesPreserved();
  for (KernelOp kernel : getOperation().getOps<KernelOp>())
    if (kernel.getStage() == Stage::Synchronized)
      print(kernel);
}
