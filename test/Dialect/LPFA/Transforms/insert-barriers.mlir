// The waits of a steady step, and what spares the others.

// DEFINE: %{passes} = lpfa-form-kernels,canonicalize,cse,lpfa.kernel(lpfa-assign-roles,canonicalize,cse,lpfa-place-tiles,lpfa-insert-barriers)
// RUN: lpfa-opt %s -pass-pipeline='builtin.module(%{passes})' -o %t.mlir --remarks-filter-passed=lpfa-barriers 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: FileCheck %s < %t.mlir
// RUN: lpfa-opt %t.mlir -pass-pipeline='builtin.module(lpfa-print-schedule)' -o /dev/null | FileCheck %s --check-prefix=SCHEDULE
// RUN: lpfa-opt %s -pass-pipeline='builtin.module(lpfa-form-kernels{key-tile=64},canonicalize,cse,lpfa.kernel(lpfa-assign-roles{scores-first=true},canonicalize,cse,lpfa-place-tiles,lpfa-insert-barriers),lpfa-print-schedule)' -o /dev/null | FileCheck %s --check-prefix=FIRST

// WHY-DAG: remark: [Passed] merged | Category:lpfa-barriers | Function=f_kernel | {{.*}}content of 'Q0' comes with that of 'K': who reads it has waited for that
// WHY-DAG: remark: [Passed] merged | Category:lpfa-barriers | Function=f_kernel | {{.*}}content of 'Q1' comes with that of 'K'

// WHY-DAG: remark: [Passed] named | Category:lpfa-barriers | Function=f_kernel | {{.*}}content of 'factor0' is handed over at a named barrier: 8 issue slots a use, an mbarrier 20 with an arrival a thread, 28 with one a team
// WHY-DAG: remark: [Passed] fence | Category:lpfa-barriers | Function=f_kernel | {{.*}}fence proxy_async: role "mma" (lpfa.copy_scales of 'P0') comes after role "softmax0" (lpfa.write of 'P0')

// Queries are loaded while a slot of K is filled: K's barrier counts their bytes
// before it counts its own, which come with its arrival.
// CHECK-NOT: "Q0.full"
// CHECK-DAG: %[[FULL:.+]] = lpfa.barrier "K.full" stages(3) arrivals(1) guards "content of K and Q0 and Q1 is there"
// CHECK-DAG: lpfa.barrier "factor0.full" named stages(1) arrivals(128)
// CHECK-DAG: lpfa.barrier "P0.full" stages(1) arrivals(128)
// CHECK-DAG: %[[FREE:.+]] = lpfa.barrier "K.free"
// CHECK-DAG: %[[QFREE:.+]] = lpfa.barrier "Q0.free"
// CHECK:     lpfa.role "load"
// CHECK:       lpfa.wait %[[FREE]] use %[[K:[0-9]+]] back(3)
// CHECK:       scf.if
// CHECK-NEXT:    lpfa.wait %[[QFREE]] use %{{.+}} back(1)
// CHECK-NEXT:    %{{.+}}:2 = lpfa.slot
// CHECK-NEXT:    lpfa.expect_bytes %[[FULL]] use %[[K]] bytes(16896) no_arrival
// CHECK-NEXT:    lpfa.load_async {{.*}} signals(%[[FULL]] use %[[K]])
// CHECK:       }
// CHECK-NEXT:  lpfa.expect_bytes %[[FULL]] use %[[K]] bytes(16896) :
// CHECK-NEXT:  lpfa.load_async {{.*}} signals(%[[FULL]] use %[[K]])

// In the loop the correction role waits for factors alone: a softmax role gives
// one after scores that the tensor core made after the latest product into the
// outputs. After the loop there are no more scores.
// SCHEDULE:      role correction
// SCHEDULE-NEXT:   for_work
// SCHEDULE-NEXT:     for
// SCHEDULE-NEXT:       wait factor0.full
// SCHEDULE-NEXT:       read factor0
// SCHEDULE-NEXT:       if
// SCHEDULE-NEXT:         fence after_thread_sync
// SCHEDULE-NEXT:         rescale_buffer O0
// SCHEDULE-NEXT:       fence before_thread_sync
// SCHEDULE-NEXT:       arrive O0.for.mma
// SCHEDULE-NEXT:       wait factor1.full
// SCHEDULE-NOT:        wait
// SCHEDULE:            arrive O1.for.mma
// SCHEDULE-NEXT:     if
// SCHEDULE-NEXT:       wait O1.for.correction
// SCHEDULE:      role mma
// SCHEDULE-NOT:  wait K.full
// SCHEDULE-NOT:  wait Q
// SCHEDULE:          wait K.full
// SCHEDULE-NOT:      wait Q
// Only what is given in the last step is waited for: only then is it committed.
// SCHEDULE:          mma P1, V
// SCHEDULE-NEXT:     if
// SCHEDULE-NEXT:       commit O1.for.correction
// SCHEDULE-NEXT:   at shift 1
// SCHEDULE-NOT:  wait Q
// SCHEDULE:      role load

// Scores that come before the product with this step's probabilities say nothing
// of it.
// FIRST:      role correction
// FIRST-NEXT:   for_work
// FIRST-NEXT:     for
// FIRST-NEXT:       wait factor0.full
// FIRST-NEXT:       read factor0
// FIRST-NEXT:       arrive factor0.free
// FIRST-NEXT:       if
// FIRST-NEXT:         wait O0.for.correction
// FIRST-NEXT:         fence after_thread_sync
// FIRST-NEXT:         rescale_buffer O0
// FIRST:      role mma
// FIRST:          mma P0, V
// FIRST-NEXT:     commit O0.for.correction

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
