// Functions to drive the tools with: attention over batch x heads x sequence x
// dimension; V's scales are batch x KV heads x ceil(keys / 32) x dimension.
//
// RUN: lpfa-opt %s -verify-roundtrip | FileCheck %s

// No mask, the P-scale mode row_max.
// CHECK-LABEL: func.func @attention_forward(
// CHECK: lpfa.attention
func.func @attention_forward(
    %q: tensor<?x?x?x128xf8E4M3FN>, %sq: tensor<?x?x?x4xf8E8M0FNU>,
    %k: tensor<?x?x?x128xf8E4M3FN>, %sk: tensor<?x?x?x4xf8E8M0FNU>,
    %v: tensor<?x?x?x128xf8E4M3FN>, %sv: tensor<?x?x?x128xf8E8M0FNU>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.0883883461 : f32}
      : (tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x4xf8E8M0FNU>,
         tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x4xf8E8M0FNU>,
         tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x128xf8E8M0FNU>)
      -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// The same with O in f32.
// CHECK-LABEL: func.func @attention_forward_f32(
// CHECK: lpfa.attention
func.func @attention_forward_f32(
    %q: tensor<?x?x?x128xf8E4M3FN>, %sq: tensor<?x?x?x4xf8E8M0FNU>,
    %k: tensor<?x?x?x128xf8E4M3FN>, %sk: tensor<?x?x?x4xf8E8M0FNU>,
    %v: tensor<?x?x?x128xf8E4M3FN>, %sv: tensor<?x?x?x128xf8E8M0FNU>)
    -> (tensor<?x?x?x128xf32>, tensor<?x?x?xf32>) {
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.0883883461 : f32}
      : (tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x4xf8E8M0FNU>,
         tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x4xf8E8M0FNU>,
         tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x128xf8E8M0FNU>)
      -> (tensor<?x?x?x128xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x128xf32>, tensor<?x?x?xf32>
}

// Causal; the last query sees every key.
// CHECK-LABEL: func.func @attention_forward_causal(
// CHECK: lpfa.attention
func.func @attention_forward_causal(
    %q: tensor<?x?x?x128xf8E4M3FN>, %sq: tensor<?x?x?x4xf8E8M0FNU>,
    %k: tensor<?x?x?x128xf8E4M3FN>, %sk: tensor<?x?x?x4xf8E8M0FNU>,
    %v: tensor<?x?x?x128xf8E4M3FN>, %sv: tensor<?x?x?x128xf8E8M0FNU>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.0883883461 : f32,
       mask = #lpfa.mask<causal, bottom_right>}
      : (tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x4xf8E8M0FNU>,
         tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x4xf8E8M0FNU>,
         tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x128xf8E8M0FNU>)
      -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// One constant scale for P.
// CHECK-LABEL: func.func @attention_forward_constant(
// CHECK: lpfa.attention
func.func @attention_forward_constant(
    %q: tensor<?x?x?x128xf8E4M3FN>, %sq: tensor<?x?x?x4xf8E8M0FNU>,
    %k: tensor<?x?x?x128xf8E4M3FN>, %sk: tensor<?x?x?x4xf8E8M0FNU>,
    %v: tensor<?x?x?x128xf8E4M3FN>, %sv: tensor<?x?x?x128xf8E8M0FNU>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.0883883461 : f32,
       p_scale = #lpfa.p_scale<constant, lag = 0>}
      : (tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x4xf8E8M0FNU>,
         tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x4xf8E8M0FNU>,
         tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x128xf8E8M0FNU>)
      -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// Head dimension 64.
// CHECK-LABEL: func.func @attention_forward_d64(
// CHECK: lpfa.attention
func.func @attention_forward_d64(
    %q: tensor<?x?x?x64xf8E4M3FN>, %sq: tensor<?x?x?x2xf8E8M0FNU>,
    %k: tensor<?x?x?x64xf8E4M3FN>, %sk: tensor<?x?x?x2xf8E8M0FNU>,
    %v: tensor<?x?x?x64xf8E4M3FN>, %sv: tensor<?x?x?x64xf8E8M0FNU>)
    -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.125 : f32}
      : (tensor<?x?x?x64xf8E4M3FN>, tensor<?x?x?x2xf8E8M0FNU>,
         tensor<?x?x?x64xf8E4M3FN>, tensor<?x?x?x2xf8E8M0FNU>,
         tensor<?x?x?x64xf8E4M3FN>, tensor<?x?x?x64xf8E8M0FNU>)
      -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}
