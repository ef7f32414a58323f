"""TMA, tensor memory and the tensor core, in kernels written by hand."""

import unittest

import ml_dtypes
import numpy as np

from sim import HEADER, InOut, Out, TensorMap, fails, run, run_all

rng = np.random.default_rng(3)

# One warp loads a tile of A (128 rows) and of B (N rows), each a swizzle span
# wide, and multiplies them; four warps read the accumulator.
MMA = """
.extern .shared .align 1024 .b8 tiles[];
.shared .align 8 .b64 full;
.shared .align 8 .b64 done;
.shared .align 4 .b32 base;
.visible .entry kernel(.param .align 64 .b8 mapA[128],
                       .param .align 64 .b8 mapB[128], {scales}
                       .param .u64 out) {{
  .reg .b32 %t, %w, %tm, %a, %b, %full, %done, %l, %i, %sfa, %sfb, %sfd, %r<{n}>;
  .reg .b64 %ma, %mb, %da, %db, %out, %p, %ms;
  .reg .pred %q, %first, %go;
  mov.u32 %t, %tid.x;
  shr.u32 %w, %t, 5;
  mov.u32 %full, full;
  mov.u32 %done, done;
  mov.u32 %a, tiles;
  add.u32 %b, %a, {bytesA};
  setp.eq.u32 %q, %t, 0;
  @%q mbarrier.init.shared.b64 [%full], 1;
  @%q mbarrier.init.shared.b64 [%done], 1;
  fence.mbarrier_init.release.cluster;
  setp.eq.u32 %first, %w, 0;
  mov.u32 %i, base;
  @%first tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%i], 256;
  @%first tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
  bar.sync 0;
  ld.shared.b32 %tm, [base];
  @!%q bra wait;
  mov.b64 %ma, mapA;
  cvta.param.u64 %ma, %ma;
  mov.b64 %mb, mapB;
  cvta.param.u64 %mb, %mb;
  mbarrier.arrive.expect_tx.shared.b64 _, [%full], {bytes};
  cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%a], [%ma, {{0, 0}}], [%full];
  cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%b], [%mb, {{0, 0}}], [%full];
  {loadScales}
loaded:
  mbarrier.try_wait.parity.shared.b64 %go, [%full], 0;
  @!%go bra loaded;
  {copyScales}
  {multiply}
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%done];
wait:
  mbarrier.try_wait.parity.shared.b64 %go, [%done], 0;
  @!%go bra wait;
  tcgen05.fence::after_thread_sync;
  shl.b32 %l, %w, 21;
  add.u32 %l, %l, %tm;
  tcgen05.ld.sync.aligned.32x32b.x{n}.b32 {{{registers}}}, [%l];
  {waitLoad}
  ld.param.u64 %out, [out];
  mul.lo.u32 %i, %t, {rowBytes};
  cvt.u64.u32 %p, %i;
  add.u64 %p, %p, %out;
  {store}
  bar.sync 0;
  {dealloc}
  ret;
}}
"""


def descriptor(register, address, stride=1024, swizzle=2):
    """A K-major descriptor with a 128-byte swizzle, as PTX."""
    bits = 1 << 46 | (stride >> 4) << 32 | 1 << 16 | swizzle << 61
    return (f"and.b32 %i, {address}, 0x3FFFF; shr.u32 %i, %i, 4; "
            f"cvt.u64.u32 {register}, %i; or.b64 {register}, {register}, {bits};")


def mma_kernel(kind, idesc, n=64, steps=4, scaled=False, **more):
    parts = []
    for step in range(steps):
        parts.append(descriptor("%da", "%a") + descriptor("%db", "%b"))
        parts.append(f"add.u64 %da, %da, {2 * step}; add.u64 %db, %db, {2 * step};")
        parts.append(f"setp.ne.u32 %go, {step}, 0;")
        if scaled:
            bits = idesc | step << 4 | step << 29
            parts.append(f"mov.b32 %i, {bits}; tcgen05.mma.cta_group::1.kind::{kind}."
                         "block_scale.scale_vec::1X [%tm], %da, %db, %i, "
                         "[%sfa], [%sfb], %go;")
        else:
            parts.append(f"mov.b32 %i, {idesc}; tcgen05.mma.cta_group::1.kind::{kind} "
                         "[%tm], %da, %db, %i, %go;")
    fields = dict(
        n=n, bytesA=128 * 128, bytes=128 * 128 + n * 128 + (1024 if scaled else 0),
        multiply="\n  ".join(parts), rowBytes=4 * n,
        registers=", ".join(f"%r{k}" for k in range(n)),
        store="\n  ".join(f"st.global.b32 [%p+{4 * k}], %r{k};" for k in range(n)),
        waitLoad="tcgen05.wait::ld.sync.aligned;",
        dealloc="@%first tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tm, 256;",
        scales="", loadScales="", copyScales="")
    if scaled:
        fields["scales"] = ".param .u64 scaleBytes,"
        fields["loadScales"] = f"""
  add.u32 %sfd, %b, {n * 128};
  ld.param.u64 %ms, [scaleBytes];
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%sfd], [%ms], 1024, [%full];"""
        fields["copyScales"] = f"""
  add.u32 %sfa, %tm, 128;
  add.u32 %sfb, %tm, 132;
  {descriptor("%da", "%sfd", stride=128, swizzle=0)}
  tcgen05.cp.cta_group::1.32x128b.warpx4 [%sfa], %da;
  add.u32 %sfd, %sfd, 512;
  {descriptor("%db", "%sfd", stride=128, swizzle=0)}
  tcgen05.cp.cta_group::1.32x128b.warpx4 [%sfb], %db;"""
    fields.update(more)
    return MMA.format(**fields)


def scaled_operands(n=64):
    a = rng.integers(0, 256, (128, 128)).astype(np.uint8)
    b = rng.integers(0, 256, (n, 128)).astype(np.uint8)
    for x in (a, b):
        x[(x & 0x7F) == 0x7F] = 0
        x &= 0xBF  # moderate magnitudes
    sa = rng.integers(120, 134, (128, 4)).astype(np.uint8)
    sb = rng.integers(120, 134, (128, 4)).astype(np.uint8)
    # 128 rows of 4 scales: byte (r % 32) * 16 + r / 32 * 4 + k.
    atom = lambda s: s.reshape(4, 32, 4).transpose(1, 0, 2).reshape(512)
    return a, b, sa, sb, np.concatenate([atom(sa), atom(sb)])


IDESC_F16 = 1 << 4 | 1 << 7 | 1 << 10 | (64 >> 3) << 17 | (128 >> 4) << 24
IDESC_MX = (64 >> 3) << 17 | 1 << 23 | (128 >> 7) << 27


def mx_arguments():
    a, b, sa, sb, atoms = scaled_operands()
    out = Out([128, 64], "float32")
    maps = [TensorMap(a, (128, 128), "128b"), TensorMap(b, (64, 128), "128b")]
    value = lambda x, s: (x.view(ml_dtypes.float8_e4m3fn).astype(np.float64) *
                          np.repeat(2.0 ** (s.astype(np.float64) - 127), 32, 1))
    expected = value(a, sa) @ value(b, sb[:64]).T
    return [*maps, atoms, out], expected


class Multiply(unittest.TestCase):
    def test_bfloat16(self):
        a = rng.standard_normal((128, 64)).astype(ml_dtypes.bfloat16)
        b = rng.standard_normal((64, 64)).astype(ml_dtypes.bfloat16)
        maps = [TensorMap(x.view(np.uint16), x.shape, "128b", element="bf16")
                for x in (a, b)]
        got = run_all(mma_kernel("f16", IDESC_F16),
                      [*maps, Out([128, 64], "float32")], block=128,
                      shared=1 << 15)[0]
        expected = a.astype(np.float64) @ b.astype(np.float64).T
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)

    def test_block_scaled(self):
        arguments, expected = mx_arguments()
        ptx = mma_kernel("mxf8f6f4", IDESC_MX, scaled=True)
        got = run_all(ptx, arguments, block=128, shared=1 << 15)[0]
        scale = abs(expected).max()
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6 * scale)
        exact = run(ptx, arguments, block=128, shared=1 << 15,
                    options=["--mma=exact"])[0]
        np.testing.assert_allclose(exact, expected, rtol=1e-6, atol=1e-7 * scale)

    def test_load_with_reduction(self):
        arguments, _ = mx_arguments()
        ptx = mma_kernel("mxf8f6f4", IDESC_MX, scaled=True)
        full = run(ptx, arguments, block=128, shared=1 << 15)[0]
        one = mma_kernel("mxf8f6f4", IDESC_MX, scaled=True,
                         store="st.global.b32 [%p], %sfd;")
        one = one.replace("tcgen05.ld.sync.aligned.32x32b.x64.b32",
                          "tcgen05.ld.red.sync.aligned.32x32b.x64.max.abs.f32")
        one = one.replace("}, [%l]", "}, %sfd, [%l]")
        new = HEADER.replace("sm_100a", "sm_103a") + one
        got = run_all(new, arguments, block=128, shared=1 << 15)[0]
        np.testing.assert_array_equal(got[:, 0], abs(full).max(1))
        fails(self, "'tcgen05.ld.red' does not exist on sm_100a", one, arguments,
              block=128, shared=1 << 15)

    def fails(self, pattern, options=(), **more):
        arguments, _ = mx_arguments()
        fails(self, pattern, mma_kernel("mxf8f6f4", IDESC_MX, scaled=True, **more),
              arguments, block=128, shared=1 << 15, options=options)

    def test_mistakes(self):
        self.fails("uninitialized: .*undefined value", waitLoad="")
        self.fails("tmem: CTA .0,0,0. exits", dealloc="")
        self.fails("uninitialized: scale 0 of row 0 of A is undefined",
                   copyScales="add.u32 %sfa, %tm, 128; add.u32 %sfb, %tm, 132;")
        self.fails("tmem|uninitialized", copyScales="mov.u32 %sfa, %tm; mov.u32 %sfb, %tm;")

    def test_rows_of_a_are_lanes_in_tensor_memory(self):
        arguments, _ = mx_arguments()
        text = mma_kernel("mxf8f6f4", IDESC_MX | 1 << 15, scaled=True)
        text = text.replace("[%tm], %da, %db", "[%tm], [%tm], %db")
        fails(self, "instruction: A is MN-major, but in tensor memory it is always "
              "K-major(.|\n)*tcgen05.mma", text, arguments, block=128, shared=1 << 15)

    def test_missing_wait_shows_when_lazy(self):
        # Without the wait for the loads the operands are not there yet.
        text = mma_kernel("mxf8f6f4", IDESC_MX, scaled=True).replace(
            "@!%go bra loaded;", "")
        text = text.replace("loaded:\n  mbarrier.try_wait.parity.shared.b64 %go, [%full], 0;", "")
        arguments, _ = mx_arguments()
        fails(self, "uninitialized|race", text, arguments, block=128, shared=1 << 15,
              options=["--schedule=lazy"])


SHIFT = """
.shared .align 8 .b64 done;
.shared .align 4 .b32 base;
.visible .entry kernel(.param .u64 out) {{
  .reg .b32 %t, %tm, %l, %r<8>; .reg .b64 %out, %p; .reg .pred %q, %go;
  mov.u32 %t, %tid.x;
  setp.eq.u32 %q, %t, 0;
  @%q mbarrier.init.shared.b64 [done], 1;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 32;
  ld.shared.b32 %tm, [base];
  {values}
  tcgen05.st.sync.aligned.32x32b.x8.b32 [%tm], {{{registers}}};
  tcgen05.wait::st.sync.aligned;
  add.u32 %l, %tm, {offset};
  @%q tcgen05.shift.cta_group::1.down [%l];
  @%q tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done];
wait:
  {wait}
  tcgen05.ld.sync.aligned.32x32b.x8.b32 {{{registers}}}, [%tm];
  tcgen05.wait::ld.sync.aligned;
  ld.param.u64 %out, [out];
  mad.wide.u32 %p, %t, 32, %out;
  {store}
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tm, 32;
  ret;
}}
"""


def shift_kernel(offset=0, wait="mbarrier.try_wait.parity.shared.b64 %go, [done], 0; "
                                "@!%go bra wait;"):
    return SHIFT.format(
        offset=offset, wait=wait, registers=", ".join(f"%r{k}" for k in range(8)),
        values="\n  ".join(f"mad.lo.u32 %r{k}, %t, 8, {k};" for k in range(8)),
        store="\n  ".join(f"st.global.b32 [%p+{4 * k}], %r{k};" for k in range(8)))


class Shift(unittest.TestCase):
    def test_shift(self):
        got, = run_all(shift_kernel(), [Out([32, 8], "uint32")])
        rows = np.arange(256).reshape(32, 8)
        np.testing.assert_array_equal(got, np.concatenate([rows[1:], rows[31:]]))

    def test_mistakes(self):
        out = [Out([32, 8], "uint32")]
        fails(self, "race: a write and a read of tensor memory(.|\n)*tcgen05.ld"
              "(.|\n)*tcgen05.shift", shift_kernel(wait=""), out)
        fails(self, "tmem: .*must start at a lane that is a multiple of 32",
              shift_kernel(offset=16 << 16), out)
        fails(self, "tmem: .*column 64 is not allocated", shift_kernel(offset=25), out)
        fails(self, "'tcgen05.shift' needs .down",
              shift_kernel().replace(".down", ""), out)


COPY = """
.extern .shared .align 1024 .b8 tile[];
.shared .align 8 .b64 full;
.visible .entry kernel(.param .align 64 .b8 from[128], .param .align 64 .b8 to[128]) {{
  .reg .b32 %t, %s, %full; .reg .b64 %f, %to; .reg .pred %q, %go;
  mov.u32 %t, %tid.x;
  mov.u32 %s, tile;
  mov.u32 %full, full;
  mov.b64 %f, from; cvta.param.u64 %f, %f;
  mov.b64 %to, to; cvta.param.u64 %to, %to;
  setp.ne.u32 %q, %t, 0;
  @%q exit;
  mbarrier.init.shared.b64 [%full], 1;
  mbarrier.arrive.expect_tx.shared.b64 _, [%full], {bytes};
  cp.async.bulk.tensor.{rank}d.shared::cta.global.mbarrier::complete_tx::bytes [%s], [%f, {{{read}}}], [%full];
wait:
  mbarrier.try_wait.parity.shared.b64 %go, [%full], 0;
  @!%go bra wait;
  {store}.global.shared::cta{op}.bulk_group [%to, {{{write}}}], [%s];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  ret;
}}
"""


def copy_kernel(bytes, read, write, op=None):
    store = ("cp.reduce.async.bulk.tensor" if op else "cp.async.bulk.tensor")
    return COPY.format(bytes=bytes, rank=len(read), read=", ".join(map(str, read)),
                       write=", ".join(map(str, write)),
                       store=f"{store}.{len(read)}d", op=f".{op}" if op else "")


class Tma(unittest.TestCase):
    def test_swizzles_cancel(self):
        for swizzle, width in (("none", 32), ("32b", 8), ("64b", 16), ("128b", 32)):
            x = rng.integers(0, 2**32, (16, 64), dtype=np.uint32)
            got = run_all(copy_kernel(8 * width * 4, (width, 3), (0, 0)),
                          [TensorMap(x, (8, width), swizzle),
                           TensorMap(Out([8, width], "uint32"), (8, width), swizzle)],
                          shared=4096)[0]
            np.testing.assert_array_equal(got, x[3:11, width:2 * width])

    def test_out_of_bounds_is_filled(self):
        x = rng.integers(0, 2**32, (10, 40), dtype=np.uint32)
        got = run_all(copy_kernel(8 * 32 * 4, (-4, 6), (0, 0)),
                      [TensorMap(x, (8, 32)), TensorMap(Out([8, 32], "uint32"), (8, 32))],
                      shared=4096)[0]
        expected = np.zeros((8, 32), np.uint32)
        expected[:4, 4:] = x[6:, :28]
        np.testing.assert_array_equal(got, expected)

    def test_stores_are_clipped(self):
        x = rng.integers(0, 2**32, (8, 32), dtype=np.uint32)
        got = run_all(copy_kernel(8 * 32 * 4, (0, 0), (0, 0)),
                      [TensorMap(x, (8, 32)),
                       TensorMap(Out([5, 28], "uint32"), (8, 32))], shared=4096)[0]
        np.testing.assert_array_equal(got, x[:5, :28])

    def test_every_lane_stores(self):
        x = rng.integers(0, 2**32, (8, 32), dtype=np.uint32)
        every = copy_kernel(8 * 32 * 4, (0, 0), (0, 0)).replace("@%q exit;", "")
        for once in ("mbarrier.init", "mbarrier.arrive", "cp.async.bulk.tensor.2d.shared"):
            every = every.replace("\n  " + once, "\n  @!%q " + once)
        got = run_all(every, [TensorMap(x, (8, 32)), TensorMap(Out([8, 32], "uint32"), (8, 32))],
                      shared=4096)[0]
        np.testing.assert_array_equal(got, x)

    def test_three_dimensions(self):
        x = rng.integers(0, 2**32, (4, 6, 8), dtype=np.uint32)
        got = run_all(copy_kernel(2 * 3 * 8 * 4, (0, 2, 1), (0, 0, 0)),
                      [TensorMap(x, (2, 3, 8)),
                       TensorMap(Out([2, 3, 8], "uint32"), (2, 3, 8))], shared=4096)[0]
        np.testing.assert_array_equal(got, x[1:3, 2:5])

    def test_negative_offset_of_the_base(self):
        # The base lies before the buffer; what is read does not.
        x = rng.integers(0, 2**32, (8, 32), dtype=np.uint32)
        got = run_all(copy_kernel(4 * 32 * 4, (0, 10), (0, 0)),
                      [TensorMap(x, (4, 32), dims=(16, 32), strides=[128], byte_offset=-8 * 128),
                       TensorMap(Out([4, 32], "uint32"), (4, 32))], shared=4096)[0]
        np.testing.assert_array_equal(got, x[2:6])
        fails(self, "bounds: read of 16 bytes .* before buffer",
              copy_kernel(4 * 32 * 4, (0, 4), (0, 0)),
              [TensorMap(x, (4, 32), dims=(16, 32), strides=[128], byte_offset=-8 * 128),
               TensorMap(Out([4, 32], "uint32"), (4, 32))], shared=4096)

    def test_wrong_transaction_bytes(self):
        x = np.zeros((8, 32), np.uint32)
        arguments = [TensorMap(x, (8, 32)), TensorMap(Out([8, 32], "uint32"), (8, 32))]
        fails(self, "deadlock(.|\n)*missing 0 of 1 arrivals and 16 bytes",
              copy_kernel(8 * 32 * 4 + 16, (0, 0), (0, 0)), arguments, shared=4096)

    def test_map_does_not_fit(self):
        x = np.zeros((8, 32), np.uint32)
        fails(self, "launch of 'kernel': parameter 0",
              copy_kernel(8, (0, 0), (0, 0)),
              [TensorMap(x, (8, 512)), TensorMap(Out([8, 32], "uint32"), (8, 32))])


class Cluster(unittest.TestCase):
    def test_multicast(self):
        x = rng.integers(0, 2**32, 64, dtype=np.uint32)
        got = run_all("""
.shared .align 128 .b8 tile[256];
.shared .align 8 .b64 full;
.visible .entry kernel(.param .u64 in, .param .u64 out) {
  .reg .b32 %t, %s, %full, %r, %v; .reg .b64 %in, %out; .reg .pred %q, %go; .reg .b16 %m;
  mov.u32 %t, %tid.x;
  mov.u32 %s, tile;
  mov.u32 %full, full;
  mov.u32 %r, %cluster_ctarank;
  setp.eq.u32 %q, %t, 0;
  @%q mbarrier.init.shared.b64 [%full], 1;
  @%q fence.mbarrier_init.release.cluster;
  @%q mbarrier.arrive.expect_tx.shared.b64 _, [%full], 256;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  setp.eq.and.u32 %go, %r, 0, %q;
  ld.param.u64 %in, [in];
  mov.b16 %m, 3;
  @%go cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%s], [%in], 256, [%full], %m;
wait:
  mbarrier.try_wait.parity.shared.b64 %go, [%full], 0;
  @!%go bra wait;
  mad.lo.u32 %s, %t, 4, %s;
  ld.shared.b32 %v, [%s];
  add.u32 %v, %v, %r;
  mad.lo.u32 %t, %r, 64, %t;
  ld.param.u64 %out, [out];
  mad.wide.u32 %out, %t, 4, %out;
  st.global.b32 [%out], %v;
  ret;
}""", [x, Out([128], "uint32")], block=64, grid=2, cluster=2)[0]
        np.testing.assert_array_equal(got, np.concatenate([x, x + np.uint32(1)]))

    def test_multicast_to_barriers_of_a_pair(self):
        # CTA 1 sends to both; both signals go to the barrier of CTA 0.
        x = rng.integers(0, 2**32, (4, 32), dtype=np.uint32)
        got = run_all("""
.shared .align 128 .b8 tile[512];
.shared .align 8 .b64 full;
.visible .entry kernel(.param .align 64 .b8 map[128], .param .u64 out) {
  .reg .b32 %t, %s, %full, %r, %v; .reg .b64 %map, %out; .reg .pred %q, %go; .reg .b16 %m;
  mov.u32 %t, %tid.x;
  mov.u32 %s, tile;
  mov.u32 %full, full;
  mov.u32 %r, %cluster_ctarank;
  setp.eq.u32 %q, %t, 0;
  @%q mbarrier.init.shared.b64 [%full], 1;
  @%q fence.mbarrier_init.release.cluster;
  @%q mbarrier.arrive.expect_tx.shared.b64 _, [%full], 1024;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  setp.eq.and.u32 %go, %r, 1, %q;
  mov.u64 %map, map;
  cvta.param.u64 %map, %map;
  mov.b16 %m, 3;
  and.b32 %full, %full, 0xFEFFFFFF;
  @%go cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%s], [%map, {0, 0}], [%full], %m;
  setp.eq.u32 %q, %r, 0;
  @!%q bra passed;
wait:
  mbarrier.try_wait.parity.shared.b64 %go, [%full], 0;
  @!%go bra wait;
passed:
  barrier.cluster.arrive;
  barrier.cluster.wait;
  mad.lo.u32 %s, %t, 4, %s;
  ld.shared.b32 %v, [%s];
  add.u32 %v, %v, %r;
  mad.lo.u32 %t, %r, 128, %t;
  ld.param.u64 %out, [out];
  mad.wide.u32 %out, %t, 4, %out;
  st.global.b32 [%out], %v;
  ret;
}""", [TensorMap(x, (4, 32)), Out([256], "uint32")], block=128, grid=2, cluster=2)[0]
        np.testing.assert_array_equal(
            got, np.concatenate([x.ravel(), x.ravel() + np.uint32(1)]))

    # Each CTA works on its own position, then on those that it takes over.
    CANCEL = """
.shared .align 16 .b8 response[16];
.shared .align 8 .b64 full;
.visible .entry kernel(.param .u64 done, .param .u64 starts) {
  .reg .b32 %x, %y, %z, %w, %one, %n, %phase, %parts<4>;
  .reg .b64 %done, %starts, %p; .reg .b128 %r; .reg .pred %q;
  mbarrier.init.shared.b64 [full], 1;
  fence.mbarrier_init.release.cluster;
  ld.param.u64 %done, [done];
  ld.param.u64 %starts, [starts];
  mov.u32 %n, %nctaid.x;
  mov.u32 %x, %ctaid.x;
  mov.u32 %y, %ctaid.y;
  atom.global.add.u32 %one, [%starts], 1;
  mov.u32 %phase, 0;
next:
  mad.lo.u32 %x, %y, %n, %x;
  mad.wide.u32 %p, %x, 4, %done;
  atom.global.add.u32 %one, [%p], 1;
  mbarrier.arrive.expect_tx.shared.b64 _, [full], 16;
  clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [response], [full];
wait:
  mbarrier.try_wait.parity.shared.b64 %q, [full], %phase;
  @!%q bra wait;
  xor.b32 %phase, %phase, 1;
  ld.shared.b128 %r, [response];
  fence.proxy.async;
  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %q, %r;
  clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%x, %y, %z, %w}, %r;
  clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %y, %r;
  @%q bra next;
  ret;
}"""

    def test_launches_are_canceled(self):
        for schedule in (["--schedule=eager", "--jobs=1"], ["--schedule=lazy"],
                         ["--schedule=random", "--seed=3"]):
            done, starts = run(self.CANCEL, [InOut(np.zeros((2, 5), np.uint32)),
                                             InOut(np.zeros(1, np.uint32))],
                               block=1, grid=(5, 2), options=schedule)
            np.testing.assert_array_equal(done, 1)
            self.assertEqual(starts[0], 3)

    def test_no_launch_was_canceled(self):
        fails(self, "uninitialized", self.CANCEL.replace(
            "  @%q bra next;", "  @%q bra next;\n  st.global.b32 [%starts], %y;"),
              [InOut(np.zeros((2, 5), np.uint32)), InOut(np.zeros(1, np.uint32))],
              block=1, grid=(5, 2))


if __name__ == "__main__":
    unittest.main()
