// Every product of a kernel at the threads stage.

// RUN: rm -rf %t && env LPFA_PTXAS=none lpfa-compile %s -o %t --chip=sm_103a \
// RUN:   --emit=mlir,nvvm,llvm,ptx,cubin,plan 2>&1 | FileCheck %s --check-prefix=NOTE
// RUN: ls %t | FileCheck %s --check-prefix=FILES
// RUN: FileCheck %s --check-prefix=MLIR < %t/threads.mlir
// RUN: FileCheck %s --check-prefix=NVVM < %t/nvvm.mlir
// RUN: FileCheck %s --check-prefix=LLVM < %t/kernels.ll
// RUN: FileCheck %s --check-prefix=PTX < %t/kernels.ptx

// Twice the same text.
// RUN: lpfa-compile %s -o %t.again --chip=sm_103a --emit=ptx
// RUN: cmp %t/kernels.ptx %t.again/kernels.ptx

// NOTE: lpfa-compile: no cubin, as there is no ptxas: install PyPI's nvidia-cuda-nvcc or a CUDA toolkit, or set LPFA_PTXAS
// FILES: kernels.ll
// FILES-NEXT: kernels.ptx
// FILES-NEXT: nvvm.mlir
// FILES-NEXT: plan.json
// FILES-NEXT: threads.mlir
// FILES-NOT: {{.}}
// MLIR: lpfa.set_max_registers increase 64
// NVVM: nvvm.setmaxregister increase 64
// LLVM: define ptx_kernel void @kernel
// PTX: .version 8.8
// PTX: .target sm_103a
// PTX: .visible .entry kernel(
// PTX: .reqntid 128, 1, 1
// PTX: setmaxnreg.inc.sync.aligned.u32

gpu.module @kernels {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    lpfa.set_max_registers increase 64
    gpu.return
  }
}
