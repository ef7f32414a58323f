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

#endif // LPFA_DIALECT_LPFA_IR_LPFANORMALIZATIONOPS_TD
