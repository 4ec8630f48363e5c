//! What `toolroute batch` says of inputs that are cut, damaged, or laid out in another way.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};

use crate::batch_formats::{arrow, arrow_stream, parquet};
use crate::support::{CommandExt as _, Sandbox, samples};

/// Runs a batch that must fail so, and gives what it says.
fn fails(sandbox: &Sandbox, code: i32, input: &Path, more: &[&str]) -> String {
    let input = input.to_string_lossy();
    let output = sandbox.path("r.jsonl");
    let output = output.to_string_lossy();
    let tools = samples();
    let args = ["batch", "-s", "keyword", "--tools", &tools, "-i", &input, "-o", &output];
    let said = sandbox.fails(code, &[&args, more].concat());
    assert!(!said.contains("panicked"), "{said}");
    assert!(!Path::new(&*output).exists() && !sandbox.path("r.jsonl.partial").exists(), "{said}");
    said
}

fn table(prompts: ArrayRef) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..prompts.len() as i64));
    RecordBatch::try_from_iter([("id", ids), ("query", prompts)]).unwrap()
}

#[test]
fn a_missing_column_is_one_error_that_lists_those_there_are() {
    let sandbox = Sandbox::new();
    let input = sandbox.write("q.csv", "key,text\n1,weather\n");
    let said = fails(&sandbox, 2, &input, &[]);
    assert!(
        said.contains("no column `query` or `prompt`; its columns are `key`, `text`"),
        "{said}"
    );
    assert!(said.contains("--prompt-column"), "{said}");
    let said = fails(&sandbox, 2, &input, &["--prompt-column", "text", "--tools-column", "defs"]);
    assert!(said.contains("no column `defs`") && said.contains("--tools-column"), "{said}");
    let names: ArrayRef = Arc::new(StringArray::from(vec!["weather"]));
    parquet(&sandbox.path("q.parquet"), &table(names));
    let said = fails(&sandbox, 2, &sandbox.path("q.parquet"), &["--id-column", "key"]);
    assert!(said.contains("no column `key`; its columns are `id`, `query`"), "{said}");
    let json = sandbox.write("q.jsonl", "{\"key\": 1, \"text\": \"weather\"}\n");
    let said = fails(&sandbox, 3, &json, &["--prompt-column", "words"]);
    assert!(said.contains("missing field `words` beside `key`, `text`"), "{said}");
    let said = fails(&sandbox, 3, &json, &[]);
    assert!(said.contains("--prompt-column"), "{said}");
    let both = sandbox.write("both.csv", "query,prompt\na,b\n");
    assert!(fails(&sandbox, 2, &both, &[]).contains("--prompt-column"));
}

#[test]
fn a_column_of_the_wrong_type_is_an_error_with_its_type() {
    let sandbox = Sandbox::new();
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    arrow(&sandbox.path("q.arrow"), &table(numbers));
    let said = fails(&sandbox, 3, &sandbox.path("q.arrow"), &[]);
    assert!(
        said.contains("`query`") && said.contains("of the type Int64; expected texts"),
        "{said}"
    );
    let said = fails(&sandbox, 2, &sandbox.path("q.arrow"), &["--output-format", "xml"]);
    assert!(said.contains("`xml` is no format"), "{said}");
    let said = fails(&sandbox, 2, &sandbox.path("q.arrow"), &["--shard", "2/2"]);
    assert!(said.contains("expected I/N"), "{said}");
}

#[test]
fn a_cut_or_damaged_file_is_an_error_and_never_a_panic() {
    let sandbox = Sandbox::new();
    let prompts = StringArray::from_iter_values((0..2_000).map(|at| format!("the city {at}")));
    let whole = sandbox.path("whole");
    // Rows that were ranked before the damage leave no journal.
    arrow_stream(&whole, &table(Arc::new(prompts)));
    let bytes = fs::read(&whole).unwrap();
    let stream = sandbox.write("q.arrows", &bytes[..bytes.len() - 40]);
    assert!(fails(&sandbox, 3, &stream, &[]).contains("cut or damaged"));
    let json = sandbox.write("json.parquet", "{\"query\": \"weather\"}\n");
    assert!(fails(&sandbox, 3, &json, &[]).contains("give --input-format jsonl"));
    let text = sandbox.write("q.parquet", "id,query\n1,weather\n");
    assert!(fails(&sandbox, 3, &text, &[]).contains("Parquet"));
    let packed =
        zstd::encode_all(&b"{\"query\": \"weather\"}\n{\"query\": \"mail\"}\n"[..], 0).unwrap();
    let packed = sandbox.write("q.jsonl.zst", &packed[..packed.len() - 3]);
    assert!(fails(&sandbox, 3, &packed, &[]).contains("cannot be read as zstd"));
    let cut = sandbox.write("q.jsonl.gz", b"\x1f\x8b\x08\x00\x00\x00\n\x00\xff\n");
    assert!(fails(&sandbox, 3, &cut, &[]).contains("cannot be read as gzip"));
    let plain = sandbox.write("q.csv.gz", "id,query\n1,weather\n");
    assert!(fails(&sandbox, 3, &plain, &[]).contains("--input-format"));
}

#[test]
fn a_bad_row_of_a_table_stands_in_the_output_with_its_error() {
    let sandbox = Sandbox::new();
    let rows =
        b"id,query,candidates\n1,weather,\n2,\xff,\n3,a,b,c\n4, ,\n5,mail,EvalMath\n\n6,mail,\n";
    let input = sandbox.write("q.csv", rows);
    let output = sandbox.path("r.csv");
    let (tools, input) = (samples(), input.to_string_lossy().into_owned());
    let to = output.to_string_lossy();
    let args = ["batch", "-s", "keyword", "--tools", &tools, "-i", &input, "-o", &to];
    let summary = sandbox.json(&args);
    let count = |name: &str| summary[name].as_u64().unwrap();
    assert_eq!((count("rows"), count("failed")), (6, 4), "{summary}");
    assert_eq!(count("answered") + count("empty"), 2, "{summary}");
    let lines: Vec<u64> = summary["bad"]
        .as_array()
        .unwrap()
        .iter()
        .map(|bad| bad["line"].as_u64().unwrap())
        .collect();
    assert_eq!(lines, [3, 4, 5, 6]);
    let text = fs::read_to_string(&output).unwrap();
    for said in
        ["`query` is not UTF-8 at byte 1", "4 values; expected 3", "is empty", "no JSON list"]
    {
        assert!(text.contains(said), "{said}: {text}");
    }
    let none = sandbox.write("none.csv", "id,query\n1,\n2, \n");
    assert!(fails(&sandbox, 3, &none, &[]).contains("no row of"));
    for (name, empty) in [("0.csv", ""), ("1.csv", "id,query\n"), ("0.jsonl", "\n\n")] {
        let empty = sandbox.write(name, empty);
        assert!(fails(&sandbox, 3, &empty, &[]).contains("holds no rows"), "{name}");
    }
}

#[test]
fn a_row_of_a_table_without_a_readable_id_has_none() {
    let sandbox = Sandbox::new();
    let rows = "{\"id\":1,\"query\":\"weather\"}\nnot json\n{\"id\":3,\"query\":\"mail\"}\n";
    let (input, output) = (sandbox.write("q.jsonl", rows), sandbox.path("r.csv"));
    sandbox.batch(input, &output).assert().success();
    let text = fs::read_to_string(&output).unwrap();
    let ids: Vec<&str> = text.lines().skip(1).map(|row| row.split(',').next().unwrap()).collect();
    assert_eq!(ids, ["1", "", "3"]);
}

#[test]
fn what_is_no_such_table_is_an_error_that_says_what_it_is() {
    let sandbox = Sandbox::new();
    let prompts: ArrayRef = Arc::new(StringArray::from(vec!["weather"]));
    parquet(&sandbox.path("q.parquet"), &table(prompts));
    let parquet = fs::read(sandbox.path("q.parquet")).unwrap();
    for (name, bytes, code, expected) in [
        ("1.csv", &b"id;query\n1;weather\n"[..], 3, "has ';' between its values; expected ','"),
        ("2.csv", b"id\tquery\n1\tweather\n", 3, "give --input-format tsv"),
        ("3.csv", b"id,query\n1,\xe9t\xe9\n", 3, "iconv"),
        ("4.csv", &parquet, 3, "give --input-format parquet"),
        ("5.csv", b"\x1f\x8b\x08\x00\x00\x00\n\x00\xff\n", 3, "--input-format csv.gz"),
        ("6.csv", b"\xff\xfei\x00d\x00,\x00", 3, "it is UTF-16"),
        ("7.csv", b"id,Query\n1,weather\n", 2, "no column `query` or `prompt` in lower case"),
        ("8.csv", b"query,query\na,b\n", 2, "several columns `query`"),
        ("9.csv", b"query,tools\nweather,wrench\n", 3, "--tools-column \"\""),
        ("10.csv", b"query,candidates\nweather,x\n", 3, "--candidates-column \"\""),
        ("11.jsonl", b"{\"query\":\"a\",\"tools\":\"x\"}\n", 3, "--tools-column \"\""),
        ("12.csv", b"id,query\n1,a\n2,\"b\n3,c\n", 3, "quote that opens on line 3 is never closed"),
        ("13.csv", b"query\n\"a\nfind \"Dana\"\n", 3, "on line 3 that closes the one on line 2"),
    ] {
        let said = fails(&sandbox, code, &sandbox.write(name, bytes), &[]);
        assert!(said.contains(expected), "{name}: {said}");
    }
    let said = fails(&sandbox, 5, sandbox.dir.path(), &[]);
    assert!(said.contains("is a folder; expected a file of prompts"), "{said}");
}

#[test]
fn an_output_that_cannot_be_meant_is_an_error_before_any_work() {
    let sandbox = Sandbox::new();
    let input = sandbox.write("q.jsonl", "{\"query\":\"weather\"}\n");
    let input = input.to_string_lossy();
    for (output, code, expected) in [
        ("nowhere/r.csv", 5, "is not there; expected one to write into: make it"),
        ("r.parquet.gz", 2, "--output-format"),
        ("r.arrow.gz", 2, "--output-format"),
        ("r.parqet", 2, "names no format; expected .jsonl"),
    ] {
        let output = sandbox.path(output);
        let output = output.to_string_lossy();
        let args = ["batch", "--tools", "/no/such/file", "-i", &input, "-o", &output];
        let said = sandbox.fails(code, &args);
        assert!(said.contains(expected), "{output}: {said}");
    }
    let output = sandbox.path("r.parqet");
    sandbox.batch(&*input, &output).args(["--output-format", "csv"]).assert().success();
    assert!(fs::read_to_string(&output).unwrap().starts_with("id,tools,"));
}

#[test]
fn a_row_of_json_has_one_meaning_whatever_columns_are_named() {
    let sandbox = Sandbox::new();
    let rows = [
        r#"{"id": 1, "query": "weather", "prompt": "mail"}"#,
        r#"{"id": 2, "query": "weather", "query": "mail"}"#,
        r#"{"id": 3, "query": "weather", "meta": {"a": 1}, "gold": null}"#,
        "{\"id\": 4, \"query\": 4}",
        r#"{"id": 5, "text": "weather"}"#,
        r#"{"id": 6, "query": null}"#,
        r#"{"id": 7, "query": "ref\ud800 und"}"#,
        r#"{"id": 8, "query": "weather", "context": "y"}"#,
    ];
    let input = sandbox.write("q.jsonl", rows.map(|row| format!("{row}\n")).concat());
    let answers = |more: &[&str]| {
        let done = sandbox.batch(&input, "-").args(more).assert().success();
        String::from_utf8(done.get_output().stdout.clone()).unwrap()
    };
    let usual = answers(&[]);
    let errors = [
        "not the same text",
        "duplicate field `query`",
        "\"tools\":[{",
        "not a text",
        "missing field `query` beside `id`, `text`",
        "`query` is null",
        "`query`: unexpected end of hex escape",
        "`context` is not an object",
    ];
    assert_eq!(usual.lines().count(), errors.len());
    for (row, expected) in usual.lines().zip(errors) {
        assert!(row.contains(expected), "{row}");
    }
    assert_eq!(answers(&["--id-column", "id", "--tools-column", ""]), usual);
    for flag in ["--id-column", "--candidates-column", "--tools-column"] {
        let said = fails(&sandbox, 2, &input, &[flag, "nosuch"]);
        assert!(said.contains("no column `nosuch`; its columns are `id`") && said.contains(flag));
    }
    // A member whose name is nearly a known one is told of, once.
    let misspelt = r#"{"id": 1, "query": "weather", "canditates": ["x"]}"#;
    let input = sandbox.write("m.jsonl", format!("{misspelt}\n{misspelt}\n"));
    let done = sandbox.batch(&input, "-").assert().success();
    let said = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    let told = "`canditates` is not used; did you mean `candidates`?";
    assert_eq!(said.matches(told).count(), 1, "{said}");
    let input = sandbox.path("q.jsonl");
    let answers = |more: &[&str]| {
        let done = sandbox.batch(&input, "-").args(more).assert().success();
        String::from_utf8(done.get_output().stdout.clone()).unwrap()
    };
    // A column that a late row has is one that is there.
    assert_eq!(answers(&["--candidates-column", "text", "--id-column", "id"]).lines().count(), 8);
}

#[test]
fn a_column_of_nulls_is_one_without_values() {
    let sandbox = Sandbox::new();
    let prompts: ArrayRef = Arc::new(StringArray::from(vec!["weather", "mail"]));
    let nulls: ArrayRef = Arc::new(arrow_array::NullArray::new(2));
    let of_nulls = arrow_schema::DataType::new_list(arrow_schema::DataType::Null, true);
    let lists = arrow_array::new_null_array(&of_nulls, 2);
    let plain = RecordBatch::try_from_iter([("query", prompts.clone())]).unwrap();
    let columns = [("query", prompts, false), ("tools", nulls, true), ("candidates", lists, true)];
    let with_nulls = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let answers = |name: &str, table: &RecordBatch| {
        let write = if name.ends_with("parquet") { parquet } else { arrow };
        write(&sandbox.path(name), table);
        let done = sandbox.batch(sandbox.path(name), "-").assert().success();
        done.get_output().stdout.clone()
    };
    let expected = answers("plain.parquet", &plain);
    for name in ["q.parquet", "q.arrow"] {
        assert_eq!(answers(name, &with_nulls), expected, "{name}");
    }
}

#[test]
fn a_catalog_is_needed_unless_each_row_brings_its_tools() {
    let sandbox = Sandbox::new();
    let tools = r#"[{"name":"post","description":"Sends a mail"}]"#;
    let rows = format!(
        "{{\"id\":1,\"query\":\"send a mail\",\"tools\":{tools}}}\n{{\"id\":2,\"query\":\"send a mail\",\"tools\":null}}\n"
    );
    let input = sandbox.write("q.jsonl", rows);
    let input = input.to_string_lossy();
    let args = ["batch", "-s", "keyword", "-i", &input, "-o", "-", "--tools-column"];
    let said = sandbox.fails(2, &[&args[..], &[""]].concat());
    assert!(said.contains("no catalog is named"), "{said}");
    let mut command = sandbox.toolroute();
    let done = command.args(args).arg("tools").assert().success().get_output().stdout.clone();
    let done = String::from_utf8(done).unwrap();
    let rows: Vec<&str> = done.lines().collect();
    assert!(rows[0].contains("\"id\":\"post\""), "{done}");
    assert!(rows[1].contains("\"error\":\"the row brings no tools"), "{done}");
}

#[test]
fn a_batch_overwrites_nothing_that_it_reads_and_keeps_the_rights_of_its_output() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("tools")).unwrap();
    let tools = sandbox
        .put("tools/mail.jsonl", r#"{"name": "send_email", "description": "Sends an email"}"#);
    let overlay = sandbox.put("overlay.toml", "[[overlay]]\nmatch = \"*\"\ncost = \"low\"\n");
    let input = sandbox.put("q.jsonl", "{\"query\": \"send an email\"}\n");
    let folder = sandbox.arg("tools");
    let args = ["batch", "-s", "keyword", "--tools", &folder, "--overlay", &overlay];
    let args =
        [&args[..], &["-i", &input, "--overwrite", "--output-format", "jsonl", "-o"]].concat();
    for output in [&tools, &overlay, &input] {
        let before = fs::read(output).unwrap();
        let said = sandbox.fails(2, &[&args[..], &[output]].concat());
        assert!(said.contains("which this command reads"), "{said}");
        assert_eq!(fs::read(output).unwrap(), before);
    }
    // A link in the folder leads to a file elsewhere; other files of the folder may be outputs.
    #[cfg(unix)]
    {
        let real = sandbox.put("real.jsonl", fs::read(&tools).unwrap());
        std::os::unix::fs::symlink(&real, sandbox.path("tools/linked.jsonl")).unwrap();
        sandbox.fails(2, &[&args[..], &[&real]].concat());
    }
    let beside = sandbox.put("tools/found.jsonl", "{\"id\": 1, \"tools\": []}\n");
    sandbox.run(&[&args[..], &[&beside]].concat());
    let output = sandbox.put("private.jsonl", "old");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&output, fs::Permissions::from_mode(0o600)).unwrap();
    }
    sandbox.run(&[&args[..], &[&output]].concat());
    assert!(fs::read_to_string(&output).unwrap().contains("send_email"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(&output).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn an_overlay_with_an_error_and_a_catalog_without_tools_fail_every_command() {
    let sandbox = Sandbox::new();
    let input = sandbox.put("q.jsonl", "{\"query\": \"send an email\", \"gold\": [\"a\"]}\n");
    let overlay = sandbox.put("overlay.toml", "[[overlay]]\nmatch = \"*\"\ncost = \"expensive\"\n");
    let (tools, output) = (samples(), sandbox.arg("r.jsonl"));
    let batch = ["batch", "-s", "keyword", "-i", &input, "-o", &output];
    let said =
        sandbox.fails(3, &[&batch[..], &["-q", "--tools", &tools, "--overlay", &overlay]].concat());
    assert!(said.contains("overlay cannot be used") && said.contains("expensive"), "{said}");
    fs::create_dir(sandbox.path("empty")).unwrap();
    let empty = sandbox.arg("empty");
    let commands: [&[&str]; 7] = [
        &batch,
        &["index"],
        &["eval", "--queries", &input],
        &["bench", "--queries", &input],
        &["learn", &input, "--output", &sandbox.arg("usage")],
        &["candidates", "REPORT(a)"],
        &["tools", "probe"],
    ];
    for command in commands {
        let said = sandbox.fails(3, &[command, &["--tools", &empty]].concat());
        assert!(said.contains("no usable tool"), "{command:?}: {said}");
        assert!(!Path::new(&output).exists() && !sandbox.path("usage").exists());
    }
}
