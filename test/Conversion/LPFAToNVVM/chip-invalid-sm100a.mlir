// RUN: lpfa-opt %s --lpfa-threads-to-nvvm=chip=sm_100a -verify-diagnostics

// The load with maxima came after sm_100a.
gpu.module @kernels {
  gpu.func @load_max(%tmem: i32, %to: !llvm.ptr<1>) kernel {
    // expected-error @+1 {{'llvm.inline_asm' has no instruction on sm_100a}}
    %x, %maxima = lpfa.tcgen05.ld_max %tmem : vector<32xf32>, vector<1xf32>
    llvm.store %maxima, %to : vector<1xf32>, !llvm.ptr<1>
    gpu.return
  }
}
