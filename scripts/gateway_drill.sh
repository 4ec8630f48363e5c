#!/usr/bin/env bash
# Measures the gateway with 1,002 tools of two servers of ours (--tools N sets the number per server, plus one
# each): the time from a start to the first answer of find_tools, the time that it adds to call_tool, the processes
# that are left over after sessions (every tenth of which crashes), and, with --minutes N, its memory under a steady
# load.
#
# Usage: scripts/gateway_drill.sh [--tools N] [--starts N] [--calls N] [--sessions N] [--minutes N] [--rate N] [--binary PATH] [--json]
#
# Without --binary it builds the release binary. Needs Linux and Python 3. The exit code is 1 if a process is left
# over.
set -euo pipefail
exec "$(dirname "$0")/with_release.sh" gateway_drill.py "$@"
