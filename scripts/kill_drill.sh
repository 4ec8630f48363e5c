#!/usr/bin/env bash
# Kills the conductor with SIGKILL at random moments, resumes it each time, and counts what was lost
# or done twice.
#
# Usage: scripts/kill_drill.sh [--kills N] [--seed N] [--binary PATH] [--json]
#
# Without --binary it builds the release binary. Needs Python 3 with its sqlite3. With --json the
# last line is one object; exit code 1 where anything was lost, done twice, or did not open.
set -euo pipefail
exec "$(dirname "$0")/with_release.sh" kill_drill.py "$@"
