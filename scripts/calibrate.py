#!/usr/bin/env python3
"""Fits the threshold below which a model's answer is "none of these", and prints the manifest's [calibration].

Usage: calibrate.py [--model NAME|DIR] [--data DIR] [--binary FILE]
       calibrate.py --suite OUT [--data DIR]      writes the six catalogs as sets for `toolroute eval --suite OUT`, and stops

On catalogs of different sizes prompts that their tools serve are set against prompts that no tool there serves. Six of them
are catalogs of public MCP servers with prompts that were written for this (scripts/calibration: tools by their ids in
`_merged`, prompts of our own), on and off topic; the others are sets of tool retrieval (FIT), with the prompts of other sets
as strangers. Everywhere some of `no_tool.jsonl` are asked besides: talk, questions and wishes that want no tool at all.
The threshold is a line over the logarithm of the catalog's size: of those that turn away MISSED of the written
catalogs' own prompts, in the mean, and in no catalog more than twice that, the one that turns most strangers away. On
CHECK, which has no part in the fit, it is shown what it gives. The width says how fast the confidence changes around it.
"""
import argparse, json, math, random, subprocess, sys, tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WRITTEN = ROOT / "scripts" / "calibration"
# A set, its prompts, and the sets whose prompts its tools do not serve. Not metatool: the model that ships knows its tools by heart.
FIT = {
    "bfcl": ("queries", ["azure_mcp_2026", "apibank"]),
    "apibank": ("queries", ["azure_mcp_2026", "bfcl"]),
    "toolalpaca": ("queries", ["azure_mcp_2026", "apibank"]),
    "nestful": ("queries", ["azure_mcp_2026", "toolalpaca"]),
    "sealtools": ("train_queries", ["azure_mcp_2026"]),
}
CHECK = ["azure_mcp_2026", "mcpproxy_golden", "ultratool_en", "metatool"]
PROMPTS, NO_TOOL, MISSED = 600, 150, 0.06


def rows(path):
    return [json.loads(line) for line in open(path, encoding="utf-8") if line.strip()]


def sample(items, count, seed):
    return random.Random(seed).sample(items, min(count, len(items)))


def evidence(a, tools, prompts, folder):
    """What speaks for any tool of a file to fit, a prompt."""
    asked, answered = folder / "asked.jsonl", folder / "answered.jsonl"
    write(asked, [{"id": str(i), "query": q} for i, q in enumerate(prompts)])
    answered.unlink(missing_ok=True)
    command = [a.binary, "batch", "--tools", str(tools), "--strategy", "hybrid", "--min-confidence", "0",
               "--explain", "--limit", "1", "--input", str(asked), "--output", str(answered), "--quiet"]
    subprocess.run(command + (["--model", a.model] if a.model else []), check=True)
    found = {row["id"]: row["evidence"] for row in rows(answered)}
    return [found[str(i)] for i in range(len(prompts))]


def write(path, items):
    path.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    return path


def catalogs(data):
    """Our own catalogs: name, tools, rows of prompts that they serve, and of prompts that nothing there serves."""
    tools = {tool["id"]: tool for tool in rows(data / "_merged" / "tools.jsonl")}
    prompts = [{"id": str(at), **row} for at, row in enumerate(rows(WRITTEN / "prompts.jsonl"))]
    for name, ids in json.loads((WRITTEN / "catalogs.json").read_text(encoding="utf-8")).items():
        own = [row for row in prompts if row["catalog"] == name]
        yield name, [tools[id] for id in ids], [row for row in own if row["gold"]], [row for row in own if not row["gold"]]


def written(folder, data):
    """Our own catalogs: name, file of tools, prompts on and off topic. Then of each its servers of 3 to 8 tools that most is asked of,
    with prompts for the other servers as strangers: many people route among few tools."""
    for name, tools, on, off in catalogs(data):
        yield name, write(folder / f"{name}.jsonl", tools), [r["query"] for r in on], [r["query"] for r in off]
        servers = {}
        for tool in tools:
            servers.setdefault(tool.get("server"), []).append(tool)
        ids = {server: {tool["id"] for tool in of} for server, of in servers.items()}
        served = {server: [r["query"] for r in on if set(r["gold"]) & ids[server]] for server, of in servers.items() if 3 <= len(of) <= 8}
        for letter, server in zip("ab", sorted(served, key=lambda server: -len(served[server]))):
            strangers = [r["query"] for r in on if not set(r["gold"]) & ids[server]]
            short = f"{name}_{letter}_{len(servers[server])}_of_{len(tools)}"
            yield short, write(folder / f"{short}.jsonl", servers[server]), served[server], sample(strangers, NO_TOOL // 2, short)


def write_suite(out, data):
    """The six catalogs as sets: prompts that nothing was trained on."""
    for name, tools, on, off in catalogs(data):
        (out / name).mkdir(parents=True, exist_ok=True)
        for file, items in (("tools", tools), ("queries", on), ("offtopic", off)):
            write(out / name / f"{file}.jsonl", items)


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--model")
    p.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    p.add_argument("--suite", type=Path)
    p.add_argument("--binary", default=str(ROOT / "target" / "release" / "toolroute"))
    a = p.parse_args()
    if not a.data.is_dir():
        sys.exit(f"{a.data} is not there: expected the tool-retrieval sets; name their folder with --data")
    if a.suite:
        return write_suite(a.suite, a.data)
    measured, checked = {}, {}
    no_tool = [row["query"] for row in rows(WRITTEN / "no_tool.jsonl")]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)

        def measure(into, name, tools, on, off):
            into[name] = len(rows(tools)), evidence(a, tools, on, folder), evidence(a, tools, off, folder)

        for name, tools, on, off in written(folder, a.data):
            measure(measured, name, tools, on, off + sample(no_tool, NO_TOOL, name))
        whole = list(json.loads((WRITTEN / "catalogs.json").read_text(encoding="utf-8")))
        for name, (split, others) in FIT.items():
            on = [r["query"] for r in sample(rows(a.data / name / f"{split}.jsonl"), PROMPTS, name)]
            off = [r["query"] for o in others for r in sample(rows(a.data / o / "queries.jsonl"), NO_TOOL // len(others), name)]
            measure(measured, name, a.data / name / "tools.jsonl", on, off + sample(no_tool, NO_TOOL, name))
        for name in CHECK:
            on = [r["query"] for r in sample(rows(a.data / name / "queries.jsonl"), PROMPTS, name)]
            measure(checked, name, a.data / name / "tools.jsonl", on, [r["query"] for r in rows(a.data / name / "offtopic.jsonl")])

    def below(values, n, base, slope):
        return sum(x < base + slope * math.log2(n) for x in values) / len(values)

    best = None
    for slope in (step / 1000 for step in range(0, 61)):  # steeper, and a catalog of ten tools would never turn a prompt away
        bases = sorted({x - slope * math.log2(measured[name][0]) for name in whole for x in measured[name][1]})
        low, high = 0, len(bases) - 1
        while low < high:  # the highest base that misses few enough
            middle = (low + high + 1) // 2
            missed = {name: below(on, n, bases[middle], slope) for name, (n, on, _) in measured.items()}
            few = sum(missed[name] for name in whole) / len(whole) <= MISSED and max(missed.values()) <= 2 * MISSED
            low, high = (middle, high) if few else (low, middle - 1)
        away = sum(below(off, n, bases[low], slope) for n, _, off in measured.values()) / len(measured)
        if best is None or away > best[0]:
            best = away, bases[low], slope
    _, base, slope = best
    spread = [abs(x - base - slope * math.log2(n)) for n, on, off in measured.values() for x in on + off]
    width = quantile(spread, 0.5) / 3
    for kind, table in (("fit", measured), ("check", checked)):
        for name, (n, on, off) in table.items():
            t = base + slope * math.log2(n)
            own = quantile(on, 0.03)
            print(f"{kind:5} {name:22} {n:5} tools: turned away {sum(x < t for x in on) / len(on):.3f} of its own prompts, "
                  f"{sum(x < t for x in off) / len(off):.3f} of others; at 3 % of its own: {sum(x < own for x in off) / len(off):.3f}", file=sys.stderr)
    print(f"[calibration]\nthreshold = {base:.4f}\nper_doubling = {slope:.4f}\nwidth = {width:.4f}")


if __name__ == "__main__":
    main()
