//===- AttentionProgram.h - Attention's tile program -----------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_DIALECT_LPFA_TRANSFORMS_ASSIGNROLES_ATTENTIONPROGRAM_H
#define LPFA_LIB_DIALECT_LPFA_TRANSFORMS_ASSIGNROLES_ATTENTIONPROGRAM_H

#include "RoleBuilder.h"

namespace lpfa {

/// An operand of products: tiles, each followed by its atom of scales, for the
/// panels of a head dimension.
using Operand = llvm::SmallVector<LoadOp, 4>;

/// The product of a query tile with a panel of values, to its end.
struct Output {
  RescaleOp rescale;
  DotOp product;
  NormalizeOp normalize;
  StoreOp store;
};

/// The ops of one query tile: scores, softmax, outputs.
struct Chain {
  Operand q;
  /// Products that add up to the scores, one for each panel of queries.
  llvm::SmallVector<DotOp, 2> scores;
  ApplyMaskOp mask;
  SoftmaxStepOp softmax;
  llvm::SmallVector<Output, 2> outputs;
  SoftmaxFinishOp finish;
  StoreOp lseStore;
};

/// A tile program of attention.
struct AttentionProgram : SteppedProgram<KeyRangeOp> {
  Operand k, v;
  llvm::SmallVector<Chain> chains;
};

/// The ops of attention in a kernel over tiles, or an error at the op that is
/// not as expected.
mlir::FailureOr<AttentionProgram> matchAttention(KernelOp kernel);

} // namespace lpfa

#endif // LPFA_LIB_DIALECT_LPFA_TRANSFORMS_ASSIGNROLES_ATTENTIONPROGRAM_H
