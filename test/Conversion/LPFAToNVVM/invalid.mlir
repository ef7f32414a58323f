// RUN: lpfa-opt %s --lpfa-threads-to-nvvm -split-input-file -verify-diagnostics

gpu.module @kernels {
  // expected-error @+1 {{argument 0 of type 'index' cannot be passed}}
  gpu.func @index(%n: index) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{has memory attributions: use lpfa.shared_memory}}
  gpu.func @attribution() workgroup(%x: memref<4xf32, 3>) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @leftover(%x: tensor<4xf32>) {
    gpu.return
  }
  // expected-error @-3 {{argument 0 of type 'tensor<4xf32>' cannot be passed}}
}

// -----

gpu.module @kernels {
  gpu.func @leftover(%x: f32, %to: !llvm.ptr<1>) kernel {
    // expected-error @+1 {{'lpfa.encode' has no instruction: only llvm and nvvm ops may be left}}
    %0 = lpfa.encode %x : f32 to f8E4M3FN
    // expected-error @+1 {{'lpfa.decode' has no instruction: only llvm and nvvm ops may be left}}
    %1 = lpfa.decode %0 : f8E4M3FN to f32
    llvm.store %1, %to : f32, !llvm.ptr<1>
    gpu.return
  }
}
