// The waits of a step of each role, counted in the PTX: not more than in TLX's
// kernel (test/Peers/test_waits.py).

// RUN: env LPFA_PTXAS=%t/none lpfa-compile %s -o %t --emit=cost && FileCheck %s < %t/cost.txt

// CHECK:      PTX pass all waits
// CHECK-NEXT: softmax0 {{[0-9]+}} 1 128
// CHECK-NEXT: softmax0 masked {{[0-9]+}} 1 128
// CHECK-NEXT: softmax1 {{[0-9]+}} 1 128
// CHECK-NEXT: softmax1 masked {{[0-9]+}} 1 128
// CHECK-NEXT: correction {{[0-9]+}} 2 0
// CHECK:      load {{[0-9]+}} 2 0
// CHECK:      mma {{[0-9]+}} 8 0

func.func @f(%q: tensor<?x?x?x128xf8E4M3FN>, %sq: tensor<?x?x?x1x32x4x4xf8E8M0FNU>,
             %k: tensor<?x?x?x128xf8E4M3FN>, %sk: tensor<?x?x?x1x32x4x4xf8E8M0FNU>,
             %v: tensor<?x?x?x128xf8E4M3FN>, %sv: tensor<?x?x1x?x32x4x4xf8E8M0FNU>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv {scale = 0.125 : f32}
      : (tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x1x32x4x4xf8E8M0FNU>,
         tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x1x32x4x4xf8E8M0FNU>,
         tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x1x?x32x4x4xf8E8M0FNU>)
      -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}
