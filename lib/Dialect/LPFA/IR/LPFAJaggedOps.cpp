//===- LPFAJaggedOps.cpp - Verifiers and shapes of packed sequences -------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScaleShapes.h"
#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace lpfa;

/// The first checks of both ops: ranks, the atoms' shape, and the offsets.
static LogicalResult verifyJagged(Operation *op, RankedTensorType scales,
                                  RankedTensorType blocked,
                                  RankedTensorType offsets) {
  if (scales.getRank() < 2)
    return op->emitOpError("expects scales of rank 2 or more (C1)");
  ArrayRef<int64_t> shape = blocked.getShape();
  if (blocked.getRank() != scales.getRank() + 3 ||
      shape.take_back(3) != ArrayRef<int64_t>({32, 4, 4}) ||
      shape.take_front(scales.getRank() - 2) != scales.getShape().drop_back(2))
    return op->emitOpError("expects blocked scales with the batch dimensions "
                           "of the scales that end in 32x4x4 (C2)");
  if (offsets.getShape()[0] == 0)
    return op->emitOpError("expects at least one offset (C3)");
  return success();
}

/// The expressions of the two sizes of atoms, of the last two sizes of the
/// scales (d0, d1) and the number of offsets (d2).
static std::array<AffineExpr, 2> getAtomSizes(MLIRContext *context,
                                              bool transposed) {
  AffineExpr d0, d1, d2;
  bindDims(context, d0, d1, d2);
  if (transposed)
    return {d1.ceilDiv(128), (d0 + (d2 - 1) * 3).floorDiv(4)};
  return {(d0 + (d2 - 1) * 127).floorDiv(128), d1.ceilDiv(4)};
}

LogicalResult ScatterScalesOp::verify() {
  RankedTensorType scales = getScales().getType(),
                   blocked = getBlocked().getType(),
                   offsets = getOffsets().getType();
  if (failed(verifyJagged(*this, scales, blocked, offsets)))
    return failure();
  // Where all sizes of an expression are known, so is what it gives.
  SmallVector<Attribute> sizes;
  for (int64_t size : {scales.getShape().drop_back().back(),
                       scales.getShape().back(), offsets.getShape()[0]})
    sizes.push_back(ShapedType::isDynamic(size)
                        ? Attribute()
                        : IntegerAttr::get(IndexType::get(getContext()), size));
  for (auto [index, expr] :
       llvm::enumerate(getAtomSizes(getContext(), getTransposed()))) {
    int64_t actual = blocked.getShape()[scales.getRank() - 2 + index];
    bool isKnown = true;
    for (auto [dim, size] : llvm::enumerate(sizes))
      if (expr.isFunctionOfDim(dim) && !size)
        isKnown = false;
    int64_t expected = ShapedType::kDynamic;
    if (isKnown) {
      SmallVector<AffineExpr> values;
      for (Attribute size : sizes)
        values.push_back(getAffineConstantExpr(
            size ? cast<IntegerAttr>(size).getInt() : 0, getContext()));
      expected = cast<AffineConstantExpr>(expr.replaceDims(values)).getValue();
    }
    if (actual != expected) {
      InFlightDiagnostic diag = emitOpError("expects dimension ");
      diag << scales.getRank() - 2 + int64_t(index)
           << " of the blocked scales to be ";
      if (isKnown)
        return diag << expected << " (C2)";
      return diag << "dynamic (C2)";
    }
  }
  return success();
}

LogicalResult
ScatterScalesOp::reifyResultShapes(OpBuilder &builder,
                                   ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, getLoc(), getScales());
  SmallVector<OpFoldResult> operands(ArrayRef(sizes).take_back(2));
  operands.push_back(tensor::getMixedSize(builder, getLoc(), getOffsets(), 0));
  sizes.truncate(sizes.size() - 2);
  for (AffineExpr expr : getAtomSizes(getContext(), getTransposed()))
    sizes.push_back(affine::makeComposedFoldedAffineApply(
        builder, getLoc(), AffineMap::get(3, 0, expr), operands));
  for (int64_t size : {32, 4, 4})
    sizes.push_back(builder.getIndexAttr(size));
  shapes = {std::move(sizes)};
  return success();
}

LogicalResult GatherScalesOp::verify() {
  RankedTensorType scales = getScales().getType();
  if (failed(verifyJagged(*this, scales, getBlocked().getType(),
                          getOffsets().getType())))
    return failure();
  size_t open =
      llvm::count_if(scales.getShape().take_back(2), ShapedType::isDynamic);
  if (getSizes().size() != open)
    return emitOpError("expects ")
           << open << " sizes, one for each dynamic one of the last two "
           << "dimensions of the result, but got " << getSizes().size()
           << " (C4)";
  return success();
}

LogicalResult
GatherScalesOp::reifyResultShapes(OpBuilder &builder,
                                  ReifiedRankedShapedTypeDims &shapes) {
  shapes = {reifyRowMajorScales(builder, getLoc(), getScales().getType(),
                                getBlocked(), getSizes())};
  return success();
}
