#!/usr/bin/env python3
# ===- check_kernels.py - Kernels on a GPU, against numpy ------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""Kernels without roles on a GPU, against lpfa.mx and lpfa.norm, to the bit.

On any machine, for a chip:

  check_kernels.py compile DIR [--chip=sm_90a] [--group=GROUP]

On one with such a GPU, which needs lpfa-launch alone:

  check_kernels.py run DIR [--large] [--each-kernel-once] [--group=GROUP]
  check_kernels.py fuzz DIR [--blocks=1048576]

`run` compares shapes of a covering set of sizes, rows at any 16 bytes, rows with
gaps, and no rows; `--large` adds tensors of more than 2^31 elements and rows
that are as far apart, `--each-kernel-once` keeps one small case a kernel, for
compute-sanitizer, `--group` the kernels that the summary lists under a name.
`fuzz` compares MXFP quantization of random blocks with the
host conversions of the CUDA headers. Tools are found as by lpfa.find_tool.
"""

import argparse
import functools
import itertools
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import ml_dtypes
import numpy as np

TESTS = Path(__file__).resolve().parent.parent
for folder in ("../python", "Integration", "Python"):
    sys.path.insert(0, str(TESTS / folder))

import lpfa  # noqa: E402
import test_cuda_headers as headers  # noqa: E402
import test_jagged_scales as jagged  # noqa: E402
import test_quantize_kernels as quantize  # noqa: E402
import test_rms_norm_backward_kernels as backward  # noqa: E402
import test_rms_norm_blocks as blocks  # noqa: E402
import test_rms_norm_kernels as normalize  # noqa: E402
from lpfa import mx, norm  # noqa: E402
from test_quantize_kernels import Quantize  # noqa: E402

DTYPES = quantize.DTYPES
SIZES = (1, 31, 32, 33, 127, 128, 129, 1000, 1152, 65537)
MAX_ELEMENTS = 1 << 23
PART = 1 << 15  # blocks that `fuzz` has in one launch
WIDTHS = (1, 31, 32, 33, 127, 128, 129, 1000, 1152, 2056, 4096, 8192, 8200,
          16384, 16385, 32768, 50000, 65536, 65537, 65536, 131072)
NARROW_WIDTHS = (1, 31, 32, 60, 64, 96, 100, 128, 200, 256, 260, 512, 600, 768,
                 1024, 1536)
BLOCK_WIDTHS = (1, 31, 32, 33, 64, 96, 127, 128, 129, 256, 512, 520, 1000, 1024, 1152,
                2048, 2056, 3072, 3500, 4096, 5120, 8192, 8200, 16384, 16385)


@dataclass
class Case:
    """A launch, what makes its arguments, and what its results must be."""

    group: str
    plan: str
    function: str
    shape: tuple
    make: callable = field(repr=False)
    options: dict = field(default_factory=dict)

    def check(self, folder):
        args, expected = self.make()
        results = lpfa.launch(folder / self.plan / "plan.json", args,
                              self.function, **self.options)
        assert len(results) == len(expected)
        for i, (result, right) in enumerate(zip(results, expected)):
            if result.dtype == np.uint16 and right.dtype == DTYPES["bf16"]:
                result = result.view(DTYPES["bf16"])
            if right.dtype.kind not in "uib":  # any NaN is one
                result, right = (x.astype(np.float32) for x in (result, right))
            np.testing.assert_array_equal(result, right, f"result {i}")


def run_case(case, folder):
    try:
        case.check(folder)
    except Exception as error:  # noqa: BLE001: a failure is a result
        return f"{case}: {str(error).strip()}"
    return None


# ===-----------------------------------------------------------------------===#
# Quantization
# ===-----------------------------------------------------------------------===#


def variants(name):
    """Functions of a module that quantizes to a format, and their ops."""
    def both(rule):
        return (Quantize(name, rule=rule, blocked=True),
                Quantize(name, True, rule=rule, blocked=True))
    return {
        "row": (Quantize(name),),
        "column": (Quantize(name, column=True),),
        "both": both("rceil"),
        "floor": both("floor"),
        "squares": (Quantize(name, square=True, blocked=True),
                    Quantize(name, True, square=True, blocked=True)),
    }


def quantize_text(dtype, name, rank=2):
    return "".join(quantize.module(dtype, ops, rank).replace("@f", f"@{f}")
                   for f, ops in variants(name).items())


def make_quantize(dtype, ops, shape):
    x = quantize.sample(shape, dtype, seed=sum(shape))
    return [x], [y for op in ops for y in op.expected(x)]


def quantize_cases(modules):
    for dtype, name in itertools.product(DTYPES, mx.FORMATS):
        modules[f"quantize-{dtype}-{name}"] = quantize_text(dtype, name)
    modules["quantize-3d"] = quantize_text("bf16", "e4m3", 3)
    kernels = list(itertools.product(DTYPES, mx.FORMATS, variants("e4m3")))
    placements = ({}, {"offset": 16}, {"row_padding": 8},
                  {"offset": 16, "row_padding": 37})
    shapes = [s for s in itertools.product(SIZES, SIZES)
              if s[0] * s[1] <= MAX_ELEMENTS]
    shapes += [(0, 64), (64, 0), (0, 0)]
    for i, (rows, columns) in enumerate(shapes):
        for j in range(3):
            dtype, name, function = kernels[(3 * i + j) * 7 % len(kernels)]
            # Rows end with a byte.
            unit = {4: 2, 6: 4}.get(mx.FORMATS[name].bits, 1)
            shape = (rows, -(-columns // unit) * unit)
            ops = variants(name)[function]
            yield Case("quantize", f"quantize-{dtype}-{name}", function, shape,
                       functools.partial(make_quantize, dtype, ops, shape),
                       placements[(i + j) % 4])
    for shape in ((2, 16, 96), (3, 129, 64), (5, 1, 33), (0, 5, 64)):
        for function in ("both", "squares"):
            ops = variants("e4m3")[function]
            yield Case("quantize", "quantize-3d", function, shape,
                       functools.partial(make_quantize, "bf16", ops, shape))


def make_nvfp4(shape, inverse):
    x = quantize.sample(shape, "bf16", seed=sum(shape))
    codes, scales, g = mx.quantize_nvfp4(x)
    g = np.asarray(g)
    if inverse:
        return [codes, scales, g], [mx.dequantize_nvfp4(codes, scales, g)]
    return [x, g], [codes, scales, mx.pack_scales(scales)]


def nvfp4_cases(modules):
    modules["nvfp4"] = quantize.NVFP4
    for i, shape in enumerate(itertools.product((1, 31, 33, 129),
                                                (2, 32, 34, 128, 1000, 1152))):
        for function in "fg":
            yield Case("NVFP4", "nvfp4", function, shape,
                       functools.partial(make_nvfp4, shape, function == "g"),
                       {"offset": 16} if i % 2 else {})


def make_dequantize(name, axis, dtype, shape):
    rng = np.random.default_rng(sum(shape))
    codes = rng.integers(0, 1 << mx.FORMATS[name].bits, shape, np.uint8)
    blocks = list(shape)
    blocks[axis] = -(-shape[axis] // 32)
    scales = rng.integers(0, 256, blocks, dtype=np.uint8)
    with np.errstate(over="ignore"):
        x = mx.dequantize(codes, scales, name, axis).astype(DTYPES[dtype])
    return [codes, scales], [x]


def dequantize_cases(modules):
    for name in mx.FORMATS:
        modules[f"dequantize-{name}"] = "".join(
            quantize.dequantize(name, dtype, axis).replace(
                "@f", f"@{dtype}_{axis}")
            for dtype in DTYPES for axis in (0, 1))
    shapes = [(r, -(-c // 4) * 4) for r in SIZES[:-1] for c in SIZES[:-1]]
    kernels = list(itertools.product(mx.FORMATS, DTYPES, (0, 1)))
    for i, shape in enumerate(shapes + [(65537, 32), (1, 65540), (0, 32)]):
        name, dtype, axis = kernels[i * 7 % len(kernels)]
        yield Case("dequantize", f"dequantize-{name}", f"{dtype}_{axis}", shape,
                   functools.partial(make_dequantize, name, axis, dtype, shape),
                   {"offset": 16} if i % 2 else {})


def make_layout(function, transposed, shape):
    rng = np.random.default_rng(sum(shape))
    scales = rng.integers(0, 256, shape, dtype=np.uint8)
    matrix = scales.swapaxes(1, 2) if transposed else scales
    if function == "pack":
        return [scales], [mx.pack_scales(matrix)]
    # Padding does not matter.
    return [mx.pack_scales(matrix, fill=0xFF), scales], [scales]


def layout_cases(modules):
    modules["layout"] = quantize.layouts(False)
    modules["layout-transposed"] = quantize.layouts(True)
    sizes = [(1, r, c) for r in (1, 31, 128, 129, 1000, 65537)
             for c in (1, 3, 4, 5, 33, 47, 127, 128)]
    for i, shape in enumerate(sizes + [(3, 129, 5), (2, 0, 4)]):
        for transposed, function in itertools.product((False, True),
                                                      ("pack", "unpack")):
            placed = (shape[0], shape[2], shape[1]) if transposed else shape
            options = {"offset": 16} if i % 2 else {}
            if function == "pack" and i % 3 == 0:
                options = {**options, "row_padding": 5}
            yield Case(function, "layout-transposed" if transposed else "layout",
                       function, placed,
                       functools.partial(make_layout, function, transposed,
                                         placed), options)


def make_jagged(function, lengths, groups):
    offsets = jagged.offsets_of(lengths)
    transposed = function.endswith("_transposed")
    owned = sum(-(-n // 32) for n in lengths) if transposed else offsets[-1]
    scatter = (mx.scatter_scales_transposed if transposed
               else mx.scatter_scales)
    scales = jagged.random_bytes((2, owned + 9, groups))
    blocked = scatter(scales, offsets)
    if function.startswith("scatter"):
        return [scales, offsets], [blocked]
    expected = scales.copy()
    expected[:, owned:] = 0
    poisoned = np.where(blocked == 0, np.uint8(0xFF), blocked)
    return [poisoned, offsets, scales[0]], [expected]


def jagged_cases(modules):
    modules["jagged"] = jagged.SOURCE.read_text()
    lengths = [*jagged.LENGTHS, jagged.MANY, (4096, 1, 0, 65537)]
    for i, (each, groups) in enumerate(itertools.product(lengths, (1, 4, 5, 47))):
        for way, mode in itertools.product(("scatter", "gather"),
                                           ("", "_transposed")):
            yield Case(way, "jagged", way + mode, (*each, groups),
                       functools.partial(make_jagged, way + mode, each, groups),
                       {"offset": 16} if i % 2 else {})


# ===-----------------------------------------------------------------------===#
# Normalization
# ===-----------------------------------------------------------------------===#


def make_norm(shape, dtype, weight, results):
    x = normalize.sample(shape, dtype)
    w = normalize.sample(shape[-1:], weight, seed=1)
    y, rstd = norm.rms_norm(x, w, np.float32(1e-6))
    with np.errstate(over="ignore", invalid="ignore"):
        y = y.astype(DTYPES[dtype])
    codes, scales = mx.quantize(y)
    expected = {"y": normalize.bits(y), "rstd": rstd, "q": codes, "s": scales}
    return [x, w], [expected[r] for r in results]


ANY = ("y", "rstd", "q", "s")


def norm_cases(modules):
    modules["norm-any"] = normalize.module(2, "?", "bf16", "f32", "bf16", ANY)
    kinds = (("bf16", "bf16", ("q", "s")), ("bf16", "f32", ANY),
             ("f32", "f32", ("y", "rstd")), ("f16", "bf16", ("y",)))
    for i, width in enumerate(WIDTHS):
        shape = (9, width)
        yield Case("rms_norm", "norm-any", "f", shape, functools.partial(
            make_norm, shape, "bf16", "f32", ANY))
        dtype, weight, results = kinds[i % 4]
        plan = f"norm-{width}-{dtype}-{weight}"
        modules[plan] = normalize.module(2, width, dtype, weight, dtype,
                                         results)
        for rows, options in ((1, {}), (37, {"offset": 16}),
                              (600 if width < 5000 else 150,
                               {"row_padding": 8}), (0, {})):
            shape = (rows, width)
            yield Case("rms_norm", plan, "f", shape,
                       functools.partial(make_norm, shape, dtype, weight,
                                         results), options)


def make_norm_blocks(shape, dtype, weight, ops, results):
    x = normalize.sample(shape, dtype)
    w = normalize.sample(shape[-1:], weight, seed=1)
    return [x, w], blocks.expected(x, w, dtype, ops, results)


def norm_block_cases(modules):
    """Squares and columns of normalized rows."""
    kinds = (("bf16", "bf16", blocks.SQUARES, ()),
             ("bf16", "f32", blocks.BOTH, ("y", "rstd")),
             ("f32", "f32", blocks.SQUARES, ("y",)),
             ("f16", "bf16", blocks.COLUMNS, ("rstd",)),
             ("bf16", "f32", blocks.ROW_MAJOR, ("y",)))

    def case(plan, shape, kind, options):
        return Case("rms_norm in blocks", plan, "f", shape, functools.partial(
            make_norm_blocks, shape, *kind), options)
    for kind in kinds[:2]:
        modules[f"blocks-any-{kind[1]}"] = blocks.module(2, "?", *kind[:2],
                                                         kind[0], *kind[2:])
    for i, width in enumerate(BLOCK_WIDTHS):
        # f6 rows end with a byte.
        kind = kinds[i % (4 if width % 4 else 5)]
        dtype, weight, *_ = kind
        plan = f"blocks-{width}-{dtype}-{weight}"
        modules[plan] = blocks.module(2, width, dtype, weight, dtype, *kind[2:])
        for rows, options in ((1, {}), (37, {"offset": 16}),
                              (1000 if width < 5000 else 150,
                               {"row_padding": 8}), (0, {})):
            yield case(plan, (rows, width), kind, options)
        kind = kinds[i % 2]
        yield case(f"blocks-any-{kind[1]}", (33 + i, width), kind, {})


def narrow_norm_cases(modules):
    """Normalized rows of which a warp has several, in all formats."""
    kinds = (("bf16", "bf16", (Quantize(),), ()),
             ("bf16", "f32", (Quantize("e5m2", row_major=False, blocked=True),),
              ("rstd",)),
             ("f32", "f32", (Quantize(rule="floor", blocked=True),), ("y",)),
             ("bf16", "bf16", (Quantize(blocked=True),), ("y", "rstd")),
             # Rows end with a byte.
             ("f16", "bf16", (Quantize("e2m1"),), ("y", "rstd")),
             ("f32", "bf16", (Quantize("e2m3", blocked=True),), ()),
             ("bf16", "bf16", (Quantize("e3m2"),), ()))
    for i, width in enumerate(NARROW_WIDTHS):
        for j in (0, 1 + i % (3 if width % 4 else 6)):
            kind = kinds[j]
            dtype, weight, *_ = kind
            for rank, shapes in (
                    (2, ((1, {}), (37, {"offset": 16}),
                         (1000, {"row_padding": 8}), (0, {}))),
                    (4, ((2, 3, 11), (1, 2, 129)))):
                plan = f"narrow-{rank}d-{width}-{j}"
                modules[plan] = blocks.module(rank, width, dtype, weight, dtype,
                                              *kind[2:])
                for shape in shapes:
                    options = {}
                    if rank == 2:
                        *shape, options = shape
                    shape = (*shape, width)
                    yield Case("rms_norm, narrow", plan, "f", shape,
                               functools.partial(make_norm_blocks, shape,
                                                 *kind), options)


def backward_cases(modules):
    """Gradients of normalized rows; more rows than there are partial sums."""
    kinds = ({}, {"codes": "e4m3", "weight": "f32"},
             {"dy": "f32", "x": "f32", "weight": "f32"},
             {"dy": "f32", "x": "f16", "codes": "e5m2"},
             {"codes": "e2m1", "results": ("dw",)}, {"results": ("dx",)})

    def case(plan, shape, kind, options):
        return Case("rms_norm_backward", plan, "f", shape,
                    functools.partial(backward.make, shape, **kind), options)
    for i, kind in enumerate(kinds[:2]):
        modules[f"backward-any-{i}"] = backward.module(2, "?", **kind)
        modules[f"backward-4d-{i}"] = backward.module(4, 96, **kind)
        for shape in ((2, 3, 11, 96), (700, 1, 9, 96), (2, 0, 3, 96)):
            yield case(f"backward-4d-{i}", shape, kind, {})
    for i, width in enumerate(sorted(set(WIDTHS))):
        # f4 rows end with a byte.
        j = 0 if width % 2 and i % 6 == 4 else i % 6
        kind = kinds[j]
        plan = f"backward-{width}-{j}"
        modules[plan] = backward.module(2, width, **kind)
        most = min(8 * 768, (3 << 20) // width + 90)
        padding = {} if j == 4 else {"row_padding": 8}
        for rows, options in ((1, {}), (37, {"offset": 16}), (most, padding),
                              (0, {})):
            yield case(plan, (rows, width), kind, options)
        j = i % 2
        yield case(f"backward-any-{j}", (90 + i, width), kinds[j], {})


# ===-----------------------------------------------------------------------===#
# Drivers
# ===-----------------------------------------------------------------------===#


def all_cases():
    modules = {}
    cases = [case for make in (quantize_cases, nvfp4_cases, dequantize_cases,
                               layout_cases, jagged_cases, norm_cases,
                               norm_block_cases, narrow_norm_cases,
                               backward_cases)
             for case in make(modules)]
    return modules, cases


def compile_module(item, folder, chip):
    name, text = item
    lpfa.compile(text, folder / name, chip=chip, emit=["cubin", "plan"])


def check_large(folder):
    """`both` of 264,192 x 8,192 elements, the same 2,048 rows again and again,
    and of rows that are 2^26 elements apart."""
    rows, columns, times = 2048, 8192, 129
    (x,), expected = make_quantize("bf16", variants("e4m3")["both"],
                                   (rows, columns))
    with tempfile.TemporaryDirectory() as work:
        whole = np.lib.format.open_memmap(
            f"{work}/x.npy", "w+", np.uint16, (times * rows, columns))
        for i in range(times):
            whole[i * rows:(i + 1) * rows] = x.view(np.uint16)
        whole.flush()
        subprocess.run([lpfa.find_tool("lpfa-launch"),
                        folder / "quantize-bf16-e4m3/plan.json",
                        "--function=both", f"--arg={work}/x.npy",
                        f"--out={work}/out"], check=True)
        axes = (0, 0, 0, 0, 0, 1)  # along which results follow rows
        for n, (right, axis) in enumerate(zip(expected, axes, strict=True)):
            result = np.load(f"{work}/out/result{n}.npy", mmap_mode="r")
            assert result.shape[axis] == times * right.shape[axis]
            for part in np.split(result, times, axis):
                np.testing.assert_array_equal(part, right, f"result {n}")
    print(f"both of {whole.size} elements: equal", flush=True)
    shape = (40, 1000)
    case = Case("quantize", "quantize-bf16-e4m3", "both", shape,
                functools.partial(make_quantize, "bf16",
                                  variants("e4m3")["both"], shape),
                {"row_padding": (1 << 26) - 1000})
    case.check(folder)
    print(f"both of rows 2^26 elements apart, {shape}: equal", flush=True)


def summarize(cases, failures):
    for failure in failures[:20]:
        print(failure)
    for group, count in Counter(case.group for case in cases).items():
        shapes = len({c.shape for c in cases if c.group == group})
        kernels = len({(c.plan, c.function) for c in cases if c.group == group})
        print(f"{group}: {count} launches, {kernels} kernels or chains, "
              f"{shapes} shapes")
    print(f"{len(cases) - len(failures)} of {len(cases)} launches equal to the "
          "bit")


def keep_small(cases):
    """For each function its smallest case of some tiles, else its largest."""
    kept = {}
    for case in sorted(cases, key=lambda c: np.prod(c.shape)):
        last = kept.get((case.plan, case.function))
        if last is None or np.prod(last.shape) < 20000:
            kept[case.plan, case.function] = case
    return list(kept.values())


def fuzz_case(job, folder, oracle):
    """A part of the blocks of a format: the number of wrong scales and codes."""
    name, seed = job
    x = headers.random_blocks(PART, np.random.default_rng(seed))
    codes, scales = lpfa.launch(folder / f"quantize-f32-{name}/plan.json",
                                [x.reshape(-1, 1024)], "row")
    right_codes, right_scales = headers.quantize(
        x, name, functools.partial(headers.run, oracle))
    return (np.count_nonzero(scales.ravel() != right_scales)
            + np.count_nonzero(codes.reshape(x.shape) != right_codes))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("mode", choices=["compile", "run", "fuzz"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--chip", default="sm_90a")
    parser.add_argument("--group", help="kernels of this group only")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--each-kernel-once", action="store_true")
    parser.add_argument("--blocks", type=int, default=1 << 20)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    modules, cases = all_cases()
    if options.group:
        cases = [case for case in cases if case.group == options.group]
        plans = {case.plan for case in cases}
        modules = {name: text for name, text in modules.items() if name in plans}
    with multiprocessing.Pool(options.jobs) as pool:
        if options.mode == "compile":
            pool.map(functools.partial(compile_module, folder=options.folder,
                                       chip=options.chip),
                     modules.items(), chunksize=1)
            return 0
        if options.mode == "fuzz":
            oracle = headers.build(options.folder)
            wrong = 0
            for name in mx.FORMATS:
                parts = range(-(-options.blocks // PART))
                counts = pool.map(
                    functools.partial(fuzz_case, folder=options.folder,
                                      oracle=oracle),
                    [(name, i) for i in parts], chunksize=1)
                print(f"{name}: {len(parts) * PART} blocks, {sum(counts)} "
                      "scales or codes differ", flush=True)
                wrong += sum(counts)
            return int(wrong > 0)
        if options.each_kernel_once:
            cases = keep_small(cases)
        failures = [failure for failure in pool.map(
            functools.partial(run_case, folder=options.folder), cases,
            chunksize=1) if failure]
    summarize(cases, failures)
    if options.large:
        check_large(options.folder)
    return int(len(failures) > 0)


if __name__ == "__main__":
    sys.exit(main())
