// RUN: lpfa-opt %s -split-input-file -resolve-ranked-shaped-type-result-dims -canonicalize -cse | FileCheck %s
// RUN: lpfa-opt %s -split-input-file -inline -symbol-dce | FileCheck %s --check-prefix=INLINE

// Sizes of results come from operands, and ops without a use go.

// CHECK-DAG: #[[GROUPS:.*]] = affine_map<()[s0] -> (s0 ceildiv 32)>
// CHECK-LABEL: func.func @quantize
func.func @quantize(%x: tensor<?x?xf32>) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK-NOT: lpfa.quantize
  %q, %s = lpfa.quantize %x axis(1)
      : tensor<?x?xf32> -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
  // CHECK-DAG: %[[ROWS:.*]] = tensor.dim %arg0, %c0
  // CHECK-DAG: %[[COLUMNS:.*]] = tensor.dim %arg0, %c1
  // CHECK-DAG: %[[BLOCKS:.*]] = affine.apply #[[GROUPS]]()[%[[COLUMNS]]]
  %d0 = tensor.dim %q, %c0 : tensor<?x?xf8E4M3FN>
  %d1 = tensor.dim %s, %c0 : tensor<?x?xf8E8M0FNU>
  %d2 = tensor.dim %s, %c1 : tensor<?x?xf8E8M0FNU>
  // CHECK: return %[[ROWS]], %[[ROWS]], %[[BLOCKS]]
  return %d0, %d1, %d2 : index, index, index
}

// -----

// CHECK-LABEL: func.func @dequantize
func.func @dequantize(%q: tensor<?x64xf8E4M3FN>, %s: tensor<?x2xf8E8M0FNU>)
    -> index {
  %c0 = arith.constant 0 : index
  %x = lpfa.dequantize %q scaled %s axis(1)
      : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU> -> tensor<?x64xf32>
  // CHECK: %[[ROWS:.*]] = tensor.dim %arg0, %c0
  // CHECK: return %[[ROWS]]
  %d = tensor.dim %x, %c0 : tensor<?x64xf32>
  return %d : index
}

// -----

// CHECK-DAG: #[[TILES:.*]] = affine_map<()[s0] -> (s0 ceildiv 128)>
// CHECK-DAG: #[[ATOMS:.*]] = affine_map<()[s0] -> (s0 ceildiv 4)>
// CHECK-LABEL: func.func @pack_scales
func.func @pack_scales(%s: tensor<?x?x?xf8E8M0FNU>) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = lpfa.pack_scales %s transposed
      : tensor<?x?x?xf8E8M0FNU> -> tensor<?x?x?x32x4x4xf8E8M0FNU>
  // CHECK-DAG: %[[BATCH:.*]] = tensor.dim %arg0, %c0
  // CHECK-DAG: %[[GROUPS:.*]] = tensor.dim %arg0, %c1
  // CHECK-DAG: %[[ROWS:.*]] = tensor.dim %arg0, %c2
  // CHECK-DAG: %[[D1:.*]] = affine.apply #[[TILES]]()[%[[ROWS]]]
  // CHECK-DAG: %[[D2:.*]] = affine.apply #[[ATOMS]]()[%[[GROUPS]]]
  %d0 = tensor.dim %b, %c0 : tensor<?x?x?x32x4x4xf8E8M0FNU>
  %d1 = tensor.dim %b, %c1 : tensor<?x?x?x32x4x4xf8E8M0FNU>
  %d2 = tensor.dim %b, %c2 : tensor<?x?x?x32x4x4xf8E8M0FNU>
  // CHECK: return %[[BATCH]], %[[D1]], %[[D2]]
  return %d0, %d1, %d2 : index, index, index
}

// -----

// CHECK-LABEL: func.func @unpack_scales
func.func @unpack_scales(%b: tensor<?x?x2x32x4x4xf8E8M0FNU>, %n: index)
    -> (index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = lpfa.unpack_scales %b sizes(%n)
      : tensor<?x?x2x32x4x4xf8E8M0FNU> -> tensor<?x?x6xf8E8M0FNU>
  // CHECK: %[[BATCH:.*]] = tensor.dim %arg0, %c0
  %d0 = tensor.dim %s, %c0 : tensor<?x?x6xf8E8M0FNU>
  %d1 = tensor.dim %s, %c1 : tensor<?x?x6xf8E8M0FNU>
  // CHECK: return %[[BATCH]], %arg1
  return %d0, %d1 : index, index
}

// -----

// CHECK-LABEL: func.func @attention
func.func @attention(
    %q: tensor<?x?x?x192xf8E4M3FN>, %sq: tensor<?x?x?x6xf8E8M0FNU>,
    %k: tensor<?x?x?x192xf8E4M3FN>, %sk: tensor<?x?x?x6xf8E8M0FNU>,
    %v: tensor<?x?x?x128xf8E4M3FN>, %sv: tensor<?x?x?x128xf8E8M0FNU>)
    -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // CHECK-NOT: lpfa.attention
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.125 : f32}
      : (tensor<?x?x?x192xf8E4M3FN>, tensor<?x?x?x6xf8E8M0FNU>,
         tensor<?x?x?x192xf8E4M3FN>, tensor<?x?x?x6xf8E8M0FNU>,
         tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x128xf8E8M0FNU>)
      -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  // CHECK-DAG: %[[BATCH:.*]] = tensor.dim %arg0, %c0
  // CHECK-DAG: %[[HEADS:.*]] = tensor.dim %arg0, %c1
  // CHECK-DAG: %[[ROWS:.*]] = tensor.dim %arg0, %c2
  %d0 = tensor.dim %o, %c0 : tensor<?x?x?x128xbf16>
  %d1 = tensor.dim %lse, %c1 : tensor<?x?x?xf32>
  %d2 = tensor.dim %lse, %c2 : tensor<?x?x?xf32>
  // CHECK: return %[[BATCH]], %[[HEADS]], %[[ROWS]]
  return %d0, %d1, %d2 : index, index, index
}

// -----

func.func private @callee(%s: tensor<128x4xf8E8M0FNU>)
    -> tensor<1x1x32x4x4xf8E8M0FNU> {
  %b = lpfa.pack_scales %s
      : tensor<128x4xf8E8M0FNU> -> tensor<1x1x32x4x4xf8E8M0FNU>
  return %b : tensor<1x1x32x4x4xf8E8M0FNU>
}

// INLINE-LABEL: func.func @caller
// INLINE-NEXT: lpfa.pack_scales
// INLINE-NOT: call
func.func @caller(%s: tensor<128x4xf8E8M0FNU>)
    -> tensor<1x1x32x4x4xf8E8M0FNU> {
  %b = call @callee(%s)
      : (tensor<128x4xf8E8M0FNU>) -> tensor<1x1x32x4x4xf8E8M0FNU>
  return %b : tensor<1x1x32x4x4xf8E8M0FNU>
}
