//! Guards what the compiler does not know of the layout: which room of a crate may import which, the
//! door of each vendor crate, and the house rules.
//!
//! The rules are data (the constants below). Where the layout changes, change the table in the
//! same commit and say why in its message. The sources are read as text, because rustfmt gives it one
//! form: a function ends at the first bracket under its first letter. So paths inside macros and
//! attributes count as well.

mod rings;

use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// The crates of the workspace, and whether their folder is one room (its modules are then named by the
/// crate: `catalog/tool.rs`) or holds several (`embedding/bert.rs`). Which crate may import which
/// stands in their `Cargo.toml`.
const CRATES: &[(&str, Option<&str>)] = &[
    ("src", None),
    ("crates/vectors/src", None),
    ("crates/translation/src", Some("translation")),
    ("crates/catalog/src", Some("catalog")),
    ("crates/run/src", None),
    ("crates/rank/src", None),
    ("crates/conduct/src", Some("conductor")),
    ("crates/session/src", Some("session")),
    ("crates/eval/src", Some("eval")),
    ("crates/batch/src", Some("batch")),
    ("crates/serve/src", Some("server")),
    ("crates/lab/src", Some("lab")),
    ("crates/python/src", Some("python")),
];

/// Which rooms a room may import, where a crate has several: the compiler does not know this.
const ROOMS: &[(&str, &[&str])] = &[
    (FOUNDATION, &[]),
    ("kernels", &[]),
    ("embedding", &["kernels"]),
    ("index", &["kernels"]),
    ("query", &["catalog", "index"]),
    ("feedback", &["catalog", "index"]),
    ("execution", &["catalog"]),
    ("pins", &["catalog"]),
    ("selection", &["catalog", "embedding", "index", "query", "feedback"]),
    ("engine", &["catalog", "embedding", "index", "query", "feedback", "selection"]),
];
/// The room that every other may import.
const FOUNDATION: &str = "durable";
/// Rooms whose imports the compiler guards alone.
const CRATE_ROOMS: &[&str] = &[
    "translation",
    "catalog",
    "conductor",
    "session",
    "eval",
    "batch",
    "server",
    "cli",
    "lab",
    "python",
];

/// Files that belong to no room: they tie the rooms together.
const FRONT_DOORS: &[&str] = &["lib.rs", "main.rs"];

/// Where a vendor crate may be named: a folder (`room/`) or a file with its submodules.
const VENDORS: &[(&str, &[&str])] = &[
    ("candle_core", &["embedding/"]),
    ("candle_nn", &["embedding/"]),
    ("candle_transformers", &["embedding/"]),
    ("tokenizers", &["embedding/"]),
    ("hf_hub", &["embedding/hub.rs"]),
    ("hnsw_rs", &["index/hnsw.rs"]),
    ("rust_stemmers", &["index/tokenizer/", "translation/lexicon.rs"]),
    ("linguist", &["query/source_language.rs"]),
    ("linguist_types", &["query/source_language.rs"]),
    ("rusqlite", &["feedback/store.rs", "conductor/ledger.rs", "conductor/builtin.rs"]),
    ("cel", &["conductor/condition.rs"]),
    ("rmcp", &["execution/mcp.rs", "server/mcp.rs"]),
    // The proxy streams requests and answers, which no door of `execution` does.
    ("reqwest", &["execution/client.rs", "execution/http.rs", "server/proxy.rs"]),
    ("rustls", &["execution/client.rs"]),
    ("process_wrap", &["execution/spawn.rs"]),
    ("rustix", &["execution/spawn.rs"]),
    ("jsonschema", &["conductor/schema.rs", "execution/params.rs"]),
    ("backon", &["execution/timing.rs"]),
    ("jiff", &["execution/extraction/"]),
    ("linkify", &["execution/extraction/"]),
    ("arrow_array", &["batch/tables/"]),
    ("arrow_buffer", &["batch/tables/"]),
    ("arrow_ipc", &["batch/tables/"]),
    // The type of the ids of an output goes from the door of reading to that of writing.
    ("arrow_schema", &["batch/tables/", "batch/record.rs", "batch/csv_rows.rs"]),
    ("parquet", &["batch/tables/"]),
    ("csv", &["batch/csv_rows.rs", "batch/writer.rs"]),
    ("flate2", &["batch/compression.rs"]),
    ("zstd", &["batch/compression.rs"]),
    ("pyo3", &["python/"]),
    (
        "tokio",
        &[
            "execution/",
            "server/",
            "cli/servers.rs",
            "cli/serve.rs",
            "cli/mcp.rs",
            "python/connection.rs",
        ],
    ),
    ("axum", &["server/"]),
    ("serde_json_canonicalizer", &["pins/definition.rs"]),
    ("shlex", &["pins/quarantine.rs"]),
    ("toml_edit", &["cli/import/codex.rs"]),
    ("hyper", &["server/http.rs"]),
    ("hyper_util", &["server/http.rs"]),
    ("utoipa", &["server/"]),
    ("subtle", &["server/http/guard.rs"]),
    ("anyhow", &["cli/", "main.rs", "lab/"]),
    ("clap", &["cli/", "main.rs", "lab/main.rs"]),
    ("clap_complete", &["cli/"]),
    ("comfy_table", &["cli/"]),
    ("terminal_size", &["cli/"]),
    ("indicatif", &["cli/"]),
    ("prometheus_client", &["engine/metrics.rs"]),
    ("tracing_subscriber", &["cli/"]),
];

const STDOUT_ALLOWED: &[&str] = &["cli/", "main.rs", "lab/main.rs"];
/// What may be written only in some places: a pattern, the places, whether tests count, the cure.
const WORDS: &[(&str, &[&str], bool, &str)] = &[
    (
        r"\bunsafe (?:\{|fn|impl|trait|extern)",
        &["kernels/"],
        true,
        "write it safely, or move it to kernels/",
    ),
    (r"\b(?:println|print)!", STDOUT_ALLOWED, false, "return the data and let cli print it"),
    (
        r"\bprocess::(?:exit\b|\{[^}]*\bexit\b)",
        STDOUT_ALLOWED,
        false,
        "return an error and let cli choose the exit status",
    ),
    (
        r"\.unwrap\(\)",
        &[],
        false,
        "return an error, or `expect` with the invariant and \"This is a bug.\"",
    ),
];
const MAX_FILE_LINES: usize = 500;
const MAX_FUNCTION_LINES: usize = 60;
const EXPECT_ENDING: &str = "This is a bug.";

#[test]
fn the_source_tree_keeps_the_house_rules() {
    let mut sources = Vec::new();
    for (folder, room) in CRATES {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let before = sources.len();
        read_sources(&root, &root, *room, &mut sources);
        assert!(sources.len() > before, "no source below {root:?}");
    }
    let findings = check(&sources);
    assert!(findings.is_empty(), "house rules are broken:\n\n{}\n", findings.join("\n"));
}

/// A crate that the list lacks would be neither built nor tested.
#[test]
fn every_crate_is_a_default_member_but_the_one_that_python_loads() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    for entry in std::fs::read_dir(root.join("crates")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_listed = manifest.contains(&format!("    \"crates/{name}\",\n"));
        assert_eq!(is_listed, name != "python", "crates/{name} and the default members");
    }
}

/// One Rust file; `path` begins with its room, with forward slashes.
struct Source {
    path: String,
    text: String,
}

fn read_sources(root: &Path, folder: &Path, room: Option<&str>, sources: &mut Vec<Source>) {
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            read_sources(root, &path, room, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let relative = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
            let relative =
                if relative == "lib.rs" && room.is_some() { "mod.rs" } else { &relative };
            sources.push(Source {
                path: room.map_or_else(|| relative.to_owned(), |room| format!("{room}/{relative}")),
                text: std::fs::read_to_string(&path).unwrap(),
            });
        }
    }
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap()
}

/// Code for tests alone: a file, or lines of one.
fn test_lines(source: &Source, test_modules: &[Vec<String>]) -> Vec<RangeInclusive<usize>> {
    static ATTRIBUTE: LazyLock<Regex> =
        LazyLock::new(|| regex(r"^\s*#!?\[(test|cfg\(test\)|cfg\(all\(test,.*|tokio::test.*)\]"));
    let module = module_of(&source.path);
    if source.path.ends_with("/tests.rs")
        || test_modules.iter().any(|test| module.starts_with(test))
    {
        return vec![1..=usize::MAX];
    }
    let lines: Vec<&str> = source.text.lines().collect();
    let marked = (0..lines.len()).filter(|at| ATTRIBUTE.is_match(lines[*at]));
    let range = |at: usize| match lines[at].contains("#!") {
        true => 1..=usize::MAX,
        false => at + 1..=end_of(&lines, at),
    };
    marked.map(range).collect()
}

/// The line, counted from 1, on which the item ends that begins at `from` with its attributes.
fn end_of(lines: &[&str], from: usize) -> usize {
    let indent = &lines[from][..lines[from].len() - lines[from].trim_start().len()];
    let first = (from..lines.len()).find(|at| !lines[*at].trim_start().starts_with("#["));
    let first = first.unwrap_or(from);
    if lines[first].ends_with([';', '}']) {
        return first + 1;
    }
    let is_end = |line: &str| {
        let end = line.strip_prefix(indent).unwrap_or_default();
        end.starts_with('}') || (end.starts_with(')') && end.ends_with(';'))
    };
    (first + 1..lines.len()).find(|at| is_end(lines[*at])).map_or(lines.len(), |at| at + 1)
}

/// `catalog/import/mcp.rs` is the module `catalog::import::mcp`.
fn module_of(path: &str) -> Vec<String> {
    let mut module: Vec<String> =
        path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        module.pop();
    }
    module
}

/// Modules that are test code by their declaration in another file: `#[cfg(test)] mod mock;`.
fn test_modules(sources: &[Source]) -> Vec<Vec<String>> {
    let declared = regex(r"#\[cfg\(test\)\]\s*(?:pub(?:\([^)]*\))? )?mod (\w+);");
    let modules = sources.iter().flat_map(|source| {
        let within = module_of(&source.path);
        let module = move |found: Captures<'_>| [&within[..], &[found[1].to_owned()]].concat();
        declared.captures_iter(&source.text).map(module)
    });
    modules.collect()
}

/// What breaks a rule, a line each: where, what, and how to mend it.
fn check(sources: &[Source]) -> Vec<String> {
    let test_modules = test_modules(sources);
    let mut findings = Vec::new();
    for source in sources {
        Checker {
            source,
            module: module_of(&source.path),
            // Without comments, but with their lines.
            code: regex(r"(?m)(^|\s)//.*$").replace_all(&source.text, "$1").into_owned(),
            tests: test_lines(source, &test_modules),
            findings: &mut findings,
        }
        .check();
    }
    findings
}

struct Checker<'a> {
    source: &'a Source,
    module: Vec<String>,
    code: String,
    tests: Vec<RangeInclusive<usize>>,
    findings: &'a mut Vec<String>,
}

impl Checker<'_> {
    fn find(&mut self, line: usize, what: &str, cure: &str) {
        self.findings.push(format!("{}:{line}: {what}\n    cure: {cure}", self.source.path));
    }

    fn is_within(&self, places: &[&str]) -> bool {
        let path = &self.source.path;
        places.iter().any(|place| match place.strip_suffix(".rs") {
            Some(stem) => path == place || path.starts_with(&format!("{stem}/")),
            None => {
                path.starts_with(place) || *path == format!("{}.rs", place.trim_end_matches('/'))
            }
        })
    }

    /// What a pattern captures, and on which line.
    fn matches(&self, pattern: &Regex, with_tests: bool) -> Vec<(String, usize)> {
        let found = pattern.captures_iter(&self.code).map(|found| {
            let start = found.get(1).unwrap_or_else(|| found.get(0).unwrap());
            (start.as_str().to_owned(), 1 + self.code[..start.start()].matches('\n').count())
        });
        let is_test = |line: usize| self.tests.iter().any(|lines| lines.contains(&line));
        found.filter(|(_, line)| with_tests || !is_test(*line)).collect()
    }

    fn check(&mut self) {
        let room = self.module.first().map(String::as_str).unwrap_or_default();
        let known = CRATE_ROOMS.contains(&room) || ROOMS.iter().any(|(name, _)| *name == room);
        if !known && !FRONT_DOORS.contains(&self.source.path.as_str()) {
            self.find(
                1,
                "belongs to no room",
                "move it into one, or add the room to ROOMS in tests/it/layers.rs",
            );
        }
        self.lengths();
        self.words();
        self.vendors();
        self.imports();
    }

    fn lengths(&mut self) {
        static FUNCTION: LazyLock<Regex> = LazyLock::new(|| {
            regex(r#"^\s*(?:pub(?:\([^)]*\))? )?(?:(?:const|async|unsafe|extern "C") )*fn \w+"#)
        });
        let lines: Vec<&str> = self.source.text.lines().collect();
        if lines.len() > MAX_FILE_LINES {
            let what = format!("{} lines, at most {MAX_FILE_LINES} are allowed", lines.len());
            self.find(
                MAX_FILE_LINES + 1,
                &what,
                "split it by subject; move long tests into tests.rs beside it",
            );
        }
        for at in (0..lines.len()).filter(|at| FUNCTION.is_match(lines[*at])) {
            let length = end_of(&lines, at) - at;
            if length > MAX_FUNCTION_LINES {
                let what = format!(
                    "a function has {length} lines, at most {MAX_FUNCTION_LINES} are allowed"
                );
                self.find(at + 1, &what, "give its steps names: a function each");
            }
        }
    }

    fn words(&mut self) {
        static PATTERNS: LazyLock<Vec<Regex>> =
            LazyLock::new(|| WORDS.iter().map(|(pattern, ..)| regex(pattern)).collect());
        static EXPECT: LazyLock<Regex> =
            LazyLock::new(|| regex(r##"\.expect\(\s*r?#?"((?:[^"\\]|\\.)*)""##));
        for (pattern, (_, allowed, in_tests, cure)) in PATTERNS.iter().zip(WORDS) {
            if !self.is_within(allowed) {
                for (found, line) in self.matches(pattern, *in_tests) {
                    self.find(line, &format!("`{found}`"), cure);
                }
            }
        }
        for (message, line) in self.matches(&EXPECT, false) {
            if !message.ends_with(EXPECT_ENDING) {
                let what = format!("`.expect({message:?})` does not end with \"{EXPECT_ENDING}\"");
                self.find(line, &what, "name the invariant that was broken and end the message so");
            }
        }
    }

    fn vendors(&mut self) {
        static NAMED: LazyLock<Regex> = LazyLock::new(|| {
            let all: Vec<&str> = VENDORS.iter().map(|(vendor, _)| *vendor).collect();
            regex(&format!(
                r"(?:(?:^|[^\w:])(?:::)?|\b(?:use|crate) (?:::)?)\b({})(?:::|;)",
                all.join("|")
            ))
        });
        for (vendor, line) in self.matches(&NAMED, true) {
            let (_, doors) = VENDORS.iter().find(|(name, _)| *name == vendor).unwrap();
            if !self.is_within(doors) {
                let cure = format!("use it through {}", doors.join(" or "));
                self.find(line, &format!("`{vendor}` outside its door"), &cure);
            }
        }
    }

    fn imports(&mut self) {
        static ROOT: LazyLock<Regex> =
            LazyLock::new(|| regex(r"\bcrate::([\w*]+|\{[^}]*\})|\buse (crate as)\b"));
        static ABOVE: LazyLock<Regex> =
            LazyLock::new(|| regex(r"\b((?:super::)+(?:\w+|\*)|(?:super::)*super as)\b"));
        let Some(room) = self.module.first().cloned() else { return };
        let Some((_, allowed)) = ROOMS.iter().find(|(name, _)| *name == room) else { return };
        let mut targets = Vec::new();
        for (path, line) in self.matches(&ROOT, true) {
            let names = path.trim_matches(['{', '}']).split(',');
            let first = |name: &str| name.trim().split("::").next().unwrap_or_default().to_owned();
            targets
                .extend(names.map(first).filter(|name| !name.is_empty()).map(|name| (name, line)));
        }
        for (path, line) in self.matches(&ABOVE, true) {
            let is_inner =
                self.tests.iter().any(|lines| *lines != (1..=usize::MAX) && lines.contains(&line));
            let ups = path.matches("super").count();
            if ups >= self.module.len() + usize::from(is_inner) {
                targets.push((path.rsplit("::").next().unwrap_or_default().to_owned(), line));
            }
        }
        for (target, line) in targets {
            if target != room && target != FOUNDATION && !allowed.contains(&&*target) {
                let may =
                    if allowed.is_empty() { "nothing of ours".into() } else { allowed.join(", ") };
                let what = format!("room `{room}` imports `{target}`; it may import: {may}");
                self.find(
                    line,
                    &what,
                    "pass the value in from above, or name the room that owns it",
                );
            }
        }
    }
}

/// The table of rooms has no ring, and each rule can fail.
#[test]
fn each_rule_is_kept_and_can_fail() {
    for (at, (room, allowed)) in ROOMS.iter().enumerate() {
        for import in *allowed {
            let is_below = ROOMS[..at].iter().any(|(name, _)| name == import);
            assert!(CRATE_ROOMS.contains(import) || is_below, "`{room}` imports `{import}`");
        }
    }
    let long = format!("fn f() {{\n{}}}", "    g();\n".repeat(MAX_FUNCTION_LINES - 1));
    let method = format!(
        "impl S {{\n    pub fn f(\n    ) {{\n{}    }}\n}}",
        "        g();\n".repeat(MAX_FUNCTION_LINES)
    );
    let after = "#[cfg(test)]\nmod tests {\n}\nfn f() { g().unwrap(); }";
    for (path, text, line, what) in [
        ("util/mod.rs", "fn f() {}", 1, "belongs to no room"),
        ("query/tool.rs", "use crate::engine::Engine;", 1, "room `query` imports `engine`"),
        ("query/tool.rs", "use crate::{catalog::Tool, engine::Engine};", 1, "imports `engine`"),
        ("query/tool.rs", "use super::super::engine::Engine;", 1, "imports `engine`"),
        ("query/mod.rs", "use super::engine::Engine;", 1, "imports `engine`"),
        ("query/mod.rs", "use crate::*;", 1, "imports `*`"),
        ("query/tool.rs", "\nfn f() { log!(a, { crate::engine::g() }); }", 2, "imports `engine`"),
        ("engine/mod.rs", "macro_rules! m { () => { $crate::cli::g() } }", 1, "imports `cli`"),
        ("index/flat.rs", "use candle_core::Tensor;", 1, "`candle_core` outside its door"),
        ("index/flat.rs", "use {std::fmt, candle_core::{self, Tensor}};", 1, "`candle_core`"),
        ("index/flat.rs", "fn f(x: &::candle_core::Tensor) {}", 1, "`candle_core`"),
        ("embedding/bert.rs", "use hf_hub::api::sync::Api;", 1, "use it through embedding/hub.rs"),
        ("engine/mod.rs", "#[derive(clap::ValueEnum)] enum E { A }", 1, "`clap`"),
        ("catalog/tool.rs", &"// x\n".repeat(MAX_FILE_LINES + 1), 501, "501 lines"),
        ("catalog/tool.rs", &long, 1, "a function has 61 lines"),
        ("catalog/tool.rs", &method, 2, "a function has 63 lines"),
        ("index/flat.rs", "fn f() { m!(unsafe { g() }) }", 1, "`unsafe {`"),
        ("engine/mod.rs", "fn f() { std::print!(\"x\") }", 1, "`print!`"),
        ("engine/mod.rs", "use std::{fmt, process::{exit, Command}};", 1, "exit"),
        ("engine/mod.rs", "#[cfg(not(test))] fn f() { g().unwrap(); }", 1, "`.unwrap()`"),
        ("engine/mod.rs", after, 4, "`.unwrap()`"),
        ("engine/mod.rs", "fn f() { g().expect(\n\"should work\"); }", 2, "does not end with"),
    ] {
        let found = check(&[Source { path: path.into(), text: text.into() }]);
        let is_told = found.len() == 1 && found[0].starts_with(&format!("{path}:{line}: "));
        assert!(is_told && found[0].contains(what), "{path}: {text}: {found:#?}");
    }
    for (path, text) in [
        ("selection/policy.rs", "use crate::{catalog::Tool, feedback::Rates};"),
        ("query/tool.rs", "#[cfg(test)]\nmod tests {\n    use super::super::text;\n}"),
        (
            "query/tool.rs",
            "/// Used by [`crate::engine::Engine`].\nstruct S; // crate::engine::Engine",
        ),
        ("cli/find.rs", "use crate::{engine::Engine, server::Server};\nfn f() { println!() }"),
        ("embedding/hub/cache.rs", "use hf_hub::Cache;"),
        ("index/bm25.rs", "fn f(tokenizers: u8) -> u8 { tokenizers + 1 }"),
        ("kernels/avx.rs", "fn f() { unsafe { g() } }"),
        (
            "engine/mod.rs",
            "fn f() { g().unwrap_or(1).expect(\"ids are unique. This is a bug.\"); }",
        ),
        ("engine/mod.rs", "#[cfg(all(test, unix))]\nmod tests {\n    fn f() { g().unwrap(); }\n}"),
        ("engine/tests.rs", "fn f() { g().unwrap(); }"),
        ("engine/mock.rs", "#![cfg(test)]\nfn f() { g().unwrap(); }"),
    ] {
        let found = check(&[Source { path: path.into(), text: text.into() }]);
        assert!(found.is_empty(), "{path}: {text}: {found:#?}");
    }
    let mock = || Source { path: "engine/mock.rs".into(), text: "fn f() { g().unwrap(); }".into() };
    let declared = Source { path: "engine/mod.rs".into(), text: "#[cfg(test)]\nmod mock;".into() };
    assert_eq!((check(&[mock()]).len(), check(&[declared, mock()]).len()), (1, 0));
}
