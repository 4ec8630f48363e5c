"""Implements kill_drill.sh: plans of many obligations, killed at random moments and resumed.

Before they answer, three tools append a line with their idempotency key to a journal, so that their
calls are known independently of the ledger: one that must never be called twice, one that may be,
and one that only reads. A fourth tool computes. Each document is conducted until it is answered;
then another one begins in the same ledger.
"""

import argparse
import collections
import json
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

OBLIGATIONS = 24

TOOLS = {
    "Writer": {"kind": "write", "read_only": False, "idempotent": False},
    "Setter": {"kind": "set", "read_only": False, "idempotent": True},
    "Reader": {"kind": "read", "read_only": True, "idempotent": True},
    "EvalMath": {"kind": "math", "read_only": True, "idempotent": True},
}


def prepare(folder):
    rows = []
    runners = []
    for name, tool in TOOLS.items():
        rows.append({
            "id": name, "name": name, "description": f"Does {tool['kind']}",
            "satisfies": [f"REPORT(drill.{tool['kind']})"], "reliability": "high",
            "hints": {"read_only": tool["read_only"], "idempotent": tool["idempotent"]},
        })
        if name == "EvalMath":
            runners.append('[EvalMath]\nbuiltin = "math"\n')
        else:
            runners.append(
                f'[{name}]\nbuiltin = "journal"\nfile = "{name}.journal"\nwait_ms = 2\n')
    (folder / "tools.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "runners.toml").write_text("\n".join(runners))


def document(folder, number, rng):
    kinds = [tool["kind"] for tool in TOOLS.values()]
    obligations = []
    for place in range(OBLIGATIONS):
        kind = rng.choice(kinds)
        payload = {"expression": f"{place} * {number}"} if kind == "math" else {"n": place}
        obligations.append({"id": f"d{number}-{place}", "type": f"REPORT(drill.{kind})",
                            "payload": payload})
    path = folder / f"request{number}.json"
    path.write_text(json.dumps({"utterance": f"drill {number}", "obligations": obligations}))
    return path


def journal(folder):
    """How often each key was written, by tool."""
    lines = collections.Counter()
    for name in TOOLS:
        path = folder / f"{name}.journal"
        if path.exists():
            for line in path.read_text().splitlines():
                lines[json.loads(line)["key"]] += 1
    return lines


class Drill:
    def __init__(self, folder, binary, seed):
        self.folder, self.binary, self.rng = folder, binary, random.Random(seed)
        self.ledger = folder / "ledger.sqlite"
        self.ended = {}
        self.found = collections.Counter()

    def start(self, request):
        return subprocess.Popen(
            [self.binary, "conduct", str(request), "--resume", "--json", "--quiet",
             "--ledger", str(self.ledger), "--tools", str(self.folder / "tools.jsonl"),
             "--runners", str(self.folder / "runners.toml"), "--strategy", "keyword"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def look(self, number):
        """Opens the ledger as it was left, and holds it against the journals."""
        if not self.ledger.exists():
            return
        lines = journal(self.folder)
        try:
            with sqlite3.connect(self.ledger) as base:
                if base.execute("PRAGMA quick_check").fetchone()[0] != "ok":
                    raise sqlite3.DatabaseError("quick_check")
                if not base.execute(
                        "SELECT count(*) FROM sqlite_schema WHERE name = 'runs'").fetchone()[0]:
                    return
                runs = base.execute("SELECT key, tool, status FROM runs").fetchall()
                planned = base.execute(
                    "SELECT count(*) FROM obligations WHERE name LIKE ? AND parent IS NULL",
                    (f"d{number}-%",)).fetchone()[0]
                status = base.execute(
                    "SELECT status FROM requests WHERE document LIKE ?",
                    (f'%"drill {number}"%',)).fetchone()
            base.close()
        except sqlite3.DatabaseError as error:
            print(f"the ledger does not open: {error}", file=sys.stderr)
            self.found["ledger_unopened"] += 1
            return
        expected = (0, OBLIGATIONS) if status in (None, ("received",)) else (OBLIGATIONS,)
        if planned not in expected:
            self.found["obligations_lost"] += abs(OBLIGATIONS - planned)
        self.found["killed_within_a_run"] += any(row[2] == "started" for row in runs)
        for key, tool, status in runs:
            if tool == "EvalMath" or status == "started":
                continue
            # A run that ended had written its line: later there must be no more of them.
            before = self.ended.setdefault(key, lines[key])
            self.found["completed_run_again"] += lines[key] > before
            self.ended[key] = lines[key]

    def conduct(self, number, kills):
        """One document, to its answer; gives the kills that are left."""
        request = document(self.folder, number, self.rng)
        while kills > 0:
            begun = time.monotonic()
            process = self.start(request)
            try:
                process.communicate(timeout=self.rng.uniform(0, self.typical))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
            process.communicate()
            if process.returncode == -signal.SIGKILL:
                kills -= 1
                self.found["kills"] += 1
                self.look(number)
                continue
            # The machine may be busier or idler than at the beginning: kills must fall within.
            self.typical = 0.5 * self.typical + 0.5 * (time.monotonic() - begun)
            self.finished(process, number)
            return kills
        process = self.start(request)
        process.communicate()
        self.finished(process, number)
        return 0

    def finished(self, process, number):
        if process.returncode != 0:
            self.found["failed_to_resume"] += 1
        self.look(number)
        self.found["documents"] += 1

    def close(self):
        """What must be true in the end, of all documents."""
        with sqlite3.connect(self.ledger) as base:
            found = self.found
            found["obligations"] = base.execute(
                "SELECT count(*) FROM obligations WHERE parent IS NULL").fetchone()[0]
            found["obligations_lost"] += found["documents"] * OBLIGATIONS - found["obligations"]
            found["obligations_lost"] += base.execute(
                "SELECT count(*) FROM obligations WHERE status = 'active'").fetchone()[0]
            found["runs"] = base.execute("SELECT count(*) FROM runs").fetchone()[0]
            found["repeated_safely"] = base.execute(
                "SELECT count(*) FROM runs WHERE attempts > 1").fetchone()[0]
            found["escalated_as_uncertain"] = base.execute(
                "SELECT count(*) FROM runs WHERE status = 'uncertain'").fetchone()[0]
            once = {key for (key,) in base.execute("SELECT key FROM runs WHERE repeatable = 0")}
        base.close()
        lines = journal(self.folder)
        found["writes_done_twice"] = sum(lines[key] > 1 for key in once)

    def time_one(self):
        """What an undisturbed document takes, so that kills fall anywhere within one."""
        self.typical = 0
        request = document(self.folder, 0, self.rng)
        begun = time.monotonic()
        process = self.start(request)
        said = process.communicate()[1].decode()
        if process.returncode != 0:
            sys.exit(f"the drill does not run: {said}")
        self.typical = time.monotonic() - begun
        self.finished(process, 0)


COUNTED = ["kills", "killed_within_a_run", "documents", "obligations", "runs", "repeated_safely",
           "escalated_as_uncertain", "obligations_lost", "completed_run_again",
           "writes_done_twice", "ledger_unopened", "failed_to_resume"]
MUST_BE_NONE = COUNTED[-5:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(folder)
        drill = Drill(folder, str(pathlib.Path(args.binary).resolve()), args.seed)
        drill.time_one()
        kills, number = args.kills, 0
        while kills > 0:
            number += 1
            kills = drill.conduct(number, kills)
            if number % 20 == 0:
                print(f"{args.kills - kills} kills, {number} documents", file=sys.stderr)
        drill.close()
    report = {name: drill.found[name] for name in COUNTED}
    report["seconds"] = round(time.monotonic() - begun, 1)
    if args.json:
        print(json.dumps(report))
    else:
        for name, count in report.items():
            print(f"{name:24} {count}")
    sys.exit(1 if any(report[name] for name in MUST_BE_NONE) else 0)


main()
