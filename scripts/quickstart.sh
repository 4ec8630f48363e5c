#!/usr/bin/env bash
# From a fresh clone to routed prompts: builds, embeds the sample catalog and routes three prompts. The
# model is part of the program, so only the crates for the build are downloaded.
#
#   scripts/quickstart.sh
#
# The build has the commands route, batch, eval, learn, index. The gateway, the HTTP API, calls of tools,
# obligations and candle take twice as long to compile; `cargo install --path . --locked` includes them.
set -euo pipefail

say() { printf '\n== %s\n' "$*" >&2; }

cd "$(dirname "${BASH_SOURCE[0]}")/.."
while (($#)); do
    case $1 in
        -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' scripts/quickstart.sh && exit 0 ;;
        *) printf 'unknown argument %s; see the head of %s\n' "$1" "$0" >&2 && exit 2 ;;
    esac
done
if ! command -v cargo >/dev/null; then
    printf 'quickstart: cargo is missing. Install Rust with rustup, open a new shell and run this again.\n' >&2
    exit 1
fi

toolroute=${CARGO_TARGET_DIR:-target}/release/toolroute
tools=examples/catalog
prompts=(
    "Should we move Sunday's picnic indoors because of rain?"
    "Find an hour that suits both Maya and Dan and put the review in everyone's diary"
    "The new version is broken in production, go back to the one before"
)

say "building toolroute (the first time takes some minutes)"
cargo build --release --locked --package toolroute --no-default-features --features cli,built-in-model

say "indexing $tools"
"$toolroute" index --tools "$tools"

for prompt in "${prompts[@]}"; do
    say "toolroute route --tools $tools \"$prompt\""
    "$toolroute" route --tools "$tools" "$prompt"
done

say "this program ranks; for the gateway, the HTTP API, calls of tools and obligations as well: cargo install --path . --locked"
