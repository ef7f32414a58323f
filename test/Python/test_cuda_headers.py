# ===- test_cuda_headers.py - lpfa.mx against the CUDA headers -------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""The host conversions of the CUDA headers as the oracle of lpfa.mx."""

import functools
import glob
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lpfa import mx

SOURCE = Path(__file__).parent / "Inputs" / "cuda_headers.cpp"


def include_dir():
    folders = [os.path.join(os.environ.get("CUDA_HOME", ""), "include"),
               "/usr/local/cuda/include",
               *glob.glob("/usr/local/cuda-*/include"),
               *glob.glob(os.path.join(sys.prefix, "lib", "python*",
                                       "site-packages", "nvidia", "*",
                                       "include"))]
    for folder in folders:
        if os.path.exists(os.path.join(folder, "cuda_fp6.h")):
            return folder
    return None


def build(folder):
    """The program that converts; None without a compiler and the headers."""
    compiler = shutil.which("g++") or shutil.which("c++") or shutil.which(
        "clang++-22")
    include = include_dir()
    if compiler is None or include is None:
        return None
    program = Path(folder) / "cuda_headers"
    subprocess.run([compiler, "-O1", "-std=c++17", "-isystem", include,
                    str(SOURCE), "-o", str(program)], check=True)
    return program


def run(program, x):
    """float32 values -> [n, 6] codes by the headers."""
    x = np.ascontiguousarray(x, dtype=np.float32)
    out = subprocess.run([program], input=x.tobytes(), check=True,
                         capture_output=True).stdout
    return np.frombuffer(out, dtype=np.uint8).reshape(-1, 6)


@pytest.fixture(scope="module")
def convert(tmp_path_factory):
    program = build(tmp_path_factory.mktemp("cuda"))
    if program is None:
        pytest.skip("needs a C++ compiler and the headers of a CUDA toolkit")
    return functools.partial(run, program)


def quantize(x, name, convert):
    """Codes and scales, by rceil, of rows of 32 float32."""
    amax = np.max(np.abs(x), axis=1)
    reciprocal = np.float32(1) / np.float32(mx.FORMATS[name].max_norm)
    scales = convert(amax * reciprocal)[:, 5]
    inverse = np.ldexp(1.0, 127 - scales.astype(int))[:, None]
    scaled = (x.astype(np.float64) * inverse).astype(np.float32)
    codes = convert(scaled.ravel())[:, list(mx.FORMATS).index(name)]
    return codes.reshape(x.shape), scales


def random_blocks(count, rng):
    """Rows of 32 float32: a magnitude for each, some with few mantissa bits, so
    that they are codes or between two."""
    exponents = rng.integers(-149, 128, (count, 1)) - rng.geometric(
        0.2, (count, 32))
    mantissas = 1 + rng.integers(0, 1 << 23, (count, 32)) / 2.0**23
    few = np.floor(mantissas * 32) / 32
    x = np.where(rng.random((count, 32)) < 0.5, mantissas, few)
    x *= rng.choice([-1.0, 1.0], (count, 32)) * np.exp2(exponents + 1.0)
    limit = np.finfo(np.float32).max
    return np.clip(x, -limit, limit).astype(np.float32)


def interesting_values():
    """Codes, ties and their neighbors of all formats, and random bits."""
    parts = []
    for fmt in mx.FORMATS.values():
        codes = np.arange(fmt.max_code + 1, dtype=np.uint8)
        values = mx.decode(codes, fmt)
        parts += [values, (values[1:] + values[:-1]) / 2]
    points = np.concatenate(parts + [[np.float32(2.0**e)
                                      for e in range(-149, 128)]])
    points = points.astype(np.float32)
    points = np.concatenate([np.nextafter(points, np.float32(0)), points,
                             np.nextafter(points, np.float32(np.inf))])
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 1 << 32, 50000, dtype=np.uint32).view(np.float32)
    near = rng.standard_normal(50000) * np.exp2(rng.integers(-18, 18, 50000))
    x = np.concatenate([points, -points, bits, near.astype(np.float32)])
    return x[np.isfinite(x)].astype(np.float32)


def test_elements(convert):
    x = interesting_values()
    expected = convert(x)
    for i, name in enumerate(mx.FORMATS):
        np.testing.assert_array_equal(mx.encode(x, name), expected[:, i], name)
    # Infinities saturate here; quantize never lets one come this far.
    nan = convert([np.nan, np.inf, -np.inf])
    for i, name in enumerate(mx.FORMATS):
        codes = mx.encode([np.nan, np.inf, -np.inf], name)
        assert codes.tolist() == nan[:, i].tolist(), name


@pytest.mark.parametrize("name", list(mx.FORMATS))
def test_rceil_blocks(convert, name):
    """Scale and elements of whole blocks by the hardware's conversions."""
    x = interesting_values()
    x = x[:x.size // 32 * 32].reshape(-1, 32)
    expected, expected_scales = quantize(x, name, convert)
    codes, scales = mx.quantize(x, name, "rceil")
    np.testing.assert_array_equal(scales[:, 0], expected_scales)
    np.testing.assert_array_equal(codes, expected)
