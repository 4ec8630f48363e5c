#!/usr/bin/env python3
"""Fits the threshold below which a model's answer is "none of these", and prints the manifest's [calibration].

Usage: calibrate.py [--model NAME|DIR] [--data DIR] [--binary FILE]

On catalogs of different sizes (FIT) prompts that their tools serve are set against prompts that were written
for other catalogs; on CHECK, which has no part in the fit, it is shown what the threshold gives.
The threshold is a line over the logarithm of the catalog's size, as high as it can be while at most MISSED of each
catalog's own prompts are turned away; the width says how fast the confidence changes around it.
"""
import argparse, json, math, random, subprocess, sys, tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# A set, its prompts, and the sets whose prompts its tools do not serve.
FIT = {
    "metatool": ("train_queries", ["nestful"]),
    "bfcl": ("queries", ["azure_mcp_2026", "apibank"]),
    "apibank": ("queries", ["azure_mcp_2026", "bfcl"]),
    "toolalpaca": ("queries", ["azure_mcp_2026", "apibank"]),
    "nestful": ("queries", ["azure_mcp_2026", "toolalpaca"]),
    "sealtools": ("train_queries", ["azure_mcp_2026"]),
}
CHECK = ["azure_mcp_2026", "mcpproxy_golden", "ultratool_en", "metatool"]
PROMPTS, MISSED = 1_000, 0.015


def rows(path):
    return [json.loads(line) for line in open(path, encoding="utf-8") if line.strip()]


def sample(items, count, seed):
    return random.Random(seed).sample(items, min(count, len(items)))


def evidence(a, name, prompts, folder):
    """What speaks for any tool of the set to fit, a prompt."""
    asked, answered = folder / "asked.jsonl", folder / "answered.jsonl"
    asked.write_text("".join(json.dumps({"id": str(i), "query": q}) + "\n" for i, q in enumerate(prompts)), encoding="utf-8")
    answered.unlink(missing_ok=True)
    command = [a.binary, "batch", "--tools", str(a.data / name / "tools.jsonl"), "--strategy", "hybrid", "--min-confidence", "0",
               "--explain", "--limit", "1", "--input", str(asked), "--output", str(answered), "--quiet"]
    subprocess.run(command + (["--model", a.model] if a.model else []), check=True)
    found = {row["id"]: row["evidence"] for row in rows(answered)}
    return [found[str(i)] for i in range(len(prompts))]


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--model")
    p.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    p.add_argument("--binary", default=str(ROOT / "target" / "release" / "toolroute"))
    a = p.parse_args()
    if not a.data.is_dir():
        sys.exit(f"{a.data} is not there: expected the tool-retrieval sets; name their folder with --data")
    measured = {}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for name, (split, others) in FIT.items():
            on = [r["query"] for r in sample(rows(a.data / name / f"{split}.jsonl"), PROMPTS, name)]
            off = [r["query"] for o in others for r in sample(rows(a.data / o / "queries.jsonl"), PROMPTS // len(others), name)]
            measured[name] = len(rows(a.data / name / "tools.jsonl")), evidence(a, name, on, folder), evidence(a, name, off, folder)
        checked = {}
        for name in CHECK:
            on = [r["query"] for r in sample(rows(a.data / name / "queries.jsonl"), PROMPTS, name)]
            off = [r["query"] for r in rows(a.data / name / "offtopic.jsonl")]
            checked[name] = len(rows(a.data / name / "tools.jsonl")), evidence(a, name, on, folder), evidence(a, name, off, folder)
    # The line t = base + slope · log2(tools) that turns most strangers away, below each catalog's own bound.
    best = None
    for step in range(0, 51):  # steeper, and a catalog of ten tools would never turn a prompt away
        slope = step / 1000
        base = min(quantile(on, MISSED) - slope * math.log2(tools) for tools, on, _ in measured.values())
        away = sum(sum(x < base + slope * math.log2(n) for x in off) / len(off) for n, _, off in measured.values()) / len(measured)
        if best is None or away > best[0]:
            best = away, base, slope
    _, base, slope = best
    spread = [abs(x - base - slope * math.log2(n)) for n, on, off in measured.values() for x in on + off]
    width = quantile(spread, 0.5) / 3
    for kind, table in (("fit", measured), ("check", checked)):
        for name, (n, on, off) in table.items():
            t = base + slope * math.log2(n)
            own = quantile(on, 0.03)
            print(f"{kind:5} {name:16} {n:5} tools: turned away {sum(x < t for x in on) / len(on):.3f} of its own prompts, "
                  f"{sum(x < t for x in off) / len(off):.3f} of others; at 3 % of its own: {sum(x < own for x in off) / len(off):.3f}", file=sys.stderr)
    print(f"[calibration]\nthreshold = {base:.4f}\nper_doubling = {slope:.4f}\nwidth = {width:.4f}")


if __name__ == "__main__":
    main()
