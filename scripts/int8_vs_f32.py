#!/usr/bin/env python3
"""Measures what int8 costs in ranking: nDCG@5 of `toolroute eval` in int8 and in f32, set by set.

Usage: scripts/int8_vs_f32.py [--binary target/release/toolroute] [--data ../shared/data]
                              [--model NAME|DIR] [--f32-model NAME|DIR] [SET...] [--json] [--self-check]

Exits with 1 if semantic or hybrid is more than 0.005 below f32 on any set. For a model that is distributed
rounded, f32 runs the same rounded weights; --f32-model names the checkpoint from which it was rounded. "How
many prompts" expresses the difference as a number of prompts: those whose right tool would have to fall from
the first place out of the first five.
"""
import argparse
import json
import subprocess
import sys
from pathlib import Path

STRATEGIES = ("semantic", "hybrid")
SLACK = 0.005


def evaluate(binary, folder, model, precision):
    command = [binary, "eval", "--all", "--model", model, "--precision", precision, "--no-save",
               "--json", "--quiet", "--tools", folder / "tools.jsonl",
               "--queries", folder / "queries.jsonl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{folder.name} in {precision}: {done.stderr.strip()}")
    results = json.loads(done.stdout)["results"]
    return {row["strategy"]: row for row in results if row["strategy"] in STRATEGIES}


def compare(int8, f32):
    """{strategy: {int8, f32, difference, prompts}}."""
    row = {}
    for strategy in STRATEGIES:
        mine, right = int8[strategy]["ndcg@5"], f32[strategy]["ndcg@5"]
        difference = mine - right
        row[strategy] = {"int8": mine, "f32": right, "difference": difference,
                         "prompts": abs(difference) * f32[strategy]["queries"]}
    return row


def below(rows):
    """The sets and strategies on which int8 costs too much. Scores are compared as they are, not as
    they are printed."""
    return [(name, strategy) for name, row in rows.items() for strategy in STRATEGIES
            if row[strategy]["difference"] < -SLACK]


def show(name, prompts, row):
    cells = (f"{row[s]['f32']:.4f} | {row[s]['int8']:.4f} | {row[s]['difference']:+.4f}"
             for s in STRATEGIES)
    print(f"| {name} | {prompts} | " + " | ".join(cells) + " |", flush=True)


def self_check():
    """Tells a difference that is allowed from one that is not, whatever the models do."""
    def result(semantic, hybrid):
        return {"semantic": {"ndcg@5": semantic, "queries": 100},
                "hybrid": {"ndcg@5": hybrid, "queries": 100}}
    rows = {"same": compare(result(.5, .5), result(.5, .5)),
            "better": compare(result(.6, .6), result(.5, .5)),
            "allowed": compare(result(.4951, .5), result(.5, .5)),
            "worse": compare(result(.5, .4949), result(.5, .5))}
    assert below(rows) == [("worse", "hybrid")], below(rows)
    assert round(rows["worse"]["hybrid"]["prompts"], 6) == 0.51, rows["worse"]
    print("self-check: ok")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--binary", default="target/release/toolroute")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--model", default="toolroute-l6-v1")
    parser.add_argument("--f32-model", help="another model to run in f32 (default: the same)")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--self-check", action="store_true")
    args = parser.parse_args()
    if args.self_check:
        return self_check()
    if not args.data.is_dir():
        sys.exit(f"no sets at {args.data}; expected folders with tools.jsonl and queries.jsonl")
    # Folders with a leading underscore are made of the others.
    names = args.sets or sorted(f.parent.name for f in args.data.glob("[!_]*/queries.jsonl"))
    rows = {}
    if not args.json:
        print("| set | prompts | " + " | ".join(f"{s} f32 | int8 | int8 − f32" for s in STRATEGIES)
              + " |\n|---|" + "---|" * (1 + 3 * len(STRATEGIES)))
    for name in names:
        int8 = evaluate(args.binary, args.data / name, args.model, "int8")
        f32 = evaluate(args.binary, args.data / name, args.f32_model or args.model, "f32")
        rows[name] = compare(int8, f32)
        if not args.json:
            show(name, f32["hybrid"]["queries"], rows[name])
    if args.json:
        print(json.dumps(rows, indent=1))
    failed = below(rows)
    for name, strategy in failed:
        found = rows[name][strategy]
        print(f"more than {SLACK} below f32: {name} {strategy}, {found['difference']:+.4f}, "
              f"{found['prompts']:.2f} prompts", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
