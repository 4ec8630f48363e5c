#!/usr/bin/env python3
"""An MCP server over stdio that keeps notes, with all that a server may have: prompts, resources,
changes of its lists, answers of several parts. Standard library only.

    notes.py MARK [--journal FILE] [--slow SECONDS] [--protocol newest]

MARK stands in the process list, so that a test finds processes that were left. What is cancelled is
noted in FILE. With --slow it takes so long until it answers the first time. With the newest protocol there is no
handshake, and what has changed is told to those who listen alone.
"""

import json
import sys
import threading
import time

OUT = threading.Lock()
CAPABILITIES = {"tools": {"listChanged": True}, "prompts": {}, "resources": {"subscribe": True}, "completions": {}}
LISTENING = []
READ = {"readOnlyHint": True}

# Odd spacing, order and numbers, so that a test sees whether they stay.
TOOLS = [
    {"name": "search_notes", "title": "Search notes", "description": "Searches all notes for words. Gives their titles.",
     "inputSchema": {"type": "object", "properties": {"zeta": {"type": "integer", "maximum": 10},
                     "query": {"type": "string", "description": "Words to look for"}}, "required": ["query"],
                     "$schema": "http://json-schema.org/draft-07/schema#"},
     "annotations": READ, "_meta": {"example.org/owner": "notes"}},
    {"name": "delete_note", "description": "Deletes a note for ever",
     "inputSchema": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]},
     "annotations": {"destructiveHint": True}},
    {"name": "count_notes", "description": "Counts the notes", "annotations": READ,
     "inputSchema": {"type": "object", "properties": {}},
     "outputSchema": {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}},
    {"name": "illustrate_note", "description": "Draws a picture for a note", "annotations": READ,
     "inputSchema": {"type": "object", "properties": {}}},
    {"name": "transcribe_recording", "description": "Transcribes a voice recording into a note; takes a minute",
     "annotations": READ, "inputSchema": {"type": "object", "properties": {}}},
    {"name": "learn_translation", "description": "Adds a tool that translates notes", "annotations": READ,
     "inputSchema": {"type": "object", "properties": {"forget": {"type": "boolean"}, "all": {"type": "boolean"}}}},
    {"name": "print_notebook", "description": "Prints a notebook on paper", "annotations": READ,
     "inputSchema": {"type": "object", "properties": {"copies": {"type": "integer"}}, "required": ["copies"]}},
]
TRANSLATE = {"name": "translate_note", "description": "Translates a note into another language", "annotations": READ,
             "inputSchema": {"type": "object", "properties": {"language": {"type": "string"}}, "required": ["language"]}}


def say(message):
    with OUT:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def answer(number, result):
    say({"id": number, "result": result})


def refuse(number, code, message):
    say({"id": number, "error": {"code": code, "message": message}})


def text(words):
    return {"content": [{"type": "text", "text": words}]}


def call(number, params, cancelled):
    name, given = params["name"], params.get("arguments") or {}
    if name == "search_notes":
        answer(number, text(f"found: {given.get('query')}"))
    elif name == "delete_note":
        answer(number, text(f"deleted: {given.get('title')}"))
    elif name == "count_notes":
        answer(number, {"content": [{"type": "text", "text": "{\"count\": 3}"}], "structuredContent": {"count": 3}})
    elif name == "illustrate_note":
        answer(number, {"content": [
            {"type": "text", "text": "a drawing", "annotations": {"audience": ["user"]}},
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},
            {"type": "resource_link", "uri": "note://drawing", "name": "drawing"}]})
    elif name == "transcribe_recording":
        token = params.get("_meta", {}).get("progressToken")
        for step in range(1, 600):
            if cancelled.wait(0.1):
                return
            say({"method": "notifications/progress",
                 "params": {"progressToken": token, "progress": step, "total": 600, "message": f"minute {step}"}})
        answer(number, text("done"))
    elif name == "learn_translation":
        if given.get("forget"):
            TOOLS[:] = [tool for tool in TOOLS if tool is not TRANSLATE]
        elif TRANSLATE not in TOOLS:
            TOOLS.append(TRANSLATE)
        answer(number, text("forgotten" if given.get("forget") else "learned"))
        for kind in ("tools", "prompts", "resources") if given.get("all") else ("tools",):
            changed = {"method": f"notifications/{kind}/list_changed"}
            if "newest" not in sys.argv:
                say(changed)
            for listener in LISTENING:
                say({**changed, "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": listener}}})
    elif name == "print_notebook":
        answer(number, {**text("out of paper: expected at most 3 copies"), "isError": True})
    elif name == "translate_note":
        answer(number, text(f"in {given.get('language')}"))
    else:
        refuse(number, -32602, f"unknown tool {name}")


def reply(message, running, journal):
    method, number, params = message.get("method"), message.get("id"), message.get("params") or {}
    if method == "initialize" and "newest" in sys.argv:
        refuse(number, -32601, "there is no handshake any more")
    elif method == "initialize":
        answer(number, {"protocolVersion": params["protocolVersion"], "serverInfo": {"name": "notes", "version": "1"},
                        "capabilities": CAPABILITIES})
    elif method == "server/discover":
        answer(number, {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": CAPABILITIES,
                        "ttlMs": 0, "cacheScope": "private"})
    elif method == "subscriptions/listen":
        LISTENING.append(number)
        say({"method": "notifications/subscriptions/acknowledged",
             "params": {"notifications": params["notifications"],
                        "_meta": {"io.modelcontextprotocol/subscriptionId": number}}})
    elif method == "tools/list":
        # Two pages.
        first = not params.get("cursor")
        answer(number, {"tools": TOOLS[:2], "nextCursor": "2"} if first else {"tools": TOOLS[2:]})
    elif method == "tools/call":
        running[number] = threading.Event()
        threading.Thread(target=call, args=(number, params, running[number]), daemon=True).start()
    elif method == "notifications/cancelled":
        event = running.get(params.get("requestId"))
        if event:
            event.set()
            if journal:
                with open(journal, "a") as out:
                    out.write("cancelled\n")
    elif method == "prompts/list":
        answer(number, {"prompts": [{"name": "summarise", "description": "Sums up a note",
                                     "arguments": [{"name": "title", "required": True}]}]})
    elif method == "prompts/get":
        if params.get("name") != "summarise":
            return refuse(number, -32602, "no such prompt")
        title = params.get("arguments", {}).get("title")
        answer(number, {"messages": [{"role": "user", "content": {"type": "text", "text": f"Sum up {title}"}}]})
    elif method == "resources/list":
        answer(number, {"resources": [{"uri": "note://today", "name": "today"}]})
    elif method == "resources/templates/list":
        answer(number, {"resourceTemplates": [{"uriTemplate": "note://{title}", "name": "note"}]})
    elif method == "resources/read":
        if not params["uri"].startswith("note://"):
            # It was refused to whoever wanted to hear of it, so nobody is to.
            say({"method": "notifications/resources/updated", "params": {"uri": params["uri"]}})
            return refuse(number, -32002, "no such note")
        answer(number, {"contents": [{"uri": params["uri"], "mimeType": "text/plain", "text": "milk"}]})
    elif method == "resources/subscribe":
        if not params["uri"].startswith("note://"):
            return refuse(number, -32002, "no such note")
        # What changes at once is told before the answer, as it is where another thread tells it.
        say({"method": "notifications/resources/updated", "params": {"uri": params["uri"]}})
        time.sleep(0.2)
        answer(number, {})
    elif method == "completion/complete":
        answer(number, {"completion": {"values": [params["ref"].get("name", ""), "today"]}})
    elif number is not None:
        answer(number, {})


def main():
    options = dict(zip(sys.argv[2::2], sys.argv[3::2]))
    time.sleep(float(options.get("--slow", 0)))
    running = {}
    for line in sys.stdin:
        reply(json.loads(line), running, options.get("--journal"))


if __name__ == "__main__":
    main()
