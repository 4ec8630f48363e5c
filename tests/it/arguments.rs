//! Arguments from the prompt: a set of prompts with what each must give, through the library, the
//! command line and HTTP.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolroute::{Catalog, Tool};
use toolroute_catalog::LoadOptions;
use toolroute_run::execution::{ArgumentSources, LocalTime, PreparedArguments, prepare_arguments};

use crate::http::{Server, post};
use crate::stand_ins::{journal, scripted};
use crate::support::{Sandbox, repo};

/// A Monday.
const NOW: &str = "2026-04-20T10:30:00+02:00";

/// Files of tools below `tests/data`.
const TOOLS: [&str; 5] = [
    "arguments/first_tools.json",
    "arguments/second_tools.json",
    "captured/filesystem.json",
    "captured/everything.json",
    "captured/memory.json",
];

/// A prompt, and what it must give.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    tool: String,
    prompt: String,
    #[serde(default)]
    given: Map<String, Value>,
    #[serde(default)]
    earlier: Vec<String>,
    last_result: Option<Value>,
    #[serde(default)]
    expect: Map<String, Value>,
    /// Parameters that must be asked for, and no other.
    #[serde(default)]
    ask: BTreeSet<String>,
    /// Other values that are right as well, or right where none is expected.
    #[serde(default)]
    accept: Map<String, Value>,
    #[serde(default)]
    note: String,
}

impl Row {
    fn prepare(&self, tools: &[Arc<Tool>]) -> PreparedArguments {
        let tool = tools.iter().find(|tool| tool.name == self.tool);
        let tool = tool.unwrap_or_else(|| panic!("no tool {}", self.tool));
        let now: LocalTime = NOW.parse().unwrap();
        let earlier: Vec<&str> = self.earlier.iter().map(String::as_str).collect();
        let sources = ArgumentSources {
            given: Some(&self.given),
            earlier: &earlier,
            last_result: self.last_result.as_ref(),
            ..ArgumentSources::new(&self.prompt, &now)
        };
        prepare_arguments(tool, &sources)
    }

    fn is_right(&self, name: &str, value: &Value) -> bool {
        let accepted = self.accept.get(name).and_then(Value::as_array);
        self.expect.get(name) == Some(value)
            || accepted.is_some_and(|values| values.contains(value))
    }
}

fn tools(files: &[&str]) -> Vec<Arc<Tool>> {
    let paths: Vec<_> = files.iter().map(|file| repo("tests/data").join(file)).collect();
    let loaded = Catalog::load(&paths, &LoadOptions::default()).unwrap();
    loaded.catalog.tools().to_vec()
}

fn rows(file: &str) -> Vec<Row> {
    let text = std::fs::read_to_string(repo("tests/data/arguments").join(file)).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// How many prompts of a set came to all expected values and questions and nothing else, the number
/// of prompts, and the values that were taken and are not what the prompt says.
fn score(file: &str, tools: &[&str]) -> (usize, usize, Vec<String>) {
    let tools = self::tools(tools);
    let rows = rows(file);
    let (mut exact, mut expected, mut right, mut wrong) = (0, 0, 0, Vec::new());
    for row in &rows {
        let prepared = row.prepare(&tools);
        let asked: BTreeSet<String> =
            prepared.missing.iter().map(|question| question.name.clone()).collect();
        let is_whole = row.expect.keys().all(|name| prepared.arguments.contains_key(name));
        let before = wrong.len();
        for (name, value) in &prepared.arguments {
            if !row.is_right(name, value) {
                wrong.push(format!("{}: {name} = {value}", row.prompt));
            } else if row.expect.contains_key(name) {
                right += 1;
            }
        }
        let is_exact = is_whole && wrong.len() == before && asked == row.ask;
        if !is_exact {
            eprintln!(
                "not exact: {} · {}\n    {}\n    got {} asks {asked:?}\n    expected {} asks {:?}",
                row.tool,
                row.prompt,
                row.note,
                json!(prepared.arguments),
                json!(row.expect),
                row.ask
            );
            for question in &prepared.missing {
                eprintln!("    ? {question}");
            }
        }
        exact += usize::from(is_exact);
        expected += row.expect.len();
    }
    eprintln!(
        "{file}: {exact} of {} prompts exact, {right} of {expected} values found, {} wrong",
        rows.len(),
        wrong.len()
    );
    (exact, rows.len(), wrong)
}

#[test]
fn no_value_is_guessed_and_most_are_found() {
    let (exact, prompts, wrong) = score("first.jsonl", &TOOLS[..1]);
    assert_eq!(wrong, [] as [&str; 0]);
    assert!(exact * 100 >= prompts * 95, "{exact} of {prompts}");
}

/// Written after the reader had been made on the other set, with tools as their authors publish
/// them.
#[test]
fn no_value_is_guessed_for_tools_that_were_not_looked_at() {
    let (.., wrong) = score("second.jsonl", &TOOLS[1..]);
    assert_eq!(wrong, [] as [&str; 0]);
}

/// Prompts for rules that neither of the other sets needs, and for readings that were wrong once.
#[test]
fn every_rule_has_a_prompt_that_needs_it() {
    let (exact, prompts, wrong) = score("third.jsonl", &TOOLS);
    assert_eq!(wrong, [] as [&str; 0]);
    assert_eq!(exact, prompts);
}

/// Prompts that give ids, listed values, filters, money and phrases to search for, for tools of a
/// hospital, a library, a bank and a game.
#[test]
fn what_a_prompt_plainly_gives_is_used_or_asked_about() {
    let (exact, prompts, wrong) = score("fourth.jsonl", &["arguments/fourth_tools.json"]);
    assert_eq!(wrong, [] as [&str; 0]);
    assert_eq!(exact, prompts);
}

/// Two tools of one server that note what they are called with.
fn home() -> Sandbox {
    let timer = json!({"type": "object", "required": ["seconds"], "properties": {
        "seconds": {"type": "integer", "minimum": 1, "maximum": 7200, "description": "How long, in seconds"},
        "label": {"type": "string"}}});
    let note = json!({"type": "object", "required": ["path", "text"], "properties": {
        "path": {"type": "string", "description": "Path of the file"},
        "text": {"type": "string", "description": "The text to keep"}}});
    scripted(&[(
        "home",
        json!([
            {"name": "set_timer", "description": "Sets a kitchen timer", "inputSchema": timer,
             "does": {"answer": "rings in {seconds} s"}},
            {"name": "keep_note", "description": "Keeps a note in a text file", "inputSchema": note,
             "does": {"answer": "kept in {path}"}},
        ]),
    )])
}

/// A command over the sandbox's servers, without `--servers`.
fn typed(sandbox: &Sandbox, args: &[&str]) -> Vec<String> {
    let servers = sandbox.arg("servers.json");
    let own = args.iter().map(|arg| (*arg).to_owned());
    own.chain(["--servers".to_owned(), servers]).collect()
}

fn json_of(sandbox: &Sandbox, args: &[&str]) -> Value {
    let args = typed(sandbox, args);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    sandbox.json(&args)
}

fn output_of(sandbox: &Sandbox, args: &[&str]) -> std::process::Output {
    sandbox.toolroute().args(typed(sandbox, args)).output().unwrap()
}

const RUN: [&str; 5] = ["run", "--model", "static", "--min-confidence", "0"];

#[test]
fn a_plan_says_what_no_argument_takes_as_a_run_does() {
    let sandbox = home();
    let prompt = "set a timer for 5 minutes and 3 jokes";
    let run = |more: &[&str]| {
        let output = output_of(&sandbox, &[&RUN[..], &[prompt], more].concat());
        [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap())
    };
    let unused = "not used: 3 (number)";
    assert!(run(&[])[1].contains(unused));
    let [shown, said] = run(&["--plan"]);
    assert!(said.contains(unused) && !shown.contains("not used"), "{shown}{said}");
    let [shown, said] = run(&["--plan", "--dry-run"]);
    assert!(shown.contains(unused), "{shown}{said}");
}

#[test]
fn run_takes_the_arguments_from_the_prompt_and_says_where_from() {
    let sandbox = home();
    let prompt = "set a timer for 1 hour and 5 minutes with the label \"Bread\"";
    let report = json_of(&sandbox, &[&RUN[..], &[prompt]].concat());
    assert_eq!(
        (&report["outcome"], &report["text"]),
        (&json!("answered"), &json!("rings in 3900 s"))
    );
    let sources = &report["arguments"]["sources"];
    assert_eq!(sources[0]["name"], "seconds");
    assert_eq!(sources[0]["from"], "prompt");
    assert_eq!(sources[0]["text"], "1 hour and 5 minutes");
    assert_eq!(sources[0]["how"], "65 minutes are 3900 seconds");
    assert_eq!(sources[1]["value"], "Bread");

    let given = ["--args", r#"{"label": "Eggs"}"#];
    let output = output_of(
        &sandbox,
        &[&RUN[..], &["set a timer for 5 minutes and 3 jokes"], &given].concat(),
    );
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "rings in 300 s\n", "{said}");
    assert!(
        said.contains("`seconds` is 300, from \"5 minutes\" (5 minutes are 300 seconds)"),
        "{said}"
    );
    assert!(said.contains("not used: 3 (number)"), "{said}");
    let calls = journal(&sandbox, "home");
    let expected = [
        r#"set_timer {"label": "Bread", "seconds": 3900}"#,
        r#"set_timer {"label": "Eggs", "seconds": 300}"#,
    ];
    assert_eq!(calls, expected);
}

#[test]
fn what_the_prompt_does_not_say_for_certain_is_asked_and_nothing_is_called() {
    let sandbox = home();
    for (prompt, question) in [
        ("set a kitchen timer", "`seconds` (How long, in seconds) is needed"),
        ("set a kitchen timer for 10", "the unit of 10 is not said, and it counts in seconds: 10"),
        (
            "set a kitchen timer for 5 or 6 minutes",
            "several values are said; which: 5 or 6 minutes?",
        ),
        ("set a kitchen timer for 3 hours", "10800 is greater than the maximum of 7200: 3 hours"),
    ] {
        let output = output_of(&sandbox, &[&RUN[..], &[prompt]].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(question), "{said}");
        assert!(output.stdout.is_empty());
    }
    let asked =
        output_of(&sandbox, &[&RUN[..], &["set a kitchen timer for 10", "--json"]].concat());
    let report: Value = serde_json::from_slice(&asked.stdout).unwrap();
    assert_eq!(
        (&report["outcome"], &report["tool"]),
        (&json!("clarify"), &json!("home__set_timer"))
    );
    assert_eq!(report["arguments"]["questions"][0]["name"], "seconds");
    assert_eq!(report["arguments"]["questions"][0]["candidates"], json!(["10"]));
    assert_eq!(report["attempts"], json!([]));
    assert_eq!(journal(&sandbox, "home"), [] as [&str; 0]);
}

#[test]
fn call_reads_a_prompt_too_and_a_dry_run_calls_nothing() {
    let sandbox = home();
    let result = sandbox.put("result.txt", "Rain tomorrow.\n");
    let prompt = [
        "call",
        "home:keep_note",
        "--prompt",
        "keep that in it",
        "--earlier",
        "make ~/notes/weather.txt",
    ];
    let with = [&prompt[..], &["--last-result", &result]].concat();
    let dry = json_of(&sandbox, &[&with[..], &["--dry-run"]].concat());
    let expected = json!({"path": "~/notes/weather.txt", "text": "Rain tomorrow."});
    assert_eq!(dry["arguments"]["arguments"], expected, "{dry}");
    assert_eq!(dry["arguments"]["sources"][0]["from"], "earlier");
    assert_eq!(dry["arguments"]["sources"][1]["from"], "last_result");
    assert_eq!(journal(&sandbox, "home"), [] as [&str; 0]);
    assert_eq!(json_of(&sandbox, &with)["text"], "kept in ~/notes/weather.txt");
    assert_eq!(journal(&sandbox, "home").len(), 1);
    let none = ["run", "how do volcanoes form underwater", "--dry-run", "--json"];
    let none = output_of(&sandbox, &none);
    let said: Value = serde_json::from_slice(&none.stdout).unwrap();
    assert!(none.status.code() == Some(1) && said["outcome"] == "failed", "{said}");
    assert!(said["message"].as_str().unwrap().contains("toolroute route"), "{said}");
    let alone = output_of(&sandbox, &["call", "home:keep_note", "--dry-run"]);
    let said = String::from_utf8(alone.stderr).unwrap();
    assert!(alone.status.code() == Some(2) && said.contains("expected --prompt"), "{said}");
}

/// A library whose tools have optional parameters, and one without any.
fn library() -> Sandbox {
    let tool = |name: &str, about: &str, properties: Value| {
        json!({"name": name, "description": about, "annotations": {"readOnlyHint": true},
               "inputSchema": {"type": "object", "properties": properties}})
    };
    let flag = json!({"type": "boolean"});
    scripted(&[(
        "library",
        json!([
            tool(
                "list_loans",
                "Lists the loans of members",
                json!({"overdue": flag, "renewed": flag})
            ),
            tool("list_files", "Lists the files of a folder", json!({"recursive": flag})),
            tool(
                "add",
                "Adds numbers",
                json!({"n": {"type": "array", "items": {"type": "number"}}})
            ),
            tool("list_shelves", "Lists the shelves", json!({"floor": {"type": "integer"}})),
            tool("open_hours", "Tells the hours of the library", json!({})),
        ]),
    )])
}

#[test]
fn an_adjective_or_an_adverb_sets_a_boolean_unless_it_is_denied() {
    let sandbox = library();
    for (tool, prompt, expected) in [
        ("list_loans", "show the overdue loans", json!({"overdue": true})),
        ("list_loans", "overdue loans", json!({"overdue": true})),
        ("list_loans", "which loans are overdue?", json!({"overdue": true})),
        ("list_loans", "overdue and renewed loans", json!({"overdue": true, "renewed": true})),
        ("list_loans", "show the loans that are not overdue", json!({"overdue": false})),
        ("list_loans", "do not show the overdue loans", json!({})),
        ("list_loans", "all loans except overdue loans", json!({})),
        ("list_loans", "current and overdue loans", json!({})),
        ("list_loans", "say if a loan is overdue", json!({})),
        ("list_loans", "show the fees for overdue items", json!({})),
        ("list_files", "list the files recursively", json!({"recursive": true})),
        ("list_files", "list the files non-recursively", json!({"recursive": false})),
    ] {
        let call = ["call", tool, "--prompt", prompt, "--dry-run"];
        let read = &json_of(&sandbox, &call)["arguments"]["arguments"];
        assert_eq!(*read, expected, "{prompt}");
    }
    let called = json_of(&sandbox, &[&RUN[..], &["show the overdue loans"]].concat());
    assert_eq!(called["arguments"]["sources"][0]["text"], "overdue", "{called}");
    assert_eq!(journal(&sandbox, "library"), [r#"list_loans {"overdue": true}"#]);
}

#[test]
fn a_call_without_arguments_is_not_made_for_a_prompt_with_values() {
    let sandbox = library();
    let read = |tool: &str, prompt: &str| {
        let read = json_of(&sandbox, &["call", tool, "--prompt", prompt, "--dry-run"]);
        read["arguments"]["arguments"].clone()
    };
    assert_eq!(read("add", "add 4 and 5"), json!({"n": [4, 5]}));
    assert_eq!(read("add", "add 4, 5 and 6.5"), json!({"n": [4, 5, 6.5]}));
    assert_eq!(read("list_shelves", "list the shelves"), json!({}));
    assert_eq!(
        read("list_shelves", "list the shelves for \"art\""),
        json!({}),
        "no text is a floor"
    );
    assert_eq!(read("open_hours", "open hours on 5 May for 2 people"), json!({}));
    for (prompt, value) in [("list the shelves near 7", "7"), ("shelves of 3 of 12", "3 or 12")] {
        let output = output_of(&sandbox, &["call", "list_shelves", "--prompt", prompt]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.contains("`floor`: no parameter took a value") && said.contains(value),
            "{said}"
        );
    }
    assert_eq!(journal(&sandbox, "library"), [] as [&str; 0]);
}

#[test]
fn http_reads_arguments_and_calls_nothing() {
    let sandbox = home();
    let servers = sandbox.arg("servers.json");
    let server = Server::by_static(&sandbox, &["--servers", &servers]);
    let ask = |body: &Value| post(server.port, "/v1/arguments", body);
    let body = json!({"tool": "home:keep_note", "prompt": "keep it in /tmp/a.txt", "last_result": {"text": "Rain"}});
    let read = ask(&body).ok();
    assert_eq!(read["arguments"], json!({"path": "/tmp/a.txt", "text": "Rain"}), "{read}");
    assert_eq!(read["sources"][1]["pointer"], "/text");
    assert!(read["questions"].is_null(), "{read}");
    let body = json!({"tool": "home:set_timer", "prompt": "timer", "arguments": "{\"label\": \"x\"}", "now": NOW});
    let asked = ask(&body).ok();
    assert_eq!(asked["questions"][0]["name"], "seconds");
    assert_eq!(asked["sources"][0]["from"], "given");
    for (wrong, status) in [
        (json!({"tool": "home:set_timer", "prompt": "x", "now": "soon"}), 400),
        (json!({"tool": "home:set_timer", "prompt": "x", "later": 1}), 400),
        (json!({"tool": "home:nothing", "prompt": "x"}), 404),
    ] {
        assert_eq!(ask(&wrong).error().0, status, "{wrong}");
    }
    assert_eq!(journal(&sandbox, "home"), [] as [&str; 0]);
}
