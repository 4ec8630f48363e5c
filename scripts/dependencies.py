#!/usr/bin/env python3
"""Measures what each direct dependency costs: seconds of compiling, bytes of the program, packages.

    CARGO_PROFILE_RELEASE_STRIP=debuginfo cargo build --release --locked --timings    # with an empty target folder
    scripts/dependencies.py [--target-dir target] [--json]
    scripts/dependencies.py --self-check         # each direct dependency has a line in docs/dependencies.md

A dependency includes the packages that only it requires. Seconds are the sum of the compiler's units (two cores
need about half of the sum). Bytes are the program's symbols with the name of the package; generic code belongs to
the package that uses it.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class Packages:
    """The packages of the workspace on this platform, and which of them need which."""

    def __init__(self):
        host = re.search(r"host: (\S+)", self.run("rustc", "-vV")).group(1)
        meta = json.loads(self.run("cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", host))
        self.members = set(meta["workspace_members"])
        self.names = {package["id"]: (package["name"], package["version"]) for package in meta["packages"]}
        self.needs = {node["id"]: [one["pkg"] for one in node["deps"] if self.is_built(one)] for node in meta["resolve"]["nodes"]}
        self.direct = {pkg for member in self.members for pkg in self.needs[member]} - self.members

    @staticmethod
    def run(*command):
        return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout

    @staticmethod
    def is_built(dependency):
        return any(kind["kind"] in (None, "build") for kind in dependency["dep_kinds"])

    def reached(self, without=None):
        found, left = set(), list(self.members)
        while left:
            package = left.pop()
            if package not in found and package != without:
                found.add(package)
                left += self.needs[package]
        return found

    def brought_by(self, package):
        """The package and those that nothing else needs."""
        return self.reached() - self.reached(package)


def seconds(target):
    """Of the compiler by package, from cargo's report of timings."""
    page = (target / "cargo-timings" / "cargo-timing.html").read_text()
    units = json.loads(re.search(r"const UNIT_DATA = (\[.*?\]);", page, re.S).group(1))
    found = {}
    for unit in units:
        key = (unit["name"], unit["version"])
        found[key] = found.get(key, 0) + unit["duration"]
    return found


def sizes(binary):
    """Bytes of symbols by the package that stands first in their name."""
    found = {}
    listed = subprocess.run(["nm", "--demangle", "--print-size", binary], check=True, capture_output=True, text=True)
    for line in listed.stdout.splitlines():
        part = line.split(maxsplit=3)
        if len(part) == 4 and len(part[2]) == 1:
            name = re.match(r"[<&(\[\s]*(?:dyn |mut |\*const |\*mut )*([a-z_][a-z0-9_]*)::", part[3])
            key = name.group(1) if name else "sqlite3" if part[3].startswith("sqlite3") else ""
            found[key] = found.get(key, 0) + int(part[1], 16)
    if not found:
        sys.exit(f"{binary} has no symbols: build it as the head of this script says")
    return found


def rows(target):
    packages, times, bytes_of = Packages(), seconds(target), sizes(target / "release" / "toolroute")
    found = []
    for package in packages.direct:
        brought = [packages.names[one] for one in packages.brought_by(package)]
        crates = [name.replace("-", "_") for name, _ in brought]
        if "libsqlite3_sys" in crates:
            crates.append("sqlite3")
        name, version = packages.names[package]
        found.append({
            "name": name, "version": version, "packages": len(brought),
            "seconds": round(sum(times.get(one, 0) for one in brought), 1),
            "kb": round(sum(bytes_of.get(crate, 0) for crate in crates) / 1000),
        })
    return sorted(found, key=lambda row: (-row["seconds"], row["name"]))


def self_check():
    told = set(re.findall(r"^\| `([a-z0-9_-]+)`", (ROOT / "docs" / "dependencies.md").read_text(), re.M))
    packages = Packages()
    direct = {packages.names[package][0] for package in packages.direct}
    faults = [f"docs/dependencies.md has no line for {name}" for name in sorted(direct - told)]
    faults += [f"docs/dependencies.md has {name}, which is no direct dependency" for name in sorted(told - direct)]
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target-dir", type=Path, default=ROOT / "target")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--self-check", action="store_true")
    args = parser.parse_args()
    if args.self_check:
        return self_check()
    found = rows(args.target_dir)
    if args.json:
        print(json.dumps(found, indent=1))
        return 0
    print("| crate | version | seconds | kB | packages |\n|---|---|---|---|---|")
    for row in found:
        print("| `{name}` | {version} | {seconds} | {kb} | {packages} |".format(**row))
    return 0


if __name__ == "__main__":
    sys.exit(main())
