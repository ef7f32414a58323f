# ===- test_scales.py - Layouts of scales, and products with them ----------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""lpfa.pack_scales, lpfa.unpack_scales and lpfa.dequantize on the reference
device, and lpfa.quantize of 16-bit input, against lpfa.mx."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import lpfa
from harness import BIN_DIR, tool
from lpfa import mx

SOURCE = Path(__file__).parent / "scales.mlir"

# Sizes around those of an atom, and none.
SHAPES = [(1, 1, 1), (2, 128, 4), (2, 129, 5), (3, 17, 3), (1, 300, 47),
          (2, 127, 8), (2, 0, 4), (0, 3, 4)]


def run(entry, *args):
    tool("lpfa-run")
    return lpfa.run(SOURCE, entry, list(args), bin_dir=BIN_DIR)


def random_bytes(shape, seed=0):
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_pack(shape):
    scales = random_bytes(shape)
    (blocked,) = run("pack", scales)
    np.testing.assert_array_equal(blocked, mx.pack_scales(scales))
    batch, rows, groups = shape
    if batch == 1:
        # The offsets that the layout is defined by.
        flat = blocked.reshape(-1)
        expected = np.zeros_like(flat)
        for m in range(rows):
            for k in range(groups):
                offset = ((m // 128 * -(-groups // 4) + k // 4) * 512
                          + m % 32 * 16 + m % 128 // 32 * 4 + k % 4)
                expected[offset] = scales[0, m, k]
        np.testing.assert_array_equal(flat, expected)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_pack_transposed(shape):
    scales = random_bytes(shape)
    (blocked,) = run("pack_transposed", np.ascontiguousarray(
        scales.transpose(0, 2, 1)))
    np.testing.assert_array_equal(blocked, mx.pack_scales(scales))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_unpack(shape):
    scales = random_bytes(shape)
    (result,) = run("unpack", scales)
    np.testing.assert_array_equal(result, scales)


def test_unpack_drops_padding():
    scales = random_bytes((2, 200, 7))
    blocked = mx.pack_scales(scales, fill=0xFF)
    (result,) = run("unpack_transposed", blocked)
    np.testing.assert_array_equal(result, scales.transpose(0, 2, 1))


def test_unpack_of_a_wrong_size():
    blocked = np.zeros((1, 1, 2, 32, 4, 4), dtype=np.uint8)
    with pytest.raises(lpfa.ToolError) as error:
        run("unpack_transposed", blocked)
    assert "op expects another size of dimension 1 of the blocked scales" in (
        str(error.value))


@pytest.mark.parametrize("name", mx.FORMATS)
def test_dequantize_all_products(name):
    """Every code times every scale."""
    bits = mx.FORMATS[name].bits
    codes = np.tile(np.arange(1 << bits, dtype=np.uint8), (256, 1))
    blocks = -(-codes.shape[1] // mx.BLOCK)
    scales = np.repeat(np.arange(256, dtype=np.uint8)[:, None], blocks, axis=1)
    (values,) = run(f"dequantize_{name}", codes, scales)
    expected = mx.dequantize(codes, scales, name)
    np.testing.assert_array_equal(np.isnan(values), np.isnan(expected))
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(values[number].view(np.uint32),
                                  expected[number].view(np.uint32))


@pytest.mark.parametrize("element", ["bf16", "f16"])
def test_dequantize_to_16_bits(element):
    dtype = {"bf16": ml_dtypes.bfloat16, "f16": np.float16}[element]
    codes = np.tile(np.arange(256, dtype=np.uint8), (256, 1))
    scales = np.repeat(np.arange(256, dtype=np.uint8)[:, None], 8, axis=1)
    (values,) = run(f"dequantize_{element}", codes, scales)
    values = values.view(dtype).astype(np.float32)
    with np.errstate(over="ignore"):
        expected = mx.dequantize(codes, scales, "e5m2").astype(dtype)
    np.testing.assert_array_equal(values, expected.astype(np.float32))


@pytest.mark.parametrize("element", ["bf16", "f16"])
@pytest.mark.parametrize("rows", [1, 31, 32, 33, 100])
def test_quantize_16_bits_along_the_first_axis(element, rows):
    dtype = {"bf16": ml_dtypes.bfloat16, "f16": np.float16}[element]
    rng = np.random.default_rng(rows)
    x = rng.standard_normal((rows, 5)) * np.exp2(rng.integers(-10, 10, 5))
    x = x.astype(dtype)
    x[0, 1] = np.nan
    x[-1, 2] = np.inf
    x[:, 3] = 0
    codes, scales = run(f"quantize_{element}", x)
    expected_codes, expected_scales = mx.quantize(x, "e4m3", axis=0)
    np.testing.assert_array_equal(scales, expected_scales)
    np.testing.assert_array_equal(codes, expected_codes)


def test_dequantize_with_scales_of_a_wrong_size():
    codes = np.zeros((4, 64), dtype=np.uint8)
    with pytest.raises(lpfa.ToolError) as error:
        run("dequantize_e4m3", codes, np.zeros((4, 3), dtype=np.uint8))
    assert "'lpfa.dequantize' op expects another size of dimension 1" in (
        str(error.value))
