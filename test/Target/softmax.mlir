// A row of 128 scores a thread, as attention's softmax role has it: what LLVM
// must find the packed and three-input instructions in.

// RUN: rm -rf %t && lpfa-compile %s -o %t --emit=ptx
// RUN: FileCheck %s < %t/kernels.ptx

// CHECK: .target sm_100a
// CHECK: .entry softmax(
// CHECK: .reqntid 128, 1, 1
// CHECK-NEXT: .minnctapersm 1
// CHECK-COUNT-4: tcgen05.ld.sync.aligned.32x32b.x32.b32
// Nothing of the loaded registers comes before the wait.
// CHECK-NEXT: tcgen05.wait::ld.sync.aligned
// CHECK-COUNT-64: max.f32 {{.*}}, {{.*}}, {{.*}}, {{.*}};
// CHECK-NOT: max.f32
// CHECK-COUNT-64: fma.rn.f32x2
// CHECK-NOT: fma.rn.f32{{[ \t]}}
// CHECK-NOT: call
// CHECK-COUNT-128: ex2.approx.ftz.f32
// CHECK-COUNT-64: cvt.rn.satfinite.e4m3x2.f32
// CHECK-NOT: shl.b64
// CHECK: tcgen05.st.sync.aligned.32x32b.x32.b32
// CHECK: tcgen05.wait::st.sync.aligned

gpu.module @kernels {
  gpu.func @softmax(%tmem: i32, %out: !llvm.ptr<1>, %n: i32, %scale: f32)
      kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %low = arith.constant 0xFF800000 : f32
    %m, %l = scf.for %i = %c0 to %n step %c1
        iter_args(%m0 = %low, %l0 = %zero) -> (f32, f32) : i32 {
      %s = lpfa.tcgen05.ld %tmem : vector<128xf32>
      %m1 = vector.reduction <maxnumf>, %s, %m0 : vector<128xf32> into f32
      %t = arith.mulf %m1, %scale : f32
      %shift = arith.negf %t : f32
      %scales = vector.broadcast %scale : f32 to vector<128xf32>
      %shifts = vector.broadcast %shift : f32 to vector<128xf32>
      %x = math.fma %s, %scales, %shifts : vector<128xf32>
      %p = lpfa.exp2 %x : vector<128xf32>
      %codes = lpfa.convert_packed %p to f8E4M3FN nearest
          : vector<128xf32> -> vector<32xi32>
      lpfa.tcgen05.st %codes to %tmem : vector<32xi32>
      lpfa.tcgen05.wait_st
      %l1 = vector.reduction <add>, %p, %l0 fastmath<reassoc>
          : vector<128xf32> into f32
      scf.yield %m1, %l1 : f32, f32
    }
    %tid = gpu.thread_id x
    %t32 = arith.index_cast %tid : index to i32
    %log = lpfa.log2 %l : f32
    %r = arith.addf %m, %log : f32
    %to = llvm.getelementptr %out[%t32] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %r, %to : f32, !llvm.ptr<1>
    gpu.return
  }
}
