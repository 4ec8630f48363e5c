#!/usr/bin/env bash
# Tests `toolroute serve` with schemathesis against its own OpenAPI document, and `toolroute proxy` with the
# SDKs of OpenAI and Anthropic in front of a recorded upstream. Needs Python 3.10 and, the first time, PyPI;
# if PyPI cannot be reached, it prints SKIPPED and exits with 0. Usage: `scripts/api.sh [TOOLROUTE]`. API_VENV
# names another folder for the packages.
set -euo pipefail
cd "$(dirname "$0")/.."
toolroute="$(realpath "${1:-${CARGO_TARGET_DIR:-target}/debug/toolroute}")"
venv="${API_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/toolroute-tests/api}"
packages=(schemathesis==4.32.5 openai==3.54.0 anthropic==2.12.0)

[ -x "$toolroute" ] || { echo "no program at $toolroute: cargo build first" >&2; exit 2; }
stamp="$venv/installed: ${packages[*]}"
if [ ! -e "$stamp" ]; then
    if ! { python3 -m venv --clear "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}" && touch "$stamp"; }; then
        echo "SKIPPED: ${packages[*]} cannot be installed here; the API was NOT tested against its document or with SDKs" >&2
        exit 0
    fi
fi

"$venv/bin/python" tests/clients/sdks.py "$toolroute"

work="$(mktemp -d)"
end() { [ -z "${server:-}" ] || { kill "$server" && wait "$server"; } 2>/dev/null || true; rm -rf "$work"; }
trap end EXIT
XDG_CACHE_HOME="$work/cache" "$toolroute" serve --tools examples/catalog --model static --addr 127.0.0.1:0 --json \
    --max-body 33554432 --conduct --ledger "$work/ledger.sqlite" --feedback "$work/feedback.db" > "$work/told" 2> "$work/log" &
server=$!
until grep -q port "$work/told"; do sleep 0.2; kill -0 "$server" || { cat "$work/log"; exit 1; }; done
port="$(sed -n 's/.*"port": \([0-9]*\).*/\1/p' "$work/told")"
# schemathesis writes its findings to the current folder. /v1/events is excluded, because the stream never
# ends. It is not checked that all valid data is accepted, because the schema cannot express all rules: for
# JSON Schema, 5.0 is an integer, and the schema does not say that two members exclude each other. Inputs of
# 10,000 obligations, the maximum, take minutes, so the limits of /v1/conduct have their own tests.
checks=not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance
checks+=,response_headers_conformance,negative_data_rejection,unsupported_method
examine() {
    (cd "$work" && "$venv/bin/schemathesis" run "http://127.0.0.1:$port/openapi.json" \
        --max-examples "${EXAMPLES:-40}" --workers 1 --seed 1 --checks "$checks" "$@")
}
examine --exclude-path /v1/events --exclude-path /v1/conduct
examine --include-path /v1/conduct --phases examples,fuzzing
kill -0 "$server"
if grep -i "panic" "$work/log"; then echo "the server panicked" >&2; exit 1; fi
