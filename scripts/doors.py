"""Lists public items of the library that nothing reaches.

    doors.py [--json] [--self-check]

An item (`pub fn`, type, trait, constant) is reached if code of the program names it outside of its own definition,
its `impl` headers and `pub use`, or if the documentation shows it: a document in docs/ (as code), the README, an
example, or an example in a doc comment. Tests and benchmarks do not count; functions of public traits are items, too.
Items are identified by their names, so a use of one of two items with the same name counts for both.

scripts/doors.txt lists the items that are public for another reason, one per line: `Name: the reason`. The exit
code is 1 if an item is neither reached nor listed there, or if a line there belongs to no such item.
"""

import json
import re
import sys
from collections import Counter
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
ITEM = re.compile(r"^\s*pub (?:const |async |unsafe |extern \"C\" )*(fn|struct|enum|trait|type|const|static) (\w+)",
                  re.MULTILINE)
WORD = re.compile(r"\b[A-Za-z_]\w*\b")
# A function is called or handed on; a word that stands alone is a variable or a member.
CALL = re.compile(r"::(\w+)\b|\b(\w+)(?=\s*(?:::<[^;{}]*?>)?\()|(?<=[(,\s])(\w+)(?=[,)])")
SPAN = re.compile(r"```.*?\n(.*?)```|`([^`\n]+)`", re.DOTALL)


def without_tests(text):
    """The code without modules and items that are for tests alone."""
    kept, rest = [], text
    while (at := rest.find("#[cfg(test)]")) >= 0:
        kept.append(rest[:at])
        rest = rest[at + len("#[cfg(test)]"):]
        end, depth = 0, 0
        for end, char in enumerate(rest):
            depth += {"{": 1, "}": -1}.get(char, 0)
            if (char == "}" and depth == 0) or (char == ";" and depth == 0):
                break
        rest = rest[end + 1:]
    return "".join(kept) + rest


def is_test_file(path):
    text = path.as_posix()
    return text.endswith("/tests.rs") or "/tests/" in text


def code_of(text):
    """The code without comments, `pub use` and the heads of `impl` blocks."""
    text = re.sub(r"//.*", "", text)
    text = re.sub(r"\bpub (?:\(\w+\) )?use [^;]*;", "", text)
    return re.sub(r"^\s*impl\b[^{]*\{", "", text, flags=re.MULTILINE)


def items_of(code):
    """Kinds and names of what is public, the functions of public traits among them."""
    items = ITEM.findall(code)
    for at in re.finditer(r"^\s*pub trait \w+[^{]*\{", code, re.MULTILINE):
        end, depth = at.end(), 1
        while depth and end < len(code):
            depth += {"{": 1, "}": -1}.get(code[end], 0)
            end += 1
        items += [("fn", name) for name in re.findall(r"^\s*(?:async )?fn (\w+)", code[at.end():end], re.MULTILINE)]
    return items


def examples_of(text):
    """The examples of doc comments."""
    comments = "\n".join(re.findall(r"^\s*//[/!] ?(.*)$", text, re.MULTILINE))
    return "\n".join(re.findall(r"```.*?\n(.*?)```", comments, re.DOTALL))


def unreached(files, documents, examples):
    """The public items of `files` (path, text) that nothing names, and how many there are."""
    defined, types, calls, shown = {}, Counter(), Counter(), Counter()
    for path, text in files:
        text = without_tests(text)
        shown.update(WORD.findall(examples_of(text)))
        code = code_of(text)
        items = items_of(code)
        for kind, name in items:
            defined.setdefault(name, (kind, path))
        types.update(WORD.findall(code))
        types.subtract(name for kind, name in items if kind != "fn")
        calls.update(name for groups in CALL.findall(code) for name in groups if name)
        calls.subtract(re.findall(r"\bfn (\w+)\s*\(", code))
    for text in documents:
        for block, span in SPAN.findall(text):
            shown.update(WORD.findall(block or span))
    for text in examples:
        shown.update(WORD.findall(text))
    used = {"fn": calls}
    found = {name: about for name, about in sorted(defined.items())
             if used.get(about[0], types)[name] <= 0 and shown[name] == 0 and name != "main"}
    return found, len(defined)


def self_check():
    code = """
pub struct Used;
pub struct Dead;
impl Dead {
    pub fn lonely(&self) {}
    pub fn called(&self) -> Used { Used }
}
pub trait Door { fn knock(&self); }
/// ```
/// shown();
/// ```
pub fn shown(dead: &Other) { dead.called(); }
pub fn written() {}
#[cfg(test)]
mod tests { fn test(dead: Dead) { dead.lonely(); dead.knock(); } }
"""
    found, _ = unreached([("a.rs", code)], ["`written` is shown"], [])
    assert sorted(found) == ["Dead", "Door", "knock", "lonely"], found
    print("self-check passed")


def read(*patterns):
    return [path.read_text(encoding="utf-8") for pattern in patterns for path in REPO.glob(pattern)]


def main():
    if "--self-check" in sys.argv:
        self_check()
        return
    sources = [*(REPO / "src").rglob("*.rs"), *(REPO / "crates").rglob("*.rs")]
    paths = (path.relative_to(REPO) for path in sorted(sources))
    files = [(path.as_posix(), (REPO / path).read_text(encoding="utf-8"))
             for path in paths if not is_test_file(path)]
    found, items = unreached(files, read("README.md", "docs/*.md"), read("examples/**/*.rs"))
    reasons = {}
    for line in (REPO / "scripts" / "doors.txt").read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, reason = line.partition(": ")
            reasons[name] = reason
    doorless = {name: about for name, about in found.items() if not reasons.get(name)}
    stale = sorted(set(reasons) - set(found))
    if "--json" in sys.argv:
        print(json.dumps({"items": items, "unreached": doorless, "stale": stale}))
    else:
        for name, (kind, path) in doorless.items():
            print(f"{path}: pub {kind} {name} is reached by nothing: remove it, or write the reason into "
                  f"scripts/doors.txt")
        for name in stale:
            print(f"scripts/doors.txt: {name} is reached, or is no more: remove the line")
        print(f"{items} public items, {len(doorless)} without a door", file=sys.stderr)
    sys.exit(1 if doorless or stale else 0)


if __name__ == "__main__":
    main()
