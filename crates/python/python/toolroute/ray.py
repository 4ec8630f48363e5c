"""Datasets of Ray, ranked by the workers of a cluster. Needs `ray[data]`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Optional, Union

from ._arrow import Table, import_pyarrow
from ._batches import Columns, Job
from ._batches import rank as rank_batches
from ._manifest import RouterManifest, prepare

if TYPE_CHECKING:
    from typing import Literal

    from ray import ObjectRef
    from ray.data import Dataset
    from typing_extensions import Unpack

    from ._batches import Tools
    from ._options import SelectOptions

__all__ = ["rank"]


def rank(
    dataset: Dataset,
    tools: Tools,
    *,
    limit: Union[int, Literal["auto"]] = 10,
    concurrency: Union[int, tuple[int, int], None] = None,
    num_cpus: int = 1,
    batch_size: int = 1024,
    prompt_column: Optional[str] = None,
    id_column: str = "id",
    candidates_column: Optional[str] = None,
    tools_column: Optional[str] = None,
    **options: Unpack[SelectOptions],
) -> Dataset:
    """Ranks a dataset of prompts on a cluster, lazily: a dataset with a row for each row, as
    `toolroute.rank_batches` gives it.

    This process embeds the tools once. Each worker is an actor with a router of its own, which loads
    the vectors from a file that the first worker of a machine writes. Rows may come in another order;
    their ids name them.

        ranked = toolroute.ray.rank(ray.data.read_parquet("prompts/"), tools, concurrency=8)
        ranked.write_parquet("ranked/", min_rows_per_file=1_000_000)

    Args:
        dataset: A dataset with a column of prompts and one of ids.
        tools: A `Router`, the tools of one, or a file or folder with tools.
        concurrency: The most workers, or the least and the most [default: as many as the cluster has
            room for]. The least must leave cores for what reads and writes, or Ray waits for ever.
        num_cpus: The cores of a worker, which ranks on as many threads.
        batch_size: How many rows a worker is given at a time, and ranks again where it dies: a block
            of the answer has as many.

    The others are those of `toolroute.rank_batches`.
    """
    try:
        import ray
    except ImportError as error:
        said = "toolroute.ray needs ray[data]; install it with `pip install 'ray[data]'`"
        raise ImportError(said) from error

    columns = Columns(prompt_column, id_column, candidates_column, tools_column)
    job, manifest, parts = prepare(tools, limit, columns, options)
    references = {name: ray.put(data) for name, data in parts.items()}
    least, most = concurrency if isinstance(concurrency, tuple) else (1, concurrency)
    # Ray reads many small files as one block, which one worker would rank alone.
    return dataset.repartition(target_num_rows_per_block=batch_size).map_batches(
        RankingActor,
        batch_size=batch_size,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(min_size=least, max_size=most),
        num_cpus=num_cpus,
        fn_constructor_args=(job, manifest, references, num_cpus),
    )


class RankingActor:
    """A worker: it loads the driver's router once, and ranks batches."""

    def __init__(
        self,
        job: Job,
        manifest: RouterManifest,
        references: Mapping[str, ObjectRef[bytes]],
        threads: int,
    ) -> None:
        import ray

        # Read when the first thread is needed. Ray limits other libraries by variables like this.
        os.environ["RAYON_NUM_THREADS"] = str(threads)
        self._job = job
        self._router = manifest.load(lambda name: ray.get(references[name]))

    def __call__(self, table: Table) -> Table:
        pa = import_pyarrow()
        # A table of no rows may have no batch, and its answer has columns all the same.
        batches = table.combine_chunks().to_batches() or [
            pa.RecordBatch.from_pylist([], schema=table.schema)
        ]
        return pa.Table.from_batches(rank_batches(batches, self._router, self._job))
