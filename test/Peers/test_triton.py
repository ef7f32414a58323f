# ===- test_triton.py - Triton's kernels -----------------------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""The kernels of scripts/peers/triton_kernels.py against numpy in float64."""

import numpy as np
import pytest

from lpfa import mx
from peers import Failure, Out, run_triton, wait_behind_loads


def random(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def tiles(size):
    return -(-size // 128)


# Sizes need strides of 16 bytes, for TMA.
@pytest.mark.parametrize("m, n, k", [(128, 128, 64), (256, 128, 512),
                                     (200, 136, 200), (1, 264, 8)])
def test_matmul(m, n, k):
    a, b = (random(s, r, k).astype(np.float16) for s, r in ((1, m), (2, n)))
    arguments = ({"a": a, "b": b, "c": Out((m, n), "f2"), "K": k},
                 (tiles(m), tiles(n)))
    # Triton 3.9 converts and stores the registers of tcgen05.ld before its
    # wait: a true alarm.
    with pytest.raises(Failure, match="uninitialized: .* undefined byte"):
        run_triton("triton_matmul", *arguments)
    c, = run_triton("triton_matmul", *arguments, wait_behind_loads)
    expected = a.astype(np.float64) @ b.astype(np.float64).T
    np.testing.assert_allclose(c, expected, rtol=2**-10, atol=1e-4)


def operand(kind, x):
    """What the kernel reads, its scales' atoms, and the values."""
    rows, k = x.shape
    if kind == "nvfp4":
        codes, scales, factor = mx.quantize_nvfp4(x, np.float32(1))
        values = mx.dequantize_nvfp4(codes, scales, factor, dtype=np.float64)
    else:
        format = "e4m3" if kind == "mxfp8" else "e2m1"
        codes, scales = mx.quantize(x, format)
        values = mx.dequantize(codes, scales, format, dtype=np.float64)
    stored = codes if kind == "mxfp8" else mx.pack_fp4(codes)
    atoms = mx.pack_scales(scales.view(np.uint8)).reshape(1, tiles(rows), -1, 2,
                                                          256)
    return stored, atoms, values


@pytest.mark.parametrize("m, n, k", [(128, 128, 256), (256, 128, 1024),
                                     (200, 72, 512), (1, 300, 768)])
@pytest.mark.parametrize("kind", ["mxfp8", "mxfp4", "nvfp4"])
def test_matmul_scaled(kind, m, n, k):
    (a, scale_a, va), (b, scale_b, vb) = (operand(kind, random(s, r, k))
                                          for s, r in ((1, m), (2, n)))
    c, = run_triton(f"triton_{kind}", {
        "a": a, "scale_a": scale_a, "b": b, "scale_b": scale_b,
        "c": Out((m, n), np.float32), "M": m, "N": n, "K": k},
        (tiles(m), tiles(n)))
    # The tensor core rounds towards zero, once for each instruction.
    bound = (k // 32) * 2.0**-22 * (np.abs(va) @ np.abs(vb).T)
    assert np.all(np.abs(c - va @ vb.T) <= bound)


@pytest.mark.parametrize("m, k", [(16, 128), (37, 352), (1, 32)])
def test_quantize(m, k):
    x = random(1, m, k) * np.exp2(random(2, m, 1) * 20)
    x[0, :32] = 0
    codes, scales = run_triton("triton_quantize", {
        "x": x, "codes": Out((m, k), np.uint8),
        "scales": Out((m, k // 32), np.uint8), "M": m, "K": k},
        (-(-m // 16), -(-k // 128)))
    expected_codes, expected_scales = mx.quantize(x)
    np.testing.assert_array_equal(scales, expected_scales)
    np.testing.assert_array_equal(codes, expected_codes)
