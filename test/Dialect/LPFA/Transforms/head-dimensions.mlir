// Attention at head dimensions other than 64 and 128: tiles of up to 128 columns
// with an atom of scales each, and a map of tensor memory for the schedule that
// lpfa-choose-schedule takes.

// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa-choose-schedule,lpfa-form-kernels,canonicalize,cse)' -o %t.tile.mlir
// RUN: FileCheck %s --check-prefix=TILE < %t.tile.mlir
// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-synchronized,lpfa-print-tmem-map)' -o %t.synchronized.mlir \
// RUN:   --remarks-filter-analyse=lpfa-schedule 2> %t.remarks | FileCheck %s --check-prefix=TMEM
// RUN: FileCheck %s --check-prefix=ROLES < %t.synchronized.mlir
// RUN: FileCheck %s --check-prefix=SAFE < %t.remarks

// Every schedule that is said to fit has a map, of the size that was said.
// RUN: %python %S/Inputs/candidates.py %s sm_100a | FileCheck %s --check-prefix=PLACED
// PLACED-NOT: WRONG
// PLACED:     @d96
// PLACED:     query-tiles=2 key-tile=128 {{.*}}: as said
// PLACED:     @latent
// PLACED:     query-tiles=2 key-tile=128 {{.*}}: as said
// PLACED:     @d256
// PLACED:     query-tiles=1 key-tile=128 {{.*}}: as said
// PLACED-NOT: WRONG

// Three steps of 32, two tiles of 128 queries.
// TILE-LABEL: lpfa.kernel @d96_kernel
// TILE:         scf.for
// TILE:           lpfa.dot {{.*}} transpose_b : <128x96xf8E4M3FN>, <128x96xf8E4M3FN> -> <128x128xf32>
// TILE:           lpfa.dot {{.*}} acc {{.*}} -> <128x96xf32>

// Scores are the sum of products over 128 and 64, each with scales of its own.
// TILE-LABEL: lpfa.kernel @latent_kernel
// TILE:         lpfa.load {{.*}} -> <128x128xf8E4M3FN>
// TILE:         lpfa.load {{.*}} -> <128x64xf8E4M3FN>
// TILE:         scf.for
// TILE:           %[[PART:.+]] = lpfa.dot {{.*}} transpose_b : <128x128xf8E4M3FN>, <128x128xf8E4M3FN>
// TILE:           %[[SCORES:.+]] = lpfa.dot {{.*}} acc %[[PART]] transpose_b : <128x64xf8E4M3FN>, <128x64xf8E4M3FN>
// TILE:           lpfa.apply_mask %[[SCORES]]

// Two tiles of outputs would take all columns: one query tile.
// TILE-LABEL: lpfa.kernel @d256_kernel
// TILE-SAME:    query_tiles = 1
// TILE:         scf.for
// TILE:           lpfa.softmax_step
// TILE-NOT:       lpfa.softmax_step
// TILE-COUNT-2:   lpfa.dot {{.*}} acc {{.*}} -> <128x128xf32>

// TMEM: tensor memory of @d96_kernel: 512 columns
// TMEM-DAG: {{[0-9]+}}-{{[0-9]+}} S0,
// TMEM-DAG: {{[0-9]+}}-{{[0-9]+}} O1,
// TMEM: tensor memory of @latent_kernel: 512 columns
// TMEM-NEXT:     0-128   S0,
// TMEM:        128-256   O0,
// TMEM:        256-384   S1,
// TMEM:        384-512   O1,
// TMEM: tensor memory of @d256_kernel: 444 columns
// TMEM-NEXT:     0-128   S0,
// TMEM-NEXT:   128-384   O0,
// TMEM-NEXT:   384-416   P0,
// TMEM-NEXT:   416-420   scales.Q0,
// TMEM-NEXT:   420-424   scales.Q0.1,
// TMEM-NEXT:   424-428   scales.K0,
// TMEM-NEXT:   428-432   scales.K0.1,
// TMEM-NEXT:   432-436   scales.P0,
// TMEM-NEXT:   436-440   scales.V0,
// TMEM-NEXT:   440-444   scales.V0.1,

// ROLES-LABEL: lpfa.kernel @d256_kernel
// ROLES:         %[[O:.+]] = lpfa.accumulator "O0"
// ROLES:         lpfa.channel "K" {{.*}} : <128x128xf8E4M3FN shared, 32x4x4xf8E8M0FNU shared, 128x128xf8E4M3FN shared, 32x4x4xf8E8M0FNU shared>
// ROLES:         lpfa.role "mma"
// ROLES-DAG:       lpfa.slice %[[O]][0] : <128x256xf32, tensor> to <128x128xf32, tensor>
// ROLES-DAG:       lpfa.slice %[[O]][128] : <128x256xf32, tensor> to <128x128xf32, tensor>

// SAFE-DAG: Function=d96_kernel | Remark="safe assuming
// SAFE-DAG: Function=latent_kernel | Remark="safe assuming
// SAFE-DAG: Function=d256_kernel | Remark=safe

func.func @d96(%q: tensor<?x?x?x96xf8E4M3FN>, %sq: tensor<?x?x?x1x32x4x4xf8E8M0FNU>,
                %k: tensor<?x?x?x96xf8E4M3FN>, %sk: tensor<?x?x?x1x32x4x4xf8E8M0FNU>,
                %v: tensor<?x?x?x96xf8E4M3FN>, %sv: tensor<?x?x1x?x32x4x4xf8E8M0FNU>)
    -> (tensor<?x?x?x96xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv {scale = 0.125 : f32}
      : (tensor<?x?x?x96xf8E4M3FN>, tensor<?x?x?x1x32x4x4xf8E8M0FNU>,
         tensor<?x?x?x96xf8E4M3FN>, tensor<?x?x?x1x32x4x4xf8E8M0FNU>,
         tensor<?x?x?x96xf8E4M3FN>, tensor<?x?x1x?x32x4x4xf8E8M0FNU>)
      -> (tensor<?x?x?x96xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x96xbf16>, tensor<?x?x?xf32>
}

func.func @latent(%q: tensor<?x?x?x192xf8E4M3FN>, %sq: tensor<?x?x?x2x32x4x4xf8E8M0FNU>,
                %k: tensor<?x?x?x192xf8E4M3FN>, %sk: tensor<?x?x?x2x32x4x4xf8E8M0FNU>,
                %v: tensor<?x?x?x128xf8E4M3FN>, %sv: tensor<?x?x1x?x32x4x4xf8E8M0FNU>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv {scale = 0.125 : f32}
      : (tensor<?x?x?x192xf8E4M3FN>, tensor<?x?x?x2x32x4x4xf8E8M0FNU>,
         tensor<?x?x?x192xf8E4M3FN>, tensor<?x?x?x2x32x4x4xf8E8M0FNU>,
         tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x1x?x32x4x4xf8E8M0FNU>)
      -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

func.func @d256(%q: tensor<?x?x?x256xf8E4M3FN>, %sq: tensor<?x?x?x2x32x4x4xf8E8M0FNU>,
                %k: tensor<?x?x?x256xf8E4M3FN>, %sk: tensor<?x?x?x2x32x4x4xf8E8M0FNU>,
                %v: tensor<?x?x?x256xf8E4M3FN>, %sv: tensor<?x?x2x?x32x4x4xf8E8M0FNU>)
    -> (tensor<?x?x?x256xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv {scale = 0.125 : f32}
      : (tensor<?x?x?x256xf8E4M3FN>, tensor<?x?x?x2x32x4x4xf8E8M0FNU>,
         tensor<?x?x?x256xf8E4M3FN>, tensor<?x?x?x2x32x4x4xf8E8M0FNU>,
         tensor<?x?x?x256xf8E4M3FN>, tensor<?x?x2x?x32x4x4xf8E8M0FNU>)
      -> (tensor<?x?x?x256xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x256xbf16>, tensor<?x?x?xf32>
}
