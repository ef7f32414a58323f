# ===- mutants.py - How many broken kernels the simulator catches ----------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""Breaks a correct PTX kernel in one place at a time, at every place, and runs
what comes out with lpfa-sim, at most ten times: on each launch in turn eagerly,
lazily, and at random. Several launches of different sizes find more, since what
a long loop orders by the way a short one may not.

A mutant is caught when a check reports it, or when a result differs from that
of the kernel as it was. Those that are neither are missed, unless a file of
--equivalent says why they do what the kernel does. It has paragraphs: an
argument, then the names of the mutants it is about, each on an indented line.
The exit code is 1 if any is missed.

A name survives a compiler that numbers registers and places barriers otherwise:
it has the operator, what was done, the role (by a comment "role NAME" before the
statement), the opcodes of the statement and of its neighbors among those that
synchronize, and a number where several have all that in common.

The kernel itself must give the same bits under every schedule and pass all
checks.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

MAX_RUNS = 10
SCHEDULES = ([["--schedule=eager"], ["--schedule=lazy"]] +
             [["--schedule=random", f"--seed={seed}"] for seed in range(1, 9)])


@dataclass(frozen=True)
class Mutant:
    operator: str
    name: str
    line: int = 0
    ptx: str = None  # None: the kernel's own text
    edit_launch: callable = None


# ===----------------------------------------------------------------------===#
# Statements
# ===----------------------------------------------------------------------===#

STATEMENT = re.compile(
    r"(?<![\w.%])(?P<guard>@!?[%\w]+\s+)?"
    r"(?P<opcode>(?:mbarrier|tcgen05|fence|bar|barrier|cp|selp)\.[\w.:]+)"
    r"(?P<operands>[^;]*);")
ROLE = re.compile(r"// role (\w+)")
# Modifiers that say nothing of what an instruction is for.
UNNAMED = re.compile(r"(mbarrier::\w+::\w+|shared(::\w+)?|global|sync|aligned|"
                     r"acquire|release|cta|cluster|cta_group::\d|[bu]\d+|tile|"
                     r"x\d+|\d+x\d+b|kind::\w+|scale_vec::\w+|collector::.*)")


class Statement:

    def __init__(self, match, text, role):
        self.text = text
        self.role = role
        self.place = None  # the opcodes around, once all are known
        self.begin, self.end = match.span()
        self.line = text.count("\n", 0, match.start("opcode")) + 1
        self.guard = match["guard"] or ""
        self.opcode = match["opcode"]
        # TLX writes scale_vec::1X as "scale_vec::1X" with spaces around.
        self.operands = split(match["operands"])

    def name(self):
        first, second, *modifiers = self.opcode.split(".")
        return ".".join([first, second, *(m for m in modifiers
                                          if not UNNAMED.fullmatch(m))])

    def is_a(self, *parts):
        modifiers = self.opcode.split(".")
        return all(part in modifiers for part in parts)

    def replace(self, new):
        return self.text[:self.begin] + new + self.text[self.end:]

    def write(self, operands):
        return f"{self.guard}{self.opcode} {', '.join(operands)};"

    def with_value(self, index, type, operation, value):
        """An operand changed by an operation, in a register of its own."""
        operands = list(self.operands)
        operands[index] = "mutant"
        return self.replace(f"{{ .reg .{type} mutant; {operation} mutant, "
                            f"{self.operands[index]}, {value}; "
                            f"{self.write(operands)} }}")


def read_statements(text):
    """All statements that operators are about."""
    roles = [(m.start(), m[1]) for m in ROLE.finditer(text)]

    def role_at(position):
        return next((name for start, name in reversed(roles)
                     if start < position), "start")

    # A comment could hold a statement; what follows stays where it is.
    code = re.sub(r"//[^\n]*", lambda m: " " * len(m[0]), text)
    statements = [Statement(m, code, role_at(m.start()))
                  for m in STATEMENT.finditer(code)]
    around = [s for s in statements if not s.is_a("selp")]
    for s in statements:
        if s.is_a("selp"):
            s.place = s.name()
    for before, s, behind in zip([None, *around], around, [*around[1:], None]):
        s.place = " / ".join(n.name() if n and n.role == s.role else "-"
                             for n in (before, s, behind))
    return statements


def split(text):
    """Operands at commas outside of brackets."""
    operands, depth, current = [], 0, ""
    for c in text:
        depth += (c in "[{(") - (c in "]})")
        if c == "," and depth == 0:
            operands.append(current.strip())
            current = ""
        else:
            current += c
    return operands + [current.strip()] if current.strip() else operands


# ===----------------------------------------------------------------------===#
# Operators: statement -> (change, text) of each mutant
# ===----------------------------------------------------------------------===#


def is_wait(s):
    return s.is_a("mbarrier", "try_wait") or s.is_a("mbarrier", "test_wait")


def waits(s):
    if is_wait(s):
        yield "removed", s.replace(f"setp.eq.u32 {s.operands[0]}, 0, 0;")
    elif s.is_a("cp", "bulk", "wait_group") or s.is_a("barrier", "cluster",
                                                      "wait"):
        yield "removed", s.replace("")


def parities(s):
    if is_wait(s):
        yield "flipped", s.with_value(2, "b32", "xor.b32", 1)


def barriers(s):
    if s.opcode.startswith(("bar.sync", "barrier.sync", "bar.arrive")):
        yield "removed", s.replace("")


def arrivals(s):
    if s.is_a("mbarrier", "arrive") and not s.is_a("expect_tx"):
        yield "removed", s.replace("")
        yield "doubled", s.replace(s.write(s.operands) * 2)


def commits(s):
    if s.is_a("tcgen05", "commit") or s.is_a("cp", "commit_group"):
        yield "removed", s.replace("")


def fences(s):
    if s.opcode.startswith(("fence.", "tcgen05.fence")):
        yield "removed", s.replace("")


def tensor_waits(s):
    if s.opcode.startswith("tcgen05.wait"):
        yield "removed", s.replace("")


def transactions(s):
    if s.is_a("mbarrier", "expect_tx"):
        for delta in (16, -16):
            yield f"{delta:+}", s.with_value(len(s.operands) - 1, "b32",
                                             "add.s32", delta)


def allocations(s):
    if s.is_a("tcgen05", "alloc"):
        yield "halved", s.with_value(1, "b32", "shr.u32", 1)
    if s.is_a("tcgen05", "dealloc"):
        yield "halved", s.with_value(1, "b32", "shr.u32", 1)
        yield "removed", s.replace("")


def scale_copies(s):
    if s.is_a("tcgen05", "cp"):
        yield "removed", s.replace("")


def matrix_operands(s):
    """Matrix descriptors among the operands."""
    if s.is_a("tcgen05", "mma"):
        return [i for i in (1, 2) if not s.operands[i].startswith("[")]
    return [1] if s.is_a("tcgen05", "cp") else []


def swizzles(s):
    for i in matrix_operands(s):
        yield f"operand {i}", s.with_value(i, "b64", "xor.b64", 1 << 62)


def matrix_descriptors(s):
    # Not the leading offset: swizzled K-major layouts and copies of 16-byte
    # rows have none.
    for i in matrix_operands(s):
        yield f"operand {i} start", s.with_value(i, "b64", "add.s64", 1)
        yield f"operand {i} stride", s.with_value(i, "b64", "add.s64", 1 << 32)


def instruction_descriptors(s):
    if s.is_a("tcgen05", "mma"):
        for name, bit in (("N", 17), ("A major", 15), ("B major", 16),
                          ("A type", 7), ("A scale", 29), ("B scale", 4)):
            yield name, s.with_value(3, "b32", "xor.b32", 1 << bit)


def masks(s):
    if s.is_a("tcgen05", "mma") and s.operands[-1]:
        p = s.operands[-1]
        yield "accumulate", s.replace(
            f"{{ .reg .pred mutant; not.pred mutant, {p}; "
            f"{s.write(s.operands[:-1] + ['mutant'])} }}")
    if s.is_a("selp", "f32") and "0fFF800000" in s.operands[1:3]:
        kept = s.operands[2 if s.operands[1] == "0fFF800000" else 1]
        yield "removed", s.replace(
            f"{s.guard}mov.b32 {s.operands[0]}, {kept};")


OPERATORS = {
    "wait": waits,
    "parity": parities,
    "barrier": barriers,
    "arrive": arrivals,
    "commit": commits,
    "fence": fences,
    "tensor-wait": tensor_waits,
    "expect_tx": transactions,
    "allocation": allocations,
    "scale-copy": scale_copies,
    "swizzle": swizzles,
    "matrix-descriptor": matrix_descriptors,
    "instruction-descriptor": instruction_descriptors,
    "mask": masks,
}

# Of a tensor map in the launch file, a swizzle's neighbor.
OTHER_SWIZZLE = {"none": "32b", "32b": "64b", "64b": "128b", "128b": "64b"}


def with_other_swizzle(parameter):

    def edit(launch):
        described = launch["parameters"][parameter]["tensor_map"]
        described["swizzle"] = OTHER_SWIZZLE[described.get("swizzle", "none")]

    return edit


def mutants_of(text, launch, operators):
    """All mutants, in order of the file within each operator."""
    statements = read_statements(text)
    for operator in operators:
        seen = collections.Counter()
        for s in statements:
            for change, ptx in OPERATORS[operator](s):
                name = f"{operator} {change}: {s.role}: {s.place}"
                seen[name] += 1
                yield Mutant(operator, f"{name} #{seen[name]}", s.line, ptx)
        if operator == "swizzle":
            for i, parameter in enumerate(launch["parameters"]):
                if "tensor_map" in parameter:
                    yield Mutant(operator, f"{operator} changed: parameter {i}",
                                 edit_launch=with_other_swizzle(i))


# ===----------------------------------------------------------------------===#
# Runs
# ===----------------------------------------------------------------------===#


class Runner:

    def __init__(self, ptx, launches, options, simulator):
        self.ptx = Path(ptx).read_text()
        self.launches = [Path(launch).resolve() for launch in launches]
        self.options = options
        self.simulator = simulator
        self.runs = [(launch, schedule) for schedule in SCHEDULES
                     for launch in self.launches][:MAX_RUNS]
        self.right = {}
        for launch, schedule in self.runs:
            found, results = self.run(Mutant("", "itself"), launch, schedule)
            if found:
                raise SystemExit(f"mutants.py: the kernel itself fails under "
                                 f"{' '.join(schedule)}: {found}")
            if self.right.setdefault(launch, results) != results:
                raise SystemExit("mutants.py: the kernel's result depends on "
                                 "the schedule")

    def run(self, mutant, launch, schedule):
        """What was reported, or None; and the results."""
        with tempfile.TemporaryDirectory() as work:
            work = Path(work)
            (work / "kernel.ptx").write_text(mutant.ptx or self.ptx)
            described = json.loads(launch.read_text())
            if mutant.edit_launch:
                mutant.edit_launch(described)
            # Beside the original, whose arrays it names.
            copy = launch.parent / f"{launch.stem}-{work.name}.json"
            copy.write_text(json.dumps(described))
            try:
                done = subprocess.run(
                    [self.simulator, work / "kernel.ptx", f"--launch={copy}",
                     f"--out={work / 'out'}", "--jobs=1",
                     "--max-steps=20000000", *self.options, *schedule],
                    capture_output=True, text=True, timeout=300)
            except subprocess.TimeoutExpired:
                return "it does not end", None
            finally:
                copy.unlink()
            if done.returncode < 0:
                raise SystemExit(f"mutants.py: lpfa-sim died of signal "
                                 f"{-done.returncode} on {mutant.name}")
            if done.returncode:
                return done.stderr.splitlines()[0].split(": ", 1)[-1], None
            return None, {p.name: p.read_bytes()
                          for p in sorted((work / "out").iterdir())}

    def judge(self, mutant):
        """"reported", "wrong" or "missed", and what was reported."""
        for launch, schedule in self.runs:
            found, results = self.run(mutant, launch, schedule)
            if found:
                return "reported", found
            if results != self.right[launch]:
                return "wrong", " ".join([launch.stem, *schedule])
        return "missed", ""


def read_equivalent(path):
    """Arguments by the names of mutants."""
    arguments, argument, named = {}, [], True
    for line in Path(path).read_text().splitlines() if path else ():
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith(" "):
            arguments[line.strip()] = " ".join(argument)
            named = True
        else:
            argument = [line] if named else [*argument, line]
            named = False
    return arguments


def table(verdicts):
    """Markdown: per operator how many, and what became of them."""
    counts = collections.defaultdict(collections.Counter)
    for mutant, verdict, _ in verdicts:
        for row in (mutant.operator, "all"):
            counts[row]["mutants"] += 1
            counts[row][verdict] += 1
    columns = ["mutants", "reported", "wrong", "missed", "equivalent"]
    lines = ["| operator | mutants | reported | wrong result | missed | argued "
             "equivalent |", "| --- | --- | --- | --- | --- | --- |"]
    for row in [*OPERATORS, "all"]:
        if row in counts:
            cells = (str(counts[row][c]) for c in columns)
            lines.append(f"| {row} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("ptx")
    parser.add_argument("--launch", required=True, action="append",
                        help="launch file of lpfa-sim; several may be given")
    parser.add_argument("--operators", default=",".join(OPERATORS),
                        help="those to use, or with a leading - those not to")
    parser.add_argument("--check", default="all", help="as lpfa-sim's")
    parser.add_argument("--ordering", default="practice",
                        help="of the tensor pipe, as lpfa-sim's")
    parser.add_argument("--simulator", default="lpfa-sim")
    parser.add_argument("--equivalent", help="file of arguments")
    parser.add_argument("--sample", type=int,
                        help="that many of each operator, drawn with --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--list", action="store_true",
                        help="print what became of each mutant")
    arguments = parser.parse_args()
    names = arguments.operators.split(",")
    if names[0].startswith("-"):
        names = [o for o in OPERATORS if f"-{o}" not in names]
    runner = Runner(arguments.ptx, arguments.launch,
                    [f"--check={arguments.check}",
                     f"--ordering={arguments.ordering}"], arguments.simulator)
    equivalent = read_equivalent(arguments.equivalent)
    first = json.loads(runner.launches[0].read_text())
    mutants = list(mutants_of(runner.ptx, first, names))
    for name in equivalent.keys() - {m.name for m in mutants}:
        if name.split()[0] in names:
            print(f"mutants.py: no mutant is called '{name}'", file=sys.stderr)
    if arguments.sample is not None:
        draw = random.Random(arguments.seed)
        by_operator = collections.defaultdict(list)
        for mutant in mutants:
            by_operator[mutant.operator].append(mutant)
        mutants = [m for group in by_operator.values() for m in sorted(
            draw.sample(group, min(arguments.sample, len(group))),
            key=lambda m: (m.line, m.name))]
    verdicts = []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for mutant, (verdict, what) in zip(mutants,
                                           pool.map(runner.judge, mutants)):
            if verdict == "missed" and mutant.name in equivalent:
                verdict, what = "equivalent", equivalent[mutant.name]
            if arguments.list or verdict == "missed":
                print(f"{mutant.name} (line {mutant.line}): {verdict} {what}"
                      .rstrip(), flush=True)
            verdicts.append((mutant, verdict, what))
    print(table(verdicts))
    return any(verdict == "missed" for _, verdict, _ in verdicts)


if __name__ == "__main__":
    sys.exit(main())
