// RUN: lpfa-opt %s -verify-roundtrip | FileCheck %s
// RUN: lpfa-opt %s -emit-bytecode | lpfa-opt | FileCheck %s
// RUN: lpfa-opt %s -mlir-print-op-generic | lpfa-opt | FileCheck %s

// CHECK-LABEL: func.func @quantize
func.func @quantize(%x: tensor<?x64xf32>)
    -> (tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>) {
  // CHECK: lpfa.quantize %{{.*}} axis(1) rule(floor) : tensor<?x64xf32> -> tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
  %q, %s = lpfa.quantize %x axis(1) rule(floor)
      : tensor<?x64xf32> -> tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
  return %q, %s : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
}

// The default rule is not printed; the last block may be shorter.
// CHECK-LABEL: func.func @quantize_first_axis
func.func @quantize_first_axis(%x: tensor<33x?x5xbf16>)
    -> (tensor<33x?x5xf4E2M1FN>, tensor<2x?x5xf8E8M0FNU>) {
  // CHECK: lpfa.quantize %{{.*}} axis(0) : tensor<33x?x5xbf16>
  %q, %s = lpfa.quantize %x axis(0) rule(rceil)
      : tensor<33x?x5xbf16> -> tensor<33x?x5xf4E2M1FN>, tensor<2x?x5xf8E8M0FNU>
  return %q, %s : tensor<33x?x5xf4E2M1FN>, tensor<2x?x5xf8E8M0FNU>
}

// CHECK-LABEL: func.func @quantize_dynamic_axis
func.func @quantize_dynamic_axis(%x: tensor<?xf16>)
    -> (tensor<?xf6E2M3FN>, tensor<?xf8E8M0FNU>) {
  // CHECK: lpfa.quantize %{{.*}} axis(0) {name = "x"} : tensor<?xf16>
  %q, %s = lpfa.quantize %x axis(0) {name = "x"}
      : tensor<?xf16> -> tensor<?xf6E2M3FN>, tensor<?xf8E8M0FNU>
  return %q, %s : tensor<?xf6E2M3FN>, tensor<?xf8E8M0FNU>
}

// CHECK-LABEL: func.func @quantize_squares
func.func @quantize_squares(%x: tensor<?x64xf32>)
    -> (tensor<?x64xf8E4M3FN>, tensor<?x64xf8E8M0FNU>) {
  // CHECK: lpfa.quantize %{{.*}} axis(0) square : tensor<?x64xf32>
  %q, %s = lpfa.quantize %x axis(0) square
      : tensor<?x64xf32> -> tensor<?x64xf8E4M3FN>, tensor<?x64xf8E8M0FNU>
  return %q, %s : tensor<?x64xf8E4M3FN>, tensor<?x64xf8E8M0FNU>
}

// CHECK-LABEL: func.func @nvfp4
func.func @nvfp4(%x: tensor<?x64xf32>, %g: tensor<f32>) -> tensor<?x64xbf16> {
  // CHECK: lpfa.quantize %{{.*}} axis(1) global(%{{.*}} : tensor<f32>) : tensor<?x64xf32> -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
  %q, %s = lpfa.quantize %x axis(1) global(%g : tensor<f32>)
      : tensor<?x64xf32> -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
  // CHECK: lpfa.dequantize %{{.*}} scaled %{{.*}} axis(1) global(%{{.*}} : tensor<f32>)
  %y = lpfa.dequantize %q scaled %s axis(1) global(%g : tensor<f32>)
      : tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN> -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

// CHECK-LABEL: func.func @dequantize
func.func @dequantize(%q: tensor<?x64xf8E5M2>, %s: tensor<4x2xf8E8M0FNU>)
    -> tensor<?x64xbf16> {
  // CHECK: lpfa.dequantize %{{.*}} scaled %{{.*}} axis(1) : tensor<?x64xf8E5M2>, tensor<4x2xf8E8M0FNU> -> tensor<?x64xbf16>
  %x = lpfa.dequantize %q scaled %s axis(1)
      : tensor<?x64xf8E5M2>, tensor<4x2xf8E8M0FNU> -> tensor<?x64xbf16>
  return %x : tensor<?x64xbf16>
}

// CHECK-LABEL: func.func @pack_scales
func.func @pack_scales(%s: tensor<2x200x6xf8E8M0FNU>, %t: tensor<?x64xf8E8M0FNU>)
    -> (tensor<2x2x2x32x4x4xf8E8M0FNU>, tensor<1x?x32x4x4xf8E8M0FNU>) {
  // CHECK: lpfa.pack_scales %{{.*}} : tensor<2x200x6xf8E8M0FNU> -> tensor<2x2x2x32x4x4xf8E8M0FNU>
  %b = lpfa.pack_scales %s
      : tensor<2x200x6xf8E8M0FNU> -> tensor<2x2x2x32x4x4xf8E8M0FNU>
  // CHECK: lpfa.pack_scales %{{.*}} transposed : tensor<?x64xf8E8M0FNU> -> tensor<1x?x32x4x4xf8E8M0FNU>
  %c = lpfa.pack_scales %t transposed
      : tensor<?x64xf8E8M0FNU> -> tensor<1x?x32x4x4xf8E8M0FNU>
  return %b, %c
      : tensor<2x2x2x32x4x4xf8E8M0FNU>, tensor<1x?x32x4x4xf8E8M0FNU>
}

// CHECK-LABEL: func.func @unpack_scales
func.func @unpack_scales(%b: tensor<2x?x2x32x4x4xf8E8M0FNU>,
                         %c: tensor<1x?x32x4x4xf8E8M0FNU>, %n: index)
    -> (tensor<2x?x6xf8E8M0FNU>, tensor<7x64xf8E8M0FNU>) {
  // CHECK: lpfa.unpack_scales %{{.*}} sizes(%{{.*}}) : tensor<2x?x2x32x4x4xf8E8M0FNU> -> tensor<2x?x6xf8E8M0FNU>
  %s = lpfa.unpack_scales %b sizes(%n)
      : tensor<2x?x2x32x4x4xf8E8M0FNU> -> tensor<2x?x6xf8E8M0FNU>
  // CHECK: lpfa.unpack_scales %{{.*}} transposed : tensor<1x?x32x4x4xf8E8M0FNU> -> tensor<7x64xf8E8M0FNU>
  %t = lpfa.unpack_scales %c transposed
      : tensor<1x?x32x4x4xf8E8M0FNU> -> tensor<7x64xf8E8M0FNU>
  return %s, %t : tensor<2x?x6xf8E8M0FNU>, tensor<7x64xf8E8M0FNU>
}

// Defaults are not printed.
// CHECK-LABEL: func.func @attention
func.func @attention(
    %q: tensor<1x8x?x64xf8E4M3FN>, %sq: tensor<1x8x?x2xf8E8M0FNU>,
    %k: tensor<1x2x?x64xf8E4M3FN>, %sk: tensor<1x2x?x2xf8E8M0FNU>,
    %v: tensor<1x2x?x64xf8E4M3FN>, %sv: tensor<1x2x?x64xf8E8M0FNU>)
    -> (tensor<1x8x?x64xbf16>, tensor<1x8x?xf32>) {
  // CHECK: lpfa.attention %{{.*}} scaled %{{.*}}, %{{.*}} scaled %{{.*}}, %{{.*}} scaled %{{.*}} {scale = 1.250000e-01 : f32} :
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.125 : f32, mask = #lpfa.mask<none>,
       p_scale = #lpfa.p_scale<row_max, rounding = rceil, element = f8E4M3FN,
                               lag = 32>}
      : (tensor<1x8x?x64xf8E4M3FN>, tensor<1x8x?x2xf8E8M0FNU>,
         tensor<1x2x?x64xf8E4M3FN>, tensor<1x2x?x2xf8E8M0FNU>,
         tensor<1x2x?x64xf8E4M3FN>, tensor<1x2x?x64xf8E8M0FNU>)
      -> (tensor<1x8x?x64xbf16>, tensor<1x8x?xf32>)
  return %o, %lse : tensor<1x8x?x64xbf16>, tensor<1x8x?xf32>
}

// Blocked scales, and V with a head dimension and a format of its own.
// CHECK-LABEL: func.func @attention_blocked
func.func @attention_blocked(
    %q: tensor<2x4x300x192xf8E5M2>, %sq: tensor<2x4x3x2x32x4x4xf8E8M0FNU>,
    %k: tensor<2x4x100x192xf6E3M2FN>, %sk: tensor<2x4x1x2x32x4x4xf8E8M0FNU>,
    %v: tensor<2x4x100x128xf4E2M1FN>, %sv: tensor<2x4x1x1x32x4x4xf8E8M0FNU>)
    -> (tensor<2x4x300x128xf16>, tensor<2x4x300xf32>) {
  // CHECK: lpfa.attention {{.*}} {mask = #lpfa.mask<causal, bottom_right>, p_scale = #lpfa.p_scale<constant, element = f8E5M2, lag = 2>, scale = 5.000000e-01 : f32}
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.5 : f32, mask = #lpfa.mask<causal, bottom_right>,
       p_scale = #lpfa.p_scale<constant, element = f8E5M2, lag = 2>}
      : (tensor<2x4x300x192xf8E5M2>, tensor<2x4x3x2x32x4x4xf8E8M0FNU>,
         tensor<2x4x100x192xf6E3M2FN>, tensor<2x4x1x2x32x4x4xf8E8M0FNU>,
         tensor<2x4x100x128xf4E2M1FN>, tensor<2x4x1x1x32x4x4xf8E8M0FNU>)
      -> (tensor<2x4x300x128xf16>, tensor<2x4x300xf32>)
  return %o, %lse : tensor<2x4x300x128xf16>, tensor<2x4x300xf32>
}

// Jagged: V's scales take a place of their own for every sequence.
// CHECK-LABEL: func.func @attention_jagged
func.func @attention_jagged(
    %q: tensor<1x4x1000x64xf8E4M3FN>, %sq: tensor<1x4x1000x2xf8E8M0FNU>,
    %k: tensor<1x4x900x64xf8E4M3FN>, %sk: tensor<1x4x9x1x32x4x4xf8E8M0FNU>,
    %v: tensor<1x4x900x64xf8E4M3FN>, %sv: tensor<1x4x31x64xf8E8M0FNU>,
    %cu_q: tensor<4xi32>, %cu_k: tensor<?xi32>)
    -> (tensor<1x4x1000x64xf32>, tensor<1x4x1000xf32>) {
  // CHECK: lpfa.attention {{.*}} offsets(%{{.*}}, %{{.*}}) {scale = 1.250000e-01 : f32}
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      offsets(%cu_q, %cu_k) {scale = 0.125 : f32}
      : (tensor<1x4x1000x64xf8E4M3FN>, tensor<1x4x1000x2xf8E8M0FNU>,
         tensor<1x4x900x64xf8E4M3FN>, tensor<1x4x9x1x32x4x4xf8E8M0FNU>,
         tensor<1x4x900x64xf8E4M3FN>, tensor<1x4x31x64xf8E8M0FNU>,
         tensor<4xi32>, tensor<?xi32>)
      -> (tensor<1x4x1000x64xf32>, tensor<1x4x1000xf32>)
  return %o, %lse : tensor<1x4x1000x64xf32>, tensor<1x4x1000xf32>
}

// CHECK-LABEL: func.func @codes
func.func @codes(%x: f32, %s: f8E8M0FNU) -> (f6E2M3FN, f32) {
  // CHECK: lpfa.encode %{{.*}} : f32 to f6E2M3FN
  %code = lpfa.encode %x : f32 to f6E2M3FN
  // CHECK: lpfa.decode %{{.*}} : f8E8M0FNU to f32
  %scale = lpfa.decode %s : f8E8M0FNU to f32
  return %code, %scale : f6E2M3FN, f32
}

// CHECK-LABEL: func.func private @attributes
func.func private @attributes() attributes {
  // CHECK-SAME: m0 = #lpfa.mask<none>
  m0 = #lpfa.mask<none>,
  // CHECK-SAME: m1 = #lpfa.mask<causal, top_left>
  m1 = #lpfa.mask<causal, top_left>,
  // CHECK-SAME: m2 = #lpfa.mask<sliding_window, top_left, left = 128>
  m2 = #lpfa.mask<sliding_window, top_left, left = 128>,
  // CHECK-SAME: m3 = #lpfa.mask<sliding_window, bottom_right, left = 127, right = 0>
  m3 = #lpfa.mask<sliding_window, bottom_right, right = 0, left = 127>,
  // CHECK-SAME: p0 = #lpfa.p_scale<row_max>
  p0 = #lpfa.p_scale<row_max, lag = 32>,
  // CHECK-SAME: p1 = #lpfa.p_scale<row_max, rounding = ceil, lag = 0>
  p1 = #lpfa.p_scale<row_max, lag = 0, rounding = ceil>,
  // CHECK-SAME: p2 = #lpfa.p_scale<block_max, rounding = floor>
  p2 = #lpfa.p_scale<block_max, rounding = floor>,
  // CHECK-SAME: p3 = #lpfa.p_scale<constant>
  p3 = #lpfa.p_scale<constant, lag = 0>}
