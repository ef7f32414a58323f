// Functions that move scales between their layouts and multiply by them.
//
// RUN: lpfa-opt %s -verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @pack
func.func @pack(%s: tensor<?x?x?xf8E8M0FNU>)
    -> tensor<?x?x?x32x4x4xf8E8M0FNU> {
  %b = lpfa.pack_scales %s
      : tensor<?x?x?xf8E8M0FNU> -> tensor<?x?x?x32x4x4xf8E8M0FNU>
  return %b : tensor<?x?x?x32x4x4xf8E8M0FNU>
}

// CHECK-LABEL: func.func @pack_transposed
func.func @pack_transposed(%s: tensor<?x?x?xf8E8M0FNU>)
    -> tensor<?x?x?x32x4x4xf8E8M0FNU> {
  %b = lpfa.pack_scales %s transposed
      : tensor<?x?x?xf8E8M0FNU> -> tensor<?x?x?x32x4x4xf8E8M0FNU>
  return %b : tensor<?x?x?x32x4x4xf8E8M0FNU>
}

// There and back.
// CHECK-LABEL: func.func @unpack
func.func @unpack(%s: tensor<?x?x?xf8E8M0FNU>) -> tensor<?x?x?xf8E8M0FNU> {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %rows = tensor.dim %s, %c1 : tensor<?x?x?xf8E8M0FNU>
  %groups = tensor.dim %s, %c2 : tensor<?x?x?xf8E8M0FNU>
  %b = lpfa.pack_scales %s
      : tensor<?x?x?xf8E8M0FNU> -> tensor<?x?x?x32x4x4xf8E8M0FNU>
  %r = lpfa.unpack_scales %b sizes(%rows, %groups)
      : tensor<?x?x?x32x4x4xf8E8M0FNU> -> tensor<?x?x?xf8E8M0FNU>
  return %r : tensor<?x?x?xf8E8M0FNU>
}

// CHECK-LABEL: func.func @unpack_transposed
func.func @unpack_transposed(%b: tensor<?x?x?x32x4x4xf8E8M0FNU>)
    -> tensor<?x7x200xf8E8M0FNU> {
  %s = lpfa.unpack_scales %b transposed
      : tensor<?x?x?x32x4x4xf8E8M0FNU> -> tensor<?x7x200xf8E8M0FNU>
  return %s : tensor<?x7x200xf8E8M0FNU>
}

// CHECK-LABEL: func.func @dequantize_e4m3
func.func @dequantize_e4m3(%q: tensor<?x?xf8E4M3FN>, %s: tensor<?x?xf8E8M0FNU>)
    -> tensor<?x?xf32> {
  %x = lpfa.dequantize %q scaled %s axis(1)
      : tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU> -> tensor<?x?xf32>
  return %x : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @dequantize_e5m2
func.func @dequantize_e5m2(%q: tensor<?x?xf8E5M2>, %s: tensor<?x?xf8E8M0FNU>)
    -> tensor<?x?xf32> {
  %x = lpfa.dequantize %q scaled %s axis(1)
      : tensor<?x?xf8E5M2>, tensor<?x?xf8E8M0FNU> -> tensor<?x?xf32>
  return %x : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @dequantize_e2m3
func.func @dequantize_e2m3(%q: tensor<?x?xf6E2M3FN>, %s: tensor<?x?xf8E8M0FNU>)
    -> tensor<?x?xf32> {
  %x = lpfa.dequantize %q scaled %s axis(1)
      : tensor<?x?xf6E2M3FN>, tensor<?x?xf8E8M0FNU> -> tensor<?x?xf32>
  return %x : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @dequantize_e3m2
func.func @dequantize_e3m2(%q: tensor<?x?xf6E3M2FN>, %s: tensor<?x?xf8E8M0FNU>)
    -> tensor<?x?xf32> {
  %x = lpfa.dequantize %q scaled %s axis(1)
      : tensor<?x?xf6E3M2FN>, tensor<?x?xf8E8M0FNU> -> tensor<?x?xf32>
  return %x : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @dequantize_e2m1
func.func @dequantize_e2m1(%q: tensor<?x?xf4E2M1FN>, %s: tensor<?x?xf8E8M0FNU>)
    -> tensor<?x?xf32> {
  %x = lpfa.dequantize %q scaled %s axis(1)
      : tensor<?x?xf4E2M1FN>, tensor<?x?xf8E8M0FNU> -> tensor<?x?xf32>
  return %x : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @dequantize_bf16
func.func @dequantize_bf16(%q: tensor<?x?xf8E5M2>, %s: tensor<?x?xf8E8M0FNU>)
    -> tensor<?x?xbf16> {
  %x = lpfa.dequantize %q scaled %s axis(1)
      : tensor<?x?xf8E5M2>, tensor<?x?xf8E8M0FNU> -> tensor<?x?xbf16>
  return %x : tensor<?x?xbf16>
}

// Blocks along the first dimension of an input in bf16.
// CHECK-LABEL: func.func @quantize_bf16
func.func @quantize_bf16(%x: tensor<?x?xbf16>)
    -> (tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>) {
  %q, %s = lpfa.quantize %x axis(0)
      : tensor<?x?xbf16> -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
  return %q, %s : tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
}

// CHECK-LABEL: func.func @dequantize_f16
func.func @dequantize_f16(%q: tensor<?x?xf8E5M2>, %s: tensor<?x?xf8E8M0FNU>)
    -> tensor<?x?xf16> {
  %x = lpfa.dequantize %q scaled %s axis(1)
      : tensor<?x?xf8E5M2>, tensor<?x?xf8E8M0FNU> -> tensor<?x?xf16>
  return %x : tensor<?x?xf16>
}

// Blocks along the first dimension of an input in f16.
// CHECK-LABEL: func.func @quantize_f16
func.func @quantize_f16(%x: tensor<?x?xf16>)
    -> (tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>) {
  %q, %s = lpfa.quantize %x axis(0)
      : tensor<?x?xf16> -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
  return %q, %s : tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
}
