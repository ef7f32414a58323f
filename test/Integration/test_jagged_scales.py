# ===- test_jagged_scales.py - Scales of packed sequences ------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""lpfa.scatter_scales and lpfa.gather_scales on the reference and in the
simulator, and their kernels for each chip with buffers that are guarded and
poisoned."""

import functools
from pathlib import Path

import numpy as np
import pytest

import lpfa
from harness import BIN_DIR, has_simulator, tool
from launcher import launch
from lpfa import mx

SOURCE = Path(__file__).parent / "jagged-scales.mlir"

# Empty sequences first, last and in a row; two of 256 rows, which a layout
# over the whole packed extent would get wrong; one; none.
LENGTHS = [(0, 1, 127, 128, 129, 0), (256, 256), (300,), (), (0, 0),
           (33, 0, 0, 1, 500)]

DEVICES = pytest.mark.parametrize("device", ["reference", "sim"])


def run(device, entry, *args):
    tool("lpfa-run")
    if device == "sim" and not has_simulator():
        pytest.skip("this lpfa-run has no simulator")
    return lpfa.run(SOURCE, entry, list(args), device=device, bin_dir=BIN_DIR)


def offsets_of(lengths):
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)


def random_bytes(shape, seed=0):
    return np.random.default_rng(seed).integers(1, 256, shape, dtype=np.uint8)


@DEVICES
@pytest.mark.parametrize("groups", [1, 4, 5])
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_scatter_and_gather(lengths, groups, device):
    offsets = offsets_of(lengths)
    # Two tokens that no sequence owns.
    scales = random_bytes((2, offsets[-1] + 2, groups))
    (blocked,) = run(device, "scatter", scales, offsets)
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
    (back,) = run(device, "gather", poisoned, offsets, scales[0])
    expected = scales.copy()
    expected[:, offsets[-1]:] = 0
    np.testing.assert_array_equal(back, expected)


@DEVICES
@pytest.mark.parametrize("rows", [64, 129])
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_transposed(lengths, rows, device):
    offsets = offsets_of(lengths)
    groups = sum(-(-n // 32) for n in lengths)
    scales = random_bytes((2, groups, rows))
    (blocked,) = run(device, "scatter_transposed", scales, offsets)
    np.testing.assert_array_equal(
        blocked, mx.scatter_scales_transposed(scales, offsets))
    (back,) = run(device, "gather_transposed", blocked, offsets, scales[0])
    np.testing.assert_array_equal(back, scales)


@DEVICES
def test_static_sizes(device):
    offsets = np.array([0, 100, 100, 356, 500], np.int32)
    scales = random_bytes((500, 5))
    (blocked,) = run(device, "scatter_static", scales, offsets)
    np.testing.assert_array_equal(blocked, mx.scatter_scales(scales, offsets))


# Behind 32 sequences, and behind the last tile, too.
FALLING = [*range(40), 38, 40]


@pytest.mark.parametrize("offsets, message", [
    ([0, 5, 4], "the offsets do not rise from 0"),
    ([-1, 3], "the offsets do not rise from 0"),
    ([3, 5], "the offsets do not rise from 0"),
    (FALLING, "the offsets do not rise from 0"),
    ([0, 51], "the sequences end after the packed scales"),
    ([], "there are no offsets")])
@DEVICES
def test_wrong_offsets(offsets, message, device):
    # A kernel sees the offsets themselves when it is there to trap only.
    if device == "sim" and offsets:
        message = "the kernel traps"
    with pytest.raises(lpfa.ToolError, match=message):
        run(device, "scatter", random_bytes((1, 50, 4)),
            np.array(offsets, np.int32))


@DEVICES
def test_blocked_scales_that_do_not_fit(device):
    """Three sequences of a row each take three atoms; five groups two."""
    offsets = np.array([0, 1, 2, 3], np.int32)
    blocked = random_bytes((1, 2, 1, 32, 4, 4))
    message = ("the sequences end after the blocked scales"
               if device == "reference" else "the kernel traps")
    with pytest.raises(lpfa.ToolError, match=message):
        run(device, "gather", blocked, offsets, random_bytes((3, 4)))
    with pytest.raises(lpfa.ToolError, match="expects another size of dimension"):
        run(device, "gather", blocked, offsets[:2], random_bytes((3, 5)))


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """The folder with the kernels for a chip, compiled once."""
    tool("lpfa-compile")

    @functools.cache
    def compile_(chip):
        out = tmp_path_factory.mktemp("kernel")
        lpfa.compile(SOURCE, out, emit=["ptx", "plan"], chip=chip,
                     bin_dir=BIN_DIR)
        return out
    return compile_


def check(out, lengths, groups, stride=0, **options):
    """Both ways, in both orientations. `stride` makes rows longer than they
    are."""
    def simulate(entry, *arrays):
        (result,) = launch(out, entry, arrays, tool("lpfa-sim"), fill=0xA5,
                           options=["--schedule=random"], **options)
        return result

    offsets = offsets_of(lengths)
    tokens = sum(-(-n // 32) for n in lengths)
    for suffix, rows, right in (
            ("", offsets[-1] + 130, mx.scatter_scales),
            ("_transposed", tokens + 9, mx.scatter_scales_transposed)):
        scales = random_bytes((2, rows, groups + stride))[..., :groups]
        blocked = right(scales, offsets)
        np.testing.assert_array_equal(
            simulate(f"scatter{suffix}", scales, offsets), blocked)
        expected = scales.copy()
        expected[:, tokens if suffix else offsets[-1]:] = 0
        poisoned = np.where(blocked == 0, np.uint8(0xFF), blocked)
        np.testing.assert_array_equal(
            simulate(f"gather{suffix}", poisoned, offsets, scales[0]), expected)


# More sequences than a warp has lanes, most of them empty.
MANY = (0, 0, 1, 0, 0, 0, 129) + (0,) * 30 + (33, 0, 0, 1, 0, 128, 0)


@pytest.mark.parametrize("chip", ["sm_90a", "sm_100a", "sm_103a"])
def test_kernels_of_each_chip(chip, compiled):
    check(compiled(chip), LENGTHS[0], 5)


def test_many_sequences(compiled):
    check(compiled("sm_90a"), MANY, 4)


def test_base_off_alignment_and_strides(compiled):
    check(compiled("sm_90a"), (0, 129, 1), 8, stride=3, shift=16)
