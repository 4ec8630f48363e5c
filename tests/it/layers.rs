//! Guards what the compiler does not know of the layout: which room of a crate may import which, the
//! door of each vendor crate, and the house rules.
//!
//! The rules are data (the constants below). Where the layout changes, change the table in the
//! same commit and say why in its message. `syn` finds modules, functions and test code; paths are
//! read from the token stream, so that those inside macros and attributes count as well.

use std::fmt;
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use layout::Layout;
use tokens::{is_ident, is_punct, is_restriction, leading_path, use_paths};

mod layout;
mod tests;
mod tokens;

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
    ("hyper_util", &["server/http.rs"]),
    ("utoipa", &["server/"]),
    ("subtle", &["server/guard.rs"]),
    ("anyhow", &["cli/", "main.rs", "lab/"]),
    ("clap", &["cli/", "main.rs", "lab/main.rs"]),
    ("clap_complete", &["cli/"]),
    ("comfy_table", &["cli/"]),
    ("terminal_size", &["cli/"]),
    ("indicatif", &["cli/"]),
    ("prometheus_client", &["engine/metrics.rs"]),
    ("tracing_subscriber", &["cli/"]),
];

const UNSAFE_ALLOWED: &[&str] = &["kernels/"];
const STDOUT_ALLOWED: &[&str] = &["cli/", "main.rs", "lab/main.rs"];
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
    let report: Vec<String> = findings.iter().map(Finding::to_string).collect();
    assert!(report.is_empty(), "{} house rules broken:\n\n{}\n", report.len(), report.join("\n\n"));
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

/// A broken rule: where, which, and how to mend it.
#[derive(Debug)]
struct Finding {
    file: String,
    line: usize,
    rule: Rule,
    what: String,
    cure: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Parse,
    Room,
    Import,
    Vendor,
    FileLength,
    FunctionLength,
    Unsafe,
    Stdout,
    Unwrap,
    Expect,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, rule, what, cure } = self;
        write!(f, "{file}:{line}: {rule:?}: {what}\n    cure: {cure}")
    }
}

fn check(sources: &[Source]) -> Vec<Finding> {
    let mut parsed = Vec::new();
    let mut findings = Vec::new();
    for source in sources {
        match syn::parse_file(&source.text) {
            Ok(file) => parsed.push((source, Layout::of(source, &file))),
            Err(error) => findings.push(Finding {
                file: source.path.clone(),
                line: error.span().start().line,
                rule: Rule::Parse,
                what: error.to_string(),
                cure: "let `cargo check` pass first".into(),
            }),
        }
    }
    // `#[cfg(test)] mod mock;` makes test code of another file.
    let test_modules: Vec<Vec<String>> =
        parsed.iter().flat_map(|(_, layout)| layout.test_files.iter().cloned()).collect();
    for (source, layout) in parsed {
        let mut checker = Checker::new(source, layout, &test_modules);
        checker.check_file();
        findings.append(&mut checker.findings);
    }
    findings.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    findings
}

/// Reads one file's tokens and collects what breaks a rule.
struct Checker<'a> {
    source: &'a Source,
    layout: Layout,
    all_test_code: bool,
    findings: Vec<Finding>,
}

impl<'a> Checker<'a> {
    fn new(source: &'a Source, layout: Layout, test_modules: &[Vec<String>]) -> Self {
        let all_test_code = source.path.ends_with("/tests.rs")
            || test_modules.iter().any(|module| layout.module.starts_with(module));
        Self { source, layout, all_test_code, findings: Vec::new() }
    }

    fn find(&mut self, line: usize, rule: Rule, what: String, cure: impl Into<String>) {
        let file = self.source.path.clone();
        self.findings.push(Finding { file, line, rule, what, cure: cure.into() });
    }

    fn is_test_code(&self, line: usize) -> bool {
        self.all_test_code || self.layout.test_code.iter().any(|lines| lines.contains(&line))
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

    fn check_file(&mut self) {
        let room = self.layout.module.first().cloned();
        let known = room.iter().any(|room| {
            CRATE_ROOMS.contains(&room.as_str()) || ROOMS.iter().any(|(name, _)| name == room)
        });
        if !known && !FRONT_DOORS.contains(&self.source.path.as_str()) {
            let cure =
                "move it into one of the rooms, or add the room to ROOMS in tests/it/layers.rs";
            self.find(1, Rule::Room, "belongs to no room".into(), cure);
        }
        let lines = self.source.text.lines().count();
        if lines > MAX_FILE_LINES {
            let what = format!("{lines} lines, at most {MAX_FILE_LINES} are allowed");
            let cure = "split it by subject; move long tests into tests.rs beside it";
            self.find(MAX_FILE_LINES + 1, Rule::FileLength, what, cure);
        }
        for (lines, name) in std::mem::take(&mut self.layout.functions) {
            let length = lines.end() - lines.start() + 1;
            if length > MAX_FUNCTION_LINES {
                let what = format!(
                    "function `{name}` has {length} lines, at most {MAX_FUNCTION_LINES} are allowed"
                );
                let cure = "give its steps names: a function each";
                self.find(*lines.start(), Rule::FunctionLength, what, cure);
            }
        }
        match self.source.text.parse::<TokenStream>() {
            Ok(tokens) => self.tokens(tokens),
            Err(error) => {
                self.find(1, Rule::Parse, error.to_string(), "let `cargo check` pass first")
            }
        }
    }

    fn tokens(&mut self, stream: TokenStream) {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            at += self.token(&tokens, at);
        }
    }

    /// Judges what begins at `at`; the number of tokens that it took.
    fn token(&mut self, tokens: &[TokenTree], at: usize) -> usize {
        let rest = &tokens[at..];
        match &rest[0] {
            TokenTree::Group(group) => {
                self.tokens(group.stream());
                1
            }
            TokenTree::Punct(dot) if dot.as_char() == '.' => self.after_dot(rest),
            TokenTree::Ident(ident) if ident == "use" && !is_punct(rest.get(1), '<') => {
                let end = rest.iter().position(|t| is_punct(Some(t), ';')).unwrap_or(rest.len());
                for (path, line) in use_paths(&rest[1..end]) {
                    self.path(&path, line, true);
                }
                end
            }
            // `pub(in crate::room)` grants, it does not import.
            TokenTree::Ident(ident) if ident == "pub" && is_restriction(rest.get(1)) => 2,
            TokenTree::Ident(ident) => {
                let line = ident.span().start().line;
                let (path, taken) = leading_path(rest);
                let called = matches!(rest.get(taken + 1), Some(TokenTree::Group(_)));
                self.word(&path[path.len() - 1], called && is_punct(rest.get(taken), '!'), line);
                let is_extern = at > 0 && is_ident(tokens.get(at - 1), "crate");
                self.path(&path, line, path.len() > 1 || is_extern);
                taken
            }
            _ => 1,
        }
    }

    /// `.unwrap()` and `.expect("…")`, and past the name of any method or field.
    fn after_dot(&mut self, rest: &[TokenTree]) -> usize {
        let Some(TokenTree::Ident(name)) = rest.get(1) else { return 1 };
        let line = name.span().start().line;
        if let Some(TokenTree::Group(group)) = rest.get(2) {
            let called = group.delimiter() == Delimiter::Parenthesis && !self.is_test_code(line);
            if called && name == "unwrap" && group.stream().is_empty() {
                let cure = "return an error, or `expect` with the invariant and \"This is a bug.\"";
                self.find(line, Rule::Unwrap, "`.unwrap()` outside test code".into(), cure);
            }
            if called && name == "expect" {
                self.expect_message(group.stream(), line);
            }
        }
        2
    }

    fn expect_message(&mut self, arguments: TokenStream, line: usize) {
        let Some(TokenTree::Literal(literal)) = arguments.into_iter().next() else { return };
        let Ok(message) = syn::parse_str::<syn::LitStr>(&literal.to_string()) else { return };
        if !message.value().ends_with(EXPECT_ENDING) {
            let what = format!("`.expect({literal})` does not end with \"{EXPECT_ENDING}\"");
            let cure =
                "name the invariant that was broken and end the message so, or return an error";
            self.find(line, Rule::Expect, what, cure);
        }
    }

    fn word(&mut self, word: &str, is_macro: bool, line: usize) {
        if word == "unsafe" && !self.is_within(UNSAFE_ALLOWED) {
            let cure = format!("write it safely, or move it to {}", UNSAFE_ALLOWED.join(", "));
            self.find(line, Rule::Unsafe, "`unsafe`".into(), cure);
        }
        let prints = is_macro && (word == "println" || word == "print");
        if prints && !self.is_within(STDOUT_ALLOWED) && !self.is_test_code(line) {
            let cure = "return the data and let cli print it; for logs use tracing";
            self.find(line, Rule::Stdout, format!("`{word}!`: stdout is data"), cure);
        }
    }

    /// A path as it is written. `named` tells a path from a lone word, such as a variable.
    fn path(&mut self, path: &[String], line: usize, named: bool) {
        let exits = path.windows(2).any(|pair| pair[0] == "process" && pair[1] == "exit");
        if exits && !self.is_within(STDOUT_ALLOWED) && !self.is_test_code(line) {
            let cure = "return an error and let cli choose the exit status";
            self.find(line, Rule::Stdout, "`process::exit` skips every destructor".into(), cure);
        }
        if !named {
            return;
        }
        if let Some((vendor, doors)) = VENDORS.iter().find(|(vendor, _)| path[0] == *vendor)
            && !self.is_within(doors)
        {
            let cure = format!("use it through {}", doors.join(" or "));
            self.find(line, Rule::Vendor, format!("`{vendor}` outside its door"), cure);
        }
        if let Some(target) = self.leaves_to(path, line) {
            self.import(&target, line);
        }
    }

    /// The first name below the crate root, if the path goes through the root.
    fn leaves_to(&self, path: &[String], line: usize) -> Option<String> {
        let after_self = path.iter().position(|name| name != "self").unwrap_or(0);
        let path = &path[after_self..];
        let ups = path.iter().take_while(|name| *name == "super").count();
        let depth = self.layout.module_at(line).len();
        let below_root = match path[0].as_str() {
            "crate" => &path[1..],
            "super" if ups >= depth => &path[ups..],
            _ => return None,
        };
        Some(below_root.first().cloned().unwrap_or_default())
    }

    fn import(&mut self, target: &str, line: usize) {
        let Some(room) = self.layout.module.first() else { return };
        let Some((_, allowed)) = ROOMS.iter().find(|(name, _)| name == room) else { return };
        if target == room || target == FOUNDATION || allowed.contains(&target) {
            return;
        }
        let may = if allowed.is_empty() { "nothing of ours".into() } else { allowed.join(", ") };
        let is_room =
            CRATE_ROOMS.contains(&target) || ROOMS.iter().any(|(name, _)| *name == target);
        let (what, cure) = if is_room {
            let what = format!("room `{room}` imports `{target}`; it may import: {may}");
            (what, "pass the value in from above, or move the line to a higher room")
        } else {
            let what = format!("room `{room}` imports `{target}` from the crate root");
            (what, "name the room that owns it: `crate::room::…`")
        };
        self.find(line, Rule::Import, what, cure);
    }
}
