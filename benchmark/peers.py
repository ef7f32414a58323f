#!/usr/bin/env python3
# ===- peers.py - Speed of others' quantization kernels --------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""What quantization.sh measures, by others: bf16 to MXFP8 with torchao's Triton
kernels and torch.compile, RMS normalization with Liger.

Needs PyTorch, Triton, torchao 0.18.0, liger-kernel 0.8.5 and a GPU. A call is
timed by events, the L2 cache flushed before, the median; sizes are such that the
launch does not count. Every tensor counts as read or written once. A copy of the
input is measured beside it, the same way."""

import torch
import triton

# Those of torchao's kernels that need no instruction of Blackwell.
import torchao.utils

torchao.utils.is_ROCM = torchao.utils.is_MI350 = lambda: True

from liger_kernel.ops.rms_norm import LigerRMSNormFunction  # noqa: E402
from torchao.prototype.mx_formats.config import (  # noqa: E402
    ScaleCalculationMode)
from torchao.prototype.mx_formats.kernels import (  # noqa: E402
    triton_to_mxfp8_dim0, triton_to_mxfp8_dim1)
from torchao.prototype.mx_formats.mx_tensor import to_mx  # noqa: E402

SIZES = ((16384, 16384), (32768, 4096), (8192, 8192), (131072, 128))
QUANTIZED = 3 + 1 / 32  # bytes an element


def measure(function):
    """Microseconds."""
    function()
    return 1000 * triton.testing.do_bench(function, warmup=50, rep=200,
                                          return_mode="median")


def quantize(x, mode):
    return to_mx(x, torch.float8_e4m3fn, 32, mode)


def normalize_and_quantize(x, weight):
    x = x.float()
    rstd = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
    y = (x * rstd * weight.float()).to(torch.bfloat16)
    return quantize(y, ScaleCalculationMode.RCEIL)


def functions(x):
    """Names, functions and bytes an element."""
    weight = torch.randn(x.shape[1], device="cuda", dtype=torch.bfloat16)
    for rule in ("rceil", "floor"):
        yield (f"torchao, rows, {rule}", lambda r=rule: triton_to_mxfp8_dim0(
            x, inner_block_size=32, scaling_mode=r), QUANTIZED)
        yield (f"torchao, columns, {rule}", lambda r=rule: triton_to_mxfp8_dim1(
            x, inner_block_size=32, scaling_mode=r), QUANTIZED)
    for mode in (ScaleCalculationMode.RCEIL, ScaleCalculationMode.FLOOR):
        compiled = torch.compile(quantize, dynamic=False)
        yield (f"torch.compile, rows, {mode.name.lower()}",
               lambda f=compiled, m=mode: f(x, m), QUANTIZED)
    fused = torch.compile(normalize_and_quantize, dynamic=False)
    yield ("torch.compile, rms_norm and rows, rceil",
           lambda: fused(x, weight), QUANTIZED)
    yield ("Liger, rms_norm to bf16", lambda: LigerRMSNormFunction.apply(
        x, weight, 1e-6, 0.0, "llama", False), 4)


def main():
    print("| function | rows x columns | us | GB/s | of a copy |")
    print("| --- | --- | --- | --- | --- |")
    for rows, columns in SIZES:
        torch._dynamo.reset()
        x = torch.randn(rows, columns, device="cuda", dtype=torch.bfloat16)
        y = torch.empty_like(x)
        copy = 4 * x.numel() / measure(lambda: y.copy_(x))
        for name, function, size in functions(x):
            time = measure(function)
            rate = size * x.numel() / time
            print(f"| {name} | {rows}x{columns} | {time:.1f} | "
                  f"{rate / 1000:.0f} | {100 * rate / copy:.1f}% |", flush=True)


if __name__ == "__main__":
    main()
