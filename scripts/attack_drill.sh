#!/usr/bin/env bash
# Attacks toolroute with hostile servers, clients and files, and counts the failures: requests that hang,
# paths that leave their base folder, memory above the limit, panics, processes that are left over, and
# damaged files that are answered wrongly without an error.
#
# Usage: scripts/attack_drill.sh [--binary PATH] [--only PART,...] [--seed N] [--json] [--self-check]
#
# Without --binary it builds the release binary. Needs Linux, and Python 3 with sqlite3. With --json the last
# line is an object of counts; the exit code is 1 if any of them is not 0. It takes about two minutes.
set -euo pipefail
case " $* " in *' --self-check '*) exec python3 "$(dirname "$0")/attack_drill.py" --self-check ;; esac
exec "$(dirname "$0")/with_release.sh" attack_drill.py "$@"
