#!/usr/bin/env python3
"""Fits when a model's answer is "unsure" and when it is "none of these", and prints the manifest's [calibration].

Usage: calibrate.py [--model NAME|DIR] [--data DIR] [--binary FILE] [--check]
       calibrate.py --write [--lab FILE]  computes all that depends on the weights of the built-in encoder: the vectors of the
                                          background prompts (models/toolroute-l6-v1/background.int8) and the manifest's
                                          [calibration]; rebuild both programs afterwards
       calibrate.py --suite OUT           only writes the six catalogs as sets for `toolroute eval --suite OUT`

Compares prompts that the tools of a catalog serve with prompts that none of them serves, on catalogs of different
sizes. Six are catalogs of public MCP servers with prompts that were written for this purpose, on and off topic
(scripts/calibration: the ids of tools of `_merged`, and our own prompts). Three are choice sets of
crates/eval/src/sets.txt. One is the sample catalog, whose everyday tools serve most prompts of any kind. Every
catalog is also asked some prompts of `no_tool.jsonl`: talk, questions and wishes that need no tool. The busiest
servers of the six catalogs with 3 to 8 tools are used as small catalogs, too. `orders.jsonl` has orders over single
servers, and near orders, which none of their tools carries out; no model was trained on them. They count as two
catalogs: the servers with at most 14 tools together, and the larger ones. Vague prompts over stores of plugins, and
orders over assistants with several small servers, are a third (`own_tools.jsonl` has the tools, which are ours).
Orders that hardly use a word of their tool, over eight catalogs of ours and eight public servers, are the fourth,
and wishes of vague users of four small assistants of ours the fifth.

Both cut-offs are linear functions of the catalog's background evidence, the 10th percentile of the evidence of 500
prompts of all kinds. The upper one is the highest for which at most UNSURE of the served prompts are doubted: the
first number as the mean over the whole catalogs, the second in any of them and in the small ones together. The
lower one is the highest for which at most NONE of them are rejected, in the same way. The slope is the one
with which most prompts that no tool serves are doubted. A prompt with a
missing action is doubted, too.

The width of the confidence is such that it is 0.5 at the lower cut-off and 0.75 at the upper one. Nothing is fitted
to CHECK; `--check` shows the result for it, once per release. A model without a [calibration] first needs one with
threshold = 0, background = 1 and width = 0.1 in its manifest.
"""
import argparse, json, math, random, re, subprocess, sys, tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WRITTEN = ROOT / "scripts" / "calibration"
SAMPLE = ROOT / "examples"
MODEL = ROOT / "models" / "toolroute-l6-v1"
# A set and those whose prompts its tools do not serve. Where there are off-topic prompts, these are asked.
FIT = {"azure_mcp_2026": [], "bfcl_live": ["azure_mcp_2026"], "toolret_apigen": ["azure_mcp_2026"]}
CHECK = ["mcpproxy_golden", "ultratool_en", "metatool"]
PROMPTS, STRANGERS, NO_TOOL = 400, 150, 150
NONE, UNSURE = (0.003, 0.0125), (0.10, 0.15)
# The confidences at the two cut-offs: DEFAULT_MIN_CONFIDENCE and SURE in crates/rank.
LEAST, SURE = 0.5, 0.75


def rows(path):
    return [json.loads(line) for line in open(path, encoding="utf-8") if line.strip()]


def sample(items, count, seed):
    return random.Random(seed).sample(items, min(count, len(items)))


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
            yield short, write(folder / f"{short}.jsonl", servers[server]), served[server], sample(strangers, STRANGERS // 2, short)


def orders(folder, data):
    """The servers of `orders.jsonl`: kind, file of tools, orders that they carry out and near orders."""
    own = {tool["id"]: tool for tool in rows(WRITTEN / "own_tools.jsonl")}
    tools = own | {tool["id"]: tool for tool in rows(data / "_merged" / "tools.jsonl")}
    asked = {}
    for row in rows(WRITTEN / "orders.jsonl"):
        asked.setdefault(row["group"], ([], []))[0 if row["gold"] else 1].append(row["query"])
    for row in rows(WRITTEN / "order_groups.jsonl"):
        public = "orders_small" if len(row["tools"]) <= 14 else "orders_large"
        kind = row.get("kind") or ("stores" if row["tools"][0] in own else public)
        file = write(folder / "orders.jsonl", [tools[id] for id in row["tools"]])
        yield kind, file, *asked[row["group"]]


def write_suite(out, data):
    """The six catalogs as sets: prompts that nothing was trained on."""
    for name, tools, on, off in catalogs(data):
        (out / name).mkdir(parents=True, exist_ok=True)
        for file, items in (("tools", tools), ("queries", on), ("offtopic", off)):
            write(out / name / f"{file}.jsonl", items)


class Measured:
    """What a catalog's prompts have of evidence: pairs (evidence, whether an action that they order is missing)."""

    def __init__(self, a, folder, tools, on, off, talk):
        asked, answered = folder / "asked.jsonl", folder / "answered.jsonl"
        prompts = on + off + talk
        write(asked, [{"id": str(i), "query": q} for i, q in enumerate(prompts)])
        answered.unlink(missing_ok=True)
        command = [a.binary, "batch", "--tools", str(tools), "--strategy", "hybrid", "--min-confidence", "0",
                   "--explain", "--limit", "1", "--input", str(asked), "--output", str(answered), "--quiet"]
        subprocess.run(command + (["--model", a.model] if a.model else []), check=True)
        found = {row["id"]: row for row in rows(answered)}
        found = [found[str(i)] for i in range(len(prompts))]
        self.background = max((row.get("background", 0.0) for row in found), default=0.0)
        pairs = [(row["evidence"], row.get("fit_reason", "").startswith("no tool here")) for row in found]
        self.on, self.off, self.talk = pairs[:len(on)], pairs[len(on):len(on) + len(off)], pairs[len(on) + len(off):]

    def doubted(self, pairs, upper):
        """The share below the upper cut-off, or with a missing action."""
        return sum(evidence < upper or missing for evidence, missing in pairs) / len(pairs)

    def refused(self, pairs, lower):
        """The share below the lower cut-off."""
        return sum(evidence < lower for evidence, _ in pairs) / len(pairs)


def highest(is_allowed):
    """The highest base for which few enough are turned away."""
    low, high = -2.0, 2.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if is_allowed(middle) else (low, middle)
    return low


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def pooled(catalogs, share, prompts):
    """The share of the prompts of several catalogs together."""
    return sum(share(m) * len(prompts(m)) for m in catalogs) / sum(len(prompts(m)) for m in catalogs)


def fit(measured):
    """The two bases and the slope: cut-offs are base + slope * background.

    `measured` has the catalogs that count as one, by name. Those of `small` are too few prompts for the mean.
    """
    whole = [catalogs for name, catalogs in measured.items() if name != "small"]

    def few(share, most, most_in_one):
        """Whether few enough own prompts are turned away; `share` says how many of a catalog's."""
        shares = [pooled(catalogs, share, lambda m: m.on) for catalogs in whole]
        together = pooled(measured["small"], share, lambda m: m.on)
        return mean(shares) <= most and max(*shares, together) <= most_in_one

    best = None
    for slope in (step / 20 for step in range(0, 27)):
        upper = highest(lambda base: few(lambda m: m.doubted(m.on, base + slope * m.background), *UNSURE))
        lower = highest(lambda base: base < upper and few(lambda m: m.refused(m.on, base + slope * m.background), *NONE))

        def gain(catalogs, prompts):
            some = [m for m in catalogs if prompts(m)]
            return pooled(some, lambda m: m.doubted(prompts(m), upper + slope * m.background), prompts)

        kinds = (lambda m: m.off, lambda m: m.talk)
        found = mean(mean(gain(catalogs, kind) for kind in kinds if any(map(kind, catalogs))) for catalogs in measured.values())
        if best is None or found > best[0]:
            best = found, lower, upper, slope
    return best[1:]


def show(kind, measured, lower, upper, slope):
    for name, catalogs in measured.items():
        shares = []
        for told, prompts in (("own", lambda m: m.on), ("others", lambda m: m.off), ("talk", lambda m: m.talk)):
            some = [m for m in catalogs if prompts(m)]
            if some:
                refused = pooled(some, lambda m: m.refused(prompts(m), lower + slope * m.background), prompts)
                doubted = pooled(some, lambda m: m.doubted(prompts(m), upper + slope * m.background), prompts)
                shares.append(f"{told} {refused:.3f} + {doubted - refused:.3f}")
        background = mean(m.background for m in catalogs)
        print(f"{kind:5} {name:22} background {background:.3f}: none + unsure: {', '.join(shares)}", file=sys.stderr)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--model")
    p.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    p.add_argument("--suite", type=Path)
    p.add_argument("--binary", default=str(ROOT / "target" / "release" / "toolroute"))
    p.add_argument("--lab", default=str(ROOT / "target" / "release" / "toolroute-lab"))
    p.add_argument("--write", action="store_true")
    p.add_argument("--check", action="store_true")
    a = p.parse_args()
    if not a.data.is_dir():
        sys.exit(f"{a.data} is not there: expected the tool-retrieval sets; name their folder with --data")
    if a.suite:
        return write_suite(a.suite, a.data)
    if a.write and a.model:
        sys.exit("--write is for the built-in encoder; put what is printed into the manifest of another model")
    if a.write:
        subprocess.run([a.lab, "background", str(MODEL / "background.int8")], check=True)
    measured, checked = {}, {}
    written_names = json.loads((WRITTEN / "catalogs.json").read_text(encoding="utf-8"))
    no_tool = [row["query"] for row in rows(WRITTEN / "no_tool.jsonl")]

    def queries(name, file="queries"):
        return [row["query"] for row in rows(a.data / name / f"{file}.jsonl")]

    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for name, tools, on, off in written(folder, a.data):
            counts_as = name if name in written_names else "small"
            measured.setdefault(counts_as, []).append(Measured(a, folder, tools, on, off, sample(no_tool, NO_TOOL, name)))
        for kind, tools, on, off in orders(folder, a.data):
            measured.setdefault(kind, []).append(Measured(a, folder, tools, on, off, []))
        strangers = sample(queries("azure_mcp_2026"), STRANGERS, "sample")
        own = [row["query"] for row in rows(SAMPLE / "queries.jsonl")]
        measured["sample"] = [Measured(a, folder, SAMPLE / "catalog", own, strangers, sample(no_tool, NO_TOOL, "sample"))]
        for name, others in FIT.items():
            off = [q for o in others for q in sample(queries(o), STRANGERS, name)] or sample(queries(name, "offtopic"), 2 * STRANGERS, name)
            measured[name] = [Measured(a, folder, a.data / name / "tools.jsonl", sample(queries(name), PROMPTS, name), off, sample(no_tool, NO_TOOL, name))]
        for name in CHECK if a.check else ():
            checked[name] = [Measured(a, folder, a.data / name / "tools.jsonl", sample(queries(name), PROMPTS, name), queries(name, "offtopic"), [])]
    lower, upper, slope = fit(measured)
    odds = math.log(SURE / (1 - SURE)) - math.log(LEAST / (1 - LEAST))
    calibration = f"[calibration]\nthreshold = {lower:.4f}\nbackground = {slope:.4f}\nwidth = {(upper - lower) / odds:.4f}\n"
    show("fit", measured, lower, upper, slope)
    show("check", checked, lower, upper, slope)
    print(calibration, end="")
    if a.write:
        manifest = MODEL / "manifest.toml"
        text = manifest.read_text(encoding="utf-8")
        manifest.write_text(re.sub(r"\[calibration\]\n(?:\w+ = .*\n)*", calibration, text), encoding="utf-8")


if __name__ == "__main__":
    main()
