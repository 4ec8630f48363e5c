"""Odd inputs, which users give all the same."""

from __future__ import annotations

import asyncio
import json
import types
from typing import Annotated

import pytest

import toolroute
from toolroute import CatalogError, RequestError, Router, ToolrouteError

MAIL = {"name": "send_email", "description": "Sends an email"}
FILE = {"name": "read_file", "description": "Reads a file"}


class Desk:
    def tidy(self, room: str) -> str:
        """Tidies the desk of a room"""
        return f"tidied {room}"


class Booker:
    def __call__(self, city: str) -> str:
        """Books a flight to a city"""
        return f"booked {city}"


@pytest.mark.filterwarnings("ignore")
def test_what_cannot_be_read_is_left_out_and_named():
    def wait(seconds: float = float("inf")) -> None:
        "Waits a while"

    def note(text: Annotated[str, {"k": 1}]) -> None:
        "Writes a note"

    router = Router([wait, note, None, lambda x: x, {"foo": 1}, types.MappingProxyType(MAIL)])
    assert [router.select(prompt)[0].id for prompt in ("wait a while", "write a note", "send an email")] == [
        "wait",
        "note",
        "send_email",
    ]
    assert len(router) == 3
    assert [problem.split(":")[0] for problem in router.problems] == ["tools[2]", "tools[3]", "tools[4]"]
    with pytest.raises(CatalogError, match="list of tools"):
        Router("tools.json")


def test_bound_methods_and_objects_that_can_be_called():
    desk, booker = Desk(), Booker()
    router = Router([desk.tidy, booker])
    assert router.call(desk.tidy, {"room": "B12"}) == "tidied B12"
    assert router.select("fly to Lisbon", candidates=[booker])[0].tool is booker
    assert router.learn([("make my place neat", desk.tidy)])["tools_learned"] == 1


def test_a_document_gives_all_of_its_tools():
    router = Router([{"tools": [FILE, MAIL]}])
    assert len(router) == 2
    assert router.select("mail this to Dana")[0].id == "send_email"
    kept = router.filter("mail this to Dana", k=1)
    assert [tool["name"] for tool in kept] == ["send_email"]


@pytest.mark.filterwarnings("ignore")
def test_schemas_that_are_none_and_repeated_ids_are_problems():
    def given(**schema):
        return {"name": "x", "description": "Counts", "inputSchema": {"type": "object", **schema}}

    [problem] = Router([given(type="objekt")]).problems
    assert "a valid JSON Schema" in problem
    [problem] = Router([given(), {"name": "y", "description": "Lists"}, given(title="another")]).problems
    assert problem.startswith("tools[0], tools[2]: ")


def test_the_warning_of_a_folder_names_the_line_of_the_caller(tmp_path):
    with pytest.warns(UserWarning, match="no usable tool") as told:
        Router.from_path(tmp_path)
    assert told[0].filename == __file__


def test_filter_leaves_out_the_copies_of_what_it_leaves_out():
    kept = Router([FILE, MAIL, dict(FILE)]).filter("mail this to Dana", k=1)
    assert kept == [MAIL]


class Piece:
    """As LangChain's messages that arrive piece by piece."""

    def __init__(self, type, content, tool_calls=()):
        self.type, self.content, self.tool_calls = type, content, list(tool_calls)


def test_messages_of_every_kind_are_read():
    router = Router([FILE, MAIL, {"name": "play_music", "description": "Plays a song"}])
    calls = [{"name": "read_file", "args": {}, "id": "1"}]
    used = router.filter(
        [
            Piece("HumanMessageChunk", "open a.txt"),
            Piece("AIMessageChunk", "", calls),
            Piece("HumanMessageChunk", "now mail it to Dana"),
        ],
        k=1,
    )
    assert used == [FILE, MAIL]
    assert router.filter(Piece("human", "mail it to Dana"), k=1) == [MAIL]
    assert router.filter({"input": [Piece("human", "mail it to Dana")]}, k=1) == [MAIL]
    for name in ("prompt", "query"):
        assert router.filter({name: "mail it to Dana"}, k=1) == [MAIL]
        assert router.filter({"messages": ["open a.txt"], name: "mail it to Dana"}, k=1) == [MAIL]
    same = {"query": "mail it to Dana", "prompt": "mail it to Dana"}
    assert router.filter(same, k=1) == [MAIL]
    other = {**same, "query": "open a.txt"}
    for wrong in ({"message": []}, {"prompt": {"id": "template"}}, other, [{"text": "x"}], 3):
        with pytest.raises(RequestError, match="expected"):
            router.filter(wrong, k=1)


class Text:
    """As a `TextContent` of MCP."""

    type = "text"

    def __init__(self, text):
        self.text = text

    def model_dump(self, **_):
        return {"type": "text", "text": self.text}


def test_content_that_is_one_part_is_read():
    router = Router([FILE, MAIL, {"name": "play_music", "description": "Plays a song"}])
    part = {"type": "text", "text": "mail it to Dana"}
    said = Text("mail it to Dana")
    for content in (part, [part], said, [said], {"text": "mail it to Dana"}):
        assert router.filter([{"role": "user", "content": content}], k=1) == [MAIL]
        assert router.filter([("user", content)], k=1) == [MAIL]
    for messages in ([part], [said], [types.SimpleNamespace(role="user", content=said)]):
        assert router.filter(messages, k=1) == [MAIL]
    asked = {"role": "user", "content": "mail it to Dana"}
    called = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "read_file"}}]}
    assert router.filter([called, {"role": "tool", "content": {"rows": 3}}, asked], k=1) == [FILE, MAIL]
    for content in (5, None, True, [5], [None], b"mail", object()):
        with pytest.raises(RequestError, match="expected the content of a message as a text or a list of parts"):
            router.filter([asked, {"role": "user", "content": content}], k=1)


def test_tools_that_only_await_are_awaited():
    class Sender:
        async def __call__(self, to: str, /) -> str:
            """Sends an email"""
            return f"sent to {to}"

    router = Router([Sender()])
    assert asyncio.run(router.acall("Sender", {"to": "Dana"})) == "sent to Dana"


def test_one_text_is_not_taken_for_many():
    router = Router([MAIL])
    for call in (
        lambda: router.select_many("mail"),
        lambda: toolroute.rerank("q", "ab"),
        lambda: toolroute.embed("a"),
    ):
        with pytest.raises(TypeError, match="found one"):
            call()
    assert len(toolroute.rerank("mail", (text for text in ["a", "b"]))) == 2
    with pytest.raises(RequestError):
        toolroute.rerank("q", ["a", "b"], k=-1)
    for name in ("query", "prompt"):
        assert router.learn([{name: "write to Dana", "tools": ["send_email"]}])["tools_learned"] == 1
    with pytest.raises(RequestError, match="both with different texts"):
        router.learn([{"query": "a", "prompt": "b", "tools": ["send_email"]}])
    with pytest.raises(RequestError, match="empty"):
        router.learn([("", "send_email")])


@pytest.mark.parametrize("options", [{"near_best": float("nan")}, {"max_cost": "cheap"}, {"k": 0}])
def test_an_error_names_its_option(options):
    [name] = options
    with pytest.raises(RequestError, match=name) as caught:
        Router([MAIL]).select("mail", **options)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"exclude": None}, "exclude=None: expected a list of patterns of ids, found None"),
        ({"exclude": "x"}, r"exclude='x': expected a list of patterns of ids, found a text; write exclude=\['x'\]"),
        ({"enable": ["a", 3]}, "enable=.*: expected a list of patterns of ids, found a list of others"),
        ({"files": "a.txt"}, r"expected a list of files.*write files=\[{'path': 'a.txt'"),
        ({"conversation": "hi"}, r"write conversation=\[{'role': 'user', 'text': 'hi'}\]"),
        ({"context": "hi"}, "context='hi': expected a mapping, found a text"),
        ({"candidates": 3}, "candidates=3: expected ids or tools"),
        ({"near_best": "a"}, "near_best='a': expected a number from 0 to 1, found a text"),
        ({"cost_aware": 1}, "cost_aware=1: expected True or False"),
        ({"max_per_server": 1.5}, "max_per_server=1.5: expected a whole number"),
        ({"max_cost": 3}, "max_cost=3: expected a text"),
        ({"files": ["a.txt"]}, r"found a list of others; write files=\[{'path': 'a.txt'"),
        ({"session": 5}, r"session=5: expected a text, .*write session=str\("),
        ({"limit": 3}, r"select\(\) has no option 'limit'; did you mean `k`\? expected one of .*, k, .*session"),
        ({"max_costs": "low"}, "did you mean `max_cost`"),
        ({"min_confidence": 0.3}, r"Router\(…, min_confidence=…\) takes it for all selections"),
    ],
)
def test_an_option_of_another_kind_is_a_type_error_with_a_cure(options, said):
    with pytest.raises(TypeError, match=said):
        Router([MAIL]).select("mail", **options)


def test_options_of_a_router_are_checked_when_it_is_made():
    with pytest.raises(TypeError, match="min_confidence='a': expected a number from 0 to 1, found a text"):
        Router([MAIL], min_confidence="a")
    with pytest.raises(RequestError, match="min_confidence=3: expected 0 to 1"):
        Router([MAIL], min_confidence=3)
    with pytest.raises(TypeError, match="did you mean `usage`"):
        Router([MAIL], usages="file")
    for number in (-1, 0):
        with pytest.raises(RequestError, match=f"max_per_server={number}: expected a whole number from 1"):
            Router([MAIL], max_per_server=number)
        with pytest.raises(RequestError, match=f"budget_tokens={number}: expected a whole number from 1"):
            Router([MAIL]).select("mail", budget_tokens=number)
    with pytest.raises(TypeError, match="overlay=5: expected a path or a list of paths"):
        Router([MAIL], overlay=5)
    with pytest.raises(TypeError, match="path=5: expected a path or a list of paths"):
        Router.from_path(5)
    for wrong in ({"session": "a"}, {"limit": 3}):
        with pytest.raises(TypeError, match=r"select_many\(\) has no option"):
            Router([MAIL]).select_many(["mail"], **wrong)


@pytest.mark.parametrize(
    ("past", "said"),
    [
        (None, r"found None; write \[\(prompt, tool\)\]"),
        ("ship it", r"write \[\(prompt, tool\)\]"),
        (("ship it", "send_email"), r"write \[\('ship it', 'send_email'\)\]"),
    ],
)
def test_what_is_learned_is_a_list(past, said):
    with pytest.raises(RequestError, match="expected a list of pairs of a prompt and its tools, .*" + said):
        Router([MAIL]).learn(past)
    with pytest.raises(TypeError, match="expected a list of prompts, found None"):
        Router([MAIL]).select_many(None)


def test_an_outcome_of_another_kind_is_an_error_with_a_cure(tmp_path):
    router = Router([MAIL], feedback=tmp_path / "log.db")
    hit = router.select("write a mail")[0]
    with pytest.raises(TypeError, match="ok='yes': expected True or False, found a text"):
        router.record(hit, ok="yes")
    for time, said in [("x", "found a text"), (1.5, r"write duration_ms=round\(")]:
        with pytest.raises(TypeError, match=f"expected whole milliseconds, .*{said}"):
            router.record(hit, ok=True, duration_ms=time)
    with pytest.raises(RequestError, match="duration_ms=-1: expected milliseconds from 0"):
        router.record(hit, ok=True, duration_ms=-1)


def test_a_role_that_is_mistyped_is_an_error():
    router = Router([MAIL, FILE])
    for wrong in ({"role": "usr", "content": "mail Dana"}, ("User", "mail Dana")):
        with pytest.raises(RequestError, match="did you mean 'user'"):
            router.filter([wrong], k=1)
    assert router.filter([{"role": "human", "content": "mail this to Dana"}], k=1) == [MAIL]


def test_half_a_surrogate_pair_is_read():
    assert Router([MAIL]).select("mail \ud83d Dana")[0].id == "send_email"


def test_save_replaces_only_its_own_files(tmp_path):
    router = Router([MAIL])
    router.learn([("write to Dana", "send_email")])
    notes = tmp_path / "notes.txt"
    notes.write_text("important")
    with pytest.raises(ToolrouteError):
        router.save(notes)
    assert notes.read_text() == "important"
    router.save(tmp_path / "usage")
    router.save(tmp_path / "usage")


@pytest.mark.filterwarnings("ignore")
def test_what_is_not_kept_and_what_is_empty_is_a_problem(tmp_path):
    (tmp_path / "tools").mkdir()
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([MAIL]))
    assert "not kept" in Router.from_path(tools, index=tools / "index").problems[0]
    assert "no usable tool" in Router.from_path(tmp_path / "tools").problems[0]
