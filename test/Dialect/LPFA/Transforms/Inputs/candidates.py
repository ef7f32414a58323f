"""Builds the kernel of every schedule that lpfa-choose-schedule says fits, with
proof, and compares the memory that it takes with what was said.

    candidates.py FILE CHIP [OPTION...]
"""
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

# What a description leaves out.
DEFAULTS = ["scores-ahead=0", "queries-in-tmem=false",
            "probability-parts=1", "probability-buffers=1"]


def run(text, pipeline):
    done = subprocess.run(["lpfa-opt", pipeline], input=text,
                          capture_output=True, text=True)
    return done.stdout, done.stderr


def check(function, line):
    options, text = line.strip().split(": ", 1)
    said = re.search(r"\); (\d+) columns.*, (\d+) bytes of shared memory", text)
    if not said:
        return f"{options}: {text}"
    left_out = [o for o in DEFAULTS if o.split("=")[0] + "=" not in options]
    out, error = run(function, "-lpfa-to-synchronized=" +
                     " ".join([f"chip={chip}", options, *left_out]))
    if not out:
        return f"{options}: WRONG, {error.splitlines()[0]}"
    found = re.search(r"tensor_columns\((\d+)\) shared_bytes\((\d+)\)", out)
    if found.groups() == said.groups():
        return f"{options}: as said"
    return f"{options}: WRONG, said {said.groups()}, is {found.groups()}"


file, chip, *given = sys.argv[1:]
for function in re.findall(r"^func\.func.*?^}$", open(file).read(), re.M | re.S):
    explained, _ = run(function,
                       f"-lpfa-choose-schedule=chip={chip} explain=true " +
                       " ".join(given))
    print(re.search(r"@\w+", function)[0])
    lines = re.findall(r"^  query-tiles.*", explained, re.M)
    with ThreadPoolExecutor() as pool:
        for verdict in pool.map(lambda line: check(function, line), lines):
            print(verdict)
