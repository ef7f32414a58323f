# ===- metrics.py - Measures of error --------------------------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""Measures of the distance between a result and its reference.

All sums are taken in float64. A NaN in either array, or an infinity that the
other array does not share, shows in the measure; equal infinities count as
equal and are left out.
"""

import numpy as np


def _pair(result, reference):
    result = np.asarray(result, dtype=np.float64).ravel()
    reference = np.asarray(reference, dtype=np.float64).ravel()
    if result.shape != reference.shape:
        raise ValueError("result and reference differ in size")
    differ = ~(np.isinf(result) & (result == reference))
    return result[differ], reference[differ]


def max_abs_error(result, reference):
    """Largest |result - reference|; 0 for empty arrays."""
    result, reference = _pair(result, reference)
    return float(np.max(np.abs(result - reference), initial=0.0))


def rmse(result, reference):
    """Root of the mean squared error; 0 for empty arrays."""
    result, reference = _pair(result, reference)
    if result.size == 0:
        return 0.0
    return float(np.sqrt(np.mean((result - reference) ** 2)))


def sqnr_db(result, reference):
    """Signal to quantization noise ratio, 10 log10(|ref|^2 / |error|^2).

    Infinite when the arrays are equal."""
    result, reference = _pair(result, reference)
    noise = np.sum((result - reference) ** 2)
    signal = np.sum(reference**2)
    if noise == 0:
        return float("inf")
    with np.errstate(divide="ignore"):
        return float(10 * np.log10(signal / noise))


def cosine(result, reference):
    """Cosine of the angle between the arrays; 1 when both are zero."""
    result, reference = _pair(result, reference)
    norms = np.linalg.norm(result) * np.linalg.norm(reference)
    if norms == 0:
        return float(np.array_equal(result, reference))
    return float(result @ reference / norms)


def summary(result, reference):
    """All four measures by name."""
    measures = (max_abs_error, rmse, sqnr_db, cosine)
    return {m.__name__: m(result, reference) for m in measures}
