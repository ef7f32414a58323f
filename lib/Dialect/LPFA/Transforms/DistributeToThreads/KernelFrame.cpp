//===- KernelFrame.cpp - The function around a kernel's roles -------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelDistribution.h"
#include "lpfa/Dialect/LPFA/Utils/Occupancy.h"

using namespace mlir;
using namespace lpfa;

/// The warp that allocates tensor memory, and frees it.
static constexpr int64_t kAllocatingWarp = 1;

/// Threads of a kernel that moves scales alone.
static constexpr int64_t kScaleThreads = 128;

int64_t KernelDistribution::getThreads() const {
  if (layout)
    return layout->getThreads();
  return KernelOp(kernel).getThreads().value_or(kScaleThreads);
}

int64_t KernelDistribution::getTensorColumns() const {
  int64_t columns = KernelOp(kernel).getTensorColumns().value_or(0);
  if (columns == 0)
    return 0;
  return std::max<int64_t>(llvm::PowerOf2Ceil(columns),
                           TargetModel::minTensorMemoryAllocation);
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

static int64_t getOperandNumber(Value view) {
  return cast<BlockArgument>(view).getArgNumber();
}

FailureOr<SharedLayout> SharedLayout::get(Operation *op, BufferType buffer) {
  if (buffer.getRank() != 2)
    return op->emitOpError("needs a matrix in shared memory, not ") << buffer;
  int64_t elementBits = buffer.getElementType().getIntOrFloatBitWidth();
  int64_t bytes = buffer.getPitch();
  SharedLayout layout;
  layout.rows = buffer.getShape()[0];
  layout.rowBytes = std::min<int64_t>(bytes, 128);
  if (elementBits % 8 || layout.rows % 8 ||
      layout.rows > TargetModel::maxBoxSize || layout.rowBytes < 32)
    return op->emitOpError("cannot lay out ")
           << buffer
           << " in shared memory: rows must have 32 bytes at least, and there "
              "must be a multiple of 8 of them up to 256";
  layout.blocks = bytes / layout.rowBytes;
  layout.elementsPerBlock = layout.rowBytes * 8 / elementBits;
  return layout;
}

FailureOr<SharedLayout> SharedLayout::getUnpadded(Operation *op,
                                                  BufferType buffer) {
  FailureOr<SharedLayout> layout = get(op, buffer);
  if (succeeded(layout) &&
      layout->blocks * layout->elementsPerBlock != buffer.getShape()[1])
    return op->emitOpError("cannot store from ")
           << buffer << ": rows must have 32, 64 or a multiple of 128 bytes";
  return layout;
}

FailureOr<ParameterAttr>
KernelDistribution::getTensorMap(Operation *op, Value view, BufferType buffer) {
  FailureOr<SharedLayout> layout = SharedLayout::get(op, buffer);
  if (failed(layout))
    return failure();
  auto type = cast<ViewType>(view.getType());
  int64_t rank = type.getRank();
  if (rank < 2 || rank > TargetModel::maxTensorMapRank)
    return op->emitOpError("cannot copy a tile of ")
           << type << ": a tensor map has two to five dimensions";
  SmallVector<int64_t> box(rank, 1);
  box[0] = layout->elementsPerBlock;
  box[1] = layout->rows;
  Type element = type.getElementType();
  if (element.getIntOrFloatBitWidth() == 8)
    element = b.getI8Type();
  return ParameterAttr::get(b.getContext(), ParameterKind::TensorMap,
                            getOperandNumber(view), /*dimension=*/-1, box,
                            layout->rowBytes, element);
}

static bool isBefore(ParameterAttr x, ParameterAttr y) {
  auto key = [](ParameterAttr attr) {
    return std::make_tuple(attr.getOperand(), attr.getKind(),
                           attr.getDimension(), attr.getSwizzle());
  };
  if (key(x) != key(y))
    return key(x) < key(y);
  return std::lexicographical_compare(x.getBox().begin(), x.getBox().end(),
                                      y.getBox().begin(), y.getBox().end());
}

LogicalResult KernelDistribution::collectParameters() {
  MLIRContext *context = b.getContext();
  auto add = [&](ParameterKind kind, Value view, int64_t dimension = -1) {
    parameters.push_back(
        ParameterAttr::get(context, kind, getOperandNumber(view), dimension));
  };
  auto addSize = [&](Value view, int64_t dimension) {
    if (cast<ViewType>(view.getType()).isDynamicDim(dimension))
      add(ParameterKind::Size, view, dimension);
  };
  // What addresses are made from: the last dimension is contiguous.
  auto addAddress = [&](Value view) {
    add(ParameterKind::Pointer, view);
    int64_t rank = cast<ViewType>(view.getType()).getRank();
    for (int64_t i = 0; i + 1 < rank; ++i)
      add(ParameterKind::Stride, view, i);
  };
  auto addTensorMap = [&](Operation *op, Value view, BufferType buffer) {
    FailureOr<ParameterAttr> map = getTensorMap(op, view, buffer);
    if (succeeded(map))
      parameters.push_back(*map);
    return success(succeeded(map));
  };
  // An atom's own sizes are known: those of its place count.
  auto addAccess = [&](Value view, TileType tile) {
    addAddress(view);
    int64_t rank = cast<ViewType>(view.getType()).getRank();
    int64_t sizes = tile.isAtom() ? 5 : tile.getRank();
    for (int64_t i = std::max<int64_t>(0, rank - sizes); i < rank; ++i)
      addSize(view, i);
  };

  WalkResult result = kernel.walk([&](Operation *op) -> WalkResult {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case([&](DimOp dim) {
          addSize(dim.getView(), dim.getDimension());
          return success();
        })
        .Case([&](LoadAsyncOp load) -> LogicalResult {
          if (!load.getBuffer().getType().isScales())
            return addTensorMap(op, load.getView(), load.getBuffer().getType());
          addAddress(load.getView());
          return success();
        })
        .Case([&](StoreAsyncOp store) {
          return addTensorMap(op, store.getView(), store.getBuffer().getType());
        })
        .Case([&](LoadOp load) {
          addAccess(load.getView(), load.getTile().getType());
          return success();
        })
        .Case([&](StoreOp store) {
          addAccess(store.getView(), store.getTile().getType());
          return success();
        })
        .Case([&](SequenceTileOp tile) {
          addAddress(tile.getOffsets());
          addSize(tile.getOffsets(), 0);
          return success();
        })
        .Default([](Operation *) { return success(); });
  });
  if (result.wasInterrupted())
    return failure();
  for (BlockArgument argument : kernel.getBody().getArguments())
    if (argument.getType().isIndex() && !argument.use_empty())
      add(ParameterKind::Index, argument);
  llvm::sort(parameters, isBefore);
  parameters.erase(llvm::unique(parameters), parameters.end());
  return success();
}

static Type getParameterType(ParameterAttr attr) {
  MLIRContext *context = attr.getContext();
  switch (attr.getKind()) {
  case ParameterKind::Pointer:
    return LLVM::LLVMPointerType::get(context, /*addressSpace=*/1);
  case ParameterKind::TensorMap:
    return LLVM::LLVMPointerType::get(context);
  case ParameterKind::Size:
  case ParameterKind::Stride:
  case ParameterKind::Index:
    return IntegerType::get(context, 64);
  }
  llvm_unreachable("unknown parameter kind");
}

Value KernelDistribution::getParameter(ParameterAttr attr) {
  auto it = llvm::find(parameters, attr);
  return func.getArgument(it - parameters.begin());
}

Value KernelDistribution::getPointer(Value view) {
  return getParameter(ParameterAttr::get(b.getContext(), ParameterKind::Pointer,
                                         getOperandNumber(view)));
}

Value KernelDistribution::getSize(Value view, int64_t dimension) {
  auto type = cast<ViewType>(view.getType());
  if (!type.isDynamicDim(dimension))
    return b.index(type.getDimSize(dimension));
  return b.toIndex(getParameter(ParameterAttr::get(
      b.getContext(), ParameterKind::Size, getOperandNumber(view), dimension)));
}

Value KernelDistribution::getStride(Value view, int64_t dimension) {
  return getParameter(ParameterAttr::get(b.getContext(), ParameterKind::Stride,
                                         getOperandNumber(view), dimension));
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

LogicalResult KernelDistribution::layOutSharedMemory() {
  int64_t offset = llvm::alignTo(kernel.getSharedBytes().value_or(0),
                                 TargetModel::mbarrierBytes);
  barriersOffset = offset;
  int64_t number = TargetModel::namedBarriers;
  for (auto barrier : kernel.getBody().getOps<BarrierOp>()) {
    if (int64_t(barrier.getArrivals()) > TargetModel::maxMBarrierCount)
      return barrier.emitOpError("expects more than ")
             << TargetModel::maxMBarrierCount << " arrivals";
    // From the last on: the first are the kernel's and the teams'.
    if (barrier.getNamed()) {
      if (--number <= getThreads() / (TargetModel::warpThreads *
                                      TargetModel::warpgroupWarps))
        return barrier.emitOpError("is one named barrier too many: a CTA has ")
               << TargetModel::namedBarriers << ", teams and the kernel among "
               << "them";
      barriers[barrier.getBarrier()] = {0, 0, static_cast<int32_t>(number)};
      continue;
    }
    barriers[barrier.getBarrier()] = {offset, int64_t(barrier.getStages())};
    offset += barrier.getStages() * TargetModel::mbarrierBytes;
  }
  slotOffset = offset;
  if (getTensorColumns() > 0)
    offset += 8;
  sharedBytes = offset;
  if (sharedBytes > TargetModel::sharedMemoryBytes)
    return kernel.emitOpError("needs ")
           << sharedBytes << " bytes of shared memory with its barriers, more "
           << "than the " << TargetModel::sharedMemoryBytes << " of a CTA";
  return success();
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

void KernelDistribution::createFunction() {
  SmallVector<Type> types;
  for (ParameterAttr attr : parameters)
    types.push_back(getParameterType(attr));
  func = gpu::GPUFuncOp::create(b, kernel.getSymName(),
                                b.getFunctionType(types, {}));
  func->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  func.setKnownBlockSize(
      ArrayRef<int32_t>{static_cast<int32_t>(getThreads()), 1, 1});
  func->setAttr(ParameterAttr::kSharedBytesName,
                b.getI64IntegerAttr(sharedBytes));
  if (layout)
    func->setAttr(kMinCTAsName, b.getI64IntegerAttr(getMinCTAs()));
  if (layout && layout->ctas > 1)
    func->setAttr(kClusterName, b.getI64IntegerAttr(layout->ctas));
  for (auto [i, attr] : llvm::enumerate(parameters)) {
    func.setArgAttr(i, ParameterAttr::kArgumentName, attr);
    if (attr.getKind() == ParameterKind::TensorMap)
      func.setArgAttr(i, ParameterAttr::kTensorMapName, b.getUnitAttr());
  }
  b.setInsertionPointToStart(&func.getBody().front());
}

void KernelDistribution::buildPrologue() {
  threadInCTA = b.toI32(gpu::ThreadIdOp::create(b, gpu::Dimension::x));
  warp = b.shiftRight(threadInCTA, 5);
  int64_t columns = getTensorColumns();
  if (sharedBytes == 0)
    return;

  sharedBase = SharedMemoryOp::create(b);
  if (barriers.empty() && columns == 0)
    return;
  auto isEqual = [&](Value x, int64_t y) {
    return b.compare(arith::CmpIPredicate::eq, x, b.i32(y));
  };
  if (!barriers.empty())
    b.when(isEqual(threadInCTA, 0), [&] {
      for (auto barrier : kernel.getBody().getOps<BarrierOp>())
        for (int64_t i = 0, e = barriers[barrier.getBarrier()].stages; i < e;
             ++i)
          MBarrierInitOp::create(
              b,
              b.offset(sharedBase, barriers[barrier.getBarrier()].offset +
                                       i * TargetModel::mbarrierBytes),
              static_cast<int32_t>(barrier.getArrivals()));
      FenceMBarrierInitOp::create(b);
    });
  if (columns > 0)
    b.when(isEqual(warp, kAllocatingWarp), [&] {
      Tcgen05AllocOp::create(b, static_cast<int32_t>(columns),
                             b.offset(sharedBase, slotOffset));
      Tcgen05RelinquishOp::create(b);
    });
  BarrierSyncOp::create(b, 0, static_cast<int32_t>(getThreads()));
  if (columns == 0)
    return;
  // No fences around the barrier: allocation is synchronous.
  tensorBase =
      LLVM::LoadOp::create(b, b.getI32Type(), b.offset(sharedBase, slotOffset));
}

void KernelDistribution::buildEpilogue() {
  int64_t columns = getTensorColumns();
  if (columns == 0)
    return;
  // Nor here: each role has waited for all that it did in tensor memory, and
  // deallocation is synchronous.
  BarrierSyncOp::create(b, 0, static_cast<int32_t>(getThreads()));
  b.when(
      b.compare(arith::CmpIPredicate::eq, warp, b.i32(kAllocatingWarp)), [&] {
        Tcgen05DeallocOp::create(b, tensorBase, static_cast<int32_t>(columns));
      });
}

LogicalResult KernelDistribution::buildRole(RoleOp role) {
  b.setLoc(role.getLoc());
  thread = b.sub(threadInCTA, b.i32(role.getFirstWarp() * 32));
  // Bits 5 and 6 of the thread's index are the warp's quarter, which starts at
  // lane 32 q; lanes stand above bit 16.
  laneBase = b.shiftLeft(b.bitAnd(threadInCTA, b.i32(0x60)), 16);
  // A comment, for readers of PTX and reports of its cost.
  std::string comment = "// role " + role.getName().str() + ", " +
                        std::to_string(role.getWarps()) + " warps";
  LLVM::InlineAsmOp::create(b, TypeRange(), ValueRange(), comment, "",
                            /*has_side_effects=*/true,
                            /*is_align_stack=*/false, LLVM::TailCallKind::None,
                            /*asm_dialect=*/nullptr,
                            /*operand_attrs=*/nullptr);
  return lower(role.getBody().front());
}

LogicalResult KernelDistribution::buildWarpgroup(ArrayRef<RoleOp> roles) {
  // What a thread has from the launch on. Where it can have all that exist,
  // nothing is to be redistributed.
  int64_t step = TargetModel::registerBudgetStep;
  int64_t budget =
      TargetModel::registersPerMultiprocessor / getThreads() / step * step;
  int64_t registers = RoleOp(roles.front()).getRegisters();
  if (budget < TargetModel::maxRegisterBudget && registers != budget)
    SetMaxRegistersOp::create(b,
                              registers > budget
                                  ? SetMaxRegistersAction::Increase
                                  : SetMaxRegistersAction::Decrease,
                              static_cast<int32_t>(registers));
  LogicalResult result = success();
  for (RoleOp role : roles) {
    if (!role.getElected()) {
      result = buildRole(role);
    } else {
      b.when(
          b.compare(arith::CmpIPredicate::eq, warp, b.i32(role.getFirstWarp())),
          [&] {
            b.when(ElectSyncOp::create(b), [&] { result = buildRole(role); });
          });
    }
    if (failed(result))
      return failure();
  }
  return success();
}

LogicalResult KernelDistribution::buildRoles() {
  auto roles = llvm::to_vector(kernel.getBody().getOps<RoleOp>());
  llvm::sort(roles, [](RoleOp x, RoleOp y) {
    return x.getFirstWarp() < y.getFirstWarp();
  });
  int64_t warpgroups =
      getThreads() / (TargetModel::warpThreads * TargetModel::warpgroupWarps);
  SmallVector<SmallVector<RoleOp>> members(warpgroups);
  for (RoleOp role : roles)
    members[role.getFirstWarp() / TargetModel::warpgroupWarps].push_back(role);

  OpBuilder::InsertionGuard guard(b);
  for (int64_t i = 0; i < warpgroups; ++i) {
    if (i + 1 == warpgroups)
      return buildWarpgroup(members[i]);
    Value isMember = b.compare(arith::CmpIPredicate::ult, warp,
                               b.i32((i + 1) * TargetModel::warpgroupWarps));
    auto branch = scf::IfOp::create(b, isMember, /*withElse=*/true);
    b.setInsertionPointToStart(branch.thenBlock());
    if (failed(buildWarpgroup(members[i])))
      return failure();
    b.setInsertionPointToStart(branch.elseBlock());
  }
  return success();
}

LogicalResult KernelDistribution::run() {
  bool isElementwise = kernel.getStage() == Stage::Tile;
  if (failed(collectParameters()) ||
      failed(isElementwise ? chooseElementLayout() : layOutSharedMemory()))
    return failure();
  if (isElementwise)
    layOutElementwiseMemory();
  createFunction();
  buildPrologue();
  for (BlockArgument argument : kernel.getBody().getArguments())
    if (argument.getType().isIndex() && !argument.use_empty())
      values.map(argument, b.toIndex(getParameter(ParameterAttr::get(
                               b.getContext(), ParameterKind::Index,
                               argument.getArgNumber()))));
  if (isElementwise) {
    thread = threadInCTA;
    buildElementCoordinates();
    if (failed(lower(kernel.getBody().front())))
      return failure();
  } else {
    for (Operation &op : kernel.getBody().front())
      if (!isa<RoleOp, BarrierOp>(op) && failed(lower(&op)))
        return failure();
    if (failed(buildRoles()))
      return failure();
  }
  b.setLoc(kernel.getLoc());
  buildEpilogue();
  gpu::ReturnOp::create(b);
  return success();
}
