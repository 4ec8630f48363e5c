//! What is said of a call that cannot be made: how to make one that can, and who is to blame.

use serde_json::{Value, json};

use crate::gateway::client::{Client, text};
use crate::http::{Server, post};
use crate::stand_ins::{gateway, journal, scripted};
use crate::support::{Sandbox, entry};

/// A tool that adds numbers, in one of two units.
fn adds() -> Value {
    json!({"name": "add", "description": "Adds two numbers", "does": {"answer": "3"},
        "annotations": {"readOnlyHint": true},
        "inputSchema": {"type": "object", "additionalProperties": false, "required": ["a", "unit"], "properties": {
            "a": {"type": "number", "minimum": 2, "maximum": 5},
            "unit": {"enum": ["metre", "foot"]},
            "day": {"type": "string", "format": "date"},
            "times": {"type": "integer", "exclusiveMinimum": 0}}}})
}

/// What was given, and the example that the error must give.
fn cases() -> [(Value, Value); 5] {
    [
        (json!({"a": "two", "unit": "metre"}), json!({"a": 2, "unit": "metre"})),
        (json!({"a": 9, "unit": "metre"}), json!({"a": 2, "unit": "metre"})),
        (json!({"a": 3, "unit": "yard"}), json!({"a": 3, "unit": "metre"})),
        (
            json!({"a": 3, "unit": "foot", "times": "often"}),
            json!({"a": 3, "unit": "foot", "times": 1}),
        ),
        (json!({"a": 3, "unit": "foot", "colour": "red"}), json!({"a": 3, "unit": "foot"})),
    ]
}

/// The example of an error's words.
fn example(said: &str) -> Value {
    let (_, example) = said.split_once("; for example ").unwrap_or_else(|| panic!("none: {said}"));
    let mut values = serde_json::Deserializer::from_str(example).into_iter::<Value>();
    values.next().expect("an example").unwrap_or_else(|error| panic!("{error}: {said}"))
}

#[test]
fn the_example_of_an_argument_error_can_be_sent() {
    let sandbox = scripted(&[("sums", json!([adds()]))]);
    let servers = sandbox.arg("servers.json");
    let server = Server::by_static(&sandbox, &["--servers", &servers]);
    let mut client = gateway(&sandbox, &[], 1);
    for (given, wanted) in cases() {
        let args = ["call", "sums__add", "--json", "--servers", &servers, "--args"];
        let mut command = sandbox.toolroute();
        let output = command.args(args).arg(given.to_string()).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["outcome"], "clarify", "{report}");
        assert_eq!(report["clarification"]["example"], wanted, "{given}: {report}");
        assert_eq!(example(report["message"].as_str().unwrap()), wanted);

        let body = json!({"tool": "sums__add", "arguments": given});
        let report = post(server.port, "/v1/call", &body).ok();
        assert_eq!(example(report["message"].as_str().unwrap()), wanted, "{given}");

        let asked = json!({"tool_name": "sums__add", "arguments": given});
        let said = client.call("call_tool", asked);
        assert_eq!(example(text(&said)), wanted, "{given}");
    }
    assert_eq!(journal(&sandbox, "sums").len(), 0, "nothing of it was sent");
    for (_, good) in cases() {
        let report =
            post(server.port, "/v1/call", &json!({"tool": "sums__add", "arguments": good}));
        assert_eq!(report.ok()["outcome"], "answered", "{good}");
    }
}

#[test]
fn an_example_that_cannot_be_made_is_left_out() {
    let tool = json!({"name": "book", "description": "Books a seat", "does": {"answer": "ok"},
        "inputSchema": {"type": "object", "required": ["seat"], "properties": {
            "seat": {"type": "string", "pattern": "^[0-9]{2}[A-F]$"}}}});
    let sandbox = scripted(&[("air", json!([tool]))]);
    let servers = sandbox.arg("servers.json");
    let args =
        ["call", "air__book", "--json", "--servers", &servers, "--args", "{\"seat\": \"x\"}"];
    let output = sandbox.toolroute().args(args).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["outcome"], "clarify", "{report}");
    assert!(report["clarification"].get("example").is_none(), "{report}");
    assert!(!report["message"].as_str().unwrap().contains("for example"), "{report}");
}

#[test]
fn a_resource_of_nobody_is_blamed_on_nobody() {
    let sandbox = Sandbox::new();
    let notes = |name: &str| entry("notes", &[sandbox.mark(), "--name", name]);
    let tools = sandbox.put("sums.json", json!([adds()]).to_string());
    let sums = entry("scripted", &[sandbox.mark(), &tools]);
    sandbox.servers(&json!({"a_notes": notes("a"), "b_notes": notes("b"), "sums": sums}));
    let mut client: Client = gateway(&sandbox, &[], 0);
    let refused = |client: &mut Client, method: &str| {
        let number = client.send(method, json!({"uri": "shop://receipt/7"}));
        client.answer_to(number)["error"].clone()
    };
    for method in ["resources/read", "resources/subscribe"] {
        let error = refused(&mut client, method);
        let said = error["message"].as_str().unwrap();
        assert!(said.starts_with("no server here has the resource `shop://receipt/7`"), "{said}");
        assert!(said.contains("servers with resources: a_notes, b_notes ("), "{said}");
        assert!(!said.contains("sums"), "{said}");
    }
    let read = client.ask("resources/read", json!({"uri": "note://today"}));
    assert_eq!(read["contents"][0]["text"], "milk");
}
