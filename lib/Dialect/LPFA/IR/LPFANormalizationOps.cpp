//===- LPFANormalizationOps.cpp - Verifiers and shapes of normalization ---===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace lpfa;

LogicalResult RMSNormOp::verify() {
  RankedTensorType input = getInput().getType();
  if (input.getRank() < 1)
    return emitOpError("expects an input of rank 1 or more (C1)");
  int64_t width = input.getShape().back();
  int64_t weights = getWeight().getType().getShape()[0];
  if (!ShapedType::isDynamic(width) && !ShapedType::isDynamic(weights) &&
      width != weights)
    return emitOpError("expects a weight for each of ")
           << width << " columns, but got " << weights << " (C2)";
  if (getOutput().getType().getShape() != input.getShape())
    return emitOpError("expects an output of the shape of the input (C3)");
  if (getRstd() && cast<RankedTensorType>(getRstd().getType()).getShape() !=
                       input.getShape().drop_back())
    return emitOpError("expects rstd to have the input's shape without its "
                       "last dimension (C4)");
  if (!getEpsilon().isFinite() || getEpsilon().isNegative())
    return emitOpError("expects a finite epsilon of at least 0 (C5)");
  return success();
}

LogicalResult
RMSNormOp::reifyResultShapes(OpBuilder &builder,
                             ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, getLoc(), getInput());
  shapes = {sizes};
  if (getRstd()) {
    sizes.pop_back();
    shapes.push_back(std::move(sizes));
  }
  return success();
}

LogicalResult RMSNormBackwardOp::verify() {
  RankedTensorType input = getInput().getType();
  if (input.getRank() < 1)
    return emitOpError("expects an input of rank 1 or more (C1)");
  if (getDy().getType().getShape() != input.getShape() ||
      getDx().getType().getShape() != input.getShape())
    return emitOpError("expects gradients of the shape of the input (C2)");
  int64_t width = input.getShape().back();
  int64_t weights = getWeight().getType().getShape()[0];
  if (!ShapedType::isDynamic(width) && !ShapedType::isDynamic(weights) &&
      width != weights)
    return emitOpError("expects a weight for each of ")
           << width << " columns, but got " << weights << " (C3)";
  if (getDweight().getType().getShape() != input.getShape().take_back())
    return emitOpError("expects a gradient of the weight for each column (C3)");
  if (getRstd().getType().getShape() != input.getShape().drop_back())
    return emitOpError("expects rstd to have the input's shape without its "
                       "last dimension (C4)");
  return success();
}

LogicalResult
RMSNormBackwardOp::reifyResultShapes(OpBuilder &builder,
                                     ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, getLoc(), getInput());
  shapes = {sizes, {sizes.back()}};
  return success();
}
