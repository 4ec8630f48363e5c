"""Implements scripts/loops.sh; needs the Python SDK of MCP."""

import argparse
import asyncio
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
SCRIPTED = REPO / "tests" / "servers" / "scripted.py"


def say(text):
    print(text, file=sys.stderr, flush=True)


class Site:
    """A folder with servers that do what is written, and nothing of the user's own."""

    def __init__(self, binary, servers):
        self.binary = binary
        self.folder = tempfile.TemporaryDirectory()
        root = Path(self.folder.name)
        entries = {}
        for name, tools in servers.items():
            script = root / f"{name}.json"
            script.write_text(json.dumps(tools))
            entries[name] = {"command": sys.executable, "args": [str(SCRIPTED), "loops", str(script)]}
        (root / "servers.json").write_text(json.dumps({"mcpServers": entries}))
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith("TOOLROUTE_") or name in ("TOOLROUTE_MODEL", "TOOLROUTE_MODELS")}
        xdg = {f"XDG_{name}_HOME": str(root / name.lower()) for name in ("CACHE", "CONFIG", "STATE")}
        self.env = {**kept, **xdg}
        self.root = root

    def path(self, name):
        return str(self.root / name)

    def run(self, *arguments):
        command = [self.binary, *arguments, "--json"]
        done = subprocess.run(command, env=self.env, cwd=self.root, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(arguments)}: {done.stderr}")
        return json.loads(done.stdout)

    async def calls(self, calls, *arguments):
        """What the gateway answers to calls of its tools, one after the other in one session."""
        from mcp import Client, StdioServerParameters

        # All servers list their tools once, so that the first find has all of them.
        self.run("tools", "list", "--servers", self.path("servers.json"))
        given = ["mcp", "--servers", self.path("servers.json"), *arguments]
        server = StdioServerParameters(command=self.binary, args=given, env=self.env)
        answers = []
        async with Client(server) as client:
            for name, given in calls:
                answers.append(await client.call_tool(name, given))
        return answers


def text(result):
    return "\n".join(block.text for block in result.content if hasattr(block, "text"))


def takes(name):
    return {"type": "object", "required": [name], "properties": {name: {"type": "string"}}}


def call(tool, **arguments):
    return ("call_tool", {"tool_name": tool, "arguments": arguments})


def stand_in_refused(binary):
    def database(name, does):
        return [{"name": f"query_{name}_db", "inputSchema": takes("sql"), "does": does,
                 "description": f"Runs a read-only SQL query on the {name} database",
                 "annotations": {"readOnlyHint": True}}]

    site = Site(binary, {"prod": database("production", {"crash": True}),
                         "staging": database("staging", {"answer": "staging's rows"})})
    [answer] = asyncio.run(site.calls([call("prod__query_production_db", sql="select 1")]))
    say(f"crashed tool: {text(answer)}")
    return (answer.is_error and "staging's rows" not in text(answer)
            and "staging__query_staging_db" in text(answer))


def chain_ran(binary):
    """The chain of the orchestration document; nothing says of its tools that they only read."""
    def source(name, does):
        return [{"name": name, "description": f"{name} of data", "inputSchema": takes("query"),
                 "does": does}]

    site = Site(binary, {"datagov": source("datagov_query", {"error": "no such data set"}),
                         "perplexity": source("perplexity-search", {"crash": True}),
                         "tavily": source("tavily-search", {"answer": "tavily: {query}"})})
    overlay = ("[[overlay]]\nmatch = \"datagov__datagov_query\"\nrouting.fallbacks = "
               "[\"perplexity__perplexity-search\", \"tavily__tavily-search\"]\n")
    (site.root / "overlay.toml").write_text(overlay)
    asked = [call("datagov__datagov_query", query="rain")]
    [answer] = asyncio.run(site.calls(asked, "--overlay", site.path("overlay.toml")))
    say(f"chain: {text(answer)}")
    meta = getattr(answer, "meta", None) or {}
    return (not answer.is_error and "tavily: rain" in text(answer)
            and meta.get("answered_by") == "tavily__tavily-search")


def weights_kept(binary):
    """A log with every signal in it; the only answer to a prompt hangs on one of them."""
    site = Site(binary, {})
    tools = [{"name": "dispatch", "server": "ops", "description": "Opens the hatch of the silo",
              "routing": {"signals": [{"pattern": "kalimera", "weight": 1.0}]}},
             {"name": "read", "server": "fs", "description": "Reads a file from disk"}]
    catalog, log = site.path("tools.jsonl"), site.path("log.db")
    Path(catalog).write_text("\n".join(map(json.dumps, tools)))

    def first():
        found = site.run("route", "kalimera", "--tools", catalog, "--author-signals", "--feedback", log)["tools"]
        return found[0]["id"] if found else None

    signals = ["phase", "language", "complexity", "task_type", "history", "intent", "web", "priority",
               "hierarchy", "latency", "cost", "workflow", "planned"]
    rows = []
    for n in range(400):
        good = n % 10 / 10
        parts = {"semantic": good, "keyword": n * 31 % 97 / 97}
        parts.update({name: (n + at) * 37 % 11 / 10 for at, name in enumerate(signals)})
        rows.append({"tool": f"s__t{n % 50}", "prompt": f"p{n}", "session": str(n),
                     "success": n * 7919 % 100 / 100 < 0.2 + 0.7 * good, "choice": {"parts": parts}})
    before = first()
    Path(site.path("rows.jsonl")).write_text("\n".join(map(json.dumps, rows)))
    site.run("feedback", "add", "--no-vectors", "--input", site.path("rows.jsonl"), "--feedback", log)
    applied = site.run("feedback", "weights", "--apply", "--feedback", log)
    old, new = applied["old"], applied["new"]
    kept = all((new[name] > 0) == (old[name] > 0) and abs(new[name] - old[name]) <= 0.05 + 1e-9
               for name in old)
    say(f"weights: {old} to {new}")
    return applied["applied"] and kept and before == first() == "ops__dispatch"


CLOCK = [{"name": "get_time", "description": "Gives the current time of a city", "does": {"answer": "noon"},
          "inputSchema": takes("city"), "annotations": {"readOnlyHint": True}},
         {"name": "get_alarm", "description": "Gives the next alarm", "does": {"answer": "none"},
          "annotations": {"readOnlyHint": True}}]


def loop_refused_at(binary):
    """Which of twelve identical calls is the first to be refused."""
    site = Site(binary, {"clock": CLOCK})
    answers = asyncio.run(site.calls([call("clock__get_time", city="Haifa")] * 12))
    refused = [nth for nth, answer in enumerate(answers, 1) if answer.is_error]
    say(f"refused: {refused}: {text(answers[refused[0] - 1]) if refused else 'none'}")
    return refused[0] if refused and refused == list(range(refused[0], 13)) else None


def learned_prompts(binary):
    """The prompts that `learn` takes from a log which only the gateway wrote."""
    site = Site(binary, {"clock": CLOCK})
    calls = []
    for prompt in ("what o'clock is it over there", "is it late already at my sister's place",
                   "can I ring my brother now or is he asleep"):
        calls.append(("find_tools", {"query": prompt, "min_score": -1, "limit": 2}))
        calls.append(call("clock__get_time", city=prompt))
    asyncio.run(site.calls(calls, "--feedback", site.path("log.db")))
    learned = site.run("learn", "--log", site.path("log.db"), "--servers", site.path("servers.json"),
                       "--output", site.path("usage"))
    say(f"learned: {learned}")
    return learned["prompts_used"] if learned["tools_learned"] else 0


def burn():
    while True:
        pass


def busy_ratio(binary):
    """The 99th percentile of 4,000 prompts one by one beside a busy process: at default settings, to
    that of one thread. The median of five rounds."""
    site = Site(binary, {})
    prompts = [{"id": str(n), "query": f"find the report number {n} and send it"} for n in range(40)]
    Path(site.path("prompts.jsonl")).write_text("\n".join(map(json.dumps, prompts)))

    def p99(*arguments):
        stages = site.run("bench", "--tools", str(REPO / "examples" / "catalog"), "--samples", "4000",
                          "--queries", site.path("prompts.jsonl"), *arguments)["stages"]
        return next(stage["p99_ms"] for stage in stages if stage["stage"] == "total")

    burner = multiprocessing.Process(target=burn, daemon=True)
    burner.start()
    try:
        ratios = []
        for _ in range(5):
            alone, default = p99("--threads", "1"), p99()
            ratios.append(default / alone)
            say(f"busy: {default:.3f} ms at default settings, {alone:.3f} with one thread")
    finally:
        burner.kill()
    return round(sorted(ratios)[len(ratios) // 2], 2)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--binary", required=True)
    arguments.add_argument("--no-timing", action="store_true")
    given = arguments.parse_args()
    checks = [stand_in_refused, chain_ran, weights_kept, loop_refused_at, learned_prompts]
    found = {check.__name__: check(given.binary) for check in checks}
    if not given.no_timing:
        found["busy_ratio"] = busy_ratio(given.binary)
    print(json.dumps(found, separators=(",", ":")))
    is_good = (found["stand_in_refused"] and found["chain_ran"] and found["weights_kept"]
               and found["loop_refused_at"] == 4 and found["learned_prompts"] >= 1
               and found.get("busy_ratio", 0) <= 1.5)
    sys.exit(0 if is_good else 1)


if __name__ == "__main__":
    main()
