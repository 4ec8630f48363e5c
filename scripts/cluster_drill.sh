#!/usr/bin/env bash
# Ranks on a Ray cluster of three nodes on this machine, kills one of the nodes, and compares the output
# with that of `toolroute batch`.
#
#   scripts/cluster_drill.sh --wheel FILE [--set DIR] [--rows N] [--cache DIR] [--json]
#   scripts/cluster_drill.sh --wheel FILE --figures [--set DIR] [--cache DIR] [--json]
#
# --wheel FILE  a wheel from scripts/build_wheel.sh; it must be optimised if speed is measured
# --set DIR     tools.jsonl and queries.jsonl [default: ../shared/data/sealtools; with --figures
#               ../shared/data/_merged, with the prompts of sealtools]
# --rows N      the number of prompts [default: 20000]
# --figures     measures instead how many prompts one core ranks per hour, the size of what is sent to a worker, and its memory
# --cache DIR   the folder for the packages [default: toolroute/cluster-drill in the user's cache folder]
#
# Needs PyPI the first time. With --json the last line is an object. The exit code is 1 if a row is missing,
# duplicated, or different from that of `toolroute batch`.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/toolroute/cluster-drill
wheel=
arguments=()
while (($#)); do
    case $1 in
        --wheel) wheel=$(realpath "${2:?"--wheel takes a file"}"); shift 2 ;;
        --cache) cache=${2:?"--cache takes a folder"}; shift 2 ;;
        --set) arguments+=("$1" "$(realpath "${2:?"--set takes a folder"}")"); shift 2 ;;
        *) arguments+=("$1"); shift ;;
    esac
done
[[ -n $wheel ]] || { printf 'expected --wheel FILE; see the head of %s\n' "$0" >&2 && exit 2; }

[[ -x $cache/bin/python ]] || python3 -m venv "$cache"
"$cache/bin/pip" install --quiet --disable-pip-version-check 'ray[data]==2.60.0' >&2
"$cache/bin/pip" install --quiet --force-reinstall --no-deps "$wheel" >&2
exec "$cache/bin/python" scripts/cluster_drill.py "${arguments[@]}"
