"""Definitions of tools in the formats of clients."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ._errors import RequestError
from ._toolroute import model_name

if TYPE_CHECKING:
    from typing import Literal

    Client = Literal["openai", "responses", "anthropic", "mcp"]


def definition(row: str, client: Client) -> dict[str, Any]:
    """A tool as a client's requests have it, under a name by which `Router.call` knows it.

    Args:
        row: The tool as JSON, as the engine writes it.

    Raises:
        RequestError: There is no such client.
    """
    tool: dict[str, Any] = json.loads(row)
    name = tool["id"] if client == "mcp" else model_name(tool["id"])
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
