// On a GPU, or here on a driver whose kernels the simulator runs
// (test/FakeCuda). Without ptxas the driver gets PTX.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %python -c "import numpy as np; \
// RUN:   np.save('%t/s.npy', np.random.default_rng(0).integers(0, 255, (2, 200, 9), np.uint8))"
// RUN: env LD_LIBRARY_PATH=%fake_cuda LPFA_FAKE_CUDA_CHIP=90 LPFA_FAKE_CUDA_LOG=%t/log LPFA_PTXAS=%t/none \
// RUN:   lpfa-run %s --entry=pack --device=cuda --arg=%t/s.npy --compare=reference --tolerance-db=1000 --out=%t/out \
// RUN:   | FileCheck %s
// RUN: FileCheck %s --check-prefix=LOG < %t/log
// RUN: ls %t/out/result0.npy
// CHECK: result 0: max abs error 0
// LOG: cuModuleLoadDataEx PTX
// LOG: cuLaunchKernelEx pack_pack_scales grid 4x1x1 block 128x1x1

// Attention, whose tensor maps the driver encodes.
// RUN: %python -c "import numpy as np; from lpfa import mx; \
// RUN:   rng = np.random.default_rng(0); \
// RUN:   q, k, v = (rng.standard_normal((1, 1, n, 64)).astype(np.float32) \
// RUN:              for n in (5, 70, 70)); \
// RUN:   arrays = [*mx.quantize(q), *mx.quantize(k), *mx.quantize(v, axis=-2)]; \
// RUN:   [np.save(f'%t/a{i}.npy', x) for i, x in enumerate(arrays)]"
// RUN: rm %t/log
// RUN: env LD_LIBRARY_PATH=%fake_cuda LPFA_FAKE_CUDA_CHIP=100 LPFA_FAKE_CUDA_LOG=%t/log LPFA_PTXAS=%t/none \
// RUN:   lpfa-run %S/sim.mlir --entry=f --device=cuda --compare=reference --tolerance-db=60 --arg=%t/a0.npy \
// RUN:   --arg=%t/a1.npy --arg=%t/a2.npy --arg=%t/a3.npy --arg=%t/a4.npy --arg=%t/a5.npy \
// RUN:   | FileCheck %s --check-prefix=ATTENTION
// RUN: FileCheck %s --check-prefix=MAPS < %t/log
// ATTENTION: result 0: max abs error {{.*}}, cosine 1.000000
// MAPS: cuTensorMapEncodeTiled type 0 sizes 64x5

// Errors: no GPU, the wrong chip, a chip that lpfa does not know, no kernel.
// RUN: env LD_LIBRARY_PATH=%fake_cuda LPFA_FAKE_CUDA_FAIL=cuInit=100 \
// RUN:   not lpfa-run %s --entry=pack --device=cuda --arg=%t/s.npy --out=%t/none 2>&1 | FileCheck %s --check-prefix=NO-GPU
// NO-GPU: lpfa-run: error: no GPU: no CUDA-capable device is detected (CUDA_ERROR_NO_DEVICE)
// RUN: env LD_LIBRARY_PATH=%fake_cuda LPFA_FAKE_CUDA_CHIP=90 \
// RUN:   not lpfa-run %s --entry=pack --device=cuda --chip=sm_100a --arg=%t/s.npy --out=%t/none 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: lpfa-run: error: kernels for sm_100a do not run on this GPU, Fake GPU (sm_90)
// RUN: env LD_LIBRARY_PATH=%fake_cuda LPFA_FAKE_CUDA_CHIP=80 \
// RUN:   not lpfa-run %s --entry=pack --device=cuda --arg=%t/s.npy --out=%t/none 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: lpfa-run: error: no kernels for this GPU, Fake GPU (sm_80a), only for sm_90a, sm_100a, sm_103a
// RUN: env LD_LIBRARY_PATH=%fake_cuda LPFA_FAKE_CUDA_CHIP=90 \
// RUN:   not lpfa-run %s --entry=plain --device=cuda --arg=%t/s.npy --out=%t/none 2>&1 | FileCheck %s --check-prefix=PLAIN
// PLAIN: lpfa-run: error: @plain launches no kernel
// RUN: not ls %t/none 2> /dev/null

func.func @pack(%s: tensor<?x?x?xf8E8M0FNU>) -> tensor<?x?x?x32x4x4xf8E8M0FNU> {
  %b = lpfa.pack_scales %s
      : tensor<?x?x?xf8E8M0FNU> -> tensor<?x?x?x32x4x4xf8E8M0FNU>
  return %b : tensor<?x?x?x32x4x4xf8E8M0FNU>
}

func.func @plain(%s: tensor<?x?x?xf8E8M0FNU>) -> tensor<?x?x?xf8E8M0FNU> {
  return %s : tensor<?x?x?xf8E8M0FNU>
}
