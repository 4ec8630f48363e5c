"""Tools of frameworks as they are read and called. Where a framework is not installed, an object with the
same members stands for its tool.
"""

from __future__ import annotations

import asyncio
import functools
import types
from typing import Annotated, Any, Generic, Optional, TypeVar

import fastmcp
import fastmcp.dependencies
import pytest

from toolroute import ArgumentError, CallError, Router


T = TypeVar("T")


def weather(city: str, days: int = 1) -> str:
    """The weather in a city.

    Args:
        city: Where.
        days: How many.
    """
    return f"{city} {days}"


class SmolTool:
    """As a tool of smolagents, whose class has no name of the tool."""

    output_type = "string"

    def __init__(self, name: str, description: str, inputs: dict[str, Any], function: Any) -> None:
        self.name, self.description, self.inputs, self.forward = name, description, inputs, function

    def __call__(self, *args: Any, sanitize_inputs_outputs: bool = False, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)


def smol_inputs() -> dict[str, Any]:
    days = {"type": "integer", "nullable": True, "description": "How many."}
    return {"city": {"type": "string", "description": "Where."}, "days": days}


def check_weather(tool: Any) -> None:
    """A tool that runs `weather` is read and called as the function itself."""
    router = Router([tool], strict=True)
    found = router.definition(tool, "mcp")
    assert (found["name"], found["description"].strip()) == ("weather", "The weather in a city.")
    schema = found["inputSchema"]
    assert schema["properties"]["city"]["description"] == "Where." and schema["required"] == ["city"]
    assert router.call(tool, {"city": "Oslo", "days": "3"}) == "Oslo 3"
    assert asyncio.run(router.acall("weather", '{"City": "Oslo"}')) == "Oslo 1"
    for wrong in ({}, {"city": "Oslo", "days": "many"}, {"city": "Oslo", "tenant": "x"}):
        with pytest.raises(ArgumentError, match="`weather` cannot be called yet"):
            router.call(tool, wrong)


def test_tools_of_smolagents():
    one = SmolTool("weather", "The weather in a city.", smol_inputs(), weather)
    check_weather(one)
    other = SmolTool("paint", "Paints a picture", {"picture": {"type": "image"}, "of": {"type": "any"}}, print)
    router = Router([one, other], strict=True)
    assert router.select("paint me a picture", k=1)[0].tool is other
    assert router.definition(other, "mcp")["inputSchema"]["properties"] == {"picture": {}, "of": {}}


def test_tools_of_the_package_smolagents():
    smolagents = pytest.importorskip("smolagents")
    check_weather(smolagents.tool(weather))

    class Own(smolagents.Tool):
        name, description, inputs = "weather", "The weather in a city.", smol_inputs()
        output_type = "string"

        def setup(self) -> None:
            self.is_ready = True
            super().setup()

        def forward(self, city: str, days: Optional[int] = 1) -> str:
            assert self.is_ready
            return weather(city, days or 1)

    check_weather(Own())


def pydantic_ai_tool(function: Any, schema: dict[str, Any], **more: Any) -> Any:
    said = {"name": function.__name__, "description": "The weather in a city.", "function": function}
    parts = types.SimpleNamespace(json_schema=schema, single_arg_name=None)
    return types.SimpleNamespace(**{**said, "function_schema": parts, "takes_ctx": False, **more})


def named(name: str, module: str, *bases: type) -> Any:
    """A class as that of a framework."""
    return type(name, bases, {"__module__": module})


def of_injected() -> list[Any]:
    """Types of parameters that frameworks fill."""
    class RunContextWrapper(Generic[T]):
        __module__ = "agents.run_context"

    note = named("InjectedToolArg", "langchain_core.tools.base")
    state = named("InjectedState", "langgraph.prebuilt.tool_node", note)
    return [
        named("RunContext", "pydantic_ai._run_context"),
        RunContextWrapper[int],
        named("ToolContext", "agents.tool_context", RunContextWrapper),
        Annotated[dict, note],
        Annotated[dict, "The state", state()],
        Optional[Annotated[dict, state]],
        named("RunnableConfig", "langchain_core.runnables.config"),
    ]


def of_installed() -> list[Any]:
    agents = pytest.importorskip("agents")
    tools = pytest.importorskip("langchain_core.tools")
    prebuilt = pytest.importorskip("langgraph.prebuilt")
    pydantic_ai = pytest.importorskip("pydantic_ai")
    from agents.tool_context import ToolContext

    return [
        pydantic_ai.RunContext[int],
        agents.RunContextWrapper[Any],
        ToolContext[Any],
        Annotated[str, tools.InjectedToolArg],
        Annotated[str, tools.InjectedToolArg()],
        Annotated[dict, prebuilt.InjectedState("messages")],
        Annotated[Any, prebuilt.InjectedStore()],
        prebuilt.ToolRuntime,
    ]


@pytest.mark.parametrize("types_of", [of_injected, of_installed])
def test_a_model_does_not_see_what_a_framework_gives(types_of):
    for hint in types_of():

        def local(ctx, city: str) -> Any:
            """The weather nearby."""
            return ctx, city

        def free(city, ctx=None, **rest) -> Any:
            """The weather of a city."""
            return ctx

        free.__annotations__["ctx"] = local.__annotations__["ctx"] = hint
        router = Router([local], strict=True)
        schema = router.definition(local)["function"]["parameters"]
        assert list(schema["properties"]) == schema["required"] == ["city"], hint
        said = "`local` takes `ctx`, which only a framework gives; .*functools.partial"
        for given in ({"city": "Oslo"}, {"city": "Oslo", "ctx": {"admin": True}}):
            with pytest.raises(CallError, match=said):
                router.call(local, given)
        for bound in (functools.partial(local, 1), functools.partial(local, ctx=1)):
            assert Router([bound]).call("local", {"city": "Oslo"}) == (1, "Oslo")
        local.__defaults__ = (None, "Rome")
        router = Router([local])
        assert router.call(local, {"city": "Oslo"}) == (None, "Oslo")
        for tool in (local, free):
            with pytest.raises(ArgumentError, match="`ctx` is no parameter of"):
                Router([tool]).call(tool, {"city": "Oslo", "ctx": {"admin": True}})


def test_tools_of_pydantic_ai():
    properties = {
        "city": {"type": "string", "description": "Where."},
        "days": {"type": "integer", "default": 1, "description": "How many."},
    }
    schema = {"type": "object", "properties": properties, "required": ["city"], "additionalProperties": False}
    check_weather(pydantic_ai_tool(weather, schema))
    with_context = pydantic_ai_tool(weather, schema, takes_ctx=True)
    with pytest.raises(CallError, match="takes a RunContext, .* functools.partial"):
        Router([with_context]).call("weather", {"city": "Oslo"})
    declared = types.SimpleNamespace(name="weather", description="", parameters_json_schema=schema)
    router = Router([declared], strict=True)
    assert router.definition(declared)["function"]["parameters"]["required"] == ["city"]
    with pytest.raises(CallError, match="a definition without a function"):
        router.call(declared, {"city": "Oslo"})


def test_tools_of_the_package_pydantic_ai():
    pydantic_ai = pytest.importorskip("pydantic_ai")
    pydantic = pytest.importorskip("pydantic")
    tool = pydantic_ai.Tool(weather)
    check_weather(tool)
    assert Router([tool.tool_def], strict=True).definition("weather")["function"]["parameters"]["required"]

    def local(ctx, city: str) -> str:
        """The local weather."""
        return f"{ctx} {city}"

    local.__annotations__["ctx"] = pydantic_ai.RunContext[int]
    with pytest.raises(CallError, match="takes a RunContext"):
        Router([pydantic_ai.Tool(local)]).call("local", {"city": "Oslo"})
    assert Router([functools.partial(local, ctx="here")]).call("local", {"city": "Oslo"}) == "here Oslo"
    place = pydantic.create_model("Place", city=(str, ...), country=(str, "NO"))

    def find(place) -> str:
        """Finds a place."""
        return f"{place.city} {place.country}"

    find.__annotations__["place"] = place
    assert Router([pydantic_ai.Tool(find)]).call("find", {"city": "Oslo"}) == "Oslo NO"


class BetaTool:
    """As what `beta_tool` of anthropic makes, whose `__call__` is a property."""

    def __init__(self, function: Any) -> None:
        self.func, self.name, self.description = function, function.__name__, "The weather in a city."
        properties = {"city": {"type": "string", "description": "Where."}, "days": {"type": "integer"}}
        self.input_schema = {"type": "object", "properties": properties, "required": ["city"]}

    @property
    def __call__(self) -> Any:
        return self.func

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "input_schema": self.input_schema}


async def later(city: str) -> str:
    """The weather of tomorrow."""
    return f"{city} tomorrow"


def test_tools_of_anthropic():
    check_weather(BetaTool(weather))
    router = Router([BetaTool(later)], strict=True)
    assert asyncio.run(router.acall("later", {"city": "Oslo"})) == "Oslo tomorrow"
    with pytest.raises(CallError, match="expected `await router.acall"):
        router.call("later", {"city": "Oslo"})


def test_tools_of_the_package_anthropic():
    anthropic = pytest.importorskip("anthropic")
    check_weather(anthropic.beta_tool(weather))
    router = Router([anthropic.beta_async_tool(later)], strict=True)
    assert asyncio.run(router.acall("later", {"city": "Oslo"})) == "Oslo tomorrow"


def test_tools_of_openai_agents_name_who_calls_them():
    tool = pytest.importorskip("agents").function_tool(weather)
    router = Router([tool], strict=True)
    with pytest.raises(CallError, match="only a Runner of it can call; expected the function"):
        router.call(tool, {"city": "Oslo"})
    with pytest.raises(CallError, match="only a Runner of it can call"):
        asyncio.run(router.acall(tool, {"city": "Oslo"}))


def test_arguments_of_tools_of_langchain():
    tools = pytest.importorskip("langchain_core.tools")
    check_weather(tools.tool(weather, parse_docstring=True))
    pydantic = pytest.importorskip("pydantic")

    def even(value: int) -> int:
        if value % 2:
            raise ValueError("an odd number")
        return value

    class Pair(pydantic.BaseModel):
        size: int
        _even = pydantic.field_validator("size")(even)

    def split(size: int) -> Any:
        # What the tool itself raises is not about its arguments.
        return pydantic.TypeAdapter(bool).validate_python(size)

    tool = tools.StructuredTool.from_function(split, name="split", description="Splits", args_schema=Pair)
    router = Router([tool])
    for call in (router.call, lambda *rest: asyncio.run(router.acall(*rest))):
        with pytest.raises(ArgumentError, match="`split` cannot be called yet: .*an odd number"):
            call(tool, {"size": 3})
    injected = tools.InjectedToolArg()

    def owned(city: str, user) -> str:
        """The weather for a person."""
        return f"{city} of {user}"

    owned.__annotations__["user"] = Annotated[str, tools.InjectedToolArg()]
    router = Router([tools.tool(owned)], strict=True)
    assert "user" not in str(router.definition("owned")["function"]["parameters"])
    assert router.call("owned", {"city": "Oslo", "user": "Kim"}) == "Oslo of Kim"
    plain = tools.Tool("plain", lambda text: text.upper(), "Writes in capitals")
    assert Router([plain], strict=True).call("plain", {"tool_input": "a"}) == "A"
    with pytest.raises(ArgumentError, match="`tool_input` is needed"):
        Router([plain]).call("plain", {})


def test_arguments_of_tools_of_llama_index():
    tools = pytest.importorskip("llama_index.core.tools")
    router = Router([tools.FunctionTool.from_defaults(weather)])
    assert str(router.call("weather", {"city": "Oslo", "days": "3"})) == "Oslo 3"
    assert str(asyncio.run(router.acall("weather", {"City": "Oslo"}))) == "Oslo 1"
    for wrong in ({}, {"city": "Oslo", "days": "many"}, {"city": "Oslo", "tenant": "x"}):
        with pytest.raises(ArgumentError, match="`weather` cannot be called yet"):
            router.call("weather", wrong)


class HaystackTool:
    """As a `Tool` of haystack 3.4, which is too large to install for the tests."""

    inputs_from_state: Any = None
    async_function: Any = None
    description = "The weather in a city"
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}

    def __init__(self, name: str, function: Any, **members: Any) -> None:
        self.name, self.function = name, function
        self.__dict__.update(members)

    @property
    def tool_spec(self) -> dict[str, Any]:
        return {"name": self.name, "description": self.description, "parameters": self.parameters}

    def invoke(self, **arguments: Any) -> Any:
        return self.function(**arguments)


def test_tools_of_haystack_have_their_parameters():
    async def later(city: str) -> str:
        return f"later in {city}"

    tools = [
        HaystackTool("weather", lambda city: f"rain in {city}"),
        HaystackTool("forecast", None, async_function=later),
        HaystackTool("state", print, inputs_from_state={"place": "city"}),
    ]
    router = Router(tools, strict=True)
    assert router.definition("weather")["function"]["parameters"]["required"] == ["city"]
    assert router.call("weather", {"City": "Oslo"}) == "rain in Oslo"
    assert asyncio.run(router.acall("forecast", {"city": "Oslo"})) == "later in Oslo"
    with pytest.raises(ArgumentError, match="`city` is needed"):
        router.call("weather", {})
    with pytest.raises(CallError, match="acall"):
        router.call("forecast", {"city": "Oslo"})
    with pytest.raises(CallError, match="an Agent's state"):
        router.call("state", {"city": "Oslo"})


def test_tools_of_fastmcp_are_called_by_their_functions():
    server = fastmcp.FastMCP("numbers")

    @server.tool(annotations={"readOnlyHint": True})
    def total(a: int, b: int = 2) -> int:
        """Adds two numbers"""
        return a + b

    async def slow(a: int, context: fastmcp.Context) -> int:
        """Waits a while"""
        return a

    def needs(a: int, limit: int = fastmcp.dependencies.Depends(lambda: 3)) -> int:
        """Limits a number"""
        return min(a, limit)

    for function in (slow, needs):
        server.tool(function)
    router = Router(asyncio.run(server.list_tools()), strict=True)
    assert router.definition("total")["function"]["parameters"]["required"] == ["a"]
    assert router.call("total", {"A": "3"}) == 5
    with pytest.raises(ArgumentError, match="`a` is needed"):
        router.call("total", {})
    with pytest.raises(CallError, match="takes a Context"):
        asyncio.run(router.acall("slow", {"a": 1}, confirmed=True))
    with pytest.raises(CallError, match="another dependency"):
        router.call("needs", {"a": 1}, confirmed=True)


def test_a_definition_of_langchain_repeats_no_names():
    from langchain_core.tools import tool

    @tool
    def book_room(room: str, hours: int = 1) -> str:
        """Books a meeting room"""
        return room

    parameters = Router([book_room]).definition(book_room)["function"]["parameters"]
    assert "title" not in parameters and "description" not in parameters
    assert parameters["properties"] == {"room": {"type": "string"}, "hours": {"type": "integer", "default": 1}}


def test_results_of_mcp_are_lists_of_tools():
    listed = [{"name": name, "description": "Counts", "inputSchema": {"type": "object"}} for name in ("one", "two")]
    result = pytest.importorskip("mcp.types").ListToolsResult.model_validate({"tools": listed})
    for given in (result, [result]):
        assert Router(given, strict=True).tools == result.tools
