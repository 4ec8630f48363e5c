#!/usr/bin/env python3
"""Measures what `toolroute run --dry-run` makes of orders: those to be carried out, and those to be asked about.

Usage: orders.py [--binary target/release/toolroute] [--misses FILE] [--json]

The orders are tests/data/orders/*.jsonl, for the catalogs beside them. Where `act` is true, the call must have the tool
and the arguments of the row. Where it is false, no tool that may change something may be called: the order is about
another thing, or only a part of it can be done. No rule was developed on the catalogs that are held out, nor was an order of
them read. The orders in other languages, in tests/data/orders/languages and among those of `banking` and `library`, are all
to be carried out; `or` has the other right arguments of a row.
"""
import argparse, collections, json, os, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ORDERS = ROOT / "tests/data/orders"
HELD_OUT = {"banking", "dns", "flags", "ledger", "observability", "pdf", "personnel", "pgdb", "phone-assistant", "restaurant", "sales-crm", "travel",
            "warehouse"}
NOWS = ["2026-11-26T10:00:00+01:00", "2026-05-11T10:00:00+02:00"]
COLUMNS = ["right", "wrong arguments", "wrong tool", "asked", "asked ", "read", "carried out"]


def prompts(path):
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def readers(catalog):
    """The tools of a catalog that are declared to only read."""
    tools = json.loads(catalog.read_text())
    annotated = tools if isinstance(tools, list) else tools.get("tools", [])
    return {tool["name"] for tool in annotated if tool.get("annotations", {}).get("readOnlyHint")}


def outcome(row, answer, readers):
    """The column of a row; `answer` is None if nothing would be called."""
    if answer is None:
        return "asked" if row["act"] else "asked "
    tool = answer["tool"].split("__", 1)[-1]
    if not row["act"]:
        return "read" if tool in readers else "carried out"
    if tool != row["tool"]:
        return "wrong tool"
    is_right = answer["arguments"]["arguments"] in [row["arguments"], *row.get("or", [])]
    return "right" if is_right else "wrong arguments"


def ask(binary, catalog, row, folder):
    command = [binary, "run", "--dry-run", "--json", "-q", "--tools", catalog, "--now", NOWS[Path(catalog).parent != ORDERS], row["prompt"]]
    own = {name: str(folder) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=os.environ | own | {"RAYON_NUM_THREADS": "1"})
    answer = json.loads(done.stdout) if done.returncode == 0 else None
    return answer if answer and "tool" in answer else None


def measure(binary, misses):
    table = {}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        order = lambda path: (path.parent != ORDERS, path.stem in HELD_OUT, path.stem)
        for catalog in sorted(ORDERS.rglob("*.json"), key=order):
            rows = prompts(catalog.with_suffix(".jsonl"))
            answers = list(pool.map(lambda row: ask(binary, catalog, row, folder), rows))
            known = readers(catalog)
            for row, answer in zip(rows, answers):
                column = outcome(row, answer, known)
                table.setdefault(row.get("language", catalog.stem), collections.Counter())[column] += 1
                if misses and column not in ("right", "asked "):
                    print(json.dumps(row | {"outcome": column, "answer": answer}, ensure_ascii=False), file=misses)
    catalogs = {path.stem for path in ORDERS.glob("*.json")}
    groups = [("developed on", catalogs - HELD_OUT), ("held out", HELD_OUT), ("nine languages", table.keys() - catalogs)]
    return table | {name: sum((table[one] for one in group), collections.Counter()) for name, group in groups}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", default=str(ROOT / "target/release/toolroute"))
    parser.add_argument("--misses", type=argparse.FileType("w"), help="a file for the orders that are neither right nor rightly asked about")
    parser.add_argument("--json", action="store_true")
    a = parser.parse_args()
    table = measure(str(Path(a.binary).resolve()), a.misses)
    if a.json:
        print(json.dumps({name: {column.strip() + (" rightly" if column.endswith(" ") else ""): counts[column] for column in COLUMNS}
                          for name, counts in table.items()}))
        return
    print(f"{'':22}{'to be carried out':^42}{'not to be':^30}")
    print(f"{'catalog':22}" + "".join(f"{column.strip().replace('wrong arguments', 'arguments'):>12}" for column in COLUMNS))
    for name, counts in table.items():
        print(f"{name:22}" + "".join(f"{counts[column]:12}" for column in COLUMNS))


if __name__ == "__main__":
    sys.exit(main())
