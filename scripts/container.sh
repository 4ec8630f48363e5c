#!/usr/bin/env bash
# Tests the examples of docs/deployment.md: the Dockerfile, the systemd unit and the Kubernetes example.
# Each one starts the program with its own command, waits until it is ready, routes a prompt and stops it.
#
#   scripts/container.sh [--binary FILE]
#
# --binary FILE  the toolroute to test [default: that of `cargo build`, which is run]
#
# The image is built and run if docker or podman works. In any case its steps are run in an empty folder,
# without a network, as its user. This needs Linux, Python 3 and permission to create namespaces (root, or
# user namespaces). It prints NOT TRIED for each part that it cannot run, which is not a failure.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
binary=
while (($#)); do
    case $1 in
        --binary) binary=$(realpath "${2:?"--binary takes a file"}"); shift 2 ;;
        *) printf 'unknown argument %s; see the head of %s\n' "$1" "$0" >&2 && exit 2 ;;
    esac
done
if [[ -z $binary ]]; then
    cargo build --locked >&2
    binary=$(realpath "${CARGO_TARGET_DIR:-target}/debug/toolroute")
fi

skip() {
    printf '!! NOT TRIED: %s\n' "$1" >&2
    exit 0
}

python=python3
if ! python3 -c 'import yaml' 2>/dev/null; then
    venv=${XDG_CACHE_HOME:-$HOME/.cache}/toolroute-tests/yaml
    python=$venv/bin/python
    if ! "$python" -c 'import yaml' 2>/dev/null; then
        { python3 -m venv --clear "$venv" &&
            "$venv/bin/pip" install --quiet --disable-pip-version-check PyYAML==6.0.3; } ||
            skip "anything (PyYAML cannot be installed)"
    fi
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if unshare --mount --net true 2>/dev/null; then
    unshare --mount --net "$python" tests/clients/deployment.py root "$binary" "$PWD" "$work"
elif unshare --user --map-root-user --mount --net true 2>/dev/null; then
    unshare --user --map-root-user --mount --net "$python" tests/clients/deployment.py root "$binary" "$PWD" "$work"
else
    printf '!! NOT TRIED: the commands without a container (this user may make no namespaces)\n' >&2
fi

for program in docker podman; do
    if "$program" info >/dev/null 2>&1; then
        "$python" tests/clients/deployment.py image "$binary" "$PWD" "$program"
        exit
    fi
done
printf '!! NOT TRIED: building the image (neither docker nor podman works here)\n' >&2
