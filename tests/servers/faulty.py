#!/usr/bin/env python3
"""An MCP server over stdio that fails in every way that a server can. Standard library only.

    faulty.py MARK [--journal FILE] [--mode MODE]

MARK stands in the process list, so that a test finds processes that were left. Writes are noted in
FILE, a line each. MODE is how the server fails as a whole: `mute` (reads all, says nothing),
`garbage` (no JSON), `dies` (exits at once), `orphan` (starts a child that outlives it); without it
the tools fail, one each way. Raw errors hold RAW-, which no answer to a user may hold.
"""

import json
import os
import subprocess
import sys
import time

TEXT = {"type": "object", "required": ["query"], "properties": {"query": {"type": "string"}}}
READ = {"readOnlyHint": True}

TOOLS = [
    {"name": "fine", "inputSchema": TEXT, "annotations": READ, "description": "Answers"},
    {"name": "slow", "inputSchema": TEXT, "annotations": READ, "description": "Takes a minute"},
    {"name": "crash", "inputSchema": TEXT, "annotations": READ, "description": "Exits without an answer"},
    {"name": "garbage", "inputSchema": TEXT, "annotations": READ, "description": "Writes no JSON"},
    {"name": "odd", "inputSchema": TEXT, "annotations": READ, "description": "Answers with JSON that is no result"},
    {"name": "huge", "inputSchema": TEXT, "annotations": READ, "description": "Answers with 10 MB"},
    {"name": "error", "inputSchema": TEXT, "annotations": READ, "description": "Says that it failed"},
    {"name": "rpc_error", "inputSchema": TEXT, "annotations": READ, "description": "Answers with a protocol error"},
    {"name": "empty", "inputSchema": TEXT, "annotations": READ, "description": "Finds nothing"},
    {"name": "liar", "annotations": READ, "description": "Wants what its schema does not say",
     "inputSchema": {"type": "object", "required": ["query"], "properties": {"query": {"type": "string"}}}},
    {"name": "no_schema", "inputSchema": {"type": 12, "properties": "none"}, "annotations": READ},
    {"name": "environment", "inputSchema": {"type": "object"}, "annotations": READ},
    {"name": "progress", "inputSchema": {"type": "object"}, "annotations": READ},
    {"name": "write_crash", "inputSchema": TEXT, "description": "Writes, then exits without an answer"},
    {"name": "write_slow", "inputSchema": TEXT, "description": "Writes, then never answers"},
    {"name": "write_fine", "inputSchema": TEXT, "description": "Writes and says so"},
    {"name": "write_error", "inputSchema": TEXT, "description": "Writes and says that it failed"},
    {"name": "new_part", "inputSchema": {"type": "object"}, "annotations": READ, "description": "Answers with a part of an unknown type"},
    {"name": "burst", "inputSchema": {"type": "object"}, "annotations": READ, "description": "Tells its progress with its answer"},
]


def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def result(number, text, **more):
    say({"jsonrpc": "2.0", "id": number, "result": {"content": [{"type": "text", "text": text}], **more}})


def note(journal, text):
    if journal:
        with open(journal, "a") as out:
            out.write(text + "\n")


def call(number, params, journal):
    name, given = params["name"], params.get("arguments", {})
    query = given.get("query", "")
    if name.startswith("write_"):
        key = params.get("_meta", {}).get("toolroute/idempotencyKey")
        note(journal, f"{query} key={key}" if key else query)
    if name in ("fine", "write_fine", "no_schema"):
        result(number, f"fine: {query}")
    elif name in ("slow", "write_slow"):
        pass
    elif name in ("crash", "write_crash"):
        sys.stderr.write("RAW-traceback: segmentation fault\n")
        sys.stderr.flush()
        os._exit(139)
    elif name == "garbage":
        sys.stdout.write("RAW-garbage {{{ not json\n\x00\x01\n")
        sys.stdout.flush()
    elif name == "odd":
        say({"jsonrpc": "2.0", "id": number, "result": {"RAW-odd": [1, 2, 3]}})
    elif name == "huge":
        result(number, "A sentence that goes on. " * (10_000_000 // 25))
    elif name in ("error", "write_error"):
        result(number, "RAW-error: ECONNREFUSED at line 7, token=abcdef123456", isError=True)
    elif name == "rpc_error":
        say({"jsonrpc": "2.0", "id": number, "error": {"code": -32603, "message": "RAW-rpc internal"}})
    elif name == "empty":
        result(number, "[]")
    elif name == "liar":
        say({"jsonrpc": "2.0", "id": number, "error": {"code": -32602, "message": "RAW-liar: expected `number`"}})
    elif name == "environment":
        result(number, json.dumps(dict(os.environ)))
    elif name == "progress":
        token = params.get("_meta", {}).get("progressToken")
        for step in (1, 2, 3):
            say({"jsonrpc": "2.0", "method": "notifications/progress",
                 "params": {"progressToken": token, "progress": step, "total": 3, "message": f"step {step}"}})
            time.sleep(0.05)
        result(number, "done")
    elif name == "new_part":
        say({"jsonrpc": "2.0", "id": number, "result": {"content": [
            {"type": "text", "text": "known"}, {"type": "hologram", "of": "a cat"}]}})
    elif name == "burst":
        token = params.get("_meta", {}).get("progressToken")
        steps = [{"jsonrpc": "2.0", "method": "notifications/progress",
                  "params": {"progressToken": token, "progress": step}} for step in range(1, 41)]
        answer = {"jsonrpc": "2.0", "id": number, "result": {"content": [{"type": "text", "text": "done"}]}}
        sys.stdout.write("".join(json.dumps(message) + "\n" for message in [*steps, answer]))
        sys.stdout.flush()
    else:
        say({"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "RAW-unknown tool"}})


def main():
    arguments = sys.argv[2:]
    options = dict(zip(arguments[::2], arguments[1::2]))
    mode, journal = options.get("--mode"), options.get("--journal")
    if mode == "dies":
        sys.stderr.write("RAW-startup: module not found\n")
        sys.exit(3)
    if mode == "orphan":
        # Does not read its input, and would stay for ever.
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", sys.argv[1]],
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for line in sys.stdin:
        if mode == "mute":
            continue
        if mode == "garbage":
            sys.stdout.write("RAW-garbage\n")
            sys.stdout.flush()
            continue
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        if method == "initialize":
            say({"jsonrpc": "2.0", "id": number, "result": {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}}, "serverInfo": {"name": "faulty", "version": "1"}}})
        elif method == "tools/list":
            say({"jsonrpc": "2.0", "id": number, "result": {"tools": TOOLS}})
        elif method == "tools/call":
            call(number, message["params"], journal)
        elif method == "notifications/cancelled":
            note(journal and journal + ".cancelled", str(message["params"].get("requestId")))
        elif number is not None:
            # `ping` too: the server is alive.
            say({"jsonrpc": "2.0", "id": number, "result": {}})


if __name__ == "__main__":
    main()
