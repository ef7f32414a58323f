// RUN: lpfa-opt %s --lpfa-distribute-to-threads -split-input-file | FileCheck %s

// Copies: a tensor map for a tile, a pointer and strides for an atom.

!operand = !lpfa.view<?x?x?x128xf8E4M3FN>
!atoms = !lpfa.view<?x?x?x1x32x4x4xf8E8M0FNU>
!k_channel = !lpfa.channel<128x128xf8E4M3FN shared, 32x4x4xf8E8M0FNU shared>

// CHECK: gpu.func @load
// CHECK-SAME: %[[MAP:.*]]: !llvm.ptr {lpfa.parameter = #lpfa.parameter<tensor_map, operand = 0, box = [128, 128, 1, 1], swizzle = 128, element = i8>, lpfa.tensor_map}
// CHECK-SAME: %[[ATOMS:.*]]: !llvm.ptr<1> {lpfa.parameter = #lpfa.parameter<pointer, operand = 1>}
// CHECK-SAME: %[[S0:.*]]: i64 {lpfa.parameter = #lpfa.parameter<stride, operand = 1, dimension = 0>}
lpfa.kernel @load stage(synchronized) threads(128) shared_bytes(50688) (%K: !operand, %SK: !atoms, %b: index, %n: index) {
  %cK = lpfa.channel "K" stages(3) at [#lpfa.place<shared, 0, 16384>, #lpfa.place<shared, 49152, 512>] : !k_channel
  %full = lpfa.barrier "K.full" stages(3) arrivals(1) : !lpfa.barrier
  // CHECK: %[[B:.*]] = arith.index_cast %{{.*}} : i64 to index
  // CHECK: %[[N:.*]] = arith.index_cast %{{.*}} : i64 to index
  lpfa.role "load" warps(1 from 0) registers(48) elected {
    %u = lpfa.cursor stages(3) : !lpfa.cursor
    %c0 = arith.constant 0 : index
    %k, %sk = lpfa.slot %cK use %u : !k_channel
    // CHECK: %[[MORE:.*]] = arith.constant 512 : i32
    // CHECK: lpfa.mbarrier.expect_tx %{{.*}}, %[[MORE]]
    lpfa.expect_bytes %full use %u bytes(512) no_arrival : !lpfa.barrier
    // CHECK: %[[BYTES:.*]] = arith.constant 16896 : i32
    // CHECK: lpfa.mbarrier.arrive_expect_tx %{{.*}}, %[[BYTES]]
    lpfa.expect_bytes %full use %u bytes(16896) : !lpfa.barrier
    // CHECK: %[[COLUMN:.*]] = arith.index_cast %{{.*}} : index to i32
    // CHECK: %[[NB:.*]] = arith.index_cast %[[N]] : index to i32
    // CHECK: %[[B1:.*]] = arith.index_cast %[[B]] : index to i32
    // CHECK: %[[B0:.*]] = arith.index_cast %[[B]] : index to i32
    // CHECK: lpfa.bulk_tensor.load %[[MAP]][%{{.*}}, %[[NB]], %[[B1]], %[[B0]]] to %{{.*}} barrier
    lpfa.load_async %K[%b, %b, %n, %c0] -> %k signals(%full use %u) : !operand, !lpfa.buffer<128x128xf8E4M3FN, shared>
    // CHECK: %[[B64:.*]] = arith.index_cast %[[B]] : index to i64
    // CHECK: arith.muli %[[B64]], %[[S0]] : i64
    // CHECK: %[[SOURCE:.*]] = llvm.getelementptr %[[ATOMS]]
    // CHECK: %[[ATOM:.*]] = arith.constant 512 : i32
    // CHECK: lpfa.bulk.load %[[SOURCE]] to %{{.*}}, %[[ATOM]] barrier
    lpfa.load_async %SK[%b, %b, %n, %c0, %c0, %c0, %c0] -> %sk signals(%full use %u) : !atoms, !lpfa.buffer<32x4x4xf8E8M0FNU, shared>
  }
}

// -----

// Rows of 256 bytes are two boxes, one block of all rows after the other.

!out = !lpfa.view<?x128xbf16>
!o_channel = !lpfa.channel<64x128xbf16 shared>

// CHECK: gpu.func @store
// CHECK-SAME: #lpfa.parameter<tensor_map, operand = 0, box = [64, 64], swizzle = 128, element = bf16>
lpfa.kernel @store stage(synchronized) threads(128) shared_bytes(16384) (%O: !out) {
  %cO = lpfa.channel "O" stages(1) at [#lpfa.place<shared, 0, 16384>] : !o_channel
  lpfa.role "epilogue" warps(1 from 0) registers(48) elected {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    %c0 = arith.constant 0 : index
    %o = lpfa.slot %cO use %u : !o_channel
    // CHECK: lpfa.bulk_tensor.store %[[TILE:.*]] to
    // CHECK: %[[C64:.*]] = arith.constant 64 : i32
    // CHECK: %[[COLUMN:.*]] = arith.addi %{{.*}}, %[[C64]]
    // CHECK: %[[SECOND:.*]] = llvm.getelementptr %[[TILE]][8192]
    // CHECK: lpfa.bulk_tensor.store %[[SECOND]] to %{{.*}}[%[[COLUMN]], %{{.*}}]
    // CHECK: lpfa.bulk.commit_group
    // CHECK: lpfa.bulk.wait_group 0 read
    // CHECK: lpfa.bulk.wait_group 0{{$}}
    lpfa.store_async %o -> %O[%c0, %c0] : !lpfa.buffer<64x128xbf16, shared>, !out
    lpfa.store_wait
    lpfa.store_wait complete
  }
}

// -----

// QK: both operands K-major, 32 bytes a K step. Scales: no swizzle.

!q_channel = !lpfa.channel<128x64xf8E4M3FN shared, 32x4x4xf8E8M0FNU shared>
!accumulator = !lpfa.buffer<128x128xf32, tensor>
!scales = !lpfa.buffer<32x4x4xf8E8M0FNU, tensor>
!shared_scales = !lpfa.buffer<32x4x4xf8E8M0FNU, shared>
!shared_fp8 = !lpfa.buffer<128x64xf8E4M3FN, shared>

// CHECK: gpu.func @qk
lpfa.kernel @qk stage(synchronized) threads(128) tensor_columns(256) shared_bytes(33280) () {
  %cQ = lpfa.channel "Q" stages(1) at [#lpfa.place<shared, 0, 8192>, #lpfa.place<shared, 32768, 512>] : !q_channel
  %S = lpfa.accumulator "S" owner("mma") at <tensor, 16, 128> : !accumulator
  %tQ = lpfa.scratch "scales" at <tensor, 200, 4> : !scales
  // CHECK: %[[TMEM:.*]] = llvm.load
  // CHECK: %[[C16:.*]] = arith.constant 16 : i32
  // CHECK: %[[S:.*]] = arith.addi %[[TMEM]], %[[C16]]
  // CHECK: %[[C200:.*]] = arith.constant 200 : i32
  // CHECK: %[[SCALES:.*]] = arith.addi %[[TMEM]], %[[C200]]
  lpfa.role "mma" warps(1 from 0) registers(48) elected {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    %q, %sq = lpfa.slot %cQ use %u : !q_channel
    // CHECK: %[[SOURCE:.*]] = lpfa.shared_descriptor %{{.*}} swizzle(0) leading(16) stride(128)
    // CHECK: lpfa.tcgen05.cp %[[SOURCE]] to %[[SCALES]]
    lpfa.copy_scales %sq -> %tQ : !shared_scales, !scales
    // CHECK: %[[A:.*]] = lpfa.shared_descriptor %[[Q:.*]] swizzle(64) leading(16) stride(512)
    // CHECK: %[[B:.*]] = lpfa.shared_descriptor %[[Q]] swizzle(64) leading(16) stride(512)
    // CHECK: %[[NO:.*]] = arith.constant false
    // CHECK: lpfa.instruction_descriptor m(128) n(128) a(f8E4M3FN) b(f8E4M3FN) scale_bytes(0, 0)
    // CHECK: lpfa.tcgen05.mma %{{.*}} * %{{.*}} into %[[S]] accumulate %[[NO]] scales(%[[SCALES]], %[[SCALES]])
    // CHECK: %[[C32:.*]] = arith.constant 32 : i32
    // CHECK: %[[A1:.*]] = lpfa.advance_descriptor %[[A]] by %[[C32]]
    // CHECK: %[[B1:.*]] = lpfa.advance_descriptor %[[B]] by %{{.*}}
    // CHECK: %[[I1:.*]] = lpfa.instruction_descriptor {{.*}} scale_bytes(1, 1)
    // CHECK: %[[YES:.*]] = arith.constant true
    // CHECK: lpfa.tcgen05.mma %[[A1]] * %[[B1]] into %[[S]] accumulate %[[YES]] {{.*}} instruction %[[I1]] : i64
    // CHECK-NOT: lpfa.tcgen05.mma
    lpfa.mma %q, %q scaled %tQ, %tQ into %S transpose_b : !shared_fp8, !shared_fp8, !accumulator
    // CHECK: gpu.return
  }
}

// -----

// Queries to tensor memory: 32 bytes of each row make eight columns, as the
// product reads them there.

!q_channel = !lpfa.channel<128x64xf8E4M3FN shared>
!shared_q = !lpfa.buffer<128x64xf8E4M3FN, shared>
!tensor_q = !lpfa.buffer<128x64xf8E4M3FN, tensor>

// CHECK: gpu.func @copy_tile
lpfa.kernel @copy_tile stage(synchronized) threads(128) tensor_columns(32) shared_bytes(8192) () {
  %cQ = lpfa.channel "Q" stages(1) at [#lpfa.place<shared, 0, 8192>] : !q_channel
  %tQ = lpfa.scratch "tensor.Q" at <tensor, 16, 16> : !tensor_q
  lpfa.role "mma" warps(1 from 0) registers(48) elected {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    %q = lpfa.slot %cQ use %u : !q_channel
    // CHECK: %[[SOURCE:.*]] = lpfa.shared_descriptor %{{.*}} swizzle(64) leading(16) stride(512)
    // CHECK: %[[FIRST:.*]] = lpfa.advance_descriptor %[[SOURCE]] by %{{.*}}
    // CHECK: lpfa.tcgen05.cp %[[FIRST]] to %{{.*}} rows
    // CHECK: %[[C32:.*]] = arith.constant 32 : i32
    // CHECK: %[[SECOND:.*]] = lpfa.advance_descriptor %[[SOURCE]] by %[[C32]]
    // CHECK: %[[C8:.*]] = arith.constant 8 : i32
    // CHECK: %[[NEXT:.*]] = arith.addi %{{.*}}, %[[C8]]
    // CHECK: lpfa.tcgen05.cp %[[SECOND]] to %[[NEXT]] rows
    // CHECK-NOT: lpfa.tcgen05.cp
    lpfa.copy_tile %q -> %tQ : !shared_q, !tensor_q
  }
}

// -----

// PV: P in tensor memory, 8 columns a K step; V MN-major, four groups of eight
// keys a step. Steps past the last key are not issued.

!v_channel = !lpfa.channel<128x128xf8E5M2 shared>
!p_channel = !lpfa.channel<128x128xf8E4M3FN tensor>
!accumulator = !lpfa.buffer<128x128xf32, tensor>
!scales = !lpfa.buffer<32x4x4xf8E8M0FNU, tensor>
!shared_v = !lpfa.buffer<128x128xf8E5M2, shared>
!tensor_p = !lpfa.buffer<128x128xf8E4M3FN, tensor>

// CHECK: gpu.func @pv
lpfa.kernel @pv stage(synchronized) threads(128) tensor_columns(256) shared_bytes(16384) (%left: index, %again: index) {
  %cV = lpfa.channel "V" stages(1) at [#lpfa.place<shared, 0, 16384>] : !v_channel
  %cP = lpfa.channel "P" stages(1) at [#lpfa.place<tensor, 160, 32>] : !p_channel
  %O = lpfa.accumulator "O" owner("mma") at <tensor, 0, 128> : !accumulator
  %tP = lpfa.scratch "scales" at <tensor, 200, 4> : !scales
  // CHECK: %[[LEFT:.*]] = arith.index_cast %{{.*}} : i64 to index
  lpfa.role "mma" warps(1 from 0) registers(48) elected {
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    %v = lpfa.slot %cV use %u : !v_channel
    %p = lpfa.slot %cP use %u : !p_channel
    %c0 = arith.constant 0 : index
    // CHECK: %[[ACC:.*]] = arith.cmpi ne
    %acc = arith.cmpi ne, %again, %c0 : index
    // CHECK: %[[B:.*]] = lpfa.shared_descriptor %{{.*}} swizzle(128) leading(16384) stride(1024)
    // CHECK: %[[VALID0:.*]] = arith.cmpi sgt, %[[LEFT]], %{{.*}} : index
    // CHECK: scf.if %[[VALID0]] {
    // CHECK:   lpfa.instruction_descriptor m(128) n(128) a(f8E4M3FN) b(f8E5M2) b_mn scale_bytes(0, 0)
    // CHECK:   accumulate %[[ACC]] {{.*}} : i32
    // CHECK: %[[C32:.*]] = arith.constant 32 : index
    // CHECK: %[[VALID1:.*]] = arith.cmpi sgt, %[[LEFT]], %[[C32]] : index
    // CHECK: scf.if %[[VALID1]] {
    // CHECK:   %[[C8:.*]] = arith.constant 8 : i32
    // CHECK:   %[[A1:.*]] = arith.addi %{{.*}}, %[[C8]] : i32
    // CHECK:   %[[C4096:.*]] = arith.constant 4096 : i32
    // CHECK:   %[[B1:.*]] = lpfa.advance_descriptor %[[B]] by %[[C4096]]
    // CHECK:   %[[YES:.*]] = arith.constant true
    // CHECK:   lpfa.tcgen05.mma %[[A1]] * %[[B1]] into %{{.*}} accumulate %[[YES]]
    // CHECK: arith.constant 64 : index
    // CHECK: arith.constant 96 : index
    // CHECK:   lpfa.instruction_descriptor {{.*}} scale_bytes(3, 3)
    lpfa.mma %p, %v scaled %tP, %tP into %O accumulate(%acc) valid(%left) : !tensor_p, !shared_v, !accumulator
  }
}
