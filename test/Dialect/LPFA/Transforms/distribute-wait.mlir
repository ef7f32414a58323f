// Waits by use number become a slot and a parity: that of the cursor, that of a
// round before, and the use before, whose slot may be the ring's last.

// RUN: lpfa-opt %s --lpfa-distribute-to-threads | FileCheck %s

// CHECK-LABEL: gpu.func @wait
// CHECK:       %[[PHASE:.+]] = llvm.load %[[PHASES:.+]] : !llvm.ptr -> i32
// CHECK:       lpfa.mbarrier.wait %{{.+}}, %[[PHASE]]
// CHECK:       %[[PHASE1:.+]] = llvm.load %[[PHASES]]
// CHECK:       %[[FLIPPED:.+]] = arith.xori %[[PHASE1]], %{{.+}}
// CHECK:       lpfa.mbarrier.wait %{{.+}}, %[[FLIPPED]]
// CHECK:       %[[PHASE2:.+]] = llvm.load %[[PHASES]]
// CHECK:       %[[AT:.+]] = llvm.getelementptr %{{.+}}[%{{.+}}]
// CHECK:       %[[SLOT:.+]] = llvm.load
// CHECK:       %[[WRAPS:.+]] = arith.cmpi eq, %[[SLOT]], %{{.+}}
// CHECK:       %[[ROUND:.+]] = arith.select %[[WRAPS]]
// CHECK:       %[[BEFORE:.+]] = arith.xori %[[PHASE2]], %[[ROUND]]
// CHECK:       %[[PREVIOUS:.+]] = llvm.getelementptr %[[AT]][%{{.+}}]
// CHECK:       %[[LAST:.+]] = llvm.getelementptr %[[PREVIOUS]][%{{.+}}]
// CHECK:       %[[BARRIER:.+]] = arith.select %[[WRAPS]], %[[LAST]], %[[PREVIOUS]]
// CHECK:       lpfa.mbarrier.wait %[[BARRIER]], %[[BEFORE]]
lpfa.kernel @wait stage(synchronized) threads(128) () {
  %b = lpfa.barrier "b" stages(3) arrivals(1) : !lpfa.barrier
  lpfa.role "r" warps(1 from 0) registers(64) elected {
    %u = lpfa.cursor stages(3) : !lpfa.cursor
    lpfa.wait %b use %u : !lpfa.barrier
    lpfa.wait %b use %u back(3) : !lpfa.barrier
    lpfa.wait %b use %u back(1) : !lpfa.barrier
  }
}

// A named barrier counts those who wait, too; numbers go down from 15.
// CHECK-LABEL: gpu.func @named
// CHECK-NOT:   lpfa.mbarrier.init
// CHECK:       lpfa.barrier.arrive 15 threads(256)
// CHECK:       lpfa.barrier.sync 14 threads(256)
// CHECK:       lpfa.barrier.sync 15 threads(256)
// CHECK:       lpfa.barrier.arrive 14 threads(256)
lpfa.kernel @named stage(synchronized) threads(256) () {
  %full = lpfa.barrier "full" named stages(1) arrivals(128) : !lpfa.barrier
  %free = lpfa.barrier "free" named stages(1) arrivals(128) : !lpfa.barrier
  lpfa.role "first" warps(4 from 0) registers(64) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.arrive %full use %u : !lpfa.barrier
    lpfa.wait %free use %u : !lpfa.barrier
  }
  lpfa.role "second" warps(4 from 4) registers(64) {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.wait %full use %u : !lpfa.barrier
    lpfa.arrive %free use %u : !lpfa.barrier
  }
}
