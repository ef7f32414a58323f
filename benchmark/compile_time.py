"""Measures the time from one attention op to PTX, and ptxas's own beside it.

    compile_time.py --bin=build/release/bin [--runs=5] [--limit=0.5]

Times are those of whole processes. With --limit, the exit code tells whether
the median time to PTX of every kernel stays under so many seconds.
"""

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "test/Integration/attention-forward.mlir"


def functions(text):
    """The functions of a module as modules of their own, by name."""
    lines = [line for line in text.splitlines() if not line.startswith("//")]
    parts = ("\n".join(lines) + "\n").split("func.func @")[1:]
    return {
        part.split("(")[0]: "func.func @" + part[: part.index("\n}\n") + 3]
        for part in parts
    }


def measure(command, runs):
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--ptxas", help="times it on the same PTX")
    parser.add_argument("--chip", default="sm_100a")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--limit", type=float)
    arguments = parser.parse_args()

    slow = False
    print(f"{'kernel':<32}{'to PTX':>10}{'ptxas':>10}   median of {arguments.runs}, s")
    for name, text in functions(SOURCE.read_text()).items():
        with tempfile.TemporaryDirectory() as folder:
            module = pathlib.Path(folder, "module.mlir")
            module.write_text(text)
            out = pathlib.Path(folder, "out")
            compiled = measure(
                [
                    arguments.bin / "lpfa-compile",
                    module,
                    f"--chip={arguments.chip}",
                    "--emit=ptx",
                    "-o",
                    out,
                ],
                arguments.runs,
            )
            assembled = sum(
                measure(
                    [
                        arguments.ptxas,
                        f"-arch={arguments.chip}",
                        ptx,
                        "-o",
                        ptx.with_suffix(".cubin"),
                    ],
                    arguments.runs,
                )
                for ptx in (sorted(out.rglob("*.ptx")) if arguments.ptxas else [])
            )
        beside = f"{assembled:10.2f}" if arguments.ptxas else f"{'-':>10}"
        print(f"{name:<32}{compiled:10.2f}{beside}", flush=True)
        slow |= arguments.limit is not None and compiled > arguments.limit
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
