"""Past prompts, from which a router learns, and what it learned."""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Optional

from ._errors import RequestError
from ._messages import prompt_of, says_something
from ._selection import Selection
from ._unicode import encodable

if TYPE_CHECKING:
    from ._router import Router
    from ._toolroute import NativeRouter

_EXPECTED = "expected a list of pairs of a prompt and its tools"


def _listed(rows: Any) -> Iterable[Any]:
    """
    Raises:
        RequestError: They are no list, or one pair alone.
    """
    is_pair = isinstance(rows, tuple) and len(rows) == 2 and isinstance(rows[0], str)
    if isinstance(rows, Mapping) or is_pair:
        raise RequestError(f"{_EXPECTED}, found one, {rows!r:.80}; write [{rows!r:.80}]")
    if isinstance(rows, (str, bytes)) or not isinstance(rows, Iterable):
        raise RequestError(f"{_EXPECTED}, found {rows!r:.80}; write [(prompt, tool)]")
    return rows


def learn(native: NativeRouter, past: Any, id_of: Callable[[Any], str]) -> dict[str, Any]:
    """Learns from past prompts, and warns of ids that are no tool. Returns the report."""
    rows = [(prompt, list(map(id_of, served))) for prompt, served in map(_pair, _listed(past))]
    report: dict[str, Any] = json.loads(native.learn(rows))
    if report["unknown_ids"]:
        unknown = ", ".join(map(repr, report["unknown_ids"]))
        said = f"expected tools of this router, found {unknown:.200}; nothing was learned for them"
        warnings.warn(said, stacklevel=3)
    return report


def saved(native: NativeRouter) -> Optional[bytes]:
    """What was learned, as the file that holds it; `None` if that is nothing."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "usage")
        if not native.save(path):
            return None
        with open(path, "rb") as file:
            return file.read()


def restored(
    make: Callable[..., Router[Any]], source: Any, options: dict[str, Any], learned: Optional[bytes]
) -> Router[Any]:
    """A router of another process, with what that one learned."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        if learned is None:
            return make(source, **options)
        path = os.path.join(folder, "usage")
        with open(path, "wb") as file:
            file.write(learned)
        router = make(source, **{**options, "usage": path})
    router._options = options
    return router


def _pair(row: Any) -> tuple[str, list[Any]]:
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
    if not says_something(prompt):
        raise RequestError("a past prompt is empty; expected some words that say what is wanted")
    several = isinstance(served, (list, tuple, set, frozenset, Iterator, Selection))
    return encodable(prompt), list(served) if several else [served]
