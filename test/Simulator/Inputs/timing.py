"""The timing model, on kernels whose clocks follow by hand from the published
rates that lib/Simulator/Timing.h and TimingModel.cpp cite."""

import json
import os
import re
import tempfile
import unittest

import numpy as np

import sim
from sim import Out, fails, run, timing
from tensor import IDESC_MX, mma_kernel, mx_arguments
from warps import kernel

TIMED = ["--schedule=timed"]


class Clocks(unittest.TestCase):
    def cost(self, instruction, count=128, block=32, before="", **more):
        """Clocks that `count` times the instruction take longer than none."""
        def body(n):
            return kernel("  mov.u32 %d, 1;\n" + before + instruction * n)
        run_timed = lambda n: timing(body(n), [Out([block], "uint32")],
                                     block=block, **more)["clocks"]
        return (run_timed(2 * count) - run_timed(count)) / count

    def test_dependent_instructions(self):
        # A chain of FMAs or integer additions: four clocks each.
        reg = "  .reg .f32 %f, %g;\n  mov.f32 %f, 0f3F800000;\n"
        self.assertEqual(self.cost("  fma.rn.f32 %f, %f, %f, %f;\n", before=reg), 4)
        self.assertEqual(self.cost("  add.u32 %d, %d, 1;\n"), 4)

    def test_issue_and_pipes(self):
        # Independent instructions of one warp; four warps have a sub-partition
        # each, eight share them.
        reg = ("  .reg .f32 %f<9>; .reg .b64 %w<9>; .reg .b16 %h<9>;\n" + "".join(
            f"  mov.f32 %f{i}, 0f3F800000;\n  mov.b64 %w{i}, 1;\n"
            for i in range(9)))
        rate = lambda text, per=8, **more: self.cost("".join(
            text.format(i) for i in range(per)), 64, before=reg, **more) / per
        for block, share in ((32, 1), (128, 1), (256, 2)):
            more = dict(block=block)
            # FMA: 128 lanes a clock and SM; packed: 64; ALU: 64.
            self.assertEqual(rate("  fma.rn.f32 %f{0}, %f8, %f8, %f8;\n", **more),
                             share)
            self.assertEqual(rate("  fma.rn.f32x2 %w{0}, %w8, %w8, %w8;\n", **more),
                             2 * share)
            self.assertEqual(rate("  max.f32 %f{0}, %f8, %f8;\n", **more), 2 * share)
            # Exponentials: 16 on sm_100a, 32 on sm_103a. Conversions to e4m3x2:
            # 32 instructions.
            exp = "  ex2.approx.ftz.f32 %f{0}, %f8;\n"
            self.assertEqual(rate(exp, **more), 8 * share)
            self.assertEqual(rate(exp, options=["--chip=sm_103a"], **more), 4 * share)
            self.assertEqual(rate("  cvt.rn.satfinite.e4m3x2.f32 %h{0}, %f8, %f8;\n",
                                  **more), 4 * share)

    def test_shared_memory(self):
        # 32 lanes of 16 bytes: 512 bytes at 128 a clock.
        before = ("  .shared .align 16 .b8 room[512]; .reg .b32 %v<5>;\n"
                  "  mov.u32 %a, room; mad.lo.u32 %a, %t, 16, %a;\n")
        store = "  st.shared.v4.b32 [%a], {%d, %d, %d, %d};\n"
        self.assertEqual(self.cost(store, before=before), 4)

    def multiply(self, repeats, edit=lambda text: text, options=()):
        """MXFP8 of 128 x 64 x 128, each of its four MMAs `repeats` times."""
        text = re.sub("(tcgen05.mma[^;]*;)", r"\1" * repeats,
                      mma_kernel("mxf8f6f4", IDESC_MX, scaled=True))
        arguments, _ = mx_arguments()
        return timing(edit(text), arguments, block=128, shared=1 << 15,
                      options=options)

    def test_tensor_pipe(self):
        # N = 64, both operands in shared memory: 48 clocks on either chip.
        for chip in ("sm_100a", "sm_103a"):
            few, many = (self.multiply(r, options=[f"--chip={chip}"])
                         for r in (4, 8))
            self.assertAlmostEqual((many["clocks"] - few["clocks"]) / 16, 48)
            self.assertAlmostEqual(many["busy"]["tensor pipe"] * many["clocks"],
                                   48 * 32)

    def test_tensor_memory(self):
        # 64 columns of 32 lanes are 8 KiB: 8192 / 55 clocks for each warp, the
        # four of them in sub-partitions of their own.
        def more(text):
            load = re.search("tcgen05.ld.*?;", text)[0]
            wait = "tcgen05.wait::ld.sync.aligned;"
            return text.replace(wait, f"{wait} {load} {wait}")
        clocks = self.multiply(1, more)["clocks"] - self.multiply(1)["clocks"]
        self.assertAlmostEqual(clocks, 8192 / 55, delta=2)

    def test_waits(self):
        """The one warp waits for the copy, then for the product."""
        product = lambda repeats: max(
            w["clocks"] for w in self.multiply(repeats)["warps"][0]["waits"]
            if "mbarrier" in w["for"])
        self.assertAlmostEqual(product(16) - product(8), 32 * (48 - 1))

    def test_sampled(self):
        text = kernel("  mad.lo.u32 %t, %ctaid.x, 32, %t; mov.u32 %d, %t;\n")
        text = text.replace("%ctaid.x, 32", "%b, 32").replace(
            "  mad.lo.u32 %t, %b", "  mov.u32 %b, %ctaid.x; mad.lo.u32 %t, %b")
        # 320 CTAs go round 148 SMs: the first one has three.
        self.assertIsNone(run(text, [Out([320 * 32], "uint32")], grid=320,
                              options=TIMED))
        figures = timing(text, [Out([320 * 32], "uint32")], grid=320)
        self.assertEqual((figures["sampled_clusters"], figures["clusters"]), (3, 320))
        all_, = run(text, [Out([320 * 32], "uint32")], grid=320,
                    options=[*TIMED, "--sample-sms=0"])
        np.testing.assert_array_equal(all_, np.arange(320 * 32))

    def test_summary_and_trace(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            self.multiply(2, options=[f"--trace={path}"])
            with open(path) as f:
                events = json.load(f)["traceEvents"]
        tracks = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
        pipe = [e for e in events if e["ph"] == "X" and
                tracks[e["tid"]] == "CTA (0,0,0) tensor pipe"]
        self.assertEqual([e["dur"] for e in pipe], [48] * 8)
        self.assertIn("CTA (0,0,0) warp 0", tracks.values())
        run(kernel("  mov.u32 %d, 1;\n"), [Out([32], "uint32")], options=TIMED)
        self.assertRegex(sim.log[-1].stdout, "(?s)^modelled on sm_100a at 1.965 GHz: .* "
                         "a model, not a measurement\n.*tensor pipe .* 0.0 %.*"
                         "CTA \\(0,0,0\\) warp 0: .*assumptions:\n")

    def test_unknown_chip(self):
        fails(self, "there is a model of sm_100a and of sm_103a alone, not of "
              "'sm_90a'", kernel("  mov.u32 %d, 1;\n"), [Out([32], "uint32")],
              options=[*TIMED, "--chip=sm_90a"])
        fails(self, "--trace needs --schedule=timed", kernel("  mov.u32 %d, 1;\n"),
              [Out([32], "uint32")], options=["--trace=t.json"])


if __name__ == "__main__":
    unittest.main()
