//===- LPFAToLinalg.h - The tensor level in upstream dialects ---*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_CONVERSION_LPFATOLINALG_LPFATOLINALG_H
#define LPFA_CONVERSION_LPFATOLINALG_LPFATOLINALG_H

#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "mlir/IR/PatternMatch.h"

namespace lpfa {

/// Patterns for `lpfa.quantize` and `lpfa.dequantize`.
void populateQuantizationToLinalgPatterns(mlir::RewritePatternSet &patterns);

/// Patterns for `lpfa.pack_scales` and `lpfa.unpack_scales`.
void populateScaleLayoutToLinalgPatterns(mlir::RewritePatternSet &patterns);

/// Patterns for `lpfa.scatter_scales` and `lpfa.gather_scales`.
void populateJaggedScalesToLinalgPatterns(mlir::RewritePatternSet &patterns);

/// Patterns for `lpfa.rms_norm`.
void populateNormalizationToLinalgPatterns(mlir::RewritePatternSet &patterns);

/// Patterns for `lpfa.matmul`.
void populateMatmulToLinalgPatterns(mlir::RewritePatternSet &patterns);

/// Patterns for `lpfa.attention`.
void populateAttentionToLinalgPatterns(mlir::RewritePatternSet &patterns);

/// The scale of a block of `element` numbers by `rule` (rceil or floor), as the
/// code of an f8E8M0FNU. `magnitude` is the bit pattern, an i32, of the largest
/// |x| as f32, which orders NaN above infinity above all others; where it is
/// not finite the scale is NaN.
mlir::Value emitBlockScale(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value magnitude, mlir::FloatType element,
                           ScaleRule rule);

/// The bit pattern of |x|, an i32, for an f32 `x`. As unsigned integers these
/// have the order of the magnitudes, NaN last.
mlir::Value emitMagnitude(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value x);

} // namespace lpfa

#endif // LPFA_CONVERSION_LPFATOLINALG_LPFATOLINALG_H
