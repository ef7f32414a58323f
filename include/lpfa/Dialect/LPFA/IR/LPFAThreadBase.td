//===- LPFAThreadBase.td - The types of threads' ops -------*- tablegen -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inside a `gpu.func` each of these ops is one PTX instruction, or a fixed
// short sequence, executed by the thread that reaches it. Sections are those of
// the PTX ISA manual, version 9.0.
//
// Addresses: shared memory is `!llvm.ptr<3>`; an mbarrier is eight bytes of it,
// aligned to eight. Tensor memory is an `i32`, lane << 16 | column, where a
// column counts 32-bit cells (PTX 9.7.16.1). A tensor map is a kernel parameter
// `!llvm.ptr` with the argument attribute `lpfa.tensor_map`: 128 opaque bytes in
// parameter space, aligned to 64.
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_IR_LPFATHREADBASE_TD
#define LPFA_DIALECT_LPFA_IR_LPFATHREADBASE_TD

include "lpfa/Dialect/LPFA/IR/LPFAAttributes.td"
include "lpfa/Dialect/LPFA/IR/LPFATypes.td"
include "mlir/Dialect/LLVMIR/LLVMOpBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Types and attributes
//===----------------------------------------------------------------------===//

def LPFA_SharedPointer : LLVM_PointerInAddressSpace<3>;
def LPFA_ClusterPointer : LLVM_PointerInAddressSpace<7>;
def LPFA_GlobalPointer : LLVM_PointerInAddressSpace<1>;
def LPFA_TensorMapPointer : LLVM_PointerInAddressSpace<0>;

/// lane << 16 | column.
def LPFA_TensorMemoryAddress : TypeAlias<I32, "tensor memory address">;
def LPFA_MatrixDescriptor : TypeAlias<I64, "shared memory matrix descriptor">;

class LPFA_VectorOf<list<Type> elements, list<int> lengths>
    : VectorOfLengthAndType<lengths, elements>;

/// What one thread of `tcgen05.ld` and `tcgen05.st` holds of its lane.
def LPFA_LaneVector
    : LPFA_VectorOf<[F32, I32], [1, 2, 4, 8, 16, 32, 64, 128]>;

def LPFA_F32OrVector : AnyTypeOf<[F32, FixedVectorOfRankAndType<[1], [F32]>]>;

def LPFA_FloatRounding : I32EnumAttr<"FloatRounding",
    "Direction of rounding of one instruction", [
      I32EnumAttrCase<"Nearest", 0, "nearest">,
      I32EnumAttrCase<"Zero", 1, "zero">,
      I32EnumAttrCase<"Up", 2, "up">,
      I32EnumAttrCase<"Down", 3, "down">]> {
  let cppNamespace = "::lpfa";
  let genSpecializedAttr = 0;
}
def LPFA_FloatRoundingAttr
    : EnumAttr<LPFA_Dialect, LPFA_FloatRounding, "float_rounding">;

def LPFA_FenceSide : I32EnumAttr<"FenceSide",
    "Side of a thread synchronization that a tcgen05 fence stands on", [
      I32EnumAttrCase<"Before", 0, "before">,
      I32EnumAttrCase<"After", 1, "after">]> {
  let cppNamespace = "::lpfa";
  let genSpecializedAttr = 0;
}
def LPFA_FenceSideAttr : EnumAttr<LPFA_Dialect, LPFA_FenceSide, "fence_side">;

def LPFA_SetMaxRegistersAction : I32EnumAttr<"SetMaxRegistersAction",
    "Whether a warpgroup takes or gives back registers", [
      I32EnumAttrCase<"Increase", 0, "increase">,
      I32EnumAttrCase<"Decrease", 1, "decrease">]> {
  let cppNamespace = "::lpfa";
  let genSpecializedAttr = 0;
}
def LPFA_SetMaxRegistersActionAttr
    : EnumAttr<LPFA_Dialect, LPFA_SetMaxRegistersAction,
               "set_max_registers_action">;

def LPFA_PositiveI32Attr : ConfinedAttr<I32Attr, [IntPositive]>;

/// One of the 16 named barriers of a CTA.
def LPFA_NamedBarrierAttr
    : ConfinedAttr<I32Attr, [IntNonNegative, IntMaxValue<15>]>;

class LPFA_ThreadOp<string mnemonic, list<Trait> traits = []>
    : LPFA_Op<mnemonic, traits>;

#endif // LPFA_DIALECT_LPFA_IR_LPFATHREADBASE_TD
