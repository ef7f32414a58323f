# ===- test_driver.py - Tests of lpfa.run and lpfa.compile -----------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""The drivers, over stand-ins for the tools: what they pass and report."""

import json
import os
import stat
import sys

import ml_dtypes
import numpy as np
import pytest

import lpfa

# Prints its arguments into a file and returns its array arguments, the last
# one as result10, in reverse.
RUN = """
import os, shutil, sys
flags = dict(a.lstrip("-").split("=", 1) for a in sys.argv[2:]
             if "=" in a and not a.startswith("--arg="))
args = [a[6:] for a in sys.argv if a.startswith("--arg=")]
with open(os.environ["LPFA_TEST_LOG"], "w") as log:
    log.write(open(sys.argv[1]).read() + "|" + flags["entry"] + "|" +
              flags["device"] + "|" + flags.get("seed", "no seed"))
if flags["entry"] == "bad":
    sys.exit("lpfa-run: no function @bad")
os.makedirs(flags["out"], exist_ok=True)
for i, arg in enumerate(args):
    shutil.copy(arg, os.path.join(flags["out"], f"result{10 - i}.npy"))
"""

COMPILE = """
import json, os, sys
out = sys.argv[sys.argv.index("-o") + 1]
os.makedirs(out, exist_ok=True)
with open(os.path.join(out, "plan.json"), "w") as plan:
    json.dump(sys.argv[1:], plan)
"""

# Returns its array arguments, or says with what it was called.
LAUNCH = """
import json, os, shutil, sys
args = [a[6:] for a in sys.argv if a.startswith("--arg=")]
flags = [a for a in sys.argv[1:] if not a.startswith("--arg=")]
if "--benchmark=json" in flags:
    print(json.dumps(flags))
    sys.exit()
with open(os.environ["LPFA_TEST_LOG"], "w") as log:
    json.dump([a for a in flags if not a.startswith("--out=")], log)
out = [a[6:] for a in flags if a.startswith("--out=")][0]
os.makedirs(out)
for i, arg in enumerate(args):
    shutil.copy(arg, os.path.join(out, f"result{i}.npy"))
"""


@pytest.fixture
def tools(tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in (("lpfa-run", RUN), ("lpfa-compile", COMPILE),
                       ("lpfa-launch", LAUNCH)):
        path = folder / name
        path.write_text(f"#!{sys.executable}\n{text}")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("LPFA_TEST_LOG", str(tmp_path / "log"))
    return folder


def test_run(tools, tmp_path):
    x = np.arange(3, dtype=np.float32)
    narrow = np.array([1, 2], dtype=ml_dtypes.float8_e4m3fn)
    wide = np.array([1, 2], dtype=ml_dtypes.bfloat16)
    results = lpfa.run("module {\n}", "f", [x, narrow, wide], bin_dir=tools,
                       seed=3)
    log = (tmp_path / "log").read_text()
    assert log == "module {\n}|f|reference|3"
    assert [r.dtype for r in results] == [np.uint16, np.uint8, np.float32]
    assert results[0].tolist() == [0x3F80, 0x4000]
    assert results[1].tolist() == [0x38, 0x40]
    assert np.array_equal(results[2], x)


def test_scalars(tools):
    (x,) = lpfa.run("module {\n}", "f", [np.float32(2)], bin_dir=tools)
    assert x.shape == () and x == 2


def test_run_into_folder(tools, tmp_path):
    source = tmp_path / "in.mlir"
    source.write_text("module")
    lpfa.run(source, "f", [np.zeros(2)], device="sim", out=tmp_path / "out",
             bin_dir=tools)
    assert os.listdir(tmp_path / "out") == ["result10.npy"]
    assert (tmp_path / "log").read_text() == "module|f|sim|no seed"


def test_run_reports_the_tool(tools, tmp_path):
    with pytest.raises(lpfa.ToolError) as error:
        lpfa.run("module {\n}", "bad", [], out=tmp_path / "out", bin_dir=tools)
    assert str(error.value) == "lpfa-run: no function @bad"
    assert error.value.tool == "lpfa-run" and error.value.returncode == 1
    assert not (tmp_path / "out").exists()


def test_compile(tools, tmp_path):
    plan = lpfa.compile("in.mlir", tmp_path / "out", chip="sm_103a",
                        emit=["ptx", "plan"], bin_dir=tools, query_tiles=1,
                        verify=True, unused=None)
    assert plan == ["in.mlir", "-o", str(tmp_path / "out"), "--chip=sm_103a",
                    "--emit=ptx,plan", "--query-tiles=1", "--verify"]


def test_launch(tools, tmp_path):
    x = np.array([1, 2], dtype=ml_dtypes.float8_e4m3fn)
    results = lpfa.launch(tmp_path / "plan.json", [x, (16, 32)], function="f",
                          out=tmp_path / "out", bin_dir=tools, offset=16)
    assert [r.tolist() for r in results] == [[0x38, 0x40]]
    assert json.loads((tmp_path / "log").read_text()) == [
        str(tmp_path / "plan.json"), "--size=16x32", "--function=f",
        "--offset=16"]
    assert os.listdir(tmp_path / "out") == ["result0.npy"]


def test_benchmark(tools):
    report = lpfa.benchmark("plan.json", [(8,)], bin_dir=tools, repetitions=3,
                            no_flush=True)
    assert report == ["plan.json", "--size=8", "--benchmark=json",
                      "--repetitions=3", "--no-flush"]


def test_find_tool(tools, monkeypatch):
    run = str(tools / "lpfa-run")
    assert lpfa.find_tool("lpfa-run", tools) == run
    monkeypatch.setenv("LPFA_BIN", str(tools))
    assert lpfa.find_tool("lpfa-run") == run
    monkeypatch.delenv("LPFA_BIN")
    monkeypatch.setenv("PATH", str(tools))
    assert lpfa.find_tool("lpfa-run") == run
    with pytest.raises(FileNotFoundError, match="set LPFA_BIN"):
        lpfa.find_tool("lpfa-none")
