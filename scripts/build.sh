#!/usr/bin/env bash
# Configures and builds: build.sh [TARGET...], all targets by default.
# LPFA_PRESET names the CMake preset, LPFA_BUILD_DIR the build folder,
# LPFA_CMAKE_OPTIONS further options of CMake.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${LPFA_PRESET:-dev}
build=${LPFA_BUILD_DIR:-build/$preset}
mkdir -p "$(dirname "$build")"
echo "build: $build"
read -ra options <<<"${LPFA_CMAKE_OPTIONS:-}"
cmake --preset "$preset" -B "$build" "${options[@]}" >"$build.log" 2>&1 || {
  cat "$build.log" >&2
  exit 1
}
cmake --build "$build" --target "${@:-all}"
