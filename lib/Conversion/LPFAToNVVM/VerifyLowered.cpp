//===- VerifyLowered.cpp - Nothing is left to lower -----------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NarrowFloats.h"
#include "lpfa/Conversion/Passes.h"
#include "lpfa/Target/TargetModel.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace lpfa {
#define GEN_PASS_DEF_VERIFYLOWERED
#include "lpfa/Conversion/Passes.h.inc"

namespace {
/// Whether the chip has the instruction of `op`, if that came with tensor
/// memory or later.
bool hasInstruction(const TargetModel &model, Operation *op) {
  if (auto assembly = dyn_cast<LLVM::InlineAsmOp>(op)) {
    if (assembly.getAsmString().contains("tcgen05.ld.red"))
      return model.hasTensorMemoryReduction();
    return model.hasTensorMemory() ||
           !assembly.getAsmString().contains("tcgen05");
  }
  if (model.hasTensorMemory())
    return true;
  return !op->getName().getStringRef().starts_with("nvvm.tcgen05");
}

struct VerifyLowered : impl::VerifyLoweredBase<VerifyLowered> {
  void runOnOperation() override {
    std::optional<TargetModel> model = getTargetModel(getOperation());
    getOperation().getBodyRegion().walk(
        [&](Operation *op) {
          if (!isa_and_present<LLVM::LLVMDialect, NVVM::NVVMDialect>(
                  op->getDialect())) {
            op->emitError("'")
                << op->getName()
                << "' has no instruction: only llvm and nvvm ops may be left";
            return signalPassFailure();
          }
          if (model && !hasInstruction(*model, op)) {
            op->emitError("'") << op->getName() << "' has no instruction on "
                               << model->getChip();
            signalPassFailure();
          }
        });
  }
};
} // namespace
} // namespace lpfa
