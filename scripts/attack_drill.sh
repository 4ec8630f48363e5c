#!/usr/bin/env bash
# Attacks toolroute with hostile servers, clients and files, and counts what came of it: requests that hung, paths that climbed out of
# their base, memory beyond what is allowed, panics, processes that were left, and damage that was answered wrongly without a word.
#
# Usage: scripts/attack_drill.sh [--binary PATH] [--only PART,...] [--seed N] [--json] [--self-check]
#
# Without --binary it builds the release binary. Needs Python 3 with its sqlite3, and Linux. With --json the last line is one object of
# counts; exit code 1 where any of them is not 0. It takes about two minutes.
set -euo pipefail
case " $* " in *' --self-check '*) exec python3 "$(dirname "$0")/attack_drill.py" --self-check ;; esac
exec "$(dirname "$0")/with_release.sh" attack_drill.py "$@"
