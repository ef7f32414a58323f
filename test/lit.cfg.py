# lit's configuration for lpfa's tests: docs/Development.md says how to run them
# and which names a test may use.

import ctypes
import glob
import os
import re
import shutil
import subprocess

import lit.formats

config.name = "lpfa"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".ptx", ".test"]
config.test_source_root = os.path.dirname(__file__)

# Unit tests and Python's tests have runners of their own; Inputs are what tests
# read.
config.excludes = ["Inputs", "Unit", "Python", "Consumer", "FakeCuda", "RuntimeConsumer", "data"]


def find_ptxas():
    """The newest ptxas of the Python environment's and the installed toolkits',
    with its version, or None."""
    environment = os.path.dirname(os.path.dirname(config.python_executable))
    candidates = glob.glob(
        os.path.join(environment, "lib/python*/site-packages/nvidia/*/bin/ptxas")
    )
    candidates += glob.glob("/usr/local/cuda*/bin/ptxas")
    candidates.append(shutil.which("ptxas"))
    best = None
    for path in filter(None, candidates):
        try:
            text = subprocess.run(
                [path, "--version"], capture_output=True, text=True, timeout=60
            ).stdout
        except OSError:
            continue
        match = re.search(r"release (\d+)\.(\d+)", text)
        version = tuple(map(int, match.groups())) if match else None
        if version and (best is None or version > best[1]):
            best = (path, version)
    return best


# %python has numpy and ml_dtypes.
config.substitutions.append(("%python", config.python_executable))
config.substitutions.append(("%lpfa_source", config.lpfa_source_dir))
config.substitutions.append(("%lpfa_build", config.lpfa_binary_dir))
config.substitutions.append(("%lpfa_libs", config.lpfa_libs_dir))
config.substitutions.append(("%llvm_tools", config.llvm_tools_dir))
config.substitutions.append(("%fake_cuda", config.lpfa_binary_dir + "/test/FakeCuda"))
config.substitutions.append(
    ("%consumer_options", f"-DCMAKE_CXX_COMPILER={config.cxx_compiler}")
)

ptxas = find_ptxas()
if ptxas:
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas[0]))
    config.environment["LPFA_PTXAS"] = ptxas[0]
    if ptxas[1] >= (13, 4):
        config.available_features.add("ptxas-13.4")
    beside = os.path.join(os.path.dirname(ptxas[0]), "nvdisasm")
    if os.path.exists(beside) or shutil.which("nvdisasm"):
        config.available_features.add("nvdisasm")
if os.path.exists("/usr/local/cuda/include/cuda_fp8.hpp"):
    config.available_features.add("cuda-toolkit")
    config.substitutions.append(("%cuda_include", "/usr/local/cuda/include"))
try:
    ctypes.CDLL("libcuda.so.1")
except OSError:
    config.available_features.add("no-cuda-driver")
if os.path.exists(os.path.join(config.lpfa_source_dir, ".git")):
    config.available_features.add("git-checkout")
if config.lpfa_build_compiler:
    config.available_features.add("compiler")
if config.lpfa_sanitizer:
    config.available_features.add("sanitizer")
    # MLIR's uniqued storage and the JIT live until the process ends; Debian's
    # libLLVM uses allocators whose memory our code poisoned without knowing.
    config.environment["ASAN_OPTIONS"] = "detect_leaks=0:allow_user_poisoning=0"

# Tools are called by name: ours, and LLVM's FileCheck, not, split-file, mlir-opt.
config.environment["PATH"] = os.pathsep.join(
    [config.lpfa_tools_dir, config.llvm_tools_dir, os.environ.get("PATH", "")]
)
config.environment["PYTHONPATH"] = os.path.join(config.lpfa_source_dir, "python")
config.environment["PYTHONDONTWRITEBYTECODE"] = "1"
