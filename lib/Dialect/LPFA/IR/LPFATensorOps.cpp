//===- LPFATensorOps.cpp - Verifiers and shapes of the tensor level -------===//
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
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lpfa;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

// The shape of a blocked atom: 128 rows as 4 x 32, 4 groups.
static constexpr int64_t kAtom[] = {32, 4, 4};

static int64_t ceilDiv(int64_t size, int64_t divisor) {
  return ShapedType::isDynamic(size) ? size : llvm::divideCeil(size, divisor);
}

// Whether two sizes may be the same at run time.
static bool compatible(int64_t a, int64_t b) {
  return ShapedType::isDynamic(a) || ShapedType::isDynamic(b) || a == b;
}

static bool compatible(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto sizes) {
           return compatible(std::get<0>(sizes), std::get<1>(sizes));
         });
}

namespace {
// Prints a shape as types do: 2x?x64.
struct Shape {
  ArrayRef<int64_t> sizes;
};
} // namespace

static Diagnostic &operator<<(Diagnostic &diag, Shape shape) {
  for (auto [index, size] : llvm::enumerate(shape.sizes)) {
    if (index)
      diag << "x";
    if (ShapedType::isDynamic(size))
      diag << "?";
    else
      diag << size;
  }
  return diag;
}

static LogicalResult emitShapeError(Operation *op, const Twine &what,
                                    ArrayRef<int64_t> expected,
                                    ArrayRef<int64_t> actual) {
  InFlightDiagnostic diag = op->emitOpError();
  Diagnostic &text = *diag.getUnderlyingDiagnostic();
  text << "expects " << what << " of shape " << Shape{expected} << ", but got "
       << Shape{actual};
  return diag;
}

static SmallVector<int64_t> getScaleShape(ArrayRef<int64_t> shape, int64_t axis,
                                          int64_t blockSize) {
  SmallVector<int64_t> scales(shape);
  scales[axis] = ceilDiv(scales[axis], blockSize);
  return scales;
}

// Which types of elements and scales go together, and with a global scale.
template <typename OpTy> static LogicalResult verifyScaleType(OpTy op) {
  bool isNV = isa<Float8E4M3FNType>(op.getScales().getType().getElementType());
  if (isNV != bool(op.getGlobalScale()))
    return op.emitOpError("expects a global scale with scales of f8E4M3FN, and "
                          "with no others");
  if (isNV &&
      !isa<Float4E2M1FNType>(op.getElements().getType().getElementType()))
    return op.emitOpError("expects elements of f4E2M1FN with scales of "
                          "f8E4M3FN");
  return success();
}

// The blocked shape of row-major scales whose last two dimensions are rows and
// groups, or groups and rows where `transposed`.
static SmallVector<int64_t> getBlockedShape(ArrayRef<int64_t> scales,
                                            bool transposed) {
  SmallVector<int64_t> blocked(scales);
  if (transposed)
    std::swap(blocked[blocked.size() - 2], blocked.back());
  blocked[blocked.size() - 2] = ceilDiv(blocked[blocked.size() - 2], 128);
  blocked.back() = ceilDiv(blocked.back(), 4);
  llvm::append_range(blocked, kAtom);
  return blocked;
}

static OpFoldResult reifyCeilDiv(OpBuilder &builder, Location loc,
                                 OpFoldResult size, int64_t divisor) {
  AffineExpr d0 = builder.getAffineDimExpr(0);
  return affine::makeComposedFoldedAffineApply(builder, loc,
                                               d0.ceilDiv(divisor), {size});
}

//===----------------------------------------------------------------------===//
// QuantizeOp
//===----------------------------------------------------------------------===//

LogicalResult QuantizeOp::verify() {
  ArrayRef<int64_t> shape = getInput().getType().getShape();
  int64_t axis = getAxis();
  // C1
  if (axis >= static_cast<int64_t>(shape.size()))
    return emitOpError() << "expects the axis to be less than the input's rank "
                         << shape.size() << ", but got " << axis;
  // C2
  ArrayRef<int64_t> elements = getElements().getType().getShape();
  if (elements != shape)
    return emitShapeError(*this, "elements", shape, elements);
  // C3
  ArrayRef<int64_t> scales = getScales().getType().getShape();
  SmallVector<int64_t> expected = getScaleShape(shape, axis, getBlockSize());
  if (scales != ArrayRef(expected))
    return emitShapeError(*this, "scales", expected, scales);
  // C4
  if (getRule() == ScaleRule::Ceil)
    return emitOpError("expects the rule 'rceil' or 'floor'");
  if (getGlobalScale() && getRule() != ScaleRule::Rceil)
    return emitOpError("expects no rule with a global scale");
  // C5
  if (getSquare()) {
    int64_t rank = shape.size();
    if (rank < 2 || axis < rank - 2)
      return emitOpError(
          "expects the axis of squares to be one of the last two "
          "of at least two dimensions");
    if (getGlobalScale())
      return emitOpError("expects no squares with a global scale");
  }
  // C6
  return verifyScaleType(*this);
}

LogicalResult
QuantizeOp::reifyResultShapes(OpBuilder &builder,
                              ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<OpFoldResult> elements =
      tensor::getMixedSizes(builder, getLoc(), getInput());
  SmallVector<OpFoldResult> scales = elements;
  scales[getAxis()] =
      reifyCeilDiv(builder, getLoc(), scales[getAxis()], getBlockSize());
  shapes = {std::move(elements), std::move(scales)};
  return success();
}

//===----------------------------------------------------------------------===//
// DequantizeOp
//===----------------------------------------------------------------------===//

LogicalResult DequantizeOp::verify() {
  ArrayRef<int64_t> shape = getElements().getType().getShape();
  int64_t axis = getAxis();
  // C1
  if (axis >= static_cast<int64_t>(shape.size()))
    return emitOpError() << "expects the axis to be less than the elements' "
                            "rank "
                         << shape.size() << ", but got " << axis;
  // C2
  ArrayRef<int64_t> output = getOutput().getType().getShape();
  if (output != shape)
    return emitShapeError(*this, "an output", shape, output);
  // C3
  ArrayRef<int64_t> scales = getScales().getType().getShape();
  SmallVector<int64_t> expected = getScaleShape(shape, axis, getBlockSize());
  if (!compatible(scales, expected))
    return emitShapeError(*this, "scales", expected, scales);
  // C4
  return verifyScaleType(*this);
}

LogicalResult
DequantizeOp::reifyResultShapes(OpBuilder &builder,
                                ReifiedRankedShapedTypeDims &shapes) {
  shapes = {tensor::getMixedSizes(builder, getLoc(), getElements())};
  return success();
}

//===----------------------------------------------------------------------===//
// PackScalesOp and UnpackScalesOp
//===----------------------------------------------------------------------===//

// C1 and C2 of both ops. A blocked size that the type leaves open is accepted
// where `exact` is false.
static LogicalResult verifyLayout(Operation *op, RankedTensorType scales,
                                  RankedTensorType blocked, bool transposed,
                                  bool exact) {
  // C1
  if (scales.getRank() < 2)
    return op->emitOpError("expects row-major scales of rank 2 or more, but "
                           "got rank ")
           << scales.getRank();
  // C2
  SmallVector<int64_t> expected =
      getBlockedShape(scales.getShape(), transposed);
  bool matches = exact ? blocked.getShape() == ArrayRef(expected)
                       : compatible(blocked.getShape(), expected);
  if (!matches)
    return emitShapeError(op, "blocked scales", expected, blocked.getShape());
  return success();
}

LogicalResult PackScalesOp::verify() {
  return verifyLayout(*this, getScales().getType(), getBlocked().getType(),
                      getTransposed(), /*exact=*/true);
}

LogicalResult
PackScalesOp::reifyResultShapes(OpBuilder &builder,
                                ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, getLoc(), getScales());
  OpFoldResult &rows = sizes[sizes.size() - 2];
  OpFoldResult &groups = sizes.back();
  if (getTransposed())
    std::swap(rows, groups);
  rows = reifyCeilDiv(builder, getLoc(), rows, 128);
  groups = reifyCeilDiv(builder, getLoc(), groups, 4);
  for (int64_t size : kAtom)
    sizes.push_back(builder.getIndexAttr(size));
  shapes = {std::move(sizes)};
  return success();
}

LogicalResult UnpackScalesOp::verify() {
  RankedTensorType scales = getScales().getType();
  RankedTensorType blocked = getBlocked().getType();
  if (failed(verifyLayout(*this, scales, blocked, getTransposed(),
                          /*exact=*/false)))
    return failure();
  // C2, the batch dimensions: nothing but `blocked` tells their size.
  int64_t batchRank = scales.getRank() - 2;
  if (scales.getShape().take_front(batchRank) !=
      blocked.getShape().take_front(batchRank))
    return emitOpError("expects scales with the batch dimensions of the "
                       "blocked scales");
  // C3
  size_t open =
      llvm::count_if(scales.getShape().take_back(2), ShapedType::isDynamic);
  if (getSizes().size() != open)
    return emitOpError() << "expects " << open
                         << " sizes, one for each dynamic one of the last two "
                            "dimensions of the result, but got "
                         << getSizes().size();
  return success();
}

SmallVector<OpFoldResult> lpfa::reifyRowMajorScales(OpBuilder &builder,
                                                    Location loc,
                                                    RankedTensorType scales,
                                                    Value blocked,
                                                    ValueRange open) {
  ArrayRef<int64_t> shape = scales.getShape();
  SmallVector<OpFoldResult> sizes;
  auto size = open.begin();
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    if (!ShapedType::isDynamic(extent))
      sizes.push_back(builder.getIndexAttr(extent));
    else if (dim + 2 < shape.size())
      sizes.push_back(tensor::getMixedSize(builder, loc, blocked, dim));
    else
      sizes.push_back(*size++);
  }
  return sizes;
}

LogicalResult
UnpackScalesOp::reifyResultShapes(OpBuilder &builder,
                                  ReifiedRankedShapedTypeDims &shapes) {
  shapes = {reifyRowMajorScales(builder, getLoc(), getScales().getType(),
                                getBlocked(), getSizes())};
  return success();
}

//===----------------------------------------------------------------------===//
// AttentionOp
//===----------------------------------------------------------------------===//

// C7. `open` says that the sizes along the sequence depend on the offsets of a
// jagged batch.
static LogicalResult verifyScales(AttentionOp op, StringRef name,
                                  RankedTensorType operand,
                                  RankedTensorType scales, int64_t axis) {
  SmallVector<int64_t> rowMajor =
      getScaleShape(operand.getShape(), axis, kBlockSize);
  bool alongSequence = axis == 2;
  SmallVector<int64_t> blocked = getBlockedShape(rowMajor, alongSequence);
  if (op.isJagged()) {
    if (alongSequence)
      rowMajor[2] = ShapedType::kDynamic;
    blocked[alongSequence ? 3 : 2] = ShapedType::kDynamic;
  }
  ArrayRef<int64_t> actual = scales.getShape();
  if (compatible(actual, rowMajor) || compatible(actual, blocked))
    return success();
  InFlightDiagnostic diag = op.emitOpError();
  Diagnostic &text = *diag.getUnderlyingDiagnostic();
  text << "expects " << name << "'s scales of shape " << Shape{rowMajor}
       << " or, blocked, " << Shape{blocked} << ", but got " << Shape{actual};
  return diag;
}

LogicalResult AttentionOp::verify() {
  RankedTensorType q = getQ().getType();
  RankedTensorType k = getK().getType();
  RankedTensorType v = getV().getType();
  // C1
  for (auto [name, type] : {std::pair("Q", q), {"K", k}, {"V", v}}) {
    if (type.getRank() != 4)
      return emitOpError() << "expects " << name
                           << " of rank 4 (batch x heads x sequence x head "
                              "dimension), but got "
                           << type;
    if (type.isDynamicDim(3) || type.getDimSize(3) == 0)
      return emitOpError() << "expects " << name
                           << " with a static head dimension above 0, but got "
                           << type;
  }
  // C2
  if (!compatible(q.getDimSize(0), k.getDimSize(0)) ||
      !compatible(q.getDimSize(0), v.getDimSize(0)) ||
      !compatible(k.getDimSize(0), v.getDimSize(0)))
    return emitOpError("expects Q, K and V of the same batch size");
  // C3
  if (!compatible(k.getShape().slice(1, 2), v.getShape().slice(1, 2)))
    return emitOpError("expects K and V with the same number of heads and the "
                       "same length");
  // C4
  if (q.getDimSize(3) != k.getDimSize(3))
    return emitOpError() << "expects Q and K of the same head dimension, but "
                            "got "
                         << q.getDimSize(3) << " and " << k.getDimSize(3);
  // C5
  int64_t heads = q.getDimSize(1);
  for (int64_t kvHeads : {k.getDimSize(1), v.getDimSize(1)}) {
    if (ShapedType::isDynamic(heads) || ShapedType::isDynamic(kvHeads))
      continue;
    if (kvHeads == 0 ? heads != 0 : heads % kvHeads != 0)
      return emitOpError() << "expects the number of heads to be a multiple of "
                              "the number of KV heads, but got "
                           << heads << " and " << kvHeads;
  }
  // C6
  if (!getScale().isFinite() || !(getScale().convertToFloat() > 0))
    return emitOpError("expects a finite scale greater than 0");
  // C9
  if (!getQOffsets() != !getKvOffsets())
    return emitOpError("expects both offsets or none");
  if (isJagged()) {
    int64_t qCount = getQOffsets().getType().getDimSize(0);
    int64_t kvCount = getKvOffsets().getType().getDimSize(0);
    if (!compatible(qCount, kvCount) || qCount == 0 || kvCount == 0)
      return emitOpError("expects offsets of the same size, at least 1");
    for (RankedTensorType type : {q, k, v})
      if (!compatible(type.getDimSize(0), 1))
        return emitOpError("expects a batch size of 1 with offsets");
  }
  // C7
  if (failed(verifyScales(*this, "Q", q, getQScales().getType(), 3)) ||
      failed(verifyScales(*this, "K", k, getKScales().getType(), 3)) ||
      failed(verifyScales(*this, "V", v, getVScales().getType(), 2)))
    return failure();
  // C8
  SmallVector<int64_t> expected(q.getShape());
  expected.back() = v.getDimSize(3);
  ArrayRef<int64_t> output = getOutput().getType().getShape();
  if (output != ArrayRef(expected))
    return emitShapeError(*this, "O", expected, output);
  ArrayRef<int64_t> lse = getLse().getType().getShape();
  if (lse != q.getShape().drop_back())
    return emitShapeError(*this, "LSE", q.getShape().drop_back(), lse);
  return success();
}

LogicalResult
AttentionOp::reifyResultShapes(OpBuilder &builder,
                               ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<OpFoldResult> output =
      tensor::getMixedSizes(builder, getLoc(), getQ());
  output.pop_back();
  SmallVector<OpFoldResult> lse = output;
  output.push_back(builder.getIndexAttr(getValueHeadDim()));
  shapes = {std::move(output), std::move(lse)};
  return success();
}
