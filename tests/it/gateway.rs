//! `toolroute mcp`, as clients see it, with real servers behind.

mod changes;
pub mod client;
mod elicitation;
mod held;
mod newest;
mod protocol;
mod states;

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::drill::{left_over, processes};
use crate::http::Server;
use crate::support::{Sandbox, entry};
use client::{Client, post, text};

/// A sandbox with a servers file, and the gateway over it.
struct Site {
    sandbox: Sandbox,
}

impl Site {
    /// With the notes server, and what else is given.
    fn new(more: Value) -> Self {
        Self::with(more, &[])
    }

    /// With options for the notes server.
    fn with(more: Value, options: &[&str]) -> Self {
        let sandbox = Sandbox::new();
        let journal = sandbox.path("journal");
        let fixed = [sandbox.mark(), "--journal", journal.to_str().expect("UTF-8")];
        let mut servers = more;
        servers["notes"] = entry("notes", &[&fixed, options].concat());
        sandbox.servers(&servers);
        Self { sandbox }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.sandbox.toolroute();
        command.current_dir(self.sandbox.dir.path());
        command.args(["mcp", "--servers"]).arg(self.sandbox.path("servers.json")).args(args);
        command
    }

    /// A client that has said nothing yet.
    fn start(&self, args: &[&str]) -> Client {
        Client::start(self.command(args))
    }

    /// A client that has shaken hands.
    fn client(&self, args: &[&str]) -> Client {
        let mut client = self.start(args);
        client.begin();
        client
    }

    /// A client for which the notes server has listed its tools.
    fn with_notes(&self, args: &[&str]) -> Client {
        let mut client = self.client(args);
        client.find_until(json!({"query": SEARCH}), has_notes);
        client
    }

    fn mark(&self) -> &str {
        self.sandbox.mark()
    }
}

fn ids(found: &Value) -> Vec<&str> {
    let tools = found["tools"].as_array().expect("tools");
    tools.iter().map(|tool| tool["id"].as_str().expect("an id")).collect()
}

fn has_notes(found: &Value) -> bool {
    ids(found).contains(&"notes__search_notes")
}

const SEARCH: &str = "search my notes for words";

#[test]
fn a_tool_is_found_described_and_called_and_nothing_is_left_behind() {
    let site = Site::new(json!({}));
    let mut client = site.start(&[]);
    let about = client.begin();
    assert_eq!(about["serverInfo"]["name"], "toolroute");
    let listed = client.ask("tools/list", json!({}));
    let listed = listed["tools"].as_array().unwrap();
    let names: Vec<&Value> = listed.iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["find_tools", "describe_tool", "call_tool", "read_more"]);
    let reads = listed.iter().map(|tool| &tool["annotations"]["readOnlyHint"] == true);
    assert_eq!(reads.collect::<Vec<_>>(), [true, true, false, true]);

    let found = client.find_until(json!({"query": SEARCH}), has_notes);
    assert_eq!(found["tools"][0]["id"], "notes__search_notes", "{found}");
    assert_eq!(found["tools"][0]["parameters"], "query: string, zeta?: integer");
    assert_eq!(found["tools"][0]["description"], "Searches all notes for words.");
    assert!(found.get("token_metrics").is_none(), "{found}");

    let called = json!({"tool_name": "notes__search_notes", "arguments": {"query": "milk"}});
    assert_eq!(text(&client.call("call_tool", called)), "found: milk");
    // As a text, with the name inside, and by the other spelling of the id.
    let nested =
        json!({"arguments": "{\"tool_name\": \"notes:search_notes\", \"query\": \"tea\"}"});
    assert_eq!(text(&client.call("call_tool", nested)), "found: tea");
    // What is found can be called by its id alone.
    assert_eq!(text(&client.call("notes__search_notes", json!({"query": "rye"}))), "found: rye");
    let many = client.call("find_tools", json!({"query": SEARCH, "limit": 500}));
    assert_eq!(text(&many), "expected `limit` as a whole number from 1 to 50, found 500");
    let alias = client.call("search_tools", json!({"query": SEARCH, "top_k": "1"}));
    assert_eq!(ids(&serde_json::from_str(text(&alias)).unwrap()).len(), 1);

    assert!(client.end());
    assert_eq!(left_over(site.mark()), [] as [&str; 0]);
}

#[test]
fn a_definition_is_given_out_as_its_server_wrote_it() {
    let site = Site::new(json!({}));
    let mut client = site.with_notes(&[]);
    let found = client.call("find_tools", json!({"query": SEARCH, "detail": "full"}));
    let schema = r#""inputSchema":{"type":"object","properties":{"zeta":{"type":"integer","maximum":10},"query":{"type":"string","description":"Words to look for"}},"required":["query"],"$schema":"http://json-schema.org/draft-07/schema#"}"#;
    assert!(text(&found).contains(schema), "{}", text(&found));
    let answer: Value = serde_json::from_str(text(&found)).unwrap();
    let first = &answer["tools"][0];
    assert_eq!(first["name"], "notes__search_notes");
    assert_eq!(first["title"], "Search notes");
    assert_eq!(first["_meta"]["example.org/owner"], "notes");
    assert!(first["score"].is_number() && first["why"].is_string(), "{first}");
    let metrics = &answer["token_metrics"];
    assert_eq!(metrics["estimated"], true);
    assert!(metrics["baseline_tokens"].as_u64().unwrap() > 200, "{metrics}");
    let described = client.call("describe_tool", json!({"tool_name": "notes:search_notes"}));
    assert!(text(&described).contains(schema), "{described}");
}

#[test]
fn what_goes_wrong_is_said_so_that_an_agent_can_put_it_right() {
    let site = Site::new(json!({}));
    let mut client = site.with_notes(&["--no-fallback"]);
    let mut wrong = |tool: &str, arguments: Value| {
        let result = client.call(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        text(&result).to_owned()
    };
    let near = wrong("call_tool", json!({"tool_name": "notes__serch_notes"}));
    assert!(near.contains("did you mean notes__search_notes"), "{near}");
    let unknown = wrong("notes__serch_notes", json!({}));
    assert!(unknown.contains("did you mean"), "{unknown}");
    assert!(wrong("find_tools", json!({})).contains("expected `query`"));
    let server = wrong("find_tools", json!({"query": "x", "server": "mail"}));
    assert!(server.contains("expected one of notes"), "{server}");
    let missing = wrong("call_tool", json!({"tool_name": "notes__search_notes"}));
    assert!(missing.contains("query") && missing.contains("describe_tool"), "{missing}");
    let own = wrong(
        "call_tool",
        json!({"tool_name": "notes__print_notebook", "arguments": {"copies": 9}}),
    );
    assert!(own.contains("expected at most 3 copies"), "{own}");
    let asks =
        wrong("call_tool", json!({"tool_name": "notes__delete_note", "arguments": {"title": "x"}}));
    assert!(asks.contains("\"confirm\": true"), "{asks}");
    assert!(asks.contains("Whoever runs this gateway") && asks.contains("--overlay"), "{asks}");
    let agreed =
        json!({"tool_name": "notes__delete_note", "arguments": {"title": "x"}, "confirm": true});
    assert_eq!(text(&client.call("call_tool", agreed)), "deleted: x");
}

#[test]
fn answers_keep_their_parts_and_their_structure() {
    let site = Site::new(json!({}));
    let mut client = site.with_notes(&[]);
    let drawn = client.call("call_tool", json!({"tool_name": "notes__illustrate_note"}));
    let parts = json!([
        {"type": "text", "text": "a drawing", "annotations": {"audience": ["user"]}},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "resource_link", "uri": "note://drawing", "name": "drawing"}
    ]);
    assert_eq!(drawn["content"], parts);
    let counted = client.call("notes__count_notes", json!({}));
    assert_eq!(counted["structuredContent"], json!({"count": 3}));
}

#[test]
fn one_dead_server_costs_its_own_tools_and_is_named() {
    let dead = entry("faulty", &["x", "--mode", "dies"]);
    let dead = json!({"dead": dead, "absent": {"command": "/no/such/program"}});
    let site = Site::new(dead);
    let mut client = site.client(&[]);
    let both = |found: &Value| {
        has_notes(found)
            && found["unavailable_servers"].as_array().is_some_and(|all| all.len() == 2)
            && !found["unavailable_servers"].to_string().contains("starting")
    };
    let found = client.find_until(json!({"query": SEARCH}), both);
    assert!(both(&found), "{found}");
    assert_eq!(found["unavailable_servers"][0]["server"], "absent");
    assert_eq!(found["unavailable_servers"][1]["server"], "dead");
    // An agent that was told needs no reminder, until it asks or finds nothing.
    let again = client.find(json!({"query": SEARCH}));
    assert!(has_notes(&again) && again.get("unavailable_servers").is_none(), "{again}");
    let asked = client.find(json!({"query": SEARCH, "server": "dead"}));
    assert_eq!(asked["unavailable_servers"][0]["server"], "dead", "{asked}");
    let nothing = client.find(json!({"query": SEARCH, "min_score": 2}));
    assert_eq!(nothing["unavailable_servers"], found["unavailable_servers"], "{nothing}");
    // Another client was not told.
    let mut other = site.client(&[]);
    let listed = other.ask("tools/list", json!({}));
    let hint = listed["tools"][0]["description"].as_str().unwrap();
    assert!(hint.contains("There are 7 tools: absent; dead; notes ("), "{hint}");
    let told = other.find_until(json!({"query": SEARCH}), both);
    assert_eq!(told["unavailable_servers"], found["unavailable_servers"], "{told}");
    let called = json!({"tool_name": "notes__search_notes", "arguments": {"query": "milk"}});
    assert_eq!(text(&client.call("call_tool", called)), "found: milk");
}

#[test]
fn the_next_start_finds_at_once_what_the_last_one_learned() {
    let site = Site::new(json!({}));
    let mut first = site.client(&[]);
    let cold = first.ask("tools/list", json!({}));
    first.find_until(json!({"query": SEARCH}), has_notes);
    let kept = site.sandbox.path("cache/toolroute/gateway");
    let began = std::time::Instant::now();
    while !kept.is_dir() && began.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(20));
    }
    // In a session the definitions stay as they are, whatever is learned meanwhile.
    assert_eq!(first.ask("tools/list", json!({})), cold);
    first.end();

    let mut second = site.client(&[]);
    let found = second.find(json!({"query": SEARCH}));
    println!("found {:?} after the start (debug build)", second.born.elapsed());
    assert!(has_notes(&found), "{found}");
    assert_eq!(processes(site.mark()), [] as [&str; 0], "no server was needed");
    let warm = second.ask("tools/list", json!({}));
    let hint = warm["tools"][0]["description"].as_str().unwrap();
    assert!(hint.contains("There are 7 tools: notes ("), "{hint}");
    second.end();
    let mut third = site.client(&[]);
    assert_eq!(third.ask("tools/list", json!({})), warm);
    // A call starts the server that it needs.
    let called = json!({"tool_name": "notes__search_notes", "arguments": {"query": "milk"}});
    assert_eq!(text(&third.call("call_tool", called)), "found: milk");
}

#[test]
fn progress_is_passed_on_and_a_cancelled_call_is_cancelled_behind() {
    let site = Site::new(json!({}));
    let mut client = site.with_notes(&[]);
    let number = client.send(
        "tools/call",
        json!({"name": "call_tool", "arguments": {"tool_name": "notes__transcribe_recording"},
               "_meta": {"progressToken": "mine"}}),
    );
    for step in 1..=2 {
        let told = client.hear("notifications/progress");
        assert_eq!(told["params"]["progressToken"], "mine");
        assert_eq!(told["params"]["message"], format!("minute {step}"));
    }
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                       "params": {"requestId": number, "reason": "enough"}}));
    let journal = site.sandbox.path("journal");
    let began = std::time::Instant::now();
    // The file is there before its text is.
    let text_of = || std::fs::read_to_string(&journal).unwrap_or_default();
    while text_of().is_empty() && began.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(text_of(), "cancelled\n");
    // The server goes on serving.
    let called = json!({"tool_name": "notes__search_notes", "arguments": {"query": "milk"}});
    assert_eq!(text(&client.call("call_tool", called)), "found: milk");
}

#[test]
fn a_new_tool_of_a_server_is_found_and_told_where_it_is_listed() {
    learns(&Site::new(json!({})));
}

#[test]
fn servers_that_tell_only_those_who_listen_are_listened_to() {
    learns(&Site::with(json!({}), &["--protocol", "newest"]));
}

#[test]
fn a_change_that_a_client_has_listed_by_itself_is_told_too() {
    let site = Site::new(json!({}));
    let mut client = site.client(&TRANSLATE);
    while names(&mut client).is_empty() {
        client.hear("notifications/tools/list_changed");
    }
    client.heard.clear();
    client.call("notes__learn_translation", json!({}));
    // As some MCP libraries do on their own after a call of a tool that is not listed.
    client.find(json!({"query": "x"}));
    while names(&mut client)[0] != "notes__translate_note" {}
    client.hear("notifications/tools/list_changed");
}

const TRANSLATE: [&str; 6] =
    ["--expose", "selected", "--query", "translate a note", "--limit", "2"];

/// The names of the tools that a server has.
fn names(client: &mut Client) -> Vec<String> {
    let listed = client.ask("tools/list", json!({}));
    let tools = listed["tools"].as_array().unwrap();
    let names = tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned());
    names.filter(|name| name != "read_more").collect()
}

fn learns(site: &Site) {
    let mut client = site.client(&TRANSLATE);
    while names(&mut client).is_empty() {
        client.hear("notifications/tools/list_changed");
    }
    let before = names(&mut client);
    assert!(
        before.len() == 2 && before.iter().all(|name| name.starts_with("notes__")),
        "{before:?}"
    );
    client.heard.clear();
    client.call("notes__learn_translation", json!({}));
    client.hear("notifications/tools/list_changed");
    assert_eq!(names(&mut client)[0], "notes__translate_note");
    let called = client.call("notes__translate_note", json!({"language": "Danish"}));
    assert_eq!(text(&called), "in Danish");
}

#[test]
fn a_tool_is_listed_and_called_under_a_name_that_models_take() {
    let site = Site::new(json!({"my.notes": entry("notes", &["x"])}));
    let mut client = site.client(&["--expose", "selected", "--limit", "100"]);
    let is_dotted = |name: &String| name.starts_with("my_notes__search_notes_");
    let dotted = loop {
        match names(&mut client).into_iter().find(is_dotted) {
            Some(name) => break name,
            None => client.hear("notifications/tools/list_changed"),
        };
    };
    let called = client.call(&dotted, json!({"query": "orchids"}));
    assert_eq!(called["isError"], json!(false), "{called}");
}

#[test]
fn prompts_and_resources_are_passed_on() {
    let site = Site::new(json!({}));
    let mut client = site.client(&[]);
    let prompts = client.ask("prompts/list", json!({}));
    assert_eq!(prompts["prompts"][0]["name"], "notes__summarise");
    let asked = json!({"name": "notes__summarise", "arguments": {"title": "today"}});
    let prompt = client.ask("prompts/get", asked);
    assert_eq!(prompt["messages"][0]["content"]["text"], "Sum up today");
    let resources = client.ask("resources/list", json!({}));
    assert_eq!(resources["resources"][0]["uri"], "note://today");
    let templates = client.ask("resources/templates/list", json!({}));
    assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "note://{title}");
    let read = client.ask("resources/read", json!({"uri": "note://today"}));
    assert_eq!(read["contents"][0]["text"], "milk");
    client.ask("resources/subscribe", json!({"uri": "note://today"}));
    let told = client.hear("notifications/resources/updated");
    assert_eq!(told["params"]["uri"], "note://today");
    let number = client.send("resources/subscribe", json!({"uri": "other://x"}));
    let refused = client.answer_to(number);
    let nobodys = "no server here has the resource `other://x`; servers with resources: notes (resources/list and resources/templates/list name them)";
    assert_eq!(refused["error"]["message"], nobodys, "{refused}");
    let completed = client.ask(
        "completion/complete",
        json!({"ref": {"type": "ref/prompt", "name": "notes__summarise"},
               "argument": {"name": "title", "value": "t"}}),
    );
    assert_eq!(completed["completion"]["values"], json!(["summarise", "today"]));
    let number = client.send("resources/read", json!({"uri": "other://x"}));
    let refused = client.answer_to(number);
    assert_eq!(refused["error"]["code"], -32002, "{refused}");
    assert_eq!(refused["error"]["message"], nobodys);
    // The server told of it all the same; the subscription was refused before.
    let told = |heard: &Value| heard["params"]["uri"] == "other://x";
    assert!(!client.heard.iter().any(told), "{:?}", client.heard);
}

#[test]
fn what_happens_before_a_client_is_ready_is_told_when_it_is() {
    let site = Site::new(json!({}));
    let mut client = site.start(&[]);
    client.shake_hands();
    client.ask("resources/subscribe", json!({"uri": "note://today"}));
    assert!(client.heard.is_empty(), "{:?}", client.heard);
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let told = client.hear("notifications/resources/updated");
    assert_eq!(told["params"]["uri"], "note://today");
}

/// The gateway over HTTP.
struct Served(Server);

impl Served {
    fn start(site: &Site, args: &[&str]) -> Self {
        let args = [args, &["--http", "127.0.0.1:0"]].concat();
        Self(Server::spawn(&site.sandbox, site.command(&args)))
    }

    /// A session at a path: its id.
    fn session(&self, path: &str) -> String {
        let (reply, messages) = post(self.0.port, path, &[], &initialize());
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert_eq!(messages[0]["result"]["serverInfo"]["name"], "toolroute");
        let id = reply.header("mcp-session-id").expect("a session").to_owned();
        let begun = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(post(self.0.port, path, &[("Mcp-Session-Id", &id)], &begun).0.status, 202);
        id
    }

    fn ask(&self, path: &str, session: &str, method: &str, params: Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let headers = [("Mcp-Session-Id", session)];
        let (reply, messages) = post(self.0.port, path, &headers, &body);
        assert_eq!(reply.status, 200, "{}", reply.text());
        let answer = messages.into_iter().find(|message| message["id"] == 7).expect("an answer");
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }
}

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "by-hand", "version": "1"}}})
}

#[test]
fn sessions_over_http_share_servers_and_profiles_keep_to_theirs() {
    let site = Site::new(json!({}));
    let profiles = "[profiles]\nlook = [\"*__search_notes\"]\n[profiles.draw]\ntools = [\"*__illustrate*\", \"*__count*\"]\npinned = [\"notes__count_notes\"]\n";
    site.sandbox.write("toolroute.toml", profiles);
    let mut served = Served::start(&site, &[]);
    let (a, b) = (served.session("/mcp"), served.session("/mcp/draw"));
    assert_ne!(a, b);
    let find = json!({"name": "find_tools", "arguments": {"query": SEARCH}});
    let began = std::time::Instant::now();
    let found = loop {
        let result = served.ask("/mcp", &a, "tools/call", find.clone());
        let found: Value = serde_json::from_str(text(&result)).unwrap();
        if has_notes(&found) || began.elapsed() > Duration::from_secs(30) {
            break found;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(has_notes(&found), "{found}");
    let call = json!({"name": "call_tool", "arguments": {"tool_name": "notes__search_notes", "arguments": {"query": "milk"}}});
    assert_eq!(text(&served.ask("/mcp", &a, "tools/call", call.clone())), "found: milk");
    let hidden = served.ask("/mcp/draw", &b, "tools/call", call);
    assert_eq!(hidden["isError"], true, "{hidden}");
    let listed = served.ask("/mcp/draw", &b, "tools/list", json!({}));
    assert_eq!(listed["tools"][4]["name"], "notes__count_notes");
    assert_eq!(post(served.0.port, "/mcp/none", &[], &initialize()).0.status, 404);
    let unread = json!({"jsonrpc": "2.0", "id": 5, "method": "initialize", "params": {}});
    let (answer, refused) = post(served.0.port, "/mcp", &[], &unread);
    let error = &refused[0]["error"];
    assert_eq!(
        (answer.status, &refused[0]["id"], &error["code"]),
        (400, &json!(5), &json!(-32_602))
    );
    assert!(error["message"].as_str().unwrap().contains("missing field `protocolVersion`"));
    let unknown = crate::http::get(served.0.port, "/mcp/none").text();
    assert!(unknown.contains("no profile `none`; expected one of draw, look"), "{unknown}");
    let ending = served.session("/mcp/look");
    let headers = [("mcp-session-id", ending.as_str())];
    let ended = crate::http::Sent::new(served.0.port, "DELETE /mcp/look", &headers, &[]).reply();
    assert_eq!(ended.status, 204, "the SDK of Python takes 202 for a failure");
    // One process for all sessions.
    for _ in 0..5 {
        served.session("/mcp/look");
    }
    let started = crate::drill::processes(site.mark());
    assert_eq!(started.len(), 1, "{started:?}");

    // SIGTERM ends it in good order, with all that it started.
    #[cfg(unix)]
    {
        served.0.signal("TERM");
        assert!(served.0.ended(Duration::from_secs(60)).success());
        assert_eq!(left_over(site.mark()), [] as [&str; 0]);
    }
}

#[test]
fn strangers_hosts_and_pages_are_refused_and_others_need_a_token() {
    let site = Site::new(json!({}));
    let served = Served::start(&site, &[]);
    let asked =
        |headers: &[(&str, &str)]| post(served.0.port, "/mcp", headers, &initialize()).0.status;
    assert_eq!(asked(&[("Host", "evil.example")]), 403);
    assert_eq!(asked(&[("Origin", "http://evil.example")]), 403);
    assert_eq!(asked(&[("Origin", "null")]), 403);
    assert_eq!(asked(&[]), 200);
    let open = site.command(&["--http", "0.0.0.0:0"]).output().unwrap();
    assert_eq!(open.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&open.stderr).contains("token"));
    let token = site.sandbox.put("token", "0123456789abcdef0123");
    let guarded = Served::start(&site, &["--token-file", &token]);
    let asked =
        |headers: &[(&str, &str)]| post(guarded.0.port, "/mcp", headers, &initialize()).0.status;
    assert_eq!(asked(&[]), 401);
    assert_eq!(asked(&[("Authorization", "Bearer 0123456789abcdef0124")]), 401);
    assert_eq!(asked(&[("Authorization", "Bearer 0123456789abcdef0123")]), 200);
}
