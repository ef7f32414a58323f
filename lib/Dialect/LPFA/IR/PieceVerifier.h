//===- PieceVerifier.h - Tiles as pieces of views ---------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_DIALECT_LPFA_IR_PIECEVERIFIER_H
#define LPFA_LIB_DIALECT_LPFA_IR_PIECEVERIFIER_H

#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"

namespace lpfa {
/// Checks that `indices` are one for each dimension of `view` (C1), and that
/// `piece`, a tile or a buffer, can be a piece of it: `constraint` of `op`.
llvm::LogicalResult verifyPiece(mlir::Operation *op, ViewType view,
                                mlir::ValueRange indices,
                                mlir::ShapedType piece,
                                llvm::StringRef constraint);
} // namespace lpfa

#endif // LPFA_LIB_DIALECT_LPFA_IR_PIECEVERIFIER_H
