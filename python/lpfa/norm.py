# ===- norm.py - Normalization of rows -------------------------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""lpfa.rms_norm in numpy, to the bit: its order of summation is part of its
meaning."""

import numpy as np

_PARTIAL_SUMS = 1024
_NEIGHBORS = 8


def fma(a, b, c):
    """a * b + c of float32 arrays, rounded once."""
    # A product of two float32 is exact in float64, the sum is not: rounding it
    # to odd first makes the second rounding, to float32, the only one that
    # counts (Boldo and Melquiond, "Emulation of FMA and correctly rounded
    # sums", 2008).
    product = np.float64(a) * np.float64(b)
    c = np.float64(c)
    total = product + c
    virtual = total - product
    error = (product - (total - virtual)) + (c - virtual)
    bits = total.view(np.int64)
    inexact = np.isfinite(total) & (error != 0) & (bits & 1 == 0)
    away = (error > 0) == (total > 0)
    odd = np.where(inexact, bits + np.where(away, 1, -1), bits)
    return odd.view(np.float64).astype(np.float32)


def sum_squares(x):
    """The sum of the squares of each row of a float32 array."""
    rows, width = x.shape
    chunk = _PARTIAL_SUMS * _NEIGHBORS
    chunks = -(-width // chunk)
    padded = np.zeros((rows, chunks * chunk), np.float32)
    padded[:, :width] = x
    padded = padded.reshape(rows, chunks, _PARTIAL_SUMS, _NEIGHBORS)
    sums = np.zeros((rows, _PARTIAL_SUMS), np.float32)
    for part in padded.swapaxes(0, 1):
        for i in range(_NEIGHBORS):
            # A padding of zeros leaves sums as they are.
            sums = fma(part[:, :, i], part[:, :, i], sums)
    while sums.shape[1] > 1:
        half = sums.shape[1] // 2
        sums = sums[:, :half] + sums[:, half:]
    return sums[:, 0]


def rms_norm(x, weight, epsilon):
    """The rows of x divided by their root mean squares, times the weight, in
    float32 before its rounding to the output's type; and rstd."""
    x = np.asarray(x).astype(np.float32)
    shape = x.shape
    x = x.reshape(-1, shape[-1])
    with np.errstate(all="ignore"):
        mean = sum_squares(x) / np.float32(shape[-1])
        rstd = np.float32(1) / np.sqrt(mean + np.float32(epsilon))
        y = (x * rstd[:, None]) * np.asarray(weight).astype(np.float32)
    return y.reshape(shape), rstd.reshape(shape[:-1])
