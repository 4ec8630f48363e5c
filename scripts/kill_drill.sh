#!/usr/bin/env bash
# Kills the conductor with SIGKILL at random moments, resumes it each time, and counts what was lost
# or done twice.
#
# Usage: scripts/kill_drill.sh [--kills N] [--seed N] [--binary PATH] [--json]
#
# Without --binary it builds the release binary. Needs Python 3 with its sqlite3. With --json the
# last line is one object; exit code 1 where anything was lost, done twice, or did not open.
set -euo pipefail
cd "$(dirname "$0")/.."

binary=
arguments=()
while [ $# -gt 0 ]; do
    case $1 in
        --binary) binary=$2; shift 2 ;;
        *) arguments+=("$1"); shift ;;
    esac
done
if [ -z "$binary" ]; then
    printf 'building the release binary\n' >&2
    cargo build --release --locked --quiet
    binary=${CARGO_TARGET_DIR:-target}/release/toolroute
fi
exec python3 scripts/kill_drill.py --binary "$binary" ${arguments[@]+"${arguments[@]}"}
