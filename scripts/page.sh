#!/usr/bin/env bash
# Tests the page of `toolroute serve` in a headless Chromium: typing, bars, excluded tools, the map, live
# selections, the keyboard, dark mode, accessibility, and that nothing is loaded from other hosts. Needs Node,
# Chromium and, the first time, the npm registry; if one is missing, it prints SKIPPED and exits with 0.
# `scripts/page.sh [TOOLROUTE]`; CHROMIUM names another browser, PAGE_NPM another folder for the packages, and SHOT
# a file for a screenshot of the page.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
toolroute="$(realpath "${1:-${CARGO_TARGET_DIR:-target}/debug/toolroute}")"
npm_dir="${PAGE_NPM:-${XDG_CACHE_HOME:-$HOME/.cache}/toolroute-tests/page}"
packages=(puppeteer-core@25.16.0 axe-core@4.14.1)

skip() {
    printf '!! SKIPPED: %s; the page was NOT tested in a browser\n' "$1" >&2
    exit 0
}

[ -x "$toolroute" ] || { printf 'no program at %s: cargo build first\n' "$toolroute" >&2; exit 2; }
browser="${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}"
[ -n "$browser" ] || skip 'no Chromium is installed'
if ! { command -v npm && command -v node; } >/dev/null; then skip 'Node is not installed'; fi
stamp="$npm_dir/installed ${packages[*]}"
if [ ! -e "$stamp" ]; then
    mkdir -p "$npm_dir"
    npm install --prefix "$npm_dir" --no-audit --no-fund --silent "${packages[@]}" >&2 || skip 'npm cannot install the driver'
    touch "$stamp"
fi
NODE_PATH="$npm_dir/node_modules" CHROMIUM="$browser" node tests/clients/page.cjs "$toolroute"
