# ===- matmul.py - Block-scaled matrix products ----------------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""lpfa.matmul in numpy, in float64."""

import numpy as np

from . import mx


def _values(codes, scales, fmt):
    # As float64, which holds every element times every scale.
    blocks = np.repeat(mx.scale_values(scales), mx.BLOCK, axis=-1)
    return mx.decode(codes, fmt).astype(np.float64) * blocks[..., :codes.shape[-1]]


def mx_matmul(a, a_scales, b, b_scales, formats=("e4m3", "e4m3")):
    """A B^T of codes `... x M x K` and `... x N x K` with row-major scales, in
    float64 before its rounding to the result's type."""
    with np.errstate(all="ignore"):
        return _values(a, a_scales, formats[0]) @ np.swapaxes(
            _values(b, b_scales, formats[1]), -1, -2)
