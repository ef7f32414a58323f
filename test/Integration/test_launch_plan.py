# ===- test_launch_plan.py - What lpfa-compile wrote, run by lpfa-sim ------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""plan.json and the PTX beside it hold all that a launcher needs, and kernels
stay within their buffers: what lies beyond is poisoned."""

import pytest

import lpfa
from harness import (BIN_DIR, CAUSAL, Case, assert_same_bits,
                     check_against_expected, module, operands, tool)
from launcher import launch
from lpfa.attention import Mask, PScale

CASES = [
    Case(129, 129, heads=2, kv_heads=1),
    Case(127, 33, dim=64, mask=CAUSAL, batch=2),
    Case(1, 129, dim=64, p_scale=PScale("constant")),
    Case(200, 127, blocked=True, p_scale=PScale("block_max"), output="bf16"),
    Case(130, 300, static=True,
         mask=Mask("sliding_window", "bottom_right", left=64, right=0)),
]


SCHEDULES = [
    (Case(129, 300), dict(query_tiles=1)),
    (Case(129, 300), dict(key_tile=64)),
    (Case(300, 300, mask=CAUSAL), dict(query_tiles=1, stages=2)),
    (Case(300, 129, dim=64, mask=CAUSAL), dict(query_tiles=1, key_tile=64)),
    (Case(129, 300, dim=64, heads=2, p_scale=PScale("block_max")),
     dict(key_tile=32, stages=4)),
    (Case(129, 300, p_scale=PScale("constant")), dict(chip="sm_103a")),
]


@pytest.mark.parametrize("case, options", SCHEDULES, ids=str)
def test_schedules(case, options, tmp_path):
    """Right whatever the tiles, the rings and the chip."""
    tool("lpfa-compile")
    simulator = tool("lpfa-sim")
    lpfa.compile(module(case), tmp_path, emit=["ptx", "plan"], bin_dir=BIN_DIR,
                 **options)
    result = launch(tmp_path, "attention", operands(case), simulator,
                    options=["--schedule=random", "--seed=7"])
    check_against_expected(case, *result)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_guards(case, tmp_path):
    """0xFF is a NaN as f32, bf16, an E4M3 code and a scale."""
    tool("lpfa-compile")
    simulator = tool("lpfa-sim")
    out = tmp_path / "out"
    lpfa.compile(module(case), out, emit=["ptx", "plan"], bin_dir=BIN_DIR)
    zeros = launch(out, "attention", operands(case), simulator)
    poisoned = launch(out, "attention", operands(case, fill=0xFF), simulator,
                      fill=0xFF)
    assert_same_bits(zeros, poisoned)
    check_against_expected(case, *poisoned)
