#!/usr/bin/env bash
# Tests the gateway with real clients and real servers: the official MCP SDKs for Python and
# TypeScript and the command line of the MCP Inspector find and call a tool on each of four
# reference servers and call every method of the protocol, over stdio and HTTP, with the newest
# protocol and with the older handshake. All of them are installed once, in the versions below.
#
#   scripts/clients.sh [--binary FILE] [--cache DIR]
#
# --binary FILE  the toolroute to test [default: that of `cargo build`, which is run]
# --cache DIR    the folder for clients and servers
#                [default: toolroute/clients in the user's cache folder]
#
# TOOLROUTE_MODEL=static selects the small model, for a build without optimisation.
#
# The last line is "N passed, N failed". If npm or Python is missing, it says so and exits with 0.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
repo=$PWD
binary=
cache=${XDG_CACHE_HOME:-$HOME/.cache}/toolroute/clients
npm_packages=(
    @modelcontextprotocol/sdk@1.32.2
    @modelcontextprotocol/client@2.4.0
    @modelcontextprotocol/inspector@2.12.0
    @modelcontextprotocol/server-everything@2026.8.31
    @modelcontextprotocol/server-filesystem@2026.8.31
    @modelcontextprotocol/server-memory@2026.8.31
    @modelcontextprotocol/server-sequential-thinking@2026.8.31
)
python_package=mcp==2.3.0

while (($#)); do
    case $1 in
        --binary) binary=$(realpath "${2:?"--binary takes a file"}"); shift 2 ;;
        --cache) cache=${2:?"--cache takes a folder"}; shift 2 ;;
        *) printf 'unknown argument %s; see the head of %s\n' "$1" "$0" >&2 && exit 2 ;;
    esac
done

for program in node npm python3; do
    if ! command -v "$program" >/dev/null; then
        printf '!! SKIPPED: %s is not installed, so no client was run\n' "$program" >&2
        exit 0
    fi
done

# A file with the versions records what is installed.
mkdir -p "$cache"
wanted=$(printf '%s\n' "${npm_packages[@]}" "$python_package")
if [[ $(cat "$cache/installed" 2>/dev/null || true) != "$wanted" ]]; then
    npm install --prefix "$cache" --no-audit --no-fund --silent --save-exact "${npm_packages[@]}" >&2
    [[ -x $cache/venv/bin/python ]] || python3 -m venv "$cache/venv"
    "$cache/venv/bin/pip" install --quiet --disable-pip-version-check "$python_package" >&2
    printf '%s\n' "$wanted" >"$cache/installed"
fi
if [[ -z $binary ]]; then
    cargo build --locked >&2
    binary=$(realpath "${CARGO_TARGET_DIR:-target}/debug/toolroute")
fi

site=$(mktemp -d)
served=
end() {
    [[ -z $served ]] || kill "$served" 2>/dev/null || true
    rm -rf "$site"
}
trap end EXIT
mkdir "$site/files"
printf 'hello\n' >"$site/files/hello.txt"
# Clients and servers must not use the user's own folders.
export XDG_CACHE_HOME=$site/cache XDG_CONFIG_HOME=$site/config XDG_STATE_HOME=$site/state
export TOOLROUTE_PINS=$site/pins.json
modules=$cache/node_modules/@modelcontextprotocol
cat >"$site/servers.json" <<JSON
{"mcpServers": {
  "everything": {"command": "node", "args": ["$modules/server-everything/dist/index.js"]},
  "filesystem": {"command": "node", "args": ["$modules/server-filesystem/dist/index.js", "$site/files"]},
  "memory": {"command": "node", "args": ["$modules/server-memory/dist/index.js"],
             "env": {"MEMORY_FILE_PATH": "$site/memory.jsonl"}},
  "sequential-thinking": {"command": "node", "args": ["$modules/server-sequential-thinking/dist/index.js"]},
  "notes": {"command": "python3", "args": ["$repo/tests/servers/notes.py", "$site"]}
}}
JSON

passed=0
failed=0
# Counts the results of one client. A client that fails or prints no result counts as one failure.
count() {
    local log=$1 status=$2 good bad
    cat "$log"
    good=$(grep -c ': ok$' "$log" || true)
    bad=$(grep -c ': FAILED' "$log" || true)
    if ((bad == 0)) && { ((status != 0)) || ((good == 0)); }; then bad=1; fi
    passed=$((passed + good))
    failed=$((failed + bad))
}

run() {
    local status=0
    timeout 300 "$@" >"$site/log" 2>"$site/err" || status=$?
    ((status == 0)) || tail -n 5 "$site/err" >&2
    count "$site/log" "$status"
}

# The Inspector makes one call per start, and reads from a file which server to start.
inspector() {
    local transport=$1 query tool arguments expect
    while IFS=$'\t' read -r query tool arguments expect; do
        local call=(node "$modules/inspector/clients/launcher/build/index.js" --cli
            --config "$site/inspector.json" --server "$transport")
        local found=ok
        timeout 60 "${call[@]}" --method tools/call --tool-name find_tools --tool-arg "query=$query" \
            >"$site/out" 2>"$site/err" || found=FAILED
        grep -q "$tool" "$site/out" || found=FAILED
        timeout 60 "${call[@]}" --method tools/call --tool-name call_tool \
            --tool-arg "tool_name=$tool" "arguments=$arguments" >"$site/out" 2>"$site/err" || found=FAILED
        grep -q "$expect" "$site/out" || found=FAILED
        [[ $found == ok ]] || tail -n 3 "$site/out" "$site/err" >&2
        printf 'inspector %s: %s: %s\n' "$transport" "$tool" "$found"
    done < <(python3 - "$repo/tests/clients/cases.json" "$site/files" <<'PYTHON'
import json, sys
for case in json.loads(open(sys.argv[1]).read().replace("ROOT", sys.argv[2])):
    print(case["query"], case["tool"], json.dumps(case["arguments"]), case["expect"], sep="\t")
PYTHON
    ) >"$site/log"
    count "$site/log" 0
}

# Calls a method from the Inspector's command line, in one protocol era.
inspect() {
    local transport=$1 era=$2 method=$3 expect=$4 said=ok
    shift 4
    timeout 60 node "$modules/inspector/clients/launcher/build/index.js" --cli -q --config "$site/inspector.json" \
        --server "$transport" --protocol-era "$era" --method "$method" "$@" >"$site/out" 2>"$site/err" || true
    # A method that the gateway does not have must be rejected as such.
    grep -q "$expect" "$site/out" "$site/err" || said=FAILED
    [[ $said == ok ]] || tail -n 3 "$site/out" "$site/err" >&2
    printf 'inspector %s %s: %s: %s\n' "$transport" "$era" "$method" "$said"
}

inspector_methods() {
    local transport=$1 era
    for era in legacy modern; do
        inspect "$transport" "$era" initialize '"name": "toolroute"'
        inspect "$transport" "$era" tools/list '"find_tools"'
        inspect "$transport" "$era" tools/call 'over the gateway' \
            --tool-name call_tool --tool-args-json \
            '{"tool_name": "everything__echo", "arguments": {"message": "over the gateway"}}'
        inspect "$transport" "$era" prompts/list everything__args-prompt
        inspect "$transport" "$era" prompts/get Oslo --prompt-name everything__args-prompt --prompt-args city=Oslo
        inspect "$transport" "$era" resources/list note://today
        inspect "$transport" "$era" resources/templates/list 'note://{title}'
        inspect "$transport" "$era" resources/read milk --uri note://today
        inspect "$transport" "$era" logging/setLevel 'ethod not found\|not support\|does not' --log-level info
        inspect "$transport" "$era" skills/list 'ethod not found\|not support\|does not'
    done >"$site/log"
    count "$site/log" 0
}

# The pinned tool appears and disappears during the tests, and so does its listing.
gateway=("$binary" mcp --servers "$site/servers.json" --pinned notes__translate_note)
# All servers list their tools beforehand, so that a client that asks immediately finds all of them.
"$binary" tools list --servers "$site/servers.json" --json >/dev/null

"${gateway[@]}" --http 127.0.0.1:0 --json >"$site/address" 2>"$site/gateway.log" &
served=$!
url=
for _ in $(seq 300); do
    url=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["listening"])' \
        "$site/address" 2>/dev/null) && break
    sleep 0.1
done
cat >"$site/inspector.json" <<JSON
{"mcpServers": {
  "stdio": {"type": "stdio", "command": "$binary", "args": ["mcp", "--servers", "$site/servers.json"],
            "env": {"XDG_CACHE_HOME": "$XDG_CACHE_HOME", "XDG_CONFIG_HOME": "$XDG_CONFIG_HOME",
                    "XDG_STATE_HOME": "$XDG_STATE_HOME", "TOOLROUTE_PINS": "$TOOLROUTE_PINS",
                    "TOOLROUTE_MODEL": "${TOOLROUTE_MODEL:-}"}},
  "http": {"type": "streamable-http", "url": "$url"}
}}
JSON

cases=$repo/tests/clients/cases.json
python=$cache/venv/bin/python
cd "$cache"
run "$python" "$repo/tests/clients/find_and_call.py" "$cases" "$site/files" stdio "${gateway[@]}"
run "$python" "$repo/tests/clients/find_and_call.py" "$cases" "$site/files" http "$url"
run node "$repo/tests/clients/find_and_call.mjs" "$cases" "$site/files" stdio "${gateway[@]}"
run node "$repo/tests/clients/find_and_call.mjs" "$cases" "$site/files" http "$url"
run "$python" "$repo/tests/clients/every_method.py" stdio "${gateway[@]}"
run "$python" "$repo/tests/clients/every_method.py" http "$url"
run node "$repo/tests/clients/every_method.mjs" stdio "${gateway[@]}"
run node "$repo/tests/clients/every_method.mjs" http "$url"
inspector stdio
inspector http
inspector_methods stdio
inspector_methods http

kill "$served"
if wait "$served"; then
    served=
else
    printf 'the gateway did not end in good order: FAILED\n'
    failed=$((failed + 1))
fi
printf '%d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
