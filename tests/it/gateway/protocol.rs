//! What a client is told whose messages do not follow the protocol.

use std::io::Read as _;
use std::process::Stdio;

use serde_json::{Value, json};

use super::Site;
use super::client::Client;
use crate::support::Sandbox;

#[test]
fn a_request_before_the_handshake_is_told_of_it() {
    let site = Site::new(json!({}));
    let mut client = site.start(&[]);
    let number = client.send("tools/list", json!({}));
    let refused = client.answer_to(number);
    let said = refused["error"]["message"].as_str().unwrap();
    assert!(said.contains("has to send initialize first"), "{refused}");
    client.begin();
    assert!(client.ask("tools/list", json!({}))["tools"].is_array());
}

#[test]
fn a_request_that_does_not_fit_is_told_what_is_wrong() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("servers.json", r#"{"mcpServers": {}}"#);
    let mut command = sandbox.toolroute();
    command.arg("mcp").arg("--servers").arg(file);
    command.stderr(Stdio::piped());
    let mut client = Client::start(command);
    let refused = |client: &mut Client, method: &str, params: Value| {
        let number = client.send(method, params);
        let error = client.answer_to(number)["error"].take();
        (error["code"].as_i64().unwrap(), error["message"].as_str().unwrap().to_owned())
    };
    let (code, said) = refused(&mut client, "initialize", json!({}));
    assert!(code == -32_602 && said.contains("missing field `protocolVersion`"), "{code} {said}");
    client.begin();
    for (method, params, because) in [
        ("initialize", json!({}), "missing field `protocolVersion`"),
        ("tools/call", json!({"arguments": {}}), "missing field `name`"),
        ("tools/call", Value::Null, "expected an object, found none"),
        (
            "tools/call",
            json!({"name": "find_tools", "arguments": "oven"}),
            "expected an object, found \"oven\"",
        ),
        ("prompts/get", json!({}), "missing field `name`"),
    ] {
        let (code, said) = refused(&mut client, method, params);
        assert!(code == -32_602 && said.contains(because), "{method}: {code} {said}");
    }
    assert_eq!(refused(&mut client, "tools/drop", json!({})).0, -32_601);
    // What is no JSON at all has no id that an answer could name.
    client.say_line("Good morning!");
    let refused = client.next().unwrap();
    assert_eq!(
        (refused.get("id"), &refused["error"]["code"]),
        (None, &json!(-32_700)),
        "{refused}"
    );
    assert!(client.ask("tools/list", json!({}))["tools"].is_array());
    let mut stderr = client.child.stderr.take().expect("a pipe");
    assert!(client.end());
    let mut said = String::new();
    stderr.read_to_string(&mut said).unwrap();
    assert!(said.contains("a line of 13 bytes on stdin is not JSON"), "{said}");
    assert!(!said.contains("morning"), "{said}");
}
