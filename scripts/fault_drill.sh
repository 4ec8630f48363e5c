#!/usr/bin/env bash
# The fault drill: a fifth of the calls go to failing tools, on real MCP servers and on one of ours
# that fails in every way. Builds the tests, installs the servers once, and runs tests/it/drill.rs.
#
#   scripts/fault_drill.sh [--calls N] [--npm DIR] [--json]
#
# --calls N  the number of calls [default: 1000]
# --npm DIR  the folder for the servers from the npm registry
#            [default: toolroute/drill-npm in the user's cache folder]
# --json     prints only the last line, a JSON object
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
calls=1000
json=false
npm_dir=${XDG_CACHE_HOME:-$HOME/.cache}/toolroute/drill-npm
packages=(server-everything server-filesystem server-memory server-sequential-thinking)

while (($#)); do
    case $1 in
        --calls) calls=${2:?"--calls takes a number"} && shift 2 ;;
        --npm) npm_dir=${2:?"--npm takes a folder"} && shift 2 ;;
        --json) json=true && shift ;;
        *) printf 'unknown argument %s; see the head of %s\n' "$1" "$0" >&2 && exit 2 ;;
    esac
done

missing=()
for package in "${packages[@]}"; do
    [[ -f $npm_dir/node_modules/@modelcontextprotocol/$package/dist/index.js ]] ||
        missing+=("@modelcontextprotocol/$package")
done
if ((${#missing[@]})); then
    if command -v npm >/dev/null && command -v node >/dev/null; then
        mkdir -p "$npm_dir"
        npm install --prefix "$npm_dir" --no-audit --no-fund --silent "${missing[@]}" >&2
    else
        printf '!! SKIPPED: npm is not installed, so the drill runs without %s\n' "${missing[*]}" >&2
    fi
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
TOOLROUTE_DRILL_CALLS=$calls TOOLROUTE_DRILL_NPM=$npm_dir \
    cargo test --locked --test it drill:: -- --nocapture >"$log" 2>&1 || status=$?
result=$(grep '^{"calls"' "$log" | tail -1 || true)
if [[ $json == false || -z $result ]]; then
    cat "$log" >&2
fi
[[ -n $result ]] && printf '%s\n' "$result"
exit "$status"
