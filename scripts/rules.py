#!/usr/bin/env python3
"""Leaves each rule that reads prompts out in turn, and prints what that changes on the prompts of this repository.

Usage: rules.py FOLDER [--paths A,B] [--bfcl DATA] [--jobs N]

A rule is a function that returns a truth value, an option or a list, or the condition of an `if`. The sources are copied to
FOLDER, each rule gets a switch there, and the copy is built (a release build; some minutes). Then every prompt is
answered with all rules, and those that reach a rule again without it: an hour for all on two cores.

Printed are, as JSON lines, the rules by what leaving them out changes: the prompts that reach it, the answers that
change, and for each group of prompts the change in right and in wrong answers. Rules that change nothing come first: they
are for another door, for prompts that these sets lack, or for nothing. Look at their tests before you remove one.

The prompts are tests/data/orders (those held out are a group of their own), tests/data/languages, trial, indirect
and kept_out; with --bfcl also those of scripts/arguments.py.
"""
import argparse, collections, json, os, re, shutil, subprocess, sys, threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import arguments, languages, orders

ROOT = Path(__file__).resolve().parent.parent
PATHS = ["crates/run/src/execution/extraction", "crates/rank/src/query", "crates/rank/src/selection", "crates/session/src",
         "crates/translation/src", "crates/catalog/src/effects.rs"]
# Seconds within which the driver prints a line; the first takes longest.
PATIENCE = 300
NO_RULES = re.compile(r"(tests?\.rs$|/tests/|lexicon\.rs$|keywords\.rs$|cache\.rs$)")
FUNCTION = re.compile(r"^(\s*)(?:pub(?:\([a-z: ]+\))? )?fn (\w+)(?:<[^{;]*?>)?\([^{;]*?\)\s*-> (bool|(?:Option|Vec)<(?:(?!\)\s*->)[^{;])*?>)\s*\{\n", re.M)
CONDITION = re.compile(r"^(\s*(?:\} else )?)if (?!let )(?!.*\blet\b)(.+) \{\n", re.M)
NOTHING = {"bool": ["false", "true"], "Option": ["None"], "Vec": ["Vec::new()"]}
GOOD, BAD = {"right", "first"}, {"wrong arguments", "wrong tool", "carried out", "wrong", "lacking"}


def add_switches(folder, paths):
    """Puts a switch into each rule of the copy. Returns [file, rule, what it then returns]."""
    rules = []
    for path in sorted(file for path in paths for file in ([folder / path] if path.endswith(".rs") else (folder / path).rglob("*.rs"))):
        if NO_RULES.search(str(path)):
            continue
        text = path.read_text()
        tests = re.search(r"^#\[cfg\(test\)\]\nmod \w+ \{", text, re.M)
        own, rest = (text[:tests.start()], text[tests.start():]) if tests else (text, "")
        name = str(path.relative_to(folder))

        def function(found):
            out = found.group(0)
            for value in NOTHING[found.group(3).split("<")[0]]:
                out += f"{found.group(1)}    if switches::off({len(rules)}) {{ return {value}; }}\n"
                rules.append([name, found.group(2), value])
            return out

        def condition(found):
            if "switches::off" in found.group(2):
                return found.group(0)
            rules.append([name, "if " + found.group(2), "never"])
            return f"{found.group(1)}if !switches::off({len(rules) - 1}) && ({found.group(2)}) {{\n"

        path.write_text(CONDITION.sub(condition, FUNCTION.sub(function, own)) + rest)
    return rules


def copy(folder, paths):
    """Makes the copy with its switches, and builds it."""
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns("target", ".git", "__pycache__"), dirs_exist_ok=True)
    rules = add_switches(folder, paths)
    switches = folder / "crates/switches"
    (switches / "src").mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "scripts/rules/switches.rs", switches / "src/lib.rs")
    (switches / "Cargo.toml").write_text('[package]\nname = "switches"\nversion = "0.0.0"\nedition = "2024"\npublish = false\n')
    for name in {path.split("/")[1] for path in paths} | {"lab"}:
        manifest = folder / "crates" / name / "Cargo.toml"
        manifest.write_text(manifest.read_text().replace("[dependencies]\n", '[dependencies]\nswitches = { path = "../switches" }\n', 1))
    (folder / "crates/lab/src/bin").mkdir(exist_ok=True)
    shutil.copy(ROOT / "scripts/rules/driver.rs", folder / "crates/lab/src/bin/rules.rs")
    os.environ |= {"CARGO_PROFILE_RELEASE_LTO": "off", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16"}
    command = ["cargo", "build", "--release", "-p", "toolroute-lab", "--bin", "rules", "--target-dir", "target"]
    subprocess.run(command, cwd=folder, check=True)
    return rules


def prompts(bfcl):
    """The catalogs, the rows for the driver, and for each row its group and a function that judges an answer."""
    catalogs, rows, judges = [], [], []

    def add(group, judge, **row):
        rows.append(row)
        judges.append((group, judge))

    for catalog in sorted(orders.ORDERS.rglob("*.json")):
        catalogs.append(str(catalog))
        readers = orders.readers(catalog)
        group = "languages" if catalog.parent != orders.ORDERS else "held out" if catalog.stem in orders.HELD_OUT else "orders"
        for row in orders.prompts(catalog.with_suffix(".jsonl")):
            called = lambda answer: None if "asked" in answer else {"tool": answer["tool"], "arguments": {"arguments": answer["arguments"]}}
            judge = lambda answer, row=row, readers=readers: orders.outcome(row, called(answer), readers)
            add(group, judge, catalog=len(catalogs) - 1, prompt=row["prompt"], now=orders.NOWS[catalog.parent != orders.ORDERS])

    def rank(group, catalog, queries):
        catalogs.append(str(catalog))
        for query in queries:
            gold = {one for right in query["gold"] for one in (right if isinstance(right, list) else [right])}
            place = lambda answer, gold=gold: (
                answer["fit"] if not gold else "first" if gold & set(answer["tools"][:1]) else "five" if gold & set(answer["tools"]) else "miss")
            add("ranking", place, catalog=len(catalogs) - 1, rank=True, prompt=query.get("query") or query["prompt"], now=orders.NOWS[0])

    lines = lambda path: languages.rows(path.read_text()) if path.exists() else []
    for queries in sorted(file for name in ("trial", "indirect", "kept_out") for file in (ROOT / "tests/data" / name).rglob("queries.jsonl")):
        catalog = next(path for path in (queries.with_name(name) for name in ("tools", "tools.jsonl", "tools.json")) if path.exists())
        rank(queries.parent.name, catalog, lines(queries) + lines(queries.with_name("offtopic.jsonl")))
    for name, catalog in languages.CATALOGS.items():
        rank(name, ROOT / catalog, lines(ROOT / "tests/data/languages" / f"{name}.jsonl"))
    for name in arguments.SETS if bfcl else []:
        for case in arguments.cases(Path(bfcl), name):
            function = case["function"]
            tool = {"name": re.sub(r"[^\w-]", "_", function["name"]), "description": function["description"],
                    "inputSchema": arguments.schema(function["parameters"])}
            judge = lambda answer, case=case: arguments.judge(case, answer["arguments"], answer["asked"])[0]
            add("bfcl", judge, tool=tool, prompt=case["prompt"], now=arguments.NOW)
    return {"catalogs": catalogs, "rows": rows}, judges


def drive(folder, rules, job, jobs):
    """The answers with all rules, and what the driver prints for every `jobs`-th rule. Without some rules a loop has no end."""
    binary, first, base, found = (folder / "target/release/rules").resolve(), job, None, []
    while first < len(rules):
        command = [binary, folder / "rows.json", str(len(rules)), str(first), str(jobs)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as driver:
            for line in iter(lambda: until(PATIENCE, driver), ""):
                if line.startswith("["):
                    base = json.loads(line)
                else:
                    found.append(json.loads(line))
                    first = found[-1]["rule"] + jobs
        if base is None:
            sys.exit(f"{binary} gave no answers")
        if first < len(rules):
            found.append({"rule": first, "reached": 0, "changed": [], "hung": True})
            first += jobs
    return base, found


def until(seconds, driver):
    """The next line of the driver, which is stopped if none comes in time."""
    timer = threading.Timer(seconds, driver.kill)
    timer.start()
    line = driver.stdout.readline()
    timer.cancel()
    return line


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--paths", default=",".join(PATHS))
    parser.add_argument("--bfcl", help="the folder that scripts/arguments.py reads")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    a = parser.parse_args()
    rows, judges = prompts(a.bfcl)
    rules = copy(a.folder, a.paths.split(","))
    (a.folder / "rows.json").write_text(json.dumps(rows))
    with ThreadPoolExecutor(a.jobs) as pool:
        driven = list(pool.map(lambda job: drive(a.folder, rules, job, a.jobs), range(a.jobs)))
    found = []
    for base, answers in driven:
        for answer in answers:
            groups = collections.defaultdict(lambda: [0, 0])
            for row, now in answer["changed"]:
                group, judge = judges[row]
                for outcome, sign in ((judge(now), 1), (judge(base[row]), -1)):
                    groups[group][0] += sign * (outcome in GOOD)
                    groups[group][1] += sign * (outcome in BAD)
            file, rule, value = rules[answer["rule"]]
            found.append({"file": file, "rule": rule, "then": value, "hung": answer.get("hung", False),
                          "reached": answer["reached"], "changed": len(answer["changed"]), "right_and_wrong": groups})
    gain = lambda rule: sum(right - wrong for right, wrong in rule["right_and_wrong"].values())
    for rule in sorted(found, key=lambda rule: (rule["hung"] or rule["changed"] > 0, -gain(rule), rule["file"], rule["rule"])):
        print(json.dumps(rule, ensure_ascii=False))


if __name__ == "__main__":
    sys.exit(main())
