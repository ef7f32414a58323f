# ===- maps.py - All homes of scale factors in scores and outputs ----------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""The 256 maps of tensor memory for attention at head dimension 128.

Two tiles of scores S and two of outputs O fill the 512 columns, and P lies
inside its S. The scale factors of S = Q K^T and of O += P V of each half can lie
in the S or the O of their own half or of the other: four pairs of scales, four
homes each. The script asks of each map whether it is right with the barriers of
the hand-made map, and what lpfa-insert-barriers needs for it, and prints or
checks the page docs/Maps.md."""

import bisect
import itertools
import re
import sys
from pathlib import Path

from mutants import VERIFY, attention, opt, verify

ROLES = ("builtin.module(lpfa-form-kernels,canonicalize,cse,"
         "lpfa.kernel(lpfa-assign-roles,canonicalize,cse,lpfa-place-tiles))")
INSERT = "builtin.module(lpfa.kernel(lpfa-insert-barriers))"

HOMES = ["own S", "other S", "own O", "other O"]
# QK of half 0 and 1, PV of half 0 and 1.
HAND_MADE = (1, 1, 0, 0)
FIXED = {"S0": 0, "S1": 128, "P0": 32, "P1": 160, "O0": 256, "O1": 384}
# Where a pair of scales lies in its home; no two pairs meet.
OFFSETS = [96, 104, 64, 72]
PAIRS = [("scales.Q0", "scales.K0"), ("scales.Q1", "scales.K1"),
         ("scales.P0", "scales.V0"), ("scales.P1", "scales.V1")]
MAPS = list(itertools.product(range(4), repeat=4))


def get_places(homes):
    """The first column of each tile."""
    places = dict(FIXED)
    for pair, (home, offset, names) in enumerate(zip(homes, OFFSETS, PAIRS)):
        half = (pair + home) % 2  # the other half's where the home is odd
        start = (0 if home < 2 else 256) + 128 * half + offset
        places.update(zip(names, (start, start + 4)))
    return places


def place(text, homes):
    """The kernel with its tiles of tensor memory in other places."""
    lines = text.splitlines()
    places = get_places(homes)
    for i, line in enumerate(lines):
        name = re.search(r'lpfa\.(?:channel|accumulator|scratch) "(.*?)"', line)
        if name and name.group(1) in places:
            lines[i] = re.sub(r"<tensor, \d+,",
                              f"<tensor, {places[name.group(1)]},", line)
    return "\n".join(lines) + "\n"


def get_rule(errors):
    """The rule that an error names."""
    return re.search(r"\((R\d)\)", errors).group(1)


def insert(texts):
    """For each text the waits in the mma role and the synchronized kernel, or
    the rule that no barrier can satisfy."""
    starts = [1]
    for text in texts:
        starts.append(starts[-1] + text.count("\n") + 1)
    result = opt("// -----\n".join(texts), INSERT, "--split-input-file",
                 "-mlir-print-op-on-diagnostic=false")
    outcomes = [None] * len(texts)
    for at, message in re.findall(r"^<stdin>:(\d+):.*?error: (.*)",
                                  result.stderr, re.M):
        outcomes[bisect.bisect(starts, int(at)) - 1] = get_rule(message)
    # What succeeded was printed, in order.
    printed = [part for part in result.stdout.split("// -----")
               if "lpfa.role" in part]
    rest = [i for i, outcome in enumerate(outcomes) if outcome is None]
    assert len(rest) == len(printed), (len(rest), len(printed))
    for i, text in zip(rest, printed):
        role = text[text.index('lpfa.role "mma"'):]
        role = role[:role.index('lpfa.role "load"')]
        outcomes[i] = (role.count("lpfa.wait "), text)
    return outcomes


def build_page():
    placed = opt(attention(128), ROLES).stdout
    hand_made = opt(place(placed, HAND_MADE), INSERT).stdout

    fixed = [get_rule(errors) if errors else "safe"
             for errors in verify([place(hand_made, homes) for homes in MAPS])]
    assert fixed.count("safe") == 1, fixed.count("safe")
    assert fixed[MAPS.index(HAND_MADE)] == "safe"

    free = insert([place(placed, homes) for homes in MAPS])
    made = [i for i, outcome in enumerate(free) if isinstance(outcome, tuple)]
    assert not any(verify([free[i][1] for i in made]))
    least = min(free[i][0] for i in made)
    cells = [str(outcome[0] - least) if isinstance(outcome, tuple) else outcome
             for outcome in free]
    (chosen, _), = insert([placed])
    return PAGE.format(fixed=matrix(fixed), free=matrix(cells), least=least,
                       waits=free[MAPS.index(HAND_MADE)][0], chosen=chosen,
                       count=len(made), rest=256 - len(made))


def matrix(cells):
    short = ["sS", "oS", "sO", "oO"]
    pairs = [f"{short[a]} {short[b]}" for a, b in itertools.product(range(4),
                                                                    repeat=2)]
    rows = ["| Q K \\ P V | " + " | ".join(pairs) + " |",
            "| --- |" + " --- |" * 16]
    for i, pair in enumerate(pairs):
        rows.append(f"| {pair} | " + " | ".join(cells[16 * i:16 * i + 16]) + " |")
    return "\n".join(rows)


PAGE = """\
<!-- Generated by `python3 test/Analysis/Inputs/maps.py --update`. -->

# Where the scale factors can live

Attention at head dimension 128 with two query tiles fills the 512 columns of
tensor memory with two tiles of scores, S, and two of outputs, O. The scale
factors of each half's two products (Q and K, and P and V) must live inside them.
With four homes for each of the four pairs there are 256 maps. Below, `sS` is the
S of the pair's own half, `oS` the other half's, `sO` and `oO` the outputs. A row
gives the homes of the scales of Q and K, of half 0 and half 1; a column those of
the scales of P and V.

## With the barriers of the hand-made kernel

The channels' barriers, and one by which a softmax role says that it has read its
scores, waited for before the other half's scales are copied over them. Of the 256
maps one is safe: scales of Q and K in the other half's scores, those of P and V
beside P in its own. For each of the others the rule of `lpfa-verify-schedule` that
it breaks: R1, a product overwrites its own scales; R2, a tile is replaced while it
is in use; R3, nothing orders the two.

{fixed}

## With the barriers that each map needs

What `lpfa-insert-barriers` makes of each map: the waits in a step of the tensor
core's role, beyond the least of any map ({least}; the hand-made map has {waits}, the
one that `lpfa-place-tiles` chooses {chosen}), or the rule that no barrier can
satisfy. {count} maps can be made to work; each of these has been proved again by
`lpfa-verify-schedule`. The other {rest} cannot.

{free}
"""


def main():
    page = build_page()
    path = Path(__file__).parents[3] / "docs/Maps.md"
    if "--update" in sys.argv:
        path.write_text(page)
    elif path.read_text() != page:
        sys.exit(f"docs/Maps.md is not what {Path(__file__).name} makes: run it "
                 "with --update")
    else:
        print("docs/Maps.md is up to date")


if __name__ == "__main__":
    main()
