//===- LPFATileOps.td - Ops on tile values -----------------*- tablegen -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_IR_LPFATILEOPS_TD
#define LPFA_DIALECT_LPFA_IR_LPFATILEOPS_TD

include "lpfa/Dialect/LPFA/IR/LPFAAttributes.td"
include "lpfa/Dialect/LPFA/IR/LPFATypes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

def LPFA_LoadOp : LPFA_Op<"load", [
    MemoryEffects<[MemRead]>, AttrSizedOperandSegments]> {
  let summary = "a tile of a view";
  let description = [{
    The tile's dimensions are the view's last ones; leading dimensions of size
    one are left out. `indices` gives the first element in every dimension of
    the view. Elements outside the view are 0, and so are, with `rows`, those of
    the tile's rows at or past it. What is loaded `ahead` is on its way while the
    work tile before is at hand.

    Constraints:

    - (C1) One index for each dimension of the view.
    - (C2) The tile's rank is at most the view's, and the element types are
      equal.
    - (C3) `rows` is for tiles of two dimensions.
    - (C4) `ahead` is for loads of a work tile, without `rows`.

    Example:

    ```mlir
    %k = lpfa.load %K[%b, %h, %row, %c0] : !lpfa.view<?x?x?x128xf8E4M3FN> -> !lpfa.tile<128x128xf8E4M3FN>
    ```
  }];
  let arguments = (ins LPFA_ViewType:$view, Variadic<Index>:$indices,
                       Optional<Index>:$rows, UnitAttr:$ahead);
  let results = (outs LPFA_TileType:$tile);
  let assemblyFormat = "$view `[` $indices `]` (`rows` `(` $rows^ `)`)? (`ahead` $ahead^)? attr-dict `:` type($view) `->` type($tile)";
  let builders = [OpBuilder<(ins "::mlir::Type":$tile, "::mlir::Value":$view,
                                 "::mlir::ValueRange":$indices), [{
    build($_builder, $_state, tile, view, indices, /*rows=*/nullptr,
          /*ahead=*/false);
  }]>];
  let hasVerifier = 1;
}

def LPFA_StoreOp : LPFA_Op<"store", [
    MemoryEffects<[MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "write a tile to a view";
  let description = [{
    As `lpfa.load`; elements outside the view are dropped, and so are, with
    `rows`, those of the tile's rows at or past it.

    Constraints:

    - (C1) One index for each dimension of the view.
    - (C2) The tile's rank is at most the view's, and the element types are
      equal.
    - (C3) `rows` is for tiles of two dimensions.

    Example:

    ```mlir
    lpfa.store %lse -> %LSE[%b, %h, %row] : !lpfa.tile<128xf32>, !lpfa.view<?x?x?xf32>
    ```
  }];
  let arguments = (ins LPFA_TileType:$tile, LPFA_ViewType:$view,
                       Variadic<Index>:$indices, Optional<Index>:$rows);
  let assemblyFormat = "$tile `->` $view `[` $indices `]` (`rows` `(` $rows^ `)`)? attr-dict `:` type($tile) `,` type($view)";
  let builders = [OpBuilder<(ins "::mlir::Value":$tile, "::mlir::Value":$view,
                                 "::mlir::ValueRange":$indices), [{
    build($_builder, $_state, tile, view, indices, /*rows=*/nullptr);
  }]>];
  let hasVerifier = 1;
}

def LPFA_PackAtomOp : LPFA_Op<"pack_atom", [Pure]> {
  let summary = "an atom of scale factors from a row-major tile of them";
  let description = [{
    From 128 rows by 4 groups to the 512 bytes of an atom (or, `transposed`,
    from 4 groups by 128 rows), and from n times as many groups to n atoms. With
    `valid`, rows at or past it are padding, whose scales are 0 in the atom.

    A tile with fewer rows, or groups of n times 128 rows, has a part of each of n
    atoms: p of their four runs of 32 rows, or of their four groups.

    - (C1) The operand is `128x4`, transposed `4x128`, for `32x4x4`, or has n
      times as many groups for `nx32x4x4`; or it is `(32p)x(4n)` for `nx32xpx4`,
      transposed `px(128n)` for `nx1x32x4xp`, with p of 1, 2 or 4. The result has
      its element type.

    Example:

    ```mlir
    %atom = lpfa.pack_atom %s : !lpfa.tile<128x4xf8E8M0FNU> -> !lpfa.tile<32x4x4xf8E8M0FNU>
    %parts = lpfa.pack_atom %t transposed : !lpfa.tile<1x4096xf8E8M0FNU> -> !lpfa.tile<32x1x32x4x1xf8E8M0FNU>
    ```
  }];
  let arguments = (ins LPFA_TileType:$scales, Optional<Index>:$valid,
                       UnitAttr:$transposed);
  let results = (outs LPFA_TileType:$atom);
  let assemblyFormat = "$scales (`transposed` $transposed^)? (`valid` `(` $valid^ `)`)? attr-dict `:` type($scales) `->` type($atom)";
  let hasVerifier = 1;
}

def LPFA_UnpackAtomOp : LPFA_Op<"unpack_atom", [Pure]> {
  let summary = "a row-major tile of scale factors from an atom of them";
  let description = [{
    The inverse of `lpfa.pack_atom`.

    - (C1) The result is `128x4`, transposed `4x128`, of `32x4x4`, or has n times
      as many groups of `nx32x4x4`; it has the operand's element type.

    Example:

    ```mlir
    %s = lpfa.unpack_atom %atom : !lpfa.tile<32x4x4xf8E8M0FNU> -> !lpfa.tile<128x4xf8E8M0FNU>
    ```
  }];
  let arguments = (ins LPFA_TileType:$atom, UnitAttr:$transposed);
  let results = (outs LPFA_TileType:$scales);
  let assemblyFormat = "$atom (`transposed` $transposed^)? attr-dict `:` type($atom) `->` type($scales)";
  let hasVerifier = 1;
}

def LPFA_SequenceTileOp : LPFA_Op<"sequence_tile", [MemoryEffects<[MemRead]>]> {
  let summary = "where a tile of packed sequences is";
  let description = [{
    Sequence g has the tokens `[offsets[g], offsets[g + 1])`, and a row for each
    `group` of them, the last of which may be smaller. The rows of all sequences
    stand one after the other, and tiles of `size` rows cover them, each sequence
    from a tile of its own on; an empty one has none. The results are the first
    `row` of tile number `tile` and how many rows of its sequence it has, `count`.
    Tiles past the last sequence go on where that ends, with a `count` of 0.

    The kernel traps unless offsets begin at 0 and do not decrease and the
    sequences have at most `rows` rows and `tiles` tiles.

    Constraints:

    - (C1) `offsets` is an i32 view of one dimension.
    - (C2) `size` and `group` are positive.

    Example:

    ```mlir
    %row, %count = lpfa.sequence_tile %tile of %offsets size(128) group(1) within(%rows, %tiles) : !lpfa.view<?xi32>
    ```
  }];
  let arguments = (ins Index:$tile, LPFA_ViewType:$offsets,
                       ConfinedAttr<I64Attr, [IntPositive]>:$size,
                       ConfinedAttr<I64Attr, [IntPositive]>:$group,
                       Index:$rows, Index:$tiles);
  let results = (outs Index:$row, Index:$count);
  let assemblyFormat = [{
    $tile `of` $offsets `size` `(` $size `)` `group` `(` $group `)`
    `within` `(` $rows `,` $tiles `)` attr-dict `:` type($offsets)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Quantization
//===----------------------------------------------------------------------===//

def LPFA_QuantizeTileOp : LPFA_Op<"quantize_tile", [Pure]> {
  let summary = "the codes and scales of a tile";
  let description = [{
    `lpfa.quantize` of one tile, which holds whole blocks; what lies outside the
    tensor is 0 in it and changes no maximum. The result is the same to the
    bit. `global` is the tile of NVFP4's one global scale.

    Constraints:

    - (C1) The tile is f32, bf16 or f16 and has one or two dimensions; `axis`
      is one of them.
    - (C2) Elements have the tile's shape and are an MX element type. Scales
      have the tile's shape divided along `axis` by the block, 32 for f8E8M0FNU
      and 16 for f8E4M3FN, which divides it.
    - (C3) `square` is for f8E8M0FNU and matrices of whole squares.
    - (C4) f8E4M3FN scales come with f4E2M1FN elements and a global scale, an
      f32 tile without dimensions; others without.

    Example:

    ```mlir
    %q, %s = lpfa.quantize_tile %x axis(1) : !lpfa.tile<128x128xbf16> -> !lpfa.tile<128x128xf8E4M3FN>, !lpfa.tile<128x4xf8E8M0FNU>
    ```
  }];
  let arguments = (ins LPFA_TileType:$input,
                       Optional<LPFA_TileType>:$globalScale,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$axis,
                       UnitAttr:$square,
                       DefaultValuedAttr<LPFA_ScaleRuleAttr,
                                         "::lpfa::ScaleRule::Rceil">:$rule);
  let results = (outs LPFA_TileType:$elements, LPFA_TileType:$scales);
  let assemblyFormat = [{
    $input `axis` `(` $axis `)` (`square` $square^)? `` custom<ScaleRule>($rule)
    (`global` `(` $globalScale^ `:` type($globalScale) `)`)? attr-dict
    `:` type($input) `->` type($elements) `,` type($scales)
  }];
  let hasVerifier = 1;
}

def LPFA_DequantizeTileOp : LPFA_Op<"dequantize_tile", [Pure]> {
  let summary = "a tile of codes times its scales";
  let description = [{
    `lpfa.dequantize` of one tile that holds whole blocks.

    Constraints:

    - (C1) Elements are an MX element type and have one or two dimensions;
      `axis` is one of them.
    - (C2) The result has the elements' shape and is f32, bf16 or f16. Scales
      have that shape divided along `axis` by the block, 32 for f8E8M0FNU and 16
      for f8E4M3FN, which divides it.
    - (C3) f8E4M3FN scales come with f4E2M1FN elements and a global scale, an
      f32 tile without dimensions; others without.

    Example:

    ```mlir
    %x = lpfa.dequantize_tile %q scaled %s axis(1) : !lpfa.tile<128x128xf8E4M3FN>, !lpfa.tile<128x4xf8E8M0FNU> -> !lpfa.tile<128x128xbf16>
    ```
  }];
  let arguments = (ins LPFA_TileType:$elements, LPFA_TileType:$scales,
                       Optional<LPFA_TileType>:$globalScale,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$axis);
  let results = (outs LPFA_TileType:$output);
  let assemblyFormat = [{
    $elements `scaled` $scales `axis` `(` $axis `)`
    (`global` `(` $globalScale^ `:` type($globalScale) `)`)? attr-dict
    `:` type($elements) `,` type($scales) `->` type($output)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Normalization
//===----------------------------------------------------------------------===//

def LPFA_SumSquaresTileOp : LPFA_Op<"sum_squares_tile", [
    Pure, AllTypesMatch<["sums", "result"]>]> {
  let summary = "The partial sums of squares of a tile's rows, added to others";
  let description = [{
    The 1,024 partial sums s[j] of each row that `lpfa.rms_norm` defines, over
    the columns of the tile, on top of `sums`: a row can come tile after tile.
    Beyond a row's end the tile is 0.

    Constraints:

    - (C1) The tile is a matrix of f32, bf16 or f16, the sums 1,024 f32 for
      each row.

    Example:

    ```mlir
    %s1 = lpfa.sum_squares_tile %x into %s0 : !lpfa.tile<1x16384xbf16>, !lpfa.tile<1x1024xf32>
    ```
  }];
  let arguments = (ins LPFA_TileType:$input, LPFA_TileType:$sums);
  let results = (outs LPFA_TileType:$result);
  let assemblyFormat = [{
    $input `into` $sums attr-dict `:` type($input) `,` type($sums)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Partial sums of a row, a part of the meaning of `lpfa.rms_norm`.
    static constexpr int64_t kPartialSums = 1024;
  }];
}

def LPFA_RstdTileOp : LPFA_Op<"rstd_tile", [Pure]> {
  let summary = "One over the root mean square of rows";
  let description = [{
    Adds the partial sums of each row as `lpfa.rms_norm` says, and gives
    1 / sqrt(sum / count + epsilon).

    Constraints:

    - (C1) The sums are 1,024 f32 for each row, `rstd` one.

    Example:

    ```mlir
    %r = lpfa.rstd_tile %s count(%k) epsilon(1.0e-6) : !lpfa.tile<1x1024xf32> -> !lpfa.tile<1xf32>
    ```
  }];
  let arguments = (ins LPFA_TileType:$sums, Index:$count, F32Attr:$epsilon);
  let results = (outs LPFA_TileType:$rstd);
  let assemblyFormat = [{
    $sums `count` `(` $count `)` `epsilon` `(` $epsilon `)` attr-dict `:`
    type($sums) `->` type($rstd)
  }];
  let hasVerifier = 1;
}

def LPFA_RMSNormTileOp : LPFA_Op<"rms_norm_tile", [Pure]> {
  let summary = "The rows of a tile times their factors, weighted";
  let description = [{
    `(x * rstd) * weight` of `lpfa.rms_norm`, rounded to the output's type.

    Constraints:

    - (C1) The tile is a matrix of f32, bf16 or f16; the output has its shape
      and one of these types.
    - (C2) The weight is an f32, bf16 or f16 for each column, `rstd` an f32 for
      each row.

    Example:

    ```mlir
    %y = lpfa.rms_norm_tile %x rstd %r weight %w : !lpfa.tile<1x4096xbf16>, !lpfa.tile<1xf32>, !lpfa.tile<4096xf32> -> !lpfa.tile<1x4096xbf16>
    ```
  }];
  let arguments = (ins LPFA_TileType:$input, LPFA_TileType:$rstd,
                       LPFA_TileType:$weight);
  let results = (outs LPFA_TileType:$output);
  let assemblyFormat = [{
    $input `rstd` $rstd `weight` $weight attr-dict `:` type($input) `,`
    type($rstd) `,` type($weight) `->` type($output)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Contraction
//===----------------------------------------------------------------------===//

def LPFA_DotOp : LPFA_Op<"dot", [Pure, AttrSizedOperandSegments]> {
  let summary = "a block-scaled matrix product of tiles";
  let description = [{
    `result = a * b (+ accumulator)`, `a` of m x k, `b` of k x n or, with
    `transpose_b`, n x k. The scales are atoms: byte (r, g) scales elements
    32 g to 32 g + 31 of row r of `a`, and of column r of `b`. With `valid`,
    products of the last index at or past it, rounded up to a multiple of 32,
    are left out. With `from`, the atom of `b` covers more of the rows of
    `transpose_b`, or of the elements summed over, than the tile: the tile
    begins there, at a multiple of 32.

    Constraints:

    - (C1) Shapes agree, k is a multiple of 32 and the result is f32.
    - (C2) Scales are `32x4x4xf8E8M0FNU`, m and n at most 128, k at most 128.

    Example:

    ```mlir
    %s = lpfa.dot %q, %k scaled %sq, %sk transpose_b : !lpfa.tile<128x128xf8E4M3FN>, !lpfa.tile<128x128xf8E4M3FN> -> !lpfa.tile<128x128xf32>
    %o1 = lpfa.dot %p, %v scaled %sp, %sv acc %o0 valid(%left) : !lpfa.tile<128x128xf8E4M3FN>, !lpfa.tile<128x64xf8E4M3FN> -> !lpfa.tile<128x64xf32>
    ```
  }];
  let arguments = (ins LPFA_TileType:$a, LPFA_TileType:$b,
                       LPFA_TileType:$scalesA, LPFA_TileType:$scalesB,
                       Optional<LPFA_TileType>:$accumulator,
                       Optional<Index>:$valid, Optional<Index>:$from,
                       UnitAttr:$transpose_b);
  let results = (outs LPFA_TileType:$result);
  let assemblyFormat = [{
    $a `,` $b `scaled` $scalesA `,` $scalesB (`acc` $accumulator^)?
    (`valid` `(` $valid^ `)`)? (`from` `(` $from^ `)`)?
    (`transpose_b` $transpose_b^)? attr-dict `:` type($a) `,` type($b) `->` type($result)
    custom<DotTypes>(ref(type($result)), type($scalesA), type($scalesB),
                     ref($accumulator), type($accumulator))
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

def LPFA_SplatOp : LPFA_Op<"splat", [Pure]> {
  let summary = "a tile of one value";
  let description = [{
    Example:

    ```mlir
    %zero = lpfa.splat 0.0 : !lpfa.tile<128xf32>
    ```
  }];
  let arguments = (ins F32Attr:$value);
  let results = (outs LPFA_TileType:$tile);
  let assemblyFormat = "$value attr-dict `:` type($tile)";
}

def LPFA_CropOp : LPFA_Op<"crop", [Pure, AllTypesMatch<["tile", "result"]>]> {
  let summary = "a tile that is 0 past some row and column";
  let description = [{
    What lies outside a tensor is nothing, whatever a product of padding may be:
    rows at or past `rows` and columns at or past `columns` become 0.

    - (C1) The tile is an f32 matrix.

    Example:

    ```mlir
    %y = lpfa.crop %d to(%rows, %columns) : !lpfa.tile<128x128xf32>
    ```
  }];
  let arguments = (ins LPFA_TileType:$tile, Index:$rows, Index:$columns);
  let results = (outs LPFA_TileType:$result);
  let assemblyFormat = "$tile `to` `(` $rows `,` $columns `)` attr-dict `:` type($tile)";
  let hasVerifier = 1;
}

def LPFA_RoundOp : LPFA_Op<"round", [Pure]> {
  let summary = "a tile in another type";
  let description = [{
    To nearest, ties to even; what is too large becomes an infinity.

    - (C1) The operand is f32, the result of the same shape and f32, f16 or
      bf16.

    Example:

    ```mlir
    %y = lpfa.round %d : !lpfa.tile<128x128xf32> -> !lpfa.tile<128x128xbf16>
    ```
  }];
  let arguments = (ins LPFA_TileType:$tile);
  let results = (outs LPFA_TileType:$result);
  let assemblyFormat = "$tile attr-dict `:` type($tile) `->` type($result)";
  let hasVerifier = 1;
}

#endif // LPFA_DIALECT_LPFA_IR_LPFATILEOPS_TD
