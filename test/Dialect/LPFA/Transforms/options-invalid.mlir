// Wrong values of the pipeline's options: each is an error that names it.

// RUN: not lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-threads{query-tiles=3})' 2>&1 | FileCheck %s --check-prefix=E0
// E0: query-tiles must be 1 or 2, not 3
// RUN: not lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-threads{key-tile=48})' 2>&1 | FileCheck %s --check-prefix=E1
// E1: key-tile must be 32, 64, 96 or 128, not 48
// RUN: not lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-threads{stages=0})' 2>&1 | FileCheck %s --check-prefix=E2
// E2: stages must be positive
// RUN: not lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-threads{output-stages=0})' 2>&1 | FileCheck %s --check-prefix=E3
// E3: stages must be positive
// RUN: not lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-threads{matmul-stages=-1})' 2>&1 | FileCheck %s --check-prefix=E4
// E4: stages must be positive
// RUN: not lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-threads{score-buffers=3})' 2>&1 | FileCheck %s --check-prefix=E5
// E5: score-buffers must be 1 or 2, not 3
// RUN: not lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-threads{scores-ahead=3 score-buffers=1})' 2>&1 | FileCheck %s --check-prefix=E6
// E6: scores-ahead must be score-buffers or one more, not 3
// RUN: not lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-threads{scores-ahead=1 score-buffers=2})' 2>&1 | FileCheck %s --check-prefix=E7
// E7: scores-ahead must be score-buffers or one more, not 1
// RUN: not lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-threads{polynomial-columns=7})' 2>&1 | FileCheck %s --check-prefix=E8
// E8: computes 7 of 32 columns as polynomials, which must be an even number from 2 to 30
// RUN: not lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-threads{polynomial-columns=8 polynomial-degree=5})' 2>&1 | FileCheck %s --check-prefix=E9
// E9: has polynomials of degree 5, which must be 3 or 4
// RUN: not lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-threads{chip=sm_80})' 2>&1 | FileCheck %s --check-prefix=E10
// E10: unknown chip 'sm_80'
// RUN: not lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-threads{ordering=none})' 2>&1 | FileCheck %s --check-prefix=E11
// E11: ordering
// RUN: not lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-threads{scores-first=maybe})' 2>&1 | FileCheck %s --check-prefix=E12
// E12: scores-first
// RUN: not lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-threads{queries-in-tmem=2})' 2>&1 | FileCheck %s --check-prefix=E13
// E13: queries-in-tmem
// RUN: not lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-threads{longest-first=2})' 2>&1 | FileCheck %s --check-prefix=E14
// E14: longest-first
// RUN: not lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-threads{verify-schedule=2})' 2>&1 | FileCheck %s --check-prefix=E15
// E15: verify-schedule
// RUN: not lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-threads{stages=1 scores-ahead=2 key-tile=64})' 2>&1 | FileCheck %s --check-prefix=E16
// E16: deadlocks: its roles wait for each other
// RUN: not lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-threads{queries-in-tmem=true key-tile=128 query-tiles=2})' 2>&1 | FileCheck %s --check-prefix=E17
// E17: finds no place for its tiles in 512 columns
// RUN: not lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-threads{lag=33})' 2>&1 | FileCheck %s --check-prefix=E18
// E18: lag must be 0 to 32, or -1 for that of the op, not 33
// RUN: not lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-threads{lag=-2})' 2>&1 | FileCheck %s --check-prefix=E19
// E19: lag must be 0 to 32, or -1 for that of the op, not -2
// RUN: not lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-threads{factor-first=2})' 2>&1 | FileCheck %s --check-prefix=E20
// E20: factor-first
// RUN: not lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-threads{key-tile=128 probability-parts=3})' 2>&1 | FileCheck %s --check-prefix=E21
// E21: probability-parts must divide 128 keys into multiples of 32, not be 3
// RUN: not lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-threads{key-tile=64 probability-parts=4})' 2>&1 | FileCheck %s --check-prefix=E22
// E22: probability-parts must divide 64 keys into multiples of 32, not be 4
// RUN: not lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-threads{key-tile=128 probability-parts=0})' 2>&1 | FileCheck %s --check-prefix=E23
// E23: probability-parts must divide 128 keys into multiples of 32, not be 0
// RUN: not lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-threads{key-tile=128 score-buffers=1 probability-buffers=2})' 2>&1 | FileCheck %s --check-prefix=E24
// E24: probability-buffers must be 1 or score-buffers, not 2
// RUN: not lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-threads{key-tile=64 score-buffers=2 probability-buffers=0})' 2>&1 | FileCheck %s --check-prefix=E25
// E25: probability-buffers must be 1 or score-buffers, not 0

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
