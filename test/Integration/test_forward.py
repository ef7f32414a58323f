# ===- test_forward.py - Forward attention on every device -----------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""lpfa.attention on the reference and in the simulator against lpfa.attention
of Python, over a covering set of sizes and options."""

from pathlib import Path

import numpy as np
import pytest

from harness import (CAUSAL, CAUSAL_TOP_LEFT, ORDERS, Case, assert_same_bits,
                     check_against_expected, check_reference, exact, operands,
                     run, run_orders, wide_operands, widen)
from lpfa import metrics, mx
from lpfa.attention import Mask, PScale, mx_attention

FORWARD = Path(__file__).parent / "attention-forward.mlir"

WINDOW = Mask("sliding_window", "bottom_right", left=100, right=0)
WINDOW_BOTH = Mask("sliding_window", "bottom_right", left=37, right=70)
WINDOW_TOP_LEFT = Mask("sliding_window", "top_left", left=64)
BLOCK_MAX = PScale("block_max")
CONSTANT = PScale("constant")
GROUPED = dict(heads=4, kv_heads=2)
ONE_KV_HEAD = dict(heads=4, kv_heads=1)
E5M2 = ("e5m2", "e5m2", "e5m2")

# Every length as a number of queries and of keys, every mask with every mode,
# and every other option with several of each.
CASES = [
    # One query tile and many, tails of both.
    Case(1, 1),
    Case(1, 1024),
    Case(127, 128, dim=64),
    Case(128, 127),
    Case(128, 129, p_scale=BLOCK_MAX),
    Case(129, 256, dim=64, p_scale=CONSTANT),
    Case(256, 500),
    Case(500, 256, dim=64),
    Case(1024, 1, dim=64),
    Case(256, 1024, dim=64, p_scale=BLOCK_MAX),
    Case(1024, 129, scale_spread=8),
    Case(256, 256, scale_spread=8, batch=2, heads=2, kv_heads=2),
    # Causal, with lengths that differ either way.
    Case(256, 256, mask=CAUSAL),
    Case(256, 256, dim=64, mask=CAUSAL_TOP_LEFT, p_scale=BLOCK_MAX),
    Case(128, 500, mask=CAUSAL, p_scale=CONSTANT),
    Case(500, 129, mask=CAUSAL),  # 371 rows that see no key, one that sees one
    Case(500, 129, mask=CAUSAL_TOP_LEFT, dim=64),
    Case(129, 500, mask=CAUSAL_TOP_LEFT, p_scale=CONSTANT),
    Case(127, 256, dim=64, mask=CAUSAL, p_scale=BLOCK_MAX, **GROUPED),
    # Sliding windows.
    Case(256, 256, mask=WINDOW),
    Case(128, 500, dim=64, mask=WINDOW_BOTH, p_scale=BLOCK_MAX),
    Case(500, 256, mask=WINDOW_BOTH, p_scale=CONSTANT),
    Case(256, 127, dim=64, mask=WINDOW_TOP_LEFT),
    # Heads and batches.
    Case(128, 256, batch=2, **GROUPED),
    Case(129, 127, dim=64, batch=2, p_scale=CONSTANT, **ONE_KV_HEAD),
    Case(127, 129, batch=2, mask=CAUSAL, **ONE_KV_HEAD),
    # Formats, of the operands and of P.
    Case(128, 256, formats=E5M2),
    Case(128, 256, dim=64, formats=("e4m3", "e5m2", "e4m3"), p_scale=BLOCK_MAX),
    Case(128, 256, formats=("e5m2", "e4m3", "e5m2"), mask=CAUSAL),
    Case(128, 256, p_scale=PScale(format="e5m2")),
    Case(128, 256, dim=64, formats=E5M2, mask=WINDOW,
         p_scale=PScale("constant", format="e5m2")),
    # Roundings of P's scales, lag.
    Case(128, 256, p_scale=PScale(rounding="floor")),
    Case(128, 256, dim=64, p_scale=PScale(rounding="ceil"), mask=CAUSAL),
    Case(128, 256, p_scale=PScale("block_max", "floor")),
    Case(128, 256, p_scale=PScale("constant", lag=2)),
    # Types of O, layouts of scales, sizes in the types.
    Case(128, 256, output="bf16"),
    Case(129, 128, dim=64, output="f16", mask=CAUSAL),
    Case(129, 129, blocked=True, **GROUPED),
    Case(256, 500, dim=64, blocked=True, static=True),
    Case(128, 256, static=True, output="bf16"),
    # Peaked rows: the largest P matters, and its repair.
    Case(128, 256, peak=12),
    Case(128, 256, dim=64, peak=12, p_scale=BLOCK_MAX),
    Case(129, 500, peak=12, p_scale=CONSTANT, mask=CAUSAL),
    # Head dimensions that are no power of two, and of two panels.
    Case(129, 300, dim=96, mask=CAUSAL),
    Case(128, 161, dim=96, output="bf16", p_scale=BLOCK_MAX),
    Case(129, 300, dim=192, value_dim=128, mask=CAUSAL, **GROUPED),
    Case(128, 200, dim=192, value_dim=128, blocked=True, p_scale=CONSTANT),
    Case(257, 130, dim=256, mask=CAUSAL, output="bf16"),
    Case(100, 300, dim=256, formats=E5M2, blocked=True, static=True),
    Case(65, 70, dim=16, value_dim=48),
    Case(130, 257, dim=32, value_dim=240, mask=WINDOW_BOTH),
    Case(130, 140, dim=80, output="f16"),
    Case(64, 129, dim=160, value_dim=112, scale_spread=8),
]

# What the kernels do not do yet.
REFERENCE_CASES = [
    Case(128, 256, formats=("e2m3", "e3m2", "e2m1")),
    Case(128, 256, dim=64, formats=("e2m1", "e2m1", "e3m2"), mask=CAUSAL),
    Case(128, 256, p_scale=PScale(format="e2m3")),
    Case(65, 70, dim=40),
    Case(40, 33, dim=288),
    Case(261, 259, dim=64, heads=2, offsets_q=(0, 3, 3, 131, 258),
         offsets_k=(0, 1, 2, 130, 259)),
    Case(257, 256, dim=64, mask=CAUSAL, offsets_q=(0, 127, 127, 255, 256),
         offsets_k=(0, 129, 129, 256, 256)),
]


@pytest.mark.parametrize("case", CASES + REFERENCE_CASES, ids=str)
def test_reference(case):
    check_reference(case, *run(case, "reference"))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_simulator(case):
    """Right, and the same to the bit in whatever order asynchronous work is
    done."""
    results = run_orders(case, ORDERS)
    check_against_expected(case, *results[0])
    for order, result in zip(ORDERS[1:], results[1:]):
        assert_same_bits(result, results[0], str(order))


HANDLES = {
    "attention_forward": Case(129, 160, output="bf16"),
    "attention_forward_f32": Case(129, 160, batch=2),
    "attention_forward_causal": Case(129, 160, output="bf16", mask=CAUSAL),
    "attention_forward_constant": Case(129, 160, output="bf16",
                                       p_scale=CONSTANT),
    "attention_forward_d64": Case(129, 160, dim=64, output="bf16", **GROUPED),
}


@pytest.mark.parametrize("device", ["reference", "sim"])
@pytest.mark.parametrize("entry", list(HANDLES))
def test_handles(entry, device):
    """The functions of attention-forward.mlir."""
    case = HANDLES[entry]
    check_against_expected(case, *run(case, device, entry=entry,
                                      source=FORWARD))


def v_values(case):
    return mx.dequantize(*operands(case)[4:6], case.formats[2], axis=-2)


ONE_KEY_CASES = [
    Case(40, 1, dim=64),
    Case(40, 1, p_scale=BLOCK_MAX),
    Case(40, 1, p_scale=CONSTANT, peak=4),
    Case(40, 1, p_scale=PScale(rounding="ceil"), output="bf16"),
    Case(40, 1, formats=E5M2, p_scale=PScale(rounding="floor", format="e5m2")),
]


@pytest.mark.parametrize("device", ["reference", "sim"])
@pytest.mark.parametrize("case", ONE_KEY_CASES, ids=str)
def test_one_visible_key(case, device):
    o, _ = run(case, device)
    v = np.broadcast_to(v_values(case), o.shape)
    np.testing.assert_array_equal(widen(o, case), v)


@pytest.mark.parametrize("device", ["reference", "sim"])
@pytest.mark.parametrize("p_scale", [PScale(), BLOCK_MAX, CONSTANT])
def test_rows_of_a_causal_mask(device, p_scale):
    """300 queries on 129 keys: no visible key, one, and more."""
    case = Case(300, 129, dim=64, mask=CAUSAL, p_scale=p_scale)
    o, lse = run(case, device)
    assert np.all(o[:, :, :171] == 0) and np.all(np.isneginf(lse[:, :, :171]))
    np.testing.assert_array_equal(o[0, 0, 171], v_values(case)[0, 0, 0])
    assert np.all(np.isfinite(lse[:, :, 171:]))


@pytest.mark.parametrize("device", ["reference", "sim"])
@pytest.mark.parametrize("keys, mask", [(0, Mask()), (5, CAUSAL)])
def test_no_visible_key(device, keys, mask):
    case = Case(5 + keys, keys, dim=64, mask=mask)
    o, lse = run(case, device)
    assert np.all(o[:, :, :5] == 0) and np.all(np.isneginf(lse[:, :, :5]))


@pytest.mark.parametrize("device", ["reference", "sim"])
def test_no_query(device):
    o, lse = run(Case(0, 40, dim=64), device)
    assert o.shape == (1, 1, 0, 64) and lse.shape == (1, 1, 0)


POISON_CASES = [
    Case(129, 129, blocked=True, batch=2, heads=2, kv_heads=2),
    Case(1, 127, dim=64, blocked=True, heads=2, kv_heads=2, batch=2),
    Case(127, 200, blocked=True, p_scale=BLOCK_MAX, mask=CAUSAL, batch=2),
]


@pytest.mark.parametrize("device", ["reference", "sim"])
@pytest.mark.parametrize("case", POISON_CASES, ids=str)
def test_poisoned_padding_of_scales(case, device):
    """What pads the blocked scales to 128 rows and 4 groups."""
    zeros = run(case, device)
    poisoned = run(case, device, operands(case, fill=0xFF))
    assert_same_bits(zeros, poisoned)
    check_against_expected(case, *poisoned)


@pytest.mark.parametrize("device", ["reference", "sim"])
@pytest.mark.parametrize("blocked", [False, True])
def test_poisoned_neighbors(device, blocked):
    """What follows a head's rows in memory is another head's first row."""
    case = Case(129, 200, dim=64, batch=2, heads=2, kv_heads=2, blocked=blocked)
    arrays = operands(case)
    clean = run(case, device, arrays)
    for b, h in ((0, 0), (0, 1), (1, 0)):
        poisoned = []
        for i, array in enumerate(arrays):
            array = array.copy()
            keep = array[b, h].copy()
            array[:] = 0x7F if i % 2 == 0 else 0xFF  # NaN
            array[b, h] = keep
            poisoned.append(array)
        o, lse = run(case, device, poisoned)
        assert_same_bits((o[b, h], lse[b, h]), (clean[0][b, h], clean[1][b, h]))
        others = np.ones((2, 2), dtype=bool)
        others[b, h] = False
        assert np.all(np.isnan(o[others]))  # nothing is finite in silence


@pytest.mark.parametrize("device", ["reference", "sim"])
@pytest.mark.parametrize("p_scale", [PScale(), BLOCK_MAX, CONSTANT])
def test_maximum_in_the_last_key(device, p_scale):
    """1024 keys, q[0] = 16, k[0] = -7 for all but the last: P must not outgrow
    its format while the running maximum lags."""
    case = Case(64, 1024, dim=64, p_scale=p_scale)
    q, k, v = (np.array(x) for x in wide_operands(case))
    q[..., 0] = 16
    k[..., 0] = -7
    k[:, :, -1, 0] = 0
    arrays = [*mx.quantize(q), *mx.quantize(k), *mx.quantize(v, axis=-2)]
    o, lse = run(case, device, arrays)
    expected_o, expected_lse = mx_attention(*arrays, p_scale=p_scale,
                                            **case.options)
    assert np.max(np.abs(lse - expected_lse)) < 1e-4
    assert metrics.sqnr_db(o, expected_o) >= 60


@pytest.mark.parametrize("device", ["reference", "sim"])
def test_nan_in_one_row(device):
    """A NaN in Q shows in its row of O and LSE, and nowhere else."""
    case = Case(129, 200, dim=64)
    arrays = operands(case)
    clean = run(case, device, arrays)
    arrays[0] = arrays[0].copy()
    arrays[0][0, 0, 70, 3] = 0x7F
    o, lse = run(case, device, arrays)
    assert np.all(np.isnan(o[0, 0, 70])) and np.isnan(lse[0, 0, 70])
    rest = np.arange(129) != 70
    assert_same_bits((o[0, 0, rest], lse[0, 0, rest]),
                     (clean[0][0, 0, rest], clean[1][0, 0, rest]))


@pytest.mark.parametrize("device", ["reference", "sim"])
def test_accuracy_of_the_whole_chain(device):
    """Against float64 attention of the input before its quantization: N(0,1),
    D 128, 2048 queries and keys."""
    case = Case(2048, 2048)
    o, lse = run(case, device)
    exact_o, _ = exact(case)
    assert metrics.sqnr_db(o, exact_o) >= 25.0
    assert metrics.cosine(o, exact_o) >= 0.998
    check_against_expected(case, o, lse)
