"""Routers of agents, which have the same tools at each step."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Any, NamedTuple

from . import _tools
from ._router import Router

#: So many agents may take turns.
_MOST = 4


class _Seen(NamedTuple):
    tools: list[Any]
    #: Their definitions.
    texts: list[str]
    router: Router[Any]


class RouterCache:
    """The routers over the tools that were seen last. Several threads may use it."""

    def __init__(self) -> None:
        # Replaced as a whole: of two threads at once, one may only forget what the other saw.
        self._recent: tuple[_Seen, ...] = ()

    def of(self, tools: Sequence[Any]) -> Router[Any]:
        """A router over these very objects. Those that have the definitions of earlier ones, as an MCP
        client makes for each step, are not embedded again.
        """
        given, recent = list(tools), self._recent
        for seen in recent:
            if len(seen.tools) == len(given) and all(map(is_, seen.tools, given)):
                return self._noted(seen, recent)
        texts, _ = _tools.read(given)
        same = next((seen for seen in recent if seen.texts == texts), None)
        router = Router(given) if same is None else same.router._with(given, texts)
        others = tuple(seen for seen in recent if seen is not same)
        return self._noted(_Seen(given, texts, router), others)

    def _noted(self, latest: _Seen, others: Sequence[_Seen]) -> Router[Any]:
        self._recent = (latest, *(seen for seen in others if seen is not latest))[:_MOST]
        return latest.router
