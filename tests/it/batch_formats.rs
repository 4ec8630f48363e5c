//! `toolroute batch` over JSON lines, CSV, Parquet and Arrow, packed or not, on both sides.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::DataType;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};

use crate::support::{CommandExt as _, Sandbox, ids, rows};

/// Prompts that are answered, one of them among candidates, one by tools of its own.
fn table() -> RecordBatch {
    let prompts = ["the current weather in Haifa", "compute 2+2", "send a mail to Dana"];
    let ids = Int64Array::from(vec![7, 8, 9]);
    let mut candidates = ListBuilder::new(StringBuilder::new());
    candidates.append_null();
    candidates.append_value([Some("EvalMath"), Some("nowhere")]);
    candidates.append_null();
    let columns: [(&str, ArrayRef); 4] = [
        ("id", Arc::new(ids)),
        ("prompt", Arc::new(StringArray::from(prompts.to_vec()))),
        ("candidates", Arc::new(candidates.finish())),
        ("tools", Arc::new(StringArray::from(vec![None, None, Some(TOOLS)]))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

const TOOLS: &str = r#"[{"name": "post", "description": "Sends a mail"}, {"type": "function", "function": {"name": "paint", "description": "Paints a picture"}}]"#;

fn json_lines() -> String {
    let rows = [
        json!({"id": 7, "prompt": "the current weather in Haifa"}),
        json!({"id": 8, "prompt": "compute 2+2", "candidates": ["EvalMath", "nowhere"]}),
        json!({"id": 9, "prompt": "send a mail to Dana", "tools": serde_json::from_str::<Value>(TOOLS).unwrap()}),
    ];
    rows.map(|row| format!("{row}\n")).concat()
}

fn csv(delimiter: char) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let rows = [
        ["id", "prompt", "candidates", "tools"].map(str::to_owned),
        ["7".into(), "the current weather in Haifa".into(), String::new(), String::new()],
        ["8".into(), "compute 2+2".into(), quoted(r#"["EvalMath","nowhere"]"#), String::new()],
        ["9".into(), "send a mail to Dana".into(), String::new(), quoted(TOOLS)],
    ];
    rows.map(|row| row.join(&delimiter.to_string()) + "\n").concat()
}

fn gzip(text: &str) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(text.as_bytes()).unwrap();
    packer.finish().unwrap()
}

pub fn parquet(path: &Path, table: &RecordBatch) {
    let mut to = ArrowWriter::try_new(File::create(path).unwrap(), table.schema(), None).unwrap();
    to.write(table).unwrap();
    to.close().unwrap();
}

pub fn arrow(path: &Path, table: &RecordBatch) {
    let mut to = FileWriter::try_new(File::create(path).unwrap(), &table.schema()).unwrap();
    to.write(table).unwrap();
    to.finish().unwrap();
}

pub fn arrow_stream(path: &Path, table: &RecordBatch) {
    let mut to = StreamWriter::try_new(File::create(path).unwrap(), &table.schema()).unwrap();
    for at in (0..table.num_rows()).step_by(1_000) {
        to.write(&table.slice(at, (table.num_rows() - at).min(1_000))).unwrap();
    }
    to.finish().unwrap();
}

/// All rows of a Parquet file.
pub fn read_parquet(path: &Path) -> RecordBatch {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let mut batches = reader.with_batch_size(1 << 20).build().unwrap();
    let batch = batches.next().unwrap().unwrap();
    assert!(batches.next().is_none());
    batch
}

/// The rows that a batch writes as JSON lines, by words alone.
fn answers(sandbox: &Sandbox, input: &Path, more: &[&str]) -> String {
    let mut command = sandbox.batch(input, "-");
    let done = command.args(["--limit", "2"]).args(more).assert().success();
    String::from_utf8(done.get_output().stdout.clone()).unwrap()
}

#[test]
fn one_table_has_one_answer_in_every_format() {
    let sandbox = Sandbox::new();
    let expected = answers(&sandbox, &sandbox.write("q.jsonl", json_lines()), &[]);
    let rows = rows(expected.as_bytes());
    assert_eq!(rows.iter().map(|row| row["id"].clone()).collect::<Vec<_>>(), [7, 8, 9]);
    assert_eq!(ids(&rows[1]), ["EvalMath"]);
    assert_eq!(rows[1]["unknown_candidates"], json!(["nowhere"]));
    assert_eq!(ids(&rows[2])[0], "post");

    let path = |name: &str| sandbox.path(name);
    parquet(&path("q.parquet"), &table());
    arrow(&path("q.arrow"), &table());
    arrow(&path("q.feather"), &table());
    arrow_stream(&path("q.ipc"), &table());
    let zstd = |text: &str| zstd::encode_all(text.as_bytes(), 0).unwrap();
    sandbox.write("q.jsonl.gz", gzip(&json_lines()));
    sandbox.write("q.ndjson.zst", zstd(&json_lines()));
    sandbox.write("q.csv", csv(','));
    sandbox.write("q.csv.gz", gzip(&csv(',')));
    sandbox.write("q.tsv", csv('\t'));
    sandbox.write("q.tsv.zst", zstd(&csv('\t')));
    for name in ["q.parquet", "q.arrow", "q.feather", "q.ipc", "q.jsonl.gz", "q.ndjson.zst"] {
        assert_eq!(answers(&sandbox, &path(name), &[]), expected, "{name}");
    }
    // A table of texts has texts as ids.
    let texts = [7, 8, 9].iter().fold(expected.clone(), |all, id| {
        all.replace(&format!("{{\"id\":{id},"), &format!("{{\"id\":\"{id}\","))
    });
    for name in ["q.csv", "q.csv.gz", "q.tsv", "q.tsv.zst"] {
        assert_eq!(answers(&sandbox, &path(name), &[]), texts, "{name}");
    }
    // Through stdin the format is named, and a file of Arrow may come too.
    let named = [("q.parquet", "parquet"), ("q.arrow", "arrow"), ("q.jsonl.gz", "jsonl.gz")];
    for (name, format) in named {
        let mut command = sandbox.batch("-", "-");
        command.args(["--limit", "2", "--input-format", format]);
        let done = command.write_stdin(fs::read(path(name)).unwrap()).assert().success();
        assert_eq!(String::from_utf8_lossy(&done.get_output().stdout), expected, "{name}");
    }
}

fn written(sandbox: &Sandbox, input: &str, output: &str, more: &[&str]) -> PathBuf {
    let path = sandbox.path(output);
    let mut command = sandbox.batch(sandbox.path(input), &path);
    command.args(["--limit", "2"]).args(more).assert().success();
    path
}

#[test]
fn columns_have_the_same_names_and_types_in_parquet_and_arrow() {
    let sandbox = Sandbox::new();
    parquet(&sandbox.path("q.parquet"), &table());
    let batch = read_parquet(&written(&sandbox, "q.parquet", "r.parquet", &[]));
    let fields = batch.schema();
    let types: Vec<(String, String)> = fields
        .fields()
        .iter()
        .map(|field| (field.name().clone(), field.data_type().to_string()))
        .collect();
    let names: Vec<&str> = types.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "id",
        "tools",
        "fit",
        "fit_reason",
        "confidence",
        "degraded",
        "no_tools",
        "read_as",
        "unknown_candidates",
        "error",
    ];
    assert_eq!(names, expected);
    assert_eq!(*fields.field(0).data_type(), DataType::Int64);
    assert_eq!(*fields.field(4).data_type(), DataType::Float32);
    let ids = batch.column(0).as_primitive::<Int64Type>();
    assert_eq!(ids.values(), &[7, 8, 9]);
    let tools = batch.column(1).as_list::<i32>();
    let first = tools.value(0);
    let first = first.as_struct();
    assert_eq!(first.column_names(), ["id", "score"]);
    assert_eq!(first.column(0).as_string::<i32>().value(0), "meteo__current_weather");
    let score = first.column(1).as_primitive::<Float32Type>().value(0);
    let json = answers(&sandbox, &sandbox.path("q.parquet"), &[]);
    let row: Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(row["tools"][0]["score"].as_f64().unwrap() as f32, score);
    let unknown = batch.column(8).as_list::<i32>();
    assert!(unknown.is_null(0) && unknown.is_valid(1));
    assert_eq!(unknown.value(1).as_string::<i32>().value(0), "nowhere");
    assert_eq!(batch.column(9).null_count(), 3);

    let file = File::open(written(&sandbox, "q.parquet", "r.arrow", &[])).unwrap();
    let arrow: Vec<RecordBatch> =
        FileReader::try_new(file, None).unwrap().collect::<Result<_, _>>().unwrap();
    assert_eq!(arrow, std::slice::from_ref(&batch));
    let file = File::open(written(&sandbox, "q.parquet", "r.arrows", &[])).unwrap();
    let stream: Vec<RecordBatch> =
        StreamReader::try_new(file, None).unwrap().collect::<Result<_, _>>().unwrap();
    assert_eq!(stream, [batch]);

    let explained = read_parquet(&written(&sandbox, "q.parquet", "e.parquet", &["--explain"]));
    let table =
        fs::read_to_string(written(&sandbox, "q.parquet", "e.csv", &["--explain"])).unwrap();
    let header: Vec<&str> = table.lines().next().unwrap().split(',').collect();
    let schema = explained.schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!((&names, &names[10..]), (&header, &["evidence", "background"][..]));
    let tools = explained.column(1).as_list::<i32>().value(0);
    assert_eq!(tools.as_struct().column_names(), ["id", "score", "explanation", "needs"]);
    let explanation = tools.as_struct().column(2).as_string::<i32>().value(0).to_owned();
    assert!(serde_json::from_str::<Value>(&explanation).unwrap().is_object());
}

#[test]
fn a_table_of_text_has_lists_as_json_and_unpacks_to_the_same_rows() {
    let sandbox = Sandbox::new();
    sandbox.write("q.jsonl", json_lines());
    let whole = fs::read_to_string(written(&sandbox, "q.jsonl", "r.jsonl", &[])).unwrap();
    let packed = fs::read(written(&sandbox, "q.jsonl", "r.jsonl.zst", &[])).unwrap();
    assert_eq!(zstd::decode_all(&packed[..]).unwrap(), whole.as_bytes());
    let table = fs::read_to_string(written(&sandbox, "q.jsonl", "r.csv", &[])).unwrap();
    let packed = File::open(written(&sandbox, "q.jsonl", "r.csv.gz", &[])).unwrap();
    let unpacked = std::io::read_to_string(flate2::read::GzDecoder::new(packed)).unwrap();
    assert_eq!(unpacked, table);
    let mut lines = table.lines();
    let header =
        "id,tools,fit,fit_reason,confidence,degraded,no_tools,read_as,unknown_candidates,error";
    assert_eq!(lines.next(), Some(header));
    let rows = rows(whole.as_bytes());
    for (line, row) in lines.zip(&rows) {
        let tools = line.split_once(",\"").unwrap().1.split_once("]\"").unwrap().0;
        let tools: Value =
            serde_json::from_str(&format!("{}]", tools.replace("\"\"", "\""))).unwrap();
        assert_eq!(tools, row["tools"]);
        assert!(line.starts_with(&format!("{},", row["id"])), "{line}");
    }
    assert!(table.contains(r#""[""nowhere""]""#), "{table}");
    let tabs = fs::read_to_string(written(&sandbox, "q.jsonl", "r.tsv", &[])).unwrap();
    assert!(tabs.starts_with("id\ttools\tfit\t"), "{tabs}");
}

#[test]
fn ids_keep_their_type_and_rows_of_a_table_without_them_have_their_number() {
    let sandbox = Sandbox::new();
    let prompts = StringArray::from(vec!["weather", "mail", "files"]);
    let prompts: ArrayRef = Arc::new(prompts);
    let keys: ArrayRef =
        Arc::new(arrow_array::LargeStringArray::from(vec![Some("a"), None, Some("7")]));
    let small: ArrayRef = Arc::new(arrow_array::UInt8Array::from(vec![255, 0, 1]));
    let float: ArrayRef = Arc::new(arrow_array::Float64Array::from(vec![1.5, 2.0, 3.0]));
    let columns = [("query", prompts), ("key", keys), ("small", small), ("float", float)];
    let table = RecordBatch::try_from_iter(columns).unwrap();
    parquet(&sandbox.path("q.parquet"), &table);
    let id = |name: &str, more: &[&str]| {
        read_parquet(&written(&sandbox, "q.parquet", name, more)).column(0).clone()
    };
    assert_eq!(&id("1.parquet", &["--id-column", "key"]), table.column(1));
    assert_eq!(&id("2.parquet", &["--id-column", "small"]), table.column(2));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["1.5", "2", "3"]));
    assert_eq!(&id("3.parquet", &["--id-column", "float"]), &texts);
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![0, 1, 2]));
    assert_eq!(&id("4.parquet", &[]), &numbers);
    let one: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    assert_eq!(&id("5.parquet", &["--shard", "1/3"]), &one);
    sandbox.write(
        "q.jsonl",
        "{\"query\": \"weather\"}\n\n{\"id\": \"b\", \"query\": \"mail\"}\n{\"query\": 1}\n",
    );
    let path = written(&sandbox, "q.jsonl", "6.parquet", &[]);
    let texts: ArrayRef = Arc::new(StringArray::from(vec![None, Some("b"), None]));
    let batch = read_parquet(&path);
    assert_eq!(batch.column(0), &texts);
    assert!(
        batch.column(2).is_null(2) && batch.column(9).is_valid(2) && batch.column(1).is_valid(2)
    );
}

#[test]
fn columns_are_chosen_by_name_in_tables_and_in_json() {
    let sandbox = Sandbox::new();
    let chosen = [
        "--prompt-column",
        "text",
        "--id-column",
        "key",
        "--candidates-column",
        "only",
        "--tools-column",
        "defs",
    ];
    let tools = TOOLS.replace('"', "\"\"");
    sandbox.write(
        "q.csv",
        format!(
            "key,text,only,defs,query\na,compute 2+2,\"[\"\"EvalMath\"\"]\",,x\nb,send a mail,,\"{tools}\",x\n"
        ),
    );
    let lines = format!(
        "{{\"key\": \"a\", \"text\": \"compute 2+2\", \"only\": [\"EvalMath\"], \"query\": 1}}\n\
         {{\"key\": \"b\", \"text\": \"send a mail\", \"defs\": {TOOLS}}}\n"
    );
    sandbox.write("q.jsonl", lines);
    let table = answers(&sandbox, &sandbox.path("q.csv"), &chosen);
    assert_eq!(answers(&sandbox, &sandbox.path("q.jsonl"), &chosen), table);
    let rows = rows(table.as_bytes());
    assert_eq!((rows[0]["id"].as_str(), ids(&rows[0])), (Some("a"), vec!["EvalMath"]));
    assert_eq!((rows[1]["id"].as_str(), ids(&rows[1])[0]), (Some("b"), "post"));
}

#[test]
fn rows_bring_their_tools_in_any_format_and_need_no_catalog() {
    let sandbox = Sandbox::new();
    let tool = |name: &str, about: &str| json!({"name": name, "description": about});
    let input = [
        json!({"id": 1, "query": "send a mail", "tools": [tool("post", "Sends a mail"), tool("paint", "Paints a picture")]}),
        json!({"id": 2, "query": "paint a cat", "tools": [tool("post", "Sends a mail"), tool("paint", "Paints a picture")]}),
        json!({"id": 3, "query": "paint a cat", "tools": [{"no": "name"}]}),
        json!({"id": 4, "query": "paint a cat", "tools": []}),
        json!({"id": 5, "query": "paint a cat", "tools": "paint"}),
        json!({"id": 6, "query": "send a mail", "tools": [tool("post", "Sends a mail"), {"name": "x", "description": "y", "cost": "lo"}]}),
    ];
    let input = sandbox.write("q.jsonl", input.map(|row| format!("{row}\n")).concat());
    let mut command = sandbox.toolroute();
    command.args(["batch", "-s", "keyword", "--tools-column", "tools", "-o", "-", "-i"]);
    let done = command.arg(&input).assert().success().get_output().clone();
    let answers = rows(&done.stdout);
    assert_eq!((ids(&answers[0])[0], ids(&answers[1])[0]), ("post", "paint"));
    for row in &answers[2..5] {
        assert!(row["error"].is_string() && ids(row).is_empty(), "{row}");
    }
    // One bad definition costs itself alone, as in a catalog, unless with --strict.
    assert_eq!(ids(&answers[5]), ["post"]);
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(said.contains("left out of the `tools` of row 6") && said.contains("\"lo\""), "{said}");
    let strict = command.arg("--strict").assert().code(3).get_output().stdout.clone();
    assert!(rows(&strict)[5]["error"].as_str().unwrap().contains("\"lo\""));
    let said =
        sandbox.fails(2, &["batch", "-o", "-", "-i", &sandbox.path("q.jsonl").to_string_lossy()]);
    assert!(said.contains("--tools PATH"), "{said}");
}
