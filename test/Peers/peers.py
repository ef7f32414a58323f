# ===- peers.py - Kernels that others' compilers made ----------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""Runs the kernels of scripts/peers with lpfa-sim.

The folder that scripts/peers/make.sh made is LPFA_PEERS_DIR; without it, or
without the kernel there, a test is skipped and says so."""

import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "Simulator" / "Inputs"))

from sim import (Failure, InOut, Out, TensorMap,  # noqa: E402,F401
                 run_all, scalar)

SWIZZLES = ("none", "32b", "64b", "128b")
ELEMENTS = {"fp8e4nv": "u8", "fp8e5": "u8", "u8": "u8", "i8": "u8",
            "fp16": "f16", "bf16": "bf16", "fp32": "f32"}
SCALARS = {"i32": "s32", "i64": "s64", "fp32": "f32"}


def folder():
    path = os.environ.get("LPFA_PEERS_DIR")
    if not path:
        pytest.skip("LPFA_PEERS_DIR names no folder of scripts/peers/make.sh")
    return Path(path)


def text_of(name):
    path = folder() / name
    if not path.exists():
        pytest.skip(f"{path} was not made by scripts/peers/make.sh")
    return path.read_text()


def wait_behind_loads(text):
    """The text with a tcgen05.wait::ld right behind each tcgen05.ld.

    PTX leaves the registers of a load undefined before its wait
    (tcgen05.wait). Some compilers let arithmetic on them move ahead of the
    wait, or leave it out, and rely on ptxas; the simulator reports that."""
    return re.sub(r"\btcgen05\.ld\.[^;]*;",
                  lambda m: m[0] + "\n\ttcgen05.wait::ld.sync.aligned;", text)


def _descriptor(argument, array):
    """A tensor descriptor: map, sizes, strides in elements."""
    item = np.dtype(array.dtype).itemsize
    strides = np.cumprod((array.shape[:0:-1]))[::-1].tolist() + [1]
    element = argument["type"].split("<")[1].split("[")[0]
    yield TensorMap(array, argument["block_size"],
                    swizzle=SWIZZLES[argument["swizzle"]],
                    element=ELEMENTS[element],
                    strides=[int(s) * item for s in strides[-2::-1]])
    for size in array.shape:
        yield scalar("u32", int(size))
    for stride in strides:
        yield scalar("u64", int(stride))


def triton_launch(name, values, grid):
    """The text of name.ptx, its parameters, and the rest of its launch.
    `values` are the arguments by name: arrays, Outs and numbers."""
    text = text_of(f"{name}.ptx")
    described = json.loads((folder() / f"{name}.json").read_text())
    parameters = []
    for argument in described["arguments"]:
        value = values[argument["name"]]
        if argument["type"].startswith("tensordesc"):
            parameters += _descriptor(argument, value)
        elif argument["type"].startswith("*"):
            parameters.append(value)
        else:
            parameters.append(scalar(SCALARS[argument["type"]], value))
    scratch = [scalar("u64", 0)] * 2
    return text, parameters + scratch, {
        "block": described["threads"], "grid": grid,
        "shared": described["shared"], "entry": described["entry"]}


def run_triton(name, values, grid, edit=lambda text: text):
    """Runs name.ptx, its text edited, under every schedule; its results."""
    text, parameters, launch = triton_launch(name, values, grid)
    return run_all(edit(text), parameters, **launch)
