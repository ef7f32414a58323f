# ===- test_known_bugs.py - What others got wrong ---------------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""Bugs that kernels of quantization had elsewhere, and where each is tested:

- Scales decoded, or inverted, wrong at bytes 0, 254 and 255: test_dequantize of
  test_quantize_kernels.py, test_first_and_last_scales of test_matmul.py.
- Rounded twice on the way to a scale, tiny blocks, blocks of zeros:
  test_golden_values of test_quantize_kernels.py (f32 next to powers of two
  times the largest code, 2^-131, zeros of both signs),
  test_sums_at_the_edges_of_scales of test_matmul_quantize.py.
- Scales laid out over all packed sequences instead of each: LENGTHS of
  test_jagged_scales.py has two of 256 rows.
- Scales padded over batch times rows: test_batches and test_layouts_of_scales of
  test_quantize_kernels.py (16 and 129 rows), test_batches of
  test_matmul_quantize.py.
- Padding of scales that leaks: test_poisoned_padding_of_scales of
  test_matmul.py (K = 1504), test_padding_is_nothing of test_matmul_quantize.py,
  test_layouts_of_scales of test_quantize_kernels.py.
- 1, 3 or 5 scales a row, bases 16 bytes off: test_base_off_alignment of
  test_quantize_kernels.py, test_pitch_and_base_off_alignment of
  test_matmul_quantize.py, and here.
- Input that is not contiguous, or has a stride of 0: test_strides of
  test_quantize_kernels.py, and here.
- More than 2^31 elements: on a GPU, see docs/Quantization.md.
- Rows of 1, 31, 33, 1000, 1152 and 65,537 elements, no rows, bf16 rows with an
  f32 weight: test_rms_norm.py, test_rms_norm_kernels.py.
- Stale bytes where a fence before a bulk store is missing: every simulated
  product in orders of its own, test_simulator of test_matmul.py and of
  test_matmul_quantize.py.
"""

import ml_dtypes
import numpy as np
import pytest

import lpfa
from harness import BIN_DIR, tool
from launcher import launch
from lpfa import mx, norm

BF16 = ml_dtypes.bfloat16

NORM = """\
func.func @f(%x: tensor<?x{width}xbf16>, %w: tensor<{width}xf32>)
    -> (tensor<?x{width}xf8E4M3FN>, tensor<?x{groups}xf8E8M0FNU>) {{
  %y = lpfa.rms_norm %x weight %w epsilon(1.0e-6)
      : tensor<?x{width}xbf16>, tensor<{width}xf32> -> tensor<?x{width}xbf16>
  %q, %s = lpfa.quantize %y axis(1)
      : tensor<?x{width}xbf16> -> tensor<?x{width}xf8E4M3FN>, tensor<?x{groups}xf8E8M0FNU>
  return %q, %s : tensor<?x{width}xf8E4M3FN>, tensor<?x{groups}xf8E8M0FNU>
}}
"""

SCALES = """\
func.func @dequantize(%q: tensor<?x?xf8E4M3FN>, %s: tensor<?x?xf8E8M0FNU>)
    -> tensor<?x?xbf16> {
  %x = lpfa.dequantize %q scaled %s axis(1)
      : tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU> -> tensor<?x?xbf16>
  return %x : tensor<?x?xbf16>
}
func.func @pack(%s: tensor<?x?xf8E8M0FNU>) -> tensor<?x?x32x4x4xf8E8M0FNU> {
  %b = lpfa.pack_scales %s
      : tensor<?x?xf8E8M0FNU> -> tensor<?x?x32x4x4xf8E8M0FNU>
  return %b : tensor<?x?x32x4x4xf8E8M0FNU>
}
"""


def compile_(text, folder, chip="sm_90a"):
    tool("lpfa-compile")
    lpfa.compile(text, folder, emit=["ptx", "plan"], chip=chip, bin_dir=BIN_DIR)


def views(x):
    """Part of a larger array, and its first row again and again."""
    larger = np.zeros((x.shape[0], x.shape[1] + 24), x.dtype)
    larger[:, 8:-16] = x
    return {"part": larger[:, 8:-16],
            "one row": np.broadcast_to(x[0], x.shape)}


@pytest.mark.parametrize("kind", ["part", "one row"])
@pytest.mark.parametrize("width, shift", [(96, 16), (33, 4), (1152, 16)])
def test_normalized_views(width, shift, kind, tmp_path):
    compile_(NORM.format(width=width, groups=-(-width // 32)), tmp_path)
    rng = np.random.default_rng(width)
    x = views(rng.standard_normal((5, width)).astype(BF16))[kind]
    w = rng.standard_normal(width).astype(np.float32)
    results = launch(tmp_path, "f", [x.view(np.uint16), w], tool("lpfa-sim"),
                     fill=0xA5, shift=shift)
    y, _ = norm.rms_norm(x, w, np.float32(1e-6))
    for result, right in zip(results, mx.quantize(y.astype(BF16)), strict=True):
        np.testing.assert_array_equal(result, right)


@pytest.mark.parametrize("kind", ["part", "one row"])
@pytest.mark.parametrize("groups", [1, 3, 5, 8])
def test_views_of_codes_and_scales(groups, kind, tmp_path):
    compile_(SCALES, tmp_path, "sm_100a")
    rng = np.random.default_rng(groups)
    codes = views(rng.integers(0, 256, (40, 32 * groups), np.uint8))[kind]
    scales = views(rng.integers(100, 150, (40, groups), np.uint8))[kind]
    (x,) = launch(tmp_path, "dequantize", [codes, scales], tool("lpfa-sim"),
                  fill=0xA5, shift=16)
    right = mx.dequantize(codes, scales).astype(BF16)
    np.testing.assert_array_equal(x.view(BF16).astype(np.float32),
                                  right.astype(np.float32))
    (packed,) = launch(tmp_path, "pack", [scales], tool("lpfa-sim"), fill=0xA5,
                       shift=16)
    np.testing.assert_array_equal(packed, mx.pack_scales(scales))
