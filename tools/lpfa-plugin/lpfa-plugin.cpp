//===- lpfa-plugin.cpp - lpfa's dialect and passes for any mlir-opt -------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mlir-opt --load-dialect-plugin=libLPFAPlugin.so
//          --load-pass-plugin=libLPFAPlugin.so
//
// The plugin and the tool that loads it must share one libMLIR.
//
//===----------------------------------------------------------------------===//

#include "lpfa/Conversion/Passes.h"
#include "lpfa/Dialect/LPFA/IR/LPFADialect.h"
#include "lpfa/Dialect/LPFA/Transforms/Passes.h"
#include "lpfa/Pipelines.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "lpfa", LPFA_VERSION,
          [](mlir::DialectRegistry *registry) {
            registry->insert<lpfa::LPFADialect>();
          }};
}

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "lpfa", LPFA_VERSION, [] {
            lpfa::registerLPFAConversionPasses();
            lpfa::registerLPFATransformsPasses();
            lpfa::registerPipelines();
          }};
}
