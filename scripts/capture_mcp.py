#!/usr/bin/env python3
"""Saves the response of an MCP server to tools/list, byte for byte.

    scripts/capture_mcp.py OUT.json -- COMMAND [ARG ...]
    scripts/capture_mcp.py --self-check

Starts COMMAND, speaks JSON-RPC to it over stdio (initialize, notifications/initialized, tools/list)
and writes the line of the response to tools/list to OUT.json as the server wrote it. Nothing is
parsed and printed again, so schemas keep their key order and spacing. A server that pages its tools
(nextCursor) yields one line per page; all are in OUT.json, because they are the tools of one
server.

The file is written atomically, and only when every page has arrived. If something fails, the
server's stderr is shown. Python 3.8 or later, standard library only.
"""

import argparse
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

PROTOCOL_VERSION = "2025-06-18"
MAX_PAGES = 100
EXIT_OK, EXIT_FAILED, EXIT_USAGE = 0, 1, 2


class CaptureError(Exception):
    """Says what was expected, what came instead, and how to cure it."""


class Server:
    """A child process in its own process group, with one deadline for the whole talk."""

    def __init__(self, command, timeout, env):
        self.deadline = time.monotonic() + timeout
        self.timeout = timeout
        self.stopped = False
        self.lines = queue.Queue()
        self.stderr = tempfile.TemporaryFile()
        try:
            # A group of its own: `npx` and `uvx` start the real server as a grandchild.
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.stderr,
                env=env,
                start_new_session=True,
            )
        except OSError as error:
            raise CaptureError(
                f"cannot start {command[0]!r}: {error.strerror or error}. "
                "Give the server's command after `--`, and see that it is on the PATH."
            ) from error
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def send(self, message):
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except OSError as error:
            # The pipe closes a moment before the process can be waited for.
            self.settle()
            raise CaptureError(f"the server closed its stdin ({self.status()})") from error

    def settle(self):
        try:
            self.process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            pass

    def status(self):
        code = self.process.poll()
        return "still running" if code is None else f"exit status {code}"

    def request(self, request_id, method, params):
        """The raw line and the parsed message that answer one request."""
        self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        while True:
            line = self.next_line(method)
            message = parse(line)
            if message is None:
                continue
            if "method" in message:
                self.answer(message)
            elif message.get("id") == request_id:
                if "error" in message:
                    error = message["error"]
                    raise CaptureError(f"the server answered {method} with an error: {json.dumps(error)}")
                if not isinstance(message.get("result"), dict):
                    raise CaptureError(f"the answer to {method} has no `result` object")
                return line, message["result"]

    def next_line(self, method):
        try:
            line = self.lines.get(timeout=max(0.0, self.deadline - time.monotonic()))
        except queue.Empty:
            raise CaptureError(
                f"no answer to {method} within {self.timeout:g} s. A first start may download "
                "packages: run the command once by hand, or raise --timeout."
            ) from None
        if line is None:
            self.settle()
            raise CaptureError(
                f"the server ended before it answered {method} ({self.status()}). "
                "It must speak MCP over stdio; see its stderr above."
            )
        return line

    def answer(self, message):
        """Servers may ask, too (ping, roots/list): an honest answer keeps them from waiting."""
        if "id" not in message:
            return
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        if message["method"] == "ping":
            reply["result"] = {}
        else:
            reply["error"] = {"code": -32601, "message": "not supported by capture_mcp.py"}
        self.send(reply)

    def stop(self):
        """Closes stdin, as the specification asks, then ends the whole process group. Once only:
        afterwards the group's number may belong to someone else."""
        if self.stopped:
            return
        self.stopped = True
        try:
            self.process.stdin.close()
        except OSError:
            pass
        try:
            self.process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            pass
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, number)
            except (ProcessLookupError, PermissionError):
                break
            try:
                self.process.wait(timeout=2)
            except subprocess.TimeoutExpired:
                continue
            time.sleep(0.1)
        self.process.wait()

    def show_stderr(self):
        self.stderr.seek(0)
        text = self.stderr.read().decode(errors="replace").rstrip()
        if text:
            print("--- the server's stderr ---", file=sys.stderr)
            print(text, file=sys.stderr)
            print("---------------------------", file=sys.stderr)


def parse(line):
    """The message in a line; None, with a warning, for what is no JSON-RPC message."""
    try:
        message = json.loads(line)
    except ValueError:
        message = None
    if isinstance(message, dict):
        return message
    if line.strip():
        shown = line[:120].decode(errors="replace").rstrip()
        print(f"capture_mcp: skipped a line that is no JSON-RPC message: {shown}", file=sys.stderr)
    return None


def capture(server):
    """The raw tools/list lines, the number of tools, and the server's name and version."""
    _, hello = server.request(
        1,
        "initialize",
        {
            "protocolVersion": PROTOCOL_VERSION,
            "capabilities": {},
            "clientInfo": {"name": "toolroute-capture", "version": "1"},
        },
    )
    server.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    pages, tools, params, seen = [], 0, {}, set()
    while True:
        line, result = server.request(len(pages) + 2, "tools/list", params)
        if not isinstance(result.get("tools"), list):
            raise CaptureError("the answer to tools/list has no `tools` list: this is no MCP server")
        pages.append(line)
        tools += len(result["tools"])
        cursor = result.get("nextCursor")
        if not cursor:
            return pages, tools, hello.get("serverInfo") or {}
        if cursor in seen or len(pages) >= MAX_PAGES:
            raise CaptureError(f"tools/list does not end: after {len(pages)} pages, nextCursor is {cursor!r}")
        seen.add(cursor)
        params = {"cursor": cursor}


def write_atomically(path, data):
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def run(out, command, timeout, env=None):
    """Captures one server; the number of tools and of pages, or CaptureError."""
    if not out.parent.is_dir():
        raise CaptureError(f"there is no folder {str(out.parent)!r} to write {out.name} in: make it first")
    server = Server(command, timeout, env or os.environ)
    try:
        pages, tools, info = capture(server)
    except CaptureError:
        server.stop()
        server.show_stderr()
        raise
    finally:
        server.stop()
    write_atomically(out, b"".join(line if line.endswith(b"\n") else line + b"\n" for line in pages))
    return tools, len(pages), info


# A server of two pages that also chats on stdout and asks a question of its own.
FAKE_SERVER = r"""
import json, sys
def say(text): sys.stdout.write(text + "\n"); sys.stdout.flush()
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "initialize":
        say("hello, I log to stdout")
        say('{"jsonrpc":"2.0","id":"q","method":"ping"}')
        say(json.dumps({"jsonrpc":"2.0","id":m["id"],"result":{"serverInfo":{"name":"fake","version":"9"}}}))
    elif m.get("method") == "tools/list":
        if m["params"].get("cursor") == "two":
            say('{"result":{"tools":[{"name":"b"}]},  "jsonrpc":"2.0","id":%d}' % m["id"])
        else:
            say('{"result":{"nextCursor":"two", "tools":[{"name":"a"}]},"jsonrpc":"2.0","id":%d}' % m["id"])
"""


def self_check():
    python = sys.executable

    def fails(command, needle, timeout=10.0):
        try:
            run(Path(folder) / "none.json", command, timeout)
        except CaptureError as error:
            assert needle in str(error), (needle, str(error))
        else:
            raise AssertionError(f"{command} should have failed with {needle!r}")
        assert not (Path(folder) / "none.json").exists()

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "fake.json"
        assert run(out, [python, "-c", FAKE_SERVER], 10.0) == (2, 2, {"name": "fake", "version": "9"})
        assert out.read_bytes() == (
            b'{"result":{"nextCursor":"two", "tools":[{"name":"a"}]},"jsonrpc":"2.0","id":2}\n'
            b'{"result":{"tools":[{"name":"b"}]},  "jsonrpc":"2.0","id":3}\n'
        )
        fails(["no-such-command-anywhere"], "cannot start")
        fails([python, "-c", "import sys; sys.exit(3)"], "exit status 3")
        fails([python, "-c", "import time; time.sleep(60)"], "within 0.3 s", timeout=0.3)
        assert sorted(p.name for p in Path(folder).iterdir()) == ["fake.json"]
    print("capture_mcp: self-check passed", file=sys.stderr)


def main():
    if sys.argv[1:] == ["--self-check"]:
        self_check()
        return EXIT_OK
    parser = argparse.ArgumentParser(
        description="Save what an MCP server answers to tools/list, byte for byte.",
        usage="%(prog)s [--timeout S] OUT.json -- COMMAND [ARG ...]",
    )
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S", help="seconds for the whole talk (60)")
    parser.add_argument("out", type=Path, metavar="OUT.json")
    parser.add_argument("command", nargs="+", metavar="COMMAND")
    args = parser.parse_args()
    if args.timeout <= 0:
        parser.error("--timeout must be above 0")
    try:
        tools, pages, info = run(args.out, args.command, args.timeout)
    except CaptureError as error:
        print(f"capture_mcp: {error}", file=sys.stderr)
        return EXIT_FAILED
    except OSError as error:
        print(f"capture_mcp: cannot write {error.filename}: {error.strerror}", file=sys.stderr)
        return EXIT_FAILED
    name = " ".join(str(info[key]) for key in ("name", "version") if key in info)
    print(f"capture_mcp: {tools} tools of {name or args.command[0]} in {args.out} ({pages} page(s))", file=sys.stderr)
    return EXIT_OK


if __name__ == "__main__":
    sys.exit(main())
