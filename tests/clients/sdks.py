"""The OpenAI and Anthropic SDKs through `toolroute proxy` to the recorded upstream: `sdks.py TOOLROUTE UPSTREAM.py`.
Each must read its answer as if nothing were between, streams included, and the upstream must have been sent fewer tools
and the client's own key."""

import json
import subprocess
import sys
import time
from pathlib import Path

import anthropic
import openai

TOOLS = [("get_weather", "The weather of a city"), ("send_email", "Sends an email to a person"),
         ("read_file", "Reads a file from disk"), ("play_music", "Plays a song"), ("list_issues", "Lists issues of a repository")]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
PROMPT = "What is the weather in Paris?"
KEEP = 2


def start(command):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    told = ""
    while not told.strip().endswith("}"):
        line = process.stdout.readline()
        if not line:
            sys.exit(f"{command[0]} did not start")
        told += line
    return process, json.loads(told)["port"]


def main(toolroute, upstream_script):
    upstream, port = start([sys.executable, upstream_script])
    proxy, proxied = start([toolroute, "proxy", "--upstream", f"http://127.0.0.1:{port}", "--addr", "127.0.0.1:0",
                            "--model", "static", "--keep", str(KEEP), "--json"])
    checks = 0

    def check(what, found, wanted):
        nonlocal checks
        if found != wanted:
            sys.exit(f"{what}: expected {wanted!r}, found {found!r}")
        checks += 1

    def sent(path, key):
        told = json.loads(upstream.stdout.readline())
        check("path", told["path"].split("?")[0], path)
        check("key", key in (told["authorization"] or told["key"]), True)
        check("tools sent to " + path, "get_weather" in told["tools"] and len(told["tools"]) == KEEP, True)

    try:
        base = f"http://127.0.0.1:{proxied}"
        client = openai.OpenAI(base_url=f"{base}/v1", api_key="sk-openai-test", max_retries=0)
        nested = [{"type": "function", "function": {"name": n, "description": d, "parameters": SCHEMA}} for n, d in TOOLS]
        flat = [{"type": "function", "name": n, "description": d, "parameters": SCHEMA, "strict": False} for n, d in TOOLS]
        asked = [{"role": "user", "content": PROMPT}]

        chat = client.chat.completions.create(model="m", messages=asked, tools=nested)
        check("chat", chat.choices[0].message.tool_calls[0].function.name, "get_weather")
        sent("/v1/chat/completions", "sk-openai-test")
        began, times, text = time.monotonic(), [], ""
        for chunk in client.chat.completions.create(model="m", messages=asked, tools=nested, stream=True):
            times.append(time.monotonic() - began)
            text += chunk.choices[0].delta.content or ""
        check("chat, streamed", text, "The weather in Paris: ünïcode ☀")
        check("chat comes as it is sent", times[-1] - times[0] > 0.1, True)
        sent("/v1/chat/completions", "sk-openai-test")

        response = client.responses.create(model="m", input=PROMPT, tools=flat)
        check("responses", response.output_text, "Sunny.")
        sent("/v1/responses", "sk-openai-test")
        kinds = [event.type for event in client.responses.create(model="m", input=PROMPT, tools=flat, stream=True)]
        check("responses, streamed", kinds, ["response.created", "response.output_text.delta", "response.completed"])
        sent("/v1/responses", "sk-openai-test")
        try:
            client.chat.completions.create(model="refused", messages=asked, tools=nested)
            sys.exit("a refusal was not passed on")
        except openai.RateLimitError as error:
            check("refusal", "slow down" in str(error), True)
        sent("/v1/chat/completions", "sk-openai-test")

        claude = anthropic.Anthropic(base_url=base, api_key="sk-ant-test", max_retries=0)
        own = [{"name": n, "description": d, "input_schema": SCHEMA} for n, d in TOOLS]
        message = claude.messages.create(model="m", max_tokens=100, messages=asked, tools=own)
        check("messages", message.content[0].name, "get_weather")
        sent("/v1/messages", "sk-ant-test")
        with claude.messages.stream(model="m", max_tokens=100, messages=asked, tools=own) as stream:
            check("messages, streamed", "".join(stream.text_stream), "It is sunny ☀")
        sent("/v1/messages", "sk-ant-test")
        print(f"sdks: {checks} checks passed (openai {openai.__version__}, anthropic {anthropic.__version__})")
    finally:
        proxy.terminate()
        upstream.terminate()
    check("the proxy ends in good order", proxy.wait(timeout=10), 0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else str(Path(__file__).parent / "upstream.py"))
