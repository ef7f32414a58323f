# ===- mutants.py - Schedules with one mistake each ------------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""Breaks a synchronized kernel in every place and asks lpfa-verify-schedule.

From the kernel that the pipeline makes, one mutant each: without one wait,
arrival, commit, fence or wait for stores; with two neighboring ops of a role
swapped; with one tile of tensor memory four columns further; with one thread
that arrives for its role. Every mutant must be refused, or belong to a class
that is right all the same, for the reason given in EQUIVALENT."""

import bisect
import collections
import re
import subprocess
import sys
from dataclasses import dataclass

OPS = (r"wait|arrive|commit|fence|advance|slot|read|write|copy_scales|mma|"
       r"load_async|store_async|store_wait|expect_bytes|rescale_buffer")
OP = re.compile(rf"^(\s*)(?:(%[\w:]+) = )?lpfa\.({OPS})\b")
PIPELINE = ("builtin.module(lpfa-form-kernels{{{form}}},canonicalize,cse,"
            "lpfa.kernel(lpfa-assign-roles{{{roles}}},canonicalize,cse,"
            "lpfa-place-tiles{{{places}}},lpfa-insert-barriers))")
VERIFY = "builtin.module(lpfa.kernel(lpfa-verify-schedule))"


@dataclass(frozen=True)
class Mutant:
    kind: str  # remove, swap, shift, one-thread
    what: str  # the ops
    role: str
    line: int
    text: str


def attention(dim, mask="none"):
    """A module with attention at this head dimension."""
    atoms = "?x?x?x1x32x4x4xf8E8M0FNU"
    q = f"tensor<?x?x?x{dim}xf8E4M3FN>, tensor<{atoms}>"
    v = f"tensor<?x?x?x{dim}xf8E4M3FN>, tensor<?x?x1x?x32x4x4xf8E8M0FNU>"
    out = f"tensor<?x?x?x{dim}xbf16>, tensor<?x?x?xf32>"
    types = f"{q}, {q}, {v}"
    names = ["%q", "%sq", "%k", "%sk", "%v", "%sv"]
    arguments = ", ".join(map(": ".join, zip(names, types.split(", "))))
    mask = "" if mask == "none" else f", mask = #lpfa.mask<{mask}, bottom_right>"
    return f"""\
func.func @attention({arguments}) -> ({out}) {{
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {{scale = 0.125 : f32{mask}}} : ({types}) -> ({out})
  return %o, %lse : {out}
}}
"""


def matmul():
    """A module with a matrix product."""
    types = ("tensor<?x?xf8E4M3FN>, tensor<?x?x32x4x4xf8E8M0FNU>, "
             "tensor<?x?xf8E4M3FN>, tensor<?x?x32x4x4xf8E8M0FNU>")
    names = ["%a", "%sa", "%b", "%sb"]
    arguments = ", ".join(map(": ".join, zip(names, types.split(", "))))
    return f"""\
func.func @matmul({arguments}) -> tensor<?x?xbf16> {{
  %d = lpfa.matmul %a scaled %sa, %b scaled %sb : {types} -> tensor<?x?xbf16>
  return %d : tensor<?x?xbf16>
}}
"""


def opt(text, pipeline, *flags):
    return subprocess.run(["lpfa-opt", "-", f"-pass-pipeline={pipeline}", *flags],
                          input=text, capture_output=True, text=True)


def synchronize(module, form="", roles="", places=""):
    """The module with its kernel at the synchronized stage."""
    result = opt(module, PIPELINE.format(form=form, roles=roles, places=places))
    if result.returncode:
        sys.exit(result.stderr)
    return result.stdout


def get_roles(lines):
    """The role of each line, or None."""
    role, roles = None, []
    for line in lines:
        if match := re.search(r'lpfa\.role "(\w+)"', line):
            role = match.group(1)
        elif re.match(r"    }$", line):
            role = None
        roles.append(role)
    return roles


def make_mutants(text):
    lines = text.splitlines()
    roles = get_roles(lines)
    kinds = [OP.match(line) if role else None for line, role in zip(lines, roles)]

    def mutant(kind, what, i, changed):
        return Mutant(kind, what, roles[i], i, "\n".join(changed) + "\n")

    def describe(i):
        op = kinds[i].group(3)
        if op == "fence":
            op += " " + lines[i].split()[1]
        return op

    for i, match in enumerate(kinds):
        if match and match.group(3) in ("wait", "arrive", "commit", "fence",
                                        "store_wait"):
            yield mutant("remove", describe(i), i, lines[:i] + lines[i + 1:])

    for i, (a, b) in enumerate(zip(kinds, kinds[1:])):
        if not a or not b or a.group(1) != b.group(1):
            continue
        if lines[i].strip() == lines[i + 1].strip():
            continue
        results = a.group(2)
        if results and re.search(results.split(":")[0] + r"\b", lines[i + 1]):
            continue  # the second needs the first
        yield mutant("swap", f"{describe(i)}, {describe(i + 1)}", i,
                     lines[:i] + [lines[i + 1], lines[i]] + lines[i + 2:])

    place = re.compile(r"(?<=<tensor, )(\d+)(?=, (\d+)>)")
    for i, line in enumerate(lines):
        if not roles[i] and (match := place.search(line)):
            name = re.search(r'"(.*?)"', line).group(1)
            moved = place.sub(str(int(match.group(1)) + 4), line, count=1)
            yield mutant("shift", name, i, lines[:i] + [moved] + lines[i + 1:])

    barrier = re.compile(r"(%\w+) = lpfa\.barrier .* arrivals\((\d+)\)")
    named = {line.split()[0] for line in lines
             if re.search(r"lpfa\.barrier .*\bnamed\b", line)}
    counts = {m.group(1): (i, int(m.group(2))) for i, line in enumerate(lines)
              if (m := barrier.search(line))}
    for i, match in enumerate(kinds):
        if not match or match.group(3) != "arrive":
            continue
        name = re.search(r"lpfa\.arrive (%\w+)", lines[i]).group(1)
        at, count = counts[name]
        if count < 128 or name in named:
            continue
        changed = list(lines)
        # Every arrival at the barrier, so that its count stays right.
        for j, other in enumerate(kinds):
            if other and re.search(rf"lpfa\.arrive {name}\b", lines[j]):
                changed[j] = lines[j].replace(" : ", " one_thread : ")
        changed[at] = lines[at].replace(f"arrivals({count})",
                                        f"arrivals({count - 127})")
        yield mutant("one-thread", "arrive", i, changed)


def verify(texts):
    """For each text the errors of lpfa-verify-schedule, as one string."""
    chunks = "// -----\n".join(texts)
    starts, line = [], 1
    for text in texts:
        starts.append(line)
        line += text.count("\n") + 1
    result = opt(chunks, VERIFY, "--split-input-file",
                 "-mlir-print-op-on-diagnostic=false", "-o", "/dev/null")
    errors = [""] * len(texts)
    for at, message in re.findall(r"^<stdin>:(\d+):.*?error: (.*)",
                                  result.stderr, re.M):
        errors[bisect.bisect(starts, int(at)) - 1] += message
    return errors


# Why a mutant that is accepted is right. Two neighbors may be swapped where
# neither sees the other.
EQUIVALENT_SWAPS = [
    (r"slot, .*|.*, slot", "a slot is an address, and its cursor stays"),
    (r"advance, .*|.*, advance", "the other op has another cursor"),
    (r"copy_scales, copy_scales|load_async, load_async|write, write",
     "two copies to different places"),
    (r"fence (?:proxy_async|tensor_stores), fence .*",
     "fences of different kinds order different accesses"),
    (r"write, fence tensor_stores", "the write is to shared memory"),
    (r"expect_bytes, load_async",
     "the phase lasts until its arrival, which stands here or further down"),
]
SWAPPED_FENCES = {
    "fence before_thread_sync":
        "it still stands before the arrival on which the order rests",
    "fence after_thread_sync":
        "it still stands after the wait on which the order rests",
}


def get_operands(line):
    return set(re.findall(r"%\w+", line))


def get_cursor(line):
    match = re.search(r"(?:use|advance) (%\w+)", line)
    return match and match.group(1)


def argue(mutant, lines):
    """Why this mutant, which was accepted, is right; None if it should not
    be."""
    line = lines[mutant.line]
    if mutant.kind == "shift":
        if mutant.what.startswith(("scales.", "P")):
            return "the columns that it takes are dead while it is in use"
        return None
    if mutant.kind != "swap":
        return None
    other = lines[mutant.line + 1]
    if "advance" in mutant.what and get_cursor(line) == get_cursor(other):
        return None
    if mutant.what == "write, fence tensor_stores" and "shared" not in line:
        return None
    for pattern, reason in EQUIVALENT_SWAPS:
        if re.fullmatch(pattern, mutant.what):
            return reason
    for fence in SWAPPED_FENCES:
        if fence in mutant.what:
            return SWAPPED_FENCES[fence]
    return None


def get_verdict(errors):
    """`race (R3)` and the like; None for an accepted mutant."""
    match = re.search(r"(race|protocol error|deadlock|outside)(?: \((R\d)\))?",
                      errors)
    if errors and not match:
        sys.exit(f"refused for another reason: {errors}")
    return match and match.group(0)


def main():
    what, *options = sys.argv[1:]
    module = matmul() if what == "matmul" else attention(int(what))
    text = synchronize(module, *options)
    lines = text.splitlines()
    mutants = list(make_mutants(text))
    original, *verdicts = map(get_verdict,
                              verify([text] + [m.text for m in mutants]))
    if original:
        sys.exit(f"the pipeline's own schedule is refused: {original}")
    counts = collections.defaultdict(collections.Counter)
    failed = False
    for mutant, verdict in zip(mutants, verdicts):
        reason = None if verdict else argue(mutant, lines)
        if not verdict and not reason:
            failed = True
            print(f"accepted without a reason: {mutant.kind} {mutant.what} in "
                  f"role {mutant.role}: {lines[mutant.line].strip()}")
        counts[mutant.kind][verdict or f"right: {reason}"] += 1
    for kind, results in counts.items():
        print(f"{kind}: {sum(results.values())}")
        for result, count in sorted(results.items()):
            print(f"  {count:3} {result}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
