#!/usr/bin/env python3
"""Compares the public names of the crate `toolroute`, from its documentation, with docs/public-api.txt.

    scripts/public_api.py            # prints the differences, and exits with 1 if there are any
    scripts/public_api.py --write    # writes the file

The file has one line per name and per method of a type, so that every change of the interface changes it.
"""

import argparse
import difflib
import html
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "docs" / "public-api.txt"
HEAD = "# The public names of the crate `toolroute`, by `scripts/public_api.py --write`.\n"
ITEM = re.compile(r'<li><a href="([^"]+)">([^<]+)</a></li>')
METHOD = re.compile(r'<section id="(?:ty)?method\.([a-z0-9_]+)" class="method">')


def documented():
    subprocess.run(["cargo", "doc", "--locked", "--no-deps", "--package", "toolroute"], cwd=ROOT, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "doc" / "toolroute"


def names(folder):
    found = []
    for href, name in ITEM.findall((folder / "all.html").read_text()):
        kind, page = Path(href).name.split(".")[0], folder / href
        path = "toolroute::" + html.unescape(name)
        found.append(f"{kind} {path}")
        if kind in ("struct", "enum", "trait"):
            text = page.read_text()
            # What every type has, and what a derive gives, is no part of the list.
            own = text.split('id="trait-implementations-1"')[0].split('id="trait-implementations"')[0]
            found += [f"{kind} {path}::{method}()" for method in METHOD.findall(own)]
    return sorted(set(found))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    found = HEAD + "\n".join(names(documented())) + "\n"
    if args.write:
        LIST.write_text(found)
        return 0
    known = LIST.read_text() if LIST.exists() else ""
    changes = list(difflib.unified_diff(known.splitlines(), found.splitlines(), "docs/public-api.txt", "the crate", lineterm="", n=0))
    print("\n".join(changes) or "the public names are those of docs/public-api.txt")
    return 1 if changes else 0


if __name__ == "__main__":
    sys.exit(main())
