//===- LPFATileOps.cpp - Verifiers of the ops on tile values --------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PieceVerifier.h"
#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"

using namespace mlir;
using namespace lpfa;

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

LogicalResult lpfa::verifyPiece(Operation *op, ViewType view,
                                ValueRange indices, ShapedType piece,
                                StringRef constraint) {
  if (int64_t(indices.size()) != view.getRank())
    return op->emitOpError("must have an index for each dimension of ")
           << view << " (C1)";
  if (piece.getRank() > view.getRank() ||
      piece.getElementType() != view.getElementType())
    return op->emitOpError("moves ") << piece << ", which is no piece of "
                                     << view << " (" << constraint << ")";
  return success();
}

LogicalResult LoadOp::verify() {
  return verifyPiece(*this, getView().getType(), getIndices(),
                     getTile().getType(), "C2");
}

LogicalResult StoreOp::verify() {
  return verifyPiece(*this, getView().getType(), getIndices(),
                     getTile().getType(), "C2");
}

LogicalResult PackAtomOp::verify() {
  std::array<int64_t, 2> expected = {128, 4};
  if (getTransposed())
    expected = {4, 128};
  if (getScales().getType().getShape() != ArrayRef<int64_t>(expected) ||
      getAtom().getType() != TileType::getAtom(getContext()))
    return emitOpError("must pack 128x4 scales, or 4x128 transposed, into an "
                       "atom (C1)");
  return success();
}

LogicalResult DotOp::verify() {
  TileType a = getA().getType(), b = getB().getType(),
           d = getResult().getType();
  if (a.getRank() != 2 || b.getRank() != 2 || d.getRank() != 2)
    return emitOpError("must multiply matrices (C1)");
  int64_t m = a.getShape()[0], k = a.getShape()[1];
  int64_t bk = b.getShape()[getTransposeB() ? 1 : 0];
  int64_t n = b.getShape()[getTransposeB() ? 0 : 1];
  if (k != bk || d.getShape() != ArrayRef<int64_t>{m, n} || k % 32 ||
      !d.getElementType().isF32())
    return emitOpError("shapes must agree, with the inner size a multiple of "
                       "32 and an f32 result (C1)");
  TileType atom = TileType::getAtom(getContext());
  if (getScalesA().getType() != atom || getScalesB().getType() != atom ||
      m > 128 || n > 128 || k > 128)
    return emitOpError("scales must be one atom each, sizes at most 128 (C2)");
  return success();
}

LogicalResult ApplyMaskOp::verify() {
  if (getScores().getType().getRank() != 2 ||
      !getScores().getType().getElementType().isF32())
    return emitOpError("must mask an f32 matrix");
  return success();
}

LogicalResult SoftmaxStepOp::verify() {
  TileType scores = getScores().getType();
  if (scores.getRank() != 2 || !scores.getElementType().isF32() ||
      scores.getShape()[1] % 32 || scores.getShape()[1] > 128)
    return emitOpError("scores must be f32, with a multiple of 32 and at most "
                       "128 columns (C1)");
  TileType row = scores.getRow();
  for (Value value : {getMaximum(), getSum(), getLargest(), getNewMaximum(),
                      getNewSum(), getNewLargest(), getFactor()})
    if (value.getType() != row)
      return emitOpError("the state must be one f32 a row (C2)");
  TileType probabilities = getProbabilities().getType();
  if (probabilities.getShape() != scores.getShape() ||
      probabilities.getElementType() != getPScale().getElement() ||
      getScales().getType() != TileType::getAtom(getContext()))
    return emitOpError("probabilities must have the scores' shape and the "
                       "element type of p_scale, their scales one atom (C2)");
  if (std::optional<uint64_t> columns = getPolynomialColumns()) {
    if (*columns < 2 || *columns > 30 || *columns % 2)
      return emitOpError("computes ")
             << *columns << " of 32 columns as polynomials, which must be an "
             << "even number from 2 to 30 (C3)";
    if (getPolynomialDegree() != 3 && getPolynomialDegree() != 4)
      return emitOpError("has polynomials of degree ")
             << *getPolynomialDegree() << ", which must be 3 or 4 (C3)";
  }
  return success();
}

LogicalResult NormalizeOp::verify() {
  TileType tile = getTile().getType(), result = getResult().getType();
  if (!tile.getElementType().isF32() || tile.getShape() != result.getShape() ||
      !isa<Float32Type, Float16Type, BFloat16Type>(result.getElementType()) ||
      getDenominator().getType() != tile.getRow())
    return emitOpError("must divide an f32 tile by one f32 a row, to f32, f16 "
                       "or bf16 of the same shape (C1)");
  return success();
}
