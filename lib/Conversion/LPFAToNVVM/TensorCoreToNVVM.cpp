//===- TensorCoreToNVVM.cpp - Lowering of tensor core ops -----------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorCoreToNVVM.h"
#include "InlinePTX.h"
#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "lpfa/Target/TargetModel.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace lpfa;

namespace {

/// NVVM's ops take a tensor memory address as a pointer.
Value buildTensorMemoryPointer(OpBuilder &builder, Location loc,
                               Value address) {
  auto type = LLVM::LLVMPointerType::get(
      builder.getContext(),
      static_cast<unsigned>(NVVM::NVVMMemorySpace::Tensor));
  return LLVM::IntToPtrOp::create(builder, loc, type, address);
}

//===----------------------------------------------------------------------===//
// Tensor memory and tensor core
//===----------------------------------------------------------------------===//

LogicalResult lower(Tcgen05AllocOp op, PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<NVVM::Tcgen05AllocOp>(
      op, op.getSlot(), buildI32(rewriter, op.getLoc(), op.getColumns()));
  return success();
}

LogicalResult lower(Tcgen05DeallocOp op, PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<NVVM::Tcgen05DeallocOp>(
      op, buildTensorMemoryPointer(rewriter, op.getLoc(), op.getAddress()),
      buildI32(rewriter, op.getLoc(), op.getColumns()));
  return success();
}

LogicalResult lower(Tcgen05RelinquishOp op, PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<NVVM::Tcgen05RelinquishAllocPermitOp>(op);
  return success();
}

LogicalResult lower(Tcgen05LdOp op, PatternRewriter &rewriter) {
  rewriter.replaceOp(
      op, buildTensorMemoryLoad(rewriter, op.getLoc(),
                                cast<VectorType>(op.getResult().getType()),
                                op.getAddress()));
  return success();
}

LogicalResult lower(Tcgen05LdMaxOp op, PatternRewriter &rewriter) {
  auto [values, maxima] = buildTensorMemoryLoadMax(
      rewriter, op.getLoc(), cast<VectorType>(op.getResult().getType()),
      cast<VectorType>(op.getMaxima().getType()), op.getAddress());
  rewriter.replaceOp(op, {values, maxima});
  return success();
}

LogicalResult lower(Tcgen05StOp op, PatternRewriter &rewriter) {
  buildTensorMemoryStore(rewriter, op.getLoc(), op.getValue(), op.getAddress());
  rewriter.eraseOp(op);
  return success();
}

LogicalResult lower(Tcgen05WaitStOp op, PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<NVVM::Tcgen05WaitOp>(
      op, NVVM::Tcgen05WaitKind::STORE);
  return success();
}

LogicalResult lower(Tcgen05CpOp op, PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<NVVM::Tcgen05CpOp>(
      op,
      op.getRows() ? NVVM::Tcgen05CpShape::SHAPE_128x256b
                   : NVVM::Tcgen05CpShape::SHAPE_32x128b,
      NVVM::CTAGroupKind::CTA_1,
      op.getRows() ? NVVM::Tcgen05CpMulticast::NONE
                   : NVVM::Tcgen05CpMulticast::WARPX4,
      /*srcFormat=*/nullptr,
      buildTensorMemoryPointer(rewriter, op.getLoc(), op.getAddress()),
      op.getSource());
  return success();
}

LogicalResult lower(Tcgen05MMAOp op, PatternRewriter &rewriter) {
  Location loc = op.getLoc();
  Value a = op.getA();
  if (a.getType().isInteger(32))
    a = buildTensorMemoryPointer(rewriter, loc, a);
  Value d = buildTensorMemoryPointer(rewriter, loc, op.getD());
  Value aScales = buildTensorMemoryPointer(rewriter, loc, op.getAScales());
  Value bScales = buildTensorMemoryPointer(rewriter, loc, op.getBScales());
  rewriter.replaceOpWithNewOp<NVVM::Tcgen05MMABlockScaleOp>(
      op, NVVM::MMABlockScaleKind::MXF8F6F4, NVVM::CTAGroupKind::CTA_1,
      NVVM::Tcgen05MMABlockScale::BLOCK32, NVVM::Tcgen05MMACollectorOp::DISCARD,
      d, a, op.getB(), op.getInstruction(), op.getAccumulate(), aScales,
      bScales);
  return success();
}

LogicalResult lower(Tcgen05CommitOp op, PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<NVVM::Tcgen05CommitOp>(op, op.getBarrier(),
                                                     /*multicastMask=*/Value());
  return success();
}

LogicalResult lower(Tcgen05FenceOp op, PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<NVVM::Tcgen05FenceOp>(
      op, op.getSide() == FenceSide::Before
              ? NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC
              : NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
  return success();
}

//===----------------------------------------------------------------------===//
// Descriptors: PTX 9.7.16.4
//===----------------------------------------------------------------------===//

LogicalResult lower(SharedDescriptorOp op, PatternRewriter &rewriter) {
  Location loc = op.getLoc();
  uint64_t swizzle = 0;
  switch (op.getSwizzle()) {
  case 128:
    swizzle = 2;
    break;
  case 64:
    swizzle = 4;
    break;
  case 32:
    swizzle = 6;
    break;
  }
  // Bits 46 to 48 hold the descriptor's version, 1 on Blackwell.
  uint32_t low = (op.getLeading() >> 4) << 16;
  uint32_t high = (op.getStride() >> 4) | 1u << 14 | swizzle << 29;

  Value start = LLVM::PtrToIntOp::create(rewriter, loc, rewriter.getI32Type(),
                                         op.getStart());
  start =
      LLVM::LShrOp::create(rewriter, loc, start, buildI32(rewriter, loc, 4));
  start = LLVM::AndOp::create(rewriter, loc, start,
                              buildI32(rewriter, loc, 0x3FFF));
  start =
      LLVM::OrOp::create(rewriter, loc, start, buildI32(rewriter, loc, low));
  auto wordsType = VectorType::get(2, rewriter.getI32Type());
  Value words = LLVM::PoisonOp::create(rewriter, loc, wordsType);
  words = LLVM::InsertElementOp::create(rewriter, loc, words, start,
                                        buildI32(rewriter, loc, 0));
  words = LLVM::InsertElementOp::create(
      rewriter, loc, words, buildI32(rewriter, loc, static_cast<int32_t>(high)),
      buildI32(rewriter, loc, 1));
  rewriter.replaceOpWithNewOp<LLVM::BitcastOp>(op, rewriter.getI64Type(),
                                               words);
  return success();
}

LogicalResult lower(AdvanceDescriptorOp op, PatternRewriter &rewriter) {
  Location loc = op.getLoc();
  auto wordsType = VectorType::get(2, rewriter.getI32Type());
  Value words =
      LLVM::BitcastOp::create(rewriter, loc, wordsType, op.getDescriptor());
  Value zero = buildI32(rewriter, loc, 0);
  Value low = LLVM::ExtractElementOp::create(rewriter, loc, words, zero);
  // Arithmetic, as bytes may be negative.
  Value step = LLVM::AShrOp::create(rewriter, loc, op.getBytes(),
                                    buildI32(rewriter, loc, 4));
  low = LLVM::AddOp::create(rewriter, loc, low, step);
  words = LLVM::InsertElementOp::create(rewriter, loc, words, low, zero);
  rewriter.replaceOpWithNewOp<LLVM::BitcastOp>(op, rewriter.getI64Type(),
                                               words);
  return success();
}

/// The code of an element type in an instruction descriptor.
uint32_t getElementCode(Type type) {
  return llvm::TypeSwitch<Type, uint32_t>(type)
      .Case<Float8E4M3FNType>([](Type) { return 0; })
      .Case<Float8E5M2Type>([](Type) { return 1; })
      .Case<Float6E2M3FNType>([](Type) { return 3; })
      .Case<Float6E3M2FNType>([](Type) { return 4; })
      .Case<Float4E2M1FNType>([](Type) { return 5; });
}

LogicalResult lower(InstructionDescriptorOp op, PatternRewriter &rewriter) {
  uint32_t bits = 0;
  bits |= op.getBScaleByte() << 4;
  bits |= getElementCode(op.getAType()) << 7;
  bits |= getElementCode(op.getBType()) << 10;
  bits |= uint32_t(op.getAMN()) << 15;
  bits |= uint32_t(op.getBMN()) << 16;
  bits |= uint32_t(op.getN() / 8) << 17;
  bits |= 1u << 23; // Scales are UE8M0.
  bits |= uint32_t(op.getM() / 128) << 27;
  bits |= uint32_t(op.getAScaleByte()) << 29;
  rewriter.replaceOpWithNewOp<LLVM::ConstantOp>(op, rewriter.getI32Type(),
                                                static_cast<int32_t>(bits));
  return success();
}

template <typename... OpTys> void addPatterns(RewritePatternSet &patterns) {
  (patterns.add<OpTys>(lower), ...);
}

} // namespace

void lpfa::populateTensorCoreToNVVMPatterns(RewritePatternSet &patterns) {
  addPatterns<Tcgen05AllocOp, Tcgen05DeallocOp, Tcgen05RelinquishOp,
              Tcgen05LdOp, Tcgen05LdMaxOp, Tcgen05StOp, Tcgen05WaitStOp,
              Tcgen05CpOp, Tcgen05MMAOp, Tcgen05CommitOp, Tcgen05FenceOp,
              SharedDescriptorOp, AdvanceDescriptorOp, InstructionDescriptorOp>(
      patterns);
}
