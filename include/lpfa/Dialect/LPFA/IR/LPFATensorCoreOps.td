//===- LPFATensorCoreOps.td - The tensor core --------------*- tablegen -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_IR_LPFATENSORCOREOPS_TD
#define LPFA_DIALECT_LPFA_IR_LPFATENSORCOREOPS_TD

include "lpfa/Dialect/LPFA/IR/LPFAThreadBase.td"

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

#endif // LPFA_DIALECT_LPFA_IR_LPFATENSORCOREOPS_TD
