#!/usr/bin/env bash
# Kills the conductor with SIGKILL at random moments, resumes it each time, and counts what was lost
# or done twice.
#
# Usage: scripts/kill_drill.sh [--kills N] [--seed N] [--binary PATH] [--json]
#
# Without --binary it builds the release binary. Needs Python 3 with sqlite3. With --json the last
# line is an object. The exit code is 1 if anything was lost or done twice, or if a ledger could not
# be opened.
set -euo pipefail
exec "$(dirname "$0")/with_release.sh" kill_drill.py "$@"
