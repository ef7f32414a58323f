//===- LPFAJaggedOps.td - Scales of packed sequences -------*- tablegen -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_IR_LPFAJAGGEDOPS_TD
#define LPFA_DIALECT_LPFA_IR_LPFAJAGGEDOPS_TD

include "lpfa/Dialect/LPFA/IR/LPFATensorOps.td"

def LPFA_ScatterScalesOp : LPFA_TensorOp<"scatter_scales"> {
  let summary = "lays the scales of packed sequences out in blocks, sequence by sequence";
  let description = [{
    In a jagged batch the sequences stand one after the other without padding:
    sequence g owns the tokens `[offsets[g], offsets[g + 1])`. Its quantized
    elements stay where they are. This op gives its scales blocked atoms of
    their own, as if by `lpfa.pack_scales` of the sequence alone: sequence g
    begins at atom `sum over i < g of ceil(len_i / 128)`, an empty one takes
    none. This is the layout that `lpfa.attention` takes with offsets.

    Without `transposed`, tokens are the rows of `scales`, `... x T x G` (Q's
    and K's scales), and the result is `... x A x ceil(G/4) x 32 x 4 x 4` with
    `A = floor((T + 127 n) / 128)` for n sequences: as many atoms as any
    lengths may need. With `transposed` a row of `scales` is a group of 32
    tokens of one sequence, `... x P x R` (V's scales), in which sequence g
    begins at group `sum over i < g of ceil(len_i / 32)`; the result is
    `... x ceil(R/128) x A x 32 x 4 x 4` with `A = floor((P + 3 n) / 4)`.

    Bytes that no sequence owns are 0, atoms after the last sequence's too.

    Constraints:

    - (C1) `scales` has rank 2 or more.
    - (C2) `blocked` has the shape above.
    - (C3) `offsets` has at least one element.
    - (C4) At run time the offsets begin at 0, do not decrease, and the
      sequences end inside `scales`.

    Example:

    ```mlir
    %b = lpfa.scatter_scales %s offsets(%o)
        : tensor<8x?x4xf8E8M0FNU>, tensor<?xi32> -> tensor<8x?x1x32x4x4xf8E8M0FNU>
    ```
  }];
  let arguments = (ins LPFA_ScaleTensor:$scales, 1DTensorOf<[I32]>:$offsets,
                       UnitAttr:$transposed);
  let results = (outs LPFA_ScaleTensor:$blocked);
  let assemblyFormat = [{
    $scales `offsets` `(` $offsets `)` (`transposed` $transposed^)? attr-dict
    `:` type($scales) `,` type($offsets) `->` type($blocked)
  }];
}

def LPFA_GatherScalesOp : LPFA_TensorOp<"gather_scales"> {
  let summary = "brings the blocked scales of sequences back to packed rows";
  let description = [{
    The inverse of `lpfa.scatter_scales`; padding is dropped, and packed rows
    that no sequence owns are 0. The sizes that the result's type leaves open
    among its last two dimensions are operands, as in `lpfa.unpack_scales`.

    Constraints:

    - (C1) `scales` has rank 2 or more.
    - (C2) `blocked` has three dimensions more than `scales`, the same batch
      dimensions, and ends in `32 x 4 x 4`.
    - (C3) `offsets` has at least one element.
    - (C4) There is one size for each dynamic one of the last two dimensions of
      `scales`.
    - (C5) At run time the offsets begin at 0, do not decrease, and the
      sequences end inside `scales` and `blocked`.

    Example:

    ```mlir
    %s = lpfa.gather_scales %b offsets(%o) sizes(%tokens)
        : tensor<8x?x1x32x4x4xf8E8M0FNU>, tensor<?xi32> -> tensor<8x?x4xf8E8M0FNU>
    ```
  }];
  let arguments = (ins LPFA_ScaleTensor:$blocked, 1DTensorOf<[I32]>:$offsets,
                       Variadic<Index>:$sizes, UnitAttr:$transposed);
  let results = (outs LPFA_ScaleTensor:$scales);
  let assemblyFormat = [{
    $blocked `offsets` `(` $offsets `)` (`transposed` $transposed^)?
    (`sizes` `(` $sizes^ `)`)? attr-dict
    `:` type($blocked) `,` type($offsets) `->` type($scales)
  }];
}

#endif // LPFA_DIALECT_LPFA_IR_LPFAJAGGEDOPS_TD
