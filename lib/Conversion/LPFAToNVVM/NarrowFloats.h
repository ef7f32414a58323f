//===- NarrowFloats.h - Conversions to and from narrow floats -*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_CONVERSION_LPFATONVVM_NARROWFLOATS_H
#define LPFA_LIB_CONVERSION_LPFATONVVM_NARROWFLOATS_H

#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "lpfa/Target/TargetModel.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace lpfa {

/// The chip that `gpuModule` is for, if it is one that we know.
std::optional<TargetModel> getTargetModel(mlir::gpu::GPUModuleOp gpuModule);

/// The words of codes that the op makes, or nothing where its rounding has no
/// instruction on the chip.
mlir::Value buildConvertPacked(mlir::OpBuilder &builder, ConvertPackedOp op);

/// The values of the codes.
mlir::Value buildExtendPacked(mlir::OpBuilder &builder, ExtendPackedOp op);

} // namespace lpfa

#endif // LPFA_LIB_CONVERSION_LPFATONVVM_NARROWFLOATS_H
