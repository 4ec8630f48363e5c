//! Questions are answered and the run goes on; a search is made again where a tool has come.

use std::collections::HashSet;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Desk, one, rows, setter};

/// A report that lacks its input, and a check of it.
fn math() -> Value {
    json!({"utterance": "how much is it?", "obligations": [
        {"id": "sum", "type": "REPORT(query.math)", "say": "It is {result}."},
        {"id": "checked", "type": "VERIFY(fact)", "payload": {"of": "sum"}}]})
}

#[test]
fn an_answer_takes_the_run_to_its_end() {
    let desk = Desk::of_the_documents(&[]);
    let asked = desk.ask(&math(), &[]);
    assert_eq!(asked["complete"], false);
    let question = &asked["obligations"][0]["brought_about"][0];
    assert_eq!(question["answer_as"], json!(["expression", "sum.clarify"]), "{asked}");
    let told = asked["text"].as_str().unwrap();
    assert!(told.contains("answer as `expression` or `sum.clarify`"), "{told}");
    assert!(told.contains("checked: this is open: it waits for `sum`"), "{told}");
    // Nothing has changed: the same answer, and nothing runs.
    assert_eq!(desk.ask(&math(), &["--resume"]), asked);
    assert_eq!(rows(&desk.sandbox, "--runs").len(), 0);

    // Without the request's name it is the ledger's latest.
    let answered = desk.conduct(&["--resume", "--answer", "expression=6*7"]);
    assert_eq!(
        (&answered["text"], &answered["complete"]),
        (&json!("It is 42.\nchecked: `sum.2` is verified"), &json!(true))
    );
    let sum = &answered["obligations"][0];
    assert_eq!(
        (&sum["id"], &sum["status"], &sum["standing"]),
        (&json!("sum"), &json!("resolved"), &json!("verified"))
    );
    assert_eq!(sum["answered"][0]["reply"], json!({"expression": "6*7"}));
    assert_eq!(answered["obligations"][1]["output"]["holds"], true);
    let runs = rows(&desk.sandbox, "--runs").len();
    // The same command again, as after a kill, changes nothing.
    assert_eq!(desk.ask(&math(), &["--resume", "--answer", "expression=6*7"]), answered);
    assert_eq!(desk.ask(&math(), &["--resume"]), answered);
    assert_eq!(rows(&desk.sandbox, "--runs").len(), runs);
    // What was settled stays what it was.
    let owed = rows(&desk.sandbox, "--obligations");
    let status =
        |name: &str| owed.iter().find(|owed| owed["name"] == name).unwrap()["status"].clone();
    assert_eq!(
        (status("sum"), status("sum.clarify"), status("sum.2")),
        (json!("escalated"), json!("escalated"), json!("resolved"))
    );
}

#[test]
fn answers_to_nothing_say_what_is_open() {
    let desk = Desk::of_the_documents(&[]);
    let said = desk.fails(2, &["--resume", "--answer", "expression=1"]);
    assert!(said.contains("nothing in") && said.contains("--resume"), "{said}");
    desk.ask(&math(), &[]);
    let request = desk.request(&math());
    let said = desk.fails(2, &[&request, "--resume", "--answer", "speed=1"]);
    assert!(said.contains("`speed`") && said.contains("`expression` or `sum.clarify`"), "{said}");
    assert!(desk.fails(2, &[&request, "--answer", "expression=1"]).contains("--resume"));
    assert!(desk.fails(2, &[&request, "--resume", "--answer", "expression"]).contains("ID=VALUE"));
    desk.ask(&math(), &["--resume", "--answer", "sum.clarify=1+1"]);
    let said = desk.fails(2, &[&request, "--resume", "--answer", "expression=2+2"]);
    assert!(said.contains("nothing is asked"), "{said}");
    let mut with_answers = math();
    with_answers["answers"] = json!({"expression": "1"});
    let request = desk.request(&with_answers);
    assert!(desk.fails(2, &[&request]).contains("--resume"));
}

#[test]
fn several_inputs_are_answered_by_name_or_as_an_object_and_a_wrong_one_is_asked_again() {
    let desk = Desk::with(&[setter("Setter", &[("n", "integer"), ("label", "string")])]);
    let request = one("REPORT(set.it)", json!({}));
    let asked = desk.ask(&request, &[]);
    let question = |answer: &Value| answer["obligations"][0]["brought_about"][0].clone();
    assert_eq!(question(&asked)["answer_as"], json!(["n", "label", "o.clarify"]));
    let file = desk.request(&request);
    assert!(
        desk.fails(2, &[&file, "--resume", "--answer", "o.clarify=5"]).contains("`n`, `label`")
    );
    let asked = desk.ask(&request, &["--resume", "--answer", "n=many", "--answer", "label=7"]);
    assert!(asked["text"].as_str().unwrap().contains("cannot take"), "{asked}");
    assert_eq!(question(&asked)["answer_as"], json!(["n", "o.2.clarify"]));
    assert!(desk.noted().is_empty());
    let done = desk.ask(&request, &["--resume", "--answer", r#"o.2.clarify={"n": 5}"#]);
    assert_eq!(done["complete"], true, "{done}");
    assert_eq!(desk.noted(), [json!({"n": 5, "label": "7"})], "a text stays a text");
    assert_eq!(done["obligations"][0]["answered"].as_array().unwrap().len(), 2);
}

#[test]
fn a_question_of_the_request_itself_gives_its_answer_to_what_comes_after() {
    let desk = Desk::of_the_documents(&[]);
    let request = json!({"utterance": "who is in my team?", "obligations": [
        {"id": "ask", "type": "CLARIFY(user.team)", "payload": {"question": "Which team is yours?"}},
        {"id": "who", "type": "REPORT(query.people)", "payload": {"team": {"$from": "ask"}},
         "say": "{/rows/0/name} leads it."}]});
    let asked = desk.ask(&request, &[]);
    let told = asked["text"].as_str().unwrap();
    assert!(told.contains("Which team is yours? (answer as `ask`)"), "{told}");
    let done = desk.ask(&request, &["--resume", "--answer", "ask=mail"]);
    assert_eq!(done["text"], "ask: mail\nOmer leads it.");
    assert_eq!(done["complete"], true, "{done}");
}

/// A program in the place of somebody who is asked.
#[cfg(unix)]
#[test]
fn a_tool_that_asks_people_answers_questions() {
    let desk = Desk::of_the_documents(&[]);
    let entry = json!({"type": "process", "command": "echo", "args": ["mail"], "tools": [
        {"name": "ask", "description": "Asks the person at the desk",
         "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}}]});
    let servers = desk.sandbox.servers(&json!({ "desk": entry }));
    let overlay = "[[overlay]]\nmatch = [\"desk__ask\"]\nsatisfies = [\"CLARIFY(input)\"]\n";
    let overlay = desk.sandbox.put("overlay.toml", overlay);
    let files = ["--servers", &servers, "--overlay", &overlay];
    let mut request = one("REPORT(query.people)", json!({}));
    request["obligations"][0]["say"] = json!("{/rows/0/name}");
    let done = desk.ask(&request, &files);
    assert_eq!((&done["text"], &done["complete"]), (&json!("Omer"), &json!(true)), "{done}");
}

#[test]
fn a_fact_that_a_precondition_wants_can_be_answered() {
    let mut tool = setter("Setter", &[]);
    tool["preconditions"] = json!(["signed_in"]);
    let desk = Desk::with(&[tool]);
    let request = one("REPORT(set.it)", json!({}));
    let asked = desk.ask(&request, &[]);
    assert_eq!(asked["obligations"][0]["brought_about"][0]["answer_as"][0], "signed_in");
    let still = desk.ask(&request, &["--resume", "--answer", "signed_in=false"]);
    assert_eq!(still["complete"], false);
    let done = desk.ask(&request, &["--resume", "--answer", "signed_in=true"]);
    assert_eq!((&done["complete"], desk.noted().len()), (&json!(true), 1), "{done}");
}

#[test]
fn who_is_right_is_answered() {
    let request = |value: i64| {
        let mut request = one("REPORT(query.math)", json!({"expression": "2+2"}));
        request["facts"] = json!([{"kind": "query.math", "subject": {"expression": "2+2"},
            "value": {"result": value}}]);
        request
    };
    for (reply, wanted, source) in [
        ("o.clarify=1", 4, "EvalMath"),
        ("o.clarify=2", 5, "the user"),
        (r#"o.clarify={"result": 6}"#, 6, "the user"),
    ] {
        let desk = Desk::of_the_documents(&[]);
        let asked = desk.ask(&request(5), &[]);
        assert!(
            asked["text"].as_str().unwrap().contains("answer as `o.clarify` with 1"),
            "{asked}"
        );
        let done = desk.ask(&request(5), &["--resume", "--answer", reply]);
        assert_eq!(done["complete"], true, "{done}");
        let of = &done["obligations"][0];
        assert_eq!((&of["output"]["result"], &of["source"]), (&json!(wanted), &json!(source)));
    }
}

#[test]
fn a_search_is_made_again_where_a_tool_has_come() {
    let desk = Desk::with(&[setter("Setter", &[("to", "string")])]);
    let mut request = one("REPORT(query.flight)", json!({"to": "Haifa"}));
    request["obligations"][0]["say"] = json!("Booked: {written}.");
    let lacking = desk.ask(&request, &[]);
    let search = &lacking["obligations"][0]["brought_about"][0];
    assert_eq!(
        (&search["type"], &search["status"]),
        (&json!("DISCOVER_OP(query.flight)"), &json!("resolved"))
    );
    assert_eq!(desk.ask(&request, &["--resume"]), lacking, "there is no tool yet");
    // The same tool, that says by now what it satisfies.
    let overlay = "[[overlay]]\nmatch = [\"Setter\"]\nsatisfies = [\"query.flight\"]\n";
    let overlay = desk.sandbox.put("overlay.toml", overlay);
    let served = desk.ask(&request, &["--resume", "--overlay", &overlay]);
    assert_eq!(
        (&served["text"], &served["complete"]),
        (&json!("Booked: true."), &json!(true)),
        "{served}"
    );
    assert_eq!(desk.noted(), [json!({"to": "Haifa"})]);
    assert_eq!(desk.ask(&request, &["--resume"]), served, "done once and for all");
    assert_eq!(desk.noted().len(), 1);
}

/// After the answers to twelve questions, with the writer killed at twelve moments.
#[test]
fn kills_after_an_answer_repeat_no_write() {
    let desk = Desk::with(&[setter("Setter", &[("n", "integer"), ("go", "string")])]);
    let obligations: Vec<Value> =
        (0..12).map(|n| json!({"type": "REPORT(set.it)", "payload": {"n": n}})).collect();
    let request = desk.request(&json!({"utterance": "x", "obligations": obligations}));
    let plain = [request.as_str(), "-s", "keyword"];
    let asked = desk.conduct(&plain);
    assert_eq!(asked["complete"], false);
    let answered = [&plain[..], &["--resume", "--answer", "go=yes"]].concat();
    for wait in 0..12_u64 {
        let mut command = std::process::Command::new(crate::support::PROGRAM);
        command.args(desk.arguments(&answered)).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(20 + wait * 13 % 120));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let done = desk.conduct(&answered);
    let noted = desk.noted();
    let each: HashSet<i64> = noted.iter().map(|call| call["n"].as_i64().unwrap()).collect();
    assert_eq!(each.len(), noted.len(), "a write was made twice: {noted:?}");
    for entry in done["obligations"].as_array().unwrap() {
        let uncertain = entry["note"].as_str().unwrap_or_default().contains("nobody knows");
        assert!(entry["status"] == "resolved" || uncertain, "{entry}");
    }
    assert_eq!(desk.conduct(&answered), done);
}
