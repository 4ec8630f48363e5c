#!/usr/bin/env bash
# Verifies that no network is needed: runs `route` and the gateway, with a server behind it, in a
# namespace whose only network interface is a loopback that is down.
#
#   scripts/offline.sh [--binary FILE]
#
# --binary FILE  the toolroute to test [default: that of `cargo build`, which is run]
#
# Needs Linux and permission to create a network namespace (root, or user namespaces). Without it,
# prints SKIPPED and exits with 0, or with 1 if OFFLINE_REQUIRED=1.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
binary=
while (($#)); do
    case $1 in
        --binary) binary=$(realpath "${2:?"--binary takes a file"}"); shift 2 ;;
        *) printf 'unknown argument %s; see the head of %s\n' "$1" "$0" >&2 && exit 2 ;;
    esac
done

skip() {
    printf '!! SKIPPED: %s, so that nothing is proven\n' "$1" >&2
    exit "${OFFLINE_REQUIRED:-0}"
}

command -v python3 >/dev/null || skip "python3 is not installed"
command -v unshare >/dev/null || skip "unshare is not installed"
if unshare --net true 2>/dev/null; then
    alone=(unshare --net)
elif unshare --user --map-root-user --net true 2>/dev/null; then
    alone=(unshare --user --map-root-user --net)
else
    skip "this user may not make a network namespace"
fi
if [[ -z $binary ]]; then
    cargo build --locked >&2
    binary=$(realpath "${CARGO_TARGET_DIR:-target}/debug/toolroute")
fi

site=$(mktemp -d)
trap 'rm -rf "$site"' EXIT
# A first start, as on a new machine: no stored state.
export XDG_CACHE_HOME=$site/cache XDG_CONFIG_HOME=$site/config XDG_STATE_HOME=$site/state
export XDG_DATA_HOME=$site/data
"${alone[@]}" python3 tests/clients/offline.py "$binary" "$PWD" "$site"
