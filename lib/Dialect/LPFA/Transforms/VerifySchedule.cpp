//===- VerifySchedule.cpp - Is a kernel's schedule right? -----------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Analysis/Schedule.h"
#include "lpfa/Analysis/ScheduleVerifier.h"
#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "lpfa/Dialect/LPFA/Transforms/Passes.h"
#include "mlir/IR/Remarks.h"

namespace lpfa {
#define GEN_PASS_DEF_VERIFYSCHEDULE
#include "lpfa/Dialect/LPFA/Transforms/Passes.h.inc"
} // namespace lpfa

using namespace mlir;
using namespace lpfa;

namespace {
struct VerifySchedule : public lpfa::impl::VerifyScheduleBase<VerifySchedule> {
  using VerifyScheduleBase::VerifyScheduleBase;

  /// Whether puts and gets balance, and no role waits for itself by way of
  /// others, whichever waits will be chosen. Of a placed kernel, whether waits
  /// can keep right what shares memory, and which.
  void verifyRoles() {
    KernelOp kernel = getOperation();
    auto &traces = getAnalysis<KernelTraces>().traces;
    if (failed(traces))
      return signalPassFailure();
    if (kernel.getStage() == Stage::Placed) {
      ScheduleAnalysis analysis(*traces);
      analysis.addOverlaps(kernel);
      ScheduleConflict conflict;
      auto waits = analysis.findWaits(&conflict);
      if (!waits) {
        (void)emitConflict(kernel, conflict);
        return signalPassFailure();
      }
      for (auto [wait, reason] : llvm::zip_equal(*waits, analysis.getReasons()))
        if (wait.kind == WaitEdge::Overlap || wait.kind == WaitEdge::WorkTile)
          remark::analysis(wait.op->getLoc(),
                           remark::RemarkOpts::name("overlap-needs")
                               .category("lpfa-schedule")
                               .function(kernel.getSymName()))
              << describe(wait, reason);
      return;
    }
    auto waitsForEver = [](const Trace &trace) {
      return trace.close([](const WaitEdge &) { return true; }).isCyclic();
    };
    if (llvm::none_of(*traces, waitsForEver))
      return;
    kernel.emitOpError("deadlock: roles wait for each other's puts, "
                       "releases and gives in a circle");
    signalPassFailure();
  }

  void runOnOperation() override {
    markAllAnalysesPreserved();
    KernelOp kernel = getOperation();
    if (kernel.getStage() == Stage::Tile)
      return;
    if (kernel.getStage() != Stage::Synchronized)
      return verifyRoles();
    FailureOr<ScheduleVerdict> verdict = verifySchedule(kernel, ordering);
    if (failed(verdict))
      return signalPassFailure();
    if (verdict->finding) {
      verdict->finding->emit();
      return signalPassFailure();
    }
    remark::analysis(kernel.getLoc(),
                     remark::RemarkOpts::name("schedule-verdict")
                         .category("lpfa-schedule")
                         .function(kernel.getSymName()))
        << verdict->describe();
  }
};
} // namespace
