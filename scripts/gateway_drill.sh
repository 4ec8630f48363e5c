#!/usr/bin/env bash
# What the gateway costs and what it leaves behind, over 1,002 tools of two servers of ours (--tools N of each, and one more): the time to the first answer of
# find_tools after a start, what it adds to call_tool, sessions (every tenth of which crashes) with the processes that are left
# after them, and with --minutes N its memory under a steady load.
#
# Usage: scripts/gateway_drill.sh [--tools N] [--starts N] [--calls N] [--sessions N] [--minutes N] [--rate N] [--binary PATH] [--json]
#
# Without --binary it builds the release binary. Needs Python 3 and Linux. Exit code 1 where a process is left.
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
exec python3 scripts/gateway_drill.py --binary "$binary" ${arguments[@]+"${arguments[@]}"}
