# ===- triton_kernels.py - Kernels in Triton -------------------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""triton_kernels.py FOLDER: matrix products by TMA and tcgen05, in f16 and
block-scaled, and a quantizer, written in Triton (PyPI triton)."""

import sys

from without_gpu import compile_kernel

import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
           BLOCK_K: tl.constexpr):
    """C = A B^T; any M, N and K, since TMA fills and cuts."""
    row = tl.program_id(0) * BLOCK_M
    column = tl.program_id(1) * BLOCK_N
    sum = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in tl.range(0, K, BLOCK_K):
        sum = tl.dot(a.load([row, k]), b.load([column, k]).T, sum)
    c.store([row, column], sum.to(tl.float16))


@triton.jit
def load_scales(scales, tile, k, GROUPS: tl.constexpr):
    """The scales of 128 rows: atoms of 32 x 16 bytes for 128 rows and 4
    groups."""
    s = scales.load([0, tile, k, 0, 0])
    return s.reshape(1, GROUPS // 4, 32, 4, 4).trans(0, 3, 2, 1, 4).reshape(
        128, GROUPS)


@triton.jit
def matmul_scaled(a, scale_a, b, scale_b, c, M, N, K, FORMAT: tl.constexpr,
                  VALUES: tl.constexpr, BLOCK_K: tl.constexpr,
                  GROUPS: tl.constexpr):
    """C = A B^T in f32, block-scaled; VALUES to a byte, GROUPS of scales in
    BLOCK_K values. Any M and N; K is a multiple of BLOCK_K."""
    row = tl.program_id(0) * 128
    column = tl.program_id(1) * 128
    sum = tl.zeros((128, 128), tl.float32)
    for k in tl.range(0, K // BLOCK_K):
        sum = tl.dot_scaled(
            a.load([row, k * (BLOCK_K // VALUES)]),
            load_scales(scale_a, tl.program_id(0), k * (GROUPS // 4), GROUPS),
            FORMAT, b.load([column, k * (BLOCK_K // VALUES)]).T,
            load_scales(scale_b, tl.program_id(1), k * (GROUPS // 4), GROUPS),
            FORMAT, sum)
    rows = row + tl.arange(0, 128)
    columns = column + tl.arange(0, 128)
    tl.store(c + rows[:, None] * N + columns[None, :], sum,
             mask=(rows < M)[:, None] & (columns < N)[None, :])


@triton.jit
def quantize(x, codes, scales, M, K, BLOCK_M: tl.constexpr,
             BLOCK_K: tl.constexpr):
    """Rows of E4M3 codes and E8M0 scales, whose exponent is that of
    amax / 448 rounded up; any M, K a multiple of 32."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_K + tl.arange(0, BLOCK_K)
    mask = (rows < M)[:, None] & (columns < K)[None, :]
    offsets = rows[:, None] * K + columns[None, :]
    values = tl.load(x + offsets, mask=mask, other=0.0)
    blocks = values.reshape(BLOCK_M, BLOCK_K // 32, 32)
    bits = (tl.max(tl.abs(blocks), axis=2) * (1 / 448)).to(tl.int32,
                                                           bitcast=True)
    exponents = tl.minimum((bits + 0x7FFFFF) >> 23, 254)
    # 2^(127 - exponent); 2^-127 is subnormal.
    inverse = tl.where(exponents == 254, 1 << 22, (254 - exponents) << 23)
    scaled = blocks * inverse.to(tl.float32, bitcast=True)[:, :, None]
    tl.store(codes + offsets,
             scaled.reshape(BLOCK_M, BLOCK_K).to(tl.float8e4nv), mask=mask)
    groups = tl.program_id(1) * (BLOCK_K // 32) + tl.arange(0, BLOCK_K // 32)
    tl.store(scales + rows[:, None] * (K // 32) + groups[None, :],
             exponents.to(tl.uint8),
             mask=(rows < M)[:, None] & (groups < K // 32)[None, :])


def main(folder):
    tile = "tensordesc<fp16[128, 64]>"
    compile_kernel(matmul, "triton_matmul",
                   {"a": tile, "b": tile, "c": "tensordesc<fp16[128, 128]>",
                    "K": "i32"},
                   {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64}, folder,
                   num_warps=4, num_stages=3)
    for name, format, values, groups in (("mxfp8", "e4m3", 1, 8),
                                         ("mxfp4", "e2m1", 2, 8),
                                         ("nvfp4", "e2m1", 2, 16)):
        block = 256
        elements = "fp8e4nv" if values == 1 else "u8"
        scale = "fp8e4nv" if name == "nvfp4" else "u8"
        codes = f"tensordesc<{elements}[128, {block // values}]>"
        scales = f"tensordesc<{scale}[1, 1, {groups // 4}, 2, 256]>"
        compile_kernel(matmul_scaled, f"triton_{name}",
                       {"a": codes, "scale_a": scales, "b": codes,
                        "scale_b": scales, "c": "*fp32", "M": "i32", "N": "i32",
                        "K": "i32"},
                       {"FORMAT": format, "VALUES": values, "BLOCK_K": block,
                        "GROUPS": groups}, folder, num_warps=4, num_stages=3)
    compile_kernel(quantize, "triton_quantize",
                   {"x": "*fp32", "codes": "*fp8e4nv", "scales": "*u8",
                    "M": "i32", "K": "i32"}, {"BLOCK_M": 16, "BLOCK_K": 128},
                   folder, num_warps=4)


if __name__ == "__main__":
    main(sys.argv[1])
