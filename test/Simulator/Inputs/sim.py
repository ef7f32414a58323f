"""Runs PTX text with lpfa-sim on numpy arrays, for the tests of this folder."""

import json
import os
import subprocess
import tempfile

import numpy as np

HEADER = ".version 8.8\n.target sm_100a\n.address_size 64\n"

ELEMENTS = {"uint8": "u8", "uint16": "u16", "uint32": "u32", "int32": "s32",
            "float16": "f16", "float32": "f32", "float64": "f64",
            "uint64": "u64", "int64": "s64"}


# What lpfa-sim wrote, run by run.
log = []


class Failure(Exception):
    """lpfa-sim's exit code was 1; the text is what it wrote to stderr."""


class Out:
    """A fresh result buffer."""

    def __init__(self, shape, dtype):
        self.shape, self.dtype = tuple(shape), np.dtype(dtype).name


class InOut:
    """A buffer that is read, and returned as the kernel left it."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype


class TensorMap:
    """A tensor map over an array or an Out, dimensions as numpy's: the last one
    is contiguous. `element` overrides the type, `strides` are in bytes."""

    def __init__(self, array, box, swizzle="none", element=None, dims=None,
                 strides=None, **more):
        self.array = array
        shape = list(dims if dims is not None else array.shape)
        item = np.dtype(array.dtype).itemsize
        if strides is None:
            strides, step = [], item
            for d in reversed(shape[1:]):
                step *= d
                strides.append(step)
        self.text = dict(element=element or ELEMENTS[np.dtype(array.dtype).name],
                         dims=shape[::-1], strides=strides, box=list(box)[::-1],
                         swizzle=swizzle, **more)


def scalar(kind, value):
    return {"type": kind, "value": value}


def write(folder, body, parameters, block=32, grid=1, cluster=None, shared=0,
          entry="kernel", registers=None):
    """Writes kernel.ptx, launch.json and the arrays to the folder, and returns
    the names of the results in order. The PTX text `body` gets the header if it
    lacks one. A structure is
    {"bytes": hex, "fields": [(offset, parameter), ...]}."""
    as_list = lambda v: list(v) if isinstance(v, (tuple, list)) else [v]
    names, outs = {}, []

    def describe(array):
        key = id(array)
        if key not in names:
            names[key] = f"b{len(names)}"
            if isinstance(array, (Out, InOut)):
                outs.append(names[key])
            if not isinstance(array, Out):
                np.save(f"{folder}/{names[key]}.npy",
                        getattr(array, "array", array))
        if isinstance(array, InOut):
            return dict(buffer=names[key] + ".npy", out=True)
        if isinstance(array, Out):
            return dict(buffer=names[key], out=True,
                        shape=list(array.shape), dtype=array.dtype)
        return dict(buffer=names[key] + ".npy")

    def list_parameter(p):
        if isinstance(p, TensorMap):
            return {"tensor_map": {**p.text, **describe(p.array)}}
        if isinstance(p, dict):
            fields = [{"offset": offset, **list_parameter(field)}
                      for offset, field in p.get("fields", ())]
            return {**p, "fields": fields} if fields else p
        return describe(p)

    launch = dict(entry=entry, grid=as_list(grid), block=as_list(block),
                  dynamic_shared_bytes=shared,
                  parameters=[list_parameter(p) for p in parameters])
    if cluster:
        launch["cluster"] = as_list(cluster)
    if registers:
        launch["registers"] = registers
    with open(f"{folder}/launch.json", "w") as f:
        json.dump(launch, f)
    with open(f"{folder}/kernel.ptx", "w") as f:
        f.write(body if ".version" in body else HEADER + body)
    return outs


def run(body, parameters, options=(), **more):
    """Runs a kernel as `write` writes it, and returns its results in order.
    Raises Failure."""
    with tempfile.TemporaryDirectory() as folder:
        outs = write(folder, body, parameters, **more)
        done = subprocess.run(
            ["lpfa-sim", "kernel.ptx", "--launch=launch.json", "--out=out",
             *options], cwd=folder, capture_output=True, text=True)
        log.append(done)
        if done.returncode:
            if os.path.exists(f"{folder}/out"):
                raise AssertionError("results were written by a failed run")
            raise Failure(done.stderr + done.stdout)
        # Under the timing model not every CTA may have been run.
        if not os.path.exists(f"{folder}/out") and "--schedule=timed" in options:
            return None
        return [np.load(f"{folder}/out/{name}.npy") for name in outs]


def timing(*arguments, options=(), **more):
    """What the timing model says of a run."""
    run(*arguments, options=["--schedule=timed", "--report=json", *options], **more)
    return json.loads(log[-1].stdout)["timing"]


SCHEDULES = (["--schedule=eager"], ["--schedule=lazy"],
             ["--schedule=random", "--seed=1"], ["--schedule=random", "--seed=2"])


def run_all(*arguments, **more):
    """Runs under every schedule, checks that the results agree to the bit, and
    returns them."""
    first = None
    for schedule in SCHEDULES:
        results = run(*arguments, options=[*more.pop("options", ()), *schedule],
                      **more)
        if first is None:
            first = results
        for a, b in zip(first, results):
            if a.tobytes() != b.tobytes():
                raise AssertionError(f"{schedule} gives another result")
    return first


def fails(test, pattern, *arguments, **more):
    """Checks that the run fails and that stderr matches the pattern."""
    with test.assertRaises(Failure) as caught:
        run(*arguments, **more)
    test.assertRegex(str(caught.exception), pattern)
