#!/usr/bin/env bash
# Tests the Python package: installs its wheel into an empty environment without a network, and runs its
# tests, the examples of its documentation and two type checkers.
#
#   scripts/python.sh [--wheel FILE] [--cache DIR] [--spark]
#
# --wheel FILE  the wheel [default: built without optimisation by scripts/build_wheel.sh]
# --cache DIR   the folder for the packages that the tests need [default: toolroute/python in the user's
#               cache folder]
# --spark       also installs Spark (a download of 460 MB), whose test also needs java; otherwise that test is
#               SKIPPED if Spark is missing
#
# The packages that the tests need are installed from PyPI the first time; if it cannot be reached, the
# tests are SKIPPED, and the wheel is only installed and used. The last line is "N passed, N failed".
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
wheel=
cache=${XDG_CACHE_HOME:-$HOME/.cache}/toolroute/python
packages=(
    anthropic==2.14.0
    fastmcp==4.2.3
    langchain==1.4.7
    langgraph-bigtool==0.0.3
    llama-index-core==0.14.25
    mcp==2.3.0
    mypy==2.4.1
    numpy
    openai-agents==0.24.0
    pyarrow==26.0.1
    pydantic-ai-slim==2.68.0
    pyright==1.1.414
    pytest==9.2.0
    'ray[data]==2.60.0'
    smolagents==1.26.0
)
spark=

while (($#)); do
    case $1 in
        --wheel) wheel=$(realpath "${2:?"--wheel takes a file"}"); shift 2 ;;
        --cache) cache=${2:?"--cache takes a folder"}; shift 2 ;;
        --spark) spark=1; shift ;;
        *) printf 'unknown argument %s; see the head of %s\n' "$1" "$0" >&2 && exit 2 ;;
    esac
done
[[ -n $wheel ]] || wheel=$(scripts/build_wheel.sh --dev | tail -n 1)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0
# Runs one check and counts it.
check() {
    local name=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        passed=$((passed + 1))
        printf '%s: ok\n' "$name"
    else
        failed=$((failed + 1))
        tail -n 40 "$work/log" >&2
        printf '%s: FAILED\n' "$name"
    fi
}

# Counts the tests of a pytest run.
tests() {
    local name=$1 counts
    shift
    "$@" >"$work/log" 2>&1 || tail -n 60 "$work/log" >&2
    counts=$(tail -n 1 "$work/log")
    grep '^SKIPPED' "$work/log" >&2 || true
    printf '%s: %s\n' "$name" "$counts"
    [[ $counts =~ ([0-9]+)\ passed ]] && passed=$((passed + BASH_REMATCH[1]))
    if [[ $counts =~ ([0-9]+)\ failed ]]; then failed=$((failed + BASH_REMATCH[1])); fi
    if [[ $counts =~ ([0-9]+)\ error ]] || ! [[ $counts =~ passed ]]; then failed=$((failed + 1)); fi
}

# An environment that contains only the wheel.
python3 -m venv "$work/empty"
check "install without a network" env PIP_NO_INDEX=1 "$work/empty/bin/pip" install --quiet "$wheel"
check "a selection" "$work/empty/bin/python" -c '
import toolroute
tools = [{"name": "send_email", "description": "Sends an email"}, {"name": "read", "description": "Reads a file"}]
assert toolroute.Router(tools).select("mail this to Dana", k=1)[0].tool is tools[0]'
check "the command" "$work/empty/bin/toolroute" --version

if [[ $(cat "$cache/installed" 2>/dev/null || true) != "${packages[*]}" ]]; then
    if python3 -m venv --clear "$cache/venv" &&
        "$cache/venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}" >&2; then
        printf '%s\n' "${packages[*]}" >"$cache/installed"
    else
        printf '!! SKIPPED: the packages of the tests cannot be installed\n' >&2
        printf '%d passed, %d failed\n' "$passed" "$failed"
        exit $((failed > 0))
    fi
fi
if [[ -n $spark ]]; then
    "$cache/venv/bin/pip" install --quiet --disable-pip-version-check pyspark==4.3.0 >&2
fi
# The wheel is installed in its own folder, so that the cached environment does not change.
"$cache/venv/bin/pip" install --quiet --no-index --no-deps --target "$work/site" "$wheel"
export PYTHONPATH=$work/site
python=$cache/venv/bin/python
tests "tests" "$python" -m pytest -q -rs -p no:cacheprovider -c /dev/null --rootdir crates/python/tests crates/python/tests
tests "examples of the documentation" "$python" -m pytest -q -p no:cacheprovider -c /dev/null --rootdir "$work/site" \
    --doctest-modules "$work/site/toolroute" --ignore "$work/site/toolroute/__main__.py"
check "mypy --strict" "$cache/venv/bin/mypy" --strict --cache-dir "$work/mypy" crates/python/python/toolroute \
    crates/python/tests/typed_example.py
check "pyright, strict" "$cache/venv/bin/pyright" --project crates/python --pythonpath "$python"
printf '%d passed, %d failed\n' "$passed" "$failed"
exit $((failed > 0))
