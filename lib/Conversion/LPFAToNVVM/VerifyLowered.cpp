//===- VerifyLowered.cpp - Nothing is left to lower -----------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Conversion/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace lpfa {
#define GEN_PASS_DEF_VERIFYLOWERED
#include "lpfa/Conversion/Passes.h.inc"

namespace {
struct VerifyLowered : impl::VerifyLoweredBase<VerifyLowered> {
  void runOnOperation() override {
    getOperation().getBodyRegion().walk(
        [&](Operation *op) {
          if (isa_and_present<LLVM::LLVMDialect, NVVM::NVVMDialect>(
                  op->getDialect()))
            return;
          op->emitError("'")
              << op->getName()
              << "' has no instruction: only llvm and nvvm ops may be left";
          signalPassFailure();
        });
  }
};
} // namespace
} // namespace lpfa
