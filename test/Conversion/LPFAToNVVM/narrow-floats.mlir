// RUN: lpfa-opt %s --lpfa-threads-to-nvvm=chip=sm_100a | FileCheck %s --check-prefixes=CHECK,SM100
// RUN: lpfa-opt %s --lpfa-threads-to-nvvm=chip=sm_90a | FileCheck %s --check-prefixes=CHECK,SM90

// Conversions that Hopper does not have become integer arithmetic there.

gpu.module @kernels {
// CHECK-LABEL: llvm.func @convert
gpu.func @convert(%x: vector<8xf32>, %to: !llvm.ptr<1>) kernel {
  // CHECK: nvvm.convert.f32x2.to.f8x2 {{.*}} : i16(f8E5M2)
  %a = lpfa.convert_packed %x to f8E5M2 nearest : vector<8xf32> -> vector<2xi32>
  llvm.store %a, %to : vector<2xi32>, !llvm.ptr<1>
  // SM100: nvvm.convert.f32x2.to.f8x2 {{.*}} : i16(f8E8M0FNU)
  // SM90-NOT: f8E8M0FNU
  %b = lpfa.convert_packed %x to f8E8M0FNU up : vector<8xf32> -> vector<2xi32>
  llvm.store %b, %to : vector<2xi32>, !llvm.ptr<1>
  // SM100: nvvm.convert.f32x2.to.f6x2 {{.*}} : i16(f6E2M3FN)
  // SM90-NOT: f6E2M3FN
  %c = lpfa.convert_packed %x to f6E2M3FN nearest : vector<8xf32> -> vector<2xi32>
  llvm.store %c, %to : vector<2xi32>, !llvm.ptr<1>
  // SM100-COUNT-4: nvvm.convert.f32x2.to.f4x2 {{.*}} : i8(f4E2M1FN)
  // SM90-NOT: f4E2M1FN
  // SM90: llvm.fadd
  %d = lpfa.convert_packed %x to f4E2M1FN nearest : vector<8xf32> -> vector<1xi32>
  llvm.store %d, %to : vector<1xi32>, !llvm.ptr<1>
  gpu.return
}

// CHECK-LABEL: llvm.func @extend
gpu.func @extend(%x: vector<1xi32>, %to: !llvm.ptr<1>) kernel {
  // CHECK-COUNT-2: nvvm.convert.f8x2.to.f16x2 {{.*}}(f8E4M3FN)
  %a = lpfa.extend_packed %x from f8E4M3FN : vector<1xi32> -> vector<4xf32>
  llvm.store %a, %to : vector<4xf32>, !llvm.ptr<1>
  // SM100-COUNT-2: nvvm.convert.f6x2.to.f16x2 {{.*}}(f6E3M2FN)
  // SM90-NOT: f6E3M2FN
  %b = lpfa.extend_packed %x from f6E3M2FN : vector<1xi32> -> vector<4xf32>
  llvm.store %b, %to : vector<4xf32>, !llvm.ptr<1>
  // SM100-COUNT-4: nvvm.convert.f4x2.to.f16x2 {{.*}}(f4E2M1FN)
  // SM90-NOT: f4E2M1FN
  %c = lpfa.extend_packed %x from f4E2M1FN : vector<1xi32> -> vector<8xf32>
  llvm.store %c, %to : vector<8xf32>, !llvm.ptr<1>
  gpu.return
}
}
