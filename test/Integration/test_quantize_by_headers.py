# ===- test_quantize_by_headers.py - Quantization against the CUDA headers ---===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""lpfa.quantize of random blocks, on the reference and as a kernel in the
simulator, against the host conversions of the CUDA headers."""

import sys
from pathlib import Path

import numpy as np
import pytest

import lpfa
from harness import BIN_DIR, tool
from launcher import launch
from lpfa import mx
from test_quantize_kernels import Quantize, module

sys.path.insert(0, str(Path(__file__).parent.parent / "Python"))
import test_cuda_headers as headers  # noqa: E402

convert = headers.convert


@pytest.mark.parametrize("name", mx.FORMATS)
@pytest.mark.parametrize("device", ["reference", "sm_90a", "sm_100a"])
def test_random_blocks(convert, device, name, tmp_path):
    x = headers.random_blocks(512, np.random.default_rng(1))
    codes, scales = headers.quantize(x, name, convert)
    text = module("f32", (Quantize(name),))
    operand = x.reshape(16, 1024)
    if device == "reference":
        tool("lpfa-run")
        results = lpfa.run(text, "f", [operand], bin_dir=BIN_DIR)
    else:
        tool("lpfa-compile")
        lpfa.compile(text, tmp_path, emit=["ptx", "plan"], chip=device,
                     bin_dir=BIN_DIR)
        results = launch(tmp_path, "f", [operand], tool("lpfa-sim"))
    np.testing.assert_array_equal(results[1].ravel(), scales)
    np.testing.assert_array_equal(results[0].reshape(codes.shape), codes)
