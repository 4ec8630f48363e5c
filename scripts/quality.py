#!/usr/bin/env python3
"""Compares the ranking quality of `toolroute eval` with the reference scores, set by set.

Usage: scripts/quality.py [--binary target/release/toolroute] [--data ../shared/data]
                          [--reference ../shared/reference/baseline_scores.md]
                          [--model NAME|DIR] [--precision int8|f32] [SET...] [--json]

Reads nDCG@5 of the reference from the table in its Markdown file. Exits with 1 if a strategy is
more than 0.01 below it on any set.
"""
import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

STRATEGIES = ("keyword", "semantic", "hybrid")
SLACK = 0.01


def choice_sets():
    """The sets that settings are compared by; crates/eval/src/sets.txt says why."""
    lines = (Path(__file__).resolve().parents[1] / "crates" / "eval" / "src" / "sets.txt").read_text(encoding="utf-8").splitlines()
    return tuple(next(line for line in lines if line.startswith("choice: ")).split()[1:])


def reference_scores(path):
    """{set: {strategy: nDCG@5}} out of rows `| set | tools | queries | a / b / c | … |`."""
    scores = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 6 and re.fullmatch(r"\d+", cells[1]):
            values = (float(cell.split("/")[0]) for cell in cells[3:])
            scores[cells[0]] = dict(zip(STRATEGIES, values))
    return scores


def evaluate(binary, folder, model, precision):
    command = [binary, "eval", "--all", "--blend", "plain", "--model", model, "--precision", precision, "--json",
               "--quiet", "--tools", folder / "tools.jsonl", "--queries", folder / "queries.jsonl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{folder.name}: {done.stderr.strip()}")
    results = json.loads(done.stdout)["results"]
    return {row["strategy"]: row for row in results}


def show(name, ours, reference):
    cells = []
    for strategy in STRATEGIES:
        mine, theirs = ours[strategy]["ndcg@5"], reference.get(strategy)
        beside = "" if theirs is None else f" ({mine - theirs:+.4f})"
        cells.append(f"{mine:.4f}{beside}")
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--binary", default="target/release/toolroute")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--reference", type=Path,
                        default=Path("../shared/reference/baseline_scores.md"))
    parser.add_argument("--model", default="all-MiniLM-L6-v2", help="the reference's own by default")
    parser.add_argument("--precision", choices=("int8", "f32"), default="int8")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if not args.data.is_dir():
        sys.exit(f"no sets at {args.data}; expected folders with tools.jsonl and queries.jsonl")
    reference = reference_scores(args.reference) if args.reference.exists() else {}
    names = args.sets or [name for name in reference if (args.data / name).is_dir()]
    everything, below = {}, []
    if not args.json:
        print("| set | " + " | ".join(f"{s} nDCG@5" for s in STRATEGIES) + " |\n|---|---|---|---|")
    for name in names:
        ours = everything[name] = evaluate(args.binary, args.data / name, args.model, args.precision)
        theirs = reference.get(name, {})
        below += [f"{name} {s}" for s in STRATEGIES
                  if s in theirs and ours[s]["ndcg@5"] < theirs[s] - SLACK]
        if not args.json:
            show(name, ours, theirs)
    choice = choice_sets()
    if all(name in everything for name in choice):
        mean = {s: {"ndcg@5": sum(everything[n][s]["ndcg@5"] for n in choice) / len(choice)}
                for s in STRATEGIES}
        their_mean = {s: sum(reference[n][s] for n in choice) / len(choice) for s in STRATEGIES} \
            if all(n in reference for n in choice) else {}
        everything["choice mean"] = mean
        if not args.json:
            show("**choice mean**", mean, their_mean)
    if args.json:
        print(json.dumps(everything, indent=1))
    for row in below:
        print(f"more than {SLACK} below the reference: {row}", file=sys.stderr)
    sys.exit(1 if below else 0)


if __name__ == "__main__":
    main()
