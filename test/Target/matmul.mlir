// One tile of a block-scaled product at the threads stage: load, copy of the
// scales, MMA, read, store. Compiled, then run in the simulator.

// RUN: rm -rf %t && lpfa-compile %s -o %t --emit=ptx
// RUN: FileCheck %s < %t/kernels.ptx
// RUN: %python %S/Inputs/matmul.py %t/kernels.ptx

// CHECK: .entry matmul(
// CHECK: .param .align 64 .b8 matmul_param_0[128]
// CHECK: .reqntid 128
// CHECK-DAG: mbarrier.init.shared.b64
// CHECK-DAG: fence.mbarrier_init.release.cluster
// CHECK-DAG: tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32
// CHECK: elect.sync
// CHECK: mbarrier.arrive.expect_tx{{[a-z:.]*}}.b64
// CHECK-COUNT-2: cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes
// CHECK-COUNT-2: cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes
// CHECK: mbarrier.try_wait.parity
// CHECK-COUNT-2: tcgen05.cp.cta_group::1.32x128b.warpx4
// CHECK-COUNT-4: tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.block32
// CHECK: tcgen05.commit.cta_group::1.mbarrier::arrive::one{{[a-z:.]*}}.b64
// CHECK-COUNT-4: tcgen05.ld.sync.aligned.32x32b.x32.b32
// CHECK: fence.proxy.async.shared::cta
// CHECK-COUNT-4: cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group
// CHECK: cp.async.bulk.commit_group
// CHECK: cp.async.bulk.wait_group.read
// CHECK: tcgen05.dealloc.cta_group::1.sync.aligned.b32

gpu.module @kernels {
  gpu.func @matmul(%a: !llvm.ptr {lpfa.tensor_map}, %b: !llvm.ptr {lpfa.tensor_map},
                   %a_scales: !llvm.ptr<1>, %b_scales: !llvm.ptr<1>,
                   %d: !llvm.ptr {lpfa.tensor_map})
      kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %base = lpfa.shared_memory
    %a_tile = llvm.getelementptr %base[0] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %b_tile = llvm.getelementptr %base[16384] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %d_tile = llvm.getelementptr %base[32768] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %sa_tile = llvm.getelementptr %base[98304] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %sb_tile = llvm.getelementptr %base[98816] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %full = llvm.getelementptr %base[99328] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %done = llvm.getelementptr %base[99336] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %slot = llvm.getelementptr %base[99344] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8

    %tid = gpu.thread_id x
    %t = arith.index_cast %tid : index to i32
    %c0 = arith.constant 0 : i32
    %c5 = arith.constant 5 : i32
    %warp = arith.shrui %t, %c5 : i32
    %is_first = arith.cmpi eq, %warp, %c0 : i32
    scf.if %is_first {
      %leader = lpfa.elect_sync
      scf.if %leader {
        lpfa.mbarrier.init %full, 1
        lpfa.mbarrier.init %done, 1
        lpfa.fence.mbarrier_init
      }
      lpfa.tcgen05.alloc 256 to %slot
      lpfa.tcgen05.relinquish
    }
    lpfa.tcgen05.fence before
    gpu.barrier
    lpfa.tcgen05.fence after
    %tmem = llvm.load %slot : !llvm.ptr<3> -> i32

    scf.if %is_first {
      %leader = lpfa.elect_sync
      scf.if %leader {
        %bytes = arith.constant 33792 : i32
        %atom = arith.constant 512 : i32
        lpfa.mbarrier.arrive_expect_tx %full, %bytes
        lpfa.bulk_tensor.load %a[%c0, %c0] to %a_tile barrier %full
        lpfa.bulk_tensor.load %b[%c0, %c0] to %b_tile barrier %full
        lpfa.bulk.load %a_scales to %sa_tile, %atom barrier %full
        lpfa.bulk.load %b_scales to %sb_tile, %atom barrier %full
        lpfa.mbarrier.wait %full, %c0

        %c128 = arith.constant 128 : i32
        %c132 = arith.constant 132 : i32
        %sa = arith.addi %tmem, %c128 : i32
        %sb = arith.addi %tmem, %c132 : i32
        %sa_desc = lpfa.shared_descriptor %sa_tile swizzle(0) leading(128) stride(128)
        %sb_desc = lpfa.shared_descriptor %sb_tile swizzle(0) leading(128) stride(128)
        lpfa.tcgen05.cp %sa_desc to %sa
        lpfa.tcgen05.cp %sb_desc to %sb

        %false = arith.constant false
        %true = arith.constant true
        %c32 = arith.constant 32 : i32
        %c64 = arith.constant 64 : i32
        %c96 = arith.constant 96 : i32
        %a0 = lpfa.shared_descriptor %a_tile swizzle(128) leading(16) stride(1024)
        %b0 = lpfa.shared_descriptor %b_tile swizzle(128) leading(16) stride(1024)
        %i0 = lpfa.instruction_descriptor m(128) n(128) a(f8E4M3FN) b(f8E5M2) scale_bytes(0, 0)
        lpfa.tcgen05.mma %a0 * %b0 into %tmem accumulate %false scales(%sa, %sb) instruction %i0 : i64
        %a1 = lpfa.advance_descriptor %a0 by %c32
        %b1 = lpfa.advance_descriptor %b0 by %c32
        %i1 = lpfa.instruction_descriptor m(128) n(128) a(f8E4M3FN) b(f8E5M2) scale_bytes(1, 1)
        lpfa.tcgen05.mma %a1 * %b1 into %tmem accumulate %true scales(%sa, %sb) instruction %i1 : i64
        %a2 = lpfa.advance_descriptor %a0 by %c64
        %b2 = lpfa.advance_descriptor %b0 by %c64
        %i2 = lpfa.instruction_descriptor m(128) n(128) a(f8E4M3FN) b(f8E5M2) scale_bytes(2, 2)
        lpfa.tcgen05.mma %a2 * %b2 into %tmem accumulate %true scales(%sa, %sb) instruction %i2 : i64
        %a3 = lpfa.advance_descriptor %a0 by %c96
        %b3 = lpfa.advance_descriptor %b0 by %c96
        %i3 = lpfa.instruction_descriptor m(128) n(128) a(f8E4M3FN) b(f8E5M2) scale_bytes(3, 3)
        lpfa.tcgen05.mma %a3 * %b3 into %tmem accumulate %true scales(%sa, %sb) instruction %i3 : i64
        lpfa.tcgen05.commit %done
      }
    }

    // A thread's row goes to four tiles of 32 columns.
    lpfa.mbarrier.wait %done, %c0
    lpfa.tcgen05.fence after
    %c21 = arith.constant 21 : i32
    %lane = arith.shli %warp, %c21 : i32
    %mine = arith.addi %tmem, %lane : i32
    %first = arith.constant 0 : index
    %step = arith.constant 1 : index
    %last = arith.constant 4 : index
    scf.for %i = %first to %last step %step {
      %n = arith.index_cast %i : index to i32
      %columns = arith.shli %n, %c5 : i32
      %from = arith.addi %mine, %columns : i32
      %row = lpfa.tcgen05.ld %from : vector<32xf32>
      %c7 = arith.constant 7 : i32
      %c14 = arith.constant 14 : i32
      %row_offset = arith.shli %t, %c7 : i32
      %tile_offset = arith.shli %n, %c14 : i32
      %offset = arith.addi %row_offset, %tile_offset : i32
      %to = llvm.getelementptr %d_tile[%offset] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
      llvm.store %row, %to {alignment = 16 : i64} : vector<32xf32>, !llvm.ptr<3>
    }
    lpfa.fence.proxy_async
    lpfa.tcgen05.fence before
    gpu.barrier
    scf.if %is_first {
      %leader = lpfa.elect_sync
      scf.if %leader {
        scf.for %i = %first to %last step %step {
          %n = arith.index_cast %i : index to i32
          %column = arith.shli %n, %c5 : i32
          %c14 = arith.constant 14 : i32
          %offset = arith.shli %n, %c14 : i32
          %from = llvm.getelementptr %d_tile[%offset] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
          lpfa.bulk_tensor.store %from to %d[%column, %c0]
        }
        lpfa.bulk.commit_group
        lpfa.bulk.wait_group 0 read
      }
      lpfa.tcgen05.dealloc %tmem, 256
    }
    gpu.return
  }
}
