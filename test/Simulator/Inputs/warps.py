"""Control flow, warp-wide instructions, barriers and their misuse."""

import unittest

import numpy as np

from sim import Out, fails, run, run_all, scalar

PROLOGUE = """
  .reg .b64 %out, %p; .reg .b32 %t, %a, %b, %c, %d, %bar; .reg .pred %q, %r;
  .reg .b64 %state;
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
"""
EPILOGUE = """
  mad.wide.u32 %p, %t, 4, %out;
  st.global.b32 [%p], %d;
  ret;
"""


def kernel(body, declarations="", directives=""):
    return (f"{declarations}\n.visible .entry kernel(.param .u64 out) "
            f"{directives} {{\n{PROLOGUE}{body}{EPILOGUE}}}")


def result(body, n=32, **more):
    return run_all(kernel(body), [Out([n], "uint32")], block=n, **more)[0]


LANES = np.arange(32, dtype=np.uint32)


class Control(unittest.TestCase):
    def test_divergent_loop(self):
        # Every lane runs its own number of turns.
        got = result("""
  mov.u32 %d, 0;
  mov.u32 %a, 0;
loop:
  add.u32 %d, %d, %a;
  add.u32 %a, %a, 1;
  setp.le.u32 %q, %a, %t;
  @%q bra loop;
""")
        np.testing.assert_array_equal(got, LANES * (LANES + 1) // 2)

    def test_nested_branches(self):
        got = result("""
  and.b32 %a, %t, 1;
  setp.eq.u32 %q, %a, 0;
  @%q bra even;
  setp.lt.u32 %r, %t, 16;
  @%r bra low;
  mov.u32 %d, 3;
  bra done;
low:
  mov.u32 %d, 2;
  bra done;
even:
  mov.u32 %d, 1;
done:
  vote.sync.ballot.b32 %b, %q, -1;
  xor.b32 %d, %d, %b;
""")
        value = np.where(LANES % 2 == 0, 1, np.where(LANES < 16, 2, 3))
        np.testing.assert_array_equal(got, value ^ 0x55555555)

    def test_indexed_branch(self):
        got = result("""
  and.b32 %a, %t, 3;
table: .branchtargets zero, one, two, two;
  brx.idx %a, table;
zero:
  mov.u32 %d, 10;
  bra done;
one:
  mov.u32 %d, 11;
  bra done;
two:
  mov.u32 %d, 12;
done:
""")
        np.testing.assert_array_equal(got, np.array([10, 11, 12, 12])[LANES % 4])

    def test_early_exit(self):
        got = run_all(kernel("""
  setp.ge.u32 %q, %t, 8;
  mov.u32 %d, %t;
  mad.wide.u32 %p, %t, 4, %out;
  @%q st.global.b32 [%p], 99;
  @%q exit;
  bar.sync 0;
"""), [Out([64], "uint32")], block=64)[0]
        np.testing.assert_array_equal(got, np.where(np.arange(64) < 8, np.arange(64), 99))

    def test_scopes(self):
        # Blocks may repeat names of registers and labels.
        got = result("""
  mov.u32 %d, 1;
  { .reg .b32 x; .reg .pred again; mov.u32 x, 3;
  loop: add.u32 %d, %d, %d; sub.u32 x, x, 1; setp.ne.u32 again, x, 0;
  @again bra loop; }
  { .reg .b64 x; .reg .pred again; mov.u64 x, 2;
  loop: add.u32 %d, %d, 1; sub.u64 x, x, 1; setp.ne.u64 again, x, 0;
  @again bra loop; }
""")
        np.testing.assert_array_equal(got, np.full(32, 10))

    def test_variable_of_a_body_with_many_scopes(self):
        # The variable's name outlives the scopes that open after its use.
        got = result(".shared .b32 v; mov.u32 %d, v; st.shared.u32 [v], %d;" +
                     "{ .reg .b32 x; mov.u32 x, 1; add.u32 %d, %d, x; }" * 40)
        np.testing.assert_array_equal(got, np.full(32, got[0]))

    def test_waiting_lane_lets_others_run(self):
        # Lane 0 waits for a barrier at which lane 1 arrives after the branch.
        got = run_all(kernel("""
  mov.u32 %bar, mbar;
  setp.eq.u32 %q, %t, 0;
  @%q mbarrier.init.shared.b64 [%bar], 1;
  bar.warp.sync -1;
  mov.u32 %d, 5;
  @%q bra wait;
  setp.eq.u32 %r, %t, 1;
  @%r mbarrier.arrive.shared.b64 _, [%bar];
  mov.u32 %d, 6;
  bra done;
wait:
  mbarrier.try_wait.parity.shared.b64 %r, [%bar], 0;
  @!%r bra wait;
done:
""", ".shared .align 8 .b64 mbar;"), [Out([32], "uint32")])[0]
        np.testing.assert_array_equal(got, np.where(LANES == 0, 5, 6))


class WarpWide(unittest.TestCase):
    def test_shuffles(self):
        for text, expected in (
                ("shfl.sync.idx.b32 %d, %t, 5, 31, -1;", np.full(32, 5)),
                ("shfl.sync.bfly.b32 %d, %t, 3, 31, -1;", LANES ^ 3),
                ("shfl.sync.up.b32 %d, %t, 2, 0, -1;", np.where(LANES < 2, LANES, LANES - 2)),
                ("shfl.sync.down.b32 %d, %t, 4, 31, -1;", np.where(LANES > 27, LANES, LANES + 4)),
                ("shfl.sync.down.b32 %d|%q, %t, 1, 0x181f, -1; @!%q mov.u32 %d, 77;",
                 np.where(LANES % 8 == 7, 77, LANES + 1))):
            np.testing.assert_array_equal(result(text), expected, err_msg=text)

    def test_votes_and_reductions(self):
        for text, expected in (
                ("setp.lt.u32 %q, %t, 3; vote.sync.ballot.b32 %d, %q, -1;", 7),
                ("setp.lt.u32 %q, %t, 3; vote.sync.any.pred %r, %q, -1; selp.u32 %d, 1, 0, %r;", 1),
                ("setp.lt.u32 %q, %t, 3; vote.sync.all.pred %r, %q, -1; selp.u32 %d, 1, 0, %r;", 0),
                ("redux.sync.add.u32 %d, %t, -1;", 496),
                ("redux.sync.max.u32 %d, %t, -1;", 31),
                ("sub.s32 %a, 7, %t; redux.sync.min.s32 %d, %a, -1;", 2**32 - 24),
                ("activemask.b32 %d;", 0xFFFFFFFF)):
            np.testing.assert_array_equal(result(text), np.full(32, expected), err_msg=text)
        got = result("elect.sync %a|%q, -1; selp.u32 %d, 1, 0, %q;")
        np.testing.assert_array_equal(got, LANES == 0)
        got = result("shr.u32 %a, %t, 3; match.any.sync.b32 %d, %a, -1;")
        np.testing.assert_array_equal(got, 0xFF << (LANES // 8 * 8))

    def test_float_redux(self):
        nan, one = "0x7fc00000", "0f3F800000"
        body = ("cvt.rn.f32.u32 %a, %t; setp.eq.u32 %q, %t, 9; "
                f"@%q mov.b32 %a, {nan}; neg.f32 %a, %a;")
        f = lambda text: np.uint32(result(body + text)[0])
        self.assertEqual(f("redux.sync.max.f32 %d, %a, -1;"), 0x80000000)
        self.assertEqual(f("redux.sync.max.abs.f32 %d, %a, -1;"),
                         np.float32(31).view(np.uint32))
        self.assertEqual(f("redux.sync.min.NaN.f32 %d, %a, -1;"), 0x7FFFFFFF)
        self.assertEqual(f("redux.sync.min.f32 %d, %a, -1;"),
                         np.float32(-31).view(np.uint32))


SHARED = ".shared .align 8 .b64 mbar;\n.shared .align 4 .b32 cells[64];"


class Barriers(unittest.TestCase):
    def test_named_barriers(self):
        # Warp 1 writes and arrives, warp 0 waits and reads.
        got = run_all(kernel("""
  mov.u32 %a, cells;
  shl.b32 %b, %t, 2;
  add.u32 %a, %a, %b;
  setp.ge.u32 %q, %t, 32;
  mov.u32 %d, 0;
  @%q bra producer;
  barrier.sync 3, 64;
  ld.shared.b32 %d, [%a+128];
  bra done;
producer:
  mul.lo.u32 %c, %t, 3;
  st.shared.b32 [%a], %c;
  barrier.arrive 3, 64;
done:
""", SHARED), [Out([64], "uint32")], block=64)[0]
        np.testing.assert_array_equal(got[:32], 3 * np.arange(32, 64))

    def test_reduction_barrier(self):
        got = run_all(kernel("""
  setp.lt.u32 %q, %t, 40;
  bar.red.popc.u32 %d, 0, %q;
"""), [Out([64], "uint32")], block=64)[0]
        np.testing.assert_array_equal(got, np.full(64, 40))

    def test_phases_and_tokens(self):
        got = run_all(kernel("""
  mov.u32 %bar, mbar;
  setp.eq.u32 %q, %t, 0;
  @%q mbarrier.init.shared.b64 [%bar], 64;
  bar.sync 0;
  mov.u32 %a, 0;
  mov.u32 %d, 0;
loop:
  mbarrier.arrive.shared.b64 %state, [%bar];
wait:
  mbarrier.test_wait.shared.b64 %q, [%bar], %state;
  @!%q bra wait;
  add.u32 %d, %d, 1;
  add.u32 %a, %a, 1;
  setp.lt.u32 %q, %a, 5;
  @%q bra loop;
""", SHARED), [Out([64], "uint32")], block=64)[0]
        np.testing.assert_array_equal(got, np.full(64, 5))

    def test_pending_count(self):
        # Lanes arrive in order; each token knows how many were missing before.
        arrivals = """
  mov.u32 %bar, mbar;
  setp.eq.u32 %q, %t, 0;
  @%q mbarrier.init.shared.b64 [%bar], COUNT;
  bar.sync 0;
  mbarrier.arrive.noComplete.shared.b64 %state, [%bar], 1;
  mbarrier.pending_count.b64 %d, %state;
"""
        text = lambda count: kernel(arrivals.replace("COUNT", str(count)), SHARED)
        got = run_all(text(40), [Out([32], "uint32")])[0]
        np.testing.assert_array_equal(got, 40 - LANES)
        fails(self, "an arrival with .noComplete ends the phase", text(32),
              [Out([32], "uint32")])

    def test_cluster(self):
        # Each CTA writes its rank to the next one's shared memory.
        got = run_all(kernel("""
  mov.u32 %a, cells;
  mov.u32 %b, %cluster_ctarank;
  add.u32 %c, %b, 1;
  and.b32 %c, %c, 3;
  mapa.shared::cluster.u32 %a, %a, %c;
  setp.eq.u32 %q, %t, 0;
  @%q st.shared::cluster.b32 [%a], %b;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ld.shared.b32 %d, [cells];
  mov.u32 %c, %ctaid.x;
  mad.lo.u32 %t, %c, 32, %t;
""", SHARED), [Out([256], "uint32")], grid=8, cluster=4)[0]
        rank = np.arange(256) // 32 % 4
        np.testing.assert_array_equal(got, (rank - 1) % 4)

    # Each thread sends to the next CTA's shared memory, whose mbarrier counts.
    SEND = """
  mov.u32 %bar, mbar;
  mov.u32 %a, cells;
  mad.lo.u32 %a, %t, 4, %a;
  st.shared.b32 [%a], 5;
  setp.eq.u32 %q, %t, 0;
  @%q mbarrier.init.shared.b64 [%bar], 1;
  @%q mbarrier.arrive.expect_tx.shared.b64 _, [%bar], {expected};
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  mov.u32 %b, %cluster_ctarank;
  xor.b32 %c, %b, 1;
  mapa.shared::cluster.u32 %d, %a, %c;
  mapa.shared::cluster.u32 %c, %bar, {counter};
  mad.lo.u32 %b, %b, 100, %t;
  {send}
wait:
  mbarrier.try_wait.parity.shared.b64 %q, [%bar], 0;
  @!%q bra wait;
  ld.shared.b32 %d, [%a];
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  mov.u32 %c, %ctaid.x;
  mad.lo.u32 %t, %c, 32, %t;
"""

    def send(self, text, expected=128, counter="%c"):
        return kernel(self.SEND.format(send=text, expected=expected,
                                       counter=counter),
                      SHARED.replace(".align 4", ".align 16"))

    def test_asynchronous_stores(self):
        where = "shared::cluster.mbarrier::complete_tx::bytes"
        more = dict(grid=2, cluster=2)
        out = [Out([64], "uint32")]
        store = f"st.async.weak.{where}.b32 [%d], %b, [%c];"
        value = np.arange(64) % 32 + 100 * (1 - np.arange(64) // 32)
        np.testing.assert_array_equal(run_all(self.send(store), out, **more)[0], value)
        reduce = f"red.async.relaxed.cluster.{where}.add.u32 [%d], %b, [%c];"
        np.testing.assert_array_equal(run_all(self.send(reduce), out, **more)[0],
                                      value + 5)
        # Four lanes' values by one lane.
        vector = ("and.b32 %r, %t, 3; setp.eq.u32 %q, %r, 0;\n  @%q "
                  f"st.async.weak.{where}.v4.b32 [%d], {{%b, %b, %b, %b}}, [%c];")
        text = self.send(vector).replace(".reg .pred %q, %r;",
                                         ".reg .pred %q; .reg .b32 %r;")
        np.testing.assert_array_equal(run_all(text, out, **more)[0], value // 4 * 4)
        fails(self, "deadlock", self.send(store, expected=132), out, **more)
        fails(self, "the mbarrier is in another CTA",
              self.send(store, counter="%b"), out, **more)
        fails(self, "is not aligned to 16", self.send(
            f"st.async.weak.{where}.v4.b32 [%d], {{%b, %b, %b, %b}}, [%c];"), out,
              **more)
        fails(self, "'st.async' without an mbarrier", self.send(
            "st.async.weak.shared::cluster.b32 [%d], %b, [%c];"), out, **more)

    def test_atomics(self):
        got = run_all("""
.visible .entry kernel(.param .u64 out) {
  .reg .b64 %out; .reg .b32 %t, %a; .reg .pred %q;
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  setp.eq.u32 %q, %t, 0;
  @%q st.global.v4.b32 [%out], {0, 0, 0, 0};
  bar.sync 0;
  atom.global.add.u32 %a, [%out], %t;
  red.global.max.u32 [%out+4], %t;
  red.global.or.b32 [%out+8], 6;
  atom.global.cas.b32 %a, [%out+12], 0, 5;
  ret;
}""", [Out([4], "uint32")], block=64)[0]
        np.testing.assert_array_equal(got, [63 * 32, 63, 6, 5])

    def test_set_registers(self):
        # The increase has to wait for the other warp's decrease.
        got = run_all(kernel("""
  setp.lt.u32 %q, %t, 128;
  @%q bra more;
  setmaxnreg.dec.sync.aligned.u32 40;
  bra done;
more:
  setmaxnreg.inc.sync.aligned.u32 200;
done:
  mov.u32 %d, 1;
""", directives=".maxntid 256 .maxnreg 120"), [Out([256], "uint32")], block=256)[0]
        np.testing.assert_array_equal(got, np.ones(256))


class Misuse(unittest.TestCase):
    def check(self, pattern, body, declarations=SHARED, directives="", **more):
        fails(self, pattern, kernel(body, declarations, directives),
              [Out([64], "uint32")], block=64, **more)

    def test_deadlock(self):
        self.check(r"(?s)deadlock.*warp 0 at line \d+ waits for mbarrier 0x400, parity 0; "
                   r"it is in phase 0, missing 1 of 2 arrivals", """
  mov.u32 %bar, mbar;
  setp.eq.u32 %q, %t, 0;
  @%q mbarrier.init.shared.b64 [%bar], 2;
  bar.sync 0;
  @%q mbarrier.arrive.shared.b64 _, [%bar];
wait:
  mbarrier.try_wait.parity.shared.b64 %r, [%bar], 0;
  @!%r bra wait;
  mov.u32 %d, 0;
""")
        self.check(r"(?s)deadlock.*waits for barrier 2, 32 of 64", """
  mov.u32 %d, 0;
  setp.lt.u32 %q, %t, 32;
  @!%q bra done;
  bar.sync 2, 64;
done:
""")

    def test_registers_never_free(self):
        self.check(r"(?s)deadlock.*waits for 2560 registers, 0 are free", """
  setmaxnreg.inc.sync.aligned.u32 200;
  mov.u32 %d, 0;
""", directives=".maxntid 64 .maxnreg 120")

    def test_arrivals(self):
        self.check("barrier: mbarrier at 0x400: arrival of 1 where only 0 of 1", """
  mov.u32 %bar, mbar;
  setp.eq.u32 %q, %t, 0;
  @%q mbarrier.init.shared.b64 [%bar], 1;
  @%q mbarrier.expect_tx.relaxed.cta.shared.b64 [%bar], 16;
  @%q mbarrier.arrive.shared.b64 _, [%bar];
  @%q mbarrier.arrive.shared.b64 _, [%bar];
  mov.u32 %d, 0;
""")
        self.check("no initialized mbarrier at shared address 0x400", """
  mov.u32 %bar, mbar;
  mbarrier.arrive.shared.b64 _, [%bar];
  mov.u32 %d, 0;
""")
        self.check("initialized again", """
  mov.u32 %bar, mbar;
  setp.eq.u32 %q, %t, 0;
  @%q mbarrier.init.shared.b64 [%bar], 1;
  @%q mbarrier.init.shared.b64 [%bar], 1;
  mov.u32 %d, 0;
""")

    def test_bounds(self):
        self.check(r"bounds: write of 4 bytes at global address 0x[0-9A-F]+ \(lane 0\) "
                   r"is at offset 256 of buffer 'b0' of 256 bytes",
                   "mov.u32 %d, 0; add.u32 %t, %t, 64;")
        self.check("4 bytes before buffer 'b0'", """
  mov.u32 %d, 0; ld.global.b32 %d, [%out+-4];""")
        self.check("outside the CTA's shared memory", "ld.shared.b32 %d, [8192];")
        self.check("alignment: read at shared address 0x402",
                   "ld.shared.b32 %d, [mbar+2];")
        self.check("outside every buffer", "mov.u64 %p, 0; ld.b32 %d, [%p];")

    def test_undefined(self):
        self.check("uninitialized: lane 0 stores an undefined value",
                   "ld.shared.b32 %d, [cells];")
        self.check("uninitialized: the address of lane 0 is undefined",
                   "ld.shared.b32 %a, [cells]; ld.shared.b32 %d, [%a];")
        self.check("uninitialized: the guard predicate of lane 1 is undefined", """
  mov.u32 %d, 1;
  setp.eq.u32 %q, %t, 0;
  @%q setp.eq.u32 %r, %t, 0;
  @%r mov.u32 %d, 2;
""")

    def test_undefined_travels_by_bytes(self):
        # Only the byte that was written is used: no report.
        got = run(kernel("""
  mov.u32 %a, cells;
  mad.lo.u32 %a, %t, 4, %a;
  st.shared.b8 [%a+2], 7;
  ld.shared.b32 %b, [%a];
  mov.b64 %state, {%b, %b};
  shr.u64 %state, %state, 16;
  cvt.u32.u64 %b, %state;
  and.b32 %d, %b, 255;
""", SHARED), [Out([64], "uint32")], block=64)[0]
        np.testing.assert_array_equal(got, np.full(64, 7))
        got = run(kernel("""
  mov.u32 %a, cells;
  mad.lo.u32 %a, %t, 4, %a;
  st.shared.b8 [%a+2], 7;
  ld.shared.b32 %b, [%a];
  bfe.u32 %d, %b, 16, 8;
""", SHARED), [Out([64], "uint32")], block=64)[0]
        np.testing.assert_array_equal(got, np.full(64, 7))
        self.check("stores an undefined value", """
  mov.u32 %a, cells;
  mad.lo.u32 %a, %t, 4, %a;
  st.shared.b8 [%a+2], 7;
  ld.shared.b32 %b, [%a];
  bfe.u32 %d, %b, 8, 16;
""")
        self.check("stores an undefined value", """
  mov.u32 %a, cells;
  mad.lo.u32 %a, %t, 4, %a;
  st.shared.b8 [%a+2], 7;
  ld.shared.b32 %b, [%a];
  and.b32 %d, %b, 0xffff;
""")

    def test_checks_can_be_switched_off(self):
        got = run(kernel("ld.shared.b32 %d, [cells];", SHARED),
                  [Out([64], "uint32")], block=64, options=["--check=-uninitialized"])[0]
        np.testing.assert_array_equal(got, np.full(64, 0xFFFFFFFF))

    def test_trap_and_limit(self):
        self.check("trap: the kernel traps", "mov.u32 %d, 0; trap;")
        self.check("limit: stopped after", "loop: mov.u32 %d, 0; bra loop;",
                   options=["--max-steps=100000"])


class Refusals(unittest.TestCase):
    def check(self, pattern, ptx, **more):
        fails(self, pattern, ptx, [Out([32], "uint32")], **more)

    def test_text(self):
        ok = kernel("mov.u32 %d, 0;")
        self.check(r"kernel.ptx:\d+: instruction 'frobnicate' is not supported",
                   ok.replace("mov.u32 %d, 0;", "frobnicate.u32 %d, 0;"))
        self.check(r"modifier '.odd' of 'add' is not supported",
                   ok.replace("mov.u32 %d, 0;", "add.odd.u32 %d, %t, 0;"))
        self.check("unknown label 'nowhere'", kernel("bra nowhere; mov.u32 %d, 0;"))
        self.check("unknown name 'x'", kernel("mov.u32 %d, x;"))
        self.check("has the wrong width", kernel("mov.u32 %d, %out;"))
        self.check("expected '}' before the end of the file",
                   ok.rstrip("}"))

    def test_structures(self):
        # A number, an address and a number in one parameter.
        text = """
.visible .entry kernel(.param .align 8 .b8 all[24]) {
  .reg .b32 %a, %b; .reg .b64 %out;
  ld.param.u32 %a, [all];
  ld.param.u64 %out, [all+8];
  ld.param.u32 %b, [all+16];
  add.u32 %a, %a, %b;
  st.global.b32 [%out], %a;
  ret;
}"""
        structure = dict(bytes="05" + "00" * 15 + "07" + "00" * 7,
                         fields=[(8, Out([1], "uint32"))])
        np.testing.assert_array_equal(run(text, [structure])[0], [12])
        structure["fields"] = [(17, Out([1], "uint32"))]
        fails(self, "parameter 0 .'all'., field 0 ends behind its 24 bytes", text,
              [structure])
        structure["fields"] = [(8, dict(bytes="00"))]
        fails(self, "parameter 0, field 0: 'bytes' inside 'bytes'", text, [structure])

    def test_launch(self):
        ok = kernel("mov.u32 %d, 0;")
        self.check("no entry 'other'; it has kernel", ok, entry="other")
        self.check("the grid is empty", ok, grid=0)
        self.check("2048 threads; the limit is 1024", ok, block=2048)
        self.check("bytes of shared memory; the limit is", ok, shared=1 << 20)
        self.check("the grid is no multiple of the cluster", ok, grid=3, cluster=2)
        fails(self, "2 parameters given, the entry has 1", ok,
              [Out([32], "uint32"), scalar("u32", 1)])
        fails(self, "parameter 0 .'out'. is 8 bytes, the launch gives 4", ok,
              [scalar("u32", 1)])


if __name__ == "__main__":
    unittest.main()
