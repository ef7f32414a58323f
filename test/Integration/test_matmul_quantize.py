# ===- test_matmul_quantize.py - Products that are quantized at once -------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""lpfa.matmul followed by lpfa.quantize and lpfa.pack_scales: one kernel, whose
codes and scales are those of the product's bits.

Operands are small integers times few powers of two, so that every sum is exact
and the reference, which sums in f64, has the same bits."""

import os
from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import pytest

import lpfa
from harness import BIN_DIR, ORDERS, has_simulator, tool
from launcher import launch
from lpfa import mx
from lpfa.matmul import mx_matmul
from test_quantize_kernels import Quantize, quantizations

DTYPES = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32}
ROWS = (Quantize(row_major=False, blocked=True),)
BOTH_LAYOUTS = (Quantize(blocked=True),)
SQUARES = (Quantize(square=True, row_major=False, blocked=True),
           Quantize(square=True, column=True, codes=False, row_major=False,
                    blocked=True))
COLUMNS = (Quantize(column=True, blocked=True),)
BOTH = (Quantize("e4m3", row_major=False, blocked=True),
        Quantize("e5m2", column=True, rule="floor"))


def module(ops, dtype, keeps_d, batch=0):
    """@f, a product and what each of `ops` gives of it."""
    shape = "?x" * (batch + 2)
    elements, scales = f"tensor<{shape}f8E4M3FN>", f"tensor<{shape}f8E8M0FNU>"
    d = f"tensor<{shape}{dtype}>"
    body = (f"  %d = lpfa.matmul %a scaled %sa, %b scaled %sb\n"
            f"      : {elements}, {scales}, {elements}, {scales} -> {d}\n")
    text, values, types = quantizations("%d", dtype, ops, batch + 2)
    body += text
    if keeps_d:
        values, types = ["%d", *values], [d, *types]
    return (f"func.func @f(%a: {elements}, %sa: {scales}, %b: {elements},"
            f" %sb: {scales}) -> ({', '.join(types)}) {{\n{body}"
            f"  return {', '.join(values)} : {', '.join(types)}\n}}\n")


def operands(m, n, k, batch=()):
    """Codes and row-major scales; rows and blocks differ by powers of two."""
    rng = np.random.default_rng(m + 3 * n + 5 * k)
    arrays = []
    for rows in (m, n):
        x = rng.integers(-8, 9, (*batch, rows, k)).astype(np.float32)
        arrays.append(mx.encode(x, "e4m3"))
        arrays.append(rng.integers(126, 129, (*batch, rows, -(-k // 32)),
                                   dtype=np.uint8)
                      + rng.integers(-4, 5, (*batch, rows, 1)).astype(np.uint8))
    return arrays


def expected(arrays, ops, dtype, keeps_d):
    with np.errstate(over="ignore"):
        d = mx_matmul(*arrays).astype(np.float32).astype(DTYPES[dtype])
    return [*[d] * keeps_d, *[y for op in ops for y in op.expected(d)]]


def run(text, arrays, device, **options):
    tool("lpfa-run")
    if device == "sim" and not has_simulator():
        pytest.skip("this lpfa-run has no simulator")
    return lpfa.run(text, "f", arrays, device=device, bin_dir=BIN_DIR, **options)


def assert_equal(results, right):
    for i, (x, y) in enumerate(zip(results, right, strict=True)):
        if y.dtype == ml_dtypes.bfloat16:
            y = y.view(np.uint16)
        np.testing.assert_array_equal(x, y, err_msg=f"result {i}")


# What is written, of which type and size; whole tiles and tails of each size.
CASES = [
    (ROWS, "bf16", False, 128, 128, 128),
    (ROWS, "f32", False, 300, 400, 144),
    (BOTH_LAYOUTS, "bf16", True, 127, 272, 512),
    (BOTH_LAYOUTS, "f16", False, 33, 48, 96),
    (SQUARES, "bf16", False, 256, 384, 128),
    (SQUARES, "f32", True, 129, 144, 1504),
    (SQUARES, "bf16", False, 1, 16, 32),
    (COLUMNS, "bf16", False, 256, 128, 256),
    (COLUMNS, "f32", False, 70, 208, 48),
    (BOTH, "bf16", False, 129, 144, 160),
    (BOTH, "f32", True, 200, 256, 32),
]


def identify(value):
    if isinstance(value, tuple):
        names = {ROWS: "rows", BOTH_LAYOUTS: "layouts", SQUARES: "squares",
                 COLUMNS: "columns", BOTH: "both"}
        return names.get(value)
    return None


@pytest.mark.parametrize("ops, dtype, keeps_d, m, n, k", CASES, ids=identify)
def test_reference(ops, dtype, keeps_d, m, n, k):
    arrays = operands(m, n, k)
    results = run(module(ops, dtype, keeps_d), arrays, "reference")
    assert_equal(results, expected(arrays, ops, dtype, keeps_d))


@pytest.mark.parametrize("ops, dtype, keeps_d, m, n, k", CASES, ids=identify)
def test_simulator(ops, dtype, keeps_d, m, n, k):
    """In whatever order asynchronous work is done, on few multiprocessors too,
    where a CTA has several work tiles."""
    arrays = operands(m, n, k)
    text = module(ops, dtype, keeps_d)
    right = expected(arrays, ops, dtype, keeps_d)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for results in pool.map(
                lambda order: run(text, arrays, "sim", **order), ORDERS[:3]):
            assert_equal(results, right)


def test_batches():
    arrays = operands(33, 48, 64, (2, 3))
    results = run(module(BOTH, "f32", False, 2), arrays, "sim")
    assert_equal(results, expected(arrays, BOTH, "f32", False))


@pytest.mark.parametrize("device", ["reference", "sim"])
@pytest.mark.parametrize("ops", [ROWS, SQUARES, COLUMNS], ids=identify)
def test_padding_is_nothing(ops, device):
    """Scales of rows that A and B do not have may be NaN: they are none of the
    elements of a square, or of the last block."""
    arrays = operands(33, 48, 160)
    shape, blocked = "tensor<?x?xf8E8M0FNU>", "tensor<?x?x32x4x4xf8E8M0FNU>"
    text = module(ops, "bf16", False)
    for name in ("%sa", "%sb"):
        text = text.replace(f"{name}: {shape}", f"{name}: {blocked}")
    operand = "tensor<?x?xf8E4M3FN>"
    text = text.replace(f": {operand}, {shape}, {operand}, {shape} ->",
                        f": {operand}, {blocked}, {operand}, {blocked} ->")
    poisoned = [x if i % 2 == 0 else mx.pack_scales(x, 0xFF)
                for i, x in enumerate(arrays)]
    assert_equal(run(text, poisoned, device),
                 expected(arrays, ops, "bf16", False))


@pytest.mark.parametrize("device", ["reference", "sim"])
def test_no_depth(device):
    """All sums are 0, and so are codes and scales."""
    arrays = operands(129, 32, 0)
    results = run(module(BOTH, "bf16", True), arrays, device)
    assert_equal(results, expected(arrays, BOTH, "bf16", True))


@pytest.mark.parametrize("device", ["reference", "sim"])
def test_nan_and_infinity(device):
    """NaN takes its block, its square; a sum past bf16's range too."""
    arrays = operands(64, 64, 64)
    arrays[0][40, 3] = 0x7F
    arrays[1][3] = 250
    arrays[3][7] = 250
    for ops in (ROWS, SQUARES, COLUMNS):
        results = run(module(ops, "f32", True), arrays, device)
        d = results[0]
        assert np.isnan(d[40]).all() and np.isinf(d[3, 7])
        assert_equal(results[1:], [y for op in ops for y in op.expected(d)])


def test_rows_of_codes_that_a_tensor_map_cannot_have():
    with pytest.raises(lpfa.ToolError, match="has rows of codes that are no "
                                             "multiple of 16 bytes"):
        run(module(ROWS, "bf16", False), operands(32, 40, 32), "sim")


@pytest.mark.parametrize("device", ["reference", "sim"])
def test_sums_at_the_edges_of_scales(device):
    """The f32 above 448 needs the next scale, unless it is rounded to bf16
    first; sums near 2^-119 have the scale 0."""
    a, b = (np.zeros((4, 64), np.float32) for _ in range(2))
    a[0, 0] = a[1, 0] = 448
    a[1, 32] = a[2, 0] = a[3, 0] = 1
    b[0, 0] = b[0, 32] = 1
    scales = np.full((4, 2), 127, np.uint8)
    scales[1, 1] = 127 - 15
    scales[2, 0], scales[3, 0] = 127 - 119, 127 - 118
    arrays = []
    for x, s in ((a, scales), (b, np.full((16, 2), 127, np.uint8))):
        padded = np.zeros((len(s), 64), np.float32)
        padded[:len(x)] = x
        arrays += [mx.encode(padded, "e4m3"), s]
    for dtype, bytes_ in (("f32", [127, 128, 0, 1]), ("bf16", [127, 127, 0, 1])):
        text = module((Quantize(),), dtype, False)
        codes, s = run(text, arrays, device)
        assert_equal((codes, s), expected(arrays, (Quantize(),), dtype, False))
        np.testing.assert_array_equal(s[:, 0], bytes_)


@pytest.mark.parametrize("chip", ["sm_100a", "sm_103a"])
def test_pitch_and_base_off_alignment(chip, tmp_path):
    """Operands that are part of larger arrays, 16 bytes off; nothing beyond a
    tensor is read or written."""
    tool("lpfa-compile")
    lpfa.compile(module(BOTH, "bf16", True), tmp_path, emit=["ptx", "plan"],
                 chip=chip, bin_dir=BIN_DIR)
    a, sa, b, sb = operands(70, 144, 160)

    def widen(x, more):
        pitched = np.full((x.shape[0], x.shape[1] + more), 0x7F, np.uint8)
        pitched[:, :x.shape[1]] = x
        return pitched[:, :x.shape[1]]

    results = launch(tmp_path, "f", [widen(a, 16), widen(sa, 3), widen(b, 48), sb],
                     tool("lpfa-sim"), fill=0xA5, shift=16)
    assert_equal(results, expected([a, sa, b, sb], BOTH, "bf16", True))
    with pytest.raises(AssertionError, match="argument 0 has rows whose pitch"):
        launch(tmp_path, "f", [widen(a, 8), sa, b, sb], tool("lpfa-sim"))
