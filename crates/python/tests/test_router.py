"""The router, as users hold it."""

from __future__ import annotations

import asyncio
import copy
import os
import pickle
import re
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest
from conftest import ANTHROPIC, MCP, MIXED, OPENAI, OWN, ROOT, book_flight, read_file

import toolroute
from toolroute import Router


@pytest.fixture(scope="module")
def router() -> Router:
    return Router(MIXED)


@pytest.mark.parametrize(
    ("prompt", "tool"),
    [
        ("book me a flight to Lisbon", book_flight),
        ("what stands in the file notes.txt?", read_file),
        ("write a mail to Dana", OPENAI),
        ("will it rain in Oslo tomorrow?", ANTHROPIC),
        ("look it up on the internet", MCP),
        ("commit what I changed", OWN),
    ],
)
def test_the_very_tool_is_found(router, prompt, tool):
    assert router.select(prompt)[0].tool is tool


def test_a_hit_says_why(router):
    selection = router.select("book me a flight to Lisbon", k=2)
    assert len(selection) == 2
    assert selection[0].id == "book_flight"
    assert 0.3 < selection[0].score < 1.2
    assert "words: book, flight" in selection[0].why
    assert selection.tools[0] is book_flight
    assert selection.strategy == "hybrid"
    assert selection.confidence > 0.9


def test_nothing_fits(router):
    selection = router.select("who won the cup in 1966?")
    assert selection.abstained and not selection
    assert selection.reason == "no tool fits the prompt"
    assert selection.excluded[0].why.startswith("confidence")
    assert "no tool fits" in repr(selection) and "no tool fits" in selection._repr_html_()


def test_policies_and_contexts_are_named_as_on_the_command_line():
    tools = [
        {"name": "read", "description": "Reads a page", "cost": "low", "hints": {"read_only": True}},
        {"name": "write", "description": "Writes a page", "cost": "high"},
    ]
    router = Router(tools)
    cheap = router.select("write a page", max_cost="medium")
    assert [hit.id for hit in cheap] == ["read"]
    assert cheap.excluded[0].why == "cost high is above medium"
    assert [hit.id for hit in router.select("write a page", exclude=["wri*"])] == ["read"]
    assert [hit.id for hit in router.select("write a page", enable=["wri*"])] == ["write"]
    assert [hit.id for hit in router.select("a page", candidates=[tools[1]])] == ["write"]
    assert [hit.id for hit in Router(tools, max_cost="medium").select("write a page")] == ["read"]
    few = Router(tools, profiles={"reading": ["read"]})
    assert [hit.id for hit in few.select("write a page", profile="reading")] == ["read"]


def test_a_session_reads_prompts_with_those_before(router):
    router.select("what is the weather in Oslo?", session="a")
    again = router.select("and in Berlin?", session="a")
    assert again.session == "a"
    assert again.read_as is not None and again[0].tool is ANTHROPIC


def test_the_latest_sessions_are_kept():
    router = Router(MIXED, model="none")
    for _ in range(2):
        router.select("what is the weather in Oslo?", session="a")
        assert router.select("and in Berlin?", session="a").read_as is not None
        for number in range(1_024):
            router.select("read a file", session=f"other {number}")
        assert router.select("and in Berlin?", session="a").read_as is None
    with pytest.raises(toolroute.RequestError, match="expected the name of a session"):
        router.select("read a file", session="")


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"k": 0}, toolroute.RequestError, "from 1"),
        ({"max_cost": "huge"}, toolroute.RequestError, "`tiny`, `low`, `medium`, `high`"),
        ({"near_best": 2.0}, toolroute.RequestError, "expected 0"),
        ({"max_price": 1}, TypeError, "max_cost"),
        ({"candidates": ["nosuch"]}, toolroute.RequestError, "nosuch"),
        ({"profile": "nosuch"}, toolroute.RequestError, "unknown profile"),
    ],
)
def test_wrong_options_are_errors_with_a_cure(router, options, error, said):
    with pytest.raises(error, match=said):
        router.select("read a file", **options)


def test_the_errors_have_one_base(router):
    with pytest.raises(toolroute.ToolrouteError, match="the prompt is empty, or has no letter and no digit; expected"):
        router.select(" ")
    with pytest.raises(toolroute.ModelError, match="toolroute model pull"):
        Router(MIXED, model="all-MiniLM-L6-v2")
    with pytest.raises(toolroute.CatalogError, match="expected a tool, found 3"):
        Router([3], strict=True)


def test_a_tool_that_is_left_out_is_a_warning_or_an_error():
    twice = [{"name": "add", "description": "Adds"}, {"name": "add", "description": "Sums"}]
    with pytest.warns(UserWarning, match="a unique id"):
        router = Router(twice)
    assert len(router) == 1 and router.select("add").tools == [twice[0]]
    assert "the first was kept" in router.problems[0]
    with pytest.raises(toolroute.CatalogError, match="the first was kept"):
        Router(twice, strict=True)
    assert len(Router([read_file, read_file, twice[0], dict(twice[0])], strict=True)) == 2


def test_many_prompts_are_answered_as_one_by_one(router):
    prompts = [f"book flight number {number}" for number in range(300)]
    answers = router.select_many(prompts, k=3)
    assert [answer.prompt for answer in answers] == prompts
    assert answers[7].to_json() == router.select(prompts[7], k=3).to_json()
    with pytest.raises(toolroute.RequestError, match="prompt 1: the prompt is empty"):
        router.select_many(["read a file", ""])


def test_other_threads_run_meanwhile(router):
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(None)
            time.sleep(0.0005)

    thread = threading.Thread(target=tick)
    thread.start()
    router.select_many([f"book flight {number}" for number in range(2_000)])
    stop.set()
    thread.join()
    assert len(ticks) > 10


def test_selections_in_an_event_loop(router):
    async def ask():
        return await asyncio.gather(*(router.aselect(f"read file {n}", k=1) for n in range(8)))

    assert {answer[0].id for answer in asyncio.run(ask())} == {"read_file"}


def test_filter_keeps_formats_order_and_what_was_used(router):
    asked = [{"role": "user", "content": "write a mail to Dana"}]
    assert router.filter(asked, k=1) == [OPENAI]
    called = {"role": "assistant", "tool_calls": [{"function": {"name": "read_file"}}]}
    assert router.filter([called, *asked], k=1) == [read_file, OPENAI]
    assert router.filter("what is the weather?", k=1) == [ANTHROPIC]
    assert router.filter([], k=1) == MIXED
    assert router.filter(asked, k=50) == MIXED


def test_filter_keeps_all_for_a_prompt_that_it_cannot_read(router):
    assert router.filter("Per favore spedisci un pacco a Dana domani", k=1) == router.tools
    assert len(router.filter([{"role": "user", "content": "패키지를 다나에게 보내세요"}], k=1, exclude=["read*"])) == len(router) - 1


def test_filter_in_an_event_loop(router):
    assert asyncio.run(router.afilter("write a mail to Dana", k=1)) == [OPENAI]
    assert OPENAI not in asyncio.run(router.afilter("write a mail to Dana", k=1, exclude=["send_*"]))


def test_filter_leaves_out_what_its_options_do():
    read = {"name": "read", "description": "Reads a page", "cost": "low", "hints": {"read_only": True}}
    write = {"name": "write", "description": "Writes a page", "cost": "high"}
    provider = {"type": "web_search_20250305", "name": "web_search"}
    router = Router([read, write, provider])
    used = [{"role": "assistant", "tool_calls": [{"function": {"name": "write"}}]}, "write a page"]
    for options in (
        {"max_cost": "medium"},
        {"exclude": ["wri*"]},
        {"enable": ["read"]},
        {"candidates": [read]},
        {"stage": "planning"},
    ):
        for messages in (used, "write a page", [], "👍"):
            for k in (1, 8):
                assert router.filter(messages, k, **options) == [read, provider], (options, messages, k)
    assert router.filter("write a page", k=1, undeclared="exclude") == [write, provider]
    assert Router([read, write], max_cost="low").filter("write a page", k=1, max_cost="high") == [write]
    with pytest.raises(toolroute.RequestError, match="nosuch"):
        router.filter("write a page", candidates=["nosuch"])
    with pytest.raises(TypeError, match=r"filter\(\) has no option 'excluded'; did you mean `exclude`"):
        router.filter("write a page", excluded=["read"])
    with pytest.raises(TypeError, match="candidates.*expected a list"):
        router.select("write a page", candidates="read")
    with pytest.raises(toolroute.RequestError, match="max_cost='cheap'"):
        router.filter("write a page", max_cost="cheap")


def test_a_copy_shares_the_engine():
    router = Router(MIXED)
    other = copy.copy(router)
    other.learn([("ship it", OWN), ("ship this", OWN)])
    assert other.tools == router.tools and router.select("ship it", k=1)[0].tool is OWN
    assert copy.deepcopy(router).select("ship it", k=1)[0].id == "git__commit"


def test_filter_keeps_what_the_provider_runs():
    provider = {"type": "web_search_20250305", "name": "web_search"}
    cached = {**MCP, "cache_control": {"type": "ephemeral"}}
    router = Router([provider, cached, OPENAI, ANTHROPIC])
    assert router.filter("mail to Dana", k=1) == [provider, cached, OPENAI]


def test_what_was_learned_is_no_reason_to_doubt_a_tools_own_words():
    router = Router([
        {"name": "create_ticket", "description": "Opens a bug ticket in the tracker."},
        {"name": "send_mail", "description": "Sends an e-mail"},
        {"name": "get_weather", "description": "Weather of a city"},
    ])
    before = router.select("open a ticket", k=1)
    router.learn([("raise a stink", "create_ticket"), ("raise a stink about x", "create_ticket")])
    after = router.select("open a ticket", k=1)
    assert (before.fit, after.fit) == ("fits", "fits") and after.confidence >= before.confidence - 0.01


def test_what_was_learned_moves_tools_and_travels(tmp_path):
    router = Router(MIXED)
    assert router.select("ship it", k=1, min_reliability="low")[:1] != [OWN]
    with pytest.warns(UserWarning, match="expected tools of this router, found 'nosuch'"):
        report = router.learn([("ship it", OWN), ("ship this", ["git:commit"]), ("x", "nosuch")])
    assert report["tools_learned"] == 1 and report["unknown_ids"] == ["nosuch"]
    assert router.select("ship it", k=1)[0].tool is OWN
    router.save(tmp_path / "usage")
    assert Router(MIXED, usage=tmp_path / "usage").select("ship it", k=1)[0].tool is OWN
    restored = pickle.loads(pickle.dumps(Router(MIXED[2:], usage=tmp_path / "usage")))
    assert restored.select("ship it", k=1)[0].id == "git__commit"
    fresh = Router(MIXED)
    for _ in range(2):
        with pytest.raises(toolroute.RequestError, match="nothing was learned"):
            fresh.save(tmp_path / "none")
        with pytest.warns(UserWarning, match="nosuch"):
            assert fresh.learn([("ship it", "nosuch")])["tools_learned"] == 0


def test_paths_that_cannot_be_written_are_errors_with_a_cure(tmp_path):
    with pytest.raises(toolroute.ToolrouteError, match="index: expected a file, found the folder .*name a file"):
        Router(MIXED, index=tmp_path)
    router = Router(MIXED)
    router.learn([("ship it", OWN), ("ship this", OWN)])
    with pytest.raises(toolroute.ToolrouteError, match="there is no folder .*none; make it"):
        router.save(tmp_path / "none" / "usage")


def test_routers_and_answers_pickle():
    router = Router(MIXED, max_per_server=1)
    selection = router.select("book me a flight to Lisbon", k=2)
    restored = pickle.loads(pickle.dumps(selection))
    assert [hit.tool for hit in restored] == selection.tools and restored.to_json() == selection.to_json()
    other = pickle.loads(pickle.dumps(router))
    assert other.select("book me a flight to Lisbon", k=2).to_json() == selection.to_json()
    assert pickle.loads(pickle.dumps(selection[0])).id == "book_flight"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_ranks(router):
    prompts = [f"read file {number}" for number in range(600)]
    router.select_many(prompts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        answers = router.select_many(prompts)
        made = Router(MIXED).select("book a flight", k=1)
        os._exit(0 if len(answers) == 600 and made.tools == [book_flight] else 1)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            assert status == 0
            return
        time.sleep(0.05)
    os.kill(child, 9)
    pytest.fail("the forked process still ranks after a minute")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize(
    "first_call",
    ["toolroute.embed(['x'])", "toolroute.rerank('x', ['y'])", "Router([TOOL], precision='f32').select('read')"],
)
def test_a_forked_process_loads_what_its_parent_had_not(first_call):
    program = f"""
import os, signal, sys, warnings, toolroute
from toolroute import Router
warnings.simplefilter("ignore")
TOOL = {{"name": "a", "description": "Reads a file"}}
Router([TOOL])
child = os.fork()
if child == 0:
    signal.alarm(60)
    {first_call}
    os._exit(0)
sys.exit(os.waitpid(child, 0)[1] != 0)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=90)


def test_calls(router):
    hit = router.select("book me a flight to Lisbon")[0]
    assert router.call(hit, {"city": "Lisbon"}) == "booked Lisbon for today"
    assert router.call(read_file, {"path": "a"}) == "text of a"
    with pytest.raises(toolroute.CallError, match="a definition without a function"):
        router.call(OPENAI)

    async def later(seconds: int) -> str:
        """Waits."""
        return f"waited {seconds}"

    waiting = Router([later])
    assert asyncio.run(waiting.acall("later", {"seconds": 1})) == "waited 1"
    with pytest.raises(toolroute.CallError, match="acall"):
        waiting.call("later", {"seconds": 1})


def test_names_that_clients_refuse_are_replaced():
    long = "GET /films/{film_id}/" + "x" * 80
    router = Router([{"name": name, "server": "films", "description": "Gets a film"} for name in (long, "a.b", "ab")])
    names = [router.definition(tool, "anthropic")["name"] for tool in router.tools]
    assert all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", name) for name in names), names
    assert len(set(names)) == 3 and names[2] == "films__ab"
    with pytest.raises(toolroute.CallError, match=r"films__a\.b.* is a definition without a function"):
        router.call(names[1], {})


def test_definitions_for_clients(router):
    schema = router.definition(book_flight)["function"]["parameters"]
    assert schema["properties"]["city"] == {"type": "string", "description": "Where the journey goes."}
    assert schema["required"] == ["city"]
    hit = router.select("book me a flight to Lisbon")[0]
    assert router.definition(hit, "anthropic")["input_schema"] == schema
    assert router.definition("book_flight", "mcp")["inputSchema"] == schema
    flat = router.definition(ANTHROPIC, "responses")
    assert (flat["type"], flat["name"], flat["parameters"]) == ("function", "get_weather", ANTHROPIC["input_schema"])
    assert router.definition(OWN)["function"]["name"] == "git__commit"
    for _ in range(2):
        empty = router.definition(OWN)["function"]["parameters"]
        assert empty == {"type": "object", "properties": {}}
        # It is the caller's own.
        empty["properties"]["more"] = {}
    for tool, client, said in [("nosuch", "mcp", "a tool of this router"), (OWN, "other", "openai, responses")]:
        with pytest.raises(toolroute.RequestError, match=said):
            router.definition(tool, client)


def test_a_router_is_a_collection_of_its_tools(router):
    assert list(router) == router.tools and len(Router(router)) == len(router)
    hit = router.select("book me a flight to Lisbon")[0]
    for known in (book_flight, OPENAI, "book_flight", hit):
        assert known in router
    for unknown in (print, "nosuch", {"name": "other"}, 3):
        assert unknown not in router


def test_equal_hits_are_equal(router):
    first, second = (router.select("book me a flight to Lisbon") for _ in range(2))
    assert first[0] == second[0] and hash(first[0]) == hash(second[0])
    assert first[0] == pickle.loads(pickle.dumps(first[0])) and first[0] in second
    assert first[0] != first[1] and first[0] != "book_flight"
    assert first[0] != toolroute.Hit(read_file, first[0].id, first[0].score, first[0].why)


def test_outcomes_are_logged(tmp_path):
    router = Router(MIXED, feedback=tmp_path / "log.db")
    hit = router.select("book me a flight to Lisbon")[0]
    router.record(hit, ok=True, duration_ms=12)
    router.call(hit, {"city": "Rome"})
    router.close()
    listed = toolroute_json(["feedback", "stats", "--feedback", str(tmp_path / "log.db"), "--json"])
    assert "book_flight" in listed
    with pytest.raises(toolroute.RequestError, match=r"no log of executions.*feedback=FILE"):
        Router(MIXED).record(hit, ok=True)


def toolroute_json(arguments: list[str]) -> str:
    command = [sys.executable, "-m", "toolroute", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_a_folder_of_catalogs():
    router = Router.from_path(ROOT / "examples" / "catalog")
    hit = router.select("go back to the version before", k=1)[0]
    assert hit.id == "release__rollback" and hit.tool["server"] == "release"
    assert len(router.tools) == len(router)
    assert pickle.loads(pickle.dumps(router)).select("go back to the version before", k=1)[0].id == hit.id
    kept = router.filter("go back to the version before", k=1)
    assert [tool["id"] for tool in kept] == ["release__rollback"]
    with pytest.raises(toolroute.CatalogError, match="nosuch"):
        Router.from_path("nosuch")


def test_a_path_without_a_tool(tmp_path):
    with pytest.warns(UserWarning, match="no usable tool"):
        assert len(Router.from_path(tmp_path)) == 0
    (tmp_path / "no.json").write_text('{"foo": 1}')
    with pytest.raises(toolroute.CatalogError, match="not understood"):
        Router.from_path(tmp_path / "no.json")


def test_an_overlay_applies_to_given_tools(tmp_path):
    overlay = tmp_path / "overlay.toml"
    overlay.write_text('[[overlay]]\nmatch = "send_*"\ncost = "high"\n')
    router = Router([OPENAI, ANTHROPIC], overlay=[overlay])
    selection = router.select("write a mail to Dana", k=1, max_cost="medium")
    assert OPENAI not in selection.tools
    assert router.select("write a mail to Dana", k=1).tools == [OPENAI]


def test_servers(tmp_path: Path):
    import json

    server = {"command": sys.executable, "args": [str(ROOT / "tests/servers/notes.py"), str(tmp_path)]}
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"notes": server, "gone": {"command": "/nosuch"}}}))
    with pytest.warns(UserWarning, match="`gone`"), Router.from_servers(file) as router:
        hit = router.select("how many notes are there?", session="a")[0]
        assert hit.id == "notes__count_notes" and hit.tool["name"] == "count_notes"
        assert isinstance(router.call(hit, session="a")["count"], int)
        assert isinstance(router.call(hit.tool)["count"], int)
        with pytest.raises(toolroute.ConfirmationNeeded, match="`confirmed=True`"):
            router.call("notes__delete_note", {"title": "a"})
        with pytest.raises(toolroute.CallError, match="nosuch"):
            router.call("nosuch")
    with pytest.raises(toolroute.CallError, match="the router is closed"):
        router.call(hit)


def test_shown_as_a_table_with_bars(router):
    shown = repr(router.select("book me a flight to Lisbon", k=2)).splitlines()
    assert shown[0] == "2 tools for 'book me a flight to Lisbon'"
    assert shown[1].startswith("book_flight") and "████████████████" in shown[1]
    html = router.select("book <b>", k=1, candidates=["book_flight"])._repr_html_()
    assert "<table>" in html and "<b>" not in html
    assert (repr(router), repr(Router([OPENAI]))) == ("Router(6 tools)", "Router(1 tool)")
