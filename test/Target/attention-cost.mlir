// REQUIRES: ptxas-13.4, nvdisasm
// The instructions of a step of the softmax roles, 128 keys of a row, without a
// mask; at most 435 and 470 on sm_100a, 365 and 405 on sm_103a, whose loads
// give the maxima.

// RUN: rm -rf %t && split-file %s %t
// RUN: lpfa-compile %t/constant.mlir -o %t --emit=cost && FileCheck %s < %t/cost.txt --check-prefix=CONSTANT
// RUN: lpfa-compile %t/constant.mlir -o %t --emit=cost --chip=sm_103a --key-tile=128 --scores-ahead=0 && FileCheck %s < %t/cost.txt --check-prefix=CONSTANT103
// RUN: lpfa-compile %t/ceil.mlir -o %t --emit=cost && FileCheck %s < %t/cost.txt --check-prefix=CEIL
// RUN: lpfa-compile %t/ceil.mlir -o %t --emit=cost --chip=sm_103a --key-tile=128 --scores-ahead=0 && FileCheck %s < %t/cost.txt --check-prefix=CEIL103

// CONSTANT: SASS
// CONSTANT-NEXT: softmax0{{ +(3[89][0-9]|4[0-2][0-9]|43[0-5]) +1 +128 }}
// CONSTANT-NEXT: softmax0 masked
// CONSTANT-NEXT: softmax1{{ +(3[89][0-9]|4[0-2][0-9]|43[0-5]) +1 +128 }}
// CONSTANT-NEXT: softmax1 masked
// CONSTANT-NEXT: correction
// CONSTANT: modelled clocks of a step that does all: issue {{.*}}; the limit is exp
// CONSTANT103: SASS
// CONSTANT103-NEXT: softmax0{{ +(3[2-5][0-9]|36[0-5]) +1 +128 }}
// CONSTANT103-NEXT: softmax0 masked
// CONSTANT103-NEXT: softmax1{{ +(3[2-5][0-9]|36[0-5]) +1 +128 }}
// CEIL: SASS
// CEIL-NEXT: softmax0{{ +4[0-6][0-9] +1 +128 }}
// CEIL-NEXT: softmax0 masked
// CEIL-NEXT: softmax1{{ +4[0-6][0-9] +1 +128 }}
// CEIL103: SASS
// CEIL103-NEXT: softmax0{{ +(3[4-9][0-9]|40[0-5]) +1 +128 }}
// CEIL103-NEXT: softmax0 masked
// CEIL103-NEXT: softmax1{{ +(3[4-9][0-9]|40[0-5]) +1 +128 }}

//--- constant.mlir
func.func @attention(
    %q: tensor<?x?x?x128xf8E4M3FN>, %sq: tensor<?x?x?x?x32x4x4xf8E8M0FNU>,
    %k: tensor<?x?x?x128xf8E4M3FN>, %sk: tensor<?x?x?x?x32x4x4xf8E8M0FNU>,
    %v: tensor<?x?x?x128xf8E4M3FN>, %sv: tensor<?x?x?x?x32x4x4xf8E8M0FNU>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.0883883461 : f32, p_scale = #lpfa.p_scale<constant>}
      : (tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x?x32x4x4xf8E8M0FNU>,
         tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x?x32x4x4xf8E8M0FNU>,
         tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x?x32x4x4xf8E8M0FNU>)
      -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}
//--- ceil.mlir
func.func @attention(
    %q: tensor<?x?x?x128xf8E4M3FN>, %sq: tensor<?x?x?x?x32x4x4xf8E8M0FNU>,
    %k: tensor<?x?x?x128xf8E4M3FN>, %sk: tensor<?x?x?x?x32x4x4xf8E8M0FNU>,
    %v: tensor<?x?x?x128xf8E4M3FN>, %sv: tensor<?x?x?x?x32x4x4xf8E8M0FNU>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.0883883461 : f32, p_scale = #lpfa.p_scale<row_max, rounding = ceil>}
      : (tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x?x32x4x4xf8E8M0FNU>,
         tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x?x32x4x4xf8E8M0FNU>,
         tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x?x32x4x4xf8E8M0FNU>)
      -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}
