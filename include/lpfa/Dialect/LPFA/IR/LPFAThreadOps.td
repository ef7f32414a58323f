//===- LPFAThreadOps.td - Threads, registers and arithmetic *- tablegen -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_IR_LPFATHREADOPS_TD
#define LPFA_DIALECT_LPFA_IR_LPFATHREADOPS_TD

include "lpfa/Dialect/LPFA/IR/LPFAThreadBase.td"

//===----------------------------------------------------------------------===//
// Threads, registers, shared memory
//===----------------------------------------------------------------------===//

def LPFA_SharedMemoryOp : LPFA_ThreadOp<"shared_memory", [Pure]> {
  let summary = "The kernel's dynamic shared memory";
  let description = [{
    The address of the CTA's dynamic shared memory, aligned to 1,024 bytes, as
    the 128-byte swizzle needs. Its size belongs to the launch, not to the
    module (PTX 5.1.7). Tiles and barriers lie at offsets of it, made with
    `llvm.getelementptr`.

    Example:
    ```mlir
    %base = lpfa.shared_memory
    %k = llvm.getelementptr %base[32768] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    ```
  }];
  let results = (outs LPFA_SharedPointer:$base);
  let assemblyFormat = "attr-dict";
}

def LPFA_MapSharedOp : LPFA_ThreadOp<"map_shared", [Pure]> {
  let summary = "An address in the shared memory of another CTA of the cluster";
  let description = [{
    `mapa.shared::cluster` (PTX 9.7.9.23): where the CTA of index `cta` in the
    cluster has what this CTA has at `address`.

    Example:
    ```mlir
    %there = lpfa.map_shared %here, %cta
    ```
  }];
  let arguments = (ins LPFA_SharedPointer:$address, I32:$cta);
  let results = (outs LPFA_ClusterPointer:$mapped);
  let assemblyFormat = "$address `,` $cta attr-dict";
}

def LPFA_ElectSyncOp : LPFA_ThreadOp<"elect_sync"> {
  let summary = "True in exactly one thread of the warp";
  let description = [{
    `elect.sync` over all 32 lanes (PTX 9.7.13.14): the warp must be converged.
    The same lane is elected each time.

    Example:
    ```mlir
    %leader = lpfa.elect_sync
    ```
  }];
  let results = (outs I1:$leader);
  let assemblyFormat = "attr-dict";
}

def LPFA_LargestMagnitudeOp : LPFA_ThreadOp<"largest_magnitude", [SameOperandsAndResultType]> {
  let summary = "The largest magnitude of a warp's values, in all of its threads";
  let description = [{
    `redux.sync.max.abs.NaN.f32` over all 32 lanes (PTX 9.7.13.10): the warp must
    be converged. NaN if any value is.

    Example:
    ```mlir
    %largest = lpfa.largest_magnitude %x
    ```
  }];
  let arguments = (ins F32:$value);
  let results = (outs F32:$result);
  let assemblyFormat = "$value attr-dict";
}

def LPFA_AnySyncOp : LPFA_ThreadOp<"any_sync"> {
  let summary = "True where the condition holds in any thread of the warp";
  let description = [{
    `vote.sync.any.pred` over all 32 lanes (PTX 9.7.13.9): the warp must be
    converged. All threads get the same result.

    Example:
    ```mlir
    %some = lpfa.any_sync %changed
    ```
  }];
  let arguments = (ins I1:$condition);
  let results = (outs I1:$any);
  let assemblyFormat = "$condition attr-dict";
}

def LPFA_SetMaxRegistersOp : LPFA_ThreadOp<"set_max_registers"> {
  let summary = "Changes the register budget of the warpgroup's threads";
  let description = [{
    `setmaxnreg` (PTX 9.7.19.5), executed by all warps of a warpgroup.
    `increase` blocks until the registers are free. ptxas ignores it unless the
    kernel has its block size fixed (`reqntid`).

    - C1: the count is a multiple of 8 from 24 to 256 (PTX 9.7.19.5).

    Example:
    ```mlir
    lpfa.set_max_registers decrease 64
    ```
  }];
  let arguments = (ins LPFA_SetMaxRegistersActionAttr:$action, I32Attr:$count);
  let assemblyFormat = "$action $count attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Arithmetic that upstream dialects cannot say
//===----------------------------------------------------------------------===//

def LPFA_ConvertPackedOp : LPFA_ThreadOp<"convert_packed", [Pure]> {
  let summary = "Converts to codes, packed into words";
  let description = [{
    `cvt.rn.satfinite.{e4m3x2,e5m2x2,e2m3x2,e3m2x2,e2m1x2}.f32` or
    `cvt.{rz,rp}.satfinite.ue8m0x2.f32` (PTX 9.7.9.21), two values each. The
    first code is in the lowest bits of a word: four codes a word, a byte each
    (also of six bits), or eight f4E2M1FN. Finite values out of range saturate;
    NaN becomes NaN, in a format without NaN the largest code. Where a chip has
    no such instruction (sm_90a: all but the first two) integer arithmetic with
    the same results takes its place; that rounds f8E8M0FNU `up` only.

    - C1: the result has a quarter of the vector's length, an eighth of it for
      f4E2M1FN, and nothing is left over.
    - C2: formats are MX element types with rounding `nearest`, or f8E8M0FNU
      with `up` or `zero`.

    Example:
    ```mlir
    %codes = lpfa.convert_packed %p to f8E4M3FN nearest
        : vector<32xf32> -> vector<8xi32>
    ```
  }];
  let arguments = (ins FixedVectorOfRankAndType<[1], [F32]>:$source,
                       TypeAttr:$format, LPFA_FloatRoundingAttr:$rounding);
  let results = (outs FixedVectorOfRankAndType<[1], [I32]>:$result);
  let assemblyFormat = [{
    $source `to` $format $rounding attr-dict
    `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def LPFA_ExtendPackedOp : LPFA_ThreadOp<"extend_packed", [Pure]> {
  let summary = "The values of codes that are packed into words";
  let description = [{
    The inverse of `lpfa.convert_packed`, exact: `cvt.rn.f16x2` of two codes
    (PTX 9.7.9.21) and a conversion to f32 where the chip has that for the
    format, integer arithmetic elsewhere. f8E8M0FNU's byte 0 is 2^-127, its byte
    255 NaN.

    - C1: the operand has a quarter of the result's length, an eighth of it for
      f4E2M1FN, and nothing is left over.
    - C2: formats are MX element types and f8E8M0FNU.

    Example:
    ```mlir
    %x = lpfa.extend_packed %codes from f8E4M3FN
        : vector<8xi32> -> vector<32xf32>
    ```
  }];
  let arguments = (ins FixedVectorOfRankAndType<[1], [I32]>:$source,
                       TypeAttr:$format);
  let results = (outs FixedVectorOfRankAndType<[1], [F32]>:$result);
  let assemblyFormat = [{
    $source `from` $format attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def LPFA_Exp2Op
    : LPFA_ThreadOp<"exp2", [Pure, SameOperandsAndResultType, Elementwise]> {
  let summary = "2 to the x, approximately";
  let description = [{
    `ex2.approx.ftz.f32` (PTX 9.7.3.21) of each element: at most 2 ulp off,
    subnormal results are 0. -inf gives +0, NaN gives NaN.

    Example:
    ```mlir
    %p = lpfa.exp2 %x : vector<32xf32>
    ```
  }];
  let arguments = (ins LPFA_F32OrVector:$x);
  let results = (outs LPFA_F32OrVector:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def LPFA_Log2Op
    : LPFA_ThreadOp<"log2", [Pure, SameOperandsAndResultType, Elementwise]> {
  let summary = "Logarithm to base 2, approximately";
  let description = [{
    `lg2.approx.ftz.f32` (PTX 9.7.3.20) of each element: at most 2^-22 off, in
    absolute terms near 1 and in relative ones elsewhere. Of a subnormal or zero
    it is -inf.

    Example:
    ```mlir
    %l = lpfa.log2 %sum : f32
    ```
  }];
  let arguments = (ins LPFA_F32OrVector:$x);
  let results = (outs LPFA_F32OrVector:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def LPFA_FmaOp
    : LPFA_ThreadOp<"fma", [Pure, SameOperandsAndResultType, Elementwise]> {
  let summary = "a * b + c with a directed rounding";
  let description = [{
    `fma.{rn,rz,rp,rm}.f32` (PTX 9.7.3.6) of each element.

    Example:
    ```mlir
    %m = lpfa.fma up %a, %b, %c : f32
    ```
  }];
  let arguments = (ins LPFA_FloatRoundingAttr:$rounding, LPFA_F32OrVector:$a,
                       LPFA_F32OrVector:$b, LPFA_F32OrVector:$c);
  let results = (outs LPFA_F32OrVector:$result);
  let assemblyFormat = "$rounding $a `,` $b `,` $c attr-dict `:` type($result)";
}

def LPFA_AddOp
    : LPFA_ThreadOp<"add", [Pure, SameOperandsAndResultType, Elementwise]> {
  let summary = "a + b with a directed rounding";
  let description = [{
    `add.{rn,rz,rp,rm}.f32` (PTX 9.7.3.3) of each element.

    Example:
    ```mlir
    %m = lpfa.add up %a, %b : f32
    ```
  }];
  let arguments = (ins LPFA_FloatRoundingAttr:$rounding, LPFA_F32OrVector:$a,
                       LPFA_F32OrVector:$b);
  let results = (outs LPFA_F32OrVector:$result);
  let assemblyFormat = "$rounding $a `,` $b attr-dict `:` type($result)";
}

#endif // LPFA_DIALECT_LPFA_IR_LPFATHREADOPS_TD
