//===- AssignRoles.cpp - Which warps do what ------------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RoleBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace lpfa {
#define GEN_PASS_DEF_ASSIGNROLES
#include "lpfa/Dialect/LPFA/Transforms/Passes.h.inc"
} // namespace lpfa

using namespace mlir;
using namespace lpfa;

template <typename OpTy> static bool has(KernelOp kernel) {
  return kernel->walk([](OpTy) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

namespace {
struct AssignRoles : public lpfa::impl::AssignRolesBase<AssignRoles> {
  using AssignRolesBase::AssignRolesBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    // Kernels without products run the same program in all threads.
    if (kernel.getStage() != Stage::Tile || !has<DotOp>(kernel))
      return;
    AssignRolesOptions options;
    options.stages = stages;
    options.outputStages = outputStages;
    options.polynomialColumns = polynomialColumns;
    options.polynomialDegree = polynomialDegree;
    options.scoresFirst = scoresFirst;
    options.lag = lag;
    options.factorFirst = factorFirst;
    options.scoreBuffers = scoreBuffers;
    options.scoresAhead = scoresAhead;
    options.probabilityParts = probabilityParts;
    options.probabilityBuffers = probabilityBuffers;
    options.queriesInTmem = queriesInTmem;
    options.matmulStages = matmulStages;
    if (auto schedule = kernel->getAttrOfType<ScheduleAttr>("lpfa.schedule")) {
      options.stages = schedule.getStages();
      options.scoresFirst = schedule.getScoresFirst();
      options.scoreBuffers = schedule.getScoreBuffers();
      options.scoresAhead = schedule.getScoresAhead();
      options.queriesInTmem = schedule.getQueriesInTmem();
      options.probabilityParts = schedule.getProbabilityParts();
      options.probabilityBuffers = schedule.getProbabilityBuffers();
    }
    if (options.stages < 1 || outputStages < 1 || matmulStages < 1) {
      kernel.emitOpError("stages must be positive");
      return signalPassFailure();
    }
    if (options.scoreBuffers != 1 && options.scoreBuffers != 2) {
      kernel.emitOpError("score-buffers must be 1 or 2, not ")
          << options.scoreBuffers;
      return signalPassFailure();
    }
    if (options.scoresAhead == 0)
      options.scoresAhead = options.scoreBuffers;
    if (options.scoresAhead < options.scoreBuffers ||
        options.scoresAhead > options.scoreBuffers + 1) {
      kernel.emitOpError("scores-ahead must be score-buffers or one more, not ")
          << options.scoresAhead;
      return signalPassFailure();
    }
    if (options.probabilityBuffers != 1 &&
        options.probabilityBuffers != options.scoreBuffers) {
      kernel.emitOpError("probability-buffers must be 1 or score-buffers, not ")
          << options.probabilityBuffers;
      return signalPassFailure();
    }
    const int64_t maxLag = PScaleAttr::getMaxLag(PScaleMode::RowMax);
    if (lag < -1 || lag > maxLag) {
      kernel.emitOpError("lag must be 0 to ")
          << maxLag << ", or -1 for that of the op, not " << int64_t(lag);
      return signalPassFailure();
    }
    LogicalResult result = has<SoftmaxStepOp>(kernel)
                               ? assignAttentionRoles(kernel, options)
                               : assignMatmulRoles(kernel, options);
    if (failed(result))
      return signalPassFailure();
  }
};
} // namespace
