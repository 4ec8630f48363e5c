#!/usr/bin/env python3
"""Prints the licences of all packages that are compiled into the program, with their texts, for those who
redistribute it.

    scripts/licences.py     # needs the sources that cargo caches, and downloads missing ones

A text that several packages have is printed once, under all their names. A package without a text is listed with
the name of its licence; the texts for those of this repository are in LICENSE-APACHE and LICENSE-MIT.
"""

import json
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEXT = re.compile(r"(licen[cs]e|copying|unlicense|notice)", re.I)


def run(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def compiled():
    """The packages that the program needs on this platform, but not those that only build or test it."""
    host = re.search(r"host: (\S+)", run("rustc", "-vV")).group(1)
    meta = json.loads(run("cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", host))
    packages = {package["id"]: package for package in meta["packages"]}
    needs = {node["id"]: [one["pkg"] for one in node["deps"] if any(kind["kind"] is None for kind in one["dep_kinds"])]
             for node in meta["resolve"]["nodes"]}
    found, left = set(), [meta["resolve"]["root"]]
    while left:
        package = left.pop()
        if package not in found:
            found.add(package)
            left += needs[package]
    return [packages[one] for one in found - set(meta["workspace_members"])]


def main():
    packages = sorted(compiled(), key=lambda package: (package["name"], package["version"]))
    by_text, without = {}, []
    for package in packages:
        name = f"{package['name']} {package['version']} ({package['license'] or 'see its text'})"
        folder = Path(package["manifest_path"]).parent
        files = sorted(path for path in folder.iterdir() if path.is_file() and TEXT.match(path.name))
        for path in files:
            names = by_text.setdefault(path.read_text(errors="replace").strip(), [])
            if name not in names:
                names.append(name)
        if not files:
            without.append(name)
    print(f"toolroute contains these {len(packages)} packages.")
    for text, names in by_text.items():
        print("\n" + "=" * 80, *names, "-" * 80, text, sep="\n")
    print("\n" + "=" * 80, "These packages come without a text:", *without, sep="\n")


if __name__ == "__main__":
    main()
