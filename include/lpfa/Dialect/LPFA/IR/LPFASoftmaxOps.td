//===- LPFASoftmaxOps.td - The softmax of tile values ------*- tablegen -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_IR_LPFASOFTMAXOPS_TD
#define LPFA_DIALECT_LPFA_IR_LPFASOFTMAXOPS_TD

include "lpfa/Dialect/LPFA/IR/LPFAAttributes.td"
include "lpfa/Dialect/LPFA/IR/LPFATypes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def LPFA_ApplyMaskOp : LPFA_Op<"apply_mask", [
    Pure, AllTypesMatch<["scores", "result"]>]> {
  let summary = "scores with -inf where a query does not see a key";
  let description = [{
    Row i and column j of the tile are query `row` + i of `rows` and key `key`
    + j of `keys`. Keys at or past `keys` are never seen.

    Example:

    ```mlir
    %x = lpfa.apply_mask %s at(%row, %key) of(%rows, %keys) #lpfa.mask<causal, bottom_right> : !lpfa.tile<128x128xf32>
    ```
  }];
  let arguments = (ins LPFA_TileType:$scores, Index:$row, Index:$key,
                       Index:$rows, Index:$keys, LPFA_MaskAttr:$mask);
  let results = (outs LPFA_TileType:$result);
  let assemblyFormat = [{
    $scores `at` `(` $row `,` $key `)` `of` `(` $rows `,` $keys `)` $mask
    attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def LPFA_SoftmaxStepOp : LPFA_Op<"softmax_step", [Pure]> {
  let summary = "the probabilities of one key tile, and the row state after it";
  let description = [{
    The state of a row: the integer maximum M in log2 units (-inf while the row
    has seen no key), the row sum l relative to M, and the largest score. From
    `scores` and the state before: the quantized probabilities and their
    scales by `p_scale` (`#lpfa.p_scale`), the state after, and `factor`, the
    power of two by which what was accumulated so far must be multiplied (1
    where M stays; of no matter where the row had seen no key, as nothing was
    accumulated). M rises only where the tile's maximum exceeds it by more than
    the lag. Roles do it in two parts, `lpfa.softmax_maximum` and
    `lpfa.softmax_probabilities`.

    Constraints:

    - (C1) Scores are f32, m x n with n a multiple of 32 and at most 128.
    - (C2) The state's tiles and `factor` are `m x f32`; probabilities have the
      scores' shape and `p_scale`'s element type; their scales are one atom.

    Example:

    ```mlir
    %p, %sp, %m1, %l1, %s1, %factor = lpfa.softmax_step %x, %m0, %l0, %s0 scale(0.0883883461) #lpfa.p_scale<row_max>
      : !lpfa.tile<128x128xf32> -> !lpfa.tile<128x128xf8E4M3FN>
    ```
  }];
  let arguments = (ins LPFA_TileType:$scores, LPFA_TileType:$maximum,
                       LPFA_TileType:$sum, LPFA_TileType:$largest,
                       F32Attr:$scale, LPFA_PScaleAttr:$p_scale);
  let results = (outs LPFA_TileType:$probabilities, LPFA_TileType:$scales,
                      LPFA_TileType:$newMaximum, LPFA_TileType:$newSum,
                      LPFA_TileType:$newLargest, LPFA_TileType:$factor);
  let assemblyFormat = [{
    $scores `,` $maximum `,` $sum `,` $largest `scale` `(` $scale `)` $p_scale
    attr-dict `:` type($scores) `->` type($probabilities) custom<SoftmaxTypes>(
      ref(type($scores)), type($maximum), type($sum), type($largest),
      type($scales), type($newMaximum), type($newSum), type($newLargest),
      type($factor))
  }];
  let hasVerifier = 1;
}

def LPFA_SoftmaxMaximumOp : LPFA_Op<"softmax_maximum", [Pure]> {
  let summary = "the first part of a softmax step: the row's maximum";
  let description = [{
    Of `lpfa.softmax_step` what the correction waits for: M and the largest score
    after the step, and the factor.

    - (C1) As in `lpfa.softmax_step`.

    ```mlir
    %m1, %s1, %factor = lpfa.softmax_maximum %x, %m0, %s0 scale(0.0883883461) #lpfa.p_scale<row_max>
      : !lpfa.tile<128x128xf32>
    ```
  }];
  let arguments = (ins LPFA_TileType:$scores, LPFA_TileType:$maximum,
                       LPFA_TileType:$largest, F32Attr:$scale,
                       LPFA_PScaleAttr:$p_scale);
  let results = (outs LPFA_TileType:$newMaximum, LPFA_TileType:$newLargest,
                      LPFA_TileType:$factor);
  let assemblyFormat = [{
    $scores `,` $maximum `,` $largest `scale` `(` $scale `)` $p_scale
    attr-dict `:` type($scores) custom<SoftmaxMaximumTypes>(
      ref(type($scores)), type($maximum), type($largest), type($newMaximum),
      type($newLargest), type($factor))
  }];
  let hasVerifier = 1;
}

def LPFA_SoftmaxProbabilitiesOp : LPFA_Op<"softmax_probabilities", [Pure]> {
  let summary = "the second part of a softmax step: probabilities and the row sum";
  let description = [{
    Of `lpfa.softmax_step` the rest, with the M and the factor that
    `lpfa.softmax_maximum` of the same scores gave.

    `polynomial(k, d)` computes the exponentials of the last k columns of each
    32 as a polynomial of degree d, with the multiply-add pipe, and leaves the
    others to the special function unit: x = n + f with n the nearest integer,
    2^n * p(f). The largest relative error of p is 7.5e-5 for degree 3 and
    2.7e-6 for degree 4.

    With `part(j)` the probabilities are those of the scores' columns from j
    times their own number on, and the sum after it counts these: part 0 takes
    the sum before the step, every other one that of the part before it. The
    scales are those of the whole row with each part, so that they can be handed
    over with the first.

    - (C1), (C2) As in `lpfa.softmax_step`; with `part(j)` for the probabilities
      of all parts side by side.
    - (C3) The columns of `polynomial` are an even number from 2 to 30, its
      degree is 3 or 4.
    - (C4) With `part(j)` the scores' columns are a multiple of the part's, these
      a multiple of 32, and part j lies inside.

    ```mlir
    %p, %sp, %l1 = lpfa.softmax_probabilities %x, %m1, %l0, %factor scale(0.0883883461) #lpfa.p_scale<row_max> polynomial(8, 3)
      : !lpfa.tile<128x128xf32> -> !lpfa.tile<128x128xf8E4M3FN>
    %p1, %sp1, %l2 = lpfa.softmax_probabilities %x, %m1, %l1, %factor scale(0.0883883461) #lpfa.p_scale<row_max> part(1)
      : !lpfa.tile<128x128xf32> -> !lpfa.tile<128x64xf8E4M3FN>
    ```
  }];
  let arguments = (ins LPFA_TileType:$scores, LPFA_TileType:$maximum,
                       LPFA_TileType:$sum, LPFA_TileType:$factor,
                       F32Attr:$scale, LPFA_PScaleAttr:$p_scale,
                       OptionalAttr<I64Attr>:$polynomialColumns,
                       OptionalAttr<I64Attr>:$polynomialDegree,
                       OptionalAttr<I64Attr>:$part);
  let results = (outs LPFA_TileType:$probabilities, LPFA_TileType:$scales,
                      LPFA_TileType:$newSum);
  let assemblyFormat = [{
    $scores `,` $maximum `,` $sum `,` $factor `scale` `(` $scale `)` $p_scale
    (`polynomial` `(` $polynomialColumns^ `,` $polynomialDegree `)`)?
    (`part` `(` $part^ `)`)? attr-dict `:` type($scores) `->` type($probabilities)
    custom<SoftmaxProbabilitiesTypes>(
      ref(type($scores)), type($maximum), type($sum), type($factor),
      type($scales), type($newSum))
  }];
  let hasVerifier = 1;
}

def LPFA_SoftmaxFinishOp : LPFA_Op<"softmax_finish", [Pure, SameOperandsAndResultType]> {
  let summary = "a row's denominator and logarithm of the sum of exponentials";
  let description = [{
    `denominator` is the row sum with the largest probability counted as it was
    quantized, so that a row with one visible key gives that key's V exactly; 0
    where the row sees no key. `lse = (M + log2(l)) * ln 2` with the sum before
    that repair; -inf where the row sees no key.

    Example:

    ```mlir
    %denominator, %lse = lpfa.softmax_finish %m, %l, %largest scale(0.0883883461) #lpfa.p_scale<row_max> : !lpfa.tile<128xf32>
    ```
  }];
  let arguments = (ins LPFA_TileType:$maximum, LPFA_TileType:$sum,
                       LPFA_TileType:$largest, F32Attr:$scale,
                       LPFA_PScaleAttr:$p_scale);
  let results = (outs LPFA_TileType:$denominator, LPFA_TileType:$lse);
  let assemblyFormat = [{
    $maximum `,` $sum `,` $largest `scale` `(` $scale `)`
    $p_scale attr-dict `:` type($maximum)
  }];
}

def LPFA_RescaleOp : LPFA_Op<"rescale", [Pure]> {
  let summary = "multiply each row of a tile by its factor";
  let description = [{
    Example:

    ```mlir
    %o1 = lpfa.rescale %o0 by %factor : !lpfa.tile<128x128xf32>
    ```
  }];
  let arguments = (ins LPFA_TileType:$tile, LPFA_TileType:$factor);
  let results = (outs LPFA_TileType:$result);
  let assemblyFormat = "$tile `by` $factor attr-dict `:` type($tile) custom<RowTypes>(ref(type($tile)), type($factor)) custom<SameType>(ref(type($tile)), type($result))";
}

def LPFA_NormalizeOp : LPFA_Op<"normalize", [Pure]> {
  let summary = "divide each row of a tile by its denominator";
  let description = [{
    A true division in f32, then one rounding to the result's element type. A
    row whose denominator is 0 gives 0 whatever the tile holds.

    - (C1) The operand is f32, the result of the same shape and f32, f16 or
      bf16; the denominators are one a row, f32.

    Example:

    ```mlir
    %y = lpfa.normalize %o by %denominator : !lpfa.tile<128x128xf32> -> !lpfa.tile<128x128xbf16>
    ```
  }];
  let arguments = (ins LPFA_TileType:$tile, LPFA_TileType:$denominator);
  let results = (outs LPFA_TileType:$result);
  let assemblyFormat = "$tile `by` $denominator attr-dict `:` type($tile) custom<RowTypes>(ref(type($tile)), type($denominator)) `->` type($result)";
  let hasVerifier = 1;
}

#endif // LPFA_DIALECT_LPFA_IR_LPFASOFTMAXOPS_TD
