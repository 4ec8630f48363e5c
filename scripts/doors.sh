#!/usr/bin/env bash
# Lists public items of the library that neither the program nor its documentation reaches; fails
# where there is one without a reason in scripts/doors.txt. `--json` prints one JSON object.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec python3 scripts/doors.py "$@"
