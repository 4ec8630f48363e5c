#!/usr/bin/env bash
# Runs each fuzz target for SECONDS of CPU time, starting from the samples of this repository: `scripts/fuzz.sh
# [SECONDS] [TARGET...]`; by default 600 seconds and all targets. Needs cargo-fuzz and a nightly compiler. Findings
# are stored in fuzz/artifacts, and the exit code is then 1.
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

# Prints the CPU time, in seconds, of all child processes of this shell. `times` in a subshell would count only that
# subshell's.
used() { awk -v hz="$(getconf CLK_TCK)" '{ print int(($16 + $17) / hz) }' "/proc/$$/stat"; }

# SQLite's amalgamated file has two static variables with the same name, which the sanitiser reports as two
# definitions of one symbol.
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
        # In a loop, because the limit is wall-clock time, which exceeds CPU time on a busy machine.
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
