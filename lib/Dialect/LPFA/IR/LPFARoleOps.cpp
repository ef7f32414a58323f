//===- LPFARoleOps.cpp - Verifiers of roles, channels and barriers --------===//
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
// Roles and what stands between them
//===----------------------------------------------------------------------===//

LogicalResult RoleOp::verify() {
  if (!getElected() && (getWarps() != 4 || getFirstWarp() % 4))
    return emitOpError(
        "must have four warps from a multiple of four, or be elected (C1)");
  if (getElected() && getWarps() != 1)
    return emitOpError("must have one warp where it is elected (C1)");
  if (getRegisters() % 8 || getRegisters() < 24 || getRegisters() > 256)
    return emitOpError("registers must be a multiple of 8 from 24 to 256 (C2)");
  return success();
}

static LogicalResult verifyPlace(Operation *op, BufferType buffer,
                                 PlaceAttr place, StringRef constraint) {
  if (place.getSpace() != buffer.getSpace() ||
      place.getSize() != buffer.getSize())
    return op->emitOpError("place must have ")
           << buffer.getSize() << " of "
           << stringifyMemorySpace(buffer.getSpace()) << " memory ("
           << constraint << ")";
  return success();
}

LogicalResult ChannelOp::verify() {
  if (int64_t(getStages()) <= 0)
    return emitOpError("stages must be positive (C1)");
  ArrayRef<BufferType> buffers = getChannel().getType().getBuffers();
  if (getPlaces()) {
    if (getPlaces()->size() != buffers.size())
      return emitOpError("must have a place for each buffer (C2)");
    for (auto [buffer, place] :
         llvm::zip(buffers, getPlaces()->getAsRange<PlaceAttr>()))
      if (failed(verifyPlace(*this, buffer, place, "C2")))
        return failure();
  }
  RoleOp writer;
  SmallVector<RoleOp> readers;
  for (Operation *user : getChannel().getUsers()) {
    auto role = user->getParentOfType<RoleOp>();
    if (isa<AcquireOp, PutOp>(user)) {
      if (writer && writer != role)
        return emitOpError("may have one writing role only (C3)");
      writer = role;
    } else if (isa<GetOp, ReleaseOp>(user)) {
      readers.push_back(role);
    }
  }
  if (llvm::is_contained(readers, writer))
    return emitOpError("may not be read by the role that writes it (C3)");
  return success();
}

LogicalResult AccumulatorOp::verify() {
  return getPlace()
             ? verifyPlace(*this, getBuffer().getType(), *getPlace(), "C1")
             : success();
}

LogicalResult ScratchOp::verify() {
  if (int64_t(getStages()) <= 0)
    return emitOpError("stages must be positive (C2)");
  if (getStages() > 1 &&
      !llvm::all_of(getBuffer().getUsers(),
                    llvm::IsaPred<CopyScalesOp, CopyTileOp, MmaOp>))
    return emitOpError("with several stages must be written by copies and read "
                       "by products only (C2)");
  return getPlace()
             ? verifyPlace(*this, getBuffer().getType(), *getPlace(), "C1")
             : success();
}

template <typename SlotOpTy> static LogicalResult verifySlot(SlotOpTy op) {
  if (!llvm::equal(op.getBuffers().getTypes(),
                   op.getChannel().getType().getBuffers()))
    return op.emitOpError("must return the channel's buffers (C1)");
  return success();
}

LogicalResult AcquireOp::verify() { return verifySlot(*this); }
LogicalResult GetOp::verify() { return verifySlot(*this); }
LogicalResult SlotAtOp::verify() {
  auto channel = getChannel().getDefiningOp<ChannelOp>();
  auto cursor = getCursor().getDefiningOp<CursorOp>();
  if (channel && cursor && channel.getStages() != cursor.getStages())
    return emitOpError("cursor must have the channel's stages (C1)");
  return verifySlot(*this);
}

//===----------------------------------------------------------------------===//
// Moving tiles
//===----------------------------------------------------------------------===//

LogicalResult LoadAsyncOp::verify() {
  if (getBuffer().getType().getSpace() != MemorySpace::Shared)
    return emitOpError("must load to shared memory (C1)");
  if (bool(getBarrier()) != bool(getCursor()))
    return emitOpError("must have both a barrier and a cursor or neither");
  return verifyPiece(*this, getView().getType(), getIndices(),
                     getBuffer().getType(), "C1");
}

LogicalResult StoreAsyncOp::verify() {
  if (getBuffer().getType().getSpace() != MemorySpace::Shared)
    return emitOpError("must store from shared memory (C1)");
  return verifyPiece(*this, getView().getType(), getIndices(),
                     getBuffer().getType(), "C1");
}

LogicalResult CopyScalesOp::verify() {
  BufferType source = getSource().getType(),
             destination = getDestination().getType();
  if (!source.isScales() || !destination.isScales() ||
      source.getSpace() != MemorySpace::Shared ||
      destination.getSpace() != MemorySpace::Tensor)
    return emitOpError(
        "must copy an atom of scales from shared to tensor memory (C1)");
  return success();
}

LogicalResult CopyTileOp::verify() {
  BufferType source = getSource().getType(),
             destination = getDestination().getType();
  if (source.getTile() != destination.getTile() || source.getRank() != 2 ||
      source.getShape()[0] != 128 || source.getShape()[1] % 32 ||
      source.getElementType().getIntOrFloatBitWidth() != 8 ||
      source.getSpace() != MemorySpace::Shared ||
      destination.getSpace() != MemorySpace::Tensor)
    return emitOpError("must copy 128 rows with a multiple of 32 bytes from "
                       "shared to tensor memory (C1)");
  return success();
}

LogicalResult MmaOp::verify() {
  BufferType a = getA().getType(), b = getB().getType(), d = getD().getType();
  if (a.getRank() != 2 || b.getRank() != 2 || d.getRank() != 2)
    return emitOpError("must multiply matrices (C1)");
  int64_t k = a.getShape()[1];
  int64_t bk = b.getShape()[getTransposeB() ? 1 : 0];
  int64_t bn = b.getShape()[getTransposeB() ? 0 : 1];
  if (std::optional<uint64_t> part = getPart()) {
    if (bk % k || int64_t(*part) < 0 || int64_t(*part) >= bk / k)
      return emitOpError("must have a part that lies in the depth of b, a "
                         "multiple of that of a (C2)");
    bk = k;
  }
  if (k != bk || a.getShape()[0] != d.getShape()[0] || bn != d.getShape()[1] ||
      k % 32 || !d.getElementType().isF32())
    return emitOpError("shapes must agree, with the inner size a multiple of "
                       "32 and an f32 result (C1)");
  if (b.getSpace() != MemorySpace::Shared ||
      d.getSpace() != MemorySpace::Tensor ||
      !getScalesA().getType().isScales() || !getScalesB().getType().isScales())
    return emitOpError("must have b in shared memory, d and the scales in "
                       "tensor memory (C1)");
  return success();
}

LogicalResult ReadOp::verify() {
  if (getBuffer().getType().getTile() != getTile().getType())
    return emitOpError(
        "tile must have the buffer's shape and element type (C1)");
  return success();
}

LogicalResult WriteOp::verify() {
  if (getBuffer().getType().getTile() != getTile().getType())
    return emitOpError(
        "tile must have the buffer's shape and element type (C1)");
  return success();
}

LogicalResult RescaleBufferOp::verify() {
  BufferType buffer = getBuffer().getType();
  TileType factor = getFactor().getType();
  if (buffer.getSpace() != MemorySpace::Tensor ||
      !buffer.getElementType().isF32() || factor.getRank() != 1 ||
      !factor.getElementType().isF32() ||
      factor.getShape()[0] != buffer.getShape()[0])
    return emitOpError(
        "must have an f32 buffer in tensor memory and a factor a row (C1)");
  return success();
}

LogicalResult SliceOp::verify() {
  BufferType buffer = getBuffer().getType(), result = getResult().getType();
  if (buffer.getSpace() != MemorySpace::Tensor ||
      result.getSpace() != MemorySpace::Tensor || buffer.getRank() != 2 ||
      result.getRank() != 2 || buffer.getShape()[0] != result.getShape()[0] ||
      buffer.getElementType() != result.getElementType() ||
      int64_t(getColumn()) < 0 ||
      int64_t(getColumn()) + result.getShape()[1] > buffer.getShape()[1])
    return emitOpError("must be columns of the buffer, in tensor memory (C1)");
  return success();
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

LogicalResult BarrierOp::verify() {
  if (int64_t(getStages()) <= 0 || int64_t(getArrivals()) <= 0)
    return emitOpError("stages and arrivals must be positive (C1)");
  if (!getNamed())
    return success();
  for (Operation *user : getBarrier().getUsers()) {
    auto wait = dyn_cast<WaitOp>(user);
    auto arrive = dyn_cast<ArriveOp>(user);
    auto role = user->getParentOfType<RoleOp>();
    if ((!wait && !arrive) || (wait && wait.getBack() != 0) ||
        (arrive && arrive.getOneThread()) || !role || role.getElected())
      return emitOpError("is named: all threads of roles that are not elected "
                         "arrive at it and wait for the use at hand (C2)");
  }
  if (getStages() != 1)
    return emitOpError("is named and must have one stage (C2)");
  return success();
}

LogicalResult CursorOp::verify() {
  if (int64_t(getStages()) <= 0)
    return emitOpError("stages must be positive");
  return success();
}

LogicalResult WaitOp::verify() {
  auto barrier = getBarrier().getDefiningOp<BarrierOp>();
  auto cursor = getCursor().getDefiningOp<CursorOp>();
  if (!barrier || !cursor)
    return success();
  if (barrier.getStages() != cursor.getStages() ||
      (getBack() != 1 && getBack() % barrier.getStages()))
    return emitOpError("cursor must have the barrier's stages, and back must "
                       "be 1 or a multiple of them (C1)");
  return success();
}

LogicalResult TeamBarrierOp::verify() {
  auto role = (*this)->getParentOfType<RoleOp>();
  if (!role || role.getElected())
    return emitOpError("must stand in a role that is not elected (C1)");
  return success();
}

LogicalResult ExpectBytesOp::verify() {
  if (int64_t(getBytes()) <= 0)
    return emitOpError("bytes must be positive (C1)");
  return success();
}
