#!/usr/bin/env python3
"""Measures how often prompts in nine languages find the right tool, first and among five, in the shipped program.

Usage: languages.py [--binary target/release/toolroute] [--json]

The prompts are tests/data/languages/*.jsonl (20 needs per catalog, each in English and eight other languages), and
the catalogs are those of tests/data/trial and examples. An answer without tools counts as wrong.
"""
import argparse, collections, json, subprocess, sys, tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CATALOGS = {"home": "tests/data/trial/home/tools", "servers": "tests/data/trial/servers/tools", "sample": "examples/catalog"}


def rows(text):
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def measure(binary):
    """{language: {catalog: [prompts, right first, right among five, answered without tools]}}"""
    found = collections.defaultdict(dict)
    for name, catalog in CATALOGS.items():
        prompts = ROOT / "tests/data/languages" / f"{name}.jsonl"
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder) / "ranked.jsonl"
            command = [binary, "batch", "--tools", ROOT / catalog, "--input", prompts, "--output", output, "--limit", "5", "-q"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            ranked = {row["id"]: [tool["id"] for tool in row["tools"]] for row in rows(output.read_text())}
        for prompt in rows(prompts.read_text()):
            ids, gold = ranked[prompt["id"]], set(prompt["gold"])
            count = found[prompt["meta"]["language"]].setdefault(name, [0, 0, 0, 0])
            for at, one in enumerate([True, bool(gold & set(ids[:1])), bool(gold & set(ids)), not ids]):
                count[at] += one
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", default=str(ROOT / "target/release/toolroute"))
    parser.add_argument("--json", action="store_true")
    a = parser.parse_args()
    found, table = measure(a.binary), {}
    for language, sets in found.items():
        prompts, first, five, none = (sum(counts[at] for counts in sets.values()) for at in range(4))
        table[language] = {"prompts": prompts, "first": round(first / prompts, 3), "in_five": round(five / prompts, 3),
                           "no_tools": round(none / prompts, 3)}
    others = [row for language, row in table.items() if language != "en"]
    table["mean but English"] = {"prompts": sum(row["prompts"] for row in others)} | {
        key: round(sum(row[key] for row in others) / len(others), 3) for key in ("first", "in_five", "no_tools")}
    if a.json:
        print(json.dumps(table))
        return
    print(f"{'language':18}{'prompts':>8}{'first':>8}{'in five':>9}{'no tools':>10}")
    for language, row in table.items():
        print(f"{language:18}{row['prompts']:8}{row['first']:8.3f}{row['in_five']:9.3f}{row['no_tools']:10.3f}")


if __name__ == "__main__":
    sys.exit(main())
