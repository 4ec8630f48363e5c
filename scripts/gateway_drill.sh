#!/usr/bin/env bash
# What the gateway costs and what it leaves behind, over 1,002 tools of two servers of ours (--tools N of each, and one more): the time to the first answer of
# find_tools after a start, what it adds to call_tool, sessions (every tenth of which crashes) with the processes that are left
# after them, and with --minutes N its memory under a steady load.
#
# Usage: scripts/gateway_drill.sh [--tools N] [--starts N] [--calls N] [--sessions N] [--minutes N] [--rate N] [--binary PATH] [--json]
#
# Without --binary it builds the release binary. Needs Python 3 and Linux. Exit code 1 where a process is left.
set -euo pipefail
exec "$(dirname "$0")/with_release.sh" gateway_drill.py "$@"
