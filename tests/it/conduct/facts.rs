//! Facts of earlier requests, and what the cross-check makes of them.

use serde_json::{Value, json};

use super::{Desk, one, setter, told};

/// A request that says something and asks for nothing that is not there.
fn saying(kind: &str, subject: Value, value: Value) -> Value {
    let mut request = one("REPORT(query.complex)", json!({}));
    request["facts"] = json!([{"kind": kind, "subject": subject, "value": value}]);
    request
}

fn people() -> Value {
    let mut request = one("REPORT(query.people)", json!({}));
    request["obligations"][0]["say"] = json!("{/rows/0/name}");
    request
}

#[test]
fn facts_of_earlier_requests_are_found_and_the_latest_counts() {
    let desk = Desk::of_the_documents(&[]);
    assert_eq!(desk.ask(&people(), &[])["complete"], false);
    desk.ask(&saying("people.team", json!({}), json!("search")), &[]);
    assert_eq!(told(&desk.ask(&people(), &[])), "Noa");
    let alone = desk.ask(&people(), &["--scope", "request"]);
    assert!(told(&alone).contains("more is needed"), "{alone}");
    desk.ask(&saying("people.team", json!({}), json!("mail")), &[]);
    assert_eq!(told(&desk.ask(&people(), &[])), "Omer");
    // Its own fact comes before those of others.
    let mut own = people();
    own["facts"] = json!([{"kind": "people.team", "value": "search"}]);
    assert_eq!(told(&desk.ask(&own, &[])), "Noa");
    assert!(desk.fails(2, &["x", "--scope", "all"]).contains("request"));
}

#[test]
fn what_a_tool_found_is_a_fact_and_what_was_rejected_is_none() {
    let mut tool = setter("Setter", &[]);
    tool["consumes"] = json!(["query.people"]);
    let desk = Desk::of_the_documents(&[tool]);
    let of_team = |team: &str| desk.ask(&one("REPORT(query.people)", json!({"team": team})), &[]);
    let set = || desk.ask(&one("REPORT(set.it)", json!({})), &[]);
    assert_eq!(of_team("sales")["obligations"][0]["status"], "failed");
    assert!(told(&set()).contains("needs `people`"));
    of_team("search");
    of_team("sales");
    assert_eq!(set()["complete"], true);
    let noted = desk.noted();
    assert_eq!(noted[0]["people"]["rows"][0]["name"], "Noa", "{noted:?}");
    assert_eq!(noted.len(), 1);
}

#[test]
fn a_tool_is_held_against_what_others_said_in_earlier_requests() {
    let desk = Desk::of_the_documents(&[]);
    let sum = || one("REPORT(query.math)", json!({"expression": "2+2"}));
    assert_eq!(desk.ask(&sum(), &[])["complete"], true);
    let five = json!({"result": 5});
    desk.ask(&saying("query.math", json!({"expression": "2+2"}), five.clone()), &[]);
    let doubted = desk.ask(&sum(), &[]);
    assert!(told(&doubted).contains("I am not sure of this"), "{doubted}");
    assert_eq!(desk.ask(&sum(), &["--scope", "request"])["complete"], true);
    // A claim is held against them too.
    let claim = json!({"kind": "query.math", "subject": {"expression": "2+2"}, "value": five});
    let check = |more: &[&str]| {
        let answer = desk.ask(&one("VERIFY(fact)", claim.clone()), more);
        answer["obligations"][0]["output"]["text"].as_str().unwrap().to_owned()
    };
    assert!(check(&[]).contains("`EvalMath` says") || check(&[]).contains("EvalMath says"));
    assert!(check(&["--scope", "request"]).contains("nothing in the ledger"));
    // The user decides, and it does not come up again.
    let request = desk.request(&sum());
    desk.conduct(&[&request, "--resume", "--scope", "request"]);
    desk.ask(&sum(), &[]);
    let done = desk.ask(&sum(), &["--resume", "--answer", "o.clarify=1"]);
    assert_eq!(done["complete"], true, "{done}");
    assert_eq!(desk.ask(&sum(), &[])["complete"], true);
}

#[test]
fn what_a_source_says_now_replaces_what_it_said_before() {
    let desk = Desk::of_the_documents(&[]);
    let of_team = || desk.ask(&one("REPORT(query.people)", json!({"team": "mail"})), &[]);
    assert_eq!(of_team()["complete"], true);
    let script = desk.file("people.sql");
    let people = std::fs::read_to_string(&script).unwrap().replace("Lior", "Gal");
    std::fs::write(&script, people).unwrap();
    let now = of_team();
    assert_eq!(now["complete"], true, "{now}");
    assert_eq!(now["obligations"][0]["output"]["rows"][1]["name"], "Gal");
}
