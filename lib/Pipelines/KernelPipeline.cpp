//===- KernelPipeline.cpp - From tensors to threads, and on ---------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "lpfa/Dialect/LPFA/Transforms/Passes.h"
#include "lpfa/Pipelines.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void lpfa::buildToSynchronizedPipeline(OpPassManager &pm,
                                       const ToThreadsOptions &options) {
  ChooseScheduleOptions choose;
  choose.chip = options.chip;
  choose.explain = options.explainChoice;
  choose.ordering = options.ordering;
  auto give = [&](int64_t &given, const auto &option) {
    if (option.hasValue())
      given = option;
  };
  give(choose.queryTiles, options.queryTiles);
  give(choose.keyTile, options.keyTile);
  give(choose.stages, options.stages);
  give(choose.scoreBuffers, options.scoreBuffers);
  give(choose.scoresAhead, options.scoresAhead);
  give(choose.probabilityParts, options.probabilityParts);
  give(choose.probabilityBuffers, options.probabilityBuffers);
  auto giveFlag = [&](std::string &given, const auto &option) {
    if (option.hasValue())
      given = option ? "true" : "false";
  };
  giveFlag(choose.scoresFirst, options.scoresFirst);
  giveFlag(choose.queriesInTmem, options.queriesInTmem);
  pm.addPass(createChooseSchedule(choose));

  FormKernelsOptions form;
  form.queryTiles = options.queryTiles;
  form.keyTile = options.keyTile;
  form.longestFirst = options.longestFirst;
  pm.addPass(createFormKernels(form));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());

  AssignRolesOptions roles;
  roles.stages = options.stages;
  roles.outputStages = options.outputStages;
  roles.polynomialColumns = options.polynomialColumns;
  roles.polynomialDegree = options.polynomialDegree;
  roles.lag = options.lag;
  roles.factorFirst = options.factorFirst;
  roles.scoresFirst = options.scoresFirst;
  roles.scoreBuffers = options.scoreBuffers;
  roles.scoresAhead = options.scoresAhead;
  roles.probabilityParts = options.probabilityParts;
  roles.probabilityBuffers = options.probabilityBuffers;
  roles.queriesInTmem = options.queriesInTmem;
  roles.matmulStages = options.matmulStages;
  OpPassManager &kernels = pm.nest<KernelOp>();
  kernels.addPass(createAssignRoles(roles));
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createCSEPass());
  PlaceTilesOptions places;
  places.peelPrologue = options.peelPrologue;
  kernels.addPass(createPlaceTiles(places));
  kernels.addPass(createInsertBarriers({options.ordering}));
  if (options.verifySchedule)
    kernels.addPass(createVerifySchedule({options.ordering}));
}

void lpfa::buildToThreadsPipeline(OpPassManager &pm,
                                  const ToThreadsOptions &options) {
  buildToSynchronizedPipeline(pm, options);
  pm.addNestedPass<KernelOp>(createSplitMaskedLoops());

  DistributeToThreadsOptions threads;
  threads.chip = options.chip;
  pm.addPass(createDistributeToThreads(threads));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void lpfa::buildToNVVMPipeline(OpPassManager &pm,
                               const ToThreadsOptions &options) {
  buildToThreadsPipeline(pm, options);
  ThreadsToNVVMOptions nvvmOptions;
  nvvmOptions.chip = options.chip;
  buildThreadsToNVVMPipeline(pm, nvvmOptions);
}
