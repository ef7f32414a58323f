# ===- test_waits.py - Waits beside those of TLX's kernel -------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""The waits of each role's steady loop in lpfa's attention, and in TLX's, both
counted in the PTX by lpfa-compile --emit=cost: lpfa's at mbarriers and named
barriers, TLX's at mbarriers alone, for its named barriers stand between the warps
of one role."""

import os
import re
import subprocess
import sys
from pathlib import Path

from peers import text_of

sys.path[:0] = [str(Path(__file__).parents[1] / "Analysis/Inputs"),
                str(Path(__file__).parents[1] / "Integration")]
from harness import tool  # noqa: E402
from mutants import attention  # noqa: E402

# What TLX's loops are called, which have no names, and lpfa's roles.
ROLES = {"softmax": "softmax0", "tensor memory": "correction", "mma": "mma",
         "load": "load"}


def waits(source, name, folder):
    """The most waits of a pass of the innermost loops of each role."""
    path = folder / name
    path.write_text(source)
    subprocess.run([tool("lpfa-compile"), path, "-o", folder, "--emit=cost"],
                   check=True, env=os.environ | {"LPFA_PTXAS": "/none"})
    counts = {}
    for line in (folder / "cost.txt").read_text().splitlines():
        if match := re.match(r"  ([a-z]+(?: memory)?\d?)(?: +[a-z]+)? +(\d+) +(\d+) ", line):
            role, count = match.group(1), int(match.group(3))
            counts[role] = max(count, counts.get(role, 0))
    return counts


def test_not_more_than_tlx(tmp_path):
    text = re.sub(r"\bbar(rier)?\.(cta\.)?sync[^;]*;", "",
                  text_of("tlx_mxfp8.ptx"))
    theirs = waits(text, "tlx.ptx", tmp_path)
    ours = waits(attention(128), "attention.mlir", tmp_path)
    print("TLX:", theirs, "lpfa:", ours)
    for their, our in ROLES.items():
        assert ours[our] <= theirs[their], our
