//! `POST /v1/conduct`: obligations over HTTP, with answers to what was asked.

use serde_json::{Value, json};

use crate::http::{Server, post, post_text};
use crate::support::Sandbox;

fn serve(sandbox: &Sandbox) -> (Server, String) {
    let folder = crate::conduct::examples(sandbox);
    let path = |name: &str| format!("{folder}/{name}");
    let ledger = sandbox.arg("ledger.sqlite");
    let (tools, runners) = (path("tools.jsonl"), path("runners.toml"));
    let rest = ["--conduct", "--runners", &runners, "--ledger", &ledger];
    let args = [&["serve", "--tools", &tools][..], &rest].concat();
    (Server::start(sandbox, &args), folder)
}

#[test]
fn obligations_are_discharged() {
    let sandbox = Sandbox::new();
    let (server, folder) = serve(&sandbox);
    let request = std::fs::read(format!("{folder}/math.json")).unwrap();
    let answer = post_text(server.port, "/v1/conduct", &request).ok();
    assert_eq!(answer["complete"], true, "{answer}");
    let again = post_text(server.port, "/v1/conduct?resume=true", &request).ok();
    assert_eq!(again, answer);
    assert_eq!(post(server.port, "/v1/conduct", &json!({"no": "request"})).error().0, 400);
}

#[test]
fn an_utterance_without_words_is_refused() {
    let sandbox = Sandbox::new();
    let (server, _) = serve(&sandbox);
    let (status, error) = post(server.port, "/v1/conduct", &json!({"utterance": "?"})).error();
    assert_eq!(status, 400, "{error:?}");
}

#[test]
fn an_utterance_is_answered_and_so_is_what_it_asks() {
    let sandbox = Sandbox::new();
    let (server, _) = serve(&sandbox);
    let conduct =
        |query: &str, body: Value| post(server.port, &format!("/v1/conduct{query}"), &body);
    let missing = conduct("?resume=true", json!({"answers": {"team": "search"}})).error();
    assert_eq!(missing, (404, "not_found".to_owned()));
    let product = conduct("", json!({"utterance": "what is 17 * 23?"})).ok();
    assert_eq!((&product["text"], &product["complete"]), (&json!("391"), &json!(true)));

    let words = json!({"utterance": "who is in the team?"});
    let asked = conduct("", words.clone()).ok();
    let question = &asked["obligations"][0]["brought_about"][0];
    assert_eq!(question["answer_as"], json!(["team", "o1.clarify"]), "{asked}");
    // Beside the request, or for the latest; with what nobody asked, and without `resume`.
    let with =
        |name: &str| json!({"utterance": "who is in the team?", "answers": {name: "search"}});
    assert_eq!(conduct("", with("team")).error().0, 400);
    assert_eq!(conduct("?resume=true", with("speed")).error().0, 400);
    let done = conduct("?resume=true", with("o1.clarify")).ok();
    assert_eq!(done["obligations"][0]["output"]["rows"].as_array().unwrap().len(), 3, "{done}");
    assert_eq!(conduct("?resume=true", with("team")).ok(), done);
    assert_eq!(conduct("?resume=true", json!({"answers": {"team": "search"}})).ok(), done);
    assert_eq!(conduct("?resume=true", words).ok(), done);
}

#[test]
fn facts_of_earlier_requests_count_unless_the_scope_is_the_request() {
    let sandbox = Sandbox::new();
    let (server, _) = serve(&sandbox);
    let conduct =
        |query: &str, body: &Value| post(server.port, &format!("/v1/conduct{query}"), body);
    let known = json!({"utterance": "we are the mail team", "facts": [{"kind": "people.team", "value": "mail"}],
        "obligations": [{"type": "REPORT(query.complex)"}]});
    conduct("", &known).ok();
    let asked = json!({"utterance": "x", "obligations": [{"type": "REPORT(query.people)"}]});
    assert_eq!(conduct("?scope=request", &asked).ok()["complete"], false);
    let found = conduct("", &asked).ok();
    assert_eq!(found["obligations"][0]["output"]["rows"][0]["name"], "Omer", "{found}");
    assert_eq!(conduct("?scope=all", &asked).error().0, 400);
}
