//===- Compiler.cpp - From a module to kernels that can be launched -------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Target/Compiler.h"
#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "lpfa/Target/PTX.h"
#include "lpfa/Target/PlanExtraction.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace lpfa;

/// Runs a phase and verifies what it leaves: to verify after each pass, as
/// lpfa-opt does, would take a fifth of the time to PTX.
static LogicalResult runPhase(ModuleOp module,
                              function_ref<void(PassManager &)> build) {
  PassManager pm(module.getContext(), ModuleOp::getOperationName());
  pm.enableVerifier(false);
  build(pm);
  return failure(failed(pm.run(module)) || failed(verify(module)));
}

LogicalResult lpfa::lowerToSynchronized(ModuleOp module,
                                        const CompilerOptions &options) {
  return runPhase(module, [&](PassManager &pm) {
    buildToSynchronizedPipeline(pm, options.pipeline);
  });
}

LogicalResult lpfa::lowerToThreads(ModuleOp module,
                                   const CompilerOptions &options) {
  return runPhase(module, [&](PassManager &pm) {
    buildToThreadsPipeline(pm, options.pipeline);
  });
}

LogicalResult lpfa::lowerThreadsToNVVM(ModuleOp module,
                                       const CompilerOptions &options) {
  ThreadsToNVVMOptions pipelineOptions;
  pipelineOptions.chip = options.pipeline.chip;
  return runPhase(module, [&](PassManager &pm) {
    buildThreadsToNVVMPipeline(pm, pipelineOptions);
  });
}

static FailureOr<ModulePlan> extractPlan(ModuleOp module) {
  ModulePlan plan;
  for (auto gpuModule : module.getOps<gpu::GPUModuleOp>())
    if (ArrayAttr targets = gpuModule.getTargetsAttr())
      for (Attribute attr : targets)
        if (auto target = dyn_cast<NVVM::NVVMTargetAttr>(attr))
          plan.chip = target.getChip().str();
  for (auto func : module.getOps<func::FuncOp>()) {
    bool launches = func.walk([](LaunchOp) { return WalkResult::interrupt(); })
                        .wasInterrupted();
    if (!launches)
      continue;
    FailureOr<LaunchPlan> function = extractLaunchPlan(func);
    if (failed(function))
      return failure();
    plan.functions.push_back(std::move(*function));
  }
  return plan;
}

FailureOr<CompiledModule> lpfa::emitModule(ModuleOp module) {
  FailureOr<ModulePlan> plan = extractPlan(module);
  if (failed(plan))
    return failure();
  CompiledModule compiled;
  compiled.plan = std::move(*plan);
  for (auto gpuModule : module.getOps<gpu::GPUModuleOp>()) {
    FailureOr<std::string> text = emitPTX(gpuModule);
    if (failed(text))
      return failure();
    compiled.modules.push_back({gpuModule.getName().str(), std::move(*text)});
  }
  return compiled;
}

FailureOr<CompiledModule> lpfa::compile(ModuleOp module,
                                        const CompilerOptions &options) {
  if (failed(lowerToThreads(module, options)) ||
      failed(lowerThreadsToNVVM(module, options)))
    return failure();
  return emitModule(module);
}
