# ===- test_kernel_mutants.py - The simulator on broken kernels ------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""All mutants of lpfa's forward kernel are caught, or argued to be equivalent:
the table of docs/Simulator.md."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import lpfa
import mutant_kernels
from harness import BIN_DIR

HERE = Path(__file__).parent
SCRIPT = HERE.parents[1] / "scripts/mutants.py"
# Another module has the name of the script's.
spec = importlib.util.spec_from_file_location("kernel_mutants", SCRIPT)
mutants = sys.modules["kernel_mutants"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(mutants)


def test_forward(tmp_path):
    mutant_kernels.forward(tmp_path)
    done = subprocess.run(
        [sys.executable, SCRIPT, tmp_path / "kernel.ptx",
         *(f"--launch={tmp_path / name}.json"
           for name in ("long", "short", "empty")),
         "--check=all,strict-fences",
         f"--equivalent={HERE / 'Inputs/forward.equivalent'}",
         f"--simulator={lpfa.find_tool('lpfa-sim', BIN_DIR)}"],
        capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


KERNEL = """
  mbarrier.init.shared.b64 [%r1], 1;
  // role load, 1 warps
  @%p3 mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 16;
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 16, [%r1];
  // fence.proxy.async;
  fence.proxy.async.shared::cta; fence.proxy.async.shared::cta;
"""


def names(text):
    return [m.name for m in mutants.mutants_of(text, {"parameters": []},
                                               ["expect_tx", "fence"])]


def test_names():
    change = "load: - / mbarrier.arrive.expect_tx / cp.async.bulk #1"
    assert names(KERNEL) == [
        f"expect_tx +16: {change}", f"expect_tx -16: {change}",
        "fence removed: load: cp.async.bulk / fence.proxy.async / "
        "fence.proxy.async #1",
        "fence removed: load: fence.proxy.async / fence.proxy.async / - #1"]
    # Neither registers nor lines are in them.
    other = re.sub(r"%(r|rd|p)(\d)", r"%\g<1>7\2", "\n" + KERNEL)
    assert names(other) == names(KERNEL)


def test_arguments(tmp_path):
    path = tmp_path / "arguments"
    path.write_text("# comment\n\nAn argument\nof two lines.\n  fence 1\n"
                    "  fence 2\nAnother.\n  wait 1\n")
    assert mutants.read_equivalent(path) == {
        "fence 1": "An argument of two lines.",
        "fence 2": "An argument of two lines.", "wait 1": "Another."}
