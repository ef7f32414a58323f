"""Writes docs/Stages.md: one attention op through all stages, made by the tools.

    generate_stages.py --bin=DIR OUTPUT_DIR
"""

import argparse
import pathlib
import re
import subprocess
import tempfile
import textwrap

CLEAN = ["--canonicalize", "--cse"]

SOURCE = """\
func.func @attention(
    %q: tensor<2x8x512x64xf8E4M3FN>, %sq: tensor<2x8x4x1x32x4x4xf8E8M0FNU>,
    %k: tensor<2x8x1024x64xf8E4M3FN>, %sk: tensor<2x8x8x1x32x4x4xf8E8M0FNU>,
    %v: tensor<2x8x1024x64xf8E4M3FN>, %sv: tensor<2x8x1x8x32x4x4xf8E8M0FNU>)
    -> (tensor<2x8x512x64xbf16>, tensor<2x8x512xf32>) {
  %o, %lse = lpfa.attention %q scaled %sq, %k scaled %sk, %v scaled %sv
      {scale = 0.125 : f32}
      : (tensor<2x8x512x64xf8E4M3FN>, tensor<2x8x4x1x32x4x4xf8E8M0FNU>,
         tensor<2x8x1024x64xf8E4M3FN>, tensor<2x8x8x1x32x4x4xf8E8M0FNU>,
         tensor<2x8x1024x64xf8E4M3FN>, tensor<2x8x1x8x32x4x4xf8E8M0FNU>)
      -> (tensor<2x8x512x64xbf16>, tensor<2x8x512xf32>)
  return %o, %lse : tensor<2x8x512x64xbf16>, tensor<2x8x512xf32>
}
"""

INTRODUCTION = """\
Each stage of the IR answers one question, and each pass moves the program by one stage. This page follows one op, with the IR that the tools print. To try it, save the module below as `attention.mlir` and run the commands one after the other. The op has one query tile per work tile here (`query-tiles=1`) to keep the page short; two of them alternate by default.
"""

def find(lines, pattern, numbers):
    """The first of the line numbers whose line matches."""
    return next(i for i in numbers if re.search(pattern, lines[i]))


def cut(text, first, last):
    """The lines from the one that matches `first` to the next that matches
    `last`."""
    lines = text.splitlines()
    start = find(lines, first, range(len(lines)))
    end = find(lines, last, range(start, len(lines)))
    return textwrap.dedent("\n".join(lines[start : end + 1]))


def matching(text, pattern):
    """The lines that match, without their indentation."""
    return "\n".join(l.strip() for l in text.splitlines() if re.search(pattern, l))


def product(text, mma, wait, commit):
    """From the second wait before an MMA to the commit after it."""
    lines = text.splitlines()
    start = middle = find(lines, mma, range(len(lines)))
    for _ in range(2):
        start = find(lines, wait, range(start - 1, -1, -1))
    end = find(lines, commit, range(middle, len(lines)))
    return textwrap.dedent("\n".join(lines[start : end + 1]))


def section(title, text, command=None, code="", language="mlir"):
    parts = [f"## {title}", text.strip()]
    if command:
        parts.append(f"```\n{command}\n```")
    parts.append(f"```{language}\n{code.rstrip()}\n```")
    return "\n\n".join(parts)


def write_page(tools, folder):
    # S = Q K^T is the MMA whose A operand is in shared memory, by a descriptor.
    def optimize(source, target, *options):
        command = [tools / "lpfa-opt", folder / source, *options, "-o", folder / target]
        subprocess.run(command, check=True, capture_output=True, text=True)
        shown = " ".join(["lpfa-opt", source, *options, "-o", target])
        return shown, (folder / target).read_text()

    (folder / "attention.mlir").write_text(SOURCE)
    sections = [
        section(
            "tensor: what?",
            "Attention over MX operands: each of Q, K and V is a pair of elements and scales, here with the scales in the blocked layout that the tensor core reads. The op's meaning is its lowering to upstream dialects (`lpfa-run --device=reference`).",
            code=SOURCE,
        )
    ]

    command, text = optimize(
        "attention.mlir", "tile.mlir", "--lpfa-form-kernels=query-tiles=1", *CLEAN
    )
    sections.append(
        section(
            "tile: how, in one thread's words?",
            "A kernel, and on the host side its launch. The kernel is a sequential program over tile values: for each work tile, a loop over tiles of keys with the running maximum, sum and output as loop-carried values. Nothing says yet who does what.",
            command,
            text,
        )
    )

    command, text = optimize(
        "tile.mlir", "roles.mlir", "--lpfa-assign-roles", *CLEAN
    )
    sections.append(
        section(
            "roles: who?",
            "One region for each team of warps, in program order each. Tiles that cross from one role to another are channels (rings with one writer) or accumulators (one buffer whose ownership passes). The order of the ops in a role is the schedule: reorder them in the file, run the next passes, and they follow. `shift(1)` runs an op one step ahead: the tensor core begins the next step's S before it finishes this step's O.",
            command,
            cut(text, r"lpfa\.kernel", r"^  }$"),
        )
    )

    command, text = optimize("roles.mlir", "placed.mlir", "--lpfa-place-tiles")
    columns = re.search(r"tensor_columns\((\d+)\)", text).group(1)
    shared = int(re.search(r"shared_bytes\((\d+)\)", text).group(1))
    sections.append(
        section(
            "placed: where?",
            f"Each tile gets its range of bytes of shared memory or of the 512 columns of tensor memory; {columns} columns and {shared:,} bytes here. The roles are unchanged; these are the declarations.",
            command,
            matching(text, r"lpfa\.(channel|accumulator|scratch) "),
        )
    )

    command, text = optimize("placed.mlir", "synchronized.mlir", "--lpfa-insert-barriers")
    sections.append(
        section(
            "synchronized: when?",
            "Acquire, put, get and release have become arrivals and waits, at barriers that each name what they guard. A wait names the use of the barrier that it waits for by a cursor; `back(3)` is the use three before. No barrier stands where another one implies its order. `lpfa-verify-schedule` proves what the pass made, from the barriers as they stand, and refuses what someone changes for the worse; `lpfa-print-schedule` lists it. First the barriers, then the role that feeds the tensor core.",
            command,
            matching(text, r"= lpfa\.barrier ") + "\n\n" + cut(
                text, r'lpfa\.role "mma"', r"^    }$"
            ),
        )
    )

    command, text = optimize(
        "synchronized.mlir", "threads.mlir", "--lpfa-distribute-to-threads", *CLEAN
    )
    sections.append(
        section(
            "threads: by which thread?",
            "A `gpu.func` in which every thread has its own vectors, and a cursor has become a slot and a phase. This is S = Q K^T of one step: wait for Q and K, copy their scales to tensor memory, two MMAs of 32 elements of the head dimension each, and a commit that arrives when they are done.",
            command,
            product(
                text,
                r"lpfa\.tcgen05\.mma .* : i64",
                r"lpfa\.mbarrier\.wait",
                r"lpfa\.tcgen05\.commit",
            ),
        )
    )

    command, text = optimize(
        "threads.mlir", "nvvm.mlir", "--lpfa-threads-to-nvvm=chip=sm_100a"
    )
    sections.append(
        section(
            "nvvm: in which instruction?",
            "The same in the `nvvm` and `llvm` dialects alone.",
            command,
            product(
                text,
                r"nvvm\.tcgen05\.mma\.block_scale .*\(!llvm\.ptr<6>, i64, i64",
                r"mbarrier\.try_wait",
                r"nvvm\.tcgen05\.commit",
            ),
        )
    )

    command = [
        tools / "lpfa-compile",
        folder / "attention.mlir",
        "--query-tiles=1",
        "--emit=ptx",
        "-o",
        folder / "out",
    ]
    subprocess.run(command, check=True, capture_output=True, text=True)
    (ptx,) = (folder / "out").glob("*.ptx")
    sections.append(
        section(
            "PTX",
            "And as PTX, after LLVM's optimizations. `lpfa-compile` goes through all stages at once and writes the cubin and the launch plan too.",
            "lpfa-compile attention.mlir --query-tiles=1 --emit=ptx -o out",
            product(
                ptx.read_text(),
                r"tcgen05\.mma\S*block_scale\S*\s+\[%r\d+\], %rd",
                r"mbarrier\.try_wait",
                r"tcgen05\.commit",
            ).expandtabs(4),
            "ptx",
        )
    )
    banner = "<!-- Generated by `ninja lpfa-doc`: scripts/generate_stages.py. -->"
    page = [banner, "# One attention op through all stages", INTRODUCTION.strip()]
    return "\n\n".join(page + sections) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("output", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        page = write_page(arguments.bin, pathlib.Path(folder))
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "Stages.md").write_text(page)


if __name__ == "__main__":
    main()
