// RUN: lpfa-opt %s -verify-roundtrip | FileCheck %s

// How a launch fills in a kernel's parameters, and a vote of a warp.

gpu.module @kernels {
  // CHECK: gpu.func @parameters
  // CHECK-SAME: #lpfa.parameter<pointer, operand = 1>
  // CHECK-SAME: #lpfa.parameter<size, operand = 0, dimension = 2>
  // CHECK-SAME: #lpfa.parameter<stride, operand = 1, dimension = 0>
  // CHECK-SAME: #lpfa.parameter<index, operand = 3>
  // CHECK-SAME: #lpfa.parameter<tensor_map, operand = 0, box = [128, 64, 1], swizzle = 128, element = i8>
  // CHECK-SAME: #lpfa.parameter<tensor_map, operand = 2, box = [8], swizzle = 0, element = f32>
  gpu.func @parameters(
      %pointer: !llvm.ptr<1> {lpfa.parameter = #lpfa.parameter<pointer, operand = 1>},
      %size: i64 {lpfa.parameter = #lpfa.parameter<size, operand = 0, dimension = 2>},
      %stride: i64 {lpfa.parameter = #lpfa.parameter<stride, operand = 1, dimension = 0>},
      %index: i64 {lpfa.parameter = #lpfa.parameter<index, operand = 3>},
      %map: !llvm.ptr {lpfa.parameter = #lpfa.parameter<tensor_map, operand = 0, box = [128, 64, 1], swizzle = 128, element = i8>, lpfa.tensor_map},
      %plain: !llvm.ptr {lpfa.parameter = #lpfa.parameter<tensor_map, operand = 2, box = [8], element = f32>, lpfa.tensor_map})
      kernel {
    %true = arith.constant true
    // CHECK: lpfa.any_sync %{{.*}}
    %any = lpfa.any_sync %true
    gpu.return
  }
}
