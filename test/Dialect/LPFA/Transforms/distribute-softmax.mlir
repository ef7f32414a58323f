// RUN: lpfa-opt %s --lpfa-distribute-to-threads --canonicalize -split-input-file | FileCheck %s
// RUN: lpfa-opt %s --lpfa-distribute-to-threads=chip=sm_103a --canonicalize -split-input-file | FileCheck %s --check-prefix=RED

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
// CHECK-DAG: %[[BASE:.*]] = arith.constant 0x4B400000 : f32
// CHECK-DAG: %[[LOWEST:.*]] = arith.constant 0x4B000000 : f32
// CHECK-DAG: %[[LOG448:.*]] = arith.constant -8.80735492 : f32
// CHECK-DAG: %[[LAG:.*]] = arith.constant 3.200000e+01 : f32
// CHECK-DAG: %[[C127:.*]] = arith.constant 1.270000e+02 : f32
// CHECK-DAG: %[[I23:.*]] = arith.constant 23 : i32
// RED: gpu.func @row_max
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
      // CHECK-COUNT-64: arith.maximumf
      // M is an integer in the low bits of an f32.
      // CHECK: %[[UP:.*]] = lpfa.fma up %{{.*}}, %[[C]], %[[BASE]] : f32
      // CHECK: %[[RAISED:.*]] = arith.maximumf %[[UP]], %[[LOWEST]]
      // CHECK: %[[LIMIT:.*]] = arith.addf %[[M]], %[[LAG]]
      // CHECK: %[[RISES:.*]] = arith.cmpf ugt, %[[RAISED]], %[[LIMIT]]
      // CHECK: %[[NEWM:.*]] = arith.select %[[RISES]], %[[RAISED]], %[[M]]
      // CHECK-DAG: %[[LOW:.*]] = vector.extract_strided_slice %[[S]] {offsets = [0], sizes = [32], strides = [1]}
      // CHECK-DAG: %[[HIGH:.*]] = vector.extract_strided_slice %[[S]] {offsets = [32], sizes = [32], strides = [1]}
      // So are the exponents of blocks.
      // CHECK: %[[X:.*]] = math.fma %{{.*}}, %[[C]], %[[LOG448]] : f32
      // CHECK: %[[E:.*]] = lpfa.add up %[[X]], %[[BASE]]
      // CHECK: %[[FLOOR:.*]] = arith.subf %[[NEWM]], %[[C127]]
      // CHECK: %[[CLAMPED:.*]] = arith.maximumf %[[E]], %[[FLOOR]]
      // CHECK: %[[BIAS:.*]] = arith.subf %[[BASE]], %[[CLAMPED]]
      // CHECK: %[[BITS:.*]] = arith.bitcast %[[CLAMPED]] : f32 to i32
      // CHECK: arith.shli %[[BITS]], %[[I23]]
      // CHECK: %[[BIASES:.*]] = vector.broadcast %[[BIAS]]
      // CHECK: math.fma %[[LOW]], %{{.*}}, %[[BIASES]] : vector<32xf32>
      // CHECK: %[[P:.*]] = lpfa.exp2 %{{.*}} : vector<32xf32>
      // CHECK: arith.addf {{.*}} : vector<16xf32>
      // CHECK: lpfa.convert_packed %[[P]] to f8E4M3FN nearest : vector<32xf32> -> vector<8xi32>
      // CHECK: math.fma {{.*}} : vector<2xf32>
      // The chip that has them loads the maxima of blocks with the scores.
      // RED: %{{.*}}, %[[MAXIMA:.*]] = lpfa.tcgen05.ld_max %{{.*}} : vector<64xf32>, vector<2xf32>
      // RED-DAG: %[[MAX0:.*]] = vector.extract %[[MAXIMA]][0]
      // RED-DAG: %[[MAX1:.*]] = vector.extract %[[MAXIMA]][1]
      // RED: %[[MAX:.*]] = arith.maximumf %{{.*}}, %[[MAX0]]
      // RED: %[[LARGEST:.*]] = arith.maximumf %[[MAX]], %[[MAX1]]
      // RED: lpfa.fma up %[[LARGEST]]
      %M1, %largest1, %factor = lpfa.softmax_maximum %s, %M, %largest scale(0.0883883461) <row_max> : !f32
      %p, %sp, %l1 = lpfa.softmax_probabilities %s, %M1, %l, %factor scale(0.0883883461) <row_max> : !f32 -> !fp8
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

// The bounds of what is visible move with the row. Masked scores are not what a
// load with maxima saw.

!f32 = !lpfa.tile<128x32xf32>
!fp8 = !lpfa.tile<128x32xf8E4M3FN>
!row = !lpfa.tile<128xf32>
!scores = !lpfa.buffer<128x32xf32, tensor>
!codes = !lpfa.buffer<128x32xf8E4M3FN, tensor>

// CHECK: gpu.func @causal
// RED: gpu.func @causal
lpfa.kernel @causal stage(synchronized) threads(128) tensor_columns(64) (%row: index, %key: index, %rows: index, %keys: index) {
  %S = lpfa.scratch "S" at <tensor, 0, 32> : !scores
  %P = lpfa.scratch "P" at <tensor, 32, 8> : !codes
  lpfa.role "softmax" warps(4 from 0) registers(192) {
    %M = lpfa.splat 0xFF800000 : !row
    // CHECK: %[[S:.*]] = lpfa.tcgen05.ld
    // RED: lpfa.tcgen05.ld %{{.*}} : vector<32xf32>
    %s = lpfa.read %S : !scores -> !f32
    // CHECK: %[[VISIBLE:.*]] = arith.cmpi sgt, %{{.*}}, %{{.*}} : vector<32xi32>
    // CHECK: arith.select %[[VISIBLE]], %[[S]], %{{.*}} : vector<32xi1>, vector<32xf32>
    // CHECK-COUNT-32: arith.maximumf
    // CHECK: lpfa.tcgen05.st
    %x = lpfa.apply_mask %s at(%row, %key) of(%rows, %keys) <causal, bottom_right> : !f32
    %M1, %largest1, %factor = lpfa.softmax_maximum %x, %M, %M scale(0.0883883461) <constant> : !f32
    %p, %sp, %l1 = lpfa.softmax_probabilities %x, %M1, %M, %factor scale(0.0883883461) <constant> : !f32 -> !fp8
    lpfa.write %p -> %P : !fp8, !codes
  }
}

// -----

// Of each 32 exponentials the last four are polynomials: the integer part goes
// into the exponent of what the polynomial gives.

!f32 = !lpfa.tile<128x32xf32>
!fp8 = !lpfa.tile<128x32xf8E4M3FN>
!row = !lpfa.tile<128xf32>
!scores = !lpfa.buffer<128x32xf32, tensor>
!codes = !lpfa.buffer<128x32xf8E4M3FN, tensor>

// CHECK: gpu.func @polynomial
// CHECK-DAG: %[[BASE:.*]] = arith.constant dense<0x4B400000> : vector<4xf32>
// CHECK-DAG: %[[LEAST:.*]] = arith.constant dense<-1.260000e+02> : vector<4xf32>
// CHECK-DAG: %[[C3:.*]] = arith.constant dense<0.0551716685> : vector<4xf32>
// CHECK-DAG: %[[C2:.*]] = arith.constant dense<0.242611125> : vector<4xf32>
// CHECK-DAG: %[[C1:.*]] = arith.constant dense<0.693260967> : vector<4xf32>
// CHECK-DAG: %[[C0:.*]] = arith.constant dense<0.999928057> : vector<4xf32>
// CHECK-DAG: %[[I23:.*]] = arith.constant dense<23> : vector<4xi32>
lpfa.kernel @polynomial stage(synchronized) threads(128) tensor_columns(64) () {
  %S = lpfa.scratch "S" at <tensor, 0, 32> : !scores
  %P = lpfa.scratch "P" at <tensor, 32, 8> : !codes
  lpfa.role "softmax" warps(4 from 0) registers(192) {
    %M = lpfa.splat 0xFF800000 : !row
    %s = lpfa.read %S : !scores -> !f32
    // CHECK: %[[ALL:.*]] = math.fma {{.*}} : vector<32xf32>
    // CHECK: %[[FIRST:.*]] = vector.extract_strided_slice %[[ALL]] {offsets = [0], sizes = [28], strides = [1]}
    // CHECK: %[[E:.*]] = lpfa.exp2 %[[FIRST]] : vector<28xf32>
    // CHECK: %[[X:.*]] = vector.extract_strided_slice %[[ALL]] {offsets = [28], sizes = [4], strides = [1]}
    // CHECK: %[[CLAMPED:.*]] = arith.maximumf %[[X]], %[[LEAST]]
    // CHECK: %[[INTEGER:.*]] = arith.addf %[[CLAMPED]], %[[BASE]]
    // CHECK: %[[N:.*]] = arith.subf %[[INTEGER]], %[[BASE]]
    // CHECK: %[[F:.*]] = arith.subf %[[CLAMPED]], %[[N]]
    // CHECK: %[[P2:.*]] = math.fma %[[C3]], %[[F]], %[[C2]]
    // CHECK: %[[P1:.*]] = math.fma %[[P2]], %[[F]], %[[C1]]
    // CHECK: %[[P0:.*]] = math.fma %[[P1]], %[[F]], %[[C0]]
    // CHECK: %[[NBITS:.*]] = arith.bitcast %[[INTEGER]] : vector<4xf32> to vector<4xi32>
    // CHECK: %[[EXPONENT:.*]] = arith.shli %[[NBITS]], %[[I23]]
    // CHECK: %[[PBITS:.*]] = arith.bitcast %[[P0]] : vector<4xf32> to vector<4xi32>
    // CHECK: %[[SUM:.*]] = arith.addi %[[PBITS]], %[[EXPONENT]]
    // CHECK: %[[LAST:.*]] = arith.bitcast %[[SUM]] : vector<4xi32> to vector<4xf32>
    // CHECK: vector.shuffle %[[E]], %[[LAST]]
    %M1, %largest1, %factor = lpfa.softmax_maximum %s, %M, %M scale(0.0883883461) <constant> : !f32
    %p, %sp, %l1 = lpfa.softmax_probabilities %s, %M1, %M, %factor scale(0.0883883461) <constant> polynomial(4, 3) : !f32 -> !fp8
    lpfa.write %p -> %P : !fp8, !codes
  }
}
