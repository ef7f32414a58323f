#!/usr/bin/env bash
# Makes the kernels of others that the simulator is tried on, into a folder
# outside the tree:
#   scripts/peers/make.sh FOLDER [tlx] [triton] [clang]    (all without names)
# and tests them with
#   LPFA_PEERS_DIR=FOLDER pytest test/Peers        (as scripts/test.sh calls it)
# Compilers come from PyPI, into environments in FOLDER; clang is Debian's, with
# the headers of an installed CUDA toolkit. No GPU is needed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if (($# == 0)); then
  sed -n '2,8s/^# \?//p' "$0"
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

(($#)) || set -- tlx triton clang
for kind in "$@"; do
  case $kind in
  tlx | triton | clang) "make_$kind" ;;
  *)
    echo "make.sh: no kernels called '$kind'" >&2
    exit 1
    ;;
  esac
done
