#!/usr/bin/env python3
"""Writes the families of prompts of our own as sets for `toolroute eval --suite DIR`.

Usage: families.py DIR [--data DIR]

`tests/data/families` has the prompts and the ids of the tools, which are taken out of `_merged` and not copied:
  tasks   requests of several steps over captured MCP servers; `gold` has all right tools, `meta.implied` those that the
          prompt does not mention
  noisy   requests with a log, a base64 text, a table or a pasted message around them
  orders_…  everyday orders over whole MCP servers, labelled before anything was run; `offtopic.jsonl` has near orders
          (`near-…`), which no tool carries out although its domain is close, and prompts of other domains (`far-…`)

A `tools.txt` of one line `set NAME` stands for all tools of that set.
"""
import argparse, sys
from pathlib import Path

from calibrate import ROOT, rows, write

FAMILIES = ROOT / "tests" / "data" / "families"


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("folder", type=Path, metavar="DIR")
    p.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    a = p.parse_args()
    if not a.data.is_dir():
        sys.exit(f"{a.data} is not there: expected the tool-retrieval sets; name their folder with --data")
    tools = {tool["id"]: tool for tool in rows(a.data / "_merged" / "tools.jsonl")}
    for family in sorted(path for path in FAMILIES.iterdir() if path.is_dir()):
        out = a.folder / family.name
        out.mkdir(parents=True, exist_ok=True)
        ids = (family / "tools.txt").read_text(encoding="utf-8").splitlines()
        whole = ids[0].removeprefix("set ") if ids[0].startswith("set ") else None
        write(out / "tools.jsonl", rows(a.data / whole / "tools.jsonl") if whole else [tools[id] for id in ids])
        for prompts in family.glob("*.jsonl"):
            write(out / prompts.name, rows(prompts))


if __name__ == "__main__":
    main()
