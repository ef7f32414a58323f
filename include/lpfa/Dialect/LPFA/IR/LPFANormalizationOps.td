//===- LPFANormalizationOps.td - Normalization of rows -----*- tablegen -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_IR_LPFANORMALIZATIONOPS_TD
#define LPFA_DIALECT_LPFA_IR_LPFANORMALIZATIONOPS_TD

include "lpfa/Dialect/LPFA/IR/LPFATensorOps.td"

def LPFA_F32Tensor : RankedTensorOf<[F32]>;
def LPFA_WideVector : 1DTensorOf<[F32, BF16, F16]>;

def LPFA_RMSNormOp : LPFA_TensorOp<"rms_norm"> {
  let summary = "divides rows by their root mean square, and weights columns";
  let description = [{
    For each row x of K elements, the last dimension of `input`, in f32 with
    every operation rounded to nearest even:

    ```
    rstd   = 1 / sqrt(sum(x^2) / K + epsilon)
    output = round((x * rstd) * weight)          to the type of the output
    ```

    The result is exact to the bit, since the order of the sum is part of the
    meaning. It takes a power of two of threads up to 1,024, each with vectors
    of eight neighbors:

    ```
    s[j] = x^2 added to s[j] by one fma, from 0, in the order of k, over the k
           with (k / 8) % 1024 = j
    for d in 512, 256, ..., 1:  s[j] += s[j + d] for j < d
    sum(x^2) = s[0]
    ```

    A row with a NaN or an infinity is as the formula says; an all-zero row
    stays zero where `epsilon` is positive. `rstd` is a result where it is
    wanted, for the backward pass.

    Constraints:

    - (C1) `input` has rank 1 or more.
    - (C2) `weight` has the size of the last dimension of `input`.
    - (C3) `output` has the shape of `input`.
    - (C4) `rstd` has the shape of `input` without its last dimension.
    - (C5) `epsilon` is finite and not negative.

    Example:

    ```mlir
    %y = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
        : tensor<?x4096xbf16>, tensor<4096xf32> -> tensor<?x4096xbf16>
    %z, %rstd = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
        : tensor<?x4096xbf16>, tensor<4096xf32> -> tensor<?x4096xbf16>, tensor<?xf32>
    ```
  }];
  let arguments = (ins LPFA_WideTensor:$input, LPFA_WideVector:$weight,
                       F32Attr:$epsilon);
  let results = (outs LPFA_WideTensor:$output, Optional<LPFA_F32Tensor>:$rstd);
  let assemblyFormat = [{
    $input `weight` $weight `epsilon` `(` $epsilon `)` attr-dict
    `:` type($input) `,` type($weight) `->` type($output) (`,` type($rstd)^)?
  }];
}

def LPFA_RMSNormBackwardOp : LPFA_TensorOp<"rms_norm_backward"> {
  let summary = "the gradients of lpfa.rms_norm";
  let description = [{
    From the gradient dy of the output of `lpfa.rms_norm`, its input x, its
    weight and the `rstd` that it gave. For each row of K elements, in f32 with
    every operation rounded to nearest even:

    ```
    n  = x * rstd
    g  = dy * weight
    c  = sum(g * n) / K
    dx = round(fma(-c, n, g) * rstd)             to the type of dx
    ```

    The order of that sum is the one that `lpfa.rms_norm` defines, with
    `fma(g, n, s[j])` for the squares.

    For the gradient of the weight, T neighbors among the rows of a matrix, of
    the last two dimensions, make a group, the last of a matrix may have fewer,
    and t numbers the groups of all matrices, one after the other. A column has
    N T partial sums, which are summed by 256:

    | K, up to | 512 | 1,024 | 2,048 | 4,096 | 8,192 | 16,384 | 32,768 | more |
    | --- | --- | --- | --- | --- | --- | --- | --- | --- |
    | T | 8 | 8 | 4 | 2 | 1 | 1 | 1 | 1 |
    | N | 768 | 384 | 384 | 384 | 384 | 256 | 128 | 56 |

    ```
    p[b] = fma(dy, n, p[b]), from 0, in the order of t, over the row i of each
           group t with (t % N) T + i = b
    q[j] = q[j] + p[b], from 0, in the order of b, over the b with b % 256 = j
    for d in 32, 16, 8, 4, 2, 1, 128, 64:  q[j] += q[j + d] for j < 256 - d
    dweight = round(q[0])                        to the type of dweight
    ```

    A quantized dy is one that `lpfa.dequantize` gives. A NaN or an infinity is
    as the formulas say.

    Constraints:

    - (C1) `input` has rank 1 or more.
    - (C2) `dy` and `dx` have the shape of `input`.
    - (C3) `weight` and `dweight` have the size of the last dimension of `input`.
    - (C4) `rstd` has the shape of `input` without its last dimension.

    Example:

    ```mlir
    %dx, %dw = lpfa.rms_norm_backward %dy, %x weight %w rstd %rstd
        : tensor<?x4096xbf16>, tensor<?x4096xbf16>, tensor<4096xf32>, tensor<?xf32>
        -> tensor<?x4096xbf16>, tensor<4096xf32>
    ```
  }];
  let arguments = (ins LPFA_WideTensor:$dy, LPFA_WideTensor:$input,
                       LPFA_WideVector:$weight, LPFA_F32Tensor:$rstd);
  let results = (outs LPFA_WideTensor:$dx, LPFA_WideVector:$dweight);
  let assemblyFormat = [{
    $dy `,` $input `weight` $weight `rstd` $rstd attr-dict `:` type($dy) `,`
    type($input) `,` type($weight) `,` type($rstd) `->` type($dx) `,`
    type($dweight)
  }];
  let extraClassDeclaration = [{
    /// Sums of partial sums of a column, and how many of them are neighbors
    /// that are added first.
    static constexpr int64_t kColumnSums = 256;
    static constexpr int64_t kColumnSumNeighbors = 64;
  }];
}

#endif // LPFA_DIALECT_LPFA_IR_LPFANORMALIZATIONOPS_TD
