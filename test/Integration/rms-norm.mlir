// Normalization of rows, with weights and outputs of each width.
//
// RUN: lpfa-opt %s -verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @rms_norm(
// CHECK:         lpfa.rms_norm %{{.+}} weight %{{.+}} epsilon(9.99999997E-7) : tensor<?x?xbf16>, tensor<?xbf16> -> tensor<?x?xbf16>
func.func @rms_norm(%x: tensor<?x?xbf16>, %w: tensor<?xbf16>) -> tensor<?x?xbf16> {
  %y = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
      : tensor<?x?xbf16>, tensor<?xbf16> -> tensor<?x?xbf16>
  return %y : tensor<?x?xbf16>
}

// CHECK-LABEL: func.func @rms_norm_rstd(
func.func @rms_norm_rstd(%x: tensor<?x?xbf16>, %w: tensor<?xf32>) -> (tensor<?x?xf32>, tensor<?xf32>) {
  %y, %rstd = lpfa.rms_norm %x weight %w epsilon(1.0e-5)
      : tensor<?x?xbf16>, tensor<?xf32> -> tensor<?x?xf32>, tensor<?xf32>
  return %y, %rstd : tensor<?x?xf32>, tensor<?xf32>
}

// CHECK-LABEL: func.func @rms_norm_batches(
func.func @rms_norm_batches(%x: tensor<2x?x96xf32>, %w: tensor<?xf16>) -> (tensor<2x?x96xf16>, tensor<2x?xf32>) {
  %y, %rstd = lpfa.rms_norm %x weight %w epsilon(0.0)
      : tensor<2x?x96xf32>, tensor<?xf16> -> tensor<2x?x96xf16>, tensor<2x?xf32>
  return %y, %rstd : tensor<2x?x96xf16>, tensor<2x?xf32>
}

// CHECK-LABEL: func.func @rms_norm_vector(
func.func @rms_norm_vector(%x: tensor<?xf32>, %w: tensor<?xf32>) -> (tensor<?xf32>, tensor<f32>) {
  %y, %rstd = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
      : tensor<?xf32>, tensor<?xf32> -> tensor<?xf32>, tensor<f32>
  return %y, %rstd : tensor<?xf32>, tensor<f32>
}
