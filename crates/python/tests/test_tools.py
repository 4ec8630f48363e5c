"""Functions and objects as tools."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import functools
import re
from typing import Annotated, Any, Literal, NewType, Optional, TypedDict, Union, get_type_hints

import pytest

from toolroute import ArgumentError, CatalogError, Router
from toolroute._messages import body
from toolroute._schema import definition, json_schema
from toolroute._tools import describe


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0


class Options(TypedDict, total=False):
    deep: bool


class Trip:
    """As a model of pydantic."""

    @staticmethod
    def model_json_schema() -> dict[str, Any]:
        legs = {"type": "array", "items": {"$ref": "#/$defs/Leg"}}
        return {**legs, "$defs": {"Leg": {"type": "object"}}}


def test_types_become_schemas():
    for hint, schema in [
        (str, {"type": "string"}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (dict[str, bool], {"type": "object", "additionalProperties": {"type": "boolean"}}),
        (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (Union[int, str], {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (Literal["a", "b"], {"enum": ["a", "b"]}),
        (Colour, {"enum": ["red", "blue"]}),
        (Annotated[int, "A number"], {"type": "integer", "description": "A number"}),
        (Any, {}),
        (datetime.date, {"type": "string", "format": "date"}),
        (datetime.datetime, {"type": "string", "format": "date-time"}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
    ]:
        assert json_schema(hint) == schema, hint
    assert json_schema(Point)["required"] == ["x"]
    assert json_schema(Options) == {
        "type": "object",
        "properties": {"deep": {"type": "boolean"}},
        "required": [],
    }


@dataclasses.dataclass
class Limits:
    """As the notes of annotated_types."""

    ge: Optional[int] = None
    lt: Optional[int] = None
    min_length: int = 0
    max_length: Optional[int] = None
    pattern: Any = None


class Predicate:
    """As that of annotated_types, for which JSON Schema has no word."""


UserId = NewType("UserId", int)


class Odd(enum.Enum):
    """JSON has none of its values."""

    LEFT = (0, 1)
    RIGHT = (1, 0)


def test_constraints_come_into_the_schema_and_are_checked():
    def enrol(
        year: Annotated[int, Limits(ge=2000, lt=2100)],
        code: Annotated[str, Limits(min_length=2, max_length=4, pattern="^[A-Z]+$")],
        marks: Annotated[list[Annotated[int, Limits(ge=1)]], Limits(max_length=2)] = [],  # noqa: B006
        weight: Annotated[Optional[float], Limits(ge=0)] = None,
    ) -> str:
        """Enrols a pupil."""
        return f"{year} {code} {marks}"

    router = Router([enrol], strict=True)
    properties = router.definition(enrol)["function"]["parameters"]["properties"]
    assert properties == {
        "year": {"type": "integer", "minimum": 2000, "exclusiveMaximum": 2100},
        "code": {"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^[A-Z]+$"},
        "marks": {"type": "array", "items": {"type": "integer", "minimum": 1}, "maxItems": 2, "default": []},
        "weight": {"anyOf": [{"type": "number", "minimum": 0}, {"type": "null"}], "default": None},
    }
    given = {"year": 2020, "code": "AB"}
    assert router.call("enrol", given) == "2020 AB []"
    for wrong in [{"year": 1990}, {"code": "ab"}, {"code": "A"}, {"marks": [0]}, {"marks": [1, 1, 1]}, {"weight": -1}]:
        with pytest.raises(ArgumentError, match=f"`{next(iter(wrong))}"):
            router.call("enrol", {**given, **wrong})


def test_a_constraint_that_no_schema_can_say_is_refused():
    for hint in [
        Annotated[datetime.date, Limits(ge=datetime.date(2026, 1, 1))],  # type: ignore[arg-type]
        Annotated[int, Predicate()],
        Annotated[str, Limits(ge=1)],
        Annotated[int, Limits(max_length=1)],
        Annotated[str, Limits(pattern=re.compile("a", re.IGNORECASE))],
        Annotated[str, Limits(pattern=r"a\Z")],
    ]:

        def close(when):
            """Closes."""

        close.__annotations__ = {"when": hint}
        with pytest.raises(CatalogError, match="`when`: expected a constraint that JSON Schema has"):
            Router([close], strict=True)


def test_fields_of_pydantic_are_read():
    pydantic = pytest.importorskip("pydantic")

    def rent(
        seats: Annotated[int, pydantic.Field(ge=1, description="How many sit in it", examples=[5])],
        plate: Annotated[str, pydantic.Field(pattern="^[A-Z]")],
        days: int = pydantic.Field(2, ge=1, description="How long"),
        extras: list[str] = pydantic.Field(default_factory=list),
        page: Optional[pydantic.HttpUrl] = None,
    ) -> Any:
        """Rents a car."""
        return seats, days, extras, page

    rent.__annotations__ = get_type_hints(rent, localns={"pydantic": pydantic}, include_extras=True)
    router = Router([rent], strict=True)
    schema = router.definition(rent)["function"]["parameters"]
    seats = {"type": "integer", "minimum": 1, "description": "How many sit in it", "examples": [5]}
    assert schema["properties"]["seats"] == seats and schema["required"] == ["seats", "plate"]
    assert schema["properties"]["plate"] == {"type": "string", "pattern": "^[A-Z]"}
    days = {"type": "integer", "minimum": 1, "description": "How long", "default": 2}
    assert schema["properties"]["days"] == days
    assert schema["properties"]["page"]["anyOf"][0]["format"] == "uri"
    assert router.call("rent", {"seats": 5, "plate": "B 1"}) == (5, 2, [], None)
    page = router.call("rent", {"seats": 5, "plate": "B 1", "page": "https://a.b/c"})[3]
    assert isinstance(page, pydantic.HttpUrl)
    for wrong in [{"days": 0}, {"plate": "b"}, {"page": "no address"}]:
        with pytest.raises(ArgumentError, match=f"`{next(iter(wrong))}`"):
            router.call("rent", {"seats": 5, "plate": "B 1", **wrong})


def test_no_type_and_no_default_is_lost():
    def move(
        who: UserId,
        colour: Colour = Colour.BLUE,
        side: Odd = Odd.LEFT,
        day: datetime.date = datetime.date(2026, 1, 31),
        pair: tuple[int, str] = (1, "a"),
        point: Point = Point(1.0),
        mark: Any = object(),
    ) -> Any:
        """Moves."""
        return who, colour, side, pair

    router = Router([move], strict=True)
    schema = router.definition(move)["function"]["parameters"]
    properties = schema["properties"]
    assert properties["who"] == {"type": "integer"} and schema["required"] == ["who"]
    assert properties["colour"] == {"enum": ["red", "blue"], "default": "blue"}
    assert properties["side"] == {"enum": ["LEFT", "RIGHT"], "default": "LEFT"}
    assert properties["day"] == {"type": "string", "format": "date", "default": "2026-01-31"}
    items = [{"type": "integer"}, {"type": "string"}]
    pair = {"type": "array", "prefixItems": items, "minItems": 2, "maxItems": 2, "default": [1, "a"]}
    assert properties["pair"] == pair and properties["mark"] == {}
    assert properties["point"]["default"] == {"x": 1.0, "y": 0.0}
    assert properties["point"]["properties"]["y"] == {"type": "number", "default": 0.0}
    assert router.call("move", {"who": 1}) == (1, Colour.BLUE, Odd.LEFT, (1, "a"))
    assert router.call("move", {"who": 1, "side": "RIGHT"})[2] is Odd.RIGHT
    with pytest.raises(ArgumentError, match="`pair`"):
        router.call("move", {"who": 1, "pair": [1]})


def test_a_name_that_is_unknown_costs_its_own_type_alone():
    def find(one, other):
        """Finds."""

    find.__annotations__ = {"one": "NoSuchType", "other": "Optional[int]"}
    properties = definition(find)["inputSchema"]["properties"]
    assert properties == {"one": {}, "other": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}


def test_references_are_read_from_the_root_of_the_schema():
    def book(trips: list[Trip]) -> None:
        """Books trips."""

    schema = definition(book)["inputSchema"]
    assert schema["$defs"] == {"Leg": {"type": "object"}}
    assert schema["properties"]["trips"]["items"] == {"type": "array", "items": {"$ref": "#/$defs/Leg"}}


def test_types_of_one_name_stay_apart():
    def model(kind: str) -> Any:
        class Model:
            @staticmethod
            def model_json_schema() -> dict[str, Any]:
                item = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Item"}, kind: {}}}
                return {"type": "array", "items": {"$ref": "#/$defs/Item"}, "$defs": {"Item": item}}

        return Model

    first, second = model("a"), model("b")

    def join(one, other, more):
        """Joins items."""

    join.__annotations__ = {"one": first, "other": second, "more": Union[first, second]}
    schema = definition(join)["inputSchema"]
    assert list(schema["$defs"]) == ["Item", "Item_2"]
    for name, kind in [("Item", "a"), ("Item_2", "b")]:
        item = schema["$defs"][name]["properties"]
        assert item == {"next": {"$ref": f"#/$defs/{name}"}, kind: {}}
    properties = schema["properties"]
    assert properties["one"]["items"] == {"$ref": "#/$defs/Item"}
    assert properties["other"]["items"] == {"$ref": "#/$defs/Item_2"}
    assert [part["items"]["$ref"][-6:] for part in properties["more"]["anyOf"]] == ["s/Item", "Item_2"]


def test_docstrings_of_three_styles():
    def google(a: int, b: int = 2):
        """Adds numbers.

        It is quick.

        Args:
            a (int): The first,
                on two lines.
            b: The second.

        Returns:
            The sum.
        """

    def numpy(a: int, b: int = 2):
        """Adds numbers.

        It is quick.

        Parameters
        ----------
        a : int
            The first,
            on two lines.
        b : int
            The second.

        Returns
        -------
        int
        """

    def sphinx(a: int, b: int = 2):
        """Adds numbers.

        It is quick.

        :param a: The first,
            on two lines.
        :type a: int
        :param int b: The second.
        :returns: The sum,
            on two lines.
        """

    for function in (google, numpy, sphinx):
        found = definition(function)
        assert found["description"] == "Adds numbers.\n\nIt is quick."
        parameters = found["inputSchema"]["properties"]
        assert parameters["a"]["description"] == "The first, on two lines.", function
        assert parameters["b"] == {"type": "integer", "description": "The second.", "default": 2}
        assert found["inputSchema"]["required"] == ["a"]


def test_a_docstring_of_one_word_is_a_description():
    def returns():
        """Returns"""

    def listed():
        """Returns:
            Nothing.
        """

    assert definition(returns)["description"] == "Returns"
    assert definition(listed)["description"] == ""


def test_methods_partials_and_callable_objects():
    class Shop:
        def buy(self, thing: str) -> None:
            """Buys a thing."""

    class Adder:
        """Adds numbers."""

        def __call__(self, a: int) -> int:
            return a

    assert list(definition(Shop().buy)["inputSchema"]["properties"]) == ["thing"]
    assert definition(functools.partial(Shop().buy))["name"] == "buy"
    found = definition(Adder())
    assert found["name"] == "Adder" and found["inputSchema"]["properties"]["a"] == {"type": "integer"}
    with pytest.raises(CatalogError, match="a lambda has no name"):
        Router([lambda a: a], strict=True)


def test_a_class_and_a_method_without_its_object_are_refused():
    class Shop:
        def buy(self, thing: str) -> str:
            """Buys a thing."""
            return thing

    with pytest.raises(CatalogError, match="found the class `Shop`; give an object of it"):
        Router([Shop], strict=True)
    with pytest.raises(CatalogError, match=r"found `.*Shop\.buy` of the class alone; make an object"):
        Router([Shop.buy], strict=True)
    for tool in (Shop().buy, functools.partial(Shop.buy, Shop())):
        assert Router([tool], strict=True).call("buy", {"thing": "tea"}) == "tea"


def search(tenant: str, q: str, n: int = 3) -> tuple[str, str, int]:
    """Searches the documents of a tenant.

    Args:
        q: What to look for.
    """
    return tenant, q, n


def test_what_a_partial_binds_is_hidden_and_stays():
    for bound in (
        functools.partial(search, "sk-SECRET"),
        functools.partial(search, tenant="sk-SECRET"),
        functools.partial(functools.partial(search, n=5), tenant="sk-SECRET"),
    ):
        router = Router([bound], strict=True)
        schema = router.definition(bound)["function"]["parameters"]
        assert "SECRET" not in str(schema) and "tenant" not in schema["properties"]
        assert schema["required"] == ["q"] and schema["properties"]["q"]["description"] == "What to look for."
        assert router.call(bound, {"q": "a"})[:2] == ("sk-SECRET", "a")
        with pytest.raises(ArgumentError, match="`tenant` is no parameter of it; expected q"):
            router.call(bound, {"q": "a", "tenant": "evil"})

    def free(**values: int) -> dict[str, int]:
        """Counts."""
        return values

    router = Router([functools.partial(free, a=1)])
    assert router.call("free", {"b": 2}) == {"a": 1, "b": 2}
    with pytest.raises(ArgumentError, match="`a` is no parameter of it"):
        router.call("free", {"a": 2})


def test_a_partial_may_have_its_own_name_and_words():
    first, second = functools.partial(search, "acme"), functools.partial(search, "globex")
    first.__name__, second.__name__ = "search_acme", "search_globex"  # type: ignore[attr-defined]
    second.__doc__ = "Searches what Globex wrote."
    router = Router([first, functools.partial(second, n=1)], strict=True)
    assert [router.definition(tool)["function"]["name"] for tool in router.tools] == ["search_acme", "search_globex"]
    found = router.definition("search_globex")["function"]
    assert found["description"] == "Searches what Globex wrote."
    assert found["parameters"]["properties"]["q"]["description"] == "What to look for."
    assert router.call("search_globex", {"q": "a"}) == ("globex", "a", 1)


class Mail:
    def __init__(self, server: str) -> None:
        self.server = server

    def send(self, to: str) -> str:
        """Sends a message to a person."""
        return f"{to}@{self.server}"


def test_a_function_that_is_dropped_is_a_problem_with_a_cure():
    live, test = Mail("live"), Mail("test")
    with pytest.warns(UserWarning, match=r"tools\[1\]: error: expected a tool that differs from `send`"):
        router = Router([live.send, test.send])
    assert len(router.problems) == 1 and router.filter("send a message to Dana") == [live.send]
    for twice in ([live.send, test.send], [functools.partial(search, "a"), functools.partial(search, "b")]):
        with pytest.raises(CatalogError, match="the first was kept: give this one a name of its own"):
            Router(twice, strict=True)
    named = functools.partial(test.send)
    named.__name__ = "send_test"  # type: ignore[attr-defined]
    router = Router([live.send, named, live.send], strict=True)
    assert [router.call(tool, {"to": "Dana"}) for tool in (live.send, named)] == ["Dana@live", "Dana@test"]


def test_arguments_of_any_other_name():
    def tag(page: str, *more: str, **values: int) -> Any:
        """Tags a page."""
        return page, values

    router = Router([tag], strict=True)
    schema = router.definition(tag)["function"]["parameters"]
    assert schema["additionalProperties"] == {"type": "integer"} and list(schema["properties"]) == ["page"]
    assert router.call(tag, {"page": "a", "size": 3}) == ("a", {"size": 3})
    with pytest.raises(ArgumentError, match="`size`"):
        router.call(tag, {"page": "a", "size": "big"})


def test_an_object_with_a_schema_is_a_tool_of_mcp():
    @dataclasses.dataclass
    class Tool:
        name: str
        description: str
        inputSchema: dict

    assert describe(Tool("add", "Adds", {"type": "object"})) == {
        "name": "add",
        "description": "Adds",
        "inputSchema": {"type": "object"},
    }


def test_a_tool_that_is_no_json_is_named():
    with pytest.raises(CatalogError, match="can be written as JSON"):
        Router([{"name": "add", "description": object()}], strict=True)


def test_messages_of_every_kind():
    user = '{"messages": [{"role": "user", "content": "hi"}]}'
    for messages in ("hi", {"role": "user", "content": "hi"}, [("human", "hi")], ["hi"]):
        assert body(messages) == user
    assert body({"messages": [("user", "hi")], "tools": [1], "tool_choice": "auto"}) == (
        '{"messages": [{"role": "user", "content": "hi"}], "tool_choice": "auto"}'
    )
