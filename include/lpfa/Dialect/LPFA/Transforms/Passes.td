//===- Passes.td - lpfa passes ------------------------------*- tablegen -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_TRANSFORMS_PASSES_TD
#define LPFA_DIALECT_LPFA_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// The reference
//===----------------------------------------------------------------------===//

def ExpandNarrowFloats : Pass<"lpfa-expand-narrow-floats", "::mlir::ModuleOp"> {
  let summary = "turns narrow floats into 8-bit codes and 32-bit arithmetic";
  let description = [{
    After this pass no value has an f8, f6, f4 or f8E8M0FNU type. Each such type
    becomes `i8`, in function signatures, tensors and memrefs too: a code takes
    one byte, whatever its width. `lpfa.encode` and `lpfa.decode` become 32-bit
    integer arithmetic, with one exact f32 addition or subtraction for the
    subnormal numbers of the narrow type.

    Upstream dialects cannot compute on narrow floats reliably (their
    conversions do not saturate, take f8E8M0FNU's byte 0 for zero, and fold
    differently from how they run), so an op that does more than move them is
    an error. So is an lpfa op that was not lowered before.

    Before:

    ```mlir
    func.func @scale(%s: f8E8M0FNU) -> f32 {
      %x = lpfa.decode %s : f8E8M0FNU to f32
      return %x : f32
    }
    ```

    After:

    ```mlir
    func.func @scale(%s: i8) -> f32 {
      %c23 = arith.constant 23 : i32
      %c0 = arith.constant 0 : i32
      %c255 = arith.constant 255 : i32
      %tiny = arith.constant 0x00400000 : i32
      %nan = arith.constant 0x7FC00000 : i32
      %code = arith.extui %s : i8 to i32
      %power = arith.shli %code, %c23 : i32
      %is_zero = arith.cmpi eq, %code, %c0 : i32
      %finite = arith.select %is_zero, %tiny, %power : i32
      %is_nan = arith.cmpi eq, %code, %c255 : i32
      %bits = arith.select %is_nan, %nan, %finite : i32
      %x = arith.bitcast %bits : i32 to f32
      return %x : f32
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

def DistributeToThreads
    : Pass<"lpfa-distribute-to-threads", "::mlir::ModuleOp"> {
  let summary = "turns kernels into what each thread does";
  let description = [{
    Every `lpfa.kernel @k` at the synchronized stage becomes a `gpu.func @k` in
    a `gpu.module @k_module`, and `lpfa.launch` ops refer to it.

    A kernel at the tile stage is elementwise: it needs no roles, its threads
    all do the same. Tiles of elements lie in registers: a thread has pieces of
    a row, as wide as the chip's widest access, of several rows; blocks of 32
    rows or columns lie within a warp, which finds their maxima by shuffles.
    Tiles of scales lie in shared memory, from where they go to global memory
    in whole words, in either layout. Tiles that are inside their tensor and
    aligned to an access are moved without further checks; at edges each piece,
    or each element where rows are not aligned, is checked.

    Roles become branches on the warp's number. A tile in registers is a vector
    a thread, which owns a row; buffers become addresses, barriers mbarriers
    behind the tiles in shared memory, cursors a slot and a phase bit. An
    `lpfa.for_steps` becomes one loop that carries the position of each shift.

    Views become the parameters that the body needs, each with an
    `#lpfa.parameter` that says how a launch computes it: tensor maps for
    `lpfa.load_async` and `lpfa.store_async`, a pointer and strides for atoms of
    scales and for accesses by threads, sizes. The function's attribute
    `lpfa.dynamic_shared_bytes` is what a launch must give it.

    Before:

    ```mlir
    lpfa.role "softmax0" warps(4 from 0) registers(192) {
      %cursor = lpfa.cursor stages(1) : !lpfa.cursor
      ...
      lpfa.wait %full use %cursor : !lpfa.barrier
      %slot = lpfa.slot %cS use %cursor : !lpfa.channel<128x128xf32 tensor>
      %s = lpfa.read %slot : !lpfa.buffer<128x128xf32, tensor> -> !lpfa.tile<128x128xf32>
      lpfa.arrive %empty use %cursor : !lpfa.barrier
      lpfa.advance %cursor : !lpfa.cursor
    }
    ```

    After:

    ```mlir
    %is_softmax0 = arith.cmpi ult, %warp, %c4 : i32
    scf.if %is_softmax0 {
      lpfa.set_max_registers increase 192
      ...
      %phase = llvm.load %cursor : !llvm.ptr -> i32
      lpfa.mbarrier.wait %full, %phase
      %address = arith.addi %tmem, %lanes : i32
      %s = lpfa.tcgen05.ld %address : vector<128xf32>
      lpfa.mbarrier.arrive %empty
      %next = arith.xori %phase, %c1 : i32
      llvm.store %next, %cursor : i32, !llvm.ptr
    }
    ```
  }];
  let options = [
    Option<"chip", "chip", "std::string", "\"sm_100a\"",
           "sm_90a, sm_100a or sm_103a; a chip whose loads from tensor memory "
           "give maxima spares the softmax roles theirs">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::affine::AffineDialect",
    "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

//===----------------------------------------------------------------------===//
// Kernels: how and who
//===----------------------------------------------------------------------===//

def ChooseSchedule : Pass<"lpfa-choose-schedule", "::mlir::ModuleOp"> {
  let summary = "chooses how attention is scheduled on a chip";
  let description = [{
    Sets `lpfa.schedule` on each `lpfa.attention` without one. What an option
    gives is kept; for the rest the pass takes the defaults of
    `lpfa-form-kernels` and `lpfa-assign-roles`, unless these do not fit tensor
    memory (512 columns) or shared memory, or another schedule gains 15 % or
    more by a model of the chip (`Analysis/CostModel.h`) at all bounds of what
    the model does not know. Rings get three slots, or fewer where three do not
    fit. Probabilities are handed over in parts, or in rings as deep as those of
    the scores, where that gains 15 % over the best without. The arithmetic of
    an exponential is no choice: none is moved to the multiply-add pipe.

    With `explain`, prints to stdout what the model says of each schedule, and
    why one was chosen: clocks for 128 keys of 128 queries that each unit is
    busy, the bounds of the time, and what limits it.

    Before: `lpfa.attention %q scaled %sq, ... {scale = 0.125 : f32} : ...`

    After:

    ```mlir
    lpfa.attention %q scaled %sq, ... {lpfa.schedule = #lpfa.schedule<
        query_tiles = 2, key_tile = 128, stages = 3, scores_first = false,
        score_buffers = 1>, scale = 0.125 : f32} : ...
    ```
  }];
  let options = [
    Option<"chip", "chip", "std::string", "\"sm_100a\"",
           "sm_90a, sm_100a or sm_103a">,
    Option<"queryTiles", "query-tiles", "int64_t", "-1",
           "tiles of 128 query rows in a work tile; -1: choose">,
    Option<"keyTile", "key-tile", "int64_t", "-1", "keys in a step; -1: choose">,
    Option<"stages", "stages", "int64_t", "-1",
           "slots in the rings of keys and values; -1: choose">,
    Option<"scoresFirst", "scores-first", "std::string", "\"\"",
           "true or false, as in lpfa-assign-roles; nothing: choose">,
    Option<"scoreBuffers", "score-buffers", "int64_t", "-1",
           "slots in the rings of scores; -1: choose">,
    Option<"scoresAhead", "scores-ahead", "int64_t", "-1",
           "how many steps the scores are ahead, as in lpfa-assign-roles; -1: "
           "choose">,
    Option<"queriesInTmem", "queries-in-tmem", "std::string", "\"\"",
           "true or false, as in lpfa-assign-roles; nothing: choose">,
    Option<"probabilityParts", "probability-parts", "int64_t", "-1",
           "parts in which probabilities are handed over; -1: choose">,
    Option<"probabilityBuffers", "probability-buffers", "int64_t", "-1",
           "slots in the rings of probabilities, as in lpfa-assign-roles; -1: "
           "choose">,
    Option<"ordering", "ordering", "::lpfa::Ordering",
           "::lpfa::Ordering::Practice",
           "which orders of the tensor core count, as in lpfa-insert-barriers",
           [{::llvm::cl::values(
               clEnumValN(::lpfa::Ordering::Documented, "documented",
                          "those that the manual promises"),
               clEnumValN(::lpfa::Ordering::Practice, "practice",
                          "those that every known kernel relies on"))}]>,
    Option<"explain", "explain", "bool", "false", "print why">
  ];
}

def FormKernels : Pass<"lpfa-form-kernels", "::mlir::ModuleOp"> {
  let summary = "writes tile programs for tensor-level ops: tensor to tile";
  let description = [{
    `lpfa.attention` becomes an `lpfa.kernel` over tiles and an `lpfa.launch` of
    it, and so does `lpfa.matmul`. A work tile of attention is `query-tiles`
    tiles of 128 query rows of one head of one batch; all of them walk the same
    tiles of `key-tile` keys. Tiles of Q, K, V and O are at most 128 wide, what
    an atom has scales for: products over wider heads are sums of several, and
    wider outputs lie side by side. A work tile of a product is 128 x 128 of its
    result, in steps of 128 along K. `lpfa.pack_scales`, which is put before
    both for scales that are row-major, `lpfa.unpack_scales`,
    `lpfa.scatter_scales`, `lpfa.gather_scales`, `lpfa.quantize` and
    `lpfa.dequantize` become elementwise kernels, and so does `lpfa.rms_norm`.
    `lpfa.rms_norm_backward` becomes one that leaves partial sums of the
    gradient of the weight and one that sums them; `lpfa.dequantize` along rows
    of its gradient becomes part of the first. All `lpfa.quantize` ops of one
    tensor in a block become one kernel, together with `lpfa.pack_scales` of
    their scales: it reads the tensor once and writes only what is used.
    `lpfa.quantize` of a normalized tensor becomes part of the normalization,
    but NVFP4's; with squares or blocks along columns of rows that do not fit a
    cluster, a first kernel reads the rows for their factors alone.
    `lpfa.quantize` of a product to codes of 8 bits, along one of its last two
    dimensions, becomes part of the product's kernel, and so does
    `lpfa.pack_scales` of its scales; the product itself is written only where
    something else uses it.

    An error where there is no kernel yet: attention with head dimensions that
    are no multiple of 16 or above 256, or with jagged batches; attention and
    products over other element types than f8E4M3FN and f8E5M2; products of more
    than three batch dimensions or with rows that are no multiple of 16 bytes;
    and for `lpfa.quantize` and `lpfa.dequantize` along another dimension than
    the last two, or NVFP4's along another than the last; and for
    `lpfa.rms_norm` and `lpfa.rms_norm_backward` of a tensor of one dimension.

    Before:

    ```mlir
    %b = lpfa.pack_scales %s : tensor<?x4xf8E8M0FNU> -> tensor<?x1x32x4x4xf8E8M0FNU>
    ```

    After:

    ```mlir
    %init = tensor.empty(%tiles) : tensor<?x1x32x4x4xf8E8M0FNU>
    %b = lpfa.launch @f_pack_scales grid(%tiles) ins(%s : tensor<?x4xf8E8M0FNU>)
        outs(%init : tensor<?x1x32x4x4xf8E8M0FNU>) -> tensor<?x1x32x4x4xf8E8M0FNU>
    ```
  }];
  let options = [
    Option<"queryTiles", "query-tiles", "int64_t", "2",
           "tiles of 128 query rows in a work tile, 1 or 2">,
    Option<"keyTile", "key-tile", "int64_t", "128", 
           "keys in a step: 32, 64, 96 or 128">,
    Option<"longestFirst", "longest-first", "bool", "true",
           "where later queries see more keys: work tiles in descending order of "
           "their rows, all heads of one before the next">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def AssignRoles : Pass<"lpfa-assign-roles", "::lpfa::KernelOp"> {
  let summary = "splits a tile program among warps: tile to roles";
  let description = [{
    Loads go to a load role, products to an mma role, the softmax of each query
    tile to a role of four warps, rescaling and the final division to a
    correction role, the stores of outputs to an epilogue role. A matrix product
    has a load role, an mma role, an epilogue role of four warps that rounds the
    sums and quantizes them, and a store role; its sums are a ring of two slots
    in tensor memory, so that the products of the next work tile go on
    meanwhile. Each role gets a copy of the loops and of the index arithmetic;
    values that cross roles become channels, accumulated products accumulators,
    scales of products scratch buffers of the mma role. The order of products is
    the order of `lpfa.at` ops in the mma role: for each query tile the product
    with this step's probabilities, then the scores of the next step, which may
    lie in the same columns; or, with `scores-first`, the other way round: the
    next scores then need no more than that these have been read. The scores are
    as many steps ahead as they have buffers, or `scores-ahead`.

    With `probability-parts` a step's probabilities are handed over in as many
    parts, each a channel of its own, the scales of all with the first: the
    product with one part starts while the softmax role still computes the next.

    Kernels without products are left alone.

    Before:

    ```mlir
    %s = lpfa.dot %q, %k scaled %sq, %sk transpose_b : ...
    %x = lpfa.apply_mask %s at(%row, %key) of(%rows, %keys) <none> : ...
    ```

    After:

    ```mlir
    lpfa.role "softmax0" warps(4 from 0) registers(192) {
      %slot = lpfa.get %cS0 : !lpfa.channel<128x128xf32 tensor>
      %s = lpfa.read %slot : !lpfa.buffer<128x128xf32, tensor> -> !lpfa.tile<128x128xf32>
      lpfa.release %cS0 : !lpfa.channel<128x128xf32 tensor>
      %x = lpfa.apply_mask %s at(%row, %key) of(%rows, %keys) <none> : ...
    }
    lpfa.role "mma" warps(1 from 8) registers(48) elected {
      %q, %sq = lpfa.get %cQ0 : ...
      %k, %sk = lpfa.get %cK : ...
      %s = lpfa.acquire %cS0 : !lpfa.channel<128x128xf32 tensor>
      lpfa.copy_scales %sq -> %tQ0 : ...
      lpfa.copy_scales %sk -> %tK0 : ...
      lpfa.mma %q, %k scaled %tQ0, %tK0 into %s transpose_b : ...
      lpfa.put %cS0 : !lpfa.channel<128x128xf32 tensor>
    }
    ```
  }];
  let options = [
    Option<"stages", "stages", "int64_t", "3",
           "slots in the rings of keys and values">,
    Option<"outputStages", "output-stages", "int64_t", "2",
           "slots in the ring of output pieces">,
    Option<"polynomialColumns", "polynomial-columns", "int64_t", "0",
           "exponentials of each 32 columns that the multiply-add pipe computes "
           "as polynomials: an even number up to 30">,
    Option<"polynomialDegree", "polynomial-degree", "int64_t", "3",
           "degree of those polynomials: 3 or 4">,
    Option<"lag", "lag", "int64_t", "-1",
           "how far the maximum that a row is computed with may lag, 0 to 32 in "
           "log2 units (-1: the op's), where the scales of probabilities are not "
           "constant; results do not depend on it">,
    Option<"factorFirst", "factor-first", "bool", "true",
           "the softmax roles hand the factor for the outputs over before they "
           "compute probabilities and sum, not after">,
    Option<"scoresFirst", "scores-first", "bool", "false",
           "the next scores before the product with this step's probabilities, "
           "which then need columns of their own">,
    Option<"scoreBuffers", "score-buffers", "int64_t", "1",
           "slots in the rings of scores: 1 or 2">,
    Option<"scoresAhead", "scores-ahead", "int64_t", "0",
           "how many steps the scores are ahead of the probabilities: "
           "score-buffers (or 0), or one more, for which probabilities need "
           "columns of their own">,
    Option<"probabilityParts", "probability-parts", "int64_t", "1",
           "parts in which a step's probabilities are handed over, each a "
           "multiple of 32 keys">,
    Option<"probabilityBuffers", "probability-buffers", "int64_t", "1",
           "slots in the rings of probabilities, and places that scales take in "
           "turns: 1, or as many as score-buffers, so that each may lie inside a "
           "slot of the scores">,
    Option<"queriesInTmem", "queries-in-tmem", "bool", "false",
           "queries are copied to tensor memory once a work tile: products with "
           "tiles of 64 keys are then not bound by shared memory">,
    Option<"matmulStages", "matmul-stages", "int64_t", "5",
           "slots in the ring of a matrix product's operands; fewer where "
           "shared memory has no room for them beside the results">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

//===----------------------------------------------------------------------===//
// Kernels: where and when
//===----------------------------------------------------------------------===//

def PlaceTiles : Pass<"lpfa-place-tiles", "::lpfa::KernelOp"> {
  let summary = "gives every buffer of a kernel a place: roles to placed";
  let description = [{
    Shared memory: one buffer after the other, swizzled tiles first, where all of
    that fits. Otherwise an exact search over byte offsets decides which buffers,
    or slots of them, lie in memory of others, at the least cost as below
    (`SharedMemorySearch.h`). Threads own rows of a buffer, which lie anywhere in
    another: a role may write where it has read another buffer only when all its
    threads have arrived somewhere in between and another role has answered.

    Tensor memory: accumulators and what products write are laid side by side,
    the rest (probabilities, scale factors) in free columns, where all of that
    fits. Otherwise an exact search decides which results of products take turns
    in the same columns, which of the rest lives in columns of a result while
    that is dead, and which takes turns with another of the rest, as scales do
    that each product copies anew. Slots of a ring may each lie in a slot of
    another ring, at a distance of their own. From what happens before what
    (`Analysis/Schedule.h`) it knows for each two tiles whether they can share
    memory and whether that takes a wait more. It takes the placement, which all
    its waits together can keep right, with the fewest added waits; then the
    fewest barriers that nothing else needs; then the fewest waits for the
    latest content of a ring, where one before would do elsewhere; then the one
    whose turns are between products that are furthest apart, so that one seldom
    waits for the other's end; then the first in order. Waits of a role's steps
    count before those outside, once for a work tile or for a loop.

    A scratch buffer may get a place for each of its uses: a copy into it and the
    products that read what that copy wrote. Where nothing fits, or what fits
    takes waits, the search is made again with each use as a buffer of its own,
    and that is kept where it takes fewer waits than one place for all uses, with
    as few places as it needs. A ring stays whole, as does a buffer of which a
    product may read what either of two copies wrote.

    Then the same with ops of their own for what a loop over steps does before its
    first step (`lpfa.at shift(1) prologue`), whose scales may lie in results that
    are not begun yet, as in hand-made maps. The loop is peeled so where nothing
    fits without it or it spares a wait in every step. With `peel-prologue` it is
    also where it only spares one in the prologue: in attention the second query
    tile's first scores then wait for nothing but their operands, and `"scales.Q1"`
    is joined by `"scales.Q1.first"`. It is not the default because the query tiles
    then begin at once, which does not pay on every chip: `Schedules.md` has what
    the simulator's timing model makes of it.

    An error where nothing fits: it names each tile with its columns and the
    roles between which its content lives, and how many columns would do; in
    shared memory each buffer with its slots and bytes, and how long rings may be
    to fit side by side.

    Before:

    ```mlir
    %cS0 = lpfa.channel "S0" stages(1) : !lpfa.channel<128x128xf32 tensor>
    %tQ0 = lpfa.scratch "scales.Q0" : !lpfa.buffer<32x4x4xf8E8M0FNU, tensor>
    ```

    After:

    ```mlir
    %cS0 = lpfa.channel "S0" stages(1) at [#lpfa.place<tensor, 0, 128>] : !lpfa.channel<128x128xf32 tensor>
    %tQ0 = lpfa.scratch "scales.Q0" at #lpfa.place<tensor, 256, 4> : !lpfa.buffer<32x4x4xf8E8M0FNU, tensor>
    ```
  }];
  let options = [
    Option<"columns", "columns", "int64_t", "512",
           "columns of tensor memory to use">,
    Option<"peelPrologue", "peel-prologue", "bool", "false",
           "give loops over steps a prologue with places of its own also where "
           "that spares no wait but in the prologue">
  ];
  let statistics = [
    Statistic<"usedColumns", "columns", "columns of tensor memory used">,
    Statistic<"sharingTiles", "sharing-tiles",
              "tiles that lie in columns or bytes of others">,
    Statistic<"splitKernels", "split-kernels",
              "kernels with scratch buffers split for their uses">,
    Statistic<"triedPlacements", "tried-placements",
              "placements that the search took up to the end">
  ];
}

def InsertBarriers : Pass<"lpfa-insert-barriers", "::lpfa::KernelOp"> {
  let summary = "turns channels and turns into barriers: placed to synchronized";
  let description = [{
    Every channel gets a `full` barrier, but for those whose content comes with
    that of another: copies that are issued while their role fills a slot of the
    other, for readers that have waited for that slot anyway. The other's
    barrier then expects the bytes of both (remark `merged`). What one team
    hands over to another gets the barrier that costs fewest issue slots (remark
    `named`): a named one, of which a CTA has 16, where each content is got
    before the next is put, else an mbarrier at which every thread arrives. The
    other waits that a kernel could need (a slot is free, an accumulator is this
    role's, dead content has been read before a tile that overlaps it is
    written) are added only where no chain of the others implies them: the pass
    starts with all and drops one after the other while every pair of
    conflicting accesses stays ordered. Where only what is given in the last
    step of a work tile is waited for, the giver arrives in that step alone. A
    role that writes to shared memory of a channel that it does not fill waits
    at the beginning of a work tile until the channel's readers have ended the
    one before, and these end the next one when it has begun it: so neither is a
    use of a barrier ahead. Fences go where threads hand data, or shared memory
    of other buffers, to asynchronous engines, and around synchronization of
    tensor memory accesses; then those are dropped, one after the other, on
    which the order of no two accesses rests. The remark `fence` says of each of
    the others what it orders.

    With `ordering=documented` the tensor core keeps no order but what its manual
    promises: where a kernel relies on more, its role waits for what it gave to
    the tensor core before. The statistic `drain-waits` counts these.

    Each wait but those for content has a remark that says what could happen
    without it: `wait-free`, `wait-turn`, `wait-overlap`, `wait-work-tile` and
    `wait-drain`, of category `lpfa-barriers` (`--remarks-filter-passed`).

    An error where accesses to the same memory cannot be kept apart, or where
    the roles wait for each other.

    Before:

    ```mlir
    %slot = lpfa.get %cS0 : !lpfa.channel<128x128xf32 tensor>
    %s = lpfa.read %slot : !lpfa.buffer<128x128xf32, tensor> -> !lpfa.tile<128x128xf32>
    lpfa.release %cS0 : !lpfa.channel<128x128xf32 tensor>
    ```

    After:

    ```mlir
    lpfa.wait %full use %cursor : !lpfa.barrier
    lpfa.fence after_thread_sync
    %slot = lpfa.slot %cS0 use %cursor : !lpfa.channel<128x128xf32 tensor>
    %s = lpfa.read %slot : !lpfa.buffer<128x128xf32, tensor> -> !lpfa.tile<128x128xf32>
    lpfa.advance %cursor : !lpfa.cursor
    ```
  }];
  let statistics = [
    Statistic<"barriers", "barriers", "barrier rings">,
    Statistic<"mergedBarriers", "merged-barriers",
              "barrier rings saved, as content comes with another's">,
    Statistic<"insertedWaits", "waits", "waits in all roles">,
    Statistic<"namedBarriers", "named-barriers",
              "barriers that are named ones">,
    Statistic<"sparedFences", "spared-fences",
              "fences dropped, as no order rests on them">,
    Statistic<"overlapWaits", "overlap-waits",
              "waits for content that an overlapping tile replaces">,
    Statistic<"drainWaits", "drain-waits",
              "waits that the order of the tensor core would spare">
  ];
  let options = [
    Option<"ordering", "ordering", "::lpfa::Ordering",
           "::lpfa::Ordering::Practice",
           "which orders of the tensor core count",
           [{::llvm::cl::values(
             clEnumValN(::lpfa::Ordering::Documented, "documented",
                        "those that the manual promises"),
             clEnumValN(::lpfa::Ordering::Practice, "practice",
                        "those that every known kernel relies on"))}]>
  ];
}

def VerifySchedule : Pass<"lpfa-verify-schedule", "::lpfa::KernelOp"> {
  let summary = "judges a kernel's schedule: races, protocol, deadlock";
  let description = [{
    Executes the roles of a kernel for numbers of steps that show every case
    (`Analysis/RoleInterpreter.h`) and judges what stands in the IR; nothing is
    taken over from the passes that made it.

    At the roles stage: puts and gets balance, and the roles do not wait for each
    other in a circle. At the placed stage also: waits can keep right what shares
    memory, and the remarks `overlap-needs` say which are needed for that. At the
    synchronized stage, from the
    barriers, commits and fences as written (`Analysis/ScheduleVerifier.h`):

    - (R1) The columns of D are disjoint from those of A and of the scales in
      every `lpfa.mma`.
    - (R2) A read sees the last write of its own tile.
    - (R3) Two accesses to the same memory, one of them a write, are ordered.
    - (R4) A use of a barrier gets exactly its arrivals and bytes, none of them
      can come in an earlier phase, and no wait can see a phase of the wrong
      parity.
    - (R5) A write of threads that an asynchronous engine reads has its proxy
      fence, as have accesses of threads before an engine writes another buffer
      in the same memory, and accesses to tensor memory on two sides of a
      synchronization have their tcgen05 fences and `tensor_stores`.

    Nothing that still runs may be unfinished at the end of the kernel.

    Verdicts: safe; safe assuming orders of the tensor core that its manual does
    not promise (`ordering=documented` does not assume any); and errors: race,
    protocol error, deadlock, outside the model. The remark `schedule-verdict`
    of category `lpfa-schedule` says which (`--remarks-filter-analyse`).

    Example of an error:

    ```
    error: 'lpfa.copy_scales' op race (R3): writes tensor columns 288 to 292 of
        'scales.Q0' while columns 256 to 384 of 'S1' may be read
    note: the read, in role "softmax1"
    note: nothing orders them: role "mma" must wait for an arrival that role
        "softmax1" makes after the read
    ```
  }];
  let options = [
    Option<"ordering", "ordering", "::lpfa::Ordering",
           "::lpfa::Ordering::Practice",
           "which orders of the tensor core count",
           [{::llvm::cl::values(
             clEnumValN(::lpfa::Ordering::Documented, "documented",
                        "those that the manual promises"),
             clEnumValN(::lpfa::Ordering::Practice, "practice",
                        "those that every known kernel relies on"))}]>
  ];
}

def PrintTmemMap : Pass<"lpfa-print-tmem-map", "::mlir::ModuleOp"> {
  let summary = "prints who lies where in tensor memory, and why that is right";
  let description = [{
    To stdout, for each kernel at the placed or the synchronized stage: the tiles in
    order of their columns, those that lie in others below them, with the roles
    that write and read them. At the synchronized stage also, for each two tiles
    that share columns, how the content of the one comes to be followed by that
    of the other: a chain of ops, from an access to a write, each of which
    happens before the next.

    With `json` an object a kernel and line: `kernel`, `columns`, `tiles` (`name`,
    `begin`, `end`, `writers`, `readers`) and `overlaps` (`first`, `second`,
    `begin`, `end`, `proof`).

    ```
    tensor memory of @attention_kernel: 512 columns
        0-128  S0         written by mma, read by softmax0
        0-32   . P0         written by softmax0, read by mma
       32-36   . scales.P0  written by mma, read by mma
    P0 after S0: softmax0: read S0 -> softmax0: write P0
    ```
  }];
  let options = [Option<"json", "json", "bool", "false", "print JSON">];
}

def PrintSchedule : Pass<"lpfa-print-schedule", "::mlir::ModuleOp"> {
  let summary = "prints what each role does, waits for and signals";
  let description = [{
    To stdout, for each kernel at the synchronized stage: the roles with their loops
    and, inside, their accesses, waits and arrivals in order; then the barriers
    with what they guard, who arrives and who waits.

    With `json` an object a kernel and line: `kernel`, `roles` (`name`, `threads`,
    `ops`: each with `op`, `what` and `depth`) and `barriers` (`name`, `stages`,
    `arrivals`, `guards`, `arrive`, `wait`).

    ```
    schedule of @attention_kernel
    role softmax0, 128 threads
      for_work
        for
          wait S0.full
          read S0
          arrive S0.free
    ...
    barrier S0.free, 128 arrivals: content of S0 has been read; softmax0 -> mma
    ```
  }];
  let options = [Option<"json", "json", "bool", "false", "print JSON">];
}

//===----------------------------------------------------------------------===//
// Kernels: the steps of a role
//===----------------------------------------------------------------------===//

def SplitMaskedLoops : Pass<"lpfa-split-masked-loops", "::lpfa::KernelOp"> {
  let summary = "masks only the key tiles that need it";
  let description = [{
    A loop over key tiles of a role of a kernel at the synchronized stage that
    applies a mask becomes up to three, one after the other: tiles of which some
    row does not see the first keys, tiles that all rows see whole, and tiles of
    which some row does not see the last keys. In the second nothing is masked.
    The first is there where the mask has a left bound. Cursors and the state of
    the rows continue from one to the next, so each role does the same in the
    same order.

    A branch around the mask would not do: a row of scores is then in registers
    of its own on either side, and all of them are copied where the sides meet.

    Before:

    ```mlir
    scf.for %n = %first to %last step %c1 {
      ...
      %x = lpfa.apply_mask %s at(%row, %key) of(%rows, %keys) <none> : ...
      use(%x)
    }
    ```

    After:

    ```mlir
    scf.for %n = %first to %whole step %c1 {
      ...
      use(%s)
    }
    scf.for %n = %whole to %last step %c1 {
      ...
      %x = lpfa.apply_mask %s at(%row, %key) of(%rows, %keys) <none> : ...
      use(%x)
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

#endif // LPFA_DIALECT_LPFA_TRANSFORMS_PASSES_TD
