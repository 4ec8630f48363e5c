"""Past prompts, from which a router learns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ._errors import RequestError
from ._messages import prompt_of
from ._selection import Selection
from ._unicode import encodable


def past(row: Any) -> tuple[str, list[Any]]:
    """A past prompt, and the tools that served it.

    Raises:
        RequestError: The row is something else.
    """
    pair: Any = row
    if isinstance(row, Mapping):
        pair = (prompt_of(row), row.get("tools"))
    if not (isinstance(pair, (tuple, list)) and len(pair) == 2 and isinstance(pair[0], str)):
        raise RequestError(f"expected pairs of a prompt and its tools, found {row!r:.80}")
    prompt, served = pair
    if not any(map(str.isalnum, prompt)):
        raise RequestError("a past prompt is empty; expected some words that say what is wanted")
    several = isinstance(served, (list, tuple, set, frozenset, Iterator, Selection))
    return encodable(prompt), list(served) if several else [served]
