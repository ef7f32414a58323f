# ===- test_matmul.py - lpfa.matmul on every device ------------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""matmul.mlir on the reference and in the simulator against lpfa.matmul of
Python."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import lpfa
from harness import BIN_DIR, ORDERS, assert_same_bits, has_simulator, tool
from lpfa import mx
from lpfa.matmul import mx_matmul

SOURCE = Path(__file__).parent / "matmul.mlir"

E4M3, E5M2 = ("e4m3", "e4m3"), ("e5m2", "e5m2")


@dataclass(frozen=True)
class Entry:
    formats: tuple = E4M3
    blocked: tuple = (False, False)
    result: type = np.float32
    batch: tuple = ()


ENTRIES = {
    "matmul": Entry(result=ml_dtypes.bfloat16),
    "matmul_blocked": Entry(blocked=(True, True)),
    "matmul_mixed": Entry(("e5m2", "e4m3"), (False, True)),
    "matmul_batches": Entry(E5M2, result=np.float16, batch=(2, 3)),
    "matmul_static": Entry(blocked=(True, True), result=ml_dtypes.bfloat16),
    "matmul_narrow": Entry(("e3m2", "e2m1")),
}


def row_major_operands(entry, m, n, k):
    """Codes and scales of both operands. Rows and blocks differ by powers of
    two, so that a misplaced scale shows."""
    rng = np.random.default_rng(m * 7 + n * 5 + k)
    arrays = []
    for rows, fmt in zip((m, n), ENTRIES[entry].formats):
        shape = (*ENTRIES[entry].batch, rows, k)
        x = rng.standard_normal(shape).astype(np.float32)
        x *= np.exp2(rng.integers(-6, 7, shape[:-1]))[..., None]
        if k:
            x *= np.repeat(np.exp2(rng.integers(-3, 4, -(-k // 32))), 32)[:k]
        if ENTRIES[entry].result is np.float16:  # to stay in its range
            x *= 2.0**-6
        arrays += mx.quantize(x.astype(np.float32), fmt)
    return arrays


def pack(entry, arrays, fill=0):
    arrays = list(arrays)
    for i, blocked in enumerate(ENTRIES[entry].blocked):
        if blocked:
            arrays[2 * i + 1] = mx.pack_scales(arrays[2 * i + 1], fill)
    return arrays


def run(entry, arrays, device, **options):
    tool("lpfa-run")
    if device == "sim" and not has_simulator():
        pytest.skip("this lpfa-run has no simulator")
    (d,) = lpfa.run(SOURCE, entry, arrays, device=device, bin_dir=BIN_DIR,
                    **options)
    return d


def values(entry, d):
    result = ENTRIES[entry].result
    return (d.view(result) if result is ml_dtypes.bfloat16 else d).astype(np.float64)


def check(entry, arrays, d, exact=False):
    """Against the sums in float64: as f32 they are off by what f32 additions
    lose, at most k roundings of the sum of magnitudes, rounded once more."""
    formats = ENTRIES[entry].formats
    expected = mx_matmul(*arrays, formats)
    assert d.shape == expected.shape
    if exact:
        result = expected.astype(np.float32).astype(ENTRIES[entry].result)
        np.testing.assert_array_equal(values(entry, d), result.astype(np.float64))
        return
    a, sa, b, sb = arrays
    magnitudes = mx_matmul(a & 0x7F, sa, b & 0x7F, sb, formats)
    k = a.shape[-1]
    half_ulp = {np.float32: 2.0**-24, np.float16: 2.0**-11,
                ml_dtypes.bfloat16: 2.0**-8}[ENTRIES[entry].result]
    tiny = 2.0**-25 if ENTRIES[entry].result is np.float16 else 0
    bound = (magnitudes * (k * 2.0**-23) + np.abs(expected) * half_ulp * 1.01
             + tiny)
    assert np.all(np.abs(values(entry, d) - expected) <= bound)


# Whole tiles and tails of each size, in one work tile and in many.
CASES = [
    ("matmul", 128, 128, 128),
    ("matmul", 1, 8, 32),
    ("matmul", 127, 136, 160),
    ("matmul", 129, 504, 496),
    ("matmul", 500, 256, 1504),
    ("matmul", 33, 24, 16),
    ("matmul_blocked", 256, 384, 256),
    ("matmul_blocked", 1, 4, 16),
    ("matmul_blocked", 33, 36, 48),
    ("matmul_blocked", 129, 132, 1504),
    ("matmul_blocked", 500, 128, 144),
    ("matmul_mixed", 127, 128, 384),
    ("matmul_mixed", 200, 260, 208),
    ("matmul_batches", 128, 128, 128),
    ("matmul_batches", 33, 136, 240),
    ("matmul_static", 384, 256, 512),
]


REFERENCE_CASES = [
    ("matmul", 33, 33, 33),
    ("matmul", 129, 127, 500),
    ("matmul_blocked", 127, 1, 1),
    ("matmul_narrow", 33, 127, 500),
]


@pytest.mark.parametrize("entry, m, n, k", CASES + REFERENCE_CASES)
def test_reference(entry, m, n, k):
    arrays = row_major_operands(entry, m, n, k)
    check(entry, arrays, run(entry, pack(entry, arrays), "reference"), exact=True)


@pytest.mark.parametrize("entry, m, n, k", CASES)
def test_simulator(entry, m, n, k):
    """Right, and the same to the bit in whatever order asynchronous work is
    done."""
    arrays = row_major_operands(entry, m, n, k)
    operands = pack(entry, arrays)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(
            lambda order: run(entry, operands, "sim", **order), ORDERS))
    check(entry, arrays, results[0])
    for order, result in zip(ORDERS[1:], results[1:]):
        assert_same_bits([result], results[:1], str(order))


@pytest.mark.parametrize("options", [
    dict(matmul_stages=1), dict(matmul_stages=2, output_stages=1)], ids=str)
def test_rings(options):
    arrays = row_major_operands("matmul", 129, 504, 496)
    results = [run("matmul", arrays, "sim", **options, **order)
               for order in ORDERS[:3]]
    check("matmul", arrays, results[0])
    assert_same_bits(results[1:], [results[0]] * 2)


@pytest.mark.parametrize("device", ["reference", "sim"])
def test_poisoned_padding_of_scales(device):
    """K = 1504 leaves one group of the last four, M and N leave rows."""
    arrays = row_major_operands("matmul_blocked", 129, 36, 1504)
    clean = run("matmul_blocked", pack("matmul_blocked", arrays), device)
    poisoned = run("matmul_blocked", pack("matmul_blocked", arrays, 0xFF), device)
    assert_same_bits([poisoned], [clean])
    check("matmul_blocked", arrays, poisoned)


@pytest.mark.parametrize("device", ["reference", "sim"])
@pytest.mark.parametrize("entry, m, n, k", [
    ("matmul_blocked", 129, 132, 0), ("matmul_blocked", 0, 4, 32),
    ("matmul_blocked", 5, 0, 32)])
def test_nothing_to_sum_or_to_write(entry, m, n, k, device):
    arrays = row_major_operands(entry, m, n, k)
    d = run(entry, pack(entry, arrays), device)
    assert d.shape == (m, n) and not d.any()


@pytest.mark.parametrize("device", ["reference", "sim"])
def test_nan_stays_in_its_row_or_column(device):
    arrays = row_major_operands("matmul_mixed", 130, 132, 96)
    operands = pack("matmul_mixed", arrays)
    clean = run("matmul_mixed", operands, device)
    arrays[0][70, 3] = 0x7F
    arrays[3][131, 1] = 0xFF
    d = run("matmul_mixed", pack("matmul_mixed", arrays), device)
    expected = np.zeros(d.shape, bool)
    expected[70] = expected[:, 131] = True
    np.testing.assert_array_equal(np.isnan(d), expected)
    np.testing.assert_array_equal(d[~expected], clean[~expected])


def test_sizes_that_do_not_fit():
    arrays = row_major_operands("matmul", 32, 32, 64)
    for device in ("reference", "sim"):
        with pytest.raises(lpfa.ToolError, match="a and b differ in K"):
            run("matmul", [*arrays[:2], arrays[2][:, :32], arrays[3]], device)
        with pytest.raises(lpfa.ToolError, match="scales of b do not have the shape"):
            run("matmul", [*arrays[:3], arrays[3][:, :1]], device)


def test_rows_that_a_tensor_map_cannot_have():
    with pytest.raises(lpfa.ToolError, match="argument 0 has rows whose pitch is "
                       "no multiple of 16 bytes, which a tensor map cannot "
                       "have: pad them"):
        run("matmul", row_major_operands("matmul", 32, 32, 33), "sim")
    with pytest.raises(lpfa.ToolError, match="has rows of D that are no multiple of 16 bytes"):
        run("matmul", row_major_operands("matmul", 32, 33, 32), "sim")


@pytest.mark.parametrize("device", ["reference", "sim"])
def test_first_and_last_scales(device):
    """Bytes 0 and 254, 2^-127 and 2^127, are scales like any other."""
    a = np.full((16, 64), mx.encode(np.float32(1), "e4m3"))
    arrays = [a, np.full((16, 2), 0, np.uint8), a, np.full((16, 2), 254, np.uint8)]
    d = run("matmul", arrays, device)
    np.testing.assert_array_equal(values("matmul", d), 64)
    d = run("matmul", [*arrays[2:], *arrays[:2]], device)
    np.testing.assert_array_equal(values("matmul", d), 64)
