# ===- test_quantize.py - lpfa.quantize against lpfa.mx --------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""quantize.mlir on the reference device against lpfa.mx, to the bit."""

import json
from pathlib import Path

import numpy as np
import pytest

import lpfa
from harness import BIN_DIR, tool
from lpfa import mx

HERE = Path(__file__).parent
SOURCE = HERE / "quantize.mlir"
GOLDEN = HERE.parent / "data" / "mx_golden.json"
FORMATS = list(mx.FORMATS)
RULES = ["rceil", "floor"]


def quantize(x, name, rule):
    tool("lpfa-run")
    return lpfa.run(SOURCE, f"quantize_{name}_{rule}", [x], bin_dir=BIN_DIR)


def check(x, name, rule):
    codes, scales = quantize(x, name, rule)
    expected_codes, expected_scales = mx.quantize(x, name, rule)
    assert codes.dtype == scales.dtype == np.uint8
    np.testing.assert_array_equal(scales, expected_scales)
    np.testing.assert_array_equal(codes, expected_codes)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["e4m3", "e2m1"])
def test_golden_values(name, rule):
    cases = [c for c in json.loads(GOLDEN.read_text())
             if (c["element"], c["rule"]) == (name, rule)]
    assert len(cases) == 33
    x = np.array([c["x_bits"] for c in cases], dtype=np.uint32)
    codes, scales = quantize(x.view(np.float32), name, rule)
    for i, case in enumerate(cases):
        assert scales[i].tolist() == [case["scale"]], case["case"]
        assert codes[i].tolist() == case["codes"], case["case"]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", FORMATS)
def test_special_blocks(name, rule):
    """Zeros, non-finite values, and all magnitudes from the smallest."""
    fmt = mx.FORMATS[name]
    blocks = [[0.0], [-0.0] * 32, [1, np.nan, 2], [1, np.inf, -3], [-np.inf],
              [np.finfo(np.float32).max], [-np.finfo(np.float32).max]]
    for exponent in range(-149, 128):
        # Near and at the edge between two scales.
        edge = np.float32(fmt.max_norm * 2.0**-fmt.emax)
        with np.errstate(over="ignore"):
            edge = np.ldexp(edge, exponent)
        for value in (np.ldexp(np.float32(1), exponent), edge,
                      np.nextafter(edge, np.float32(0)),
                      np.nextafter(edge, np.float32(np.inf))):
            blocks.append([value, -value / 3, value / 50])
    x = np.zeros((len(blocks), 32), dtype=np.float32)
    for row, block in zip(x, blocks):
        row[:len(block)] = block
    check(x, name, rule)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", FORMATS)
def test_codes_and_ties(name, rule):
    """Every tie between two codes, with its neighbors, in blocks whose maximum
    is the largest value."""
    fmt = mx.FORMATS[name]
    values = mx.decode(np.arange(fmt.max_code + 1, dtype=np.uint8), name)
    middle = (values[1:] + values[:-1]) / np.float32(2)
    points = np.concatenate([
        values, middle, np.nextafter(middle, np.float32(0)),
        np.nextafter(middle, np.float32(np.inf))])
    points = np.concatenate([points, -points])
    points = np.pad(points, (0, -points.size % 31)).reshape(-1, 31)
    x = np.full((len(points), 32), fmt.max_norm, dtype=np.float32)
    x[:, 1:] = points
    check(x, name, rule)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", FORMATS)
def test_random_blocks(name, rule):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2000, 32)) * np.exp2(rng.integers(-12, 13, 32))
    x = x * np.exp2(rng.integers(-12, 13, (2000, 1)))
    raw = rng.integers(0, 1 << 32, (1000, 32), dtype=np.uint32)
    check(np.concatenate([x.astype(np.float32), raw.view(np.float32)]), name,
          rule)


def test_no_rows():
    codes, scales = quantize(np.zeros((0, 32), np.float32), "e4m3", "rceil")
    assert codes.shape == (0, 32) and scales.shape == (0, 1)


@pytest.mark.parametrize("shape, axis", [((3, 100, 5), 1), ((70, 6), 0),
                                         ((2, 3, 33), 2), ((1, 1), 0)])
def test_axis_and_ragged_last_block(shape, axis):
    tool("lpfa-run")
    groups = list(shape)
    groups[axis] = -(-groups[axis] // 32)
    types = ["x".join(map(str, s)) for s in (shape, groups)]
    text = f"""\
func.func @f(%x: tensor<{types[0]}xf32>)
    -> (tensor<{types[0]}xf8E4M3FN>, tensor<{types[1]}xf8E8M0FNU>,
        tensor<{types[0]}xf32>) {{
  %q, %s = lpfa.quantize %x axis({axis}) : tensor<{types[0]}xf32>
      -> tensor<{types[0]}xf8E4M3FN>, tensor<{types[1]}xf8E8M0FNU>
  %y = lpfa.dequantize %q scaled %s axis({axis})
      : tensor<{types[0]}xf8E4M3FN>, tensor<{types[1]}xf8E8M0FNU>
      -> tensor<{types[0]}xf32>
  return %q, %s, %y : tensor<{types[0]}xf8E4M3FN>, tensor<{types[1]}xf8E8M0FNU>,
      tensor<{types[0]}xf32>
}}
"""
    x = np.random.default_rng(4).standard_normal(shape).astype(np.float32)
    x.ravel()[0] = np.nan
    codes, scales, values = lpfa.run(text, "f", [x], bin_dir=BIN_DIR)
    expected_codes, expected_scales = mx.quantize(x, axis=axis)
    np.testing.assert_array_equal(codes, expected_codes)
    np.testing.assert_array_equal(scales, expected_scales)
    np.testing.assert_array_equal(
        values, mx.dequantize(codes, scales, axis=axis))


@pytest.mark.parametrize("rows, groups", [(1, 1), (128, 4), (129, 5), (300, 9)])
@pytest.mark.parametrize("transposed", [False, True])
def test_layouts_of_scales(rows, groups, transposed):
    tool("lpfa-run")
    blocked = f"2x{-(-rows // 128)}x{-(-groups // 4)}x32x4x4xf8E8M0FNU"
    shape = (2, groups, rows) if transposed else (2, rows, groups)
    plain = "x".join(map(str, shape)) + "xf8E8M0FNU"
    mode = "transposed" if transposed else ""
    text = f"""\
func.func @f(%s: tensor<{plain}>) -> (tensor<{blocked}>, tensor<{plain}>) {{
  %b = lpfa.pack_scales %s {mode} : tensor<{plain}> -> tensor<{blocked}>
  %r = lpfa.unpack_scales %b {mode} : tensor<{blocked}> -> tensor<{plain}>
  return %b, %r : tensor<{blocked}>, tensor<{plain}>
}}
"""
    scales = np.random.default_rng(5).integers(0, 256, shape, dtype=np.uint8)
    packed, unpacked = lpfa.run(text, "f", [scales], bin_dir=BIN_DIR)
    matrix = scales.swapaxes(1, 2) if transposed else scales
    np.testing.assert_array_equal(packed, mx.pack_scales(matrix))
    np.testing.assert_array_equal(unpacked, scales)
