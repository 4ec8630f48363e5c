//! What a client does not get, and what it is told of it.

use serde_json::json;

use super::Site;
use super::client::{Client, text};
use crate::support::entry;

/// A sandbox with the notes server under two names.
fn two() -> Site {
    Site::new(json!({"other": entry("notes", &["x"])}))
}

fn prompts(client: &mut Client) -> Vec<String> {
    let listed = client.ask("prompts/list", json!({}));
    let prompts = listed["prompts"].as_array().expect("prompts");
    prompts.iter().map(|prompt| prompt["name"].as_str().expect("a name").to_owned()).collect()
}

fn reads(client: &mut Client) -> bool {
    let number = client.send("resources/read", json!({"uri": "note://today"}));
    client.answer_to(number).get("result").is_some()
}

#[test]
fn a_server_without_a_tool_for_the_client_is_not_there_at_all() {
    let site = two();
    site.sandbox.write("toolroute.toml", "[profiles]\nonly = [\"notes__search_notes\"]\n");
    for (args, wanted) in [
        (&["--profile", "only"][..], &["notes__summarise"][..]),
        (&["--deny", "notes__*"], &["other__summarise"]),
        (&["--deny", "*"], &[]),
        (&[], &["notes__summarise", "other__summarise"]),
    ] {
        let mut client = site.client(args);
        let listed = client.ask("tools/list", json!({}));
        let hint = listed["tools"][0]["description"].as_str().unwrap().to_owned();
        assert_eq!(hint.contains(" other"), wanted.contains(&"other__summarise"), "{hint}");
        assert_eq!(prompts(&mut client), wanted, "{args:?}");
        assert_eq!(reads(&mut client), !wanted.is_empty(), "{args:?}");
        let hidden = json!({"name": "other__summarise", "arguments": {"title": "x"}});
        let number = client.send("prompts/get", hidden);
        let got = client.answer_to(number);
        assert_eq!(got.get("result").is_some(), wanted.contains(&"other__summarise"), "{got}");
    }
}

#[test]
fn strict_pins_hold_back_a_server_until_one_of_its_tools_is_approved() {
    let site = two();
    let mut client = site.client(&["--pin-mode", "strict"]);
    assert_eq!(prompts(&mut client), [] as [&str; 0]);
    assert!(!reads(&mut client));
    client.end();
    let approved = site.sandbox.run(&["pins", "approve", "--server", "other"]);
    assert!(approved.status.success(), "{}", String::from_utf8_lossy(&approved.stderr));
    let mut client = site.client(&["--pin-mode", "strict"]);
    assert_eq!(prompts(&mut client), ["other__summarise"]);
    assert!(reads(&mut client));
}

#[test]
fn the_first_list_and_the_first_call_wait_for_the_servers() {
    let names = |client: &mut Client| {
        let listed = client.ask("tools/list", json!({}));
        listed["tools"].as_array().expect("tools").len()
    };
    let slow = ["--slow", "1"];
    let site = Site::with(json!({}), &slow);
    let mut client = site.client(&["--expose", "selected"]);
    assert_eq!(names(&mut client), 8);
    let site = Site::with(json!({}), &slow);
    let mut client = site.client(&["--pinned", "notes__count_notes"]);
    assert_eq!(names(&mut client), 5);
    let site = Site::with(json!({}), &slow);
    let mut client = site.client(&[]);
    let found = client.call("notes__search_notes", json!({"query": "rye"}));
    assert_eq!(text(&found), "found: rye");
}

/// A sandbox with the server whose answers have parts, beside the notes.
fn parts() -> Site {
    Site::new(json!({"parts": entry("parts", &["x"])}))
}

#[test]
fn an_error_keeps_its_parts_and_its_structure() {
    let site = parts();
    let mut client = site.client(&["--no-fallback"]);
    for result in [
        client.call("call_tool", json!({"tool_name": "parts__scan_page"})),
        client.call("parts__scan_page", json!({})),
    ] {
        let content = json!([
            {"type": "text", "text": "the paper is stuck"},
            {"type": "image", "data": "aGk=", "mimeType": "image/png"}
        ]);
        assert_eq!((&result["isError"], &result["content"]), (&json!(true), &content), "{result}");
        assert_eq!(result["structuredContent"], json!({"page": 3}));
    }
}

#[test]
fn a_structured_content_that_is_too_long_is_whole_or_not_there() {
    let site = parts();
    let mut client = site.client(&[]);
    let cut = client.call("call_tool", json!({"tool_name": "parts__list_cities"}));
    assert!(cut.get("structuredContent").is_none(), "{cut}");
    assert_eq!(cut["_meta"]["toolroute/structured_content"], "left out: it is too long");
    assert_eq!(text(&cut), "see the value");
    let said = cut["content"][1]["text"].as_str().unwrap();
    assert!(said.contains("structured content is left out"), "{said}");
    let beginning = cut["content"][2]["text"].as_str().unwrap();
    assert!(beginning.contains("city 0") && beginning.contains("_truncated"), "{beginning}");
    let whole = client.call("parts__list_cities", json!({}));
    let value = whole["structuredContent"].as_object().unwrap();
    assert_eq!((value.len(), value["rows"].as_array().unwrap().len()), (1, 4000));
}

#[test]
fn a_tool_that_is_not_there_is_told_with_the_reason() {
    let off = json!({"command": "/no/such/program", "disabled": true});
    let site = Site::new(json!({"dead": {"command": "/no/such/program"}, "off": off}));
    let mut client = site.client(&["--pin-mode", "strict"]);
    let mut said = |tool: &str| {
        let result = client.call("call_tool", json!({"tool_name": tool}));
        assert_eq!(result["isError"], true, "{result}");
        let direct = client.call(tool, json!({}));
        assert_eq!(text(&direct), text(&result));
        text(&result).to_owned()
    };
    for tool in ["notes__count_notes", "notes:count_notes"] {
        let held = said(tool);
        assert!(held.contains("is held back"), "{held}");
        let command = "`toolroute pins approve notes__count_notes --pins ";
        assert!(held.contains(command) && held.contains("pins.json`"), "{held}");
    }
    let dead = said("dead__anything");
    assert!(
        dead.contains("the server `dead` is not available: program not found: /no/such/program"),
        "{dead}"
    );
    assert!(said("none__such").contains("no tool `none__such` here"));
    for (server, because) in [("dead", "program not found: /no/such/program"), ("off", "disabled")]
    {
        let found = client.find(json!({"query": "anything", "server": server}));
        let note = format!("the server `{server}` is not available: {because}");
        assert_eq!(found["note"], note, "{found}");
        assert_eq!(found["unavailable_servers"][0]["server"], server);
    }
}

#[test]
fn an_overlay_allows_a_tool_for_good() {
    let site = Site::new(json!({}));
    let hints = "[[overlay]]\nmatch = \"notes__delete_note\"\nhints = { destructive = false }\n";
    let overlay = site.sandbox.put("mine.toml", hints);
    let mut client = site.client(&["--overlay", &overlay]);
    let called = json!({"tool_name": "notes__delete_note", "arguments": {"title": "x"}});
    assert_eq!(text(&client.call("call_tool", called)), "deleted: x");
}
