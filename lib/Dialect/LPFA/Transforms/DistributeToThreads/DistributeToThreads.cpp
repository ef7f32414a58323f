//===- DistributeToThreads.cpp - From roles to threads --------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelDistribution.h"
#include "lpfa/Dialect/LPFA/Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "llvm/ADT/StringExtras.h"

namespace lpfa {
#define GEN_PASS_DEF_DISTRIBUTETOTHREADS
#include "lpfa/Dialect/LPFA/Transforms/Passes.h.inc"
} // namespace lpfa

using namespace mlir;
using namespace lpfa;

namespace {
struct DistributeToThreads
    : lpfa::impl::DistributeToThreadsBase<DistributeToThreads> {
  using DistributeToThreadsBase::DistributeToThreadsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<TargetModel> target = TargetModel::get(chip);
    if (!target) {
      module.emitError("unknown chip '")
          << chip << "', expected one of "
          << llvm::join(TargetModel::getChips(), ", ");
      return signalPassFailure();
    }
    SymbolTable symbols(module);
    for (auto kernel : llvm::make_early_inc_range(module.getOps<KernelOp>()))
      if (failed(distribute(kernel, *target, symbols)))
        return signalPassFailure();
  }

  LogicalResult distribute(KernelOp kernel, const TargetModel &target,
                           SymbolTable &symbols) {
    Stage stage = kernel.getStage();
    if (stage != Stage::Synchronized && stage != Stage::Tile)
      return kernel.emitOpError("must be at the synchronized stage, but is at "
                                "the ")
             << stringifyStage(stage) << " stage";

    OpBuilder builder(kernel);
    auto gpuModule = gpu::GPUModuleOp::create(
        builder, kernel.getLoc(), (kernel.getSymName() + "_module").str());
    symbols.insert(gpuModule, Block::iterator(kernel));
    builder.setInsertionPointToStart(gpuModule.getBody());
    if (failed(KernelDistribution(kernel, target, builder).run()))
      return failure();

    auto callee =
        SymbolRefAttr::get(gpuModule.getSymNameAttr(),
                           FlatSymbolRefAttr::get(kernel.getSymNameAttr()));
    getOperation().walk([&](LaunchOp launch) {
      if (launch.getCallee() == FlatSymbolRefAttr::get(kernel.getSymNameAttr()))
        launch.setCalleeAttr(callee);
    });
    symbols.erase(kernel);
    return success();
  }
};
} // namespace
