// RUN: lpfa-opt %s -lpfa-distribute-to-threads=chip=sm_90a -canonicalize -cse -split-input-file | FileCheck %s
// RUN: lpfa-opt %s -lpfa-distribute-to-threads=chip=sm_100a -split-input-file | FileCheck %s --check-prefix=WIDE

// A warp has eight rows of 256 elements: a thread eight pieces of 16 bytes. A
// tile that is inside and aligned is loaded without checks, one at an edge by
// pieces and elements.

!in = !lpfa.view<?x?xbf16>
!codes = !lpfa.view<?x?xf8E4M3FN>
!scales = !lpfa.view<?x?xf8E8M0FNU>

// WIDE: vector<8xi32>
// CHECK: gpu.func @rows
// CHECK-SAME: known_block_size = array<i32: 64, 1, 1>
// CHECK-SAME: lpfa.dynamic_shared_bytes = 128
lpfa.kernel @rows stage(tile) (%X: !in, %Q: !codes, %S: !scales) {
  %tiles = lpfa.dim %X, 0 : !in
  %c0 = arith.constant 0 : index
  // CHECK: scf.for
  lpfa.for_work (%m) in (%tiles) {
    // CHECK: scf.if %{{.*}} {
    // CHECK-COUNT-8: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    %x = lpfa.load %X[%m, %c0] : !in -> !lpfa.tile<16x256xbf16>
    // Two rows' maxima in a word, across the four lanes of a block.
    // CHECK: arith.maximumf %{{.*}}, %{{.*}} : vector<2xbf16>
    // CHECK: gpu.shuffle xor %{{.*}}, %c1_i32
    // CHECK: gpu.shuffle xor %{{.*}}, %c2_i32
    // Exponents are rounded as integers, or by an instruction.
    // CHECK: arith.minui %{{.*}}, %c255_i32
    // WIDE: lpfa.convert_packed %{{.*}} to f8E8M0FNU up : vector<4xf32> -> vector<1xi32>
    // CHECK: llvm.store %{{.*}}, %{{.*}} : i8, !llvm.ptr<3>
    // CHECK: arith.mulf %{{.*}}, %{{.*}} : vector<8xbf16>
    // CHECK: lpfa.convert_packed %{{.*}} to f8E4M3FN nearest : vector<8xf32> -> vector<2xi32>
    %q, %s = lpfa.quantize_tile %x axis(1) : !lpfa.tile<16x256xbf16> -> !lpfa.tile<16x256xf8E4M3FN>, !lpfa.tile<16x8xf8E8M0FNU>
    // CHECK-COUNT-8: llvm.store %{{.*}} {alignment = 8 : i64} : vector<2xi32>, !llvm.ptr<1>
    lpfa.store %q -> %Q[%m, %c0] : !lpfa.tile<16x256xf8E4M3FN>, !codes
    // CHECK: lpfa.barrier.sync 0 threads(64)
    // CHECK: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xi32>
    // CHECK: llvm.store %{{.*}} {alignment = 8 : i64} : vector<2xi32>, !llvm.ptr<1>
    lpfa.store %s -> %S[%m, %c0] : !lpfa.tile<16x8xf8E8M0FNU>, !scales
    // CHECK: } else {
    // CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> i16
    // CHECK: lpfa.barrier.sync 0 threads(64)
    // The next work tile waits for these scales to have been read.
    // CHECK: lpfa.barrier.sync 0 threads(64)
    // CHECK-NEXT: }
    // CHECK-NEXT: gpu.return
  }
}

// -----

// Blocks along columns: a warp has 32 rows, and maxima go across its rows of
// lanes; the first of them writes the scales.

!in = !lpfa.view<64x64xf16>
!scales = !lpfa.view<2x64xf8E8M0FNU>

// WIDE: gpu.func @columns
// CHECK: gpu.func @columns
lpfa.kernel @columns stage(tile) (%X: !in, %S: !scales) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  lpfa.for_work (%m) in (%c1) {
    %x = lpfa.load %X[%m, %c0] : !in -> !lpfa.tile<64x64xf16>
    // CHECK: arith.maximumf %{{.*}}, %{{.*}} : vector<8xf16>
    // CHECK: gpu.shuffle xor %{{.*}}, %c8_i32
    // CHECK: gpu.shuffle xor %{{.*}}, %c16_i32
    // CHECK: llvm.store %{{.*}} {alignment = 8 : i64} : vector<2xi32>, !llvm.ptr<3>
    %q, %s = lpfa.quantize_tile %x axis(0) : !lpfa.tile<64x64xf16> -> !lpfa.tile<64x64xf8E5M2>, !lpfa.tile<2x64xf8E8M0FNU>
    lpfa.store %s -> %S[%m, %c0] : !lpfa.tile<2x64xf8E8M0FNU>, !scales
  }
}

// -----

// Scales go through shared memory to an atom: 32 threads write 16 bytes each.

!scales = !lpfa.view<?x?xf8E8M0FNU>
!atoms = !lpfa.view<?x?x32x4x4xf8E8M0FNU>

// WIDE: gpu.func @pack
// CHECK: gpu.func @pack
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>
// CHECK-SAME: lpfa.dynamic_shared_bytes = 512
lpfa.kernel @pack stage(tile) (%S: !scales, %A: !atoms) {
  %c0 = arith.constant 0 : index
  // CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> vector<1xi32>
  // CHECK: llvm.store %{{.*}} {alignment = 4 : i64} : vector<1xi32>, !llvm.ptr<3>
  // CHECK: else
  // CHECK-COUNT-4: llvm.load %{{.*}} : !llvm.ptr<1> -> vector<1xi8>
  %s = lpfa.load %S[%c0, %c0] : !scales -> !lpfa.tile<128x4xf8E8M0FNU>
  // CHECK: lpfa.barrier.sync 0 threads(128)
  // CHECK: %[[WRITES:.*]] = arith.cmpi ult, %{{.*}}, %c32_i32
  // CHECK: scf.if %[[WRITES]] {
  // CHECK-COUNT-4: llvm.load %{{.*}} : !llvm.ptr<3> -> i32
  // CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
  %a = lpfa.pack_atom %s : !lpfa.tile<128x4xf8E8M0FNU> -> !lpfa.tile<32x4x4xf8E8M0FNU>
  lpfa.store %a -> %A[%c0, %c0, %c0, %c0, %c0] : !lpfa.tile<32x4x4xf8E8M0FNU>, !atoms
}

// -----

// Some atoms of one row of tiles: 16 bytes are what four atoms have of a row.

!scales = !lpfa.view<?x?xf8E8M0FNU>
!atoms = !lpfa.view<?x?x32x4x4xf8E8M0FNU>

// WIDE: gpu.func @unpack
// CHECK: gpu.func @unpack
// CHECK-SAME: lpfa.dynamic_shared_bytes = 8192
lpfa.kernel @unpack stage(tile) (%A: !atoms, %S: !scales) {
  %c0 = arith.constant 0 : index
  // CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
  // CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
  %a = lpfa.load %A[%c0, %c0, %c0, %c0, %c0] : !atoms -> !lpfa.tile<16x32x4x4xf8E8M0FNU>
  %s = lpfa.unpack_atom %a : !lpfa.tile<16x32x4x4xf8E8M0FNU> -> !lpfa.tile<128x64xf8E8M0FNU>
  // CHECK: lpfa.barrier.sync 0 threads(128)
  // CHECK-COUNT-4: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> vector<1xi32>
  // CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
  // At an edge words, then bytes.
  // CHECK: llvm.store %{{.*}} {alignment = 4 : i64} : vector<1xi32>, !llvm.ptr<1>
  // CHECK: llvm.store %{{.*}} : vector<1xi8>, !llvm.ptr<1>
  lpfa.store %s -> %S[%c0, %c0] : !lpfa.tile<128x64xf8E8M0FNU>, !scales
}

// -----

// A warp finds the sequence of a tile among 32 at a time; what no sequence has
// of the tile is 0. A wrong offset ends the kernel.

!scales = !lpfa.view<?x?xf8E8M0FNU>
!atoms = !lpfa.view<?x?x32x4x4xf8E8M0FNU>
!offsets = !lpfa.view<?xi32>

// WIDE: gpu.func @scatter
// CHECK: gpu.func @scatter
lpfa.kernel @scatter stage(tile) (%S: !scales, %O: !offsets, %A: !atoms) {
  %c0 = arith.constant 0 : index
  %rows = lpfa.dim %S, 0 : !scales
  %tiles = lpfa.dim %A, 0 : !atoms
  lpfa.for_work (%m) in (%tiles) {
    // CHECK: scf.for
    // CHECK: scf.for %{{.*}} step %c32
    // CHECK-COUNT-2: llvm.load %{{.*}} : !llvm.ptr<1> -> i32
    // CHECK: gpu.shuffle up
    // CHECK: gpu.shuffle idx
    // CHECK: lpfa.any_sync
    // CHECK: scf.if
    // CHECK-NEXT: llvm.intr.trap
    // CHECK-COUNT-5: gpu.shuffle xor
    %row, %count = lpfa.sequence_tile %m of %O size(128) group(1) within(%rows, %tiles) : !offsets
    // CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> vector<1xi8>
    %s = lpfa.load %S[%row, %c0] rows(%count) : !scales -> !lpfa.tile<128x4xf8E8M0FNU>
    %a = lpfa.pack_atom %s : !lpfa.tile<128x4xf8E8M0FNU> -> !lpfa.tile<32x4x4xf8E8M0FNU>
    lpfa.store %a -> %A[%m, %c0, %c0, %c0, %c0] : !lpfa.tile<32x4x4xf8E8M0FNU>, !atoms
  }
}

// -----

// Two warps have a row: their partial sums meet in shared memory, the sum in
// lanes.

!in = !lpfa.view<?x4096xbf16>
!weight = !lpfa.view<4096xbf16>

// WIDE: gpu.func @norm
// CHECK: gpu.func @norm
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
lpfa.kernel @norm stage(tile) (%X: !in, %W: !weight, %Y: !in) {
  %c0 = arith.constant 0 : index
  %c4096 = arith.constant 4096 : index
  %rows = lpfa.dim %X, 0 : !in
  // The weight stays in shared memory.
  // CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<3>
  %w = lpfa.load %W[%c0] : !weight -> !lpfa.tile<4096xbf16>
  // CHECK: scf.for
  lpfa.for_work (%m) in (%rows) {
    %x = lpfa.load %X[%m, %c0] : !in -> !lpfa.tile<4x4096xbf16>
    // CHECK: lpfa.fma nearest
    // CHECK: llvm.store %{{.*}} : f32, !llvm.ptr<3>
    // CHECK: lpfa.barrier.sync 0 threads(256)
    // CHECK-COUNT-2: llvm.load %{{.*}} : !llvm.ptr<3> -> f32
    // CHECK: gpu.shuffle xor %{{.*}}, %c16_i32
    // CHECK: math.sqrt
    // CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<8xbf16>
    %s0 = lpfa.splat 0.0 : !lpfa.tile<4x1024xf32>
    %s = lpfa.sum_squares_tile %x into %s0 : !lpfa.tile<4x4096xbf16>, !lpfa.tile<4x1024xf32>
    %r = lpfa.rstd_tile %s count(%c4096) epsilon(1.0e-6) : !lpfa.tile<4x1024xf32> -> !lpfa.tile<4xf32>
    %y = lpfa.rms_norm_tile %x rstd %r weight %w : !lpfa.tile<4x4096xbf16>, !lpfa.tile<4xf32>, !lpfa.tile<4096xbf16> -> !lpfa.tile<4x4096xbf16>
    lpfa.store %y -> %Y[%m, %c0] : !lpfa.tile<4x4096xbf16>, !in
  }
}

// -----

// Sixteen lanes have a row of 128 elements, a warp eight rows. Of the four sums of
// its rows a lane gives two away, then one, so that four lanes are left for
// each, and a lane finishes one row.

!in = !lpfa.view<?x128xbf16>
!weight = !lpfa.view<128xbf16>

// WIDE: gpu.func @narrow
// CHECK: gpu.func @narrow
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>
lpfa.kernel @narrow stage(tile) (%X: !in, %W: !weight, %R: !lpfa.view<?xf32>, %Y: !in) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  lpfa.for_work (%m) in (%c1) {
    // CHECK: scf.if
    // CHECK-COUNT-4: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    %x = lpfa.load %X[%m, %c0] : !in -> !lpfa.tile<32x128xbf16>
    // CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    %w = lpfa.load %W[%c0] : !weight -> !lpfa.tile<128xbf16>
    %s0 = lpfa.splat 0.0 : !lpfa.tile<32x1024xf32>
    // CHECK: lpfa.fma nearest
    %s = lpfa.sum_squares_tile %x into %s0 : !lpfa.tile<32x128xbf16>, !lpfa.tile<32x1024xf32>
    // CHECK-COUNT-2: gpu.shuffle xor %{{.*}}, %c8_i32
    // CHECK-COUNT-1: gpu.shuffle xor %{{.*}}, %c4_i32
    // CHECK: gpu.shuffle xor %{{.*}}, %c2_i32
    // CHECK: gpu.shuffle xor %{{.*}}, %c1_i32
    // CHECK: math.sqrt
    // CHECK-NOT: math.sqrt
    // CHECK-COUNT-4: gpu.shuffle idx
    %r = lpfa.rstd_tile %s count(%c128) epsilon(1.0e-6) : !lpfa.tile<32x1024xf32> -> !lpfa.tile<32xf32>
    // CHECK-COUNT-4: llvm.store %{{.*}} : f32, !llvm.ptr<1>
    lpfa.store %r -> %R[%m] : !lpfa.tile<32xf32>, !lpfa.view<?xf32>
    // CHECK-COUNT-4: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
    %y = lpfa.rms_norm_tile %x rstd %r weight %w : !lpfa.tile<32x128xbf16>, !lpfa.tile<32xf32>, !lpfa.tile<128xbf16> -> !lpfa.tile<32x128xbf16>
    lpfa.store %y -> %Y[%m, %c0] : !lpfa.tile<32x128xbf16>, !in
    // CHECK: else
  }
}

// -----

// A warp has two rows of 768 elements, a thread three pieces of each. Rows that
// end after a piece and are aligned need no loads by elements; of a thread's
// pieces only the last of a row may be outside.

!in = !lpfa.view<?x720xbf16>
!weight = !lpfa.view<720xbf16>

// WIDE: gpu.func @ragged
// CHECK: gpu.func @ragged
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
lpfa.kernel @ragged stage(tile) (%X: !in, %W: !weight, %Y: !in) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c720 = arith.constant 720 : index
  lpfa.for_work (%m) in (%c1) {
    // CHECK: scf.if
    // CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    // CHECK: %[[IS_INSIDE:.*]] = arith.cmpi slt, %{{.*}}, %c720
    // CHECK: scf.if %[[IS_INSIDE]] -> (vector<4xi32>) {
    // CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    // CHECK: else
    // CHECK-NEXT: scf.yield %cst
    // CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    // CHECK: scf.if %[[IS_INSIDE]] -> (vector<4xi32>) {
    %x = lpfa.load %X[%m, %c0] : !in -> !lpfa.tile<16x768xbf16>
    %w = lpfa.load %W[%c0] : !weight -> !lpfa.tile<768xbf16>
    %s0 = lpfa.splat 0.0 : !lpfa.tile<16x1024xf32>
    %s = lpfa.sum_squares_tile %x into %s0 : !lpfa.tile<16x768xbf16>, !lpfa.tile<16x1024xf32>
    // CHECK-COUNT-1: gpu.shuffle xor %{{.*}}, %c16_i32
    // CHECK: gpu.shuffle xor %{{.*}}, %c8_i32
    // CHECK: gpu.shuffle xor %{{.*}}, %c1_i32
    // CHECK: math.sqrt
    // CHECK-COUNT-2: gpu.shuffle idx
    %r = lpfa.rstd_tile %s count(%c720) epsilon(1.0e-6) : !lpfa.tile<16x1024xf32> -> !lpfa.tile<16xf32>
    %y = lpfa.rms_norm_tile %x rstd %r weight %w : !lpfa.tile<16x768xbf16>, !lpfa.tile<16xf32>, !lpfa.tile<768xbf16> -> !lpfa.tile<16x768xbf16>
    // CHECK-COUNT-2: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
    // CHECK: scf.if %[[IS_INSIDE]] {
    // CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
    // CHECK-NEXT: }
    lpfa.store %y -> %Y[%m, %c0] : !lpfa.tile<16x768xbf16>, !in
  }
}

// -----

// A row of 32,768 elements is that of a cluster of two CTAs: each tells both of
// its partial sums, in one of two places by turns.

!in = !lpfa.view<?x32768xbf16>
!weight = !lpfa.view<32768xbf16>

// WIDE: gpu.func @cluster
// CHECK: gpu.func @cluster
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
// CHECK-SAME: lpfa.cluster = 2
lpfa.kernel @cluster stage(tile) (%X: !in, %W: !weight, %Y: !in) {
  %c0 = arith.constant 0 : index
  %c32768 = arith.constant 32768 : index
  %rows = lpfa.dim %X, 0 : !in
  // CHECK: gpu.cluster_block_id x
  // CHECK: lpfa.cluster_sync
  %w = lpfa.load %W[%c0] : !weight -> !lpfa.tile<32768xbf16>
  // CHECK: %[[ID:.*]] = gpu.cluster_id x
  // CHECK: %[[CLUSTERS:.*]] = gpu.cluster_dim x
  // CHECK: scf.for %{{.*}} = %[[ID]] to %{{.*}} step %[[CLUSTERS]]
  lpfa.for_work (%m) in (%rows) {
    %x = lpfa.load %X[%m, %c0] : !in -> !lpfa.tile<1x32768xbf16>
    %s0 = lpfa.splat 0.0 : !lpfa.tile<1x1024xf32>
    %s = lpfa.sum_squares_tile %x into %s0 : !lpfa.tile<1x32768xbf16>, !lpfa.tile<1x1024xf32>
    // CHECK: arith.xori
    // CHECK: %[[FIRST:.*]] = lpfa.map_shared %[[PLACE:.*]], %c0_i32
    // CHECK: llvm.store %{{.*}}, %[[FIRST]] : f32, !llvm.ptr<7>
    // CHECK: %[[SECOND:.*]] = lpfa.map_shared %[[PLACE]], %c1_i32
    // CHECK: llvm.store %{{.*}}, %[[SECOND]] : f32, !llvm.ptr<7>
    // CHECK: lpfa.cluster_sync
    // CHECK-COUNT-16: llvm.load %{{.*}} : !llvm.ptr<3> -> f32
    %r = lpfa.rstd_tile %s count(%c32768) epsilon(1.0e-6) : !lpfa.tile<1x1024xf32> -> !lpfa.tile<1xf32>
    %y = lpfa.rms_norm_tile %x rstd %r weight %w : !lpfa.tile<1x32768xbf16>, !lpfa.tile<1xf32>, !lpfa.tile<32768xbf16> -> !lpfa.tile<1x32768xbf16>
    lpfa.store %y -> %Y[%m, %c0] : !lpfa.tile<1x32768xbf16>, !in
  }
}

// -----

// A row that comes tile after tile: its partial sums are carried.

!in = !lpfa.view<?x?xbf16>

// WIDE: gpu.func @loop
// CHECK: gpu.func @loop
lpfa.kernel @loop stage(tile) (%X: !in, %R: !lpfa.view<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16384 = arith.constant 16384 : index
  %rows = lpfa.dim %X, 0 : !in
  %columns = lpfa.dim %X, 1 : !in
  %tiles = arith.ceildivui %columns, %c16384 : index
  lpfa.for_work (%m) in (%rows) {
    // CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<4xf32>
    %s0 = lpfa.splat 0.0 : !lpfa.tile<1x1024xf32>
    // CHECK: %[[SUMS:.*]] = scf.for {{.*}} iter_args(%[[CARRIED:.*]] = %[[ZERO]]) -> (vector<4xf32>)
    // CHECK:   %[[NEW:.*]] = scf.if %{{.*}} -> (vector<4xf32>) {
    // CHECK:     vector.extract %[[CARRIED]][0]
    // CHECK:     scf.yield %{{.*}} : vector<4xf32>
    // CHECK:   } else {
    // CHECK:     scf.yield %{{.*}} : vector<4xf32>
    // CHECK:   scf.yield %[[NEW]] : vector<4xf32>
    %s = scf.for %c = %c0 to %tiles step %c1 iter_args(%s1 = %s0) -> !lpfa.tile<1x1024xf32> {
      %column = arith.muli %c, %c16384 : index
      %x = lpfa.load %X[%m, %column] : !in -> !lpfa.tile<1x16384xbf16>
      %s2 = lpfa.sum_squares_tile %x into %s1 : !lpfa.tile<1x16384xbf16>, !lpfa.tile<1x1024xf32>
      scf.yield %s2 : !lpfa.tile<1x1024xf32>
    }
    // CHECK: vector.extract %[[SUMS]][0]
    // CHECK: math.sqrt
    %r = lpfa.rstd_tile %s count(%columns) epsilon(1.0e-6) : !lpfa.tile<1x1024xf32> -> !lpfa.tile<1xf32>
    lpfa.store %r -> %R[%m] : !lpfa.tile<1xf32>, !lpfa.view<?xf32>
  }
}

// -----

// Blocks of several rows: a thread has the factors of its eight rows and the
// weights of its columns. At an edge what is outside becomes 0.

!in = !lpfa.view<?x?xbf16>
!rows = !lpfa.view<?xf32>
!codes = !lpfa.view<?x?xf8E4M3FN>

// WIDE: gpu.func @norm_squares
// CHECK: gpu.func @norm_squares
lpfa.kernel @norm_squares stage(tile) (%X: !in, %W: !rows, %R: !rows, %Q: !codes) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  lpfa.for_work (%m) in (%c1) {
    // CHECK: scf.if
    // CHECK-COUNT-8: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    %x = lpfa.load %X[%m, %c0] : !in -> !lpfa.tile<128x128xbf16>
    // CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xi32>
    %w = lpfa.load %W[%c0] : !rows -> !lpfa.tile<128xf32>
    // CHECK-COUNT-8: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
    %r = lpfa.load %R[%m] : !rows -> !lpfa.tile<128xf32>
    // CHECK: vector.broadcast %{{.*}} : f32 to vector<8xf32>
    // CHECK: arith.mulf
    // CHECK: arith.mulf
    // CHECK: arith.truncf %{{.*}} : vector<8xf32> to vector<8xbf16>
    // CHECK: else
    // CHECK: arith.truncf %{{.*}} : vector<8xf32> to vector<8xbf16>
    // CHECK: arith.select %{{.*}}, %c65535_i32, %c0_i32
    // CHECK: arith.andi %{{.*}} : vector<4xi32>
    %y = lpfa.rms_norm_tile %x rstd %r weight %w : !lpfa.tile<128x128xbf16>, !lpfa.tile<128xf32>, !lpfa.tile<128xf32> -> !lpfa.tile<128x128xbf16>
    %q, %s = lpfa.quantize_tile %y axis(1) square : !lpfa.tile<128x128xbf16> -> !lpfa.tile<128x128xf8E4M3FN>, !lpfa.tile<128x4xf8E8M0FNU>
    lpfa.store %q -> %Q[%m, %c0] : !lpfa.tile<128x128xf8E4M3FN>, !codes
  }
}

// -----

// Whole rows in blocks of several: a thread copies its pieces of the first work
// tile, then those of the next one as soon as it has taken these. A partial sum
// is that of a piece; warps and CTAs tell each other theirs.

!in = !lpfa.view<?x4096xbf16>
!weight = !lpfa.view<4096xbf16>
!codes = !lpfa.view<?x4096xf8E4M3FN>
!atoms = !lpfa.view<?x32x32x4x4xf8E8M0FNU>

// WIDE: gpu.func @blocks
// CHECK: gpu.func @blocks
// CHECK-SAME: known_block_size = array<i32: 1024, 1, 1>
// CHECK-SAME: lpfa.cluster = 2
// CHECK-SAME: lpfa.min_ctas = 1
lpfa.kernel @blocks stage(tile) (%X: !in, %W: !weight, %Q: !codes, %A: !atoms) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %c4096 = arith.constant 4096 : index
  %rows = lpfa.dim %X, 0 : !in
  %tiles = arith.ceildivui %rows, %c32 : index
  // CHECK-COUNT-8: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache =  cg : !llvm.ptr<3>, !llvm.ptr<1>
  // At an edge some bytes of a piece, and zeros.
  // CHECK-COUNT-8: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache =  cg, %{{.*}} : !llvm.ptr<3>, !llvm.ptr<1>, i32
  // CHECK: nvvm.cp.async.commit.group
  // CHECK: scf.for
  lpfa.for_work (%m) in (%tiles) {
    %row = arith.muli %m, %c32 : index
    // CHECK: nvvm.cp.async.wait.group 0
    // Rows that are not aligned come now.
    // CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> i16
    // CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
    // CHECK-COUNT-8: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<8xbf16>
    // CHECK: nvvm.cp.async.shared.global
    // CHECK: nvvm.cp.async.commit.group
    %x = lpfa.load %X[%row, %c0] ahead : !in -> !lpfa.tile<32x4096xbf16>
    %w = lpfa.load %W[%c0] : !weight -> !lpfa.tile<4096xbf16>
    %s0 = lpfa.splat 0.0 : !lpfa.tile<32x1024xf32>
    // CHECK: lpfa.fma nearest
    %s = lpfa.sum_squares_tile %x into %s0 : !lpfa.tile<32x4096xbf16>, !lpfa.tile<32x1024xf32>
    // CHECK-COUNT-8: llvm.store %{{.*}} : f32, !llvm.ptr<3>
    // CHECK: lpfa.barrier.sync 0 threads(1024)
    // Eight of sixteen pairs of warps, and the others by a shuffle.
    // CHECK-COUNT-8: llvm.load %{{.*}} : !llvm.ptr<3> -> f32
    // CHECK: gpu.shuffle xor %{{.*}}, %c16_i32
    // CHECK-COUNT-2: llvm.store %{{.*}} : f32, !llvm.ptr<7>
    // CHECK: lpfa.cluster_sync
    // CHECK-COUNT-2: llvm.load %{{.*}} : !llvm.ptr<3> -> f32
    // CHECK: gpu.shuffle xor %{{.*}}, %c8_i32
    // CHECK: gpu.shuffle xor %{{.*}}, %c1_i32
    // CHECK: math.sqrt
    // CHECK: lpfa.barrier.sync 0 threads(1024)
    // CHECK-COUNT-8: llvm.load %{{.*}} : !llvm.ptr<3> -> f32
    %r = lpfa.rstd_tile %s count(%c4096) epsilon(1.0e-6) : !lpfa.tile<32x1024xf32> -> !lpfa.tile<32xf32>
    %y = lpfa.rms_norm_tile %x rstd %r weight %w : !lpfa.tile<32x4096xbf16>, !lpfa.tile<32xf32>, !lpfa.tile<4096xbf16> -> !lpfa.tile<32x4096xbf16>
    %q, %t = lpfa.quantize_tile %y axis(1) square : !lpfa.tile<32x4096xbf16> -> !lpfa.tile<32x4096xf8E4M3FN>, !lpfa.tile<32x128xf8E8M0FNU>
    lpfa.store %q -> %Q[%row, %c0] : !lpfa.tile<32x4096xf8E4M3FN>, !codes
    // A thread has a row of an atom's run: the CTA has every second atom.
    // CHECK: lpfa.barrier.sync 0 threads(1024)
    // CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> i32
    // CHECK: llvm.store %{{.*}} {alignment = 4 : i64} : vector<1xi32>, !llvm.ptr<1>
    %a = lpfa.pack_atom %t : !lpfa.tile<32x128xf8E8M0FNU> -> !lpfa.tile<32x32x1x4xf8E8M0FNU>
    %at = arith.divui %m, %c4 : index
    %run = arith.remui %m, %c4 : index
    lpfa.store %a -> %A[%at, %c0, %c0, %run, %c0] : !lpfa.tile<32x32x1x4xf8E8M0FNU>, !atoms
  }
}
