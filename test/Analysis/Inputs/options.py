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
            "canonicalize,cse,lpfa.kernel(lpfa-assign-roles{{stages={s} "
            "output-stages={o}}},canonicalize,cse,lpfa-place-tiles,"
            "lpfa-insert-barriers{{ordering={ordering}}},"
            "lpfa-verify-schedule{{ordering={ordering}}}))")

verdicts = collections.defaultdict(collections.Counter)
for ordering in ("practice", "documented"):
    for dim, q, k, (s, o) in itertools.product(
            (64, 128), (1, 2), (32, 64, 128), ((1, 1), (2, 2), (4, 1))):
        module = attention(dim, "causal" if s == 2 else "none")
        result = opt(module, PIPELINE.format(**locals()),
                     "--remarks-filter-analyse=lpfa-schedule", "-o", "/dev/null")
        if result.returncode:
            sys.exit(f"{dim=} {q=} {k=} {s=} {o=}: {result.stderr}")
        verdict = re.search(r'Remark="?(safe.*?)"?$', result.stderr, re.M)
        verdicts[ordering][verdict.group(1)] += 1
for ordering, counts in verdicts.items():
    for verdict, count in sorted(counts.items()):
        print(f"{ordering}: {count} {verdict}")
