#!/usr/bin/env python3
"""An MCP server over stdio that asks its user while a tool runs. Standard library only.

    asking.py JOURNAL

JOURNAL gets the answer to a question that it asks outside a call, with the first list of its tools.
"""

import json
import os
import sys
import threading
import time

OUT = threading.Lock()
ANSWERS = {}
OFFERED = {}
READ = {"readOnlyHint": True}
# `pattern` and `x-odd` are members that the protocol does not name.
SCHEMA = {"type": "object", "properties": {"size": {"type": "string", "pattern": "^[A-Z]$", "x-odd": 1}}, "required": ["size"]}
FORM = {"message": "Which\u200b size?", "requestedSchema": SCHEMA}
PAGE = {"mode": "url", "message": "Log in", "url": "https://example.com/login?state=1", "elicitationId": "e-1"}
QUESTIONS = {"order_pizza": FORM, "open_account": PAGE, "give_up": FORM, "hurry": FORM, "wait_for_reply": FORM,
             "open_file": {**PAGE, "url": "file:///etc/passwd"}, "long_form": {**FORM, "requestedSchema": {"title": "t" * 20_000}}}
DESCRIPTIONS = {"order_pizza": "Orders a pizza", "open_account": "Opens an account", "give_up": "Asks and withdraws its question",
                "hurry": "Asks and does not wait", "wait_for_reply": "Asks and waits", "open_file": "Asks to open a file",
                "long_form": "Asks with a long form", "show_capabilities": "Shows what the client can do"}
TOOLS = [{"name": name, "description": told, "annotations": READ, "inputSchema": {"type": "object", "properties": {}}}
         for name, told in DESCRIPTIONS.items()]


def say(message):
    with OUT:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def send(number, question):
    """Asks, and returns the event of its answer."""
    ANSWERS[number] = [threading.Event(), None]
    say({"id": number, "method": "elicitation/create", "params": question})
    return ANSWERS[number]


def ask(number, question):
    answer = send(number, question)
    answer[0].wait(60)
    return answer[1]


def journal(answer):
    with open(sys.argv[1], "a") as file:
        file.write(json.dumps(answer) + "\n")


def call(number, name):
    question = f"q{number}"
    if name == "show_capabilities":
        said = OFFERED
    elif name == "hurry":
        send(question, QUESTIONS[name])
        time.sleep(0.5)
        said = "done"
    elif name == "give_up":
        answer = send(question, QUESTIONS[name])
        time.sleep(0.3)
        say({"method": "notifications/cancelled", "params": {"requestId": question}})
        answer[0].wait(60)
        said = answer[1]
    else:
        said = ask(question, QUESTIONS[name])
    say({"id": number, "result": {"content": [{"type": "text", "text": json.dumps(said)}]}})


def main():
    for line in sys.stdin:
        message = json.loads(line)
        number, method, params = message.get("id"), message.get("method"), message.get("params") or {}
        if method is None:
            answer = ANSWERS.get(number)
            if answer is not None:
                answer[1] = message.get("result", message.get("error"))
                answer[0].set()
        elif method == "initialize":
            OFFERED.update(params["capabilities"])
            say({"id": number, "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}, "prompts": {}, "resources": {}, "completions": {}},
                                          "serverInfo": {"name": "asking", "version": "1"}}})
        elif method == "tools/list":
            say({"id": number, "result": {"tools": TOOLS}})
            # Later lists may be asked for during a call.
            if not os.path.exists(sys.argv[1]) and "outside" not in ANSWERS:
                threading.Thread(target=lambda: journal(ask("outside", FORM)), daemon=True).start()
        elif method == "tools/call":
            threading.Thread(target=call, args=(number, params["name"]), daemon=True).start()
        elif method == "resources/read":
            # Asks about each, and has none.
            def refuse(number=number):
                ask(f"q{number}", FORM)
                say({"id": number, "error": {"code": -32002, "message": "it is not here"}})
            threading.Thread(target=refuse, daemon=True).start()
        elif method == "completion/complete":
            def complete(number=number):
                say({"id": number, "result": {"completion": {"values": [ask(f"q{number}", FORM)["action"]]}}})
            threading.Thread(target=complete, daemon=True).start()
        elif method == "prompts/list":
            say({"id": number, "result": {"prompts": [{"name": "letter"}]}})
        elif method == "prompts/get":
            def get(number=number):
                text = json.dumps(ask(f"q{number}", FORM))
                message = {"role": "user", "content": {"type": "text", "text": text}}
                say({"id": number, "result": {"messages": [message]}})
            threading.Thread(target=get, daemon=True).start()
        elif number is not None:
            say({"id": number, "result": {}})


main()
