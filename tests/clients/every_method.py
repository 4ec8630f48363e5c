"""Every method of the protocol through the gateway, with the official Python SDK.

    every_method.py stdio COMMAND [ARGUMENT…]
    every_method.py http URL

`auto` negotiates the newest protocol, `legacy` shakes hands as older clients do. Prints a line a
method and protocol, and exits with 1 where one failed. The gateway has server-everything and
tests/servers/notes.py behind, and lists `notes__translate_note` where that is there.
"""

import asyncio
import json
import os
import sys
import warnings

import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

# Methods that the newest protocol has no more are tried on purpose.
warnings.simplefilter("ignore")

CHANGING = "notes__translate_note"
STATIC = "demo://resource/static/document/features.md"
DYNAMIC = "demo://resource/dynamic/text/1"
TEMPLATE = "demo://resource/dynamic/text/{resourceId}"
PATIENCE = 60
METHOD_NOT_FOUND = -32601
HEADER_MISMATCH = -32020


def expect(so, found):
    if not so:
        raise AssertionError(f"found {found}")


async def refused(asked, *codes):
    try:
        answer = await asked
    except MCPError as error:
        expect(error.error.code in codes, error)
    else:
        raise AssertionError(f"expected one of {codes}, found {answer}")


class Changes:
    """What the gateway tells by itself, whichever protocol it tells it in."""

    def __init__(self):
        self.heard = asyncio.Queue()

    async def message(self, message):
        method = getattr(message, "method", "")
        if method.startswith("notifications/") and method != "notifications/progress":
            uri = getattr(message.params, "uri", None)
            await self.heard.put((method.removeprefix("notifications/"), str(uri) if uri else None))

    async def wait(self, *wanted):
        """Waits until each was heard, in any order."""
        missing, heard = set(wanted), []
        try:
            async with asyncio.timeout(PATIENCE):
                while missing:
                    heard.append(await self.heard.get())
                    missing.discard(heard[-1])
        except TimeoutError:
            raise AssertionError(f"waited for {missing}, heard {heard}") from None

    def forget(self):
        while not self.heard.empty():
            self.heard.get_nowait()


class Every:
    """Each method with a name `test_…` is one line of the report."""

    def __init__(self, client, changes, is_legacy):
        self.client, self.changes, self.is_legacy = client, changes, is_legacy

    async def call(self, name, arguments, **more):
        return await self.client.call_tool("call_tool", {"tool_name": name, "arguments": arguments}, **more)

    async def test_begin(self):
        client = self.client
        is_newest = client.protocol_version >= "2026-07-28"
        expect(is_newest != self.is_legacy, client.protocol_version)
        expect(client.server_info.name == "toolroute", client.server_info)
        expect("find_tools" in client.instructions, client.instructions)
        has = client.server_capabilities
        expect(has.tools.list_changed and has.prompts.list_changed and has.resources.list_changed, has)
        expect(has.resources.subscribe and has.completions is not None, has)

    async def test_ping(self):
        if self.is_legacy:
            await self.client.send_ping()
        else:
            await refused(self.client.send_ping(), METHOD_NOT_FOUND)

    async def test_tools_list(self):
        listed = await self.client.list_tools()
        expect([tool.name for tool in listed.tools][:4] == ["find_tools", "describe_tool", "call_tool", "read_more"], listed)

    async def test_tools_call(self):
        found = await self.client.call_tool("find_tools", {"query": "echo back the message that I send"})
        ids = [tool["id"] for tool in json.loads(found.content[0].text)["tools"]]
        expect("everything__echo" in ids, ids)
        described = await self.client.call_tool("describe_tool", {"tool_name": "everything__echo"})
        expect("inputSchema" in described.content[0].text, described)
        for answer in (
            await self.call("everything__echo", {"message": "one"}),
            await self.client.call_tool("everything__echo", {"message": "one"}),
        ):
            expect("one" in answer.content[0].text and not answer.is_error, answer)
        drawn = await self.call("everything__get-tiny-image", {})
        expect(any(part.type == "image" for part in drawn.content), drawn)
        weather = await self.client.call_tool("everything__get-structured-content", {"location": "Chicago"})
        expect("temperature" in weather.structured_content, weather)
        unknown = await self.client.call_tool("everything__no_such_tool", {})
        expect(unknown.is_error, unknown)

    async def test_tools_call_progress(self):
        steps = []

        async def heard(done, total, message):
            steps.append(done)

        arguments = {"duration": 1, "steps": 4}
        answer = await self.call("everything__trigger-long-running-operation", arguments, progress_callback=heard)
        expect(not answer.is_error and len(steps) >= 3 and steps == sorted(steps), (steps, answer))

    async def test_tools_call_cancelled(self):
        long = self.call("everything__trigger-long-running-operation", {"duration": 60, "steps": 60})
        running = asyncio.ensure_future(long)
        await asyncio.sleep(0.5)
        running.cancel()
        await asyncio.wait([running])
        expect(running.cancelled(), running)
        answer = await self.call("everything__echo", {"message": "still there"})
        expect("still there" in answer.content[0].text, answer)

    async def test_prompts_list(self):
        listed = await self.client.list_prompts()
        names = {prompt.name for prompt in listed.prompts}
        expect({"everything__args-prompt", "everything__simple-prompt", "notes__summarise"} <= names, names)

    async def test_prompts_get(self):
        plain = await self.client.get_prompt("everything__simple-prompt")
        expect(plain.messages, plain)
        given = await self.client.get_prompt("everything__args-prompt", {"city": "Oslo"})
        expect("Oslo" in given.messages[0].content.text, given)
        embedded = await self.client.get_prompt(
            "everything__resource-prompt", {"resourceType": "Text", "resourceId": "1"})
        expect(any(message.content.type == "resource" for message in embedded.messages), embedded)
        await refused(self.client.get_prompt("everything__no-such-prompt"), -32602)

    async def test_resources_list(self):
        uris = {str(resource.uri) for resource in (await self.client.list_resources()).resources}
        expect(STATIC in uris and "note://today" in uris, uris)

    async def test_resources_templates_list(self):
        listed = await self.client.list_resource_templates()
        templates = {template.uri_template for template in listed.resource_templates}
        expect(TEMPLATE in templates and "note://{title}" in templates, templates)

    async def test_resources_read(self):
        read = await self.client.read_resource(STATIC)
        expect("Features" in read.contents[0].text, read)
        expect((await self.client.read_resource(DYNAMIC)).contents, DYNAMIC)
        blob = await self.client.read_resource("demo://resource/dynamic/blob/1")
        expect(blob.contents[0].blob, blob)
        expect((await self.client.read_resource("note://today")).contents[0].text == "milk", "note://today")
        await refused(self.client.read_resource("other://nowhere"), -32002, -32602)

    async def test_completion(self):
        ref = types.PromptReference(type="ref/prompt", name="everything__completable-prompt")
        done = await self.client.complete(ref, {"name": "department", "value": "E"})
        expect(done.completion.values == ["Engineering"], done)
        done = await self.client.complete(ref, {"name": "name", "value": "A"}, {"department": "Engineering"})
        expect(done.completion.values == ["Alice"], done)
        ref = types.ResourceTemplateReference(type="ref/resource", uri=TEMPLATE)
        done = await self.client.complete(ref, {"name": "resourceId", "value": "1"})
        expect(done.completion.values == ["1"], done)

    async def test_logging_level(self):
        # The gateway passes no logs on, and does not say that it would.
        expect(self.client.server_capabilities.logging is None, self.client.server_capabilities)
        await refused(self.client.set_logging_level("info"), METHOD_NOT_FOUND)

    async def test_roots_list_changed(self):
        await self.client.send_roots_list_changed()
        expect((await self.client.list_tools()).tools, "nothing after it")

    async def test_resources_subscribe(self):
        update = ("resources/updated", "note://today")
        if self.is_legacy:
            await self.client.subscribe_resource("note://today")
            await self.changes.wait(update)
            await self.client.unsubscribe_resource("note://today")
        else:
            # Over HTTP the header is missed that would name the resource: a method that is no more has none.
            await refused(self.client.subscribe_resource("note://today"), METHOD_NOT_FOUND, HEADER_MISMATCH)
            async with self.client.listen(resource_subscriptions=["note://today"]) as heard:
                async with asyncio.timeout(PATIENCE):
                    async for event in heard:
                        expect(str(event.uri) == "note://today", event)
                        break

    async def test_lists_changed(self):
        # By call_tool: for a tool that it was not listed, the SDK lists all anew, and who has the newest
        # list is told nothing.
        await self.call("notes__learn_translation", {"forget": True})
        await self.until_listed(False)
        self.changes.forget()
        if self.is_legacy:
            await self.call("notes__learn_translation", {"all": True})
            await self.changes.wait(*((f"{kind}/list_changed", None) for kind in ("tools", "prompts", "resources")))
        else:
            lists = {"tools_list_changed": True, "prompts_list_changed": True, "resources_list_changed": True}
            async with self.client.listen(**lists) as heard:
                await self.call("notes__learn_translation", {"all": True})
                missing = {"ToolsListChanged", "PromptsListChanged", "ResourcesListChanged"}
                async with asyncio.timeout(PATIENCE):
                    async for event in heard:
                        missing.discard(type(event).__name__)
                        if not missing:
                            break
        await self.until_listed(True)
        await self.call("notes__learn_translation", {"forget": True})

    async def until_listed(self, is_there):
        async with asyncio.timeout(PATIENCE):
            while is_there != (CHANGING in {tool.name for tool in (await self.client.list_tools()).tools}):
                await asyncio.sleep(0.1)


async def run(transport, target, mode):
    changes, failed = Changes(), 0
    async with Client(target, mode=mode, message_handler=changes.message, read_timeout_seconds=PATIENCE) as client:
        every = Every(client, changes, mode == "legacy")
        for name in [name for name in dir(every) if name.startswith("test_")]:
            said = "ok"
            try:
                await getattr(every, name)()
            except Exception as error:  # noqa: BLE001 - the next method is tried all the same
                said, failed = f"FAILED {type(error).__name__}: {str(error)[:300]}", failed + 1
            print(f"python {transport} {client.protocol_version}: {name.removeprefix('test_')}: {said}", flush=True)
    return failed


def main():
    transport, *rest = sys.argv[1:]
    target = rest[0]
    if transport == "stdio":
        # By itself the SDK passes on few variables, and so not where the gateway keeps its files.
        target = StdioServerParameters(command=rest[0], args=rest[1:], env=dict(os.environ))
    failed = sum(asyncio.run(run(transport, target, mode)) for mode in ("auto", "legacy"))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
