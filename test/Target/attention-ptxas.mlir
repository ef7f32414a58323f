// REQUIRES: ptxas-13.4
// RUN: rm -rf %t && lpfa-compile %S/../Integration/attention-forward.mlir -o %t --emit=cubin | FileCheck %s
// RUN: rm -rf %t && lpfa-compile %S/../Integration/attention-forward.mlir -o %t --emit=cubin --chip=sm_103a | FileCheck %s
// RUN: rm -rf %t && lpfa-compile %S/../Integration/attention-forward.mlir -o %t --emit=cubin --chip=sm_103a --key-tile=64 --scores-ahead=2 --queries-in-tmem=1 | FileCheck %s
// RUN: rm -rf %t && lpfa-compile %S/../Integration/attention-forward.mlir -o %t --emit=cubin --scores-ahead=2 | FileCheck %s
// RUN: rm -rf %t && lpfa-compile %S/../Integration/attention-forward.mlir -o %t --emit=cubin --query-tiles=1 | FileCheck %s
// RUN: rm -rf %t && lpfa-compile %S/../Integration/attention-forward.mlir -o %t --emit=cubin --key-tile=64 | FileCheck %s
// RUN: rm -rf %t && lpfa-compile %S/../Integration/attention-forward.mlir -o %t --emit=cubin --scores-first=true | FileCheck %s
// RUN: rm -rf %t && lpfa-compile %S/../Integration/attention-forward.mlir -o %t --emit=cubin --key-tile=96 --scores-ahead=2 | FileCheck %s
// RUN: rm -rf %t && lpfa-compile %S/../Integration/attention-forward.mlir -o %t --emit=cubin --key-tile=64 --scores-ahead=2 --queries-in-tmem=1 --probability-parts=2 | FileCheck %s
// RUN: rm -rf %t && lpfa-compile %S/../Integration/attention-forward.mlir -o %t --emit=cubin --key-tile=128 --query-tiles=2 --probability-parts=2 | FileCheck %s
// RUN: rm -rf %t && lpfa-compile %S/../Integration/attention-forward.mlir -o %t --emit=cubin --key-tile=128 --query-tiles=2 --probability-parts=4 --scores-first=1 | FileCheck %s
// RUN: rm -rf %t && lpfa-compile %S/../Integration/attention-forward.mlir -o %t --emit=cubin --key-tile=64 --query-tiles=2 --score-buffers=2 --probability-buffers=2 --chip=sm_103a | FileCheck %s
// RUN: rm -rf %t && lpfa-compile %S/../Integration/attention-forward.mlir -o %t --emit=cubin --key-tile=64 --queries-in-tmem=1 --scores-ahead=2 | FileCheck %s
// RUN: rm -rf %t && lpfa-compile %S/Inputs/head-dimensions.mlir -o %t --emit=cubin | FileCheck %s --check-prefix=DIMS
// RUN: rm -rf %t && lpfa-compile %S/Inputs/head-dimensions.mlir -o %t --emit=cubin --chip=sm_103a | FileCheck %s --check-prefix=DIMS

// CHECK-NOT: {{ [1-9][0-9]* bytes}}
// CHECK: attention_forward_kernel: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-NOT: {{ [1-9][0-9]* bytes}}
// CHECK: attention_forward_d64_kernel: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// CHECK-NOT: {{ [1-9][0-9]* bytes}}

// DIMS: d96_kernel: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// DIMS: latent_kernel: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
// DIMS: d256_kernel: {{[0-9]+}} registers, 0 bytes stack, 0 bytes spilled
