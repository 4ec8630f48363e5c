//! What those who run a server see: who was refused, what failed, and why an answer has no tool.

use serde_json::{Value, json};

use crate::gateway::client::{Client, text};
use crate::http::{Sent, Server, get, post, post_text, post_with};
use crate::stand_ins::{gateway, scripted};
use crate::support::{CommandExt as _, Sandbox, rows, samples};

const TOKEN: &str = "0123456789abcdef0123";
const BEARER: (&str, &str) = ("authorization", "Bearer 0123456789abcdef0123");

fn send(port: u16, head: &str, headers: &[(&str, &str)]) -> crate::http::Reply {
    Sent::new(port, head, headers, &[]).reply()
}

/// The sum of a counter over the lines that hold all of these labels.
fn counted(metrics: &str, name: &str, labels: &[&str]) -> u64 {
    let lines = metrics.lines().filter(|line| line.starts_with(&format!("{name}_total{{")));
    let lines = lines.filter(|line| labels.iter().all(|label| line.contains(label)));
    lines.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
}

#[test]
fn who_is_refused_stands_in_log_and_metrics_and_is_told_the_cure() {
    let sandbox = Sandbox::new();
    let file = &sandbox.put("token", TOKEN);
    let tools = samples();
    let args = ["serve", "--tools", &tools, "--model", "static", "--token-file", file];
    let server = Server::start(&sandbox, &[&args[..], &["--log-format", "json"]].concat());
    let port = server.port;
    // What watches a server has no token.
    assert_eq!(get(port, "/readyz").ok()["healthy"], true);
    assert_eq!(get(port, "/metrics").status, 401);
    assert_eq!(get(port, "/v1/tools").status, 401);
    let of_docker = send(port, "GET /v1/tools", &[BEARER, ("host", "toolroute:8765")]);
    let said = of_docker.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(said.contains("`toolroute:8765`; start it with `--allowed-host toolroute`"), "{said}");
    let page = send(port, "GET /v1/tools", &[BEARER, ("origin", "http://evil.example")]);
    assert_eq!(page.status, 403);

    let metrics = send(port, "GET /metrics", &[BEARER]).text();
    let refused = |status: &str| {
        counted(&metrics, "toolroute_http_requests", &[&format!("status=\"{status}\"")])
    };
    assert_eq!((refused("401"), refused("403")), (2, 2), "{metrics}");
    // Every line of the log is JSON, where it listens among them.
    let log = server.log();
    let lines: Vec<Value> =
        log.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let listening = |line: &&Value| {
        let said = line["message"].as_str().unwrap_or_default();
        said == format!("listening on http://127.0.0.1:{port}")
    };
    assert_eq!(lines.iter().filter(listening).count(), 1, "{log}");
    let refusals: Vec<_> = lines
        .iter()
        .filter(|line| line["level"] == "WARN" && line["client"] == "127.0.0.1")
        .map(|line| (line["status"].as_u64().unwrap(), line["message"].as_str().unwrap()))
        .collect();
    let statuses: Vec<u64> = refusals.iter().map(|(status, _)| *status).collect();
    // One line a kind and ten seconds: whoever is refused cannot fill the disk.
    assert_eq!(statuses, [401, 403, 403], "{log}");
    assert!(refusals[1].1.contains("`toolroute:8765`"), "{log}");
    assert!(!log.contains(TOKEN));

    // The proxy's log and metrics have them too.
    let sandbox = Sandbox::new();
    let args = ["proxy", "--upstream", "http://127.0.0.1:9", "--model", "static", "--token-file"];
    let proxy = Server::start(&sandbox, &[&args[..], &[file]].concat());
    assert_eq!(get(proxy.port, "/v1/models").status, 401);
    let shown = ("x-toolroute-token", TOKEN);
    let metrics = send(proxy.port, "GET /toolroute/metrics", &[shown]).text();
    assert_eq!(counted(&metrics, "toolroute_http_requests", &["401"]), 1, "{metrics}");
    assert!(proxy.log().contains("a request is refused: expected the token"), "{}", proxy.log());
}

#[test]
fn a_reload_that_fails_stands_in_log_and_metrics() {
    let sandbox = Sandbox::new();
    let good = "{\"name\": \"send_mail\", \"description\": \"Sends a mail\"}\n";
    let tools = sandbox.write("tools.jsonl", good);
    let server = Server::by_static(&sandbox, &["--tools", tools.to_str().unwrap()]);
    assert_eq!(post_text(server.port, "/v1/reload", b"").status, 200);
    sandbox.write("tools.jsonl", "no tools at all");
    assert_eq!(post_text(server.port, "/v1/reload", b"").status, 422);
    let metrics = get(server.port, "/metrics").text();
    let reloads = |result: &str| counted(&metrics, "toolroute_reloads", &[result]);
    assert_eq!((reloads("done"), reloads("failed")), (1, 1), "{metrics}");
    let log = server.log();
    let line = log.lines().find(|line| line.contains("nothing was reloaded"));
    assert!(line.is_some_and(|line| line.contains("WARN")), "{log}");
}

/// Two tools that declare nothing.
const TOOLS: &str = "{\"name\": \"send_mail\", \"description\": \"Sends a mail\"}\n\
                     {\"name\": \"read_mail\", \"description\": \"Reads a mail\"}\n";

#[test]
fn an_answer_without_tools_says_why() {
    let sandbox = Sandbox::new();
    let (tools, empty) = (sandbox.write("tools.jsonl", TOOLS), sandbox.write("none.json", "[]"));
    let (tools, empty) = (tools.to_str().unwrap(), empty.to_str().unwrap());
    let strict = ["--max-cost", "tiny", "--undeclared", "exclude"];
    for (tools, more, prompt, code, no_tools, said) in [
        (empty, &[][..], "send a mail", 3, "empty_catalog", "the catalog is empty"),
        (tools, &strict[..], "send a mail", 0, "filtered", "leave all of them out"),
        (tools, &[][..], "why do cats purr", 0, "nothing_fits", "no tool fits"),
    ] {
        let route = |json: &[&str]| {
            let typed = ["route", "-s", "keyword", "--tools", tools, prompt];
            let mut command = sandbox.toolroute();
            let done = command.args(typed).args(more).args(json).assert().code(code);
            String::from_utf8(done.get_output().stdout.clone()).unwrap()
        };
        let shown = route(&[]);
        assert!(shown.contains(said), "{prompt}: {shown}");
        let answer: Value = serde_json::from_str(&route(&["--json"])).unwrap();
        assert_eq!(answer["no_tools"], no_tools, "{answer}");
    }

    let server = Server::by_static(&sandbox, &["--tools", tools, "-s", "keyword"]);
    let ask = |more: Value| {
        let mut body = json!({"query": "send a mail"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        post(server.port, "/v1/select", &body).ok()["no_tools"].clone()
    };
    assert_eq!(ask(json!({})), Value::Null);
    let policy = json!({"max_cost": "tiny", "undeclared": "exclude"});
    for filter in [
        json!({ "policy": policy }),
        json!({"candidates": []}),
        json!({"min_score": 1000.0}),
        json!({"context": {"excluded_tools": ["*"]}}),
    ] {
        assert_eq!(ask(filter.clone()), "filtered", "{filter}");
    }
    assert_eq!(ask(json!({"query": "why do cats purr"})), "nothing_fits");
    assert_eq!(ask(json!({"query": "why do cats purr", "policy": policy})), "nothing_fits");
}

#[test]
fn an_agent_is_told_an_empty_catalog_from_a_filter_that_leaves_nothing() {
    let note = |client: &mut Client, asked: Value| {
        let found = client.call("find_tools", asked);
        let found: Value = serde_json::from_str(text(&found)).unwrap();
        assert_eq!(found["tools"], json!([]), "{found}");
        found["note"].as_str().expect("a note").to_owned()
    };
    let sandbox = scripted(&[("none", json!([]))]);
    let mut nothing = gateway(&sandbox, &["-s", "keyword"], 0);
    let said = note(&mut nothing, json!({"query": "send a mail"}));
    assert!(said.contains("no tool here to choose from"), "{said}");
    let send =
        json!({"name": "send_mail", "description": "Sends a mail", "does": {"answer": "ok"}});
    let sandbox = scripted(&[("mail", json!([send]))]);
    let mut some = gateway(&sandbox, &["-s", "keyword"], 1);
    let said = note(&mut some, json!({"query": "send a mail", "min_score": 1000}));
    assert!(said.contains("the filters leave none of them"), "{said}");
    let said = note(&mut some, json!({"query": "why do cats purr"}));
    assert!(said.starts_with("No tool fits."), "{said}");
}

#[test]
fn a_report_without_a_session_is_one_of_its_senders() {
    let sandbox = Sandbox::new();
    let (tools, log) = (&sandbox.put("tools.jsonl", TOOLS), &sandbox.arg("feedback.db"));
    let flags = ["--tools", tools, "--feedback", log, "--keep-prompts"];
    let mut server = Server::by_static(&sandbox, &flags);
    let lie = |at: usize| json!({"tool": "send_mail", "success": true, "prompt": format!("read letter {at}")});
    // One that names a session; and those that name none, alone and in a list, under either name of
    // the prompt.
    post_with(server.port, "/v1/feedback", &[("x-toolroute-session", "trip")], &lie(0)).ok();
    post(server.port, "/v1/feedback", &lie(1)).ok();
    let lies: Vec<Value> = (2..60).map(lie).collect();
    post(server.port, "/v1/feedback", &json!({ "executions": lies })).ok();
    let other = json!({"tool": "send_mail", "success": true, "query": "read letter 60"});
    post(server.port, "/v1/feedback", &other).ok();
    server.signal("TERM");
    assert!(server.ended(std::time::Duration::from_secs(60)).success());
    let exported = sandbox.run(&["feedback", "export", "--feedback", log]).stdout;
    let rows = rows(&exported);
    let of = |session: &str| rows.iter().filter(|row| row["session"] == session).count();
    assert_eq!((of("trip"), of("client 127.0.0.1"), rows.len()), (1, 60, 61));
    // What is learned of them is bounded as that of one session: 20 prompts a tool and day, and the
    // one of the session that was named.
    let usage = sandbox.arg("usage");
    let args = ["learn", "--tools", tools, "--model", "static", "--log", log, "-o"];
    let learned = sandbox.json(&[&args[..], &[&usage]].concat());
    assert_eq!(learned["prompts_used"], 21, "{learned}");
}

#[test]
fn a_call_without_a_session_is_logged_as_one_of_its_senders() {
    let send =
        json!({"name": "send_mail", "description": "Sends a mail", "does": {"answer": "ok"}});
    let sandbox = scripted(&[("mail", json!([send]))]);
    let (servers, log) = (sandbox.arg("servers.json"), &sandbox.arg("feedback.db"));
    let mut server = Server::by_static(&sandbox, &["--servers", &servers, "--feedback", log]);
    let call =
        |agreed: &str| json!({"tool": "mail__send_mail", "question": "send a mail", agreed: true});
    // More often than one session may make one call: each is a session of its own.
    for agreed in ["confirmed", "confirm", "confirmed", "confirm", "confirmed"] {
        let call = call(agreed);
        assert_eq!(post(server.port, "/v1/call", &call).ok()["outcome"], "answered");
    }
    server.signal("TERM");
    assert!(server.ended(std::time::Duration::from_secs(60)).success());
    let exported = sandbox.run(&["feedback", "export", "--feedback", log]).stdout;
    let exported = String::from_utf8(exported).unwrap();
    assert_eq!(exported.matches("\"session\":\"client 127.0.0.1\"").count(), 5, "{exported}");
}
