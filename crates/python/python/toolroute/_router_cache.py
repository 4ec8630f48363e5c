"""Routers of agents, which have the same tools at each step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

from ._router import Router


class RouterCache:
    """The router over the tools that were seen last."""

    def __init__(self) -> None:
        self._tools: list[Any] = []
        self._router: Optional[Router[Any]] = None

    def of(self, tools: Sequence[Any]) -> Router[Any]:
        """A router over these very objects."""
        is_same = len(tools) == len(self._tools) and all(a is b for a, b in zip(tools, self._tools))
        if self._router is None or not is_same:
            self._tools, self._router = list(tools), Router(tools)
        return self._router
