// RUN: lpfa-opt %s --lpfa-threads-to-nvvm=chip=sm_90a -split-input-file -verify-diagnostics
// RUN: lpfa-opt %s --lpfa-threads-to-nvvm=chip=sm_103a -split-input-file -o /dev/null

gpu.module @kernels {
  gpu.func @wait() kernel {
    // expected-error @+1 {{'nvvm.tcgen05.wait' has no instruction on sm_90a}}
    lpfa.tcgen05.wait_st
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @load(%tmem: i32, %to: !llvm.ptr<1>) kernel {
    // expected-error @+1 {{'llvm.inline_asm' has no instruction on sm_90a}}
    %x = lpfa.tcgen05.ld %tmem : vector<1xf32>
    llvm.store %x, %to : vector<1xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @scales(%x: vector<4xf32>, %to: !llvm.ptr<1>) kernel {
    // expected-error @+1 {{'lpfa.convert_packed' has no instruction: only llvm and nvvm ops may be left}}
    %s = lpfa.convert_packed %x to f8E8M0FNU zero : vector<4xf32> -> vector<1xi32>
    llvm.store %s, %to : vector<1xi32>, !llvm.ptr<1>
    gpu.return
  }
}
