//===- LPFAToNVVM.cpp - From ops of the threads stage to instructions -----===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InlinePTX.h"
#include "NarrowFloats.h"
#include "TensorCoreToNVVM.h"
#include "lpfa/Conversion/Passes.h"
#include "lpfa/Dialect/LPFA/IR/LPFAOps.h"
#include "lpfa/Dialect/LPFA/Utils/Occupancy.h"
#include "lpfa/Target/TargetModel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;

namespace lpfa {
#define GEN_PASS_DEF_CONVERTLPFATONVVM
#include "lpfa/Conversion/Passes.h.inc"

namespace {

constexpr llvm::StringLiteral sharedMemorySymbol = "lpfa_shared_memory";
constexpr llvm::StringLiteral tensorMapAttr = "lpfa.tensor_map";

Value buildIntrinsic(OpBuilder &builder, Location loc, Type type,
                     StringRef name, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(builder, loc, type,
                                       builder.getStringAttr(name), operands)
      ->getResult(0);
}

/// Calls `build` with the elements of the operands, one by one where they are
/// vectors.
Value buildElementwise(OpBuilder &builder, Location loc, ValueRange operands,
                       llvm::function_ref<Value(ValueRange)> build) {
  auto type = dyn_cast<VectorType>(operands.front().getType());
  if (!type)
    return build(operands);
  Value result = LLVM::PoisonOp::create(builder, loc, type);
  for (int64_t i = 0, e = type.getNumElements(); i < e; ++i) {
    Value index = buildI32(builder, loc, i);
    SmallVector<Value> elements;
    for (Value operand : operands)
      elements.push_back(
          LLVM::ExtractElementOp::create(builder, loc, operand, index));
    result = LLVM::InsertElementOp::create(builder, loc, result,
                                           build(elements), index);
  }
  return result;
}

/// PTX's name of a rounding.
StringRef getRoundingName(FloatRounding rounding) {
  switch (rounding) {
  case FloatRounding::Nearest:
    return "rn";
  case FloatRounding::Zero:
    return "rz";
  case FloatRounding::Up:
    return "rp";
  case FloatRounding::Down:
    return "rm";
  }
  llvm_unreachable("unknown rounding");
}

//===----------------------------------------------------------------------===//
// Ops that are one op of NVVM, or one intrinsic
//===----------------------------------------------------------------------===//

LogicalResult lower(ElectSyncOp op, PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<NVVM::ElectSyncOp>(op, rewriter.getI1Type(),
                                                 /*membermask=*/Value());
  return success();
}

LogicalResult lower(LargestMagnitudeOp op, PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<NVVM::ReduxOp>(
      op, rewriter.getF32Type(), op.getValue(), NVVM::ReduxKind::FMAX,
      buildI32(rewriter, op.getLoc(), -1), /*abs=*/true, /*nan=*/true);
  return success();
}

LogicalResult lower(AnySyncOp op, PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<NVVM::VoteSyncOp>(
      op, rewriter.getI1Type(), buildI32(rewriter, op.getLoc(), -1),
      op.getCondition(), NVVM::VoteSyncKind::any);
  return success();
}

LogicalResult lower(SetMaxRegistersOp op, PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<NVVM::SetMaxRegisterOp>(
      op, op.getCount(),
      op.getAction() == SetMaxRegistersAction::Increase
          ? NVVM::SetMaxRegisterAction::increase
          : NVVM::SetMaxRegisterAction::decrease);
  return success();
}

LogicalResult lowerNamedBarrier(Operation *op, StringRef intrinsic, int32_t id,
                                int32_t threads, PatternRewriter &rewriter) {
  Location loc = op->getLoc();
  Value operands[] = {buildI32(rewriter, loc, id),
                      buildI32(rewriter, loc, threads)};
  rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(
      op, rewriter.getStringAttr(intrinsic), operands);
  return success();
}

LogicalResult lower(BarrierSyncOp op, PatternRewriter &rewriter) {
  return lowerNamedBarrier(op, "llvm.nvvm.barrier.cta.sync.aligned.count",
                           op.getId(), op.getThreads(), rewriter);
}

LogicalResult lower(BarrierArriveOp op, PatternRewriter &rewriter) {
  return lowerNamedBarrier(op, "llvm.nvvm.barrier.cta.arrive.aligned.count",
                           op.getId(), op.getThreads(), rewriter);
}

LogicalResult lower(MBarrierInitOp op, PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<NVVM::MBarrierInitOp>(
      op, op.getBarrier(), buildI32(rewriter, op.getLoc(), op.getCount()),
      /*predicate=*/Value());
  return success();
}

LogicalResult lower(MBarrierInvalidateOp op, PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<NVVM::MBarrierInvalOp>(op, op.getBarrier());
  return success();
}

LogicalResult lower(MBarrierArriveOp op, PatternRewriter &rewriter) {
  buildIntrinsic(rewriter, op.getLoc(), rewriter.getI64Type(),
                 "llvm.nvvm.mbarrier.arrive.scope.cta.space.cta",
                 {op.getBarrier(), buildI32(rewriter, op.getLoc(), 1)});
  rewriter.eraseOp(op);
  return success();
}

LogicalResult lower(MBarrierArriveExpectTxOp op, PatternRewriter &rewriter) {
  buildIntrinsic(rewriter, op.getLoc(), rewriter.getI64Type(),
                 "llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta",
                 {op.getBarrier(), op.getBytes()});
  rewriter.eraseOp(op);
  return success();
}

LogicalResult lower(MBarrierExpectTxOp op, PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<NVVM::MBarrierExpectTxOp>(op, op.getBarrier(),
                                                        op.getBytes());
  return success();
}

LogicalResult lower(MBarrierWaitOp op, PatternRewriter &rewriter) {
  buildMBarrierWait(rewriter, op.getLoc(), op.getBarrier(), op.getParity());
  rewriter.eraseOp(op);
  return success();
}

LogicalResult lower(ClusterSyncOp op, PatternRewriter &rewriter) {
  NVVM::ClusterArriveOp::create(rewriter, op.getLoc(), rewriter.getUnitAttr());
  rewriter.replaceOpWithNewOp<NVVM::ClusterWaitOp>(op, rewriter.getUnitAttr());
  return success();
}

LogicalResult lower(MapSharedOp op, PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<NVVM::MapaOp>(op, op.getMapped().getType(),
                                            op.getAddress(), op.getCta());
  return success();
}

LogicalResult lower(FenceMBarrierInitOp op, PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<NVVM::FenceMbarrierInitOp>(op);
  return success();
}

LogicalResult lower(FenceProxyAsyncOp op, PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<NVVM::FenceProxyOp>(
      op,
      NVVM::ProxyKindAttr::get(op.getContext(), NVVM::ProxyKind::async_shared),
      NVVM::SharedSpaceAttr::get(op.getContext(),
                                 NVVM::SharedSpace::shared_cta));
  return success();
}

LogicalResult lower(BulkTensorLoadOp op, PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp>(
      op, op.getDestination(), op.getMap(), op.getCoordinates(),
      op.getBarrier(), /*im2colOffsets=*/ValueRange(),
      /*multicastMask=*/Value(), /*l2CacheHint=*/Value(),
      NVVM::TMALoadMode::TILE, /*isCTAOnly=*/true, /*group=*/nullptr,
      /*predicate=*/Value());
  return success();
}

LogicalResult lower(BulkTensorStoreOp op, PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp>(
      op, op.getMap(), op.getSource(), op.getCoordinates(),
      /*l2CacheHint=*/Value(), NVVM::TMAStoreMode::TILE,
      /*predicate=*/Value());
  return success();
}

LogicalResult lower(BulkLoadOp op, PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<NVVM::CpAsyncBulkGlobalToSharedClusterOp>(
      op, op.getDestination(), op.getSource(), op.getBarrier(), op.getBytes(),
      /*multicastMask=*/Value(), /*l2CacheHint=*/Value());
  return success();
}

LogicalResult lower(BulkCommitGroupOp op, PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<NVVM::CpAsyncBulkCommitGroupOp>(op);
  return success();
}

LogicalResult lower(BulkWaitGroupOp op, PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<NVVM::CpAsyncBulkWaitGroupOp>(
      op, rewriter.getI32IntegerAttr(op.getPending()),
      op.getRead() ? rewriter.getUnitAttr() : UnitAttr());
  return success();
}

LogicalResult lower(PrefetchTensorMapOp op, PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<NVVM::PrefetchOp>(
      op, /*cacheLevel=*/nullptr, /*evictPriority=*/nullptr, op.getMap(),
      /*predicate=*/Value(), /*tensormap=*/rewriter.getUnitAttr(),
      /*uniform=*/UnitAttr(), /*in_param_space=*/UnitAttr());
  return success();
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

LogicalResult lower(ConvertPackedOp op, PatternRewriter &rewriter) {
  Value words = buildConvertPacked(rewriter, op);
  if (!words)
    return failure();
  rewriter.replaceOp(op, words);
  return success();
}

LogicalResult lower(ExtendPackedOp op, PatternRewriter &rewriter) {
  rewriter.replaceOp(op, buildExtendPacked(rewriter, op));
  return success();
}

LogicalResult lowerToIntrinsic(Operation *op, const Twine &name,
                               PatternRewriter &rewriter) {
  Location loc = op->getLoc();
  std::string intrinsic = name.str();
  rewriter.replaceOp(
      op, buildElementwise(
              rewriter, loc, op->getOperands(), [&](ValueRange elements) {
                return buildIntrinsic(rewriter, loc, rewriter.getF32Type(),
                                      intrinsic, elements);
              }));
  return success();
}

LogicalResult lower(Exp2Op op, PatternRewriter &rewriter) {
  return lowerToIntrinsic(op, "llvm.nvvm.ex2.approx.ftz", rewriter);
}

// LLVM's own rounding to integers, and root: the conversion of the gpu dialect
// would take them for calls of NVIDIA's device library.
LogicalResult lower(math::CeilOp op, PatternRewriter &rewriter) {
  return lowerToIntrinsic(op, "llvm.nvvm.ceil.f", rewriter);
}

LogicalResult lower(math::FloorOp op, PatternRewriter &rewriter) {
  return lowerToIntrinsic(op, "llvm.nvvm.floor.f", rewriter);
}

LogicalResult lower(math::SqrtOp op, PatternRewriter &rewriter) {
  return lowerToIntrinsic(op, "llvm.nvvm.sqrt.rn.f", rewriter);
}

LogicalResult lower(Log2Op op, PatternRewriter &rewriter) {
  return lowerToIntrinsic(op, "llvm.nvvm.lg2.approx.ftz.f", rewriter);
}

LogicalResult lower(FmaOp op, PatternRewriter &rewriter) {
  return lowerToIntrinsic(
      op, "llvm.nvvm.fma." + getRoundingName(op.getRounding()) + ".f",
      rewriter);
}

LogicalResult lower(AddOp op, PatternRewriter &rewriter) {
  return lowerToIntrinsic(
      op, "llvm.nvvm.add." + getRoundingName(op.getRounding()) + ".f",
      rewriter);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

LogicalResult lower(SharedMemoryOp op, PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<LLVM::AddressOfOp>(op, op.getType(),
                                                 sharedMemorySymbol);
  return success();
}

/// Dynamic shared memory is an external array without a size.
void declareSharedMemory(gpu::GPUModuleOp gpuModule) {
  bool isUsed =
      gpuModule.walk([](SharedMemoryOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (!isUsed || gpuModule.lookupSymbol(sharedMemorySymbol))
    return;
  OpBuilder builder = OpBuilder::atBlockBegin(gpuModule.getBody());
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
  LLVM::GlobalOp::create(builder, gpuModule.getLoc(), type,
                         /*isConstant=*/false, LLVM::Linkage::External,
                         sharedMemorySymbol, /*value=*/Attribute(),
                         TargetModel::sharedMemoryAlignment,
                         /*addrSpace=*/3);
}

void passTensorMapsByValue(LLVM::LLVMFuncOp func) {
  MLIRContext *context = func.getContext();
  OpBuilder builder(context);
  for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i) {
    if (!func.getArgAttr(i, tensorMapAttr))
      continue;
    func.removeArgAttr(i, tensorMapAttr);
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(),
                                         TargetModel::tensorMapBytes);
    func.setArgAttr(i, LLVM::LLVMDialect::getByValAttrName(),
                    TypeAttr::get(type));
    func.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                    builder.getI64IntegerAttr(TargetModel::tensorMapAlignment));
    func.setArgAttr(i, NVVM::NVVMDialect::getGridConstantAttrName(),
                    builder.getUnitAttr());
  }
}

/// Turns a kernel into an LLVM function. Upstream's conversion would drop what
/// is said of its arguments.
LogicalResult lowerFunction(gpu::GPUFuncOp func) {
  if (func.getNumWorkgroupAttributions() || func.getNumPrivateAttributions())
    return func.emitError("has memory attributions: use lpfa.shared_memory");
  FunctionType type = func.getFunctionType();
  for (auto [index, argument] : llvm::enumerate(type.getInputs()))
    if (!LLVM::isCompatibleType(argument))
      return func.emitError("argument ")
             << index << " of type " << argument << " cannot be passed";
  if (type.getNumResults())
    return func.emitError("returns a value");

  OpBuilder builder(func);
  Type result = LLVM::LLVMVoidType::get(builder.getContext());
  auto lowered = LLVM::LLVMFuncOp::create(
      builder, func.getLoc(), func.getName(),
      LLVM::LLVMFunctionType::get(result, type.getInputs()));
  lowered->setDiscardableAttrs(func->getDiscardableAttrDictionary());
  lowered.setArgAttrsAttr(func.getArgAttrsAttr());
  if (func.isKernel())
    lowered->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                     builder.getUnitAttr());
  // Required, not only the maximum: without it ptxas ignores `setmaxnreg`.
  if (DenseI32ArrayAttr block = func.getKnownBlockSizeAttr())
    lowered->setAttr(NVVM::NVVMDialect::getReqntidAttrName(), block);
  // Likewise without a number of CTAs, from which it learns how many registers
  // a thread starts with.
  auto minCTAs = func->getAttrOfType<IntegerAttr>(kMinCTAsName);
  lowered->removeAttr(kMinCTAsName);
  if (func.isKernel() && func.getKnownBlockSizeAttr())
    lowered->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                     builder.getI32IntegerAttr(minCTAs ? minCTAs.getInt() : 1));
  if (auto ctas = func->getAttrOfType<IntegerAttr>(kClusterName)) {
    lowered->removeAttr(kClusterName);
    lowered->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(),
                     builder.getDenseI32ArrayAttr(
                         {static_cast<int32_t>(ctas.getInt()), 1, 1}));
  }
  lowered.getBody().takeBody(func.getBody());
  lowered.walk([](gpu::ReturnOp op) {
    OpBuilder builder(op);
    LLVM::ReturnOp::create(builder, op.getLoc(), ValueRange());
    op.erase();
  });
  func.erase();
  passTensorMapsByValue(lowered);
  return success();
}

template <typename... OpTys> void addPatterns(RewritePatternSet &patterns) {
  (patterns.add<OpTys>(lower), ...);
}

struct ConvertLPFAToNVVM : impl::ConvertLPFAToNVVMBase<ConvertLPFAToNVVM> {
  void runOnOperation() override {
    gpu::GPUModuleOp gpuModule = getOperation();
    declareSharedMemory(gpuModule);
    RewritePatternSet patterns(&getContext());
    addPatterns<SharedMemoryOp, ElectSyncOp, LargestMagnitudeOp, AnySyncOp,
                SetMaxRegistersOp, BarrierSyncOp, BarrierArriveOp,
                MBarrierInitOp, MBarrierInvalidateOp, MBarrierArriveOp,
                MBarrierArriveExpectTxOp, MBarrierExpectTxOp, MBarrierWaitOp,
                FenceMBarrierInitOp, FenceProxyAsyncOp, ClusterSyncOp,
                MapSharedOp>(patterns);
    addPatterns<BulkTensorLoadOp, BulkTensorStoreOp, BulkLoadOp,
                BulkCommitGroupOp, BulkWaitGroupOp, PrefetchTensorMapOp>(
        patterns);
    populateTensorCoreToNVVMPatterns(patterns);
    addPatterns<ConvertPackedOp, ExtendPackedOp, Exp2Op, Log2Op, FmaOp, AddOp,
                math::CeilOp, math::FloorOp, math::SqrtOp>(patterns);
    // Divisions that round up or down. Not all that arith-expand does: it would
    // turn maxima into comparisons.
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    walkAndApplyPatterns(gpuModule, std::move(patterns));
    for (auto func :
         llvm::make_early_inc_range(gpuModule.getOps<gpu::GPUFuncOp>()))
      if (failed(lowerFunction(func)))
        return signalPassFailure();
  }
};
} // namespace
} // namespace lpfa
