# ===- test_narrow_floats.py - lpfa.encode and lpfa.decode -----------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""Conversions of narrow floats on the reference device: all codes, and every
boundary between two codes with its neighbors, to the bit."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import lpfa
from harness import BIN_DIR, tool
from lpfa import mx

SOURCE = Path(__file__).parent / "narrow-floats.mlir"
FORMATS = list(mx.FORMATS)
NAN = 0x7FC00000


def run(entry, x):
    tool("lpfa-run")
    (result,) = lpfa.run(SOURCE, entry, [x], bin_dir=BIN_DIR)
    return result


@pytest.mark.parametrize("name", FORMATS)
def test_decode_all_codes(name):
    fmt = mx.FORMATS[name]
    codes = np.arange(1 << fmt.bits, dtype=np.uint8)
    with np.errstate(invalid="ignore"):
        expected = codes.view(fmt.dtype).astype(np.float32)
    expected = np.where(np.isnan(expected), np.uint32(NAN),
                        expected.view(np.uint32))
    values = run(f"decode_{name}", codes)
    assert values.dtype == np.float32
    np.testing.assert_array_equal(values.view(np.uint32), expected)


def test_decode_all_scales():
    values = run("decode_e8m0", np.arange(256, dtype=np.uint8))
    bits = np.arange(256, dtype=np.uint32) << 23
    bits[0], bits[255] = 0x00400000, NAN
    np.testing.assert_array_equal(values.view(np.uint32), bits)


def with_neighbors(x):
    """x, the three floats on either side of each, and all of them negated."""
    bits = np.asarray(x, dtype=np.float32).view(np.int32).astype(np.int64)
    bits = np.unique(bits[:, None] + np.arange(-3, 4))
    bits = bits[(bits >= 0) & (bits < 0x7F800000)].astype(np.uint32)
    x = bits.view(np.float32)
    return np.concatenate([x, -x])


SPECIAL = np.array(
    [0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF,
     0x7F7FFFFF, 0xFF7FFFFF, 0, 0x80000000, 1, 0x80000001, 0x007FFFFF,
     0x00800000], dtype=np.uint32).view(np.float32)


def bits_of_random_floats(count):
    rng = np.random.default_rng(0)
    return rng.integers(0, 1 << 32, count, dtype=np.uint32).view(np.float32)


@pytest.mark.parametrize("name", FORMATS)
def test_encode(name):
    fmt = mx.FORMATS[name]
    codes = np.arange(fmt.max_code + 1, dtype=np.uint8)
    values = codes.view(fmt.dtype).astype(np.float32)
    ties = (values[1:] + values[:-1]) / 2
    beyond = fmt.max_norm * np.array([1.03125, 1.0625, 1.125, 1.25, 2, 1e6])
    x = np.concatenate([with_neighbors(np.concatenate([values, ties, beyond])),
                        SPECIAL, bits_of_random_floats(100_000)])

    # ml_dtypes rounds alike but does not saturate, nor say what NaN becomes.
    finite = np.nan_to_num(x, nan=0, posinf=fmt.max_norm, neginf=-fmt.max_norm)
    clipped = np.clip(finite, -fmt.max_norm, fmt.max_norm)
    expected = clipped.astype(fmt.dtype).view(np.uint8)
    expected = np.where(np.isnan(x), fmt.nan_code, expected)

    result = run(f"encode_{name}", x)
    assert result.dtype == np.uint8
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(result, mx.encode(x, name))


def test_encode_scale():
    powers = np.ldexp(np.float32(1), np.arange(-149, 128))
    x = np.concatenate([with_neighbors(powers), SPECIAL,
                        bits_of_random_floats(100_000)])
    # The exponent of |x| rounded up, in exact arithmetic.
    finite = np.where(np.isfinite(x), np.abs(x), 1).astype(np.float64)
    mantissa, exponent = np.frexp(finite)
    exponent = np.where(mantissa == 0.5, exponent - 1, exponent)
    byte = np.clip(exponent + 127, 0, 254)
    byte = np.where(finite == 0, 0, byte)
    byte = np.where(np.isinf(x), 254, byte)
    byte = np.where(np.isnan(x), 255, byte)
    np.testing.assert_array_equal(run("encode_e8m0", x), byte)


@pytest.mark.parametrize("name", FORMATS + ["e8m0"])
def test_decode_then_encode(name):
    """Every code survives, NaN as its format's one code."""
    bits = 8 if name == "e8m0" else mx.FORMATS[name].bits
    codes = np.arange(1 << bits, dtype=np.uint8)
    result = run(f"encode_{name}", run(f"decode_{name}", codes))
    expected = codes.copy()
    if name in ("e4m3", "e5m2"):
        fmt = mx.FORMATS[name]
        magnitude = codes & 0x7F
        is_infinity = (magnitude == 0x7C) & (name == "e5m2")
        expected[is_infinity] = (codes[is_infinity] & 0x80) | fmt.max_code
        expected[(magnitude > fmt.max_code) & ~is_infinity] = fmt.nan_code
    np.testing.assert_array_equal(result, expected)


def test_types_of_ml_dtypes_agree():
    """The oracle itself: formats have the largest value that the table says."""
    for fmt in mx.FORMATS.values():
        assert float(ml_dtypes.finfo(fmt.dtype).max) == fmt.max_norm
