//===- LPFAToLinalg.cpp - The tensor level in upstream dialects -----------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Conversion/LPFAToLinalg/LPFAToLinalg.h"
#include "lpfa/Conversion/Passes.h"
#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/DialectConversion.h"

namespace lpfa {
#define GEN_PASS_DEF_CONVERTLPFATOLINALG
#include "lpfa/Conversion/Passes.h.inc"
} // namespace lpfa

using namespace mlir;
using namespace lpfa;

namespace {
struct ConvertLPFAToLinalg
    : lpfa::impl::ConvertLPFAToLinalgBase<ConvertLPFAToLinalg> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateQuantizationToLinalgPatterns(patterns);
    populateScaleLayoutToLinalgPatterns(patterns);
    populateJaggedScalesToLinalgPatterns(patterns);
    populateNormalizationToLinalgPatterns(patterns);
    populateMatmulToLinalgPatterns(patterns);
    populateAttentionToLinalgPatterns(patterns);

    ConversionTarget target(getContext());
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addIllegalOp<QuantizeOp, DequantizeOp, PackScalesOp, UnpackScalesOp,
                        ScatterScalesOp, GatherScalesOp, RMSNormOp,
                        RMSNormBackwardOp, MatmulOp, AttentionOp>();
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
