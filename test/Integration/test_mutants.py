# ===- test_mutants.py - The simulator on broken schedules -----------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""What lpfa-verify-schedule says of a schedule with one mistake, the simulator
says of the kernel that comes of it: one that is accepted gives the same bits in
all orders of asynchronous work, one that is refused fails in some, with few
exceptions.

Not asked about are mutants that name another use of a barrier with one slot: the
verifier refuses them, but the kernel is the same, since it has one barrier
whichever use is meant. Neither are tiles that no kernel can have, outside what
is allocated.

A sample: LPFA_MUTANTS=60 takes that many, evenly from all."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import lpfa
from harness import BIN_DIR, Case, bits, module, operands, tool
from lpfa.attention import PScale

sys.path.insert(0, str(Path(__file__).parents[1] / "Analysis/Inputs"))
import mutants  # noqa: E402

# Long work tiles go around the rings, short ones show their seams. With constant
# scales the output is rescaled often.
CONSTANT = PScale("constant")
CASES = [Case(300, 500, p_scale=CONSTANT), Case(600, 100, p_scale=CONSTANT)]
ORDERS = [dict(schedule="lazy", multiprocessors=1),
          dict(schedule="random", seed=1, multiprocessors=1),
          dict(schedule="eager", multiprocessors=1)]


def simulate(text, case, order):
    """The result's bits, or the simulator's complaint."""
    try:
        results = lpfa.run(text, "attention", operands(case), device="sim",
                           bin_dir=BIN_DIR, verify_schedule="false",
                           check="all,strict-fences", **order)
    except lpfa.ToolError as error:
        return str(error)
    return [bits(result) for result in results]


def is_right(text, expected):
    for case, bits in zip(CASES, expected):
        for order in ORDERS:
            result = simulate(text, case, order)
            if isinstance(result, str) or not all(
                    np.array_equal(*pair) for pair in zip(result, bits)):
                return False
    return True


def gives_a_kernel(mutant, lines):
    """Whether a kernel comes of it that differs from the original."""
    if mutant.kind == "shift":
        return mutant.what != "O1"
    if mutant.kind != "swap" or "advance" not in mutant.what:
        return True
    pair = lines[mutant.line:mutant.line + 2]
    cursor = next(mutants.get_cursor(line) for line in pair
                  if "lpfa.advance" in line)
    declaration = next(line for line in reversed(lines[:mutant.line])
                       if f"{cursor} = lpfa.cursor" in line)
    return "stages(1)" not in declaration


def test_simulator_agrees(monkeypatch):
    monkeypatch.setenv("PATH", os.path.dirname(tool("lpfa-opt")), prepend=":")
    text = mutants.synchronize(module(CASES[0]))
    lines = text.splitlines()
    candidates = [m for m in mutants.make_mutants(text)
                  if gives_a_kernel(m, lines)]
    count = int(os.environ.get("LPFA_MUTANTS", "8"))
    step = -(-len(candidates) // count)
    sample = candidates[step // 2::step]
    verdicts = map(mutants.get_verdict, mutants.verify([m.text for m in sample]))
    expected = [simulate(text, case, ORDERS[0]) for case in CASES]
    assert not any(isinstance(result, str) for result in expected), expected

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rights = pool.map(lambda m: is_right(m.text, expected), sample)
    unsound, unseen = [], []
    for m, verdict, right in zip(sample, verdicts, rights):
        name = f"{m.kind} {m.what} in role {m.role}, line {m.line}: {verdict}"
        if not verdict and not right:
            unsound.append(name)
        elif verdict and right:
            unseen.append(name)
    print(f"{len(sample)} mutants, all but {len(unseen)} judged alike")
    assert not unsound, "\n".join(unsound)
    # Some mistakes show in one order of a great many: bytes of V that are in
    # flight until all of the next step's have been asked for.
    assert len(unseen) <= len(sample) // 20, "\n".join(unseen)
