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

    `arith` and `math` cannot compute on narrow floats reliably (their
    conversions do not saturate, take f8E8M0FNU's byte 0 for zero, and fold
    differently from how they run), so an op that does is an error. So is an
    lpfa op that was not lowered before.

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

#endif // LPFA_DIALECT_LPFA_TRANSFORMS_PASSES_TD
