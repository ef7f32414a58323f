// RUN: rm -rf %t && lpfa-compile %s -o %t --emit=plan
// RUN: FileCheck %s < %t/plan.json
// RUN: %python -c "import json, sys; json.load(open(sys.argv[1]))" %t/plan.json

// CHECK:      "chip": "sm_100a",
// CHECK:      "arguments": [
// CHECK:          "element": "f8E4M3FN",
// CHECK-NEXT:     "shape": [
// CHECK-NEXT:       null,
// CHECK-NEXT:       128
// CHECK:      "checks": [
// CHECK:          "condition": [
// CHECK-NEXT:       "eq",
// CHECK:          "message": "x and y have different numbers of rows"
// CHECK:      "function": "f",
// CHECK:      "kernels": [
// CHECK:          "block": [
// CHECK-NEXT:       128,
// CHECK:          "dynamic_shared_bytes": 4096,
// CHECK-NEXT:     "entry": "first",
// A persistent grid is no larger than the device.
// CHECK-NEXT:     "grid": [
// CHECK-NEXT:       [
// CHECK-NEXT:         "min",
// CHECK-NEXT:         [
// CHECK-NEXT:           "ceildiv",
// CHECK-NEXT:           [
// CHECK-NEXT:             "dim",
// CHECK-NEXT:             0,
// CHECK-NEXT:             0
// CHECK-NEXT:           ],
// CHECK-NEXT:           128
// CHECK-NEXT:         ],
// CHECK-NEXT:         [
// CHECK-NEXT:           "multiprocessors"
// CHECK:          "module": "kernels",
// CHECK-NEXT:     "parameters": [
// CHECK-NEXT:       {
// CHECK-NEXT:         "tensor_map": {
// CHECK-NEXT:           "box": [
// CHECK-NEXT:             128,
// CHECK-NEXT:             64
// CHECK-NEXT:           ],
// CHECK-NEXT:           "buffer": [
// CHECK-NEXT:             "argument",
// CHECK-NEXT:             0
// CHECK-NEXT:           ],
// CHECK-NEXT:           "element": "i8",
// CHECK-NEXT:           "fill": "zero",
// CHECK-NEXT:           "sizes": [
// CHECK-NEXT:             128,
// CHECK-NEXT:             [
// CHECK-NEXT:               "max",
// CHECK-NEXT:               [
// CHECK-NEXT:                 "dim",
// CHECK-NEXT:                 0,
// CHECK-NEXT:                 0
// CHECK-NEXT:               ],
// CHECK-NEXT:               1
// CHECK-NEXT:             ]
// CHECK-NEXT:           ],
// CHECK-NEXT:           "strides": [
// CHECK-NEXT:             [
// CHECK-NEXT:               "stride",
// CHECK-NEXT:               0,
// CHECK-NEXT:               0
// CHECK:                "swizzle": 128
// CHECK:              "pointer": [
// CHECK-NEXT:           "temporary",
// CHECK-NEXT:           0
// CHECK:              "i64": [
// CHECK-NEXT:           "dim",
// The stride of a contiguous temporary of 32 columns.
// CHECK:              "i64": 32
// CHECK:          "entry": "second",
// CHECK:              "pointer": [
// CHECK-NEXT:           "temporary",
// CHECK:              "pointer": [
// CHECK-NEXT:           "result",
// CHECK-NEXT:           0
// CHECK:              "i64": [
// CHECK-NEXT:           "mul",
// CHECK:      "results": [
// CHECK:          "element": "f32",
// CHECK:      "temporaries": [
// CHECK-NEXT:   {
// CHECK-NEXT:     "bytes": [
// CHECK-NEXT:       "mul",
// CHECK:      "schema_version": 1

func.func @f(%x: tensor<?x128xf8E4M3FN>, %y: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %rows = tensor.dim %x, %c0 : tensor<?x128xf8E4M3FN>
  %others = tensor.dim %y, %c0 : tensor<?x32xf32>
  %same = arith.cmpi eq, %rows, %others : index
  cf.assert %same, "x and y have different numbers of rows"
  %grid = arith.ceildivsi %rows, %c128 : index
  %empty = tensor.empty(%rows) : tensor<?x32xbf16>
  %scratch = lpfa.launch @kernels::@first grid(%grid) persistent
      ins(%x : tensor<?x128xf8E4M3FN>) outs(%empty : tensor<?x32xbf16>)
      -> tensor<?x32xbf16>
  %init = tensor.empty(%rows) : tensor<?x32xf32>
  %twice = arith.muli %rows, %c2 : index
  %result = lpfa.launch @kernels::@second grid(%grid)
      ins(%scratch, %twice : tensor<?x32xbf16>, index)
      outs(%init : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %result : tensor<?x32xf32>
}

gpu.module @kernels {
  gpu.func @first(
      %map: !llvm.ptr {lpfa.tensor_map, lpfa.parameter = #lpfa.parameter<tensor_map, operand = 0, box = [128, 64], swizzle = 128, element = i8>},
      %y: !llvm.ptr<1> {lpfa.parameter = #lpfa.parameter<pointer, operand = 1>},
      %rows: i64 {lpfa.parameter = #lpfa.parameter<size, operand = 1, dimension = 0>},
      %stride: i64 {lpfa.parameter = #lpfa.parameter<stride, operand = 1, dimension = 0>})
      kernel attributes {known_block_size = array<i32: 128, 1, 1>,
                         lpfa.dynamic_shared_bytes = 4096 : i64} {
    gpu.return
  }
  gpu.func @second(
      %x: !llvm.ptr<1> {lpfa.parameter = #lpfa.parameter<pointer, operand = 0>},
      %y: !llvm.ptr<1> {lpfa.parameter = #lpfa.parameter<pointer, operand = 2>},
      %n: i64 {lpfa.parameter = #lpfa.parameter<index, operand = 1>})
      kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    gpu.return
  }
}
