"""Workers on other machines: what a driver ships, Ray Data and Spark, with the real packages."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import MIXED

from toolroute import ModelError, RequestError, Router, __version__, json_lines, rank_batches
from toolroute._batches import Columns, rank
from toolroute._manifest import _loaded, prepare

pa = pytest.importorskip("pyarrow")
PROMPTS = [f"{asked} {row}" for row in range(50) for asked in ("mail Dana", "read file", "what is love")]
TABLE = pa.table({"id": range(len(PROMPTS)), "prompt": PROMPTS})


@pytest.fixture(autouse=True)
def own_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing that another run shipped is there."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    _loaded.clear()
    return tmp_path / f"toolroute-{os.getuid()}"


def expected(tools: Any = MIXED, **options: Any) -> list[str]:
    return list(json_lines(rank_batches(TABLE.to_batches(), tools, **options)))


def in_order(table: Any) -> list[str]:
    """The lines of a table whose rows came in any order, each once."""
    return list(json_lines(table.sort_by("id").combine_chunks().to_batches()))


def test_a_worker_embeds_nothing_and_answers_the_same(tmp_path: Path):
    overlay = tmp_path / "overlay.toml"
    overlay.write_text(
        '[[overlay]]\nmatch = "send_*"\ncost = "high"\n'
        '[[overlay]]\nmatch = "git__*"\nrouting.signals = [{ pattern = "mail", weight = 0.9 }]\n'
    )
    router = Router(MIXED, overlay=[overlay], max_cost="medium", whole=True)
    router.learn([("mail Dana", "get_weather"), ("mail Dana now", "get_weather")])
    job, manifest, parts = prepare(router, 4, Columns(), {"exclude": ["read_*"]})
    worker = manifest.load(parts.__getitem__)
    assert worker.fingerprint == router._native.fingerprint
    assert worker.embedded == 0 and set(parts) == {"tools", "vectors", "usage"}
    lines = list(json_lines(rank(TABLE.to_batches(), worker, job)))
    assert lines == expected(router, limit=4, exclude=["read_*"])


def test_the_vectors_of_an_index_are_shipped(tmp_path: Path):
    router = Router(MIXED, index=tmp_path / "index")
    _, _, parts = prepare(router, 4, Columns(), {})
    assert parts["vectors"] == (tmp_path / "index").read_bytes()
    _, _, parts = prepare(Router(MIXED, model="none"), 4, Columns(), {})
    assert set(parts) == {"tools"}
    _, manifest, parts = prepare([], 4, Columns(), {})
    assert len(manifest.load(parts.__getitem__)) == 0


def test_parts_are_fetched_once_a_machine(own_temporary_files: Path):
    _, manifest, parts = prepare(MIXED, 4, Columns(), {})
    fetched: list[str] = []

    def part(name: str) -> bytes:
        fetched.append(name)
        return parts[name]

    for _ in range(2):
        manifest.load(part)
        _loaded.clear()
    assert sorted(fetched) == ["tools", "vectors"]
    assert stat.S_IMODE(own_temporary_files.stat().st_mode) == 0o700
    left = {path.name for path in own_temporary_files.iterdir() if path.suffix != ".lock"}
    assert left == set(manifest.digests.values())


def test_a_worker_with_another_model_is_an_error(own_temporary_files: Path):
    _, manifest, parts = prepare(MIXED, 4, Columns(), {})
    other = replace(manifest, settings=json.dumps({"model": "static"}))
    with pytest.raises(ModelError, match="another model than the driver; install the same on all machines"):
        other.load(parts.__getitem__)
    # The vectors that the other workers of its machine share are as they were.
    kept = own_temporary_files / manifest.digests["vectors"]
    assert kept.read_bytes() == parts["vectors"]
    left = {path.name for path in own_temporary_files.iterdir() if path.suffix != ".lock"}
    assert left == set(manifest.digests.values())
    assert manifest.load(parts.__getitem__).embedded == 0


def test_a_worker_with_another_version_is_an_error(monkeypatch: pytest.MonkeyPatch):
    _, manifest, parts = prepare(MIXED, 4, Columns(), {})
    manifest.load(parts.__getitem__)
    monkeypatch.setattr("toolroute._manifest.__version__", "0.0.1")
    # It is loaded already, and its fingerprint is the same.
    with pytest.raises(ModelError, match=rf"version 0\.0\.1 of toolroute, and the driver {__version__};"):
        manifest.load(parts.__getitem__)


def test_a_damaged_file_is_fetched_again(own_temporary_files: Path):
    _, manifest, parts = prepare(MIXED, 4, Columns(), {})
    manifest.load(parts.__getitem__)
    for name, digest in manifest.digests.items():
        (own_temporary_files / digest).write_bytes(parts[name][:-1])
    _loaded.clear()
    assert manifest.load(parts.__getitem__).embedded == 0
    for name, digest in manifest.digests.items():
        assert (own_temporary_files / digest).read_bytes() == parts[name]


def test_what_belongs_to_a_machine_is_not_shipped(tmp_path: Path):
    with pytest.raises(RequestError, match="belongs to its machine"):
        prepare(Router(MIXED, feedback=tmp_path / "log.db"), 4, Columns(), {})


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    ray = pytest.importorskip("ray", reason="!! SKIPPED: ray is not installed")
    pytest.importorskip("ray.data", reason="!! SKIPPED: ray[data] is not installed")
    ray.init("local", num_cpus=3, object_store_memory=100 * 2**20, include_dashboard=False, logging_level="error")
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield ray
    ray.shutdown()


def test_ray_ranks_each_row_once(ray: Any):
    from toolroute.ray import rank

    dataset = ray.data.from_arrow(TABLE).repartition(5)
    answers = rank(dataset, MIXED, limit=3, concurrency=2, batch_size=16, max_per_server=2)
    table = pa.concat_tables(ray.get(answers.to_arrow_refs()))
    assert in_order(table) == expected(limit=3, max_per_server=2)
    empty = ray.data.from_arrow(TABLE.slice(0, 0))
    assert rank(empty, MIXED).count() == 0
    with pytest.raises(Exception, match="no column `key`; expected one of id, prompt"):
        rank(dataset, MIXED, id_column="key", concurrency=1).take_all()


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    sql = pytest.importorskip("pyspark.sql", reason="!! SKIPPED: pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("!! SKIPPED: java is not installed")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.driver.memory", "1g").getOrCreate()
    yield session
    session.stop()


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_spark_ranks_each_row_once(spark: Any):
    from toolroute.spark import rank

    rows = list(enumerate(PROMPTS))
    frame = spark.createDataFrame(rows, ["id", "prompt"]).repartition(3)
    assert in_order(rank(frame, MIXED, limit=3).toArrow()) == expected(limit=3)
    frame = spark.createDataFrame([(str(row), text) for row, text in rows], ["name", "asked"])
    answers = rank(frame, MIXED, limit="auto", id_column="name", prompt_column="asked")
    assert sorted(row["id"] for row in answers.collect()) == sorted(map(str, range(len(rows))))
