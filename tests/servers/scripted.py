#!/usr/bin/env python3
"""An MCP server over stdio whose tools do what a file says. Standard library only.

    scripted.py MARK SCRIPT.json [--journal FILE]

MARK stands in the process list, so that a test finds processes that were left. SCRIPT holds a list of
tools as MCP has them, each with a member `does`: a step, or a list of steps of which the nth call does
the nth and later calls the last. A step is an object with

    answer: TEXT      what the tool answers; `{name}` is the argument of that name
    error: TEXT       the same, as an answer that says that it failed
    data: VALUE       a structured answer
    crash: true       the server exits without an answer
    sleep: SECONDS    before all that
    progress: [N, S]  N reports of progress, S seconds apart, before all that

Each call is noted in FILE, a line each: the tool's name and its arguments as JSON.
"""

import json
import os
import sys
import time

script, journal = sys.argv[2], None
if "--journal" in sys.argv:
    journal = sys.argv[sys.argv.index("--journal") + 1]
with open(script, encoding="utf-8") as file:
    TOOLS = json.load(file)
STEPS = {tool["name"]: tool.pop("does", {}) for tool in TOOLS}
CALLS = dict.fromkeys(STEPS, 0)
for tool in TOOLS:
    tool.setdefault("inputSchema", {"type": "object"})


def say(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def step_of(name):
    steps = STEPS[name]
    if isinstance(steps, dict):
        return steps
    nth = min(CALLS[name], len(steps) - 1)
    return steps[nth]


def call(params):
    name, given = params["name"], params.get("arguments") or {}
    step = step_of(name)
    CALLS[name] += 1
    if journal:
        with open(journal, "a", encoding="utf-8") as file:
            file.write(f"{name} {json.dumps(given, sort_keys=True, ensure_ascii=False)}\n")
    token = (params.get("_meta") or {}).get("progressToken")
    times, pause = step.get("progress", [0, 0])
    for done in range(1, times + 1):
        time.sleep(pause)
        if token is not None:
            say({"method": "notifications/progress",
                 "params": {"progressToken": token, "progress": done, "total": times}})
    time.sleep(step.get("sleep", 0))
    if step.get("crash"):
        os._exit(1)
    text = step.get("error") or step.get("answer") or json.dumps(step.get("data", given))
    for key, value in given.items():
        text = text.replace("{" + key + "}", str(value))
    result = {"content": [{"type": "text", "text": text}], "isError": "error" in step}
    if "data" in step:
        result["structuredContent"] = step["data"]
    return result


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "scripted", "version": "1"}}
    if method == "tools/list":
        return {"tools": TOOLS}
    return call(params) if method == "tools/call" else {}


for line in sys.stdin:
    message = json.loads(line)
    if message.get("id") is not None:
        say({"id": message["id"], "result": answer(message["method"], message.get("params") or {})})
