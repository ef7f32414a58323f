# ===- __init__.py - The Python side of lpfa -------------------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""Microscaled values in numpy, references for ops, and the lpfa tools.

``mx``         quantize, dequantize, scale layouts, packing of narrow codes
``attention``  attention in float64, and with the op's quantization of P
``matmul``     products of microscaled matrices in float64
``norm``       root-mean-square normalization of rows
``metrics``    maximum absolute error, RMSE, SQNR, cosine
``compile``    drives lpfa-compile
``run``        drives lpfa-run
``launch``     drives lpfa-launch, ``benchmark`` its --benchmark
"""

from . import attention, matmul, metrics, mx, norm
from .driver import ToolError, benchmark, compile, find_tool, launch, run

__all__ = [
    "ToolError",
    "attention",
    "benchmark",
    "compile",
    "find_tool",
    "launch",
    "matmul",
    "metrics",
    "mx",
    "norm",
    "run",
]
