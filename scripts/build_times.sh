#!/usr/bin/env bash
# Measures what a change of one file costs, for each crate, and prints a table: seconds of `cargo check`, of `cargo build`
# of the binary, and of `cargo test -p CRATE`.
#
#   scripts/build_times.sh [CRATE ...]        # default: all crates but python
#
# Each command runs once before it is timed, so that only the crate and what depends on it are compiled. Run it on an
# idle machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds() { # COMMAND...
    local start
    start=$(date +%s%N)
    "$@" >/dev/null 2>&1 || { printf 'failed: %s\n' "$*" >&2 && exit 1; }
    awk -v a="$start" -v b="$(date +%s%N)" 'BEGIN { printf "%.1f", (b - a) / 1e9 }'
}

kept=$(mktemp)
lib=
restore() { if [[ -n $lib ]]; then cp "$kept" "$lib"; fi; rm -f "$kept"; }
trap restore EXIT

# With a function more in the crate, which goes again afterwards.
changed() { # CRATE COMMAND...
    lib=crates/$1/src/lib.rs
    [[ $1 != toolroute ]] || lib=src/lib.rs
    shift
    "$@" >/dev/null 2>&1 || true
    cp "$lib" "$kept"
    printf '/// Only to measure.\npub fn one_more() -> u32 {\n    %s\n}\n' "$RANDOM" >>"$lib"
    seconds "$@"
    cp "$kept" "$lib"
    lib=
}

crates=("$@")
if ((${#crates[@]} == 0)); then
    for manifest in crates/*/Cargo.toml; do
        crate=$(basename "$(dirname "$manifest")")
        [[ $crate == python ]] || crates+=("$crate")
    done
    crates+=(toolroute)
fi
# shellcheck disable=SC2016  # the backticks are Markdown
printf '| crate | `cargo check` | `cargo build` of the binary | `cargo test -p` |\n|---|---|---|---|\n'
for crate in "${crates[@]}"; do
    package=toolroute-$crate
    [[ $crate != toolroute ]] || package=toolroute
    check=$(changed "$crate" cargo check --locked)
    build=$(changed "$crate" cargo build --locked --bin toolroute)
    tested=–
    [[ $crate == toolroute ]] || tested=$(changed "$crate" cargo test --locked --package "$package")
    printf '| %s | %s | %s | %s |\n' "$crate" "$check" "$build" "$tested"
done
