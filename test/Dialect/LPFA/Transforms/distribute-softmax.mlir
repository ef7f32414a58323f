// RUN: lpfa-opt %s --lpfa-distribute-to-threads --canonicalize -split-input-file | FileCheck %s

// One row of 64 scores: exponents of blocks from their largest scores alone.

!f32 = !lpfa.tile<128x64xf32>
!fp8 = !lpfa.tile<128x64xf8E4M3FN>
!atom = !lpfa.tile<32x4x4xf8E8M0FNU>
!row = !lpfa.tile<128xf32>
!scores = !lpfa.buffer<128x64xf32, tensor>
!codes = !lpfa.buffer<128x64xf8E4M3FN, tensor>
!bytes = !lpfa.buffer<32x4x4xf8E8M0FNU, shared>
!out = !lpfa.view<?xf32>

// CHECK: gpu.func @row_max
// CHECK-DAG: %[[C:.*]] = arith.constant 0.127517432 : f32
// CHECK-DAG: %[[MAGIC:.*]] = arith.constant 0x4B400000 : f32
// CHECK-DAG: %[[LOG448:.*]] = arith.constant -8.80735492 : f32
// CHECK-DAG: %[[LAG:.*]] = arith.constant 3.200000e+01 : f32
// CHECK-DAG: %[[C127:.*]] = arith.constant 1.270000e+02 : f32
lpfa.kernel @row_max stage(synchronized) threads(128) tensor_columns(128) shared_bytes(512) (%out: !out) {
  %S = lpfa.scratch "S" at <tensor, 0, 64> : !scores
  %P = lpfa.scratch "P" at <tensor, 64, 16> : !codes
  %B = lpfa.scratch "scales" at <shared, 0, 512> : !bytes
  lpfa.role "softmax" warps(4 from 0) registers(192) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %m0 = lpfa.splat 0xFF800000 : !row
    %l0 = lpfa.splat 0.0 : !row
    // CHECK: scf.for {{.*}} iter_args(%[[M:.*]] = %{{.*}}, %[[L:.*]] = %{{.*}}, %[[LARGEST:.*]] = %{{.*}}) -> (f32, f32, f32)
    %r:3 = scf.for %n = %c0 to %c2 step %c1 iter_args(%M = %m0, %l = %l0, %largest = %m0) -> (!row, !row, !row) {
      // CHECK: %[[S:.*]] = lpfa.tcgen05.ld
      %s = lpfa.read %S : !scores -> !f32
      // CHECK: vector.extract_strided_slice %[[S]] {offsets = [0], sizes = [32], strides = [1]}
      // CHECK-COUNT-31: arith.maximumf
      // CHECK: vector.extract_strided_slice %[[S]] {offsets = [32], sizes = [32], strides = [1]}
      // CHECK-COUNT-31: arith.maximumf
      // CHECK: %[[TILEMAX:.*]] = arith.maximumf
      // CHECK: arith.maximumf %[[LARGEST]], %[[TILEMAX]]
      // CHECK: %[[UP:.*]] = lpfa.fma up %[[TILEMAX]], %[[C]], %[[MAGIC]] : f32
      // CHECK: %[[CEIL:.*]] = arith.subf %[[UP]], %[[MAGIC]]
      // CHECK: %[[LIMIT:.*]] = arith.addf %[[M]], %[[LAG]]
      // CHECK: %[[RISES:.*]] = arith.cmpf ugt, %[[CEIL]], %[[LIMIT]]
      // CHECK: %[[NEWM:.*]] = arith.select %[[RISES]], %[[CEIL]], %[[M]]
      // CHECK: %[[X:.*]] = math.fma %{{.*}}, %[[C]], %[[LOG448]] : f32
      // CHECK: %[[E:.*]] = math.ceil %[[X]]
      // CHECK: %[[FLOOR:.*]] = arith.subf %{{.*}}, %[[C127]]
      // CHECK: arith.maximumf %[[E]], %[[FLOOR]]
      // CHECK: math.fma {{.*}} : vector<32xf32>
      // CHECK: %[[P:.*]] = lpfa.exp2 %{{.*}} : vector<32xf32>
      // CHECK: arith.addf {{.*}} : vector<16xf32>
      // CHECK: lpfa.convert_packed %[[P]] to f8E4M3FN nearest : vector<32xf32> -> vector<8xi32>
      %p, %sp, %M1, %l1, %largest1, %factor = lpfa.softmax_step %s, %M, %l, %largest scale(0.0883883461) <row_max> : !f32 -> !fp8
      // CHECK: lpfa.tcgen05.st %{{.*}} to %{{.*}} : vector<16xi32>
      lpfa.write %p -> %P : !fp8, !codes
      // CHECK: llvm.store %{{.*}} : i32, !llvm.ptr<3>
      lpfa.write %sp -> %B : !atom, !bytes
      scf.yield %M1, %l1, %largest1 : !row, !row, !row
    }
    // The largest value, rounded as the codes are: four bits of significand.
    // CHECK: lpfa.log2
    %d, %lse = lpfa.softmax_finish %r#0, %r#1, %r#2 scale(0.0883883461) <row_max> : !row
    lpfa.store %lse -> %out[%c0] : !row, !out
  }
}

// -----

// A tile that a mask may cut is tested first; the bounds move with the row.

!f32 = !lpfa.tile<128x32xf32>
!scores = !lpfa.buffer<128x32xf32, tensor>

// CHECK: gpu.func @causal
lpfa.kernel @causal stage(synchronized) threads(128) tensor_columns(32) (%row: index, %key: index, %rows: index, %keys: index) {
  %S = lpfa.scratch "S" at <tensor, 0, 32> : !scores
  lpfa.role "softmax" warps(4 from 0) registers(192) {
    // CHECK: %[[S:.*]] = lpfa.tcgen05.ld
    %s = lpfa.read %S : !scores -> !f32
    // CHECK: %[[TAIL:.*]] = arith.cmpi slt
    // CHECK: %[[DIAGONAL:.*]] = arith.cmpi slt
    // CHECK: %[[PARTIAL:.*]] = arith.ori %[[TAIL]], %[[DIAGONAL]]
    // CHECK: %[[X:.*]] = scf.if %[[PARTIAL]] -> (vector<32xf32>) {
    // CHECK:   %[[VISIBLE:.*]] = arith.cmpi sgt, %{{.*}}, %{{.*}} : vector<32xi32>
    // CHECK:   %[[MASKED:.*]] = arith.select %[[VISIBLE]], %[[S]], %{{.*}} : vector<32xi1>, vector<32xf32>
    // CHECK:   scf.yield %[[MASKED]]
    // CHECK: else
    // CHECK:   scf.yield %[[S]]
    // CHECK: lpfa.tcgen05.st %[[X]]
    %x = lpfa.apply_mask %s at(%row, %key) of(%rows, %keys) <causal, bottom_right> : !f32
    lpfa.write %x -> %S : !f32, !scores
  }
}
