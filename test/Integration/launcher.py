# ===- launcher.py - Runs a launch plan with lpfa-sim ----------------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""A launcher of its own: runs what lpfa-compile wrote with lpfa-sim.

It knows plan.json and launch.json alone, and puts a guard of chosen bytes
before and after every buffer, so that a kernel that reads beyond a tensor
shows in its result, and one that writes there in the guard."""

import ctypes
import json
import os
import subprocess
from pathlib import Path

import numpy as np

GUARD = 4096  # bytes on either side; a multiple of any alignment
MULTIPROCESSORS = 2  # few, so that persistent kernels loop

DTYPES = {"bf16": np.uint16, "f16": np.float16, "f32": np.float32,
          "i32": np.int32, "f8E4M3FN": np.uint8, "f8E5M2": np.uint8,
          "f8E8M0FNU": np.uint8}
PACKED = {"f6E2M3FN": 6, "f6E3M2FN": 6, "f4E2M1FN": 4}  # bits of a code
MAP_ELEMENTS = {"i8": "u8", "i16": "u16", "i32": "s32"}

OPERATIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "ceildiv": lambda a, b: -(-a // b),
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "min": min,
    "max": max,
    "eq": lambda a, b: int(a == b),
    "ne": lambda a, b: int(a != b),
    "lt": lambda a, b: int(a < b),
    "le": lambda a, b: int(a <= b),
}


def evaluate(formula, arrays):
    """The value of a formula of plan.json."""
    if isinstance(formula, int):
        return formula
    name, *operands = formula
    if name == "dim":
        return arrays[operands[0]].shape[operands[1]]
    if name == "stride":
        array = arrays[operands[0]]
        return array.strides[operands[1]] // array.itemsize
    if name == "multiprocessors":
        return MULTIPROCESSORS
    values = [evaluate(x, arrays) for x in operands]
    if name == "select":
        return values[1] if values[0] else values[2]
    return OPERATIONS[name](*values)


def pack(codes, bits):
    """Codes, one a byte, without gaps, lowest bits first."""
    digits = np.unpackbits(codes.reshape(-1, 1), axis=1, bitorder="little")
    return np.packbits(digits[:, :bits], bitorder="little")


def unpack(data, bits, count):
    digits = np.unpackbits(data, bitorder="little")[:count * bits]
    return np.packbits(digits.reshape(-1, bits), axis=1,
                       bitorder="little").ravel()


def span(array):
    """The bytes from an array's first element to its last, gaps too; strides
    are not negative."""
    if array.size == 0:
        return np.zeros(0, np.uint8)
    last = sum((n - 1) * s for n, s in zip(array.shape, array.strides))
    memory = (ctypes.c_uint8 * (last + array.itemsize)).from_address(
        array.ctypes.data)
    return np.frombuffer(memory, np.uint8)


class Memory:
    """Buffers as files in a folder, one for each of the plan's, `shift` bytes
    behind a place that is aligned to any access."""

    def __init__(self, folder, fill, shift):
        self.folder = Path(folder)
        self.fill = fill
        self.before = GUARD + shift

    def path(self, buffer):
        return self.folder / f"{buffer[0]}{buffer[1]}.npy"

    def write(self, buffer, data):
        np.save(self.path(buffer), np.concatenate([
            np.full(self.before, self.fill, np.uint8), data,
            np.full(GUARD, self.fill, np.uint8)]))

    def read(self, buffer):
        data = np.load(self.path(buffer))
        for guard in (data[:self.before], data[-GUARD:]):
            assert np.all(guard == self.fill), f"written beyond {buffer}"
        return data[self.before:-GUARD]


def parameter(description, memory, value):
    """A parameter of plan.json as launch.json has it."""
    (kind, content), = description.items()
    if kind in ("i32", "i64"):
        return {"type": f"s{kind[1:]}", "value": value(content)}
    buffer = content if kind == "pointer" else content["buffer"]
    place = {"buffer": memory.path(buffer).stem, "byte_offset": memory.before}
    if kind == "pointer":
        return place
    swizzle = content["swizzle"]
    return {"tensor_map": {
        **place,
        "element": MAP_ELEMENTS.get(content["element"], content["element"]),
        "dims": [value(x) for x in content["sizes"]],
        "strides": [value(x) for x in content["strides"]],
        "box": content["box"],
        "swizzle": f"{swizzle}b" if swizzle else "none",
        "fill": content["fill"],
    }}


def launch(folder, function, arrays, simulator, fill=0, options=(), shift=0):
    """Runs a function of folder/plan.json; its results.

    `fill` is the byte in guards and in fresh buffers, `shift` how many bytes
    buffers are off the best alignment. Arrays keep their strides; those of
    types narrower than a byte are codes, one a byte, here and in results."""
    plan = json.loads(Path(folder, "plan.json").read_text())
    assert plan["schema_version"] == 1
    entry, = (f for f in plan["functions"] if f["function"] == function)
    value = lambda formula: evaluate(formula, arrays)
    for check in entry["checks"]:
        assert value(check["condition"]), check["message"]
    work = Path(folder, f"launch-{len(list(Path(folder).iterdir()))}")
    work.mkdir()
    memory = Memory(work, fill, shift)
    inputs = [pack(x, PACKED[a["element"]]) if a["element"] in PACKED
              else span(x) for x, a in zip(arrays, entry["arguments"])]
    for i, data in enumerate(inputs):
        memory.write(("argument", i), data)
    results = []
    for i, result in enumerate(entry["results"]):
        shape = [value(x) for x in result["shape"]]
        bits = PACKED.get(result["element"])
        dtype = np.dtype(DTYPES.get(result["element"], np.uint8))
        size = -(-int(np.prod(shape)) * (bits or 8 * dtype.itemsize) // 8)
        memory.write(("result", i), np.full(size, fill, np.uint8))
        results.append((shape, dtype, bits))
    for i, temporary in enumerate(entry["temporaries"]):
        size = value(temporary["bytes"])
        memory.write(("temporary", i), np.full(size, fill, np.uint8))
    for i, kernel in enumerate(entry["kernels"]):
        grid = [value(x) for x in kernel["grid"]]
        if 0 in grid:
            continue
        parameters = [parameter(p, memory, value) for p in kernel["parameters"]]
        used = {p.get("tensor_map", p).get("buffer") for p in parameters}
        description = {
            "entry": kernel["entry"],
            "grid": grid,
            "block": kernel["block"],
            "cluster": kernel["cluster"],
            "dynamic_shared_bytes": kernel["dynamic_shared_bytes"],
            "parameters": parameters,
            "buffers": {name: {"file": f"{name}.npy", "out": True}
                        for name in sorted(used - {None})},
        }
        path = work / f"kernel{i}.json"
        path.write_text(json.dumps(description))
        done = subprocess.run(
            [simulator, os.fspath(Path(folder, kernel["module"] + ".ptx")),
             f"--launch={path}", f"--out={work}", *options],
            capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    for i, data in enumerate(inputs):
        assert np.array_equal(memory.read(("argument", i)), data)
    for i in range(len(entry["temporaries"])):
        memory.read(("temporary", i))

    def result(i, shape, dtype, bits):
        data = memory.read(("result", i))
        if bits:
            data = unpack(data, bits, int(np.prod(shape)))
        return data.view(dtype).reshape(shape)
    return [result(i, *description) for i, description in enumerate(results)]
