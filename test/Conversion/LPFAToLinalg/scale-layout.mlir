// RUN: lpfa-opt %s -convert-lpfa-to-linalg -canonicalize -split-input-file | FileCheck %s

// CHECK-DAG: #[[ROW:.*]] = affine_map<()[s0, s1, s2] -> (s0 * 128 + s1 * 32 + s2)>
// CHECK-DAG: #[[GROUP:.*]] = affine_map<()[s0, s1] -> (s0 * 4 + s1)>
// CHECK-LABEL: func.func @pack
// CHECK-SAME: %[[SCALES:.*]]: tensor<2x?x5xf8E8M0FNU>
func.func @pack(%s: tensor<2x?x5xf8E8M0FNU>) -> tensor<2x?x2x32x4x4xf8E8M0FNU> {
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.0{{.*}} : f32
  // CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
  // CHECK-DAG: %[[GROUPS:.*]] = arith.constant 5 : index
  // CHECK-DAG: %[[ROWS:.*]] = tensor.dim %[[SCALES]]
  // CHECK: %[[PADDING:.*]] = lpfa.encode %[[ZERO]] : f32 to f8E8M0FNU
  // CHECK: linalg.generic
  // CHECK-DAG: %[[I0:.*]] = linalg.index 0
  // CHECK-DAG: %[[I1:.*]] = linalg.index 1
  // CHECK-DAG: %[[I2:.*]] = linalg.index 2
  // CHECK-DAG: %[[I3:.*]] = linalg.index 3
  // CHECK-DAG: %[[I4:.*]] = linalg.index 4
  // CHECK-DAG: %[[I5:.*]] = linalg.index 5
  // CHECK-DAG: %[[R:.*]] = affine.apply #[[ROW]]()[%[[I1]], %[[I4]], %[[I3]]]
  // CHECK-DAG: %[[G:.*]] = affine.apply #[[GROUP]]()[%[[I2]], %[[I5]]]
  // CHECK-DAG: %[[IN_ROWS:.*]] = arith.cmpi slt, %[[R]], %[[ROWS]]
  // CHECK-DAG: %[[IN_GROUPS:.*]] = arith.cmpi slt, %[[G]], %[[GROUPS]]
  // CHECK: %[[INSIDE:.*]] = arith.andi %[[IN_ROWS]], %[[IN_GROUPS]]
  // CHECK-DAG: %[[SAFE_R:.*]] = arith.select %[[INSIDE]], %[[R]], %[[C0]]
  // CHECK-DAG: %[[SAFE_G:.*]] = arith.select %[[INSIDE]], %[[G]], %[[C0]]
  // CHECK: %[[BYTE:.*]] = tensor.extract %[[SCALES]][%[[I0]], %[[SAFE_R]], %[[SAFE_G]]]
  // CHECK: %[[RESULT:.*]] = arith.select %[[INSIDE]], %[[BYTE]], %[[PADDING]]
  // CHECK: linalg.yield %[[RESULT]]
  %b = lpfa.pack_scales %s
      : tensor<2x?x5xf8E8M0FNU> -> tensor<2x?x2x32x4x4xf8E8M0FNU>
  return %b : tensor<2x?x2x32x4x4xf8E8M0FNU>
}

// -----

// CHECK-DAG: #[[SOURCE:.*]] = affine_map<(d0, d1, d2) -> (d0, d2 floordiv 128, d1 floordiv 4, d2 mod 32, (d2 mod 128) floordiv 32, d1 mod 4)>
// CHECK-LABEL: func.func @unpack_transposed
// CHECK-SAME: %[[BLOCKED:.*]]: tensor<2x?x2x32x4x4xf8E8M0FNU>, %[[ROWS:.*]]: index
func.func @unpack_transposed(%b: tensor<2x?x2x32x4x4xf8E8M0FNU>, %rows: index)
    -> tensor<2x5x?xf8E8M0FNU> {
  // CHECK: %[[EMPTY:.*]] = tensor.empty(%[[ROWS]]) : tensor<2x5x?xf8E8M0FNU>
  // CHECK: cf.assert {{.*}} op expects another size of dimension 1 of the blocked scales"
  // CHECK: linalg.generic {indexing_maps = [#[[SOURCE]],
  // CHECK-SAME: ins(%[[BLOCKED]] : {{.*}}) outs(%[[EMPTY]] :
  %s = lpfa.unpack_scales %b transposed sizes(%rows)
      : tensor<2x?x2x32x4x4xf8E8M0FNU> -> tensor<2x5x?xf8E8M0FNU>
  return %s : tensor<2x5x?xf8E8M0FNU>
}
