# ===- test_rms_norm_backward_kernels.py - Gradients, in the simulator -----===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""Kernels of lpfa.rms_norm_backward, alone and together with lpfa.dequantize of
its gradient, against lpfa.norm and lpfa.mx, to the bit."""

import numpy as np
import pytest

import lpfa
from harness import BIN_DIR, tool
from launcher import launch
from lpfa import mx, norm
from test_rms_norm_kernels import DTYPES, bits, sample

ELEMENTS = {"e4m3": "f8E4M3FN", "e5m2": "f8E5M2", "e3m2": "f6E3M2FN",
            "e2m1": "f4E2M1FN"}


def module(rank, width, dy="bf16", x="bf16", weight="bf16",
           results=("dx", "dw"), codes=None):
    """@f, which returns `results`. A width is known or "?". With `codes`, a
    format, dy comes quantized and is dequantized to its type."""
    rows = "?x" * (rank - 1)
    types = {"dx": f"tensor<{rows}{width}x{x}>", "dw": f"tensor<{width}x{weight}>"}
    dy_type = f"tensor<{rows}{width}x{dy}>"
    arguments, text = f"%dy: {dy_type}", ""
    if codes:
        groups = "?" if width == "?" else -(-width // 32)
        q = f"tensor<{rows}{width}x{ELEMENTS[codes]}>"
        s = f"tensor<{rows}{groups}xf8E8M0FNU>"
        arguments = f"%q: {q}, %s: {s}"
        text = f"""\
  %dy = lpfa.dequantize %q scaled %s axis({rank - 1}) : {q}, {s} -> {dy_type}
"""
    returned = ", ".join(types[r] for r in results)
    return f"""\
func.func @f({arguments}, %x: {types["dx"]}, %w: {types["dw"]},
             %rstd: tensor<{rows}f32>) -> ({returned}) {{
{text}  %dx, %dw = lpfa.rms_norm_backward %dy, %x weight %w rstd %rstd
      : {dy_type}, {types["dx"]}, {types["dw"]}, tensor<{rows}f32>
      -> {types["dx"]}, {types["dw"]}
  return {", ".join("%" + r for r in results)} : {returned}
}}
"""


def make(shape, dy="bf16", x="bf16", weight="bf16", results=("dx", "dw"),
         codes=None, special=False):
    """Operands of @f, and what it returns."""
    a, w = sample(shape, x), sample(shape[-1:], weight, seed=1)
    rstd = norm.rms_norm(a, w, np.float32(1e-6))[1]
    if special:
        a[0], a[1, 40], a[2, 3] = 0, np.nan, np.inf
    gradient = sample(shape, dy, seed=2)
    operands = [bits(gradient)]
    if codes:
        operands = mx.quantize(gradient, codes)
        gradient = mx.dequantize(*operands, codes).astype(DTYPES[dy])
    dx, dw = norm.rms_norm_backward(gradient, a, w, rstd)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = {"dx": bits(dx.astype(DTYPES[x])),
                    "dw": bits(dw.astype(DTYPES[weight]))}
    return ([*operands, bits(a), bits(w), rstd],
            [expected[r] for r in results])


def check(folder, shape, chip="sm_90a", width=None, special=False, **options):
    tool("lpfa-compile")
    lpfa.compile(module(len(shape), width or shape[-1], **options), folder,
                 emit=["ptx", "plan"], chip=chip, bin_dir=BIN_DIR)
    operands, expected = make(shape, special=special, **options)
    actual = launch(folder, "f", operands, tool("lpfa-sim"), fill=0xA5,
                    options=["--schedule=random"])
    for result, right in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(result, right)


# Rows of one warp, of eight, and of a cluster; more rows than partial sums.
@pytest.mark.parametrize("shape", [(3, 1), (9, 31), (1, 33), (17, 1000),
                                   (8, 1152), (3, 2048), (3, 2056), (9, 4096),
                                   (2, 16384), (3, 16385), (2, 65536),
                                   (8195, 1), (260, 10000)], ids=str)
def test_widths(shape, tmp_path):
    check(tmp_path, shape)


@pytest.mark.parametrize("shape", [(3, 2600), (2, 65537), (20, 200)], ids=str)
def test_any_width(shape, tmp_path):
    """Rows that are read piece by piece."""
    check(tmp_path, shape, width="?")
    check(tmp_path, shape, width="?", codes="e4m3", x="f32", weight="f32")


@pytest.mark.parametrize("chip", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("dy, x, weight", [
    ("bf16", "bf16", "f32"), ("f32", "f32", "f32"), ("f32", "f16", "bf16"),
    ("f16", "f32", "f16")])
def test_types(dy, x, weight, chip, tmp_path):
    check(tmp_path, (5, 2600), chip, dy=dy, x=x, weight=weight)


@pytest.mark.parametrize("chip", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("codes", ELEMENTS)
def test_quantized(codes, chip, tmp_path):
    """The dequantized gradient itself is not written."""
    check(tmp_path, (9, 2600), chip, codes=codes)


@pytest.mark.parametrize("shape", [(9, 32), (3, 16416), (2, 65536)], ids=str)
def test_quantized_widths(shape, tmp_path):
    check(tmp_path, shape, dy="f32", codes="e5m2")


@pytest.mark.parametrize("width", [None, "?"])
@pytest.mark.parametrize("shape", [(3, 5, 96), (2, 3, 11, 40), (600, 1, 8200),
                                   (2, 0, 64)], ids=str)
def test_batches(shape, width, tmp_path):
    """Groups of rows end with their matrix."""
    check(tmp_path, shape, width=width)


@pytest.mark.parametrize("width", [None, "?"])
@pytest.mark.parametrize("results", [["dx"], ["dw"]], ids=str)
def test_results(results, width, tmp_path):
    check(tmp_path, (5, 300), results=results, width=width, codes="e4m3")


@pytest.mark.parametrize("width", [None, "?"])
def test_no_rows(width, tmp_path):
    check(tmp_path, (0, 64), width=width)


def test_special_values(tmp_path):
    """What is not finite reaches its row and its column."""
    check(tmp_path, (4, 96), dy="f32", x="f32", weight="f32", special=True)


def test_operands_of_other_sizes(tmp_path):
    lpfa.compile(module(2, "?"), tmp_path, emit=["ptx", "plan"], chip="sm_90a",
                 bin_dir=BIN_DIR)
    (dy, x, w, rstd), _ = make((3, 64))
    for operands, what in (([dy[:2], x, w, rstd], "0 of dy"),
                           ([dy, x, w[:63], rstd], "0 of the weight"),
                           ([dy, x, w, rstd[:2]], "0 of rstd")):
        with pytest.raises(AssertionError,
                           match=f"another size of dimension {what}"):
            launch(tmp_path, "f", operands, tool("lpfa-sim"))
