//===- LPFANormalizationTileOps.cpp - Verifiers of gradients of tiles -----===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"

using namespace mlir;
using namespace lpfa;

static bool isWideTile(TileType tile) {
  Type element = tile.getElementType();
  return element.isF32() || element.isBF16() || element.isF16();
}

/// C1 of the ops that take gradients and inputs.
template <typename OpTy>
static LogicalResult verifyMatrices(OpTy op, ArrayRef<TileType> tiles) {
  for (TileType tile : tiles)
    if (tile.getRank() != 2 || !isWideTile(tile) ||
        tile.getShape() != tiles.front().getShape())
      return op.emitOpError("must have f32, bf16 or f16 matrices of one shape "
                            "(C1)");
  return success();
}

static bool isWeightOf(TileType weight, TileType input) {
  return isWideTile(weight) &&
         weight.getShape() == input.getShape().take_back();
}

/// Whether `sums` are the partial sums of `rows` rows.
static bool arePartialSums(TileType sums, int64_t rows) {
  return sums.getElementType().isF32() &&
         sums.getShape() ==
             ArrayRef<int64_t>{rows, SumSquaresTileOp::kPartialSums};
}

LogicalResult SumProductsTileOp::verify() {
  TileType input = getInput().getType();
  if (failed(verifyMatrices(*this, {input, getDy().getType()})))
    return failure();
  if (!isWeightOf(getWeight().getType(), input) ||
      getRstd().getType() != input.getRow() ||
      !arePartialSums(getSums().getType(), input.getShape()[0]))
    return emitOpError("must have an f32, bf16 or f16 weight for each column, "
                       "and an f32 factor and 1,024 f32 for each row (C2)");
  return success();
}

LogicalResult WeightGradientTileOp::verify() {
  TileType input = getInput().getType(), sums = getSums().getType();
  if (failed(verifyMatrices(*this, {input, getDy().getType()})))
    return failure();
  if (getRstd().getType() != input.getRow() || !sums.getElementType().isF32() ||
      sums.getShape() != input.getShape())
    return emitOpError("must have an f32 factor for each row and an f32 for "
                       "each element (C2)");
  return success();
}

LogicalResult MeanTileOp::verify() {
  TileType sums = getSums().getType();
  if (sums.getRank() != 2 || !arePartialSums(sums, sums.getShape()[0]) ||
      getMean().getType() != sums.getRow())
    return emitOpError("must make an f32 for each row of 1,024 f32 (C1)");
  return success();
}

LogicalResult RMSNormBackwardTileOp::verify() {
  TileType input = getInput().getType();
  if (failed(
          verifyMatrices(*this, {input, getDy().getType(), getDx().getType()})))
    return failure();
  if (!isWeightOf(getWeight().getType(), input) ||
      getRstd().getType() != input.getRow())
    return emitOpError("must have an f32, bf16 or f16 weight for each column "
                       "and f32 factors for each row (C2)");
  return success();
}

LogicalResult AddTileOp::verify() {
  TileType type = getSum().getType();
  if (type.getRank() != 2 || !type.getElementType().isF32())
    return emitOpError("must add f32 matrices, not ") << type << " (C1)";
  return success();
}

LogicalResult SumColumnsTileOp::verify() {
  TileType tile = getTile().getType(), result = getResult().getType();
  if (tile.getRank() != 2 || !tile.getElementType().isF32() ||
      tile.getShape()[0] != RMSNormBackwardOp::kColumnSums ||
      !isWeightOf(result, tile))
    return emitOpError(
        "must have 256 f32 rows and an f32, bf16 or f16 for each "
        "column (C1)");
  return success();
}
