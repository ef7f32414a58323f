//===- ScaleShapes.h - Sizes of row-major scales ----------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_DIALECT_LPFA_IR_SCALESHAPES_H
#define LPFA_LIB_DIALECT_LPFA_IR_SCALESHAPES_H

#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"

namespace lpfa {
/// The sizes of `scales`, made from the blocked ones: batches are those of
/// `blocked`, and `open` has the sizes that the type leaves open among the last
/// two.
llvm::SmallVector<mlir::OpFoldResult>
reifyRowMajorScales(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::RankedTensorType scales, mlir::Value blocked,
                    mlir::ValueRange open);
} // namespace lpfa

#endif // LPFA_LIB_DIALECT_LPFA_IR_SCALESHAPES_H
