#!/usr/bin/env bash
# Sets up, builds what the main job needs and runs it: demo.sh [--queries=N ...]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${LPFA_BUILD_DIR:-build/${LPFA_PRESET:-dev}}

bash scripts/setup.sh
bash scripts/build.sh lpfa-compile lpfa-run
LPFA_BIN=$build/bin PYTHONPATH=python PYTHONDONTWRITEBYTECODE=1 \
  .venv/bin/python3 scripts/demo.py "$@"
