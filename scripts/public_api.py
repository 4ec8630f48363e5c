#!/usr/bin/env python3
"""Compares the public interface of the crate `toolroute`, from its documentation, with docs/public-api.txt.

    scripts/public_api.py            # prints the differences, and exits with 1 if there are any
    scripts/public_api.py --write    # writes the file

The file has one line for each name, and below a type one for each method, constant, public field and variant, with its
signature, and one with the traits that it implements. So a change of any of these changes the file; a change of what a
function does, and of the trait of a generic parameter that is written `impl`, may not.
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
HEAD = "# The public interface of the crate `toolroute`, by `scripts/public_api.py --write`.\n"
ITEM = re.compile(r'<li><a href="([^"]+)">([^<]+)</a></li>')
# Methods and constants; fields; variants; fields of variants. Each with its signature.
MEMBERS = re.compile(
    r'<section id="(?:ty)?(?:method|associatedconstant|tymethod)\.[^"]+" class="(?:method|associatedconstant)">.*?'
    r'<h4 class="code-header">(?P<method>.*?)</h4>'
    r'|<span id="structfield\.[^"]+" class="structfield[^>]*>.*?<code>(?P<field>.*?)</code></span>'
    r'|<section id="variant\.[^"]+" class="variant">.*?<h3 class="code-header">(?P<variant>.*?)</h3>'
    r'|<span id="variant\.(?P<of>[^".]+)\.field\.[^"]+".*?<code>(?P<inner>.*?)</code></span>', re.DOTALL)
DECLARATION = re.compile(r'<pre class="rust item-decl"><code>(.*?)</code></pre>', re.DOTALL)
TRAIT = re.compile(r'<section id="impl-[^"]+" class="impl">.*?<h3 class="code-header">(.*?)</h3>', re.DOTALL)


def documented():
    subprocess.run(["cargo", "doc", "--locked", "--no-deps", "--package", "toolroute"], cwd=ROOT, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "doc" / "toolroute"


def plain(code):
    """The code of a piece of HTML, on one line."""
    text = html.unescape(re.sub(r"<[^>]+>", "", re.sub(r"<br ?/?>|<wbr ?/?>", "", code)))
    text = re.sub(r"\s+", " ", text).replace("( ", "(").replace(", )", ")").strip()
    return text.removeprefix("pub ").rstrip(",; ")


def members(path, kind, own):
    for found in MEMBERS.finditer(own):
        if found["method"]:
            yield f"{kind} {path}::{plain(found['method'])}"
        elif found["field"]:
            yield f"{kind} {path}.{plain(found['field'])}"
        elif found["variant"]:
            yield f"{kind} {path}::{plain(found['variant'])}"
        else:
            yield f"{kind} {path}::{found['of']}.{plain(found['inner'])}"


def traits(path, kind, text):
    found = {re.sub(r"^impl(<.*?>)? | for .*$", "", plain(head)) for head in TRAIT.findall(text)}
    return [f"{kind} {path}: {', '.join(sorted(found))}"] if found else []


def names(folder):
    found = []
    for href, name in ITEM.findall((folder / "all.html").read_text()):
        kind, text = Path(href).name.split(".")[0], (folder / href).read_text()
        path = "toolroute::" + html.unescape(name)
        found.append(f"{kind} {path}")
        # What the compiler implements, and what every type has, is no part of the list.
        own, _, rest = text.partition('id="trait-implementations"')
        if kind in ("struct", "enum", "trait"):
            found += members(path, kind, own)
            found += traits(path, kind, rest.partition('id="synthetic-implementations"')[0])
        elif declared := DECLARATION.search(text):
            found[-1] = f"{kind} {path}: {plain(declared[1])}"
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
    print("\n".join(changes) or "the public interface is that of docs/public-api.txt")
    return 1 if changes else 0


if __name__ == "__main__":
    sys.exit(main())
