// RUN: lpfa-opt %s -convert-lpfa-to-linalg -canonicalize -split-input-file | FileCheck %s

// Both operands become f64, the second transposed; sums are rounded to f32,
// then to the type of the result.

// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0, d1) -> (d0, d1 floordiv 32)>
// CHECK-DAG: #[[ATOMS:.*]] = affine_map<(d0, d1) -> (d0 floordiv 128, (d1 floordiv 32) floordiv 4, d0 mod 32, (d0 mod 128) floordiv 32, (d1 floordiv 32) mod 4)>
// CHECK-DAG: #[[TRANSPOSED:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG: #[[A:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[B:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[D:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-LABEL: func.func @matmul
func.func @matmul(%a: tensor<200x96xf8E4M3FN>, %sa: tensor<200x3xf8E8M0FNU>,
                  %b: tensor<40x96xf8E5M2>, %sb: tensor<1x1x32x4x4xf8E8M0FNU>) -> tensor<200x40xbf16> {
  // CHECK: linalg.generic {indexing_maps = [#{{.*}}, #[[ROWS]], #{{.*}}]{{.*}} ins(%arg0, %arg1 {{.*}} outs({{.*}} : tensor<200x96xf64>)
  // CHECK: linalg.generic {indexing_maps = [#{{.*}}, #[[ATOMS]], #[[TRANSPOSED]]]{{.*}} ins(%arg2, %arg3 {{.*}} outs({{.*}} : tensor<96x40xf64>)
  // CHECK: %[[SUMS:.*]] = linalg.generic {indexing_maps = [#[[A]], #[[B]], #[[D]]], iterator_types = ["parallel", "reduction", "parallel"]}
  // CHECK: arith.mulf {{.*}} : f64
  // CHECK: arith.addf {{.*}} : f64
  // CHECK: linalg.generic {{.*}} ins(%[[SUMS]] : tensor<200x40xf64>)
  // CHECK: arith.truncf {{.*}} : f64 to f32
  // CHECK: arith.truncf {{.*}} : f32 to bf16
  %d = lpfa.matmul %a scaled %sa, %b scaled %sb
      : tensor<200x96xf8E4M3FN>, tensor<200x3xf8E8M0FNU>, tensor<40x96xf8E5M2>,
        tensor<1x1x32x4x4xf8E8M0FNU> -> tensor<200x40xbf16>
  return %d : tensor<200x40xbf16>
}

// -----

// What types leave open is checked where it runs.

// CHECK-LABEL: func.func @sizes
func.func @sizes(%a: tensor<?x?xf8E4M3FN>, %sa: tensor<?x?xf8E8M0FNU>,
                 %b: tensor<?x?xf8E4M3FN>, %sb: tensor<?x?xf8E8M0FNU>) -> tensor<?x?xf32> {
  // CHECK: cf.assert %{{.*}}, "{{.*}}'lpfa.matmul' op (C3) a and b differ in K"
  // CHECK: cf.assert %{{.*}}, "{{.*}}'lpfa.matmul' op (C4) the scales of a do not have the shape that a asks for"
  // CHECK: cf.assert %{{.*}}, "{{.*}}'lpfa.matmul' op (C4) the scales of b do not have the shape that b asks for"
  %d = lpfa.matmul %a scaled %sa, %b scaled %sb
      : tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>, tensor<?x?xf8E4M3FN>,
        tensor<?x?xf8E8M0FNU> -> tensor<?x?xf32>
  return %d : tensor<?x?xf32>
}
