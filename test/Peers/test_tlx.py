# ===- test_tlx.py - TLX's attention forward -------------------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""TLX's forward attention in MXFP8 and bf16 against attention in float64."""

import ml_dtypes
import numpy as np
import pytest

from lpfa import metrics, mx
from lpfa.attention import Mask, attention
from peers import Out, run_triton

CAUSAL = Mask("causal", "top_left")
BATCH, HEADS, DIM = 1, 2, 128
# The kernels take whole tiles alone: 256 queries, 128 keys.
LENGTHS = [256, 512, 768]


def random(seed, length):
    return np.random.default_rng(seed).standard_normal(
        (BATCH, HEADS, length, DIM)).astype(np.float32)


def scales_of(scales, rows):
    """(batch, head, rows, groups) as the kernel's atoms of 512 bytes."""
    return np.stack([mx.pack_scales(s).reshape(-1) for s in
                     scales.reshape(-1, *scales.shape[-2:])]).reshape(
                         BATCH * HEADS, rows // 128, -1, 2, 256)


def mxfp8_arguments(length, causal, factor=1):
    """The kernel's arguments, Q times a factor, and what O and LSE must be."""
    q, k, v = (random(seed, length) for seed in (1, 2, 3))
    q *= factor
    (cq, sq), (ck, sk) = mx.quantize(q), mx.quantize(k)
    cv, sv = mx.quantize(v, axis=-2)
    flat = lambda codes: codes.reshape(-1, DIM)
    rows = BATCH * HEADS * length
    arguments = {
        "sm_scale": DIM**-0.5, "Z": BATCH, "H": HEADS, "N_CTX": length,
        "desc_m": Out((rows,), np.float32),
        "desc_q": flat(cq), "desc_k": flat(ck), "desc_v": flat(cv),
        "desc_o": Out((rows, DIM), np.uint16),
        "desc_q_scale": scales_of(sq, length),
        "desc_k_scale": scales_of(sk, length),
        "desc_v_scale": scales_of(np.swapaxes(sv, -1, -2), DIM)}
    expected = attention(mx.dequantize(cq, sq, dtype=np.float64),
                         mx.dequantize(ck, sk, dtype=np.float64),
                         mx.dequantize(cv, sv, axis=-2, dtype=np.float64),
                         mask=CAUSAL if causal else Mask())
    return arguments, *expected


# The MXFP8 kernel is persistent: on one CTA work tiles reuse its rings.
@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("ctas", [1, 2])
@pytest.mark.parametrize("length", LENGTHS)
def test_mxfp8(length, ctas, causal):
    arguments, expected, lse = mxfp8_arguments(length, causal)
    m, o = run_triton("tlx_mxfp8_causal" if causal else "tlx_mxfp8", arguments,
                      ctas)
    check(o, m, expected, lse, decibel=30)


@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("length", LENGTHS)
def test_bf16(length, causal):
    q, k, v = (random(seed, length).astype(ml_dtypes.bfloat16)
               for seed in (1, 2, 3))
    flat = lambda x: x.view(np.uint16).reshape(-1, DIM)
    rows = BATCH * HEADS * length
    m, o = run_triton("tlx_bf16_causal" if causal else "tlx_bf16", {
        "sm_scale": DIM**-0.5, "Z": BATCH, "H": HEADS, "N_CTX": length,
        "M": Out((BATCH, HEADS, length), np.float32),
        "desc_q": flat(q), "desc_k": flat(k), "desc_v": flat(v),
        "desc_o": Out((rows, DIM), np.uint16)}, rows // 256)
    expected, lse = attention(*(x.astype(np.float64) for x in (q, k, v)),
                              mask=CAUSAL if causal else Mask())
    check(o, m, expected, lse, decibel=48)


def check(o, m, expected, lse, decibel):
    o = o.view(ml_dtypes.bfloat16).astype(np.float64)
    assert metrics.sqnr_db(o, expected.reshape(o.shape)) >= decibel
    # M is the logarithm of base 2.
    np.testing.assert_allclose(m.reshape(lse.shape), lse * np.log2(np.e),
                               atol=2e-3)
