// RUN: lpfa-opt %s --lpfa-distribute-to-threads --canonicalize | FileCheck %s

// The second half of P meets the second half of V, with bytes 2 and 3 of the
// scales. These lie in two places in turns, inside the slots of another ring.

!v_channel = !lpfa.channel<128x128xf8E5M2 shared, 32x4x4xf8E8M0FNU shared>
!p_channel = !lpfa.channel<128x64xf8E4M3FN tensor>
!accumulator = !lpfa.buffer<128x128xf32, tensor>
!scales = !lpfa.buffer<32x4x4xf8E8M0FNU, tensor>
!shared_scales = !lpfa.buffer<32x4x4xf8E8M0FNU, shared>
!shared_v = !lpfa.buffer<128x128xf8E5M2, shared>
!tensor_p = !lpfa.buffer<128x64xf8E4M3FN, tensor>

// CHECK: gpu.func @part
// CHECK: %[[SCALES:.*]] = arith.addi %{{.*}}, %c208_i32 : i32
// The first copy goes one distance on from the last slot, to slot 0.
// CHECK: llvm.store %c-64_i32, %[[OFFSET:.*]] : i32
lpfa.kernel @part stage(synchronized) threads(128) tensor_columns(256) shared_bytes(17408) (%left: index) {
  %cV = lpfa.channel "V" stages(1) at [#lpfa.place<shared, 0, 16384>, #lpfa.place<shared, 16384, 512>] : !v_channel
  %cP = lpfa.channel "P" stages(2) at [#lpfa.place<tensor, 128, 16, 64>] : !p_channel
  %O = lpfa.accumulator "O" owner("mma") at <tensor, 0, 128> : !accumulator
  %tP = lpfa.scratch "scales" stages(2) at <tensor, 208, 4, -64> : !scales
  lpfa.role "mma" warps(1 from 0) registers(48) elected {
    %true = arith.constant true
    %u = lpfa.cursor stages(1) : !lpfa.cursor
    %w = lpfa.cursor stages(2) : !lpfa.cursor
    %v, %sv = lpfa.slot %cV use %u : !v_channel
    // CHECK: %[[DISTANCE:.*]] = arith.muli %{{.*}}, %c64_i32 : i32
    // CHECK: %[[P:.*]] = arith.addi %{{.*}}, %[[DISTANCE]] : i32
    %p = lpfa.slot %cP use %w : !p_channel
    // CHECK: %[[OLD:.*]] = llvm.load %[[OFFSET]]
    // CHECK: %[[NEXT:.*]] = arith.addi %[[OLD]], %c-64_i32 : i32
    // CHECK: %[[WRAPS:.*]] = arith.cmpi eq, %[[NEXT]], %c-128_i32 : i32
    // CHECK: %[[NEW:.*]] = arith.select %[[WRAPS]], %c0_i32, %[[NEXT]] : i32
    // CHECK: llvm.store %[[NEW]], %[[OFFSET]]
    // CHECK: %[[AT:.*]] = llvm.load %[[OFFSET]]
    // CHECK: %[[PLACE:.*]] = arith.addi %[[SCALES]], %[[AT]] : i32
    // CHECK: lpfa.tcgen05.cp %{{.*}} to %[[PLACE]]
    lpfa.copy_scales %sv -> %tP : !shared_scales, !scales
    // CHECK: %[[V:.*]] = lpfa.shared_descriptor %{{.*}} swizzle(128)
    // CHECK: %[[AT:.*]] = llvm.load %[[OFFSET]]
    // CHECK: %[[SA:.*]] = arith.addi %[[SCALES]], %[[AT]] : i32
    // CHECK: arith.cmpi sgt, %{{.*}}, %c64 : index
    // CHECK: %[[V2:.*]] = lpfa.advance_descriptor %[[V]] by %c8192_i32
    // CHECK: %[[BYTES:.*]] = lpfa.instruction_descriptor {{.*}} scale_bytes(2, 2)
    // CHECK: lpfa.tcgen05.mma %[[P]] * %[[V2]] into %{{.*}} scales(%[[SA]], %{{.*}}) instruction %[[BYTES]]
    // CHECK: arith.cmpi sgt, %{{.*}}, %c96 : index
    // CHECK: %[[P1:.*]] = arith.addi %[[P]], %c8_i32 : i32
    // CHECK: %[[V3:.*]] = lpfa.advance_descriptor %[[V]] by %c12288_i32
    // CHECK: lpfa.instruction_descriptor {{.*}} scale_bytes(3, 3)
    // CHECK: lpfa.tcgen05.mma %[[P1]] * %[[V3]]
    lpfa.mma %p, %v scaled %tP, %tP into %O accumulate(%true) valid(%left) part(1) : !tensor_p, !shared_v, !accumulator
  }
}
