# ===- harness.py - Cases of attention for the tools -----------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""Cases of attention: the module, the operands and what must come out."""

import functools
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Optional

import ml_dtypes
import numpy as np
import pytest

import lpfa
from lpfa import metrics, mx
from lpfa.attention import Mask, PScale, attention, mx_attention

CAUSAL = Mask("causal", "bottom_right")
CAUSAL_TOP_LEFT = Mask("causal", "top_left")

# A build folder's tools when scripts/test.sh says which; else the installed.
BIN_DIR = os.environ.get("LPFA_TOOLS_DIR")

# Ways in which the simulator may order asynchronous work, and on how many
# multiprocessors: on few, one CTA does several work tiles.
ORDERS = [
    dict(schedule="eager"),
    dict(schedule="lazy", multiprocessors=1),
    dict(schedule="random", seed=1),
    dict(schedule="random", seed=2, multiprocessors=1),
    dict(schedule="random", seed=3, multiprocessors=2),
    dict(schedule="random", seed=4, multiprocessors=1),
    dict(schedule="random", seed=5),
]


@functools.lru_cache(maxsize=None)
def has_simulator():
    tool = lpfa.find_tool("lpfa-run", BIN_DIR)
    text = subprocess.run([tool, "--help"], capture_output=True, text=True)
    return "=sim" in text.stdout


def tool(name):
    """Path of a tool; skips the test where there is none, but not in a build
    that must have it."""
    try:
        return lpfa.find_tool(name, BIN_DIR)
    except FileNotFoundError:
        if BIN_DIR is not None:
            raise
        pytest.skip(f"{name} not found: set LPFA_TOOLS_DIR or PATH")


@dataclass(frozen=True)
class Case:
    """One lpfa.attention: sizes, options, and how its operands are drawn."""

    queries: int
    keys: int
    dim: int = 128
    batch: int = 1
    heads: int = 1
    kv_heads: int = 1
    mask: Mask = Mask()
    p_scale: PScale = PScale()
    formats: tuple = ("e4m3", "e4m3", "e4m3")  # of Q, K and V
    output: str = "f32"
    value_dim: Optional[int] = None
    blocked: bool = False  # scales in the blocked layout
    static: bool = False  # sizes written in the types
    peak: float = 1.0  # factor of the scores
    scale_spread: int = 0  # rows times powers of two up to this exponent
    seed: int = 0
    offsets_q: Optional[tuple] = None
    offsets_k: Optional[tuple] = None

    def __str__(self):
        parts = [f"q{self.queries}", f"k{self.keys}", f"d{self.dim}",
                 self.mask.kind, self.p_scale.mode]
        if self.mask.kind != "none":
            parts.insert(4, self.mask.alignment)
        if self.mask.kind == "sliding_window":
            parts.insert(5, f"{self.mask.left}_{self.mask.right}")
        if self.p_scale.mode != "constant" and self.p_scale.rounding != "rceil":
            parts.append(self.p_scale.rounding)
        if self.p_scale.lag:
            parts.append(f"lag{self.p_scale.lag}")
        if self.p_scale.format != "e4m3":
            parts.append(f"p_{self.p_scale.format}")
        if self.formats != ("e4m3",) * 3:
            parts.append("_".join(self.formats))
        if (self.batch, self.heads, self.kv_heads) != (1, 1, 1):
            parts.append(f"b{self.batch}h{self.heads}g{self.kv_heads}")
        if self.value_dim is not None:
            parts.append(f"v{self.value_dim}")
        if self.output != "f32":
            parts.append(self.output)
        for name in ("blocked", "static"):
            if getattr(self, name):
                parts.append(name)
        if self.peak != 1:
            parts.append(f"peak{self.peak:g}")
        if self.offsets_q:
            parts.append("jagged")
        if self.seed:
            parts.append(f"seed{self.seed}")
        return "-".join(parts)

    @property
    def scale(self):
        return np.float32(self.peak * self.dim**-0.5)

    @property
    def options(self):
        options = dict(scale=self.scale, mask=self.mask)
        if self.offsets_q is not None:
            options.update(offsets_q=self.offsets_q, offsets_k=self.offsets_k)
        return options


def _type(shape, element):
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


def mask_attribute(mask):
    parts = [mask.kind]
    if mask.kind != "none":
        parts.append(mask.alignment)
    if mask.left is not None:
        parts.append(f"left = {mask.left}")
    if mask.right is not None:
        parts.append(f"right = {mask.right}")
    return f"#lpfa.mask<{', '.join(parts)}>"


def p_scale_attribute(p_scale):
    parts = [p_scale.mode]
    if p_scale.mode == "constant":
        parts.append(f"lag = {p_scale.lag}")
    else:
        parts.append(f"rounding = {p_scale.rounding}")
    parts.insert(-1 if p_scale.mode == "constant" else 2,
                 f"element = {mx.get_format(p_scale.format).mlir_type}")
    return f"#lpfa.p_scale<{', '.join(parts)}>"


def module(case):
    """A module with the function @attention."""
    shapes = [x.shape for x in operands(case)]
    result_shapes = [(case.batch, case.heads, case.queries, shapes[4][3]),
                     (case.batch, case.heads, case.queries)]
    if not case.static:
        # Batch, heads and lengths, and what follows from lengths.
        def dynamic(shape, fixed):
            open_dims = len(shape) - fixed
            return ["?"] * open_dims + list(shape[open_dims:])

        scales = 3 if case.blocked else 1
        shapes = [dynamic(s, scales if i in (1, 3, 5) else 1)
                  for i, s in enumerate(shapes)]
        if case.blocked:  # a dimension of 128 needs one column of atoms
            for i in (1, 3):
                shapes[i][3] = -(-case.dim // 128)
            shapes[5][2] = -(-shapes[4][3] // 128)
        result_shapes = [dynamic(result_shapes[0], 1),
                         dynamic(result_shapes[1], 0)]
    formats = [mx.get_format(f).mlir_type for f in case.formats]
    elements = [formats[0], "f8E8M0FNU", formats[1], "f8E8M0FNU", formats[2],
                "f8E8M0FNU"]
    types = [_type(*pair) for pair in zip(shapes, elements)]
    names = ["%q", "%sq", "%k", "%sk", "%v", "%sv"]
    offsets = ""
    if case.offsets_q is not None:
        types += [f"tensor<{len(case.offsets_q)}xi32>"] * 2
        names += ["%oq", "%ok"]
        offsets = " offsets(%oq, %ok)"
    results = (f"({_type(result_shapes[0], case.output)}, "
               f"{_type(result_shapes[1], 'f32')})")
    arguments = ", ".join(f"{n}: {t}" for n, t in zip(names, types))
    scale = f"{np.float32(case.scale):.9e}"
    return f"""\
func.func @attention({arguments}) -> {results} {{
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv{offsets}
      {{scale = {scale} : f32, mask = {mask_attribute(case.mask)},
       p_scale = {p_scale_attribute(case.p_scale)}}}
      : ({', '.join(types)}) -> {results}
  return %o, %lse : {results[1:-1]}
}}
"""


@functools.lru_cache(maxsize=4)
def wide_operands(case):
    """Q, K and V before the quantization."""
    rng = np.random.default_rng(case.seed)
    value_dim = case.value_dim or case.dim
    q = rng.standard_normal((case.batch, case.heads, case.queries, case.dim))
    k = rng.standard_normal((case.batch, case.kv_heads, case.keys, case.dim))
    v = rng.standard_normal((case.batch, case.kv_heads, case.keys, value_dim))
    if case.scale_spread:
        # A misplaced scale shows only where scales differ. Columns of Q and K
        # change inversely, so that the scores stay as they are.
        s = case.scale_spread
        columns = np.exp2(rng.integers(-s, s + 1, case.dim))
        q, k = q * columns, k / columns
        v = v * np.exp2(rng.integers(-s, s + 1, value_dim))
    return tuple(x.astype(np.float32) for x in (q, k, v))


def _jagged_quantize_v(case, v):
    parts = [mx.quantize(v[:, :, a:b], case.formats[2], axis=-2)
             for a, b in zip(case.offsets_k, case.offsets_k[1:])]
    return tuple(np.concatenate(x, axis=2) for x in zip(*parts))


@functools.lru_cache(maxsize=4)
def row_major_operands(case):
    """Codes and row-major scales of Q, K and V."""
    q, k, v = wide_operands(case)
    if case.offsets_k is not None:
        v_operands = _jagged_quantize_v(case, v)
    else:
        v_operands = mx.quantize(v, case.formats[2], axis=-2)
    return (*mx.quantize(q, case.formats[0]), *mx.quantize(k, case.formats[1]),
            *v_operands)


def operands(case, fill=0):
    """The arrays that the function takes; `fill` is the padding of scales."""
    arrays = list(row_major_operands(case))
    if case.blocked:
        arrays[1] = mx.pack_scales(arrays[1], fill)
        arrays[3] = mx.pack_scales(arrays[3], fill)
        arrays[5] = mx.pack_scales(arrays[5].swapaxes(-1, -2), fill)
    if case.offsets_q is not None:
        arrays += [np.array(case.offsets_q, np.int32),
                   np.array(case.offsets_k, np.int32)]
    return arrays


@functools.lru_cache(maxsize=4)
def expected(case):
    """O and LSE in float64 by lpfa.attention."""
    return mx_attention(*row_major_operands(case), format=case.formats,
                        p_scale=case.p_scale, **case.options)


@functools.lru_cache(maxsize=4)
def exact(case):
    """O and LSE of the operands before the quantization, in float64."""
    return attention(*wide_operands(case), **case.options)


def widen(o, case):
    """O as float64."""
    if case.output == "bf16":
        o = o.view(ml_dtypes.bfloat16)
    return o.astype(np.float64)


def lower_to_roles(case, chip="sm_100a", bin_dir=None, **options):
    """The module with its kernel at the roles stage, its schedule chosen where
    options leave it."""
    given = " ".join(f"{key.replace('_', '-')}={value}"
                     for key, value in options.items())
    pipeline = (f"builtin.module(lpfa-choose-schedule{{chip={chip} {given}}},"
                "lpfa-form-kernels,canonicalize,cse,"
                "lpfa.kernel(lpfa-assign-roles,canonicalize,cse))")
    opt = bin_dir / "lpfa-opt" if bin_dir else tool("lpfa-opt")
    return subprocess.run([opt, "-", f"-pass-pipeline={pipeline}"],
                          input=module(case), check=True, capture_output=True,
                          text=True).stdout


def reorder(roles, order):
    """The text with the mma role's `lpfa.at` ops in another order."""
    lines = roles.splitlines()
    starts = [i for i, line in enumerate(lines) if "lpfa.at shift" in line]
    indent = lines[starts[0]].index("lpfa.at")
    ends = [next(j for j in range(i, len(lines))
                 if lines[j] == " " * indent + "}") + 1 for i in starts]
    assert ends[:-1] == starts[1:]
    blocks = [lines[a:b] for a, b in zip(starts, ends)]
    # The last two release the ring slots of the step: they stay last.
    assert sorted(order) == list(range(len(blocks) - 2))
    blocks = [blocks[i] for i in order] + blocks[-2:]
    return "\n".join(lines[:starts[0]] + sum(blocks, []) + lines[ends[-1]:])


def run(case, device, arrays=None, source=None, entry="attention", **options):
    """Runs a case, of a module of its own if there is no source; O as stored
    and LSE."""
    tool("lpfa-run")
    if device == "sim" and not has_simulator():
        pytest.skip("this lpfa-run has no simulator")
    arrays = operands(case) if arrays is None else arrays
    o, lse = lpfa.run(source or module(case), entry, arrays, device=device,
                      bin_dir=BIN_DIR, **options)
    assert lse.dtype == np.float32
    assert o.dtype == {"f32": np.float32, "f16": np.float16,
                       "bf16": np.uint16}[case.output]
    return o, lse


def run_orders(case, orders, **options):
    """The results of the simulator for each order of asynchronous work, side by
    side on all cores: a run is mostly compilation, on one core."""
    arrays = operands(case)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(
            lambda order: run(case, "sim", arrays, **options, **order),
            orders))


def check_against_expected(case, o, lse, gate=60):
    """O and LSE against the float64 reference that quantizes P alike, on many
    rows of ordinary input to `gate` dB.

    A probability that lies on the edge between two codes may fall on either
    side, by the last bit of an exponential. On many rows of ordinary input
    that leaves 60 dB; single rows and peaked ones hardly have such a P, but
    may lose a code's step of their largest."""
    expected_o, expected_lse = expected(case)
    assert o.shape == expected_o.shape and lse.shape == expected_lse.shape
    o = widen(o, case)
    seen = np.isfinite(expected_lse)
    np.testing.assert_array_equal(lse[~seen], np.float32(-np.inf))
    np.testing.assert_array_equal(o[~seen], 0)
    if not seen.any():
        return
    # A float32 holds an LSE of some hundreds to 1e-5.
    magnitude = np.maximum(1, np.abs(expected_lse[seen]) / 100)
    assert np.max(np.abs(lse[seen] - expected_lse[seen]) / magnitude) < 1e-4
    rows = o[seen].shape[0]
    if case.output != "f32":
        gate = {"bf16": 52, "f16": 58}[case.output]
        assert metrics.sqnr_db(o[seen], expected_o[seen]) >= gate
        return
    if rows >= 128 and case.peak == 1:
        assert metrics.sqnr_db(o[seen], expected_o[seen]) >= gate
        return
    near = [metrics.sqnr_db(*pair) >= 80 for pair in zip(o[seen],
                                                         expected_o[seen])]
    assert np.mean(near) >= 0.99
    # p_max <= 1, so a step of the largest code is at most this.
    v = np.max(np.abs(mx.dequantize(*row_major_operands(case)[4:],
                                    case.formats[2], axis=-2)))
    assert np.max(np.abs(o[seen] - expected_o[seen])) <= 2.0**-4 * v


def check_reference(case, o, lse):
    """O and LSE of the reference device: right up to the rounding of O."""
    expected_o, expected_lse = expected(case)
    seen = np.isfinite(expected_lse)
    np.testing.assert_array_equal(lse[~seen], np.float32(-np.inf))
    np.testing.assert_array_equal(o[~seen], 0)
    np.testing.assert_allclose(lse[seen], expected_lse[seen], rtol=2e-7,
                               atol=1e-6)
    gate = {"f32": 140, "f16": 73, "bf16": 55}[case.output]
    assert metrics.sqnr_db(widen(o, case)[seen], expected_o[seen]) >= gate


def bits(array):
    return array.view(np.dtype(f"u{array.dtype.itemsize}"))


def assert_same_bits(result, other, what=""):
    for a, b in zip(result, other):
        np.testing.assert_array_equal(bits(a), bits(b), err_msg=what)
