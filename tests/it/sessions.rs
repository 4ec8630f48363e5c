//! One session from the prompt to its outcome: over MCP, HTTP and the command line.

use serde_json::{Value, json};

use crate::gateway::client::text;
use crate::http::{Server, post, post_with};
use crate::stand_ins::{gateway, journal, scripted};
use crate::support::{Sandbox, rows};

/// A mail server and a clock; nothing is said of how to find them but their descriptions.
fn office() -> Sandbox {
    let text = |name: &str| json!({"type": "object", "required": [name], "properties": {name: {"type": "string"}}});
    scripted(&[
        (
            "mail",
            json!([
                {"name": "send_email", "description": "Sends an email to a person",
                 "inputSchema": text("to"), "annotations": {"readOnlyHint": false},
                 "does": {"answer": "sent to {to}"}},
                {"name": "search_mail", "description": "Searches the mailbox for messages",
                 "inputSchema": text("words"), "annotations": {"readOnlyHint": true},
                 "does": {"answer": "3 messages about {words}"}},
            ]),
        ),
        (
            "clock",
            json!([
                {"name": "get_time", "description": "Gives the current time of a city",
                 "inputSchema": text("city"), "annotations": {"readOnlyHint": true},
                 "does": {"answer": "noon in {city}"}},
                {"name": "get_alarm", "description": "Gives the next alarm",
                 "annotations": {"readOnlyHint": true}, "does": {"error": "no alarm clock"}},
            ]),
        ),
    ])
}

fn calls(sandbox: &Sandbox, args: &[&str], made: &[(&str, Value)]) -> Vec<Value> {
    let mut client = gateway(sandbox, args, 4);
    let call = |(tool, arguments): &(&str, Value)| {
        client.call("call_tool", json!({"tool_name": tool, "arguments": arguments}))
    };
    made.iter().map(call).collect()
}

#[test]
fn the_fourth_identical_call_is_refused_and_says_what_came_of_the_others() {
    let sandbox = office();
    let same = ("clock__get_time", json!({"city": "Haifa"}));
    let answers = calls(&sandbox, &[], &vec![same; 12]);
    for (nth, answer) in answers.iter().enumerate() {
        assert_eq!(answer["isError"], nth >= 3, "{nth}: {answer}");
    }
    let said = text(&answers[3]);
    assert!(said.contains("made 3 times in this session and was answered each time"), "{said}");
    assert!(said.contains("change the arguments"), "{said}");
    assert_eq!(journal(&sandbox, "clock").len(), 3);
    // The same under its own id, and a failing one.
    let mut client = gateway(&sandbox, &["--same-call", "1"], 4);
    assert_eq!(client.call("clock__get_alarm", json!({}))["isError"], true);
    let refused = client.call("clock__get_alarm", json!({}));
    assert!(text(&refused).contains("made once in this session and has no answer"));
}

#[test]
fn cycles_of_two_and_three_tools_are_refused_and_honest_work_is_not() {
    let sandbox = office();
    let time = |city: &str| ("clock__get_time", json!({"city": city}));
    let search = ("mail__search_mail", json!({"words": "rent"}));
    let round = [time("Haifa"), search.clone()];
    let answers = calls(&sandbox, &["--same-call", "99"], &vec![round.to_vec(); 4].concat());
    let refused: Vec<bool> = answers.iter().map(|answer| answer["isError"] == true).collect();
    assert_eq!(refused, [false, false, false, false, false, false, true, true]);
    assert!(text(&answers[6]).contains("the last 2 calls came round 3 times"), "{}", answers[6]);
    let round = [time("Haifa"), search.clone(), time("Oslo")];
    let answers = calls(&sandbox, &["--same-call", "99"], &vec![round.to_vec(); 4].concat());
    assert!(answers[..9].iter().all(|answer| answer["isError"] == false));
    assert!(text(&answers[9]).contains("the last 3 calls came round 3 times"), "{}", answers[9]);
    // What may have changed is looked at again after each change.
    let send = |n: usize| ("mail__send_email", json!({"to": n.to_string()}));
    let work: Vec<_> = (0..6).flat_map(|n| [send(n), search.clone()]).collect();
    let answers = calls(&sandbox, &[], &work);
    assert!(answers.iter().all(|answer| answer["isError"] == false), "{answers:?}");
}

#[test]
fn a_call_that_waits_for_agreement_counts_only_once_it_is_made() {
    let tools = json!([{"name": "wipe", "description": "Deletes all files", "does": {"answer": "wiped"},
                        "annotations": {"destructiveHint": true}}]);
    let sandbox = scripted(&[("disk", tools)]);
    let mut client = gateway(&sandbox, &[], 1);
    let call = json!({"tool_name": "disk__wipe"});
    for _ in 0..4 {
        let asked = client.call("call_tool", call.clone());
        assert!(text(&asked).contains("\"confirm\": true"), "{asked}");
    }
    let agreed = client.call("call_tool", json!({"tool_name": "disk__wipe", "confirm": true}));
    assert_eq!(text(&agreed), "wiped", "{agreed}");
}

#[test]
fn the_gateway_learns_from_what_its_agents_choose() {
    let sandbox = office();
    let log = sandbox.arg("log.db");
    let prompts = [
        "what o'clock is it over there",
        "is it late already at my sister's place",
        "can I ring my brother now or is he asleep",
    ];
    let mut client = gateway(&sandbox, &["--feedback", &log], 4);
    for prompt in prompts {
        let query = json!({"query": prompt, "min_score": -1, "limit": 4});
        client.find_until(query, |found| !found["tools"].is_null());
        client.call(
            "call_tool",
            json!({"tool_name": "clock__get_time", "arguments": {"city": prompt}}),
        );
    }
    assert!(client.end());
    let out = sandbox.path("out.jsonl");
    sandbox.run(&["feedback", "export", "--feedback", &log, "--output", out.to_str().unwrap()]);
    let rows = rows(&std::fs::read(&out).unwrap());
    assert_eq!(rows.len(), 3);
    for row in &rows {
        assert_eq!(row["tool"], "clock__get_time");
        assert_eq!(row["prompt"], Value::Null, "its text is kept only where that is asked for");
        assert!(row["vector"]["values"].is_array() && row["session"].is_string(), "{row}");
        assert_eq!(row["session"], rows[0]["session"]);
        assert!(row["choice"]["rank"].is_u64() || row["choice"]["offered"].is_null(), "{row}");
    }
    let offered = rows.iter().filter(|row| row["choice"]["offered"].is_array()).count();
    assert!(offered > 0, "{rows:?}");
    let servers = sandbox.arg("servers.json");
    let usage = sandbox.arg("usage");
    let learn = ["learn", "--log", &log, "--servers", &servers, "--model", "static"];
    let learned = sandbox.json(&[&learn[..], &["--output", &usage]].concat());
    assert!(learned["tools_learned"].as_u64().unwrap() >= 1, "{learned}");
    assert!(learned["prompts_used"].as_u64().unwrap() >= 1, "{learned}");
}

#[test]
fn a_session_over_http_is_that_of_its_body_or_of_its_header() {
    let sandbox = office();
    let servers = sandbox.arg("servers.json");
    let server = Server::by_static(&sandbox, &["--servers", &servers]);
    let call = json!({"tool": "clock__get_time", "arguments": {"city": "Oslo"}, "session": "a"});
    let own = json!({"tool": "clock__get_time", "arguments": {"city": "Oslo"}});
    for _ in 0..3 {
        assert_eq!(post(server.port, "/v1/call", &call).ok()["outcome"], "answered");
    }
    let header = [("x-toolroute-session", "a")];
    let refused = post_with(server.port, "/v1/call", &header, &own).ok();
    assert_eq!(refused["outcome"], "failed", "{refused}");
    assert_eq!(refused["attempts"][0]["because"]["exceeded"]["limit"], "same_call", "{refused}");
    for _ in 0..5 {
        let answer = post(server.port, "/v1/call", &own).ok();
        assert_eq!(answer["outcome"], "answered", "each is a session of its own");
    }
    let bad = post(server.port, "/v1/call", &json!({"tool": "x", "session": " "}));
    assert_eq!(bad.status, 400);
    // A follow-up is read with what the session asked before.
    let ask = |prompt: &str| json!({"prompt": prompt, "session": "b"});
    post(server.port, "/v1/select", &ask("the current time in Haifa")).ok();
    let follow = post(server.port, "/v1/select", &ask("and the same for Oslo")).ok();
    assert_eq!(follow["tools"][0]["id"], "clock__get_time", "{follow}");
    assert!(follow["read_as"].as_str().unwrap().contains("Haifa"), "{follow}");
    // A request that is complete is not.
    for complete in ["search the messages that Dana wrote", "cancel my mail, I do not need it"] {
        let alone = post(server.port, "/v1/select", &ask(complete)).ok();
        assert!(alone["read_as"].is_null(), "{alone}");
    }
}

#[test]
fn a_session_of_the_command_line_goes_on_from_one_command_to_the_next() {
    let sandbox = office();
    let servers = sandbox.arg("servers.json");
    let run = |typed: &[&str]| {
        let more = ["--servers", &servers, "--json"];
        let output = sandbox.toolroute().args(typed).args(more).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        serde_json::from_slice::<Value>(&output.stdout).map_err(|_| said)
    };
    let call = ["call", "clock__get_time", "--args", "{\"city\": \"Oslo\"}", "--session", "mine"];
    for _ in 0..3 {
        assert_eq!(run(&call).unwrap()["outcome"], "answered");
    }
    assert_eq!(run(&call).unwrap()["outcome"], "failed");
    assert_eq!(run(&call[..4]).unwrap()["outcome"], "answered", "without a session");
    let route =
        |prompt: &str| run(&["route", "--model", "static", "--session", "mine", prompt]).unwrap();
    route("the current time in Haifa");
    assert!(route("and the same for Oslo")["read_as"].as_str().unwrap().contains("Haifa"));
    let bad = run(&["route", "--session", "../x", "hello"]).unwrap_err();
    assert!(bad.contains("expected --session with 1 to 64 letters"), "{bad}");
    let file = sandbox.path("state/toolroute/sessions/mine.json");
    assert!(std::fs::read_to_string(&file).unwrap().contains("clock__get_time"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o077, 0);
    }
}

#[test]
fn it_is_the_object_of_the_last_write() {
    let tool = |name: &str, about: &str, takes: &str, answer: &str| {
        let schema = json!({"type": "object", "required": [takes], "properties": {takes: {"type": "string"}}});
        let hints = json!({"readOnlyHint": false, "destructiveHint": false});
        json!({"name": name, "description": about, "inputSchema": schema, "annotations": hints,
               "does": {"answer": answer}})
    };
    let tools = json!([
        tool(
            "create_pick_list",
            "Creates a pick list from an order",
            "order_id",
            "{\"pick_list_id\": \"PL-502\"}"
        ),
        tool("confirm_pick", "Marks a pick list as picked", "pick_list_id", "confirmed"),
        tool("confirm_order", "Confirms an order of a customer", "order_id", "confirmed"),
    ]);
    let sandbox = scripted(&[("store", tools)]);
    let servers = sandbox.arg("servers.json");
    for prompt in ["create a pick list from order ORD-88125", "confirm it"] {
        let run = ["run", prompt, "--servers", &servers, "--session", "mine", "--model", "static"];
        let output = sandbox.toolroute().args(run).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let wanted = [
        r#"create_pick_list {"order_id": "ORD-88125"}"#,
        r#"confirm_pick {"pick_list_id": "PL-502"}"#,
    ];
    assert_eq!(journal(&sandbox, "store"), wanted);
}

#[test]
fn commands_of_a_session_that_run_at_once_are_counted_together() {
    let sandbox = office();
    let servers = sandbox.arg("servers.json");
    let call = |more: &[&str]| {
        let typed = ["call", "clock__get_time", "--args", "{\"city\": \"Rome\"}"];
        let mut command = sandbox.toolroute();
        command.args(typed).args(["--servers", &servers, "--json"]).args(more);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
        command.spawn().unwrap()
    };
    let started: Vec<_> = (0..6).map(|_| call(&["--session", "par"])).collect();
    let ended = started.into_iter().map(|child| child.wait_with_output().unwrap());
    let answered = ended.filter(|output| output.status.success()).count();
    assert_eq!((answered, journal(&sandbox, "clock").len()), (3, 3));
    let limited = ["--session", "few", "--same-call", "9", "--session-calls", "2"];
    let started: Vec<_> = (0..5).map(|_| call(&limited)).collect();
    started.into_iter().for_each(|child| drop(child.wait_with_output().unwrap()));
    assert_eq!(journal(&sandbox, "clock").len(), 5);
}

#[test]
fn a_call_that_is_killed_is_counted() {
    let sandbox = scripted(&[(
        "slow",
        json!([{"name": "write_job", "description": "Writes a job", "does": {"sleep": 30},
                "annotations": {"readOnlyHint": false, "destructiveHint": false}}]),
    )]);
    let servers = sandbox.arg("servers.json");
    let typed = ["call", "slow__write_job", "--session", "killed", "--servers", &servers];
    for sent in 1..=3 {
        let mut child = sandbox.toolroute().args(typed).spawn().unwrap();
        let started = std::time::Instant::now();
        while journal(&sandbox, "slow").len() < sent {
            assert!(started.elapsed().as_secs() < 60, "call {sent} is not in the journal");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let said = sandbox.fails(1, &typed);
    assert!(said.contains("made 3 times in this session and has no answer"), "{said}");
    assert_eq!(journal(&sandbox, "slow").len(), 3);
}
