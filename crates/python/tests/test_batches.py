"""Tables of prompts, batch by batch."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
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


def ranked(batches: Any, tools: Any = MIXED, **options: Any) -> Any:
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
    assert rows[0]["no_tools"] is None and rows[0]["read_as"] is None
    none = ranked([batch(prompt=["send an emial"])], max_cost="tiny", undeclared="exclude").to_pylist()[0]
    assert (none["no_tools"], none["read_as"]) == ("filtered", "send an email")


def test_nulls_of_views_of_texts_are_errors_of_their_rows():
    # The types that polars exports.
    texts = pa.array(["open a.txt", None, "mail Dana"], pa.string_view())
    lists = pa.array([["read_file"], None, None], pa.list_(pa.string_view()))
    rows = ranked([batch(id=texts, prompt=texts, candidates=lists)], limit=1).to_pylist()
    assert [row["id"] for row in rows] == ["open a.txt", None, "mail Dana"]
    assert [row["tools"][0]["id"] if row["tools"] else None for row in rows] == ["read_file", None, "send_email"]
    assert '"prompt" is missing' in rows[1]["error"]
    with pytest.raises(TypeError, match="the column `prompt` has 3"):
        ranked([batch(prompt=pa.array([None, 3]))])


def test_a_lazy_frame_is_refused_with_the_cure():
    class LazyFrame:
        columns = ("prompt",)

        def collect(self) -> Any:
            raise AssertionError

    with pytest.raises(TypeError, match=r"found LazyFrame; write batches.collect\(\)"):
        rank_batches(LazyFrame(), MIXED)  # type: ignore[arg-type]


def test_a_table_is_taken_as_its_batches():
    one = batch(query=["send an email to Dana", "read notes.txt"])
    expected = ranked([one]).to_pylist()
    assert ranked(pa.Table.from_batches([one])).to_pylist() == expected
    assert ranked(one).to_pylist() == expected
    nothing = ranked(one.schema.empty_table())
    assert nothing.num_rows == 0 and nothing.schema == ranked(one).schema


def test_the_columns_have_the_same_types_always():
    for ids, kept in [
        (pa.array([1], pa.uint8()), pa.uint8()),
        (pa.array(["a"], pa.large_string()), pa.large_string()),
        (pa.array(["a"]).dictionary_encode(), pa.string()),
        (pa.array([1.5]), pa.string()),
    ]:
        schema = ranked([pa.RecordBatch.from_arrays([ids, pa.array([None], pa.string())], ["id", "query"])]).schema
        assert schema.names == [
            "id", "tools", "fit", "fit_reason", "confidence", "degraded", "no_tools", "read_as",
            "unknown_candidates", "error",
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
    for row, found in zip(rows[1:3], ("missing", "empty")):
        assert row["error"].startswith(f'"text" is {found};')
        assert row["tools"] == [] and row["fit"] is None
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


OWN = {"name": "water_plants", "description": "Waters the plants"}
Rows = list[dict[str, Any]]


def of_the_command(rows: Rows, folder: Path, *arguments: str, as_csv: bool = False) -> Rows:
    """What `toolroute batch` answers."""
    source, output = folder / ("rows.csv" if as_csv else "rows.jsonl"), folder / "answers.jsonl"
    with source.open("w", newline="") as file:
        if as_csv:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        else:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    command = [sys.executable, "-m", "toolroute", "batch", "--tools", str(CATALOG), "--overwrite"]
    command += ["--input", str(source), "--output", str(output), *arguments]
    # It exits with 3 where a row fails.
    assert subprocess.run(command, capture_output=True).returncode in (0, 3)
    return parsed(output.read_text().splitlines())


def of_batches(table: Any, **options: Any) -> Rows:
    return parsed(json_lines(rank_batches(table.to_batches(), CATALOG, **options)))


def parsed(lines: Iterable[str]) -> Rows:
    """Answers without the lines of their files."""
    rows = [json.loads(line) for line in lines]
    return [{name: value for name, value in row.items() if name != "line"} for row in rows]


def ids(rows: Rows) -> list[list[str]]:
    return [[tool["id"] for tool in row["tools"]] for row in rows]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_candidates_and_tools_are_read_by_their_usual_names(tmp_path: Path):
    rows: Rows = [
        {"id": "a", "query": "mail Dana", "candidates": ["mail__read_message"], "tools": None},
        {"id": "b", "query": "water the plants", "candidates": None, "tools": [OWN]},
        {"id": "c", "query": "mail Dana", "candidates": [], "tools": None},
    ]
    table = pa.Table.from_pylist([{**row, "tools": json.dumps(row["tools"])} for row in rows])
    usual = of_batches(table)
    assert usual == of_the_command(rows, tmp_path)
    assert ids(usual)[:2] == [["mail__read_message"], ["water_plants"]]
    bare = of_batches(table, candidates_column="", tools_column="")
    assert bare == of_the_command(rows, tmp_path, "--candidates-column", "", "--tools-column", "")
    assert bare == of_batches(table.select(["id", "query"])) != usual
    other = table.set_column(2, "candidates", pa.array([1, 2, 3]))
    with pytest.raises(TypeError, match='`candidates` has 1; expected a text or list; candidates_column=""'):
        of_batches(other)
    assert of_batches(other, candidates_column="", tools_column="") == bare


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_bad_cell_is_the_error_of_its_row(tmp_path: Path):
    no_ids = 'the candidates are no JSON list of tool ids, such as ["mail__send"]: '
    no_list = "the tools are no list; expected a JSON list of tool definitions"
    own = json.dumps([OWN])
    cells = [
        # Candidates, tools, and how the error begins: what follows is what the parser of JSON says.
        ('["mail__read_message"]', "", None),
        ("", "null", None),
        (" null", own, None),
        ("no json", "", no_ids),
        ("[5]", own, no_ids),
        ("[null]", "", no_ids),
        ("{}", "", no_ids),
        ('["\\ud800"]', "", no_ids),
        ("[" * 100_000, "", no_ids),
        ("", "{}", no_list),
        ("", "no json", "the tools are no JSON: "),
        ("", "[1]", "`tools`: expected "),
        ("", '[{"foo": 1}]', "`tools`: expected "),
        ("", own, None),
    ]
    rows: Rows = [
        {"id": f"r{row}", "query": "mail Dana", "candidates": candidates, "tools": tools}
        for row, (candidates, tools, _) in enumerate(cells)
    ]
    found, command = of_batches(pa.Table.from_pylist(rows)), of_the_command(rows, tmp_path, as_csv=True)
    assert len(found) == len(command) == len(cells)
    for one, other, (_, _, begins) in zip(found, command, cells):
        if begins is None:
            assert one == other and "error" not in one
        else:
            assert one["error"].startswith(begins) and other["error"].startswith(begins)
            assert one["tools"] == other["tools"] == []
    assert ids(found)[0] == ["mail__read_message"]


def test_a_bad_element_of_a_list_is_the_error_of_its_row():
    lists = [["send_email"], [None], None]
    rows = ranked([batch(query=["mail Dana"] * 3, candidates=lists)]).to_pylist()
    assert [row["error"] for row in rows] == [None, "a candidate is null; expected ids of tools", None]
    assert ids(rows)[0] == ["send_email"] and rows[2]["tools"] and not rows[1]["tools"]
    numbers = ranked([batch(query=["mail"], candidates=[[5]])]).to_pylist()[0]
    assert "5 is no text" in numbers["error"] and numbers["tools"] == []
    bytes_of_tools = ranked([batch(query=["mail"], tools=[[b"x"]])]).to_pylist()[0]
    assert bytes_of_tools["error"].startswith("the tools are no JSON: ")


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_tools_are_structs(tmp_path: Path):
    types = pa.map_(pa.string(), pa.struct([("type", pa.string()), ("maximum", pa.float64())]))
    fields = [("name", pa.string()), ("description", pa.string()), ("tags", pa.list_(pa.string()))]
    schema = pa.struct([("type", pa.string()), ("properties", types)])
    tool = pa.struct([*fields, ("inputSchema", schema)])
    tools = [
        {**OWN, "inputSchema": {"type": "object", "properties": {"place": {"type": "string"}}}},
        {"name": "say_hi", "description": 'Says "hi" \u2603', "inputSchema": {"type": "object", "properties": {}}},
        {"name": "wait"},
    ]
    prompts = ["water the plants", "say hi", "mail Dana"]
    rows = [{"id": row, "query": text, "tools": tools} for row, text in enumerate(prompts)]
    columns = {"id": range(3), "query": prompts, "tools": pa.array([tools] * 3, pa.list_(tool))}
    found = of_batches(pa.table(columns))
    assert found == of_the_command(rows, tmp_path) and ids(found)[0][0] == "water_plants"
    from toolroute import _cells

    cell = columns["tools"][0].as_py()
    assert json.loads(_cells.tools(cell, columns["tools"].type) or "") == tools


def test_mistakes_are_named():
    one = batch(words=["mail Dana"], number=[1])
    with pytest.raises(RequestError, match="no column `prompt`; expected one of words, number.*prompt_column"):
        list(rank_batches([one], MIXED))
    with pytest.raises(ValueError, match="no column `key`.*id_column"):
        list(rank_batches([one], MIXED, prompt_column="words", id_column="key"))
    with pytest.raises(TypeError, match="the column `number` has 1; expected a text"):
        list(rank_batches([one], MIXED, prompt_column="number"))
    both = batch(query=["mail Dana"], prompt=["open a.txt"])
    with pytest.raises(ValueError, match="the columns `query` and `prompt`.*prompt_column="):
        list(rank_batches([both], MIXED))
    assert ids(ranked([both], prompt_column="prompt", limit=1).to_pylist()) == [["read_file"]]
    with pytest.raises(TypeError, match=r"rank_batches\(\) has no option 'cost'.*, limit, "):
        rank_batches([one], MIXED, cost="low")  # type: ignore[call-arg]
    with pytest.raises(RequestError, match="limit=0"):
        rank_batches([one], MIXED, limit=0)
    with pytest.raises(RequestError, match="magic"):
        rank_batches([one], MIXED, strategy="magic")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="did you mean `limit`"):
        rank_batches([one], MIXED, k=3)  # type: ignore[call-arg]
    for wrong in (3, None, "rows.csv", [{"prompt": "mail"}]):
        with pytest.raises(TypeError, match="expected record batches of pyarrow"):
            list(rank_batches(wrong, MIXED))  # type: ignore[arg-type]


def test_a_data_frame_is_taken_as_its_batches():
    class Frame:
        """As a data frame of pandas or polars, whose iterator gives the names of the columns."""

        columns = ["query"]

        def __iter__(self) -> Iterator[str]:
            return iter(self.columns)

        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return table.__arrow_c_stream__(requested_schema)

    table = pa.table({"query": ["send an email to Dana", "read notes.txt"]})
    assert ranked(Frame()).to_pylist() == ranked(table).to_pylist()

    class Old:
        columns = ["query"]

    with pytest.raises(TypeError, match="found Old"):
        rank_batches(Old(), MIXED)


def test_without_pyarrow_the_cure_is_said():
    program = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import toolroute\n"
        "try: toolroute.rank_batches([], [])\n"
        "except ImportError as error: assert 'pip install pyarrow' in str(error)\n"
        "else: raise SystemExit('expected an error')"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
