# ===- test_metrics.py - Tests of lpfa.metrics -----------------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#

import numpy as np
import pytest

from lpfa import metrics


def test_values():
    reference = np.array([3.0, 4.0])
    result = np.array([3.0, 4.5])
    assert metrics.max_abs_error(result, reference) == 0.5
    assert metrics.rmse(result, reference) == pytest.approx(0.5 / 2**0.5)
    assert metrics.sqnr_db(result, reference) == pytest.approx(20.0)
    assert metrics.cosine(2 * reference, reference) == pytest.approx(1.0)
    assert metrics.cosine([1, 0], [0, 1]) == 0
    assert set(metrics.summary(result, reference)) == {
        "max_abs_error", "rmse", "sqnr_db", "cosine"}


def test_special_values():
    assert metrics.sqnr_db([1, 2], [1, 2]) == np.inf
    assert metrics.max_abs_error([-np.inf, 1], [-np.inf, 1]) == 0
    assert metrics.max_abs_error([-np.inf], [1]) == np.inf
    assert np.isnan(metrics.max_abs_error([np.nan], [1]))
    assert np.isnan(metrics.sqnr_db([np.nan], [1]))
    assert metrics.max_abs_error([], []) == 0 and metrics.rmse([], []) == 0
    with pytest.raises(ValueError, match="differ in size"):
        metrics.rmse([1], [1, 2])
