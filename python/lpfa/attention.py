# ===- attention.py - References for attention -----------------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""Attention in float64, and with the quantization of P of lpfa.attention.

Arrays are [batch, heads, sequence, dimension]; K and V may have fewer heads
than Q, each serving an equal number of consecutive query heads. A batch may be
jagged: with `offsets_q` and `offsets_k` (batch + 1 integers from 0 on) the
arrays are [1, heads, total, dimension], and sequence g takes the rows from
offsets[g] up to offsets[g + 1]. Rows that no sequence owns have O = 0 and
LSE = -inf.

`attention` is the mathematical function. `quantized_attention` quantizes P as
the op does and is independent of tiling. Products and sums are in float64,
rounded once where the definition has a float32 value: scores, the arguments of
exponentials (a fused multiply-add) and exponentials (correctly rounded).
"""

from dataclasses import dataclass
from typing import Optional

import numpy as np

from . import mx

_ROWS = 256  # query rows at once: bounds the memory of the score matrix
_LOG2_E = np.log2(np.e)


@dataclass(frozen=True)
class Mask:
    """Which keys a query sees.

    ``none``            all
    ``causal``          key <= query + shift
    ``sliding_window``  query + shift - left <= key <= query + shift + right

    shift is 0 with `alignment` ``top_left``, and the number of keys less the
    number of queries with ``bottom_right``. `left` or `right` of None is no
    bound."""

    kind: str = "none"
    alignment: str = "top_left"
    left: Optional[int] = None
    right: Optional[int] = None

    def __post_init__(self):
        if self.kind not in ("none", "causal", "sliding_window"):
            raise ValueError(f"unknown mask '{self.kind}'")
        if self.alignment not in ("top_left", "bottom_right"):
            raise ValueError(f"unknown alignment '{self.alignment}'")
        bounds = [b for b in (self.left, self.right) if b is not None]
        if bool(bounds) != (self.kind == "sliding_window"):
            raise ValueError("bounds are for a sliding window, at least one")
        if any(b < 0 for b in bounds):
            raise ValueError("a bound is negative")

    def visible(self, first_row, rows, num_queries, num_keys):
        """Boolean [rows, num_keys] for the queries from first_row on."""
        shift = num_keys - num_queries
        if self.alignment == "top_left":
            shift = 0
        query = np.arange(first_row, first_row + rows)[:, None] + shift
        key = np.arange(num_keys)[None, :]
        see = np.ones((rows, num_keys), dtype=bool)
        if self.kind == "causal":
            see &= key <= query
        if self.left is not None:
            see &= key >= query - self.left
        if self.right is not None:
            see &= key <= query + self.right
        return see


@dataclass(frozen=True)
class PScale:
    """How P is quantized.

    `mode`      ``row_max`` | ``block_max`` | ``constant``
    `rounding`  ``rceil`` | ``floor``, and ``ceil`` with ``row_max``; a constant
                scale has none
    `format`    of P's elements, a name of `lpfa.mx`
    `lag`       of ``constant``: log2 units left free for a running maximum
                that trails the true one, 0 to 2"""

    mode: str = "row_max"
    rounding: str = "rceil"
    format: str = "e4m3"
    lag: int = 0

    def __post_init__(self):
        if self.mode not in ("row_max", "block_max", "constant"):
            raise ValueError(f"unknown mode '{self.mode}'")
        if self.rounding not in ("rceil", "floor", "ceil"):
            raise ValueError(f"unknown rounding '{self.rounding}'")
        if self.rounding == "ceil" and self.mode == "block_max":
            raise ValueError("block_max takes rceil or floor")
        if not 0 <= self.lag <= (2 if self.mode == "constant" else 0):
            raise ValueError("lag is 0 to 2, and for a constant scale alone")
        mx.get_format(self.format)


def _fma(a, b, c):
    """a * b + c, float32 arrays, rounded once to float32."""
    product = a.astype(np.float64) * np.float64(b)  # exact
    c = np.asarray(c, dtype=np.float64)
    total = product + c
    result = total.astype(np.float32)
    # The sum, rounded to float64, can land on a tie of float32 that the exact
    # sum is not: there its error decides.
    ties = np.nonzero((total.view(np.int64) & 0x1FFFFFFF) == 0x10000000)
    if ties[0].size:
        p, t = product[ties], total[ties]
        addend = np.broadcast_to(c, product.shape)[ties]
        part = t - p
        error = (p - (t - part)) + (addend - part)
        nudged = np.nextafter(t, np.where(error > 0, np.inf, -np.inf))
        result[ties] = np.where(error != 0, nudged, t).astype(np.float32)
    return result


def _exp2(x):
    """2^x of a float32 array, correctly rounded to float32."""
    with np.errstate(under="ignore", over="ignore"):
        return np.exp2(x.astype(np.float64)).astype(np.float32)


def _per_key(blocks, num_keys):
    return np.repeat(blocks, mx.BLOCK, axis=1)[:, :num_keys]


def _block_max(x, see):
    """Maxima of x over the visible keys of each block; 0 where there is none,
    and whether there is one."""
    rows, keys = x.shape
    padding = [(0, 0), (0, -keys % mx.BLOCK)]
    shape = (rows, -1, mx.BLOCK)
    masked = np.where(see, x, np.float32(-np.inf))
    masked = np.pad(masked, padding, constant_values=-np.inf).reshape(shape)
    some = np.pad(see, padding).reshape(shape).any(axis=2)
    return np.where(some, masked.max(axis=2), 0).astype(np.float32), some


def _quantize_rows(s, see, c, p_scale):
    """P of rows of scores that each see a key.

    Returns the quantized P (float64), M, l before the repair and l after, all
    but M relative to 2^M."""
    fmt = mx.get_format(p_scale.format)
    keys = s.shape[1]
    s = np.where(see, s, np.float32(0))
    smax_block, some = _block_max(s, see)
    smax = np.where(some, smax_block, -np.inf).max(axis=1).astype(np.float32)
    # The product of two float32 values is exact in float64.
    M = np.ceil(smax.astype(np.float64) * np.float64(c))

    if p_scale.mode == "row_max":
        if p_scale.rounding == "rceil":
            log_max = np.float32(np.log2(fmt.max_norm))
            round_up = lambda x: np.ceil(
                _fma(x, c, -log_max).astype(np.float64))
        else:
            integer = np.floor if p_scale.rounding == "floor" else np.ceil
            round_up = lambda x: integer(
                x.astype(np.float64) * np.float64(c)) - fmt.emax
        e = np.maximum(round_up(smax_block), M[:, None] - 127)
        p = np.where(see, _exp2(_fma(s, c, -_per_key(e, keys))), np.float32(0))
        factor = np.ldexp(1.0, (e - M[:, None]).astype(int))
        e_top = np.maximum(round_up(smax), M - 127)
        p_top = _exp2(_fma(smax, c, -e_top))
        factor_top = np.ldexp(1.0, (e_top - M).astype(int))
        scaled, scaled_top = p, p_top
        l_factor, l_factor_top = factor, factor_top
    else:
        p = np.where(see, _exp2(_fma(s, c, -M[:, None])), np.float32(0))
        p_top = _exp2(_fma(smax, c, -M))
        if p_scale.mode == "block_max":
            amax, _ = _block_max(p, see)
            byte = mx.block_scales(amax, fmt, p_scale.rounding)
            byte_top = mx.block_scales(p_top, fmt, p_scale.rounding)
        else:
            constant = np.uint8(127 - fmt.emax + p_scale.lag)
            byte = np.full(smax_block.shape, constant)
            byte_top = np.full(smax.shape, constant)
        with np.errstate(under="ignore"):
            scaled = mx.scale_elements(p, _per_key(byte, keys))
            scaled_top = mx.scale_elements(p_top, byte_top)
        factor = mx.scale_values(byte)
        factor_top = mx.scale_values(byte_top)
        l_factor = np.ones_like(factor)
        l_factor_top = np.ones_like(factor_top)

    q = mx.decode(mx.encode(scaled, fmt), fmt).astype(np.float64)
    q *= _per_key(factor, keys)
    l = (p.astype(np.float64) * _per_key(l_factor, keys)).sum(axis=1)
    q_top = mx.decode(mx.encode(scaled_top, fmt), fmt) * factor_top
    repaired = l + (q_top - p_top.astype(np.float64) * l_factor_top)
    return q, M, l, repaired


def _exact_rows(s, see, scale):
    """P, row maximum and row sum in float64 of rows that each see a key."""
    x = np.where(see, s * scale, -np.inf)
    top = x.max(axis=1)
    p = np.exp(x - top[:, None])
    return p, top, p.sum(axis=1)


def _sequence(q, k, v, scale, mask, p_scale):
    """One head of one sequence; o and lse in float64."""
    num_queries, num_keys = q.shape[0], k.shape[0]
    o = np.zeros((num_queries, v.shape[1]))
    lse = np.full(num_queries, -np.inf)
    # The op's attribute is a float32, and so is the factor made from it.
    c = np.float32(np.float64(np.float32(scale)) * _LOG2_E)
    finite = np.isfinite(v)
    for first in range(0, num_queries, _ROWS):
        rows = min(_ROWS, num_queries - first)
        see = mask.visible(first, rows, num_queries, num_keys)
        with np.errstate(invalid="ignore"):
            s = q[first:first + rows] @ k.T
        some = see.any(axis=1)
        broken = some & np.any(see & ~np.isfinite(s), axis=1)
        good = np.nonzero(some & ~broken)[0]
        broken = first + np.nonzero(broken)[0]
        o[broken] = np.nan
        lse[broken] = np.nan
        if good.size == 0:
            continue
        if p_scale is None:
            p, top, l = _exact_rows(s[good], see[good], scale)
            divisor = l
            log_sum = top + np.log(l)
        else:
            p, M, l, divisor = _quantize_rows(
                s[good].astype(np.float32), see[good], c, p_scale)
            log_sum = (M + np.log2(l)) * np.log(2)
        out = (p @ np.where(finite, v, 0)) / divisor[:, None]
        if not finite.all():
            out[(see[good].astype(float) @ ~finite) > 0] = np.nan
        o[first + good] = out
        lse[first + good] = log_sum
    return o, lse


def _spans(offsets, total):
    offsets = [int(x) for x in offsets]
    if offsets[0] != 0 or offsets[-1] > total or any(
            a > b for a, b in zip(offsets, offsets[1:])):
        raise ValueError(f"offsets {offsets} do not rise from 0 to {total} at "
                         "most")
    return [slice(a, b) for a, b in zip(offsets, offsets[1:])]


def _attention(q, k, v, scale, mask, p_scale, offsets_q, offsets_k):
    q, k, v = (np.asarray(x, dtype=np.float64) for x in (q, k, v))
    batch, heads, num_queries, dim = q.shape
    kv_heads, num_keys = k.shape[1:3]
    if k.shape != (batch, kv_heads, num_keys, dim):
        raise ValueError(f"k of shape {k.shape} does not fit q of {q.shape}")
    if v.shape[:3] != k.shape[:3]:
        raise ValueError(f"v of shape {v.shape} does not fit k of {k.shape}")
    if kv_heads == 0 or heads % kv_heads:
        raise ValueError(f"{heads} query heads are not divisible by "
                         f"{kv_heads} key heads")
    if scale is None:
        scale = dim**-0.5
    if not scale > 0:
        raise ValueError(f"scale {scale} is not positive")
    if (offsets_q is None) != (offsets_k is None):
        raise ValueError("offsets_q and offsets_k go together")
    if offsets_q is None:
        spans = [(slice(0, num_queries), slice(0, num_keys))]
    else:
        if batch != 1:
            raise ValueError("a jagged batch has a first dimension of 1")
        if len(offsets_q) != len(offsets_k):
            raise ValueError("offsets_q and offsets_k differ in length")
        spans = list(zip(_spans(offsets_q, num_queries),
                         _spans(offsets_k, num_keys)))
    o = np.zeros((batch, heads, num_queries, v.shape[3]))
    lse = np.full((batch, heads, num_queries), -np.inf)
    for b in range(batch):
        for h in range(heads):
            g = h // (heads // kv_heads)
            for rows, keys in spans:
                o[b, h, rows], lse[b, h, rows] = _sequence(
                    q[b, h, rows], k[b, g, keys], v[b, g, keys], scale, mask,
                    p_scale)
    return o, lse


def attention(q, k, v, scale=None, mask=Mask(), offsets_q=None,
              offsets_k=None):
    """softmax(scale * q k^T) v and the log-sum-exp of its rows, in float64.

    `scale` is 1/sqrt(dimension) by default. A row that sees no key has O = 0
    and LSE = -inf."""
    return _attention(q, k, v, scale, mask, None, offsets_q, offsets_k)


def quantized_attention(q, k, v, scale=None, mask=Mask(), p_scale=PScale(),
                        offsets_q=None, offsets_k=None):
    """lpfa.attention of dequantized operands: attention with P quantized.

    With c = scale * log2(e) and x = c * score, and maxima over visible keys:

    - M = ceil(max x) of the row.
    - ``row_max``: a block of 32 keys has e = ceil(fma(smax, c,
      -log2(max_norm))) for ``rceil``, floor(max x) - emax for ``floor`` and
      ceil(max x) - emax for ``ceil``, but at least M - 127; its P is
      exp2(fma(s, c, -e)), encoded, times 2^(e - M).
    - ``block_max``: P = exp2(fma(s, c, -M)) is quantized in blocks of 32 by
      the rules of `lpfa.mx`.
    - ``constant``: the same P with the scale 2^(lag - emax).
    - l is the sum of P before the quantization. O is the quantized P times V
      divided by l + q(p_max) - p_max, where p_max is the row's largest P: one
      visible key then gives O = V. LSE = (M + log2 l) ln 2.

    A row that sees no key has O = 0 and LSE = -inf; one that sees a score that
    is not finite has NaN for both. What is not finite in V makes its column of
    O a NaN in the rows that see it (in kernels also in rows that do not, but
    share a tile with one that does).

    Returns O and LSE in float64."""
    return _attention(q, k, v, scale, mask, p_scale, offsets_q, offsets_k)


def mx_attention(q, sq, k, sk, v, sv, format="e4m3", **options):
    """quantized_attention of codes and row-major scales, as the op has them.

    Q and K are blocked along the dimension, V along the sequence; `format` is
    one name or three, for Q, K and V. In a jagged batch the blocks of V and
    their scales start anew with every sequence."""
    formats = (format,) * 3 if isinstance(format, str) else format
    q = mx.dequantize(q, sq, formats[0], dtype=np.float64)
    k = mx.dequantize(k, sk, formats[1], dtype=np.float64)
    offsets = options.get("offsets_k")
    if offsets is None:
        v = mx.dequantize(v, sv, formats[2], axis=-2, dtype=np.float64)
    else:
        values = np.zeros(np.shape(v))  # rows that no sequence owns stay 0
        row = 0
        for span in _spans(offsets, np.shape(v)[2]):
            blocks = -(-(span.stop - span.start) // mx.BLOCK)
            values[:, :, span] = mx.dequantize(
                v[:, :, span], sv[:, :, row:row + blocks], formats[2], axis=-2,
                dtype=np.float64)
            row += blocks
        v = values
    return quantized_attention(q, k, v, **options)
