//===- SplitScratch.cpp - A scratch buffer for each use -------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitScratch.h"
#include "lpfa/Analysis/Buffers.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace lpfa;

/// Whether the op is a copy into the scratch buffer.
static bool isCopyTo(ScratchOp scratch, Operation *op) {
  return isa<CopyScalesOp, CopyTileOp>(op) &&
         op->getOperand(1) == scratch.getBuffer();
}

/// Whether the op or one in its regions is a copy into the scratch buffer.
static bool hasCopyTo(ScratchOp scratch, Operation *op) {
  return llvm::any_of(scratch->getUsers(), [&](Operation *user) {
    return isCopyTo(scratch, user) && op->isAncestor(user);
  });
}

/// The copy that wrote what the op reads; nothing where that may be one of
/// several.
static Operation *getCopy(ScratchOp scratch, Operation *reader) {
  for (Operation *op = reader; !isa<RoleOp>(op); op = op->getParentOp()) {
    for (Operation *before = op->getPrevNode(); before;
         before = before->getPrevNode())
      if (hasCopyTo(scratch, before))
        return isCopyTo(scratch, before) ? before : nullptr;
    // What a loop copies later may come around to its next turn.
    Operation *parent = op->getParentOp();
    if (!isa<scf::IfOp, RoleOp>(parent) && hasCopyTo(scratch, parent))
      return nullptr;
  }
  return nullptr;
}

/// The name of the use of a scratch buffer that `copy` begins, which no other
/// buffer has: ".first" in a prologue, else its number.
static std::string getUseName(KernelOp kernel, StringRef name,
                              Operation *copy) {
  auto at = copy->getParentOfType<AtOp>();
  std::string base = name.str() + (at && at.getPrologue() ? ".first" : "");
  std::string result = base;
  for (unsigned number = 1; llvm::any_of(
           kernel.getBody().front(),
           [&](Operation &op) { return getBufferName(&op) == result; });
       ++number)
    result = base + "." + std::to_string(number);
  return result;
}

std::vector<ScratchUses> lpfa::splitScratch(KernelOp kernel) {
  std::vector<ScratchUses> split;
  for (ScratchOp scratch :
       llvm::to_vector(kernel.getBody().getOps<ScratchOp>())) {
    // Each copy with what reads it, in program order.
    llvm::MapVector<Operation *, SmallVector<Operation *>> uses;
    bool isWhole = scratch.getStages() > 1;
    kernel.walk([&](Operation *op) {
      if (isCopyTo(scratch, op)) {
        uses[op];
      } else if (llvm::is_contained(op->getOperands(), scratch.getBuffer())) {
        Operation *copy = isa<MmaOp>(op) ? getCopy(scratch, op) : nullptr;
        isWhole |= !copy;
        uses[copy].push_back(op);
      }
    });
    if (isWhole || uses.size() < 2)
      continue;
    ScratchUses buffers = {scratch};
    OpBuilder builder(scratch);
    builder.setInsertionPointAfter(scratch);
    for (auto &[copy, readers] :
         llvm::make_range(uses.begin(), std::prev(uses.end()))) {
      auto buffer = ScratchOp::create(
          builder, scratch.getLoc(), scratch.getBuffer().getType(),
          getUseName(kernel, scratch.getName(), copy),
          /*place=*/PlaceAttr(), scratch.getStages());
      copy->replaceUsesOfWith(scratch.getBuffer(), buffer.getBuffer());
      for (Operation *reader : readers)
        reader->replaceUsesOfWith(scratch.getBuffer(), buffer.getBuffer());
      buffers.push_back(buffer);
    }
    split.push_back(std::move(buffers));
  }
  return split;
}

bool lpfa::peelPrologues(KernelOp kernel) {
  bool isPeeled = false;
  kernel.walk([&](ForStepsOp steps) {
    SmallVector<AtOp> ahead;
    bool copies = false;
    for (AtOp at : steps.getBody().getOps<AtOp>()) {
      if (int64_t(at.getShift()) != steps.getLeaderShift())
        continue;
      ahead.push_back(at);
      for (ScratchOp scratch : kernel.getBody().getOps<ScratchOp>())
        copies |= hasCopyTo(scratch, at);
    }
    if (!copies || steps.getPrologueTurns() == 0 || steps.hasPrologue())
      return;
    OpBuilder builder = OpBuilder::atBlockBegin(&steps.getBody().front());
    for (AtOp at : ahead)
      cast<AtOp>(builder.clone(*at)).setPrologue(true);
    isPeeled = true;
  });
  return isPeeled;
}
