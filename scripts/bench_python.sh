#!/usr/bin/env bash
# Compares the Python package with other ways to choose tools in Python: sentence-transformers with
# all-MiniLM-L6-v2, bm25s, rank-bm25, and fastembed if its model is available.
#
#   scripts/bench_python.sh --wheel FILE --set NAME TOOLS QUERIES [--set …] [--cache DIR] [--json]
#   scripts/bench_python.sh --wheel FILE --figures TOOLS QUERIES
#
# --wheel FILE  an optimised wheel from scripts/build_wheel.sh
# --set …       a set of tools and prompts; scripts/bench_python.py describes its files
# --figures …   only the package: import, 300 tools, one prompt, 10,000 prompts compared with `toolroute batch`
# --cache DIR   the folder for the packages [default: toolroute/bench-python in the user's cache folder]
#
# Needs PyPI the first time, and scripts/fetch_model.sh for the model of sentence-transformers.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/toolroute/bench-python
wheel=
arguments=()
while (($#)); do
    case $1 in
        --wheel) wheel=$(realpath "${2:?"--wheel takes a file"}"); shift 2 ;;
        --cache) cache=${2:?"--cache takes a folder"}; shift 2 ;;
        --set) arguments+=("$1" "${2:?}" "$(realpath "${3:?}")" "$(realpath "${4:?}")"); shift 4 ;;
        --figures) arguments+=("$1" "$(realpath "${2:?}")" "$(realpath "${3:?}")"); shift 3 ;;
        *) arguments+=("$1"); shift ;;
    esac
done
[[ -n $wheel ]] || { printf 'expected --wheel FILE; see the head of %s\n' "$0" >&2 && exit 2; }

[[ -x $cache/bin/python ]] || python3 -m venv "$cache"
"$cache/bin/pip" install --quiet --disable-pip-version-check \
    bm25s==0.3.16 fastembed==0.9.1 numpy rank-bm25==0.2.2 sentence-transformers==6.2.0 >&2
"$cache/bin/pip" install --quiet --force-reinstall --no-deps "$wheel" >&2
model=${XDG_DATA_HOME:-$HOME/.local/share}/toolroute/models/all-MiniLM-L6-v2
export TOKENIZERS_PARALLELISM=true HF_HUB_OFFLINE=${HF_HUB_OFFLINE:-0}
exec "$cache/bin/python" scripts/bench_python.py --model "$model" "${arguments[@]}"
