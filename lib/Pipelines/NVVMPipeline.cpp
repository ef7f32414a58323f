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
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

/// Bits of an index: coordinates and loop counters. Half the registers of 64
/// bits; sizes of a dimension are below 2^31, addresses are computed in 64.
constexpr unsigned kIndexBits = 32;

void lpfa::buildThreadsToNVVMPipeline(OpPassManager &pm,
                                      const ThreadsToNVVMOptions &options) {
  pm.addPass(createAttachTarget({options.chip}));

  OpPassManager &gpu = pm.nest<gpu::GPUModuleOp>();
  gpu.addPass(createCanonicalizerPass());
  gpu.addPass(createCSEPass());
  gpu.addPass(createSCFToControlFlowPass());
  gpu.addPass(createConvertLPFAToNVVM());

  // Before convert-gpu-to-nvvm, which would turn maxima and math functions into
  // calls of NVIDIA's device library.
  gpu.addPass(createConvertMathToLLVMPass());
  gpu.addPass(createArithToLLVMConversionPass({kIndexBits}));
  gpu.addPass(createConvertVectorToLLVMPass());
  ConvertGpuOpsToNVVMOpsOptions gpuOptions;
  gpuOptions.indexBitwidth = kIndexBits;
  gpu.addPass(createConvertGpuOpsToNVVMOps(gpuOptions));
  gpu.addPass(createConvertIndexToLLVMPass({kIndexBits}));
  gpu.addPass(createReconcileUnrealizedCastsPass());

  gpu.addPass(createCanonicalizerPass());
  gpu.addPass(createCSEPass());
  gpu.addPass(createVerifyLowered());
}
