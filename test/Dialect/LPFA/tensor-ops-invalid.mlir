// RUN: lpfa-opt %s -split-input-file -verify-diagnostics

// Every numbered constraint of the tensor-level ops and attributes, in order.

// Mask, C1
// expected-error @+1 {{only a sliding window takes bounds}}
func.func private @f() attributes {a = #lpfa.mask<causal, top_left, right = 0>}

// -----

// Mask, C1
// expected-error @+1 {{a sliding window needs a left or a right bound}}
func.func private @f() attributes {a = #lpfa.mask<sliding_window, top_left>}

// -----

// Mask, C2
// expected-error @+1 {{the bounds of a mask must not be negative}}
func.func private @f() attributes {a = #lpfa.mask<sliding_window, top_left, left = -1>}

// -----

// Mask: a word it does not know
// expected-error @+1 {{expected 'left' or 'right'}}
func.func private @f() attributes {a = #lpfa.mask<sliding_window, top_left, width = 1>}

// -----

// Mask: an alignment is needed
// expected-error @+1 {{expected ','}}
func.func private @f() attributes {a = #lpfa.mask<causal>}

// -----

// PScale, C1
// expected-error @+1 {{the element type of the probabilities must be an MX element type, but is 'f32'}}
func.func private @f() attributes {a = #lpfa.p_scale<row_max, element = f32>}

// -----

// PScale, C2
// expected-error @+1 {{the lag of mode 'row_max' must be 0 to 32, but is 33}}
func.func private @f() attributes {a = #lpfa.p_scale<row_max, lag = 33>}

// -----

// PScale, C2
// expected-error @+1 {{the lag of mode 'constant' must be 0 to 2, but is 3}}
func.func private @f() attributes {a = #lpfa.p_scale<constant, lag = 3>}

// -----

// PScale, C3
// expected-error @+1 {{mode 'constant' takes no rounding}}
func.func private @f() attributes {a = #lpfa.p_scale<constant, rounding = floor>}

// -----

// PScale, C3
// expected-error @+1 {{mode 'block_max' takes the rounding 'rceil' or 'floor'}}
func.func private @f() attributes {a = #lpfa.p_scale<block_max, rounding = ceil>}

// -----

// PScale: a word it does not know
// expected-error @+1 {{expected 'rounding', 'element' or 'lag'}}
func.func private @f() attributes {a = #lpfa.p_scale<row_max, width = 1>}

// -----

// Quantize, C1
func.func @f(%x: tensor<4x64xf32>) {
  // expected-error @+1 {{expects the axis to be less than the input's rank 2, but got 2}}
  %q, %s = lpfa.quantize %x axis(2)
      : tensor<4x64xf32> -> tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU>
  return
}

// -----

// Quantize, C1
func.func @f(%x: tensor<4x64xf32>) {
  // expected-error @+1 {{attribute 'axis' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
  %q, %s = lpfa.quantize %x axis(-1)
      : tensor<4x64xf32> -> tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU>
  return
}

// -----

// Quantize, C2
func.func @f(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{expects elements of shape ?x64, but got 4x64}}
  %q, %s = lpfa.quantize %x axis(1)
      : tensor<?x64xf32> -> tensor<4x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
  return
}

// -----

// Quantize, C3
func.func @f(%x: tensor<4x65xf32>) {
  // expected-error @+1 {{expects scales of shape 4x3, but got 4x2}}
  %q, %s = lpfa.quantize %x axis(1)
      : tensor<4x65xf32> -> tensor<4x65xf8E4M3FN>, tensor<4x2xf8E8M0FNU>
  return
}

// -----

// Quantize, C4
func.func @f(%x: tensor<4x64xf32>) {
  // expected-error @+1 {{expects the rule 'rceil' or 'floor'}}
  %q, %s = lpfa.quantize %x axis(1) rule(ceil)
      : tensor<4x64xf32> -> tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU>
  return
}

// -----

// Quantize, C4
func.func @f(%x: tensor<4x64xf32>, %g: tensor<f32>) {
  // expected-error @+1 {{expects no rule with a global scale}}
  %q, %s = lpfa.quantize %x axis(1) rule(floor) global(%g : tensor<f32>)
      : tensor<4x64xf32> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

// Quantize, C5
func.func @f(%x: tensor<4x64x64xf32>) {
  // expected-error @+1 {{expects the axis of squares to be one of the last two of at least two dimensions}}
  %q, %s = lpfa.quantize %x axis(0) square : tensor<4x64x64xf32>
      -> tensor<4x64x64xf8E4M3FN>, tensor<1x64x64xf8E8M0FNU>
  return
}

// -----

// Quantize, C5
func.func @f(%x: tensor<4x64xf32>, %g: tensor<f32>) {
  // expected-error @+1 {{expects no squares with a global scale}}
  %q, %s = lpfa.quantize %x axis(1) square global(%g : tensor<f32>)
      : tensor<4x64xf32> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

// Quantize, C6
func.func @f(%x: tensor<4x64xf32>) {
  // expected-error @+1 {{expects a global scale with scales of f8E4M3FN, and with no others}}
  %q, %s = lpfa.quantize %x axis(1)
      : tensor<4x64xf32> -> tensor<4x64xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

// Quantize, C6
func.func @f(%x: tensor<4x64xf32>, %g: tensor<f32>) {
  // expected-error @+1 {{expects elements of f4E2M1FN with scales of f8E4M3FN}}
  %q, %s = lpfa.quantize %x axis(1) global(%g : tensor<f32>)
      : tensor<4x64xf32> -> tensor<4x64xf8E4M3FN>, tensor<4x4xf8E4M3FN>
  return
}

// -----

// Dequantize, C4
func.func @f(%q: tensor<4x64xf4E2M1FN>, %s: tensor<4x2xf8E8M0FNU>, %g: tensor<f32>) {
  // expected-error @+1 {{expects a global scale with scales of f8E4M3FN, and with no others}}
  %x = lpfa.dequantize %q scaled %s axis(1) global(%g : tensor<f32>)
      : tensor<4x64xf4E2M1FN>, tensor<4x2xf8E8M0FNU> -> tensor<4x64xf32>
  return
}

// -----

// Quantize: types
func.func @f(%x: tensor<4x64xf64>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of f32, bf16 or f16 values}}
  %q, %s = lpfa.quantize %x axis(1)
      : tensor<4x64xf64> -> tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU>
  return
}

// -----

// Quantize: types
func.func @f(%x: tensor<4x64xf32>) {
  // expected-error @+1 {{result #0 must be ranked tensor of MX element type}}
  %q, %s = lpfa.quantize %x axis(1)
      : tensor<4x64xf32> -> tensor<4x64xf8E4M3FNUZ>, tensor<4x2xf8E8M0FNU>
  return
}

// -----

// Quantize: types
func.func @f(%x: tensor<4x64xf32>) {
  // expected-error @+1 {{result #1 must be ranked tensor of scale type}}
  %q, %s = lpfa.quantize %x axis(1)
      : tensor<4x64xf32> -> tensor<4x64xf8E4M3FN>, tensor<4x2xf8E5M2>
  return
}

// -----

// Dequantize, C1
func.func @f(%q: tensor<4x64xf8E4M3FN>, %s: tensor<4x2xf8E8M0FNU>) {
  // expected-error @+1 {{expects the axis to be less than the elements' rank 2, but got 2}}
  %x = lpfa.dequantize %q scaled %s axis(2)
      : tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU> -> tensor<4x64xf32>
  return
}

// -----

// Dequantize, C2
func.func @f(%q: tensor<4x64xf8E4M3FN>, %s: tensor<4x2xf8E8M0FNU>) {
  // expected-error @+1 {{expects an output of shape 4x64, but got 4x65}}
  %x = lpfa.dequantize %q scaled %s axis(1)
      : tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU> -> tensor<4x65xf32>
  return
}

// -----

// Dequantize, C3
func.func @f(%q: tensor<4x64xf8E4M3FN>, %s: tensor<4x2xf8E8M0FNU>) {
  // expected-error @+1 {{expects scales of shape 1x64, but got 4x2}}
  %x = lpfa.dequantize %q scaled %s axis(0)
      : tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU> -> tensor<4x64xf32>
  return
}

// -----

// Dequantize, C3
func.func @f(%q: tensor<4x64xf8E4M3FN>, %s: tensor<8xf8E8M0FNU>) {
  // expected-error @+1 {{expects scales of shape 4x2, but got 8}}
  %x = lpfa.dequantize %q scaled %s axis(1)
      : tensor<4x64xf8E4M3FN>, tensor<8xf8E8M0FNU> -> tensor<4x64xf32>
  return
}

// -----

// PackScales, C1
func.func @f(%s: tensor<128xf8E8M0FNU>) {
  // expected-error @+1 {{expects row-major scales of rank 2 or more, but got rank 1}}
  %b = lpfa.pack_scales %s : tensor<128xf8E8M0FNU> -> tensor<1x32x4x4xf8E8M0FNU>
  return
}

// -----

// PackScales, C2
func.func @f(%s: tensor<200x6xf8E8M0FNU>) {
  // expected-error @+1 {{expects blocked scales of shape 2x2x32x4x4, but got 2x1x32x4x4}}
  %b = lpfa.pack_scales %s : tensor<200x6xf8E8M0FNU> -> tensor<2x1x32x4x4xf8E8M0FNU>
  return
}

// -----

// PackScales, C2: the transposed shape
func.func @f(%s: tensor<200x6xf8E8M0FNU>) {
  // expected-error @+1 {{expects blocked scales of shape 1x50x32x4x4, but got 2x2x32x4x4}}
  %b = lpfa.pack_scales %s transposed : tensor<200x6xf8E8M0FNU> -> tensor<2x2x32x4x4xf8E8M0FNU>
  return
}

// -----

// PackScales, C2: the batch
func.func @f(%s: tensor<3x200x6xf8E8M0FNU>) {
  // expected-error @+1 {{expects blocked scales of shape 3x2x2x32x4x4, but got 2x2x2x32x4x4}}
  %b = lpfa.pack_scales %s : tensor<3x200x6xf8E8M0FNU> -> tensor<2x2x2x32x4x4xf8E8M0FNU>
  return
}

// -----

// UnpackScales, C1
func.func @f(%s: tensor<1x32x4x4xf8E8M0FNU>) {
  // expected-error @+1 {{expects row-major scales of rank 2 or more, but got rank 1}}
  %b = lpfa.unpack_scales %s : tensor<1x32x4x4xf8E8M0FNU> -> tensor<128xf8E8M0FNU>
  return
}

// -----

// UnpackScales, C2
func.func @f(%s: tensor<2x1x32x4x4xf8E8M0FNU>) {
  // expected-error @+1 {{expects blocked scales of shape 2x2x32x4x4, but got 2x1x32x4x4}}
  %b = lpfa.unpack_scales %s : tensor<2x1x32x4x4xf8E8M0FNU> -> tensor<200x6xf8E8M0FNU>
  return
}

// -----

// UnpackScales, C2: the batch
func.func @f(%s: tensor<?x2x2x32x4x4xf8E8M0FNU>) {
  // expected-error @+1 {{expects scales with the batch dimensions of the blocked scales}}
  %b = lpfa.unpack_scales %s : tensor<?x2x2x32x4x4xf8E8M0FNU> -> tensor<3x200x6xf8E8M0FNU>
  return
}

// -----

// UnpackScales, C3
func.func @f(%s: tensor<?x2x32x4x4xf8E8M0FNU>) {
  // expected-error @+1 {{expects 1 sizes, one for each dynamic one of the last two dimensions of the result, but got 0}}
  %b = lpfa.unpack_scales %s : tensor<?x2x32x4x4xf8E8M0FNU> -> tensor<?x6xf8E8M0FNU>
  return
}

// -----

// UnpackScales, C3
func.func @f(%s: tensor<2x2x32x4x4xf8E8M0FNU>, %n: index) {
  // expected-error @+1 {{expects 0 sizes, one for each dynamic one of the last two dimensions of the result, but got 1}}
  %b = lpfa.unpack_scales %s sizes(%n) : tensor<2x2x32x4x4xf8E8M0FNU> -> tensor<200x6xf8E8M0FNU>
  return
}

// -----

// Attention, C1
func.func @f(
    %q: tensor<2x4x100x64xf8E4M3FN>, %sq: tensor<2x4x100x2xf8E8M0FNU>,
    %k: tensor<2x80x64xf8E4M3FN>, %sk: tensor<2x2x80x2xf8E8M0FNU>,
    %v: tensor<2x2x80x64xf8E4M3FN>, %sv: tensor<2x2x3x64xf8E8M0FNU>) {
  // expected-error @+1 {{expects K of rank 4 (batch x heads x sequence x head dimension), but got 'tensor<2x80x64xf8E4M3FN>'}}
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.125 : f32}
      : (tensor<2x4x100x64xf8E4M3FN>, tensor<2x4x100x2xf8E8M0FNU>,
         tensor<2x80x64xf8E4M3FN>, tensor<2x2x80x2xf8E8M0FNU>,
         tensor<2x2x80x64xf8E4M3FN>, tensor<2x2x3x64xf8E8M0FNU>)
      -> (tensor<2x4x100x64xf32>, tensor<2x4x100xf32>)
  return
}

// -----

// Attention, C1
func.func @f(
    %q: tensor<2x4x100x64xf8E4M3FN>, %sq: tensor<2x4x100x2xf8E8M0FNU>,
    %k: tensor<2x2x80x64xf8E4M3FN>, %sk: tensor<2x2x80x2xf8E8M0FNU>,
    %v: tensor<2x2x80x?xf8E4M3FN>, %sv: tensor<2x2x3x64xf8E8M0FNU>) {
  // expected-error @+1 {{expects V with a static head dimension above 0, but got 'tensor<2x2x80x?xf8E4M3FN>'}}
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.125 : f32}
      : (tensor<2x4x100x64xf8E4M3FN>, tensor<2x4x100x2xf8E8M0FNU>,
         tensor<2x2x80x64xf8E4M3FN>, tensor<2x2x80x2xf8E8M0FNU>,
         tensor<2x2x80x?xf8E4M3FN>, tensor<2x2x3x64xf8E8M0FNU>)
      -> (tensor<2x4x100x64xf32>, tensor<2x4x100xf32>)
  return
}

// -----

// Attention, C2
func.func @f(
    %q: tensor<2x4x100x64xf8E4M3FN>, %sq: tensor<2x4x100x2xf8E8M0FNU>,
    %k: tensor<1x2x80x64xf8E4M3FN>, %sk: tensor<1x2x80x2xf8E8M0FNU>,
    %v: tensor<2x2x80x64xf8E4M3FN>, %sv: tensor<2x2x3x64xf8E8M0FNU>) {
  // expected-error @+1 {{expects Q, K and V of the same batch size}}
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.125 : f32}
      : (tensor<2x4x100x64xf8E4M3FN>, tensor<2x4x100x2xf8E8M0FNU>,
         tensor<1x2x80x64xf8E4M3FN>, tensor<1x2x80x2xf8E8M0FNU>,
         tensor<2x2x80x64xf8E4M3FN>, tensor<2x2x3x64xf8E8M0FNU>)
      -> (tensor<2x4x100x64xf32>, tensor<2x4x100xf32>)
  return
}

// -----

// Attention, C2: K and V where Q does not tell
func.func @f(
    %q: tensor<?x4x100x64xf8E4M3FN>, %sq: tensor<?x4x100x2xf8E8M0FNU>,
    %k: tensor<3x2x80x64xf8E4M3FN>, %sk: tensor<3x2x80x2xf8E8M0FNU>,
    %v: tensor<2x2x80x64xf8E4M3FN>, %sv: tensor<2x2x3x64xf8E8M0FNU>) {
  // expected-error @+1 {{expects Q, K and V of the same batch size}}
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.125 : f32}
      : (tensor<?x4x100x64xf8E4M3FN>, tensor<?x4x100x2xf8E8M0FNU>,
         tensor<3x2x80x64xf8E4M3FN>, tensor<3x2x80x2xf8E8M0FNU>,
         tensor<2x2x80x64xf8E4M3FN>, tensor<2x2x3x64xf8E8M0FNU>)
      -> (tensor<?x4x100x64xf32>, tensor<?x4x100xf32>)
  return
}

// -----

// Attention, C3: heads
func.func @f(
    %q: tensor<2x4x100x64xf8E4M3FN>, %sq: tensor<2x4x100x2xf8E8M0FNU>,
    %k: tensor<2x2x80x64xf8E4M3FN>, %sk: tensor<2x2x80x2xf8E8M0FNU>,
    %v: tensor<2x4x80x64xf8E4M3FN>, %sv: tensor<2x4x3x64xf8E8M0FNU>) {
  // expected-error @+1 {{expects K and V with the same number of heads and the same length}}
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.125 : f32}
      : (tensor<2x4x100x64xf8E4M3FN>, tensor<2x4x100x2xf8E8M0FNU>,
         tensor<2x2x80x64xf8E4M3FN>, tensor<2x2x80x2xf8E8M0FNU>,
         tensor<2x4x80x64xf8E4M3FN>, tensor<2x4x3x64xf8E8M0FNU>)
      -> (tensor<2x4x100x64xf32>, tensor<2x4x100xf32>)
  return
}

// -----

// Attention, C3: length
func.func @f(
    %q: tensor<2x4x100x64xf8E4M3FN>, %sq: tensor<2x4x100x2xf8E8M0FNU>,
    %k: tensor<2x2x80x64xf8E4M3FN>, %sk: tensor<2x2x80x2xf8E8M0FNU>,
    %v: tensor<2x2x81x64xf8E4M3FN>, %sv: tensor<2x2x3x64xf8E8M0FNU>) {
  // expected-error @+1 {{expects K and V with the same number of heads and the same length}}
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.125 : f32}
      : (tensor<2x4x100x64xf8E4M3FN>, tensor<2x4x100x2xf8E8M0FNU>,
         tensor<2x2x80x64xf8E4M3FN>, tensor<2x2x80x2xf8E8M0FNU>,
         tensor<2x2x81x64xf8E4M3FN>, tensor<2x2x3x64xf8E8M0FNU>)
      -> (tensor<2x4x100x64xf32>, tensor<2x4x100xf32>)
  return
}

// -----

// Attention, C4
func.func @f(
    %q: tensor<2x4x100x64xf8E4M3FN>, %sq: tensor<2x4x100x2xf8E8M0FNU>,
    %k: tensor<2x2x80x128xf8E4M3FN>, %sk: tensor<2x2x80x4xf8E8M0FNU>,
    %v: tensor<2x2x80x64xf8E4M3FN>, %sv: tensor<2x2x3x64xf8E8M0FNU>) {
  // expected-error @+1 {{expects Q and K of the same head dimension, but got 64 and 128}}
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.125 : f32}
      : (tensor<2x4x100x64xf8E4M3FN>, tensor<2x4x100x2xf8E8M0FNU>,
         tensor<2x2x80x128xf8E4M3FN>, tensor<2x2x80x4xf8E8M0FNU>,
         tensor<2x2x80x64xf8E4M3FN>, tensor<2x2x3x64xf8E8M0FNU>)
      -> (tensor<2x4x100x64xf32>, tensor<2x4x100xf32>)
  return
}

// -----

// Attention, C5
func.func @f(
    %q: tensor<2x4x100x64xf8E4M3FN>, %sq: tensor<2x4x100x2xf8E8M0FNU>,
    %k: tensor<2x3x80x64xf8E4M3FN>, %sk: tensor<2x3x80x2xf8E8M0FNU>,
    %v: tensor<2x3x80x64xf8E4M3FN>, %sv: tensor<2x3x3x64xf8E8M0FNU>) {
  // expected-error @+1 {{expects the number of heads to be a multiple of the number of KV heads, but got 4 and 3}}
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.125 : f32}
      : (tensor<2x4x100x64xf8E4M3FN>, tensor<2x4x100x2xf8E8M0FNU>,
         tensor<2x3x80x64xf8E4M3FN>, tensor<2x3x80x2xf8E8M0FNU>,
         tensor<2x3x80x64xf8E4M3FN>, tensor<2x3x3x64xf8E8M0FNU>)
      -> (tensor<2x4x100x64xf32>, tensor<2x4x100xf32>)
  return
}

// -----

// Attention, C6: zero
func.func @f(
    %q: tensor<2x4x100x64xf8E4M3FN>, %sq: tensor<2x4x100x2xf8E8M0FNU>,
    %k: tensor<2x2x80x64xf8E4M3FN>, %sk: tensor<2x2x80x2xf8E8M0FNU>,
    %v: tensor<2x2x80x64xf8E4M3FN>, %sv: tensor<2x2x3x64xf8E8M0FNU>) {
  // expected-error @+1 {{expects a finite scale greater than 0}}
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.0 : f32}
      : (tensor<2x4x100x64xf8E4M3FN>, tensor<2x4x100x2xf8E8M0FNU>,
         tensor<2x2x80x64xf8E4M3FN>, tensor<2x2x80x2xf8E8M0FNU>,
         tensor<2x2x80x64xf8E4M3FN>, tensor<2x2x3x64xf8E8M0FNU>)
      -> (tensor<2x4x100x64xf32>, tensor<2x4x100xf32>)
  return
}

// -----

// Attention, C6: negative
func.func @f(
    %q: tensor<2x4x100x64xf8E4M3FN>, %sq: tensor<2x4x100x2xf8E8M0FNU>,
    %k: tensor<2x2x80x64xf8E4M3FN>, %sk: tensor<2x2x80x2xf8E8M0FNU>,
    %v: tensor<2x2x80x64xf8E4M3FN>, %sv: tensor<2x2x3x64xf8E8M0FNU>) {
  // expected-error @+1 {{expects a finite scale greater than 0}}
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = -1.0 : f32}
      : (tensor<2x4x100x64xf8E4M3FN>, tensor<2x4x100x2xf8E8M0FNU>,
         tensor<2x2x80x64xf8E4M3FN>, tensor<2x2x80x2xf8E8M0FNU>,
         tensor<2x2x80x64xf8E4M3FN>, tensor<2x2x3x64xf8E8M0FNU>)
      -> (tensor<2x4x100x64xf32>, tensor<2x4x100xf32>)
  return
}

// -----

// Attention, C6: infinite
func.func @f(
    %q: tensor<2x4x100x64xf8E4M3FN>, %sq: tensor<2x4x100x2xf8E8M0FNU>,
    %k: tensor<2x2x80x64xf8E4M3FN>, %sk: tensor<2x2x80x2xf8E8M0FNU>,
    %v: tensor<2x2x80x64xf8E4M3FN>, %sv: tensor<2x2x3x64xf8E8M0FNU>) {
  // expected-error @+1 {{expects a finite scale greater than 0}}
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0x7F800000 : f32}
      : (tensor<2x4x100x64xf8E4M3FN>, tensor<2x4x100x2xf8E8M0FNU>,
         tensor<2x2x80x64xf8E4M3FN>, tensor<2x2x80x2xf8E8M0FNU>,
         tensor<2x2x80x64xf8E4M3FN>, tensor<2x2x3x64xf8E8M0FNU>)
      -> (tensor<2x4x100x64xf32>, tensor<2x4x100xf32>)
  return
}

// -----

// Attention, C6: NaN
func.func @f(
    %q: tensor<2x4x100x64xf8E4M3FN>, %sq: tensor<2x4x100x2xf8E8M0FNU>,
    %k: tensor<2x2x80x64xf8E4M3FN>, %sk: tensor<2x2x80x2xf8E8M0FNU>,
    %v: tensor<2x2x80x64xf8E4M3FN>, %sv: tensor<2x2x3x64xf8E8M0FNU>) {
  // expected-error @+1 {{expects a finite scale greater than 0}}
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0x7FC00000 : f32}
      : (tensor<2x4x100x64xf8E4M3FN>, tensor<2x4x100x2xf8E8M0FNU>,
         tensor<2x2x80x64xf8E4M3FN>, tensor<2x2x80x2xf8E8M0FNU>,
         tensor<2x2x80x64xf8E4M3FN>, tensor<2x2x3x64xf8E8M0FNU>)
      -> (tensor<2x4x100x64xf32>, tensor<2x4x100xf32>)
  return
}

// -----

// Attention, C7: Q
func.func @f(
    %q: tensor<2x4x100x64xf8E4M3FN>, %sq: tensor<2x4x100x4xf8E8M0FNU>,
    %k: tensor<2x2x80x64xf8E4M3FN>, %sk: tensor<2x2x80x2xf8E8M0FNU>,
    %v: tensor<2x2x80x64xf8E4M3FN>, %sv: tensor<2x2x3x64xf8E8M0FNU>) {
  // expected-error @+1 {{expects Q's scales of shape 2x4x100x2 or, blocked, 2x4x1x1x32x4x4, but got 2x4x100x4}}
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.125 : f32}
      : (tensor<2x4x100x64xf8E4M3FN>, tensor<2x4x100x4xf8E8M0FNU>,
         tensor<2x2x80x64xf8E4M3FN>, tensor<2x2x80x2xf8E8M0FNU>,
         tensor<2x2x80x64xf8E4M3FN>, tensor<2x2x3x64xf8E8M0FNU>)
      -> (tensor<2x4x100x64xf32>, tensor<2x4x100xf32>)
  return
}

// -----

// Attention, C7: K, blocked
func.func @f(
    %q: tensor<2x4x100x64xf8E4M3FN>, %sq: tensor<2x4x100x2xf8E8M0FNU>,
    %k: tensor<2x2x80x64xf8E4M3FN>, %sk: tensor<2x2x2x1x32x4x4xf8E8M0FNU>,
    %v: tensor<2x2x80x64xf8E4M3FN>, %sv: tensor<2x2x3x64xf8E8M0FNU>) {
  // expected-error @+1 {{expects K's scales of shape 2x2x80x2 or, blocked, 2x2x1x1x32x4x4, but got 2x2x2x1x32x4x4}}
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.125 : f32}
      : (tensor<2x4x100x64xf8E4M3FN>, tensor<2x4x100x2xf8E8M0FNU>,
         tensor<2x2x80x64xf8E4M3FN>, tensor<2x2x2x1x32x4x4xf8E8M0FNU>,
         tensor<2x2x80x64xf8E4M3FN>, tensor<2x2x3x64xf8E8M0FNU>)
      -> (tensor<2x4x100x64xf32>, tensor<2x4x100xf32>)
  return
}

// -----

// Attention, C7: V, whose scales run along the sequence
func.func @f(
    %q: tensor<2x4x100x64xf8E4M3FN>, %sq: tensor<2x4x100x2xf8E8M0FNU>,
    %k: tensor<2x2x80x64xf8E4M3FN>, %sk: tensor<2x2x80x2xf8E8M0FNU>,
    %v: tensor<2x2x80x64xf8E4M3FN>, %sv: tensor<2x2x80x2xf8E8M0FNU>) {
  // expected-error @+1 {{expects V's scales of shape 2x2x3x64 or, blocked, 2x2x1x1x32x4x4, but got 2x2x80x2}}
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.125 : f32}
      : (tensor<2x4x100x64xf8E4M3FN>, tensor<2x4x100x2xf8E8M0FNU>,
         tensor<2x2x80x64xf8E4M3FN>, tensor<2x2x80x2xf8E8M0FNU>,
         tensor<2x2x80x64xf8E4M3FN>, tensor<2x2x80x2xf8E8M0FNU>)
      -> (tensor<2x4x100x64xf32>, tensor<2x4x100xf32>)
  return
}

// -----

// Attention, C8: O
func.func @f(
    %q: tensor<2x4x100x64xf8E4M3FN>, %sq: tensor<2x4x100x2xf8E8M0FNU>,
    %k: tensor<2x2x80x64xf8E4M3FN>, %sk: tensor<2x2x80x2xf8E8M0FNU>,
    %v: tensor<2x2x80x64xf8E4M3FN>, %sv: tensor<2x2x3x64xf8E8M0FNU>) {
  // expected-error @+1 {{expects O of shape 2x4x100x64, but got 2x4x100x32}}
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.125 : f32}
      : (tensor<2x4x100x64xf8E4M3FN>, tensor<2x4x100x2xf8E8M0FNU>,
         tensor<2x2x80x64xf8E4M3FN>, tensor<2x2x80x2xf8E8M0FNU>,
         tensor<2x2x80x64xf8E4M3FN>, tensor<2x2x3x64xf8E8M0FNU>)
      -> (tensor<2x4x100x32xf32>, tensor<2x4x100xf32>)
  return
}

// -----

// Attention, C8: LSE
func.func @f(
    %q: tensor<2x4x100x64xf8E4M3FN>, %sq: tensor<2x4x100x2xf8E8M0FNU>,
    %k: tensor<2x2x80x64xf8E4M3FN>, %sk: tensor<2x2x80x2xf8E8M0FNU>,
    %v: tensor<2x2x80x64xf8E4M3FN>, %sv: tensor<2x2x3x64xf8E8M0FNU>) {
  // expected-error @+1 {{expects LSE of shape 2x4x100, but got 2x4x80}}
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.125 : f32}
      : (tensor<2x4x100x64xf8E4M3FN>, tensor<2x4x100x2xf8E8M0FNU>,
         tensor<2x2x80x64xf8E4M3FN>, tensor<2x2x80x2xf8E8M0FNU>,
         tensor<2x2x80x64xf8E4M3FN>, tensor<2x2x3x64xf8E8M0FNU>)
      -> (tensor<2x4x100x64xf32>, tensor<2x4x80xf32>)
  return
}

// -----

// Attention, C9: the batch
func.func @f(
    %q: tensor<2x4x100x64xf8E4M3FN>, %sq: tensor<2x4x100x2xf8E8M0FNU>,
    %k: tensor<2x2x80x64xf8E4M3FN>, %sk: tensor<2x2x80x2xf8E8M0FNU>,
    %v: tensor<2x2x80x64xf8E4M3FN>, %sv: tensor<2x2x3x64xf8E8M0FNU>,
    %cq: tensor<3xi32>, %ck: tensor<3xi32>) {
  // expected-error @+1 {{expects a batch size of 1 with offsets}}
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      offsets(%cq, %ck)
      {scale = 0.125 : f32}
      : (tensor<2x4x100x64xf8E4M3FN>, tensor<2x4x100x2xf8E8M0FNU>,
         tensor<2x2x80x64xf8E4M3FN>, tensor<2x2x80x2xf8E8M0FNU>,
         tensor<2x2x80x64xf8E4M3FN>, tensor<2x2x3x64xf8E8M0FNU>,
         tensor<3xi32>, tensor<3xi32>)
      -> (tensor<2x4x100x64xf32>, tensor<2x4x100xf32>)
  return
}

// -----

// Attention, C9: the number of offsets
func.func @f(
    %q: tensor<1x4x100x64xf8E4M3FN>, %sq: tensor<1x4x100x2xf8E8M0FNU>,
    %k: tensor<1x2x80x64xf8E4M3FN>, %sk: tensor<1x2x80x2xf8E8M0FNU>,
    %v: tensor<1x2x80x64xf8E4M3FN>, %sv: tensor<1x2x5x64xf8E8M0FNU>,
    %cq: tensor<3xi32>, %ck: tensor<4xi32>) {
  // expected-error @+1 {{expects offsets of the same size, at least 1}}
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      offsets(%cq, %ck)
      {scale = 0.125 : f32}
      : (tensor<1x4x100x64xf8E4M3FN>, tensor<1x4x100x2xf8E8M0FNU>,
         tensor<1x2x80x64xf8E4M3FN>, tensor<1x2x80x2xf8E8M0FNU>,
         tensor<1x2x80x64xf8E4M3FN>, tensor<1x2x5x64xf8E8M0FNU>,
         tensor<3xi32>, tensor<4xi32>)
      -> (tensor<1x4x100x64xf32>, tensor<1x4x100xf32>)
  return
}

// -----

// Attention, C9: no offset
func.func @f(
    %q: tensor<1x4x100x64xf8E4M3FN>, %sq: tensor<1x4x100x2xf8E8M0FNU>,
    %k: tensor<1x2x80x64xf8E4M3FN>, %sk: tensor<1x2x80x2xf8E8M0FNU>,
    %v: tensor<1x2x80x64xf8E4M3FN>, %sv: tensor<1x2x5x64xf8E8M0FNU>,
    %cq: tensor<0xi32>, %ck: tensor<0xi32>) {
  // expected-error @+1 {{expects offsets of the same size, at least 1}}
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      offsets(%cq, %ck)
      {scale = 0.125 : f32}
      : (tensor<1x4x100x64xf8E4M3FN>, tensor<1x4x100x2xf8E8M0FNU>,
         tensor<1x2x80x64xf8E4M3FN>, tensor<1x2x80x2xf8E8M0FNU>,
         tensor<1x2x80x64xf8E4M3FN>, tensor<1x2x5x64xf8E8M0FNU>,
         tensor<0xi32>, tensor<0xi32>)
      -> (tensor<1x4x100x64xf32>, tensor<1x4x100xf32>)
  return
}

// -----

// Attention, C9: one of the two
func.func @f(
    %q: tensor<1x4x100x64xf8E4M3FN>, %sq: tensor<1x4x100x2xf8E8M0FNU>,
    %k: tensor<1x2x80x64xf8E4M3FN>, %sk: tensor<1x2x80x2xf8E8M0FNU>,
    %v: tensor<1x2x80x64xf8E4M3FN>, %sv: tensor<1x2x3x64xf8E8M0FNU>,
    %cq: tensor<3xi32>) {
  // expected-error @+1 {{expects both offsets or none}}
  %o, %lse = "lpfa.attention"(%q, %sq, %k, %sk, %v, %sv, %cq)
      <{scale = 0.125 : f32,
        operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0>}>
      : (tensor<1x4x100x64xf8E4M3FN>, tensor<1x4x100x2xf8E8M0FNU>,
         tensor<1x2x80x64xf8E4M3FN>, tensor<1x2x80x2xf8E8M0FNU>,
         tensor<1x2x80x64xf8E4M3FN>, tensor<1x2x3x64xf8E8M0FNU>,
         tensor<3xi32>)
      -> (tensor<1x4x100x64xf32>, tensor<1x4x100xf32>)
  return
}

// -----

// Attention: types
func.func @f(
    %q: tensor<2x4x100x64xf16>, %sq: tensor<2x4x100x2xf8E8M0FNU>,
    %k: tensor<2x2x80x64xf16>, %sk: tensor<2x2x80x2xf8E8M0FNU>,
    %v: tensor<2x2x80x64xf16>, %sv: tensor<2x2x3x64xf8E8M0FNU>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of MX element type}}
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.125 : f32}
      : (tensor<2x4x100x64xf16>, tensor<2x4x100x2xf8E8M0FNU>,
         tensor<2x2x80x64xf16>, tensor<2x2x80x2xf8E8M0FNU>,
         tensor<2x2x80x64xf16>, tensor<2x2x3x64xf8E8M0FNU>)
      -> (tensor<2x4x100x64xf32>, tensor<2x4x100xf32>)
  return
}

// -----

// RMSNorm, C1
func.func @f(%x: tensor<f32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{expects an input of rank 1 or more (C1)}}
  %y = lpfa.rms_norm %x weight %w epsilon(0.0) : tensor<f32>, tensor<4xf32> -> tensor<f32>
  return
}

// -----

// RMSNorm, C2
func.func @f(%x: tensor<?x8xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{expects a weight for each of 8 columns, but got 4 (C2)}}
  %y = lpfa.rms_norm %x weight %w epsilon(0.0) : tensor<?x8xf32>, tensor<4xf32> -> tensor<?x8xf32>
  return
}

// -----

// RMSNorm, C3
func.func @f(%x: tensor<?x8xf32>, %w: tensor<8xf32>) {
  // expected-error @+1 {{expects an output of the shape of the input (C3)}}
  %y = lpfa.rms_norm %x weight %w epsilon(0.0) : tensor<?x8xf32>, tensor<8xf32> -> tensor<2x8xf32>
  return
}

// -----

// RMSNorm, C4
func.func @f(%x: tensor<?x8xf32>, %w: tensor<8xf32>) {
  // expected-error @+1 {{expects rstd to have the input's shape without its last dimension (C4)}}
  %y, %r = lpfa.rms_norm %x weight %w epsilon(0.0) : tensor<?x8xf32>, tensor<8xf32> -> tensor<?x8xf32>, tensor<8xf32>
  return
}

// -----

// RMSNorm, C5
func.func @f(%x: tensor<?x8xf32>, %w: tensor<8xf32>) {
  // expected-error @+1 {{expects a finite epsilon of at least 0 (C5)}}
  %y = lpfa.rms_norm %x weight %w epsilon(-1.0) : tensor<?x8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  return
}

// -----

// ScatterScales, C1
func.func @f(%s: tensor<8xf8E8M0FNU>, %o: tensor<?xi32>) {
  // expected-error @+1 {{expects scales of rank 2 or more (C1)}}
  %b = lpfa.scatter_scales %s offsets(%o) : tensor<8xf8E8M0FNU>, tensor<?xi32> -> tensor<1x1x32x4xf8E8M0FNU>
  return
}

// -----

// ScatterScales, C2
func.func @f(%s: tensor<2x?x4xf8E8M0FNU>, %o: tensor<?xi32>) {
  // expected-error @+1 {{expects blocked scales with the batch dimensions of the scales that end in 32x4x4 (C2)}}
  %b = lpfa.scatter_scales %s offsets(%o) : tensor<2x?x4xf8E8M0FNU>, tensor<?xi32> -> tensor<?x1x32x4x4xf8E8M0FNU>
  return
}

// -----

// ScatterScales, C2
func.func @f(%s: tensor<100x4xf8E8M0FNU>, %o: tensor<3xi32>) {
  // expected-error @+1 {{expects dimension 0 of the blocked scales to be 2 (C2)}}
  %b = lpfa.scatter_scales %s offsets(%o) : tensor<100x4xf8E8M0FNU>, tensor<3xi32> -> tensor<1x1x32x4x4xf8E8M0FNU>
  return
}

// -----

// ScatterScales, C3
func.func @f(%s: tensor<100x4xf8E8M0FNU>, %o: tensor<0xi32>) {
  // expected-error @+1 {{expects at least one offset (C3)}}
  %b = lpfa.scatter_scales %s offsets(%o) : tensor<100x4xf8E8M0FNU>, tensor<0xi32> -> tensor<?x1x32x4x4xf8E8M0FNU>
  return
}

// -----

// GatherScales, C1
func.func @f(%b: tensor<1x1x32x4x4xf8E8M0FNU>, %o: tensor<?xi32>) {
  // expected-error @+1 {{expects scales of rank 2 or more (C1)}}
  %s = lpfa.gather_scales %b offsets(%o) : tensor<1x1x32x4x4xf8E8M0FNU>, tensor<?xi32> -> tensor<8xf8E8M0FNU>
  return
}

// -----

// GatherScales, C2
func.func @f(%b: tensor<?x1x32x4x8xf8E8M0FNU>, %o: tensor<?xi32>) {
  // expected-error @+1 {{expects blocked scales with the batch dimensions of the scales that end in 32x4x4 (C2)}}
  %s = lpfa.gather_scales %b offsets(%o) : tensor<?x1x32x4x8xf8E8M0FNU>, tensor<?xi32> -> tensor<8x4xf8E8M0FNU>
  return
}

// -----

// GatherScales, C3
func.func @f(%b: tensor<?x1x32x4x4xf8E8M0FNU>, %o: tensor<0xi32>) {
  // expected-error @+1 {{expects at least one offset (C3)}}
  %s = lpfa.gather_scales %b offsets(%o) : tensor<?x1x32x4x4xf8E8M0FNU>, tensor<0xi32> -> tensor<8x4xf8E8M0FNU>
  return
}

// -----

// GatherScales, C4
func.func @f(%b: tensor<?x1x32x4x4xf8E8M0FNU>, %o: tensor<?xi32>) {
  // expected-error @+1 {{expects 1 sizes, one for each dynamic one of the last two dimensions of the result, but got 0 (C4)}}
  %s = lpfa.gather_scales %b offsets(%o) : tensor<?x1x32x4x4xf8E8M0FNU>, tensor<?xi32> -> tensor<?x4xf8E8M0FNU>
  return
}

// -----

// Matmul, C1
func.func @f(%a: tensor<2x4x64xf8E4M3FN>, %sa: tensor<2x4x2xf8E8M0FNU>, %b: tensor<8x64xf8E4M3FN>, %sb: tensor<8x2xf8E8M0FNU>) {
  // expected-error @+1 {{expects A and B of one rank, 2 or more}}
  %d = lpfa.matmul %a scaled %sa, %b scaled %sb : tensor<2x4x64xf8E4M3FN>, tensor<2x4x2xf8E8M0FNU>, tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU> -> tensor<2x4x8xf32>
  return
}

// -----

// Matmul, C1
func.func @f(%a: tensor<64xf8E4M3FN>, %sa: tensor<2xf8E8M0FNU>, %b: tensor<64xf8E4M3FN>, %sb: tensor<2xf8E8M0FNU>) {
  // expected-error @+1 {{expects A and B of one rank, 2 or more}}
  %d = lpfa.matmul %a scaled %sa, %b scaled %sb : tensor<64xf8E4M3FN>, tensor<2xf8E8M0FNU>, tensor<64xf8E4M3FN>, tensor<2xf8E8M0FNU> -> tensor<f32>
  return
}

// -----

// Matmul, C2
func.func @f(%a: tensor<2x4x64xf8E4M3FN>, %sa: tensor<2x4x2xf8E8M0FNU>, %b: tensor<3x8x64xf8E4M3FN>, %sb: tensor<3x8x2xf8E8M0FNU>) {
  // expected-error @+1 {{expects the batch dimensions of A in B}}
  %d = lpfa.matmul %a scaled %sa, %b scaled %sb : tensor<2x4x64xf8E4M3FN>, tensor<2x4x2xf8E8M0FNU>, tensor<3x8x64xf8E4M3FN>, tensor<3x8x2xf8E8M0FNU> -> tensor<2x4x8xf32>
  return
}

// -----

// Matmul, C3
func.func @f(%a: tensor<4x64xf8E4M3FN>, %sa: tensor<4x2xf8E8M0FNU>, %b: tensor<8x96xf8E4M3FN>, %sb: tensor<8x3xf8E8M0FNU>) {
  // expected-error @+1 {{expects A and B with one K, but got 64 and 96}}
  %d = lpfa.matmul %a scaled %sa, %b scaled %sb : tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU>, tensor<8x96xf8E4M3FN>, tensor<8x3xf8E8M0FNU> -> tensor<4x8xf32>
  return
}

// -----

// Matmul, C4
func.func @f(%a: tensor<4x64xf8E4M3FN>, %sa: tensor<4x3xf8E8M0FNU>, %b: tensor<8x64xf8E4M3FN>, %sb: tensor<8x2xf8E8M0FNU>) {
  // expected-error @+1 {{expects scales of A of type 'tensor<4x2xf8E8M0FNU>' or, blocked, 'tensor<1x1x32x4x4xf8E8M0FNU>', but got 'tensor<4x3xf8E8M0FNU>'}}
  %d = lpfa.matmul %a scaled %sa, %b scaled %sb : tensor<4x64xf8E4M3FN>, tensor<4x3xf8E8M0FNU>, tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU> -> tensor<4x8xf32>
  return
}

// -----

// Matmul, C4
func.func @f(%a: tensor<4x160xf8E4M3FN>, %sa: tensor<4x5xf8E8M0FNU>, %b: tensor<200x160xf8E4M3FN>, %sb: tensor<1x2x32x4x4xf8E8M0FNU>) {
  // expected-error @+1 {{expects scales of B of type 'tensor<200x5xf8E8M0FNU>' or, blocked, 'tensor<2x2x32x4x4xf8E8M0FNU>'}}
  %d = lpfa.matmul %a scaled %sa, %b scaled %sb : tensor<4x160xf8E4M3FN>, tensor<4x5xf8E8M0FNU>, tensor<200x160xf8E4M3FN>, tensor<1x2x32x4x4xf8E8M0FNU> -> tensor<4x200xf32>
  return
}

// -----

// Matmul, C5
func.func @f(%a: tensor<4x64xf8E4M3FN>, %sa: tensor<4x2xf8E8M0FNU>, %b: tensor<8x64xf8E4M3FN>, %sb: tensor<8x2xf8E8M0FNU>) {
  // expected-error @+1 {{expects a result of type 'tensor<4x8xf32>', but got 'tensor<8x4xf32>'}}
  %d = lpfa.matmul %a scaled %sa, %b scaled %sb : tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU>, tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU> -> tensor<8x4xf32>
  return
}

// -----

func.func @rms_norm_backward_c1(%x: tensor<f32>, %w: tensor<4xf32>, %r: tensor<f32>) {
  // expected-error @below {{expects an input of rank 1 or more (C1)}}
  %d:2 = lpfa.rms_norm_backward %x, %x weight %w rstd %r : tensor<f32>, tensor<f32>, tensor<4xf32>, tensor<f32> -> tensor<f32>, tensor<4xf32>
  return
}

// -----

func.func @rms_norm_backward_c2(%y: tensor<3x8xf32>, %x: tensor<?x8xf32>, %w: tensor<8xf32>, %r: tensor<?xf32>) {
  // expected-error @below {{expects gradients of the shape of the input (C2)}}
  %d:2 = lpfa.rms_norm_backward %y, %x weight %w rstd %r : tensor<3x8xf32>, tensor<?x8xf32>, tensor<8xf32>, tensor<?xf32> -> tensor<?x8xf32>, tensor<8xf32>
  return
}

// -----

func.func @rms_norm_backward_c3(%x: tensor<?x8xf32>, %w: tensor<4xf32>, %r: tensor<?xf32>) {
  // expected-error @below {{expects a weight for each of 8 columns, but got 4 (C3)}}
  %d:2 = lpfa.rms_norm_backward %x, %x weight %w rstd %r : tensor<?x8xf32>, tensor<?x8xf32>, tensor<4xf32>, tensor<?xf32> -> tensor<?x8xf32>, tensor<8xf32>
  return
}

// -----

func.func @rms_norm_backward_c3(%x: tensor<?x8xf32>, %w: tensor<8xf32>, %r: tensor<?xf32>) {
  // expected-error @below {{expects a gradient of the weight for each column (C3)}}
  %d:2 = lpfa.rms_norm_backward %x, %x weight %w rstd %r : tensor<?x8xf32>, tensor<?x8xf32>, tensor<8xf32>, tensor<?xf32> -> tensor<?x8xf32>, tensor<4xf32>
  return
}

// -----

func.func @rms_norm_backward_c4(%x: tensor<?x8xf32>, %w: tensor<8xf32>, %r: tensor<8xf32>) {
  // expected-error @below {{expects rstd to have the input's shape without its last dimension (C4)}}
  %d:2 = lpfa.rms_norm_backward %x, %x weight %w rstd %r : tensor<?x8xf32>, tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x8xf32>, tensor<8xf32>
  return
}
