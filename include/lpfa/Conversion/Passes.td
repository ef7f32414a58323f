//===- Passes.td - lpfa passes ------------------------------*- tablegen -*-===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LPFA_CONVERSION_PASSES_TD
#define LPFA_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// LPFAToLinalg
//===----------------------------------------------------------------------===//

def ConvertLPFAToLinalg : Pass<"convert-lpfa-to-linalg"> {
  let summary = "gives the tensor-level ops their meaning in upstream dialects";
  let description = [{
    Rewrites `lpfa.quantize`, `lpfa.dequantize`, `lpfa.pack_scales`,
    `lpfa.unpack_scales`, `lpfa.matmul` and `lpfa.attention` to `linalg`,
    `tensor`, `scf`, `arith` and `math`. What comes out is the reference that
    kernels are compared with: it says what an op computes, to the bit where the
    op is exact to the bit. Narrow floats are still types; `lpfa.encode` and
    `lpfa.decode` round to them and back, and are left to
    `lpfa-expand-narrow-floats`.

    Before:

    ```mlir
    %x = lpfa.dequantize %q scaled %s axis(1)
        : tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU> -> tensor<4x64xf32>
    ```

    After:

    ```mlir
    #element = affine_map<(d0, d1) -> (d0, d1)>
    #block = affine_map<(d0, d1) -> (d0, d1 floordiv 32)>
    %init = tensor.empty() : tensor<4x64xf32>
    %x = linalg.generic {indexing_maps = [#element, #block, #element],
                         iterator_types = ["parallel", "parallel"]}
        ins(%q, %s : tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU>)
        outs(%init : tensor<4x64xf32>) {
    ^bb0(%code: f8E4M3FN, %byte: f8E8M0FNU, %out: f32):
      %element = lpfa.decode %code : f8E4M3FN to f32
      %scale = lpfa.decode %byte : f8E8M0FNU to f32
      %product = arith.mulf %element, %scale : f32
      linalg.yield %product : f32
    } -> tensor<4x64xf32>
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

//===----------------------------------------------------------------------===//
// LPFAToNVVM
//===----------------------------------------------------------------------===//

def AttachTarget : Pass<"lpfa-attach-target", "::mlir::ModuleOp"> {
  let summary = "says which chip every gpu.module is for";
  let description = [{
    Sets `#nvvm.target` on every `gpu.module`, with the features that lpfa's
    instructions need on the chip. MLIR's check of single ops against the chip
    is turned off: MLIR 22 does not know that sm_103a has tcgen05. ptxas checks.

    Before: `gpu.module @kernels {`

    After:
    ```mlir
    gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_100a",
        features = "+ptx88", verifyTarget = false>] {
    ```
  }];
  let options = [Option<"chip", "chip", "std::string", "\"sm_100a\"",
      "sm_90a, sm_100a or sm_103a">];
  let dependentDialects = ["::mlir::NVVM::NVVMDialect"];
}

def ConvertLPFAToNVVM : Pass<"convert-lpfa-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "turns the ops of the threads stage into instructions";
  let description = [{
    Rewrites each `lpfa` op of the threads stage to its `nvvm` op, LLVM
    intrinsic or, where neither exists, one piece of inline PTX. A `gpu.func`
    becomes an `llvm.func`: its known block size is required of every launch
    (`nvvm.reqntid`), arguments with `lpfa.tensor_map` are 128 bytes in parameter
    space. Divisions of `arith` that round up or down become plain ones.
    Everything else is upstream's: see the pipeline `lpfa-threads-to-nvvm`.

    Before:
    ```mlir
    %desc = lpfa.shared_descriptor %tile swizzle(128) leading(16) stride(1024)
    lpfa.tcgen05.commit %barrier
    ```

    After:
    ```mlir
    %address = llvm.ptrtoint %tile : !llvm.ptr<3> to i32
    ... // (address >> 4) & 0x3FFF | constant
    nvvm.tcgen05.commit %barrier : !llvm.ptr<3>
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect"];
}

def VerifyLowered : Pass<"lpfa-verify-lowered", "::mlir::gpu::GPUModuleOp"> {
  let summary = "rejects what no instruction has been found for";
  let description = [{
    The contract at the end of the nvvm stage: a `gpu.module` holds nothing but
    ops of `llvm` and `nvvm` that the chip has. Reports every other op.
  }];
}

#endif // LPFA_CONVERSION_PASSES_TD
