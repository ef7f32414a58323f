"""The main job: attention over MXFP8 tensors, quantized, compiled to a Blackwell
kernel, executed in the simulator and compared with the reference."""

import argparse
import pathlib
import re
import sys
import time

import numpy as np

import lpfa
from lpfa import attention, metrics

ATTENTION = """
func.func @attention(
    %q: tensor<?x?x?x128xf8E4M3FN>, %sq: tensor<?x?x?x4xf8E8M0FNU>,
    %k: tensor<?x?x?x128xf8E4M3FN>, %sk: tensor<?x?x?x4xf8E8M0FNU>,
    %v: tensor<?x?x?x128xf8E4M3FN>, %sv: tensor<?x?x?x128xf8E8M0FNU>)
    -> (tensor<?x?x?x128xf32>, tensor<?x?x?xf32>) {
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.0883883461 : f32}
      : (tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x4xf8E8M0FNU>,
         tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x4xf8E8M0FNU>,
         tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x128xf8E8M0FNU>)
      -> (tensor<?x?x?x128xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x128xf32>, tensor<?x?x?xf32>
}
"""

# Scales run along the dimension that a product sums over: the head dimension of
# Q and K, the sequence of V.
QUANTIZE = """
func.func @rows(%x: tensor<?x?x?x128xf32>)
    -> (tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x4xf8E8M0FNU>) {
  %codes, %scales = lpfa.quantize %x axis(3) rule(rceil)
      : tensor<?x?x?x128xf32>
        -> tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x4xf8E8M0FNU>
  return %codes, %scales : tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x4xf8E8M0FNU>
}
func.func @columns(%x: tensor<?x?x?x128xf32>)
    -> (tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x128xf8E8M0FNU>) {
  %codes, %scales = lpfa.quantize %x axis(2) rule(rceil)
      : tensor<?x?x?x128xf32>
        -> tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x128xf8E8M0FNU>
  return %codes, %scales : tensor<?x?x?x128xf8E4M3FN>, tensor<?x?x?x128xf8E8M0FNU>
}
"""


class Step:
    """Prints what begins, and then how long it took and what came out."""

    def __init__(self, text):
        self.note = ""
        print(f"  {text:<44}", end="", flush=True)

    def __enter__(self):
        self.start = time.monotonic()
        return self

    def __exit__(self, kind, error, trace):
        if kind is None:
            print(f"{time.monotonic() - self.start:6.1f} s  {self.note}", flush=True)
        else:
            print("  failed", flush=True)


def check(name, value, unit, least=-np.inf, most=np.inf):
    """Prints a measure beside what it must reach."""
    good = least <= value <= most
    gate = f"at most {most:g}" if least == -np.inf else f"at least {least:g}"
    verdict = "ok" if good else "FAILED"
    print(f"  {name:<44}{value:>10.5g} {unit:<3} {gate:<15} {verdict}")
    return good


def demonstrate(arguments):
    rng = np.random.default_rng(0)
    queries = (arguments.batch, arguments.heads, arguments.queries, 128)
    keys = (arguments.batch, arguments.heads, arguments.keys, 128)
    wide = [
        rng.standard_normal(shape).astype(np.float32) for shape in (queries, keys, keys)
    ]
    print(
        f"Attention over MXFP8: batch {arguments.batch}, heads {arguments.heads}, "
        f"{arguments.queries} queries by {arguments.keys} keys, head dimension 128"
    )

    operands = []
    with Step("quantize Q, K, V (E4M3, blocks of 32)"):
        for x, entry in zip(wide, ("rows", "rows", "columns")):
            operands += lpfa.run(QUANTIZE, entry, [x])

    with Step("compile lpfa.attention for sm_100a") as step:
        lpfa.compile(ATTENTION, arguments.out, chip="sm_100a")
        ptx = "".join(p.read_text() for p in sorted(arguments.out.rglob("*.ptx")))
        mma = len(re.findall(r"tcgen05\.mma\S*block_scale", ptx))
        step.note = f"{len(ptx.splitlines())} lines of PTX, {mma} block-scaled MMAs"

    with Step("run its PTX in the simulator"):
        o, lse = lpfa.run(ATTENTION, "attention", operands, device="sim")
    with Step("run the reference on the CPU"):
        expected_o, expected_lse = lpfa.run(ATTENTION, "attention", operands)

    exact_o, _ = attention.attention(*wide, scale=128**-0.5)
    good = [
        check("O against the reference", metrics.sqnr_db(o, expected_o), "dB", 60),
        check(
            "LSE against the reference, largest error",
            metrics.max_abs_error(lse, expected_lse),
            "",
            most=1e-4,
        ),
        check("O against float64 on the input", metrics.sqnr_db(o, exact_o), "dB", 25),
        check("the same, cosine", metrics.cosine(o, exact_o), "", 0.998),
    ]
    if not all(good):
        print("The kernel is wrong.")
        return 1
    print(f"The kernel is in {arguments.out}.")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--heads", type=int, default=2)
    parser.add_argument("--queries", type=int, default=512)
    parser.add_argument("--keys", type=int, default=1024)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/demo"))
    try:
        return demonstrate(parser.parse_args())
    except (lpfa.ToolError, FileNotFoundError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
