//===- LPFADialect.td - The lpfa dialect -------------------*- tablegen -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_DIALECT_LPFA_IR_LPFADIALECT_TD
#define LPFA_DIALECT_LPFA_IR_LPFADIALECT_TD

include "mlir/IR/OpBase.td"

def LPFA_Dialect : Dialect {
  let name = "lpfa";
  let summary = "Low-precision block-scaled attention, from tensors to Blackwell kernels";
  let description = [{
    One dialect follows attention over microscaled (MX) tensors from what is
    computed to which thread computes it. The IR is at one stage at a time, each
    of which answers one question:

    ```
    tensor        what?             lpfa.attention, lpfa.quantize on tensors
      |                             lpfa-form-kernels
    tile          how?              lpfa.kernel: a sequential program over tiles
      |                             lpfa-assign-roles
    roles         who?              a region a warp role, channels between them
      |                             lpfa-place-tiles
    placed        where?            tiles as ranges of tensor and shared memory
      |                             lpfa-insert-barriers
    synchronized  when?             arrivals and waits by use number
      |                             lpfa-distribute-to-threads
    threads       by which thread?  gpu.func and one op an instruction
      |                             convert-lpfa-to-nvvm
    nvvm          which instruction?
    ```

    Tensor-level ops also have a meaning that any CPU runs:
    `convert-lpfa-to-linalg` and `lpfa-expand-narrow-floats` lower them to
    upstream dialects. It is the reference that kernels are compared with.

    Constraints are numbered (C1, C2, ...) in an op's description; the verifier
    and the tests of invalid IR name the same numbers.

    What the dialect does not model:

    - Arithmetic on narrow floats. An f8, f6, f4 or f8E8M0FNU is a code that is
      decoded to f32 and encoded from it.
    - Layouts in types. A blocked scale tensor has its physical shape; the
      `lpfa.pack_scales` that makes it is an op.
    - Synchronization that depends on data. Trip counts depend on sizes and the
      work tile alone, and no barrier operation stands inside a branch on
      values.
  }];
  let cppNamespace = "::lpfa";
  // Reified result shapes use affine.apply and tensor.dim; pointers are LLVM's.
  let dependentDialects = [
    "::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTypes();
  }];
}

class LPFA_Op<string mnemonic, list<Trait> traits = []>
    : Op<LPFA_Dialect, mnemonic, traits>;

#endif // LPFA_DIALECT_LPFA_IR_LPFADIALECT_TD
