#!/usr/bin/env bash
# Builds the wheel of the Python package: library, both models and the command `toolroute`, for Python 3.9
# and later. A release wheel is linked against glibc 2.28 (scripts/old_glibc.sh).
#
#   scripts/build_wheel.sh [--dev] [--out DIR]
#
# --dev      a fast build for this machine only, without optimisation, for tests
# --out DIR  the folder for the wheel [default: target/wheels]
#
# The last line is the path of the wheel. Needs Python 3.9 and cargo. If maturin is missing, it and zig are
# installed from PyPI into target/tools.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/old_glibc.sh
source scripts/old_glibc.sh
out=$target/wheels
dev=
# The maximum size of the wheel, which `pip install` downloads as one file.
most_bytes=$((45 * 1000 * 1000))

while (($#)); do
    case $1 in
        --dev) dev=1; shift ;;
        --out) out=$(realpath -m "${2:?"--out takes a folder"}"); shift 2 ;;
        -h | --help) sed -n '2,/^set /{/^set /d; s/^# \{0,1\}//; p}' "$0"; exit ;;
        *) printf 'unknown argument %s; see the head of %s\n' "$1" "$0" >&2 && exit 2 ;;
    esac
done

use_program maturin 'maturin[zig]>=1.16,<2'
# Encoders that the native one does not support (feature `candle`) are excluded, because the wheel
# is near its maximum size.
build=(maturin build --locked --manifest-path crates/python/Cargo.toml --out "$out")
if [[ -n $dev ]]; then
    "${build[@]}" --compatibility linux >&2
else
    "${build[@]}" --release --no-default-features --zig --compatibility "manylinux_${oldest_glibc/./_}" \
        --compression-level 9 >&2
fi
wheel=$(find "$out" -name 'toolroute-*.whl' -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d ' ' -f 2)
if [[ -z $dev ]] && (($(stat -c %s "$wheel") > most_bytes)); then
    printf '%s has %d bytes; expected at most %d\n' "$wheel" "$(stat -c %s "$wheel")" "$most_bytes" >&2
    exit 1
fi
printf '%s\n' "$wheel"
