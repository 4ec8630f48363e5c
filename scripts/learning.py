#!/usr/bin/env python3
"""Measures what learning from past prompts gives: nDCG@5 by the number of prompts that each tool has served.

Usage: scripts/learning.py [SET...] [--past 0 5 20 all] [--seed N] [--none] [--half | --split | --replay N]
                           [--binary target/release/toolroute] [--data ../shared/data]
                           [--model all-MiniLM-L6-v2] [--precision int8|f32] [--json]
       scripts/learning.py --self-check

Past prompts are the rows of train_queries.jsonl, and the tested prompts are those of queries.jsonl; no row is in
both. For each tool the first N rows that name it are used, or random ones with --seed N. --half gives history to a
random half of the tools, and scores the prompts of tools with and without history separately. --split needs no
train_queries.jsonl: it learns from a random half of queries.jsonl and tests with the other half. --none measures
instead what learning does to "none of these", with at most 1,000 prompts and those of offtopic.jsonl: which shares of
both are answered by "none" and by "unsure", and the AUROC of the confidence. --replay writes N random rows to a
log of executions and learns from the log: with correct reports, with 5 % of the reports for a tool that did not
serve, and with an adversary who reports 100 false successes of one tool in one session; compared with learning the
same rows directly. Everything is written to a temporary folder, which is deleted.
"""
import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

STRATEGIES = ("semantic", "hybrid")
MOST_ASKED = 1000
# What an adversary reports.
FALSE = 100


def read(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def write(path, rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows),
                    encoding="utf-8")
    return path


def sample(rows, most, seed=None, tools=None):
    """Of each tool (of `tools`) at most so many rows (None: all); a row keeps the tools it is taken for."""
    rows = list(enumerate(rows))
    if seed is not None:
        random.Random(seed).shuffle(rows)
    count, taken = {}, []
    for place, row in rows:
        served = [tool for tool in dict.fromkeys(row["gold"])
                  if (tools is None or tool in tools) and (most is None or count.get(tool, 0) < most)]
        for tool in served:
            count[tool] = count.get(tool, 0) + 1
        if served:
            taken.append((place, {"query": row["query"], "tools": served}))
    return [row for _, row in sorted(taken, key=lambda pair: pair[0])]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr.strip()}")
    return json.loads(done.stdout)


class Bench:
    """One set, and the program that is measured with it."""

    def __init__(self, args, name, folder):
        self.set, self.folder = args.data / name, folder
        engine = ["--model", args.model, "--precision", args.precision]
        self.tools = next(path for path in (self.set / "tools.jsonl", self.set / "tools") if path.exists())
        self.common = ["--tools", self.tools, *engine, "--json", "--quiet"]
        self.binary = args.binary
        self.past = None if args.split else read(self.set / "train_queries.jsonl")

    def learn(self, most, seed, tools=None):
        if most == 0:
            return None
        past = write(self.folder / "past.jsonl", sample(self.past, most, seed, tools))
        usage = self.folder / "usage"
        return run([self.binary, "learn", past, "--fresh", "--output", usage, *self.common])

    def score(self, usage, queries=None):
        queries = queries or self.set / "queries.jsonl"
        learned = ["--no-usage"] if usage is None else ["--usage", usage["output"]]
        report = run([self.binary, "eval", "--all", "--queries", queries, *learned, *self.common])
        scores = {row["strategy"]: row["ndcg@5"] for row in report["results"]}
        return {f"{strategy} nDCG@5": scores[strategy] for strategy in STRATEGIES}

    def confidences(self, usage, queries):
        """Of each answer its confidence, and whether its tools fit."""
        asked, answers = write(self.folder / "asked.jsonl", queries), self.folder / "answers.jsonl"
        learned = ["--no-usage"] if usage is None else ["--usage", usage["output"]]
        answers.unlink(missing_ok=True)
        run([self.binary, "batch", "--input", asked, "--output", answers, "--limit", "1", *learned, *self.common])
        return [(row["confidence"], row["fit"]) for row in read(answers)]

    def none_of_these(self, past, seed, split):
        queries = [row for row in read(self.set / "queries.jsonl") if row["gold"]]
        if split:
            self.past, queries = halves(queries, seed)
        queries = queries[::max(1, -(-len(queries) // MOST_ASKED))]
        for most in past:
            usage = self.learn(most, seed)
            fits = self.confidences(usage, queries)
            fits_not = self.confidences(usage, read(self.set / "offtopic.jsonl"))
            scores = {f"{whose} {fit}": sum(found == fit for _, found in rows) / len(rows)
                      for whose, rows in (("served", fits), ("others", fits_not)) for fit in ("none", "unsure")}
            scores["AUROC"] = auroc([p for p, _ in fits], [p for p, _ in fits_not])
            yield "all" if most is None else str(most), usage, scores

    def by_count(self, past, seed):
        for most in past:
            usage = self.learn(most, seed)
            yield "all" if most is None else str(most), usage, self.score(usage)

    def learn_log(self, executions):
        log, usage = self.folder / "log.db", self.folder / "usage"
        for file in self.folder.glob("log.db*"):
            file.unlink()
        rows = write(self.folder / "executions.jsonl", executions)
        run([self.binary, "feedback", "add", "--input", rows, "--feedback", log, *self.common[2:4], "--json",
             "--quiet"])
        return run([self.binary, "learn", "--log", log, "--output", usage, *self.common])

    def replayed(self, count, seed):
        draw = random.Random(seed or 0)
        tools = sorted({tool["id"] for tool in read(self.tools)})
        rows = draw.sample(self.past, min(count, len(self.past)))
        right = [{"tool": tool, "prompt": row["query"], "success": True, "session": f"session {at % 100}"}
                 for at, row in enumerate(rows) for tool in dict.fromkeys(row["gold"])]
        wrong = [dict(row) for row in right]
        for at in draw.sample(range(len(wrong)), len(wrong) // 20):
            wrong[at]["tool"] = draw.choice([tool for tool in tools if tool != wrong[at]["tool"]])
        victim = draw.choice(tools)
        false = [{"tool": victim, "prompt": row["query"], "success": True, "session": "adversary"}
                 for row in draw.sample([row for row in rows if victim not in row["gold"]], FALSE)]
        usage = self.folder / "usage"
        yield "nothing learned", None, self.score(None)
        past = write(self.folder / "past.jsonl", [{"query": row["query"], "tools": row["gold"]} for row in rows])
        offline = run([self.binary, "learn", past, "--fresh", "--output", usage, *self.common])
        yield "learned at once", offline, self.score(offline)
        for label, log in (("log", right), ("log, 5 % wrong", wrong),
                           (f"log, {FALSE} false successes", right + false)):
            learned = self.learn_log(log)
            yield label, learned, self.score(learned)

    def by_split(self, past, seed):
        """Scores of half of the prompts, with what the other half teaches."""
        self.past, asked = halves(read(self.set / "queries.jsonl"), seed)
        asked = write(self.folder / "asked.jsonl", asked)
        for most in past:
            usage = self.learn(most, None)
            yield "all" if most is None else str(most), usage, self.score(usage, asked)

    def by_half(self, past, seed):
        """Scores of prompts for tools with and without history, before and after."""
        ids = sorted({tool["id"] for tool in read(self.tools)})
        random.Random(seed or 0).shuffle(ids)
        half = set(ids[:len(ids) // 2])
        queries = read(self.set / "queries.jsonl")
        parts = {"with": [row for row in queries if half & set(row["gold"])],
                 "without": [row for row in queries if not half & set(row["gold"])]}
        for part, rows in parts.items():
            file = write(self.folder / f"{part}.jsonl", rows)
            yield f"{part} history: before", None, self.score(None, file)
            for most in [most for most in past if most != 0]:
                usage = self.learn(most, seed, half)
                label = "all" if most is None else str(most)
                yield f"{part} history: {label} prompts", usage, self.score(usage, file)


def halves(rows, seed):
    """Two random halves."""
    rows = random.Random(seed or 0).sample(rows, len(rows))
    return rows[:len(rows) // 2], rows[len(rows) // 2:]


def auroc(right, wrong):
    """How often one of `right` is above one of `wrong`; equal ones count half."""
    above = sum((r > w) + (r == w) / 2 for r in right for w in wrong)
    return above / (len(right) * len(wrong))


def self_check():
    rows = [{"query": str(at), "gold": gold} for at, gold in enumerate(["a", "a", "ab", "a", "bb"])]
    rows = [dict(row, gold=list(row["gold"])) for row in rows]
    assert [row["query"] for row in sample(rows, 2)] == ["0", "1", "2", "4"]
    assert sample(rows, 2)[2]["tools"] == ["b"] and len(sample(rows, None)) == 5
    assert sample(rows, 1, seed=7) == sample(rows, 1, seed=7)
    assert [row["query"] for row in sample(rows, None, tools={"b"})] == ["2", "4"]
    assert auroc([3, 2], [1, 2]) == 0.875
    print("learning.py: self-check passed", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--past", nargs="+", default=["0", "5", "20", "all"])
    parser.add_argument("--seed", type=int)
    parser.add_argument("--none", action="store_true")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--half", action="store_true")
    kinds.add_argument("--split", action="store_true")
    kinds.add_argument("--replay", type=int, metavar="N")
    parser.add_argument("--binary", default="target/release/toolroute")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--model", default="all-MiniLM-L6-v2")
    parser.add_argument("--precision", choices=("int8", "f32"), default="int8")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--self-check", action="store_true")
    args = parser.parse_args()
    if args.self_check:
        return self_check()
    past = [None if most == "all" else int(most) for most in args.past]
    everything = {}
    if args.none and (args.half or args.replay):
        parser.error("--none goes alone or with --split")
    measure = (Bench.by_half if args.half else
               (lambda bench, past, seed: bench.none_of_these(past, seed, args.split)) if args.none else
               Bench.by_split if args.split else Bench.by_count)
    needed = ["queries.jsonl" if args.split else "train_queries.jsonl"] + ["offtopic.jsonl"] * args.none
    header = False
    for name in args.sets or ("metatool", "toollens"):
        missing = [file for file in needed if not (args.data / name / file).exists()]
        if missing:
            print(f"SKIPPED: no {missing[0]} in {args.data / name}", file=sys.stderr)
            continue
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(args, name, Path(folder))
            measured = bench.replayed(args.replay, args.seed) if args.replay else measure(bench, past, args.seed)
            for label, usage, scores in measured:
                usage = usage or {"prompts_used": 0, "strength": 0.0, "handicap": 0.0}
                learned, strength, handicap = usage["prompts_used"], usage["strength"], usage["handicap"]
                everything.setdefault(name, {})[label] = {**scores, "prompts": learned, "strength": strength,
                                                          "handicap": handicap}
                if args.json:
                    continue
                if not header:
                    names = ["set", "prompts a tool", "prompts learned", "strength", "handicap", *scores]
                    print(f"| {' | '.join(names)} |\n{'|---' * len(names)}|")
                    header = True
                cells = " | ".join(f"{score:.4f}" for score in scores.values())
                print(f"| {name} | {label} | {learned} | {strength:.2f} | {handicap:.2f} | {cells} |", flush=True)
    if args.json:
        print(json.dumps(everything, indent=1))
    return None


if __name__ == "__main__":
    main()
