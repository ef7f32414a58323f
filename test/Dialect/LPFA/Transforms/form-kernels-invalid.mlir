// RUN: lpfa-opt %s -lpfa-form-kernels -split-input-file -verify-diagnostics

func.func @head_dimension(
    %q: tensor<1x1x1x96xf8E4M3FN>, %sq: tensor<1x1x1x3xf8E8M0FNU>,
    %v: tensor<1x1x1x96xf8E4M3FN>, %sv: tensor<1x1x1x96xf8E8M0FNU>)
    -> (tensor<1x1x1x96xf32>, tensor<1x1x1xf32>) {
  // expected-error @below {{with head dimension 96 has no kernel yet; 64 and 128 have one}}
  %o, %lse = lpfa.attention %q scaled %sq, %q scaled %sq, %v scaled %sv {scale = 0.125 : f32}
      : (tensor<1x1x1x96xf8E4M3FN>, tensor<1x1x1x3xf8E8M0FNU>, tensor<1x1x1x96xf8E4M3FN>, tensor<1x1x1x3xf8E8M0FNU>,
         tensor<1x1x1x96xf8E4M3FN>, tensor<1x1x1x96xf8E8M0FNU>) -> (tensor<1x1x1x96xf32>, tensor<1x1x1xf32>)
  return %o, %lse : tensor<1x1x1x96xf32>, tensor<1x1x1xf32>
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
