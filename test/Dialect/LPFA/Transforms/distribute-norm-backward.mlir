// RUN: lpfa-opt %s -lpfa-distribute-to-threads=chip=sm_90a -canonicalize -cse -split-input-file | FileCheck %s

// A thread has four pieces of a row of 8,192 and of its gradient; its weights
// and the sums of its columns stay in shared memory.

!in = !lpfa.view<?x8192xbf16>
!weight = !lpfa.view<8192xbf16>

// CHECK: gpu.func @gradients
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
// CHECK-SAME: lpfa.dynamic_shared_bytes = 50176
// CHECK-SAME: lpfa.min_ctas = 3
lpfa.kernel @gradients stage(tile) (%DY: !in, %X: !in, %W: !weight, %R: !lpfa.view<?xf32>, %DX: !in, %P: !lpfa.view<?x8192xf32>) {
  %c0 = arith.constant 0 : index
  %c8192 = arith.constant 8192 : index
  %c384 = arith.constant 384 : index
  %rows = lpfa.dim %X, 0 : !in
  // CHECK-COUNT-4: llvm.store %{{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<3>
  %w = lpfa.load %W[%c0] : !weight -> !lpfa.tile<8192xbf16>
  // CHECK: scf.for
  lpfa.for_work (%i) in (%c384) {
    // Accesses of 16 bytes, each with those of all threads side by side.
    // CHECK: %[[NEXT:.*]] = llvm.getelementptr %[[SUMS:.*]][4096]
    // CHECK-NEXT: llvm.store %{{.*}}, %[[SUMS]] {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
    // CHECK-NEXT: llvm.store %{{.*}}, %[[NEXT]] {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
    // CHECK-COUNT-6: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
    %p0 = lpfa.splat 0.0 : !lpfa.tile<1x8192xf32>
    // CHECK: scf.for {{.*}} {
    // CHECK: scf.if
    %p = scf.for %m = %i to %rows step %c384 iter_args(%before = %p0) -> !lpfa.tile<1x8192xf32> {
      // CHECK-COUNT-8: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
      %x = lpfa.load %X[%m, %c0] : !in -> !lpfa.tile<1x8192xbf16>
      %dy = lpfa.load %DY[%m, %c0] : !in -> !lpfa.tile<1x8192xbf16>
      // CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
      %r = lpfa.load %R[%m] : !lpfa.view<?xf32> -> !lpfa.tile<1xf32>
      // Both sums of a piece before the next.
      // CHECK-COUNT-8: lpfa.fma nearest %{{.*}} : f32
      // CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
      // CHECK: lpfa.fma nearest %{{.*}} : vector<8xf32>
      // CHECK-COUNT-2: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
      // CHECK: lpfa.fma nearest %{{.*}} : f32
      %after = lpfa.weight_gradient_tile %dy, %x rstd %r into %before : !lpfa.tile<1x8192xbf16>, !lpfa.tile<1x8192xbf16>, !lpfa.tile<1xf32>, !lpfa.tile<1x8192xf32>
      %s0 = lpfa.splat 0.0 : !lpfa.tile<1x1024xf32>
      %s = lpfa.sum_products_tile %dy, %x rstd %r weight %w into %s0 : !lpfa.tile<1x8192xbf16>, !lpfa.tile<1x8192xbf16>, !lpfa.tile<1xf32>, !lpfa.tile<8192xbf16>, !lpfa.tile<1x1024xf32>
      // CHECK: lpfa.barrier.sync 0 threads(256)
      // CHECK: arith.divf
      %c = lpfa.mean_tile %s count(%c8192) : !lpfa.tile<1x1024xf32> -> !lpfa.tile<1xf32>
      // CHECK: arith.negf
      // CHECK: prmt.b32
      // CHECK: lpfa.fma nearest %{{.*}} : vector<8xf32>
      // CHECK: arith.truncf %{{.*}} : vector<8xf32> to vector<8xbf16>
      %dx = lpfa.rms_norm_backward_tile %dy, %x rstd %r mean %c weight %w : !lpfa.tile<1x8192xbf16>, !lpfa.tile<1x8192xbf16>, !lpfa.tile<1xf32>, !lpfa.tile<8192xbf16> -> !lpfa.tile<1x8192xbf16>
      // CHECK-COUNT-4: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
      lpfa.store %dx -> %DX[%m, %c0] : !lpfa.tile<1x8192xbf16>, !in
      // The next row's sums take the place of this one's.
      // CHECK: } else {
      // CHECK: lpfa.barrier.sync 0 threads(256)
      // CHECK: lpfa.barrier.sync 0 threads(256)
      // CHECK-NEXT: }
      scf.yield %after : !lpfa.tile<1x8192xf32>
    }
    // CHECK: llvm.load %[[SUMS]] {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
    lpfa.store %p -> %P[%i, %c0] : !lpfa.tile<1x8192xf32>, !lpfa.view<?x8192xf32>
  }
}

// -----

// Sums of 256 rows: a thread adds its eight, lanes add theirs, then four warps,
// and a thread has a column.

!in = !lpfa.view<?x64xf32>

// CHECK: gpu.func @columns
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>
// CHECK-SAME: lpfa.dynamic_shared_bytes = 33280
lpfa.kernel @columns stage(tile) (%P: !in, %W: !lpfa.view<64xbf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c256 = arith.constant 256 : index
  %rows = lpfa.dim %P, 0 : !in
  %tiles = arith.ceildivui %rows, %c256 : index
  lpfa.for_work (%k) in (%c2) {
    %c32 = arith.constant 32 : index
    %column = arith.muli %k, %c32 : index
    %q0 = lpfa.splat 0.0 : !lpfa.tile<256x32xf32>
    // CHECK: scf.if
    %q = scf.for %i = %c0 to %tiles step %c1 iter_args(%before = %q0) -> !lpfa.tile<256x32xf32> {
      %row = arith.muli %i, %c256 : index
      // CHECK-COUNT-8: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xi32>
      %p = lpfa.load %P[%row, %column] : !in -> !lpfa.tile<256x32xf32>
      // CHECK: arith.addf %{{.*}} : vector<8xf32>
      // CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
      %after = lpfa.add_tile %before, %p : !lpfa.tile<256x32xf32>
      scf.yield %after : !lpfa.tile<256x32xf32>
    }
    // CHECK: } else {
    // CHECK-COUNT-16: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
    // CHECK-COUNT-7: arith.addf %{{.*}} : vector<8xf32>
    // CHECK: gpu.shuffle xor %{{.*}}, %c16_i32
    // CHECK: gpu.shuffle xor %{{.*}}, %c8_i32
    // CHECK: gpu.shuffle xor %{{.*}}, %c4_i32
    // CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<8xf32>, !llvm.ptr<3>
    // CHECK: lpfa.barrier.sync 0 threads(128)
    // CHECK-COUNT-4: llvm.load %{{.*}} : !llvm.ptr<3> -> f32
    // CHECK: arith.truncf %{{.*}} : f32 to bf16
    %w = lpfa.sum_columns_tile %q : !lpfa.tile<256x32xf32> -> !lpfa.tile<32xbf16>
    // CHECK: llvm.store %{{.*}} : bf16, !llvm.ptr<1>
    lpfa.store %w -> %W[%column] : !lpfa.tile<32xbf16>, !lpfa.view<64xbf16>
  }
}
