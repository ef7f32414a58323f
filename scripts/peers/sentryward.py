# ===- sentryward.py - SentryWard's verdicts beside lpfa-sim's -------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""sentryward.py FOLDER [--mutants=N] [--timeout=SECONDS]: what SentryWard (PyPI,
Apache-2.0; scripts/peers/make.sh FOLDER sentryward installs it), a static
verifier of PTX, and lpfa-sim say of lpfa's forward kernel with head size 64 on
100 queries and one key, and of N of its mutants. A line for each: both verdicts
and what they rest on; then how many agree.

SentryWard knows of no fences, nor of tcgen05.mma's collector modifiers, which are
left out of the text."""

import argparse
import json
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "test/Peers"), str(HERE.parent)]

import mutants  # noqa: E402
from mutant_kernels import BIN_DIR, Case, write_forward  # noqa: E402

OPERATORS = ["wait", "parity", "barrier", "arrive", "commit", "tensor-wait",
             "expect_tx", "allocation"]


def describe(launch):
    """A launch file of lpfa-sim as SentryWard's input.json."""
    parameters = [(f"{launch['entry']}_param_{i}", p)
                  for i, p in enumerate(launch["parameters"])]
    scalars, pointers, maps = [], [], []
    for name, p in parameters:
        at = {"parameter": name, "offset": 0}
        if "value" in p:
            scalars.append({**at, "type": "u64", "value": p["value"]})
        elif "buffer" in p:
            pointers.append({**at, "type": "pointer", "object": p["buffer"]})
        else:
            m = p["tensor_map"]
            swizzle = m["swizzle"]
            maps.append({
                **at, "object": m["buffer"], "element_type": m["element"],
                "rank": len(m["dims"]), "global_shape": m["dims"],
                "global_strides_bytes": m["strides"], "box_shape": m["box"],
                "element_strides": [1] * len(m["dims"]),
                "swizzle": swizzle if swizzle == "none" else swizzle.upper(),
                "interleave": "none", "oob_fill": m["fill"],
                "base_byte_offset": 0})
    return {"schema": "spverify.kernel-input/v1", "entry": launch["entry"],
            "launch": {"grid_dim": launch["grid"], "block_dim": launch["block"],
                       "cluster_dim": launch["cluster"],
                       "dynamic_shared_bytes": launch["dynamic_shared_bytes"]},
            "arguments": scalars, "declarations": pointers,
            "tma_descriptors": maps}


def ask(command, ptx, work, timeout):
    """SentryWard's result, and the code of what it found."""
    (work / "sentryward.ptx").write_text(ptx)
    done = subprocess.run(
        [command, work / "sentryward.ptx", f"--input={work / 'input.json'}",
         f"--timeout={timeout}"], capture_output=True, text=True)
    report = json.loads(done.stdout)
    found = report.get("diagnostics") or [{"code": ""}]
    return report["result"], found[0]["code"]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mutants", type=int, default=26)
    parser.add_argument("--timeout", type=int, default=600)
    arguments = parser.parse_args()
    work = arguments.folder / "sentryward"
    shutil.rmtree(work, ignore_errors=True)
    write_forward(work, {"launch": Case(100, 1, dim=64, output="bf16", peak=12)})
    kernel = work / "kernel.ptx"
    kernel.write_text(re.sub(r"\.collector::[\w:]+", "", kernel.read_text()))
    launch = json.loads((work / "launch.json").read_text())
    (work / "input.json").write_text(json.dumps(describe(launch)))

    runner = mutants.Runner(kernel, [work / "launch.json"], ["--check=all"],
                            shutil.which("lpfa-sim", path=BIN_DIR) or "lpfa-sim")
    everything = list(mutants.mutants_of(runner.ptx, launch, OPERATORS))
    # As many of each operator as there are, up to an equal share.
    random.Random(1).shuffle(everything)
    by_operator = [[m for m in everything if m.operator == o] for o in OPERATORS]
    turns = [m for turn in zip(*(g + [None] * len(everything)
                                 for g in by_operator)) for m in turn if m]
    command = arguments.folder / "environments/sentryward/bin/sentryward"
    agreed = 0
    chosen = [mutants.Mutant("", "the kernel itself"),
              *turns[:arguments.mutants]]
    for mutant in chosen:
        ours, what = runner.judge(mutant)
        theirs, code = ask(command, mutant.ptx or runner.ptx, work,
                           arguments.timeout)
        # A finding about tensor memory's release is called unsupported.
        right = theirs == "race_free"
        wrong = (theirs in ("potential_race", "not_wellsynced",
                            "invalid_lifecycle") or "tmem" in code)
        agreed += right if ours == "missed" else wrong
        print(f"{mutant.name} (line {mutant.line}): {theirs} {code}; lpfa-sim: "
              f"{'right' if ours == 'missed' else what}", flush=True)
    print(f"{agreed} of {len(chosen)} verdicts agree")
    return agreed != len(chosen)


if __name__ == "__main__":
    sys.exit(main())
