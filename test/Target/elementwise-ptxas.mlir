// REQUIRES: ptxas-13.4
// No kernel without roles spills, on any chip.
// RUN: rm -rf %t && lpfa-compile %s -o %t --emit=cubin --chip=sm_90a | FileCheck %s
// RUN: rm -rf %t && lpfa-compile %s -o %t --emit=cubin --chip=sm_100a | FileCheck %s
// RUN: rm -rf %t && lpfa-compile %s -o %t --emit=cubin --chip=sm_103a | FileCheck %s

// CHECK-DAG: pack_pack_scales: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: both_quantize: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: column_quantize: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: squares_quantize: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: f6_quantize: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: nvfp4_quantize: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: jagged_scatter_scales: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: jagged_gather_scales: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: nvfp4_dequantize: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: norm_4096_rms_norm: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: norm_16384_rms_norm: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: norm_65536_rms_norm: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: alone_16384_rms_norm: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: all_65536_rms_norm: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: norm_squares_rms_norm: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: norm_squares_rms_norm_quantize: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: norm_128_rms_norm: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: norm_720_rms_norm: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: all_256_rms_norm: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: squares_128_rms_norm: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: squares_256_rms_norm: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: squares_4096_rms_norm: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: both_520_rms_norm: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: f16_1024_rms_norm: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: f16_4096_rms_norm: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: f16_rstd_rms_norm: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: norm_both_rms_norm_quantize: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: any_rms_norm: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: back_4096_rms_norm_backward: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: back_4096_sum_columns: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: back_8192_rms_norm_backward: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: back_16384_rms_norm_backward: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: back_65536_rms_norm_backward: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: back_any_rms_norm_backward: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-DAG: back_any_weight_gradient: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled

func.func @pack(%s: tensor<?x?xf8E8M0FNU>) -> tensor<?x?x32x4x4xf8E8M0FNU> {
  %b = lpfa.pack_scales %s : tensor<?x?xf8E8M0FNU> -> tensor<?x?x32x4x4xf8E8M0FNU>
  return %b : tensor<?x?x32x4x4xf8E8M0FNU>
}

func.func @both(%x: tensor<?x?xbf16>)
    -> (tensor<?x?xf8E4M3FN>, tensor<?x?x32x4x4xf8E8M0FNU>,
        tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>) {
  %q, %s = lpfa.quantize %x axis(1)
      : tensor<?x?xbf16> -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
  %b = lpfa.pack_scales %s : tensor<?x?xf8E8M0FNU> -> tensor<?x?x32x4x4xf8E8M0FNU>
  %p, %t = lpfa.quantize %x axis(0)
      : tensor<?x?xbf16> -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
  return %q, %b, %p, %t : tensor<?x?xf8E4M3FN>, tensor<?x?x32x4x4xf8E8M0FNU>,
      tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
}

func.func @squares(%x: tensor<?x?xf32>)
    -> (tensor<?x?xf8E5M2>, tensor<?x?x32x4x4xf8E8M0FNU>,
        tensor<?x?x32x4x4xf8E8M0FNU>) {
  %q, %s = lpfa.quantize %x axis(1) square
      : tensor<?x?xf32> -> tensor<?x?xf8E5M2>, tensor<?x?xf8E8M0FNU>
  %p, %t = lpfa.quantize %x axis(0) square
      : tensor<?x?xf32> -> tensor<?x?xf8E5M2>, tensor<?x?xf8E8M0FNU>
  %b = lpfa.pack_scales %s : tensor<?x?xf8E8M0FNU> -> tensor<?x?x32x4x4xf8E8M0FNU>
  %c = lpfa.pack_scales %t transposed
      : tensor<?x?xf8E8M0FNU> -> tensor<?x?x32x4x4xf8E8M0FNU>
  return %q, %b, %c : tensor<?x?xf8E5M2>, tensor<?x?x32x4x4xf8E8M0FNU>,
      tensor<?x?x32x4x4xf8E8M0FNU>
}

func.func @f6(%x: tensor<?x?xf16>)
    -> (tensor<?x?xf6E3M2FN>, tensor<?x?xf8E8M0FNU>) {
  %q, %s = lpfa.quantize %x axis(0) rule(floor)
      : tensor<?x?xf16> -> tensor<?x?xf6E3M2FN>, tensor<?x?xf8E8M0FNU>
  return %q, %s : tensor<?x?xf6E3M2FN>, tensor<?x?xf8E8M0FNU>
}

func.func @nvfp4(%x: tensor<?x?xbf16>, %g: tensor<f32>)
    -> (tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN>, tensor<?x?xbf16>) {
  %q, %s = lpfa.quantize %x axis(1) global(%g : tensor<f32>)
      : tensor<?x?xbf16> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN>
  %y = lpfa.dequantize %q scaled %s axis(1) global(%g : tensor<f32>)
      : tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN> -> tensor<?x?xbf16>
  return %q, %s, %y
      : tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN>, tensor<?x?xbf16>
}

func.func @jagged(%s: tensor<?x?xf8E8M0FNU>, %o: tensor<?xi32>)
    -> tensor<?x?xf8E8M0FNU> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %s, %c0 : tensor<?x?xf8E8M0FNU>
  %n = tensor.dim %s, %c1 : tensor<?x?xf8E8M0FNU>
  %b = lpfa.scatter_scales %s offsets(%o) transposed
      : tensor<?x?xf8E8M0FNU>, tensor<?xi32> -> tensor<?x?x32x4x4xf8E8M0FNU>
  %t = lpfa.gather_scales %b offsets(%o) transposed sizes(%m, %n)
      : tensor<?x?x32x4x4xf8E8M0FNU>, tensor<?xi32> -> tensor<?x?xf8E8M0FNU>
  return %t : tensor<?x?xf8E8M0FNU>
}

func.func @norm_4096(%x: tensor<?x4096xbf16>, %w: tensor<4096xbf16>)
    -> (tensor<?x4096xf8E4M3FN>, tensor<?x128xf8E8M0FNU>) {
  %y = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
      : tensor<?x4096xbf16>, tensor<4096xbf16> -> tensor<?x4096xbf16>
  %q, %s = lpfa.quantize %y axis(1)
      : tensor<?x4096xbf16> -> tensor<?x4096xf8E4M3FN>, tensor<?x128xf8E8M0FNU>
  return %q, %s : tensor<?x4096xf8E4M3FN>, tensor<?x128xf8E8M0FNU>
}

func.func @norm_16384(%x: tensor<?x16384xbf16>, %w: tensor<16384xbf16>)
    -> (tensor<?x16384xf8E4M3FN>, tensor<?x512xf8E8M0FNU>) {
  %y = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
      : tensor<?x16384xbf16>, tensor<16384xbf16> -> tensor<?x16384xbf16>
  %q, %s = lpfa.quantize %y axis(1)
      : tensor<?x16384xbf16> -> tensor<?x16384xf8E4M3FN>, tensor<?x512xf8E8M0FNU>
  return %q, %s : tensor<?x16384xf8E4M3FN>, tensor<?x512xf8E8M0FNU>
}

func.func @norm_65536(%x: tensor<?x65536xbf16>, %w: tensor<65536xbf16>)
    -> (tensor<?x65536xf8E4M3FN>, tensor<?x2048xf8E8M0FNU>) {
  %y = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
      : tensor<?x65536xbf16>, tensor<65536xbf16> -> tensor<?x65536xbf16>
  %q, %s = lpfa.quantize %y axis(1)
      : tensor<?x65536xbf16> -> tensor<?x65536xf8E4M3FN>, tensor<?x2048xf8E8M0FNU>
  return %q, %s : tensor<?x65536xf8E4M3FN>, tensor<?x2048xf8E8M0FNU>
}

func.func @alone_16384(%x: tensor<?x16384xbf16>, %w: tensor<16384xbf16>)
    -> tensor<?x16384xbf16> {
  %y = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
      : tensor<?x16384xbf16>, tensor<16384xbf16> -> tensor<?x16384xbf16>
  return %y : tensor<?x16384xbf16>
}

func.func @all_65536(%x: tensor<?x65536xbf16>, %w: tensor<65536xf32>)
    -> (tensor<?x65536xbf16>, tensor<?xf32>, tensor<?x65536xf8E4M3FN>,
        tensor<?x2048xf8E8M0FNU>) {
  %y, %r = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
      : tensor<?x65536xbf16>, tensor<65536xf32>
      -> tensor<?x65536xbf16>, tensor<?xf32>
  %q, %s = lpfa.quantize %y axis(1)
      : tensor<?x65536xbf16> -> tensor<?x65536xf8E4M3FN>, tensor<?x2048xf8E8M0FNU>
  return %y, %r, %q, %s : tensor<?x65536xbf16>, tensor<?xf32>,
      tensor<?x65536xf8E4M3FN>, tensor<?x2048xf8E8M0FNU>
}

func.func @norm_squares(%x: tensor<?x?xbf16>, %w: tensor<?xbf16>)
    -> (tensor<?x?xf8E4M3FN>, tensor<?x?x32x4x4xf8E8M0FNU>,
        tensor<?x?x32x4x4xf8E8M0FNU>) {
  %y = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
      : tensor<?x?xbf16>, tensor<?xbf16> -> tensor<?x?xbf16>
  %q, %s = lpfa.quantize %y axis(1) square
      : tensor<?x?xbf16> -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
  %p, %t = lpfa.quantize %y axis(0) square
      : tensor<?x?xbf16> -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
  %b = lpfa.pack_scales %s : tensor<?x?xf8E8M0FNU> -> tensor<?x?x32x4x4xf8E8M0FNU>
  %c = lpfa.pack_scales %t transposed
      : tensor<?x?xf8E8M0FNU> -> tensor<?x?x32x4x4xf8E8M0FNU>
  return %q, %b, %c : tensor<?x?xf8E4M3FN>, tensor<?x?x32x4x4xf8E8M0FNU>,
      tensor<?x?x32x4x4xf8E8M0FNU>
}

func.func @norm_both(%x: tensor<?x?xf32>, %w: tensor<?xf32>)
    -> (tensor<?x?xbf16>, tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>,
        tensor<?x?xf8E5M2>, tensor<?x?x32x4x4xf8E8M0FNU>) {
  %y = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
      : tensor<?x?xf32>, tensor<?xf32> -> tensor<?x?xbf16>
  %q, %s = lpfa.quantize %y axis(1)
      : tensor<?x?xbf16> -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
  %p, %t = lpfa.quantize %y axis(0)
      : tensor<?x?xbf16> -> tensor<?x?xf8E5M2>, tensor<?x?xf8E8M0FNU>
  %c = lpfa.pack_scales %t transposed
      : tensor<?x?xf8E8M0FNU> -> tensor<?x?x32x4x4xf8E8M0FNU>
  return %y, %q, %s, %p, %c : tensor<?x?xbf16>, tensor<?x?xf8E4M3FN>,
      tensor<?x?xf8E8M0FNU>, tensor<?x?xf8E5M2>, tensor<?x?x32x4x4xf8E8M0FNU>
}

func.func @norm_128(%x: tensor<?x128xbf16>, %w: tensor<128xbf16>)
    -> (tensor<?x128xf8E4M3FN>, tensor<?x4xf8E8M0FNU>) {
  %y = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
      : tensor<?x128xbf16>, tensor<128xbf16> -> tensor<?x128xbf16>
  %q, %s = lpfa.quantize %y axis(1)
      : tensor<?x128xbf16> -> tensor<?x128xf8E4M3FN>, tensor<?x4xf8E8M0FNU>
  return %q, %s : tensor<?x128xf8E4M3FN>, tensor<?x4xf8E8M0FNU>
}

func.func @norm_720(%x: tensor<?x720xbf16>, %w: tensor<720xf32>)
    -> (tensor<?x720xf8E4M3FN>, tensor<?x23xf8E8M0FNU>) {
  %y = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
      : tensor<?x720xbf16>, tensor<720xf32> -> tensor<?x720xbf16>
  %q, %s = lpfa.quantize %y axis(1)
      : tensor<?x720xbf16> -> tensor<?x720xf8E4M3FN>, tensor<?x23xf8E8M0FNU>
  return %q, %s : tensor<?x720xf8E4M3FN>, tensor<?x23xf8E8M0FNU>
}

func.func @all_256(%x: tensor<?x256xf32>, %w: tensor<256xf32>)
    -> (tensor<?x256xbf16>, tensor<?xf32>, tensor<?x256xf6E2M3FN>,
        tensor<?x2x32x4x4xf8E8M0FNU>) {
  %y, %r = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
      : tensor<?x256xf32>, tensor<256xf32> -> tensor<?x256xbf16>, tensor<?xf32>
  %q, %s = lpfa.quantize %y axis(1)
      : tensor<?x256xbf16> -> tensor<?x256xf6E2M3FN>, tensor<?x8xf8E8M0FNU>
  %b = lpfa.pack_scales %s
      : tensor<?x8xf8E8M0FNU> -> tensor<?x2x32x4x4xf8E8M0FNU>
  return %y, %r, %q, %b : tensor<?x256xbf16>, tensor<?xf32>,
      tensor<?x256xf6E2M3FN>, tensor<?x2x32x4x4xf8E8M0FNU>
}

func.func @squares_128(%x: tensor<?x128xbf16>, %w: tensor<128xbf16>)
    -> (tensor<?x128xf8E4M3FN>, tensor<?x1x32x4x4xf8E8M0FNU>,
        tensor<1x?x32x4x4xf8E8M0FNU>) {
  %y = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
      : tensor<?x128xbf16>, tensor<128xbf16> -> tensor<?x128xbf16>
  %q, %s = lpfa.quantize %y axis(1) square
      : tensor<?x128xbf16> -> tensor<?x128xf8E4M3FN>, tensor<?x4xf8E8M0FNU>
  %p, %t = lpfa.quantize %y axis(0) square
      : tensor<?x128xbf16> -> tensor<?x128xf8E4M3FN>, tensor<?x128xf8E8M0FNU>
  %b = lpfa.pack_scales %s
      : tensor<?x4xf8E8M0FNU> -> tensor<?x1x32x4x4xf8E8M0FNU>
  %c = lpfa.pack_scales %t transposed
      : tensor<?x128xf8E8M0FNU> -> tensor<1x?x32x4x4xf8E8M0FNU>
  return %q, %b, %c : tensor<?x128xf8E4M3FN>, tensor<?x1x32x4x4xf8E8M0FNU>,
      tensor<1x?x32x4x4xf8E8M0FNU>
}

func.func @squares_256(%x: tensor<?x256xbf16>, %w: tensor<256xbf16>)
    -> (tensor<?x256xf8E4M3FN>, tensor<?x2x32x4x4xf8E8M0FNU>,
        tensor<2x?x32x4x4xf8E8M0FNU>) {
  %y = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
      : tensor<?x256xbf16>, tensor<256xbf16> -> tensor<?x256xbf16>
  %q, %s = lpfa.quantize %y axis(1) square
      : tensor<?x256xbf16> -> tensor<?x256xf8E4M3FN>, tensor<?x8xf8E8M0FNU>
  %p, %t = lpfa.quantize %y axis(0) square
      : tensor<?x256xbf16> -> tensor<?x256xf8E4M3FN>, tensor<?x256xf8E8M0FNU>
  %b = lpfa.pack_scales %s
      : tensor<?x8xf8E8M0FNU> -> tensor<?x2x32x4x4xf8E8M0FNU>
  %c = lpfa.pack_scales %t transposed
      : tensor<?x256xf8E8M0FNU> -> tensor<2x?x32x4x4xf8E8M0FNU>
  return %q, %b, %c : tensor<?x256xf8E4M3FN>, tensor<?x2x32x4x4xf8E8M0FNU>,
      tensor<2x?x32x4x4xf8E8M0FNU>
}

func.func @squares_4096(%x: tensor<?x4096xbf16>, %w: tensor<4096xf32>)
    -> (tensor<?x4096xf8E4M3FN>, tensor<?x32x32x4x4xf8E8M0FNU>,
        tensor<32x?x32x4x4xf8E8M0FNU>) {
  %y = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
      : tensor<?x4096xbf16>, tensor<4096xf32> -> tensor<?x4096xbf16>
  %q, %s = lpfa.quantize %y axis(1) square
      : tensor<?x4096xbf16> -> tensor<?x4096xf8E4M3FN>, tensor<?x128xf8E8M0FNU>
  %p, %t = lpfa.quantize %y axis(0) square
      : tensor<?x4096xbf16> -> tensor<?x4096xf8E4M3FN>, tensor<?x4096xf8E8M0FNU>
  %b = lpfa.pack_scales %s
      : tensor<?x128xf8E8M0FNU> -> tensor<?x32x32x4x4xf8E8M0FNU>
  %c = lpfa.pack_scales %t transposed
      : tensor<?x4096xf8E8M0FNU> -> tensor<32x?x32x4x4xf8E8M0FNU>
  return %q, %b, %c : tensor<?x4096xf8E4M3FN>, tensor<?x32x32x4x4xf8E8M0FNU>,
      tensor<32x?x32x4x4xf8E8M0FNU>
}

func.func @both_520(%x: tensor<?x520xf32>, %w: tensor<520xf32>)
    -> (tensor<?x520xbf16>, tensor<?xf32>, tensor<?x520xf8E4M3FN>,
        tensor<?x5x32x4x4xf8E8M0FNU>, tensor<?x520xf4E2M1FN>,
        tensor<?x520xf8E8M0FNU>) {
  %y, %r = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
      : tensor<?x520xf32>, tensor<520xf32> -> tensor<?x520xbf16>, tensor<?xf32>
  %q, %s = lpfa.quantize %y axis(1)
      : tensor<?x520xbf16> -> tensor<?x520xf8E4M3FN>, tensor<?x17xf8E8M0FNU>
  %p, %t = lpfa.quantize %y axis(0)
      : tensor<?x520xbf16> -> tensor<?x520xf4E2M1FN>, tensor<?x520xf8E8M0FNU>
  %b = lpfa.pack_scales %s
      : tensor<?x17xf8E8M0FNU> -> tensor<?x5x32x4x4xf8E8M0FNU>
  return %y, %r, %q, %b, %p, %t : tensor<?x520xbf16>, tensor<?xf32>,
      tensor<?x520xf8E4M3FN>, tensor<?x5x32x4x4xf8E8M0FNU>,
      tensor<?x520xf4E2M1FN>, tensor<?x520xf8E8M0FNU>
}

func.func @any(%x: tensor<?x?xf32>, %w: tensor<?xf32>)
    -> (tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>) {
  %y = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
      : tensor<?x?xf32>, tensor<?xf32> -> tensor<?x?xf32>
  %q, %s = lpfa.quantize %y axis(1)
      : tensor<?x?xf32> -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
  return %q, %s : tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU>
}

func.func @column(%x: tensor<?x8192xbf16>)
    -> (tensor<?x8192xf8E4M3FN>, tensor<?x8192xf8E8M0FNU>) {
  %q, %s = lpfa.quantize %x axis(0)
      : tensor<?x8192xbf16> -> tensor<?x8192xf8E4M3FN>, tensor<?x8192xf8E8M0FNU>
  return %q, %s : tensor<?x8192xf8E4M3FN>, tensor<?x8192xf8E8M0FNU>
}

func.func @back_4096(%q: tensor<?x4096xf8E4M3FN>, %s: tensor<?x128xf8E8M0FNU>,
    %x: tensor<?x4096xbf16>, %w: tensor<4096xbf16>,
    %r: tensor<?xf32>) -> (tensor<?x4096xbf16>, tensor<4096xbf16>) {
  %dy = lpfa.dequantize %q scaled %s axis(1)
      : tensor<?x4096xf8E4M3FN>, tensor<?x128xf8E8M0FNU> -> tensor<?x4096xbf16>
  %dx, %dw = lpfa.rms_norm_backward %dy, %x weight %w rstd %r
      : tensor<?x4096xbf16>, tensor<?x4096xbf16>, tensor<4096xbf16>, tensor<?xf32>
      -> tensor<?x4096xbf16>, tensor<4096xbf16>
  return %dx, %dw : tensor<?x4096xbf16>, tensor<4096xbf16>
}

func.func @back_8192(%dy: tensor<?x8192xbf16>, %x: tensor<?x8192xbf16>, %w: tensor<8192xf32>,
    %r: tensor<?xf32>) -> (tensor<?x8192xbf16>, tensor<8192xf32>) {
  %dx, %dw = lpfa.rms_norm_backward %dy, %x weight %w rstd %r
      : tensor<?x8192xbf16>, tensor<?x8192xbf16>, tensor<8192xf32>, tensor<?xf32>
      -> tensor<?x8192xbf16>, tensor<8192xf32>
  return %dx, %dw : tensor<?x8192xbf16>, tensor<8192xf32>
}

func.func @back_16384(%q: tensor<?x16384xf8E4M3FN>, %s: tensor<?x512xf8E8M0FNU>,
    %x: tensor<?x16384xbf16>, %w: tensor<16384xbf16>,
    %r: tensor<?xf32>) -> (tensor<?x16384xbf16>, tensor<16384xbf16>) {
  %dy = lpfa.dequantize %q scaled %s axis(1)
      : tensor<?x16384xf8E4M3FN>, tensor<?x512xf8E8M0FNU> -> tensor<?x16384xbf16>
  %dx, %dw = lpfa.rms_norm_backward %dy, %x weight %w rstd %r
      : tensor<?x16384xbf16>, tensor<?x16384xbf16>, tensor<16384xbf16>, tensor<?xf32>
      -> tensor<?x16384xbf16>, tensor<16384xbf16>
  return %dx, %dw : tensor<?x16384xbf16>, tensor<16384xbf16>
}

func.func @back_65536(%dy: tensor<?x65536xbf16>, %x: tensor<?x65536xbf16>, %w: tensor<65536xbf16>,
    %r: tensor<?xf32>) -> (tensor<?x65536xbf16>, tensor<65536xbf16>) {
  %dx, %dw = lpfa.rms_norm_backward %dy, %x weight %w rstd %r
      : tensor<?x65536xbf16>, tensor<?x65536xbf16>, tensor<65536xbf16>, tensor<?xf32>
      -> tensor<?x65536xbf16>, tensor<65536xbf16>
  return %dx, %dw : tensor<?x65536xbf16>, tensor<65536xbf16>
}

func.func @back_any(%q: tensor<?x?xf8E4M3FN>, %s: tensor<?x?xf8E8M0FNU>,
    %x: tensor<?x?xbf16>, %w: tensor<?xf32>,
    %r: tensor<?xf32>) -> (tensor<?x?xbf16>, tensor<?xf32>) {
  %dy = lpfa.dequantize %q scaled %s axis(1)
      : tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU> -> tensor<?x?xf32>
  %dx, %dw = lpfa.rms_norm_backward %dy, %x weight %w rstd %r
      : tensor<?x?xf32>, tensor<?x?xbf16>, tensor<?xf32>, tensor<?xf32>
      -> tensor<?x?xbf16>, tensor<?xf32>
  return %dx, %dw : tensor<?x?xbf16>, tensor<?xf32>
}

func.func @f16_1024(%x: tensor<?x1024xf16>, %w: tensor<1024xf16>)
    -> (tensor<?x1024xf8E4M3FN>, tensor<?x32xf8E8M0FNU>) {
  %y = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
      : tensor<?x1024xf16>, tensor<1024xf16> -> tensor<?x1024xf16>
  %q, %s = lpfa.quantize %y axis(1)
      : tensor<?x1024xf16> -> tensor<?x1024xf8E4M3FN>, tensor<?x32xf8E8M0FNU>
  return %q, %s : tensor<?x1024xf8E4M3FN>, tensor<?x32xf8E8M0FNU>
}

func.func @f16_4096(%x: tensor<?x4096xf16>, %w: tensor<4096xf16>)
    -> (tensor<?x4096xf8E4M3FN>, tensor<?x128xf8E8M0FNU>) {
  %y = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
      : tensor<?x4096xf16>, tensor<4096xf16> -> tensor<?x4096xf16>
  %q, %s = lpfa.quantize %y axis(1)
      : tensor<?x4096xf16> -> tensor<?x4096xf8E4M3FN>, tensor<?x128xf8E8M0FNU>
  return %q, %s : tensor<?x4096xf8E4M3FN>, tensor<?x128xf8E8M0FNU>
}

func.func @f16_rstd(%x: tensor<?x16384xf16>, %w: tensor<16384xf16>) -> tensor<?xf32> {
  %y, %r = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
      : tensor<?x16384xf16>, tensor<16384xf16> -> tensor<?x16384xf16>, tensor<?xf32>
  return %r : tensor<?xf32>
}
