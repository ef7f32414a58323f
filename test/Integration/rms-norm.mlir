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

// CHECK-LABEL: func.func @backward(
// CHECK:         lpfa.rms_norm_backward %{{.+}}, %{{.+}} weight %{{.+}} rstd %{{.+}} : tensor<?x?xbf16>, tensor<?x?xbf16>, tensor<?xf32>, tensor<?xf32> -> tensor<?x?xbf16>, tensor<?xf32>
func.func @backward(%dy: tensor<?x?xbf16>, %x: tensor<?x?xbf16>, %w: tensor<?xf32>, %rstd: tensor<?xf32>) -> (tensor<?x?xbf16>, tensor<?xf32>) {
  %dx, %dw = lpfa.rms_norm_backward %dy, %x weight %w rstd %rstd
      : tensor<?x?xbf16>, tensor<?x?xbf16>, tensor<?xf32>, tensor<?xf32>
      -> tensor<?x?xbf16>, tensor<?xf32>
  return %dx, %dw : tensor<?x?xbf16>, tensor<?xf32>
}

// CHECK-LABEL: func.func @backward_batches(
func.func @backward_batches(%dy: tensor<2x?x3x96xf32>, %x: tensor<2x?x3x96xf16>, %w: tensor<96xbf16>, %rstd: tensor<2x?x3xf32>) -> (tensor<2x?x3x96xf32>, tensor<96xbf16>) {
  %dx, %dw = lpfa.rms_norm_backward %dy, %x weight %w rstd %rstd
      : tensor<2x?x3x96xf32>, tensor<2x?x3x96xf16>, tensor<96xbf16>, tensor<2x?x3xf32>
      -> tensor<2x?x3x96xf32>, tensor<96xbf16>
  return %dx, %dw : tensor<2x?x3x96xf32>, tensor<96xbf16>
}

// CHECK-LABEL: func.func @backward_vector(
func.func @backward_vector(%dy: tensor<?xf32>, %x: tensor<?xf32>, %w: tensor<?xf32>, %rstd: tensor<f32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %dx, %dw = lpfa.rms_norm_backward %dy, %x weight %w rstd %rstd
      : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<f32>
      -> tensor<?xf32>, tensor<?xf32>
  return %dx, %dw : tensor<?xf32>, tensor<?xf32>
}

// The gradient comes quantized.
// CHECK-LABEL: func.func @backward_quantized(
func.func @backward_quantized(%q: tensor<?x?xf8E5M2>, %s: tensor<?x?xf8E8M0FNU>, %x: tensor<?x?xbf16>, %w: tensor<?xbf16>, %rstd: tensor<?xf32>) -> (tensor<?x?xbf16>, tensor<?xf32>) {
  %dy = lpfa.dequantize %q scaled %s axis(1)
      : tensor<?x?xf8E5M2>, tensor<?x?xf8E8M0FNU> -> tensor<?x?xf32>
  %dx, %dw = lpfa.rms_norm_backward %dy, %x weight %w rstd %rstd
      : tensor<?x?xf32>, tensor<?x?xbf16>, tensor<?xbf16>, tensor<?xf32>
      -> tensor<?x?xbf16>, tensor<?xf32>
  return %dx, %dw : tensor<?x?xbf16>, tensor<?xf32>
}
