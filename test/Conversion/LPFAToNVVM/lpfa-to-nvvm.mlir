// RUN: lpfa-opt %s --convert-lpfa-to-nvvm --canonicalize | FileCheck %s

// CHECK: llvm.mlir.global external @lpfa_shared_memory() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
gpu.module @kernels {

// CHECK-LABEL: llvm.func @function
// CHECK-SAME: (%arg0: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant},
// CHECK-SAME: %arg1: !llvm.ptr<1> {lpfa.parameter = #lpfa.parameter<pointer, operand = 1>})
// CHECK-SAME: lpfa.dynamic_shared_bytes = 1024 : i64
// CHECK-SAME: nvvm.kernel, nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 384, 1, 1>
gpu.func @function(%map: !llvm.ptr {lpfa.tensor_map},
    %x: !llvm.ptr<1> {lpfa.parameter = #lpfa.parameter<pointer, operand = 1>})
    kernel attributes {known_block_size = array<i32: 384, 1, 1>,
                       lpfa.dynamic_shared_bytes = 1024 : i64} {
  // CHECK: llvm.return
  gpu.return
}

// CHECK-LABEL: llvm.func @cluster
// CHECK-SAME: nvvm.cluster_dim = array<i32: 4, 1, 1>
gpu.func @cluster(%cta: i32, %x: f32) kernel attributes {lpfa.cluster = 4} {
  %here = lpfa.shared_memory
  // CHECK: %[[THERE:.*]] = nvvm.mapa %{{.*}}, %{{.*}} : !llvm.ptr<3> -> !llvm.ptr<7>
  %there = lpfa.map_shared %here, %cta
  // CHECK: llvm.store %{{.*}}, %[[THERE]] : f32, !llvm.ptr<7>
  llvm.store %x, %there : f32, !llvm.ptr<7>
  // CHECK: nvvm.cluster.arrive {aligned}
  // CHECK: nvvm.cluster.wait {aligned}
  lpfa.cluster_sync
  gpu.return
}

// CHECK-LABEL: llvm.func @barriers
gpu.func @barriers(%parity: i32, %bytes: i32) kernel {
  // CHECK: %[[BASE:.*]] = llvm.mlir.addressof @lpfa_shared_memory
  %base = lpfa.shared_memory
  // CHECK: nvvm.elect.sync -> i1
  %leader = lpfa.elect_sync
  // CHECK: nvvm.redux.sync fmax %{{.*}}, %{{.*}} {abs = true, nan = true} : f32 -> f32
  %one = llvm.mlir.constant(1.0 : f32) : f32
  %largest = lpfa.largest_magnitude %one
  // CHECK: nvvm.setmaxregister increase 192
  lpfa.set_max_registers increase 192
  // CHECK: nvvm.setmaxregister decrease 24
  lpfa.set_max_registers decrease 24
  // CHECK: llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.count"
  lpfa.barrier.sync 1 threads(128)
  // CHECK: llvm.call_intrinsic "llvm.nvvm.barrier.cta.arrive.aligned.count"
  lpfa.barrier.arrive 15 threads(64)
  // CHECK: nvvm.mbarrier.init %[[BASE]], %{{.*}} : !llvm.ptr<3>, i32
  lpfa.mbarrier.init %base, 128
  // CHECK: nvvm.fence.mbarrier.init
  lpfa.fence.mbarrier_init
  // CHECK: llvm.call_intrinsic "llvm.nvvm.mbarrier.arrive.scope.cta.space.cta"(%[[BASE]], %{{.*}})
  lpfa.mbarrier.arrive %base
  // CHECK: llvm.call_intrinsic "llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta"(%[[BASE]], %{{.*}})
  lpfa.mbarrier.arrive_expect_tx %base, %bytes
  // CHECK: nvvm.mbarrier.expect_tx %[[BASE]], %{{.*}} : !llvm.ptr<3>, i32
  lpfa.mbarrier.expect_tx %base, %bytes
  // CHECK: llvm.inline_asm has_side_effects "{{.*}}mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 complete, [$0], $1;{{.*}}@complete bra done;
  lpfa.mbarrier.wait %base, %parity
  // CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  lpfa.fence.proxy_async
  // CHECK: nvvm.mbarrier.inval %[[BASE]]
  lpfa.mbarrier.invalidate %base
  gpu.return
}

// The descriptor of a K-major tile with 128-byte swizzle: leading 16, stride
// 1024, version 1, swizzle code 2. Its words are 1 << 16 | start, and
// 0x40004040.
// CHECK-LABEL: llvm.func @descriptors
// CHECK-SAME: (%[[TILE:.*]]: !llvm.ptr<3>, %[[BYTES:.*]]: i32)
gpu.func @descriptors(%tile: !llvm.ptr<3>, %bytes: i32) kernel {
  // CHECK-DAG: %[[HIGH:.*]] = llvm.mlir.constant(1073758272 : i32)
  // CHECK-DAG: %[[LEADING:.*]] = llvm.mlir.constant(65536 : i32)
  // CHECK-DAG: %[[MASK:.*]] = llvm.mlir.constant(16383 : i32)
  // CHECK-DAG: %[[C4:.*]] = llvm.mlir.constant(4 : i32)
  // CHECK: %[[START:.*]] = llvm.ptrtoint %[[TILE]] : !llvm.ptr<3> to i32
  // CHECK: %[[SHIFTED:.*]] = llvm.lshr %[[START]], %[[C4]]
  // CHECK: %[[FIELD:.*]] = llvm.and %[[SHIFTED]], %[[MASK]]
  // CHECK: %[[LOW:.*]] = llvm.or %[[FIELD]], %[[LEADING]]
  // CHECK: llvm.insertelement %[[LOW]],
  // CHECK: llvm.insertelement %[[HIGH]],
  %desc = lpfa.shared_descriptor %tile swizzle(128) leading(16) stride(1024)
  // CHECK: %[[STEP:.*]] = llvm.ashr %[[BYTES]], %[[C4]]
  // CHECK: %[[NEXT:.*]] = llvm.add %{{.*}}, %[[STEP]] : i32
  // CHECK: llvm.insertelement %[[NEXT]],
  // CHECK: %[[DESC:.*]] = llvm.bitcast %{{.*}} : vector<2xi32> to i64
  %next = lpfa.advance_descriptor %desc by %bytes
  // CHECK: nvvm.tcgen05.cp %{{.*}}, %[[DESC]] {multicast = #nvvm.tcgen05_cp_multicast<warpx4>, shape = #nvvm.tcgen05_cp_shape<shape_32x128b>}
  lpfa.tcgen05.cp %next to %bytes
  // CHECK: nvvm.tcgen05.cp %{{.*}}, %[[DESC]] {shape = #nvvm.tcgen05_cp_shape<shape_128x256b>}
  lpfa.tcgen05.cp %next to %bytes rows
  gpu.return
}

// Fields of the instruction descriptor: scale byte of B 3 << 4, A e5m2 1 << 7,
// B e4m3 0, B MN-major 1 << 16, N/8 = 8 << 17, UE8M0 1 << 23, M/128 1 << 27,
// scale byte of A 2 << 29.
// CHECK-LABEL: llvm.func @instruction
gpu.func @instruction(%a: i64, %tmem: i32, %acc: i1) kernel {
  // CHECK: %[[IDESC:.*]] = llvm.mlir.constant(1217462448 : i32)
  %idesc = lpfa.instruction_descriptor m(128) n(64) a(f8E5M2) b(f8E4M3FN) b_mn
      scale_bytes(2, 3)
  // CHECK: nvvm.tcgen05.mma.block_scale %{{.*}}, %arg0, %arg0, %[[IDESC]], %arg2, %{{.*}}, %{{.*}} {blockScale = #nvvm.tcgen05_mma_block_scale<block32>, ctaGroup = #nvvm.cta_group<cta_1>, kind = #nvvm.block_scale_kind<mxf8f6f4>}
  lpfa.tcgen05.mma %a * %a into %tmem accumulate %acc scales(%tmem, %tmem)
      instruction %idesc : i64
  // CHECK: nvvm.tcgen05.mma.block_scale {{.*}} : (!llvm.ptr<6>, !llvm.ptr<6>, i64,
  lpfa.tcgen05.mma %tmem * %a into %tmem accumulate %acc scales(%tmem, %tmem)
      instruction %idesc : i32
  gpu.return
}

// CHECK-LABEL: llvm.func @arithmetic
gpu.func @arithmetic(%v: vector<4xf32>, %x: f32, %tmem: i32) {
  // The first element is the lowest byte: the second operand.
  // CHECK: %[[E0:.*]] = llvm.extractelement %arg0[%{{.*}} : i32]
  // CHECK: %[[E1:.*]] = llvm.extractelement %arg0[%{{.*}} : i32]
  // CHECK: nvvm.convert.f32x2.to.f8x2 %[[E1]], %[[E0]] {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E4M3FN)
  // CHECK: nvvm.convert.f32x2.to.f8x2 {{.*}} : i16(f8E4M3FN)
  %codes = lpfa.convert_packed %v to f8E4M3FN nearest
      : vector<4xf32> -> vector<1xi32>
  lpfa.tcgen05.st %codes to %tmem : vector<1xi32>
  // CHECK: nvvm.convert.f32x2.to.f8x2 {{.*}} {rnd = #nvvm.fp_rnd_mode<rp>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E8M0FNU)
  %scales = lpfa.convert_packed %v to f8E8M0FNU up
      : vector<4xf32> -> vector<1xi32>
  // CHECK: llvm.inline_asm has_side_effects "tcgen05.st.sync.aligned.32x32b.x1.b32 [$0], {$1};"
  lpfa.tcgen05.st %scales to %tmem : vector<1xi32>
  // CHECK-COUNT-4: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"
  %e = lpfa.exp2 %v : vector<4xf32>
  lpfa.tcgen05.st %e to %tmem : vector<4xf32>
  // Two loads with a maximum each, and one wait.
  // CHECK: llvm.inline_asm has_side_effects "{{.*}}tcgen05.ld.red.sync.aligned.32x32b.x32.max.NaN.f32 {$0, {{.*}}, $31}, $64, [column];{{.*}}tcgen05.ld.red.sync.aligned.32x32b.x32.max.NaN.f32 {$32, {{.*}}, $63}, $65, [column];{{.*}}tcgen05.wait::ld.sync.aligned;
  %row, %maxima = lpfa.tcgen05.ld_max %tmem : vector<64xf32>, vector<2xf32>
  lpfa.tcgen05.st %row to %tmem : vector<64xf32>
  lpfa.tcgen05.st %maxima to %tmem : vector<2xf32>
  // CHECK: llvm.call_intrinsic "llvm.nvvm.lg2.approx.ftz.f"
  %l = lpfa.log2 %x : f32
  // CHECK: llvm.call_intrinsic "llvm.nvvm.fma.rp.f"
  %f = lpfa.fma up %l, %x, %x : f32
  // CHECK: llvm.call_intrinsic "llvm.nvvm.add.rm.f"
  %a = lpfa.add down %f, %x : f32
  %p = llvm.inttoptr %tmem : i32 to !llvm.ptr<1>
  llvm.store %a, %p : f32, !llvm.ptr<1>
  gpu.return
}
}
