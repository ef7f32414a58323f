# ===- test_jagged_scales.py - Scales of packed sequences ------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""lpfa.scatter_scales and lpfa.gather_scales on the reference device."""

from pathlib import Path

import numpy as np
import pytest

import lpfa
from harness import BIN_DIR, tool
from lpfa import mx

SOURCE = Path(__file__).parent / "jagged-scales.mlir"

# Empty sequences first, last and in a row; two of 256 rows, which a layout
# over the whole packed extent would get wrong; one; none.
LENGTHS = [(0, 1, 127, 128, 129, 0), (256, 256), (300,), (), (0, 0),
           (33, 0, 0, 1, 500)]


def run(entry, *args):
    tool("lpfa-run")
    return lpfa.run(SOURCE, entry, list(args), bin_dir=BIN_DIR)


def offsets_of(lengths):
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)


def random_bytes(shape, seed=0):
    return np.random.default_rng(seed).integers(1, 256, shape, dtype=np.uint8)


@pytest.mark.parametrize("groups", [1, 4, 5])
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_scatter_and_gather(lengths, groups):
    offsets = offsets_of(lengths)
    # Two tokens that no sequence owns.
    scales = random_bytes((2, offsets[-1] + 2, groups))
    (blocked,) = run("scatter", scales, offsets)
    np.testing.assert_array_equal(blocked, mx.scatter_scales(scales, offsets))

    # Where each byte lies, by the layout's own formula.
    atoms = np.concatenate([[0], np.cumsum([-(-n // 128) for n in lengths])])
    flat = blocked.reshape(2, -1)
    for g, length in enumerate(lengths):
        for m in {0, 31, 32, 127, 128, length - 1} & set(range(length)):
            for k in range(groups):
                offset = (((atoms[g] + m // 128) * -(-groups // 4) + k // 4) * 512
                          + m % 32 * 16 + m % 128 // 32 * 4 + k % 4)
                np.testing.assert_array_equal(
                    flat[:, offset], scales[:, offsets[g] + m, k])
    assert np.count_nonzero(blocked) == 2 * offsets[-1] * groups

    # And back, from a copy whose padding holds anything.
    poisoned = np.where(blocked == 0, np.uint8(0xFF), blocked)
    (back,) = run("gather", poisoned, offsets, scales[0])
    expected = scales.copy()
    expected[:, offsets[-1]:] = 0
    np.testing.assert_array_equal(back, expected)


@pytest.mark.parametrize("rows", [64, 129])
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_transposed(lengths, rows):
    offsets = offsets_of(lengths)
    groups = sum(-(-n // 32) for n in lengths)
    scales = random_bytes((2, groups, rows))
    (blocked,) = run("scatter_transposed", scales, offsets)
    np.testing.assert_array_equal(
        blocked, mx.scatter_scales_transposed(scales, offsets))
    (back,) = run("gather_transposed", blocked, offsets, scales[0])
    np.testing.assert_array_equal(back, scales)


def test_static_sizes():
    offsets = np.array([0, 100, 100, 356, 500], np.int32)
    scales = random_bytes((500, 5))
    (blocked,) = run("scatter_static", scales, offsets)
    np.testing.assert_array_equal(blocked, mx.scatter_scales(scales, offsets))


@pytest.mark.parametrize("offsets, message", [
    ([0, 5, 4], "the offsets do not rise from 0"),
    ([-1, 3], "the offsets do not rise from 0"),
    ([0, 11], "the sequences end after the packed scales"),
    ([], "there are no offsets")])
def test_wrong_offsets(offsets, message):
    with pytest.raises(lpfa.ToolError, match=message):
        run("scatter", random_bytes((1, 10, 4)), np.array(offsets, np.int32))
