"""pyarrow, which is imported only where it is needed."""

from __future__ import annotations

from typing import Any

# pyarrow declares no types.
RecordBatch = Any
Table = Any
Array = Any
DataType = Any
Schema = Any


def import_pyarrow() -> Any:
    """
    Raises:
        ImportError: pyarrow is not installed.
    """
    try:
        import pyarrow  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError as error:
        said = "Arrow batches need pyarrow; install it with `pip install pyarrow`"
        raise ImportError(said) from error
    return pyarrow
