//===- Registration.cpp - Textual names of the pipelines ------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Pipelines.h"
#include "mlir/Pass/PassRegistry.h"

void lpfa::registerPipelines() {
  mlir::PassPipelineRegistration<>(
      "lpfa-reference",
      "Lower tensor-level functions to the LLVM dialect for execution on the "
      "CPU",
      buildReferencePipeline);
  mlir::PassPipelineRegistration<ThreadsToNVVMOptions>(
      "lpfa-threads-to-nvvm",
      "Lower the gpu modules of the threads stage to the llvm and nvvm "
      "dialects "
      "for a chip",
      buildThreadsToNVVMPipeline);
  mlir::PassPipelineRegistration<ToThreadsOptions>(
      "lpfa-to-synchronized",
      "Lower tensor-level functions and kernels to the synchronized stage",
      buildToSynchronizedPipeline);
  mlir::PassPipelineRegistration<ToThreadsOptions>(
      "lpfa-to-threads",
      "Lower tensor-level functions and kernels to the threads stage",
      buildToThreadsPipeline);
  mlir::PassPipelineRegistration<ToThreadsOptions>(
      "lpfa-to-nvvm",
      "Lower tensor-level functions and kernels to the llvm and nvvm dialects",
      buildToNVVMPipeline);
}
