# ===- test_mx.py - Tests of lpfa.mx ---------------------------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#

import json
from pathlib import Path

import numpy as np
import pytest

from lpfa import mx

GOLDEN = Path(__file__).parents[1] / "data" / "mx_golden.json"
NAMES = list(mx.FORMATS)
RULES = ["rceil", "floor"]


def above(x):
    return np.nextafter(np.float32(x), np.float32(np.inf))


def below(x):
    return np.nextafter(np.float32(x), np.float32(0))


# First element of a block of zeros -> (scale byte, first code), by rule. None:
# the table has no value for the rule.
E4M3_TABLE = [
    (0.0, (0, 0x00), (0, 0x00)),
    (-0.0, (0, 0x80), (0, 0x80)),
    (1.0, (119, 0x78), (119, 0x78)),
    (448.0, (127, 0x7E), (127, 0x7E)),
    (below(448), (127, 0x7E), (127, 0x7E)),
    (above(448), (127, 0x7E), (128, 0x76)),
    (449.0, (127, 0x7E), (128, 0x76)),
    (480.0, (127, 0x7E), (128, 0x77)),
    (500.0, (127, 0x7E), (128, 0x78)),
    (960.0, (128, 0x7E), (129, 0x77)),
    (above(448 * 2.0**20), None, (148, None)),
    (2.0**-130, (0, 0x20), (0, 0x20)),
    (2.0**-131, (0, 0x18), (0, 0x18)),
    (2.0**-119, (0, 0x78), (0, 0x78)),
    (2.0**-118, (1, 0x78), (1, 0x78)),
    (448 * 2.0**-127, (0, 0x7E), (0, 0x7E)),
    (above(448 * 2.0**-127), (0, 0x7E), (0, 0x7E)),
    (np.finfo(np.float32).max, (246, 0x7E), (247, 0x78)),
    (2.0**127, (246, 0x78), (246, 0x78)),
]


@pytest.mark.parametrize("value, floor, rceil", E4M3_TABLE)
def test_e4m3_table(value, floor, rceil):
    x = np.zeros(32, dtype=np.float32)
    x[:] = np.copysign(0, value)
    x[0] = value
    for rule, expected in (("floor", floor), ("rceil", rceil)):
        if expected is None:
            continue
        codes, scales = mx.quantize(x, "e4m3", rule)
        assert scales[0] == expected[0]
        if expected[1] is not None:
            assert codes[0] == expected[1]


@pytest.mark.parametrize("name, code", [("e4m3", 0x7F), ("e5m2", 0x7F),
                                        ("e2m3", 0x1F), ("e3m2", 0x1F),
                                        ("e2m1", 0x7)])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("block", [[1, np.nan, 2], [1, np.inf, -3],
                                   [-np.inf, 0, 0], [np.inf, np.nan, 0]])
def test_non_finite_block(name, code, rule, block):
    x = np.zeros(64, dtype=np.float32)
    x[:3] = block
    x[32] = 1
    codes, scales = mx.quantize(x, name, rule)
    assert scales[0] == 255 and scales[1] != 255
    assert np.all(codes[:32] == code)
    values = mx.dequantize(codes, scales, name)
    assert np.all(np.isnan(values[:32])) and values[32] == 1


def test_golden_values():
    cases = json.loads(GOLDEN.read_text())
    assert len(cases) == 132
    for case in cases:
        x = np.array(case["x_bits"], dtype=np.uint32).view(np.float32)
        codes, scales = mx.quantize(x, case["element"], case["rule"])
        where = (case["case"], case["element"], case["rule"])
        assert scales.tolist() == [case["scale"]], where
        assert codes.tolist() == case["codes"], where


@pytest.mark.parametrize("name", NAMES)
def test_decode_agrees_with_ml_dtypes(name):
    fmt = mx.FORMATS[name]
    codes = np.arange(1 << fmt.bits, dtype=np.uint8)
    expected = mx.view(codes, name).astype(np.float32)
    np.testing.assert_array_equal(mx.decode(codes, name), expected)
    assert mx.decode(fmt.max_code, name) == fmt.max_norm
    assert np.array_equal(mx.codes(mx.view(codes, name)), codes)


@pytest.mark.parametrize("name", NAMES)
def test_encode_inverts_decode(name):
    fmt = mx.FORMATS[name]
    codes = np.arange(1 << fmt.bits, dtype=np.uint8)
    finite = codes[np.isfinite(mx.decode(codes, name))]
    assert np.array_equal(mx.encode(mx.decode(finite, name), name), finite)


@pytest.mark.parametrize("name", NAMES)
def test_encode_ties_and_neighbors(name):
    """Between two codes: below the middle the lower, above it the upper, on it
    the even one."""
    fmt = mx.FORMATS[name]
    lower = np.arange(fmt.max_code, dtype=np.uint8)
    values = mx.decode(lower, name), mx.decode(lower + 1, name)
    middle = (values[0] + values[1]) / np.float32(2)
    down = np.nextafter(middle, np.float32(0))
    up = np.nextafter(middle, np.float32(np.inf))
    sign = 1 << (fmt.bits - 1)
    for negative in (False, True):
        s, factor = (sign, -1) if negative else (0, 1)
        assert np.array_equal(mx.encode(factor * down, name), lower | s)
        assert np.array_equal(mx.encode(factor * up, name), lower + 1 | s)
        even = lower + (lower & 1)
        assert np.array_equal(mx.encode(factor * middle, name), even | s)
    beyond = np.array([above(fmt.max_norm), 2 * fmt.max_norm, np.inf])
    assert np.all(mx.encode(beyond, name) == fmt.max_code)
    assert np.all(mx.encode(-beyond, name) == fmt.max_code | sign)


@pytest.mark.parametrize("name", NAMES)
def test_encode_agrees_with_ml_dtypes(name):
    fmt = mx.FORMATS[name]
    rng = np.random.default_rng(1)
    x = rng.standard_normal(1 << 16) * np.exp2(rng.integers(-20, 17, 1 << 16))
    x = np.clip(x, -fmt.max_norm, fmt.max_norm).astype(np.float32)
    assert np.array_equal(mx.encode(x, name), mx.codes(x.astype(fmt.dtype)))


def test_scale_values():
    values = mx.scale_values(np.arange(256))
    assert values[0] == 2.0**-127 and values[127] == 1
    assert values[254] == 2.0**127 and np.isnan(values[255])


@pytest.mark.parametrize("name", NAMES)
def test_rceil_is_the_smallest_scale_that_fits(name):
    """With RCEIL no element saturates, with half the scale one would."""
    fmt = mx.FORMATS[name]
    rng = np.random.default_rng(2)
    x = rng.standard_normal((512, 32))
    x = (x * np.exp2(rng.integers(-12, 13, (512, 1)))).astype(np.float32)
    _, scales = mx.quantize(x, name, "rceil")
    ratio = np.max(np.abs(x), axis=1) / mx.scale_values(scales[:, 0])
    assert np.all(ratio <= fmt.max_norm) and np.all(ratio > fmt.max_norm / 2)


@pytest.mark.parametrize("name", NAMES)
def test_floor_is_the_exponent_of_the_maximum(name):
    fmt = mx.FORMATS[name]
    x = np.random.default_rng(3).standard_normal((512, 32)).astype(np.float32)
    _, scales = mx.quantize(x, name, "floor")
    expected = np.floor(np.log2(np.max(np.abs(x), axis=1))) - fmt.emax + 127
    assert np.array_equal(scales[:, 0], expected)


def test_tiny_blocks_stay_finite():
    """amax near 1e-36 and below: neither NaN nor the largest value."""
    for exponent in range(-149, -100):
        x = np.zeros(32, dtype=np.float32)
        x[0] = np.ldexp(np.float32(1), exponent)
        for name in NAMES:
            values = mx.dequantize(*mx.quantize(x, name), name)
            assert np.all(np.isfinite(values)) and np.all(values[1:] == 0)
            fmt = mx.FORMATS[name]  # its smallest code, with the scale 2^-127
            if exponent >= 1 - fmt.bias - fmt.mantissa_bits - 127:
                assert values[0] == x[0]


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("length", [1, 31, 32, 33, 100])
def test_axis_and_ragged_last_block(axis, length):
    rng = np.random.default_rng(4)
    shape = [3, 4, 5]
    shape[axis] = length
    x = rng.standard_normal(shape).astype(np.float32)
    codes, scales = mx.quantize(x, "e4m3", axis=axis)
    assert codes.shape == x.shape
    shape[axis] = -(-length // 32)
    assert scales.shape == tuple(shape)
    moved = np.moveaxis(x, axis, -1)
    for index in np.ndindex(moved.shape[:-1]):
        row, row_scales = mx.quantize(moved[index], "e4m3")
        assert np.array_equal(np.moveaxis(codes, axis, -1)[index], row)
        assert np.array_equal(np.moveaxis(scales, axis, -1)[index], row_scales)
    values = mx.dequantize(codes, scales, "e4m3", axis=axis)
    assert np.max(np.abs(values - x)) <= np.max(np.abs(x)) / 16


def test_scales_belong_to_their_blocks():
    """Rows and columns times powers of two: a scale in a wrong place shows."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((64, 128))
    x = x * np.exp2(rng.integers(-12, 13, (64, 1)))
    x = (x * np.exp2(rng.integers(-12, 13, (1, 128)))).astype(np.float32)
    for axis in (0, 1):
        values = mx.dequantize(*mx.quantize(x, "e4m3", axis=axis), axis=axis)
        blocks = np.moveaxis(x, axis, -1).reshape(-1, 4 if axis else 2, 32)
        error = np.moveaxis(values - x, axis, -1).reshape(blocks.shape)
        amax = np.max(np.abs(blocks), axis=-1, keepdims=True)
        assert np.all(np.abs(error) <= amax / 16)


def test_input_layouts():
    x = np.random.default_rng(6).standard_normal((64, 64)).astype(np.float32)
    expected = mx.quantize(np.ascontiguousarray(x.T[::2]))
    for got, want in zip(mx.quantize(x.T[::2]), expected):
        assert np.array_equal(got, want)
    repeated = np.broadcast_to(x[0], (8, 64))  # stride 0
    codes, _ = mx.quantize(repeated)
    assert np.array_equal(codes, np.broadcast_to(codes[0], (8, 64)))


def test_bad_arguments():
    x = np.zeros(32, dtype=np.float32)
    with pytest.raises(ValueError, match="unknown format 'e9m9'"):
        mx.quantize(x, "e9m9")
    with pytest.raises(ValueError, match="unknown rule 'up'"):
        mx.quantize(x, rule="up")
    with pytest.raises(ValueError, match="do not fit codes of shape"):
        mx.dequantize(np.zeros((2, 64), np.uint8), np.zeros((2, 1), np.uint8))


def test_nvfp4_round_trip():
    rng = np.random.default_rng(7)
    x = rng.standard_normal((16, 64)) * np.exp2(rng.integers(-4, 5, (16, 1)))
    x = x.astype(np.float32)
    codes, scales, global_scale = mx.quantize_nvfp4(x)
    assert scales.shape == (16, 4)
    assert global_scale == np.float32(2688) / np.max(np.abs(x))
    assert np.max(scales) == 0x7E  # the largest block's scale is 448
    values = mx.dequantize_nvfp4(codes, scales, global_scale)
    amax = np.max(np.abs(x.reshape(16, 4, 16)), axis=-1)
    error = np.abs((values - x).reshape(16, 4, 16))
    # Half of E2M1's largest step, 1 of 6, and a scale rounded by 1/16.
    assert np.all(error <= amax[..., None] * (1 / 6 + 1 / 16))


def test_nvfp4_special_blocks():
    x = np.zeros(64, dtype=np.float32)
    x[16] = -0.0
    x[32] = np.nan
    x[48] = 3
    codes, scales, global_scale = mx.quantize_nvfp4(x)
    assert scales.tolist() == [0, 0, 0x7F, 0x7E]
    assert codes[16] == 8 and np.all(codes[32:48] == 7) and codes[48] == 7
    values = mx.dequantize_nvfp4(codes, scales, global_scale)
    assert np.all(values[:32] == 0) and np.all(np.isnan(values[32:48]))
    assert values[48] == 3
    codes, scales, global_scale = mx.quantize_nvfp4(np.zeros(16))
    assert global_scale == 1 and scales.tolist() == [0] and not codes.any()


@pytest.mark.parametrize("rows", [1, 16, 17, 128, 129, 300])
@pytest.mark.parametrize("groups", [1, 3, 4, 5, 47])
def test_blocked_layout(rows, groups):
    scales = np.random.default_rng(8).integers(1, 255, (2, rows, groups))
    scales = scales.astype(np.uint8)
    blocked = mx.pack_scales(scales)
    tiles = -(-groups // 4)
    assert blocked.shape == (2, -(-rows // 128), tiles, 32, 4, 4)
    for b in range(2):  # padding restarts with every matrix of a batch
        flat = blocked[b].ravel()
        m, k = np.meshgrid(np.arange(rows), np.arange(groups), indexing="ij")
        offset = ((m // 128 * tiles + k // 4) * 512 + m % 32 * 16
                  + m % 128 // 32 * 4 + k % 4)
        assert np.array_equal(flat[offset], scales[b])
        assert np.count_nonzero(flat) == rows * groups  # the rest is 0
    assert np.array_equal(mx.unpack_scales(blocked, rows, groups), scales)
    poisoned = mx.pack_scales(scales, fill=255)
    assert np.array_equal(mx.unpack_scales(poisoned, rows, groups), scales)


def test_pack_fp4():
    codes = np.arange(16, dtype=np.uint8).reshape(2, 8)
    packed = mx.pack_fp4(codes)
    assert packed[0].tolist() == [0x10, 0x32, 0x54, 0x76]
    assert np.array_equal(mx.unpack_fp4(packed), codes)
    with pytest.raises(ValueError, match="not divisible by 2"):
        mx.pack_fp4(codes[:, :7])


def test_pack_fp6():
    codes = np.arange(64, dtype=np.uint8).reshape(4, 16)
    packed = mx.pack_fp6(codes)
    # 3, 2, 1, 0 from the top: 000011 000010 000001 000000
    assert packed[0, :3].tolist() == [0b01000000, 0b00100000, 0b00001100]
    assert packed.shape == (4, 12)
    assert np.array_equal(mx.unpack_fp6(packed), codes)
