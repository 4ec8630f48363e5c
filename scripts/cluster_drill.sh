#!/usr/bin/env bash
# Ranks on a Ray cluster of three nodes on this machine, kills one of them in the middle, and compares what
# is written with `toolroute batch`.
#
#   scripts/cluster_drill.sh --wheel FILE [--set DIR] [--rows N] [--cache DIR] [--json]
#   scripts/cluster_drill.sh --wheel FILE --figures [--set DIR] [--cache DIR] [--json]
#
# --wheel FILE  a wheel of scripts/build_wheel.sh, with optimisation where speed is measured
# --set DIR     tools.jsonl and queries.jsonl [default: ../shared/data/sealtools; with --figures
#               ../shared/data/_merged, with the prompts of sealtools]
# --rows N      how many prompts are ranked [default: 20000]
# --figures     instead: what one core ranks in an hour, what is shipped to a worker, and its memory
# --cache DIR   where the packages are put [default: toolroute/cluster-drill in the user's cache folder]
#
# Needs PyPI the first time. With --json the last line is one object; exit code 1 where a row is missing,
# twice there, or other than that of `toolroute batch`.
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
