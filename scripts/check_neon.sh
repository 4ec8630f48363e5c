#!/usr/bin/env bash
# Compiles the library for 64-bit Arm and runs the tests of its kernels: on an Arm machine as they
# are; elsewhere under emulation, once of a core that has the byte dot product and once of a core
# that has not, each without and with full optimisation. It tells whether the numbers are right, not
# how fast they come.
#
# Elsewhere it needs a Rust compiler with the standard library for aarch64 (with rustup: `rustup
# target add aarch64-unknown-linux-gnu`), a linker and an emulator. Debian 12 has all of them as
# packages; run as root there, the script installs what is missing.
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
# Where Arm's C library is installed like the machine's own, its loader would take the library from
# there and itself from the cross compiler's folder: two versions in one program hang.
[[ -e /lib/ld-linux-aarch64.so.1 ]] || emulator+=" -L /usr/aarch64-linux-gnu"

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Runs the tests on a core of that name, whose kernels must be those named.
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
