#!/usr/bin/env python3
"""Times `toolroute bench encoder` and ONNX Runtime alternately, and prints the ratios.

Usage: scripts/bench_encoder.py --binary B --f32 F32.onnx --int8 INT8.onnx [--rounds 3] [--json]
Needs: pip install numpy onnxruntime. scripts/bench_encoder.sh installs them and creates the files.

Both sides get the same token ids and numbers of threads. They alternate in every round, and the
result is the median of the rounds. Ours is faster if the ratio is below 1 for a single prompt, or
above 1 for a batch.
"""
import argparse
import json
import statistics
import subprocess
import sys
import time

import numpy as np
import onnxruntime

SHAPES = [(1, 9, 200), (1, 34, 150), (32, 64, 9)]
THREADS = (1, 2)


def ours(binary):
    """{(path, threads, batch, tokens): p50 in ms} in one run of the binary."""
    command = [binary, "bench", "encoder", "--model", "all-MiniLM-L6-v2", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return {(row["path"], row["threads"], row["batch"], row["tokens"]): row["p50_ms"]
            for row in json.loads(done.stdout)}


def median_ms(call, runs):
    for _ in range(5):
        call()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def theirs(path, model):
    """The same of ONNX Runtime for one file."""
    rows = {}
    for threads in THREADS:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        for batch, tokens, runs in SHAPES:
            ids = 1000 + np.arange(batch * tokens, dtype=np.int64) * 37 % 20000
            ids = ids.reshape(batch, tokens)
            feed = {"input_ids": ids, "attention_mask": np.ones_like(ids),
                    "token_type_ids": np.zeros_like(ids)}
            call = lambda: session.run(None, feed)
            rows[(path, threads, batch, tokens)] = median_ms(call, runs)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--f32", required=True)
    parser.add_argument("--int8", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rounds = []
    for number in range(args.rounds):
        print(f"round {number + 1} of {args.rounds}", file=sys.stderr)
        mine = ours(args.binary)
        rounds.append((mine, {**theirs("f32", args.f32), **theirs("int8", args.int8)}))
    ratios = {}
    print("| precision | threads | batch × tokens | ours ms | ONNX Runtime ms | time ratio |")
    print("|---|---|---|---|---|---|")
    for key in rounds[0][1]:
        mine = statistics.median(mine[key] for mine, _ in rounds)
        other = statistics.median(other[key] for _, other in rounds)
        ratios[key] = mine / other
        path, threads, batch, tokens = key
        print(f"| {path} | {threads} | {batch} × {tokens} | {mine:.3f} | {other:.3f} "
              f"| {mine / other:.2f} |")
    summary = {}
    for path in ("int8", "f32"):
        single = [ratio for (p, _, batch, _), ratio in ratios.items() if p == path and batch == 1]
        batch = ratios[(path, THREADS[-1], 32, 64)]
        summary[f"{path}_single"] = round(max(single), 3)
        summary[f"{path}_batch"] = round(1 / batch, 3)
    if args.json:
        print(json.dumps(summary))
    else:
        for name, value in summary.items():
            print(f"{name}: {value}")


if __name__ == "__main__":
    main()
