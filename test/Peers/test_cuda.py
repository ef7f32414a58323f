# ===- test_cuda.py - Kernels in CUDA C++ ----------------------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""The kernels of Inputs/kernels.cu against numpy in float64: as nvcc made them,
and as clang does if scripts/peers/make.sh found one."""

from pathlib import Path

import numpy as np
import pytest

from peers import InOut, Out, TensorMap, run_all, scalar, text_of


@pytest.fixture(params=["nvcc", "clang"])
def text(request):
    if request.param == "clang":
        return text_of("cuda_clang.ptx")
    return (Path(__file__).parent / "Inputs" / "kernels.ptx").read_text()


def random(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def tiles(size, tile=128):
    return -(-size // tile)


def integers(*values):
    return [scalar("s32", v) for v in values]


@pytest.mark.parametrize("rows, columns", [(64, 32), (128, 512), (77, 300),
                                           (1, 4)])
def test_tma_ring(text, rows, columns):
    x = random(1, rows, columns)
    y, = run_all(text, [TensorMap(x, (64, 32)), Out((rows,), np.float32),
                        *integers(rows, columns)],
                 entry="tma_ring", block=96, grid=tiles(rows, 64))
    np.testing.assert_allclose(y, x.sum(axis=1, dtype=np.float64), rtol=1e-5,
                               atol=1e-4)


@pytest.mark.parametrize("rows, depth", [(256, 32), (512, 256), (300, 100)])
def test_cluster_multicast(text, rows, depth):
    a, b = random(1, rows, depth), random(2, 32, depth)
    c, = run_all(text, [TensorMap(a, (64, 32)), TensorMap(b, (8, 32)),
                        Out((rows, 32), np.float32), *integers(rows, depth)],
                 entry="cluster_multicast", block=96,
                 grid=4 * tiles(rows, 256), cluster=4)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.T, rtol=1e-5,
                               atol=1e-4)


@pytest.mark.parametrize("m, n, k", [(256, 128, 64), (256, 256, 512),
                                     (200, 136, 456)])
@pytest.mark.parametrize("entry, pair", [("mma_f16", 1), ("mma_f16_pair", 2)])
def test_product(text, entry, pair, m, n, k):
    a, b = (random(s, r, k).astype(np.float16) for s, r in ((1, m), (2, n)))
    c, = run_all(text, [TensorMap(a, (128, 64), swizzle="128b"),
                        TensorMap(b, (128 // pair, 64), swizzle="128b"),
                        Out((m, n), np.float32), *integers(m, n, k)],
                 entry=entry, block=192, grid=(2 * tiles(m, 256), tiles(n)),
                 cluster=pair, shared=3 * (128 + 128 // pair) * 128 + 1024)
    a, b = a.astype(np.float64), b.astype(np.float64)
    # The tensor core rounds towards zero, once for each 16 products.
    bound = (k / 16 + 1) * 2.0**-23 * (np.abs(a) @ np.abs(b).T)
    assert np.all(np.abs(c - a @ b.T) <= bound)


@pytest.mark.parametrize("slices, rows, columns", [(2, 64, 64), (5, 50, 36)])
def test_tma_reduce(text, slices, rows, columns):
    # Small integers: their sums are exact in any order.
    x = np.random.default_rng(1).integers(-8, 9, (slices, rows, columns))
    y = np.random.default_rng(2).integers(-99, 99, (rows, columns))
    flat = x.reshape(-1, columns).astype(np.float32)
    result, = run_all(text, [TensorMap(flat, (32, 32)),
                             TensorMap(InOut(y.astype(np.float32)), (32, 32)),
                             *integers(rows)],
                      entry="tma_reduce", block=32,
                      grid=(slices, tiles(rows, 32), tiles(columns, 32)))
    np.testing.assert_array_equal(result, y + (x * x).sum(axis=0))
