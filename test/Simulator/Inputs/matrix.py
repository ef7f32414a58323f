"""mma.sync, ldmatrix, stmatrix and wgmma against numpy."""

import unittest

import ml_dtypes
import numpy as np

from sim import HEADER, Out, fails, run_all

rng = np.random.default_rng(5)

DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16,
          "e4m3": ml_dtypes.float8_e4m3fn, "s8": np.int8}


def numbers(kind, shape):
    if kind == "s8":
        return rng.integers(-128, 128, shape).astype(np.int8)
    return rng.standard_normal(shape).astype(DTYPES[kind])


def mma(kind, k, result):
    """D = A B^T + C with A 16 x k and B 8 x k in global memory: each thread
    gathers its fragments as the PTX manual has them (9.7.14.5)."""
    size = np.dtype(DTYPES[kind]).itemsize
    per = 4 // size
    load = []
    for name, count, rows in (("a", k * size // 8, True), ("b", k * size // 16, False)):
        for r in range(count):
            row = f"add.u32 %i, %g, {8 * (r % 2)};" if rows else "mov.u32 %i, %g;"
            step = (r // 2 if rows else r) * 4 * per
            load.append(f"""{row}
  mad.lo.u32 %i, %i, {k * size}, 0;
  mad.lo.u32 %j, %q, 4, {step * size};
  add.u32 %i, %i, %j;
  cvt.u64.u32 %x, %i;
  add.u64 %x, %x, %{name};
  ld.global.b32 %{name}{r}, [%x];""")
    a = ", ".join(f"%a{r}" for r in range(k * size // 8))
    b = ", ".join(f"%b{r}" for r in range(k * size // 16))
    store = []
    for e in range(4):
        store.append(f"""add.u32 %i, %g, {8 * (e // 2)};
  mad.lo.u32 %i, %i, 8, {e % 2};
  mad.lo.u32 %i, %q, 2, %i;
  mad.wide.u32 %x, %i, 4, %out;
  st.global.b32 [%x], %d{e};""")
    return f"""
.visible .entry kernel(.param .u64 pa, .param .u64 pb, .param .u64 out) {{
  .reg .b64 %a, %b, %out, %x; .reg .b32 %t, %g, %q, %i, %j, %a<8>, %b<8>, %d<4>;
  ld.param.u64 %a, [pa]; ld.param.u64 %b, [pb]; ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x; shr.u32 %g, %t, 2; and.b32 %q, %t, 3;
  {chr(10).join(load)}
  mov.b32 %d0, 0; mov.b32 %d1, 0; mov.b32 %d2, 0; mov.b32 %d3, 0;
  mma.sync.aligned.m16n8k{k}.row.col.{result}.{kind}.{kind}.{result} {{%d0, %d1, %d2, %d3}}, {{{a}}}, {{{b}}}, {{%d0, %d1, %d2, %d3}};
  {chr(10).join(store)}
  ret;
}}"""


class MmaSync(unittest.TestCase):
    def test_products(self):
        for kind, k, result in (("f16", 16, "f32"), ("bf16", 16, "f32"), ("f16", 8, "f32"),
                                ("e4m3", 32, "f32"), ("s8", 32, "s32")):
            a, b = numbers(kind, (16, k)), numbers(kind, (8, k))
            raw = lambda x: x.view(np.uint16 if x.dtype.itemsize == 2 else np.uint8)
            got, = run_all(mma(kind, k, result),
                           [raw(a), raw(b), Out([16, 8], "float32" if result == "f32" else "int32")])
            expected = a.astype(np.float64) @ b.astype(np.float64).T
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5, err_msg=kind)

    def test_refused_shapes(self):
        fails(self, "'mma' of this shape is not supported",
              mma("f16", 16, "f32").replace("m16n8k16", "m8n8k4"),
              [np.zeros(1, np.uint32)] * 2 + [Out([128], "float32")])


class Matrices(unittest.TestCase):
    def test_load_and_store(self):
        x = rng.integers(0, 2**16, (32, 8)).astype(np.uint16)
        for load, store, move in (("", "", lambda m: m), (".trans", "", lambda m: m.transpose(0, 2, 1)),
                                  ("", ".trans", lambda m: m.transpose(0, 2, 1)),
                                  (".trans", ".trans", lambda m: m)):
            got, = run_all(f"""
.shared .align 16 .b8 from[512];
.shared .align 16 .b8 to[512];
.visible .entry kernel(.param .u64 in, .param .u64 out) {{
  .reg .b64 %in, %out; .reg .b32 %t, %a, %b, %r<4>;
  ld.param.u64 %in, [in]; ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %in, %t, 16, %in; mad.wide.u32 %out, %t, 16, %out;
  mov.u32 %a, from; mad.lo.u32 %a, %t, 16, %a;
  mov.u32 %b, to; mad.lo.u32 %b, %t, 16, %b;
  ld.global.v4.b32 {{%r0, %r1, %r2, %r3}}, [%in];
  st.shared.v4.b32 [%a], {{%r0, %r1, %r2, %r3}};
  bar.warp.sync -1;
  ldmatrix.sync.aligned.m8n8.x4{load}.shared.b16 {{%r0, %r1, %r2, %r3}}, [%a];
  stmatrix.sync.aligned.m8n8.x4{store}.shared.b16 [%b], {{%r0, %r1, %r2, %r3}};
  bar.warp.sync -1;
  ld.shared.v4.b32 {{%r0, %r1, %r2, %r3}}, [%b];
  st.global.v4.b32 [%out], {{%r0, %r1, %r2, %r3}};
  ret;
}}""", [x, Out([32, 8], "uint16")])
            np.testing.assert_array_equal(got, move(x.reshape(4, 8, 8)).reshape(32, 8))


class Wgmma(unittest.TestCase):
    # No swizzle: 8 x 16-byte blocks, 128 bytes each; the two blocks of a row of
    # blocks are neighbors (leading offset 128), rows of blocks 256 bytes apart.
    def test_product(self):
        a, b = numbers("bf16", (64, 16)), numbers("bf16", (8, 16))
        blocks = lambda x: (x.view(np.uint16).reshape(-1, 8, 2, 8)
                            .transpose(0, 2, 1, 3).reshape(-1))
        data = np.concatenate([blocks(a), blocks(b)])
        bits = (256 >> 4) << 32 | (128 >> 4) << 16
        got, = run_all(HEADER.replace("sm_100a", "sm_90a") + f"""
.shared .align 1024 .b8 tiles[2304];
.visible .entry kernel(.param .u64 in, .param .u64 out) {{
  .reg .b64 %in, %out, %x, %da, %db; .reg .b32 %t, %s, %i, %g, %q, %v, %r<4>; .reg .pred %p;
  ld.param.u64 %in, [in]; ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mov.u32 %i, %t;
copy:
  mad.wide.u32 %x, %i, 4, %in;
  ld.global.b32 %v, [%x];
  mov.u32 %s, tiles; mad.lo.u32 %s, %i, 4, %s;
  st.shared.b32 [%s], %v;
  add.u32 %i, %i, 128;
  setp.lt.u32 %p, %i, 576;
  @%p bra copy;
  fence.proxy.async;
  bar.sync 0;
  mov.u32 %s, tiles; shr.u32 %s, %s, 4;
  cvt.u64.u32 %da, %s; or.b64 %da, %da, {bits};
  add.u64 %db, %da, 128;
  setp.ne.u32 %p, 0, 0;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{%r0, %r1, %r2, %r3}}, %da, %db, %p, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  shr.u32 %g, %t, 5; and.b32 %q, %t, 31; shr.u32 %i, %q, 2; mad.lo.u32 %g, %g, 16, %i;
  and.b32 %q, %q, 3;
  mad.lo.u32 %i, %g, 8, 0; mad.lo.u32 %i, %q, 2, %i;
  mad.wide.u32 %x, %i, 4, %out;
  st.global.v2.b32 [%x], {{%r0, %r1}};
  st.global.v2.b32 [%x+256], {{%r2, %r3}};
  ret;
}}""", [data, Out([64, 8], "float32")], block=128)
        expected = a.astype(np.float64) @ b.astype(np.float64).T
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
