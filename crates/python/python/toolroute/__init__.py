"""The right tools for a prompt, out of hundreds, on your own machine.

    >>> from toolroute import Router
    >>> def book_flight(city: str) -> str:
    ...     "Books a flight to a city"
    >>> def read_file(path: str) -> str:
    ...     "Reads a file from disk"
    >>> router = Router([book_flight, read_file])
    >>> selection = router.select("get me a plane to Lisbon", k=1)
    >>> selection[0].tool is book_flight
    True

`Router` ranks tools for prompts, `rank_batches` ranks tables of prompts, `embed` gives the vectors of
texts, and `rerank` orders texts by how well they answer a query. All run in this process: nothing is
sent anywhere, and the model is part of the package.
"""

from __future__ import annotations

from ._batches import rank_batches
from ._errors import (
    ArgumentError,
    CallError,
    CatalogError,
    ConfirmationNeeded,
    ModelError,
    RequestError,
    ToolrouteError,
    UnknownTool,
)
from ._json_lines import json_lines
from ._options import FilterOptions, PolicyOptions, RouterOptions, SelectOptions
from ._router import Router
from ._selection import Excluded, Hit, Selection
from ._texts import Ranked, embed, rerank
from ._toolroute import __version__

__all__ = [
    "ArgumentError",
    "CallError",
    "CatalogError",
    "ConfirmationNeeded",
    "Excluded",
    "FilterOptions",
    "Hit",
    "ModelError",
    "PolicyOptions",
    "Ranked",
    "RequestError",
    "Router",
    "RouterOptions",
    "SelectOptions",
    "Selection",
    "ToolrouteError",
    "UnknownTool",
    "__version__",
    "embed",
    "json_lines",
    "rank_batches",
    "rerank",
]
