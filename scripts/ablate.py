#!/usr/bin/env python3
"""Measures what each part of the ranking contributes: `toolroute eval --suite` with one change at a time.

Usage: scripts/ablate.py [--binary target/release/toolroute] [--data ../shared/data]
                         [--queries-per-set 400] [--only NAME ...] [--json]

Prints a Markdown table of hybrid's nDCG@5: the default, then the difference that each change makes. The
embedded texts are changed by changing the catalogs, in a temporary folder. Keywords are taken from the
changed catalogs too, so these rows show what a catalog without that field loses as a whole, and the column
`semantic` shows what its vectors lose.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# Beside the mean of the choice sets, by which settings are compared. No check set is shown: nothing is chosen by it.
SHOWN = ("azure_mcp", "azure_mcp_2026", "bfcl_live", "toolret_apigen", "toolret_apibank", "stabletoolbench", "toollens")

# What is changed by an argument of the program.
ARGUMENTS = {
    "the whole prompt only, no clauses": ["--whole"],
    "no tools that give ids to others": ["--no-complete"],
    "plain 70/30 after min-max": ["--blend", "plain"],
    "50/50": ["--semantic-weight", "0.5"],
    "60/40": ["--semantic-weight", "0.6"],
    "80/20": ["--semantic-weight", "0.8"],
    "90/10": ["--semantic-weight", "0.9"],
    "the static model": ["--model", "static"],
    "all-MiniLM-L6-v2, which ours is made from": ["--model", "all-MiniLM-L6-v2"],
}


def first_sentence(text):
    return re.split(r"(?<=[.!?])\s+|\n", text.strip(), maxsplit=1)[0]


def without(*fields):
    return lambda tool: {key: value for key, value in tool.items() if key not in fields}


def shortened(tool):
    return {**tool, "description": first_sentence(tool["description"])}


def names_only(tool):
    return {**without("input_schema")(tool), "description": ""}


def bare_parameters(tool):
    """Parameters by their names alone, without what is said of them and their values."""
    schema = tool.get("input_schema") or {}
    properties = schema.get("properties") or {}
    bare = {name: without("description", "enum")(about) if isinstance(about, dict) else about for name, about in properties.items()}
    return {**tool, "input_schema": {**schema, "properties": bare}} if properties else tool


# What is changed by changing the catalogs.
CATALOGS = {
    "tools without parameters": without("input_schema"),
    "tools without their server": without("server"),
    "first sentence of the description": shortened,
    "names alone": names_only,
    "parameters by their names alone": bare_parameters,
}


def changed_suite(data, change, folder):
    """Every set of `data` with changed tools and the same prompts."""
    for name in sets(data):
        (folder / name).mkdir()
        lines = (data / name / "tools.jsonl").read_text(encoding="utf-8").splitlines()
        tools = (json.dumps(change(json.loads(line)), ensure_ascii=False) for line in lines if line.strip())
        (folder / name / "tools.jsonl").write_text("\n".join(tools) + "\n", encoding="utf-8")
        os.symlink((data / name / "queries.jsonl").resolve(), folder / name / "queries.jsonl")
    return folder


def sets(data):
    return sorted(path.parent.name for path in data.glob("*/queries.jsonl"))


def scores(args, suite, more):
    """{set or mean: {strategy: nDCG@5}}"""
    command = [args.binary, "eval", "--suite", suite, "--json", "--quiet", *more]
    command += ["--queries-per-set", str(args.queries_per_set)] if args.queries_per_set else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    report = json.loads(done.stdout)
    found = {row["set"]: row["strategies"] for row in report["sets"]}
    found.update({mean["over"]: mean["strategies"] for mean in report["means"]})
    return {name: {by: s["ndcg@5"]["mean"] for by, s in row.items()} for name, row in found.items()}


def columns(found):
    return [name for name in ("choice sets", "all sets", *SHOWN) if name in found]


def line(name, found, base=None):
    def cell(column, by="hybrid"):
        score = found[column][by]
        return f"{score:.4f}" if base is None else f"{score - base[column][by]:+.4f}"
    cells = [cell(column) for column in columns(found)]
    first = columns(found)[0]
    return f"| {name} | " + " | ".join([cells[0], cell(first, "semantic"), *cells[1:]]) + " |"


def self_check():
    tool = {"name": "a", "server": "s", "description": "One. Two.",
            "input_schema": {"properties": {"p": {"description": "what. x", "enum": [1, 2]}}}}
    assert without("server")(tool).keys() == tool.keys() - {"server"}
    assert shortened(tool)["description"] == "One."
    assert bare_parameters(tool)["input_schema"] == {"properties": {"p": {}}}
    assert "input_schema" not in names_only(tool) and names_only(tool)["name"] == "a"
    base = {"choice sets": {"hybrid": 0.5, "semantic": 0.25}}
    assert line("x", base) == "| x | 0.5000 | 0.2500 |"
    assert line("x", {"choice sets": {"hybrid": 0.6, "semantic": 0.2}}, base) == "| x | +0.1000 | -0.0500 |"
    with tempfile.TemporaryDirectory() as folder:
        data, suite = Path(folder, "data"), Path(folder, "suite")
        (data / "set").mkdir(parents=True)
        suite.mkdir()
        (data / "set" / "tools.jsonl").write_text(json.dumps(tool) + "\n")
        (data / "set" / "queries.jsonl").write_text("{}\n")
        changed = changed_suite(data, without("server"), suite) / "set"
        assert "server" not in json.loads((changed / "tools.jsonl").read_text())
        assert (changed / "queries.jsonl").read_text() == "{}\n"
    print("self-check passed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/toolroute")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--queries-per-set", type=int, default=400, help="0 is all of them")
    parser.add_argument("--only", action="append", default=[], help="words of a row's name")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--self-check", action="store_true")
    args = parser.parse_args()
    if args.self_check:
        return self_check()
    if not args.data.is_dir():
        sys.exit(f"no folder {args.data}: expected the sets there; name it with --data")
    wanted = lambda name: not args.only or any(words in name for words in args.only)
    base = scores(args, args.data, [])
    rows = {"default": base}
    if not args.json:
        print("| | " + " | ".join([columns(base)[0], "semantic, " + columns(base)[0], *columns(base)[1:]]) + " |")
        print("|---" * (len(columns(base)) + 2) + "|")
        print(line("**default**", base), flush=True)
        for by in ("keyword", "semantic"):
            print(line(f"{by} alone", {n: {**s, "hybrid": s[by]} for n, s in base.items()}, base), flush=True)
    changes = [(name, more, None) for name, more in ARGUMENTS.items()]
    changes += [(name, [], change) for name, change in CATALOGS.items()]
    for name, more, change in changes:
        if not wanted(name):
            continue
        with tempfile.TemporaryDirectory() as folder:
            suite = changed_suite(args.data, change, Path(folder)) if change else args.data
            rows[name] = scores(args, suite, more)
        if not args.json:
            print(line(name, rows[name], base), flush=True)
    if args.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
