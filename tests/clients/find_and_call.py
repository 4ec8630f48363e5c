"""Finds and calls a tool of each server through the gateway, with the official Python SDK.

    find_and_call.py CASES ROOT stdio COMMAND [ARGUMENT…]
    find_and_call.py CASES ROOT http URL

Prints a line a case, and exits with 1 where one failed.
"""

import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters


async def run(cases, target, mode):
    failed = 0
    async with Client(target, mode=mode) as client:
        listed = await client.list_tools()
        names = [tool.name for tool in listed.tools]
        assert names[:3] == ["find_tools", "describe_tool", "call_tool"], names
        for case in cases:
            found = await client.call_tool("find_tools", {"query": case["query"]})
            ids = [tool["id"] for tool in json.loads(found.content[0].text)["tools"]]
            called = await client.call_tool("call_tool", {"tool_name": case["tool"], "arguments": case["arguments"]})
            answer = " ".join(getattr(part, "text", "") for part in called.content)
            good = case["tool"] in ids and case["expect"] in answer and not called.is_error
            failed += not good
            more = "" if good else f" found {ids}, answered {answer[:200]!r}"
            print(f"python {mode} {client.protocol_version}: {case['tool']}: {'ok' if good else 'FAILED'}{more}")
    return failed


def main():
    cases_path, root, transport, *rest = sys.argv[1:]
    with open(cases_path) as file:
        cases = json.loads(file.read().replace("ROOT", root))
    # By itself the SDK passes on few variables, and so not where the gateway keeps its files.
    target = rest[0]
    if transport == "stdio":
        target = StdioServerParameters(command=rest[0], args=rest[1:], env=dict(os.environ))
    # `auto` asks by the newest protocol first; `legacy` shakes hands as older clients do.
    failed = sum(asyncio.run(run(cases, target, mode)) for mode in ("auto", "legacy"))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
