"""Tools that several tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

#: The root of the repository.
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes what belongs to the user."""
    folder = tmp_path_factory.mktemp("home")
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(folder / name))
    for name in [name for name in os.environ if name.startswith("TOOLROUTE_")]:
        monkeypatch.delenv(name)


def book_flight(city: str, day: str = "today") -> str:
    """Books a flight to a city.

    Args:
        city: Where the journey goes.
        day: The day of departure.
    """
    return f"booked {city} for {day}"


def read_file(path: str) -> str:
    """Reads a file from disk."""
    return f"text of {path}"


OPENAI = {
    "type": "function",
    "function": {
        "name": "send_email",
        "description": "Sends an email to a person",
        "parameters": {"type": "object", "properties": {"to": {"type": "string"}}},
    },
}
ANTHROPIC = {
    "name": "get_weather",
    "description": "The weather in a city",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}
MCP = {
    "name": "search_web",
    "description": "Searches the web for pages",
    "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}},
}
OWN = {"id": "git__commit", "name": "commit", "server": "git", "description": "Commits changes"}

MIXED = [book_flight, read_file, OPENAI, ANTHROPIC, MCP, OWN]
