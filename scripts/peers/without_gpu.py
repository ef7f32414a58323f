# ===- without_gpu.py - Compiles Triton kernels without a GPU --------------===#
#
# Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===-----------------------------------------------------------------------===#
"""Compiles kernels of Triton, or of Meta's extension TLX, to PTX for sm_100a on
a machine that has neither a GPU nor PyTorch.

Beside NAME.ptx stands NAME.json with what a launch needs: the entry, threads,
shared memory, and the arguments in order. In PTX a tensor descriptor is its
tensor map, its sizes (u32) and its strides in elements (u64); two pointers to
scratch memory, which no kernel here uses, come last."""

import json
import sys
import types
from pathlib import Path


class _Absent(types.ModuleType):
    """A package that tutorials import for their host side, which is not run."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        members = {"__getattr__": lambda self, name: None, "Function": object}
        return type(name, (), members)


for _name in ("torch", "torchao", "torchao.prototype",
              "torchao.prototype.mx_formats",
              "torchao.prototype.mx_formats.mx_tensor"):
    sys.modules[_name] = _Absent(_name)

import triton  # noqa: E402  (after the packages it looks for)
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

# Tutorials ask for the device when they are imported.
triton.runtime.driver.set_active(
    types.SimpleNamespace(get_active_torch_device=lambda: None))


def compile_kernel(function, name, kinds, constants, folder, **options):
    """Compiles `function` into folder/name.ptx and name.json. `kinds` are the
    types of its arguments as Triton writes them, `constants` its constexprs."""
    signature = {a: "constexpr" if a in constants else kinds[a]
                 for a in function.arg_names}
    kernel = triton.compile(ASTSource(function, signature, constants),
                            target=GPUTarget("cuda", 100, 32), options=options)
    meta = kernel.metadata
    assert meta.global_scratch_size == 0 and meta.num_ctas == 1, name
    descriptors = iter(meta.tensordesc_meta or ())
    arguments = []
    for argument, kind in signature.items():
        if kind == "constexpr":
            continue
        described = {"name": argument, "type": kind}
        if kind.startswith("tensordesc"):
            described.update(next(descriptors))
        arguments.append(described)
    folder = Path(folder)
    (folder / f"{name}.ptx").write_text(kernel.asm["ptx"])
    (folder / f"{name}.json").write_text(json.dumps(
        {"entry": meta.name, "threads": 32 * meta.num_warps,
         "shared": meta.shared, "arguments": arguments,
         "constants": constants, "compiler": f"triton {triton.__version__}"},
        indent=1))
    print(f"{name}: {meta.name}, {32 * meta.num_warps} threads, "
          f"{meta.shared} bytes of shared memory")
