//! Tools cut out of requests to language models: which stay, and that every byte of the rest does.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolroute::{Catalog, Engine};
use toolroute_serve::filter::{FilterError, FilterReport, SkipReason, filter};
use toolroute_vectors::embedding::BertEmbedder;

fn engine() -> Engine {
    Engine::builder(Catalog::default()).build().unwrap()
}

fn cut(body: &Value, keep: usize) -> (Value, FilterReport) {
    let text = body.to_string();
    let filtered = filter(&engine(), text.as_bytes(), keep).unwrap();
    (serde_json::from_slice(&filtered.body).unwrap(), filtered.report)
}

fn names(body: &Value) -> Vec<String> {
    let name = |tool: &Value| {
        let name = tool["name"].as_str().or_else(|| tool["function"]["name"].as_str());
        name.or_else(|| tool["type"].as_str()).unwrap_or_default().to_owned()
    };
    body["tools"].as_array().unwrap().iter().map(name).collect()
}

fn nested(name: &str, description: &str) -> Value {
    json!({"type": "function", "function": {"name": name, "description": description,
        "parameters": {"type": "object", "properties": {}}}})
}

fn flat(name: &str, description: &str) -> Value {
    json!({"type": "function", "name": name, "description": description, "parameters": null, "strict": true})
}

fn anthropic(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "input_schema": {"type": "object"}})
}

const TOOLS: [(&str, &str); 5] = [
    ("read_file", "Reads a file from disk"),
    ("send_email", "Sends an email to a person"),
    ("get_weather", "The weather of a city"),
    ("list_issues", "Lists issues of a repository"),
    ("play_music", "Plays a song"),
];

fn tools(make: fn(&str, &str) -> Value) -> Vec<Value> {
    TOOLS.iter().map(|(name, description)| make(name, description)).collect()
}

#[test]
fn every_form_of_a_tool_is_read_and_the_fitting_ones_stay_in_their_order() {
    for make in [nested, flat, anthropic] {
        let body = json!({"model": "m", "tools": tools(make),
            "messages": [{"role": "user", "content": "what is the weather in Paris? send it by email to Dana"}]});
        let (cut, report) = cut(&body, 2);
        assert_eq!(names(&cut), ["send_email", "get_weather"]);
        assert_eq!((report.tools, report.kept), (5, 2));
        assert_eq!(report.dropped, ["read_file", "list_issues", "play_music"]);
    }
}

#[test]
fn tools_of_the_provider_and_tools_with_a_mark_are_never_dropped() {
    let mut all = tools(anthropic);
    all.insert(0, json!({"type": "web_search_20250305", "name": "web_search", "max_uses": 5}));
    all.push(json!({"name": "last", "input_schema": {}, "cache_control": {"type": "ephemeral"}}));
    all.push(json!({"name": "later", "input_schema": {}, "defer_loading": true}));
    all.push(json!({"type": "mcp", "server_label": "x"}));
    all.push(json!({"type": "custom", "name": "code_exec", "format": {"type": "text"}}));
    all.push(json!("what is this?"));
    let body = json!({"tools": all, "messages": [{"role": "user", "content": "play music"}]});
    let (cut, _) = cut(&body, 1);
    let kept = names(&cut);
    assert_eq!(kept, ["web_search", "play_music", "last", "later", "mcp", "code_exec", ""]);
}

#[test]
fn forced_and_used_tools_stay() {
    let asked = json!([{"role": "user", "content": "play music"}]);
    for (choice, kept) in [
        (
            json!({"type": "function", "function": {"name": "read_file"}}),
            vec!["read_file", "play_music"],
        ),
        (json!({"type": "function", "name": "read_file"}), vec!["read_file", "play_music"]),
        (json!({"type": "tool", "name": "read_file"}), vec!["read_file", "play_music"]),
        (
            json!({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "get_weather"}]}),
            vec!["get_weather", "play_music"],
        ),
        (json!("auto"), vec!["play_music"]),
    ] {
        let body = json!({"tools": tools(flat), "input": asked, "tool_choice": choice});
        assert_eq!(names(&cut(&body, 1).0), kept, "{choice}");
    }
    let chat = json!([
        {"role": "user", "content": "play music"},
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "send_email", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "done"}]);
    let body = json!({"tools": tools(nested), "messages": chat});
    assert_eq!(names(&cut(&body, 1).0), ["send_email", "play_music"]);
    let blocks = json!([
        {"role": "user", "content": [{"type": "text", "text": "play music"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "list_issues", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "read a file"}]}]}]);
    let body = json!({"tools": tools(anthropic), "messages": blocks});
    assert_eq!(names(&cut(&body, 1).0), ["list_issues", "play_music"]);
    let items = json!([
        {"role": "user", "content": [{"type": "input_text", "text": "play music"}]},
        {"type": "function_call", "call_id": "1", "name": "get_weather", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "sunny"}]);
    let body = json!({"tools": tools(flat), "input": items});
    assert_eq!(names(&cut(&body, 1).0), ["get_weather", "play_music"]);
}

#[test]
fn what_cannot_be_judged_stays_as_it_is() {
    let untouched = |body: Value| {
        let text = body.to_string();
        let filtered = filter(&engine(), text.as_bytes(), 1).unwrap();
        assert_eq!(filtered.body, text.as_bytes());
        filtered.report.untouched.expect("a reason")
    };
    untouched(json!({"messages": []}));
    untouched(json!({"tools": null, "messages": []}));
    untouched(json!({"tools": {"a": 1}}));
    untouched(json!({"tools": tools(flat), "messages": []}));
    untouched(json!({"tools": [flat("a", "b")], "input": "x"}));
    untouched(
        json!({"tools": tools(flat), "input": [{"role": "user", "content": [{"type": "input_image"}]}]}),
    );
    let both = json!({"tools": tools(flat), "functions": [flat("a", "b")], "input": "play music"});
    assert_eq!(untouched(both), SkipReason::TwoLists);
    let gemini = json!({"tools": [{"functionDeclarations": tools(flat)}],
        "contents": [{"role": "user", "parts": [{"text": "play music"}]}]});
    assert_eq!(untouched(gemini), SkipReason::Format);
    let model = Arc::new(BertEmbedder::built_in().unwrap());
    let reader = Engine::builder(Catalog::default()).embedder(model).build().unwrap();
    for prompt in
        ["어제 들은 노래를 틀어 줘", "Chi lavora sabato?", "zet wat muziek op alsjeblieft"]
    {
        let body = json!({"tools": tools(flat), "input": prompt}).to_string();
        let unread = filter(&reader, body.as_bytes(), 1).unwrap();
        assert_eq!(unread.report.untouched.map(SkipReason::label), Some("language"), "{prompt}");
        assert_eq!(unread.body, body.as_bytes());
    }
    let twice = r#"{"tools": [], "input": "play music", "tools": [1, 2]}"#;
    assert_eq!(filter(&engine(), twice.as_bytes(), 1).unwrap().body, twice.as_bytes());
    for wrong in ["[]", "", "{", "nul", "{\"tools\": [1}", "\u{feff}{}"] {
        let refused = filter(&engine(), wrong.as_bytes(), 1);
        assert!(matches!(refused, Err(FilterError::NotARequest(_))), "{wrong}");
    }
    let packed = filter(&engine(), b"\x1f\x8b\x08\x00", 1).unwrap_err().to_string();
    assert!(packed.contains("compressed"), "{packed}");
}

#[test]
fn the_old_name_of_the_list_and_a_follow_up_are_understood() {
    let functions: Vec<Value> =
        TOOLS.iter().map(|(name, text)| json!({"name": name, "description": text})).collect();
    let body = json!({"functions": functions, "messages": [
        {"role": "user", "content": "what is the weather in Paris?"},
        {"role": "assistant", "content": "Sunny."},
        {"role": "user", "content": "and in Berlin?"}]});
    let (shorter, _) = cut(&body, 1);
    assert_eq!(shorter["functions"][0]["name"], "get_weather");
    // A prompt without any word is left to the request before it.
    for asked in ["?", "👍"] {
        let body = json!({"tools": tools(flat), "messages": [
            {"role": "user", "content": "play a song"}, {"role": "user", "content": asked}]});
        assert_eq!(names(&cut(&body, 1).0), ["play_music"], "{asked}");
    }
}

/// White space as JSON has it.
fn space() -> impl Strategy<Value = String> {
    proptest::collection::vec(prop_oneof![Just(' '), Just('\n'), Just('\t'), Just('\r')], 0..4)
        .prop_map(|signs| signs.into_iter().collect())
}

/// A tool as its author may have written it: numbers, escapes and space that no writer would make
/// again.
fn written(row: usize) -> impl Strategy<Value = String> {
    let schemas = [
        r#"{"type":"object","properties":{"a":{"const":1.0e2}}}"#,
        r#"{ "b" : "\u0041\/" , "b" : 1E400 }"#,
        "{}",
        "{\n}",
    ];
    let schema = proptest::sample::select(schemas.to_vec());
    (space(), schema, 0..4usize).prop_map(move |(space, schema, form)| {
        let (name, text) = (format!("tool_{row}"), TOOLS[row % TOOLS.len()].1);
        match form {
            0 => format!(r#"{{"type":{space}"function","function":{{"name":"{name}","description":"{text}","parameters":{schema}}}}}"#),
            1 => format!(r#"{{{space}"type":"function","name":"{name}","description":"{text}","parameters":{schema}}}"#),
            2 => format!(r#"{{"name":"{name}",{space}"description":"{text}","input_schema":{schema}}}"#),
            _ => format!(r#"{{"type":{space}"web_search_{row}","x":{schema}}}"#),
        }
    })
}

/// A body, its list of tools as text, and each tool with what stands before it.
fn bodies() -> impl Strategy<Value = (String, String, String, Vec<String>)> {
    let tools = (1..12usize).prop_flat_map(|count| (0..count).map(written).collect::<Vec<_>>());
    let before = prop_oneof![
        Just(r#"{"model":"m","input":"read a file","#.to_owned()),
        Just(
            "{ \"messages\" : [{\"role\":\"user\",\"content\":\"send \\u00e9 email\"}] ,\n"
                .to_owned()
        ),
    ];
    let after = prop_oneof![Just("}".to_owned()), Just(" , \"n\":1.10, \"z\":[ ]\n}\n".to_owned())];
    (before, after, tools, space()).prop_map(|(before, after, tools, space)| {
        let head = format!("{before}\"tools\"{space}:[{space}");
        let joined = tools.join(&format!("{space},{space}"));
        let tail = format!("{space}]{after}");
        (format!("{head}{joined}{tail}"), head, tail, tools)
    })
}

#[derive(serde::Deserialize)]
struct Cut<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn of_all_that_stays_every_byte_stays((text, head, tail, tools) in bodies(), keep in 1..6usize) {
        let filtered = filter(&engine(), text.as_bytes(), keep).unwrap();
        let cut = String::from_utf8(filtered.body.into_owned()).unwrap();
        prop_assert!(cut.starts_with(&head) && cut.ends_with(&tail), "{}", cut);
        // What is left is some of the tools, as they were written and in their order.
        let parsed: Cut<'_> = serde_json::from_str(&cut).unwrap();
        let kept = parsed.tools;
        let kept: Vec<&str> = kept.iter().map(|raw| raw.get()).collect();
        let mut rest = tools.iter();
        for tool in &kept {
            prop_assert!(rest.any(|written| written == tool), "{}", tool);
        }
        prop_assert_eq!(filtered.report.kept, kept.len());
        prop_assert_eq!(filtered.report.tools, tools.len());
        let functions = |tool: &&str| !tool.contains("web_search_");
        prop_assert!(kept.iter().copied().filter(|tool| functions(tool)).count() <= keep);
        let native = |tools: &[&str]| tools.iter().filter(|tool| !functions(tool)).count();
        let all: Vec<&str> = tools.iter().map(String::as_str).collect();
        prop_assert_eq!(native(&kept), native(&all));
        // Cutting again changes nothing.
        let again = filter(&engine(), cut.as_bytes(), keep).unwrap();
        prop_assert_eq!(&*again.body, cut.as_bytes());
    }

    #[test]
    fn no_body_makes_it_fail_in_another_way_than_by_saying_so(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        filter(&engine(), &bytes, 1).ok();
    }
}
