# ===- norm.py - Normalization of rows -------------------------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""lpfa.rms_norm and lpfa.rms_norm_backward in numpy, to the bit: the orders of
summation are part of their meaning."""

import numpy as np

_PARTIAL_SUMS = 1024
_NEIGHBORS = 8
_COLUMN_SUMS = 256
_COLUMN_SUM_NEIGHBORS = 64

# Up to a width: rows of a group, and groups of partial sums.
_GROUPS = ((512, (8, 768)), (1024, (8, 384)), (2048, (4, 384)),
           (4096, (2, 384)), (8192, (1, 384)), (16384, (1, 256)),
           (32768, (1, 128)), (None, (1, 56)))


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


def _add_halves(sums):
    """Of the last dimension, a power of two, until one is left."""
    while sums.shape[-1] > 1:
        half = sums.shape[-1] // 2
        sums = sums[..., :half] + sums[..., half:]
    return sums[..., 0]


def sum_products(x, y):
    """The sum of the products of each row of two float32 arrays."""
    rows, width = x.shape
    chunk = _PARTIAL_SUMS * _NEIGHBORS
    chunks = -(-width // chunk)

    def pad(x):
        padded = np.zeros((rows, chunks * chunk), np.float32)
        padded[:, :width] = x
        return padded.reshape(rows, chunks, _PARTIAL_SUMS, _NEIGHBORS)

    sums = np.zeros((rows, _PARTIAL_SUMS), np.float32)
    for a, b in zip(pad(x).swapaxes(0, 1), pad(y).swapaxes(0, 1)):
        for i in range(_NEIGHBORS):
            # A padding of zeros leaves sums as they are.
            sums = fma(a[:, :, i], b[:, :, i], sums)
    return _add_halves(sums)


def rms_norm(x, weight, epsilon):
    """The rows of x divided by their root mean squares, times the weight, in
    float32 before its rounding to the output's type; and rstd."""
    x = np.asarray(x).astype(np.float32)
    shape = x.shape
    x = x.reshape(-1, shape[-1])
    with np.errstate(all="ignore"):
        mean = sum_products(x, x) / np.float32(shape[-1])
        rstd = np.float32(1) / np.sqrt(mean + np.float32(epsilon))
        y = (x * rstd[:, None]) * np.asarray(weight).astype(np.float32)
    return y.reshape(shape), rstd.reshape(shape[:-1])


def _sum_columns(dy, n):
    """The sums of dy * n over all rows of two float32 arrays, of rank 2 or
    more."""
    rows, width = dy.shape[-2:]
    neighbors, groups = next(
        v for w, v in _GROUPS if w is None or width <= w)

    def group(a):
        # A padding of zeros changes no sum but the sign of a zero, which the
        # last sums lose.
        missing = -rows % neighbors
        a = a.reshape(-1, rows, width) if rows else a.reshape(0, 0, width)
        a = np.pad(a, [(0, 0), (0, missing), (0, 0)])
        return a.reshape(-1, neighbors, width)

    dy, n = group(dy), group(n)
    partial = np.zeros((groups, neighbors, width), np.float32)
    for first in range(0, len(dy), groups):
        part = slice(first, first + groups)
        count = len(dy[part])
        partial[:count] = fma(dy[part], n[part], partial[:count])
    partial = partial.reshape(-1, width)
    sums = np.zeros((_COLUMN_SUMS, width), np.float32)
    for first in range(0, len(partial), _COLUMN_SUMS):
        part = partial[first:first + _COLUMN_SUMS]
        sums[:len(part)] += part
    return _add_halves(_add_halves(
        sums.T.reshape(width, -1, _COLUMN_SUM_NEIGHBORS)))


def rms_norm_backward(dy, x, weight, rstd):
    """The gradients of x and of the weight, in float32 before their rounding to
    the results' types."""
    shape = np.shape(x)
    width = shape[-1]
    dy, x = (np.asarray(a).astype(np.float32).reshape(-1, width)
             for a in (dy, x))
    weight = np.asarray(weight).astype(np.float32)
    factors = np.asarray(rstd).reshape(-1, 1)
    with np.errstate(all="ignore"):
        n, g = x * factors, dy * weight
        c = sum_products(g, n) / np.float32(width)
        dx = fma(-c[:, None], n, g) * factors
        matrices = shape if len(shape) > 1 else (1, width)
        dweight = _sum_columns(*(a.reshape(matrices) for a in (dy, n)))
    return dx.reshape(shape), dweight
