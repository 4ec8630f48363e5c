"""Tables of prompts, batch by batch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import MIXED, OPENAI, ROOT

from toolroute import RequestError, Router, json_lines, rank_batches

pa = pytest.importorskip("pyarrow")
CATALOG = ROOT / "examples/catalog"
PROMPTS = [
    "send an email to Dana",
    "raed the file notes.txt and then delete it",
    "what is love?",
    "",
    "Wie wird das Wetter morgen?",
    'say "hi" to Zoë ☃ by mail',
]


def batch(**columns: Any) -> Any:
    return pa.RecordBatch.from_pydict(columns)


def ranked(batches: list[Any], tools: Any = MIXED, **options: Any) -> Any:
    return pa.Table.from_batches(list(rank_batches(batches, tools, **options)))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("options", [{}, {"limit": 3}, {"limit": "auto", "max_cost": "medium"}])
def test_the_lines_are_those_of_the_command_line(tmp_path: Path, options: dict[str, Any]):
    rows: list[dict[str, Any]] = [
        {"id": f"q{row}", "query": prompt, "candidates": None}
        for row, prompt in enumerate(PROMPTS * 60)
    ]
    rows[7]["candidates"] = ["no__such", "gmail__send_message"]
    rows[8]["candidates"] = ["no__such"]
    queries, output = tmp_path / "queries.jsonl", tmp_path / "answers.jsonl"
    queries.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [sys.executable, "-m", "toolroute", "batch", "--tools", str(CATALOG)]
    command += ["--input", str(queries), "--output", str(output), "--limit", str(options.get("limit", 10))]
    if "max_cost" in options:
        command += ["--max-cost", options["max_cost"]]
    subprocess.run(command, check=True, capture_output=True)
    batches = pa.Table.from_pylist(rows).to_batches(max_chunksize=100)
    answers = rank_batches(batches, CATALOG, candidates_column="candidates", **options)
    assert "".join(json_lines(answers)) == output.read_text()


def test_a_batch_gives_a_batch_with_its_rows():
    batches = [batch(prompt=["mail Dana", "read notes.txt"]), batch(prompt=[]), batch(prompt=["mail"])]
    batches[1] = batches[1].cast(batches[0].schema)
    answers = list(rank_batches(iter(batches), MIXED, limit=2))
    assert [answer.num_rows for answer in answers] == [2, 0, 1]
    rows = pa.Table.from_batches(answers).to_pylist()
    assert [row["id"] for row in rows] == [0, 1, 2]
    own = Router(MIXED).select("mail Dana", k=2)
    assert [tool["id"] for tool in rows[0]["tools"]] == [hit.id for hit in own]
    assert rows[0]["tools"][0]["score"] == pytest.approx(own[0].score)
    assert rows[0]["fit"] == own.fit and rows[0]["confidence"] == pytest.approx(own.confidence)
    assert rows[0]["error"] is None and rows[0]["unknown_candidates"] is None


def test_the_columns_have_the_same_types_always():
    for ids, kept in [
        (pa.array([1], pa.uint8()), pa.uint8()),
        (pa.array(["a"], pa.large_string()), pa.large_string()),
        (pa.array(["a"]).dictionary_encode(), pa.string()),
        (pa.array([1.5]), pa.string()),
    ]:
        schema = ranked([pa.RecordBatch.from_arrays([ids, pa.array([None], pa.string())], ["id", "query"])]).schema
        assert schema.names == [
            "id", "tools", "fit", "fit_reason", "confidence", "degraded", "unknown_candidates", "error"
        ]  # fmt: skip
        assert schema.field("id").type == kept
        tool = pa.struct([("id", pa.string()), ("score", pa.float32())])
        assert schema.field("tools").type == pa.list_(tool)
        assert schema.field("confidence").type == pa.float32()
        assert schema.field("unknown_candidates").type == pa.list_(pa.string())


def test_a_row_that_fails_costs_no_other_its_answer():
    one = batch(
        text=["mail Dana", None, " ", "read notes.txt", "mail"],
        only=[None, None, None, ["no_such"], ["no_such", "send_email"]],
    )
    rows = ranked([one], prompt_column="text", candidates_column="only").to_pylist()
    assert rows[0]["tools"] and rows[0]["error"] is None
    for row in rows[1:3]:
        assert row["error"].startswith('"text" is empty') and row["tools"] == [] and row["fit"] is None
    assert "`no_such`" in rows[3]["error"]
    assert [tool["id"] for tool in rows[4]["tools"]] == ["send_email"]
    assert rows[4]["unknown_candidates"] == ["no_such"]


def test_rows_bring_their_own_tools():
    own = [{"name": "water_plants", "description": "Waters the plants"}]
    one = batch(
        prompt=["water the plants", "water my plants", "mail Dana", "water the plants", "mail"],
        tools=[json.dumps(own), json.dumps(own), None, "no json", json.dumps([OPENAI])],
    )
    rows = ranked([one], tools_column="tools", limit=1).to_pylist()
    found = [[tool["id"] for tool in row["tools"]] for row in rows]
    assert found == [["water_plants"], ["water_plants"], ["send_email"], [], ["send_email"]]
    assert rows[3]["error"] and rows[4]["error"] is None
    assert ranked([one], [], tools_column="tools", limit=1).to_pylist()[0] == rows[0]
    lists = batch(prompt=["water the plants"], tools=[[json.dumps(tool) for tool in own]])
    assert ranked([lists], tools_column="tools").to_pylist()[0]["tools"][0]["id"] == "water_plants"


def test_mistakes_are_named():
    one = batch(words=["mail Dana"], number=[1])
    with pytest.raises(ValueError, match="no column `prompt`; expected one of words, number.*prompt_column"):
        list(rank_batches([one], MIXED))
    with pytest.raises(ValueError, match="no column `key`.*id_column"):
        list(rank_batches([one], MIXED, prompt_column="words", id_column="key"))
    with pytest.raises(TypeError, match="the column `number` has 1; expected a text"):
        list(rank_batches([one], MIXED, prompt_column="number"))
    with pytest.raises(TypeError, match="no option 'cost'"):
        rank_batches([one], MIXED, cost="low")  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="limit"):
        rank_batches([one], MIXED, limit=0)
    with pytest.raises(RequestError, match="magic"):
        rank_batches([one], MIXED, strategy="magic")  # type: ignore[arg-type]


def test_without_pyarrow_the_cure_is_said():
    program = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import toolroute\n"
        "try: toolroute.rank_batches([], [])\n"
        "except ImportError as error: assert 'pip install pyarrow' in str(error)\n"
        "else: raise SystemExit('expected an error')"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
