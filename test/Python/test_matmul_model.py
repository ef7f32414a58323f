# ===- test_matmul_model.py - Block-scaled products in numpy ---------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#

from fractions import Fraction

import numpy as np

from lpfa import mx
from lpfa.matmul import mx_matmul


def test_against_exact_sums():
    rng = np.random.default_rng(0)
    a, sa = mx.quantize(rng.standard_normal((2, 3, 70)), "e4m3")
    b, sb = mx.quantize(rng.standard_normal((2, 4, 70)), "e5m2")
    d = mx_matmul(a, sa, b, sb, ("e4m3", "e5m2"))
    x, y = mx.decode(a, "e4m3"), mx.decode(b, "e5m2")
    for g, m, n in np.ndindex(d.shape):
        total = sum(Fraction(float(x[g, m, k])) * Fraction(float(y[g, n, k]))
                    * Fraction(2) ** (int(sa[g, m, k // 32]) + int(sb[g, n, k // 32]) - 254)
                    for k in range(70))
        assert abs(Fraction(float(d[g, m, n])) - total) <= abs(total) * Fraction(1, 10**12)


def test_scales_at_the_ends_of_their_range():
    """448 * 2^127 is no f32, and a scale of 255 is NaN."""
    code = np.full((1, 1), 0x7E, np.uint8)
    high, low, nan = (np.full((1, 1), s, np.uint8) for s in (254, 0, 255))
    assert mx_matmul(code, high, code, low)[0, 0] == 448.0**2
    assert np.isnan(mx_matmul(code, nan, code, low)[0, 0])


def test_an_empty_sum_is_zero():
    a, s = np.zeros((2, 0), np.uint8), np.zeros((2, 0), np.uint8)
    assert mx_matmul(a, s, a, s).tolist() == [[0, 0], [0, 0]]
