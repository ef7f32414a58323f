"""Runs the product of matmul.mlir and compares it with numpy's."""

import os
import sys

import ml_dtypes
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__),
                                "../../Simulator/Inputs"))
from sim import Out, TensorMap, run

rng = np.random.default_rng(1)
a = rng.standard_normal((128, 128)).astype(ml_dtypes.float8_e4m3fn)
b = rng.standard_normal((128, 128)).astype(ml_dtypes.float8_e5m2)
a_scales, b_scales = rng.integers(120, 135, (2, 128, 4)).astype(np.uint8)


def scaled(codes, scales):
    powers = np.ldexp(1.0, scales.astype(int) - 127)
    return codes.astype(np.float64) * np.repeat(powers, 32, axis=1)


def atom(scales):
    """The 512 bytes that tcgen05.cp copies: row r, group k at
    (r % 32) * 16 + r // 32 * 4 + k."""
    return np.ascontiguousarray(
        scales.reshape(4, 32, 4).transpose(1, 0, 2)).reshape(-1)


with open(sys.argv[1]) as f:
    ptx = f.read()
expected = scaled(a, a_scales) @ scaled(b, b_scales).T
reference = None
for schedule in (["eager"], ["lazy"], ["random", "--seed=1"],
                 ["random", "--seed=2"]):
    d, = run(ptx, [TensorMap(a.view(np.uint8), (128, 128), "128b"),
                   TensorMap(b.view(np.uint8), (128, 128), "128b"),
                   atom(a_scales), atom(b_scales),
                   TensorMap(Out([128, 128], "float32"), (128, 32))],
             block=128, shared=99352, entry="matmul",
             options=[f"--schedule={schedule[0]}", *schedule[1:],
                      "--check=all"])
    np.testing.assert_allclose(d, expected, rtol=1e-5,
                               atol=1e-5 * np.abs(expected).max())
    if reference is not None:
        np.testing.assert_array_equal(d, reference)
    reference = d
