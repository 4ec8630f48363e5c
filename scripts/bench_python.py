#!/usr/bin/env python3
"""Compares ways to choose tools in Python: time to build, time per prompt, memory, nDCG@5.

    bench_python.py --set NAME TOOLS QUERIES [--set …] [--model DIR] [--prompts N] [--json]
    bench_python.py --figures TOOLS QUERIES      # only the package: import, 300 tools, 10,000 prompts
    bench_python.py --self-check

A set is two files of JSON lines: tools with `id`, `name` and `description`, and prompts with `query` and `gold`,
the ids of the right tools. Each system runs in its own process. The other systems rank the text "name:
description".

build     seconds from the start of the import, with model and index, to the first answer
prompt    milliseconds for a single prompt, the median of the first N
memory    the maximum resident memory of the process, in MB
nDCG@5    over all prompts
"""

import argparse
import json
import math
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SYSTEMS = ("toolroute", "toolroute-static", "sentence-transformers", "bm25s", "rank-bm25", "fastembed")
DEPTH = 5


def rows(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def text_of(tool):
    return f"{tool.get('name') or tool['id']}: {tool.get('description') or ''}"


def ndcg(found, gold):
    """Of the first places, where each right tool counts as much as another."""
    gain = sum(1 / math.log2(place + 2) for place, one in enumerate(found[:DEPTH]) if one in gold)
    best = sum(1 / math.log2(place + 2) for place in range(min(DEPTH, len(gold))))
    return gain / best if best else 0.0


def toolroute(tools, model=None):
    from toolroute import Router

    options = {"model": model} if model else {}
    router = Router(tools, min_confidence=0.0, **options)
    return lambda prompt: [hit.id for hit in router.select(prompt, k=DEPTH)]


def sentence_transformers(tools, folder):
    import numpy
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(folder, device="cpu")
    vectors = model.encode([text_of(tool) for tool in tools], normalize_embeddings=True, show_progress_bar=False)

    def rank(prompt):
        vector = model.encode(prompt, normalize_embeddings=True, show_progress_bar=False)
        return [tools[row]["id"] for row in numpy.argsort(-(vectors @ vector), kind="stable")[:DEPTH]]

    return rank


def fastembed(tools):
    import numpy
    from fastembed import TextEmbedding

    model = TextEmbedding("sentence-transformers/all-MiniLM-L6-v2")
    vectors = numpy.stack(list(model.embed([text_of(tool) for tool in tools])))

    def rank(prompt):
        vector = next(iter(model.query_embed(prompt)))
        return [tools[row]["id"] for row in numpy.argsort(-(vectors @ vector), kind="stable")[:DEPTH]]

    return rank


def bm25s(tools):
    import bm25s as library

    index = library.BM25()
    index.index(library.tokenize([text_of(tool) for tool in tools], show_progress=False), show_progress=False)

    def rank(prompt):
        words = library.tokenize(prompt, show_progress=False)
        found, _ = index.retrieve(words, k=min(DEPTH, len(tools)), show_progress=False)
        return [tools[row]["id"] for row in found[0]]

    return rank


def rank_bm25(tools):
    import numpy
    from rank_bm25 import BM25Okapi

    index = BM25Okapi([text_of(tool).lower().split() for tool in tools])

    def rank(prompt):
        scores = index.get_scores(prompt.lower().split())
        return [tools[row]["id"] for row in numpy.argsort(-scores, kind="stable")[:DEPTH]]

    return rank


def measure(system, tools, queries, folder, count):
    tools, queries = rows(tools), rows(queries)
    makers = {
        "toolroute": lambda: toolroute(tools),
        "toolroute-static": lambda: toolroute(tools, "static"),
        "sentence-transformers": lambda: sentence_transformers(tools, folder),
        "fastembed": lambda: fastembed(tools),
        "bm25s": lambda: bm25s(tools),
        "rank-bm25": lambda: rank_bm25(tools),
    }
    start = time.perf_counter()
    rank = makers[system]()
    rank(queries[0]["query"])
    built = time.perf_counter() - start
    times, quality = [], []
    for row in queries:
        start = time.perf_counter()
        found = rank(row["query"])
        times.append(time.perf_counter() - start)
        quality.append(ndcg(found, set(row["gold"])))
    return {
        "system": system,
        "build_s": built,
        "prompt_ms": 1e3 * statistics.median(times[:count]),
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
        "ndcg_at_5": statistics.fmean(quality),
    }


def run(arguments, system, one):
    name, tools, queries = one
    command = [sys.executable, __file__, "--worker", system, "--set", *one, "--prompts", str(arguments.prompts)]
    done = subprocess.run([*command, "--model", arguments.model], capture_output=True, text=True)
    if done.returncode:
        why = done.stderr.strip().splitlines()[-1:] or ["no reason"]
        print(f"!! SKIPPED: {system} over {name}: {why[0][:160]}", file=sys.stderr)
        return None
    return {"set": name, **json.loads(done.stdout.splitlines()[-1])}


def figures(tools, queries):
    """Of the package alone: how it starts, and how it ranks beside `toolroute batch`."""
    start = time.perf_counter()
    from toolroute import Router

    imported = time.perf_counter() - start
    few, prompts = rows(tools)[:300], [row["query"] for row in rows(queries)]
    start = time.perf_counter()
    router = Router(few)
    built = time.perf_counter() - start
    start = time.perf_counter()
    router.select("what is the way to the station from here?")
    first = time.perf_counter() - start
    nine = [" ".join((prompt.split() * 9)[:9]) for prompt in prompts[:500]]
    times = []
    for prompt in nine:
        start = time.perf_counter()
        router.select(prompt, k=8)
        times.append(time.perf_counter() - start)
    many = (prompts * (1 + 10_000 // len(prompts)))[:10_000]
    # Each prompt differs, as the program embeds equal ones once.
    many = [f"{prompt} {place}" for place, prompt in enumerate(many)]
    start = time.perf_counter()
    router.select_many(many, k=8)
    ranked = time.perf_counter() - start
    return {
        "tools": len(router),
        "import_ms": 1e3 * imported,
        "router_s": built,
        "first_selection_ms": 1e3 * first,
        "select_p50_ms": 1e3 * statistics.median(times),
        "select_p99_ms": 1e3 * sorted(times)[len(times) * 99 // 100],
        "select_many_10000_s": ranked,
        "batch_10000_s": batch(few, many),
    }


def batch(tools, prompts):
    """Seconds of `toolroute batch` for the same prompts, from its start."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("tools.jsonl", "prompts.jsonl", "rows.jsonl")]
        listed = [{"id": str(place), "query": prompt} for place, prompt in enumerate(prompts)]
        for path, found in zip(paths, (tools, listed)):
            path.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
        command = [sys.executable, "-m", "toolroute", "--quiet", "batch", "--limit", "8", "--index", f"{folder}/index"]
        command += ["--tools", str(paths[0]), "--input", str(paths[1]), "--output"]
        start = time.perf_counter()
        subprocess.run([*command, str(paths[2])], check=True, capture_output=True)
        return time.perf_counter() - start


def self_check():
    assert ndcg(["a", "b"], {"a"}) == 1.0
    assert abs(ndcg(["b", "a"], {"a"}) - 1 / math.log2(3)) < 1e-9
    assert ndcg(["c"], {"a"}) == 0.0 and abs(ndcg(["a", "b", "c"], {"a", "b"}) - 1.0) < 1e-9
    print("self-check passed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", nargs=3, action="append", default=[], metavar=("NAME", "TOOLS", "QUERIES"))
    parser.add_argument("--model", default="", help="folder of all-MiniLM-L6-v2, for sentence-transformers")
    parser.add_argument("--prompts", type=int, default=200)
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--self-check", action="store_true")
    parser.add_argument("--figures", nargs=2, metavar=("TOOLS", "QUERIES"))
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.self_check:
        return self_check()
    if arguments.figures:
        print(json.dumps(figures(*arguments.figures), indent=1))
        return
    if arguments.worker:
        _, tools, queries = arguments.set[0]
        print(json.dumps(measure(arguments.worker, tools, queries, arguments.model, arguments.prompts)))
        return
    found = [run(arguments, system, one) for one in arguments.set for system in arguments.systems.split(",")]
    found = [row for row in found if row]
    if arguments.json:
        print(json.dumps(found, indent=1))
        return
    print("| set | system | build | a prompt | memory | nDCG@5 |\n|---|---|---|---|---|---|")
    for row in found:
        print(
            f"| {row['set']} | {row['system']} | {row['build_s']:.2f} s | {row['prompt_ms']:.2f} ms "
            f"| {row['memory_mb']:.0f} MB | {row['ndcg_at_5']:.4f} |"
        )


if __name__ == "__main__":
    main()
