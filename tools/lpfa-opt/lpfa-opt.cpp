//===- lpfa-opt.cpp - The optimizer driver of lpfa ------------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Conversion/Passes.h"
#include "lpfa/Dialect/LPFA/IR/LPFADialect.h"
#include "lpfa/Dialect/LPFA/Transforms/Passes.h"
#include "lpfa/Pipelines.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<lpfa::LPFADialect>();
  mlir::registerAllPasses();
  lpfa::registerLPFAConversionPasses();
  lpfa::registerLPFATransformsPasses();
  lpfa::registerPipelines();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "lpfa optimizer driver\n", registry));
}
