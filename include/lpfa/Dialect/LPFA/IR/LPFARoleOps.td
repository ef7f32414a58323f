//===- LPFARoleOps.td - Roles, channels and buffers --------*- tablegen -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_IR_LPFAROLEOPS_TD
#define LPFA_DIALECT_LPFA_IR_LPFAROLEOPS_TD

include "lpfa/Dialect/LPFA/IR/LPFAAttributes.td"
include "lpfa/Dialect/LPFA/IR/LPFATypes.td"
include "lpfa/Dialect/LPFA/IR/LPFAKernelOps.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

def LPFA_PlaceAttr : LPFA_Attr<"Place", "place"> {
  let summary = "where a buffer lies";
  let description = [{
    `offset` and `size` count columns of tensor memory or bytes of shared
    memory. Slot s of a ring lies `s * distance` further on; the distance is the
    size where no other is written. With the distance of another ring each slot
    lies inside one of the other's, with 0 all slots lie in one place.

    - (C1) The offset is not negative, the size positive, the distance 0 or not
      less than the size, in one direction or the other.

    Examples: `#lpfa.place<tensor, 32, 32>`, `#lpfa.place<tensor, 32, 16, 64>`
  }];
  let parameters = (ins "::lpfa::MemorySpace":$space, "int64_t":$offset,
                        "int64_t":$size, "int64_t":$distance);
  let builders = [AttrBuilder<(ins "::lpfa::MemorySpace":$space,
                                   "int64_t":$offset, "int64_t":$size), [{
    return $_get($_ctxt, space, offset, size, size);
  }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}
def LPFA_PlaceArrayAttr
    : TypedArrayAttrBase<LPFA_PlaceAttr, "array of places">;

//===----------------------------------------------------------------------===//
// Roles and what stands between them
//===----------------------------------------------------------------------===//

def LPFA_RoleOp : LPFA_Op<"role", [
    HasParent<"KernelOp">, SingleBlock, NoTerminator, RecursiveMemoryEffects]> {
  let summary = "a team of warps and its program";
  let description = [{
    Warps `first_warp` to `first_warp + warps - 1` run the body. `elected`: one
    thread of one warp runs it, the others wait at the end of the kernel.
    `registers` is the budget of each thread.

    Constraints:

    - (C1) A role that is not elected has four warps starting at a multiple of
      four (it reads and writes tensor memory, whose lanes belong to warps).
    - (C2) `registers` is a multiple of 8 from 24 to 256.
    - (C3) The roles of one warpgroup have the same `registers`.

    Example:

    ```mlir
    lpfa.role "softmax0" warps(4 from 0) registers(192) {
      ...
    }
    lpfa.role "load" warps(1 from 13) registers(48) elected {
      ...
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$warps, I64Attr:$first_warp,
                       I64Attr:$registers, UnitAttr:$elected);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name `warps` `(` $warps `from` $first_warp `)` `registers` `(` $registers
    `)` (`elected` $elected^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// How many threads run the body.
    int64_t getThreads() { return getElected() ? 1 : getWarps() * 32; }
  }];
}

def LPFA_ChannelOp : LPFA_Op<"channel", [HasParent<"KernelOp">]> {
  let summary = "a ring of slots from one writing role to reading roles";
  let description = [{
    The writer does `lpfa.acquire`, writes, `lpfa.put`; every reader does
    `lpfa.get`, reads, `lpfa.release`. A slot is free when all readers have
    released it. A role holds at most one slot of a channel at a time.

    Where copies fill a slot while their role has also acquired one of another
    channel, and whoever reads the first has waited for the second, one barrier
    tells of both.

    Constraints:

    - (C1) `stages` is positive.
    - (C2) Places, where given, are one a buffer, in the buffer's memory and of
      the buffer's size.
    - (C3) One role writes, at least one other reads.

    Example:

    ```mlir
    %cK = lpfa.channel "K" stages(3) : !lpfa.channel<128x128xf8E4M3FN shared, 32x4x4xf8E8M0FNU shared>
    %cS = lpfa.channel "S0" stages(1) at [#lpfa.place<tensor, 0, 128>] : !lpfa.channel<128x128xf32 tensor>
    ```
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$stages,
                       OptionalAttr<LPFA_PlaceArrayAttr>:$places);
  let results = (outs LPFA_ChannelType:$channel);
  let assemblyFormat = [{
    $name `stages` `(` $stages `)` (`at` $places^)? attr-dict `:` type($channel)
  }];
  let hasVerifier = 1;
}

def LPFA_AccumulatorOp : LPFA_Op<"accumulator", [HasParent<"KernelOp">]> {
  let summary = "one buffer that two roles own in turns";
  let description = [{
    At the kernel's start the role named `owner` owns it. `lpfa.give` passes it
    to the other role, `lpfa.take` waits for it.

    Constraints:

    - (C1) The place, where given, is in the buffer's memory and of its size.

    Example:

    ```mlir
    %O0 = lpfa.accumulator "O0" owner("correction") : !lpfa.buffer<128x128xf32, tensor>
    ```
  }];
  let arguments = (ins StrAttr:$name, StrAttr:$owner,
                       OptionalAttr<LPFA_PlaceAttr>:$place);
  let results = (outs LPFA_BufferType:$buffer);
  let assemblyFormat = [{
    $name `owner` `(` $owner `)` (`at` $place^)? attr-dict `:` type($buffer)
  }];
  let hasVerifier = 1;
}

def LPFA_ScratchOp : LPFA_Op<"scratch", [HasParent<"KernelOp">]> {
  let summary = "a buffer of one role's own";
  let description = [{
    Its content lives from the write to the last read that follows in program
    order. With `stages(n)` it is a ring of places, so that one of them can be
    free where another is not: each copy writes to the next, the first to slot 0,
    and what reads it reads the latest.

    Constraints:

    - (C1) The place, where given, is in the buffer's memory and of its size.
    - (C2) `stages` is positive; with several, only copies write the buffer and
      only products read it.

    Example:

    ```mlir
    %sq = lpfa.scratch "scales.Q0" : !lpfa.buffer<32x4x4xf8E8M0FNU, tensor>
    %sk = lpfa.scratch "scales.K0" stages(2) at #lpfa.place<tensor, 72, 4, -64> : !lpfa.buffer<32x4x4xf8E8M0FNU, tensor>
    ```
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<LPFA_PlaceAttr>:$place,
                       DefaultValuedAttr<I64Attr, "1">:$stages);
  let results = (outs LPFA_BufferType:$buffer);
  let assemblyFormat = [{
    $name (`stages` `(` $stages^ `)`)? (`at` $place^)? attr-dict
    `:` type($buffer)
  }];
  let hasVerifier = 1;
}

class LPFA_SlotOp<string mnemonic, string verb, string more = "">
    : LPFA_Op<mnemonic> {
  let summary = verb;
  let description = more # [{

    - (C1) The results are the channel's buffers.
  }];
  let arguments = (ins LPFA_ChannelType:$channel);
  let results = (outs Variadic<LPFA_BufferType>:$buffers);
  let assemblyFormat = "$channel attr-dict `:` custom<SlotTypes>(type($channel), type($buffers))";
  let hasVerifier = 1;
}

def LPFA_AcquireOp : LPFA_SlotOp<"acquire", "wait for a free slot to write", [{
    Ends when all readers have released the slot's previous content. Until the
    role puts the slot, further acquires return the same, to go on writing; not
    where asynchronous copies fill it, whose bytes are expected once.

    ```mlir
    %k, %sk = lpfa.acquire %cK : !lpfa.channel<128x128xf8E4M3FN shared, 32x4x4xf8E8M0FNU shared>
    ```}]>;
def LPFA_GetOp : LPFA_SlotOp<"get", "wait for a slot's content to read", [{
    Ends when the writer has put the content. Until the role releases the slot,
    further gets return the same content.

    ```mlir
    %k, %sk = lpfa.get %cK : !lpfa.channel<128x128xf8E4M3FN shared, 32x4x4xf8E8M0FNU shared>
    ```}]>;

class LPFA_ChannelEndOp<string mnemonic, string verb, string more>
    : LPFA_Op<mnemonic> {
  let summary = verb;
  let description = more;
  let arguments = (ins LPFA_ChannelType:$channel);
  let assemblyFormat = "$channel attr-dict `:` type($channel)";
}

def LPFA_PutOp : LPFA_ChannelEndOp<"put", "hand an acquired slot to the readers", [{
    The content counts as written when all writes of the role to it, those of
    asynchronous engines too, have completed.

    ```mlir
    lpfa.put %cK : !lpfa.channel<128x128xf8E4M3FN shared, 32x4x4xf8E8M0FNU shared>
    ```}]>;
def LPFA_ReleaseOp : LPFA_ChannelEndOp<"release", "hand a slot back to the writer", [{
    The slot counts as free when all reads of the role from it, those of
    asynchronous engines too, have completed.

    ```mlir
    lpfa.release %cK : !lpfa.channel<128x128xf8E4M3FN shared, 32x4x4xf8E8M0FNU shared>
    ```}]>;

class LPFA_TurnOp<string mnemonic, string verb, string more>
    : LPFA_Op<mnemonic> {
  let summary = verb;
  let description = more;
  let arguments = (ins LPFA_BufferType:$accumulator);
  let assemblyFormat = "$accumulator attr-dict `:` type($accumulator)";
}
def LPFA_TakeOp : LPFA_TurnOp<"take", "wait for an accumulator", [{
    Ends when the other role has given it.

    ```mlir
    lpfa.take %O0 : !lpfa.buffer<128x128xf32, tensor>
    ```}]>;
def LPFA_GiveOp : LPFA_TurnOp<"give", "pass an accumulator to the other role", [{
    ```mlir
    lpfa.give %O0 : !lpfa.buffer<128x128xf32, tensor>
    ```}]>;

//===----------------------------------------------------------------------===//
// Moving tiles
//===----------------------------------------------------------------------===//

def LPFA_LoadAsyncOp : LPFA_Op<"load_async", [AttrSizedOperandSegments]> {
  let summary = "copy a tile of a view to shared memory, asynchronously";
  let description = [{
    By the tensor memory access engine, or as one bulk copy where the tile is
    contiguous in the view (an atom of scales). Elements outside the view are
    filled with 0. From the synchronized stage on the copy's bytes count on a
    barrier.

    Constraints:

    - (C1) One index for each dimension of the view; the tile is as in
      `lpfa.load`; the buffer is in shared memory.

    Example:

    ```mlir
    lpfa.load_async %K[%b, %h, %row, %c0] -> %k : !lpfa.view<?x?x?x128xf8E4M3FN>, !lpfa.buffer<128x128xf8E4M3FN, shared>
    ```
  }];
  let arguments = (ins LPFA_ViewType:$view, Variadic<Index>:$indices,
                       LPFA_BufferType:$buffer,
                       Optional<LPFA_BarrierType>:$barrier,
                       Optional<LPFA_CursorType>:$cursor);
  let assemblyFormat = [{
    $view `[` $indices `]` `->` $buffer
    (`signals` `(` $barrier^ `use` $cursor `)`)? attr-dict
    `:` type($view) `,` type($buffer)
  }];
  let hasVerifier = 1;
}

def LPFA_StoreAsyncOp : LPFA_Op<"store_async"> {
  let summary = "copy a tile from shared memory to a view, asynchronously";
  let description = [{
    By the tensor memory access engine. Elements outside the view are dropped.

    Constraints:

    - (C1) One index for each dimension of the view; the tile is as in
      `lpfa.load`; the buffer is in shared memory.

    Example:

    ```mlir
    lpfa.store_async %o -> %O[%b, %h, %row, %c0] : !lpfa.buffer<128x64xbf16, shared>, !lpfa.view<?x?x?x128xbf16>
    ```
  }];
  let arguments = (ins LPFA_BufferType:$buffer, LPFA_ViewType:$view,
                       Variadic<Index>:$indices);
  let assemblyFormat = "$buffer `->` $view `[` $indices `]` attr-dict `:` type($buffer) `,` type($view)";
  let hasVerifier = 1;
}

def LPFA_StoreWaitOp : LPFA_Op<"store_wait"> {
  let summary = "wait until the role's asynchronous stores have read their sources";
  let description = [{
    With `complete`, until they have also written.

    ```mlir
    lpfa.store_wait
    lpfa.store_wait complete
    ```
  }];
  let arguments = (ins UnitAttr:$complete);
  let assemblyFormat = "(`complete` $complete^)? attr-dict";
}

def LPFA_CopyScalesOp : LPFA_Op<"copy_scales"> {
  let summary = "copy an atom of scales from shared to tensor memory, asynchronously";
  let description = [{
    `tcgen05.cp.32x128b.warpx4`: four columns, in all four quarters of the
    lanes.

    - (C1) Both buffers are atoms, the source in shared and the destination in
      tensor memory.

    ```mlir
    lpfa.copy_scales %sk -> %tk : !lpfa.buffer<32x4x4xf8E8M0FNU, shared>, !lpfa.buffer<32x4x4xf8E8M0FNU, tensor>
    ```
  }];
  let arguments = (ins LPFA_BufferType:$source, LPFA_BufferType:$destination);
  let assemblyFormat = "$source `->` $destination attr-dict `:` type($source) `,` type($destination)";
  let hasVerifier = 1;
}

def LPFA_CopyTileOp : LPFA_Op<"copy_tile"> {
  let summary = "copy a tile of bytes from shared to tensor memory, asynchronously";
  let description = [{
    `tcgen05.cp.128x256b`, once for each eight columns: row r to lane r, four
    elements a column, as `lpfa.mma` reads A there.

    - (C1) The source is a matrix in shared memory of 128 rows with a multiple
      of 32 elements of eight bits, the destination one of the same shape and
      element type in tensor memory.

    ```mlir
    lpfa.copy_tile %q -> %tq : !lpfa.buffer<128x128xf8E4M3FN, shared>, !lpfa.buffer<128x128xf8E4M3FN, tensor>
    ```
  }];
  let arguments = (ins LPFA_BufferType:$source, LPFA_BufferType:$destination);
  let assemblyFormat = "$source `->` $destination attr-dict `:` type($source) `,` type($destination)";
  let hasVerifier = 1;
}

def LPFA_MmaOp : LPFA_Op<"mma", [AttrSizedOperandSegments]> {
  let summary = "a block-scaled matrix product on buffers, asynchronously";
  let description = [{
    `d = a * b`, or `d += a * b` where `accumulate` is true, as `lpfa.dot`.
    `d`'s old content is not read where `accumulate` is false or absent.

    With `part(j)`, `a` holds part j of an operand that is as deep as `b`, in
    parts as deep as `a`. The product is that of the part with what of `b` it
    meets; the scales are those of the whole operands, and `valid` counts from
    the beginning of `b`.

    Constraints:

    - (C1) Shapes as `lpfa.dot`; `a` is in shared or tensor memory, `b` in
      shared, `d` and the scales in tensor memory.
    - (C2) With `part(j)` the depth of `b` is a multiple of that of `a`, and part
      j lies inside.

    Example:

    ```mlir
    lpfa.mma %q, %k scaled %tq, %tk into %s transpose_b : !lpfa.buffer<128x128xf8E4M3FN, shared>, !lpfa.buffer<128x128xf8E4M3FN, shared>, !lpfa.buffer<128x128xf32, tensor>
    lpfa.mma %p, %v scaled %tp, %tv into %O0 accumulate(%again) valid(%left) : ...
    lpfa.mma %p1, %v scaled %tp, %tv into %O0 accumulate(%true) part(1) : !lpfa.buffer<128x64xf8E4M3FN, tensor>, !lpfa.buffer<128x128xf8E4M3FN, shared>, ...
    ```
  }];
  let arguments = (ins LPFA_BufferType:$a, LPFA_BufferType:$b,
                       LPFA_BufferType:$scalesA, LPFA_BufferType:$scalesB,
                       LPFA_BufferType:$d, Optional<I1>:$accumulate,
                       Optional<Index>:$valid, Optional<Index>:$from,
                       UnitAttr:$transpose_b, OptionalAttr<I64Attr>:$part);
  let assemblyFormat = [{
    $a `,` $b `scaled` $scalesA `,` $scalesB `into` $d
    (`accumulate` `(` $accumulate^ `)`)? (`valid` `(` $valid^ `)`)?
    (`from` `(` $from^ `)`)? (`part` `(` $part^ `)`)? (`transpose_b` $transpose_b^)? attr-dict
    `:` type($a) `,` type($b) `,` type($d)
    custom<ScaleAtomTypes>(ref(type($d)), type($scalesA), type($scalesB))
  }];
  let hasVerifier = 1;
}

def LPFA_ReadOp : LPFA_Op<"read"> {
  let summary = "read a buffer into the role's registers";
  let description = [{
    A tile of m x n is held a row a thread; a tile of m an element a thread.

    - (C1) The tile has the buffer's shape and element type.

    ```mlir
    %s = lpfa.read %S0 : !lpfa.buffer<128x128xf32, tensor> -> !lpfa.tile<128x128xf32>
    ```
  }];
  let arguments = (ins LPFA_BufferType:$buffer);
  let results = (outs LPFA_TileType:$tile);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer) `->` type($tile)";
  let hasVerifier = 1;
}

def LPFA_WriteOp : LPFA_Op<"write"> {
  let summary = "write a tile from the role's registers to a buffer";
  let description = [{
    - (C1) The tile has the buffer's shape and element type.

    ```mlir
    lpfa.write %p -> %P0 : !lpfa.tile<128x128xf8E4M3FN>, !lpfa.buffer<128x128xf8E4M3FN, tensor>
    ```
  }];
  let arguments = (ins LPFA_TileType:$tile, LPFA_BufferType:$buffer);
  let assemblyFormat = "$tile `->` $buffer attr-dict `:` type($tile) `,` type($buffer)";
  let hasVerifier = 1;
}

def LPFA_RescaleBufferOp : LPFA_Op<"rescale_buffer"> {
  let summary = "multiply each row of a buffer by its factor, in place";
  let description = [{
    A warp none of whose factors differs from 1 leaves its rows alone.

    - (C1) The buffer is f32 in tensor memory, with a factor a row.

    ```mlir
    lpfa.rescale_buffer %O0 by %factor : !lpfa.buffer<128x128xf32, tensor>, !lpfa.tile<128xf32>
    ```
  }];
  let arguments = (ins LPFA_BufferType:$buffer, LPFA_TileType:$factor);
  let assemblyFormat = "$buffer `by` $factor attr-dict `:` type($buffer) `,` type($factor)";
  let hasVerifier = 1;
}

def LPFA_SliceOp : LPFA_Op<"slice", [Pure]> {
  let summary = "some columns of a buffer in tensor memory";
  let description = [{
    - (C1) The result has the buffer's rows and element type, is in tensor
      memory, and its columns lie inside the buffer.

    ```mlir
    %half = lpfa.slice %O0[64] : !lpfa.buffer<128x128xf32, tensor> to !lpfa.buffer<128x64xf32, tensor>
    ```
  }];
  let arguments = (ins LPFA_BufferType:$buffer, I64Attr:$column);
  let results = (outs LPFA_BufferType:$result);
  let assemblyFormat = "$buffer `[` $column `]` attr-dict `:` type($buffer) `to` type($result)";
  let hasVerifier = 1;
}

#endif // LPFA_DIALECT_LPFA_IR_LPFAROLEOPS_TD
