use std::fs;
use std::path::Path;

use super::{about, fixture, ids, load};
use crate::{Catalog, Error, LoadOptions, LoadedCatalog, Severity};

#[test]
fn a_directory_is_read_by_name_and_strangers_are_reported() {
    let loaded = load("mixed");
    assert_eq!(ids(&loaded.catalog), ["one", "two", "three"]);
    let [problem] = loaded.problems.as_slice() else { panic!("{:?}", loaded.problems) };
    assert!(problem.to_string().contains("b_package.json"), "{problem}");
}

#[test]
fn sources_keep_the_order_in_which_they_are_named() {
    let paths = [fixture("mixed/d_last.toml"), fixture("mixed/a_tools.json")];
    let loaded = Catalog::load(&paths, &LoadOptions::default()).unwrap();
    assert_eq!(ids(&loaded.catalog), ["three", "one"]);
}

#[test]
fn a_named_stranger_is_an_error_that_says_what_it_is() {
    for (name, says) in [
        ("mixed/b_package.json", "dependencies"),
        ("bad/swagger.json", "an object with info, swagger"),
        ("bad/truncated.json", "truncated.json:4:"),
        ("bad/prose.yaml", "prose.yaml"),
    ] {
        let error = Catalog::load(&[fixture(name)], &LoadOptions::default()).unwrap_err();
        assert!(matches!(error, Error::Unrecognised { .. }), "{name}: {error}");
        assert!(error.to_string().contains(says), "{name}: {error}");
    }
    let missing = Catalog::load(&[fixture("none.json")], &LoadOptions::default()).unwrap_err();
    assert!(matches!(missing, Error::Unreadable { .. }), "{missing}");
    let cause = std::error::Error::source(&missing).unwrap().to_string();
    assert!(!missing.to_string().contains(&cause), "its cause is said once: {missing}");
}

#[test]
fn one_bad_tool_does_not_lose_the_others() {
    let loaded = load("bad/rows.jsonl");
    assert_eq!(
        ids(&loaded.catalog),
        ["s__good", "s__typo", "s__twice", "s__contradiction", "s__last"]
    );
    let mut lines: Vec<_> = loaded.problems.iter().filter_map(|problem| problem.line).collect();
    lines.sort_unstable();
    assert_eq!(lines, [2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13]);
    assert_eq!(loaded.problems.len(), lines.len(), "each problem has its line");
}

#[test]
fn each_problem_says_what_came_and_how_to_cure_it() {
    let problems = load("bad/rows.jsonl").problems;
    let said = |line: usize, parts: &[&str]| {
        let problem = problems.iter().find(|problem| problem.line == Some(line)).unwrap();
        let text = problem.to_string();
        assert!(!text.contains('\n'), "{text}");
        for part in parts {
            assert!(text.contains(part), "{part:?} in {text}");
        }
    };
    said(2, &["error: ", "rows.jsonl:2: ", "field \"name\"", "a string", "the number 7"]);
    said(3, &["a name"]);
    said(4, &["field \"cost\"", "tiny, low, medium, high", "\"lo\"", "write \"low\""]);
    said(5, &["milliseconds", "-5"]);
    said(6, &["0.9 to 0.1"]);
    said(7, &["a schema that is an object", "[1]"]);
    said(8, &["warning: ", "\"categries\"", "did you mean \"categories\"?"]);
    said(10, &["a unique id", "s__twice"]);
    said(11, &["warning: ", "each tool once", "a second time"]);
    said(12, &["warning: ", "latency_tier fast for 10 ms", "slow"]);
    said(13, &["rows.jsonl:13:73: ", "a line of JSON", "EOF while parsing an object;"]);
    assert_eq!(about(&problems, "s__contradiction")[0].severity, Severity::Warning);
}

#[test]
fn two_files_with_other_tools_of_the_same_ids_are_one_problem() {
    let folder = tempfile::tempdir().unwrap();
    let list = |name: &str, said: &str| {
        let tools: Vec<_> = (0..25)
            .map(|at| serde_json::json!({"server": "s", "name": format!("t{at}"), "description": said}))
            .collect();
        let path = folder.path().join(name);
        fs::write(&path, serde_json::to_string_pretty(&tools).unwrap()).unwrap();
        path
    };
    let files = [list("a.json", "Old."), list("b.json", "New."), list("c.json", "Old.")];
    let loaded = Catalog::load(&files, &LoadOptions::default()).unwrap();
    let [problem] = &loaded.problems[..] else { panic!("{:?}", loaded.problems) };
    let said = problem.to_string();
    for part in ["b.json: tool \"s__t0\"", "25 tools whose ids", "a.json were kept; name only one"]
    {
        assert!(said.contains(part), "{part:?} in {said}");
    }
    assert!(loaded.catalog.len() == 25 && loaded.catalog.iter().all(|t| t.description == "Old."));
    let strict = LoadOptions { strict: true, ..LoadOptions::default() };
    assert!(matches!(Catalog::load(&files, &strict), Err(Error::Strict { .. })));
    assert!(Catalog::load(&[files[0].clone(), files[2].clone()], &strict).is_ok());
}

#[test]
fn strict_mode_fails_with_all_problems_and_counts_the_errors() {
    let options = LoadOptions { strict: true, ..LoadOptions::default() };
    let error = Catalog::load(&[fixture("bad/rows.jsonl")], &options).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("found 8 errors;") && text.matches("warning: ").count() == 3, "{text}");
    assert!(text.contains("did you mean"), "{text}");
    let Error::Strict { problems } = error else { panic!("{text}") };
    assert_eq!(problems.len(), 11);
    assert_eq!(serde_json::to_value(problems).unwrap()[0]["severity"], "error");
    assert!(Catalog::load(&[fixture("formats/tools.toml")], &options).is_ok());
}

#[test]
fn encodings_and_line_ends_of_windows_do_not_matter() {
    for name in
        ["formats/rows.jsonl", "formats/tools.toml", "formats/openapi.yaml", "bad/rows.jsonl"]
    {
        let text = fs::read_to_string(fixture(name)).unwrap().replace('\n', "\r\n");
        let marked = format!("\u{feff}{text}");
        // As PowerShell's `>` writes it.
        let utf16 = marked.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let expected = load(name);
        for bytes in [marked.into_bytes(), utf16] {
            let loaded = load_bytes(Path::new(name).file_name().unwrap(), &bytes).unwrap();
            assert_eq!(ids(&loaded.catalog), ids(&expected.catalog), "{name}");
            assert_eq!(loaded.problems.len(), expected.problems.len(), "{name}");
        }
    }
}

#[test]
fn a_file_that_is_not_text_does_not_sink_a_directory() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a.json"), [0xff, 0xfe, 0x00]).unwrap();
    fs::write(directory.path().join("b.json"), r#"[{"id": "x", "name": "x"}]"#).unwrap();
    fs::write(directory.path().join(".hidden.json"), "broken").unwrap();
    let paths = [directory.path().to_owned()];
    let loaded = Catalog::load(&paths, &LoadOptions::default()).unwrap();
    assert_eq!(ids(&loaded.catalog), ["x"]);
    assert_eq!(loaded.problems.len(), 1);
}

#[test]
fn public_sets_load_without_a_problem() {
    let sets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let Ok(entries) = fs::read_dir(&sets) else {
        eprintln!("SKIPPED: no tool sets at {}", sets.display());
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path().join("tools.jsonl");
        // The largest file takes too long in an unoptimised build.
        if !path.exists() || fs::metadata(&path).unwrap().len() > 10_000_000 {
            continue;
        }
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        let loaded = Catalog::load(&[path], &LoadOptions::default()).unwrap();
        assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
        assert_eq!(loaded.catalog.len(), lines);
    }
}

#[test]
#[cfg(unix)]
fn only_regular_files_of_a_directory_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let made = std::process::Command::new("mkfifo").arg(at("a.json")).status();
    assert!(made.unwrap().success());
    std::os::unix::fs::symlink("/dev/zero", at("b.json")).unwrap();
    std::os::unix::fs::symlink(at("nowhere"), at("c.json")).unwrap();
    fs::write(at("d.json"), r#"[{"id": "x", "name": "x"}]"#).unwrap();
    let loaded = Catalog::load(&[directory.path().to_owned()], &LoadOptions::default()).unwrap();
    assert_eq!(ids(&loaded.catalog), ["x"]);
    let [problem] = loaded.problems.as_slice() else { panic!("{:?}", loaded.problems) };
    assert!(problem.to_string().contains("c.json"), "{problem}");
    assert_eq!(problem.to_string().matches("readable").count(), 1, "{problem}");
}

fn load_bytes(name: impl AsRef<Path>, bytes: &[u8]) -> Result<LoadedCatalog, Error> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    fs::write(&path, bytes).unwrap();
    Catalog::load(&[path], &LoadOptions::default())
}

#[test]
fn a_bad_byte_costs_its_line_where_lines_stand_alone() {
    let rows = b"{\"id\": \"a\", \"name\": \"a\"}\n\n{\"id\": \"caf\xe9\", \"name\": \"b\"}\n{\"id\": \"c\", \"name\": \"c\"}\n";
    let loaded = load_bytes("a.jsonl", rows).unwrap();
    assert_eq!(ids(&loaded.catalog), ["a", "c"]);
    let [problem] = loaded.problems.as_slice() else { panic!("{:?}", loaded.problems) };
    assert_eq!(problem.line, Some(3));
    assert!(problem.is_error() && problem.expected.contains("UTF-8"), "{problem}");
    let error = load_bytes("a.json", b"{\n\"tools\": [{\"name\": \"caf\xe9\"}]\n}").unwrap_err();
    assert!(matches!(error, Error::Unrecognised { .. }), "not a matter of permissions: {error}");
    assert!(error.to_string().contains("a.json:2: expected text in UTF-8"), "{error}");
}

#[test]
fn a_word_that_is_no_phase_or_kind_of_work_is_told_with_what_was_meant() {
    let mut tool = crate::Tool::new(None, "a", "does it");
    tool.facets.phases = vec!["Refinement".into(), "refinment".into()];
    tool.facets.task_types = vec!["cooking".into()];
    let loaded = Catalog::from_tools(vec![tool]);
    let told: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("did you mean \"refinement\"?"), "{}", told[0]);
    assert!(told[1].contains("\"cooking\"") && told[1].contains("code_generation"), "{}", told[1]);
    assert_eq!(loaded.catalog.len(), 1, "a warning loses no tool");
}

#[test]
fn two_versions_of_an_api_are_told_apart_by_their_titles() {
    let directory = tempfile::tempdir().unwrap();
    for (name, summary) in [("v1.json", "Lists pets"), ("v2.json", "Lists all pets")] {
        let text = format!(
            r#"{{"openapi": "3.0.0", "info": {{"title": "Pets"}}, "paths": {{"/pets": {{"get": {{"summary": "{summary}"}}}}}}}}"#
        );
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    let loaded = Catalog::load(&[directory.path().to_owned()], &LoadOptions::default()).unwrap();
    let [problem] = loaded.problems.as_slice() else { panic!("{:?}", loaded.problems) };
    assert!(problem.to_string().contains("write another `info.title`"), "{problem}");
}
