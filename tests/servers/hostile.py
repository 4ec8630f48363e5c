"""A hostile MCP server over stdio, for tests: hostile.py MARK MODE [ARGUMENT]. The mark is how a test finds its processes.

Lists: bomb (schemas that unfold without end), deep LEVELS (a schema so deep), rug FILE (what it lists is that file's list). Floods: changes, requests, log,
each without end and beginning with a file named in ARGUMENT, if one is; progress N (words on one call). Answers: big MEBIBYTES, with its id last where
the mode is bigafter; raw TEXT, where the text stands in the answer as it is; error CODE. With list JSON it answers so to tools/list. Else it behaves
well.
"""

import json
import os
import sys
import threading
import time

MODE, ARGUMENT = sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else ""
LOCK = threading.Lock()


def write(line):
    with LOCK:
        try:
            sys.stdout.buffer.write(line + b"\n")
            sys.stdout.buffer.flush()
        except OSError:
            os._exit(0)


def send(**message):
    write(json.dumps({"jsonrpc": "2.0", **message}).encode())


def tool(name, description, schema=None, **more):
    schema = schema or {"type": "object", "properties": {"a": {"type": "string"}}}
    return {"name": name, "description": description, "inputSchema": schema, **more}


def bomb(keyword):
    """Twelve definitions, each of which names the next ten times."""
    defs = {f"d{at}": {keyword: [{"$ref": f"#/$defs/d{at + 1}"}] * 10} for at in range(12)}
    defs["d12"] = {"type": "object"}
    return {"$ref": "#/$defs/d0", "$defs": defs, "properties": {"a": {"type": "string"}}}


def recursive():
    """Small by itself; with a value of 60 levels it unfolds to 2^60."""
    twice = {"allOf": [{"$ref": "#/$defs/n"}, {"$ref": "#/$defs/n"}]}
    return {"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "properties": {"next": twice, "a": {"type": "string"}}}}}


def tools():
    reads = {"annotations": {"readOnlyHint": True}, "_meta": {"toolroute": {"satisfies": ["REPORT(greeting)"]}}}
    good = [tool("greet_person", "Says hello to a person by name", **reads)]
    if MODE == "bomb":
        bombs = [tool(f"read_{keyword}", f"Reads a file {keyword}", bomb(keyword), **reads) for keyword in ("allOf", "anyOf", "oneOf")]
        return bombs + [tool("read_again", "Reads a file again and again", recursive(), **reads)] + good
    if MODE == "rug":
        with open(ARGUMENT, encoding="utf-8") as file:
            return json.load(file)
    return good


def flood():
    while ARGUMENT and not os.path.exists(ARGUMENT):
        time.sleep(0.02)
    number = 0
    while True:
        number += 1
        if MODE == "changes":
            send(method="notifications/tools/list_changed")
        elif MODE == "requests":
            send(id=number, method="sampling/createMessage", params={})
        else:
            send(method="notifications/message", params={"level": "error", "data": "x" * 10_000})


def answer(number, method, params):
    if method == "initialize":
        send(id=number, result={"protocolVersion": params.get("protocolVersion"), "serverInfo": {"name": MODE, "version": "1"},
                                "capabilities": {"tools": {"listChanged": True}}})
        if MODE in ("changes", "requests", "log"):
            threading.Thread(target=flood, daemon=True).start()
    elif method == "tools/list" and MODE == "deep":
        levels = int(ARGUMENT)
        schema = b'{"a":' * levels + b"1" + b"}" * levels
        write(b'{"jsonrpc":"2.0","id":%d,"result":{"tools":[{"name":"deep","inputSchema":%s},%s]}}'
              % (number, schema, json.dumps(tools()[0]).encode()))
    elif method == "tools/list" and MODE == "list":
        send(id=number, result=json.loads(ARGUMENT))
    elif method == "tools/list":
        send(id=number, result={"tools": tools()})
    elif method == "tools/call":
        text = "hello"
        if MODE in ("big", "bigafter"):
            text = "r" * (int(ARGUMENT) << 20)
        if MODE == "progress":
            token = (params.get("_meta") or {}).get("progressToken")
            for step in range(int(ARGUMENT)):
                send(method="notifications/progress", params={"progressToken": token, "progress": step, "message": "m" * 100})
        result = {"content": [{"type": "text", "text": text}]}
        if MODE == "raw":
            write(b'{"jsonrpc":"2.0","id":%d,"result":%s}' % (number, ARGUMENT.encode()))
        elif MODE == "error":
            send(id=number, error={"code": int(ARGUMENT), "message": "a must be a date"})
        elif MODE == "bigafter":
            write(json.dumps({"result": result, "jsonrpc": "2.0", "id": number}).encode())
        else:
            send(id=number, result=result)
    elif method == "ping":
        send(id=number, result={})
    else:
        send(id=number, error={"code": -32601, "message": "no such method"})


for line in sys.stdin.buffer:
    asked = json.loads(line)
    if "id" in asked and "method" in asked:
        answer(asked["id"], asked["method"], asked.get("params") or {})
