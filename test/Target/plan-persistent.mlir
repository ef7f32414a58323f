// RUN: rm -rf %t && lpfa-compile %s -o %t --emit=plan
// RUN: FileCheck %s < %t/plan.json

// A persistent grid is as many clusters as the device has at a time, one at
// least.
// CHECK:        "cluster": [
// CHECK-NEXT:     2,
// CHECK:        "grid": [
// CHECK-NEXT:     [
// CHECK-NEXT:       "mul",
// CHECK-NEXT:       [
// CHECK-NEXT:         "min",
// CHECK-NEXT:         [
// CHECK-NEXT:           "dim",
// CHECK-NEXT:           0,
// CHECK-NEXT:           0
// CHECK-NEXT:         ],
// CHECK-NEXT:         [
// CHECK-NEXT:           "max",
// CHECK-NEXT:           1,
// CHECK-NEXT:           [
// CHECK-NEXT:             "floordiv",
// CHECK-NEXT:             [
// CHECK-NEXT:               "mul",
// CHECK-NEXT:               [
// CHECK-NEXT:                 "multiprocessors"
// CHECK-NEXT:               ],
// CHECK-NEXT:               3
// CHECK-NEXT:             ],
// CHECK-NEXT:             2
// CHECK-NEXT:           ]
// CHECK-NEXT:         ]
// CHECK-NEXT:       ],
// CHECK-NEXT:       2
// CHECK-NEXT:     ],
func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %init = tensor.empty(%n) : tensor<?xf32>
  %y = lpfa.launch @kernels::@copy grid(%n) persistent
      ins(%x : tensor<?xf32>) outs(%init : tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

gpu.module @kernels {
  gpu.func @copy(
      %x: !llvm.ptr<1> {lpfa.parameter = #lpfa.parameter<pointer, operand = 0>},
      %y: !llvm.ptr<1> {lpfa.parameter = #lpfa.parameter<pointer, operand = 1>})
      kernel attributes {known_block_size = array<i32: 128, 1, 1>,
                         lpfa.cluster = 2 : i64, lpfa.min_ctas = 3 : i64} {
    gpu.return
  }
}
