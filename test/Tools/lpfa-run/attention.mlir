// Attention by hand. All scores are 0, so that the rows of O are means of the
// rows of V that are seen, and LSE is the logarithm of their number.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %python -c "import numpy as np; \
// RUN:   ones = np.full((1, 1, 3, 1), 127, np.uint8); \
// RUN:   v = np.full((1, 1, 3, 32), 0x38, np.uint8); \
// RUN:   v[0, 0, 1] = 0x40; v[0, 0, 2] = 0x44; \
// RUN:   np.save('%t/zero.npy', np.zeros((1, 1, 3, 32), np.uint8)); \
// RUN:   np.save('%t/ones.npy', ones); np.save('%t/v.npy', v); \
// RUN:   np.save('%t/vs.npy', np.full((1, 1, 1, 32), 128, np.uint8)); \
// RUN:   np.save('%t/vs2.npy', np.uint8([[[[128] * 32, [127] * 32]]])); \
// RUN:   np.save('%t/oq.npy', np.int32([0, 1, 1, 3])); \
// RUN:   np.save('%t/ok.npy', np.int32([0, 2, 3, 3]))"

// V is 1, 2 and 3, times 2.
// RUN: lpfa-run %s --entry=causal --arg=%t/zero.npy --arg=%t/ones.npy \
// RUN:   --arg=%t/zero.npy --arg=%t/ones.npy --arg=%t/v.npy --arg=%t/vs.npy \
// RUN:   --out=%t/causal
// RUN: %python -c "import numpy as np; \
// RUN:   print(np.load('%t/causal/result0.npy')[0, 0, :, 31].tolist(), \
// RUN:         np.exp(np.load('%t/causal/result1.npy')).round(4).tolist())" \
// RUN:   | FileCheck %s --check-prefix=CAUSAL
// CAUSAL: [2.0, 3.0, 4.0] {{\[\[\[}}1.0, 2.0, 3.0]]]

// Sequences of 1, 0 and 2 queries with 2, 1 and 0 keys. The third has no key.
// RUN: lpfa-run %s --entry=jagged --arg=%t/zero.npy --arg=%t/ones.npy \
// RUN:   --arg=%t/zero.npy --arg=%t/ones.npy --arg=%t/v.npy --arg=%t/vs2.npy \
// RUN:   --arg=%t/oq.npy --arg=%t/ok.npy --out=%t/jagged
// RUN: %python -c "import numpy as np; \
// RUN:   print(np.load('%t/jagged/result0.npy')[0, 0, :, 0].tolist(), \
// RUN:         np.exp(np.load('%t/jagged/result1.npy')).round(4).tolist())" \
// RUN:   | FileCheck %s --check-prefix=JAGGED
// JAGGED: [3.0, 0.0, 0.0] {{\[\[\[}}2.0, 0.0, 0.0]]]

// Sizes that do not fit are found when the code runs.
// RUN: not lpfa-run %s --entry=jagged --arg=%t/zero.npy --arg=%t/ones.npy \
// RUN:   --arg=%t/zero.npy --arg=%t/ones.npy --arg=%t/v.npy --arg=%t/vs.npy \
// RUN:   --arg=%t/oq.npy --arg=%t/ok.npy --out=%t/none 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SCALES
// SCALES: attention.mlir:[[#]]:[[#]]: 'lpfa.attention' op (C7) the scales are too few for the sequences

// RUN: not lpfa-run %s --entry=jagged --arg=%t/zero.npy --arg=%t/ones.npy \
// RUN:   --arg=%t/zero.npy --arg=%t/ones.npy --arg=%t/v.npy --arg=%t/vs2.npy \
// RUN:   --arg=%t/ok.npy --arg=%t/bad.npy --out=%t/none 2>&1 \
// RUN:   | FileCheck %s --check-prefix=MISSING
// MISSING: argument 7: {{.*}}bad.npy
// RUN: %python -c "import numpy as np; \
// RUN:   np.save('%t/bad.npy', np.int32([0, 2, 1, 3]))"
// RUN: not lpfa-run %s --entry=jagged --arg=%t/zero.npy --arg=%t/ones.npy \
// RUN:   --arg=%t/zero.npy --arg=%t/ones.npy --arg=%t/v.npy --arg=%t/vs2.npy \
// RUN:   --arg=%t/oq.npy --arg=%t/bad.npy --out=%t/none 2>&1 \
// RUN:   | FileCheck %s --check-prefix=OFFSETS
// OFFSETS: 'lpfa.attention' op the offsets do not rise from 0
// RUN: not ls %t/none

func.func @causal(
    %q: tensor<1x1x?x32xf8E4M3FN>, %sq: tensor<1x1x?x1xf8E8M0FNU>,
    %k: tensor<1x1x?x32xf8E4M3FN>, %sk: tensor<1x1x?x1xf8E8M0FNU>,
    %v: tensor<1x1x?x32xf8E4M3FN>, %sv: tensor<1x1x?x32xf8E8M0FNU>)
    -> (tensor<1x1x?x32xf32>, tensor<1x1x?xf32>) {
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 1.0 : f32, mask = #lpfa.mask<causal, bottom_right>}
      : (tensor<1x1x?x32xf8E4M3FN>, tensor<1x1x?x1xf8E8M0FNU>,
         tensor<1x1x?x32xf8E4M3FN>, tensor<1x1x?x1xf8E8M0FNU>,
         tensor<1x1x?x32xf8E4M3FN>, tensor<1x1x?x32xf8E8M0FNU>)
      -> (tensor<1x1x?x32xf32>, tensor<1x1x?xf32>)
  return %o, %lse : tensor<1x1x?x32xf32>, tensor<1x1x?xf32>
}

func.func @jagged(
    %q: tensor<1x1x?x32xf8E4M3FN>, %sq: tensor<1x1x?x1xf8E8M0FNU>,
    %k: tensor<1x1x?x32xf8E4M3FN>, %sk: tensor<1x1x?x1xf8E8M0FNU>,
    %v: tensor<1x1x?x32xf8E4M3FN>, %sv: tensor<1x1x?x32xf8E8M0FNU>,
    %oq: tensor<?xi32>, %ok: tensor<?xi32>)
    -> (tensor<1x1x?x32xf16>, tensor<1x1x?xf32>) {
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      offsets(%oq, %ok) {scale = 1.0 : f32}
      : (tensor<1x1x?x32xf8E4M3FN>, tensor<1x1x?x1xf8E8M0FNU>,
         tensor<1x1x?x32xf8E4M3FN>, tensor<1x1x?x1xf8E8M0FNU>,
         tensor<1x1x?x32xf8E4M3FN>, tensor<1x1x?x32xf8E8M0FNU>,
         tensor<?xi32>, tensor<?xi32>)
      -> (tensor<1x1x?x32xf16>, tensor<1x1x?xf32>)
  return %o, %lse : tensor<1x1x?x32xf16>, tensor<1x1x?xf32>
}
