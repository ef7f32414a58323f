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

// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-synchronized{key-tile=64 scores-ahead=2 queries-in-tmem=true ordering=documented},lpfa-print-tmem-map,lpfa-print-schedule)' \
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

// 96 keys, probabilities beside the scores: the four places of scales that are
// left serve both query tiles, in turns that rest on the order of the tensor
// core. Of all such turns these are between products that are not neighbors.

// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-synchronized{key-tile=96 scores-ahead=2},lpfa-print-tmem-map)' \
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
// TMEM96-NEXT: 472-476   . scales.Q1,
// TMEM96-NEXT: 476-480   scales.K0,
// TMEM96-NEXT: 476-480   . scales.K1,
// TMEM96-NEXT: 480-504   P1,
// TMEM96-NEXT: 504-508   scales.P0,
// TMEM96-NEXT: 504-508   . scales.P1,
// TMEM96-NEXT: 508-512   scales.V0,
// TMEM96-NEXT: 508-512   . scales.V1,

// In the order that the manual promises, with a wait for each turn.

// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-synchronized{key-tile=96 scores-ahead=2 ordering=documented})' \
// RUN:   -o /dev/null --remarks-filter-analyse=lpfa-schedule 2>&1 | FileCheck %s --check-prefix=SAFE

// 128 keys, the next scores first: the query tiles take turns in one tile of
// scores, which is read before the other's are written.

// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-synchronized{key-tile=128 query-tiles=2 score-buffers=1 scores-first=true},lpfa-print-tmem-map)' \
// RUN:   -o /dev/null --remarks-filter-analyse=lpfa-schedule 2> %t.turns | FileCheck %s --check-prefix=TURNS
// RUN: FileCheck %s --check-prefix=SAFE < %t.turns
// TURNS: tensor memory of @f_kernel: 480 columns
// TURNS-NEXT:   0-128   S0,
// TURNS-NEXT:   0-128   . S1,
// TURNS-NEXT: 128-256   O0,
// TURNS-NEXT: 256-384   O1,
// TURNS-NEXT: 384-416   P0,
// TURNS-NEXT: 416-448   P1,

// Probabilities handed over in halves: each a channel of its own, the scales of
// both with the first; the row sum goes through both. Each half has a product of
// its own, which can be moved; one release at the end stands for both.

// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa-form-kernels{key-tile=128},canonicalize,cse,lpfa.kernel(lpfa-assign-roles{probability-parts=2},canonicalize,cse))' \
// RUN:   | FileCheck %s --check-prefix=PARTS
// PARTS-DAG:  %[[A:.+]] = lpfa.channel "P0.0" stages(1) : <128x64xf8E4M3FN tensor, 32x4x4xf8E8M0FNU shared>
// PARTS-DAG:  %[[B:.+]] = lpfa.channel "P0.1" stages(1) : <128x64xf8E4M3FN tensor>
// PARTS-DAG:  %[[SP:.+]] = lpfa.scratch "scales.P0"
// PARTS-DAG:  %[[SV:.+]] = lpfa.scratch "scales.V0"
// PARTS:      lpfa.role "softmax0"
// PARTS:        %[[M:.+]], %{{.+}}, %[[F:.+]] = lpfa.softmax_maximum %[[X:[^,]+]],
// PARTS:        %[[P0:.+]], %[[S:.+]], %[[L0:.+]] = lpfa.softmax_probabilities %[[X]], %[[M]], %{{.+}}, %[[F]] {{.*}} part(0)
// PARTS-NEXT:   %[[SLOT0:.+]]:2 = lpfa.acquire %[[A]]
// PARTS-NEXT:   lpfa.write %[[P0]] -> %[[SLOT0]]#0
// PARTS-NEXT:   lpfa.write %[[S]] -> %[[SLOT0]]#1
// PARTS-NEXT:   lpfa.put %[[A]]
// PARTS-NEXT:   %[[P1:.+]], %{{.+}}, %[[L1:.+]] = lpfa.softmax_probabilities %[[X]], %[[M]], %[[L0]], %[[F]] {{.*}} part(1)
// PARTS-NEXT:   %[[SLOT1:.+]] = lpfa.acquire %[[B]]
// PARTS-NEXT:   lpfa.write %[[P1]] -> %[[SLOT1]]
// PARTS-NEXT:   lpfa.put %[[B]]
// PARTS-NEXT:   scf.yield %[[M]], %[[L1]],
// PARTS:      lpfa.role "mma"
// PARTS:        %[[SLOT0:.+]]:2 = lpfa.get %[[A]]
// PARTS:        lpfa.copy_scales %[[SLOT0]]#1 -> %[[SP]]
// PARTS:        lpfa.mma %[[SLOT0]]#0, %{{.+}} scaled %[[SP]], %[[SV]] into %[[O:.+]] accumulate(%{{.+}}) valid(%{{.+}}) part(0)
// PARTS-NEXT:   }
// PARTS-NEXT:   lpfa.at shift(0)
// PARTS:        %[[SLOT1:.+]] = lpfa.get %[[B]]
// PARTS:        lpfa.mma %[[SLOT1]], %{{.+}} scaled %[[SP]], %[[SV]] into %[[O]] accumulate(%true) valid(%{{.+}}) part(1)
// PARTS-NEXT:   lpfa.give %[[O]]
// PARTS-NEXT:   lpfa.release %[[A]]
// PARTS-NEXT:   lpfa.release %[[B]]

// 128 keys as by hand: with `peel-prologue` the scales of the second query tile's
// first scores lie in outputs that have not begun, so that these do not wait until
// the first one's have been read. A step has its eight waits with and without.

// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-synchronized{key-tile=128 query-tiles=2 score-buffers=1 scores-first=false peel-prologue=true},lpfa-print-tmem-map,lpfa-print-schedule)' \
// RUN:   -o /dev/null --remarks-filter-analyse=lpfa-schedule 2> %t.peeled | FileCheck %s --check-prefixes=STEP,PEELED
// RUN: FileCheck %s --check-prefix=SAFETWO < %t.peeled
// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-synchronized{key-tile=128 query-tiles=2 score-buffers=1 scores-first=false},lpfa-print-schedule)' \
// RUN:   -o /dev/null | FileCheck %s --check-prefixes=STEP,LOOP
// PEELED: tensor memory of @f_kernel: 512 columns
// PEELED:      . scales.Q1,
// PEELED-NEXT: . scales.K1,
// PEELED-NEXT: 128-256   O0,
// PEELED:      . scales.Q0,
// PEELED:      384-512   O1,
// PEELED-NEXT: 384-388   . scales.Q1.first,
// PEELED-NEXT: 388-392   . scales.K1.first,
// STEP: role mma, 1 thread
// STEP-NEXT: for_steps
// PEELED-NEXT: at shift 1 prologue
// PEELED-NEXT:   wait K.full
// PEELED-NEXT:   copy_scales Q0, scales.Q0
// PEELED-NEXT:   copy_scales K, scales.K0
// PEELED-NEXT:   mma Q0, K, scales.Q0, scales.K0, S0
// PEELED-NEXT:   commit S0.full
// PEELED-NEXT: at shift 1 prologue
// PEELED-NEXT:   copy_scales Q1, scales.Q1.first
// PEELED-NEXT:   copy_scales K, scales.K1.first
// PEELED-NEXT:   mma Q1, K, scales.Q1.first, scales.K1.first, S1
// PEELED-NEXT:   commit S1.full
// PEELED-NEXT: at shift 1 prologue
// PEELED-NEXT:   commit K.free
// PEELED-NEXT:   if
// PEELED-NEXT:     commit Q0.free
// LOOP-NOT:    prologue
// STEP:        at shift 0
// STEP-COUNT-8: wait
// STEP-NOT:    wait
// STEP:      role load, 1 thread

// By the manual's orders they wait for the first one's product.

// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-synchronized{key-tile=128 query-tiles=2 score-buffers=1 scores-first=false peel-prologue=true ordering=documented})' \
// RUN:   -o /dev/null --remarks-filter-analyse=lpfa-schedule 2>&1 | FileCheck %s --check-prefix=SAFE

// Where nothing waits there is no prologue.

// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-synchronized{key-tile=96 scores-ahead=2 peel-prologue=true},lpfa-print-tmem-map,lpfa-print-schedule)' \
// RUN:   -o /dev/null | FileCheck %s --check-prefixes=TMEM96,WHOLE96
// WHOLE96-NOT: prologue

// Inside the scores, which their row's thread has loaded, as the whole would be:
// the same columns, and a wait more a half.

// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-synchronized{key-tile=128 query-tiles=2 score-buffers=1 scores-first=false probability-parts=2},lpfa-print-tmem-map,lpfa-print-schedule)' \
// RUN:   -o /dev/null --remarks-filter-analyse=lpfa-schedule 2> %t.parts | FileCheck %s --check-prefix=HALVES
// RUN: FileCheck %s --check-prefix=SAFEHALVES < %t.parts
// SAFEHALVES: schedule-verdict {{.*}} Remark="safe assuming that the tensor core keeps the order of products after products of other accumulators"
// HALVES: tensor memory of @f_kernel: 512 columns
// HALVES-NEXT:   0-128   S0,
// HALVES-NEXT:   0-16    . P0.0, written by softmax0, read by mma
// HALVES-NEXT:  16-32    . P0.1, written by softmax0, read by mma
// HALVES-NEXT:  32-36    . scales.P0,
// HALVES: P0.1 after S0: softmax0: read S0 -> softmax0: write P0.1
// HALVES: role mma, 1 thread
// HALVES:      at shift 0
// HALVES-NEXT:   wait P0.0.full
// HALVES-NEXT:   wait V.full
// HALVES-NEXT:   wait O0.for.mma
// HALVES-NEXT:   fence after_thread_sync
// HALVES-NEXT:   copy_scales P0.0, scales.P0
// HALVES-NEXT:   copy_scales V, scales.V0
// HALVES-NEXT:   mma P0.0, V, scales.P0, scales.V0, O0
// HALVES-NEXT: at shift 0
// HALVES-NEXT:   wait P0.1.full
// HALVES-NEXT:   fence after_thread_sync
// HALVES-NEXT:   mma P0.1, V, scales.P0, scales.V0, O0
// HALVES:      at shift 1

// Beside the scores, a half is written again when both have been multiplied.

// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-synchronized{key-tile=96 scores-ahead=2 probability-parts=3},lpfa-print-schedule)' \
// RUN:   -o /dev/null --remarks-filter-analyse=lpfa-schedule 2> %t.thirds | FileCheck %s --check-prefix=THIRDS
// RUN: FileCheck %s --check-prefix=SAFE < %t.thirds
// THIRDS:      role softmax0
// THIRDS:        wait P0.0.free
// THIRDS:        write P0.0
// THIRDS:        arrive P0.0.full
// THIRDS-NEXT:   write P0.1
// THIRDS:        arrive P0.1.full
// THIRDS-NEXT:   write P0.2
// THIRDS:      role mma
// THIRDS:        mma P0.2,
// THIRDS:        commit P0.0.free
// THIRDS-NOT:    commit P0.

// 64 keys, two tiles of scores and two of probabilities a query tile: scores and
// outputs take all columns. Each slot of the probabilities lies inside a slot of
// the scores, and so do the scales, which take turns in two places: those of a
// query tile's probabilities and values beside these, those of queries and keys
// in the other tile's scores before, which need only have been read. Eight waits
// a step, as with 128 keys.

// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-synchronized{key-tile=64 query-tiles=2 score-buffers=2 probability-buffers=2},lpfa-print-tmem-map,lpfa-print-schedule)' \
// RUN:   -o %t.two.mlir --remarks-filter-analyse=lpfa-schedule 2> %t.two | FileCheck %s --check-prefix=TWO
// RUN: FileCheck %s --check-prefix=SAFETWO < %t.two
// RUN: FileCheck %s --check-prefix=PLACES < %t.two.mlir
// SAFETWO: schedule-verdict {{.*}} Remark="safe assuming that the tensor core keeps the order of products after products of other accumulators"
// TWO: tensor memory of @f_kernel: 512 columns
// TWO-NEXT:   0-128   S0,
// TWO-NEXT:   0-16    . P0,
// TWO-NEXT:  16-20    . scales.P0,
// TWO-NEXT:  20-24    . scales.V0,
// TWO-NEXT:  24-28    . scales.Q1,
// TWO-NEXT:  28-32    . scales.K1,
// TWO-NEXT:  64-80    . P0,
// TWO-NEXT:  80-84    . scales.P0,
// TWO-NEXT:  84-88    . scales.V0,
// TWO-NEXT:  88-92    . scales.Q1,
// TWO-NEXT:  92-96    . scales.K1,
// TWO-NEXT: 128-256   O0,
// TWO-NEXT: 256-384   S1,
// TWO-NEXT: 256-272   . P1,
// TWO-NEXT: 272-276   . scales.Q0,
// TWO-NEXT: 276-280   . scales.K0,
// TWO-NEXT: 280-284   . scales.P1,
// TWO-NEXT: 284-288   . scales.V1,
// TWO-NEXT: 320-336   . P1,
// TWO-NEXT: 336-340   . scales.Q0,
// TWO-NEXT: 340-344   . scales.K0,
// TWO-NEXT: 344-348   . scales.P1,
// TWO-NEXT: 348-352   . scales.V1,
// TWO-NEXT: 384-512   O1,
// TWO: P0 after S0: softmax0: read S0 -> softmax0: write P0
// TWO:      role mma, 1 thread
// TWO:          copy_scales P0, scales.P0
// TWO:          copy_scales V, scales.V0
// TWO:          wait K.full
// TWO-NEXT:     wait S1.free
// TWO-NEXT:     fence after_thread_sync
// TWO-NEXT:     copy_scales Q0, scales.Q0
// TWO:          copy_scales P1, scales.P1
// TWO:          wait S0.free
// TWO-NEXT:     fence after_thread_sync
// TWO-NEXT:     copy_scales Q1, scales.Q1
// The waits go two contents back: not to the scores that were just ordered.
// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-synchronized{key-tile=64 query-tiles=2 score-buffers=2 probability-buffers=2})' \
// RUN:   -o /dev/null --remarks-filter-passed=lpfa-barriers 2>&1 | FileCheck %s --check-prefix=OLDER
// OLDER: wait-overlap {{.*}}role "mma" waits until others have read the content before the latest of 'S1': else role "mma" (lpfa.copy_scales of 'scales.Q0') could overtake role "softmax1" (lpfa.read of 'S1')
// PLACES-DAG: lpfa.channel "S0" stages(2) at [#lpfa.place<tensor, 0, 64>]
// PLACES-DAG: lpfa.channel "P0" stages(2) at [#lpfa.place<tensor, 0, 16, 64>, #lpfa.place<shared, {{.*}}>]
// PLACES-DAG: lpfa.scratch "scales.P0" stages(2) at <tensor, 16, 4, 64>
// PLACES-DAG: lpfa.scratch "scales.Q1" stages(2) at <tensor, 88, 4, -64>
// PLACES-DAG: %[[FREE:.+]] = lpfa.barrier "S0.free"
// PLACES:     lpfa.role "mma"
// PLACES:       lpfa.wait %[[FREE]] use %{{.+}} back(2)

// With one tile of probabilities each these lie beside, and the query tiles'
// scores take turns in the same columns.

// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-synchronized{key-tile=64 query-tiles=2 score-buffers=2 probability-buffers=1},lpfa-print-tmem-map)' \
// RUN:   -o /dev/null --remarks-filter-analyse=lpfa-schedule 2> %t.one | FileCheck %s --check-prefix=ONE
// RUN: FileCheck %s --check-prefix=SAFE96 < %t.one
// ONE: tensor memory of @f_kernel: 448 columns
// ONE-NEXT:   0-128   S0,
// ONE-NEXT:   0-128   . S1,
// ONE-NEXT: 128-256   O0,
// ONE-NEXT: 256-384   O1,
// ONE-NEXT: 384-400   P0,

// One query tile and rings of six slots: outputs, which are written when a work
// tile's queries have been used, lie in the queries' place, at one wait a work tile
// of the load role.

// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa-to-synchronized{key-tile=128 query-tiles=1 scores-first=false stages=6},lpfa-print-schedule)' \
// RUN:   -o %t.six.mlir --remarks-filter-analyse=lpfa-schedule 2> %t.six | FileCheck %s --check-prefix=SIX
// RUN: FileCheck %s --check-prefix=SAFE < %t.six
// RUN: FileCheck %s --check-prefix=SIXPLACES < %t.six.mlir
// SIXPLACES:     shared_bytes(229376)
// SIXPLACES-DAG: lpfa.channel "Q0" stages(1) at [#lpfa.place<shared, 196608, 16384>,
// SIXPLACES-DAG: lpfa.channel "output" stages(2) at [#lpfa.place<shared, 204800, 8192>]
// SIX:      role load
// SIX-NEXT: for_work
// SIX-NEXT:   wait output.read.for.load
// SIX-NEXT:   arrive output.awaited.by.load
// SIX:      role epilogue
// SIX:        wait output.awaited.by.load
// SIX-NEXT:   arrive output.read.for.load

// Two query tiles have no such place: the next queries come before the last
// products of the ones before, and so do those whose scores are ahead.

// RUN: not lpfa-opt %s -lpfa-to-synchronized="key-tile=128 query-tiles=2 scores-first=false stages=6" 2>&1 | FileCheck %s --check-prefix=TWOSIX
// RUN: not lpfa-opt %s -lpfa-to-synchronized="key-tile=128 query-tiles=1 scores-ahead=2 stages=6" 2>&1 | FileCheck %s --check-prefix=AHEADSIX
// TWOSIX:   error: 'lpfa.kernel' op needs 256000 bytes of shared memory, of 232448; with rings of 5 slots at most it would need 222208
// TWOSIX:   note: 'Q0' takes 1 times 16384 bytes
// AHEADSIX: error: 'lpfa.kernel' op needs 237568 bytes of shared memory, of 232448; with rings of 5 slots at most it would need 203776

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
