//===- LPFAMatmulOps.td - Block-scaled matrix products -----*- tablegen -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_IR_LPFAMATMULOPS_TD
#define LPFA_DIALECT_LPFA_IR_LPFAMATMULOPS_TD

include "lpfa/Dialect/LPFA/IR/LPFATensorOps.td"

def LPFA_MatmulOp : LPFA_TensorOp<"matmul"> {
  let summary = "product of two MX matrices, the second transposed";
  let description = [{
    For every batch, with A and B dequantized:

    ```
    D[m, n] = sum over k of A[m, k] * B[n, k]
    ```

    Operands are `... x M x K` and `... x N x K`, the result `... x M x N`; the
    leading dimensions are batches. Scales run along K, in blocks of 32, and
    each of the two is either row-major or blocked:

    | scales | row-major | blocked |
    | --- | --- | --- |
    | of A | ... x M x ceil(K/32) | ... x ceil(M/128) x ceil(ceil(K/32)/4) x 32 x 4 x 4 |
    | of B | ... x N x ceil(K/32) | ... x ceil(N/128) x ceil(ceil(K/32)/4) x 32 x 4 x 4 |

    A blocked scale is `lpfa.pack_scales` of the row-major one; what its padding
    holds has no influence.

    A sum is accumulated in f32 or better, its order is free; it becomes an f32,
    which is rounded once to the type of the result. The reference accumulates
    in f64. An empty sum, K = 0, is 0. A NaN, in an element or as a scale of 255,
    makes its row of D (of A) or its column (of B) NaN; infinities of f8E5M2 are
    as in IEEE arithmetic.

    Constraints:

    - (C1) A and B have the same rank, 2 or more.
    - (C2) A and B have the same batch dimensions.
    - (C3) A and B have the same K, their last dimension.
    - (C4) A's and B's scales have the row-major or the blocked shape.
    - (C5) D has A's shape with N for K.

    Sizes that one of two types leaves open are taken to match.

    Example:

    ```mlir
    %d = lpfa.matmul %a scaled %sa, %b scaled %sb
        : tensor<?x512xf8E4M3FN>, tensor<?x16xf8E8M0FNU>,
          tensor<1024x512xf8E4M3FN>, tensor<8x4x32x4x4xf8E8M0FNU>
        -> tensor<?x1024xbf16>
    ```
  }];
  let arguments = (ins LPFA_ElementTensor:$a, LPFA_ScaleTensor:$aScales,
                       LPFA_ElementTensor:$b, LPFA_ScaleTensor:$bScales);
  let results = (outs LPFA_WideTensor:$d);
  let assemblyFormat = [{
    $a `scaled` $aScales `,` $b `scaled` $bScales attr-dict `:` type($a) `,`
    type($aScales) `,` type($b) `,` type($bScales) `->` type($d)
  }];
  let extraClassDeclaration = [{
    /// How many leading dimensions are batches.
    int64_t getBatchRank() { return getA().getType().getRank() - 2; }

    /// Whether the scales of an operand have the blocked layout.
    bool isBlocked(::mlir::Value scales) {
      return ::llvm::cast<::mlir::RankedTensorType>(scales.getType())
                 .getRank() != getA().getType().getRank();
    }
  }];
}

#endif // LPFA_DIALECT_LPFA_IR_LPFAMATMULOPS_TD
