"""Answers of tables as the lines of JSON that the command line writes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from ._arrow import Array, RecordBatch, import_pyarrow

#: The members of a line, in their order; all but the first two are left out where they are null.
_MEMBERS = (
    "id",
    "tools",
    "fit",
    "fit_reason",
    "confidence",
    "degraded",
    "no_tools",
    "read_as",
    "unknown_candidates",
    "line",
    "error",
)


def json_lines(batches: Iterable[RecordBatch], first_line: int = 1) -> Iterator[str]:
    """The rows of `rank_batches` as the lines that `toolroute batch` writes, byte for byte.

    Args:
        batches: What `rank_batches` gave, in the order of the input.
        first_line: The number of the first row, which stands in rows with an error.

    >>> from toolroute import rank_batches
    >>> import pyarrow
    >>> batch = pyarrow.RecordBatch.from_pydict({"id": [7], "query": [""]})
    >>> print(*json_lines(rank_batches([batch], [{"name": "add", "description": "Adds"}])), end="")
    {"id":7,"tools":[],"line":1,"error":"\\"query\\" is empty; expected some words that say what is wanted"}
    """
    line = first_line
    for batch in batches:
        columns = {
            name: list(map(_json, batch.column(place).to_pylist()))
            for place, name in enumerate(batch.schema.names)
            if name not in ("tools", "confidence")
        }
        columns["tools"] = _tools(batch.column(batch.schema.names.index("tools")))
        columns["confidence"] = _numbers(batch.column(batch.schema.names.index("confidence")))
        for row, error in enumerate(columns["error"]):
            found = {name: texts[row] for name, texts in columns.items()}
            found["line"] = "null" if error == "null" else str(line)
            members = (
                f'"{name}":{found[name]}'
                for name in _MEMBERS
                if name in ("id", "tools") or found[name] != "null"
            )
            yield f"{{{','.join(members)}}}\n"
            line += 1


def _tools(lists: Array) -> list[str]:
    """The lists of tools, each as JSON."""
    flat = lists.flatten()
    ids, scores = flat.field("id").to_pylist(), _numbers(flat.field("score"))
    tools = [f'{{"id":{_json(id)},"score":{score}}}' for id, score in zip(ids, scores)]
    texts, start = [], 0
    for count in lists.value_lengths().to_pylist():
        end = start + (count or 0)
        texts.append(f"[{','.join(tools[start:end])}]")
        start = end
    return texts


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _numbers(column: Array) -> list[str]:
    """The shortest texts of 32-bit floats, with a point where Rust writes one."""
    texts = column.cast(import_pyarrow().string()).to_pylist()
    return ["null" if text is None else _with_point(text) for text in texts]


def _with_point(number: str) -> str:
    return f"{number}.0" if number.lstrip("-").isdigit() else number
