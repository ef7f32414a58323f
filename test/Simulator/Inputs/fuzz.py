"""Mangled PTX and launch files: lpfa-sim must end with exit code 0 or 1, soon,
and say in its first line what is wrong."""

import json
import random
import subprocess
import sys
import tempfile
import time

import numpy as np

from races import Races
from sim import HEADER
from tensor import IDESC_MX, mma_kernel
from warps import SHARED, kernel

rng = random.Random(11)

BODIES = [
    kernel(Races.EXCHANGE.format(barrier="bar.sync 0;"), SHARED),
    kernel(Races.INIT.format(barrier="bar.sync 0;"), SHARED),
    mma_kernel("mxf8f6f4", IDESC_MX, n=8, scaled=True),
]
WORDS = [";", ",", "{", "}", "[", "]", "%r0", "%t", "@%q", "!", "-1", "0",
         "4294967295", "99999999999999999999", "0x7fffffff", "0f7fffffff", "0f",
         ".b128", ".u64", ".shared", ".v4", "bra loop;", "ret;", "loop:",
         "(", ")", "_", "/*", "\"", "%", ".", "$", "\0", "|", "<1000000000>"]


def mangle(text):
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = rng.randrange(len(text))
        kind = rng.randrange(5)
        if kind == 0:
            text = text[:at]
        elif kind == 1:
            text = text[:at] + rng.choice(WORDS) + text[at:]
        elif kind == 2:
            text = text[:at] + text[min(len(text), at + rng.randrange(1, 40)):]
        elif kind == 3:
            end = min(len(text), at + rng.randrange(1, 60))
            text = text[:end] + text[at:end] + text[end:]
        else:
            text = text[:at] + chr(rng.randrange(32, 127)) + text[at + 1:]
        if not text:
            break
    return text


def mangle_launch(launch):
    launch = json.loads(json.dumps(launch))
    place = rng.choice([launch, *launch["parameters"]])
    if not place:
        return launch
    key = rng.choice(list(place))
    place[key] = rng.choice([None, -1, 0, 1 << 40, 1e300, "x", [], {}, [0, 0, 0],
                             [1 << 31], True, [4294967296, 1, 1]])
    if rng.random() < .2:
        del place[key]
    return launch


def main(seconds):
    deadline = time.time() + seconds
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/a.npy", np.zeros((128, 128), np.uint8))
        np.save(f"{folder}/s.npy", np.zeros(1024, np.uint8))
        tensor = lambda rows: {"tensor_map": dict(
            buffer="a.npy", element="u8", dims=[128, 128], strides=[128],
            box=[128, rows], swizzle="128b")}
        out = dict(buffer="o", out=True, shape=[128, 64], dtype="uint32")
        launches = [dict(entry="kernel", block=[64], parameters=[out]),
                    dict(entry="kernel", block=[64], parameters=[out]),
                    dict(entry="kernel", block=[128],
                         dynamic_shared_bytes=1 << 15,
                         parameters=[tensor(128), tensor(8),
                                     dict(buffer="s.npy"), out])]
        while time.time() < deadline and count < 400:
            which = rng.randrange(len(BODIES))
            body, launch = HEADER + BODIES[which], launches[which]
            if rng.random() < .7:
                body = mangle(body)
            else:
                launch = mangle_launch(launch)
            with open(f"{folder}/k.ptx", "w") as f:
                f.write(body)
            with open(f"{folder}/l.json", "w") as f:
                json.dump(launch, f)
            try:
                done = subprocess.run(
                    ["lpfa-sim", f"{folder}/k.ptx", f"--launch={folder}/l.json",
                     "--max-steps=200000"],
                    capture_output=True, text=True, errors="replace", timeout=60)
            except subprocess.TimeoutExpired:
                print(body, json.dumps(launch), "hangs")
                sys.exit(1)
            count += 1
            if done.returncode not in (0, 1) or (
                    done.returncode and ": " not in done.stderr.split("\n")[0]):
                print(body, json.dumps(launch), done.returncode, done.stderr)
                sys.exit(1)
    print(count, "cases")


main(float(sys.argv[1]))
