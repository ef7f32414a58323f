//===- NVVMPipeline.cpp - From threads to instructions --------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Conversion/Passes.h"
#include "lpfa/Pipelines.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void lpfa::buildThreadsToNVVMPipeline(OpPassManager &pm,
                                      const ThreadsToNVVMOptions &options) {
  pm.addPass(createAttachTarget({options.chip}));

  OpPassManager &gpu = pm.nest<gpu::GPUModuleOp>();
  gpu.addPass(createCanonicalizerPass());
  gpu.addPass(createCSEPass());
  gpu.addPass(arith::createArithExpandOpsPass());
  gpu.addPass(createSCFToControlFlowPass());
  gpu.addPass(createConvertLPFAToNVVM());

  // Before convert-gpu-to-nvvm, which would turn maxima and math functions into
  // calls of NVIDIA's device library.
  gpu.addPass(createConvertMathToLLVMPass());
  gpu.addPass(createArithToLLVMConversionPass());
  gpu.addPass(createConvertVectorToLLVMPass());
  gpu.addPass(createConvertGpuOpsToNVVMOps());
  gpu.addPass(createConvertIndexToLLVMPass());
  gpu.addPass(createReconcileUnrealizedCastsPass());

  gpu.addPass(createCanonicalizerPass());
  gpu.addPass(createCSEPass());
  gpu.addPass(createVerifyLowered());
}
