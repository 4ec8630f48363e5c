//! `toolroute conduct "words"`: the router finds what is owed, and asks where it cannot.

use serde_json::{Value, json};

use super::{Desk, rows, told};
use crate::support::{CommandExt as _, Sandbox};

#[test]
fn arithmetic_needs_nothing_but_the_program() {
    let sandbox = Sandbox::new();
    let ledger = sandbox.path("ledger.sqlite");
    let mut command = sandbox.toolroute();
    command.env("PATH", "").args(["conduct", "what is 17 * 23?", "--ledger"]).arg(ledger);
    let ran = command.assert().success();
    assert_eq!(String::from_utf8_lossy(&ran.get_output().stdout), "391\n");
}

/// Math, people and complex query, by their files and by words, without any other program.
#[test]
fn the_policy_documents_examples_run_by_file_and_by_words() {
    let desk = Desk::of_the_documents(&[]);
    let folder = desk.sandbox.path("conductor");
    let run = |request: &str| -> Value {
        let mut command = desk.sandbox.toolroute();
        command.env("PATH", "").current_dir(&folder).args(desk.arguments(&[request])).arg("--json");
        serde_json::from_slice(&command.assert().success().get_output().stdout).unwrap()
    };
    for (request, source, what) in [
        ("math.json", "EvalMath", "REPORT(query.math)"),
        ("what is 17 * 23?", "EvalMath", "REPORT(query.math)"),
        ("people.json", "PeopleSQL", "REPORT(query.people)"),
        ("who is in the \"search\" team?", "PeopleSQL", "REPORT(query.people)"),
        ("complex.json", "ComplexTool", "REPORT(query.complex)"),
        ("How big are our teams, and who leads them?", "ComplexTool", "REPORT(query.complex)"),
    ] {
        let answer = run(request);
        assert_eq!(answer["complete"], true, "{answer}");
        let found = answer["obligations"].as_array().unwrap();
        assert_eq!(found.len(), 1, "{answer}");
        let found = (&found[0]["source"], &found[0]["type"], &found[0]["standing"]);
        assert_eq!(found, (&json!(source), &json!(what), &json!("verified")), "{request}");
    }
}

#[test]
fn several_needs_are_several_obligations() {
    let desk = Desk::of_the_documents(&[]);
    let words = "What is 17 * 23? And who is in the \"mail\" team?";
    let answer = desk.conduct(&[words]);
    let found = answer["obligations"].as_array().unwrap();
    assert_eq!(found.len(), 2, "{answer}");
    assert_eq!(found[0]["output"]["result"], 391);
    assert_eq!(found[1]["output"]["rows"][0]["name"], "Omer");
    assert_eq!(desk.conduct(&[words, "--whole"])["obligations"].as_array().unwrap().len(), 1);
}

/// As for `run`, words that may be no order are no reason to change anything.
#[test]
fn a_tool_that_writes_runs_only_for_a_plain_order() {
    let desk = Desk::with(&[json!({
        "id": "extend_stay", "name": "extend_stay", "description": "Extends the stay of the guest of a room",
        "input_schema": {"type": "object", "properties": {"room": {"type": "string", "description": "The room's number"}},
            "required": ["room"]},
        "satisfies": ["stay.extended"], "hints": {"read_only": false, "destructive": false},
    })]);
    for words in [
        "if Dana agrees, extend the stay in room 12",
        "can I extend the stay in room 12?",
        "ask Tom to extend the stay in room 12",
        "extend the stay in room 12 tomorrow",
    ] {
        let asked = desk.conduct(&[words]);
        assert_eq!(asked["obligations"][0]["type"], "CLARIFY(utterance)", "{asked}");
    }
    let done = desk.conduct(&[
        "if Dana agrees, extend the stay in room 12",
        "--resume",
        "--answer",
        "o1=1",
    ]);
    assert_eq!(done["complete"], true, "{done}");
    let done = desk.conduct(&["extend the stay in room 12, it is for Dana"]);
    assert_eq!(done["complete"], true, "{done}");
    let runs = rows(&desk.sandbox, "--runs");
    assert_eq!(runs.last().unwrap()["inputs"], json!({"room": "12"}), "{runs:?}");
}

#[test]
fn an_input_that_the_words_lack_is_asked_for() {
    let desk = Desk::of_the_documents(&[]);
    let words = "who is in the team?";
    let asked = desk.conduct(&[words]);
    assert!(told(&asked).contains("answer as `team` or `o1.clarify`"), "{asked}");
    let done = desk.conduct(&[words, "--resume", "--answer", "team=search"]);
    assert_eq!(done["obligations"][0]["output"]["rows"].as_array().unwrap().len(), 3, "{done}");
}

#[test]
fn what_no_tool_fits_is_asked_and_nothing_runs() {
    let desk = Desk::of_the_documents(&[]);
    let words = "book me 6 * 7 flights to Haifa";
    let asked = desk.conduct(&[words]);
    let question = &asked["obligations"][0];
    let (what, names) = (&question["type"], &question["answer_as"]);
    assert_eq!((what, names), (&json!("CLARIFY(utterance)"), &json!(["o1"])), "{asked}");
    assert!(told(&asked).contains("REPORT(query.math), as by `EvalMath`"), "{asked}");
    assert!(super::rows(&desk.sandbox, "--runs").is_empty());
    // Other words that fit nothing either.
    let again = desk.conduct(&[words, "--resume", "--answer", "o1=sing me a song"]);
    assert_eq!(again["obligations"][0]["answer_as"], json!(["o1.2"]), "{again}");
    let done = desk.conduct(&[words, "--resume", "--answer", "o1.2=calculate the number 3 + 4"]);
    assert_eq!((told(&done), &done["complete"]), ("7", &json!(true)), "{done}");
    assert_eq!(done["obligations"][0]["answered"][1]["reply"], "calculate the number 3 + 4");
    // By its type, with the inputs of the first words.
    desk.conduct(&["book me 6 * 7 trains to Haifa"]);
    let done = desk.conduct(&["--resume", "--answer", "o1=query.math"]);
    assert_eq!(told(&done), "42", "{done}");
}

#[test]
fn without_a_model_words_alone_run_nothing() {
    let desk = Desk::of_the_documents(&[]);
    let asked = desk.conduct(&["what is 17 * 23?", "-s", "keyword"]);
    assert_eq!(asked["obligations"][0]["type"], "CLARIFY(utterance)");
    let done = desk.conduct(&["--resume", "-s", "keyword", "--answer", "o1=1"]);
    assert_eq!(told(&done), "391", "{done}");
}

#[test]
fn one_word_is_a_file() {
    let desk = Desk::of_the_documents(&[]);
    assert!(desk.fails(5, &["maths.json"]).contains("several words"));
    assert!(desk.fails(2, &[]).contains("FILE|WORDS"));
    assert!(desk.fails(5, &[" "]).contains("several words"));
}

#[test]
fn a_request_without_words_is_an_error() {
    let sandbox = Sandbox::new();
    let ledger = sandbox.arg("ledger.sqlite");
    let file = sandbox.put("request.json", r#"{"utterance": "?"}"#);
    for request in ["? ?", &file] {
        let said = sandbox.fails(3, &["conduct", request, "--ledger", &ledger]);
        assert!(said.contains("the prompt is empty"), "{said}");
    }
}

#[test]
fn what_has_no_exact_value_is_no_fact() {
    let sandbox = Sandbox::new();
    let ask = |expression: &str| {
        let ledger = sandbox.arg("ledger.sqlite");
        let owed = json!({"type": "REPORT(query.math)", "payload": {"expression": expression}});
        let request = json!({"utterance": expression, "obligations": [owed]}).to_string();
        let request = sandbox.put("request.json", request);
        sandbox.json(&["conduct", &request, "--ledger", &ledger])
    };
    for (expression, said) in [("20% of 50", "10"), ("0.1 + 0.2", "0.3")] {
        assert_eq!(told(&ask(expression)), said, "{expression}");
    }
    for expression in ["10^20 + 1", "10^20 + 1 - 10^20", "50 + 10%"] {
        let answer = ask(expression);
        assert_eq!(answer["complete"], false, "{answer}");
    }
}
