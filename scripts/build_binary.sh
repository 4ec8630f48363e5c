#!/usr/bin/env bash
# Builds the program for users without Rust and Python: toolroute-VERSION-ARCHITECTURE-linux.tar.gz with the binary
# (for glibc 2.28 and later, all features), completions, licences and the files of examples/deploy; and SHA256SUMS.
#
#   scripts/build_binary.sh [--binary FILE] [--out DIR]
#
# --binary FILE  packs this binary [default: compiles one, which takes about ten minutes]
# --out DIR      the folder for both [default: target/dist]; SHA256SUMS also covers the wheels in it
#
# The last line is the path of the archive. Needs cargo, objdump and Python 3.9. If cargo-zigbuild is missing, it
# and zig are installed from PyPI into target/tools.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/old_glibc.sh
source scripts/old_glibc.sh
out=$target/dist
binary=

while (($#)); do
    case $1 in
        --binary) binary=$(realpath "${2:?"--binary takes a file"}"); shift 2 ;;
        --out) out=$(realpath -m "${2:?"--out takes a folder"}"); shift 2 ;;
        *) printf 'unknown argument %s; see the head of %s\n' "$1" "$0" >&2 && exit 2 ;;
    esac
done

if [[ -z $binary ]]; then
    use_program cargo-zigbuild 'cargo-zigbuild==0.24.0' 'ziglang==0.17.1'
    host=$(rustc -vV | sed -n 's/^host: //p')
    cargo zigbuild --release --locked --package toolroute --bin toolroute --target "$host.$oldest_glibc" >&2
    binary=$target/$host/release/toolroute
fi
check_glibc "$binary"
version=$("$binary" --version)
version=${version#toolroute }
expected=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
if [[ $version != "$expected" ]]; then
    printf '%s is of version %s; expected %s, that of Cargo.toml\n' "$binary" "$version" "$expected" >&2
    exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
name=toolroute-$version-$(uname -m)-linux
folder=$work/$name
mkdir -p "$folder/completions" "$out"
install -m 755 "$binary" "$folder/toolroute"
install -m 644 LICENSE-APACHE LICENSE-MIT README.md CHANGELOG.md "$folder"
scripts/licences.py >"$folder/LICENCES-OF-DEPENDENCIES"
"$binary" completions bash >"$folder/completions/toolroute.bash"
"$binary" completions fish >"$folder/completions/toolroute.fish"
"$binary" completions zsh >"$folder/completions/_toolroute"
cp -R examples/deploy "$folder/deploy"

# Reproducible: the same commit and binary give the same bytes.
tar --sort=name --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw --mtime="@$(git log -1 --format=%ct)" \
    -C "$work" -cf - "$name" | gzip -9n >"$out/$name.tar.gz"
(
    cd "$out"
    shopt -s nullglob
    sha256sum -- *.tar.gz *.whl >SHA256SUMS
)
printf '%s\n' "$out/$name.tar.gz"
