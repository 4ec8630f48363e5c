"""Data frames of Spark, ranked by its executors. Needs `pyspark` and `pyarrow`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Optional, Union

from ._arrow import RecordBatch
from ._batches import Columns
from ._batches import rank as rank_batches
from ._manifest import prepare

if TYPE_CHECKING:
    from typing import Literal

    from pyspark.sql import DataFrame  # type: ignore[import-not-found, unused-ignore]
    from typing_extensions import Unpack

    from ._batches import Tools
    from ._options import SelectOptions

__all__ = ["rank"]

_KEPT_IDS = ("tinyint", "smallint", "int", "bigint", "string")


def rank(
    df: DataFrame,
    tools: Tools,
    *,
    limit: Union[int, Literal["auto"]] = 10,
    prompt_column: Optional[str] = None,
    id_column: str = "id",
    candidates_column: Optional[str] = None,
    tools_column: Optional[str] = None,
    **options: Unpack[SelectOptions],
) -> DataFrame:
    """Ranks a data frame of prompts, lazily: a data frame with a row for each row, as
    `toolroute.rank_batches` gives it.

    The driver embeds the tools once and broadcasts the vectors; each process of Python that an
    executor starts has a router of its own, with as many threads as `spark.task.cpus` says.

        toolroute.spark.rank(spark.read.parquet("prompts"), tools).write.parquet("ranked")

    Args:
        df: A data frame with a column of prompts and one of ids.
        tools: A `Router`, the tools of one, or a file or folder with tools.

    The others are those of `toolroute.rank_batches`.
    """
    columns = Columns(prompt_column, id_column, candidates_column, tools_column)
    job, manifest, parts = prepare(tools, limit, columns, options)
    context = df.sparkSession.sparkContext
    broadcasts = {name: context.broadcast(data) for name, data in parts.items()}
    threads = context.getConf().get("spark.task.cpus", "1")

    def ranked(batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
        # Read when the first thread is needed.
        os.environ["RAYON_NUM_THREADS"] = str(threads)
        router = manifest.load(lambda name: broadcasts[name].value)
        return rank_batches(batches, router, job)

    id_type = df.schema[id_column].dataType.simpleString()
    return df.mapInArrow(ranked, _columns(id_type if id_type in _KEPT_IDS else "string"))


def _columns(id_type: str) -> str:
    return (
        f"id {id_type}, tools array<struct<id: string, score: float>>, fit string, fit_reason string, "
        "confidence float, degraded string, no_tools string, read_as string, "
        "unknown_candidates array<string>, error string"
    )
