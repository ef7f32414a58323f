# ===- test_rms_norm_blocks.py - Normalization with blocks of several rows ---===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""Kernels of lpfa.rms_norm with quantization of its output in squares, along
columns and along both axes, against lpfa.norm and lpfa.mx, to the bit."""

import numpy as np
import pytest

import lpfa
from harness import BIN_DIR, tool
from launcher import launch
from lpfa import norm
from test_quantize_kernels import Quantize, quantizations
from test_rms_norm_kernels import DTYPES, bits, sample

SQUARES = (Quantize(square=True, row_major=False, blocked=True),
           Quantize(column=True, square=True, codes=False, row_major=False,
                    blocked=True))
ROW_MAJOR = (Quantize("e2m3", square=True, blocked=True),
             Quantize("e2m3", True, True, codes=False, blocked=True))
COLUMNS = (Quantize(column=True, rule="floor", blocked=True),)
BOTH = (Quantize(row_major=False, blocked=True),
        Quantize("e5m2", column=True, blocked=True))
FP4 = (Quantize("e2m1", square=True),)


def module(rank, width, dtype, weight, output, ops, results=()):
    """@f, which returns `results`, of y and rstd, and what `ops` give of y."""
    rows = "?x" * (rank - 1)
    y, rstd = f"tensor<{rows}{width}x{output}>", f"tensor<{rows}f32>"
    body, values, types = quantizations("%y", output, ops, rank, width)
    values = ["%" + name for name in results] + values
    types = ", ".join([{"y": y, "rstd": rstd}[r] for r in results] + types)
    body = body.replace(f"tensor<{'?x' * rank}{output}>", y)
    return f"""\
func.func @f(%x: tensor<{rows}{width}x{dtype}>, %w: tensor<{width}x{weight}>)
    -> ({types}) {{
  %y, %rstd = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
      : tensor<{rows}{width}x{dtype}>, tensor<{width}x{weight}> -> {y}, {rstd}
{body}  return {", ".join(values)} : {types}
}}
"""


def expected(x, w, output, ops, results=()):
    y, rstd = norm.rms_norm(x, w, np.float32(1e-6))
    with np.errstate(over="ignore", invalid="ignore"):
        y = y.astype(DTYPES[output])
    return [{"y": bits(y), "rstd": rstd}[r] for r in results] + [
        result for op in ops for result in op.expected(y)]


def check(folder, shape, ops, results=(), dtype="bf16", weight="bf16",
          output="bf16", chip="sm_90a", x=None, w=None, width=None):
    tool("lpfa-compile")
    lpfa.compile(module(len(shape), width or shape[-1], dtype, weight, output,
                        ops, results),
                 folder, emit=["ptx", "plan"], chip=chip, bin_dir=BIN_DIR)
    x = sample(shape, dtype) if x is None else x
    w = sample(shape[-1:], weight, seed=1) if w is None else w
    actual = launch(folder, "f", [bits(x), bits(w)], tool("lpfa-sim"),
                    fill=0xA5, options=["--schedule=random"])
    for i, (result, right) in enumerate(
            zip(actual, expected(x, w, output, ops, results), strict=True)):
        np.testing.assert_array_equal(result, right, err_msg=f"result {i}")


# A part of a square; ragged and whole ones.
@pytest.mark.parametrize("shape", [(1, 1), (31, 33), (128, 256), (37, 1000),
                                   (65, 1152), (33, 4096), (2, 40, 96)], ids=str)
def test_squares(shape, tmp_path):
    """The normalized tensor itself is not written."""
    check(tmp_path, shape, SQUARES)


@pytest.mark.parametrize("ops", [ROW_MAJOR, COLUMNS, BOTH, FP4], ids=str)
def test_blocks(ops, tmp_path):
    check(tmp_path, (67, 520), ops, ["y", "rstd"])


# A warp has 32 rows.
@pytest.mark.parametrize("ops", [SQUARES, ROW_MAJOR, COLUMNS, BOTH, FP4], ids=str)
@pytest.mark.parametrize("shape", [(129, 4), (260, 128), (2, 35, 96)], ids=str)
def test_narrow(shape, ops, tmp_path):
    check(tmp_path, shape, ops, ["y", "rstd"], weight="f32")


@pytest.mark.parametrize("ops", [SQUARES, BOTH], ids=str)
@pytest.mark.parametrize("shape", [(33, 1000), (1, 16392)], ids=str)
def test_any_width(shape, ops, tmp_path):
    check(tmp_path, shape, ops, ["rstd"], weight="f32", width="?")


@pytest.mark.parametrize("chip", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("dtype, weight, output", [
    ("bf16", "f32", "bf16"), ("f32", "f32", "f32"), ("f16", "bf16", "f16"),
    ("f32", "bf16", "bf16")])
def test_types(dtype, weight, output, chip, tmp_path):
    check(tmp_path, (35, 600), SQUARES + COLUMNS, ["y"], dtype, weight, output,
          chip)


def test_no_rows(tmp_path):
    check(tmp_path, (0, 64), SQUARES, ["y"])


@pytest.mark.parametrize("columns", [96, 200])
@pytest.mark.parametrize("ops", [ROW_MAJOR, BOTH], ids=str)
def test_not_finite(ops, columns, tmp_path):
    """NaN and infinities of rows and weights reach the scales of their blocks,
    but no padding."""
    x, w = sample((35, columns), "bf16"), sample((columns,), "f32", seed=1)
    x[0] = 0
    x[34, 40] = np.nan
    x[2, 3] = np.inf
    w[9], w[columns - 1] = np.inf, np.nan
    check(tmp_path, x.shape, ops, ["rstd"], weight="f32", x=x, w=w)
