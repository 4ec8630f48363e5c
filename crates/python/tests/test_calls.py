"""Calls of functions: the confirmation, and arguments as models write them."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
import decimal
import enum
import functools
import hashlib
import json
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Optional, TypedDict, Union

import pytest
from conftest import ROOT, book_flight

import toolroute
from toolroute import ArgumentError, CallError, ConfirmationNeeded, Router, ToolrouteError


class Level(enum.Enum):
    LOW = "low"
    HIGH = "high"


class Size(enum.Enum):
    SMALL = (1, 2)
    LARGE = (3, 4)


@dataclasses.dataclass
class Guest:
    name: str
    born: Optional[dt.date] = None


@dataclasses.dataclass
class Limit:
    """As a note of annotated_types."""

    ge: int


class Options(TypedDict, total=False):
    since: dt.date


def delete_shift(shift_id: str) -> str:
    """Deletes a shift."""
    return f"deleted {shift_id}"


async def remove_guest(name: str) -> str:
    """Removes a guest."""
    return f"removed {name}"


def plan(
    day: dt.date,
    kind: Literal["early", "late"] = "early",
    level: Level = Level.LOW,
    people: int = 1,
    guests: Sequence[Guest] = (),
    options: Optional[Options] = None,
    price: Optional[decimal.Decimal] = None,
    until: Union[dt.datetime, None] = None,
    size: Size = Size.SMALL,
) -> dict[str, Any]:
    """Plans a shift."""
    return dict(locals())


def test_a_function_that_may_destroy_something_needs_a_confirmation():
    router = Router([delete_shift, remove_guest])
    hit = router.select("delete the shift S-1")[0]
    for tool in (hit, "delete_shift", delete_shift):
        with pytest.raises(ConfirmationNeeded, match="`delete_shift` may .*`confirmed=True`"):
            router.call(tool, {"shift_id": "S-1"})
        assert router.call(tool, {"shift_id": "S-1"}, confirmed=True) == "deleted S-1"
    with pytest.raises(ConfirmationNeeded):
        asyncio.run(router.acall("remove_guest", {"name": "Dana"}))
    assert asyncio.run(router.acall("remove_guest", {"name": "Dana"}, confirmed=True)) == "removed Dana"
    assert Router([delete_shift], yes=True).call("delete_shift", {"shift_id": "S-1"}) == "deleted S-1"
    with pytest.raises(CallError, match="a definition without a function"):
        Router([{"name": "delete_all", "description": "Deletes all"}]).call("delete_all")


def test_unknown_arguments_are_named_where_one_is_missing():
    def convert(amount: float, source: str, target: str) -> float:
        """Converts an amount of money"""
        return amount

    with pytest.raises(ArgumentError, match="`from` is no parameter of convert; expected one of"):
        Router([convert]).call("convert", {"amount": 1, "from": "EUR", "to": "USD"})


def test_a_name_that_no_tool_has_is_a_failed_call_with_the_nearest():
    def delete_user(user_id: int) -> int:
        """Deletes a user."""
        return user_id

    router = Router([delete_user])
    for base in (CallError, toolroute.RequestError, toolroute.UnknownTool):
        with pytest.raises(base, match="did you mean delete_user"):
            router.call("delete_usr", {"user_id": 1})
    # Nobody is asked to agree to a call that cannot be made.
    for arguments in ({}, {"user_id": "x"}):
        with pytest.raises(ArgumentError):
            router.call("delete_user", arguments)
    with pytest.raises(ConfirmationNeeded):
        router.call("delete_user", {"user_id": "7"})
    assert router.call("delete_user", {"user_id": "7"}, confirmed=True) == 7


def test_a_function_says_what_it_destroys():
    def close(account: str) -> str:
        """Closes the year of an account."""
        return account

    class Bank:
        def drop_note(self, account: str) -> str:
            """Drops a note in the box."""
            return account

        drop_note.annotations = {"destructiveHint": False}  # type: ignore[attr-defined]

    router = Router([close, Bank().drop_note], strict=True)
    assert router.call("close", {"account": "a"}) == router.call("drop_note", {"account": "a"}) == "a"
    close.annotations = {"destructiveHint": True}  # type: ignore[attr-defined]
    for tool in (close, functools.partial(close)):
        router = Router([tool], strict=True)
        with pytest.raises(ConfirmationNeeded):
            router.call("close", {"account": "a"})
    mild = functools.partial(close)
    mild.annotations = {"destructiveHint": False}  # type: ignore[attr-defined]
    assert Router([mild], strict=True).call("close", {"account": "a"}) == "a"


def test_the_documentation_lists_the_verbs_that_destroy():
    said = (ROOT / "docs/python.md").read_text().replace("\n", " ")
    source = (ROOT / "crates/catalog/src/effects.rs").read_text()
    verbs = re.search(r'DESTROYS[^"]*"([^"]*)"', source)
    assert verbs and f"({verbs[1].replace(' ', ', ')})" in said


def test_an_overlay_says_what_destroys(tmp_path: Path):
    overlay = tmp_path / "overlay.toml"
    overlay.write_text('[[overlay]]\nmatch = "book_flight"\nhints = { destructive = true }\n')
    with pytest.raises(ConfirmationNeeded):
        Router([book_flight], overlay=[overlay]).call("book_flight", {"city": "Rome"})


def test_arguments_get_the_types_that_the_function_declares():
    router = Router([plan])
    given = {
        "day": "2026-12-24",
        "kind": "Late",
        "level": "high",
        "people": "3",
        "guests": [{"name": "Dana", "born": "1990-02-03"}, {"name": "Tom"}],
        "options": {"since": "2026-01-01"},
        "price": 12.5,
        "until": "2026-12-24T22:00:00Z",
        "size": "LARGE",
    }
    found = router.call("plan", given)
    assert found == {
        "day": dt.date(2026, 12, 24),
        "kind": "late",
        "level": Level.HIGH,
        "people": 3,
        "guests": [Guest("Dana", dt.date(1990, 2, 3)), Guest("Tom")],
        "options": {"since": dt.date(2026, 1, 1)},
        "price": decimal.Decimal("12.5"),
        "until": dt.datetime(2026, 12, 24, 22, tzinfo=dt.timezone.utc),
        "size": Size.LARGE,
    }
    # The function's own defaults are its own objects.
    few = router.call("plan", {"day": "2026-12-24"})
    assert few["guests"] == () and few["level"] is Level.LOW
    own = {"day": dt.date(2026, 1, 1), "level": Level.HIGH, "guests": (Guest("Dana"),)}
    assert router.call("plan", own) == {**few, **own}


def test_arguments_may_be_the_text_of_a_model():
    router = Router([book_flight])
    assert router.call("book_flight", '{"city": "Rome"}') == "booked Rome for today"
    for wrong in ("Rome", "[1]", "null", 3, ["Rome"]):
        with pytest.raises(ArgumentError, match="expected the arguments as a mapping"):
            router.call("book_flight", wrong)  # type: ignore[arg-type]

    def count() -> int:
        """Counts."""
        return 3

    assert Router([count]).call("count", "") == 3


@dataclasses.dataclass
class Price:
    amount: decimal.Decimal
    rate: float = 1.0


def test_numbers_are_of_the_declared_type_and_lose_no_digit():
    def pay(
        amount: Annotated[Optional[decimal.Decimal], Limit(ge=0)] = None,
        rate: float = 1.0,
        prices: Sequence[Price] = (),
        more: Any = None,
        some: Union[int, float, None] = None,
    ) -> Any:
        """Pays an amount."""
        return amount, rate, prices, more, some

    router = Router([pay], yes=True)
    long = "12345678901234567890.123456789"
    assert str(router.call("pay", f'{{"amount": {long}}}')[0]) == long
    for given in (f'{{"Amount": {long}}}', {"amount": long}, f'{{"amount": "{long}"}}'):
        found = router.call("pay", given)[0]
        assert (type(found), str(found)) == (decimal.Decimal, long)
    _, rate, prices, more, some = router.call(
        "pay", f'{{"rate": 2, "prices": [{{"amount": {long}, "rate": 3}}], "more": [0.5], "some": 5.0}}'
    )
    assert repr((rate, prices, more, some)) == f"(2.0, [Price(amount=Decimal('{long}'), rate=3.0)], [0.5], 5.0)"
    for wrong in (f'{{"amount": -{long}}}', {"amount": "-1.5"}, {"amount": "NaN"}, '{"amount": 1e999}', {"rate": "x"}):
        with pytest.raises(ArgumentError, match="`amount`|`rate`"):
            router.call("pay", wrong)


class Sum(NamedTuple):
    amount: decimal.Decimal
    currency: str = "EUR"


def test_the_items_of_a_named_tuple_are_of_the_declared_types():
    def pay(total: Sum) -> Any:
        """Pays a sum."""
        return total

    router = Router([pay], yes=True)
    long = "12345678901234567890.123456789"
    assert router.call("pay", f'{{"total": [{long}, "CHF"]}}') == Sum(decimal.Decimal(long), "CHF")
    assert router.call("pay", {"total": [2]}) == Sum(decimal.Decimal(2))
    schema = router.definition(pay)["function"]["parameters"]["properties"]["total"]
    assert [item["title"] for item in schema["prefixItems"]] == ["amount", "currency"]
    assert (schema["minItems"], schema["maxItems"]) == (1, 2)
    for wrong in ([], ["x"], [1, "EUR", 3]):
        with pytest.raises(ArgumentError, match="`total"):
            router.call("pay", {"total": wrong})


def test_keys_and_durations_are_of_the_declared_type():
    def stock(shelves: dict[int, str], lasts: Optional[dt.timedelta] = None) -> Any:
        """Stocks shelves."""
        return shelves, lasts

    router = Router([stock], strict=True)
    given = {"shelves": {"1": "tea", "20": "rye"}, "lasts": "P1DT1H0.5S"}
    lasts = dt.timedelta(days=1, hours=1, seconds=0.5)
    assert router.call("stock", given) == ({1: "tea", 20: "rye"}, lasts)
    assert router.call("stock", {"shelves": {}, "lasts": lasts}) == ({}, lasts)
    schema = router.definition(stock)["function"]["parameters"]["properties"]["lasts"]
    assert schema["anyOf"][0] == {"type": "string", "format": "duration"}
    for wrong in ({"shelves": {"a": "tea"}}, {"shelves": {}, "lasts": "P1M"}, {"shelves": {}, "lasts": "PT1.2.3S"}):
        with pytest.raises(ArgumentError, match="expected a whole number|expected a duration such as PT1H30M"):
            router.call("stock", wrong)


def test_arguments_of_other_names_are_repaired_too():
    def count(page: str, **more: int) -> Any:
        """Counts."""
        return page, more

    router = Router([count])
    assert router.call("count", {"page": 5, "a": "5", "b": " 6 "}) == ("5", {"a": 5, "b": 6})
    with pytest.raises(ArgumentError, match="`a`"):
        router.call("count", {"page": "x", "a": "five"})

    def tag(**more: str) -> Any:
        """Tags."""
        return more

    assert Router([tag]).call("tag", '{"a": 5, "b": 1.50, "c": "5"}') == {"a": "5", "b": "1.5", "c": "5"}


@pytest.mark.parametrize(
    "given", [{"city": "Rome \ud83d"}, {"\udc00": "Rome"}, '{"city": "\\ud83d"}', {"city": [{"a": "\ud83d"}]}]
)
def test_half_of_a_surrogate_pair_is_an_error(given):
    booked: list[Any] = []

    def book(city: Any = None) -> None:
        """Books."""
        booked.append(city)

    with pytest.raises(ArgumentError, match="expected a text of whole characters, found half"):
        Router([book]).call("book", given)
    assert booked == []
    emoji = '{"city": "\\ud83d\\ude80"}'
    Router([book]).call("book", emoji)
    assert booked == ["\U0001f680"]


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999", "1e9999999999999999999", "18446744073709551616", "[{\"a\": NaN}]"])
def test_a_text_has_no_numbers_that_json_has_not(number):
    paid: list[Any] = []

    def pay(amount: float) -> None:
        """Pays an amount."""
        paid.append(amount)

    with pytest.raises(ArgumentError, match="`amount`: expected finite numbers"):
        Router([pay]).call("pay", f'{{"amount": {number}}}')
    assert paid == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "`day` is needed"),
        ({"day": "soon"}, 'expected a date such as 2026-01-31, found "soon"'),
        ({"day": "2026-01-01", "kind": "xx"}, '"xx" is not one of "early"'),
        ({"day": "2026-01-01", "people": "many"}, "`people`"),
        ({"day": "2026-01-01", "peopel": 2}, "`peopel` is no parameter of plan; did you mean `people`"),
        ({"day": "2026-01-01", "zzz": 2}, "`zzz` is no parameter of plan; expected one of day, kind, level"),
        ({"day": "2026-01-01", "size": "HUGE"}, 'one of "SMALL", "LARGE"'),
        ({"day": "2026-01-01", "guests": [{}]}, "`guests/0`: .name. is a required"),
    ],
)
def test_arguments_that_do_not_fit_are_errors_with_a_cure(given, said):
    with pytest.raises(ArgumentError, match=said) as caught:
        Router([plan]).call("plan", given)
    assert isinstance(caught.value, (TypeError, ValueError, CallError, ToolrouteError))
    assert "plan" in str(caught.value)


def test_functions_of_every_kind_get_their_arguments():
    def any_of(thing, /, *more, note: Annotated[str, "A note"] = "", **rest):
        """Takes all."""
        return thing, note, rest

    class Both:
        def __call__(self, value: Union[int, str], when: Optional[dt.date] = None) -> Any:
            """Takes both."""
            return value, when

    router = Router([any_of, Both()])
    marker = object()
    assert router.call("any_of", {"thing": marker, "note": "n", "x": (1, 2)}) == (marker, "n", {"x": (1, 2)})
    assert router.call("Both", {"value": "5"}) == ("5", None)
    assert router.call("Both", {"value": 5, "when": "2026-01-01"}) == (5, dt.date(2026, 1, 1))


def test_an_error_that_ends_iterations_ends_a_call_too():
    def first(rows: list[int]) -> int:
        """Gives the first row."""
        return next(iter(rows))

    router = Router([first])
    with pytest.raises(RuntimeError, match="`first` raised StopIteration") as raised:
        asyncio.run(asyncio.wait_for(router.acall("first", {"rows": []}), 20))
    assert isinstance(raised.value.__cause__, StopIteration)
    with pytest.raises(StopIteration):
        router.call("first", {"rows": []})


@pytest.mark.filterwarnings("error")
def test_what_a_function_returns_is_awaited():
    async def greet(name: str) -> str:
        """Greets a person."""
        return f"hello {name}"

    @functools.wraps(greet)
    def traced(*args: Any, **kwargs: Any) -> Any:
        return greet(*args, **kwargs)

    router = Router([traced])
    assert asyncio.run(router.acall("greet", {"name": "Dana"})) == "hello Dana"
    with pytest.raises(CallError, match="`greet` returns what must be awaited; .*acall"):
        router.call("greet", {"name": "Dana"})


def logged(log: Path) -> list[tuple[Any, ...]]:
    command = [sys.executable, "-m", "toolroute", "feedback", "export", "--feedback", str(log), "--output", "-"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [json.loads(line) for line in lines]
    return [(row["tool"], row["success"], row["prompt_hash"], row.get("choice", {}).get("rank")) for row in rows]


def test_calls_for_a_known_prompt_are_logged(tmp_path: Path):
    async def later(seconds: float) -> float:
        """Waits."""
        await asyncio.sleep(seconds)
        return seconds

    def fail() -> None:
        """Fails."""
        raise OSError

    prompt, other = "book me a flight to Rome", "wait for it"
    of_prompt, of_other = (hashlib.sha256(text.encode()).hexdigest() for text in (prompt, other))
    with Router([book_flight, later, fail], feedback=tmp_path / "log.db") as router:
        hit = router.select(prompt)[0]
        router.call(hit, {"city": "Rome"})
        router.call(hit, {"city": "Rome"}, prompt=prompt)
        router.call(hit, {"city": "Rome"}, prompt=other)
        router.call(book_flight, {"city": "Rome"}, prompt=prompt)
        asyncio.run(router.acall("later", {"seconds": 0}, prompt=other))
        # Without a prompt there is nothing to learn.
        router.call("book_flight", {"city": "Rome"})
        with pytest.raises(OSError):
            router.call("fail", prompt=other)
        with pytest.raises(ToolrouteError, match="the prompt is empty"):
            router.call("fail", prompt=" ")
    assert Counter(logged(tmp_path / "log.db")) == {
        ("book_flight", True, of_prompt, 1): 2,
        ("book_flight", True, of_other, None): 1,
        ("book_flight", True, of_prompt, None): 1,
        ("later", True, of_other, None): 1,
        ("fail", False, of_other, None): 1,
    }


def test_a_call_that_was_cut_off_is_no_success(tmp_path: Path):
    is_over = threading.Event()

    def wait() -> None:
        """Waits."""
        is_over.wait(20)

    async def wait_too() -> None:
        """Waits too."""
        await asyncio.sleep(20)

    async def cut_off() -> None:
        for tool in (wait, wait_too):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(router.acall(tool, {}, prompt="wait for it"), 0.2)
            is_over.set()

    with Router([wait, wait_too], feedback=tmp_path / "log.db") as router:
        asyncio.run(cut_off())
        router.call(wait, {}, prompt="wait for it")
    assert [(tool, ok) for tool, ok, *_ in logged(tmp_path / "log.db")] == [("wait", True)]


def test_a_session_is_refused_where_none_is_kept():
    router, said = Router([book_flight]), "only calls of a router of servers .* belong to a session"
    with pytest.raises(toolroute.RequestError, match=said):
        router.call("book_flight", {"city": "Rome"}, session="dana")
    with pytest.raises(toolroute.RequestError, match=said):
        asyncio.run(router.acall("book_flight", {"city": "Rome"}, session="dana"))


def test_arguments_of_a_servers_tool_are_errors_of_the_same_kind(tmp_path: Path):
    server = {"command": sys.executable, "args": [str(ROOT / "tests/servers/notes.py"), str(tmp_path)]}
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"notes": server}}))
    with Router.from_servers(file) as router:
        with pytest.raises(ArgumentError, match="`title`"):
            router.call("notes__delete_note", "{}", confirmed=True)
        assert isinstance(router.call("notes__count_notes", "{}")["count"], int)


def test_an_error_of_a_server_has_its_own_words(tmp_path: Path):
    server = {"command": sys.executable, "args": [str(ROOT / "tests/servers/faulty.py"), str(tmp_path)]}
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"faulty": server}}))
    with Router.from_servers(file) as router:
        with pytest.raises(toolroute.CallError) as raised:
            router.call("faulty__error", {"query": "x"})
    message, own = str(raised.value).split("\n")
    assert message.startswith("No answer: faulty__error could not do it") and "RAW-" not in message
    assert " log" not in message, "Python keeps none"
    assert own == "faulty__error said: RAW-error: ECONNREFUSED at line 7, token=[secret]"


def test_a_question_that_nobody_is_asked_is_a_warning(tmp_path: Path):
    server = {"command": sys.executable, "args": [str(ROOT / "tests/servers/asking.py"), str(tmp_path / "asked")]}
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"asking": server}}))
    with Router.from_servers(file) as router:
        with pytest.warns(UserWarning, match="nobody can be asked here"):
            router.call("asking__order_pizza", {})


def test_errors_are_those_of_python_too():
    assert issubclass(toolroute.RequestError, ValueError)
    assert issubclass(ArgumentError, TypeError) and issubclass(ArgumentError, ValueError)
    assert repr(ArgumentError) == "<class 'toolroute.ArgumentError'>"


def test_numbers_that_are_not_finite_are_no_whole_numbers() -> None:
    def count(n: int) -> int:
        "Counts to a number"
        return n

    router = Router([count])
    for value in ("1e999", "Infinity", "-Infinity"):
        with pytest.raises(ArgumentError):
            router.call("count", {"n": value})


def test_keys_that_become_equal_are_refused() -> None:
    def name_all(by_id: dict[int, str]) -> dict[int, str]:
        "Names things by their numbers"
        return by_id

    router = Router([name_all])
    assert router.call("name_all", {"by_id": {"1": "a"}}) == {1: "a"}
    with pytest.raises(ArgumentError, match="names that differ"):
        router.call("name_all", {"by_id": {"1": "a", "1.0": "b"}})


def test_call_closes_nothing_but_a_coroutine() -> None:
    class Client:
        is_closed = False

        def __await__(self) -> Iterator[None]:
            yield

        def close(self) -> None:
            self.is_closed = True

    client = Client()

    def connect() -> Client:
        "Connects to the server"
        return client

    with pytest.raises(CallError):
        Router([connect]).call("connect")
    assert not client.is_closed
