//===- cuda_headers.cpp - Conversions of the CUDA headers, on the host ----===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads float32 values from standard input. Writes, for each, its six codes
// as bytes: e4m3, e5m2, e2m3, e3m2, e2m1 (to nearest, saturating) and e8m0
// (towards plus infinity, saturating).
//
//===----------------------------------------------------------------------===//

#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

#include <cstdio>

int main() {
  float x;
  while (std::fread(&x, sizeof(x), 1, stdin) == 1) {
    const unsigned char codes[] = {
        __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3),
        __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2),
        __nv_cvt_float_to_fp6(x, __NV_E2M3, cudaRoundNearest),
        __nv_cvt_float_to_fp6(x, __NV_E3M2, cudaRoundNearest),
        __nv_cvt_float_to_fp4(x, __NV_E2M1, cudaRoundNearest),
        __nv_cvt_float_to_e8m0(x, __NV_SATFINITE, cudaRoundPosInf)};
    std::fwrite(codes, 1, sizeof(codes), stdout);
  }
  return 0;
}
