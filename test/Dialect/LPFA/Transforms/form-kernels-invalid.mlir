// RUN: lpfa-opt %s -lpfa-form-kernels -split-input-file -verify-diagnostics

// Rows that are no multiple of the 16 bytes that bulk copies want.

func.func @head_dimension(
    %q: tensor<1x1x1x40xf8E4M3FN>, %sq: tensor<1x1x1x2xf8E8M0FNU>,
    %v: tensor<1x1x1x64xf8E4M3FN>, %sv: tensor<1x1x1x64xf8E8M0FNU>)
    -> (tensor<1x1x1x64xf32>, tensor<1x1x1xf32>) {
  // expected-error @below {{with head dimension 40 has no kernel; multiples of 16 up to 256 have one}}
  %o, %lse = lpfa.attention %q scaled %sq, %q scaled %sq, %v scaled %sv {scale = 0.125 : f32}
      : (tensor<1x1x1x40xf8E4M3FN>, tensor<1x1x1x2xf8E8M0FNU>, tensor<1x1x1x40xf8E4M3FN>, tensor<1x1x1x2xf8E8M0FNU>,
         tensor<1x1x1x64xf8E4M3FN>, tensor<1x1x1x64xf8E8M0FNU>) -> (tensor<1x1x1x64xf32>, tensor<1x1x1xf32>)
  return %o, %lse : tensor<1x1x1x64xf32>, tensor<1x1x1xf32>
}

// -----

func.func @wide(
    %q: tensor<1x1x1x64xf8E4M3FN>, %sq: tensor<1x1x1x2xf8E8M0FNU>,
    %v: tensor<1x1x1x272xf8E4M3FN>, %sv: tensor<1x1x1x272xf8E8M0FNU>)
    -> (tensor<1x1x1x272xf32>, tensor<1x1x1xf32>) {
  // expected-error @below {{with head dimension 272 has no kernel; multiples of 16 up to 256 have one}}
  %o, %lse = lpfa.attention %q scaled %sq, %q scaled %sq, %v scaled %sv {scale = 0.125 : f32}
      : (tensor<1x1x1x64xf8E4M3FN>, tensor<1x1x1x2xf8E8M0FNU>, tensor<1x1x1x64xf8E4M3FN>, tensor<1x1x1x2xf8E8M0FNU>,
         tensor<1x1x1x272xf8E4M3FN>, tensor<1x1x1x272xf8E8M0FNU>) -> (tensor<1x1x1x272xf32>, tensor<1x1x1xf32>)
  return %o, %lse : tensor<1x1x1x272xf32>, tensor<1x1x1xf32>
}

// -----

func.func @format(
    %q: tensor<1x1x1x64xf6E2M3FN>, %sq: tensor<1x1x1x2xf8E8M0FNU>,
    %v: tensor<1x1x1x64xf6E2M3FN>, %sv: tensor<1x1x1x64xf8E8M0FNU>)
    -> (tensor<1x1x1x64xf32>, tensor<1x1x1xf32>) {
  // expected-error @below {{over 'f6E2M3FN' has no kernel yet; f8E4M3FN and f8E5M2 have one}}
  %o, %lse = lpfa.attention %q scaled %sq, %q scaled %sq, %v scaled %sv {scale = 0.125 : f32}
      : (tensor<1x1x1x64xf6E2M3FN>, tensor<1x1x1x2xf8E8M0FNU>, tensor<1x1x1x64xf6E2M3FN>, tensor<1x1x1x2xf8E8M0FNU>,
         tensor<1x1x1x64xf6E2M3FN>, tensor<1x1x1x64xf8E8M0FNU>) -> (tensor<1x1x1x64xf32>, tensor<1x1x1xf32>)
  return %o, %lse : tensor<1x1x1x64xf32>, tensor<1x1x1xf32>
}

// -----

func.func @jagged(
    %q: tensor<1x1x?x64xf8E4M3FN>, %sq: tensor<1x1x?x2xf8E8M0FNU>,
    %v: tensor<1x1x?x64xf8E4M3FN>, %sv: tensor<1x1x?x64xf8E8M0FNU>, %offsets: tensor<?xi32>)
    -> (tensor<1x1x?x64xf32>, tensor<1x1x?xf32>) {
  // expected-error @below {{with offsets has no kernel yet; the reference runs it}}
  %o, %lse = lpfa.attention %q scaled %sq, %q scaled %sq, %v scaled %sv offsets(%offsets, %offsets) {scale = 0.125 : f32}
      : (tensor<1x1x?x64xf8E4M3FN>, tensor<1x1x?x2xf8E8M0FNU>, tensor<1x1x?x64xf8E4M3FN>, tensor<1x1x?x2xf8E8M0FNU>,
         tensor<1x1x?x64xf8E4M3FN>, tensor<1x1x?x64xf8E8M0FNU>, tensor<?xi32>, tensor<?xi32>) -> (tensor<1x1x?x64xf32>, tensor<1x1x?xf32>)
  return %o, %lse : tensor<1x1x?x64xf32>, tensor<1x1x?xf32>
}

// -----

func.func @too_long(
    %q: tensor<1x1x1073741825x64xf8E4M3FN>, %sq: tensor<1x1x1073741825x2xf8E8M0FNU>,
    %k: tensor<1x1x1x64xf8E4M3FN>, %sk: tensor<1x1x1x2xf8E8M0FNU>, %sv: tensor<1x1x1x64xf8E8M0FNU>)
    -> (tensor<1x1x1073741825x64xf32>, tensor<1x1x1073741825xf32>) {
  // expected-error @below {{has a size above 2^30, more than a kernel can count}}
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %k scaled %sv {scale = 0.125 : f32}
      : (tensor<1x1x1073741825x64xf8E4M3FN>, tensor<1x1x1073741825x2xf8E8M0FNU>, tensor<1x1x1x64xf8E4M3FN>, tensor<1x1x1x2xf8E8M0FNU>,
         tensor<1x1x1x64xf8E4M3FN>, tensor<1x1x1x64xf8E8M0FNU>) -> (tensor<1x1x1073741825x64xf32>, tensor<1x1x1073741825xf32>)
  return %o, %lse : tensor<1x1x1073741825x64xf32>, tensor<1x1x1073741825xf32>
}

// -----

func.func @quantize_axis(%x: tensor<64x2x4xf32>) -> tensor<64x2x4xf8E4M3FN> {
  // expected-error @below {{along dimension 0 of 3 has no kernel yet; one of the last two has}}
  %q, %s = lpfa.quantize %x axis(0) : tensor<64x2x4xf32> -> tensor<64x2x4xf8E4M3FN>, tensor<2x2x4xf8E8M0FNU>
  return %q : tensor<64x2x4xf8E4M3FN>
}

// -----

func.func @nvfp4_axis(%x: tensor<64x4xf32>, %g: tensor<f32>) -> tensor<64x4xf4E2M1FN> {
  // expected-error @below {{with a global scale has a kernel along the last dimension only}}
  %q, %s = lpfa.quantize %x axis(0) global(%g : tensor<f32>) : tensor<64x4xf32> -> tensor<64x4xf4E2M1FN>, tensor<4x4xf8E4M3FN>
  return %q : tensor<64x4xf4E2M1FN>
}

// -----

func.func @quantize_too_long(%x: tensor<1x1073741825xf32>) -> tensor<1x33554433xf8E8M0FNU> {
  // expected-error @below {{has a size above 2^30, more than a kernel can count}}
  %q, %s = lpfa.quantize %x axis(1) : tensor<1x1073741825xf32> -> tensor<1x1073741825xf8E4M3FN>, tensor<1x33554433xf8E8M0FNU>
  return %s : tensor<1x33554433xf8E8M0FNU>
}

// -----

func.func @rows_of_f4(%x: tensor<2x33xf32>) -> tensor<2x33xf4E2M1FN> {
  // expected-error @below {{has rows of packed f4 of an odd length}}
  %q, %s = lpfa.quantize %x axis(1) : tensor<2x33xf32> -> tensor<2x33xf4E2M1FN>, tensor<2x2xf8E8M0FNU>
  return %q : tensor<2x33xf4E2M1FN>
}

// -----

func.func @norm_of_one_row(%x: tensor<64xbf16>, %w: tensor<64xbf16>) -> tensor<64xbf16> {
  // expected-error @below {{has a kernel for tensors of two dimensions or more only}}
  %y = lpfa.rms_norm %x weight %w epsilon(1.0e-6) : tensor<64xbf16>, tensor<64xbf16> -> tensor<64xbf16>
  return %y : tensor<64xbf16>
}

// -----

func.func @norm_backward(%x: tensor<64xf32>, %w: tensor<64xf32>, %r: tensor<f32>) -> tensor<64xf32> {
  // expected-error @below {{has a kernel for tensors of two dimensions or more only}}
  %dx, %dw = lpfa.rms_norm_backward %x, %x weight %w rstd %r : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<f32> -> tensor<64xf32>, tensor<64xf32>
  return %dw : tensor<64xf32>
}

// -----

func.func @norm_backward_rows(%q: tensor<4x63xf4E2M1FN>, %s: tensor<4x2xf8E8M0FNU>, %x: tensor<4x63xf32>, %w: tensor<63xf32>, %r: tensor<4xf32>) -> tensor<63xf32> {
  %dy = lpfa.dequantize %q scaled %s axis(1) : tensor<4x63xf4E2M1FN>, tensor<4x2xf8E8M0FNU> -> tensor<4x63xf32>
  // expected-error @below {{has rows of packed f4 of an odd length}}
  %dx, %dw = lpfa.rms_norm_backward %dy, %x weight %w rstd %r : tensor<4x63xf32>, tensor<4x63xf32>, tensor<63xf32>, tensor<4xf32> -> tensor<4x63xf32>, tensor<63xf32>
  return %dw : tensor<63xf32>
}

// -----

func.func @norm_backward_size(%x: tensor<2x1073741825x64xf32>, %w: tensor<64xf32>, %r: tensor<2x1073741825xf32>) -> tensor<64xf32> {
  // expected-error @below {{has a size above 2^30, more than a kernel can count}}
  %dx, %dw = lpfa.rms_norm_backward %x, %x weight %w rstd %r : tensor<2x1073741825x64xf32>, tensor<2x1073741825x64xf32>, tensor<64xf32>, tensor<2x1073741825xf32> -> tensor<2x1073741825x64xf32>, tensor<64xf32>
  return %dw : tensor<64xf32>
}

// -----

func.func @matmul_format(%a: tensor<4x64xf6E2M3FN>, %sa: tensor<4x2xf8E8M0FNU>) -> tensor<4x4xf32> {
  // expected-error @below {{over 'f6E2M3FN' has no kernel yet; f8E4M3FN and f8E5M2 have one}}
  %d = lpfa.matmul %a scaled %sa, %a scaled %sa
      : tensor<4x64xf6E2M3FN>, tensor<4x2xf8E8M0FNU>, tensor<4x64xf6E2M3FN>, tensor<4x2xf8E8M0FNU> -> tensor<4x4xf32>
  return %d : tensor<4x4xf32>
}

// -----

func.func @matmul_rank(%a: tensor<1x1x1x1x4x64xf8E4M3FN>, %sa: tensor<1x1x1x1x4x2xf8E8M0FNU>) -> tensor<1x1x1x1x4x4xf32> {
  // expected-error @below {{of rank 6 has no kernel: a tensor map has 5 dimensions at most}}
  %d = lpfa.matmul %a scaled %sa, %a scaled %sa
      : tensor<1x1x1x1x4x64xf8E4M3FN>, tensor<1x1x1x1x4x2xf8E8M0FNU>, tensor<1x1x1x1x4x64xf8E4M3FN>,
        tensor<1x1x1x1x4x2xf8E8M0FNU> -> tensor<1x1x1x1x4x4xf32>
  return %d : tensor<1x1x1x1x4x4xf32>
}

// -----

func.func @matmul_size(%a: tensor<2147483648x16xf8E4M3FN>, %sa: tensor<2147483648x1xf8E8M0FNU>,
                       %b: tensor<4x16xf8E4M3FN>, %sb: tensor<4x1xf8E8M0FNU>) -> tensor<2147483648x4xf32> {
  // expected-error @below {{has a size above 2^30, more than a kernel can count}}
  %d = lpfa.matmul %a scaled %sa, %b scaled %sb
      : tensor<2147483648x16xf8E4M3FN>, tensor<2147483648x1xf8E8M0FNU>, tensor<4x16xf8E4M3FN>,
        tensor<4x1xf8E8M0FNU> -> tensor<2147483648x4xf32>
  return %d : tensor<2147483648x4xf32>
}

// -----

func.func @matmul_rows(%a: tensor<4x64xf8E4M3FN>, %sa: tensor<4x2xf8E8M0FNU>,
                       %b: tensor<33x64xf8E4M3FN>, %sb: tensor<33x2xf8E8M0FNU>) -> tensor<4x33xbf16> {
  // expected-error @below {{has rows of D that are no multiple of 16 bytes, which a kernel cannot store}}
  %d = lpfa.matmul %a scaled %sa, %b scaled %sb
      : tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU>, tensor<33x64xf8E4M3FN>, tensor<33x2xf8E8M0FNU> -> tensor<4x33xbf16>
  return %d : tensor<4x33xbf16>
}
