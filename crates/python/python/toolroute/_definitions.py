"""Definitions of tools in the formats of clients."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ._errors import RequestError

if TYPE_CHECKING:
    from typing import Literal

    Client = Literal["openai", "responses", "anthropic", "mcp"]

#: The longest name that OpenAI and Anthropic both take.
_MAX_NAME = 64


def wire_name(id: str) -> str:
    """The name of a tool for OpenAI and Anthropic, which take letters, digits, `_` and `-`, 64 at most: the
    id itself, or its beginning with a hash.

    >>> wire_name("shop__refund_order"), wire_name("films__GET /films")
    ('shop__refund_order', 'films__GET__films_dd2f34bc')
    """
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", id)
    if name == id and len(name) <= _MAX_NAME:
        return id
    seal = hashlib.sha256(id.encode()).hexdigest()[:8]
    return f"{name[: _MAX_NAME - 9]}_{seal}"


def meant(name: str, ids: Iterable[str]) -> str:
    """The id of the tool to which `wire_name` gave a name; the name itself if there is none."""
    return next((id for id in ids if wire_name(id) == name), name)


def definition(row: str, client: Client) -> dict[str, Any]:
    """A tool as a client's requests have it, under a name by which `Router.call` knows it.

    Args:
        row: The tool as JSON, as the engine writes it.

    Raises:
        RequestError: There is no such client.
    """
    tool: dict[str, Any] = json.loads(row)
    name = tool["id"] if client == "mcp" else wire_name(tool["id"])
    named = {"name": name, "description": tool.get("description", "")}
    # A new object for each caller, who may change it.
    schema = tool.get("input_schema") or {"type": "object", "properties": {}}
    if client == "openai":
        return {"type": "function", "function": {**named, "parameters": schema}}
    if client == "responses":
        return {"type": "function", **named, "parameters": schema}
    if client == "anthropic":
        return {**named, "input_schema": schema}
    if client == "mcp":
        return {**named, "inputSchema": schema}
    raise RequestError(f"client={client!r}: expected openai, responses, anthropic or mcp")
