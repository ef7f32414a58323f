# ===- test_attention.py - Tests of lpfa.attention -------------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#

import itertools

import numpy as np
import pytest

from lpfa import metrics, mx
from lpfa.attention import (Mask, PScale, attention, mx_attention,
                            quantized_attention)

MODES = ["row_max", "block_max", "constant"]
P_SCALES = [
    PScale(mode, rounding, fmt)
    for mode, rounding, fmt in itertools.product(
        MODES, ["rceil", "floor", "ceil"], ["e4m3", "e5m2"])
    if rounding == "rceil" or mode == "row_max"
    or (mode, rounding) == ("block_max", "floor")
] + [PScale("constant", lag=lag) for lag in (1, 2)]


def ids(p_scale):
    return f"{p_scale.mode}-{p_scale.rounding}-{p_scale.format}-{p_scale.lag}"


def normal(seed, *shapes):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def inputs(seed, queries, keys, dim=64, heads=1, kv_heads=1, batch=1):
    return normal(seed, (batch, heads, queries, dim),
                  (batch, kv_heads, keys, dim), (batch, kv_heads, keys, dim))


def naive(q, k, v, scale, mask=Mask()):
    """Attention a row and a key at a time."""
    o = np.zeros((*q.shape[:3], v.shape[3]))
    lse = np.full(q.shape[:3], -np.inf)
    group = q.shape[1] // k.shape[1]
    num_queries, num_keys = q.shape[2], k.shape[2]
    shift = 0 if mask.alignment == "top_left" else num_keys - num_queries
    for b, h, i in np.ndindex(*q.shape[:3]):
        seen = []
        for j in range(num_keys):
            causal = j <= i + shift
            left = mask.left is None or j >= i + shift - mask.left
            right = mask.right is None or j <= i + shift + mask.right
            if mask.kind == "causal" and not causal:
                continue
            if not (left and right):
                continue
            seen.append(j)
        if not seen:
            continue
        s = scale * (k[b, h // group, seen].astype(float) @ q[b, h, i])
        p = np.exp(s)
        o[b, h, i] = p @ v[b, h // group, seen] / p.sum()
        lse[b, h, i] = np.log(p.sum())
    return o, lse


MASKS = [Mask(), Mask("causal", "bottom_right"), Mask("causal", "top_left"),
         Mask("sliding_window", "bottom_right", left=5, right=3),
         Mask("sliding_window", "bottom_right", left=4, right=0),
         Mask("sliding_window", "top_left", right=2)]


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("queries, keys", [(7, 7), (5, 40), (40, 5), (1, 33)])
def test_attention_agrees_with_definition(mask, queries, keys):
    q, k, v = inputs(0, queries, keys, dim=8, heads=4, kv_heads=2, batch=2)
    o, lse = attention(q, k, v, mask=mask)
    expected_o, expected_lse = naive(q, k, v, 8**-0.5, mask)
    np.testing.assert_allclose(o, expected_o, atol=1e-12)
    np.testing.assert_allclose(lse, expected_lse, atol=1e-12)


@pytest.mark.parametrize("p_scale", P_SCALES, ids=ids)
@pytest.mark.parametrize("mask", MASKS)
def test_quantized_attention_is_near(p_scale, mask):
    q, k, v = inputs(1, 50, 70, heads=2, kv_heads=1)
    o, lse = quantized_attention(q, k, v, mask=mask, p_scale=p_scale)
    expected_o, expected_lse = attention(q, k, v, mask=mask)
    assert np.array_equal(np.isinf(lse), np.isinf(expected_lse))
    seen = np.isfinite(lse)
    np.testing.assert_allclose(lse[seen], expected_lse[seen], atol=1e-5)
    floor = 21 if p_scale.format == "e5m2" else 27
    assert metrics.sqnr_db(o, expected_o) > floor


@pytest.mark.parametrize("p_scale", P_SCALES, ids=ids)
def test_one_visible_key(p_scale):
    """O is exactly V, in float64 and so in float32."""
    q, k, v = inputs(2, 9, 1)
    v = mx.dequantize(*mx.quantize(v, axis=-2), axis=-2)
    o, lse = quantized_attention(4 * q, k, v, p_scale=p_scale)
    assert np.array_equal(o, np.broadcast_to(v, o.shape))
    score = 4 * q.astype(float) @ k.astype(float).swapaxes(2, 3) / 8
    np.testing.assert_allclose(lse, score[..., 0], atol=2e-6)
    # The first row under a causal mask from the top left sees one key as well.
    q, k, v = inputs(3, 40, 40)
    v = mx.dequantize(*mx.quantize(v, axis=-2), axis=-2)
    o, _ = quantized_attention(q, k, v, mask=Mask("causal", "top_left"),
                               p_scale=p_scale)
    assert np.array_equal(o[0, 0, 0], v[0, 0, 0])


@pytest.mark.parametrize("p_scale", P_SCALES, ids=ids)
def test_no_visible_key(p_scale):
    q, k, v = inputs(4, 40, 5)
    o, lse = quantized_attention(q, k, v, mask=Mask("causal", "bottom_right"),
                                 p_scale=p_scale)
    assert np.all(o[:, :, :35] == 0) and np.all(np.isneginf(lse[:, :, :35]))
    assert np.all(np.isfinite(lse[:, :, 35:]))
    q, k, v = inputs(4, 3, 0)
    o, lse = quantized_attention(q, k, v, p_scale=p_scale)
    assert np.all(o == 0) and np.all(np.isneginf(lse))


def test_equal_scores_give_the_mean():
    """Powers of two in P: the quantization is exact."""
    _, k, v = inputs(5, 1, 64)
    q = np.zeros((1, 1, 3, 64))
    for p_scale in P_SCALES:
        o, lse = quantized_attention(q, k, v, p_scale=p_scale)
        mean = np.broadcast_to(v.mean(axis=2, keepdims=True, dtype=float),
                               o.shape)
        np.testing.assert_allclose(o, mean, atol=1e-12)
        np.testing.assert_allclose(lse, np.log(64), rtol=1e-15)


def test_row_max_codes_by_hand():
    """Scores 0 and -1 in log2 units of one block, another block at -20."""
    q = np.ones((1, 1, 1, 1))
    k = np.full((1, 1, 64, 1), -20.0)
    k[0, 0, 0], k[0, 0, 1] = 0, -1.25
    v = np.eye(64)[None, None]
    o, lse = quantized_attention(q, k, v, scale=np.log(2))
    # Block 0: e = ceil(0 - 8.807) = -8; 2^(8 - 1.25) = 107.6 becomes 104.
    # 2^(8 - 20) is too small for a code. Block 1: e = ceil(-20 - 8.807) = -28
    # and 2^8 is a code.
    c = np.float32(np.float64(np.float32(np.log(2))) * np.log2(np.e))
    assert c == 1
    l = 1 + 2**-1.25 + 62 * 2.0**-20
    p = np.full(64, 2.0**-20)
    p[0], p[1], p[2:32] = 1, 104 / 256, 0
    np.testing.assert_allclose(o[0, 0, 0], p / l, rtol=1e-6)
    np.testing.assert_allclose(lse[0, 0, 0], np.log(l), rtol=1e-6)


def test_dynamic_scales_do_not_see_the_row_maximum():
    """A key far above the rest leaves the codes of other blocks alone."""
    q, k, v = inputs(6, 16, 64)
    q[..., 0] = 8
    k[..., 0] = 0
    v[:, :, 32:] = 0
    rest, _ = quantized_attention(q, k, v)
    k[:, :, 63, 0] = 16  # its score grows by 16 in natural units
    with_sink, _ = quantized_attention(q, k, v)
    ratio = with_sink / rest  # of the row sums, so one number a row
    np.testing.assert_allclose(ratio, ratio[..., :1].repeat(64, axis=3),
                               rtol=1e-12)
    assert np.all(ratio < 1e-3)


def test_lazy_maximum_never_saturates():
    """1024 keys, q[0] = 16, k[0] = -7 for all but the last key."""
    q, k, v = inputs(7, 4, 1024, dim=128)
    q[..., 0] = 16
    k[..., 0] = -7
    k[:, :, -1, 0] = 0
    exact, exact_lse = attention(q, k, v)
    for mode in MODES:
        o, lse = quantized_attention(q, k, v, p_scale=PScale(mode))
        np.testing.assert_allclose(lse, exact_lse, atol=1e-5)
        assert metrics.sqnr_db(o, exact) > 30


def test_non_finite_scores():
    q, k, v = inputs(8, 4, 40)
    q[0, 0, 1, 0] = np.nan
    o, lse = quantized_attention(q, k, v)
    assert np.all(np.isnan(o[0, 0, 1])) and np.isnan(lse[0, 0, 1])
    assert np.all(np.isfinite(o[0, 0, [0, 2, 3]]))
    # A key that a mask hides is not looked at.
    q, k, v = inputs(8, 40, 40)
    k[0, 0, 30] = np.nan
    o, lse = quantized_attention(q, k, v, mask=Mask("causal", "bottom_right"))
    assert np.all(np.isfinite(o[0, 0, :30])) and np.all(np.isnan(o[0, 0, 30:]))
    k[0, 0, 30] = 0
    v[0, 0, 30, 5] = np.inf
    o, _ = quantized_attention(q, k, v, mask=Mask("causal", "bottom_right"))
    assert np.all(np.isnan(o[0, 0, 30:, 5]))
    assert np.isnan(o).sum() == 10


@pytest.mark.parametrize("mask", [Mask(), Mask("causal", "bottom_right")])
def test_jagged(mask):
    lengths_q, lengths_k = [0, 1, 127, 128, 129], [3, 0, 127, 128, 129]
    offsets_q = np.cumsum([0, *lengths_q])
    offsets_k = np.cumsum([0, *lengths_k])
    q, k, v = inputs(9, offsets_q[-1], offsets_k[-1], heads=2, kv_heads=1)
    o, lse = quantized_attention(q, k, v, mask=mask, offsets_q=offsets_q,
                                 offsets_k=offsets_k)
    for g in range(5):
        rows = slice(offsets_q[g], offsets_q[g + 1])
        keys = slice(offsets_k[g], offsets_k[g + 1])
        one = quantized_attention(q[:, :, rows], k[:, :, keys], v[:, :, keys],
                                  mask=mask)
        assert np.array_equal(o[:, :, rows], one[0])
        assert np.array_equal(lse[:, :, rows], one[1])


def test_jagged_codes():
    """The scales of V start anew with every sequence; no sequence owns the
    last three rows."""
    lengths = [33, 0, 5, 64]
    offsets = np.cumsum([0, *lengths])
    total = offsets[-1] + 3
    q, k, v = inputs(10, total, total)
    v *= np.exp2(np.arange(total) % 13)[:, None].astype(np.float32)
    spans = [slice(a, b) for a, b in zip(offsets, offsets[1:])]
    v_parts = [mx.quantize(v[:, :, s], axis=-2) for s in spans]
    v_codes, v_scales = (np.concatenate(x, axis=2) for x in zip(*v_parts))
    assert v_scales.shape[2] == 2 + 0 + 1 + 2
    v_codes = np.pad(v_codes, [(0, 0), (0, 0), (0, 3), (0, 0)],
                     constant_values=0x7F)
    o, lse = mx_attention(*mx.quantize(q), *mx.quantize(k), v_codes, v_scales,
                          offsets_q=offsets, offsets_k=offsets)
    assert np.all(o[:, :, -3:] == 0) and np.all(np.isneginf(lse[:, :, -3:]))
    for s in spans:
        one, _ = mx_attention(*mx.quantize(q[:, :, s]),
                              *mx.quantize(k[:, :, s]),
                              *mx.quantize(v[:, :, s], axis=-2))
        assert np.array_equal(o[:, :, s], one)


def test_bad_arguments():
    q, k, v = inputs(11, 4, 4, heads=3, kv_heads=2)
    with pytest.raises(ValueError, match="3 query heads are not divisible"):
        attention(q, k, v)
    q, k, v = inputs(11, 4, 4)
    with pytest.raises(ValueError, match="scale 0 is not positive"):
        attention(q, k, v, scale=0)
    for offsets in ([0, 5], [1, 4], [0, 3, 2]):
        with pytest.raises(ValueError, match="do not rise from 0 to 4"):
            attention(q, k, v, offsets_q=offsets, offsets_k=offsets)
    with pytest.raises(ValueError, match="k of shape"):
        attention(q, k[..., :8], v)
    with pytest.raises(ValueError, match="unknown mode"):
        PScale("row")
    with pytest.raises(ValueError, match="unknown mask"):
        Mask("diagonal")
    with pytest.raises(ValueError, match="bounds are for a sliding window"):
        Mask("causal", left=3)
    with pytest.raises(ValueError, match="block_max takes rceil or floor"):
        PScale("block_max", "ceil")
    with pytest.raises(ValueError, match="lag is 0 to 2"):
        PScale("constant", lag=3)


@pytest.fixture(scope="module")
def data():
    return inputs(0, 2048, 2048, dim=128)


@pytest.fixture(scope="module")
def exact(data):
    return attention(*data)


class TestAccuracy:
    """D 128, N 2048, N(0,1), in dB against attention of the same input."""

    @pytest.mark.parametrize("mode", MODES)
    def test_only_p_quantized(self, data, exact, mode):
        o, lse = quantized_attention(*data, p_scale=PScale(mode))
        assert metrics.sqnr_db(o, exact[0]) == pytest.approx(31.6, abs=0.4)
        assert np.max(np.abs(lse - exact[1])) < 1e-6

    @pytest.mark.parametrize("mode", MODES)
    def test_scores_times_four(self, data, mode):
        scale = 4 * 128**-0.5
        exact, exact_lse = attention(*data, scale=scale)
        o, lse = quantized_attention(*data, scale=scale, p_scale=PScale(mode))
        assert metrics.sqnr_db(o, exact) == pytest.approx(36.3, abs=0.5)
        assert np.max(np.abs(lse - exact_lse)) < 1e-5

    @pytest.mark.parametrize("mode", MODES)
    def test_sink_key(self, data, mode):
        """Without the repair of l this would be 31.5 dB."""
        q, k, v = (x[:, :, :512].copy() for x in data)
        q[..., 0] = 11
        k[..., 0] = 0
        k[:, :, 0, 0] = 128**0.5
        exact, _ = attention(q, k, v)
        o, _ = quantized_attention(q, k, v, p_scale=PScale(mode))
        assert metrics.sqnr_db(o, exact) == pytest.approx(60.5, abs=1.5)

    @pytest.mark.parametrize("rule, db, gate", [("rceil", 25.4, 25.0),
                                                ("floor", 24.1, 23.5)])
    def test_whole_chain(self, data, exact, rule, db, gate):
        q, k, v = data
        o, _ = mx_attention(*mx.quantize(q, rule=rule),
                            *mx.quantize(k, rule=rule),
                            *mx.quantize(v, rule=rule, axis=-2),
                            p_scale=PScale(rounding=rule))
        reached = metrics.sqnr_db(o, exact[0])
        assert reached >= gate and reached == pytest.approx(db, abs=0.4)
        if rule == "rceil":
            assert metrics.cosine(o, exact[0]) >= 0.998
