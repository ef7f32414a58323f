// REQUIRES: ptxas-13.4
// RUN: rm -rf %t && lpfa-compile %S/softmax.mlir -o %t --emit=cubin | FileCheck %s
// RUN: lpfa-compile %S/softmax.mlir -o %t --chip=sm_103a --emit=cubin | FileCheck %s
// RUN: ls %t/kernels.cubin

// CHECK: softmax: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
