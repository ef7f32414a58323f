//===- LPFAKernelOps.td - Kernels, launches and their loops *- tablegen -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_IR_LPFAKERNELOPS_TD
#define LPFA_DIALECT_LPFA_IR_LPFAKERNELOPS_TD

include "lpfa/Dialect/LPFA/IR/LPFAAttributes.td"
include "lpfa/Dialect/LPFA/IR/LPFATypes.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

def LPFA_Stage
    : I32Enum<"Stage", "what a kernel's IR has decided",
              [I32EnumCase<"Tile", 0, "tile">,
               I32EnumCase<"Roles", 1, "roles">,
               I32EnumCase<"Placed", 2, "placed">,
               I32EnumCase<"Synchronized", 3, "synchronized">]> {
  let cppNamespace = "::lpfa";
  let description = [{
    - `tile`: the algorithm, in one thread's words, over tile values.
    - `roles`: who: one `lpfa.role` for each team of warps, with channels and
      accumulators between them. No tile value crosses roles.
    - `placed`: where: every channel, accumulator and scratch buffer has a
      place.
    - `synchronized`: when: barriers stand where `lpfa.get`, `lpfa.put`,
      `lpfa.acquire`, `lpfa.release`, `lpfa.take` and `lpfa.give` stood.

    The stages after these are upstream's: `gpu.func`.
  }];
}

def LPFA_StageAttr : EnumAttr<LPFA_Dialect, LPFA_Stage, "stage"> {
  let assemblyFormat = "`<` $value `>`";
}

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

def LPFA_KernelOp : LPFA_Op<"kernel", [
    IsolatedFromAbove, Symbol, SingleBlock, NoTerminator]> {
  let summary = "a function that runs on the GPU, before its threads are told apart";
  let description = [{
    The arguments are views of global memory and index scalars. `stage` says
    what the body has decided so far; the verifier holds the body to it.
    `threads` is the size of a CTA from the roles stage on,
    `tensor_columns` and `shared_bytes` are what a CTA allocates from the
    placed stage on.

    Constraints:

    - (C1) At the tile stage there is no role, channel, accumulator, scratch
      buffer or barrier.
    - (C2) From the roles stage on, every op with a tile operand or result
      stands in a role.
    - (C3) From the placed stage on, every channel, accumulator and scratch
      buffer has a place, inside `tensor_columns` and `shared_bytes`; before,
      none has.
    - (C4) At the synchronized stage there is no `lpfa.get`, `lpfa.put`,
      `lpfa.acquire`, `lpfa.release`, `lpfa.take` or `lpfa.give`; before, there
      is no barrier.
    - (C5) Arguments are views or `index`.
    - (C6) Roles take disjoint ranges of warps that fill `threads` from warp 0
      without gaps, and the registers of all warpgroups sum to at most 65,536.

    Example:

    ```mlir
    lpfa.kernel @copy stage(tile) (%in: !lpfa.view<?x128xf32>, %out: !lpfa.view<?x128xf32>) {
      %rows = lpfa.dim %in, 0 : !lpfa.view<?x128xf32>
      %tiles = affine.apply affine_map<(d0) -> (d0 ceildiv 128)>(%rows)
      lpfa.for_work (%i) in (%tiles) {
        %c128 = arith.constant 128 : index
        %c0 = arith.constant 0 : index
        %row = arith.muli %i, %c128 : index
        %tile = lpfa.load %in[%row, %c0] : !lpfa.view<?x128xf32> -> !lpfa.tile<128x128xf32>
        lpfa.store %tile -> %out[%row, %c0] : !lpfa.tile<128x128xf32>, !lpfa.view<?x128xf32>
      }
    }
    ```
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    EnumProp<LPFA_Stage>:$stage,
    OptionalAttr<I64Attr>:$threads,
    OptionalAttr<I64Attr>:$tensor_columns,
    OptionalAttr<I64Attr>:$shared_bytes);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
}

def LPFA_LaunchOp : LPFA_Op<"launch", [
    AttrSizedOperandSegments, DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "run a kernel on tensors";
  let description = [{
    Destination style: `outs` are the tensors that the kernel writes, returned
    as results. The kernel's arguments are the `ins`, then the `outs`, in
    order. `grid` is the number of CTAs that have work; a persistent kernel is
    launched with at most as many CTAs as multiprocessors hold, one each where
    the kernel does not say.

    Constraints:

    - (C1) The callee is an `lpfa.kernel` of this module or a function of one of
      its `gpu.module` ops.
    - (C2) For a kernel: as many arguments as operands; a tensor goes with a
      view of its element type and rank whose static sizes agree, `index` with
      `index`.
    - (C3) A result has its destination's type.

    Example:

    ```mlir
    %0 = lpfa.launch @copy grid(%tiles) ins(%in : tensor<?x128xf32>) outs(%init : tensor<?x128xf32>) -> tensor<?x128xf32>
    ```
  }];
  let arguments = (ins
    SymbolRefAttr:$callee,
    Index:$grid,
    UnitAttr:$persistent,
    Variadic<AnyTypeOf<[AnyRankedTensor, Index]>>:$inputs,
    Variadic<AnyRankedTensor>:$outputs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $callee `grid` `(` $grid `)` (`persistent` $persistent^)?
    (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    `outs` `(` $outputs `:` type($outputs) `)` attr-dict `->` type($results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getOutputsMutable();
    }
    /// The operand that goes with argument `index` of the kernel.
    ::mlir::Value getKernelOperand(unsigned index) {
      return index < getInputs().size()
                 ? getInputs()[index]
                 : getOutputs()[index - getInputs().size()];
    }
  }];
}

//===----------------------------------------------------------------------===//
// Sizes and loops
//===----------------------------------------------------------------------===//

def LPFA_DimOp : LPFA_Op<"dim", [Pure]> {
  let summary = "a size of a view";
  let description = [{
    Constraints:

    - (C1) The dimension is one of the view's.

    Example:

    ```mlir
    %keys = lpfa.dim %k, 2 : !lpfa.view<?x?x?x128xf8E4M3FN>
    ```
  }];
  let arguments = (ins LPFA_ViewType:$view, I64Attr:$dimension);
  let results = (outs Index:$size);
  let assemblyFormat = "$view `,` $dimension attr-dict `:` type($view)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def LPFA_ForWorkOp : LPFA_Op<"for_work", [
    SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects]> {
  let summary = "a persistent loop over work tiles";
  let description = [{
    Visits the points of the box `[0, bounds)` that belong to this CTA: point
    number `blockIdx.x + k * gridDim.x` for k = 0, 1, ..., the last coordinate
    running fastest. All roles of a kernel visit the same points in the same
    order.

    Example:

    ```mlir
    lpfa.for_work (%b, %h, %m) in (%batch, %heads, %row_tiles) {
      ...
    }
    ```
  }];
  let arguments = (ins Variadic<Index>:$bounds);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
}

def LPFA_ForStepsOp : LPFA_Op<"for_steps", [
    SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects]> {
  let summary = "a role's loop over all steps of all work tiles";
  let description = [{
    Work tiles as in `lpfa.for_work`; the first region maps a work tile's
    coordinates to its range of steps, first and past the last. The steps
    of all work tiles follow each other without a seam, and the second region,
    made of `lpfa.at` ops alone, runs for each step. `lpfa.at shift(k)` acts on
    the step k places ahead: the loop runs from the first step at which any of
    its shifts is inside the sequence to the last. A work tile may have no
    steps.

    Constraints:

    - (C1) The first region takes the work tile's coordinates and yields two
      indices; its ops are free of side effects.
    - (C2) The second region holds `lpfa.at` ops alone.
    - (C3) Ops marked `prologue` have the largest shift, come first, and there
      are ops of a smaller one.

    Example:

    ```mlir
    lpfa.for_steps (%b, %h, %m) in (%batch, %heads, %row_tiles) range {
      %first, %last = lpfa.key_range ...
      lpfa.yield %first, %last : index, index
    } do {
      lpfa.at shift(0) (%n, %is_first, %is_last) { ... }
      lpfa.at shift(1) (%n, %is_first, %is_last) { ... }
    }
    ```
  }];
  let arguments = (ins Variadic<Index>:$bounds);
  let regions = (region SizedRegion<1>:$range, SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The largest shift, and in how many of the loop's first turns no other is
    /// inside the sequence: none where all are the same.
    int64_t getLeaderShift();
    int64_t getPrologueTurns();
    /// Whether ops of their own run in these turns.
    bool hasPrologue();
  }];
}

def LPFA_AtOp : LPFA_Op<"at", [
    HasParent<"ForStepsOp">, SingleBlockImplicitTerminator<"YieldOp">,
    RecursiveMemoryEffects]> {
  let summary = "part of a role's step, some steps ahead";
  let description = [{
    Runs its body for the step `shift` places ahead of the loop's, where there
    is one. Block arguments: the step's number, and whether it is the first
    and the last of its work tile.

    With `prologue` it runs in the loop's first turns alone, in which no smaller
    shift is inside the sequence. Where there are such ops, these turns run
    nothing else: what comes before the first step can then differ from what the
    other steps do ahead.

    - (C1) The shift is 0 to 3.

    Example:

    ```mlir
    lpfa.at shift(1) prologue (%n, %is_first, %is_last) { ... }
    lpfa.at shift(0) (%n, %is_first, %is_last) { ... }
    lpfa.at shift(1) (%n, %is_first, %is_last) { ... }
    ```
  }];
  let arguments = (ins I64Attr:$shift, UnitAttr:$prologue);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
}

def LPFA_YieldOp : LPFA_Op<"yield", [Pure, ReturnLike, Terminator]> {
  let summary = "end a region of an lpfa loop";
  let arguments = (ins Variadic<Index>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
  let builders = [OpBuilder<(ins), [{}]>];
}

def LPFA_KeyRangeOp : LPFA_Op<"key_range", [Pure]> {
  let summary = "the key tiles that a tile of rows sees";
  let description = [{
    For the `count` query rows from `row` on, of `rows` in all, and `keys`
    keys: the first tile of `tile` keys of which some row sees a key, and the
    tile past the last. Both are 0 where no row sees any.

    - (C1) `count` and `tile` are positive.

    Example:

    ```mlir
    %first, %last = lpfa.key_range %row count(256) rows(%rows) keys(%keys) tile(128) #lpfa.mask<causal, bottom_right>
    ```
  }];
  let arguments = (ins Index:$row, I64Attr:$count, Index:$rows, Index:$keys,
                       I64Attr:$tile, LPFA_MaskAttr:$mask);
  let results = (outs Index:$first, Index:$last);
  let assemblyFormat = [{
    $row `count` `(` $count `)` `rows` `(` $rows `)` `keys` `(` $keys `)`
    `tile` `(` $tile `)` $mask attr-dict
  }];
  let hasVerifier = 1;
}

def LPFA_StepRangeOp : LPFA_Op<"step_range", [Pure]> {
  let summary = "the steps over a size";
  let description = [{
    Tiles of `tile` elements that cover `size`: `first` is 0, `last` is
    ceil(size / tile).

    - (C1) `tile` is positive.

    Example:

    ```mlir
    %first, %last = lpfa.step_range %k tile(128)
    ```
  }];
  let arguments = (ins Index:$size, I64Attr:$tile);
  let results = (outs Index:$first, Index:$last);
  let assemblyFormat = "$size `tile` `(` $tile `)` attr-dict";
  let hasVerifier = 1;
}

#endif // LPFA_DIALECT_LPFA_IR_LPFAKERNELOPS_TD
