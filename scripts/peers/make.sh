#!/usr/bin/env bash
# Makes the kernels of others that the simulator is tried on, into a folder
# outside the tree:
#   scripts/peers/make.sh FOLDER [tlx] [triton] [clang] [cutlass]   (all without names)
#   scripts/peers/make.sh FOLDER sentryward     a verifier of PTX; see sentryward.py
# and tests them with
#   LPFA_PEERS_DIR=FOLDER pytest test/Peers        (as scripts/test.sh calls it)
# Compilers come from PyPI, into environments in FOLDER; clang is Debian's, with
# the headers of an installed CUDA toolkit, whose nvcc compiles CUTLASS (minutes).
# No GPU is needed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if (($# == 0)); then
  sed -n '2,10s/^# \?//p' "$0"
  exit 1
fi
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
export TRITON_CACHE_DIR=$folder/cache PYTHONDONTWRITEBYTECODE=1

# A Python environment with the given packages, made once.
environment() {
  local path=$folder/environments/$1
  if [[ ! -e $path/done ]]; then
    python3 -m venv --clear "$path"
    "$path/bin/python" -m pip install -q --disable-pip-version-check "${@:2}"
    touch "$path/done"
  fi
}

make_tlx() {
  environment tlx fbtriton==3.7.4
  "$folder/environments/tlx/bin/python" "$here/tlx.py" "$folder"
}

make_triton() {
  environment triton triton==3.9.0
  "$folder/environments/triton/bin/python" "$here/triton_kernels.py" "$folder"
}

make_clang() {
  clang-22 -x cuda --cuda-path="${CUDA_HOME:-/usr/local/cuda}" -std=c++17 -O2 \
    --cuda-gpu-arch=sm_100a --cuda-device-only -S -Wno-unknown-cuda-version \
    "$here/../../test/Peers/Inputs/kernels.cu" -o "$folder/cuda_clang.ptx"
}

# A program that prints how an example is launched, and its kernel.
make_cutlass() {
  environment cutlass --no-deps nvidia-cutlass==4.2.0.0
  local source
  source=$(echo "$folder"/environments/cutlass/lib/python*/site-packages/cutlass_library/source)
  local examples=$source/examples/72_blackwell_narrow_precision_gemm
  for example in 72a_blackwell_nvfp4_bf16_gemm 72c_blackwell_mixed_mxfp8_bf16_gemm; do
    local name=cutlass_${example%%_*}
    mkdir -p "$folder/cache/$name"
    "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" -std=c++17 -O3 --expt-relaxed-constexpr -DNDEBUG \
      -gencode arch=compute_100a,code=compute_100a \
      -I "$source/include" -I "$source/tools/util/include" -I "$source/examples/common" \
      -DCUTLASS_ENABLE_DIRECT_CUDA_DRIVER_CALL=1 -DEXAMPLE="\"$examples/$example.cu\"" \
      --keep --keep-dir "$folder/cache/$name" "$here/cutlass_launch.cu" -o "$folder/$name"
    mv "$folder/cache/$name/cutlass_launch.ptx" "$folder/$name.ptx"
  done
}

# Another verifier of PTX; see sentryward.py.
make_sentryward() {
  environment sentryward sentryward==0.1.1
}

(($#)) || set -- tlx triton clang cutlass
for kind in "$@"; do
  case $kind in
  tlx | triton | clang | cutlass | sentryward) "make_$kind" ;;
  *)
    echo "make.sh: no kernels called '$kind'" >&2
    exit 1
    ;;
  esac
done
