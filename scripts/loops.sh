#!/usr/bin/env bash
# Tests a release binary from the prompt to the outcome, as an agent uses it: the gateway in front
# of scripted MCP servers, with the official Python SDK as its client. Checks that a tool that was
# not requested does not answer for another, that a declared chain of fallbacks runs, that applied
# weights keep all signals, that the fourth identical call is rejected, that the gateway's log is
# enough to learn from, and that on a busy machine a prompt is no slower with two threads than with
# one.
#
#   scripts/loops.sh [--json] [--binary FILE] [--no-timing]
#
# --binary FILE  the toolroute to test [default: that of `cargo build --release`, which is run]
# --no-timing    skips the timing on a busy machine, for builds without optimisation
#
# The last line is one JSON object. The exit code is 1 if a check fails. Installs the SDK once, in
# the user's cache folder.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/toolroute/loops
python_package=mcp==2.3.0

if [[ $(cat "$cache/installed" 2>/dev/null || true) != "$python_package" ]]; then
    mkdir -p "$cache"
    [[ -x $cache/venv/bin/python ]] || python3 -m venv "$cache/venv"
    "$cache/venv/bin/pip" install --quiet --disable-pip-version-check "$python_package" >&2
    printf '%s\n' "$python_package" >"$cache/installed"
fi
binary=
arguments=()
while (($#)); do
    case $1 in
        --binary) binary=$(realpath "${2:?"--binary takes a file"}"); shift 2 ;;
        --json) shift ;; # The last line is JSON in any case.
        *) arguments+=("$1"); shift ;;
    esac
done
if [[ -z $binary ]]; then
    printf 'building the release binary\n' >&2
    cargo build --release --locked --quiet
    binary=$(realpath "${CARGO_TARGET_DIR:-target}/release/toolroute")
fi
exec "$cache/venv/bin/python" scripts/loops.py --binary "$binary" ${arguments[@]+"${arguments[@]}"}
