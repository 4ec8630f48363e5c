# shellcheck shell=bash
# Shared by build_wheel.sh and build_binary.sh, which source it. Releases are linked against glibc 2.28 by zig, so
# that they run on Debian 10 and 11, RHEL 8 and 9, Ubuntu 20.04, Amazon Linux 2023 and everything later.
oldest_glibc=2.28
target=${CARGO_TARGET_DIR:-$PWD/target}

# Puts a program into PATH: the user's, or that of packages of PyPI, in target/tools with zig.
#   use_program PROGRAM PACKAGE...
use_program() {
    local program=$1 tools=$target/tools/maturin
    shift
    command -v "$program" >/dev/null && return
    PATH=$tools/bin:$PATH
    [[ -x $tools/bin/$program ]] && return
    [[ -x $tools/bin/pip ]] || python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check "$@"
}

# Fails if a binary needs a later glibc.
check_glibc() {
    local needed
    # A static binary has no match, which is not an error; a binary that objdump cannot read is one.
    needed=$(objdump -p "$1" | sed -n 's/.* GLIBC_\([0-9.][0-9.]*\)$/\1/p' | sort -V | tail -n 1)
    if [[ $(printf '%s\n' "$oldest_glibc" "$needed" | sort -V | tail -n 1) != "$oldest_glibc" ]]; then
        printf '%s needs glibc %s; expected at most %s\n' "$1" "$needed" "$oldest_glibc" >&2
        return 1
    fi
    printf 'it needs glibc %s\n' "${needed:-not at all}" >&2
}
