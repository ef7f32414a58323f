# ===- test_summarize.py - The closing line of scripts/test.sh -------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""A run without tests, with a failure or without results must not look well."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "summarize.py"
PASS = '<testcase classname="c" name="p"/>'
FAIL = '<testcase classname="c" name="f"><failure>x</failure></testcase>'
ERROR = '<testcase classname="c" name="e"><error>x</error></testcase>'
SKIP = '<testcase classname="c" name="s"><skipped message="no GPU"/></testcase>'


def summarize(folder, *reports):
    paths = []
    for i, cases in enumerate(reports):
        paths.append(folder / f"{i}.xml")
        if cases is not None:
            paths[-1].write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    done = subprocess.run([sys.executable, SCRIPT, *paths], capture_output=True, text=True)
    return done.returncode, done.stdout.splitlines()


@pytest.mark.parametrize("reports, code, last", [
    ([PASS, PASS * 2], 0, "3 passed, 0 failed"),
    ([PASS + SKIP, PASS], 0, "2 passed, 0 failed, 1 skipped"),
    ([PASS + FAIL, PASS + ERROR], 1, "2 passed, 2 failed"),
    ([PASS, ""], 1, "1 passed, 1 failed"),
    ([PASS, None], 1, "1 passed, 1 failed"),
    ([SKIP, SKIP], 1, "0 passed, 0 failed, 2 skipped"),
])
def test_last_line(tmp_path, reports, code, last):
    returncode, lines = summarize(tmp_path, *reports)
    assert (returncode, lines[-1]) == (code, last)


def test_names_what_failed_and_why_skipped(tmp_path):
    _, lines = summarize(tmp_path, PASS + FAIL + SKIP)
    assert lines[:2] == ["skipped: c :: s: no GPU", "failed: c :: f"]
