#!/usr/bin/env bash
# Configures and builds: build.sh [TARGET...], all targets by default.
# LPFA_PRESET names the CMake preset, LPFA_BUILD_DIR the build folder.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${LPFA_PRESET:-release}
build=${LPFA_BUILD_DIR:-build/$preset}
options=()
if command -v ccache >/dev/null; then
  options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache)
fi
mkdir -p "$(dirname "$build")"
echo "build: $build"
cmake --preset "$preset" -B "$build" "${options[@]}" >"$build.log" 2>&1 || {
  cat "$build.log" >&2
  exit 1
}
cmake --build "$build" --target "${@:-all}"
