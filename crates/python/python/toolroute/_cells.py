"""Cells of a table that hold candidates or tools, as `toolroute batch` reads them."""

from __future__ import annotations

import json
import math
from functools import lru_cache
from typing import Any, Optional

from ._arrow import DataType, import_pyarrow

_NO_IDS = 'the candidates are no JSON list of tool ids, such as ["mail__send"]'
_NO_LIST = "the tools are no list; expected a JSON list of tool definitions"


def candidates(cell: Any) -> Optional[list[str]]:
    """The ids of a list of texts, or of a list in JSON; `None` for no text and for null.

    Raises:
        ValueError: It is something else.
    """
    if isinstance(cell, list) and None in cell:
        raise ValueError("a candidate is null; expected ids of tools")
    if isinstance(cell, str):
        cell = _parse(cell, _NO_IDS) if cell.strip() else None
    if cell is None:
        return None
    if not isinstance(cell, list):
        raise ValueError(f"{_NO_IDS}: {cell!r:.60} is no list")
    for id in cell:
        if not isinstance(id, str):
            raise ValueError(f"{_NO_IDS}: {id!r:.60} is no text")
        # JSON can name halves of characters, which no text has.
        if not id.isascii() and any("\ud800" <= char <= "\udfff" for char in id):
            raise ValueError(f"{_NO_IDS}: {id!r:.60} is no Unicode")
    return cell


def tools(cell: Any, of: DataType) -> Optional[str]:
    """The tools of a list in JSON, of a list with a definition in each text, or of a list of structs, as a
    list in JSON; `None` for no text and for null.

    Args:
        of: The type of the column.

    Raises:
        ValueError: It is something else.
    """
    if isinstance(cell, list):
        element = getattr(of, "value_type", None)
        try:
            each = [one if isinstance(one, str) else json.dumps(_json(one, element)) for one in cell]
        except (TypeError, ValueError) as error:
            raise ValueError(f"the tools are no JSON: {error}") from None
        cell = f"[{','.join(each)}]"
    if cell is None:
        return None
    if not isinstance(cell, str):
        raise ValueError(_NO_LIST)
    return _tools_text(cell.strip())


@lru_cache(maxsize=1)
def _tools_text(text: str) -> Optional[str]:
    """Neighbours often have the same tools, which are parsed once."""
    parsed = _parse(text, "the tools are no JSON") if text else None
    if parsed is None:
        return None
    if not isinstance(parsed, list):
        raise ValueError(_NO_LIST)
    return text


def _parse(text: str, otherwise: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{otherwise}: {error}") from None


def _json(value: Any, of: DataType) -> Any:
    """A value of a column as one of JSON. Members of a struct that are null are left out, since a table
    has a column for every member that any row has.
    """
    types = import_pyarrow().types
    if isinstance(value, dict):
        members = {field.name: field.type for field in of} if of and types.is_struct(of) else {}
        return {
            name: _json(one, members.get(name)) for name, one in value.items() if one is not None
        }
    if isinstance(value, list):
        if of and types.is_map(of):
            return {name: _json(one, of.item_type) for name, one in value}
        return [_json(one, getattr(of, "value_type", None)) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
