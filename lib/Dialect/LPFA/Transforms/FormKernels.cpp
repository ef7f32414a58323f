//===- FormKernels.cpp - Tile programs for tensor-level ops ---------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormKernels.h"
#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "lpfa/Dialect/LPFA/Transforms/Passes.h"
#include "lpfa/Dialect/LPFA/Utils/SizeChecks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace lpfa {
#define GEN_PASS_DEF_FORMKERNELS
#include "lpfa/Dialect/LPFA/Transforms/Passes.h.inc"
} // namespace lpfa

using namespace mlir;
using namespace lpfa;

namespace {
struct FormKernels : public lpfa::impl::FormKernelsBase<FormKernels> {
  using FormKernelsBase::FormKernelsBase;
  void runOnOperation() override;
};
} // namespace

//===----------------------------------------------------------------------===//
// Kernels and launches
//===----------------------------------------------------------------------===//

KernelOp lpfa::createKernel(Operation *user, StringRef name,
                            TypeRange tensors) {
  auto function = user->getParentOfType<func::FuncOp>();
  MLIRContext *context = user->getContext();
  OpBuilder builder(function);
  auto kernel = KernelOp::create(
      builder, user->getLoc(), (function.getName() + "_" + name).str(),
      Stage::Tile, IntegerAttr(), IntegerAttr(), IntegerAttr());
  Block &body = kernel.getBody().emplaceBlock();
  for (Type type : tensors) {
    auto tensor = cast<RankedTensorType>(type);
    body.addArgument(
        ViewType::get(context, tensor.getShape(), tensor.getElementType()),
        user->getLoc());
  }
  SymbolTable(function->getParentOp()).insert(kernel);
  return kernel;
}

ValueRange lpfa::beginWork(OpBuilder &builder, Location loc,
                           ValueRange bounds) {
  auto work = ForWorkOp::create(builder, loc, bounds);
  Block *body = builder.createBlock(&work.getBody());
  for (Value bound : bounds)
    body->addArgument(bound.getType(), loc);
  builder.setInsertionPoint(YieldOp::create(builder, loc));
  return body->getArguments();
}

Value lpfa::createDestination(OpBuilder &builder, Value result,
                              ArrayRef<Value> sizes) {
  auto type = cast<RankedTensorType>(result.getType());
  SmallVector<Value> dynamic;
  for (auto [dimension, size] : llvm::enumerate(sizes))
    if (type.isDynamicDim(dimension))
      dynamic.push_back(size);
  return tensor::EmptyOp::create(builder, result.getLoc(), type, dynamic);
}

Value lpfa::packScales(OpBuilder &builder, Location loc, Value scales,
                       bool transposed) {
  auto type = cast<RankedTensorType>(scales.getType());
  auto divide = [](int64_t size, int64_t by) -> int64_t {
    return ShapedType::isDynamic(size) ? size
                                       : int64_t(llvm::divideCeil(size, by));
  };
  SmallVector<int64_t> shape(type.getShape());
  int64_t &rows = shape[shape.size() - 2], &groups = shape.back();
  if (transposed)
    std::swap(rows, groups);
  rows = divide(rows, 128);
  groups = divide(groups, 4);
  shape.append({32, 4, 4});
  auto blocked = RankedTensorType::get(shape, type.getElementType());
  return PackScalesOp::create(builder, loc, blocked, scales, transposed);
}

LogicalResult lpfa::checkCountable(OpBuilder &builder, Operation *op,
                                   ArrayRef<Value> sizes) {
  IndexBuilder index(builder, op->getLoc());
  const char *message = "has a size above 2^30, more than a kernel can count";
  for (Value size : sizes) {
    std::optional<int64_t> known = getConstantIntValue(size);
    if (known && *known > kMaxSize)
      return op->emitOpError(message);
    emitCheck(builder, op,
              builder.createOrFold<arith::CmpIOp>(
                  op->getLoc(), arith::CmpIPredicate::sle, size,
                  index.constant(kMaxSize)),
              message);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

void FormKernels::runOnOperation() {
  if (failed(checkAttentionTiles(getOperation(), queryTiles, keyTile)))
    return signalPassFailure();
  SmallVector<AttentionOp> attentions;
  getOperation().walk([&](AttentionOp op) { attentions.push_back(op); });
  for (AttentionOp op : attentions)
    if (failed(formAttention(op, queryTiles, keyTile, longestFirst)))
      return signalPassFailure();
  SmallVector<MatmulOp> products;
  getOperation().walk([&](MatmulOp op) { products.push_back(op); });
  for (MatmulOp op : products)
    if (failed(formMatmul(op)))
      return signalPassFailure();
  if (failed(formElementwiseKernels(getOperation())))
    signalPassFailure();
}
