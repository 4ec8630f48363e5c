"""Tools of frameworks: how each kind is known, described and called. They are known by what they have: no
framework is imported.
"""

from __future__ import annotations

import copy
import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any, Optional

from ._errors import CallError

#: Types and notes, by the package that has them, whose parameters a framework fills when it calls a function.
_GIVEN = {
    "agents": ("RunContextWrapper",),
    "fastmcp": ("Context",),
    "langchain_core": ("InjectedToolArg", "_DirectlyInjectedToolArg", "RunnableConfig"),
    "pydantic_ai": ("RunContext",),
}


def gives(hint: Any) -> bool:
    """Whether a framework fills a parameter of this type, so that no model may see it."""
    kind = typing.get_origin(hint) or hint
    # A note of an annotation may be the class itself or an object of it.
    bases = kind.__mro__ if isinstance(kind, type) else type(kind).__mro__
    is_given = any(base.__name__ in _GIVEN.get(base.__module__.partition(".")[0], ()) for base in bases)
    return is_given or any(map(gives, _parts(hint)))


def _parts(hint: Any) -> tuple[Any, ...]:
    """The notes of an annotation and the types of a union."""
    origin = typing.get_origin(hint)
    is_union = origin is typing.Union or type(hint).__name__ == "UnionType"
    return typing.get_args(hint) if is_union or origin is typing.Annotated else ()


def is_of_smolagents(tool: Any) -> bool:
    """Whether it is a tool of smolagents: of `@tool`, or of a subclass of `Tool`."""
    if isinstance(tool, type) or not isinstance(getattr(tool, "name", None), str):
        return False
    is_described = isinstance(getattr(tool, "inputs", None), Mapping) and hasattr(tool, "output_type")
    return is_described and callable(tool) and callable(getattr(tool, "forward", None))


def is_of_langchain(tool: Any) -> bool:
    return callable(getattr(tool, "invoke", None)) and not is_of_haystack(tool)


def is_of_llama_index(tool: Any) -> bool:
    return callable(getattr(tool, "call", None)) and hasattr(tool, "metadata")


def is_of_anthropic(tool: Any) -> bool:
    """Whether it is what `beta_tool` and `beta_async_tool` of anthropic make of a function."""
    has_members = all(hasattr(tool, name) for name in ("to_dict", "input_schema"))
    return has_members and callable(getattr(tool, "func", None))


def is_of_pydantic_ai(tool: Any) -> bool:
    return hasattr(getattr(tool, "function_schema", None), "json_schema")


def is_of_haystack(tool: Any) -> bool:
    """Whether it is a `Tool` of haystack, also one that has only a coroutine function."""
    has_members = hasattr(tool, "tool_spec") and hasattr(tool, "function")
    return has_members and isinstance(getattr(tool, "parameters", None), Mapping)


def is_of_fastmcp(tool: Any) -> bool:
    """Whether it is what FastMCP makes of a function."""
    return callable(getattr(tool, "to_mcp_tool", None)) and callable(getattr(tool, "fn", None))


def smolagents_schema(tool: Any) -> dict[str, Any]:
    """The schema of the inputs of a tool of smolagents."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, declared in tool.inputs.items():
        schema = copy.deepcopy(dict(declared))
        kinds = schema.pop("type", "any")
        kinds = [kinds] if isinstance(kinds, str) else list(kinds)
        may_be_null = bool(schema.pop("nullable", False))
        if may_be_null and "null" not in kinds:
            kinds.append("null")
        # `any`, `image` and `audio` are no types of JSON.
        if not {"any", "image", "audio"}.intersection(kinds) and "anyOf" not in schema:
            schema["type"] = kinds[0] if len(kinds) == 1 else kinds
        if not may_be_null:
            required.append(name)
        properties[name] = schema
    return {"type": "object", "properties": properties, "required": required}


def declared_schema(tool: Any) -> Any:
    """The schema of a `Tool` of haystack, or a `Tool` or a `ToolDefinition` of pydantic-ai; `None` for any
    other tool.
    """
    if is_of_haystack(tool):
        return tool.parameters
    if is_of_pydantic_ai(tool):
        return tool.function_schema.json_schema
    return getattr(tool, "parameters_json_schema", None)


def is_runnable(tool: Any) -> bool:
    """Whether the tool has its own method of a framework by which it is called, with arguments by name."""
    return is_of_langchain(tool) or is_of_llama_index(tool)


def function_of(tool: Any) -> Any:
    """The function that a tool calls, whose parameters say what its arguments are; the tool itself if it
    is none of a framework.
    """
    if is_of_smolagents(tool):
        # That of `@tool` is wrapped, with one more parameter `self`.
        return inspect.unwrap(tool.forward)
    if is_of_anthropic(tool):
        return tool.func
    if is_of_pydantic_ai(tool):
        return tool.function
    if is_of_haystack(tool):
        return tool.function or tool.async_function
    if is_of_fastmcp(tool):
        return tool.fn
    return tool


def caller_of(tool: Any) -> Callable[..., Any]:
    """What is called with the arguments of a tool that is not runnable."""
    # A tool of smolagents sets itself up on its first call.
    caller: Callable[..., Any] = tool if is_of_smolagents(tool) else function_of(tool)
    return caller


def only_model(tool: Any) -> Optional[str]:
    """The only parameter of a tool of pydantic-ai whose arguments are the members of that parameter."""
    name = getattr(getattr(tool, "function_schema", None), "single_arg_name", None)
    return name if isinstance(name, str) else None


def injected_names(tool: Any) -> set[str]:
    """The arguments of a tool of LangChain that no model sees: the caller gives them."""
    given = getattr(getattr(tool, "args_schema", None), "model_fields", None)
    shown = getattr(getattr(tool, "tool_call_schema", None), "model_fields", None)
    if given is None or shown is None:
        return set()
    return set(given).difference(shown)


def is_of_checked_arguments(error: Exception, tool: Any) -> bool:
    """Whether a tool of LangChain has refused its arguments; what it raised itself is not meant."""
    schema = getattr(tool, "args_schema", None)
    is_of_pydantic = type(error).__name__ == "ValidationError" and isinstance(error, ValueError)
    return is_of_pydantic and getattr(error, "title", None) == getattr(schema, "__name__", "")


def _is_plain_of_fastmcp(tool: Any) -> bool:
    """Whether a tool of FastMCP is no more than its function: without what a server fills, and not transformed."""
    try:
        hints = typing.get_type_hints(inspect.unwrap(tool.fn), include_extras=True)
    except (NameError, TypeError):
        # A `functools.partial` has none of its own. What a framework gives to its function is refused when it is called.
        hints = {}
    defaults = [one.default for one in inspect.signature(tool.fn).parameters.values()]
    is_given = any(base.__name__ == "Dependency" for default in defaults for base in type(default).__mro__)
    return type(tool).__name__ == "FunctionTool" and not is_given and not any(map(gives, hints.values()))


def check_callable(id: str, tool: Any) -> None:
    """
    Raises:
        CallError: There is nothing that can be called without the framework.
    """
    if callable(getattr(tool, "on_invoke_tool", None)):
        raise CallError(
            f"`{id}` is a tool of OpenAI Agents, which only a Runner of it can call; expected the function "
            "that it was made of: give that to the router, or let an Agent call it"
        )
    if getattr(tool, "takes_ctx", False) and is_of_pydantic_ai(tool):
        raise CallError(
            f"`{id}` is a tool of pydantic-ai that takes a RunContext, which only a run of an Agent has; "
            "expected one that takes none: let the Agent call it, or bind the context with functools.partial"
        )
    if is_of_haystack(tool) and getattr(tool, "inputs_from_state", None):
        raise CallError(
            f"`{id}` is a tool of haystack that takes values of an Agent's state; expected one that takes "
            "none: let the Agent call it"
        )
    if is_of_fastmcp(tool) and not _is_plain_of_fastmcp(tool):
        raise CallError(
            f"`{id}` is a tool of FastMCP that takes a Context or another dependency, or that transforms another tool, "
            "which only a request to a server can do; expected a plain one: call it through the server "
            "(Router.from_servers)"
        )
    if not (is_runnable(tool) or callable(function_of(tool))):
        raise CallError(
            f"`{id}` is a definition without a function; expected a function, a tool of LangChain, LlamaIndex, "
            "smolagents, anthropic, pydantic-ai, haystack or FastMCP, or a router of servers (Router.from_servers)"
        )
