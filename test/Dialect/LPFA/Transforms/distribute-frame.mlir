// RUN: lpfa-opt %s --lpfa-distribute-to-threads -split-input-file | FileCheck %s

// The frame of a kernel with roles: barriers, tensor memory, a branch for each
// warpgroup, and what a launch must give it.

!vector = !lpfa.view<?x?xf32>
!row = !lpfa.channel<128xf32 shared>
!shared_row = !lpfa.buffer<128xf32, shared>

// 4,096 bytes of tiles, 3 mbarriers behind them, the slot for the address.
// CHECK: gpu.module @frame_module
// CHECK: gpu.func @frame
// CHECK-SAME: %[[OUT:.*]]: !llvm.ptr<1> {lpfa.parameter = #lpfa.parameter<pointer, operand = 1>}
// CHECK-SAME: %[[SIZE:.*]]: i64 {lpfa.parameter = #lpfa.parameter<size, operand = 1, dimension = 1>}
// CHECK-SAME: %[[STRIDE:.*]]: i64 {lpfa.parameter = #lpfa.parameter<stride, operand = 1, dimension = 0>}
// CHECK-SAME: %{{.*}}: i64 {lpfa.parameter = #lpfa.parameter<index, operand = 2>}
// CHECK-SAME: kernel
// CHECK-SAME: known_block_size = array<i32: 384, 1, 1>
// CHECK-SAME: lpfa.dynamic_shared_bytes = 4128 : i64
lpfa.kernel @frame stage(synchronized) threads(384) tensor_columns(96) shared_bytes(4096) (%unused: !vector, %out: !vector, %count: index) {
  // CHECK: %[[TID:.*]] = arith.index_cast %{{.*}} : index to i32
  // CHECK: %[[WARP:.*]] = arith.shrui %[[TID]], %{{.*}} : i32
  // CHECK: %[[BASE:.*]] = lpfa.shared_memory
  // CHECK: scf.if
  // CHECK-NEXT: %[[FULL0:.*]] = llvm.getelementptr %[[BASE]][4096]
  // CHECK-NEXT: lpfa.mbarrier.init %[[FULL0]], 128
  // CHECK-NEXT: %[[FULL1:.*]] = llvm.getelementptr %[[BASE]][4104]
  // CHECK-NEXT: lpfa.mbarrier.init %[[FULL1]], 128
  // CHECK-NEXT: %[[DONE:.*]] = llvm.getelementptr %[[BASE]][4112]
  // CHECK-NEXT: lpfa.mbarrier.init %[[DONE]], 1
  // CHECK-NEXT: lpfa.fence.mbarrier_init
  // CHECK: scf.if
  // CHECK-NEXT: %[[SLOT:.*]] = llvm.getelementptr %[[BASE]][4120]
  // CHECK-NEXT: lpfa.tcgen05.alloc 128 to %[[SLOT]]
  // CHECK-NEXT: lpfa.tcgen05.relinquish
  // CHECK: lpfa.barrier.sync 0 threads(384)
  // CHECK-NOT: lpfa.tcgen05.fence
  // CHECK: %[[TMEM:.*]] = llvm.load %{{.*}} : !llvm.ptr<3> -> i32
  %c = lpfa.channel "row" stages(2) at [#lpfa.place<shared, 0, 512>] : !row
  %full = lpfa.barrier "row.full" stages(2) arrivals(128) : !lpfa.barrier
  %done = lpfa.barrier "done" stages(1) arrivals(1) : !lpfa.barrier

  // 65,536 / 384 registers are 168 for each thread at the start.
  // CHECK: %[[C4:.*]] = arith.constant 4 : i32
  // CHECK: %[[IS0:.*]] = arith.cmpi ult, %[[WARP]], %[[C4]]
  // CHECK: scf.if %[[IS0]] {
  // CHECK-NEXT: lpfa.set_max_registers increase 192
  // CHECK: %[[C8:.*]] = arith.constant 8 : i32
  // CHECK: %[[IS1:.*]] = arith.cmpi ult, %[[WARP]], %[[C8]]
  // CHECK: scf.if %[[IS1]] {
  // CHECK-NOT: set_max_registers
  // CHECK: llvm.store
  // CHECK: } else {
  // The warps of both roles, and the idle ones, leave registers.
  // CHECK-NEXT: lpfa.set_max_registers decrease 48
  // CHECK: %[[IS8:.*]] = arith.cmpi eq, %[[WARP]], %{{.*}}
  // CHECK-NEXT: scf.if %[[IS8]] {
  // CHECK-NEXT: %[[LEADER:.*]] = lpfa.elect_sync
  // CHECK-NEXT: scf.if %[[LEADER]] {
  // CHECK: %[[IS9:.*]] = arith.cmpi eq, %[[WARP]], %{{.*}}
  // CHECK-NEXT: scf.if %[[IS9]] {
  // CHECK-NEXT: lpfa.elect_sync
  lpfa.role "writer" warps(4 from 0) registers(192) {
    %u = lpfa.cursor stages(2) : !lpfa.cursor
    %s = lpfa.slot %c use %u : !row
    %one = lpfa.splat 1.0 : !lpfa.tile<128xf32>
    lpfa.write %one -> %s : !lpfa.tile<128xf32>, !shared_row
    lpfa.arrive %full use %u : !lpfa.barrier
  }
  lpfa.role "reader" warps(4 from 4) registers(168) {
    %u = lpfa.cursor stages(2) : !lpfa.cursor
    lpfa.wait %full use %u : !lpfa.barrier
    %s = lpfa.slot %c use %u : !row
    %row = lpfa.read %s : !shared_row -> !lpfa.tile<128xf32>
    %c0 = arith.constant 0 : index
    lpfa.store %row -> %out[%count, %c0] : !lpfa.tile<128xf32>, !vector
  }
  lpfa.role "mma" warps(1 from 8) registers(48) elected {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.commit %done use %u : !lpfa.barrier
  }
  lpfa.role "load" warps(1 from 9) registers(48) elected {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    lpfa.wait %done use %u : !lpfa.barrier
  }
  // Allocation is synchronous: no fences.
  // CHECK-NOT: lpfa.tcgen05.fence
  // CHECK: lpfa.barrier.sync 0 threads(384)
  // CHECK: scf.if
  // CHECK-NEXT: lpfa.tcgen05.dealloc %[[TMEM]], 128
  // CHECK: gpu.return
}

// -----

// A kernel without barriers and tensor memory, and its launch.

!vector = !lpfa.view<?x?xf32>

// CHECK: gpu.func @fill
// CHECK-NOT: lpfa.shared_memory
// CHECK-NOT: lpfa.barrier.sync
// CHECK: gpu.return
lpfa.kernel @fill stage(tile) (%out: !vector) {
  %c0 = arith.constant 0 : index
  %one = lpfa.splat 1.0 : !lpfa.tile<128xf32>
  lpfa.store %one -> %out[%c0, %c0] : !lpfa.tile<128xf32>, !vector
}

// CHECK-LABEL: func.func @launch
// CHECK: lpfa.launch @fill_module::@fill grid
func.func @launch(%y: tensor<?x?xf32>, %n: index) -> tensor<?x?xf32> {
  %r = lpfa.launch @fill grid(%n) outs(%y : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
