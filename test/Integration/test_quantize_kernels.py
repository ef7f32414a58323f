# ===- test_quantize_kernels.py - Quantization compiled, in the simulator ---===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""Kernels of lpfa.quantize, lpfa.dequantize, lpfa.pack_scales and
lpfa.unpack_scales against lpfa.mx, to the bit. Buffers are guarded and fresh
ones poisoned: what a kernel reads beyond a tensor, or leaves unwritten, shows.

Sizes are dynamic: a variant is compiled once for all of its shapes."""

import functools
import json
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import lpfa
from harness import BIN_DIR, tool
from launcher import launch
from lpfa import mx

GOLDEN = Path(__file__).parent.parent / "data" / "mx_golden.json"
DTYPES = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32}


@dataclass(frozen=True)
class Quantize:
    """An lpfa.quantize along the rows, or the columns, of matrices, and how its
    scales are written."""

    format: str = "e4m3"
    column: bool = False
    square: bool = False
    rule: str = "rceil"
    codes: bool = True
    row_major: bool = True
    blocked: bool = False

    def expected(self, x):
        """The results that `module` returns for it."""
        axis = -2 if self.column else -1
        if self.square:
            codes, scales = quantize_squares(x, self.format, self.rule, axis)
        else:
            codes, scales = mx.quantize(x, self.format, self.rule, axis)
        results = [*[codes] * self.codes, *[scales] * self.row_major]
        if self.blocked:
            matrix = scales.swapaxes(-1, -2) if self.column else scales
            results.append(mx.pack_scales(matrix))
        return results


def quantize_squares(x, name, rule, axis):
    """mx.quantize with one scale for each square of 32 x 32."""
    *batch, rows, columns = x.shape
    down, across = -(-rows // 32), -(-columns // 32)
    padded = np.pad(x.astype(np.float32), [
        *[(0, 0)] * len(batch), (0, -rows % 32), (0, -columns % 32)])
    squares = padded.reshape(*batch, down, 32, across, 32)
    peaks = np.max(np.abs(squares), axis=(-3, -1), initial=0)
    scales = mx.quantize(peaks[..., None], name, rule)[1][..., 0]
    spread = np.repeat(np.repeat(scales, 32, -2), 32, -1)[..., :rows, :columns]
    finite = spread != 255
    with np.errstate(invalid="ignore", over="ignore"):
        codes = mx.encode(
            mx.scale_elements(x, np.where(finite, spread, 0)), name)
    codes = np.where(finite, codes, mx.FORMATS[name].nan_code).astype(np.uint8)
    if axis == -1:
        return codes, np.repeat(scales, 32, -2)[..., :rows, :]
    return codes, np.repeat(scales, 32, -1)[..., :columns]


def quantizations(source, dtype, ops, rank, columns="?"):
    """Text that quantizes `source`, whose last dimension may be known, as each of
    `ops` says; its results, and their types."""
    known = columns != "?"
    rows = "?x" * (rank - 1)
    shape = f"{rows}{columns}x"
    groups = f"{rows}{-(-columns // 32) if known else '?'}x"
    tiles = -(-columns // 128) if known else "?"
    batch = "?x" * (rank - 2)
    body, values, types = "", [], []
    for i, op in enumerate(ops):
        axis = rank - 2 if op.column else rank - 1
        codes = f"tensor<{shape}{mx.FORMATS[op.format].mlir_type}>"
        scales = f"tensor<{shape if op.column else groups}f8E8M0FNU>"
        atoms = f"{batch}{tiles}x?x" if op.column else f"{batch}?x{tiles}x"
        blocked = f"tensor<{atoms}32x4x4xf8E8M0FNU>"
        body += (f"  %q{i}, %s{i} = lpfa.quantize {source} axis({axis})"
                 f" {'square' if op.square else ''} rule({op.rule}) :"
                 f" tensor<{shape}{dtype}> -> {codes}, {scales}\n")
        if op.blocked:
            body += (f"  %b{i} = lpfa.pack_scales %s{i}"
                     f" {'transposed' if op.column else ''} :"
                     f" {scales} -> {blocked}\n")
        for name, type_, is_result in (("q", codes, op.codes),
                                       ("s", scales, op.row_major),
                                       ("b", blocked, op.blocked)):
            if is_result:
                values.append(f"%{name}{i}")
                types.append(type_)
    return body, values, types


def module(dtype, ops, rank=2):
    """@f, which returns what each of `ops` gives of one tensor."""
    body, values, types = quantizations("%x", dtype, ops, rank)
    types = ", ".join(types)
    return (f"func.func @f(%x: tensor<{'?x' * rank}{dtype}>) -> ({types}) {{\n{body}"
            f"  return {', '.join(values)} : {types}\n}}\n")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Compiles a module for a chip, once; the folder with its plan."""
    tool("lpfa-compile")

    @functools.cache
    def compile_(text, chip):
        out = tmp_path_factory.mktemp("kernel")
        lpfa.compile(text, out, emit=["ptx", "plan"], chip=chip,
                     bin_dir=BIN_DIR)
        return out
    return compile_


def sample(shape, dtype, seed=0):
    """Normal numbers, rows and columns times powers of two, so that a scale of
    another block shows; some zeros, NaN and infinities."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape).astype(np.float32)
    x *= np.exp2(rng.integers(-12, 13, shape[-1:]))
    if len(shape) > 1:
        x *= np.exp2(rng.integers(-12, 13, (*shape[:-1], 1)))
        x[..., 3::40, :] = 0
        x[..., 4::40, :] = -0.0
    flat = x.reshape(-1)
    if flat.size > 1000:
        flat[rng.integers(0, flat.size, 2)] = np.nan
        flat[rng.integers(0, flat.size, 2)] = -np.inf
    with np.errstate(over="ignore"):
        return x.astype(DTYPES[dtype])


def bits(array):
    return array.view(np.uint16) if array.dtype == DTYPES["bf16"] else array


def check(compiled, dtype, ops, shape, chip="sm_90a", **options):
    out = compiled(module(dtype, ops, len(shape)), chip)
    x = sample(shape, dtype, seed=sum(shape))
    results = launch(out, "f", [bits(x)], tool("lpfa-sim"), fill=0xA5,
                     options=["--schedule=random"], **options)
    expected = [y for op in ops for y in op.expected(x)]
    for i, (result, right) in enumerate(zip(results, expected, strict=True)):
        np.testing.assert_array_equal(result, right, err_msg=f"result {i}")


ROW = (Quantize(),)
COLUMN = (Quantize(column=True),)
BOTH = (Quantize(blocked=True), Quantize(column=True, blocked=True))
SQUARES = (Quantize(square=True, row_major=False, blocked=True),
           Quantize(square=True, column=True, codes=False, blocked=True))
# Rows and columns around those of blocks, vectors and tiles.
SHAPES = {
    "row": (ROW, [(1, 1), (31, 33), (33, 127), (129, 31), (2, 1000),
                  (1, 65537)]),
    "column": (COLUMN, [(1, 1), (32, 32), (127, 128), (128, 129), (33, 1000)]),
    "both": (BOTH, [(31, 33), (32, 32), (129, 1152), (2, 1000)]),
    "squares": (SQUARES, [(1, 1), (33, 127), (127, 128), (128, 129)]),
}


@pytest.mark.parametrize("ops, shape", [
    pytest.param(ops, shape, id=f"{name}-{shape}")
    for name, (ops, shapes) in SHAPES.items() for shape in shapes])
def test_shapes(ops, shape, compiled):
    """Edges of tiles and blocks, rows that are aligned and not."""
    check(compiled, "bf16", ops, shape)


@pytest.mark.parametrize("name", mx.FORMATS)
@pytest.mark.parametrize("chip", ["sm_90a", "sm_100a"])
def test_formats(name, chip, compiled):
    """With the instructions of a chip, and without."""
    ops = (Quantize(name, blocked=True), Quantize(name, rule="floor"),
           Quantize(name, column=True))
    check(compiled, "bf16", ops, (40, 264), chip)


@pytest.mark.parametrize("chip", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("dtype", ["f16", "f32"])
def test_inputs(dtype, chip, compiled):
    check(compiled, dtype, BOTH + SQUARES, (70, 264), chip)


@pytest.mark.parametrize("ops", [BOTH, SQUARES], ids=["both", "squares"])
@pytest.mark.parametrize("shape", [(2, 16, 96), (3, 129, 64), (0, 5, 64),
                                   (2, 0, 64), (2, 5, 0)], ids=str)
def test_batches(ops, shape, compiled):
    """Scales are padded for each batch; nothing is launched for no elements."""
    check(compiled, "bf16", ops, shape)


@pytest.mark.parametrize("size", [1, 33, 5000])
def test_vectors(size, compiled):
    check(compiled, "bf16", ROW, (size,))


@pytest.mark.parametrize("shift", [2, 16])
@pytest.mark.parametrize("ops", [ROW, BOTH], ids=["row", "both"])
def test_base_off_alignment(ops, shift, compiled):
    # Atoms of scales are 16 bytes aligned, as the tensor core's copies want.
    if shift == 2:
        ops = tuple(Quantize(column=op.column) for op in ops)
    check(compiled, "bf16", ops, (130, 160), "sm_100a", shift=shift)


@pytest.mark.parametrize("strides", ["every other row", "one row", "columns"])
def test_strides(strides, compiled):
    """Input that is part of a larger tensor, or one row again and again."""
    out = compiled(module("bf16", BOTH), "sm_90a")
    x = sample((140, 400), "bf16")
    x = {"every other row": x[::2, :264],
         "one row": np.broadcast_to(x[5], (140, 400)),
         "columns": x[:, 7:271]}[strides]
    results = launch(out, "f", [x.view(np.uint16)], tool("lpfa-sim"))
    expected = [y for op in BOTH for y in op.expected(x)]
    for result, right in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, right)


@pytest.mark.parametrize("name, rule", [(n, r) for n in ("e4m3", "e2m1")
                                        for r in mx.RULES])
def test_golden_values(name, rule, compiled):
    cases = [c for c in json.loads(GOLDEN.read_text())
             if (c["element"], c["rule"]) == (name, rule)]
    assert len(cases) == 33
    x = np.array([c["x_bits"] for c in cases], np.uint32).view(np.float32)
    out = compiled(module("f32", (Quantize(name, rule=rule),)), "sm_90a")
    codes, scales = launch(out, "f", [x], tool("lpfa-sim"))
    for i, case in enumerate(cases):
        assert scales[i].tolist() == [case["scale"]], case["case"]
        assert codes[i].tolist() == case["codes"], case["case"]


@pytest.mark.parametrize("name", ["f4E2M1FN", "f6E3M2FN"])
def test_rows_that_end_within_a_byte(name, tmp_path):
    tool("lpfa-compile")
    text = f"""\
func.func @f(%x: tensor<4x65xf32>) -> tensor<4x65x{name}> {{
  %q, %s = lpfa.quantize %x axis(1)
      : tensor<4x65xf32> -> tensor<4x65x{name}>, tensor<4x3xf8E8M0FNU>
  return %q : tensor<4x65x{name}>
}}
"""
    with pytest.raises(lpfa.ToolError, match="has rows of packed f"):
        lpfa.compile(text, tmp_path, emit=["ptx"], bin_dir=BIN_DIR)


NVFP4 = """\
func.func @f(%x: tensor<?x?xbf16>, %g: tensor<f32>)
    -> (tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN>,
        tensor<?x?x32x4x4xf8E4M3FN>) {
  %q, %s = lpfa.quantize %x axis(1) global(%g : tensor<f32>)
      : tensor<?x?xbf16> -> tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN>
  %b = lpfa.pack_scales %s
      : tensor<?x?xf8E4M3FN> -> tensor<?x?x32x4x4xf8E4M3FN>
  return %q, %s, %b : tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN>,
      tensor<?x?x32x4x4xf8E4M3FN>
}
func.func @g(%q: tensor<?x?xf4E2M1FN>, %s: tensor<?x?xf8E4M3FN>,
             %g: tensor<f32>) -> tensor<?x?xf32> {
  %x = lpfa.dequantize %q scaled %s axis(1) global(%g : tensor<f32>)
      : tensor<?x?xf4E2M1FN>, tensor<?x?xf8E4M3FN> -> tensor<?x?xf32>
  return %x : tensor<?x?xf32>
}
"""


@pytest.mark.parametrize("chip, shape, global_scale", [
    ("sm_90a", (33, 130), None), ("sm_90a", (200, 64), 1.0),
    ("sm_90a", (33, 130), 3e38), ("sm_100a", (33, 130), None)], ids=str)
def test_nvfp4(chip, shape, global_scale, compiled):
    """Also with a global scale that makes scales 0, or products infinite."""
    out = compiled(NVFP4, chip)
    x = sample(shape, "bf16")
    codes, scales, g = mx.quantize_nvfp4(x, global_scale)
    g = np.asarray(g)
    results = launch(out, "f", [x.view(np.uint16), g], tool("lpfa-sim"))
    for result, right in zip(results, (codes, scales, mx.pack_scales(scales)),
                             strict=True):
        np.testing.assert_array_equal(result, right)
    (values,) = launch(out, "g", [codes, scales, g], tool("lpfa-sim"))
    np.testing.assert_array_equal(values, mx.dequantize_nvfp4(codes, scales, g))


def dequantize(name, dtype, axis):
    element = mx.FORMATS[name].mlir_type
    return f"""\
func.func @f(%q: tensor<?x?x{element}>, %s: tensor<?x?xf8E8M0FNU>)
    -> tensor<?x?x{dtype}> {{
  %x = lpfa.dequantize %q scaled %s axis({axis})
      : tensor<?x?x{element}>, tensor<?x?xf8E8M0FNU> -> tensor<?x?x{dtype}>
  return %x : tensor<?x?x{dtype}>
}}
"""


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", mx.FORMATS)
@pytest.mark.parametrize("chip", ["sm_90a", "sm_100a"])
def test_dequantize(chip, name, axis, compiled):
    """Every code times every scale, on the way to f32."""
    out = compiled(dequantize(name, "f32", axis), chip)
    count = 1 << mx.FORMATS[name].bits
    codes = np.repeat(np.arange(count, dtype=np.uint8)[:, None], 256, 1)
    codes = np.tile(codes, (-(-64 // count), 1))
    scales = np.tile(np.arange(256, dtype=np.uint8), (-(-len(codes) // 32), 1))
    if axis == 1:
        codes, scales = codes.T.copy(), scales.T.copy()
    (values,) = launch(out, "f", [codes, scales], tool("lpfa-sim"))
    expected = mx.dequantize(codes, scales, name, axis=axis)
    np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_dequantize_to_16_bits(dtype, compiled):
    out = compiled(dequantize("e5m2", dtype, 1), "sm_90a")
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 256, (33, 200), dtype=np.uint8)
    scales = rng.integers(90, 165, (33, 7), dtype=np.uint8)
    (values,) = launch(out, "f", [codes, scales], tool("lpfa-sim"))
    with np.errstate(over="ignore"):
        expected = mx.dequantize(codes, scales, "e5m2").astype(DTYPES[dtype])
    np.testing.assert_array_equal(
        values.view(DTYPES[dtype]).astype(np.float32),
        expected.astype(np.float32))


def layouts(transposed):
    """@pack, and @unpack to the sizes of another tensor."""
    mode = "transposed" if transposed else ""
    plain, blocked = "tensor<?x?x?xf8E8M0FNU>", "tensor<?x?x?x32x4x4xf8E8M0FNU>"
    return f"""\
func.func @pack(%s: {plain}) -> {blocked} {{
  %b = lpfa.pack_scales %s {mode} : {plain} -> {blocked}
  return %b : {blocked}
}}
func.func @unpack(%b: {blocked}, %like: {plain}) -> {plain} {{
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %m = tensor.dim %like, %c1 : {plain}
  %n = tensor.dim %like, %c2 : {plain}
  %s = lpfa.unpack_scales %b {mode} sizes(%m, %n) : {blocked} -> {plain}
  return %s : {plain}
}}
"""


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 129, 5), (2, 300, 47),
                                   (2, 0, 4), (1, 130, 80)],
                         ids=str)
def test_layouts_of_scales(shape, transposed, compiled):
    dimensions = (2, 1) if transposed else (1, 2)
    out = compiled(layouts(transposed), "sm_90a")
    scales = np.random.default_rng(5).integers(0, 256, shape, dtype=np.uint8)
    operand = np.ascontiguousarray(scales.swapaxes(1, 2)) if transposed else scales
    (packed,) = launch(out, "pack", [operand], tool("lpfa-sim"), fill=0xA5)
    np.testing.assert_array_equal(packed, mx.pack_scales(scales))
    # Padding does not matter.
    poisoned = mx.pack_scales(scales, fill=0xFF)
    (rows,) = launch(out, "unpack", [poisoned, operand], tool("lpfa-sim"))
    np.testing.assert_array_equal(rows, operand)
