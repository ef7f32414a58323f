// The same function on the CPU and compiled, in the simulator.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %python -c "import numpy as np; from lpfa import mx; \
// RUN:   rng = np.random.default_rng(0); \
// RUN:   q, k, v = (rng.standard_normal((1, 1, n, 64)).astype(np.float32) \
// RUN:              for n in (5, 70, 70)); \
// RUN:   arrays = [*mx.quantize(q), *mx.quantize(k), *mx.quantize(v, axis=-2)]; \
// RUN:   [np.save(f'%t/a{i}.npy', x) for i, x in enumerate(arrays)]"

// RUN: lpfa-run %s --entry=f --device=sim --schedule=random --seed=7 \
// RUN:   --compare=reference --tolerance-db=60 --out=%t/out --arg=%t/a0.npy \
// RUN:   --arg=%t/a1.npy --arg=%t/a2.npy --arg=%t/a3.npy --arg=%t/a4.npy \
// RUN:   --arg=%t/a5.npy | FileCheck %s
// RUN: ls %t/out | FileCheck %s --check-prefix=FILES
// CHECK: result 0: max abs error {{.*}}, RMSE {{.*}}, SQNR {{.*}} dB, cosine 1.000000
// CHECK: result 1: max abs error
// FILES: result0.npy
// FILES-NEXT: result1.npy

// A tolerance that no two different results meet: nothing is written.
// RUN: not lpfa-run %s --entry=f --device=sim --compare=reference \
// RUN:   --tolerance-db=1000 --out=%t/none --arg=%t/a0.npy \
// RUN:   --arg=%t/a1.npy --arg=%t/a2.npy --arg=%t/a3.npy --arg=%t/a4.npy \
// RUN:   --arg=%t/a5.npy 2>&1 | FileCheck %s --check-prefix=TOLERANCE
// TOLERANCE: lpfa-run: error: below 1000.00 dB: result 0

// Sizes that do not fit one another.
// RUN: not lpfa-run %s --entry=f --device=sim --out=%t/none --arg=%t/a0.npy \
// RUN:   --arg=%t/a1.npy --arg=%t/a2.npy --arg=%t/a1.npy --arg=%t/a4.npy \
// RUN:   --arg=%t/a5.npy 2>&1 | FileCheck %s --check-prefix=SIZES
// SIZES: lpfa-run: error: {{.*}}lpfa.attention{{.*}}(C7)

// RUN: not lpfa-run %s --entry=f --device=sim --chip=sm_1 --out=%t/none 2>&1 \
// RUN:   | FileCheck %s --check-prefix=CHIP
// CHIP: lpfa-run: error: --chip: unknown chip 'sm_1', expected one of sm_90a, sm_100a, sm_103a

// RUN: not lpfa-run %s --entry=f --device=sim --check=luck --out=%t/none 2>&1 \
// RUN:   | FileCheck %s --check-prefix=CHECKS
// CHECKS: lpfa-run: error: {{.*}}luck

// RUN: not lpfa-run %s --entry=f --device=sim --no-such=1 --out=%t/none 2>&1 \
// RUN:   | FileCheck %s --check-prefix=OPTION
// OPTION: no-such

// A function without a kernel.
// RUN: not lpfa-run %s --entry=plain --device=sim --out=%t/none \
// RUN:   --arg=%t/a0.npy 2>&1 | FileCheck %s --check-prefix=PLAIN
// PLAIN: lpfa-run: error: @plain
// RUN: not ls %t/none

func.func @f(
    %q: tensor<?x?x?x64xf8E4M3FN>, %sq: tensor<?x?x?x2xf8E8M0FNU>,
    %k: tensor<?x?x?x64xf8E4M3FN>, %sk: tensor<?x?x?x2xf8E8M0FNU>,
    %v: tensor<?x?x?x64xf8E4M3FN>, %sv: tensor<?x?x?x64xf8E8M0FNU>)
    -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>) {
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.125 : f32}
      : (tensor<?x?x?x64xf8E4M3FN>, tensor<?x?x?x2xf8E8M0FNU>,
         tensor<?x?x?x64xf8E4M3FN>, tensor<?x?x?x2xf8E8M0FNU>,
         tensor<?x?x?x64xf8E4M3FN>, tensor<?x?x?x64xf8E8M0FNU>)
      -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}

func.func @plain(%x: tensor<?x?x?x64xf8E4M3FN>) -> tensor<?x?x?x64xf8E4M3FN> {
  return %x : tensor<?x?x?x64xf8E4M3FN>
}
