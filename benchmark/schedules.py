#!/usr/bin/env python3
# ===- schedules.py - The modelled time of attention's schedules -----------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""Models attention forward, MXFP8 at head dimension 128 without a mask, under
each schedule and prints clocks for 128 keys and two query tiles, beside those of
the hand-made kernels' schedule:

    benchmark/schedules.py [--bin=build/dev/bin] [--chip=sm_103a] [NAME...]

One work tile is run in the simulator's timing model with 9 and with 18 times 128
keys; a ninth of the difference is the figure, so that what comes before and after
the loop counts nothing. `cost` is what `lpfa-compile --emit=cost` says of a step,
scaled alike: the clocks of the unit that limits, were all units always fed.
`choice` is what the coarse model says by which schedules are chosen
(`--explain-choice`), at the bounds of what it does not know."""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "test/Integration"), str(ROOT / "python")]

from harness import Case, lower_to_roles, module, operands, reorder  # noqa: E402

HAND_MADE = dict(query_tiles=2, key_tile=128, stages=3, score_buffers=1,
                 scores_first="false", scores_ahead=0, queries_in_tmem="false",
                 probability_parts=1, probability_buffers=1)


def schedule(**options):
    return {**HAND_MADE, **options}


def beside(key_tile, **options):
    return schedule(key_tile=key_tile, scores_ahead=2, **options)


SCHEDULES = {
    "hand-made": schedule(),
    "128 keys, P beside S, one S in turns": schedule(scores_first="true"),
    "the same, two steps ahead": beside(128),
    "96 keys, P beside S": beside(96),
    "64 keys, one step ahead": schedule(key_tile=64),
    "64 keys, P beside S": beside(64),
    "64 keys, P beside S, Q in TMEM": beside(64, queries_in_tmem="true"),
    "the same, documented order": beside(64, queries_in_tmem="true",
                                         ordering="documented"),
    "hand-made, a quarter polynomials": schedule(polynomial_columns=8),
    "96 keys, documented order": beside(96, ordering="documented"),
    "96 keys, a quarter polynomials": beside(96, polynomial_columns=8),
    "96 keys, factor after the sum": beside(96, factor_first="false"),
    "hand-made, P in 2 parts": schedule(probability_parts=2),
    "hand-made, P in 4 parts": schedule(probability_parts=4),
    "128 keys, two steps ahead, P in 2 parts": beside(128, probability_parts=2),
    "96 keys, P beside S, in 3 parts": beside(96, probability_parts=3),
    "64 keys, P beside S, Q in TMEM, P in 2 parts": beside(
        64, queries_in_tmem="true", probability_parts=2),
    "64 keys, two S and one P a tile": schedule(
        key_tile=64, score_buffers=2, scores_ahead=2),
    "64 keys, two S and two P a tile": schedule(
        key_tile=64, score_buffers=2, scores_ahead=2, probability_buffers=2),
    "the same, P in 2 parts": schedule(
        key_tile=64, score_buffers=2, scores_ahead=2, probability_buffers=2,
        probability_parts=2),
    # Other orders of a step's products. In that of lpfa-assign-roles 0 and 1 are
    # those with the parts of query tile 0, 3 and 4 of tile 1; 2 and 5 give scores.
    "hand-made, P in 2 parts, tiles in turn": schedule(
        probability_parts=2, order=[0, 3, 1, 2, 4, 5]),
    "128 keys, two steps ahead, P in 2 parts, tiles in turn": beside(
        128, probability_parts=2, order=[0, 3, 1, 2, 4, 5]),
    "64 keys, P beside S, Q in TMEM, P in 2 parts, tiles in turn": beside(
        64, queries_in_tmem="true", probability_parts=2,
        order=[0, 3, 1, 2, 4, 5]),
    "64 keys, P beside S, Q in TMEM, P in 2 parts, scores between": beside(
        64, queries_in_tmem="true", probability_parts=2,
        order=[0, 2, 1, 3, 5, 4]),
}


def flags(options):
    return [f"--{key.replace('_', '-')}={value}" for key, value in options.items()
            if key != "order"]


def source(bin_dir, chip, options, case):
    """The module; with roles, where products have another order."""
    if "order" not in options:
        return module(case)
    given = {key: value for key, value in options.items() if key != "order"}
    return reorder(lower_to_roles(case, chip, bin_dir, **given),
                   options["order"])


def call(tool, *arguments):
    done = subprocess.run([tool, *arguments], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def simulate(bin_dir, chip, options, keys):
    """The timing model's clocks, and how busy each unit is in percent."""
    case = Case(256, keys)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "attention.mlir").write_text(
            source(bin_dir, chip, options, case))
        arguments = []
        for i, array in enumerate(operands(case)):
            np.save(folder / f"{i}.npy", array.view(np.uint8))
            arguments.append(f"--arg={folder / f'{i}.npy'}")
        text = call(bin_dir / "lpfa-run", folder / "attention.mlir",
                    "--device=sim", "--schedule=timed", "--multiprocessors=1",
                    "--check=none", f"--chip={chip}", f"--out={folder}",
                    *flags(options), *arguments)
    text = text[text.index("kernel attention_kernel"):]
    busy = re.findall(r"^  (\S.*?) +([\d.]+) %$", text, re.M)
    return (float(re.search(r"GHz: (\d+) clocks", text).group(1)),
            {unit: float(share) for unit, share in busy})


def bound(bin_dir, chip, options):
    """The cost report's clocks for 128 keys and the unit that limits, and the
    bounds that the choice of schedules goes by."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "attention.mlir").write_text(
            source(bin_dir, chip, options, Case(256, 256)))
        chosen = call(bin_dir / "lpfa-compile", folder / "attention.mlir",
                      "--emit=cost", "--explain-choice", f"--chip={chip}", "-o",
                      folder / "out", *flags(options))
        text = "".join(p.read_text() for p in (folder / "out").iterdir())
    text = text[text.index("attention_kernel on"):]
    line = re.search(r"modelled clocks of a step that does all: (.*); the limit "
                     r"is (.*)", text)
    clocks = float(re.search(rf"{line.group(2)} (\d+)", line.group(1)).group(1))
    clocks *= 128 / options["key_tile"]
    # The coarser model knows one order.
    if "order" in options:
        return clocks, line.group(2), "-"
    line_of_choice = "with polynomial" if "polynomial_columns" in options else (
        "  query-tiles")
    chosen = next(l for l in chosen.splitlines() if line_of_choice in l)
    bounds = [2 * int(x) for x in
              re.search(r"in all (\d+) to (\d+)", chosen).groups()]
    return clocks, line.group(2), f"{bounds[0]} to {bounds[1]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help=f"schedules (default all): {', '.join(SCHEDULES)}")
    parser.add_argument("--bin", default=ROOT / "build/dev/bin", type=Path,
                        help="where the tools are")
    parser.add_argument("--chip", action="append",
                        help="sm_100a, sm_103a (default both)")
    parsed = parser.parse_args()
    unknown = set(parsed.names) - set(SCHEDULES)
    if unknown:
        parser.error(f"no such schedule: {', '.join(sorted(unknown))}")
    names = [n for n in SCHEDULES if not parsed.names or n in parsed.names]
    print("modelled figures; nothing was measured here\n")
    print("| schedule | chip | clocks | hand-made / clocks | busiest units | cost | choice |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for chip in parsed.chip or ["sm_103a", "sm_100a"]:
        def model(name):
            options = SCHEDULES[name]
            less, _ = simulate(parsed.bin, chip, options, 9 * 128)
            more, busy = simulate(parsed.bin, chip, options, 18 * 128)
            return (more - less) / 9, busy, bound(parsed.bin, chip, options)

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            results = dict(zip(["hand-made", *names],
                               pool.map(model, ["hand-made", *names])))
        for name in names:
            clocks, busy, (least, limit, choice) = results[name]
            units = sorted(busy.items(), key=lambda unit: -unit[1])[:3]
            print(f"| {name} | {chip} | {clocks:.0f} | "
                  f"{results['hand-made'][0] / clocks:.2f} | " +
                  ", ".join(f"{unit} {share:.0f} %" for unit, share in units) +
                  f" | {least:.0f}, {limit} | {choice} |",
                  flush=True)


if __name__ == "__main__":
    main()
