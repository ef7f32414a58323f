# ===- test_rms_norm.py - lpfa.rms_norm against lpfa.norm ------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""rms-norm.mlir on the reference device against lpfa.norm, to the bit."""

from fractions import Fraction
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import lpfa
from harness import BIN_DIR, tool
from lpfa import mx, norm

SOURCE = Path(__file__).parent / "rms-norm.mlir"
BF16 = ml_dtypes.bfloat16


def run(entry, *args):
    tool("lpfa-run")
    return lpfa.run(SOURCE, entry, list(args), bin_dir=BIN_DIR)


def bits(x):
    return np.asarray(x).view({2: np.uint16, 4: np.uint32}[x.dtype.itemsize])


def sample(shape, seed=0):
    """Normal numbers whose columns differ by powers of two."""
    rng = np.random.default_rng(seed)
    scale = np.exp2(rng.integers(-12, 13, shape[-1]))
    return (rng.standard_normal(shape) * scale).astype(np.float32)


# Rows shorter and longer than a vector, than all partial sums once, and twice.
@pytest.mark.parametrize("shape", [(3, 1), (2, 7), (5, 31), (4, 33), (3, 1000),
                                   (2, 1152), (2, 8192), (2, 8193), (1, 65537),
                                   (0, 64)], ids=str)
def test_bf16(shape):
    x, w = sample(shape).astype(BF16), sample(shape[-1:], seed=1).astype(BF16)
    (y,) = run("rms_norm", bits(x), bits(w))
    expected, _ = norm.rms_norm(x, w, np.float32(1e-6))
    np.testing.assert_array_equal(bits(y), bits(expected.astype(BF16)))


@pytest.mark.parametrize("shape", [(3, 33), (2, 1000), (1, 20000)], ids=str)
def test_f32_weight_and_rstd(shape):
    x, w = sample(shape).astype(BF16), sample(shape[-1:], seed=1)
    y, rstd = run("rms_norm_rstd", bits(x), w)
    expected, expected_rstd = norm.rms_norm(x, w, np.float32(1e-5))
    np.testing.assert_array_equal(bits(y), bits(expected))
    np.testing.assert_array_equal(bits(rstd), bits(expected_rstd))
    exact = 1 / np.sqrt((np.float64(x) ** 2).mean(axis=1) + 1e-5)
    np.testing.assert_allclose(rstd, exact, rtol=1e-6)


def test_batches_and_f16():
    x, w = sample((2, 5, 96)), sample((96,), seed=1).astype(np.float16)
    y, rstd = run("rms_norm_batches", x, w)
    expected, expected_rstd = norm.rms_norm(x, w, np.float32(0))
    np.testing.assert_array_equal(bits(y), bits(expected.astype(np.float16)))
    np.testing.assert_array_equal(bits(rstd), bits(expected_rstd))


def test_vector():
    x, w = sample((40,)), sample((40,), seed=1)
    y, rstd = run("rms_norm_vector", x, w)
    expected, expected_rstd = norm.rms_norm(x, w, np.float32(1e-6))
    np.testing.assert_array_equal(bits(y), bits(expected))
    assert rstd == expected_rstd


def test_special_rows():
    """Zeros stay zeros with their signs; what is not finite spreads in a row."""
    x = np.array([[0, -0.0, 0, 0], [1, np.nan, 2, 3], [1, np.inf, -2, 0],
                  [3e38, 3e38, 1, 0], [1e-30, -1e-30, 0, 0]], np.float32)
    w = np.ones(4, np.float32)
    y, rstd = run("rms_norm_rstd", bits(x.astype(BF16)), w)
    expected, expected_rstd = norm.rms_norm(x.astype(BF16), w, np.float32(1e-5))
    np.testing.assert_array_equal(np.isnan(y), np.isnan(expected))
    finite = ~np.isnan(expected)
    np.testing.assert_array_equal(bits(y)[finite], bits(expected)[finite])
    assert bits(y[0]).tolist() == [0, 0x80000000, 0, 0]
    assert np.isnan(y[1]).all() and np.isnan(y[2, 1]) and y[2, 0] == 0
    assert rstd[3] == 0 and np.isfinite(y[4]).all()


def test_weight_of_another_size():
    with pytest.raises(lpfa.ToolError, match="another size of dimension 0 of the weight"):
        run("rms_norm", bits(sample((2, 8)).astype(BF16)), bits(sample((9,)).astype(BF16)))


def test_fma_rounds_once():
    """norm.fma against exact rational arithmetic, near ties above all."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal(2000).astype(np.float32)
    b = (rng.standard_normal(2000) * np.exp2(rng.integers(-30, 1, 2000))).astype(np.float32)
    c = rng.standard_normal(2000).astype(np.float32)
    # A product just off half a unit in the last place of c.
    a[:1000] = 1 + np.exp2(-rng.integers(1, 24, 1000).astype(np.float64))
    b[:1000] = np.spacing(c[:1000]) / 2
    for x, y, z, r in zip(a, b, c, norm.fma(a, b, c)):
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        error = abs(Fraction(float(r)) - exact)
        for other in (np.nextafter(r, np.float32(-9)), np.nextafter(r, np.float32(9))):
            distance = abs(Fraction(float(other)) - exact)
            assert error < distance or (
                error == distance and not bits(np.float32(r)) & 1)


def backward_operands(shape, dtypes=(BF16, BF16, np.float32)):
    """dy, x, the weight and the rstd of the forward pass."""
    dy, x = sample(shape, seed=2), sample(shape)
    w = sample(shape[-1:], seed=1)
    dy, x, w = (a.astype(t) for a, t in zip((dy, x, w), dtypes))
    return dy, x, w, norm.rms_norm(x, w, np.float32(1e-6))[1]


# Of each width also more rows than there are partial sums of a column.
@pytest.mark.parametrize("shape", [(1, 1), (3, 33), (7, 1000), (6145, 2),
                                   (3073, 513), (1540, 1025), (770, 2049),
                                   (386, 4097), (258, 8193), (130, 16385),
                                   (58, 32769), (0, 64)], ids=str)
def test_backward(shape):
    dy, x, w, rstd = backward_operands(shape)
    dx, dw = run("backward", bits(dy), bits(x), w, rstd)
    expected_dx, expected_dw = norm.rms_norm_backward(dy, x, w, rstd)
    np.testing.assert_array_equal(bits(dx), bits(expected_dx.astype(BF16)))
    np.testing.assert_array_equal(bits(dw), bits(expected_dw))


def test_backward_of_batches():
    shape = (2, 5, 3, 96)
    dy, x, w, rstd = backward_operands(shape, (np.float32, np.float16, BF16))
    dx, dw = run("backward_batches", dy, x, bits(w), rstd)
    expected_dx, expected_dw = norm.rms_norm_backward(dy, x, w, rstd)
    np.testing.assert_array_equal(bits(dx), bits(expected_dx))
    np.testing.assert_array_equal(bits(dw), bits(expected_dw.astype(BF16)))


def test_backward_of_a_vector():
    dy, x, w, rstd = backward_operands((50,), (np.float32,) * 3)
    dx, dw = run("backward_vector", dy, x, w, rstd)
    expected_dx, expected_dw = norm.rms_norm_backward(dy, x, w, rstd)
    np.testing.assert_array_equal(bits(dx), bits(expected_dx))
    np.testing.assert_array_equal(bits(dw), bits(expected_dw))


def test_backward_of_a_quantized_gradient():
    dy, x, w, rstd = backward_operands((40, 100), (np.float32, BF16, BF16))
    codes, scales = mx.quantize(dy, "e5m2")
    dx, dw = run("backward_quantized", codes, scales, bits(x), bits(w), rstd)
    dy = mx.dequantize(codes, scales, "e5m2").astype(np.float32)
    expected_dx, expected_dw = norm.rms_norm_backward(dy, x, w, rstd)
    np.testing.assert_array_equal(bits(dx), bits(expected_dx.astype(BF16)))
    np.testing.assert_array_equal(bits(dw), bits(expected_dw))


def test_gradients_are_those_of_the_function():
    """Against differences of the forward pass in float64."""
    dy, x, w, rstd = (a.astype(np.float64) for a in backward_operands(
        (3, 20), (np.float32,) * 3))
    x, w = x / np.max(np.abs(x), -1, keepdims=True), w / np.max(np.abs(w))

    def loss(x, w):
        return np.sum(dy * x / np.sqrt((x**2).mean(-1, keepdims=True)) * w)

    rstd = 1 / np.sqrt((x**2).mean(-1))
    dx, dw = norm.rms_norm_backward(dy, x, w, rstd.astype(np.float32))
    for gradient, array in ((dx, x), (dw, w)):
        differences = np.zeros(array.shape)
        for i in np.ndindex(array.shape):
            step = np.zeros(array.shape)
            step[i] = 1e-6
            arguments = [(a + s * step if a is array else a) for s in (1, -1)
                         for a in (x, w)]
            differences[i] = (loss(*arguments[:2]) - loss(*arguments[2:])) / 2e-6
        scale = np.max(np.abs(differences))
        assert np.max(np.abs(gradient - differences)) <= 1e-4 * scale


def test_backward_sizes_that_do_not_fit():
    dy, x, w, rstd = backward_operands((4, 64))
    for name, arguments in (
            ("dy", (dy[:3], x, w, rstd)), ("the weight", (dy, x, w[:5], rstd)),
            ("rstd", (dy, x, w, rstd[:2]))):
        dy_, x_, w_, rstd_ = arguments
        with pytest.raises(lpfa.ToolError, match=f"of {name}"):
            run("backward", bits(dy_), bits(x_), w_, rstd_)
