# ===- mx.py - Microscaled values in numpy ---------------------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""Microscaled (MX) and NVFP4 values.

A narrow float travels as a code in a uint8, one code a byte, low bits first;
`view` and `codes` convert to and from the types of ml_dtypes without a copy.
A block of 32 elements along one axis shares a scale 2^(byte - 127), an E8M0
byte in which 0 is 2^-127 and 255 is NaN.

Rules for the scale of a block with maximum magnitude amax:

``rceil``  the exponent of amax * (1 / max_norm), computed in float32, rounded
           up to a power of two
``floor``  floor(log2 amax) - emax, as in OCP MX v1.0

Elements are multiplied by the exact inverse of the scale and converted to the
nearest code, ties to even, with saturation. A block of zeros has byte 0 and
keeps the signs of its zeros. A block with a NaN or an infinity has byte 255,
and each of its codes is NaN, or the largest one in a format without NaN.
"""

from dataclasses import dataclass

import ml_dtypes
import numpy as np

BLOCK = 32
NVFP4_BLOCK = 16


@dataclass(frozen=True)
class Format:
    """A narrow float: sign, exponent_bits, mantissa_bits, no infinity used."""

    name: str
    exponent_bits: int
    mantissa_bits: int
    bias: int
    max_norm: float  # largest finite value
    max_code: int  # its code
    nan_code: int  # what a block with a NaN is filled with
    dtype: np.dtype  # the type of ml_dtypes
    mlir_type: str

    @property
    def emax(self):
        """Exponent of max_norm."""
        return int(np.floor(np.log2(self.max_norm)))

    @property
    def bits(self):
        return 1 + self.exponent_bits + self.mantissa_bits


def _format(name, exponent, mantissa, bias, max_norm, codes, dtype, mlir_type):
    return Format(name, exponent, mantissa, bias, max_norm, *codes,
                  np.dtype(dtype), mlir_type)


FORMATS = {
    f.name: f
    for f in (
        _format("e4m3", 4, 3, 7, 448.0, (0x7E, 0x7F),
                ml_dtypes.float8_e4m3fn, "f8E4M3FN"),
        _format("e5m2", 5, 2, 15, 57344.0, (0x7B, 0x7F),
                ml_dtypes.float8_e5m2, "f8E5M2"),
        _format("e2m3", 2, 3, 1, 7.5, (0x1F, 0x1F),
                ml_dtypes.float6_e2m3fn, "f6E2M3FN"),
        _format("e3m2", 3, 2, 3, 28.0, (0x1F, 0x1F),
                ml_dtypes.float6_e3m2fn, "f6E3M2FN"),
        _format("e2m1", 2, 1, 1, 6.0, (0x7, 0x7),
                ml_dtypes.float4_e2m1fn, "f4E2M1FN"),
    )
}
RULES = ("rceil", "floor")


def get_format(fmt):
    """The Format of that name; a Format is returned as it is."""
    if isinstance(fmt, Format):
        return fmt
    if fmt not in FORMATS:
        raise ValueError(
            f"unknown format '{fmt}', expected one of {', '.join(FORMATS)}")
    return FORMATS[fmt]


def view(codes, fmt):
    """Codes as an array of the type of ml_dtypes, without a copy."""
    return np.asarray(codes, dtype=np.uint8).view(get_format(fmt).dtype)


def codes(values):
    """Codes of an array of a type of ml_dtypes, without a copy."""
    return np.asarray(values).view(np.uint8)


def scale_values(scales, dtype=np.float64):
    """Values of E8M0 bytes: 2^(byte - 127), NaN for 255."""
    table = np.ldexp(1.0, np.arange(256) - 127)
    table[255] = np.nan
    return table.astype(dtype)[np.asarray(scales, dtype=np.uint8)]


def decode(codes, fmt):
    """Values (float32) of codes; bits above the format's width are ignored."""
    fmt = get_format(fmt)
    mantissas = 1 << fmt.mantissa_bits
    code = np.arange(256) & ((1 << fmt.bits) - 1)
    magnitude = code & ((1 << (fmt.bits - 1)) - 1)
    exponent = magnitude >> fmt.mantissa_bits
    mantissa = magnitude & (mantissas - 1)
    significand = np.where(exponent == 0, mantissa, mantissa + mantissas)
    power = np.maximum(exponent, 1) - fmt.bias - fmt.mantissa_bits
    table = np.ldexp(significand.astype(np.float32), power)
    table[magnitude > fmt.max_code] = np.nan
    if fmt.name == "e5m2":  # the one format that has infinities
        table[magnitude == fmt.max_code + 1] = np.inf
    table = np.where(code >> (fmt.bits - 1) == 1, -table, table)
    return table.astype(np.float32)[np.asarray(codes, dtype=np.uint8)]


def encode(x, fmt):
    """Codes nearest to x (taken as float32), ties to even, saturating.

    An infinity saturates as well; a NaN becomes the format's NaN, or its
    largest code where it has none."""
    fmt = get_format(fmt)
    x = np.asarray(x, dtype=np.float32)
    bits = x.view(np.uint32)
    magnitude = np.minimum(np.abs(x), np.float32(fmt.max_norm))
    exponent = (magnitude.view(np.int32) >> 23) - 127
    steps = np.maximum(exponent, 1 - fmt.bias) - (1 - fmt.bias)
    # The quantum of the binade that x lies in: with it the subnormals, and a
    # carry into the next binade, need no case of their own.
    quanta = np.rint(
        np.ldexp(magnitude, fmt.mantissa_bits + fmt.bias - 1 - steps))
    with np.errstate(invalid="ignore"):
        code = (steps << fmt.mantissa_bits) + quanta.astype(np.int32)
    code = code | ((bits >> 31) << (fmt.bits - 1)).astype(np.int32)
    return np.where(np.isnan(x), fmt.nan_code, code).astype(np.uint8)


def block_scales(amax, fmt, rule="rceil"):
    """E8M0 bytes for blocks with these finite, non-negative maxima."""
    fmt = get_format(fmt)
    amax = np.asarray(amax, dtype=np.float32)
    if rule == "rceil":
        reciprocal = np.float32(1) / np.float32(fmt.max_norm)
        bits = (amax * reciprocal).view(np.uint32)
        rounded_up = (bits + np.uint32(0x7FFFFF)) >> 23
        byte = np.where(bits <= 0x400000, 0, rounded_up)  # 2^-127 and below
    elif rule == "floor":
        byte = (amax.view(np.uint32) >> 23).astype(np.int32) - fmt.emax
    else:
        raise ValueError(
            f"unknown rule '{rule}', expected one of {', '.join(RULES)}")
    return np.clip(byte, 0, 254).astype(np.uint8)


def scale_elements(x, scales):
    """x divided by 2^(scale byte - 127), in float32; no byte may be 255."""
    bits = (254 - scales.astype(np.uint32)) << 23
    bits = np.where(scales == 254, np.uint32(0x400000), bits)
    return np.asarray(x, np.float32) * bits.astype(np.uint32).view(np.float32)


def _blocks(x, axis, size):
    """x with `axis` last and split into blocks, the last one filled with 0."""
    x = np.moveaxis(np.asarray(x), axis, -1)
    count = -(-x.shape[-1] // size)
    padding = count * size - x.shape[-1]
    if padding:
        x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, padding)])
    return x.reshape(*x.shape[:-1], count, size)


def _unblock(blocks, axis, length):
    *batch, count, size = blocks.shape
    x = blocks.reshape(*batch, count * size)[..., :length]
    return np.ascontiguousarray(np.moveaxis(x, -1, axis))


def quantize(x, fmt="e4m3", rule="rceil", axis=-1):
    """Quantizes blocks of 32 along `axis`; the last block may be shorter.

    Returns codes of x's shape and scale bytes of x's shape with `axis` divided
    by 32, rounded up."""
    fmt = get_format(fmt)
    x = np.asarray(x)
    blocks = _blocks(x.astype(np.float32), axis, BLOCK)
    amax = np.max(np.abs(blocks), axis=-1)
    finite = np.isfinite(amax)  # a NaN is its block's maximum
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        scales = block_scales(np.where(finite, amax, 0), fmt, rule)
        codes = encode(scale_elements(blocks, scales[..., None]), fmt)
    codes = np.where(finite[..., None], codes, fmt.nan_code).astype(np.uint8)
    scales = np.where(finite, scales, 255).astype(np.uint8)
    codes = _unblock(codes, axis, x.shape[axis])
    return codes, np.ascontiguousarray(np.moveaxis(scales, -1, axis))


def dequantize(codes, scales, fmt="e4m3", axis=-1, dtype=np.float32):
    """Values of codes times their block's scale, rounded once to `dtype`."""
    codes = np.asarray(codes, dtype=np.uint8)
    blocks = decode(_blocks(codes, axis, BLOCK), fmt).astype(np.float64)
    factors = scale_values(np.moveaxis(np.asarray(scales), axis, -1))
    if factors.shape != blocks.shape[:-1]:
        raise ValueError(
            f"scales of shape {np.shape(scales)} do not fit codes of shape "
            f"{codes.shape} in blocks of {BLOCK} along axis {axis}")
    with np.errstate(over="ignore", under="ignore"):
        values = (blocks * factors[..., None]).astype(dtype)
    return _unblock(values, axis, codes.shape[axis])


def nvfp4_global_scale(x):
    """6 * 448 / amax in float32: it brings the largest block scale to 448.

    1 for a tensor without a finite nonzero element; at most the largest
    float32."""
    magnitude = np.abs(np.asarray(x, dtype=np.float32))
    amax = np.max(magnitude, initial=0, where=np.isfinite(magnitude))
    if amax == 0:
        return np.float32(1)
    with np.errstate(over="ignore"):
        scale = np.float32(6 * 448) / np.float32(amax)
    return np.minimum(scale, np.finfo(np.float32).max)


def quantize_nvfp4(x, global_scale=None, axis=-1):
    """Quantizes to E2M1 in blocks of 16 with E4M3 scales.

    `global_scale` multiplies x first. A block's scale is its maximum times
    1/6 (float32), rounded to E4M3; a block of zeros has scale 0. Returns codes,
    scale codes (E4M3) and the global scale. A block with a NaN or an infinity
    has the scale NaN (0x7f)."""
    x = np.asarray(x)
    if global_scale is None:
        global_scale = nvfp4_global_scale(x)
    global_scale = np.float32(global_scale)
    blocks = _blocks(x.astype(np.float32), axis, NVFP4_BLOCK)
    finite = np.isfinite(np.max(np.abs(blocks), axis=-1))
    with np.errstate(all="ignore"):
        blocks = blocks * global_scale
        amax = np.max(np.abs(blocks), axis=-1)
        sixth = np.float32(1) / np.float32(6)
        scales = encode(np.where(finite, amax, 0) * sixth, "e4m3")
        factors = decode(scales, "e4m3")[..., None]
        ratios = np.where(factors == 0, np.copysign(0, blocks),
                          blocks / factors)
        codes = encode(ratios, "e2m1")
    codes = np.where(finite[..., None], codes, 0x7).astype(np.uint8)
    scales = np.where(finite, scales, 0x7F).astype(np.uint8)
    codes = _unblock(codes, axis, x.shape[axis])
    scales = np.ascontiguousarray(np.moveaxis(scales, -1, axis))
    return codes, scales, global_scale


def dequantize_nvfp4(codes, scales, global_scale, axis=-1, dtype=np.float32):
    """Element times E4M3 scale divided by the global scale."""
    codes = np.asarray(codes, dtype=np.uint8)
    blocks = decode(_blocks(codes, axis, NVFP4_BLOCK), "e2m1")
    factors = decode(np.moveaxis(np.asarray(scales), axis, -1), "e4m3")
    values = blocks.astype(np.float64) * factors[..., None]
    values = (values / np.float64(global_scale)).astype(dtype)
    return _unblock(values, axis, codes.shape[axis])


def pack_scales(scales, fill=0):
    """Row-major scales [..., rows, groups] in the blocked layout.

    The result is [..., ceil(rows / 128), ceil(groups / 4), 32, 4, 4]: atoms of
    512 bytes in which row m and group k lie at [m % 32, m % 128 / 32, k % 4].
    Padding is `fill`, 0 in the layout's definition."""
    scales = np.asarray(scales)
    *batch, rows, groups = scales.shape
    row_tiles, group_tiles = -(-rows // 128), -(-groups // 4)
    padded = np.full((*batch, row_tiles * 128, group_tiles * 4), fill,
                     dtype=scales.dtype)
    padded[..., :rows, :groups] = scales
    atoms = padded.reshape(*batch, row_tiles, 4, 32, group_tiles, 4)
    n = len(batch)
    order = (*range(n), n, n + 3, n + 2, n + 1, n + 4)
    return np.ascontiguousarray(atoms.transpose(order))


def unpack_scales(blocked, rows, groups):
    """Inverse of pack_scales: the row-major scales, without the padding."""
    blocked = np.asarray(blocked)
    *batch, row_tiles, group_tiles, _, _, _ = blocked.shape
    n = len(batch)
    order = (*range(n), n, n + 3, n + 2, n + 1, n + 4)
    padded = blocked.transpose(order).reshape(
        *batch, row_tiles * 128, group_tiles * 4)
    return np.ascontiguousarray(padded[..., :rows, :groups])


def scatter_scales(scales, offsets):
    """The scales [..., tokens, groups] of packed sequences in blocked atoms of
    their own: sequence g owns the tokens [offsets[g], offsets[g + 1])."""
    scales = np.asarray(scales)
    *batch, tokens, groups = scales.shape
    count = len(offsets) - 1
    blocked = np.zeros((*batch, (tokens + 127 * count) // 128, -(-groups // 4),
                        32, 4, 4), dtype=scales.dtype)
    atom = 0
    for begin, end in zip(offsets, offsets[1:]):
        atoms = -(-(end - begin) // 128)
        blocked[..., atom:atom + atoms, :, :, :, :] = pack_scales(
            scales[..., begin:end, :])
        atom += atoms
    return blocked


def scatter_scales_transposed(scales, offsets):
    """Likewise for scales [..., groups, rows] whose groups are 32 tokens of one
    sequence; every sequence begins a group."""
    scales = np.asarray(scales)
    *batch, groups, rows = scales.shape
    count = len(offsets) - 1
    blocked = np.zeros((*batch, -(-rows // 128), (groups + 3 * count) // 4,
                        32, 4, 4), dtype=scales.dtype)
    atom = group = 0
    for begin, end in zip(offsets, offsets[1:]):
        size, atoms = -(-(end - begin) // 32), -(-(end - begin) // 128)
        part = scales[..., group:group + size, :]
        blocked[..., atom:atom + atoms, :, :, :] = pack_scales(
            np.swapaxes(part, -1, -2))
        group += size
        atom += atoms
    return blocked


def _groups(codes, size):
    codes = np.asarray(codes, dtype=np.uint8)
    if codes.shape[-1] % size:
        raise ValueError(f"last dimension {codes.shape[-1]} is not divisible "
                         f"by {size}")
    return codes.reshape(*codes.shape[:-1], -1, size)


def pack_fp4(codes):
    """Two 4-bit codes a byte along the last axis, the even one in the low
    half."""
    pairs = _groups(codes, 2) & 0xF
    return pairs[..., 0] | (pairs[..., 1] << 4)


def unpack_fp4(packed):
    """Inverse of pack_fp4."""
    packed = np.asarray(packed, dtype=np.uint8)
    pairs = np.stack([packed & 0xF, packed >> 4], axis=-1)
    return pairs.reshape(*packed.shape[:-1], -1)


def pack_fp6(codes):
    """Four 6-bit codes in three bytes along the last axis, first in the low
    bits of a little-endian word."""
    quads = (_groups(codes, 4) & 0x3F).astype(np.uint32)
    word = np.sum(quads << np.arange(0, 24, 6, dtype=np.uint32), axis=-1,
                  dtype=np.uint32)
    parts = word[..., None] >> np.arange(0, 24, 8, dtype=np.uint32)
    return (parts & 0xFF).astype(np.uint8).reshape(*word.shape[:-1], -1)


def unpack_fp6(packed):
    """Inverse of pack_fp6."""
    parts = _groups(packed, 3).astype(np.uint32)
    word = np.sum(parts << np.arange(0, 24, 8, dtype=np.uint32), axis=-1,
                  dtype=np.uint32)
    quads = word[..., None] >> np.arange(0, 24, 6, dtype=np.uint32)
    return (quads & 0x3F).astype(np.uint8).reshape(*word.shape[:-1], -1)
