# ===- test_schedules.py - Other tiles and other orders --------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""The passes follow a schedule, whatever it is: other tiles, rings and orders
give kernels that are right."""

import numpy as np
import pytest

import lpfa
from lpfa.attention import Mask, PScale, mx_attention
from harness import (BIN_DIR, CAUSAL, CAUSAL_TOP_LEFT, ORDERS, Case,
                     assert_same_bits, check_against_expected, lower_to_roles,
                     operands, reorder, run, run_orders)

CASE = Case(300, 500, heads=2, mask=CAUSAL)
NARROW = Case(300, 500, dim=64, heads=2, kv_heads=2)
OPTIONS = [dict(query_tiles=1), dict(stages=1), dict(stages=2, output_stages=1),
           dict(key_tile=64), dict(key_tile=64, query_tiles=1, stages=4),
           dict(key_tile=32), dict(ordering="documented"),
           dict(longest_first="false")]


def name(options):
    return "-".join(f"{key}{value}" for key, value in options.items())


@pytest.mark.parametrize("options", OPTIONS, ids=name)
@pytest.mark.parametrize("case", [CASE, NARROW], ids=str)
def test_options(case, options):
    results = run_orders(case, ORDERS[:3], **options)
    check_against_expected(case, *results[0])
    for result in results[1:]:
        assert_same_bits(result, results[0])


# Tiles with and without a mask, on the chip whose loads give maxima.
@pytest.mark.parametrize("case", [
    CASE, Case(256, 700, p_scale=PScale("constant"),
               mask=Mask("sliding_window", "bottom_right", left=300, right=50)),
    Case(130, 400, dim=64, p_scale=PScale(rounding="ceil")),
    Case(128, 256, p_scale=PScale("block_max"))], ids=str)
def test_loads_with_maxima(case):
    result = run(case, "sim", chip="sm_103a", key_tile=128, scores_ahead=0)
    check_against_expected(case, *result)
    assert_same_bits(result, run(case, "sim"))


# What lpfa-choose-schedule takes by itself: on sm_103a 96 keys where scales are
# packed anyway, else 64 keys with queries in tensor memory.
@pytest.mark.parametrize("case", [
    CASE, NARROW,
    Case(129, 700, heads=4, kv_heads=2, mask=Mask("sliding_window", "bottom_right",
         left=300, right=50), p_scale=PScale("constant"), scale_spread=2),
    Case(257, 421, blocked=True, mask=CAUSAL_TOP_LEFT,
         formats=("e5m2", "e4m3", "e5m2"), p_scale=PScale(rounding="ceil")),
    Case(384, 1, blocked=True, batch=2),
    Case(100, 600, output="bf16", p_scale=PScale("block_max"))], ids=str)
@pytest.mark.parametrize("chip", ["sm_100a", "sm_103a"])
def test_chosen(case, chip):
    results = run_orders(case, ORDERS[:4], chip=chip)
    check_against_expected(case, *results[0])
    for result in results[1:]:
        assert_same_bits(result, results[0])


# A cubic costs agreement with the reference, a quartic does not.
@pytest.mark.parametrize("case, degree, gate", [
    (CASE, 3, 52), (CASE, 4, 60),
    (Case(256, 512, p_scale=PScale("constant")), 3, 52)], ids=str)
def test_polynomials(case, degree, gate):
    result = run(case, "sim", polynomial_columns=8, polynomial_degree=degree)
    check_against_expected(case, *result, gate=gate)
    assert not np.array_equal(result[0], run(case, "sim")[0])


def test_scores_out_of_range():
    """Rows whose largest x in log2 units is not below 2^22 are NaN, not wrong;
    others are right."""
    case = Case(130, 200)
    arrays = operands(case)
    q, scales = arrays[0], arrays[1].copy()
    scales[0, 0, ::2] = 160
    scales[0, 0, 1::2] = 100
    arrays[1] = scales
    o, lse = run(case, "sim", arrays)
    assert np.isnan(o[0, 0, ::2]).all() and np.isnan(lse[0, 0, ::2]).all()
    expected_o, expected_lse = mx_attention(
        *(x[:, :, 1::2] for x in arrays[:2]), *arrays[2:], format=case.formats,
        p_scale=case.p_scale, **case.options)
    np.testing.assert_allclose(o[:, :, 1::2], expected_o, atol=1e-3)
    np.testing.assert_allclose(lse[:, :, 1::2], expected_lse, rtol=1e-4)


# Schedules other than the default: the order of products, what lies where and
# how much of it.
SCHEDULES = [
    dict(key_tile=128, query_tiles=2, scores_first=1),
    dict(key_tile=128, query_tiles=2, scores_ahead=2),
    dict(key_tile=96, scores_ahead=2),
    dict(key_tile=96, scores_first=1, ordering="documented"),
    dict(key_tile=96, query_tiles=1, ordering="documented"),
    dict(key_tile=64, scores_first=1),
    dict(key_tile=64, scores_ahead=2),
    dict(key_tile=64, scores_ahead=2, queries_in_tmem=1),
    dict(key_tile=64, scores_first=1, queries_in_tmem=1,
         ordering="documented"),
    dict(key_tile=32, score_buffers=2),
    dict(key_tile=32, score_buffers=2, scores_first=1),
    dict(key_tile=32, scores_ahead=2, queries_in_tmem=1, query_tiles=1,
         stages=2, ordering="documented"),
    dict(factor_first="false"),
    dict(key_tile=128, query_tiles=2, peel_prologue=1),
    dict(key_tile=128, query_tiles=2, probability_parts=2, peel_prologue=1,
         ordering="documented"),
    dict(key_tile=128, query_tiles=2, probability_parts=2),
    dict(key_tile=128, query_tiles=2, probability_parts=4,
         factor_first="false"),
    dict(key_tile=128, query_tiles=2, scores_first=1, probability_parts=2),
    dict(key_tile=96, scores_ahead=2, probability_parts=3,
         ordering="documented"),
    dict(key_tile=64, query_tiles=2, score_buffers=2, probability_buffers=1),
    dict(key_tile=64, query_tiles=2, score_buffers=2, probability_buffers=2),
    dict(key_tile=64, query_tiles=2, score_buffers=2, probability_buffers=2,
         probability_parts=2),
    # Outputs lie in the queries' place.
    dict(key_tile=128, query_tiles=1, scores_first="false", stages=6),
]
# Sizes that no tile divides, several query heads a key head, each mask, each
# kind of scale.
SCHEDULE_CASES = [
    (Case(300, 500, heads=4, kv_heads=2, mask=CAUSAL, scale_spread=2),
     dict(), ORDERS[:4]),
    (Case(270, 421, mask=Mask("sliding_window", "bottom_right", left=150,
                              right=20), p_scale=PScale("constant")),
     dict(chip="sm_103a"), ORDERS[:2]),
    (Case(130, 193, batch=2, mask=CAUSAL_TOP_LEFT,
          p_scale=PScale(rounding="ceil")),
     dict(chip="sm_103a"), ORDERS[1:2]),
    (Case(256, 333, blocked=True, p_scale=PScale("block_max")),
     dict(), ORDERS[2:3]),
]


@pytest.mark.parametrize("case, chip, orders", SCHEDULE_CASES,
                         ids=lambda x: str(x) if isinstance(x, Case) else "")
@pytest.mark.parametrize("options", SCHEDULES, ids=name)
def test_schedules(options, case, chip, orders):
    results = run_orders(case, orders, **options, **chip)
    check_against_expected(case, *results[0])
    for result in results[1:]:
        assert_same_bits(result, results[0])


# At head dimension 64 there is room for more.
@pytest.mark.parametrize("options", [
    dict(scores_first=1), dict(queries_in_tmem=1),
    dict(scores_ahead=2, queries_in_tmem=1), dict(key_tile=64, score_buffers=2),
    dict(key_tile=64, score_buffers=2, scores_first=1, query_tiles=1),
    dict(key_tile=64, score_buffers=2, scores_ahead=3),
    dict(key_tile=128, probability_parts=4, scores_first=1),
    dict(key_tile=64, score_buffers=2, probability_buffers=2,
         probability_parts=2)], ids=name)
def test_schedules_of_narrow_heads(options):
    results = run_orders(NARROW, ORDERS[:3], **options)
    check_against_expected(NARROW, *results[0])
    for result in results[1:]:
        assert_same_bits(result, results[0])


# In the order that the pass makes, products of query tile 0 and 1: 0 and 2 are
# those with the probabilities, 1 and 3 the next scores; with probabilities in
# halves 0 and 1, 3 and 4 are those with these.
@pytest.mark.parametrize("case, options, order", [
    (CASE, dict(), [2, 3, 0, 1]), (CASE, dict(), [0, 2, 1, 3]),
    (CASE, dict(), [1, 0, 3, 2]), (NARROW, dict(), [3, 1, 2, 0]),
    (CASE, dict(probability_parts=2), [0, 3, 1, 2, 4, 5]),
    (CASE, dict(key_tile=64, scores_ahead=2, probability_parts=2),
     [0, 3, 1, 4, 2, 5])], ids=str)
def test_hand_written_order(case, options, order):
    expected = run(case, "sim", **options)
    text = reorder(lower_to_roles(case, **options), order)
    for schedule in (dict(), dict(schedule="lazy"),
                     dict(schedule="random", seed=2)):
        result = lpfa.run(text, "attention", operands(case), device="sim",
                          bin_dir=BIN_DIR, **schedule)
        assert_same_bits(result, expected)


def test_lag():
    """How far the maximum lags behind changes no bit of the outputs."""
    case = Case(256, 700, peak=8)
    first, *others = run_orders(case, [dict(lag=lag) for lag in (0, 3, 32)])
    check_against_expected(case, *first)
    for other in others:
        assert_same_bits(other[:1], first[:1])
        np.testing.assert_allclose(other[1], first[1], rtol=1e-6)


def test_schedule_without_room():
    with pytest.raises(lpfa.ToolError, match="columns of tensor memory"):
        run(CASE, "sim", queries_in_tmem=1, key_tile=128, query_tiles=2)
