//! Questions that a server asks the user while a call runs.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Site;
use super::client::{Client, post, text};
use crate::http::Server;
use crate::support::entry;

/// With the server that asks.
fn site() -> Site {
    let site = Site::new(json!({}));
    site.sandbox.servers(&json!({"asking": asking(&site)}));
    site
}

fn asking(site: &Site) -> Value {
    entry("asking", &[site.sandbox.path("asked").to_str().unwrap()])
}

fn hello(elicitation: &Value) -> Value {
    let capabilities = match elicitation {
        Value::Null => json!({}),
        offered => json!({ "elicitation": offered }),
    };
    json!({"protocolVersion": "2025-06-18", "capabilities": capabilities,
           "clientInfo": {"name": "by-hand", "version": "1"}})
}

fn client(site: &Site, elicitation: &Value, args: &[&str]) -> Client {
    let mut client = site.start(args);
    client.ask("initialize", hello(elicitation));
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    wait_for_lists(site);
    client
}

/// Waits until the server has got an answer to its question outside a call, which might otherwise
/// come while the first call runs.
fn wait_for_lists(site: &Site) {
    let began = Instant::now();
    while std::fs::read_to_string(site.sandbox.path("asked")).unwrap_or_default().is_empty() {
        assert!(began.elapsed() < Duration::from_secs(60), "the server asked nothing");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn call(client: &mut Client, tool: &str) -> u64 {
    client.send("tools/call", json!({"name": format!("asking__{tool}"), "arguments": {}}))
}

/// Calls a tool, answers its question, and returns the question and what the tool said.
fn answered(client: &mut Client, number: u64, answer: &Value) -> (Value, Value) {
    let question = client.hear("elicitation/create");
    client.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
    (question, client.answer_to(number)["result"].take())
}

fn said(result: &Value) -> Value {
    serde_json::from_str(text(result)).unwrap_or_else(|_| panic!("no JSON in {result}"))
}

const CANCEL: &str = r#"{"action":"cancel"}"#;

#[test]
fn a_question_goes_to_the_client_that_calls_and_its_answer_to_the_server() {
    let site = site();
    let mut client = client(&site, &json!({}), &[]);
    let accepted = json!({"action": "accept", "content": {"size": "L"}});
    let declined = json!({"action": "decline"});
    for answer in [&accepted, &declined, &json!({"action": "cancel"})] {
        let number = call(&mut client, "order_pizza");
        let (question, result) = answered(&mut client, number, answer);
        let params = &question["params"];
        assert_eq!(params["message"], "The server `asking` asks: Which size?");
        let schema = json!({"type": "object", "required": ["size"], "properties": {
            "size": {"type": "string", "pattern": "^[A-Z]$", "x-odd": 1}}});
        assert_eq!(params["requestedSchema"], schema);
        assert_eq!(params["_meta"]["toolroute/server"], "asking");
        assert_eq!(said(&result), *answer);
        assert_eq!(result["content"].as_array().unwrap().len(), 1, "{result}");
    }
    // Through `call_tool`, and for a prompt.
    let order = json!({"name": "call_tool", "arguments": {"tool_name": "asking__wait_for_reply"}});
    let number = client.send("tools/call", order);
    assert_eq!(said(&answered(&mut client, number, &declined).1), declined);
    let number = client.send("prompts/get", json!({"name": "asking__letter"}));
    let prompt = answered(&mut client, number, &declined).1;
    assert_eq!(prompt["messages"][0]["content"]["text"], declined.to_string().replace(':', ": "));
    // The server knows that it may ask, and got no answer of anybody outside a call.
    let number = call(&mut client, "show_capabilities");
    let offered = said(&client.answer_to(number)["result"]);
    assert_eq!(offered, json!({"elicitation": {"form": {}, "url": {}}}));
    let outside = std::fs::read_to_string(site.sandbox.path("asked")).unwrap();
    assert!(outside.lines().all(|line| line.replace(' ', "") == CANCEL), "{outside}");
    assert!(!outside.is_empty());
}

#[test]
fn a_client_that_cannot_ask_is_not_asked_and_told_so() {
    let site = site();
    let note = |because: &str| {
        format!(
            "[the server `asking` asked the user a question, and got the answer \"cancel\": {because}]"
        )
    };
    let cases = [
        (json!(null), "order_pizza", "the client does not offer to ask its user (elicitation)"),
        (json!({}), "open_account", "the client does not open addresses"),
        (json!({"url": {}}), "order_pizza", "the client does not show forms"),
        (json!({"form": {}}), "long_form", "its form has more than 16384 bytes"),
        (
            json!({"url": {}}),
            "open_file",
            "its address is no https:// or http:// address of at most 8192 characters",
        ),
    ];
    for (offered, tool, because) in cases {
        let mut client = client(&site, &offered, &[]);
        let number = call(&mut client, tool);
        let result = client.answer_to(number)["result"].take();
        assert_eq!(said(&result).to_string(), CANCEL);
        assert_eq!(result["content"][1]["text"], note(because));
        assert!(client.heard.iter().all(|heard| heard["method"] != "elicitation/create"));
    }
}

#[test]
fn an_address_is_passed_on_as_it_is() {
    let site = site();
    let mut client = client(&site, &json!({"form": {}, "url": {}}), &[]);
    let number = call(&mut client, "open_account");
    let (question, result) = answered(&mut client, number, &json!({"action": "accept"}));
    let params = &question["params"];
    assert_eq!((&params["mode"], &params["elicitationId"]), (&json!("url"), &json!("e-1")));
    assert_eq!(params["url"], "https://example.com/login?state=1");
    assert_eq!(said(&result), json!({"action": "accept"}));
}

#[test]
fn a_resource_does_not_wait_for_the_question_of_a_server_that_lacks_it() {
    let site = site();
    site.sandbox.servers(&json!({"asking": asking(&site), "notes": entry("notes", &["x"])}));
    let mut client = client(&site, &json!({}), &[]);
    let began = Instant::now();
    let number = client.send("resources/read", json!({"uri": "note://today"}));
    let question = client.hear("elicitation/create");
    assert!(client.answer_to(number).get("result").is_some());
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    let withdrawn = client.hear("notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
}

#[test]
fn a_question_during_a_request_without_a_user_is_put_to_nobody_who_calls() {
    let site = site();
    let mut client = client(&site, &json!({}), &[]);
    let number = call(&mut client, "wait_for_reply");
    let question = client.hear("elicitation/create");
    let about = json!({"ref": {"type": "ref/prompt", "name": "asking__letter"},
                       "argument": {"name": "to", "value": "a"}});
    let completed = client.ask("completion/complete", about);
    assert_eq!(completed["completion"]["values"], json!(["cancel"]));
    let declined = json!({"action": "decline"});
    client.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": declined}));
    assert_eq!(said(&client.answer_to(number)["result"]), declined);
}

#[test]
fn a_question_ends_with_its_call() {
    let site = site();
    let mut client = client(&site, &json!({}), &[]);
    // The server withdraws it; it answers without waiting; the client cancels the call.
    for tool in ["give_up", "hurry", "wait_for_reply"] {
        let number = call(&mut client, tool);
        let question = client.hear("elicitation/create");
        if tool == "wait_for_reply" {
            let cancelled = json!({"requestId": number, "reason": "no longer wanted"});
            let method = "notifications/cancelled";
            client.say(&json!({"jsonrpc": "2.0", "method": method, "params": cancelled}));
        }
        let cancelled = client.hear("notifications/cancelled");
        assert_eq!(cancelled["params"]["requestId"], question["id"], "{tool}");
    }
}

#[test]
fn the_time_of_a_call_does_not_run_while_its_question_is_open() {
    let site = site();
    let mut client = client(&site, &json!({}), &["--timeout", "1"]);
    let number = call(&mut client, "order_pizza");
    let question = client.hear("elicitation/create");
    std::thread::sleep(Duration::from_millis(2_500));
    let answer = json!({"action": "decline"});
    client.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
    assert_eq!(said(&client.answer_to(number)["result"]), answer);
}

#[test]
fn over_http_a_question_comes_on_the_stream_of_the_call() {
    let site = site();
    let server = Server::spawn(&site.sandbox, site.command(&["--http", "127.0.0.1:0"]));
    wait_for_lists(&site);
    let open = |offered: &Value| {
        let hello =
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello(offered)});
        let (reply, _) = post(server.port, "/mcp", &[], &hello);
        let session = reply.header("mcp-session-id").expect("a session").to_owned();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        post(server.port, "/mcp", &[("mcp-session-id", &session)], &ready);
        session
    };
    let (first, second) = (open(&json!({})), open(&json!({})));
    let order = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
                       "params": {"name": "asking__order_pizza", "arguments": {}}});
    let mut stream = Stream::open(server.port, &first, &order);
    let question = stream.next();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    // While the calls of two clients run, nobody knows whose question it is.
    let (_, told) = post(server.port, "/mcp", &[("mcp-session-id", &second)], &order);
    let because = told.last().expect("an answer")["result"]["content"][1]["text"].to_string();
    assert!(because.contains("several clients call it at the same time"), "{told:?}");
    let answer = json!({"action": "accept", "content": {"size": "S"}});
    let message = json!({"jsonrpc": "2.0", "id": question["id"], "result": answer});
    post(server.port, "/mcp", &[("mcp-session-id", &first)], &message);
    let result = stream.next();
    assert_eq!((&result["id"], said(&result["result"])), (&json!(7), answer));
}

/// The stream of one request over HTTP, read as it comes.
struct Stream(BufReader<TcpStream>);

impl Stream {
    fn open(port: u16, session: &str, body: &Value) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let body = body.to_string();
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nmcp-session-id: {session}\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        Self(BufReader::new(stream))
    }

    /// The next request or answer.
    fn next(&mut self) -> Value {
        let began = Instant::now();
        let mut line = String::new();
        while began.elapsed() < Duration::from_secs(60) {
            line.clear();
            assert_ne!(self.0.read_line(&mut line).unwrap(), 0, "the stream ended");
            let message = line.strip_prefix("data:").map(str::trim);
            let message = message.and_then(|data| serde_json::from_str::<Value>(data).ok());
            if let Some(message) = message.filter(|message| message.get("id").is_some()) {
                return message;
            }
        }
        panic!("no message in a minute");
    }
}
