//===- ElementwiseKernel.h - Kernels without roles --------------*- C++ -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_LIB_DIALECT_LPFA_TRANSFORMS_ELEMENTWISEKERNEL_H
#define LPFA_LIB_DIALECT_LPFA_TRANSFORMS_ELEMENTWISEKERNEL_H

#include "FormKernels.h"

namespace lpfa {

/// Rows, or columns of a transposed tile, and groups of an atom of scales.
inline constexpr int64_t kAtomRows = 128;
inline constexpr int64_t kAtomGroups = 4;

/// The widest row that a CTA, or a cluster, has in registers.
inline constexpr int64_t kMaxRow = 65536;

/// The kernel of some ops and its launch, in the making.
class ElementwiseKernel {
public:
  /// `shaped` is the tensor whose last dimensions are tiled.
  ElementwiseKernel(mlir::Operation *op, mlir::Value shaped,
                    llvm::ArrayRef<int64_t> tile)
      : op(op), builder(op), index(builder, op->getLoc()), shaped(shaped),
        tile(tile) {}

  /// Adds an operand, or a result with the sizes that its type leaves open. The
  /// numbers are those of the kernel's arguments.
  unsigned addInput(mlir::Value input) {
    inputs.push_back(input);
    return inputs.size() - 1;
  }
  /// All inputs come first.
  unsigned addOutput(mlir::Value result, llvm::ArrayRef<mlir::Value> sizes) {
    outputs.push_back(createDestination(builder, result, sizes));
    results.push_back(result);
    return inputs.size() + outputs.size() - 1;
  }
  /// Adds a tensor of f32 that other kernels read.
  unsigned addTemporary(llvm::ArrayRef<mlir::Value> sizes);

  /// Sizes of `shaped` on the host.
  llvm::SmallVector<mlir::Value> getSizes() {
    llvm::SmallVector<mlir::Value> sizes;
    for (int64_t i = 0; i < getRank(); ++i)
      sizes.push_back(index.dim(shaped, i));
    return sizes;
  }
  int64_t getRank() const {
    return llvm::cast<mlir::RankedTensorType>(shaped.getType()).getRank();
  }

  using BodyBuilder = llvm::function_ref<void(
      mlir::OpBuilder &, mlir::ValueRange views, mlir::ValueRange tile)>;
  using PrologueBuilder =
      llvm::function_ref<void(mlir::OpBuilder &, mlir::ValueRange views)>;
  /// The numbers of tiles along each dimension, by `shaped` or its view.
  using BoundsBuilder = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      IndexBuilder &, mlir::ValueRange tensorsOrViews)>;

  /// A kernel that visits the tiles of argument `view`; `body` gets the
  /// coordinates of the tile at hand, `prologue` builds what comes before all.
  KernelOp build(llvm::StringRef name, unsigned view, BodyBuilder body,
                 PrologueBuilder prologue = nullptr);
  /// A kernel that visits as many tiles as `bounds` says.
  KernelOp build(llvm::StringRef name, BoundsBuilder bounds, BodyBuilder body,
                 PrologueBuilder prologue = nullptr);
  /// Launches the kernel in place of the ops whose results were added, a CTA
  /// for some tiles.
  LaunchOp launch(KernelOp kernel, int64_t tiles = 1) {
    return launch(kernel, index.ceildiv(getGrid(), tiles));
  }
  LaunchOp launch(KernelOp kernel, mlir::Value grid, bool persistent = false);

  /// How many work tiles there are on the host.
  mlir::Value getGrid();
  mlir::Value getGrid(BoundsBuilder bounds);
  /// Refuses, or asserts at the launch, sizes that cannot be counted.
  mlir::LogicalResult checkSizes();
  /// Likewise rows of packed codes that end within a byte.
  mlir::LogicalResult checkRows(mlir::Type element);

private:
  llvm::SmallVector<mlir::Value> getTileCounts(IndexBuilder &index,
                                               mlir::Value tensorOrView);

  mlir::Operation *op;
  mlir::OpBuilder builder;
  IndexBuilder index;
  mlir::Value shaped;
  llvm::SmallVector<int64_t> tile;
  llvm::SmallVector<mlir::Value> inputs, outputs, results;
};

/// Checks of `lpfa.dequantize` for a kernel of its codes.
mlir::LogicalResult checkDequantize(ElementwiseKernel &kernel, DequantizeOp op);

/// The type of a tile of a view.
TileType getTile(mlir::Value view, llvm::ArrayRef<int64_t> shape);

/// The first element of the tile at `coordinates`, where tiles have `shape`.
llvm::SmallVector<mlir::Value> getFirst(mlir::OpBuilder &b, mlir::Location loc,
                                        mlir::ValueRange coordinates,
                                        llvm::ArrayRef<int64_t> shape);

/// The atom at `coordinates`, whose last two are a row and a group tile, or the
/// other way round where `transposed`.
llvm::SmallVector<mlir::Value> getAtom(mlir::OpBuilder &b, mlir::Location loc,
                                       mlir::ValueRange coordinates,
                                       bool transposed);

/// The sizes of blocked scales of row-major ones with the sizes `scales`.
llvm::SmallVector<mlir::Value>
getBlockedSizes(IndexBuilder &index, llvm::ArrayRef<mlir::Value> scales,
                bool transposed);

/// An `lpfa.quantize` and what its kernel writes of it.
struct QuantizedResults {
  explicit QuantizedResults(QuantizeOp op);
  bool isColumn() const {
    return getRank() > 1 && QuantizeOp(op).getAxis() == uint64_t(getRank() - 2);
  }
  int64_t getRank() const {
    return QuantizeOp(op).getInput().getType().getRank();
  }

  /// Adds what the kernel writes; `sizes` are those of the quantized tensor.
  void addOutputs(IndexBuilder &index, llvm::SmallVector<mlir::Value> sizes,
                  llvm::function_ref<unsigned(mlir::Value result,
                                              llvm::ArrayRef<mlir::Value>)>
                      addOutput);
  /// Erases the op and the packings, whose results have other users no more.
  void erase();

  QuantizeOp op;
  /// Of its scales; all give the same.
  llvm::SmallVector<PackScalesOp> packs;
  bool writesScales = false;
  /// The kernel's arguments.
  std::optional<unsigned> globalScale, elements, scales, blocked;
  /// Sizes of the quantized tensor in the kernel; by default those of its first
  /// argument.
  std::function<mlir::Value(IndexBuilder &, mlir::ValueRange views, int64_t)>
      getSize;
};

/// Quantizes the tile `x`, the one with these coordinates, and stores what is
/// wanted of it.
void buildQuantized(mlir::OpBuilder &b, mlir::ValueRange views,
                    mlir::ValueRange coordinates, mlir::Value x,
                    const QuantizedResults &results);

/// The tiles of elements that a kernel of these quantizations has.
llvm::SmallVector<int64_t>
chooseTile(llvm::ArrayRef<QuantizedResults> quantizations);

/// Adds what a kernel writes of a quantization.
mlir::LogicalResult addQuantized(ElementwiseKernel &kernel, IndexBuilder &index,
                                 QuantizedResults &results);

/// Forms the kernel of a normalization and of quantizations of its output.
mlir::LogicalResult formRMSNorm(RMSNormOp op);
/// Forms the kernels of gradients of normalized rows.
mlir::LogicalResult formRMSNormBackward(RMSNormBackwardOp op);

/// Forms the kernels of the layouts of scales.
mlir::LogicalResult formScaleLayouts(mlir::ModuleOp module);

} // namespace lpfa

#endif // LPFA_LIB_DIALECT_LPFA_TRANSFORMS_ELEMENTWISEKERNEL_H
