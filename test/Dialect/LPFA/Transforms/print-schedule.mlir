// The map of tensor memory with the proof of each overlap, and the schedule of
// each role, as text and as JSON.

// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa-form-kernels,canonicalize,cse,lpfa.kernel(lpfa-assign-roles,canonicalize,cse,lpfa-place-tiles,lpfa-insert-barriers))' \
// RUN:   -o %t.synchronized.mlir --remarks-filter-passed=lpfa-barriers 2>&1 | FileCheck %s --check-prefix=REMARKS
// RUN: lpfa-opt %t.synchronized.mlir -pass-pipeline='builtin.module(lpfa-print-tmem-map)' -o /dev/null | FileCheck %s --check-prefix=MAP
// RUN: lpfa-opt %t.synchronized.mlir -pass-pipeline='builtin.module(lpfa-print-schedule)' -o /dev/null | FileCheck %s --check-prefix=SCHEDULE
// RUN: lpfa-opt %t.synchronized.mlir -pass-pipeline='builtin.module(lpfa-print-tmem-map{json=true},lpfa-print-schedule{json=true})' -o /dev/null > %t.json
// RUN: %python -c "import json, sys; a, b = map(json.loads, open(sys.argv[1])); print(a['columns'], len(a['tiles']), a['overlaps'][0]['proof'], [r['name'] for r in b['roles']], len(b['barriers']))" %t.json | FileCheck %s --check-prefix=JSON

// Why each wait stands that is not for content.
// REMARKS: remark: [Passed] wait-free | Category:lpfa-barriers | Function=f_kernel | {{.*}}role "load" waits until others have read 'K': else role "load" (lpfa.load_async of 'K') could overtake role "mma" (lpfa.copy_scales of 'K')
// REMARKS: remark: [Passed] wait-turn | {{.*}}role "mma" waits until it owns 'O0': else role "mma" (lpfa.mma of 'O0') could overtake role "correction"
// REMARKS: remark: [Passed] wait-overlap | {{.*}}role "mma" waits until others have read 'S1': else role "mma" (lpfa.copy_scales of 'scales.Q0') could overtake role "softmax1" (lpfa.read of 'S1')

// MAP:      tensor memory of @f_kernel: 512 columns
// MAP-NEXT:     0-128   S0, written by mma, read by softmax0
// MAP-NEXT:     0-32    . P0, written by softmax0, read by mma
// MAP-NEXT:    32-36    . scales.P0, written by mma, read by mma
// MAP:       128-256   O0, written by correction, mma, read by correction
// MAP:       256-384   S1, written by mma, read by softmax1
// MAP:       288-292   . scales.Q0, written by mma, read by mma
// MAP-DAG:  P0 after S0: softmax0: read S0 -> softmax0: write P0
// MAP-DAG:  S0 after P0: mma: read P0 -> order of the tensor core -> mma: write S0
// MAP-DAG:  scales.Q0 after S1: softmax1: read S1 -> softmax1: arrive S1.free -> mma: wait S1.free -> mma: write scales.Q0

// SCHEDULE:      schedule of @f_kernel
// SCHEDULE-NEXT: role softmax0, 128 threads
// SCHEDULE-NEXT:   for_work
// SCHEDULE-NEXT:     for
// SCHEDULE-NEXT:       wait S0.full
// SCHEDULE-NEXT:       fence after_thread_sync
// SCHEDULE-NEXT:       read S0
// SCHEDULE-NEXT:       fence before_thread_sync
// SCHEDULE-NEXT:       arrive S0.free
// SCHEDULE:      role mma, 1 thread
// SCHEDULE-NEXT:   for_steps
// SCHEDULE-NEXT:     at shift 0
// SCHEDULE-NEXT:       wait P0.full
// SCHEDULE-NEXT:       wait V.full
// SCHEDULE-NEXT:       wait O0.for.mma
// SCHEDULE-NEXT:       fence after_thread_sync
// SCHEDULE-NEXT:       copy_scales P0, scales.P0
// SCHEDULE-NEXT:       copy_scales V, scales.V0
// SCHEDULE-NEXT:       mma P0, V, scales.P0, scales.V0, O0
// SCHEDULE:      barrier S0.free, 128 arrivals: content of S0 has been read; softmax0 -> mma
// SCHEDULE:      barrier K.full of 3, 1 arrival: content of K and Q0 and Q1 is there; load -> mma

// JSON: 512 14 ['softmax0: read S0', 'softmax0: write P0'] ['softmax0', 'softmax1', 'correction', 'mma', 'load', 'epilogue'] {{[0-9]+}}

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
