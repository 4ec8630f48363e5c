"""Functions and objects as tools."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import functools
from typing import Annotated, Any, Literal, Optional, TypedDict, Union

import pytest

from toolroute import CatalogError, Router
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

        :param a: The first, on two lines.
        :param int b: The second.
        :returns: The sum.
        """

    for function in (google, numpy, sphinx):
        found = definition(function)
        assert found["description"] == "Adds numbers.\n\nIt is quick."
        parameters = found["inputSchema"]["properties"]
        assert parameters["a"]["description"] == "The first, on two lines.", function
        assert parameters["b"] == {"type": "integer", "description": "The second.", "default": 2}
        assert found["inputSchema"]["required"] == ["a"]


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
