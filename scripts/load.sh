#!/usr/bin/env bash
# Measures `toolroute serve` under load: 1,000 tools, the built-in int8 encoder, open loop, distinct prompts; first
# RATE requests per second, then ten times as many, of which one per core may wait. `scripts/load.sh [RATE] [SECONDS]`; by default 500 and 30. The
# generator runs on the same cores as the server.
set -euo pipefail
cd "$(dirname "$0")/.."
rate="${1:-500}" seconds="${2:-30}"
out="${CARGO_TARGET_DIR:-target}/release"
[ -n "${PREBUILT:-}" ] || cargo build --release --quiet --bin toolroute --example load
work="$(mktemp -d)"
end() { [ -z "${server:-}" ] || { kill "$server" && wait "$server"; } 2>/dev/null || true; rm -rf "$work"; }
trap end EXIT

# A thousand tools: the sample catalog, again and again under other servers and with other words.
python3 - "$work/tools.jsonl" <<'PYTHON'
import glob, json, sys
rows = [json.loads(line) for path in sorted(glob.glob("examples/catalog/*.jsonl")) for line in open(path)]
subjects = ["the shop", "the school", "the clinic", "the archive", "the garage", "the studio", "the harbour", "the farm",
            "the library", "the museum", "the airport", "the bakery", "the court", "the lab", "the hotel", "the theatre"]
with open(sys.argv[1], "w") as out:
    for at in range(1000):
        row, subject = rows[at % len(rows)], subjects[at // len(rows) % len(subjects)]
        row = {**row, "server": f"{row['server']}{at // len(rows)}", "description": f"{row['description']} For {subject}."}
        row.pop("id", None)
        out.write(json.dumps(row) + "\n")
PYTHON

"$out/toolroute" serve --tools "$work/tools.jsonl" --addr 127.0.0.1:0 --index "$work/index" --queue "$(nproc)" --json > "$work/told" &
server=$!
until grep -q port "$work/told"; do sleep 0.2; kill -0 "$server"; done
port="$(sed -n 's/.*"port": \([0-9]*\).*/\1/p' "$work/told")"
grep -m1 "model name" /proc/cpuinfo || true
echo "cores: $(nproc)"
"$out/examples/load" "127.0.0.1:$port" "$rate" 5 > /dev/null
echo "== $rate/s for $seconds s"
"$out/examples/load" "127.0.0.1:$port" "$rate" "$seconds"
echo "== $((rate * 10))/s for $seconds s"
"$out/examples/load" "127.0.0.1:$port" "$((rate * 10))" "$seconds"
echo "== resident: $(awk '/VmRSS/ {print $2, $3}' "/proc/$server/status")"
