// RUN: lpfa-opt %s -convert-lpfa-to-linalg -split-input-file \
// RUN:   -canonicalize -cse | FileCheck %s

// Sizes that the types leave open are checked first; then a loop over batches,
// KV heads, the query heads of each, and rows.

// CHECK-LABEL: func.func @sizes
// CHECK: cf.assert {{.*}}attention.mlir:[[#]]:[[#]]: 'lpfa.attention' op (C3) k and v have different lengths"
// CHECK-NOT: (C2)
// CHECK: scf.for
// CHECK: scf.for
// The scores of a row, key by key in the innermost loop.
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]
// CHECK: arith.addf {{.*}} : f64
// CHECK: arith.truncf {{.*}} : f64 to f32
// No rounding of the scale's exponent but up.
// CHECK: math.fma
// CHECK-NEXT: math.ceil {{.*}} : f32
// CHECK: lpfa.encode {{.*}} : f32 to f8E4M3FN
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]
// CHECK: arith.divf {{.*}} : f64
// CHECK: math.log2
// CHECK-NOT: lpfa.attention
func.func @sizes(
    %q: tensor<1x2x40x64xf8E4M3FN>, %sq: tensor<1x2x40x2xf8E8M0FNU>,
    %k: tensor<1x2x?x64xf8E4M3FN>, %sk: tensor<1x2x?x2xf8E8M0FNU>,
    %v: tensor<1x2x?x64xf8E4M3FN>, %sv: tensor<1x2x?x64xf8E8M0FNU>)
    -> (tensor<1x2x40x64xf32>, tensor<1x2x40xf32>) {
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.125 : f32}
      : (tensor<1x2x40x64xf8E4M3FN>, tensor<1x2x40x2xf8E8M0FNU>,
         tensor<1x2x?x64xf8E4M3FN>, tensor<1x2x?x2xf8E8M0FNU>,
         tensor<1x2x?x64xf8E4M3FN>, tensor<1x2x?x64xf8E8M0FNU>)
      -> (tensor<1x2x40x64xf32>, tensor<1x2x40xf32>)
  return %o, %lse : tensor<1x2x40x64xf32>, tensor<1x2x40xf32>
}

// -----

// A constant scale needs no maximum of blocks: p is multiplied by 2^(15 - 1),
// 15 being the largest exponent of f8E5M2. Nothing is left to check.

// CHECK-LABEL: func.func @constant
// CHECK-NOT: cf.assert
// CHECK-DAG: arith.constant 1.638400e+04 : f32
// CHECK-DAG: arith.constant 6.103515625E-5 : f64
// CHECK: lpfa.encode {{.*}} : f32 to f8E5M2
// CHECK: arith.truncf {{.*}} : f32 to bf16
func.func @constant(
    %q: tensor<1x2x40x64xf8E4M3FN>, %sq: tensor<1x2x40x2xf8E8M0FNU>,
    %k: tensor<1x2x50x64xf8E4M3FN>, %sk: tensor<1x2x50x2xf8E8M0FNU>,
    %v: tensor<1x2x50x64xf8E4M3FN>, %sv: tensor<1x2x2x64xf8E8M0FNU>)
    -> (tensor<1x2x40x64xbf16>, tensor<1x2x40xf32>) {
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.125 : f32,
       p_scale = #lpfa.p_scale<constant, element = f8E5M2, lag = 1>}
      : (tensor<1x2x40x64xf8E4M3FN>, tensor<1x2x40x2xf8E8M0FNU>,
         tensor<1x2x50x64xf8E4M3FN>, tensor<1x2x50x2xf8E8M0FNU>,
         tensor<1x2x50x64xf8E4M3FN>, tensor<1x2x2x64xf8E8M0FNU>)
      -> (tensor<1x2x40x64xbf16>, tensor<1x2x40xf32>)
  return %o, %lse : tensor<1x2x40x64xbf16>, tensor<1x2x40xf32>
}
