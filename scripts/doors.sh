#!/usr/bin/env bash
# Lists public items of the library that neither the program nor its documentation reaches. Fails if
# one of them has no reason in scripts/doors.txt. `--json` prints one JSON object.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec python3 scripts/doors.py "$@"
