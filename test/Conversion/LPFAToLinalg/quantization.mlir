// RUN: lpfa-opt %s -convert-lpfa-to-linalg -canonicalize -split-input-file | FileCheck %s

// CHECK-DAG: #[[ELEMENT:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[BLOCK:.*]] = affine_map<(d0, d1) -> (d0, d1 floordiv 32)>
// CHECK-LABEL: func.func @rceil
// CHECK-SAME: %[[X:.*]]: tensor<?x65xf32>
func.func @rceil(%x: tensor<?x65xf32>)
    -> (tensor<?x65xf8E4M3FN>, tensor<?x3xf8E8M0FNU>) {
  // CHECK-DAG: %[[ABS:.*]] = arith.constant 2147483647 : i32
  // CHECK-DAG: %[[INF:.*]] = arith.constant 2139095040 : i32
  // 1 / 448, rounded to f32.
  // CHECK-DAG: %[[FACTOR:.*]] = arith.constant 0.00223214296 : f32
  // CHECK-DAG: %[[NAN:.*]] = arith.constant 0x7FC00000 : f32
  // CHECK: %[[ZEROS:.*]] = linalg.fill {{.*}} tensor<?x3xi32>
  // CHECK: %[[AMAX:.*]] = linalg.generic
  // CHECK-SAME: indexing_maps = [#[[ELEMENT]], #[[BLOCK]]]
  // CHECK-SAME: iterator_types = ["parallel", "reduction"]
  // CHECK-SAME: ins(%[[X]] : tensor<?x65xf32>) outs(%[[ZEROS]] : tensor<?x3xi32>)
  // CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: i32):
  // CHECK-NEXT: %[[BITS:.*]] = arith.bitcast %[[A]] : f32 to i32
  // CHECK-NEXT: %[[MAGNITUDE:.*]] = arith.andi %[[BITS]], %[[ABS]]
  // CHECK-NEXT: %[[MAX:.*]] = arith.maxui %[[MAGNITUDE]], %[[B]]
  // CHECK-NEXT: linalg.yield %[[MAX]]
  // CHECK: %[[S:.*]] = linalg.generic
  // CHECK-SAME: iterator_types = ["parallel", "parallel"]
  // CHECK-SAME: ins(%[[AMAX]] : tensor<?x3xi32>)
  // CHECK-NEXT: ^bb0(%[[A:.*]]: i32, %{{.*}}: f8E8M0FNU):
  // CHECK-NEXT: %[[FLOAT:.*]] = arith.bitcast %[[A]] : i32 to f32
  // CHECK-NEXT: %[[RATIO:.*]] = arith.mulf %[[FLOAT]], %[[FACTOR]]
  // CHECK-NEXT: %[[FINITE:.*]] = arith.cmpi ult, %[[A]], %[[INF]]
  // CHECK-NEXT: %[[CHECKED:.*]] = arith.select %[[FINITE]], %[[RATIO]], %[[NAN]]
  // CHECK-NEXT: %[[BYTE:.*]] = lpfa.encode %[[CHECKED]] : f32 to f8E8M0FNU
  // CHECK-NEXT: linalg.yield %[[BYTE]]
  // CHECK: %[[Q:.*]] = linalg.generic
  // CHECK-SAME: indexing_maps = [#[[ELEMENT]], #[[BLOCK]], #[[ELEMENT]]]
  // CHECK-SAME: ins(%[[X]], %[[S]] : tensor<?x65xf32>, tensor<?x3xf8E8M0FNU>)
  // CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f8E8M0FNU, %{{.*}}: f8E4M3FN):
  // CHECK-NEXT: %[[SCALE:.*]] = lpfa.decode %[[B]] : f8E8M0FNU to f32
  // CHECK-NEXT: %[[SCALED:.*]] = arith.divf %[[A]], %[[SCALE]]
  // CHECK-NEXT: %[[CODE:.*]] = lpfa.encode %[[SCALED]] : f32 to f8E4M3FN
  // CHECK-NEXT: linalg.yield %[[CODE]]
  // CHECK: return %[[Q]], %[[S]]
  %q, %s = lpfa.quantize %x axis(1)
      : tensor<?x65xf32> -> tensor<?x65xf8E4M3FN>, tensor<?x3xf8E8M0FNU>
  return %q, %s : tensor<?x65xf8E4M3FN>, tensor<?x3xf8E8M0FNU>
}

// -----

// The rule floor keeps the exponent alone; emax of e2m1 is 2. Input in bf16.
// CHECK-DAG: affine_map<(d0, d1) -> (d0 floordiv 32, d1)>
// CHECK-LABEL: func.func @floor
func.func @floor(%x: tensor<64x8xbf16>)
    -> (tensor<64x8xf4E2M1FN>, tensor<2x8xf8E8M0FNU>) {
  // CHECK-DAG: %[[EXPONENT:.*]] = arith.constant 2139095040 : i32
  // CHECK-DAG: %[[FACTOR:.*]] = arith.constant 2.500000e-01 : f32
  // CHECK: iterator_types = ["reduction", "parallel"]
  // CHECK: arith.extf %{{.*}} : bf16 to f32
  // CHECK: ^bb0(%[[A:.*]]: i32, %{{.*}}: f8E8M0FNU):
  // CHECK-NEXT: %[[POWER:.*]] = arith.andi %[[A]], %[[EXPONENT]]
  // CHECK-NEXT: %[[FLOAT:.*]] = arith.bitcast %[[POWER]] : i32 to f32
  // CHECK-NEXT: arith.mulf %[[FLOAT]], %[[FACTOR]]
  %q, %s = lpfa.quantize %x axis(0) rule(floor)
      : tensor<64x8xbf16> -> tensor<64x8xf4E2M1FN>, tensor<2x8xf8E8M0FNU>
  return %q, %s : tensor<64x8xf4E2M1FN>, tensor<2x8xf8E8M0FNU>
}

// -----

// CHECK-LABEL: func.func @dequantize
func.func @dequantize(%q: tensor<4x64xf8E5M2>, %s: tensor<4x2xf8E8M0FNU>)
    -> tensor<4x64xbf16> {
  // CHECK-NOT: cf.assert
  // CHECK: ^bb0(%[[A:.*]]: f8E5M2, %[[B:.*]]: f8E8M0FNU, %{{.*}}: bf16):
  // CHECK-NEXT: %[[ELEMENT:.*]] = lpfa.decode %[[A]] : f8E5M2 to f32
  // CHECK-NEXT: %[[SCALE:.*]] = lpfa.decode %[[B]] : f8E8M0FNU to f32
  // CHECK-NEXT: %[[PRODUCT:.*]] = arith.mulf %[[ELEMENT]], %[[SCALE]]
  // CHECK-NEXT: %[[ROUNDED:.*]] = arith.truncf %[[PRODUCT]] : f32 to bf16
  // CHECK-NEXT: linalg.yield %[[ROUNDED]]
  %x = lpfa.dequantize %q scaled %s axis(1)
      : tensor<4x64xf8E5M2>, tensor<4x2xf8E8M0FNU> -> tensor<4x64xbf16>
  return %x : tensor<4x64xbf16>
}

// -----

// Sizes that the types leave open are checked when the program runs.
// CHECK-LABEL: func.func @dequantize_dynamic
func.func @dequantize_dynamic(%q: tensor<?x64xf8E5M2>, %s: tensor<?x2xf8E8M0FNU>)
    -> tensor<?x64xf32> {
  // CHECK-DAG: %[[ROWS:.*]] = tensor.dim %arg0
  // CHECK-DAG: %[[SCALE_ROWS:.*]] = tensor.dim %arg1
  // CHECK: %[[EQUAL:.*]] = arith.cmpi eq, %[[SCALE_ROWS]], %[[ROWS]]
  // CHECK: cf.assert %[[EQUAL]], "{{.*}}'lpfa.dequantize' op expects another size of dimension 0 of the scales"
  // CHECK-NOT: cf.assert
  %x = lpfa.dequantize %q scaled %s axis(1)
      : tensor<?x64xf8E5M2>, tensor<?x2xf8E8M0FNU> -> tensor<?x64xf32>
  return %x : tensor<?x64xf32>
}
