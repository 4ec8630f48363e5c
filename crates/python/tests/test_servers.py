"""Routers of servers: their calls, their options, and what is left of them in a forked process."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import toolroute
from toolroute import Router

#: An MCP server that answers `ask`, never `wait`, and writes down what it is told.
SERVER = """
import json, sys

def answer(id, result):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}) + "\\n")
    sys.stdout.flush()

reads, writes = ({"annotations": {"readOnlyHint": only}, "inputSchema": {"type": "object"}} for only in (True, False))
TOOLS = [
    {"name": "ask", "description": "Asks the oracle", **reads},
    {"name": "wait", "description": "Waits for the end of the world", **reads},
    {"name": "add", "description": "Adds a note to the notes", **writes},
]
for line in sys.stdin:
    told = json.loads(line)
    with open(sys.argv[1], "a") as journal:
        journal.write(told["method"] + "\\n")
    params, id = told.get("params", {}), told.get("id")
    if told["method"] == "initialize":
        version = params["protocolVersion"]
        answer(id, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "o", "version": "1"}})
    elif told["method"] == "tools/list":
        answer(id, {"tools": TOOLS})
    elif told["method"] == "tools/call" and params["name"] != "wait":
        said = "yes and no. " * 20_000
        answer(id, {"content": [{"type": "text", "text": said}], "structuredContent": {"said": said}})
    elif id is not None and told["method"] != "tools/call":
        answer(id, {})
"""


@pytest.fixture
def servers(tmp_path: Path) -> Path:
    program, file = tmp_path / "server.py", tmp_path / "servers.json"
    program.write_text(SERVER)
    entry = {"command": sys.executable, "args": [str(program), str(tmp_path / "journal")]}
    file.write_text(json.dumps({"mcpServers": {"oracle": entry}}))
    return file


@pytest.fixture
def router(servers: Path) -> Iterator[Router]:
    with Router.from_servers(servers) as router:
        yield router


def is_told(servers: Path, method: str) -> bool:
    journal = servers.with_name("journal")
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if journal.exists() and method in journal.read_text().split():
            return True
        time.sleep(0.05)
    return False


@contextmanager
def interrupted(servers: Path, method: str) -> Iterator[None]:
    """Presses Ctrl-C when the server has been told a method."""

    def press() -> None:
        if is_told(servers, method):
            os.kill(os.getpid(), signal.SIGINT)

    pressing = threading.Thread(target=press)
    pressing.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        yield
    assert time.monotonic() - start < 15
    pressing.join()


def test_ctrl_c_ends_a_call_and_the_wait_for_servers(router: Router, servers: Path):
    with interrupted(servers, "tools/call"):
        router.call("wait")
    assert is_told(servers, "notifications/cancelled")
    assert "said" in router.call("ask")
    servers.with_name("journal").unlink()
    program = servers.with_name("server.py")
    listing = 'answer(id, {"tools": TOOLS})'
    assert listing in program.read_text()
    program.write_text(program.read_text().replace(listing, "pass"))
    with interrupted(servers, "tools/list"):
        Router.from_servers(servers)


def test_a_call_that_is_cancelled_is_cancelled_at_the_server(router: Router, servers: Path):
    async def cancel() -> float:
        task = asyncio.create_task(router.acall("wait"))
        assert await asyncio.to_thread(is_told, servers, "tools/call")
        start = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return start

    start = asyncio.run(cancel())
    assert time.monotonic() - start < 5
    assert is_told(servers, "notifications/cancelled")


def test_calls_of_servers_keep_no_thread(router: Router):
    async def ask() -> list[str]:
        waiting = [asyncio.create_task(router.acall("wait")) for _ in range(64)]
        await asyncio.sleep(0.1)
        found = await asyncio.wait_for(router.aselect("ask the oracle", k=1), 20)
        kept = await asyncio.wait_for(router.afilter("ask the oracle", k=1), 20)
        answer = await asyncio.wait_for(router.acall("ask"), 20)
        assert answer["said"].startswith("yes") and kept[0]["id"] == "oracle__ask"
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return [hit.id for hit in found]

    assert asyncio.run(ask()) == ["oracle__ask"]
    with pytest.raises(toolroute.CallError, match="nosuch"):
        asyncio.run(router.acall("nosuch"))


def test_the_rest_of_a_long_answer_is_read(router: Router):
    answer = router.call("ask")
    mark = answer["_truncated"]
    assert "a part of 240000 characters; the whole answer is under handle " in mark
    handle, text, offset = mark.split("handle ")[1].rstrip("]"), "", 0
    while offset is not None:
        page = router.read_more(handle, offset)
        assert (page["offset"], page["of_chars"]) == (len(text), 240_000)
        text, offset = text + page["text"], page.get("next_offset")
    assert text == "yes and no. " * 20_000
    with pytest.raises(toolroute.CallError, match="abc"):
        router.read_more("abc")
    with pytest.raises(toolroute.RequestError, match="offset=-1"):
        router.read_more(handle, -1)
    with pytest.raises(TypeError, match="handle=3"):
        router.read_more(3)


def test_options_of_calls(servers: Path):
    with Router.from_servers(servers, max_chars=300, same_call=1, timeout=1, deny=["*add"]) as router:
        assert len(json.dumps(router.call("ask", session="a"))) <= 320
        with pytest.raises(toolroute.CallError, match="was made once"):
            router.call("ask", session="a")
        start = time.monotonic()
        with pytest.raises(toolroute.CallError):
            router.call("wait")
        assert time.monotonic() - start < 20
        with pytest.raises(toolroute.ToolrouteError, match="add"):
            router.call("oracle__add")
    for options in ({"read_only": True}, {"allow": ["oracle__ask"]}):
        with Router.from_servers(servers, **options) as router:
            assert "said" in router.call("ask")
            with pytest.raises(toolroute.ToolrouteError, match="add"):
                router.call("oracle__add")
    with pytest.warns(UserWarning, match="the pattern `oracle__aks`"):
        mistyped = Router.from_servers(servers, deny=["oracle__aks", "add"])
    with mistyped:
        (problem,) = mistyped.problems
        assert problem.endswith("matches no tool of the servers")
    for wrong in ({"timeout": 0}, {"max_chars": 0}, {"allow": ["[a"]}):
        with pytest.raises(toolroute.RequestError):
            Router.from_servers(servers, **wrong)
    with pytest.raises(TypeError, match=r"write allow=\['ask'\]"):
        Router.from_servers(servers, allow="ask")
    with pytest.raises(TypeError, match="no option 'timeout'"):
        Router([], timeout=1)


def test_an_overlay_applies_to_the_tools_of_servers(servers: Path, tmp_path: Path):
    overlay = tmp_path / "overlay.toml"
    overlay.write_text('[[overlay]]\nmatch = "oracle__ask"\ncost = "high"\nhints = { destructive = true }\n')
    for paths in (overlay, [overlay]):
        with Router.from_servers(servers, overlay=paths) as router:
            assert not router.problems
            hits = router.select("ask the oracle", k=3, max_cost="medium")
            assert "oracle__ask" not in [hit.id for hit in hits]
            with pytest.raises(toolroute.ConfirmationNeeded):
                router.call("ask")
            assert "said" in router.call("ask", confirmed=True)
    overlay.write_text('[[overlay]]\nmatch = "oracle__aks"\ncost = "high"\n')
    with pytest.warns(UserWarning, match="oracle__aks"):
        Router.from_servers(servers, overlay=overlay).close()
    overlay.write_text('[[overlay]]\nmatch = "oracle__ask"\ncost = "dear"\n')
    for path, said in ((overlay, "the overlay cannot be used.*dear"), (tmp_path / "gone.toml", "gone.toml")):
        with pytest.raises(toolroute.CatalogError, match=said):
            Router.from_servers(servers, overlay=path)


def test_the_hints_of_a_servers_file_hold(servers: Path):
    file = json.loads(servers.read_text())
    file["mcpServers"]["oracle"]["callHints"] = {"timeout_ms": 500, "retry": {"most": 0}}
    servers.write_text(json.dumps(file))
    with Router.from_servers(servers) as router:
        start = time.monotonic()
        with pytest.raises(toolroute.CallError):
            router.call("wait")
        assert time.monotonic() - start < 20


#: A forked child does the work of `child`, and must end by itself.
FORK = """
import os, signal, sys, warnings
import toolroute
from toolroute import Router
warnings.simplefilter("ignore")
TOOLS = [{{"name": f"t{{number}}", "description": f"Reads file number {{number}}"}} for number in range(40)]
def read(): "Reads a file"
Router(TOOLS).select_many(["read a file"] * 300)
router = {made}
hit = router.select("ask the oracle to read a file", k=1)[0]
child = os.fork()
if child == 0:
    signal.alarm(60)
    assert router.select("read a file", min_reliability="low", k=1) is not None
    router.select_many(["read a file"] * 300)
    {child}
    sys.exit(0)
ended = os.waitpid(child, 0)[1]
{after}
sys.exit(ended != 0)
"""


def fork(made: str, child: str, after: str) -> None:
    program = FORK.format(made=made, child=child, after=after)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, ""), done


REFUSED = """
    try:
        {call}
    except {error} as error:
        assert "fork" in str(error) and "make the router here" in str(error), error
    else:
        os._exit(3)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize(
    "child",
    [
        "pass",
        "router.close()",
        REFUSED.format(call="router.record(hit, True)", error="toolroute.RequestError"),
        REFUSED.format(call="router.call(hit)", error="toolroute.RequestError"),
        "assert router.call(read) is None",
        "Router([read], feedback={log}).record(hit, True)",
    ],
)
def test_a_fork_does_not_write_the_log(tmp_path: Path, child: str):
    log = repr(str(tmp_path / "log.db"))
    made = f"Router([read], feedback={log})"
    fork(made, child.replace("{log}", log), "router.record(hit, True); router.close()")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize(
    "child",
    [
        "router.close()",
        REFUSED.format(call='router.call("ask")', error="toolroute.CallError"),
        REFUSED.format(call="import asyncio; asyncio.run(router.acall(hit))", error="toolroute.CallError"),
        'assert "said" in Router.from_servers(router._source[1]).call("ask")',
    ],
)
def test_a_fork_makes_its_own_connections(servers: Path, child: str):
    made = f"Router.from_servers({str(servers)!r})"
    fork(made, child, 'assert "said" in router.call("ask")')


def test_a_router_that_is_dropped_while_calls_end_does_not_wait_for_its_own_threads(servers: Path):
    async def drop() -> None:
        router = Router.from_servers(servers)
        # Their ends wait for Python's lock on the threads that stop the servers.
        calls = [asyncio.create_task(router.acall("ask")) for _ in range(64)]
        await asyncio.sleep(0)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        del calls, router
        gc.collect()

    start = time.monotonic()
    for _ in range(3):
        asyncio.run(drop())
    assert time.monotonic() - start < 20
