"""Races on global memory: between warps, CTAs, proxies and launches."""

import unittest

import numpy as np

from races import SCHEDULES
from sim import Failure, InOut, Out, TensorMap, run, run_all

HEAD = """
.visible .entry kernel(.param .u64 data, .param .u64 flag, .param .u64 out) {{
  .reg .b32 %t, %c, %a, %b, %d, %n; .reg .b64 %data, %flag, %out, %p, %o;
  .reg .pred %q, %r;
  mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; mov.u32 %n, %nctaid.x;
  ld.param.u64 %data, [data]; ld.param.u64 %flag, [flag];
  ld.param.u64 %out, [out];
  mad.wide.u32 %p, %t, 4, %data;
  mad.lo.u32 %a, %c, %ntid.x, %t;
  mad.wide.u32 %o, %a, 4, %out;
{body}
  ret;
}}
"""


def arguments(block=64, grid=1, data=None):
    return [data if data is not None else Out([block], "uint32"),
            np.zeros(1, np.uint32), Out([grid * block], "uint32")]


class GlobalRaces(unittest.TestCase):
    def check(self, body, pattern=None, block=64, grid=1, data=None, **more):
        """Finds the pattern, or nothing, whatever the schedule and the number
        of host threads."""
        ptx = HEAD.format(body=body)
        for schedule in SCHEDULES:
            for jobs in (1, 2):
                options = [*schedule, f"--jobs={jobs}", *more.get("options", ())]
                call = lambda: run(ptx, arguments(block, grid, data), block=block,
                                   grid=grid, **{**more, "options": options})
                if not pattern:
                    call()
                    continue
                with self.assertRaises(Failure, msg=f"{options}") as caught:
                    call()
                self.assertRegex(str(caught.exception), pattern)

    EXCHANGE = """
  st.global.b32 [%p], %t;
  {barrier}
  xor.b32 %b, %t, 32;
  mad.wide.u32 %p, %b, 4, %data;
  ld.global.b32 %d, [%p];
  st.global.b32 [%o], %d;
"""

    def test_warps(self):
        self.check(self.EXCHANGE.format(barrier="bar.sync 0;"))
        self.check(self.EXCHANGE.format(barrier=""),
                   "(?s)race: a (write|read) and a (read|write) of byte (0|128) of "
                   "buffer 'b0(.npy)?' are not ordered\n"
                   "  CTA \\(0,0,0\\) warp [01], line [0-9]+: (ld|st).global.*\n"
                   "  CTA \\(0,0,0\\) warp [01], line [0-9]+: (ld|st).global.*\n"
                   "  missing: a barrier between the",
                   options=["--check=-uninitialized"])

    def test_neighbors(self):
        self.check("""
  cvt.u64.u32 %p, %t;
  add.u64 %p, %p, %data;
  st.global.u8 [%p], %t;
  mov.u32 %d, 0;
  st.global.b32 [%o], %d;
""")

    def test_ctas_write_the_same_bytes(self):
        body = "  st.global.b32 [%p], {value};\n  st.global.b32 [%o], %c;"
        # The pair of the first CTAs, whoever came first.
        self.check(body.format(value="%c"),
                   "race: a write and a write of byte 0 of buffer 'b0(.npy)?' are not "
                   "ordered\n"
                   "  CTA \\(1,0,0\\) warp 0, line [0-9]+: st.global.*\n"
                   "  CTA \\(0,0,0\\) warp 0, line [0-9]+: st.global.*\n"
                   "  missing: a release of .gpu scope by CTA \\(0,0,0\\) warp 0 "
                   "after its write that CTA \\(1,0,0\\) warp 0 acquires before",
                   grid=20)
        self.check(body.format(value="7"), grid=4)
        self.check(body.format(value="%c"), grid=4, options=["--check=-races"])

    def test_ctas_read_what_another_writes(self):
        self.check("""
  setp.eq.u32 %q, %c, 5;
  @%q st.global.b32 [%p], 1;
  @!%q ld.global.b32 %d, [%p];
  @%q mov.u32 %d, 0;
  st.global.b32 [%o], %d;
""", "race: a read and a write of byte 0 of buffer 'b0(.npy)?' .*\n"
     "  CTA \\(5,0,0\\) .*\n  CTA \\(0,0,0\\)",
                   grid=20, data=np.zeros(64, np.uint32))

    # Each CTA writes its part; the last one to count reads all.
    LAST = """
  mad.wide.u32 %p, %a, 4, %out;
  st.global.b32 [%p], %a;
  bar.sync 0;
  setp.ne.u32 %q, %t, 0;
  @%q bra wait;
  {fence}
  {count} %d, [%flag], 1;
  st.shared.b32 [last], %d;
wait:
  {after}
  bar.sync 0;
  ld.shared.b32 %d, [last];
  add.u32 %d, %d, 1;
  setp.ne.u32 %q, %d, %n;
  @%q ret;
  mov.u32 %b, 0;
next:
  mad.lo.u32 %a, %b, %ntid.x, %t;
  mad.wide.u32 %p, %a, 4, %out;
  ld.global.b32 %d, [%p];
  add.u32 %d, %d, 1;
  st.global.b32 [%p], %d;
  add.u32 %b, %b, 1;
  setp.lt.u32 %q, %b, %n;
  @%q bra next;
"""

    def last(self, **parts):
        return ("  .shared .align 4 .b32 last;\n" +
                self.LAST.format(**{**dict(fence="", after=""), **parts}))

    def test_last_cta_by_fences(self):
        parts = dict(count="atom.global.add.u32", fence="membar.gl;",
                     after="fence.acq_rel.gpu;")
        got = run_all(HEAD.format(body=self.last(**parts)), arguments(64, 4),
                      block=64, grid=4)[1]
        np.testing.assert_array_equal(got, np.arange(1, 257))
        self.check(self.last(**parts), grid=4)
        race = "race: .* of buffer 'b2(.npy)?' are not ordered(?s:.*)a release of .gpu scope"
        self.check(self.last(**{**parts, "fence": ""}), race, grid=4)
        self.check(self.last(**{**parts, "after": ""}), race, grid=4)
        self.check(self.last(**{**parts, "fence": "fence.acq_rel.cta;"}), race,
                   grid=4)

    def test_last_cta_by_acquire_and_release(self):
        count = "atom.global.{}.gpu.add.u32"
        self.check(self.last(count=count.format("acq_rel")), grid=4)
        race = "race: .* of buffer 'b2(.npy)?' are not ordered"
        for weaker in ("release", "acquire", "relaxed"):
            self.check(self.last(count=count.format(weaker)), race, grid=4)
        self.check(self.last(count="atom.global.acq_rel.cta.add.u32"),
                   "race: .* of buffer 'b[12](.npy)?' are not ordered", grid=4)

    def test_flag(self):
        body = """
  setp.ne.u32 %q, %t, 0;
  setp.eq.u32 %r, %c, 1;
  @%r bra consumer;
  st.global.b32 [%p], %t;
  bar.sync 0;
  @!%q {store} [%flag], 1;
  mov.u32 %d, 0;
  bra done;
consumer:
  {load} %d, [%flag];
  setp.eq.u32 %r, %d, 0;
  @%r bra consumer;
  {after}
  ld.global.b32 %d, [%p];
done:
  st.global.b32 [%o], %d;
"""
        text = lambda store, load, after="": body.format(store=store, load=load,
                                                         after=after)
        release, acquire = "st.release.gpu.global.b32", "ld.acquire.gpu.global.b32"
        self.check(text(release, acquire), grid=2)
        self.check(text(release, "ld.relaxed.gpu.global.b32", "fence.acq_rel.gpu;"),
                   grid=2)
        data = "race: .* of buffer 'b0(.npy)?' are not ordered"
        self.check(text("st.relaxed.gpu.global.b32", acquire), data, grid=2)
        self.check(text(release, "ld.relaxed.gpu.global.b32"), data, grid=2)
        self.check(text("st.global.b32", acquire), "race: .* of buffer 'b1(.npy)?'", grid=2)

    def test_reductions_meet(self):
        body = """
  red.global.add.u32 [%data], 1;
  {more}
  st.global.b32 [%o], %c;
"""
        data = np.zeros(64, np.uint32)
        self.check(body.format(more=""), grid=4, data=data)
        self.check(body.format(more="ld.global.b32 %d, [%data];"),
                   "race: a (read|write) and a (read|write) of byte 0 of buffer 'b0.npy'",
                   grid=4, data=data)

    COPY = """
.extern .shared .align 128 .b8 tile[];
.visible .entry kernel(.param .align 64 .b8 map[128], .param .u64 data) {{
  .reg .b32 %t, %s; .reg .b64 %map, %data, %p; .reg .pred %q;
  .shared .align 8 .b64 bar;
  mov.u32 %t, %tid.x;
  mov.u32 %s, tile;
  ld.param.u64 %data, [data];
  mov.b64 %map, map; cvta.param.u64 %map, %map;
  mad.wide.u32 %p, %t, 4, %data;
{body}
  ret;
}}
"""
    LOAD = """
  st.global.b32 [%p], %t;
  setp.eq.u32 %q, %t, 0;
  @%q mbarrier.init.shared.b64 [bar], 1;
  {fence}
  {barrier}
  @%q mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
  @%q cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%s], [%map, {{0, 0}}], [bar];
  bar.sync 0;
wait:
  mbarrier.try_wait.parity.shared.b64 %q, [bar], 0;
  @!%q bra wait;
"""

    def copy(self, body, pattern=None, grid=1, data=None, **parts):
        out = Out([2, 32], "uint32") if data is None else data
        parameters = [TensorMap(out, (2, 32)), out]
        ptx = self.COPY.format(body=body.format(**parts))
        for schedule in SCHEDULES:
            call = lambda: run(ptx, parameters, block=64, shared=256, grid=grid,
                               options=schedule)
            if not pattern:
                call()
                continue
            with self.assertRaises(Failure, msg=f"{schedule}") as caught:
                call()
            self.assertRegex(str(caught.exception), pattern)

    def test_load_of_what_was_stored(self):
        good = dict(fence="fence.proxy.async;", barrier="bar.sync 0;")
        self.copy(self.LOAD, **good)
        self.copy(self.LOAD, "fence: a write and a read of byte 0 of buffer 'b0(.npy)?' are "
                  "in the generic and in the asynchronous proxy",
                  **{**good, "fence": ""})
        self.copy(self.LOAD, "race: a (write|read) and a (read|write) of byte 128 of buffer 'b0(.npy)?'",
                  **{**good, "barrier": "bar.warp.sync -1;"})

    STORE = """
  mad.lo.u32 %t, %t, 4, %s;
  st.shared.b32 [%t], 1;
  fence.proxy.async;
  bar.sync 0;
  mov.u32 %t, %tid.x;
  setp.eq.u32 %q, %t, 0;
  @!%q bra end;
  {store} [%map, {{0, 0}}], [%s];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group{read} 0;
  ld.global.b32 %t, [%data];
end:
"""

    def test_load_of_what_is_being_copied(self):
        store = "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group"
        self.copy(self.STORE, store=store, read="")
        self.copy(self.STORE, "race: a (read|write) and a (read|write) of byte 0 of buffer 'b0(.npy)?' .*\n"
                  "(  CTA .* warp 0, line .*\n|  copy of CTA .* warp 0, line .*\n){2}",
                  store=store, read=".read")

    def test_copies_of_ctas(self):
        end = self.STORE.replace("  ld.global.b32 %t, [%data];\n", "")
        data = np.zeros((2, 32), np.uint32)
        self.copy(end, grid=3, data=data, read="",
                  store="cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group")
        self.copy(end, "race: a write and a write of byte 0 of buffer 'b0(.npy)?' .*\n"
                  "  copy of CTA \\(1,0,0\\) warp 0, line .*\n"
                  "  copy of CTA \\(0,0,0\\) warp 0", grid=3, data=data, read="",
                  store="cp.async.bulk.tensor.2d.global.shared::cta.bulk_group")


class Waiting(unittest.TestCase):
    # Each CTA waits for the next one: on one host thread none could go on if
    # each had to end before another starts.
    CHAIN = """
.visible .entry kernel(.param .u64 flags) {
  .reg .b32 %i, %last, %f; .reg .b64 %flags, %p; .reg .pred %q;
  ld.param.u64 %flags, [flags];
  mov.u32 %i, %ctaid.x;
  mov.u32 %last, %nctaid.x;
  sub.u32 %last, %last, 1;
  mad.wide.u32 %p, %i, 4, %flags;
  setp.eq.u32 %q, %i, %last;
  @%q bra done;
wait:
  ld.acquire.gpu.global.b32 %f, [%p+4];
  setp.eq.u32 %q, %f, 0;
  @%q bra wait;
done:
  st.release.gpu.global.b32 [%p], 1;
  ret;
}"""

    def test_clusters_wait_for_each_other(self):
        for jobs in ("--jobs=1", "--jobs=3"):
            for schedule in ("eager", "random"):
                flags, = run(self.CHAIN, [InOut(np.zeros(8, np.uint32))], block=1,
                             grid=8, options=[jobs, f"--schedule={schedule}"])
                np.testing.assert_array_equal(flags, 1)


if __name__ == "__main__":
    unittest.main()
