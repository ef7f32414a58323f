// RUN: lpfa-opt %s -verify-roundtrip | FileCheck %s
// RUN: lpfa-opt %s --emit-bytecode | lpfa-opt | FileCheck %s

// CHECK-LABEL: gpu.func @barriers
gpu.module @kernels {
gpu.func @barriers(%parity: i32, %bytes: i32) kernel {
  // CHECK: %[[BASE:.*]] = lpfa.shared_memory
  %base = lpfa.shared_memory
  // CHECK: %[[LEADER:.*]] = lpfa.elect_sync
  %leader = lpfa.elect_sync
  // CHECK: lpfa.largest_magnitude %{{.*}}
  %one = arith.constant 1.0 : f32
  %largest = lpfa.largest_magnitude %one
  // CHECK: lpfa.set_max_registers increase 192
  lpfa.set_max_registers increase 192
  // CHECK: lpfa.set_max_registers decrease 24
  lpfa.set_max_registers decrease 24
  // CHECK: lpfa.barrier.sync 1 threads(128)
  lpfa.barrier.sync 1 threads(128)
  // CHECK: lpfa.barrier.arrive 15 threads(64)
  lpfa.barrier.arrive 15 threads(64)
  // CHECK: lpfa.mbarrier.init %[[BASE]], 128
  lpfa.mbarrier.init %base, 128
  // CHECK: lpfa.fence.mbarrier_init
  lpfa.fence.mbarrier_init
  // CHECK: lpfa.mbarrier.arrive %[[BASE]]
  lpfa.mbarrier.arrive %base
  // CHECK: lpfa.mbarrier.arrive_expect_tx %[[BASE]], %{{.*}}
  lpfa.mbarrier.arrive_expect_tx %base, %bytes
  // CHECK: lpfa.mbarrier.expect_tx %[[BASE]], %{{.*}}
  lpfa.mbarrier.expect_tx %base, %bytes
  // CHECK: lpfa.mbarrier.wait %[[BASE]], %{{.*}}
  lpfa.mbarrier.wait %base, %parity
  // CHECK: lpfa.fence.proxy_async
  lpfa.fence.proxy_async
  // CHECK: lpfa.mbarrier.invalidate %[[BASE]]
  lpfa.mbarrier.invalidate %base
  // CHECK: %{{.*}} = lpfa.map_shared %[[BASE]], %{{.*}}
  %there = lpfa.map_shared %base, %bytes
  // CHECK: lpfa.cluster_sync
  lpfa.cluster_sync
  gpu.return
}

// CHECK-LABEL: gpu.func @copies
// CHECK-SAME: (%[[MAP:.*]]: !llvm.ptr {lpfa.tensor_map}
gpu.func @copies(%map: !llvm.ptr {lpfa.tensor_map}, %global: !llvm.ptr<1>,
                 %tile: !llvm.ptr<3>, %bar: !llvm.ptr<3>, %x: i32, %y: i32)
    kernel {
  // CHECK: lpfa.prefetch_tensor_map %[[MAP]]
  lpfa.prefetch_tensor_map %map
  // CHECK: lpfa.bulk_tensor.load %[[MAP]][%[[X:.*]], %[[Y:.*]]] to %[[TILE:.*]] barrier %[[BAR:.*]]
  lpfa.bulk_tensor.load %map[%x, %y] to %tile barrier %bar
  // CHECK: lpfa.bulk.load %{{.*}} to %[[TILE]], %[[X]] barrier %[[BAR]]
  lpfa.bulk.load %global to %tile, %x barrier %bar
  // CHECK: lpfa.bulk_tensor.store %[[TILE]] to %[[MAP]][%[[X]], %[[Y]], %[[X]], %[[Y]], %[[X]]]
  lpfa.bulk_tensor.store %tile to %map[%x, %y, %x, %y, %x]
  // CHECK: lpfa.bulk.commit_group
  lpfa.bulk.commit_group
  // CHECK: lpfa.bulk.wait_group 1 read
  lpfa.bulk.wait_group 1 read
  // CHECK: lpfa.bulk.wait_group 0{{$}}
  lpfa.bulk.wait_group 0
  gpu.return
}

// CHECK-LABEL: gpu.func @tensor_core
gpu.func @tensor_core(%tile: !llvm.ptr<3>, %bar: !llvm.ptr<3>, %tmem: i32,
                      %bytes: i32, %acc: i1) kernel {
  // CHECK: lpfa.tcgen05.alloc 512 to %{{.*}}
  lpfa.tcgen05.alloc 512 to %bar
  // CHECK: lpfa.tcgen05.relinquish
  lpfa.tcgen05.relinquish
  // CHECK: %[[DESC:.*]] = lpfa.shared_descriptor %{{.*}} swizzle(128) leading(16) stride(1024)
  %desc = lpfa.shared_descriptor %tile swizzle(128) leading(16) stride(1024)
  // CHECK: %[[NEXT:.*]] = lpfa.advance_descriptor %[[DESC]] by %{{.*}}
  %next = lpfa.advance_descriptor %desc by %bytes
  // CHECK: %[[IDESC:.*]] = lpfa.instruction_descriptor m(128) n(64) a(f8E4M3FN) b(f8E5M2) b_mn scale_bytes(0, 3)
  %idesc = lpfa.instruction_descriptor m(128) n(64) a(f8E4M3FN) b(f8E5M2)
      b_mn scale_bytes(0, 3)
  // CHECK: lpfa.tcgen05.cp %[[DESC]] to %[[TMEM:.*]]
  lpfa.tcgen05.cp %desc to %tmem
  // CHECK: lpfa.tcgen05.cp %[[DESC]] to %[[TMEM]] rows
  lpfa.tcgen05.cp %desc to %tmem rows
  // CHECK: lpfa.tcgen05.mma %[[DESC]] * %[[NEXT]] into %[[TMEM]] accumulate %{{.*}} scales(%[[TMEM]], %[[TMEM]]) instruction %[[IDESC]] : i64
  lpfa.tcgen05.mma %desc * %next into %tmem accumulate %acc
      scales(%tmem, %tmem) instruction %idesc : i64
  // CHECK: lpfa.tcgen05.mma %[[TMEM]] * %[[NEXT]] {{.*}} : i32
  lpfa.tcgen05.mma %tmem * %next into %tmem accumulate %acc
      scales(%tmem, %tmem) instruction %idesc : i32
  // CHECK: lpfa.tcgen05.commit %{{.*}}
  lpfa.tcgen05.commit %bar
  // CHECK: lpfa.tcgen05.fence after
  lpfa.tcgen05.fence after
  // CHECK: %[[V:.*]] = lpfa.tcgen05.ld %[[TMEM]] : vector<32xf32>
  %v = lpfa.tcgen05.ld %tmem : vector<32xf32>
  // CHECK: %{{.*}}, %{{.*}} = lpfa.tcgen05.ld_max %[[TMEM]] : vector<96xf32>, vector<3xf32>
  %w, %maxima = lpfa.tcgen05.ld_max %tmem : vector<96xf32>, vector<3xf32>
  // CHECK: lpfa.tcgen05.st %[[V]] to %[[TMEM]] : vector<32xf32>
  lpfa.tcgen05.st %v to %tmem : vector<32xf32>
  // CHECK: lpfa.tcgen05.wait_st
  lpfa.tcgen05.wait_st
  // CHECK: lpfa.tcgen05.fence before
  lpfa.tcgen05.fence before
  // CHECK: lpfa.tcgen05.dealloc %[[TMEM]], 512
  lpfa.tcgen05.dealloc %tmem, 512
  gpu.return
}
}

// CHECK-LABEL: func @arithmetic
func.func @arithmetic(%v: vector<32xf32>, %x: f32)
    -> (vector<8xi32>, vector<8xi32>, vector<32xf32>, f32) {
  // CHECK: lpfa.convert_packed %{{.*}} to f8E4M3FN nearest : vector<32xf32> -> vector<8xi32>
  %codes = lpfa.convert_packed %v to f8E4M3FN nearest
      : vector<32xf32> -> vector<8xi32>
  // CHECK: lpfa.convert_packed %{{.*}} to f8E8M0FNU up : vector<32xf32> -> vector<8xi32>
  %scales = lpfa.convert_packed %v to f8E8M0FNU up
      : vector<32xf32> -> vector<8xi32>
  // CHECK: lpfa.convert_packed %{{.*}} to f4E2M1FN nearest : vector<32xf32> -> vector<4xi32>
  %four = lpfa.convert_packed %v to f4E2M1FN nearest
      : vector<32xf32> -> vector<4xi32>
  // CHECK: lpfa.extend_packed %{{.*}} from f4E2M1FN : vector<4xi32> -> vector<32xf32>
  %values = lpfa.extend_packed %four from f4E2M1FN
      : vector<4xi32> -> vector<32xf32>
  // CHECK: lpfa.exp2 %{{.*}} : vector<32xf32>
  %e = lpfa.exp2 %v : vector<32xf32>
  // CHECK: lpfa.log2 %{{.*}} : f32
  %l = lpfa.log2 %x : f32
  // CHECK: lpfa.fma up %{{.*}}, %{{.*}}, %{{.*}} : f32
  %f = lpfa.fma up %l, %x, %x : f32
  // CHECK: lpfa.add down %{{.*}}, %{{.*}} : f32
  %a = lpfa.add down %f, %x : f32
  return %codes, %scales, %e, %a
      : vector<8xi32>, vector<8xi32>, vector<32xf32>, f32
}
