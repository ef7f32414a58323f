#!/usr/bin/env bash
# Installs what lpfa needs on Debian 12: packages, and a Python environment in
# .venv. For root or with sudo; asks nothing; does nothing a second time.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  llvm-22-dev libmlir-22-dev mlir-22-tools llvm-22-tools # the libraries, mlir-tblgen, FileCheck
  clang-22 libclang-rt-22-dev lld-22 cmake ninja-build   # the compiler, its sanitizers, the build
  clang-format-22 git                                    # the format test
  libgtest-dev                                           # unit tests
  python3-venv
  chromium                                               # the test of reports
)

missing=()
for package in "${packages[@]}"; do
  if [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) != installed ]]; then
    missing+=("$package")
  fi
done
if ((${#missing[@]})); then
  echo "setup: installing ${missing[*]}"
  root=()
  if [[ $(id -u) -ne 0 ]]; then
    if ! command -v sudo >/dev/null; then
      echo "setup: these packages need root to install: ${missing[*]}" >&2
      exit 1
    fi
    root=(sudo)
  fi
  apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0)
  "${apt[@]}" update
  "${apt[@]}" install --no-install-recommends "${missing[@]}"
fi

# Debian's Python, whatever else is first in PATH: python3-venv belongs to it.
# A stamp holds the requirements that the environment was made for.
requirements=$(cat scripts/requirements.txt scripts/requirements-ptxas.txt)
if [[ ! -x .venv/bin/python3 || $(cat .venv/requirements 2>/dev/null) != "$requirements" ]]; then
  echo "setup: installing the Python environment .venv"
  /usr/bin/python3 -m venv --clear .venv
  .venv/bin/python3 -m pip install -q --disable-pip-version-check -r scripts/requirements.txt
  if ! .venv/bin/python3 -m pip install -q --disable-pip-version-check -r scripts/requirements-ptxas.txt; then
    echo "setup: no ptxas from PyPI; its tests are skipped unless a CUDA toolkit is installed" >&2
  fi
  echo "$requirements" >.venv/requirements
fi
echo "setup: done"
