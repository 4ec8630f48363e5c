#!/usr/bin/env python3
"""Implements cluster_drill.sh: a cluster that loses a node, and the figures of docs/cluster.md.

    cluster_drill.py [--set DIR] [--tools N] [--rows N] [--slice N] [--json]
    cluster_drill.py --figures [--set DIR] [--json]
    cluster_drill.py --self-check

The drill ranks prompts three times: by `toolroute batch`; by Ray on three nodes, one of which is killed when a
third of the rows is written; and a slice of them by one and by two workers with one thread each. The rates of the
workers are measured from the first batch to the last, so that the start does not count.
"""

import argparse
import collections
import json
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

DATA = Path(__file__).resolve().parents[1] / "../shared/data"
#: The limit of both ways.
LIMIT = 10
#: Rows of a batch, and files of the input: small enough that a node dies in the middle of several.
BATCH, FILES = 128, 40
#: Prompts are repeated with other words before and after them.
BEFORE = ("", "Please ", "Could you help me? ", "I need this now: ", "Next: ")
AFTER = ("", " Thanks!", " Be quick.", " Then tell me what you did.")
#: Catalogs that are measured, and the one that is computed from them.
MEASURED, COMPUTED = (1_000, 40_000), 1_000_000
MEMORY_TOOLS = 42_820
BILLION = 1_000_000_000


def lines_of(path, count):
    with open(path, encoding="utf-8") as file:
        return [line for _, line in zip(range(count), file)]


def varied(prompts, count):
    """As many prompts, no two of them equal where the variations suffice."""
    forms = [(before, after) for after in AFTER for before in BEFORE]
    found = []
    for at in range(count):
        before, after = forms[at // len(prompts) % len(forms)]
        found.append(f"{before}{prompts[at % len(prompts)]}{after}")
    return found


def prompts_of(folder, count):
    path = folder / "queries.jsonl"
    if not path.exists():
        path = DATA / "sealtools" / "queries.jsonl"
    return varied([json.loads(line)["query"] for line in lines_of(path, count)], count)


def write_tools(folder, source, count):
    lines = lines_of(source / "tools.jsonl", count)
    if len(lines) < count:
        raise SystemExit(f"{source} has {len(lines)} tools; expected {count}")
    path = Path(folder) / f"tools-{count}.jsonl"
    path.write_text("".join(lines), encoding="utf-8")
    return path


def write_prompts(folder, prompts):
    """The prompts as JSON lines and as a folder of Parquet."""
    import pyarrow
    from pyarrow import parquet

    rows = [{"id": at, "query": prompt} for at, prompt in enumerate(prompts)]
    queries = folder / "queries.jsonl"
    queries.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    parts = folder / "prompts"
    parts.mkdir()
    size = -(-len(rows) // FILES)
    for at in range(0, len(rows), size):
        table = pyarrow.Table.from_pylist(rows[at : at + size])
        parquet.write_table(table, parts / f"{at:08}.parquet")
    return queries, parts


def batch_command(tools, queries, output):
    command = [sys.executable, "-m", "toolroute", "batch", "--tools", tools, "--input", queries]
    command += ["--output", output, "--limit", str(LIMIT), "--quiet"]
    subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)


def start_cluster():
    """A head without workers, as clusters have it, and two nodes for them."""
    import ray
    from ray.cluster_utils import Cluster

    memory = 200 * 2**20
    head = {"num_cpus": 0, "object_store_memory": memory, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    nodes = [cluster.add_node(num_cpus=4, object_store_memory=memory) for _ in range(2)]
    ray.init(address=cluster.address, logging_level="error", log_to_driver=False)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    return cluster, nodes


def rows_written(folder):
    from pyarrow import parquet

    files = list(folder.glob("*.parquet")) if folder.exists() else []
    total = 0
    for file in files:
        try:
            total += parquet.read_metadata(file).num_rows
        except (OSError, ValueError):
            # It is being written.
            pass
    return total


def kill_node_after(cluster, node, folder, rows, killed):
    while rows_written(folder) < rows:
        time.sleep(0.2)
    killed.append(rows_written(folder))
    cluster.remove_node(node, allow_graceful=False)


def rank_with_a_killed_node(node, router, paths, rows):
    """Returns the rows that were written before the node died."""
    import ray

    import toolroute.ray

    prompts, output = paths
    killed = []
    watch = (*node, output, rows // 3, killed)
    threading.Thread(target=kill_node_after, args=watch, daemon=True).start()
    dataset = ray.data.read_parquet(str(prompts), override_num_blocks=FILES)
    ranked = toolroute.ray.rank(dataset, router, limit=LIMIT, concurrency=(3, 3), batch_size=BATCH)
    ranked.write_parquet(str(output))
    if not killed:
        raise SystemExit("no node was killed: the rows were done before; give more --rows")
    return killed[0]


def compare(output, expected):
    """Missing ids, ids that are there twice, and whether each line is the same bytes."""
    import toolroute
    from pyarrow import parquet

    table = parquet.read_table(output).sort_by("id").combine_chunks()
    lines = list(toolroute.json_lines(table.to_batches()))
    wanted = expected.read_text(encoding="utf-8").splitlines(keepends=True)
    times = collections.Counter(table.column("id").to_pylist())
    missing = sum(1 for at in range(len(wanted)) if at not in times)
    return {
        "missing": missing,
        "duplicates": sum(count - 1 for count in times.values()),
        "bytes_equal": lines == wanted,
    }


def rate(dataset, router, workers):
    """Rows a second from the first batch to the last."""
    import toolroute.ray

    ranked = toolroute.ray.rank(dataset, router, limit=LIMIT, concurrency=(workers, workers), batch_size=BATCH)
    first, rows = None, 0
    for batch in ranked.iter_batches(batch_format="pyarrow", batch_size=None, prefetch_batches=0):
        last = time.monotonic()
        if first is None:
            first = last
        else:
            rows += batch.num_rows
    return rows / (last - first)


def drill(options):
    import ray
    from toolroute import Router

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prompts = prompts_of(options.set, options.rows)
        tools = write_tools(folder, options.set, options.tools)
        queries, parts = write_prompts(folder, prompts)
        began = time.monotonic()
        batch_command(tools, queries, folder / "expected.jsonl")
        say(f"toolroute batch: {time.monotonic() - began:.1f} s")
        # The tools are embedded once for all runs.
        router = Router.from_path(tools, index=folder / "vectors")
        cluster, nodes = start_cluster()
        began = time.monotonic()
        paths = (parts, folder / "ranked")
        before = rank_with_a_killed_node((cluster, nodes[1]), router, paths, options.rows)
        say(f"on three nodes: {time.monotonic() - began:.1f} s; one was killed after {before} rows")
        found = compare(folder / "ranked", folder / "expected.jsonl")
        # Blocks as small as a batch, so that two workers end together.
        sliced = ray.data.from_items(
            [{"id": at, "query": prompt} for at, prompt in enumerate(prompts[: options.slice])],
            override_num_blocks=max(1, options.slice // BATCH),
        ).materialize()
        rates = [rate(sliced, router, workers) for workers in (1, 2)]
        say(f"one worker: {rates[0]:.0f} rows a second; two: {rates[1]:.0f}")
        ray.shutdown()
        cluster.shutdown()
    report = {"rows": options.rows, **found, "speedup_2_workers": round(rates[1] / rates[0], 2)}
    print(json.dumps(report, separators=(",", ":")) if options.json else report)
    return 0 if found == {"missing": 0, "duplicates": 0, "bytes_equal": True} else 1


def pack(folder, tools):
    """Writes what workers need to a folder; returns bytes by part, and the seconds that it took."""
    from toolroute._batches import Columns
    from toolroute._manifest import prepare

    began = time.monotonic()
    job, manifest, parts = prepare(str(tools), LIMIT, Columns(), {})
    seconds = time.monotonic() - began
    for name, data in parts.items():
        (folder / name).write_bytes(data)
    (folder / "job").write_bytes(pickle.dumps((job, manifest)))
    return {name: len(data) for name, data in parts.items()}, seconds


def work(folder, rows):
    """A worker of one thread: prints what it loaded and how fast it ranks."""
    import pyarrow
    from toolroute._batches import rank

    with open(folder / "job", "rb") as file:
        job, manifest = pickle.load(file)
    began = time.monotonic()
    router = manifest.load(lambda name: (folder / name).read_bytes())
    loaded = time.monotonic() - began
    prompts = prompts_of(DATA / "sealtools", rows + BATCH)
    batches = pyarrow.table({"id": range(len(prompts)), "query": prompts}).to_batches(BATCH)
    ranked = rank(batches, router, job)
    next(ranked)
    began = time.monotonic()
    done = sum(batch.num_rows for batch in ranked)
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    megabytes = {name: int(status[name].split()[0]) // 1000 for name in ("VmRSS", "RssAnon", "RssFile")}
    print(json.dumps({"load_s": loaded, "rate": done / (time.monotonic() - began), **megabytes}))


def start_worker(folder, rows):
    command = [sys.executable, __file__, "--worker", str(folder), "--rows", str(rows)]
    # A folder of its own for what is shipped, so that each worker loads as the first of a machine.
    environment = {**os.environ, "RAYON_NUM_THREADS": "1", "TMPDIR": str(folder)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def result_of(worker):
    output, _ = worker.communicate()
    if worker.returncode:
        raise SystemExit(f"a worker ended with {worker.returncode}")
    return json.loads(output.splitlines()[-1])


def measure(source, count, workers):
    """Shipped bytes, seconds of embedding, and what each worker measured at the same time."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tools = write_tools(folder, source, count)
        parts, seconds = pack(folder, tools)
        rows = 4_096 if count <= 4_000 else 1_024
        running = [start_worker(folder, rows) for _ in range(workers)]
        return {"shipped": parts, "pack_s": seconds, "workers": [result_of(one) for one in running]}


def computed_rate(rates, count):
    """The rate over more tools: a prompt takes a time of its own, and a time for each tool."""
    (few, fast), (many, slow) = sorted(rates.items())
    each = (1 / slow - 1 / fast) / (many - few)
    return 1 / (1 / slow + each * (count - many))


def computed_bytes(shipped, count):
    """What more tools ship: the straight line through what two catalogs ship."""
    (few, small), (many, large) = sorted(shipped.items())
    return large + (large - small) / (many - few) * (count - many)


def figures(options):
    alone = {count: measure(options.set, count, 1) for count in MEASURED}
    rates = {count: found["workers"][0]["rate"] for count, found in alone.items()}
    both = measure(options.set, MEASURED[0], 2)["workers"]
    share = sum(worker["rate"] for worker in both) / (2 * rates[MEASURED[0]])
    large = measure(options.set, MEMORY_TOOLS, 1)
    rates[COMPUTED] = computed_rate(rates, COMPUTED)
    shipped = {count: sum(found["shipped"].values()) for count, found in alone.items()}
    shipped[COMPUTED] = computed_bytes(shipped, COMPUTED)
    rows = [
        {
            "tools": count,
            "measured": count in alone,
            "per_core_hour": round(found * 3600),
            "core_hours_per_billion": round(BILLION / (found * share * 3600)),
            "shipped_mb": round(shipped[count] / 1e6, 1),
        }
        for count, found in rates.items()
    ]
    report = {"rows": rows, "share_of_two": round(share, 3), "tools_42820": large}
    print(f"| tools | prompts in an hour of one core | core hours of {BILLION:,} prompts | shipped, MB |")
    print("|---|---|---|---|")
    for row in rows:
        mark = "" if row["measured"] else " (computed)"
        cells = f"{row['per_core_hour']:,} | {row['core_hours_per_billion']:,} | {row['shipped_mb']:,}"
        print(f"| {row['tools']:,}{mark} | {cells} |")
    print(f"\nTwo workers at once: {share:.0%} of twice one. A worker with {MEMORY_TOOLS:,} tools: {large}")
    if options.json:
        print(json.dumps(report, separators=(",", ":")))
    return 0


def say(text):
    print(text, file=sys.stderr)


def self_check():
    assert varied(["a", "b"], 5) == ["a", "b", "Please a", "Please b", "Could you help me? a"]
    assert len(set(varied(list("abc"), 60))) == 60
    # 1 ms and 1 µs a tool.
    rates = {1_000: 1 / 0.002, 40_000: 1 / 0.041}
    assert abs(computed_rate(rates, 1_000_000) - 1 / 1.001) < 1e-6
    assert round(computed_bytes({1_000: 2.2, 40_000: 84.3}, 1_000_000)) == 2_105
    print("ok")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", type=Path, help="a folder with tools.jsonl and queries.jsonl")
    parser.add_argument("--tools", type=int, default=4_000)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--slice", type=int, default=5_120)
    parser.add_argument("--figures", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--self-check", action="store_true")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.self_check:
        return self_check()
    if options.worker:
        return work(options.worker, options.rows)
    options.set = options.set or DATA / ("_merged" if options.figures else "sealtools")
    return figures(options) if options.figures else drill(options)


if __name__ == "__main__":
    sys.exit(main())
