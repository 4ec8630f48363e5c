#!/usr/bin/env bash
# Compiles the library for 64-bit Arm and runs the tests of its kernels: directly on an Arm machine,
# otherwise in an emulator, once for a core with the byte dot product and once for a core without
# it, each at the optimisation levels 1 and 3. It checks that the results are correct, not how fast
# they are.
#
# On other machines it needs a Rust compiler with the standard library for aarch64 (with rustup:
# `rustup target add aarch64-unknown-linux-gnu`), a linker and an emulator. Debian 12 has all of
# them as packages; if the script is run as root there, it installs those that are missing.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=aarch64-unknown-linux-gnu
packages=(rustc-web libstd-rust-web-dev:arm64 gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static)
# The tests of the thread pool panic on purpose.
export RUST_BACKTRACE=0

if [[ $(uname -m) == aarch64 ]]; then
    exec cargo test --locked -p toolroute-vectors --lib kernels -- --nocapture
fi

# Prints the first compiler that has the target's standard library: the toolchain's or Debian's.
compiler() {
    local candidate
    for candidate in "${RUSTC:-rustc}" /usr/bin/rustc; do
        if compgen -G "$("$candidate" --print target-libdir --target "$target" 2>/dev/null)/libstd-*" >/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

emulator() { command -v qemu-aarch64-static || command -v qemu-aarch64; }

complete() { compiler && emulator && command -v aarch64-linux-gnu-gcc; }

if ! complete >/dev/null; then
    if ((EUID != 0)) || ! command -v apt-get >/dev/null; then
        printf 'error: no compiler with the library for %s, no emulator or no linker\n' "$target" >&2
        printf 'hint: on Debian 12, as root: dpkg --add-architecture arm64 && apt-get update && apt-get install --no-install-recommends %s\n' \
            "${packages[*]}" >&2
        exit 1
    fi
    dpkg --add-architecture arm64
    apt-get update -q
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${packages[@]}"
fi

RUSTC=$(compiler)
emulator=$(emulator)
export RUSTC
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
"$RUSTC" --version >&2
"$emulator" --version >&2
# If Arm's C library is also installed as a system library, the emulator's loader would take the
# library from there and itself from the cross compiler's folder. A program with two versions hangs.
[[ -e /lib/ld-linux-aarch64.so.1 ]] || emulator+=" -L /usr/aarch64-linux-gnu"

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Runs the tests on the given core and checks that they use the given kernels.
check() {
    local core=$1 kernels=$2 level=$3
    printf '\n== %s, optimisation %s: %s\n' "$core" "$level" "$kernels" >&2
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="$emulator -cpu $core" \
        cargo test --locked -p toolroute-vectors --lib --target "$target" --config "profile.dev.package.toolroute-vectors.opt-level=$level" kernels \
        -- --nocapture 2>&1 | tee "$log"
    if ! grep -qx ".*kernels of this machine: $kernels" "$log"; then
        printf 'error: the emulated %s should have run: %s\n' "$core" "$kernels" >&2
        exit 1
    fi
}

for level in 1 3; do
    check neoverse-n1 "NEON-dotprod, portable" "$level"
    check cortex-a72 "portable" "$level"
done
