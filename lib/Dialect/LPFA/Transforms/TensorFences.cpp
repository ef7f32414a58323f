//===- TensorFences.cpp - Fences of tensor memory -------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorFences.h"
#include "lpfa/Analysis/Fences.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace lpfa;

static bool isInTensorMemory(Value buffer) {
  auto type = dyn_cast<BufferType>(buffer.getType());
  return type && type.getSpace() == MemorySpace::Tensor;
}

namespace {
/// Puts `after_thread_sync` before the first access to tensor memory after a
/// wait, and `before_thread_sync` before the first arrival after accesses by
/// threads (a commit has that fence in it).
class TensorFences {
public:
  void insert(RoleOp role) {
    run(role.getBody().front(), State(), /*inserts=*/true);
  }

private:
  struct State {
    /// Waits, and accesses, that no fence has followed yet.
    bool waits = false, accesses = false;

    State operator|(const State &other) const {
      return {waits || other.waits, accesses || other.accesses};
    }
    bool operator==(const State &other) const {
      return waits == other.waits && accesses == other.accesses;
    }
  };

  State run(Block &block, State state, bool inserts) {
    for (Operation &op : llvm::make_early_inc_range(block))
      state = op.getNumRegions() ? runRegions(op, state, inserts)
                                 : runOp(op, state, inserts);
    return state;
  }

  State runOp(Operation &op, State state, bool inserts) {
    auto fence = [&](FenceKind kind) {
      if (!inserts)
        return;
      OpBuilder builder(&op);
      FenceOp::create(builder, op.getLoc(), kind);
    };
    bool isByThreads = isa<ReadOp, WriteOp, RescaleBufferOp>(op) &&
                       llvm::any_of(op.getOperands(), isInTensorMemory);
    if (isByThreads || isa<MmaOp, CopyScalesOp, CopyTileOp>(op)) {
      if (state.waits)
        fence(FenceKind::AfterThreadSync);
      return {false, state.accesses || isByThreads};
    }
    if (isa<ArriveOp>(op) && state.accesses) {
      fence(FenceKind::BeforeThreadSync);
      state.accesses = false;
    }
    state.waits |= isa<WaitOp>(op);
    return state;
  }

  /// A region may run or not, and that of a loop again and again.
  State runRegions(Operation &op, State state, bool inserts) {
    bool isLoop = !isa<scf::IfOp, AtOp>(op);
    bool mayBeSkipped = !isa<scf::IfOp>(op) || op.getRegion(1).empty();
    State result = mayBeSkipped ? state : State();
    for (Region &region : op.getRegions()) {
      if (region.empty())
        continue;
      State entry = state;
      for (State next = entry; isLoop; entry = next) {
        next = entry | run(region.front(), entry, /*inserts=*/false);
        if (next == entry)
          break;
      }
      result = result | run(region.front(), entry, inserts);
    }
    return result;
  }
};
} // namespace

std::optional<unsigned> lpfa::insertTensorFences(KernelOp kernel,
                                                 Ordering ordering) {
  for (RoleOp role : kernel.getBody().getOps<RoleOp>())
    TensorFences().insert(role);
  FailureOr<std::vector<Fence>> fences = findNeededFences(kernel, ordering);
  if (failed(fences))
    return std::nullopt;
  unsigned spared = 0;
  for (Fence &fence : *fences) {
    if (!fence.first) {
      fence.op.erase();
      ++spared;
      continue;
    }
    remark::passed(fence.op.getLoc(), remark::RemarkOpts::name("fence")
                                          .category("lpfa-barriers")
                                          .function(kernel.getSymName()))
        << describe(fence);
  }
  return spared;
}
