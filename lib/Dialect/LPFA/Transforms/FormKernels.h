//===- FormKernels.h - What forming kernels shares --------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_DIALECT_LPFA_TRANSFORMS_FORMKERNELS_H
#define LPFA_LIB_DIALECT_LPFA_TRANSFORMS_FORMKERNELS_H

#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"

namespace lpfa {

/// Index arithmetic at one place, folded where it is constant.
class IndexBuilder {
public:
  IndexBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() const { return loc; }

  mlir::Value constant(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(builder, loc, value);
  }
  mlir::Value mul(mlir::Value a, int64_t b) {
    return builder.createOrFold<mlir::arith::MulIOp>(loc, a, constant(b));
  }
  mlir::Value mul(mlir::Value a, mlir::Value b) {
    return builder.createOrFold<mlir::arith::MulIOp>(loc, a, b);
  }
  mlir::Value add(mlir::Value a, int64_t b) {
    return b ? builder.createOrFold<mlir::arith::AddIOp>(loc, a, constant(b))
             : a;
  }
  mlir::Value add(mlir::Value a, mlir::Value b) {
    return builder.createOrFold<mlir::arith::AddIOp>(loc, a, b);
  }
  mlir::Value sub(mlir::Value a, mlir::Value b) {
    return builder.createOrFold<mlir::arith::SubIOp>(loc, a, b);
  }
  mlir::Value ceildiv(mlir::Value a, int64_t b) {
    return builder.createOrFold<mlir::arith::CeilDivUIOp>(loc, a, constant(b));
  }
  mlir::Value div(mlir::Value a, mlir::Value b) {
    return builder.createOrFold<mlir::arith::DivUIOp>(loc, a, b);
  }
  mlir::Value rem(mlir::Value a, mlir::Value b) {
    return builder.createOrFold<mlir::arith::RemUIOp>(loc, a, b);
  }
  mlir::Value min(mlir::Value a, mlir::Value b) {
    return builder.createOrFold<mlir::arith::MinSIOp>(loc, a, b);
  }
  mlir::Value ceildiv(mlir::Value a, mlir::Value b) {
    return builder.createOrFold<mlir::arith::CeilDivUIOp>(loc, a, b);
  }
  mlir::Value dim(mlir::Value view, int64_t dimension) {
    if (llvm::isa<ViewType>(view.getType()))
      return builder.createOrFold<DimOp>(loc, view,
                                         builder.getI64IntegerAttr(dimension));
    return builder.createOrFold<mlir::tensor::DimOp>(loc, view, dimension);
  }
  mlir::Value splat(TileType type, float value) {
    return SplatOp::create(builder, loc, type, builder.getF32FloatAttr(value));
  }

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// An empty kernel beside the function of `user`, with a view for each tensor.
KernelOp createKernel(mlir::Operation *user, llvm::StringRef name,
                      mlir::TypeRange tensors);

/// Begins a kernel's loop over work tiles: its coordinates, with the insertion
/// point in its body, before the end.
mlir::ValueRange beginWork(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::ValueRange bounds);

/// A destination of the type of `result`, with the given dynamic sizes.
mlir::Value createDestination(mlir::OpBuilder &builder, mlir::Value result,
                              llvm::ArrayRef<mlir::Value> sizes);

/// Coordinates and work numbers of a kernel have 32 bits, with room for a
/// tile, or a grid, past the end.
inline constexpr int64_t kMaxSize = int64_t(1) << 30;

/// Refuses sizes that a kernel's coordinates cannot count: known ones at once,
/// the others where the kernel is launched.
mlir::LogicalResult checkCountable(mlir::OpBuilder &builder,
                                   mlir::Operation *op,
                                   llvm::ArrayRef<mlir::Value> sizes);

/// Forms the kernels of quantization and of the layouts of scales.
mlir::LogicalResult formElementwiseKernels(mlir::ModuleOp module);

/// The scales of a matrix, in `scales` row-major or `transposed`, packed.
mlir::Value packScales(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value scales, bool transposed);

/// Forms the kernel of attention, of `queryTiles` tiles of 128 queries in steps
/// of `keyTile` keys, or as its `lpfa.schedule` says. Where the mask makes some
/// work tiles shorter than others, `longestFirst` puts them last.
mlir::LogicalResult formAttention(AttentionOp op, int64_t queryTiles,
                                  int64_t keyTile, bool longestFirst);

/// Refuses, at `op`, tiles that attention's kernel does not have.
mlir::LogicalResult checkAttentionTiles(mlir::Operation *op, int64_t queryTiles,
                                        int64_t keyTile);

/// Forms the kernel of a matrix product.
mlir::LogicalResult formMatmul(MatmulOp op);

} // namespace lpfa

#endif // LPFA_LIB_DIALECT_LPFA_TRANSFORMS_FORMKERNELS_H
