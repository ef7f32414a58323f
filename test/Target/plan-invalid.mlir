// What a launch plan cannot hold, each with its own run.

// RUN: split-file %s %t
// RUN: not lpfa-compile %t/op.mlir -o %t/out --emit=plan 2>&1 | FileCheck %s --check-prefix=OP
// RUN: not lpfa-compile %t/result.mlir -o %t/out --emit=plan 2>&1 | FileCheck %s --check-prefix=RESULT
// RUN: not lpfa-compile %t/parameter.mlir -o %t/out --emit=plan 2>&1 | FileCheck %s --check-prefix=PARAMETER
// RUN: not ls %t/out

// OP: op.mlir:3:8: error: 'bufferization.alloc_tensor' cannot be in a launch plan
//--- op.mlir
func.func @f() -> tensor<4xf32> {
  %c1 = arith.constant 1 : index
  %0 = bufferization.alloc_tensor() : tensor<4xf32>
  %1 = tensor.empty() : tensor<4xf32>
  %2 = lpfa.launch @m::@k grid(%c1) ins(%0 : tensor<4xf32>) outs(%1 : tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
gpu.module @m {
  gpu.func @k(%y: !llvm.ptr<1> {lpfa.parameter = #lpfa.parameter<pointer, operand = 1>})
      kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    gpu.return
  }
}

// RESULT: result.mlir:4:3: error: a launch plan's results are different tensors that its kernels wrote
//--- result.mlir
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c1 = arith.constant 1 : index
  %1 = lpfa.launch @m::@k grid(%c1) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
gpu.module @m {
  gpu.func @k(%y: !llvm.ptr<1> {lpfa.parameter = #lpfa.parameter<pointer, operand = 0>})
      kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    gpu.return
  }
}

// PARAMETER: parameter.mlir:4:8: error: parameter 0 of 'k' has no lpfa.parameter
//--- parameter.mlir
func.func @f() -> tensor<4xf32> {
  %c1 = arith.constant 1 : index
  %0 = tensor.empty() : tensor<4xf32>
  %1 = lpfa.launch @m::@k grid(%c1) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
gpu.module @m {
  gpu.func @k(%y: !llvm.ptr<1>)
      kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    gpu.return
  }
}
