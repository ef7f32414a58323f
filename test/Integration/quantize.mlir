// Functions to drive the tools with: a row is one block. In .npy files a code or
// a scale is one byte.
//
// RUN: lpfa-opt %s -verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @quantize_e4m3_rceil(
// CHECK: lpfa.quantize
func.func @quantize_e4m3_rceil(%x: tensor<?x32xf32>)
    -> (tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>) {
  %codes, %scales = lpfa.quantize %x axis(1) rule(rceil)
      : tensor<?x32xf32> -> tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
  return %codes, %scales : tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
}

// CHECK-LABEL: func.func @quantize_e4m3_floor(
// CHECK: lpfa.quantize
func.func @quantize_e4m3_floor(%x: tensor<?x32xf32>)
    -> (tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>) {
  %codes, %scales = lpfa.quantize %x axis(1) rule(floor)
      : tensor<?x32xf32> -> tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
  return %codes, %scales : tensor<?x32xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
}

// CHECK-LABEL: func.func @quantize_e5m2_rceil(
// CHECK: lpfa.quantize
func.func @quantize_e5m2_rceil(%x: tensor<?x32xf32>)
    -> (tensor<?x32xf8E5M2>, tensor<?x1xf8E8M0FNU>) {
  %codes, %scales = lpfa.quantize %x axis(1) rule(rceil)
      : tensor<?x32xf32> -> tensor<?x32xf8E5M2>, tensor<?x1xf8E8M0FNU>
  return %codes, %scales : tensor<?x32xf8E5M2>, tensor<?x1xf8E8M0FNU>
}

// CHECK-LABEL: func.func @quantize_e5m2_floor(
// CHECK: lpfa.quantize
func.func @quantize_e5m2_floor(%x: tensor<?x32xf32>)
    -> (tensor<?x32xf8E5M2>, tensor<?x1xf8E8M0FNU>) {
  %codes, %scales = lpfa.quantize %x axis(1) rule(floor)
      : tensor<?x32xf32> -> tensor<?x32xf8E5M2>, tensor<?x1xf8E8M0FNU>
  return %codes, %scales : tensor<?x32xf8E5M2>, tensor<?x1xf8E8M0FNU>
}

// CHECK-LABEL: func.func @quantize_e2m3_rceil(
// CHECK: lpfa.quantize
func.func @quantize_e2m3_rceil(%x: tensor<?x32xf32>)
    -> (tensor<?x32xf6E2M3FN>, tensor<?x1xf8E8M0FNU>) {
  %codes, %scales = lpfa.quantize %x axis(1) rule(rceil)
      : tensor<?x32xf32> -> tensor<?x32xf6E2M3FN>, tensor<?x1xf8E8M0FNU>
  return %codes, %scales : tensor<?x32xf6E2M3FN>, tensor<?x1xf8E8M0FNU>
}

// CHECK-LABEL: func.func @quantize_e2m3_floor(
// CHECK: lpfa.quantize
func.func @quantize_e2m3_floor(%x: tensor<?x32xf32>)
    -> (tensor<?x32xf6E2M3FN>, tensor<?x1xf8E8M0FNU>) {
  %codes, %scales = lpfa.quantize %x axis(1) rule(floor)
      : tensor<?x32xf32> -> tensor<?x32xf6E2M3FN>, tensor<?x1xf8E8M0FNU>
  return %codes, %scales : tensor<?x32xf6E2M3FN>, tensor<?x1xf8E8M0FNU>
}

// CHECK-LABEL: func.func @quantize_e3m2_rceil(
// CHECK: lpfa.quantize
func.func @quantize_e3m2_rceil(%x: tensor<?x32xf32>)
    -> (tensor<?x32xf6E3M2FN>, tensor<?x1xf8E8M0FNU>) {
  %codes, %scales = lpfa.quantize %x axis(1) rule(rceil)
      : tensor<?x32xf32> -> tensor<?x32xf6E3M2FN>, tensor<?x1xf8E8M0FNU>
  return %codes, %scales : tensor<?x32xf6E3M2FN>, tensor<?x1xf8E8M0FNU>
}

// CHECK-LABEL: func.func @quantize_e3m2_floor(
// CHECK: lpfa.quantize
func.func @quantize_e3m2_floor(%x: tensor<?x32xf32>)
    -> (tensor<?x32xf6E3M2FN>, tensor<?x1xf8E8M0FNU>) {
  %codes, %scales = lpfa.quantize %x axis(1) rule(floor)
      : tensor<?x32xf32> -> tensor<?x32xf6E3M2FN>, tensor<?x1xf8E8M0FNU>
  return %codes, %scales : tensor<?x32xf6E3M2FN>, tensor<?x1xf8E8M0FNU>
}

// CHECK-LABEL: func.func @quantize_e2m1_rceil(
// CHECK: lpfa.quantize
func.func @quantize_e2m1_rceil(%x: tensor<?x32xf32>)
    -> (tensor<?x32xf4E2M1FN>, tensor<?x1xf8E8M0FNU>) {
  %codes, %scales = lpfa.quantize %x axis(1) rule(rceil)
      : tensor<?x32xf32> -> tensor<?x32xf4E2M1FN>, tensor<?x1xf8E8M0FNU>
  return %codes, %scales : tensor<?x32xf4E2M1FN>, tensor<?x1xf8E8M0FNU>
}

// CHECK-LABEL: func.func @quantize_e2m1_floor(
// CHECK: lpfa.quantize
func.func @quantize_e2m1_floor(%x: tensor<?x32xf32>)
    -> (tensor<?x32xf4E2M1FN>, tensor<?x1xf8E8M0FNU>) {
  %codes, %scales = lpfa.quantize %x axis(1) rule(floor)
      : tensor<?x32xf32> -> tensor<?x32xf4E2M1FN>, tensor<?x1xf8E8M0FNU>
  return %codes, %scales : tensor<?x32xf4E2M1FN>, tensor<?x1xf8E8M0FNU>
}
