//===- LPFANormalizationTileOps.td - Gradients of tiles ----*- tablegen -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_IR_LPFANORMALIZATIONTILEOPS_TD
#define LPFA_DIALECT_LPFA_IR_LPFANORMALIZATIONTILEOPS_TD

include "lpfa/Dialect/LPFA/IR/LPFAAttributes.td"
include "lpfa/Dialect/LPFA/IR/LPFATypes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def LPFA_SumProductsTileOp : LPFA_Op<"sum_products_tile", [
    Pure, AllTypesMatch<["sums", "result"]>]> {
  let summary = "the partial sums of g n of a tile's rows, added to others";
  let description = [{
    `fma(g, n, s[j])` of `lpfa.rms_norm_backward`, over the columns of the tile,
    on top of `sums`, as in `lpfa.sum_squares_tile`.

    Constraints:

    - (C1) The tiles of dy and x are matrices of one shape, each of f32, bf16 or
      f16.
    - (C2) The weight is an f32, bf16 or f16 for each column, `rstd` an f32 and
      the sums 1,024 f32 for each row.

    Example:

    ```mlir
    %s1 = lpfa.sum_products_tile %dy, %x rstd %r weight %w into %s0 : !lpfa.tile<1x4096xbf16>, !lpfa.tile<1x4096xbf16>, !lpfa.tile<1xf32>, !lpfa.tile<4096xf32>, !lpfa.tile<1x1024xf32>
    ```
  }];
  let arguments = (ins LPFA_TileType:$dy, LPFA_TileType:$input,
                       LPFA_TileType:$rstd, LPFA_TileType:$weight,
                       LPFA_TileType:$sums);
  let results = (outs LPFA_TileType:$result);
  let assemblyFormat = [{
    $dy `,` $input `rstd` $rstd `weight` $weight `into` $sums attr-dict `:`
    type($dy) `,` type($input) `,` type($rstd) `,` type($weight) `,` type($sums)
  }];
  let hasVerifier = 1;
}

def LPFA_WeightGradientTileOp : LPFA_Op<"weight_gradient_tile", [
    Pure, AllTypesMatch<["sums", "result"]>]> {
  let summary = "products dy n of a tile, added to partial sums";
  let description = [{
    `fma(dy, n, p)` of `lpfa.rms_norm_backward` for each element, on top of its
    p in `sums`.

    Constraints:

    - (C1) The tiles of dy and x are matrices of one shape, each of f32, bf16 or
      f16.
    - (C2) `rstd` is an f32 for each row, the sums one for each element.

    Example:

    ```mlir
    %p1 = lpfa.weight_gradient_tile %dy, %x rstd %r into %p0 : !lpfa.tile<1x4096xbf16>, !lpfa.tile<1x4096xbf16>, !lpfa.tile<1xf32>, !lpfa.tile<1x4096xf32>
    ```
  }];
  let arguments = (ins LPFA_TileType:$dy, LPFA_TileType:$input,
                       LPFA_TileType:$rstd, LPFA_TileType:$sums);
  let results = (outs LPFA_TileType:$result);
  let assemblyFormat = [{
    $dy `,` $input `rstd` $rstd `into` $sums attr-dict `:` type($dy) `,`
    type($input) `,` type($rstd) `,` type($sums)
  }];
  let hasVerifier = 1;
}

def LPFA_MeanTileOp : LPFA_Op<"mean_tile", [Pure]> {
  let summary = "the mean of rows from their partial sums";
  let description = [{
    Adds the partial sums of each row as `lpfa.rms_norm` says, and gives
    sum / count.

    Constraints:

    - (C1) The sums are 1,024 f32 for each row, the mean is one.

    Example:

    ```mlir
    %c = lpfa.mean_tile %s count(%k) : !lpfa.tile<1x1024xf32> -> !lpfa.tile<1xf32>
    ```
  }];
  let arguments = (ins LPFA_TileType:$sums, Index:$count);
  let results = (outs LPFA_TileType:$mean);
  let assemblyFormat = [{
    $sums `count` `(` $count `)` attr-dict `:` type($sums) `->` type($mean)
  }];
  let hasVerifier = 1;
}

def LPFA_RMSNormBackwardTileOp : LPFA_Op<"rms_norm_backward_tile", [
    Pure, AllTypesMatch<["rstd", "mean"]>]> {
  let summary = "the gradient of a normalized tile";
  let description = [{
    `fma(-c, n, g) * rstd` of `lpfa.rms_norm_backward`, rounded to the output's
    type. `mean` is c.

    Constraints:

    - (C1) The tiles of dy, x and dx are matrices of one shape, each of f32, bf16
      or f16.
    - (C2) The weight is an f32, bf16 or f16 for each column, `rstd` and `mean`
      are an f32 for each row.

    Example:

    ```mlir
    %dx = lpfa.rms_norm_backward_tile %dy, %x rstd %r mean %c weight %w : !lpfa.tile<1x4096xbf16>, !lpfa.tile<1x4096xbf16>, !lpfa.tile<1xf32>, !lpfa.tile<4096xf32> -> !lpfa.tile<1x4096xbf16>
    ```
  }];
  let arguments = (ins LPFA_TileType:$dy, LPFA_TileType:$input,
                       LPFA_TileType:$rstd, LPFA_TileType:$mean,
                       LPFA_TileType:$weight);
  let results = (outs LPFA_TileType:$dx);
  let assemblyFormat = [{
    $dy `,` $input `rstd` $rstd `mean` $mean `weight` $weight attr-dict `:`
    type($dy) `,` type($input) `,` type($rstd) `,` type($weight) `->` type($dx)
  }];
  let hasVerifier = 1;
}

def LPFA_AddTileOp : LPFA_Op<"add_tile", [Pure, SameOperandsAndResultType]> {
  let summary = "the sums of two tiles' elements";
  let description = [{
    Constraints:

    - (C1) The tiles are f32 matrices.

    Example:

    ```mlir
    %q1 = lpfa.add_tile %q0, %p : !lpfa.tile<256x32xf32>
    ```
  }];
  let arguments = (ins LPFA_TileType:$a, LPFA_TileType:$b);
  let results = (outs LPFA_TileType:$sum);
  let assemblyFormat = "$a `,` $b attr-dict `:` type($sum)";
  let hasVerifier = 1;
}

def LPFA_SumColumnsTileOp : LPFA_Op<"sum_columns_tile", [Pure]> {
  let summary = "the sum of each column of a tile";
  let description = [{
    Adds the sums q[j] of each column, its rows, as `lpfa.rms_norm_backward`
    says, and rounds q[0] to the result's type.

    Constraints:

    - (C1) The tile is an f32 matrix of 256 rows. The result has an f32, bf16 or
      f16 for each of its columns.

    Example:

    ```mlir
    %dw = lpfa.sum_columns_tile %q : !lpfa.tile<256x32xf32> -> !lpfa.tile<32xbf16>
    ```
  }];
  let arguments = (ins LPFA_TileType:$tile);
  let results = (outs LPFA_TileType:$result);
  let assemblyFormat = "$tile attr-dict `:` type($tile) `->` type($result)";
  let hasVerifier = 1;
}

#endif // LPFA_DIALECT_LPFA_IR_LPFANORMALIZATIONTILEOPS_TD
