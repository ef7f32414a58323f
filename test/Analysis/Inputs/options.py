# ===- options.py - Every schedule that the pipeline makes -----------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""Synchronizes attention with all options, under both orderings, and counts the
verdicts of lpfa-verify-schedule."""

import collections
import itertools
import re
import sys

from mutants import attention, opt

PIPELINE = ("builtin.module(lpfa-form-kernels{{query-tiles={q} key-tile={k}}},"
            "canonicalize,cse,lpfa.kernel(lpfa-assign-roles{{{roles}}},"
            "canonicalize,cse,lpfa-place-tiles,"
            "lpfa-insert-barriers{{ordering={ordering}}},"
            "lpfa-verify-schedule{{ordering={ordering}}}))")
FIRST = "scores-first=true "
AHEAD = "scores-ahead=2 "
ROLES = {
    "": ["stages=1 output-stages=1", "stages=2 output-stages=2", "stages=4"],
    FIRST: [FIRST + "stages=2"],
    FIRST + "score-buffers=2 ": [FIRST + "score-buffers=2"],
    AHEAD: [AHEAD],
    AHEAD + "queries-in-tmem=true ": [AHEAD + "queries-in-tmem=true"],
    "probability-parts ": ["probability-parts=2", FIRST + "probability-parts=2",
                           AHEAD + "probability-parts=2"],
    "probability-buffers ": ["score-buffers=2 probability-buffers=2"],
}


def judge(dim, q, k, roles, ordering):
    """The verdict, or that there is no room."""
    module = attention(dim, "causal" if "stages=2" in roles else "none")
    result = opt(module, PIPELINE.format(**locals()),
                 "--remarks-filter-analyse=lpfa-schedule", "-o", "/dev/null")
    if "finds no place for its tiles" in result.stderr:
        return "no room in tensor memory"
    if "probability-parts must divide" in result.stderr:
        return "no such parts"
    if result.returncode:
        sys.exit(f"{dim=} {q=} {k=} {roles=} {ordering=}: {result.stderr}")
    return re.search(r'Remark="?(safe.*?)"?$', result.stderr, re.M).group(1)


for name, roles in ROLES.items():
    for ordering in ("practice", "documented"):
        counts = collections.Counter(
            judge(*case, ordering)
            for case in itertools.product((64, 128), (1, 2), (32, 64, 96, 128),
                                          roles))
        for verdict, count in sorted(counts.items()):
            print(f"{name}{ordering}: {count} {verdict}")
