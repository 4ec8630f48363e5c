"""Tools of every kind as the JSON that the engine reads.

The engine knows the formats of OpenAI, Anthropic, MCP and toolroute itself; a mapping is passed to
it as it is. Objects are described by what they have: no framework is imported.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from typing import Any

from . import _frameworks
from ._errors import CatalogError
from ._schema import definition, json_schema
from ._unicode import encodable

#: Problems that a warning shows before the rest is only counted.
_SHOWN_PROBLEMS = 5


def listed(tools: Any) -> list[Any]:
    """The tools of a router.

    Raises:
        CatalogError: They are not a list of tools.
    """
    if _is_result(tools):
        return list(tools.tools)
    if isinstance(tools, (str, bytes, Mapping)) or not hasattr(type(tools), "__iter__"):
        raise CatalogError(
            f"expected a list of tools, found {_shown(tools)}; write [tool], or "
            "Router.from_path(path) for files"
        )
    found: list[Any] = []
    for tool in tools:
        found.extend(tool.tools if _is_result(tool) else [tool])
    return found


def _is_result(value: Any) -> bool:
    """Whether it is a `ListToolsResult` of MCP's SDK, whose tools stand in a list."""
    if isinstance(value, (Mapping, type)) or not callable(getattr(value, "model_dump", None)):
        return False
    tools = getattr(value, "tools", None)
    return isinstance(tools, list) and (hasattr(value, "nextCursor") or hasattr(value, "next_cursor"))


def read(tools: Sequence[Any]) -> tuple[list[str], list[str]]:
    """Tools as JSON, in their order, and the problems of those that cannot be read, whose text is
    empty.
    """
    texts: list[str] = []
    problems: list[str] = []
    for place, tool in enumerate(tools):
        try:
            texts.append(to_json(tool))
        except CatalogError as error:
            texts.append("")
            problems.append(f"tools[{place}]: error: {error}")
    return texts, problems


def first_of(problems: Sequence[str]) -> str:
    """The first problems, and how many more there are."""
    more = len(problems) - _SHOWN_PROBLEMS
    return "\n".join([*problems[:_SHOWN_PROBLEMS], *([f"and {more} more"] if more > 0 else [])])


def dropped(
    tools: Sequence[Any], texts: Sequence[str], ids: Sequence[Sequence[str]], strict: bool
) -> dict[int, str]:
    """Objects that cannot be called, because another one before them has the same definition, by their
    place, each with the problem. Two mappings with equal definitions are one tool, and different
    definitions with one id are a problem of the engine.

    Args:
        texts: What `read` gave.
        ids: The ids of the tools that were read from each.

    Raises:
        CatalogError: There are some, and `strict` forbids that.
    """
    first: dict[str, int] = {}
    found: dict[int, str] = {}
    for place, (tool, own) in enumerate(zip(tools, ids)):
        if not own or is_document(tool):
            continue
        before = first.setdefault(own[0], place)
        is_same = isinstance(tool, Mapping) or tools[before] is tool or tools[before] == tool
        if not is_same and texts[before] == texts[place]:
            found[place] = (
                f"tools[{place}]: error: expected a tool that differs from `{own[0]}`, found another object "
                f"with the same definition, {_shown(tool)}; the first was kept: give this one a name of its "
                "own, as in `p = functools.partial(tool); p.__name__ = 'other_name'`"
            )
    if found and strict:
        raise CatalogError("\n".join(found.values()))
    return found


def by_id(tools: Sequence[Any], ids: Sequence[Sequence[str]]) -> dict[str, Any]:
    """The tools that are no documents, by the first of the ids that were read from each."""
    found: dict[str, Any] = {}
    for tool, own in zip(tools, ids):
        if own and not is_document(tool):
            found.setdefault(own[0], tool)
    return found


def to_json(tool: Any) -> str:
    """A tool as JSON.

    Raises:
        CatalogError: The object has nothing by which a tool is known.
    """
    try:
        described = describe(tool)
        text = json.dumps(described, ensure_ascii=False, allow_nan=False, default=_plain)
    except CatalogError:
        raise
    except Exception as error:  # The object of a framework may raise anything.
        raise CatalogError(
            f"expected a tool that can be written as JSON, found {_shown(tool)}: {error}"
        ) from error
    return encodable(text)


def describe(tool: Any) -> Mapping[str, Any]:
    """A tool as a mapping in one of the formats that the engine reads.

    >>> describe({"name": "add", "description": "Adds"})
    {'name': 'add', 'description': 'Adds'}
    """
    if isinstance(tool, Mapping):
        return tool
    if isinstance(tool, type):
        return definition(tool)
    if hasattr(tool, "args_schema") and hasattr(tool, "name"):
        return _of_langchain(tool)
    if hasattr(tool, "params_json_schema"):
        return _named(tool, tool.params_json_schema)
    metadata: Any = getattr(tool, "metadata", None)
    if callable(getattr(metadata, "get_parameters_dict", None)):
        return _named(metadata, metadata.get_parameters_dict())
    if _frameworks.is_of_fastmcp(tool):
        return _of_mcp(tool.to_mcp_tool())
    if hasattr(tool, "inputSchema") or hasattr(tool, "input_schema"):
        return _of_mcp(tool)
    if _frameworks.is_of_smolagents(tool):
        return _named(tool, _frameworks.smolagents_schema(tool))
    if hasattr(tool, "name") and _frameworks.declared_schema(tool) is not None:
        return _named(tool, _frameworks.declared_schema(tool))
    if callable(tool):
        return definition(tool)
    if isinstance(getattr(tool, "name", None), str):
        return _named(tool, None)
    raise CatalogError(
        f"expected a tool, found {_shown(tool)}; give a mapping with `name` and `description`, "
        "a function, or a tool of MCP, FastMCP, LangChain, LlamaIndex, OpenAI Agents, smolagents, anthropic, "
        "pydantic-ai or haystack"
    )


def always_stays(tool: Any) -> bool:
    """Whether a tool of a request is not the caller's function: one that the provider runs, or one
    with a cache mark, which other bytes depend on. The same as in the HTTP API.
    """
    if not isinstance(tool, Mapping):
        # OpenAI Agents describes a tool that OpenAI runs by its name alone.
        return not callable(tool) and not _is_described(tool)
    if tool.get("cache_control") is not None or tool.get("defer_loading") is True:
        return True
    kind = tool.get("type")
    if kind == "custom":
        return tool.get("input_schema") is None
    return kind is not None and kind != "function"


def stays(tool: Any, ids: Sequence[str], left_out: Container[str]) -> bool:
    """Whether a tool with these ids is not left out of a request."""
    return not ids or ids[0] not in left_out or always_stays(tool)


def is_document(tool: Any) -> bool:
    """Whether a mapping is not one tool but a document of tools, such as a `tools/list` result."""
    members = ("tools", "functions", "result", "openapi")
    return isinstance(tool, Mapping) and any(name in tool for name in members)


def _is_described(tool: Any) -> bool:
    return any(hasattr(tool, name) for name in ("description", "metadata"))


def _plain(value: Any) -> Any:
    """A value of a definition that is not JSON's own."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def _named(subject: Any, schema: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"name": subject.name}
    found["description"] = getattr(subject, "description", None) or ""
    if schema is not None:
        found["inputSchema"] = schema
    return found


def _of_langchain(tool: Any) -> dict[str, Any]:
    if tool.args_schema is None and list(getattr(tool, "args", ())) == ["tool_input"]:
        # A `Tool` takes one text, and its other schema is of a method of the framework.
        return _named(tool, {"type": "object", "properties": tool.args, "required": ["tool_input"]})
    # Without the arguments that the framework injects.
    schema = getattr(tool, "tool_call_schema", None) or tool.args_schema
    if schema is not None and not isinstance(schema, Mapping):
        schema = _without_titles(json_schema(schema))
        # That of the tool, once more.
        schema.pop("description", None)
    return _named(tool, schema or None)


def _without_titles(schema: Any) -> Any:
    """A schema of pydantic without the titles that repeat names."""
    if not isinstance(schema, Mapping):
        return schema
    found = {name: value for name, value in schema.items() if name != "title"}
    for group in ("properties", "$defs"):
        if group in found:
            found[group] = {name: _without_titles(value) for name, value in found[group].items()}
    return found


def _of_mcp(tool: Any) -> Mapping[str, Any]:
    if callable(getattr(tool, "model_dump", None)):
        dumped = tool.model_dump(by_alias=True, exclude_none=True, mode="json")
        if isinstance(dumped, Mapping):
            return dumped
    schema = getattr(tool, "inputSchema", None)
    return _named(tool, tool.input_schema if schema is None else schema)


def _shown(tool: Any) -> str:
    said = repr(tool)
    return said if len(said) <= 80 else f"{said[:80]}…"
