"""Races and missing fences: each kernel is right but for one omission."""

import re
import unittest

import numpy as np

from sim import Failure, Out, TensorMap, run, run_all
from tensor import IDESC_MX, mma_kernel, mx_arguments
from warps import SHARED, kernel

SCHEDULES = (["--schedule=eager"], ["--schedule=lazy"],
             ["--schedule=random", "--seed=5"])


class Races(unittest.TestCase):
    def finds(self, pattern, ptx, parameters, options=(), **more):
        """The finding comes whatever the schedule."""
        for schedule in SCHEDULES:
            with self.assertRaises(Failure, msg=f"{schedule}") as caught:
                run(ptx, parameters, options=[*options, *schedule], **more)
            self.assertRegex(str(caught.exception), pattern)

    def shared(self, body, pattern=None, **more):
        arguments = [Out([64], "uint32")]
        if pattern:
            self.finds(pattern, kernel(body, SHARED), arguments, block=64, **more)
        else:
            return run_all(kernel(body, SHARED), arguments, block=64, **more)

    EXCHANGE = """
  mov.u32 %a, cells;
  mad.lo.u32 %a, %t, 4, %a;
  st.shared.b32 [%a], 99;
  bar.sync 0;
  st.shared.b32 [%a], %t;
  {barrier}
  xor.b32 %b, %t, 32;
  mov.u32 %a, cells;
  mad.lo.u32 %a, %b, 4, %a;
  ld.shared.b32 %d, [%a];
"""

    def test_exchange(self):
        got, = self.shared(self.EXCHANGE.format(barrier="bar.sync 0;"))
        np.testing.assert_array_equal(got, np.arange(64) ^ 32)
        self.shared(self.EXCHANGE.format(barrier="bar.warp.sync -1;"),
                    "(?s)race: a (write|read) and a (read|write) of shared memory.*"
                    "warp [01], line.*warp [01], line.*missing: a barrier")

    def test_write_after_read(self):
        body = self.EXCHANGE.format(barrier="bar.sync 0;") + """
  setp.eq.u32 %q, %t, 0;
  @%q st.shared.b32 [cells], 1;
"""
        self.shared(body, "race: a (read|write) and a (read|write)")

    def test_same_value_is_no_race(self):
        self.shared("st.shared.b32 [cells], 7; bar.sync 0; ld.shared.b32 %d, [cells];")
        self.shared("st.shared.b32 [cells], %t; bar.sync 0; ld.shared.b32 %d, [cells];",
                    "race: a write and a write")

    def test_neighboring_bytes_are_no_race(self):
        self.shared("""
  mov.u32 %a, cells;
  shr.u32 %b, %t, 5;
  add.u32 %a, %a, %b;
  st.shared.b8 [%a], %b;
  mov.u32 %d, 0;
""")

    INIT = """
  mov.u32 %bar, mbar;
  setp.eq.u32 %q, %t, 0;
  @%q mbarrier.init.shared.b64 [%bar], 64;
  {barrier}
  mbarrier.arrive.shared.b64 %state, [%bar];
wait:
  mbarrier.test_wait.shared.b64 %q, [%bar], %state;
  @!%q bra wait;
  mov.u32 %d, 0;
"""

    def test_barrier_is_used_before_its_initialization_is_known(self):
        self.shared(self.INIT.format(barrier="bar.sync 0;"))
        self.shared(self.INIT.format(barrier=""),
                    "race|no initialized mbarrier")

    INITS = """
.shared .align 8 .b64 one;
.shared .align 8 .b64 other;
.visible .entry kernel(.param .u64 out) {{
  .reg .b32 %t, %peer, %r; .reg .b64 %out; .reg .pred %q;
  mov.u32 %t, %tid.x;
  setp.eq.u32 %q, %t, 0;
  @%q mbarrier.init.shared.b64 [one], 1;
  fence.mbarrier_init.release.cluster;
  {more}
  barrier.cluster.arrive.relaxed;
  barrier.cluster.wait.acquire;
  mov.u32 %r, %cluster_ctarank;
  xor.b32 %r, %r, 1;
  mov.u32 %peer, {used};
  mapa.shared::cluster.u32 %peer, %peer, %r;
  @%q mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%peer];
  barrier.cluster.arrive;
  barrier.cluster.wait;
  ld.param.u64 %out, [out];
  st.global.b32 [%out], 1;
  ret;
}}"""

    def test_relaxed_arrival_passes_on_fenced_initializations(self):
        late = "@%q mbarrier.init.shared.b64 [other], 1;"
        fence = "fence.mbarrier_init.release.cluster;"
        more = dict(block=32, grid=2, cluster=2)
        for body in (dict(more="", used="one"), dict(more=late, used="one"),
                     dict(more=late + fence, used="other")):
            run_all(self.INITS.format(**body), [Out([1], "uint32")], **more)
        self.finds("(?s)race: a write and a read.*arrive.*init",
                   self.INITS.format(more=late, used="other"),
                   [Out([1], "uint32")], **more)

    def test_ctas_exit_behind_accesses_of_others(self):
        text = """
.shared .align 4 .b32 cell;
.visible .entry kernel() {{
  .reg .b32 %r, %peer;
  mov.u32 %r, %cluster_ctarank;
  xor.b32 %r, %r, 1;
  mapa.shared::cluster.u32 %peer, cell, %r;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  st.shared::cluster.b32 [%peer], 1;
  {last}
  ret;
}}"""
        more = dict(block=32, grid=2, cluster=2)
        run(text.format(last="barrier.cluster.arrive; barrier.cluster.wait;"), [], **more)
        self.finds("race: a write of shared memory .* exit are not ordered",
                   text.format(last=""), [], **more)

    def test_mbarrier_orders(self):
        body = """
  mov.u32 %bar, mbar;
  setp.eq.u32 %q, %t, 0;
  @%q mbarrier.init.shared.b64 [%bar], 32;
  bar.sync 0;
  setp.lt.u32 %q, %t, 32;
  mov.u32 %a, cells;
  mov.u32 %d, 0;
  @!%q bra consumer;
  mad.lo.u32 %a, %t, 4, %a;
  st.shared.b32 [%a], %t;
  mbarrier.arrive.shared.b64 _, [%bar];
  bra done;
consumer:
  {wait}
  sub.u32 %b, %t, 32;
  mad.lo.u32 %a, %b, 4, %a;
  ld.shared.b32 %d, [%a];
done:
"""
        wait = "mbarrier.try_wait.parity.shared.b64 %r, [%bar], 0; @!%r bra consumer;"
        got, = self.shared(body.format(wait=wait))
        np.testing.assert_array_equal(got[32:], np.arange(32))
        self.shared(body.format(wait=""), "race: a (write|read) and a (read|write)|"
                    "undefined")

    STORE = """
.extern .shared .align 128 .b8 tile[];
.visible .entry kernel(.param .align 64 .b8 to[128]) {{
  .reg .b32 %t, %s; .reg .b64 %to; .reg .pred %q;
  mov.u32 %t, %tid.x;
  mov.u32 %s, tile;
  mad.lo.u32 %s, %t, 4, %s;
  st.shared.b32 [%s], %t;
  {fence}
  bar.sync 0;
  setp.eq.u32 %q, %t, 0;
  @!%q bra second;
  mov.u32 %s, tile;
  mov.b64 %to, to; cvta.param.u64 %to, %to;
  cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%to, {{0, 0}}], [%s];
  cp.async.bulk.commit_group;
  {wait}
second:
  {barrier}
  mov.u32 %s, tile;
  mad.lo.u32 %s, %t, 4, %s;
  st.shared.b32 [%s], 0;
  ret;
}}
"""

    def test_tma_store(self):
        x = lambda: [TensorMap(Out([2, 32], "uint32"), (2, 32))]
        good = dict(fence="fence.proxy.async.shared::cta;",
                    wait="cp.async.bulk.wait_group.read 0;", barrier="bar.sync 0;")
        text = lambda **bad: self.STORE.format(**{**good, **bad})
        got, = run_all(text(), x(), block=64, shared=1024)
        np.testing.assert_array_equal(got, np.arange(64).reshape(2, 32))
        for bad, pattern in (
                (dict(fence=""), "fence: a write and a read of shared memory .*"
                                 "without 'fence.proxy.async'"),
                (dict(wait=""), "race: a (read|write) and a (write|read)"),
                (dict(barrier=""), "race: a (read|write) and a (write|read)")):
            self.finds(pattern, text(**bad), x(), block=64, shared=1024)
        # Strictly, the reads must have ended when the CTA exits.
        late = text(wait="", barrier="ret;")
        run(late, x(), block=64, shared=1024)
        self.finds("race: a read of shared memory at 0x400 of CTA .0,0,0. and the CTA's "
                   "exit are not ordered(.|\n)*missing: a wait of a thread of the CTA",
                   late, x(), block=64, shared=1024, options=["--check=strict-fences"])

    def test_tensor_memory(self):
        arguments, _ = mx_arguments()
        good = mma_kernel("mxf8f6f4", IDESC_MX, scaled=True)
        self.finds("race: a (read|write) and a (read|write) of tensor memory|undefined",
                   good.replace("@!%go bra wait;", ""), arguments, block=128,
                   shared=1 << 15)
        self.finds("race: .* shared memory|undefined",
                   re.sub("mbarrier.try_wait.*full], 0;\\s*@!%go bra loaded;", "", good),
                   arguments, block=128,
                   shared=1 << 15)

    def test_strict_fences(self):
        arguments, _ = mx_arguments()
        good = mma_kernel("mxf8f6f4", IDESC_MX, scaled=True)
        strict = ["--check=strict-fences"]
        run(good, arguments, block=128, shared=1 << 15, options=strict)
        bad = good.replace("tcgen05.fence::after_thread_sync;", "")
        run(bad, arguments, block=128, shared=1 << 15)
        self.finds("fence: a write and a read of tensor memory .* without 'tcgen05.fence'",
                   bad, arguments, block=128, shared=1 << 15, options=strict)

    def test_memory_is_released_behind_its_uses(self):
        arguments, _ = mx_arguments()
        more = dict(block=128, shared=1 << 15)
        good = mma_kernel("mxf8f6f4", IDESC_MX, scaled=True)
        self.finds("race: a read and a write of tensor memory(.|\n)*tcgen05.dealloc"
                   "(.|\n)*tcgen05.ld|not allocated|undefined",
                   good.replace("bar.sync 0;\n  @%first tcgen05.dealloc",
                                "@%first tcgen05.dealloc"), arguments, **more)

    def test_engines_know_of_initialized_barriers(self):
        arguments, _ = mx_arguments()
        good = mma_kernel("mxf8f6f4", IDESC_MX, scaled=True)
        more = dict(block=128, shared=1 << 15)
        init = "fence.mbarrier_init.release.cluster;"
        strict = ["--check=strict-fences"]
        pattern = ("fence: the mbarrier at .* is signaled from outside its CTA's threads "
                   "without 'fence.mbarrier_init' behind its initialization at line")
        for fence in ("fence.proxy.async;", "fence.acq_rel.gpu;",
                      "barrier.cluster.arrive; barrier.cluster.wait;"):
            run(good.replace(init, fence), arguments, options=strict, **more)
        others = "@!%q " + init  # those that have initialized nothing
        for fence in ("", "fence.acq_rel.cta;", others):
            bad = good.replace(init, fence)
            run(bad, arguments, **more)
            self.finds(pattern, bad, arguments, options=strict, **more)
        # A commit alone, the copies' barrier being known.
        first = "@%q mbarrier.init.shared.b64 [%full], 1;"
        bad = good.replace(init, "").replace(first, first + init)
        self.finds(pattern + "(.|\n)*tcgen05.commit", bad, arguments, options=strict,
                   **more)

    def test_engines_signal_barriers_that_are_initialized_before(self):
        arguments, _ = mx_arguments()
        bad = mma_kernel("mxf8f6f4", IDESC_MX, scaled=True)
        bad = bad.replace("  @%q mbarrier.init.shared.b64 [%done], 1;\n", "").replace(
            "wait:\n", "wait:\n  setp.eq.u32 %go, %t, 64;\n"
            "  @%go mbarrier.init.shared.b64 [%done], 1;\n", 1)
        self.finds("race: a (read|write) and a (read|write)|no initialized mbarrier",
                   bad, arguments, block=128, shared=1 << 15)

    def test_documented_order(self):
        # The manual orders an mma before a later copy of scales into what it
        # reads by a commit alone; in practice the pipe does.
        arguments, _ = mx_arguments()
        good = mma_kernel("mxf8f6f4", IDESC_MX, scaled=True)
        copies = re.findall("tcgen05.cp[^;]*;", good)
        again = re.sub("(?s)(.*)(tcgen05.mma[^;]*;)", r"\1\2 " + copies[0] + r" \2",
                       good)
        only = ["--check=races"]
        documented = ["--ordering=documented", *only]
        for text, options in ((good, documented), (again, only)):
            for schedule in SCHEDULES:
                run(text, arguments, block=128, shared=1 << 15,
                    options=[*options, *schedule])
        self.finds("race: a (read|write) and a (write|read) of tensor memory column.*\n"
                   "  tensor pipe of .* tcgen05.(cp|mma).*\n"
                   "  tensor pipe of .* tcgen05.(mma|cp)", again, arguments, block=128,
                   shared=1 << 15, options=documented)

    def test_allocation_of_a_pair(self):
        # Both CTAs of a pair allocate; one alone waits for the other.
        body = """
.shared .align 4 .b32 place;
.visible .entry kernel() {{
  .reg .b32 %r, %a; .reg .pred %q;
  mov.u32 %r, %cluster_ctarank;
  setp.ne.u32 %q, %r, {alone};
  @%q bra end;
  tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [place], 64;
  ld.shared.b32 %a, [place];
  tcgen05.dealloc.cta_group::2.sync.aligned.b32 %a, 64;
end:
  barrier.cluster.arrive;
  barrier.cluster.wait;
  ret;
}}
"""
        pair = dict(block=32, grid=2, cluster=2)
        both = body.format(alone=0).replace("@%q bra end;", "")
        for schedule in SCHEDULES:
            run(both, [], options=schedule, **pair)
        self.finds("(?s)deadlock:.*waits for the pair's other CTA to allocate tensor "
                   "memory", body.format(alone=0), [], **pair)

    def test_switched_off(self):
        run(kernel(self.EXCHANGE.format(barrier="bar.warp.sync -1;"), SHARED),
            [Out([64], "uint32")], block=64,
            options=["--check=-races,-uninitialized"])


if __name__ == "__main__":
    unittest.main()
