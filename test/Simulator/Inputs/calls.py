"""Calls of functions of the same file."""

import unittest

import numpy as np

from sim import Out, fails, run_all

FUNCTIONS = """
.func (.param .b32 result) power(.param .b32 base, .param .b32 exponent) {{
  .reg .b32 %b, %e, %p; .reg .pred %q;
  ld.param.b32 %b, [base];
  ld.param.b32 %e, [exponent];
  mov.u32 %p, 1;
loop:
  setp.eq.u32 %q, %e, 0;
  @%q bra done;
  mul.lo.u32 %p, %p, %b;
  sub.u32 %e, %e, 1;
  bra loop;
done:
  st.param.b32 [result], %p;
  ret;
}}
.func count(.param .b64 where) {{
  .shared .align 4 .b32 calls;
  .reg .b64 %w; .reg .b32 %c;
  ld.param.b64 %w, [where];
  atom.shared.add.u32 %c, [calls], 1;
  st.global.b32 [%w], 1;
  ret;
}}
.func (.param .b32 result) twice(.param .b32 base, .param .b32 exponent) {{
  .reg .b32 %x, %y;
  {{
    .param .b32 a; .param .b32 b; .param .b32 r;
    ld.param.b32 %x, [base]; st.param.b32 [a], %x;
    ld.param.b32 %y, [exponent]; st.param.b32 [b], %y;
    call.uni (r), power, (a, b);
    ld.param.b32 %x, [r];
  }}
  {again}
  add.u32 %x, %x, %x;
  st.param.b32 [result], %x;
}}
.extern .func elsewhere(.param .b32 a);
.visible .entry kernel(.param .u64 out) {{
  .reg .b32 %t, %d; .reg .b64 %out, %p; .reg .pred %q;
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %p, %t, 4, %out;
  {{
    .param .b32 a; .param .b32 b; .param .b32 r; .param .b64 w;
    and.b32 %d, %t, 3; st.param.b32 [a], %d;
    shr.u32 %d, %t, 3; st.param.b32 [b], %d;
    call (r), twice, (a, b);
    ld.param.b32 %d, [r];
    setp.lt.u32 %q, %t, 8;
    st.param.b32 [a], %t;
    @!%q call (r), power, (a, b);
    @!%q ld.param.b32 %t, [r];
    add.u32 %d, %d, %t;
    {more}
  }}
  st.global.b32 [%p], %d;
  ret;
}}
"""


class Calls(unittest.TestCase):
    def refused(self, pattern, again="", more=""):
        fails(self, pattern, FUNCTIONS.format(again=again, more=more),
              [Out([32], "uint32")])

    def test_nested_and_guarded(self):
        got, = run_all(FUNCTIONS.format(again="", more=""), [Out([32], "uint32")])
        t = np.arange(32, dtype=np.uint32)
        own = np.where(t < 8, t, t ** (t >> 3))
        np.testing.assert_array_equal(got, 2 * (t & 3) ** (t >> 3) + own)

    def test_refused(self):
        call = "call (r), power, (a, b);"
        self.refused("kernel.ptx:[0-9]+: 'call' of 'elsewhere', which has no body "
                     "here, is not supported", more="call elsewhere, (a);")
        self.refused("'call' of 'nothing', which has no body", more="call nothing;")
        self.refused("'call' of 'twice' is recursive",
                     again="{.param .b32 r; .param .b32 a; "
                           "call (r), twice, (a, a);}")
        self.refused("passes 1 values where 2 are declared",
                     more="call (r), power, (a);")
        self.refused("passes 0 values where 1 are declared",
                     more="call power, (a, b);")
        self.refused("with values in registers", more="call (r), power, (%d, b);")
        self.refused("passes 4 bytes for 'where' of 8", more="call count, (a);")
        self.refused("an indirect 'call'", more="call (r), %p, (a, b);")


if __name__ == "__main__":
    unittest.main()
