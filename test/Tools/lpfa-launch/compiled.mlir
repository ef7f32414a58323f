// What lpfa-compile writes, launched: same bits as the reference.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %python -c "import numpy as np; \
// RUN:   np.save('%t/s.npy', np.random.default_rng(0).integers(0, 255, (2, 200, 9), np.uint8))"
// RUN: lpfa-compile %s -o %t/kernels --chip=sm_90a --emit=ptx,plan
// RUN: env LD_LIBRARY_PATH=%fake_cuda LPFA_FAKE_CUDA_CHIP=90 \
// RUN:   lpfa-launch %t/kernels/plan.json --function=pack --arg=%t/s.npy --out=%t/out
// RUN: lpfa-run %s --entry=pack --arg=%t/s.npy --out=%t/reference
// RUN: cmp %t/out/result0.npy %t/reference/result0.npy

func.func @pack(%s: tensor<?x?x?xf8E8M0FNU>) -> tensor<?x?x?x32x4x4xf8E8M0FNU> {
  %b = lpfa.pack_scales %s
      : tensor<?x?x?xf8E8M0FNU> -> tensor<?x?x?x32x4x4xf8E8M0FNU>
  return %b : tensor<?x?x?x32x4x4xf8E8M0FNU>
}
