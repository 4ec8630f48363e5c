#!/usr/bin/env bash
# Runs a Python script of this folder with `--binary PATH`: the given one, or the release binary, which is built
# first.
#
# Usage: scripts/with_release.sh SCRIPT.py [--binary PATH] [ARGUMENT...]
set -euo pipefail
cd "$(dirname "$0")/.."

script=$1
shift
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
exec python3 "scripts/$script" --binary "$binary" ${arguments[@]+"${arguments[@]}"}
