//! Prompts in languages that are not read, told from English and from languages that are.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use crate::support::{Sandbox, repo, samples};

/// Each language of the prompts with how many there are, and how many are said to be unread.
fn unread(files: &[(&str, Option<&str>)]) -> BTreeMap<String, (usize, usize)> {
    let sandbox = Sandbox::new();
    let mut asked = Vec::new();
    for (file, language) in files {
        for line in fs::read_to_string(repo(file)).unwrap().lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            let own = row["meta"]["language"].as_str();
            let language = language.or(own).expect("a language").to_owned();
            asked.push((language, row["query"].clone()));
        }
    }
    let row = |(at, (_, query)): (usize, &(String, Value))| json!({"id": at, "query": query});
    let input: Vec<String> = asked.iter().enumerate().map(|one| row(one).to_string()).collect();
    let input = sandbox.write("q.jsonl", input.join("\n"));
    let (from, output) = (input.to_string_lossy().into_owned(), sandbox.path("r.jsonl"));
    let (to, tools) = (output.to_string_lossy(), samples());
    sandbox.run(&["batch", "--tools", &tools, "-i", &from, "-o", &to]);
    let mut counts = BTreeMap::<String, (usize, usize)>::new();
    for line in fs::read_to_string(&output).unwrap().lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let (language, _) = &asked[row["id"].as_u64().unwrap() as usize];
        let (all, unread) = counts.entry(language.clone()).or_default();
        *all += 1;
        *unread += usize::from(row["degraded"] == "unread_language");
    }
    counts
}

/// The languages in Latin letters that are read.
const READ: [&str; 5] = ["en", "de", "es", "fr", "pt"];

#[test]
fn a_language_in_latin_letters_that_is_not_read_is_said() {
    let counts = unread(&[("tests/data/unread_languages.jsonl", None)]);
    let others = counts.iter().filter(|(language, _)| !READ.contains(&language.as_str()));
    let others: Vec<_> = others.collect();
    assert_eq!(others.len(), 13, "{counts:?}");
    for (language, (all, unread)) in others {
        assert!(*all >= 12 && 10 * unread >= 8 * all, "{language}: {counts:?}");
    }
    // Their English prompts have foreign names, dishes and titles.
    assert_eq!(counts["en"].1, 0, "{counts:?}");
}

#[test]
fn english_and_what_is_read_is_not_called_unread() {
    let english = ["no_tool", "prompts"];
    let english = english.map(|name| format!("scripts/calibration/{name}.jsonl"));
    let english: Vec<_> = english.iter().map(|file| (file.as_str(), Some("en"))).collect();
    let counts = unread(&english);
    let (all, unread_english) = counts["en"];
    assert!(all > 1_500 && unread_english <= all / 2_000, "{counts:?}");
    let files = ["languages/home", "languages/servers", "languages/sample", "unread_languages"];
    let files = files.map(|name| format!("tests/data/{name}.jsonl"));
    let counts = unread(&files.iter().map(|file| (file.as_str(), None)).collect::<Vec<_>>());
    for language in READ {
        let (all, unread) = counts[language];
        assert!(all >= 60 && 100 * unread <= all, "{language}: {counts:?}");
    }
}
