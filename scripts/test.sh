#!/usr/bin/env bash
# Sets up, builds, runs all tests, and ends with "N passed, N failed, N skipped".
set -uo pipefail
cd "$(dirname "$0")/.."
preset=${LPFA_PRESET:-dev}
build=${LPFA_BUILD_DIR:-build/$preset}
results=$PWD/$build/results

bash scripts/setup.sh || exit 1
bash scripts/build.sh all lpfa-test-depends || exit 1

# Each runner writes its results in JUnit's format, which summarize.py adds up.
# A runner that died counts as a failure even when its results look well.
rm -rf "$results"
mkdir -p "$results"
status=0
echo "test: IR and tools, with lit"
.venv/bin/lit -v "$build/test" --xunit-xml-output "$results/lit.xml" || status=1
for program in "$build"/test/Unit/*/*Tests; do
  echo "test: $(basename "$program")"
  "$program" --gtest_brief=1 --gtest_output="xml:$results/$(basename "$program").xml" || status=1
done
echo "test: Python"
PATH=$PWD/$build/bin:$PATH PYTHONPATH=$PWD/python PYTHONDONTWRITEBYTECODE=1 LPFA_TOOLS_DIR=$PWD/$build/bin \
  .venv/bin/python3 -m pytest -q -rfE -p no:cacheprovider --junitxml "$results/pytest.xml" test/Python test/Integration test/Peers || status=1

.venv/bin/python3 scripts/summarize.py "$results/lit.xml" "$results"/*Tests.xml "$results/pytest.xml" || status=1
exit $status
