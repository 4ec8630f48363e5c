"""Calls of functions and of tools of frameworks."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Optional

from ._toolroute import CallError


def checked(arguments: Optional[Mapping[str, Any]]) -> dict[str, Any]:
    """A copy of the arguments of a call.

    Raises:
        CallError: They are not a mapping.
    """
    if arguments is not None and not isinstance(arguments, Mapping):
        raise CallError(
            f"expected the arguments as a mapping of names to values, found {arguments!r:.80}"
        )
    return dict(arguments or {})


def to_json(arguments: Mapping[str, Any]) -> str:
    """Arguments for the tool of a server.

    Raises:
        CallError: They cannot be written as JSON.
    """
    try:
        return json.dumps(arguments, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise CallError(
            f"expected arguments that can be written as JSON, found {arguments!r:.80}: {error}"
        ) from error


def run(id: str, tool: Any, arguments: dict[str, Any]) -> Any:
    """Calls a function or a tool of a framework.

    Raises:
        CallError: It can only be awaited, or there is nothing to call.
    """
    # A tool of LangChain that was made of a coroutine function alone.
    only_awaits = callable(getattr(tool, "coroutine", None)) and getattr(tool, "func", tool) is None
    if only_awaits or _is_coroutine_function(tool):
        raise CallError(f"`{id}` is a coroutine function; expected `await router.acall(...)`")
    if callable(getattr(tool, "invoke", None)):
        return tool.invoke(arguments)
    if callable(getattr(tool, "call", None)) and hasattr(tool, "metadata"):
        return tool.call(**arguments)
    if callable(tool):
        return _apply(tool, arguments)
    raise CallError(
        f"`{id}` is a definition without a function; expected a function, a tool of LangChain or "
        "LlamaIndex, or a router of servers (Router.from_servers)"
    )


def awaited(tool: Any, arguments: dict[str, Any]) -> Optional[Awaitable[Any]]:
    """The call of a tool that can be awaited; `None` for others."""
    if callable(getattr(tool, "ainvoke", None)):
        found: Awaitable[Any] = tool.ainvoke(arguments)
    elif callable(getattr(tool, "acall", None)) and hasattr(tool, "metadata"):
        found = tool.acall(**arguments)
    elif _is_coroutine_function(tool):
        found = _apply(tool, arguments)
    else:
        return None
    return found


def _is_coroutine_function(tool: Any) -> bool:
    return inspect.iscoroutinefunction(tool) or inspect.iscoroutinefunction(
        getattr(tool, "__call__", None)
    )


def _apply(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Calls a function with arguments by name, also those of parameters without a name for callers."""
    positional: list[Any] = []
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    for parameter in parameters:
        if parameter.kind is not parameter.POSITIONAL_ONLY or parameter.name not in arguments:
            break
        positional.append(arguments.pop(parameter.name))
    return function(*positional, **arguments)
