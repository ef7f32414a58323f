# ===- test_bad_input.py - What the tools say to bad input -----------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""Bad input: exit code 1, a message that says what is wrong, no output."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from harness import Case, module, operands, tool
from lpfa.attention import Mask

HERE = Path(__file__).parent
QUANTIZE = HERE / "quantize.mlir"
FORWARD = HERE / "attention-forward.mlir"


def call(name, *arguments):
    return subprocess.run([tool(name), *map(str, arguments)],
                          capture_output=True, text=True)


def refuse(done, *words, one_line=True):
    """The tool failed, and in words; it did not crash."""
    assert done.returncode == 1, done.stderr
    assert done.stdout == ""
    for word in words:
        assert word in done.stderr
    if one_line:
        assert done.stderr.count("\n") == 1, done.stderr


def files(folder):
    return sorted(p.name for p in Path(folder).rglob("*") if p.is_file())


@pytest.fixture
def x(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((3, 32), np.float32))
    return tmp_path / "x.npy"


def quantize(x, out, *more, entry="quantize_e4m3_rceil"):
    return call("lpfa-run", QUANTIZE, f"--entry={entry}", "--device=reference",
                f"--arg={x}", f"--out={out}", *more)


def test_good_input(x, tmp_path):
    """What the tests below break is right before."""
    done = quantize(x, tmp_path / "out")
    assert done.returncode == 0 and done.stderr == ""
    assert files(tmp_path / "out") == ["result0.npy", "result1.npy"]


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int32, np.uint8])
def test_wrong_element_type(tmp_path, dtype):
    np.save(tmp_path / "x.npy", np.zeros((3, 32), dtype))
    done = quantize(tmp_path / "x.npy", tmp_path / "out")
    refuse(done, "argument 0", "x.npy", "float32")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("shape", [(3, 31), (32,), (3, 1, 32), ()])
def test_wrong_shape(tmp_path, shape):
    np.save(tmp_path / "x.npy", np.zeros(shape, np.float32))
    done = quantize(tmp_path / "x.npy", tmp_path / "out")
    refuse(done, "argument 0", "x.npy", "shape", "?x32")
    assert not (tmp_path / "out").exists()


def test_missing_argument_file(tmp_path):
    done = quantize(tmp_path / "none.npy", tmp_path / "out")
    refuse(done, "argument 0", "none.npy")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("content", [
    b"", b"not an array", b"\x93NUMPY\x01\x00",
    b"\x93NUMPY\x01\x00\x10\x00{'descr': '<f4"])
def test_damaged_argument_file(tmp_path, content):
    (tmp_path / "x.npy").write_bytes(content)
    done = quantize(tmp_path / "x.npy", tmp_path / "out")
    refuse(done, "argument 0", "x.npy")
    assert not (tmp_path / "out").exists()


def test_truncated_argument_file(x, tmp_path):
    x.write_bytes(x.read_bytes()[:-4])
    refuse(quantize(x, tmp_path / "out"), "argument 0", "x.npy")
    assert not (tmp_path / "out").exists()


def test_wrong_number_of_arguments(x, tmp_path):
    done = quantize(x, tmp_path / "out", f"--arg={x}")
    refuse(done, "@quantize_e4m3_rceil", "1", "2")
    assert not (tmp_path / "out").exists()


def test_unknown_entry(x, tmp_path):
    refuse(quantize(x, tmp_path / "out", entry="nothing"), "@nothing")
    assert not (tmp_path / "out").exists()


def test_missing_module(x, tmp_path):
    done = call("lpfa-run", tmp_path / "none.mlir", "--entry=f",
                f"--arg={x}", f"--out={tmp_path / 'out'}")
    refuse(done, "none.mlir")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("out", ["x.npy/out", "x.npy"])
def test_unwritable_output(x, tmp_path, out):
    """Below a file there is no folder, whoever asks."""
    before = x.read_bytes()
    refuse(quantize(x, tmp_path / out), str(tmp_path / out))
    assert files(tmp_path) == ["x.npy"] and x.read_bytes() == before


@pytest.mark.parametrize("text, word", [
    ("func.func @f(", "error"),
    ("func.func @f(%x: tensor<4x32xf32>) { %0 = lpfa.none %x return }",
     "lpfa.none"),
])
@pytest.mark.parametrize("name", ["lpfa-run", "lpfa-compile"])
def test_malformed_module(tmp_path, name, text, word):
    source = tmp_path / "bad.mlir"
    source.write_text(text)
    out = tmp_path / "out"
    where = ["-o", out] if name == "lpfa-compile" else [f"--out={out}"]
    done = call(name, source, *where)
    refuse(done, "bad.mlir:1", word, one_line=False)
    assert not out.exists()


def run_case(case, tmp_path, arrays, device="reference"):
    (tmp_path / "case.mlir").write_text(module(case))
    arguments = []
    for i, array in enumerate(arrays):
        np.save(tmp_path / f"arg{i}.npy", array)
        arguments.append(f"--arg={tmp_path / f'arg{i}.npy'}")
    return call("lpfa-run", tmp_path / "case.mlir", "--entry=attention",
                f"--device={device}", f"--out={tmp_path / 'out'}", *arguments)


# Sizes that the types leave open, but that do not match: which argument is
# made shorter along which dimension.
MISMATCHES = {
    "batch of K": (2, 0),
    "heads of V": (4, 1),
    "keys of V": (4, 2),
    "rows of K's scales": (3, 2),
    "groups of V's scales": (5, 2),
    "batch of Q's scales": (1, 0),
}


@pytest.mark.parametrize("device", ["reference", "sim"])
@pytest.mark.parametrize("which", list(MISMATCHES))
def test_sizes_that_do_not_match(tmp_path, which, device):
    case = Case(40, 70, dim=64, batch=2, heads=4, kv_heads=2)
    arrays = operands(case)
    position, axis = MISMATCHES[which]
    arrays[position] = np.delete(arrays[position], -1, axis)
    done = run_case(case, tmp_path, arrays, device)
    refuse(done, "error: ")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("device", ["reference", "sim"])
def test_heads_that_do_not_divide(tmp_path, device):
    case = Case(40, 70, dim=64, heads=3, kv_heads=2)
    done = run_case(case, tmp_path, operands(case), device)
    refuse(done, "heads")
    assert not (tmp_path / "out").exists()
    case = Case(40, 70, dim=64, heads=3, kv_heads=2, static=True)
    done = run_case(case, tmp_path, operands(case), device)
    refuse(done, "lpfa.attention", one_line=False)
    assert not (tmp_path / "out").exists()


# What the reference runs and the kernels do not.
NO_KERNEL = [
    Case(40, 70, dim=40),
    Case(40, 70, dim=288),
    Case(40, 70, dim=64, value_dim=272),
    Case(40, 70, formats=("e2m1", "e2m1", "e2m1")),
    Case(40, 70, formats=("e4m3", "e4m3", "e3m2")),
    Case(40, 70, dim=64, offsets_q=(0, 40), offsets_k=(0, 70),
         mask=Mask("causal", "top_left")),
]


@pytest.mark.parametrize("case", NO_KERNEL, ids=str)
def test_no_kernel(tmp_path, case):
    source = tmp_path / "case.mlir"
    source.write_text(module(case))
    done = call("lpfa-compile", source, "-o", tmp_path / "out")
    refuse(done, "case.mlir:2", "lpfa.attention", one_line=False)
    assert not (tmp_path / "out").exists()


def test_compile_unwritable_output(tmp_path):
    (tmp_path / "file").write_text("kept")
    done = call("lpfa-compile", FORWARD, "-o", tmp_path / "file" / "out",
                "--emit=ptx,plan")
    refuse(done, str(tmp_path / "file" / "out"))
    assert files(tmp_path) == ["file"]


def test_compile_missing_module(tmp_path):
    done = call("lpfa-compile", tmp_path / "none.mlir", "-o", tmp_path / "out")
    refuse(done, "none.mlir")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("option, word", [("--key-tile=48", "48"),
                                          ("--query-tiles=3", "3"),
                                          ("--no-such-option=1", "no-such")])
def test_compile_bad_option(tmp_path, option, word):
    done = call("lpfa-compile", FORWARD, "-o", tmp_path / "out", option)
    refuse(done, word, one_line=False)
    assert not (tmp_path / "out").exists()


def test_compile_unknown_chip(tmp_path):
    done = call("lpfa-compile", FORWARD, "-o", tmp_path / "out",
                "--chip=sm_12x")
    refuse(done, "sm_12x", one_line=False)
    assert not (tmp_path / "out").exists()
