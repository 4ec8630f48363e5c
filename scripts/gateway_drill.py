"""Implements gateway_drill.sh: what the gateway adds to a call, how soon it answers, and which processes and memory
it leaves.

The gateway has two servers with 500 tools each, or `--tools N` (`--as-server`, this file): the sample catalog's
tools, repeated with other words. The servers answer almost immediately, so that the gateway itself is measured.
"""

import argparse
import gc
import http.client
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve()
SERVERS = 2
SUBJECTS = ["the shop", "the school", "the clinic", "the archive", "the garage", "the studio", "the harbour", "the farm"]
PROMPTS = ["send an email to Dana", "what is the weather in Paris", "find files that changed", "open issues of the project",
           "convert euros to yen", "book a flight to Lisbon", "summarise this page", "remind me tomorrow at nine"]


def tools_of(server, count):
    """So many tools, the same ones each time."""
    rows = [json.loads(line) for path in sorted((HERE.parent.parent / "examples/catalog").glob("*.jsonl"))
            for line in path.open(encoding="utf-8")]
    tools = []
    for at in range(count):
        row, turn = rows[(at + server * count) % len(rows)], at // len(rows)
        tools.append({"name": f"{row['name']}_{at}", "annotations": {"readOnlyHint": True},
                      "description": f"{row['description']} For {SUBJECTS[(turn + server) % len(SUBJECTS)]}.",
                      "inputSchema": row.get("input_schema") or {"type": "object"}})
    tools.append({"name": "echo", "description": "Says what it was told", "annotations": {"readOnlyHint": True},
                  "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}})
    return tools


def serve(server, count):
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        method = asked["method"]
        if method == "initialize":
            result = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
                      "serverInfo": {"name": f"many{server}", "version": "1"}}
        elif method == "tools/list":
            result = {"tools": tools_of(server, count)}
        elif method == "tools/call":
            result = {"content": [{"type": "text", "text": str(asked["params"]["arguments"].get("text"))}]}
        else:
            result = {}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}) + "\n")
        sys.stdout.flush()


INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "drill", "version": "1"}}


class Session:
    """One client of an MCP server over stdio."""

    def __init__(self, command, env=None):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)
        self.number = 0
        self.ask("initialize", INITIALIZE)
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit(f"{method}: the server is gone")
            # What else it says (logs, changed lists) has no number of ours.
            answer = json.loads(line)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise SystemExit(f"{method}: {answer['error']}")
                return answer["result"]

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)


class WebSession:
    """One client over Streamable HTTP."""

    def __init__(self, port):
        self.connection, self.id, self.number = http.client.HTTPConnection("127.0.0.1", port, timeout=60), None, 0
        self.ask("initialize", INITIALIZE)
        self.post({"method": "notifications/initialized"})

    def headers(self):
        return {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
                **({"Mcp-Session-Id": self.id} if self.id else {})}

    def post(self, message):
        self.connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", **message}), self.headers())
        answer = self.connection.getresponse()
        self.id = self.id or answer.getheader("Mcp-Session-Id")
        return answer.read().decode()

    def ask(self, method, params):
        self.number += 1
        body = self.post({"id": self.number, "method": method, "params": params})
        for line in body.splitlines():
            line = line.removeprefix("data:").strip()
            if line.startswith("{") and (answer := json.loads(line)).get("id") == self.number:
                if "result" not in answer:
                    raise SystemExit(f"{method}: {answer}")
                return answer["result"]
        raise SystemExit(f"{method}: no answer in {body[:300]!r}")

    def end(self):
        self.connection.request("DELETE", "/mcp", headers=self.headers())
        self.connection.getresponse().read()
        self.connection.close()


def processes(mark):
    """The number and the command line of each process that has the mark in its line."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            state = (folder / "stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if mark in line and int(folder.name) != os.getpid() and state != "Z":
            found.append((int(folder.name), line))
    return found


def resident(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise SystemExit("no VmRSS")


class Drill:
    def __init__(self, binary, folder, tools):
        self.folder, self.mark = folder, str(folder)
        servers = {f"many{n}": {"command": sys.executable, "args": [str(HERE), "--as-server", str(n), str(tools), self.mark]}
                   for n in range(SERVERS)}
        (folder / "servers.json").write_text(json.dumps({"mcpServers": servers}))
        self.env = {**os.environ, **{f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA", "STATE")}}
        self.gateway = [binary, "mcp", "--servers", str(folder / "servers.json")]
        self.server = servers["many0"]

    def session(self):
        return Session(self.gateway, self.env)

    def listening(self):
        """A gateway over HTTP, and its port."""
        gateway = subprocess.Popen([*self.gateway, "--http", "127.0.0.1:0", "--json"], env=self.env, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL)
        told = ""
        while "}" not in told:
            told += gateway.stdout.readline().decode()
        return gateway, json.loads(told)["port"]

    def prepare(self):
        """Starts once, so that the servers' tools are known and embedded, as at every start but the first."""
        session = self.session()
        while not self.is_known():
            time.sleep(0.1)
        session.end()

    def is_known(self):
        """Whether all is kept that the next start needs: the servers' lists first, and what is said of them last."""
        cache = self.folder / "cache/toolroute"
        lists = [path for path in cache.glob("servers/*.jsonl") if path.stat().st_size]
        return len(lists) == SERVERS and any(cache.glob("gateway/*.json"))

    def find(self, session, at):
        found = session.ask("tools/call", {"name": "find_tools", "arguments": {"query": f"{PROMPTS[at % len(PROMPTS)]} {at}"}})
        if found.get("isError"):
            raise SystemExit(f"find_tools: {found}")
        return found

    def call(self, session, text):
        answer = session.ask("tools/call", {"name": "call_tool", "arguments": {"tool_name": "many0__echo", "arguments": {"text": text}}})
        if answer["content"][0]["text"] != text:
            raise SystemExit(f"call_tool: {answer}")

    def start(self, rounds):
        """From the start of the process to the first answer of find_tools, with everything known from before."""
        first, later = [], []
        for at in range(rounds):
            begun = time.perf_counter()
            session = self.session()
            self.find(session, at)
            first.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            self.find(session, at + rounds)
            later.append(time.perf_counter() - begun)
            session.end()
        return {"rounds": rounds, "first_find_ms": spread(first), "later_find_ms": spread(later)}

    def overhead(self, calls):
        """The same calls to the server itself and through the gateway, in turn. Each has other arguments than
        those before: identical ones are refused as a loop."""
        direct = Session([self.server["command"], *self.server["args"]])
        through = self.session()
        times = {"direct": [], "gateway": []}
        gc.disable()
        for at in range(calls + 100):
            text = f"hello {at:06}"
            begun = time.perf_counter()
            direct.ask("tools/call", {"name": "echo", "arguments": {"text": text}})
            middle = time.perf_counter()
            self.call(through, text)
            end = time.perf_counter()
            if at >= 100:
                times["direct"].append(middle - begun)
                times["gateway"].append(end - middle)
        gc.enable()
        direct.end()
        through.end()
        about = {name: spread(values) for name, values in times.items()}
        added = {at: round(about["gateway"][at] - about["direct"][at], 3) for at in ("p50", "p99")}
        return {"calls": calls, "direct_ms": about["direct"], "gateway_ms": about["gateway"], "added_ms": added}

    def sessions(self, count):
        """Sessions that begin, find, call and end: over HTTP with one gateway, and each with a gateway of its own."""
        gateway, port = self.listening()
        most = 0
        for at in range(count):
            session = WebSession(port)
            self.find(session, at)
            self.call(session, f"hello {at}")
            # Every tenth goes as clients do that crash.
            if at % 10:
                session.end()
            else:
                session.connection.close()
            # Those of the servers: the gateway and its guard name the folder as well.
            most = max(most, sum("--as-server" in line and "python" in line.split(" ")[0] for _, line in processes(self.mark)))
        gateway.terminate()
        gateway.wait(timeout=30)
        web_left = self.left()
        for at in range(count):
            session = self.session()
            self.call(session, f"hello {at}")
            if at % 10:
                session.end()
            else:
                session.process.kill()
                session.process.wait()
        return {"sessions": 2 * count, "most_server_processes": most, "left_after_http": web_left, "left_after_stdio": self.left()}

    def left(self):
        for _ in range(50):
            if not (found := processes(self.mark)):
                return 0
            time.sleep(0.1)
        print("\n".join(line for _, line in found), file=sys.stderr)
        return len(found)

    def soak(self, minutes, a_second):
        """Sessions that find and call at a steady rate; the gateway's memory over time."""
        gateway, port = self.listening()
        begun, at, memory, session, told_at = time.monotonic(), 0, [], WebSession(port), 0
        while (now := time.monotonic() - begun) < minutes * 60:
            self.find(session, at)
            self.call(session, f"hello {at}")
            at += 1
            if at % 50 == 0:
                session.end()
                session = WebSession(port)
            if at % 100 == 0:
                memory.append((now, resident(gateway.pid)))
                if now - told_at > 60:
                    told_at = now
                    print(f"{now / 60:.0f} of {minutes:g} min, {at} finds and calls, {memory[-1][1]:.1f} MB", file=sys.stderr, flush=True)
            time.sleep(max(0.0, at / a_second - now))
        gateway.terminate()
        gateway.wait(timeout=30)
        # The second tenth against the last: the first fills caches.
        tenth = max(1, len(memory) // 10)
        median = lambda part: round(statistics.median(mb for _, mb in part), 1)
        return {"minutes": minutes, "finds_and_calls": at, "mb_early": median(memory[tenth:2 * tenth] or memory),
                "mb_late": median(memory[-tenth:]), "mb_most": round(max(mb for _, mb in memory), 1),
                "left": self.left()}


def spread(seconds):
    ordered = sorted(seconds)
    at = lambda share: round(ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000, 3)
    return {"p50": at(0.5), "p90": at(0.9), "p99": at(0.99)}


def main():
    if sys.argv[1:2] == ["--as-server"]:
        return serve(int(sys.argv[2]), int(sys.argv[3]))
    p = argparse.ArgumentParser()
    p.add_argument("--binary", required=True)
    p.add_argument("--tools", type=int, default=500, help="of each of the two servers")
    p.add_argument("--starts", type=int, default=20)
    p.add_argument("--calls", type=int, default=3000)
    p.add_argument("--sessions", type=int, default=200)
    p.add_argument("--minutes", type=float, default=0)
    p.add_argument("--rate", type=float, default=20)
    p.add_argument("--json", action="store_true")
    a = p.parse_args()
    told = {}
    with tempfile.TemporaryDirectory(prefix="gateway-drill-") as folder:
        drill = Drill(a.binary, pathlib.Path(folder), a.tools)
        drill.prepare()
        for name, wanted, work in [("start", a.starts, drill.start), ("call_tool", a.calls, drill.overhead),
                                   ("sessions", a.sessions, drill.sessions)]:
            if wanted:
                told[name] = work(wanted)
                if not a.json:
                    print(name, json.dumps(told[name]))
        if a.minutes:
            told["soak"] = drill.soak(a.minutes, a.rate)
            if not a.json:
                print("soak", json.dumps(told["soak"]))
        if a.json:
            print(json.dumps(told))
    left = sum(part.get(key, 0) for part in told.values() for key in ("left", "left_after_http", "left_after_stdio"))
    sys.exit(1 if left else 0)


if __name__ == "__main__":
    main()
