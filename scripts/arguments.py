#!/usr/bin/env python3
"""Measures the arguments that `toolroute call --prompt` takes from prompts, against the answers of BFCL.

Usage: arguments.py DATA [--binary FILE] [--sets A,B] [--misses FILE] [--half odd|even] [--json]

DATA is the folder `bfcl_eval/data` of the PyPI package `bfcl-eval` (Apache-2.0); nothing of it is kept here:
  pip download --no-deps bfcl-eval && unzip -q bfcl_eval-*.whl -d bfcl

Each prompt is given with the one function that answers it, so only the arguments are measured, and nothing is called
(`--dry-run`). A prompt is
  right    every value is one that BFCL accepts, and none that it needs is absent
  wrong    the call would be made with another value
  lacking  the call would be made without a value that BFCL needs
  asked    the program asks; `asked, ready` of these have a value for each parameter that BFCL needs
`values` are the parameters that BFCL needs, over all prompts: taken rightly, wrongly, or not.
"""
import argparse, json, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from calibrate import rows

SETS = ["simple_python", "multiple", "live_simple", "live_multiple"]
TYPES = {"dict": "object", "float": "number", "tuple": "array", "list": "array"}
# The moment that "tomorrow" is relative to. BFCL's prompts name none.
NOW = "2024-06-15T10:30:00+00:00"


def schema(value):
    """A JSON Schema of BFCL's, whose types are Python's."""
    if isinstance(value, list):
        return [schema(item) for item in value]
    if not isinstance(value, dict):
        return value
    out = {}
    for key, item in value.items():
        if key == "type" and isinstance(item, str):
            if item != "any":
                out[key] = TYPES.get(item, item)
        elif key == "properties":
            out[key] = {name: schema(inner) for name, inner in item.items()}
        else:
            out[key] = schema(item) if isinstance(item, dict) else item
    return out


def same(given, accepted):
    """Whether a value is the accepted one; texts without case, spaces and punctuation, as BFCL compares them."""
    if isinstance(given, str) and isinstance(accepted, str):
        plain = lambda text: "".join(c for c in text.casefold() if c.isalnum())
        return plain(given) == plain(accepted)
    if isinstance(given, bool) or isinstance(accepted, bool):
        return given is accepted
    if isinstance(given, list) and isinstance(accepted, list):
        return len(given) == len(accepted) and all(map(same, given, accepted))
    if isinstance(given, dict) and isinstance(accepted, dict):
        return all(key in accepted and any(same(value, one) for one in accepted[key]) for key, value in given.items()) and all(
            key in given or "" in values for key, values in accepted.items()
        )
    return given == accepted


def answer(binary, folder, number, case):
    """The arguments of the program's answer, and whether it asks."""
    function = case["function"]
    file = folder / f"{number}.json"
    tool = {"name": "tool", "description": function["description"], "inputSchema": schema(function["parameters"])}
    tool["name"] = "".join(c if c.isalnum() or c in "_-" else "_" for c in function["name"])
    file.write_text(json.dumps([tool]), encoding="utf-8")
    command = [binary, "call", tool["name"], "--tools", file, "--prompt", case["prompt"], "--dry-run", "--json", "--quiet", "--now", NOW]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    file.unlink()
    if done.returncode not in (0, 2) or not done.stdout:
        sys.exit(f"{case['id']}: expected an answer, exit code {done.returncode}: {done.stderr.strip()}")
    report = json.loads(done.stdout)
    return report["arguments"]["arguments"], report.get("outcome") == "clarify", report


def judge(case, given, asked):
    needed = {name: values for name, values in case["truth"].items() if "" not in values}
    wrong = [n for n, v in given.items() if not any(same(v, one) for one in case["truth"].get(n, []))]
    absent = [name for name in needed if name not in given]
    values = {"taken": len(needed) - len(absent) - sum(n in wrong for n in needed), "wrong": len(wrong), "absent": len(absent)}
    if asked:
        outcome = "asked, ready" if not absent and not wrong else "asked"
    else:
        outcome = "wrong" if wrong else "lacking" if absent else "right"
    return outcome, values, wrong, absent


def cases(data, name):
    file = f"BFCL_v4_{name}.json"
    truths = {row["id"]: row["ground_truth"][0] for row in rows(data / "possible_answer" / file)}
    for row in rows(data / file):
        (called, truth), = truths[row["id"]].items()
        function = next(f for f in row["function"] if f["name"] == called)
        yield {"id": row["id"], "prompt": row["question"][0][-1]["content"], "function": function, "truth": truth}


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("data", type=Path, metavar="DATA")
    p.add_argument("--binary", default="target/release/toolroute")
    p.add_argument("--sets", default=",".join(SETS))
    p.add_argument("--half", choices=["even", "odd"], help="only every second prompt, counted from 0")
    p.add_argument("--misses", type=argparse.FileType("w"), help="a file for the prompts that are not right")
    p.add_argument("--json", action="store_true")
    a = p.parse_args()
    if not (a.data / "possible_answer").is_dir():
        sys.exit(f"{a.data} has no `possible_answer`: expected the folder bfcl_eval/data of the package bfcl-eval")
    out = {}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        for name in a.sets.split(","):
            chosen = [c for i, c in enumerate(cases(a.data, name)) if a.half is None or i % 2 == (a.half == "odd")]
            answers = pool.map(lambda item: answer(a.binary, Path(folder), *item), enumerate(chosen))
            count = dict.fromkeys(["right", "wrong", "lacking", "asked", "asked, ready"], 0)
            total = dict.fromkeys(["taken", "wrong", "absent"], 0)
            for case, (given, asked, report) in zip(chosen, answers):
                outcome, values, wrong, absent = judge(case, given, asked)
                count[outcome] += 1
                for key, value in values.items():
                    total[key] += value
                if a.misses and outcome != "right":
                    row = {k: case[k] for k in ("id", "prompt", "truth")} | {"outcome": outcome, "given": given, "wrong": wrong, "absent": absent}
                    row["why"] = [[q["name"], q["why"]] for q in report["arguments"].get("questions", [])]
                    row["schema"] = case["function"]["parameters"]
                    a.misses.write(json.dumps(row, ensure_ascii=False) + "\n")
            out[name] = {"prompts": len(chosen)} | count | {"values": total}
    if a.json:
        print(json.dumps(out, indent=2))
        return
    print(f"{'set':14}{'prompts':>8}{'right':>8}{'wrong':>8}{'lacking':>9}{'asked':>8}{'ready':>8}   values: taken, wrong, absent")
    for name, row in out.items():
        n = row["prompts"]
        share = lambda key: row[key] / n
        v = row["values"]
        print(
            f"{name:14}{n:8}{share('right'):8.3f}{share('wrong'):8.3f}{share('lacking'):9.3f}"
            f"{share('asked') + share('asked, ready'):8.3f}{share('asked, ready'):8.3f}   {v['taken']}, {v['wrong']}, {v['absent']}"
        )


if __name__ == "__main__":
    main()
