# ===- mutant_kernels.py - Kernels for scripts/mutants.py ------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""mutant_kernels.py forward|tlx FOLDER: writes kernel.ptx and launches for
scripts/mutants.py.

Work tiles share one CTA. In the long launch rings wrap within a work tile; in
the short one a work tile has a single key step, so that nothing within it
orders what its waits order, and every key but one is masked; the empty one has
no key. Tails are ragged where the kernel takes them, and rows peaked, so that
accumulators are rescaled."""

import dataclasses
import json
import shutil
import sys
from pathlib import Path

import numpy as np

sys.path += [str(Path(__file__).parent.parent / "Integration"),
             str(Path(__file__).parent)]

import launcher  # noqa: E402
import lpfa  # noqa: E402
from harness import BIN_DIR, Case, module, operands  # noqa: E402


def arrays_of(case):
    """The operands, those without keys cut from larger ones: an array that never
    had an element has no strides that a tensor map takes."""
    whole = operands(dataclasses.replace(case, keys=max(case.keys, 1)))
    return [array[tuple(map(slice, part.shape))]
            for array, part in zip(whole, operands(case))]


def forward(folder):
    """lpfa's forward kernel."""
    write_forward(folder, {"long": Case(300, 625, output="bf16", peak=12),
                           "short": Case(600, 1, output="bf16", peak=12),
                           "empty": Case(200, 0, output="bf16", peak=12)})


def write_forward(folder, cases):
    """The kernel that all cases, by the name of the launch, have in common."""
    folder = Path(folder)
    simulator = lpfa.find_tool("lpfa-sim", BIN_DIR)
    launcher.MULTIPROCESSORS = 1
    for name, case in cases.items():
        work = folder / name
        lpfa.compile(module(case), work, emit=["ptx", "plan"], bin_dir=BIN_DIR)
        launcher.launch(work, "attention", arrays_of(case), simulator)
        run, = work.glob("launch-*")
        plan = json.loads((work / "plan.json").read_text())
        kernels = plan["functions"][0]["kernels"]
        index, = (i for i, k in enumerate(kernels)
                  if k["entry"] == "attention_kernel")
        shutil.copy(work / f"{kernels[index]['module']}.ptx",
                    folder / "kernel.ptx")
        # The run has left its result in the arrays: results begin undefined.
        launch = json.loads((run / f"kernel{index}.json").read_text())
        for buffer, described in launch["buffers"].items():
            array = np.load(run / f"{buffer}.npy")
            if buffer.startswith("result"):
                launch["buffers"][buffer] = {"shape": list(array.shape),
                                             "dtype": "uint8", "out": True}
            else:
                launch["buffers"][buffer] = {"file": f"{name}-{buffer}.npy"}
                np.save(folder / f"{name}-{buffer}.npy", array)
        (folder / f"{name}.json").write_text(json.dumps(launch))
        shutil.rmtree(work)


def tlx(folder):
    """TLX's MXFP8 forward kernel."""
    from peers import triton_launch
    from sim import write
    from test_tlx import mxfp8_arguments

    folder = Path(folder)
    for name, length in (("long", 512), ("short", 256)):
        work = folder / name
        work.mkdir(parents=True)
        arguments, *_ = mxfp8_arguments(length, causal=False, factor=8)
        text, parameters, launch = triton_launch("tlx_mxfp8", arguments, 1)
        write(work, text, parameters, **launch)
        shutil.copy(work / "kernel.ptx", folder / "kernel.ptx")


if __name__ == "__main__":
    {"forward": forward, "tlx": tlx}[sys.argv[1]](sys.argv[2])
