"""Scalar instructions against numpy, one kernel for each."""

import unittest

import ml_dtypes
import numpy as np

from sim import Out, run

rng = np.random.default_rng(7)

WIDTH = {"b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2, "b32": 4, "u32": 4,
         "s32": 4, "f32": 4, "f16x2": 4, "bf16x2": 4, "b64": 8, "u64": 8,
         "s64": 8, "f64": 8, "f32x2": 8}


def apply(instruction, result, operands, prelude=""):
    """The result of `instruction` (with $d, $0, $1 ...) on arrays of unsigned
    integers, one element a thread."""
    n = len(operands[0])
    width = lambda a: a.dtype.itemsize
    lines, declared = [], []
    for k, a in enumerate(operands):
        bits = 8 * width(a)
        declared.append(f".reg .b{bits} %x{k};")
        lines += [f"ld.param.u64 %p, [kernel_{k}];",
                  f"mad.wide.u32 %p, %i, {width(a)}, %p;",
                  f"ld.global.b{bits} %x{k}, [%p];"]
    bits = 8 * np.dtype(result).itemsize
    text = instruction.replace("$d", "%y")
    for k in range(len(operands)):
        text = text.replace(f"${k}", f"%x{k}")
    parameters = ", ".join(f".param .u64 kernel_{k}"
                           for k in range(len(operands) + 1))
    ptx = f"""
.visible .entry kernel({parameters}) {{
  .reg .b64 %p; .reg .b32 %i, %c; .reg .b{bits} %y; .reg .pred %q, %q2;
  {' '.join(declared)}
  mov.u32 %i, %tid.x;
  mov.u32 %c, %ctaid.x;
  mad.lo.u32 %i, %c, 128, %i;
  {chr(10).join(lines)}
  {prelude}
  {text}
  ld.param.u64 %p, [kernel_{len(operands)}];
  mad.wide.u32 %p, %i, {bits // 8}, %p;
  st.global.b{bits} [%p], %y;
  ret;
}}"""
    out = Out([n], result)
    return run(ptx, [*operands, out], block=128, grid=n // 128)[0]


def bits_of(a):
    return a.view({1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[
        a.dtype.itemsize])


EDGE32 = np.array([0, 1, 2, 31, 32, 33, 0x7FFFFFFF, 0x80000000, 0x80000001,
                   0xFFFFFFFF, 0xFFFFFFFE, 0xFFFF, 0x10000], np.uint32)


def integers(dtype, n=512):
    a = rng.integers(0, 2 ** (8 * np.dtype(dtype).itemsize), n, dtype=np.uint64)
    a = a.astype(dtype)
    edge = EDGE32.astype(dtype)
    a[:len(edge)] = edge
    rng.shuffle(a)
    return a


def floats(n=512):
    a = (rng.standard_normal(n) * 10.0 ** rng.integers(-8, 8, n)).astype(np.float32)
    special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40,
               3.4e38, -3.4e38, 0.5, 1.5, 2.5, 1e-45]
    a[:len(special)] = special
    rng.shuffle(a)
    return a


def canonical(a):
    a = a.astype(np.float32)
    b = a.view(np.uint32).copy()
    b[np.isnan(a)] = 0x7FFFFFFF
    return b


class Integers(unittest.TestCase):
    def check(self, instruction, expected, *operands):
        got = apply(instruction, expected.dtype, [bits_of(o) for o in operands])
        np.testing.assert_array_equal(bits_of(got), bits_of(expected),
                                      err_msg=instruction)

    def test_add_sub_mul(self):
        for d in (np.uint32, np.uint64):
            a, b, c = integers(d), integers(d), integers(d)
            n = 8 * np.dtype(d).itemsize
            self.check(f"add.u{n} $d, $0, $1;", a + b, a, b)
            self.check(f"sub.s{n} $d, $0, $1;", a - b, a, b)
            self.check(f"mul.lo.s{n} $d, $0, $1;", a * b, a, b)
            self.check(f"mad.lo.u{n} $d, $0, $1, $2;", a * b + c, a, b, c)

    def test_high_and_wide(self):
        a, b = integers(np.uint32), integers(np.uint32)
        sa, sb = a.view(np.int32).astype(np.int64), b.view(np.int32).astype(np.int64)
        wide = a.astype(np.uint64) * b
        self.check("mul.wide.u32 $d, $0, $1;", wide, a, b)
        self.check("mul.wide.s32 $d, $0, $1;", sa * sb, a, b)
        self.check("mul.hi.u32 $d, $0, $1;", (wide >> 32).astype(np.uint32), a, b)
        self.check("mul.hi.s32 $d, $0, $1;", (sa * sb >> 32).astype(np.int32), a, b)
        c = integers(np.uint64)
        self.check("mad.wide.u32 $d, $0, $1, $2;", wide + c, a, b, c)

    def test_division(self):
        a, b = integers(np.uint32), integers(np.uint32) | 1
        sa, sb = a.view(np.int32).astype(np.int64), b.view(np.int32).astype(np.int64)
        quotient = np.sign(sa) * np.sign(sb) * (abs(sa) // abs(sb))
        self.check("div.u32 $d, $0, $1;", a // b, a, b)
        self.check("rem.u32 $d, $0, $1;", a % b, a, b)
        self.check("div.s32 $d, $0, $1;", quotient.astype(np.int32), a, b)
        self.check("rem.s32 $d, $0, $1;", (sa - quotient * sb).astype(np.int32), a, b)

    def test_logic_and_shifts(self):
        a, b = integers(np.uint32), integers(np.uint32)
        self.check("and.b32 $d, $0, $1;", a & b, a, b)
        self.check("xor.b32 $d, $0, $1;", a ^ b, a, b)
        self.check("not.b32 $d, $0;", ~a, a)
        n = rng.integers(0, 40, len(a)).astype(np.uint32)
        inside = np.minimum(n, 31)
        self.check("shl.b32 $d, $0, $1;",
                   np.where(n < 32, a << inside, 0).astype(np.uint32), a, n)
        self.check("shr.u32 $d, $0, $1;",
                   np.where(n < 32, a >> inside, 0).astype(np.uint32), a, n)
        self.check("shr.s32 $d, $0, $1;", a.view(np.int32) >> inside.view(np.int32),
                   a, n)
        both = b.astype(np.uint64) << 32 | a
        self.check("shf.r.wrap.b32 $d, $0, $1, $2;",
                   (both >> (n & 31)).astype(np.uint32), a, b, n)
        self.check("shf.l.clamp.b32 $d, $0, $1, $2;",
                   (both << np.minimum(n, 32) >> 32).astype(np.uint32), a, b, n)
        self.check("lop3.b32 $d, $0, $1, $2, 0xCA;", (a & b) | (~a & n), a, b, n)

    def test_bits(self):
        a = integers(np.uint32)
        text = [format(int(v), "032b") for v in a]
        self.check("popc.b32 $d, $0;",
                   np.array([t.count("1") for t in text], np.uint32), a)
        self.check("brev.b32 $d, $0;",
                   np.array([int(t[::-1], 2) for t in text], np.uint32), a)
        clz = np.array([32 - int(v).bit_length() for v in a], np.uint32)
        self.check("clz.b32 $d, $0;", clz, a)
        self.check("bfind.u32 $d, $0;", (31 - clz).astype(np.uint32), a)
        p, n = (rng.integers(0, 31, len(a)).astype(np.uint32) for _ in range(2))
        mask = ((np.uint64(1) << n.astype(np.uint64)) - 1)
        self.check("bfe.u32 $d, $0, $1, $2;",
                   (a >> p & mask).astype(np.uint32), a, p, n)
        b = integers(np.uint32)
        place = (mask << p.astype(np.uint64)).astype(np.uint32)
        self.check("bfi.b32 $d, $0, $1, $2, $3;", (b & ~place) | (a << p & place),
                   a, b, p, n)

    def test_signed_field(self):
        a = np.array([0x80, 0x7F, 0xF0F0, 0x80000000] * 32, np.uint32)
        got = apply("bfe.s32 $d, $0, 4, 4;", np.int32, [a])
        np.testing.assert_array_equal(got[:4], [-8, 7, -1, 0])
        got = apply("bfe.s32 $d, $0, 28, 8;", np.int32, [a])
        np.testing.assert_array_equal(got[:4], [0, 0, 0, -8])

    def test_permute(self):
        a, b, s = (integers(np.uint32) for _ in range(3))
        s &= 0xFFFF
        expected = []
        for x, y, c in zip(a, b, s):
            source = int(y) << 32 | int(x)
            value = 0
            for k in range(4):
                pick = int(c) >> 4 * k & 15
                byte = source >> 8 * (pick & 7) & 255
                value |= ((255 if byte & 128 else 0) if pick & 8 else byte) << 8 * k
            expected.append(value)
        self.check("prmt.b32 $d, $0, $1, $2;", np.array(expected, np.uint32), a, b, s)

    def test_compare_and_select(self):
        a, b = integers(np.uint32), integers(np.uint32)
        b[::3] = a[::3]
        for relation, f in (("eq", np.equal), ("ne", np.not_equal),
                            ("lt", np.less), ("le", np.less_equal),
                            ("gt", np.greater), ("ge", np.greater_equal)):
            for kind, view in (("u32", np.uint32), ("s32", np.int32)):
                self.check(f"setp.{relation}.{kind} %q, $0, $1; "
                           "selp.b32 $d, 7, 9, %q;",
                           np.where(f(a.view(view), b.view(view)), 7, 9)
                           .astype(np.uint32), a, b)
        self.check("setp.lt.and.u32 %q, $0, $1, %q2; selp.b32 $d, $0, $1, %q;"
                   .replace("setp", "setp.ne.u32 %q2, $0, 1; setp"),
                   np.where((a < b) & (a != 1), a, b), a, b)
        self.check("max.s32 $d, $0, $1;",
                   np.maximum(a.view(np.int32), b.view(np.int32)), a, b)
        self.check("min.u32 $d, $0, $1;", np.minimum(a, b), a, b)

    def test_narrow(self):
        a, b = integers(np.uint16), integers(np.uint16)
        self.check("add.u16 $d, $0, $1;", a + b, a, b)
        self.check("cvt.s32.s16 $d, $0;", a.view(np.int16).astype(np.int32), a)
        self.check("cvt.u32.u16 $d, $0;", a.astype(np.uint32), a)
        self.check("mul.wide.s16 $d, $0, $1;",
                   a.view(np.int16).astype(np.int32) * b.view(np.int16), a, b)

    def test_saturation(self):
        a = integers(np.uint32)
        self.check("cvt.sat.s8.s32 $d, $0;",
                   np.clip(a.view(np.int32), -128, 127).astype(np.int32), a)


    def test_saturating_pack(self):
        a, b, rest = (integers(np.uint32) for _ in range(3))
        # Half of the values are small ones.
        a[::2], b[::2] = (np.uint32(x[::2].view(np.int32) >> 26) for x in (a, b))
        signed = lambda x: x.view(np.int32).astype(np.int64)
        for name, bits in (("u16", 16), ("s16", 16), ("u8", 8), ("s8", 8), ("u4", 4),
                           ("s4", 4), ("u2", 2), ("s2", 2)):
            low, high = ((-2**(bits - 1), 2**(bits - 1) - 1) if name[0] == "s" else
                         (0, 2**bits - 1))
            clip = lambda x: np.clip(signed(x), low, high) & (2**bits - 1)
            pair = clip(a) << bits | clip(b)
            if bits == 16:
                self.check(f"cvt.pack.sat.{name}.s32 $d, $0, $1;",
                           pair.astype(np.uint32), a, b)
            else:
                pair = pair | rest.astype(np.int64) << 2 * bits
                self.check(f"cvt.pack.sat.{name}.s32.b32 $d, $0, $1, $2;",
                           pair.astype(np.uint32), a, b, rest)


class Floats(unittest.TestCase):
    def check(self, instruction, expected, *operands):
        got = apply(instruction, np.uint32, [bits_of(o) for o in operands])
        np.testing.assert_array_equal(got, canonical(expected),
                                      err_msg=instruction)

    def setUp(self):
        np.seterr(all="ignore")

    def test_arithmetic(self):
        a, b, c = floats(), floats(), floats()
        self.check("add.rn.f32 $d, $0, $1;", a + b, a, b)
        self.check("sub.f32 $d, $0, $1;", a - b, a, b)
        self.check("mul.f32 $d, $0, $1;", a * b, a, b)
        self.check("div.rn.f32 $d, $0, $1;", a / b, a, b)
        self.check("sqrt.rn.f32 $d, $0;", np.sqrt(a), a)
        flush = lambda x: np.where(abs(x) < 2.0**-126, x * 0, x)
        self.check("mul.ftz.f32 $d, $0, $1;", flush(flush(a) * flush(b)), a, b)

    def test_fma_rounds_once(self):
        a, b, c = floats(4096), floats(4096), floats(4096)
        # The exact result needs more than long double where exponents differ
        # much: compare with integers.
        from fractions import Fraction
        finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
        a, b, c = (np.where(finite, x, np.float32(1)) for x in (a, b, c))
        c = np.where(rng.random(4096) < .5, (-(a.astype(np.float64) * b) *
                     (1 + 2.0**-24)).astype(np.float32), c)
        c = np.where(np.isfinite(c), c, np.float32(1))
        got = apply("fma.rn.f32 $d, $0, $1, $2;", np.float32,
                    [bits_of(x) for x in (a, b, c)])
        for x, y, z, r in zip(a, b, c, got):
            exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
            if not np.isfinite(r):
                self.assertGreater(abs(exact), Fraction(3.4028234e38))
                continue
            error = abs(Fraction(float(r)) - exact)
            for other in (np.nextafter(r, np.float32(np.inf)),
                          np.nextafter(r, np.float32(-np.inf))):
                if np.isfinite(other):
                    self.assertLessEqual(error, abs(Fraction(float(other)) - exact))

    def test_directed(self):
        a, b = floats(), floats()
        finite = np.isfinite(a) & np.isfinite(b)
        a, b = (np.where(finite, x, np.float32(2)) for x in (a, b))
        exact = a.astype(np.float64) + b.astype(np.float64)
        near = exact.astype(np.float32)
        down = apply("add.rm.f32 $d, $0, $1;", np.float32, [bits_of(a), bits_of(b)])
        up = apply("add.rp.f32 $d, $0, $1;", np.float32, [bits_of(a), bits_of(b)])
        self.assertTrue((down.astype(np.float64) <= exact).all())
        self.assertTrue((up.astype(np.float64) >= exact).all())
        self.assertTrue(((near == down) | (near == up)).all())

    def test_extrema(self):
        a, b, c = floats(), floats(), floats()
        big = lambda x, y: np.where(np.isnan(x), y, np.where(np.isnan(y), x, np.where(
            (x == y), np.where(np.signbit(x), y, x), np.maximum(x, y))))
        self.check("max.f32 $d, $0, $1;", big(a, b), a, b)
        self.check("max.f32 $d, $0, $1, $2;", big(big(a, b), c), a, b, c)
        self.check("max.NaN.f32 $d, $0, $1;",
                   np.where(np.isnan(a) | np.isnan(b), np.float32(np.nan), big(a, b)),
                   a, b)
        self.check("min.f32 $d, $0, $1;", -big(-a, -b), a, b)
        got = apply("abs.f32 $d, $0;", np.uint32, [bits_of(a)])
        np.testing.assert_array_equal(got, bits_of(a) & 0x7FFFFFFF)

    def test_pairs(self):
        a, b, c = (np.stack([floats(), floats()], 1) for _ in range(3))
        joined = [x.view(np.uint64)[:, 0].copy() for x in (a, b, c)]
        for text, f in (("add.f32x2 $d, $0, $1;", lambda: a + b),
                        ("mul.rn.f32x2 $d, $0, $1;", lambda: a * b)):
            got = apply(text, np.uint64, joined).view(np.uint32)
            np.testing.assert_array_equal(got, canonical(f()).reshape(-1))
        got = apply("fma.rn.f32x2 $d, $0, $1, $2;", np.uint64, joined).view(np.float32)
        one = [apply("fma.rn.f32 $d, $0, $1, $2;", np.uint32,
                     [np.ascontiguousarray(bits_of(x)[:, h]) for x in (a, b, c)])
               for h in range(2)]
        np.testing.assert_array_equal(got.view(np.uint32),
                                      np.stack(one, 1).reshape(-1))

    def test_functions(self):
        a = np.concatenate([np.linspace(-160, 130, 500), [np.inf, -np.inf, np.nan,
                            0, -0.0, 1, -1, 0.5, 127, 128, -126, -150]])
        a = a.astype(np.float32)[:512]
        wide = a.astype(np.float64)
        for name, f in (("ex2.approx.f32", np.exp2),
                        ("lg2.approx.f32", np.log2),
                        ("rcp.approx.f32", lambda x: 1 / x),
                        ("rsqrt.approx.f32", lambda x: 1 / np.sqrt(x)),
                        ("tanh.approx.f32", np.tanh)):
            got = apply(f"{name} $d, $0;", np.float32, [bits_of(a)])
            expected = f(wide).astype(np.float32)
            with np.errstate(all="ignore"):
                close = (abs(got - expected) <= 2e-7 * abs(expected)) | (
                    got == expected) | (np.isnan(got) & np.isnan(expected))
            self.assertTrue(close.all(), f"{name} {a[~close]} {got[~close]}")

    def test_conversions(self):
        a = floats()
        wide = a.astype(np.float64)
        clipped = np.nan_to_num(np.clip(np.trunc(wide), -2**31, 2**31 - 1), nan=0)
        got = apply("cvt.rzi.s32.f32 $d, $0;", np.int32, [bits_of(a)])
        np.testing.assert_array_equal(got, clipped.astype(np.int64).astype(np.int32))
        rounded = np.nan_to_num(np.clip(np.rint(wide), 0, 2**32 - 1), nan=0)
        got = apply("cvt.rni.u32.f32 $d, $0;", np.uint32, [bits_of(a)])
        np.testing.assert_array_equal(got, rounded.astype(np.uint64).astype(np.uint32))
        n = integers(np.uint32)
        self.check("cvt.rn.f32.s32 $d, $0;", n.view(np.int32).astype(np.float32), n)
        got = apply("cvt.f64.f32 $d, $0;", np.float64, [bits_of(a)])
        np.testing.assert_array_equal(got[~np.isnan(a)], wide[~np.isnan(a)])

    def test_sixteen_bits(self):
        for kind, dtype in (("f16", np.float16), ("bf16", ml_dtypes.bfloat16)):
            a = np.clip(floats(), -1e4, 1e4).astype(dtype)
            b = np.clip(floats(), -1e4, 1e4).astype(dtype)
            wide = lambda x: x.astype(np.float64)
            def same(got, expected):
                nan = np.isnan(expected.astype(np.float32))
                np.testing.assert_array_equal(got[~nan], expected.view(np.uint16)[~nan])
                self.assertTrue((got[nan] == 0x7FFF).all())
            same(apply(f"add.{kind} $d, $0, $1;", np.uint16, [bits_of(a), bits_of(b)]),
                 (wide(a) + wide(b)).astype(dtype))
            same(apply(f"mul.{kind} $d, $0, $1;", np.uint16, [bits_of(a), bits_of(b)]),
                 (wide(a) * wide(b)).astype(dtype))
            f = floats()
            same(apply(f"cvt.rn.{kind}.f32 $d, $0;", np.uint16, [bits_of(f)]),
                 f.astype(dtype))

    def test_narrow_pairs(self):
        a, b = np.clip(floats(), -1e4, 1e4), np.clip(floats(), -1e4, 1e4)
        a, b = (np.where(np.isnan(x), np.float32(3), x) for x in (a, b))
        got = apply("cvt.rn.bf16x2.f32 $d, $0, $1;", np.uint32, [bits_of(a), bits_of(b)])
        expected = (a.astype(ml_dtypes.bfloat16).view(np.uint16).astype(np.uint32) << 16
                    | b.astype(ml_dtypes.bfloat16).view(np.uint16))
        np.testing.assert_array_equal(got, expected)
        got = apply("cvt.rn.satfinite.e4m3x2.f32 $d, $0, $1;", np.uint16,
                    [bits_of(a), bits_of(b)])
        e4m3 = lambda x: np.clip(x, -448, 448).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
        np.testing.assert_array_equal(got, e4m3(a).astype(np.uint16) << 8 | e4m3(b))
        back = apply("cvt.rn.f16x2.e4m3x2 $d, $0;", np.uint32, [got])
        np.testing.assert_array_equal(
            back.view(np.float16).astype(np.float32),
            np.stack([e4m3(b), e4m3(a)], 1).view(ml_dtypes.float8_e4m3fn)
            .astype(np.float32).reshape(-1))
        got = apply("cvt.rp.satfinite.ue8m0x2.f32 $d, 0f00000000, $0;", np.uint16,
                    [bits_of(abs(a))])
        with np.errstate(divide="ignore"):
            exponent = np.clip(np.ceil(np.log2(abs(a.astype(np.float64)))), -127, 127)
        np.testing.assert_array_equal(got, (exponent + 127).astype(np.uint16))


if __name__ == "__main__":
    unittest.main()
