//===- AttachTarget.cpp - Which chip modules are for ----------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Conversion/Passes.h"
#include "lpfa/Target/TargetModel.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace lpfa {
#define GEN_PASS_DEF_ATTACHTARGET
#include "lpfa/Conversion/Passes.h.inc"

namespace {
struct AttachTarget : impl::AttachTargetBase<AttachTarget> {
  using AttachTargetBase::AttachTargetBase;

  void runOnOperation() override {
    std::optional<TargetModel> model = TargetModel::get(chip);
    if (!model) {
      emitError(getOperation().getLoc())
          << "unknown chip '" << chip << "', expected one of "
          << llvm::join(TargetModel::getChips(), ", ");
      return signalPassFailure();
    }
    auto target = NVVM::NVVMTargetAttr::get(
        &getContext(), /*optLevel=*/3, "nvptx64-nvidia-cuda", model->getChip(),
        model->getFeatures(), /*targetFlags=*/nullptr, /*linkFiles=*/nullptr,
        /*verifyTarget=*/false);
    for (auto gpuModule : getOperation().getOps<gpu::GPUModuleOp>())
      gpuModule.setTargetsAttr(ArrayAttr::get(&getContext(), {target}));
  }
};
} // namespace
} // namespace lpfa
