#!/usr/bin/env python3
# ===- timing_model.py - The timing model against published speeds ---------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""Models TLX's attention forward, whose speed is published, and prints the
model's error:

    scripts/peers/make.sh FOLDER tlx
    benchmark/timing_model.py FOLDER [--bin=build/dev/bin]

One SM is run on the full problem, batch 4, 32 heads of 128, 4096 queries and
keys, and stands for the others. Figures are PFLOP/s of 4 * batch * heads *
queries * keys * dimension operations, and those published are TLX's own: 1.6 in
bf16 on B200, 2.1 and 2.8 in MXFP8 on GB200 and GB300."""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "test" / d) for d in ("Peers", "Simulator/Inputs")]

# The MXFP8 kernel is persistent.
CASES = [("tlx_bf16", "sm_100a", "B200", 1.6),
         ("tlx_mxfp8", "sm_100a", "GB200", 2.1),
         ("tlx_mxfp8", "sm_103a", "GB300", 2.8)]
BATCH, HEADS, LENGTH, DIM = 4, 32, 4096, 128
MULTIPROCESSORS = 148


def arguments(name, length):
    from sim import Out
    random = np.random.default_rng(1)
    rows = BATCH * HEADS * length
    values = {"sm_scale": DIM**-0.5, "Z": BATCH, "H": HEADS, "N_CTX": length,
              "M": Out((rows,), np.float32), "desc_m": Out((rows,), np.float32),
              "desc_o": Out((rows, DIM), np.uint16)}
    for operand in "qkv":
        if name == "tlx_bf16":
            x = random.standard_normal((rows, DIM), np.float32)
            values[f"desc_{operand}"] = (x.view(np.uint32) >> 16).astype(np.uint16)
        else:
            # Codes of e4m3 of moderate magnitude, and scales around one.
            x = random.integers(0x20, 0x40, (rows, DIM), np.uint8)
            values[f"desc_{operand}"] = x | random.integers(0, 2, x.shape,
                                                            np.uint8) << 7
            values[f"desc_{operand}_scale"] = np.full(
                (BATCH * HEADS, length // 128, 1, 2, 256) if operand != "v" else
                (BATCH * HEADS, 1, length // 128, 2, 256), 127, np.uint8)
    return values


def model(name, chip, length):
    import peers
    import sim
    tiles = BATCH * HEADS * length // 256
    grid = tiles if name == "tlx_bf16" else min(MULTIPROCESSORS, tiles)
    text, parameters, launch = peers.triton_launch(
        name, arguments(name, length), grid)
    return sim.timing(text, parameters, **launch,
                      options=[f"--chip={chip}", "--check=none"])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, help="what scripts/peers/make.sh made")
    parser.add_argument("--bin", default=ROOT / "build/dev/bin",
                        help="where lpfa-sim is")
    parser.add_argument("--length", type=int, default=LENGTH,
                        help="queries and keys (default %(default)s, which the "
                        "published figures are for)")
    options = parser.parse_args()
    os.environ["LPFA_PEERS_DIR"] = str(options.folder)
    os.environ["PATH"] = f"{Path(options.bin).resolve()}:{os.environ['PATH']}"
    print("modelled figures; nothing was measured here")
    print(f"{'kernel':12}{'machine':8}{'published':>10}{'modelled':>10}{'error':>8}"
          "   busiest units")
    for name, chip, machine, published in CASES:
        timing = model(name, chip, options.length)
        operations = 4 * BATCH * HEADS * options.length**2 * DIM
        modelled = operations / timing["seconds"] / 1e15
        busy = sorted(timing["busy"].items(), key=lambda u: -u[1])[:3]
        print(f"{name:12}{machine:8}{published:10.1f}{modelled:10.2f}"
              f"{100 * (modelled / published - 1):+7.0f} %   " +
              ", ".join(f"{unit} {100 * share:.0f} %" for unit, share in busy),
              flush=True)


if __name__ == "__main__":
    main()
