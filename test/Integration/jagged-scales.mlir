// Scales of packed sequences to blocked atoms of their own, and back.
//
// RUN: lpfa-opt %s -verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @scatter(
func.func @scatter(%s: tensor<?x?x?xf8E8M0FNU>, %o: tensor<?xi32>)
    -> tensor<?x?x?x32x4x4xf8E8M0FNU> {
  %b = lpfa.scatter_scales %s offsets(%o)
      : tensor<?x?x?xf8E8M0FNU>, tensor<?xi32> -> tensor<?x?x?x32x4x4xf8E8M0FNU>
  return %b : tensor<?x?x?x32x4x4xf8E8M0FNU>
}

// CHECK-LABEL: func.func @scatter_transposed(
func.func @scatter_transposed(%s: tensor<?x?x?xf8E8M0FNU>, %o: tensor<?xi32>)
    -> tensor<?x?x?x32x4x4xf8E8M0FNU> {
  %b = lpfa.scatter_scales %s offsets(%o) transposed
      : tensor<?x?x?xf8E8M0FNU>, tensor<?xi32> -> tensor<?x?x?x32x4x4xf8E8M0FNU>
  return %b : tensor<?x?x?x32x4x4xf8E8M0FNU>
}

// Sizes that the types know: 500 tokens in 4 sequences.
// CHECK-LABEL: func.func @scatter_static(
// CHECK:         -> tensor<7x2x32x4x4xf8E8M0FNU>
func.func @scatter_static(%s: tensor<500x5xf8E8M0FNU>, %o: tensor<5xi32>)
    -> tensor<7x2x32x4x4xf8E8M0FNU> {
  %b = lpfa.scatter_scales %s offsets(%o)
      : tensor<500x5xf8E8M0FNU>, tensor<5xi32> -> tensor<7x2x32x4x4xf8E8M0FNU>
  return %b : tensor<7x2x32x4x4xf8E8M0FNU>
}

// CHECK-LABEL: func.func @gather(
func.func @gather(%b: tensor<?x?x?x32x4x4xf8E8M0FNU>, %o: tensor<?xi32>, %s: tensor<?x?xf8E8M0FNU>)
    -> tensor<?x?x?xf8E8M0FNU> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = tensor.dim %s, %c0 : tensor<?x?xf8E8M0FNU>
  %groups = tensor.dim %s, %c1 : tensor<?x?xf8E8M0FNU>
  %r = lpfa.gather_scales %b offsets(%o) sizes(%rows, %groups)
      : tensor<?x?x?x32x4x4xf8E8M0FNU>, tensor<?xi32> -> tensor<?x?x?xf8E8M0FNU>
  return %r : tensor<?x?x?xf8E8M0FNU>
}

// CHECK-LABEL: func.func @gather_transposed(
func.func @gather_transposed(%b: tensor<?x?x?x32x4x4xf8E8M0FNU>, %o: tensor<?xi32>, %s: tensor<?x?xf8E8M0FNU>)
    -> tensor<?x?x?xf8E8M0FNU> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %groups = tensor.dim %s, %c0 : tensor<?x?xf8E8M0FNU>
  %rows = tensor.dim %s, %c1 : tensor<?x?xf8E8M0FNU>
  %r = lpfa.gather_scales %b offsets(%o) transposed sizes(%groups, %rows)
      : tensor<?x?x?x32x4x4xf8E8M0FNU>, tensor<?xi32> -> tensor<?x?x?xf8E8M0FNU>
  return %r : tensor<?x?x?xf8E8M0FNU>
}
