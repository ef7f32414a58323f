// Schedules other than the default, at head dimension 128 with two query tiles.

// 64 keys, probabilities beside the scores, queries in tensor memory: the scores
// two steps ahead wait only until those before have been read.

// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa-form-kernels{key-tile=64},canonicalize,cse,lpfa.kernel(lpfa-assign-roles{scores-ahead=2 queries-in-tmem=true},canonicalize,cse))' \
// RUN:   | FileCheck %s --check-prefix=ROLES
// ROLES-DAG: %[[Q0:.+]] = lpfa.channel "Q0"
// ROLES-DAG: %[[TQ0:.+]] = lpfa.scratch "tensor.Q0" : <128x128xf8E4M3FN, tensor>
// ROLES-DAG: %[[SQ0:.+]] = lpfa.scratch "scales.Q0"
// ROLES:     lpfa.role "mma"
// ROLES:       lpfa.at shift(0)
// ROLES:         lpfa.mma {{.*}} accumulate
// ROLES:       lpfa.at shift(2) (%{{.+}}, %[[FIRST:.+]], %{{.+}})
// ROLES:         scf.if %[[FIRST]] {
// ROLES:           %[[SLOT:.+]]:2 = lpfa.get %[[Q0]]
// ROLES:           lpfa.copy_tile %[[SLOT]]#0 -> %[[TQ0]]
// ROLES:           lpfa.copy_scales %[[SLOT]]#1 -> %[[SQ0]]
// ROLES:           lpfa.release %[[Q0]]
// ROLES:         }
// ROLES:         lpfa.mma %[[TQ0]], {{.*}} transpose_b

// It fills the columns without overlap, and is right by what the manual promises.
// The one wait in place of more is for the last products with the queries of the
// work tile before.

// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-synchronized{key-tile=64 scores-ahead=2 queries-in-tmem=true ordering=documented},lpfa.kernel(lpfa-print-tmem-map,lpfa-print-schedule))' \
// RUN:   -o /dev/null --remarks-filter-analyse=lpfa-schedule 2> %t.remarks | FileCheck %s --check-prefix=TMEM
// RUN: FileCheck %s --check-prefix=SAFE < %t.remarks
// SAFE: schedule-verdict {{.*}} Remark=safe{{$}}
// TMEM: tensor memory of @f_kernel: 512 columns
// TMEM-NEXT:   0-64    S0,
// TMEM-NEXT:  64-192   O0,
// TMEM-NEXT: 192-256   S1,
// TMEM-NEXT: 256-384   O1,
// TMEM-NEXT: 384-416   tensor.Q0,
// TMEM-NEXT: 416-448   tensor.Q1,
// TMEM-NEXT: 448-464   P0,
// TMEM-NEXT: 464-480   P1,
// TMEM-NEXT: 480-484   scales.Q0,
// TMEM-NEXT: 484-488   scales.K0,
// TMEM-NEXT: 488-492   scales.P0,
// TMEM-NEXT: 492-496   scales.V0,
// TMEM-NEXT: 496-500   scales.Q1,
// TMEM-NEXT: 500-504   scales.K1,
// TMEM-NEXT: 504-508   scales.P1,
// TMEM-NEXT: 508-512   scales.V1,
// TMEM: role mma, 1 thread
// TMEM-NEXT: for_steps
// TMEM-NEXT:   at shift 0
// TMEM-NEXT:     wait P0.full
// TMEM-NEXT:     wait V.full
// TMEM-NEXT:     wait O0.for.mma
// TMEM:          commit P0.free
// TMEM-NEXT:   at shift 2
// TMEM-NEXT:     wait K.full
// TMEM-NEXT:     if
// TMEM-NEXT:       wait P0.free
// TMEM-NEXT:       fence after_thread_sync
// TMEM-NEXT:       copy_tile Q0, tensor.Q0
// TMEM-NEXT:       copy_scales Q0, scales.Q0
// TMEM-NEXT:       commit Q0.free
// TMEM-NEXT:     wait S0.free

// The query tiles take turns in the scales' places.

// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa-form-kernels,canonicalize,cse,lpfa.kernel(lpfa-assign-roles{share-scales=true},canonicalize,cse))' \
// RUN:   | FileCheck %s --check-prefix=SHARED
// SHARED-COUNT-4: lpfa.scratch
// SHARED-NOT: lpfa.scratch

// 96 keys, probabilities beside the scores: the four places of scales that are
// left serve both query tiles, in turns that rest on the order of the tensor
// core.

// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-synchronized{key-tile=96 scores-ahead=2 share-scales=true},lpfa.kernel(lpfa-print-tmem-map))' \
// RUN:   -o /dev/null --remarks-filter-analyse=lpfa-schedule 2> %t.remarks96 | FileCheck %s --check-prefix=TMEM96
// RUN: FileCheck %s --check-prefix=SAFE96 < %t.remarks96
// SAFE96: schedule-verdict {{.*}} Remark="safe assuming that the tensor core keeps the order of copies after products"
// TMEM96: tensor memory of @f_kernel: 512 columns
// TMEM96-NEXT:   0-96    S0,
// TMEM96-NEXT:  96-224   O0,
// TMEM96-NEXT: 224-320   S1,
// TMEM96-NEXT: 320-448   O1,
// TMEM96-NEXT: 448-472   P0,
// TMEM96-NEXT: 472-476   scales.Q0,
// TMEM96-NEXT: 476-480   scales.K0,
// TMEM96-NEXT: 480-504   P1,
// TMEM96-NEXT: 504-508   scales.P0,
// TMEM96-NEXT: 508-512   scales.V0,

// 128 keys, the next scores first: the query tiles take turns in one tile of
// scores, which is read before the other's are written.

// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-synchronized{key-tile=128 query-tiles=2 score-buffers=1 scores-first=true},lpfa.kernel(lpfa-print-tmem-map))' \
// RUN:   -o /dev/null --remarks-filter-analyse=lpfa-schedule 2> %t.turns | FileCheck %s --check-prefix=TURNS
// RUN: FileCheck %s --check-prefix=SAFE < %t.turns
// TURNS: tensor memory of @f_kernel: 480 columns
// TURNS-NEXT:   0-128   S0,
// TURNS-NEXT:   0-128   . S1,
// TURNS-NEXT: 128-256   O0,
// TURNS-NEXT: 256-384   O1,
// TURNS-NEXT: 384-416   P0,
// TURNS-NEXT: 416-448   P1,

// The factor for the outputs is handed over before the probabilities, or after.

// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa-form-kernels,canonicalize,cse,lpfa.kernel(lpfa-assign-roles{lag=0},canonicalize,cse))' \
// RUN:   | FileCheck %s --check-prefix=FACTOR
// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa-form-kernels,canonicalize,cse,lpfa.kernel(lpfa-assign-roles{factor-first=false},canonicalize,cse))' \
// RUN:   | FileCheck %s --check-prefix=LATE
// FACTOR:      lpfa.role "softmax0"
// FACTOR:        %[[M:.+]], %{{.+}}, %[[FACTOR:.+]] = lpfa.softmax_maximum %[[X:[^,]+]], {{.*}} <row_max, lag = 0> :
// FACTOR:        lpfa.write %[[FACTOR]] ->
// FACTOR-NEXT:   lpfa.put
// FACTOR-NEXT:   lpfa.softmax_probabilities %[[X]], %[[M]], {{.*}}, %[[FACTOR]]
// FACTOR-NEXT:   lpfa.acquire
// LATE:        lpfa.role "softmax0"
// LATE:          lpfa.softmax_maximum
// LATE-NEXT:     lpfa.softmax_probabilities
// LATE-NEXT:     lpfa.acquire
// LATE-NEXT:     lpfa.write %{{factor|.+}} -> {{.*}} <128xf32>

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
