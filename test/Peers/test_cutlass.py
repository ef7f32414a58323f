# ===- test_cutlass.py - CUTLASS's block-scaled examples -------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""Examples 72a (NVFP4) and 72c (MXFP8 times MXFP4) of CUTLASS 4.2 against numpy
in float64: clusters of eight CTAs, pairs that multiply, multicast, cluster
launch control."""

import json
import re
import subprocess

import ml_dtypes
import numpy as np
import pytest

from lpfa import mx
from peers import (Failure, Out, TensorMap, folder, run_all, text_of,
                   wait_behind_loads)

# In the order of the driver's enumeration.
ELEMENTS = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64",
            "bf16", "f32_ftz", "tf32", "tf32_ftz", "u4x16_align8",
            "u4x16_align16", "u6x16_align16")
SWIZZLES = ("none", "32b", "64b", "128b")


def tensor_map(array, buffer, element, swizzle, dims, box, fill, interleave,
               **more):
    assert fill == 0 and interleave == 0
    return TensorMap(array, box[::-1], SWIZZLES[swizzle], ELEMENTS[element],
                     dims[::-1], **more)


def run_example(name, arrays, *problem, edit=lambda text: text):
    """The results of the example, its text edited, under every schedule."""
    text = edit(text_of(f"cutlass_{name}.ptx"))
    launch = json.loads(subprocess.run(
        [folder() / f"cutlass_{name}", *map(str, problem)], check=True,
        capture_output=True, text=True).stdout)
    fields = []
    for field in launch["fields"]:
        described = field.get("tensor_map")
        value = (tensor_map(arrays[described["buffer"]], **described)
                 if described else arrays[field["buffer"]])
        fields.append((field["offset"], value))
    entry, = re.findall(r"\.entry (\w+)", text)
    return run_all(text, [{"bytes": launch["bytes"], "fields": fields}],
                   entry=entry, block=launch["block"], grid=launch["grid"],
                   cluster=launch["cluster"], shared=launch["shared"])


def random(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def operand(kind, x):
    """Codes, atoms of scales, values."""
    if kind == "nvfp4":
        codes, scales, factor = mx.quantize_nvfp4(x, np.float32(1))
        values = mx.dequantize_nvfp4(codes, scales, factor, dtype=np.float64)
    else:
        format = {"mxfp8": "e4m3", "mxfp4": "e2m1"}[kind]
        codes, scales = mx.quantize(x, format)
        values = mx.dequantize(codes, scales, format, dtype=np.float64)
    stored = codes if kind == "mxfp8" else mx.pack_fp4(codes)
    return stored, mx.pack_scales(scales.view(np.uint8)), values


def fence_inits(text):
    """The text with every initialization of a barrier fenced."""
    arrive = "barrier.cluster.arrive.relaxed.aligned;"
    assert text.count(arrive) == 1
    return text.replace(arrive,
                        f"fence.mbarrier_init.release.cluster;\n\t{arrive}")


def arguments_of(name, kinds, m, n, k, alpha, beta):
    """Those of run_example, the operands' values and C."""
    a, scales_a, va = operand(kinds[0], random(1, m, k))
    b, scales_b, vb = operand(kinds[1], random(2, n, k))
    c = random(3, m, n).astype(ml_dtypes.bfloat16)
    arrays = {"A": a, "SFA": scales_a, "B": b, "SFB": scales_b,
              "C": c.view(np.uint16), "D": Out((m, n), np.uint16)}
    return (name, arrays, m, n, k, alpha, beta), va, vb, c.astype(np.float64)


EXAMPLES = pytest.mark.parametrize("name, kinds", [
    ("72a", ("nvfp4", "nvfp4")), ("72c", ("mxfp8", "mxfp4"))])


@EXAMPLES
def test_alarms(name, kinds):
    """Two true alarms. The epilogue uses what tcgen05.ld loads without
    tcgen05.wait::ld; and the barrier that hands over tensor memory at the end
    is initialized behind fence.mbarrier_init, so that the relaxed arrival does
    not pass it on to the CTA of the pair that arrives at it."""
    arguments, *_ = arguments_of(name, kinds, 256, 1024, 256, 1, 0)
    with pytest.raises(Failure, match="uninitialized: .* undefined byte"):
        run_example(*arguments, edit=fence_inits)
    with pytest.raises(Failure, match=r"race: .*\n.*mbarrier\.arrive.*\n.*init"):
        run_example(*arguments, edit=wait_behind_loads)


# Tiles are 256 x 256 x 256 and clusters 1 x 4 of them; M, N and K may end
# anywhere that TMA can.
@pytest.mark.parametrize("m, n, k", [(256, 1024, 256), (512, 1024, 768),
                                     (200, 520, 384)])
@pytest.mark.parametrize("alpha, beta", [(1, 0), (2, -0.5)])
@EXAMPLES
def test_example(name, kinds, alpha, beta, m, n, k):
    arguments, va, vb, c = arguments_of(name, kinds, m, n, k, alpha, beta)
    result, = run_example(
        *arguments, edit=lambda text: wait_behind_loads(fence_inits(text)))
    expected = alpha * (va @ vb.T) + beta * c
    bound = (2.0**-8 * np.abs(expected)
             + alpha * (k / 32) * 2.0**-22 * (np.abs(va) @ np.abs(vb).T))
    got = result.view(ml_dtypes.bfloat16).astype(np.float64)
    assert np.all(np.abs(got - expected) <= bound)
