# ===- backward.py - Two maps of tensor memory for the gradient ------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""The waits that a placed kernel needs, and those that it would need with the map
of the hand-made kernel."""

import re
import sys
from pathlib import Path

from mutants import opt

HAND_MADE = {
    "S": 0, "P": 0, "dP.V": 48, "dP.dO": 52, "dV.P": 56, "dV.dO": 60,
    "dQ.dS": 80, "dQ.K": 84, "dV": 128, "dP": 256, "dQ": 256, "dS": 256,
    "S.K": 304, "S.Q": 308, "dK.dS": 336, "dK.Q": 340, "dK": 384}
PIPELINE = "builtin.module(lpfa.kernel(lpfa-insert-barriers,lpfa-verify-schedule))"


def report(name, text):
    result = opt(text, PIPELINE, "--remarks-filter-passed=lpfa-barriers",
                 "--remarks-filter-analyse=lpfa-schedule")
    if result.returncode:
        sys.exit(result.stderr)
    verdict = re.search(r'Remark="?(safe.*?)"?$', result.stderr, re.M).group(1)
    print(f"{name}: {result.stderr.count('wait-overlap')} waits for overlaps, "
          f"{result.stdout.count('lpfa.wait ')} waits, {verdict}")


def move(line):
    name = re.search(r'lpfa\.(?:channel|accumulator|scratch) "(.*?)"', line)
    if not name or name.group(1) not in HAND_MADE:
        return line
    return re.sub(r"(?<=<tensor, )\d+(?=,)", str(HAND_MADE[name.group(1)]), line)


placed = Path(sys.argv[1]).read_text()
report("found", placed)
moved = "\n".join(map(move, placed.splitlines()))
report("hand-made", re.sub(r"tensor_columns\(\d+\)", "tensor_columns(512)", moved))
