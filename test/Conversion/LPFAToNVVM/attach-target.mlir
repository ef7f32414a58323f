// RUN: lpfa-opt %s --lpfa-attach-target | FileCheck %s --check-prefix=DEFAULT
// RUN: lpfa-opt %s --lpfa-attach-target=chip=sm_103a | FileCheck %s
// RUN: not lpfa-opt %s --lpfa-attach-target=chip=sm_120 2>&1 | FileCheck %s --check-prefix=ERROR

// DEFAULT: gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_100a", features = "+ptx88", verifyTarget = false>]
// CHECK: gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_103a", features = "+ptx88", verifyTarget = false>]
// ERROR: error: unknown chip 'sm_120', expected one of sm_90a, sm_100a, sm_103a
gpu.module @kernels {
}
