#!/usr/bin/env python3
"""Runs the commands that README.md and docs/ show, and compares what they print with what the pages say.

    examples.py [--binary toolroute] [--write] [PAGE…]

A ```console block is run command by command, each page in a folder of its own. `$ cat FILE` makes the file with
the shown content, unless a command before it wrote the file; then that is compared. Of an output a page may show a part:
its lines have to be there in their order. Numbers may differ by 0.02, since processors round differently, and
times may be any. Commands with a comment, in the background, or of other programs are left out, and so are those of `LEFT_OUT`.

`--write` puts what is printed now in the place of what a page shows. Exit status: 0 if all pages are true.
"""

import argparse
import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"```console\n(.*?)```", re.S)
NUMBER = re.compile(r"-?\d+\.\d+")
TIME = re.compile(r"\bin \d+(?:\.\d+)? m?s\b(?: \(\d+ a second\))?|\b\d+(?:\.\d+)? a second\b|[█▉▊▋▌▍▎▏]+$")
RULE = re.compile(r"[─═]{5,}")
# A page tells what is around these: servers of its own, or a session of several commands.
LEFT_OUT = ("words.json",)
OWN = ("analyze", "batch", "call", "candidates", "conduct", "learn", "ledger", "route", "run", "tools")


def catalog_of_docs(low: bool) -> str:
    """The tools of docs/catalog.md, as written there or with the mistake in their second line cured."""
    page = (ROOT / "docs/catalog.md").read_text()
    shown = page.split("$ cat my/tools.jsonl\n", 1)[1].split("\n$ ", 1)[0]
    return shown.replace('"lo"', '"low"') if low else shown


def prepare(folder: Path) -> None:
    """Puts the files there that pages take for granted."""
    for name in ("examples", "tests"):
        (folder / name).symlink_to(ROOT / name)
    for name in ("filesystem", "everything"):
        shutil.copy(ROOT / f"tests/data/captured/{name}.json", folder)
    (folder / "my").mkdir()
    (folder / "my/tools.jsonl").write_text(catalog_of_docs(low=False) + "\n")
    overlay = (ROOT / "docs/catalog.md").read_text().split("# my-overlay.toml\n", 1)[1].split("```", 1)[0]
    (folder / "my-overlay.toml").write_text(overlay)
    source = folder / "project/src"
    source.mkdir(parents=True)
    (source / "lib.rs").write_text("pub fn double(number: i64) -> i64 {\n    number * 2\n}\n")
    (folder / "project/Cargo.toml").write_text('[package]\nname = "project"\nversion = "0.1.0"\n')


def plain(line: str) -> str:
    """A line without what may be any: times, the ends of rules, and spaces that align columns."""
    line = RULE.sub("─", TIME.sub("<time>", line.rstrip()))
    return re.sub(r" {2,}", " ", line)


def is_same(shown: str, printed: str) -> bool:
    shown, printed = plain(shown), plain(printed)
    if NUMBER.sub("#", shown) != NUMBER.sub("#", printed):
        return False
    pairs = zip(map(float, NUMBER.findall(shown)), map(float, NUMBER.findall(printed)))
    return all(abs(one - other) <= 0.02 for one, other in pairs)


def missing(shown: list[str], printed: list[str]) -> str | None:
    """The first shown line that is not printed behind those before it."""
    rest = iter(printed)
    for line in shown:
        if line.strip() and not any(is_same(line, other) for other in rest):
            return line
    return None


def rewritten(shown: list[str], printed: list[str]) -> list[str]:
    """What is printed, or of a part the lines most like those shown."""
    if len(shown) == len(printed):
        return printed
    lines, start = [], 0
    for line in shown:
        near = difflib.get_close_matches(line, printed[start:], n=1, cutoff=0.3)
        if near:
            start = printed.index(near[0], start) + 1
        lines.append(near[0] if near else line)
    return lines


class Page:
    def __init__(self, path: Path, folder: Path, environment: dict[str, str]) -> None:
        self.path, self.folder, self.environment = path, folder, environment
        self.cwd = folder
        self.wrong: list[str] = []
        self.run_count = 0

    def output(self, command: str) -> list[str] | None:
        """What a command prints; `None` if it is not run."""
        if command.startswith("export "):
            name, value = command.removeprefix("export ").split("=", 1)
            self.environment[name] = value
            return None
        if command.startswith("cd "):
            # Files of the repository are not written to.
            self.cwd = ROOT / command.split()[1]
            return None
        words = command.split()
        is_own = words[0] == "toolroute" and words[1] in OWN
        if is_own and words[1] != "tools":
            # The pages say that the mistake is cured by then.
            (self.folder / "my/tools.jsonl").write_text(catalog_of_docs(low=True) + "\n")
        if not is_own or " # " in command or command.endswith("&") or any(word in command for word in LEFT_OUT):
            return None
        done = subprocess.run(
            ["bash", "-c", command.replace("/tmp/", f"{self.folder}/")],
            cwd=self.cwd,
            env=self.environment | {"COLUMNS": "96" if words[1] == "ledger" else "80"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
        )
        self.run_count += 1
        return done.stdout.rstrip("\n").split("\n")

    def part(self, part: str) -> str:
        """Checks one command with what is shown behind it, and returns the two as they should be."""
        command, _, shown = part.removeprefix("$ ").partition("\n")
        lines = shown.rstrip("\n").split("\n")
        if command.startswith("cat "):
            file = self.folder / command.split()[1]
            if not file.exists():
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(shown)
                return part
            printed = file.read_text().rstrip("\n").split("\n")
        else:
            found = self.output(command)
            if found is None:
                return part
            printed = found
        line = missing(lines, printed)
        if line is None:
            return part
        name = self.path.relative_to(ROOT)
        self.wrong.append(f"{name}: `{command[:90]}` does not print `{line}` but\n    " + "\n    ".join(printed[:12]))
        end = shown[len(shown.rstrip("\n")) :]
        return f"$ {command}\n" + "\n".join(rewritten(lines, printed)) + end

    def checked(self) -> str:
        """The page as it should be."""
        text = self.path.read_text()

        def block(found: re.Match[str]) -> str:
            parts = re.split(r"(?m)^(?=\$ )", found[1])
            return "```console\n" + "".join(self.part(part) if part.startswith("$ ") else part for part in parts) + "```"

        return BLOCK.sub(block, text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, default=Path(shutil.which("toolroute") or "toolroute"))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--self-check", action="store_true")
    parser.add_argument("pages", nargs="*", type=Path)
    args = parser.parse_args()
    if args.self_check:
        assert is_same(" a__b   0.412   close (0.51)", " a__b  0.401   close (0.51)")
        assert not is_same("a 0.41", "a 0.51") and not is_same("a 0.41", "b 0.41")
        assert missing(["one", "three in 5 ms"], ["one", "two", "three in 17 ms"]) is None
        assert missing(["two", "one"], ["one", "two"]) == "one"
        return 0
    if not args.binary.is_file():
        sys.exit(f"expected --binary with the program toolroute, found {args.binary}; cargo build makes it")
    pages = args.pages or [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    wrong, count = [], 0
    for path in pages:
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder, "home")
            (home / "bin").mkdir(parents=True)
            (home / "bin/toolroute").symlink_to(args.binary.resolve())
            work = Path(folder, "work")
            work.mkdir()
            prepare(work)
            clean = {name: value for name, value in os.environ.items() if not name.startswith(("TOOLROUTE", "XDG_"))}
            environment = clean | {"HOME": str(home), "PATH": f"{home}/bin:{os.environ['PATH']}"}
            page = Page(path.resolve(), work, environment)
            text = page.checked()
            if args.write and text != path.read_text():
                path.write_text(text)
        wrong += page.wrong
        count += page.run_count
    print("\n".join(wrong), file=sys.stderr)
    print(json.dumps({"commands": count, "wrong": len(wrong)}))
    return 1 if wrong and not args.write else 0


if __name__ == "__main__":
    sys.exit(main())
