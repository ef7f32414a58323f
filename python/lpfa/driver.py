# ===- driver.py - Drivers over the tools ----------------------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""Drivers over the tools. They add nothing to what the tools do.

A tool is looked for in the `bin_dir` argument, in the folder that the
environment variable LPFA_BIN names, on PATH, and in a `bin` folder of this
Python environment, in this order.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np


class ToolError(RuntimeError):
    """A tool failed. The message is the tool's own."""

    def __init__(self, tool, returncode, message):
        super().__init__(message.strip() or f"{tool} failed ({returncode})")
        self.tool = tool
        self.returncode = returncode


def find_tool(name, bin_dir=None):
    """Path of a tool such as 'lpfa-run'."""
    if bin_dir is not None:
        folders = [os.fspath(bin_dir)]
    else:
        folders = [os.environ.get("LPFA_BIN", ""), os.environ.get("PATH", ""),
                   os.path.join(sys.prefix, "bin")]
    found = shutil.which(name, path=os.pathsep.join(filter(None, folders)))
    if found is None:
        raise FileNotFoundError(
            f"{name} not found: set LPFA_BIN to the folder that holds it")
    return found


def _execute(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        name = os.path.basename(command[0])
        raise ToolError(name, done.returncode, done.stderr)
    return done


def _source(module, folder):
    """Path of `module`, written to a file when it is the text of one."""
    text = os.fspath(module)
    if "\n" not in text:
        return text
    path = os.path.join(folder, "input.mlir")
    Path(path).write_text(text)
    return path


def _flags(options):
    """key=value as --key=value, with - for _; True is a bare flag."""
    for key, value in options.items():
        name = key.replace("_", "-")
        if value is True:
            yield f"--{name}"
        elif value is not None and value is not False:
            yield f"--{name}={value}"


def _storage(array):
    """The array as .npy holds it: types that numpy lacks as their codes."""
    array = np.asarray(array, order="C")
    if array.dtype.kind == "V":  # the types of ml_dtypes
        return array.view(np.dtype(f"u{array.dtype.itemsize}"))
    return array


def compile(module, out, chip="sm_100a", emit=None, bin_dir=None, **options):
    """Compiles a module with lpfa-compile into the folder `out`.

    `module` is a path or the text of a module. `emit` is a list of products
    (the tool's default when None); further options are passed on. Returns the
    launch plan as a dictionary, or None if it is not among the products."""
    out = os.fspath(out)
    with tempfile.TemporaryDirectory() as folder:
        command = [find_tool("lpfa-compile", bin_dir),
                   _source(module, folder), "-o", out, f"--chip={chip}"]
        if emit is not None:
            command.append(f"--emit={','.join(emit)}")
        _execute(command + list(_flags(options)))
    plan = Path(out, "plan.json")
    return json.loads(plan.read_text()) if plan.exists() else None


def _arguments(args, folder):
    """Arrays as --arg, written into a folder; tuples of sizes as --size."""
    for i, arg in enumerate(args):
        if isinstance(arg, tuple):
            yield f"--size={'x'.join(map(str, arg))}"
            continue
        path = os.path.join(folder, f"arg{i}.npy")
        np.save(path, _storage(arg))
        yield f"--arg={path}"


def _results(folder):
    paths = sorted(Path(folder).glob("result*.npy"),
                   key=lambda p: int(p.stem[len("result"):]))
    return [np.load(path) for path in paths]


def run(module, entry, args, device="reference", out=None, bin_dir=None,
        **options):
    """Runs the function `entry` of a module with lpfa-run.

    `module` is a path or the text of a module, `args` its arrays in order;
    narrow floats are uint8 codes or arrays of ml_dtypes. Further options are
    passed on: schedule="random", seed=3. Returns the list of results; they
    stay in the folder `out` if one is given."""
    with tempfile.TemporaryDirectory() as folder:
        results = os.path.join(folder, "out") if out is None else out
        _execute([find_tool("lpfa-run", bin_dir), _source(module, folder),
                  f"--entry={entry}", f"--device={device}",
                  *_arguments(map(np.asarray, args), folder),
                  f"--out={os.fspath(results)}", *_flags(options)])
        return _results(results)


def launch(plan, args, function=None, out=None, bin_dir=None, **options):
    """Launches a function of a compiled plan on a GPU with lpfa-launch.

    `plan` is the path of a plan.json, `function` the name where it has
    several; `args`, `out` and what is returned are as for `run`. Further
    options are passed on: offset=16. A tuple of sizes in `args` stands for a
    tensor of random values."""
    with tempfile.TemporaryDirectory() as folder:
        results = os.path.join(folder, "out") if out is None else out
        _execute([find_tool("lpfa-launch", bin_dir), os.fspath(plan),
                  *_arguments(args, folder), f"--out={os.fspath(results)}",
                  *_flags({"function": function, **options})])
        return _results(results)


def benchmark(plan, args, function=None, bin_dir=None, **options):
    """Times a function of a compiled plan on a GPU with lpfa-launch; arguments
    as for `launch`. Returns what it prints as JSON: a dictionary with times in
    microseconds, GB/s and the fraction of a copy."""
    with tempfile.TemporaryDirectory() as folder:
        done = _execute([find_tool("lpfa-launch", bin_dir), os.fspath(plan),
                         *_arguments(args, folder), "--benchmark=json",
                         *_flags({"function": function, **options})])
    return json.loads(done.stdout)
