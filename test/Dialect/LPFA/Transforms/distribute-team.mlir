// Arrivals of a team: of all its threads, or of one after a barrier of the
// team, which is a named barrier of its warpgroup.

// RUN: lpfa-opt %s --lpfa-distribute-to-threads | FileCheck %s

// CHECK-LABEL: gpu.func @team
// CHECK:         %[[FIRST:.+]] = arith.cmpi ult
// CHECK:         scf.if %[[FIRST]]
// CHECK:           lpfa.mbarrier.arrive
// CHECK:         } else {
// CHECK:           lpfa.barrier.sync 2 threads(128)
// CHECK:           %[[IS_ONE:.+]] = arith.cmpi eq
// CHECK:           scf.if %[[IS_ONE]] {
// CHECK-NEXT:        lpfa.mbarrier.arrive
lpfa.kernel @team stage(synchronized) threads(256) () {
  %all = lpfa.barrier "all" stages(1) arrivals(128) : !lpfa.barrier
  %one = lpfa.barrier "one" stages(1) arrivals(1) : !lpfa.barrier
  lpfa.role "a" warps(4 from 0) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.arrive %all use %u : !lpfa.barrier
  }
  lpfa.role "b" warps(4 from 4) registers(128) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.team_barrier
    lpfa.arrive %one use %u one_thread : !lpfa.barrier
  }
}
