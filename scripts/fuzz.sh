#!/usr/bin/env bash
# Runs each fuzz target for so many seconds of processor time, from the samples of this repository: `scripts/fuzz.sh [SECONDS]
# [TARGET...]`, 600 and all where nothing is said. Needs cargo-fuzz and a nightly compiler. What it finds is kept in
# fuzz/artifacts, and it ends with 1.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds="${1:-600}"
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(tools_list openapi configuration snapshot filter)
built="${CARGO_TARGET_DIR:-fuzz/target}/x86_64-unknown-linux-gnu/release"
if [ -z "${PREBUILT:-}" ]; then
    cargo +nightly fuzz build --fuzz-dir fuzz
fi

# The processor time, in seconds, of all that this shell has waited for: `times` would tell a subshell its own.
used() { awk -v hz="$(getconf CLK_TCK)" '{ print int(($16 + $17) / hz) }' "/proc/$$/stat"; }

# SQLite's one big file has two statics of one name, which the sanitiser takes for two definitions of one symbol.
export ASAN_OPTIONS="detect_odr_violation=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
failed=0
for target in "${targets[@]}"; do
    corpus="fuzz/corpus/$target" found="fuzz/artifacts/$target"
    mkdir -p "$corpus" "$found"
    case $target in
        openapi) seeds=(tests/data/formats/openapi.*) ;;
        configuration) seeds=(tests/data/formats/mcp_servers.json tests/data/overlay.toml) ;;
        filter) seeds=(tests/data/formats/openai_*.json tests/data/formats/anthropic.json) ;;
        snapshot) seeds=() ;;
        *) seeds=(tests/data/formats/*) ;;
    esac
    [ ${#seeds[@]} -eq 0 ] || cp "${seeds[@]}" "$corpus/"
    log="$(mktemp)"
    begun=$(used) now=$(used)
    while ((now - begun < seconds)); do
        # By the clock, which is more than the processor's where others work too: so it is a loop.
        if ! "$built/$target" -artifact_prefix="$found/" -rss_limit_mb=4096 -timeout=30 -print_final_stats=1 \
            -max_total_time=$((seconds - (now - begun))) "$corpus" >> "$log" 2>&1; then
            echo "$target: FAILED, see $found" >&2
            tail -40 "$log" >&2
            failed=1
            break
        fi
        now=$(used)
    done
    runs=$(awk '/number_of_executed_units/ { n += $2 } END { print n + 0 }' "$log")
    echo "$target: $(($(used) - begun)) s of the processor, $runs runs, $(find "$corpus" -type f | wc -l) samples"
    rm -f "$log"
done
exit "$failed"
