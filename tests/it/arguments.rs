//! Arguments from the prompt: a set of prompts with what each must give, through the library, the
//! command line and HTTP.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolroute::catalog::LoadOptions;
use toolroute::execution::{ArgumentSources, LocalTime, PreparedArguments, prepare_arguments};
use toolroute::{Catalog, Tool};

use crate::support::repo;

/// A Monday.
const NOW: &str = "2026-04-20T10:30:00+02:00";

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

/// The tools of some files below `tests/data`.
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

/// What a set came to.
#[derive(Debug, Default)]
struct Score {
    prompts: usize,
    /// All values and all questions as expected, and nothing else.
    exact: usize,
    expected_values: usize,
    right_values: usize,
    /// Values that were taken and are not what the prompt says.
    wrong: Vec<String>,
}

fn score(file: &str, tools: &[&str]) -> Score {
    let tools = self::tools(tools);
    let mut score = Score::default();
    for row in rows(file) {
        let prepared = row.prepare(&tools);
        let asked: BTreeSet<String> =
            prepared.missing.iter().map(|question| question.name.clone()).collect();
        let is_whole = row.expect.keys().all(|name| prepared.arguments.contains_key(name));
        for (name, value) in &prepared.arguments {
            if !row.is_right(name, value) {
                score.wrong.push(format!("{}: {name} = {value}", row.prompt));
            }
        }
        let right = prepared.arguments.iter().filter(|(name, value)| row.is_right(name, value));
        let right = right.filter(|(name, _)| row.expect.contains_key(*name)).count();
        let all_right = prepared.arguments.iter().all(|(name, value)| row.is_right(name, value));
        let is_exact = is_whole && all_right && asked == row.ask;
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
        score.prompts += 1;
        score.exact += usize::from(is_exact);
        score.expected_values += row.expect.len();
        score.right_values += right;
    }
    eprintln!(
        "{file}: {} of {} prompts exact, {} of {} values found, {} wrong",
        score.exact,
        score.prompts,
        score.right_values,
        score.expected_values,
        score.wrong.len()
    );
    score
}

#[test]
fn no_value_is_guessed_and_most_are_found() {
    let score = score("first.jsonl", &["arguments/first_tools.json"]);
    assert_eq!(score.wrong, [] as [&str; 0]);
    assert!(score.exact * 100 >= score.prompts * 95, "{} of {}", score.exact, score.prompts);
}

/// Written after the reader had been made on the other set, with tools as their authors publish
/// them.
#[test]
fn no_value_is_guessed_for_tools_that_were_not_looked_at() {
    let files = [
        "arguments/second_tools.json",
        "captured/filesystem.json",
        "captured/everything.json",
        "captured/memory.json",
    ];
    let score = score("second.jsonl", &files);
    assert_eq!(score.wrong, [] as [&str; 0]);
}
