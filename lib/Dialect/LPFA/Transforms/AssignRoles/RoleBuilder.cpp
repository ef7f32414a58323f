//===- RoleBuilder.cpp - Writes the roles of a kernel ---------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RoleBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace lpfa;

ChannelOp RoleBuilder::createChannel(const Twine &name, int64_t stages,
                                     ArrayRef<BufferType> types) {
  return ChannelOp::create(builder, loc,
                           ChannelType::get(kernel.getContext(), types),
                           builder.getStringAttr(name),
                           builder.getI64IntegerAttr(stages), ArrayAttr());
}

ScratchOp RoleBuilder::createScales(const Twine &name, int64_t stages) {
  return ScratchOp::create(
      builder, loc,
      getBuffer(TileType::getAtom(kernel.getContext()), MemorySpace::Tensor),
      builder.getStringAttr(name), PlaceAttr(),
      builder.getI64IntegerAttr(stages));
}

void RoleBuilder::beginRole(const Twine &name, int64_t warps, int64_t registers,
                            bool elected) {
  builder.setInsertionPointToEnd(&kernel.getBody().front());
  auto role = RoleOp::create(builder, loc, builder.getStringAttr(name),
                             builder.getI64IntegerAttr(warps),
                             builder.getI64IntegerAttr(nextWarp),
                             builder.getI64IntegerAttr(registers),
                             elected ? builder.getUnitAttr() : UnitAttr());
  nextWarp += warps;
  builder.setInsertionPointToStart(&role.getBody().emplaceBlock());
}

/// Whether an op computes indices and predicates from such.
static bool isScalar(Operation &op) {
  auto isScalarType = [](Type type) { return type.isIntOrIndex(); };
  return op.getNumRegions() == 0 && isMemoryEffectFree(&op) &&
         op.getNumResults() > 0 &&
         llvm::all_of(op.getResultTypes(), isScalarType);
}

void RoleBuilder::cloneScalars(Block &block, IRMapping &mapping) {
  for (Operation &op : block)
    if (isScalar(op))
      builder.clone(op, mapping);
}

void RoleBuilder::beginWork(IRMapping &mapping) {
  auto copy = ForWorkOp::create(builder, loc, work.getBounds());
  Block &body = copy.getBody().emplaceBlock();
  for (BlockArgument argument : work.getBody().getArguments())
    mapping.map(argument, body.addArgument(argument.getType(), loc));
  builder.setInsertionPointToStart(&body);
  auto yield = YieldOp::create(builder, loc);
  builder.setInsertionPoint(yield);
  cloneScalars(work.getBody().front(), mapping);
}

void RoleBuilder::beginSteps(Value first, Value last) {
  IRMapping mapping;
  auto steps = ForStepsOp::create(builder, loc, work.getBounds());
  Block &range = steps.getRange().emplaceBlock();
  for (BlockArgument argument : work.getBody().getArguments())
    mapping.map(argument, range.addArgument(argument.getType(), loc));
  builder.setInsertionPointToStart(&range);
  cloneScalars(work.getBody().front(), mapping);
  YieldOp::create(builder, loc,
                  ValueRange{mapping.lookup(first), mapping.lookup(last)});
  builder.setInsertionPointToStart(&steps.getBody().emplaceBlock());
  builder.setInsertionPoint(YieldOp::create(builder, loc));
}

void RoleBuilder::at(int64_t shift,
                     function_ref<void(Value, Value, Value)> build) {
  auto op = AtOp::create(builder, loc, builder.getI64IntegerAttr(shift));
  Block &block = op.getBody().emplaceBlock();
  Value n = block.addArgument(builder.getIndexType(), loc);
  Value isFirst = block.addArgument(builder.getI1Type(), loc);
  Value isLast = block.addArgument(builder.getI1Type(), loc);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&block);
  builder.setInsertionPoint(YieldOp::create(builder, loc));
  build(n, isFirst, isLast);
}

void RoleBuilder::when(Value condition, function_ref<void()> body) {
  auto branch = scf::IfOp::create(builder, loc, condition);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  body();
}

void RoleBuilder::loadSlot(ChannelOp channel, ArrayRef<LoadOp> tiles,
                           IRMapping &mapping,
                           function_ref<void()> loadBefore) {
  auto slot = open<AcquireOp>(channel);
  if (loadBefore)
    loadBefore();
  for (auto [tile, buffer] : llvm::zip_equal(tiles, slot.getBuffers())) {
    LoadOp load = tile;
    SmallVector<Value> indices;
    for (Value index : load.getIndices())
      indices.push_back(mapping.lookupOrDefault(index));
    LoadAsyncOp::create(builder, loc, load.getView(), indices, buffer,
                        /*barrier=*/Value(), /*cursor=*/Value());
  }
  PutOp::create(builder, loc, channel.getChannel());
}

void RoleBuilder::storeSlots(ChannelOp output, StoreOp store, int64_t columns,
                             IRMapping &mapping) {
  int64_t end = store.getTile().getType().getShape()[1];
  for (int64_t column = 0; column < end; column += columns) {
    auto slot = open<GetOp>(output);
    SmallVector<Value> indices;
    for (Value index : store.getIndices())
      indices.push_back(mapping.lookupOrDefault(index));
    if (column)
      indices.back() = arith::AddIOp::create(
          builder, loc, indices.back(),
          arith::ConstantIndexOp::create(builder, loc, column));
    StoreAsyncOp::create(builder, loc, slot.getBuffers()[0], store.getView(),
                         indices);
    ReleaseOp::create(builder, loc, output.getChannel());
  }
}

Value RoleBuilder::readColumns(Value isThere, function_ref<Value()> getBuffer,
                               int64_t rows, int64_t column, int64_t columns) {
  BufferType part = BufferType::get(kernel.getContext(), {rows, columns},
                                    builder.getF32Type(), MemorySpace::Tensor);
  auto branch = scf::IfOp::create(builder, loc, TypeRange(part.getTile()),
                                  isThere, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  Value slice = SliceOp::create(builder, loc, part, getBuffer(),
                                builder.getI64IntegerAttr(column));
  Value tile = ReadOp::create(builder, loc, part.getTile(), slice);
  scf::YieldOp::create(builder, loc, tile);
  builder.setInsertionPointToStart(branch.elseBlock());
  Value zero =
      SplatOp::create(builder, loc, part.getTile(), builder.getF32FloatAttr(0));
  scf::YieldOp::create(builder, loc, zero);
  return branch.getResult(0);
}

void RoleBuilder::finish() {
  work.erase();
  kernel.setThreadsAttr(
      builder.getI64IntegerAttr(llvm::alignTo(nextWarp, 4) * 32));
  kernel.setStage(Stage::Roles);
}
