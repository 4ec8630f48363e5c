"""Calls of the tools of servers."""

from __future__ import annotations

import asyncio
import json
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

from ._option_checks import kind_of

if TYPE_CHECKING:
    from ._toolroute import NativeRouter


class Order(NamedTuple):
    """A call that is asked for."""

    id: str
    #: An object as JSON.
    arguments: str
    #: What the user wants to know.
    prompt: str
    confirmed: bool
    session: Optional[str]


def run(native: NativeRouter, order: Order) -> Any:
    """The structured answer of a tool, or else its text."""
    return _answer(native.call(order))


async def awaited(native: NativeRouter, order: Order) -> Any:
    """`run` in an event loop. No thread waits, and the server is told of a call that is cancelled."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[str] = loop.create_future()

    def settle(report: Optional[str], error: Optional[Exception]) -> None:
        if ended.done():
            return
        if report is None:
            ended.set_exception(error or RuntimeError("a call ended without a report. This is a bug."))
        else:
            ended.set_result(report)

    running = native.start(order, lambda *outcome: loop.call_soon_threadsafe(settle, *outcome))
    try:
        return _answer(await ended)
    finally:
        running.cancel()


def more(native: NativeRouter, handle: Any, offset: int) -> dict[str, Any]:
    """A part of an answer that was cut."""
    if not isinstance(handle, str):
        raise TypeError(f"handle={handle!r:.80}: expected a text, found {kind_of(handle)}")
    page: dict[str, Any] = json.loads(native.read_more(handle, offset))
    return page


def _answer(report: str) -> Any:
    found = json.loads(report)
    for said in found.get("unasked", []):
        # The tool may not have done what was ordered.
        warnings.warn(said, stacklevel=4)
    data = found.get("data")
    return found.get("text") if data is None else data
