//===- TensorCore.cpp - Buffers, barriers and asynchronous engines --------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelDistribution.h"

using namespace mlir;
using namespace lpfa;

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// A tile that engines read or write with a swizzle starts where its pattern
/// does, in every slot of a ring.
LogicalResult KernelDistribution::checkPlace(Operation *op, BufferType buffer,
                                             PlaceAttr place) {
  if (buffer.getSpace() != MemorySpace::Shared || buffer.getRank() != 2)
    return success();
  FailureOr<SharedLayout> layout = SharedLayout::get(op, buffer);
  if (failed(layout))
    return failure();
  int64_t alignment = layout->getAlignment();
  if (place.getOffset() % alignment || place.getDistance() % alignment)
    return op->emitOpError("places ")
           << buffer << " at " << place << ", but its swizzle needs multiples "
           << "of " << alignment << " bytes";
  return success();
}

Value KernelDistribution::getPlace(PlaceAttr place) {
  if (place.getSpace() == MemorySpace::Shared)
    return b.offset(sharedBase, place.getOffset());
  return b.add(tensorBase, b.i32(place.getOffset()));
}

LogicalResult KernelDistribution::lower(ChannelOp op) {
  for (auto [buffer, place] :
       llvm::zip(op.getChannel().getType().getBuffers(),
                 op.getPlaces()->getAsRange<PlaceAttr>()))
    if (failed(checkPlace(op, buffer, place)))
      return failure();
  return success();
}

LogicalResult KernelDistribution::lower(AccumulatorOp op) {
  if (failed(checkPlace(op, op.getBuffer().getType(), *op.getPlace())))
    return failure();
  values.map(op.getBuffer(), getPlace(*op.getPlace()));
  return success();
}

LogicalResult KernelDistribution::lower(ScratchOp op) {
  PlaceAttr place = *op.getPlace();
  if (failed(checkPlace(op, op.getBuffer().getType(), place)))
    return failure();
  values.map(op.getBuffer(), getPlace(place));
  if (op.getStages() == 1 || place.getDistance() == 0)
    return success();
  if (place.getSpace() != MemorySpace::Tensor)
    return op.emitOpError("may have several places in tensor memory only");
  // Such that the first copy goes to slot 0.
  Value variable = declareVariable();
  LLVM::StoreOp::create(
      b, b.i32(place.getDistance() * (int64_t(op.getStages()) - 1)), variable);
  scratchOffsets[op.getBuffer()] = variable;
  return success();
}

/// A buffer's start; of a scratch buffer with several places, that of the
/// latest content.
Value KernelDistribution::getStart(Value buffer) {
  Value start = values.lookup(buffer);
  Value variable = scratchOffsets.lookup(buffer);
  return variable ? b.add(start, b.load(variable)) : start;
}

/// The same for the next content, which is then the latest.
Value KernelDistribution::getNextStart(Value buffer) {
  if (Value variable = scratchOffsets.lookup(buffer)) {
    auto scratch = buffer.getDefiningOp<ScratchOp>();
    int64_t distance = scratch.getPlace()->getDistance();
    Value next = b.add(b.load(variable), b.i32(distance));
    Value wraps = b.compare(arith::CmpIPredicate::eq, next,
                            b.i32(distance * int64_t(scratch.getStages())));
    LLVM::StoreOp::create(b, b.select(wraps, b.i32(0), next), variable);
  }
  return getStart(buffer);
}

LogicalResult KernelDistribution::lower(SlotAtOp op) {
  auto channel = op.getChannel().getDefiningOp<ChannelOp>();
  Value slot;
  if (Value variable = cursors[op.getCursor()].slot)
    slot = b.load(variable);
  for (auto [buffer, place] : llvm::zip(
           op.getBuffers(), channel.getPlaces()->getAsRange<PlaceAttr>())) {
    Value start = getPlace(place);
    if (slot) {
      Value distance = b.mul(slot, b.i32(place.getDistance()));
      start = place.getSpace() == MemorySpace::Shared
                  ? b.offset(start, distance)
                  : b.add(start, distance);
    }
    values.map(buffer, start);
  }
  return success();
}

LogicalResult KernelDistribution::lower(SliceOp op) {
  BufferType type = op.getBuffer().getType();
  int64_t bits = op.getColumn() * type.getElementType().getIntOrFloatBitWidth();
  if (bits % 32)
    return op.emitOpError("must start at a column of tensor memory, 32 bits");
  values.map(op.getResult(),
             b.add(values.lookup(op.getBuffer()), b.i32(bits / 32)));
  return success();
}

//===----------------------------------------------------------------------===//
// Barriers and fences
//===----------------------------------------------------------------------===//

Value KernelDistribution::getBarrier(Value barrier, Value cursor) {
  Value ring = b.offset(sharedBase, barriers[barrier].offset);
  Value variable = cursors[cursor].slot;
  if (!variable)
    return ring;
  Value slot = b.load(variable);
  return b.offset(ring, b.mul(slot, b.i32(TargetModel::mbarrierBytes)));
}

/// How many threads meet at a named barrier.
static int32_t getNamedThreads(BarrierOp barrier) {
  SmallPtrSet<Operation *, 4> waiting;
  for (Operation *user : barrier.getBarrier().getUsers())
    if (isa<WaitOp>(user))
      waiting.insert(user->getParentOfType<RoleOp>());
  int64_t threads = barrier.getArrivals();
  for (Operation *role : waiting)
    threads += cast<RoleOp>(role).getThreads();
  return static_cast<int32_t>(threads);
}

LogicalResult KernelDistribution::lower(WaitOp op) {
  if (auto barrier = op.getBarrier().getDefiningOp<BarrierOp>();
      barrier.getNamed()) {
    BarrierSyncOp::create(b, barriers[op.getBarrier()].number,
                          getNamedThreads(barrier));
    return success();
  }
  const CursorVariables &cursor = cursors[op.getCursor()];
  int64_t back = op.getBack();
  if (back > cursor.stages)
    return op.emitOpError("can go back one round at most, ")
           << cursor.stages << " uses, as the parity of a phase says no more";
  // Before the first use the parity is that of the phase before the first,
  // which counts as complete.
  Value parity = b.load(cursor.phase);
  if (back == cursor.stages)
    parity = b.bitXor(parity, b.i32(1));
  Value barrier = getBarrier(op.getBarrier(), op.getCursor());
  if (back == 1 && cursor.stages > 1) {
    // The slot before; before the first it is the last, of the round before.
    Value isFirst =
        b.compare(arith::CmpIPredicate::eq, b.load(cursor.slot), b.i32(0));
    parity = b.bitXor(parity, b.select(isFirst, b.i32(1), b.i32(0)));
    int64_t ring = cursor.stages * TargetModel::mbarrierBytes;
    barrier = b.offset(barrier, b.i32(-TargetModel::mbarrierBytes));
    barrier = b.select(isFirst, b.offset(barrier, b.i32(ring)), barrier);
  }
  MBarrierWaitOp::create(b, barrier, parity);
  return success();
}

LogicalResult KernelDistribution::lower(ArriveOp op) {
  if (auto named = op.getBarrier().getDefiningOp<BarrierOp>();
      named.getNamed()) {
    BarrierArriveOp::create(b, barriers[op.getBarrier()].number,
                            getNamedThreads(named));
    return success();
  }
  Value barrier = getBarrier(op.getBarrier(), op.getCursor());
  if (!op.getOneThread() || op->getParentOfType<RoleOp>().getElected())
    MBarrierArriveOp::create(b, barrier);
  else
    b.when(b.compare(arith::CmpIPredicate::eq, thread, b.i32(0)),
           [&] { MBarrierArriveOp::create(b, barrier); });
  return success();
}

LogicalResult KernelDistribution::lower(TeamBarrierOp op) {
  // Barrier 0 is the kernel's; a team has at least four warps, so that there
  // are barriers for all teams.
  auto role = op->getParentOfType<RoleOp>();
  BarrierSyncOp::create(
      b,
      static_cast<int32_t>(1 +
                           role.getFirstWarp() / TargetModel::warpgroupWarps),
      static_cast<int32_t>(role.getThreads()));
  return success();
}

LogicalResult KernelDistribution::lower(CommitOp op) {
  Tcgen05CommitOp::create(b, getBarrier(op.getBarrier(), op.getCursor()));
  return success();
}

LogicalResult KernelDistribution::lower(ExpectBytesOp op) {
  if (int64_t(op.getBytes()) > TargetModel::maxTransactionCount)
    return op.emitOpError("expects more than ")
           << TargetModel::maxTransactionCount << " bytes";
  Value barrier = getBarrier(op.getBarrier(), op.getCursor());
  if (op.getNoArrival())
    MBarrierExpectTxOp::create(b, barrier, b.i32(op.getBytes()));
  else
    MBarrierArriveExpectTxOp::create(b, barrier, b.i32(op.getBytes()));
  return success();
}

LogicalResult KernelDistribution::lower(FenceOp op) {
  switch (op.getKind()) {
  case FenceKind::ProxyAsync:
    FenceProxyAsyncOp::create(b);
    return success();
  case FenceKind::BeforeThreadSync:
    Tcgen05FenceOp::create(b, FenceSide::Before);
    return success();
  case FenceKind::AfterThreadSync:
    Tcgen05FenceOp::create(b, FenceSide::After);
    return success();
  case FenceKind::TensorStores:
    Tcgen05WaitStOp::create(b);
    return success();
  }
  llvm_unreachable("unknown fence");
}

//===----------------------------------------------------------------------===//
// Bulk copies
//===----------------------------------------------------------------------===//

/// The coordinates of a box, fastest-varying first.
SmallVector<Value> KernelDistribution::getCoordinates(ValueRange indices) {
  SmallVector<Value> coordinates;
  for (Value index : llvm::reverse(indices))
    coordinates.push_back(b.toI32(values.lookup(index)));
  return coordinates;
}

LogicalResult KernelDistribution::lower(LoadAsyncOp op) {
  if (!op.getBarrier())
    return op.emitOpError("must signal a barrier");
  Value destination = values.lookup(op.getBuffer());
  Value barrier = getBarrier(op.getBarrier(), op.getCursor());
  Value view = op.getView();
  BufferType buffer = op.getBuffer().getType();

  if (buffer.isScales()) {
    // An atom is contiguous: where it starts is all there is to say.
    ArrayRef<int64_t> shape = op.getView().getType().getShape();
    if (shape.size() < 3 || shape.take_back(3) != buffer.getShape())
      return op.emitOpError("loads an atom of scales from ")
             << view.getType() << ", whose last dimensions are no atom";
    Value element = arith::ConstantIntOp::create(b, 0, 64);
    for (size_t i = 0; i + 3 < shape.size(); ++i)
      element = b.add(element, b.mul(b.toI64(values.lookup(op.getIndices()[i])),
                                     getStride(view, i)));
    Value source = b.offset(getPointer(view), element);
    BulkLoadOp::create(b, source, destination,
                       b.i32(TargetModel::scaleAtomBytes), barrier);
    return success();
  }

  FailureOr<ParameterAttr> map = getTensorMap(op, view, buffer);
  FailureOr<SharedLayout> layout = SharedLayout::get(op, buffer);
  if (failed(map) || failed(layout))
    return failure();
  SmallVector<Value> coordinates = getCoordinates(op.getIndices());
  Value column = coordinates[0];
  for (int64_t i = 0; i < layout->blocks; ++i) {
    coordinates[0] = b.add(column, b.i32(i * layout->elementsPerBlock));
    BulkTensorLoadOp::create(b, getParameter(*map), coordinates,
                             b.offset(destination, i * layout->getBlockBytes()),
                             barrier);
  }
  return success();
}

LogicalResult KernelDistribution::lower(StoreAsyncOp op) {
  BufferType buffer = op.getBuffer().getType();
  FailureOr<ParameterAttr> map = getTensorMap(op, op.getView(), buffer);
  FailureOr<SharedLayout> layout = SharedLayout::getUnpadded(op, buffer);
  if (failed(map) || failed(layout))
    return failure();
  Value source = values.lookup(op.getBuffer());
  SmallVector<Value> coordinates = getCoordinates(op.getIndices());
  Value column = coordinates[0];
  for (int64_t i = 0; i < layout->blocks; ++i) {
    coordinates[0] = b.add(column, b.i32(i * layout->elementsPerBlock));
    BulkTensorStoreOp::create(b, b.offset(source, i * layout->getBlockBytes()),
                              getParameter(*map), coordinates);
  }
  BulkCommitGroupOp::create(b);
  return success();
}

LogicalResult KernelDistribution::lower(StoreWaitOp op) {
  BulkWaitGroupOp::create(b, 0, /*read=*/!op.getComplete());
  return success();
}

//===----------------------------------------------------------------------===//
// Tensor core
//===----------------------------------------------------------------------===//

LogicalResult KernelDistribution::lower(CopyScalesOp op) {
  // Rows of 16 bytes without swizzle, in groups of eight.
  Value source = SharedDescriptorOp::create(b, values.lookup(op.getSource()),
                                            /*swizzle=*/0, /*leading=*/16,
                                            /*stride=*/128);
  Tcgen05CpOp::create(b, source, getNextStart(op.getDestination()),
                      /*rows=*/false);
  return success();
}

/// A K-major operand: groups of eight rows follow each other.
static Value buildKMajorDescriptor(ThreadBuilder &b, Value start,
                                   const SharedLayout &layout) {
  return SharedDescriptorOp::create(b, start, layout.rowBytes, /*leading=*/16,
                                    /*stride=*/8 * layout.rowBytes);
}

/// An MN-major operand, K rows by MN columns: groups of eight K follow each
/// other, and blocks of the swizzle's width.
static Value buildMNMajorDescriptor(ThreadBuilder &b, Value start,
                                    const SharedLayout &layout) {
  return SharedDescriptorOp::create(
      b, start, layout.rowBytes, layout.getBlockBytes(), 8 * layout.rowBytes);
}

LogicalResult KernelDistribution::lower(CopyTileOp op) {
  FailureOr<SharedLayout> layout =
      SharedLayout::get(op, op.getSource().getType());
  if (failed(layout))
    return failure();
  const int64_t depth = TargetModel::mmaDepth;
  int64_t steps = op.getSource().getType().getShape()[1] / depth;
  if (layout->blocks != 1)
    return op.emitOpError("must have rows of at most 128 bytes");
  Value source =
      buildKMajorDescriptor(b, values.lookup(op.getSource()), *layout);
  Value destination = getNextStart(op.getDestination());
  for (int64_t i = 0; i < steps; ++i)
    Tcgen05CpOp::create(
        b, AdvanceDescriptorOp::create(b, source, b.i32(i * depth)),
        b.add(destination, b.i32(i * depth / 4)), /*rows=*/true);
  return success();
}

LogicalResult KernelDistribution::lower(MmaOp op) {
  BufferType aType = op.getA().getType(), bType = op.getB().getType();
  int64_t n = op.getD().getType().getShape()[1];
  int64_t depth = TargetModel::mmaDepth;
  int64_t steps = aType.getShape()[1] / depth;
  // Where A is a part, it meets K steps of B from here on.
  int64_t first = op.getPart().value_or(0) * steps;
  auto isByte = [](BufferType type) {
    return isa<Float8E4M3FNType, Float8E5M2Type>(type.getElementType());
  };
  if (!isByte(aType) || !isByte(bType))
    return op.emitOpError("multiplies f8E4M3FN and f8E5M2 only");
  if (op.getD().getType().getShape()[0] != TargetModel::mmaRows ||
      !TargetModel::isLegalMMAColumns(n) || first + steps > 4)
    return op.emitOpError("must have 128 rows, a multiple of 16 up to 256 "
                          "columns, and at most 128 in between, for which an "
                          "atom has scales");

  // Where A and B are for each K step.
  Value a = getStart(op.getA());
  Value bStart = values.lookup(op.getB());
  bool isATensor = aType.getSpace() == MemorySpace::Tensor;
  if (!isATensor) {
    FailureOr<SharedLayout> layout = SharedLayout::get(op, aType);
    if (failed(layout))
      return failure();
    a = buildKMajorDescriptor(b, a, *layout);
  }
  FailureOr<SharedLayout> bLayout = SharedLayout::get(op, bType);
  if (failed(bLayout))
    return failure();
  Value bOperand = op.getTransposeB()
                       ? buildKMajorDescriptor(b, bStart, *bLayout)
                       : buildMNMajorDescriptor(b, bStart, *bLayout);
  int64_t bStep = op.getTransposeB() ? depth : depth * bLayout->rowBytes;

  Value d = values.lookup(op.getD());
  Value aScales = getStart(op.getScalesA());
  Value bScales = getStart(op.getScalesB());
  Value accumulate =
      op.getAccumulate() ? values.lookup(op.getAccumulate()) : b.i1(false);
  // Where the tile begins in the atom of B's scales, in blocks of 32: columns
  // of tensor memory for rows, bytes of a column (bits 4 and 5 of the
  // descriptor) for what is summed over.
  Value byteBits;
  if (op.getFrom()) {
    Value block = b.toI32(arith::DivUIOp::create(
        b, values.lookup(op.getFrom()), b.index(TargetModel::mmaDepth)));
    if (op.getTransposeB())
      bScales = b.add(bScales, block);
    else
      byteBits = b.mul(block, b.i32(1 << 4));
  }
  auto issue = [&](int64_t i) {
    // Four bytes a column.
    Value aStep = isATensor
                      ? b.add(a, b.i32(i * depth / 4))
                      : AdvanceDescriptorOp::create(b, a, b.i32(i * depth));
    Value bStepped =
        AdvanceDescriptorOp::create(b, bOperand, b.i32((first + i) * bStep));
    Value instruction = InstructionDescriptorOp::create(
        b, static_cast<int32_t>(TargetModel::mmaRows), static_cast<int32_t>(n),
        aType.getElementType(), bType.getElementType(), /*aMN=*/false,
        /*bMN=*/!op.getTransposeB(), static_cast<int32_t>(first + i),
        static_cast<int32_t>(first + i));
    if (byteBits)
      instruction = b.add(instruction, byteBits);
    Tcgen05MMAOp::create(b, aStep, bStepped, d,
                         i == 0 ? accumulate : b.i1(true), aScales, bScales,
                         instruction);
  };
  for (int64_t i = 0; i < steps; ++i) {
    if (!op.getValid()) {
      issue(i);
      continue;
    }
    Value isValid =
        b.compare(arith::CmpIPredicate::sgt, values.lookup(op.getValid()),
                  b.index((first + i) * depth));
    b.when(isValid, [&] { issue(i); });
  }
  return success();
}
