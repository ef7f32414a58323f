// RUN: lpfa-opt %s --lpfa-distribute-to-threads -split-input-file | FileCheck %s

// Tiles on their way between registers and memory: a thread has a row.

!accumulator = !lpfa.buffer<128x96xf32, tensor>
!f32 = !lpfa.tile<128x96xf32>
!bf16 = !lpfa.tile<128x64xbf16>
!row = !lpfa.tile<128xf32>
!o_channel = !lpfa.channel<128x64xbf16 shared>

// CHECK: gpu.func @correction
lpfa.kernel @correction stage(synchronized) threads(128) tensor_columns(128) shared_bytes(16384) () {
  %cO = lpfa.channel "O" stages(1) at [#lpfa.place<shared, 0, 16384>] : !o_channel
  %O = lpfa.accumulator "O" owner("correction") at <tensor, 32, 96> : !accumulator
  lpfa.role "correction" warps(4 from 0) registers(80) {
    // The quarter of the lanes is the warp's.
    // CHECK: %[[QUARTER:.*]] = arith.andi %{{.*}}, %{{.*}} : i32
    // CHECK: %[[LANES:.*]] = arith.shli %[[QUARTER]], %{{.*}} : i32
    // CHECK: %[[FACTOR:.*]] = arith.constant 2.000000e+00 : f32
    %factor = lpfa.splat 2.0 : !row
    // Only a warp with a factor other than 1 has work; 32 columns at a time.
    // CHECK: %[[CHANGES:.*]] = arith.cmpf une, %[[FACTOR]], %{{.*}} : f32
    // CHECK: %[[ANY:.*]] = lpfa.any_sync %[[CHANGES]]
    // CHECK: scf.if %[[ANY]] {
    // CHECK:   %[[PART:.*]] = lpfa.tcgen05.ld %{{.*}} : vector<32xf32>
    // CHECK:   %[[SCALED:.*]] = arith.mulf %[[PART]], %{{.*}} : vector<32xf32>
    // CHECK:   lpfa.tcgen05.st %[[SCALED]]
    // CHECK-COUNT-2: lpfa.tcgen05.ld
    // CHECK-NOT: lpfa.tcgen05.ld
    // CHECK:   lpfa.tcgen05.wait_st
    // CHECK: }
    lpfa.rescale_buffer %O by %factor : !accumulator, !row
    // CHECK: lpfa.tcgen05.ld %{{.*}} : vector<64xf32>
    // CHECK: vector.insert_strided_slice %{{.*}} {offsets = [0], strides = [1]} : vector<64xf32> into vector<96xf32>
    // CHECK: lpfa.tcgen05.ld %{{.*}} : vector<32xf32>
    // CHECK: vector.insert_strided_slice %{{.*}} {offsets = [64], strides = [1]} : vector<32xf32> into vector<96xf32>
    %o = lpfa.read %O : !accumulator -> !f32
    %half = lpfa.slice %O[32] : !accumulator to !lpfa.buffer<128x64xf32, tensor>
    // CHECK: %[[HALF:.*]] = lpfa.tcgen05.ld %{{.*}} : vector<64xf32>
    %h = lpfa.read %half : !lpfa.buffer<128x64xf32, tensor> -> !lpfa.tile<128x64xf32>
    // CHECK: %[[DIVIDED:.*]] = arith.divf %[[HALF]], %{{.*}} : vector<64xf32>
    // CHECK: %[[NONE:.*]] = arith.cmpf oeq, %[[FACTOR]], %{{.*}} : f32
    // CHECK: %[[Y:.*]] = arith.select %[[NONE]], %{{.*}}, %[[DIVIDED]] : vector<64xf32>
    // CHECK: %[[ROUNDED:.*]] = arith.truncf %[[Y]] : vector<64xf32> to vector<64xbf16>
    %y = lpfa.normalize %h by %factor : !lpfa.tile<128x64xf32> -> !bf16
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    %slot = lpfa.slot %cO use %u : !o_channel
    // Eight pieces of 16 bytes, swizzled by the row's last three bits.
    // CHECK: %[[ROW:.*]] = arith.muli %{{.*}}, %{{.*}} : i32
    // CHECK: %[[BITS:.*]] = arith.shrui %[[ROW]], %{{.*}} : i32
    // CHECK: %[[MASK:.*]] = arith.constant 112 : i32
    // CHECK: %[[SWIZZLE:.*]] = arith.andi %[[BITS]], %[[MASK]]
    // CHECK: %[[FIRST:.*]] = vector.extract_strided_slice %[[ROUNDED]] {offsets = [0], sizes = [8], strides = [1]}
    // CHECK: %[[WORDS:.*]] = vector.bitcast %[[FIRST]] : vector<8xbf16> to vector<4xi32>
    // CHECK: llvm.store %[[WORDS]], %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
    // CHECK: vector.extract_strided_slice %[[ROUNDED]] {offsets = [8], sizes = [8], strides = [1]}
    // CHECK: %[[C16:.*]] = arith.constant 16 : i32
    // CHECK: arith.xori %[[SWIZZLE]], %[[C16]]
    // CHECK-COUNT-7: llvm.store
    // CHECK-NOT: llvm.store
    lpfa.write %y -> %slot : !bf16, !lpfa.buffer<128x64xbf16, shared>
    // CHECK: gpu.return
  }
}
