# ===- test_rms_norm_kernels.py - Normalization compiled, in the simulator ---===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""Kernels of lpfa.rms_norm, alone and together with lpfa.quantize of its
output, against lpfa.norm and lpfa.mx, to the bit."""

import ml_dtypes
import numpy as np
import pytest

import lpfa
from harness import BIN_DIR, tool
from launcher import launch
from lpfa import mx, norm

BF16 = ml_dtypes.bfloat16
DTYPES = {"bf16": BF16, "f16": np.float16, "f32": np.float32}


def bits(x):
    return x.view(np.uint16) if x.dtype == BF16 else x


def sample(shape, dtype, seed=0):
    """Normal numbers whose rows and columns differ by powers of two."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) * np.exp2(rng.integers(-6, 7, shape[-1]))
    if len(shape) > 1:
        x *= np.exp2(rng.integers(-6, 7, (*shape[:-1], 1)))
    return x.astype(DTYPES[dtype])


def module(rank, width, dtype, weight, output, results):
    """@f, which returns `results`: y, rstd, codes and scales of y. A width is
    known or "?"."""
    rows = "?x" * (rank - 1)
    groups = "?" if width == "?" else -(-width // 32)
    atoms = "?" if width == "?" else -(-groups // 4)
    y = f"tensor<{rows}{width}x{output}>"
    types = {"y": y, "rstd": f"tensor<{rows}f32>",
             "q": f"tensor<{rows}{width}xf8E4M3FN>",
             "s": f"tensor<{rows}{groups}xf8E8M0FNU>",
             "b": f"tensor<{rows}{atoms}x32x4x4xf8E8M0FNU>"}
    text = f"""\
  %y, %rstd = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
      : tensor<{rows}{width}x{dtype}>, tensor<{width}x{weight}>
      -> {y}, {types["rstd"]}
"""
    if "q" in results or "s" in results:
        text += f"""\
  %q, %s = lpfa.quantize %y axis({rank - 1}) : {y} -> {types["q"]}, {types["s"]}
"""
    if "b" in results:
        text += f"  %b = lpfa.pack_scales %s : {types['s']} -> {types['b']}\n"
    returned = ", ".join(types[r] for r in results)
    return f"""\
func.func @f(%x: tensor<{rows}{width}x{dtype}>, %w: tensor<{width}x{weight}>)
    -> ({returned}) {{
{text}  return {", ".join("%" + r for r in results)} : {returned}
}}
"""


def check(folder, shape, results, dtype="bf16", weight="bf16", output="bf16",
          chip="sm_90a", x=None, w=None, width=None):
    tool("lpfa-compile")
    lpfa.compile(module(len(shape), width or shape[-1], dtype, weight, output,
                        results),
                 folder, emit=["ptx", "plan"], chip=chip, bin_dir=BIN_DIR)
    x = sample(shape, dtype) if x is None else x
    w = sample(shape[-1:], weight, seed=1) if w is None else w
    actual = launch(folder, "f", [bits(x), bits(w)], tool("lpfa-sim"),
                    fill=0xA5, options=["--schedule=random"])
    y, rstd = norm.rms_norm(x, w, np.float32(1e-6))
    with np.errstate(over="ignore", invalid="ignore"):
        y = y.astype(DTYPES[output])
    codes, scales = mx.quantize(y)
    expected = {"y": bits(y), "rstd": rstd, "q": codes, "s": scales,
                "b": mx.pack_scales(scales)}
    for name, result in zip(results, actual, strict=True):
        right = expected[name]
        np.testing.assert_array_equal(result, right, err_msg=name)


# A row of one warp's, of eight warps' registers, and of a cluster's.
@pytest.mark.parametrize("shape", [(3, 1), (9, 31), (1, 33), (17, 1000),
                                   (8, 1152), (3, 2048), (3, 2056), (9, 4096),
                                   (2, 16384), (3, 16385), (3, 65536)],
                         ids=str)
def test_fused(shape, tmp_path):
    """The normalized tensor itself is not written."""
    check(tmp_path, shape, ["q", "s"])


@pytest.mark.parametrize("dtype, shape, width", [
    ("bf16", (2, 1000), "?"), ("bf16", (1, 2, 16392), "?"),
    ("f32", (1, 16416), "?"), ("bf16", (2, 65537), None)], ids=str)
def test_any_width(dtype, shape, width, tmp_path):
    """Rows that are read twice, piece by piece."""
    check(tmp_path, shape, ["y", "rstd", "q", "s"], dtype, "f32", width=width)


@pytest.mark.parametrize("chip", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("dtype, weight, output", [
    ("bf16", "f32", "bf16"), ("f32", "f32", "f32"), ("f16", "bf16", "f16")])
def test_types(dtype, weight, output, chip, tmp_path):
    check(tmp_path, (3, 2600), ["y", "rstd", "q", "s"], dtype, weight, output,
          chip)


# Rows of which a warp has several: one column, ragged and whole ones of four to
# 32 lanes, more rows than a tile's.
@pytest.mark.parametrize("shape, dtype, weight, output", [
    ((600, 1), "bf16", "bf16", "bf16"), ((517, 32), "f16", "f32", "f16"),
    ((9, 40), "f32", "bf16", "bf16"), ((261, 64), "bf16", "f32", "bf16"),
    ((140, 100), "f32", "f32", "f32"), ((300, 128), "bf16", "bf16", "bf16"),
    ((66, 160), "bf16", "bf16", "bf16"), ((71, 255), "f16", "f16", "f32"),
    ((130, 256), "bf16", "bf16", "bf16"), ((2, 3, 5, 96), "f16", "bf16", "f16"),
], ids=str)
@pytest.mark.parametrize("chip", ["sm_90a", "sm_100a"])
def test_narrow(shape, dtype, weight, output, chip, tmp_path):
    check(tmp_path, shape, ["y", "rstd", "q", "s", "b"], dtype, weight, output,
          chip)


@pytest.mark.parametrize("columns", [96, 128, 256])
def test_narrow_not_finite(columns, tmp_path):
    """NaN and infinities of rows and weights reach the scales of their blocks,
    but no padding."""
    x, w = sample((35, columns), "bf16"), sample((columns,), "f32", seed=1)
    x[0] = 0
    x[34, 40] = np.nan
    x[2, 3] = np.inf
    w[9], w[70] = np.inf, np.nan
    check(tmp_path, x.shape, ["q", "s", "b"], weight="f32", x=x, w=w)


@pytest.mark.parametrize("results", [["y"], ["y", "rstd"], ["q", "b"]], ids=str)
def test_results(results, tmp_path):
    check(tmp_path, (2, 5, 96), results)


def test_no_rows(tmp_path):
    check(tmp_path, (0, 64), ["y", "rstd", "q", "s"])


def test_special_rows(tmp_path):
    """Zeros; NaN and infinities reach the scales of their row."""
    x = sample((4, 96), "bf16")
    x[0] = 0
    x[1, 40] = np.nan
    x[2, 3] = np.inf
    check(tmp_path, (4, 96), ["q", "s"], x=x)
