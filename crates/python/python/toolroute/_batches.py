"""Tables of prompts, ranked batch by batch: Arrow in, Arrow out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

from . import _cells, _options
from ._arrow import Array, DataType, RecordBatch, Schema, Table, import_pyarrow
from ._errors import CatalogError, RequestError
from ._router import Router
from ._toolroute import NativeRouter

if TYPE_CHECKING:
    from typing import Literal

    from typing_extensions import Unpack

    from ._options import Path, SelectOptions

    #: A router, the tools of one, or files and folders with tools.
    Tools = Union[Router[Any], Path, Iterable[Any]]


#: What the values of a column may be, by what it is for.
_KINDS: dict[str, tuple[type, ...]] = {"prompt": (str,), "candidates": (str, list), "tools": (str, list)}

#: Arguments of `rank_batches` itself, for its messages.
_ARGUMENTS = ("limit", "prompt_column", "id_column", "candidates_column", "tools_column")

_NO_BATCHES = (
    "expected record batches of pyarrow, a table (pyarrow.table(…)), or a data frame with "
    "`__arrow_c_stream__`, as pandas 2.2 and polars have"
)


class Columns(NamedTuple):
    """The names of the columns that are read. `None` takes the usual one where it is there; an empty name
    takes no candidates and no tools.
    """

    prompt: Optional[str] = None
    id: Optional[str] = None
    candidates: Optional[str] = None
    tools: Optional[str] = None


class _Row(NamedTuple):
    """A row that is read. One with an error has no prompt, so that it gets no tools."""

    prompt: str = ""
    candidates: Optional[list[str]] = None
    #: A list in JSON.
    tools: Optional[str] = None
    error: Optional[str] = None


class Job(NamedTuple):
    """What is asked of every row."""

    #: The options of a selection, as JSON.
    options: str
    columns: Columns


def rank_batches(
    batches: Union[Iterable[RecordBatch], Table],
    tools: Tools,
    *,
    limit: Union[int, Literal["auto"]] = 10,
    prompt_column: Optional[str] = None,
    id_column: Optional[str] = None,
    candidates_column: Optional[str] = None,
    tools_column: Optional[str] = None,
    **options: Unpack[SelectOptions],
) -> Iterator[RecordBatch]:
    """Ranks tables batch by batch: each batch gives one with a row for each of its rows, in their
    order. Needs pyarrow.

    A row of an answer has the members that `toolroute batch` writes; what that leaves out is null:

        id                  that of the row: an integer or a text
        tools               list<struct<id: string, score: float>>, best first
        fit                 `fits`, `unsure` or `none`
        fit_reason          why the tools are not sure to fit
        confidence          the probability that any tool fits, 0 to 1, as a 32-bit float
        degraded            `no_model` or `unread_language`
        no_tools            why `tools` is empty: `nothing_fits`, `filtered` or `empty_catalog`
        read_as             the text that was ranked, if it is not the prompt
        unknown_candidates  list<string>: candidates that are no tool
        error               why the row has no answer; other rows have theirs all the same

    Args:
        batches: Record batches of equal columns, a table, or a data frame of pandas or polars.
        tools: A `Router`, the tools of one, or a file or folder with tools.
        limit: How many tools a row gets at most; `"auto"` gives as many as its prompt needs.
        prompt_column: The texts to rank for [default: `query` or `prompt`; with both it must be said].
        id_column: What names a row [default: `id`; without one the row's number, counted from 0].
        candidates_column: Lists of ids, the only tools for their row, or such lists in JSON [default:
            `candidates` where it is there; `""` reads none].
        tools_column: Definitions of tools, which replace `tools` for their row: a JSON list as a
            text, a list of texts, each a tool in JSON, or a list of structs [default: `tools` where
            it is there; `""` reads none].
        options: `SelectOptions`, for all rows.

    Raises:
        ImportError: pyarrow is not installed.
        RequestError: A batch has no such column, or has both `query` and `prompt` and nothing says
            which is meant; or an option is out of range.
        TypeError: A column holds something else, or there is no such option.

    >>> import pyarrow
    >>> batch = pyarrow.RecordBatch.from_pydict({"id": [7], "prompt": ["open notes.txt"]})
    >>> answers = rank_batches([batch], [{"name": "read_file", "description": "Reads a file"}])
    >>> next(answers).to_pylist()[0]["tools"][0]["id"]
    'read_file'
    """
    _options.check("rank_batches", options, _ARGUMENTS)
    listed = _batches_of(batches)
    router = router_of(tools)
    columns = Columns(prompt_column, id_column, candidates_column, tools_column)
    return rank(listed, router._native, job_of(router, limit, columns, options))


def _batches_of(batches: Any) -> Iterable[RecordBatch]:
    """The batches of a table, or of an iterable, whose elements are checked as they come.

    Raises:
        TypeError: It is something else.
    """
    pa = import_pyarrow()
    if isinstance(batches, pa.RecordBatch):
        # Its iterator gives columns, as that of a table does.
        return [batches]
    if isinstance(batches, pa.Table):
        return _batches_from(batches.to_reader())
    if isinstance(batches, Iterable) and not hasattr(batches, "columns"):
        return map(_checked_batch, batches)
    if hasattr(batches, "__arrow_c_stream__"):
        # The data frames of pandas, polars and others.
        return _batches_from(pa.RecordBatchReader.from_stream(batches))
    cure = "; write batches.collect()" if callable(getattr(batches, "collect", None)) else ""
    raise TypeError(f"{_NO_BATCHES}, found {type(batches).__name__}{cure}")


def _batches_from(reader: Any) -> Iterator[RecordBatch]:
    """The batches of a stream; an empty one has a batch without rows, from which its answer has a schema."""
    batch = None
    for batch in reader:
        yield batch
    if batch is None:
        columns = [import_pyarrow().array([], field.type) for field in reader.schema]
        yield import_pyarrow().record_batch(columns, schema=reader.schema)


def _checked_batch(batch: Any) -> RecordBatch:
    if not isinstance(batch, import_pyarrow().RecordBatch):
        raise TypeError(f"{_NO_BATCHES}, found {type(batch).__name__} among them")
    return batch


def router_of(tools: Tools, **options: Any) -> Router[Any]:
    """A router over tools, files or folders; one that is given is returned."""
    if isinstance(tools, Router):
        return tools
    if isinstance(tools, (str, os.PathLike)):
        return Router.from_path(tools, **options)
    return Router(tools, **options)


def job_of(
    router: Router[Any],
    limit: Union[int, Literal["auto"]],
    columns: Columns,
    options: Mapping[str, Any],
) -> Job:
    """What is asked of every row.

    Raises:
        RequestError: An option is out of range.
        TypeError: There is no such option.
    """
    _options.check("rank", options, _ARGUMENTS)
    asked = router._asked(limit if limit == "auto" else _options.limit(limit, "limit"), options)
    router._native.rank_rows([], asked)
    return Job(asked, columns)


def rank(
    batches: Iterable[RecordBatch], native: NativeRouter, job: Job
) -> Iterator[RecordBatch]:
    """`rank_batches` with a router that is made."""
    done = 0
    for batch in batches:
        yield _rank_batch(batch, native, job, done)
        done += batch.num_rows


def schema(id_type: DataType) -> Schema:
    """The columns of an answer; `id_type` is that of the column of ids that was given."""
    pa = import_pyarrow()
    tool = pa.struct([("id", pa.string()), ("score", pa.float32())])
    return pa.schema(
        [
            ("id", _kept(id_type)),
            ("tools", pa.list_(tool)),
            ("fit", pa.string()),
            ("fit_reason", pa.string()),
            ("confidence", pa.float32()),
            ("degraded", pa.string()),
            ("no_tools", pa.string()),
            ("read_as", pa.string()),
            ("unknown_candidates", pa.list_(pa.string())),
            ("error", pa.string()),
        ]
    )


def _rank_batch(
    batch: RecordBatch, native: NativeRouter, job: Job, first: int
) -> RecordBatch:
    pa = import_pyarrow()
    rows = _rows(batch, job.columns)
    found = _answers(native, rows, job.options)
    for place, row in enumerate(rows):
        if row.error is not None:
            found["error"][place] = row.error
    ids = _ids(batch, job.columns.id, first)
    made = schema(ids.type)
    tool = made.field("tools").type.value_type
    scored = [pa.array(found["ids"], pa.string()), pa.array(found["scores"], pa.float32())]
    offsets = [0]
    for count in found["counts"]:
        offsets.append(offsets[-1] + count)
    lists = pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()), pa.StructArray.from_arrays(scored, fields=list(tool))
    )
    rest = [pa.array(found[field.name], field.type) for field in list(made)[2:]]
    return pa.RecordBatch.from_arrays([ids, lists, *rest], schema=made)


def _rows(batch: RecordBatch, columns: Columns) -> list[_Row]:
    prompt_column = columns.prompt or _prompt_column(batch)
    prompts = _checked(_column(batch, "prompt", prompt_column), "prompt", prompt_column)
    candidates = _optional(batch, "candidates", columns.candidates)
    tools = _optional(batch, "tools", columns.tools)

    def row(prompt: Any, candidates_cell: Any, tools_cell: Any) -> _Row:
        try:
            ids = _cells.candidates(candidates_cell)
            own = _cells.tools(tools_cell, tools.type)
        except ValueError as error:
            return _Row(error=str(error))
        if isinstance(prompt, str) and any(map(str.isalnum, prompt)):
            return _Row(prompt, ids, own)
        found = "missing" if prompt is None else "empty" if isinstance(prompt, str) else "no text"
        return _Row(error=f'"{prompt_column}" is {found}; expected some words that say what is wanted')

    return list(map(row, prompts.to_pylist(), candidates.to_pylist(), tools.to_pylist()))


def _answers(native: NativeRouter, rows: list[_Row], options: str) -> dict[str, list[Any]]:
    """Column by column; neighbours with the same tools are ranked together."""
    columns: dict[str, list[Any]] = native.rank_rows([], options)
    for text, group in groupby(rows, key=lambda row: row.tools):
        asked = [(row.prompt, row.candidates) for row in group]
        try:
            part = native.rank_rows(asked, options, text)
        except CatalogError as error:
            if text is None:
                raise
            part = _failed(columns, len(asked), str(error))
        for name, values in part.items():
            columns[name].extend(values)
    return columns


def _failed(names: Iterable[str], count: int, because: str) -> dict[str, list[Any]]:
    """Rows that have an error alone."""
    columns: dict[str, list[Any]] = {name: [None] * count for name in names}
    return {**columns, "counts": [0] * count, "ids": [], "scores": [], "error": [because] * count}


def _prompt_column(batch: RecordBatch) -> str:
    found = [name for name in ("query", "prompt") if name in batch.schema.names]
    if len(found) == 2:
        raise RequestError(
            "found the columns `query` and `prompt`; expected one with the prompts, named with prompt_column="
        )
    return found[0] if found else "prompt"


def _column(batch: RecordBatch, purpose: str, name: str) -> Array:
    names = batch.schema.names
    if name not in names:
        listed = ", ".join(names) or "none"
        raise RequestError(f"no column `{name}`; expected one of {listed}, named with {purpose}_column=")
    return batch.column(names.index(name))


def _optional(batch: RecordBatch, purpose: str, name: Optional[str]) -> Array:
    """A column that need not be there; nulls where it is not."""
    if name == "" or (name is None and purpose not in batch.schema.names):
        return import_pyarrow().nulls(batch.num_rows)
    name = name or purpose
    return _checked(_column(batch, purpose, name), purpose, name)


def _checked(column: Array, purpose: str, name: str) -> Array:
    """
    Raises:
        TypeError: The values of the column are of another kind.
    """
    # Of those of an extension type each may be of its own kind: a wrong one is the error of its row.
    if isinstance(column.type, import_pyarrow().BaseExtensionType):
        return column
    kinds = _KINDS[purpose]
    # pyarrow cannot drop the nulls of the views that polars has.
    value = next((cell.as_py() for cell in column if cell.is_valid), None)
    if value is not None and not isinstance(value, kinds):
        expected = " or ".join("text" if kind is str else "list" for kind in kinds)
        cure = "" if purpose == "prompt" else f'; {purpose}_column="" reads none'
        raise TypeError(f"the column `{name}` has {value!r:.60}; expected a {expected}{cure}")
    return column


def _ids(batch: RecordBatch, name: Optional[str], first: int) -> Array:
    pa = import_pyarrow()
    if name is None:
        if "id" not in batch.schema.names:
            return pa.array(range(first, first + batch.num_rows), pa.int64())
        name = "id"
    ids = _column(batch, "id", name)
    return ids.cast(_kept(ids.type))


def _kept(id_type: DataType) -> DataType:
    """The type of ids in the answer."""
    types = import_pyarrow().types
    if types.is_integer(id_type) or types.is_string(id_type) or types.is_large_string(id_type):
        return id_type
    return import_pyarrow().string()
