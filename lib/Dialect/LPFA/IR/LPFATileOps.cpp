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

template <typename OpTy> static LogicalResult verifyAccess(OpTy op) {
  TileType tile = op.getTile().getType();
  if (failed(
          verifyPiece(op, op.getView().getType(), op.getIndices(), tile, "C2")))
    return failure();
  if (op.getRows() && tile.getRank() != 2)
    return op.emitOpError("can leave out rows of matrices only, not of ")
           << tile << " (C3)";
  return success();
}

LogicalResult LoadOp::verify() {
  if (getAhead() && (getRows() || !(*this)->getParentOfType<ForWorkOp>()))
    return emitOpError("can be ahead of a work tile only, and with all rows "
                       "(C4)");
  return verifyAccess(*this);
}

LogicalResult StoreOp::verify() { return verifyAccess(*this); }

LogicalResult SequenceTileOp::verify() {
  ViewType offsets = getOffsets().getType();
  if (offsets.getRank() != 1 || !offsets.getElementType().isInteger(32))
    return emitOpError("must have offsets in an i32 view of one dimension, not "
                       "in ")
           << offsets << " (C1)";
  return success();
}

static LogicalResult verifyAtom(Operation *op, TileType scales, TileType atom,
                                bool transposed) {
  SmallVector<int64_t> expected = {128, 4 * atom.getAtoms()};
  if (transposed)
    std::swap(expected[0], expected[1]);
  if (!atom.isAtom() || scales.getShape() != ArrayRef(expected) ||
      scales.getElementType() != atom.getElementType())
    return op->emitOpError("must have 128x4 scales, or 4x128 transposed, for "
                           "each atom (C1)");
  return success();
}

/// Whether `parts` are of atoms of which `scales` has some rows, or groups.
static bool arePartsOfAtoms(TileType scales, TileType parts, bool transposed) {
  ArrayRef<int64_t> shape = parts.getShape();
  if (scales.getElementType() != parts.getElementType() ||
      shape.size() != (transposed ? 5 : 4))
    return false;
  int64_t atoms = shape.front(), part = shape[transposed ? 4 : 2];
  SmallVector<int64_t> expected, packed;
  if (transposed) {
    expected = {part, 128 * atoms};
    packed = {atoms, 1, 32, 4, part};
  } else {
    expected = {32 * part, 4 * atoms};
    packed = {atoms, 32, part, 4};
  }
  return (part == 1 || part == 2 || part == 4) && shape == ArrayRef(packed) &&
         scales.getShape() == ArrayRef(expected);
}

LogicalResult PackAtomOp::verify() {
  TileType scales = getScales().getType(), atom = getAtom().getType();
  if (arePartsOfAtoms(scales, atom, getTransposed()))
    return success();
  return verifyAtom(*this, scales, atom, getTransposed());
}

LogicalResult UnpackAtomOp::verify() {
  return verifyAtom(*this, getScales().getType(), getAtom().getType(),
                    getTransposed());
}

//===----------------------------------------------------------------------===//
// Quantization
//===----------------------------------------------------------------------===//

static bool isWideTile(TileType tile) {
  Type element = tile.getElementType();
  return element.isF32() || element.isBF16() || element.isF16();
}

/// What quantize_tile and dequantize_tile say of the shapes of scales.
static LogicalResult verifyScaleTile(Operation *op, TileType elements,
                                     TileType scales, int64_t axis,
                                     StringRef constraint) {
  int64_t block = getBlockSize(scales);
  SmallVector<int64_t> expected(elements.getShape());
  bool divides = expected[axis] % block == 0;
  expected[axis] /= block;
  if (!isa<Float8E8M0FNUType, Float8E4M3FNType>(scales.getElementType()) ||
      !divides || scales.getShape() != ArrayRef(expected))
    return op->emitOpError("must have one scale for each ")
           << block << " elements of " << elements << " along axis " << axis
           << " " << constraint;
  return success();
}

/// Which types of elements and scales go together, and with a global scale.
static LogicalResult verifyScaleTypes(Operation *op, TileType elements,
                                      TileType scales, Value globalScale,
                                      StringRef constraint) {
  bool isNV = isa<Float8E4M3FNType>(scales.getElementType());
  bool isScalar = false;
  if (globalScale) {
    auto tile = cast<TileType>(globalScale.getType());
    isScalar = tile.getShape().empty() && tile.getElementType().isF32();
  }
  if (isNV != bool(globalScale) || isNV != isScalar ||
      (isNV && !isa<Float4E2M1FNType>(elements.getElementType())))
    return op->emitOpError("must have f4E2M1FN elements and one f32 global "
                           "scale with f8E4M3FN scales, and no global scale "
                           "with others ")
           << constraint;
  return success();
}

LogicalResult QuantizeTileOp::verify() {
  TileType input = getInput().getType(), elements = getElements().getType(),
           scales = getScales().getType();
  int64_t rank = input.getRank(), axis = getAxis();
  if (!isWideTile(input) || rank < 1 || rank > 2 || axis >= rank)
    return emitOpError("must quantize an f32, bf16 or f16 tile of one or two "
                       "dimensions along one of them (C1)");
  if (elements.getShape() != input.getShape() ||
      !isMXElementType(elements.getElementType()))
    return emitOpError("must have MX elements of the tile's shape (C2)");
  if (failed(verifyScaleTile(*this, input, scales, axis, "(C2)")))
    return failure();
  if (getSquare() && (rank != 2 || getGlobalScale() ||
                      llvm::any_of(input.getShape(), [](int64_t size) {
                        return size % kBlockSize;
                      })))
    return emitOpError("must have whole squares of 32x32 elements and scales "
                       "of f8E8M0FNU (C3)");
  return verifyScaleTypes(*this, elements, scales, getGlobalScale(), "(C4)");
}

LogicalResult DequantizeTileOp::verify() {
  TileType output = getOutput().getType(), elements = getElements().getType(),
           scales = getScales().getType();
  int64_t rank = elements.getRank(), axis = getAxis();
  if (!isMXElementType(elements.getElementType()) || rank < 1 || rank > 2 ||
      axis >= rank)
    return emitOpError("must dequantize an MX tile of one or two dimensions "
                       "along one of them (C1)");
  if (output.getShape() != elements.getShape() || !isWideTile(output))
    return emitOpError("must give an f32, bf16 or f16 tile of the elements' "
                       "shape (C2)");
  if (failed(verifyScaleTile(*this, elements, scales, axis, "(C2)")))
    return failure();
  return verifyScaleTypes(*this, elements, scales, getGlobalScale(), "(C3)");
}

/// Whether `sums` are the partial sums of `rows` rows.
static bool arePartialSums(TileType sums, int64_t rows) {
  return sums.getElementType().isF32() &&
         sums.getShape() ==
             ArrayRef<int64_t>{rows, SumSquaresTileOp::kPartialSums};
}

LogicalResult SumSquaresTileOp::verify() {
  TileType input = getInput().getType();
  if (input.getRank() != 2 || !isWideTile(input) ||
      !arePartialSums(getSums().getType(), input.getShape()[0]))
    return emitOpError("must add the squares of an f32, bf16 or f16 matrix to "
                       "1,024 f32 for each row (C1)");
  return success();
}

LogicalResult RstdTileOp::verify() {
  TileType sums = getSums().getType();
  if (sums.getRank() != 2 || !arePartialSums(sums, sums.getShape()[0]) ||
      getRstd().getType() != sums.getRow())
    return emitOpError("must make an f32 for each row of 1,024 f32 (C1)");
  return success();
}

LogicalResult RMSNormTileOp::verify() {
  TileType input = getInput().getType(), output = getOutput().getType(),
           weight = getWeight().getType();
  if (input.getRank() != 2 || !isWideTile(input) || !isWideTile(output) ||
      output.getShape() != input.getShape())
    return emitOpError("must normalize an f32, bf16 or f16 matrix and give one "
                       "of its shape (C1)");
  if (!isWideTile(weight) ||
      weight.getShape() != input.getShape().take_back() ||
      getRstd().getType() != input.getRow())
    return emitOpError("must have an f32, bf16 or f16 weight for each column "
                       "and an f32 factor for each row (C2)");
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

/// C1 of a softmax step and its parts, and what (C2) says of the state.
static LogicalResult verifySoftmax(Operation *op, TileType scores,
                                   ValueRange state) {
  if (scores.getRank() != 2 || !scores.getElementType().isF32() ||
      scores.getShape()[1] % 32 || scores.getShape()[1] > 128)
    return op->emitOpError("scores must be f32, with a multiple of 32 and at "
                           "most 128 columns (C1)");
  for (Value value : state)
    if (value.getType() != scores.getRow())
      return op->emitOpError("the state must be one f32 a row (C2)");
  return success();
}

static LogicalResult verifyProbabilities(Operation *op, TileType scores,
                                         TileType probabilities,
                                         TileType scales, PScaleAttr pScale) {
  if (probabilities.getShape() != scores.getShape() ||
      probabilities.getElementType() != pScale.getElement() ||
      scales != TileType::getAtom(op->getContext()))
    return op->emitOpError("probabilities must have the scores' shape and the "
                           "element type of p_scale, their scales one atom "
                           "(C2)");
  return success();
}

LogicalResult SoftmaxStepOp::verify() {
  TileType scores = getScores().getType();
  if (failed(
          verifySoftmax(*this, scores,
                        {getMaximum(), getSum(), getLargest(), getNewMaximum(),
                         getNewSum(), getNewLargest(), getFactor()})))
    return failure();
  return verifyProbabilities(*this, scores, getProbabilities().getType(),
                             getScales().getType(), getPScale());
}

LogicalResult SoftmaxMaximumOp::verify() {
  return verifySoftmax(*this, getScores().getType(),
                       {getMaximum(), getLargest(), getNewMaximum(),
                        getNewLargest(), getFactor()});
}

LogicalResult SoftmaxProbabilitiesOp::verify() {
  TileType scores = getScores().getType();
  if (failed(verifySoftmax(*this, scores,
                           {getMaximum(), getSum(), getFactor(), getNewSum()})))
    return failure();
  TileType probabilities = getProbabilities().getType();
  if (std::optional<uint64_t> part = getPart()) {
    int64_t columns = scores.getShape()[1];
    int64_t width =
        probabilities.getRank() == 2 ? probabilities.getShape()[1] : 0;
    if (width <= 0 || width % 32 || columns % width || int64_t(*part) < 0 ||
        int64_t(*part) >= columns / width)
      return emitOpError("must have a part that lies in the scores' columns, a "
                         "multiple of its own, these of 32 (C4)");
    probabilities =
        TileType::get(getContext(), {probabilities.getShape()[0], columns},
                      probabilities.getElementType());
  }
  if (failed(verifyProbabilities(*this, scores, probabilities,
                                 getScales().getType(), getPScale())))
    return failure();
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

LogicalResult CropOp::verify() {
  TileType tile = getTile().getType();
  if (tile.getRank() != 2 || !tile.getElementType().isF32())
    return emitOpError("must crop an f32 matrix, not ") << tile << " (C1)";
  return success();
}

LogicalResult RoundOp::verify() {
  TileType tile = getTile().getType(), result = getResult().getType();
  if (!tile.getElementType().isF32() || tile.getShape() != result.getShape() ||
      !isa<Float32Type, Float16Type, BFloat16Type>(result.getElementType()))
    return emitOpError("must round an f32 tile to f32, f16 or bf16 of the same "
                       "shape (C1)");
  return success();
}
