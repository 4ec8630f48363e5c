//! One context and what it is for, at every door: command line, HTTP, gateway, filter.

use serde_json::{Value, json};
use toolroute::{Catalog, Engine};
use toolroute_serve::filter::filter;

use crate::gateway::client::text;
use crate::http::{Server, post, post_with};
use crate::stand_ins::{gateway, scripted};
use crate::support::{Sandbox, samples};

fn rust_project(sandbox: &Sandbox) -> String {
    std::fs::create_dir_all(sandbox.path("project/src")).unwrap();
    sandbox.write("project/Cargo.toml", "[package]\nname = \"sum\"\n");
    sandbox.write("project/src/lib.rs", "pub fn sum(a: u32, b: u32) -> u32 { a + b }\n");
    sandbox.arg("project")
}

#[test]
fn files_and_a_conversation_are_analyzed_and_select_in_one_step() {
    let sandbox = Sandbox::new();
    let project = rust_project(&sandbox);
    let turns = json!([{"role": "user", "text": "the weather in Paris"},
                       {"role": "assistant", "text": "It rains."}]);
    let said = sandbox.put("said.json", turns.to_string());
    let messages = sandbox.put(
        "messages.json",
        json!({"messages": [
        {"role": "user", "content": [{"type": "text", "text": "the weather in Paris"}]},
        {"role": "assistant", "content": "It rains."}]})
        .to_string(),
    );
    let samples = samples();
    let route = |prompt: &str, more: &[&str]| {
        let typed = ["route", prompt, "--tools", &samples, "--model", "static"];
        sandbox.json(&[&typed[..], more].concat())
    };
    let plain = route("fix the failing unit test", &[]);
    assert!(plain.get("analysis").is_none(), "{plain}");
    let with = route("fix the failing unit test", &["--files", &project]);
    let asked = ["analyze", "fix the failing unit test", "--files", &project];
    let analyzed = sandbox.json(&[&asked[..], &["--model", "static"]].concat());
    assert_eq!(with["analysis"]["features"], analyzed["features"], "{with}");
    assert!(with["analysis"]["features"]["languages"].to_string().contains("rust"), "{with}");
    let follow = route("and in London?", &["--conversation", &said]);
    assert!(follow["read_as"].as_str().unwrap().contains("Paris"), "{follow}");
    let again = route("and in London?", &["--conversation", &messages]);
    assert_eq!(again["read_as"], follow["read_as"]);
    let typed = ["route", "--tools", &samples, "--model", "static", "--conversation"];
    let table = |prompt: &str| {
        let output = sandbox.run(&[&typed[..], &[&said, prompt]].concat());
        String::from_utf8(output.stdout).unwrap()
    };
    let follow = table("and in London?");
    assert!(follow.contains("read as: the weather in Paris and in London?"), "{follow}");
    assert!(!follow.contains("nothing tells"), "{follow}");
}

#[test]
fn a_context_says_the_same_at_every_door_and_a_slip_in_it_is_told() {
    let sandbox = Sandbox::new();
    let (samples, project) = (samples(), rust_project(&sandbox));
    let context = json!({"analyze": true, "phase": "debugging",
        "files": [{"path": "src/lib.rs", "content": "pub fn sum(a: u32) -> u32 { a }"}],
        "conversation": [{"role": "user", "text": "look at src/lib.rs"}]});
    let prompt = "find out why the test of it fails";
    let server = Server::by_static(&sandbox, &["--tools", &samples, "--request-timeout", "120"]);
    let without = json!({"prompt": prompt, "context": {"files": context["files"]}});
    for (door, body) in [("/v1/select", &without), ("/v1/analyze", &without)] {
        assert_eq!(post(server.port, door, body).status, 200, "{door}");
    }
    let mut context = context;
    context.as_object_mut().unwrap().remove("phase");
    let file = &sandbox.put("context.json", context.to_string());
    let route = ["route", prompt, "--context", file, "--tools", &samples];
    let routed = sandbox.json(&[&route[..], &["--model", "static"]].concat());
    let body = json!({"prompt": prompt, "context": context});
    let selected = post(server.port, "/v1/select", &body).ok();
    assert_eq!(routed["analysis"]["features"], selected["analysis"]["features"]);
    assert_eq!(routed["read_as"], selected["read_as"]);
    let scores = |answer: &Value| -> Vec<(String, String)> {
        let tools = answer["tools"].as_array().unwrap().iter();
        tools.map(|tool| (tool["id"].to_string(), tool["score"].to_string())).collect()
    };
    assert_eq!(scores(&routed), scores(&selected));
    let analyzed = sandbox.json(&["analyze", prompt, "--context", file, "--model", "static"]);
    let told = post(server.port, "/v1/analyze", &body).ok();
    assert_eq!(analyzed["features"], told["features"]);
    // What it says of the kind of work counts under either name.
    let ask = |context: Value| {
        let body = json!({"prompt": prompt, "context": context, "explain": true});
        post(server.port, "/v1/select", &body).ok()["tools"].clone()
    };
    let within = ask(json!({"features": {"phase": "specification", "task_type": "testing"}}));
    assert_eq!(ask(json!({"phase": "specification", "task_type": "testing"})), within);
    // Two prompts are told, not chosen between.
    let two = json!({"prompt": prompt, "context": {"prompt": "something else"}});
    for door in ["/v1/select", "/v1/analyze"] {
        assert!(post(server.port, door, &two).text().contains("two prompts"), "{door}");
    }
    let long = json!({"prompt": "x ".repeat(600_000), "context": {}});
    assert!(post(server.port, "/v1/analyze", &long).text().contains("at most 1048576"));
    let ends = post(server.port, "/v1/select", &long).ok();
    assert_eq!(ends["left_out"][0]["kind"], "middle", "{ends}");
    // A member that does not exist is an error everywhere, and names those that do.
    let slip = &sandbox.put("slip.json", json!({"fils": []}).to_string());
    let body = json!({"prompt": prompt, "context": {"fils": []}});
    let mut said = vec![
        sandbox.fails(3, &["route", prompt, "--context", slip, "--tools", &samples]),
        sandbox.fails(3, &["analyze", prompt, "--context", slip, "--model", "static"]),
        post(server.port, "/v1/select", &body).text(),
        post(server.port, "/v1/analyze", &body).text(),
    ];
    let clock = json!([{"name": "get_time", "description": "The time of a city",
                        "inputSchema": {"type": "object"}}]);
    let servers = scripted(&[("clock", clock)]);
    let mut client = gateway(&servers, &[], 1);
    let asked = json!({"query": prompt, "context": {"fils": []}});
    said.push(text(&client.call("find_tools", asked)).to_owned());
    for said in said {
        assert!(said.contains("fils"), "{said}");
    }
    drop(project);
}

#[test]
fn a_guess_that_a_tool_only_reads_is_told_as_one_and_read_only_says_what_it_hides() {
    let tool = |name: &str, about: &str, hints: Value| {
        json!({"name": name, "description": about,
        "inputSchema": {"type": "object"}, "annotations": hints})
    };
    let servers = scripted(&[(
        "billing",
        json!([
            tool("get_invoice", "Gets an invoice of a customer", json!({})),
            tool("create_invoice", "Creates an invoice for a customer", json!({})),
            tool("list_customers", "Lists the customers", json!({"readOnlyHint": true})),
        ]),
    )]);
    let find = |client: &mut crate::gateway::client::Client, query: &str| -> Value {
        let found = client.call("find_tools", json!({"query": query}));
        serde_json::from_str(text(&found)).unwrap_or_else(|_| panic!("{found}"))
    };
    let mut open = gateway(&servers, &[], 3);
    let found = find(&mut open, "get the invoice of a customer");
    assert_eq!(found["tools"][0]["id"], "billing__get_invoice", "{found:#}");
    assert_eq!(found["tools"][0]["about"]["effects"], "seems to read only", "{found:#}");
    let mut command = servers.toolroute();
    command.args(["mcp", "--read-only", "--servers"]).arg(servers.path("servers.json"));
    let mut reading = crate::gateway::client::Client::start(command);
    reading.begin();
    let found = find(&mut reading, "create an invoice for the customer Dana");
    assert_ne!(found["fit"], "fits", "{found:#}");
    let note = found["note"].as_str().unwrap_or_else(|| panic!("{found:#}"));
    assert!(note.contains("`--read-only` hides") && note.contains("(2 of the tools)"), "{note}");
    let get = json!({"tool_name": "billing__get_invoice"});
    let refused = reading.call("call_tool", get);
    let said = text(&refused);
    assert!(said.contains("does not declare that it only reads"), "{said}");
    assert!(said.contains("hints = { read_only = true }"), "{said}");
}

#[test]
fn find_tools_says_what_an_agent_needs_to_choose_and_keeps_to_its_budget() {
    let tool = |name: &str, about: &str, schema: Value, hints: Value| json!({"name": name, "description": about, "inputSchema": schema, "annotations": hints});
    let sandbox = scripted(&[(
        "tracker",
        json!([
            tool(
                "list_issues",
                "Lists the issues of a repository, each with its id",
                json!({"type": "object", "required": ["repository"], "properties": {
                     "repository": {"type": "string", "examples": ["rust-lang/rust"]}}}),
                json!({"readOnlyHint": true})
            ),
            tool(
                "close_issue",
                "Closes an issue of a repository",
                json!({"type": "object", "required": ["issue_id"], "properties": {
                     "issue_id": {"type": "string", "description": "The id of the issue"},
                     "comment": {"type": "string"}}}),
                json!({"destructiveHint": true})
            ),
        ]),
    )]);
    let mut client = gateway(&sandbox, &[], 2);
    let find = |client: &mut crate::gateway::client::Client, more: Value| -> Value {
        let mut asked = json!({"query": "close the issue about the crash", "min_score": -1});
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        {
            let found = client.call("find_tools", asked);
            serde_json::from_str(text(&found)).unwrap_or_else(|_| panic!("{found}"))
        }
    };
    let found = find(&mut client, json!({}));
    let close = found["tools"].as_array().unwrap().iter();
    let close = close.clone().find(|tool| tool["id"] == "tracker__close_issue").unwrap();
    assert_eq!(close["about"]["effects"], "may destroy", "{close:#}");
    assert_eq!(close["about"]["required"], json!({"issue_id": "The id of the issue"}));
    assert!(close["about"]["ids"].to_string().contains("tracker__list_issues"), "{close:#}");
    client.call(
        "call_tool",
        json!({"tool_name": "tracker__list_issues",
                                    "arguments": {"repository": "a/b"}}),
    );
    let described = client.call("describe_tool", json!({"tool_name": "tracker__list_issues"}));
    let described: Value = serde_json::from_str(text(&described)).unwrap();
    let about = &described["about"];
    assert_eq!(about["required"], json!({"repository": "such as \"rust-lang/rust\""}));
    assert_eq!((&about["effects"], &about["latency"]), (&json!("reads only"), &json!("fast")));
    assert!(about["answer_tokens"].is_u64() && about["usual_ms"].is_u64(), "{about}");
    let small = find(&mut client, json!({"budget_tokens": 150}));
    assert!(small["tools"].as_array().unwrap().len() < 2, "{small:#}");
    assert!(small.to_string().len() < 4 * 150 + 200, "{small:#}");
    assert!(small.to_string().contains("budget"), "what was left out is told: {small:#}");
    let looking = find(&mut client, json!({"context": {"stage": "reading"}}));
    assert!(!looking["tools"].to_string().contains("close_issue"), "{looking:#}");
}

#[test]
fn the_name_of_a_small_model_keeps_its_answers_small() {
    let tools: Vec<Value> = (0..30)
        .map(|n| {
            json!({"type": "function", "function": {"name": format!("read_file_{n}"),
                   "description": format!("Reads the file number {n} from disk"),
                   "parameters": {"type": "object", "properties": {}}}})
        })
        .collect();
    let engine = Engine::builder(Catalog::default()).build().unwrap();
    let kept = |model: &str| {
        let body = json!({"model": model, "tools": tools,
                          "messages": [{"role": "user", "content": "read the file number 3"}]});
        filter(&engine, body.to_string().as_bytes(), 20).unwrap().report.kept
    };
    assert_eq!((kept("gpt-4"), kept("gemma:2b")), (20, 10));
    let sandbox = Sandbox::new();
    let server = Server::by_static(&sandbox, &["--tools", &samples()]);
    let select = |model: &str| {
        let body = json!({"prompt": "read a file", "limit": 12, "context": {"model": model}});
        post(server.port, "/v1/select", &body).ok()["tools"].as_array().unwrap().len()
    };
    assert!(select("gpt-4") > 10 && select("gemma:2b") == 10);
}

#[test]
fn what_happens_in_a_call_is_told_as_events() {
    let does = json!({"progress": [2, 0.3], "answer": "noon"});
    let clock = json!([{"name": "get_time", "description": "The time", "does": does,
                        "annotations": {"readOnlyHint": true}}]);
    let sandbox = scripted(&[("clock", clock)]);
    let servers = sandbox.arg("servers.json");
    let overlay = &sandbox.put(
        "overlay.toml",
        "[[overlay]]\nmatch = \"*\"\nrouting.call_hints.feedback_delay_ms = 50\n",
    );
    let server = Server::by_static(&sandbox, &["--servers", &servers, "--overlay", overlay]);
    let header = [("accept", "text/event-stream")];
    let body = json!({"tool": "clock__get_time"});
    let heard = post_with(server.port, "/v1/call", &header, &body);
    let heard = heard.text();
    let places =
        ["event: working", "event: progress", "event: report"].map(|event| heard.find(event));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{heard}");
    assert!(heard.contains("Reading with clock__get_time…"), "{heard}");
    assert!(heard.contains("\"text\":\"noon\""), "{heard}");
    let run = json!({"prompt": "the time"});
    let heard = post_with(server.port, "/v1/run", &header, &run);
    assert!(heard.text().contains("\"complete\":true"), "{}", heard.text());
}

#[test]
fn a_server_learns_from_its_log_by_itself_where_it_is_told_to() {
    let clock = json!([{"name": "get_time", "description": "Gives the current time of a city",
                        "does": {"answer": "noon"}, "annotations": {"readOnlyHint": true}},
                       {"name": "get_alarm", "description": "Gives the next alarm",
                        "does": {"answer": "none"}, "annotations": {"readOnlyHint": true}}]);
    let sandbox = scripted(&[("clock", clock)]);
    let [servers, log, usage] = ["servers.json", "log.db", "usage"].map(|name| sandbox.arg(name));
    let learning = ["--feedback", &log, "--usage", &usage, "--learn-every", "1s"];
    let server = Server::by_static(&sandbox, &[&["--servers", &servers], &learning[..]].concat());
    let prompt = "is my sister asleep over there";
    for _ in 0..3 {
        let body = json!({"prompt": prompt, "session": "a"});
        post(server.port, "/v1/select", &body).ok();
        let call = json!({"tool": "clock__get_time", "question": prompt, "session": "a"});
        post(server.port, "/v1/call", &call).ok();
    }
    let score = || {
        let found = post(server.port, "/v1/select", &json!({"prompt": prompt, "limit": 2})).ok();
        let tools = found["tools"].as_array().unwrap().clone();
        let clock = tools.iter().find(|tool| tool["id"] == "clock__get_time").cloned();
        clock.map_or(0.0, |tool| tool["score"].as_f64().unwrap())
    };
    let began = std::time::Instant::now();
    let before = score();
    while !std::path::Path::new(&usage).exists() || score() <= before {
        assert!(began.elapsed().as_secs() < 60, "nothing was learned: {}", server.log());
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    let without = ["serve", "--servers", &servers, "--learn-every", "1h"];
    let said = sandbox.fails(2, &without);
    assert!(said.contains("--usage") || said.contains("--feedback"), "{said}");
}
