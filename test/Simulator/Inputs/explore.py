"""Bounded exploration finds what the eager and the lazy schedule both miss."""

import re
import unittest

import numpy as np

import sim
from sim import Failure, Out, TensorMap, run
from warps import SHARED, kernel

EXPLORE = ["--schedule=explore"]


class Explore(unittest.TestCase):
    def finds(self, pattern, ptx, parameters, options=(), **more):
        """Neither fixed schedule fails; exploration does, and its decisions
        alone fail in the same way."""
        for schedule in ("eager", "lazy"):
            run(ptx, parameters, options=[*options, f"--schedule={schedule}"],
                **more)
        with self.assertRaises(Failure) as caught:
            run(ptx, parameters, options=[*options, *EXPLORE], **more)
        text = str(caught.exception)
        self.assertRegex(text, pattern)
        self.assertRegex(text, "(?m)^lpfa-sim: explored .* schedules")
        replay = re.search("under (--schedule=explore) (--decisions=[^ \n]*)", text)
        self.assertIsNotNone(replay, text)
        with self.assertRaises(Failure) as again:
            run(ptx, parameters, options=[*options, *replay.groups()], **more)
        findings = lambda t: [l for l in t.splitlines()
                              if "explore" not in l]
        self.assertEqual(findings(str(again.exception)), findings(text))

    # The warp with the second ticket opens the barrier; warp 1, which comes to
    # bar.sync last and goes on first, takes it for granted that this is warp 0.
    TICKET = """
  setp.eq.u32 %q, %t, 0;
  @%q st.shared.b32 [cells], 0;
  mov.u32 %bar, mbar;
  @%q mbarrier.init.shared.b64 [%bar], 1;
  bar.sync 0;
  and.b32 %a, %t, 31;
  setp.ne.u32 %q, %a, 0;
  mov.u32 %d, 0;
  @%q bra done;
  atom.shared.add.u32 %d, [cells], 1;
  setp.eq.u32 %q, %t, 0;
  setp.eq.u32 %r, %d, 1;
  and.pred %q, %q, %r;
  @%q mbarrier.arrive.shared.b64 _, [%bar];
wait:
  mbarrier.try_wait.parity.shared.b64 %q, [%bar], 0;
  @!%q bra wait;
done:
"""

    def test_order_of_warps(self):
        self.finds("deadlock: no warp can go on", kernel(self.TICKET, SHARED),
                   [Out([64], "uint32")], block=64)

    def test_results_differ(self):
        body = self.TICKET.replace("  @%q mbarrier.arrive", "  mbarrier.arrive")
        body = body.replace("[%bar], 1;", "[%bar], 2;")
        ptx = kernel(body, SHARED)
        self.finds("result: byte [0-9]+ of buffer 'b0' is not what the first "
                   "schedule gives", ptx, [Out([64], "uint32")], block=64)
        run(ptx, [Out([64], "uint32")], block=64,
            options=[*EXPLORE, "--check=-results"])

    # The second copy's completion is taken for the first one's.
    COPIES = """
.extern .shared .align 128 .b8 tile[];
.visible .entry kernel(.param .align 64 .b8 map[128], .param .u64 out) {
  .reg .b32 %t, %s, %d; .reg .b64 %map, %out; .reg .pred %q, %r;
  .shared .align 8 .b64 bars[2];
  mov.u32 %t, %tid.x;
  mov.u32 %s, tile;
  ld.param.u64 %out, [out];
  mov.b64 %map, map; cvta.param.u64 %map, %map;
  mbarrier.init.shared.b64 [bars], 1;
  mbarrier.init.shared.b64 [bars+8], 1;
  mbarrier.arrive.expect_tx.shared.b64 _, [bars], 64;
  cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [%s], [%map, {0}], [bars];
  mbarrier.arrive.expect_tx.shared.b64 _, [bars+8], 64;
  cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [%s+128], [%map, {16}], [bars+8];
poll:
  mbarrier.test_wait.parity.shared.b64 %q, [bars], 0;
  mbarrier.test_wait.parity.shared.b64 %r, [bars+8], 0;
  @%q bra first;
  @!%r bra poll;
  trap;
first:
  mbarrier.try_wait.parity.shared.b64 %r, [bars+8], 0;
  @!%r bra first;
  ld.shared.b32 %d, [%s+128];
  st.global.b32 [%out], %d;
  ret;
}
"""

    def test_order_of_completions(self):
        data = np.arange(32, dtype=np.uint32)
        self.finds("trap", self.COPIES, [TensorMap(data, (16,)), Out([1], "uint32")],
                   block=1, shared=256)

    RIGHT = TICKET.replace("  setp.eq.u32 %q, %t, 0;\n  setp.eq.u32 %r",
                                                 "  setp.eq.u32 %r").replace(
        "  and.pred %q, %q, %r;\n  @%q mbarrier", "  @%r mbarrier").replace(
        "wait:", "  mov.u32 %d, 7;\nwait:")

    def explored(self, *options):
        """What the tool says of its coverage."""
        run(kernel(self.RIGHT, SHARED), [Out([64], "uint32")], block=64,
            options=[*EXPLORE, *options])
        return sim.log[-1].stderr

    def test_coverage(self):
        text = self.explored()
        done = re.search("explored 2 of 2 schedules with 0 deviations, ([0-9]+) of "
                         "([0-9]+) schedules with 1 deviation\n", text)
        self.assertIsNotNone(done, text)
        self.assertEqual(done[1], done[2])
        self.assertGreater(int(done[1]), 3)
        self.assertRegex(self.explored("--max-runs=5"),
                         f"explored 2 of 2 .*, 3 of {done[2]} schedules with 1 ")
        self.assertRegex(self.explored("--deviations=2"), f"{done[2]} of {done[2]} "
                         "schedules with 1 deviation, [0-9]+ of [0-9]+ schedules "
                         "with 2 deviations\n")
        self.assertRegex(self.explored("--deviations=0"),
                         "explored 2 of 2 schedules with 0 deviations\n")

    def test_bad_decisions(self):
        for text in ("now", "late,3", "late,x:1", "early,1:-2"):
            sim.fails(self, f"decisions '{text}' are not 'late' or 'early'",
                      kernel(self.RIGHT, SHARED), [Out([64], "uint32")], block=64,
                      options=[*EXPLORE, f"--decisions={text}"])


if __name__ == "__main__":
    unittest.main()
