//===- LPFAThreadOps.td - Ops of the threads stage --------*- tablegen -*-===//
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

#ifndef LPFA_DIALECT_LPFA_IR_LPFATHREADOPS_TD
#define LPFA_DIALECT_LPFA_IR_LPFATHREADOPS_TD

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

//===----------------------------------------------------------------------===//
// Threads, registers, shared memory
//===----------------------------------------------------------------------===//

def LPFA_SharedMemoryOp : LPFA_ThreadOp<"shared_memory", [Pure]> {
  let summary = "The kernel's dynamic shared memory";
  let description = [{
    The address of the CTA's dynamic shared memory, aligned to 1,024 bytes, as
    the 128-byte swizzle needs. Its size belongs to the launch, not to the
    module (PTX 5.1.7). Tiles and barriers lie at offsets of it, made with
    `llvm.getelementptr`.

    Example:
    ```mlir
    %base = lpfa.shared_memory
    %k = llvm.getelementptr %base[32768] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    ```
  }];
  let results = (outs LPFA_SharedPointer:$base);
  let assemblyFormat = "attr-dict";
}

def LPFA_MapSharedOp : LPFA_ThreadOp<"map_shared", [Pure]> {
  let summary = "An address in the shared memory of another CTA of the cluster";
  let description = [{
    `mapa.shared::cluster` (PTX 9.7.9.23): where the CTA of index `cta` in the
    cluster has what this CTA has at `address`.

    Example:
    ```mlir
    %there = lpfa.map_shared %here, %cta
    ```
  }];
  let arguments = (ins LPFA_SharedPointer:$address, I32:$cta);
  let results = (outs LPFA_ClusterPointer:$mapped);
  let assemblyFormat = "$address `,` $cta attr-dict";
}

def LPFA_ElectSyncOp : LPFA_ThreadOp<"elect_sync"> {
  let summary = "True in exactly one thread of the warp";
  let description = [{
    `elect.sync` over all 32 lanes (PTX 9.7.13.14): the warp must be converged.
    The same lane is elected each time.

    Example:
    ```mlir
    %leader = lpfa.elect_sync
    ```
  }];
  let results = (outs I1:$leader);
  let assemblyFormat = "attr-dict";
}

def LPFA_LargestMagnitudeOp : LPFA_ThreadOp<"largest_magnitude", [SameOperandsAndResultType]> {
  let summary = "The largest magnitude of a warp's values, in all of its threads";
  let description = [{
    `redux.sync.max.abs.NaN.f32` over all 32 lanes (PTX 9.7.13.10): the warp must
    be converged. NaN if any value is.

    Example:
    ```mlir
    %largest = lpfa.largest_magnitude %x
    ```
  }];
  let arguments = (ins F32:$value);
  let results = (outs F32:$result);
  let assemblyFormat = "$value attr-dict";
}

def LPFA_AnySyncOp : LPFA_ThreadOp<"any_sync"> {
  let summary = "True where the condition holds in any thread of the warp";
  let description = [{
    `vote.sync.any.pred` over all 32 lanes (PTX 9.7.13.9): the warp must be
    converged. All threads get the same result.

    Example:
    ```mlir
    %some = lpfa.any_sync %changed
    ```
  }];
  let arguments = (ins I1:$condition);
  let results = (outs I1:$any);
  let assemblyFormat = "$condition attr-dict";
}

def LPFA_SetMaxRegistersOp : LPFA_ThreadOp<"set_max_registers"> {
  let summary = "Changes the register budget of the warpgroup's threads";
  let description = [{
    `setmaxnreg` (PTX 9.7.19.5), executed by all warps of a warpgroup.
    `increase` blocks until the registers are free. ptxas ignores it unless the
    kernel has its block size fixed (`reqntid`).

    - C1: the count is a multiple of 8 from 24 to 256 (PTX 9.7.19.5).

    Example:
    ```mlir
    lpfa.set_max_registers decrease 64
    ```
  }];
  let arguments = (ins LPFA_SetMaxRegistersActionAttr:$action, I32Attr:$count);
  let assemblyFormat = "$action $count attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Barriers and fences
//===----------------------------------------------------------------------===//

def LPFA_BarrierSyncOp : LPFA_ThreadOp<"barrier.sync"> {
  let summary = "Waits at a named barrier";
  let description = [{
    `barrier.cta.sync.aligned` (PTX 9.7.13.1): blocks until `threads` threads
    have arrived, this warp's among them. Orders their memory accesses. Barrier
    0 is also the one of `gpu.barrier`.

    - C1: `threads` is a positive multiple of 32 (whole warps).

    Example:
    ```mlir
    lpfa.barrier.sync 1 threads(128)
    ```
  }];
  let arguments = (ins LPFA_NamedBarrierAttr:$id, LPFA_PositiveI32Attr:$threads);
  let assemblyFormat = "$id `threads` `(` $threads `)` attr-dict";
  let hasVerifier = 1;
}

def LPFA_BarrierArriveOp : LPFA_ThreadOp<"barrier.arrive"> {
  let summary = "Arrives at a named barrier without waiting";
  let description = [{
    `barrier.cta.arrive.aligned` (PTX 9.7.13.1), the other side of
    `lpfa.barrier.sync`. `threads` counts arriving and waiting threads together.

    - C1: `threads` is a positive multiple of 32 (whole warps).

    Example:
    ```mlir
    lpfa.barrier.arrive 2 threads(160)
    ```
  }];
  let arguments = (ins LPFA_NamedBarrierAttr:$id, LPFA_PositiveI32Attr:$threads);
  let assemblyFormat = "$id `threads` `(` $threads `)` attr-dict";
  let hasVerifier = 1;
}

def LPFA_MBarrierInitOp : LPFA_ThreadOp<"mbarrier.init"> {
  let summary = "Makes an mbarrier that completes after `count` arrivals";
  let description = [{
    `mbarrier.init` (PTX 9.7.13.15.9), by one thread. Other threads may use the
    barrier after `lpfa.fence.mbarrier_init` and a CTA barrier.

    - C1: the count is from 1 to 2^20 - 1.

    Example:
    ```mlir
    lpfa.mbarrier.init %full, 1
    ```
  }];
  let arguments = (ins LPFA_SharedPointer:$barrier,
      ConfinedAttr<I32Attr, [IntPositive, IntMaxValue<1048575>]>:$count);
  let assemblyFormat = "$barrier `,` $count attr-dict";
}

def LPFA_MBarrierInvalidateOp : LPFA_ThreadOp<"mbarrier.invalidate"> {
  let summary = "Ends an mbarrier, so that its memory can be used again";
  let description = [{
    `mbarrier.inval` (PTX 9.7.13.15.10), by one thread, when no other thread
    uses the barrier any more.

    Example:
    ```mlir
    lpfa.mbarrier.invalidate %full
    ```
  }];
  let arguments = (ins LPFA_SharedPointer:$barrier);
  let assemblyFormat = "$barrier attr-dict";
}

def LPFA_MBarrierArriveOp : LPFA_ThreadOp<"mbarrier.arrive"> {
  let summary = "Arrives once at an mbarrier";
  let description = [{
    `mbarrier.arrive.release.cta` (PTX 9.7.13.15.13) by this thread: what it
    wrote before is visible to those who wait for the phase.

    Example:
    ```mlir
    lpfa.mbarrier.arrive %empty
    ```
  }];
  let arguments = (ins LPFA_SharedPointer:$barrier);
  let assemblyFormat = "$barrier attr-dict";
}

def LPFA_MBarrierArriveExpectTxOp
    : LPFA_ThreadOp<"mbarrier.arrive_expect_tx"> {
  let summary = "Arrives once and lets the phase wait for bytes";
  let description = [{
    `mbarrier.arrive.expect_tx.release.cta` (PTX 9.7.13.15.13): the phase
    completes only when also `bytes` bytes of bulk copies have come in.

    Example:
    ```mlir
    lpfa.mbarrier.arrive_expect_tx %full, %bytes
    ```
  }];
  let arguments = (ins LPFA_SharedPointer:$barrier, I32:$bytes);
  let assemblyFormat = "$barrier `,` $bytes attr-dict";
}

def LPFA_MBarrierExpectTxOp : LPFA_ThreadOp<"mbarrier.expect_tx"> {
  let summary = "Lets the phase wait for bytes";
  let description = [{
    `mbarrier.expect_tx.relaxed.cta` (PTX 9.7.13.15.11): the phase completes
    only when also `bytes` bytes of bulk copies have come in. An arrival that
    the phase needs must follow.

    Example:
    ```mlir
    lpfa.mbarrier.expect_tx %full, %bytes
    ```
  }];
  let arguments = (ins LPFA_SharedPointer:$barrier, I32:$bytes);
  let assemblyFormat = "$barrier `,` $bytes attr-dict";
}

def LPFA_MBarrierWaitOp : LPFA_ThreadOp<"mbarrier.wait"> {
  let summary = "Blocks until the phase of the given parity has completed";
  let description = [{
    A loop on `mbarrier.try_wait.parity.acquire.cta` (PTX 9.7.13.15.16), which
    ends when the phase with parity `parity` (0 or 1) has completed. On a fresh
    barrier parity 1 passes at once, parity 0 waits for the first phase.

    Example:
    ```mlir
    lpfa.mbarrier.wait %full, %parity
    ```
  }];
  let arguments = (ins LPFA_SharedPointer:$barrier, I32:$parity);
  let assemblyFormat = "$barrier `,` $parity attr-dict";
}

def LPFA_ClusterSyncOp : LPFA_ThreadOp<"cluster_sync"> {
  let summary = "Waits for all threads of the cluster";
  let description = [{
    `barrier.cluster.arrive.release.aligned` and
    `barrier.cluster.wait.acquire.aligned` (PTX 9.7.13.3), by all threads of all
    CTAs of the cluster. Orders their memory accesses.

    Example:
    ```mlir
    lpfa.cluster_sync
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def LPFA_FenceMBarrierInitOp : LPFA_ThreadOp<"fence.mbarrier_init"> {
  let summary = "Makes mbarrier initializations visible";
  let description = [{
    `fence.mbarrier_init.release.cluster` (PTX 9.7.13.4), by the thread that
    initialized, before the barrier by which the others learn of it.

    Example:
    ```mlir
    lpfa.fence.mbarrier_init
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def LPFA_FenceProxyAsyncOp : LPFA_ThreadOp<"fence.proxy_async"> {
  let summary = "Orders ordinary and asynchronous accesses to shared memory";
  let description = [{
    `fence.proxy.async.shared::cta` (PTX 9.7.13.4): between this thread's
    ordinary accesses to shared memory and accesses there by bulk copies,
    `tcgen05.cp` and `tcgen05.mma` that are ordered after it.

    Example:
    ```mlir
    lpfa.fence.proxy_async
    ```
  }];
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Bulk copies
//===----------------------------------------------------------------------===//

def LPFA_BulkTensorLoadOp : LPFA_ThreadOp<"bulk_tensor.load"> {
  let summary = "Loads one box of a tensor map into shared memory (TMA)";
  let description = [{
    `cp.async.bulk.tensor.Nd.shared::cta.global.tile` (PTX 9.7.9.27), by one
    thread. Coordinates come fastest-varying dimension first and may be out of
    bounds, also negative: what lies outside is filled. The copy adds its bytes,
    those outside included, to the barrier's count when they are there.

    - C1: one to five coordinates.
    - The destination is aligned to 128 bytes.

    Example:
    ```mlir
    lpfa.bulk_tensor.load %map[%d, %row, %head, %batch] to %tile barrier %full
    ```
  }];
  let arguments = (ins LPFA_TensorMapPointer:$map, Variadic<I32>:$coordinates,
      LPFA_SharedPointer:$destination, LPFA_SharedPointer:$barrier);
  let assemblyFormat = [{
    $map `[` $coordinates `]` `to` $destination `barrier` $barrier attr-dict
  }];
  let hasVerifier = 1;
}

def LPFA_BulkTensorStoreOp : LPFA_ThreadOp<"bulk_tensor.store"> {
  let summary = "Stores one box of a tensor map from shared memory (TMA)";
  let description = [{
    `cp.async.bulk.tensor.Nd.global.shared::cta.tile.bulk_group`
    (PTX 9.7.9.27), by one thread. What lies outside the tensor is dropped.
    Completion is by `lpfa.bulk.commit_group` and `lpfa.bulk.wait_group` of the
    same thread. Ordinary writes to the source need `lpfa.fence.proxy_async`.

    - C1: one to five coordinates.

    Example:
    ```mlir
    lpfa.bulk_tensor.store %tile to %map[%d, %row, %head, %batch]
    ```
  }];
  let arguments = (ins LPFA_SharedPointer:$source, LPFA_TensorMapPointer:$map,
      Variadic<I32>:$coordinates);
  let assemblyFormat = "$source `to` $map `[` $coordinates `]` attr-dict";
  let hasVerifier = 1;
}

def LPFA_BulkLoadOp : LPFA_ThreadOp<"bulk.load"> {
  let summary = "Copies contiguous bytes from global to shared memory";
  let description = [{
    `cp.async.bulk.shared::cta.global` (PTX 9.7.9.25), by one thread. `bytes`
    and both addresses are multiples of 16. Adds its bytes to the barrier's
    count.

    Example:
    ```mlir
    lpfa.bulk.load %scales to %atom, %bytes barrier %full
    ```
  }];
  let arguments = (ins LPFA_GlobalPointer:$source,
      LPFA_SharedPointer:$destination, I32:$bytes, LPFA_SharedPointer:$barrier);
  let assemblyFormat = [{
    $source `to` $destination `,` $bytes `barrier` $barrier attr-dict
  }];
}

def LPFA_BulkCommitGroupOp : LPFA_ThreadOp<"bulk.commit_group"> {
  let summary = "Closes the group of this thread's bulk stores so far";
  let description = [{
    `cp.async.bulk.commit_group` (PTX 9.7.9.25).

    Example:
    ```mlir
    lpfa.bulk.commit_group
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def LPFA_BulkWaitGroupOp : LPFA_ThreadOp<"bulk.wait_group"> {
  let summary = "Waits until at most `pending` groups are open";
  let description = [{
    `cp.async.bulk.wait_group` (PTX 9.7.9.25), over this thread's groups. With
    `read` it waits only until the sources have been read and may be written
    again.

    Example:
    ```mlir
    lpfa.bulk.wait_group 0 read
    ```
  }];
  let arguments = (ins ConfinedAttr<I32Attr, [IntNonNegative]>:$pending,
                       UnitAttr:$read);
  let assemblyFormat = "$pending (`read` $read^)? attr-dict";
}

def LPFA_PrefetchTensorMapOp : LPFA_ThreadOp<"prefetch_tensor_map"> {
  let summary = "Brings a tensor map into the descriptor cache";
  let description = [{
    `prefetch.tensormap`, a hint, by one thread.

    Example:
    ```mlir
    lpfa.prefetch_tensor_map %map
    ```
  }];
  let arguments = (ins LPFA_TensorMapPointer:$map);
  let assemblyFormat = "$map attr-dict";
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

def LPFA_SharedDescriptorOp : LPFA_ThreadOp<"shared_descriptor", [Pure]> {
  let summary = "Describes a tile in shared memory to the tensor core";
  let description = [{
    The 64-bit matrix descriptor (PTX 9.7.16.4.1) of a tile that starts at
    `start`. `swizzle` is the span of the swizzle in bytes: 0, 32, 64 or 128.
    Strides are in bytes. K-major tiles: `stride` between groups of eight rows;
    `leading` between 16-byte columns without swizzle, otherwise unused.
    MN-major tiles with swizzle: `stride` between groups of eight K, `leading`
    between blocks of the swizzle's width.

    - C1: `swizzle` is 0, 32, 64 or 128.
    - C2: `leading` and `stride` are multiples of 16 from 0 to 262,128.
    - The start is aligned to 16 bytes, the tile it belongs to by eight times
      the swizzle.

    Example:
    ```mlir
    %desc = lpfa.shared_descriptor %k swizzle(128) leading(16) stride(1024)
    ```
  }];
  let arguments = (ins LPFA_SharedPointer:$start, I32Attr:$swizzle,
                       I32Attr:$leading, I32Attr:$stride);
  let results = (outs LPFA_MatrixDescriptor:$descriptor);
  let assemblyFormat = [{
    $start `swizzle` `(` $swizzle `)` `leading` `(` $leading `)`
    `stride` `(` $stride `)` attr-dict
  }];
  let hasVerifier = 1;
}

def LPFA_AdvanceDescriptorOp : LPFA_ThreadOp<"advance_descriptor", [Pure]> {
  let summary = "Moves the start of a matrix descriptor";
  let description = [{
    Adds `bytes`, a multiple of 16, to the descriptor's start address. Only the
    low word changes; the start must stay in the CTA's shared memory. Inside a
    swizzled row this is exact, as the swizzle acts on absolute addresses.

    Example:
    ```mlir
    %next = lpfa.advance_descriptor %desc by %bytes
    ```
  }];
  let arguments = (ins LPFA_MatrixDescriptor:$descriptor, I32:$bytes);
  let results = (outs LPFA_MatrixDescriptor:$result);
  let assemblyFormat = "$descriptor `by` $bytes attr-dict";
}

def LPFA_InstructionDescriptorOp
    : LPFA_ThreadOp<"instruction_descriptor", [Pure]> {
  let summary = "Describes a block-scaled MMA to the tensor core";
  let description = [{
    The 32-bit instruction descriptor of `kind::mxf8f6f4` (PTX 9.7.16.4.2,
    table 45) with UE8M0 scales: shape, element types, majorness, and which byte
    of a scale word (0 to 3) this instruction uses of either operand. `a_mn` and
    `b_mn` say that an operand is MN-major ("transposed").

    - C1: m is 128, n a multiple of 8 from 8 to 256 (PTX 9.7.16.2.1).
    - C2: element types are f8E4M3FN, f8E5M2, f6E2M3FN, f6E3M2FN or f4E2M1FN.
    - C3: a 4- or 6-bit operand is not MN-major (PTX 9.7.16.10.4).
    - C4: scale bytes are from 0 to 3.

    Example:
    ```mlir
    %idesc = lpfa.instruction_descriptor m(128) n(64) a(f8E4M3FN) b(f8E4M3FN)
        b_mn scale_bytes(0, 1)
    ```
  }];
  let arguments = (ins I32Attr:$m, I32Attr:$n, TypeAttr:$aType, TypeAttr:$bType,
      UnitAttr:$aMN, UnitAttr:$bMN, I32Attr:$aScaleByte, I32Attr:$bScaleByte);
  let results = (outs I32:$descriptor);
  let assemblyFormat = [{
    `m` `(` $m `)` `n` `(` $n `)` `a` `(` $aType `)` `b` `(` $bType `)`
    (`a_mn` $aMN^)? (`b_mn` $bMN^)?
    `scale_bytes` `(` $aScaleByte `,` $bScaleByte `)` attr-dict
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Tensor memory and the tensor core
//===----------------------------------------------------------------------===//

def LPFA_Tcgen05AllocOp : LPFA_ThreadOp<"tcgen05.alloc"> {
  let summary = "Allocates columns of tensor memory";
  let description = [{
    `tcgen05.alloc.cta_group::1` (PTX 9.7.16.7.1), by one whole warp. Blocks
    until the columns are free, then writes the address, an i32, to `slot` in
    shared memory.

    - C1: columns are 32, 64, 128, 256 or 512.

    Example:
    ```mlir
    lpfa.tcgen05.alloc 512 to %slot
    %tmem = llvm.load %slot : !llvm.ptr<3> -> i32
    ```
  }];
  let arguments = (ins I32Attr:$columns, LPFA_SharedPointer:$slot);
  let assemblyFormat = "$columns `to` $slot attr-dict";
  let hasVerifier = 1;
}

def LPFA_Tcgen05DeallocOp : LPFA_ThreadOp<"tcgen05.dealloc"> {
  let summary = "Frees columns of tensor memory";
  let description = [{
    `tcgen05.dealloc.cta_group::1` (PTX 9.7.16.7.1), by one whole warp. All that
    was allocated must be freed before the kernel ends.

    - C1: columns are 32, 64, 128, 256 or 512.

    Example:
    ```mlir
    lpfa.tcgen05.dealloc %tmem, 512
    ```
  }];
  let arguments = (ins LPFA_TensorMemoryAddress:$address, I32Attr:$columns);
  let assemblyFormat = "$address `,` $columns attr-dict";
  let hasVerifier = 1;
}

def LPFA_Tcgen05RelinquishOp : LPFA_ThreadOp<"tcgen05.relinquish"> {
  let summary = "Gives up the right to allocate tensor memory";
  let description = [{
    `tcgen05.relinquish_alloc_permit.cta_group::1` (PTX 9.7.16.7.1), by one
    whole warp. Another CTA of the SM may allocate then.

    Example:
    ```mlir
    lpfa.tcgen05.relinquish
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def LPFA_Tcgen05LdOp : LPFA_ThreadOp<"tcgen05.ld"> {
  let summary = "Loads from tensor memory and waits for the values";
  let description = [{
    `tcgen05.ld.sync.aligned.32x32b.xN` and `tcgen05.wait::ld.sync.aligned`
    (PTX 9.7.16.8) by a whole warp: thread t gets N columns of lane t of the
    warp's quarter. The address's lane is 32 * (warp index % 4) and, like the
    column, the same in all threads. Load and wait are one op since registers
    are undefined between them and a compiler moves copies up there.

    Example:
    ```mlir
    %s = lpfa.tcgen05.ld %address : vector<32xf32>
    ```
  }];
  let arguments = (ins LPFA_TensorMemoryAddress:$address);
  let results = (outs LPFA_LaneVector:$result);
  let assemblyFormat = "$address attr-dict `:` type($result)";
}

def LPFA_Tcgen05LdMaxOp : LPFA_ThreadOp<"tcgen05.ld_max"> {
  let summary = "Loads from tensor memory with the maximum of each 32 columns";
  let description = [{
    `tcgen05.ld.red.sync.aligned.32x32b.x32.max.NaN.f32` for each 32 columns and
    `tcgen05.wait::ld.sync.aligned` (PTX 9.7.16.8) by a whole warp, as
    `lpfa.tcgen05.ld` otherwise. A maximum is NaN where one of its columns is.
    Not on sm_100a, which has no such load.

    Constraints:

    - (C1) There is one maximum for each 32 columns.

    Example:
    ```mlir
    %s, %maxima = lpfa.tcgen05.ld_max %address
      : vector<128xf32>, vector<4xf32>
    ```
  }];
  let arguments = (ins LPFA_TensorMemoryAddress:$address);
  let results = (outs LPFA_VectorOf<[F32], [32, 64, 96, 128]>:$result,
                      LPFA_VectorOf<[F32], [1, 2, 3, 4]>:$maxima);
  let assemblyFormat = [{
    $address attr-dict `:` type($result) `,` type($maxima)
  }];
  let hasVerifier = 1;
}

def LPFA_Tcgen05StOp : LPFA_ThreadOp<"tcgen05.st"> {
  let summary = "Stores to tensor memory";
  let description = [{
    `tcgen05.st.sync.aligned.32x32b.xN` (PTX 9.7.16.8) by a whole warp: thread t
    writes N columns of lane t of the warp's quarter. Done after
    `lpfa.tcgen05.wait_st`.

    Example:
    ```mlir
    lpfa.tcgen05.st %p to %address : vector<32xi32>
    ```
  }];
  let arguments = (ins LPFA_LaneVector:$value,
                       LPFA_TensorMemoryAddress:$address);
  let assemblyFormat = "$value `to` $address attr-dict `:` type($value)";
}

def LPFA_Tcgen05WaitStOp : LPFA_ThreadOp<"tcgen05.wait_st"> {
  let summary = "Waits for this thread's stores to tensor memory";
  let description = [{
    `tcgen05.wait::st.sync.aligned` (PTX 9.7.16.8.5) by a whole warp.

    Example:
    ```mlir
    lpfa.tcgen05.wait_st
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def LPFA_Tcgen05CpOp : LPFA_ThreadOp<"tcgen05.cp"> {
  let summary = "Copies scales or a part of A from shared to tensor memory";
  let description = [{
    `tcgen05.cp.cta_group::1.32x128b.warpx4` (PTX 9.7.16.9), by one thread,
    asynchronous: one 512-byte scale atom (32 rows of 16 bytes) to four columns,
    repeated in the four lane quarters as the MMA needs it. With `rows`
    `tcgen05.cp.cta_group::1.128x256b`: 32 bytes of each of 128 rows to eight
    columns. An MMA that the same thread issues later sees it; completion by
    `lpfa.tcgen05.commit`.

    Example:
    ```mlir
    lpfa.tcgen05.cp %descriptor to %address
    lpfa.tcgen05.cp %descriptor to %address rows
    ```
  }];
  let arguments = (ins LPFA_MatrixDescriptor:$source,
                       LPFA_TensorMemoryAddress:$address, UnitAttr:$rows);
  let assemblyFormat = "$source `to` $address (`rows` $rows^)? attr-dict";
}

def LPFA_Tcgen05MMAOp : LPFA_ThreadOp<"tcgen05.mma"> {
  let summary = "Multiplies two block-scaled tiles, accumulating in tensor memory";
  let description = [{
    `tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale` with one scale per 32
    elements (PTX 9.7.16.10.9), by one thread, asynchronous: for one K step of
    32, D = A * B, plus D where `accumulate` is true. A comes from shared memory
    (an `i64` matrix descriptor) or tensor memory (an `i32` address), B from
    shared memory, scales from tensor memory. When `accumulate` is false D is
    not read.

    Example:
    ```mlir
    lpfa.tcgen05.mma %a * %b into %d accumulate %acc scales(%sa, %sb)
        instruction %idesc : i64
    ```
  }];
  let arguments = (ins AnyTypeOf<[I64, I32]>:$a, LPFA_MatrixDescriptor:$b,
      LPFA_TensorMemoryAddress:$d, I1:$accumulate,
      LPFA_TensorMemoryAddress:$aScales, LPFA_TensorMemoryAddress:$bScales,
      I32:$instruction);
  let assemblyFormat = [{
    $a `*` $b `into` $d `accumulate` $accumulate
    `scales` `(` $aScales `,` $bScales `)` `instruction` $instruction
    attr-dict `:` type($a)
  }];
}

def LPFA_Tcgen05CommitOp : LPFA_ThreadOp<"tcgen05.commit"> {
  let summary = "Lets an mbarrier track this thread's tensor core work";
  let description = [{
    `tcgen05.commit.cta_group::1.mbarrier::arrive::one` (PTX 9.7.16.12.1): one
    arrival when all MMAs and copies that this thread issued before are done.

    Example:
    ```mlir
    lpfa.tcgen05.commit %done
    ```
  }];
  let arguments = (ins LPFA_SharedPointer:$barrier);
  let assemblyFormat = "$barrier attr-dict";
}

def LPFA_Tcgen05FenceOp : LPFA_ThreadOp<"tcgen05.fence"> {
  let summary = "Orders tensor core work with a thread synchronization";
  let description = [{
    `tcgen05.fence::before_thread_sync` or `::after_thread_sync`
    (PTX 9.7.16.11): what this thread did with tensor memory before an arrival,
    or does after a wait, is ordered by that synchronization.

    Example:
    ```mlir
    lpfa.tcgen05.fence after
    ```
  }];
  let arguments = (ins LPFA_FenceSideAttr:$side);
  let assemblyFormat = "$side attr-dict";
}

//===----------------------------------------------------------------------===//
// Arithmetic that upstream dialects cannot say
//===----------------------------------------------------------------------===//

def LPFA_ConvertPackedOp : LPFA_ThreadOp<"convert_packed", [Pure]> {
  let summary = "Converts to codes, packed into words";
  let description = [{
    `cvt.rn.satfinite.{e4m3x2,e5m2x2,e2m3x2,e3m2x2,e2m1x2}.f32` or
    `cvt.{rz,rp}.satfinite.ue8m0x2.f32` (PTX 9.7.9.21), two values each. The
    first code is in the lowest bits of a word: four codes a word, a byte each
    (also of six bits), or eight f4E2M1FN. Finite values out of range saturate;
    NaN becomes NaN, in a format without NaN the largest code. Where a chip has
    no such instruction (sm_90a: all but the first two) integer arithmetic with
    the same results takes its place; that rounds f8E8M0FNU `up` only.

    - C1: the result has a quarter of the vector's length, an eighth of it for
      f4E2M1FN, and nothing is left over.
    - C2: formats are MX element types with rounding `nearest`, or f8E8M0FNU
      with `up` or `zero`.

    Example:
    ```mlir
    %codes = lpfa.convert_packed %p to f8E4M3FN nearest
        : vector<32xf32> -> vector<8xi32>
    ```
  }];
  let arguments = (ins FixedVectorOfRankAndType<[1], [F32]>:$source,
                       TypeAttr:$format, LPFA_FloatRoundingAttr:$rounding);
  let results = (outs FixedVectorOfRankAndType<[1], [I32]>:$result);
  let assemblyFormat = [{
    $source `to` $format $rounding attr-dict
    `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def LPFA_ExtendPackedOp : LPFA_ThreadOp<"extend_packed", [Pure]> {
  let summary = "The values of codes that are packed into words";
  let description = [{
    The inverse of `lpfa.convert_packed`, exact: `cvt.rn.f16x2` of two codes
    (PTX 9.7.9.21) and a conversion to f32 where the chip has that for the
    format, integer arithmetic elsewhere. f8E8M0FNU's byte 0 is 2^-127, its byte
    255 NaN.

    - C1: the operand has a quarter of the result's length, an eighth of it for
      f4E2M1FN, and nothing is left over.
    - C2: formats are MX element types and f8E8M0FNU.

    Example:
    ```mlir
    %x = lpfa.extend_packed %codes from f8E4M3FN
        : vector<8xi32> -> vector<32xf32>
    ```
  }];
  let arguments = (ins FixedVectorOfRankAndType<[1], [I32]>:$source,
                       TypeAttr:$format);
  let results = (outs FixedVectorOfRankAndType<[1], [F32]>:$result);
  let assemblyFormat = [{
    $source `from` $format attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def LPFA_Exp2Op
    : LPFA_ThreadOp<"exp2", [Pure, SameOperandsAndResultType, Elementwise]> {
  let summary = "2 to the x, approximately";
  let description = [{
    `ex2.approx.ftz.f32` (PTX 9.7.3.21) of each element: at most 2 ulp off,
    subnormal results are 0. -inf gives +0, NaN gives NaN.

    Example:
    ```mlir
    %p = lpfa.exp2 %x : vector<32xf32>
    ```
  }];
  let arguments = (ins LPFA_F32OrVector:$x);
  let results = (outs LPFA_F32OrVector:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def LPFA_Log2Op
    : LPFA_ThreadOp<"log2", [Pure, SameOperandsAndResultType, Elementwise]> {
  let summary = "Logarithm to base 2, approximately";
  let description = [{
    `lg2.approx.ftz.f32` (PTX 9.7.3.20) of each element: at most 2^-22 off, in
    absolute terms near 1 and in relative ones elsewhere. Of a subnormal or zero
    it is -inf.

    Example:
    ```mlir
    %l = lpfa.log2 %sum : f32
    ```
  }];
  let arguments = (ins LPFA_F32OrVector:$x);
  let results = (outs LPFA_F32OrVector:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def LPFA_FmaOp
    : LPFA_ThreadOp<"fma", [Pure, SameOperandsAndResultType, Elementwise]> {
  let summary = "a * b + c with a directed rounding";
  let description = [{
    `fma.{rn,rz,rp,rm}.f32` (PTX 9.7.3.6) of each element.

    Example:
    ```mlir
    %m = lpfa.fma up %a, %b, %c : f32
    ```
  }];
  let arguments = (ins LPFA_FloatRoundingAttr:$rounding, LPFA_F32OrVector:$a,
                       LPFA_F32OrVector:$b, LPFA_F32OrVector:$c);
  let results = (outs LPFA_F32OrVector:$result);
  let assemblyFormat = "$rounding $a `,` $b `,` $c attr-dict `:` type($result)";
}

def LPFA_AddOp
    : LPFA_ThreadOp<"add", [Pure, SameOperandsAndResultType, Elementwise]> {
  let summary = "a + b with a directed rounding";
  let description = [{
    `add.{rn,rz,rp,rm}.f32` (PTX 9.7.3.3) of each element.

    Example:
    ```mlir
    %m = lpfa.add up %a, %b : f32
    ```
  }];
  let arguments = (ins LPFA_FloatRoundingAttr:$rounding, LPFA_F32OrVector:$a,
                       LPFA_F32OrVector:$b);
  let results = (outs LPFA_F32OrVector:$result);
  let assemblyFormat = "$rounding $a `,` $b attr-dict `:` type($result)";
}

#endif // LPFA_DIALECT_LPFA_IR_LPFATHREADOPS_TD
