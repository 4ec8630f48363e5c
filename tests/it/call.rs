//! `toolroute call`, `run`, `output` and `--servers`, with real servers.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::drill::{left_over, processes, python};
use crate::support::{CommandExt as _, Sandbox, entry, repo};

/// A sandbox with a servers file; no process of the sandbox outlives a test.
struct Site {
    sandbox: Sandbox,
    servers: String,
}

impl Site {
    fn new(servers: &Value) -> Self {
        let sandbox = Sandbox::new();
        let servers = sandbox.servers(servers);
        Self { sandbox, servers }
    }

    fn toolroute(&self, args: &[&str]) -> std::process::Command {
        let mut command = self.sandbox.toolroute();
        command.args(args).arg("--servers").arg(&self.servers);
        command
    }

    fn json(&self, args: &[&str]) -> Value {
        let output = self.toolroute(args).arg("--json").output().expect("a run");
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
    }

    fn mark(&self) -> &str {
        self.sandbox.mark()
    }
}

/// A site with the faulty server as `faulty`, and what else is given.
fn site(more: Value) -> Site {
    let mut servers = more;
    let site = Site::new(&json!({}));
    servers["faulty"] = entry("faulty", &[site.mark()]);
    servers["faulty"]["env"] = json!({"GIVEN": "${NOT_THERE:-given}"});
    site.sandbox.servers(&servers);
    site
}

#[test]
fn a_tool_of_a_server_is_called_with_its_arguments_put_right() {
    let site = site(json!({}));
    let ran = site.toolroute(&["call", "faulty:fine", "--args", r#"{"q": 7}"#]).assert().success();
    let (out, err) = (&ran.get_output().stdout, String::from_utf8_lossy(&ran.get_output().stderr));
    assert_eq!(String::from_utf8_lossy(out), "fine: 7\n");
    assert!(err.contains("`q` is called `query`") && err.contains("7 became \"7\""), "{err}");
    let listed = site.json(&["tools", "list"]);
    assert_eq!(listed.as_array().unwrap().len(), 19);
    assert_eq!(listed[0]["hints"]["read_only"], true);
    assert_eq!(left_over(site.mark()), [] as [&str; 0]);
}

#[test]
fn what_the_servers_file_does_not_offer_is_neither_listed_nor_found() {
    let tool = |name: &str| json!({"name": name, "description": name, "inputSchema": {}});
    let tools = [tool("add_number"), tool("delete_number"), tool("delete_all_numbers")];
    let sums = json!({"type": "process", "command": "sums", "tools": tools});
    let mut narrowed = sums.clone();
    narrowed["excludeTools"] = json!(["delete_*"]);
    let site = Site::new(&json!({"sums": narrowed}));
    let listed = site.json(&["tools", "list"]);
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    let found = site.json(&["route", "--model", "static", "delete a number"]);
    assert_eq!(crate::support::ids(&found), ["sums__add_number"]);
    assert_eq!(
        Site::new(&json!({"sums": sums})).json(&["tools", "list"])[1]["name"],
        "delete_number"
    );
}

#[test]
fn a_server_that_never_answers_does_not_hold_up_the_call_of_another() {
    let site = site(json!({"mute": {"command": "sleep", "args": ["1000"]}}));
    let ran = site.toolroute(&["call", "faulty:fine", "--args", r#"{"query": "x"}"#]).assert();
    let said = String::from_utf8_lossy(&ran.get_output().stderr).into_owned();
    assert_eq!(ran.success().get_output().stdout, b"fine: x\n");
    assert!(said.contains("`mute` did not list its tools: no answer after 5s"), "{said}");
}

#[test]
fn a_server_that_never_answers_costs_only_its_own_tools() {
    let site = site(json!({"mute": {"command": "sleep", "args": ["1000"]}}));
    let began = std::time::Instant::now();
    let ran = site.toolroute(&["tools", "list"]).assert();
    let said = String::from_utf8_lossy(&ran.get_output().stderr).into_owned();
    let listed = ran.success().get_output().stdout.clone();
    assert!(String::from_utf8(listed).unwrap().contains("faulty__fine"));
    assert!(said.contains("`mute` did not list its tools: no answer after 30s"), "{said}");
    assert!(said.contains("toolroute doctor") && said.contains("disabled"), "{said}");
    assert!(began.elapsed() < std::time::Duration::from_secs(90), "{:?}", began.elapsed());
    // The next command does not wait for it again.
    let began = std::time::Instant::now();
    let ran = site.toolroute(&["route", "--json", "--model", "static", "fine"]).assert().success();
    let said = String::from_utf8_lossy(&ran.get_output().stderr).into_owned();
    assert!(said.contains("is not asked again so soon: no answer after 30s; --refresh"), "{said}");
    let found: Value = serde_json::from_slice(&ran.get_output().stdout).unwrap();
    let silent = &found["unanswered_servers"][0];
    let told = (&silent["server"], &silent["because"], &silent["last_known_tools"]);
    assert_eq!(told, (&json!("mute"), &json!("no answer after 30s"), &json!(false)), "{found}");
    assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());
}

#[cfg(unix)]
#[test]
fn the_last_known_tools_of_a_server_that_hangs_are_used() {
    let site = Site::new(&json!({}));
    let (hangs, tools) = (site.sandbox.path("hangs"), site.sandbox.path("tools.json"));
    let script = site.sandbox.write("lists.sh", include_str!("../data/lists.sh"));
    let [hangs, tools, script] = [&hangs, &tools, &script].map(|path| path.display().to_string());
    let script = format!("test -e {hangs} && exec sleep 1000; exec /bin/sh {script} {tools}");
    std::fs::write(&tools, "{\"tools\": [{\"name\": \"add\", \"description\": \"Adds.\"}]}\n")
        .unwrap();
    let entry = json!({"sums": {"command": "/bin/sh", "args": ["-c", script]}});
    site.sandbox.servers(&entry);
    assert_eq!(site.json(&["tools", "list"])[0]["id"], "sums__add");
    std::fs::write(&hangs, "").unwrap();
    let kept = std::fs::read_dir(site.sandbox.path("cache/toolroute/servers")).unwrap();
    let mut kept = kept.map(|file| file.unwrap().path());
    let list = kept.find(|path| path.extension().is_some_and(|own| own == "jsonl")).unwrap();
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(7_200);
    std::fs::File::options().append(true).open(list).unwrap().set_modified(long_ago).unwrap();
    for (said, most) in [("no answer after 10s", 60), ("is not asked again so soon", 8)] {
        let began = std::time::Instant::now();
        let ran = site.toolroute(&["tools", "list", "--json"]).assert().success();
        let told = String::from_utf8_lossy(&ran.get_output().stderr).into_owned();
        assert!(told.contains(said) && told.contains("last known tools are used"), "{told}");
        let listed: Value = serde_json::from_slice(&ran.get_output().stdout).unwrap();
        assert_eq!(listed[0]["id"], "sums__add");
        assert!(began.elapsed() < Duration::from_secs(most), "{said}: {:?}", began.elapsed());
    }
    // Who asks explicitly is answered.
    std::fs::remove_file(&hangs).unwrap();
    let ran = site.toolroute(&["tools", "list", "--refresh"]).assert().success();
    assert!(!String::from_utf8_lossy(&ran.get_output().stderr).contains("sums"));
}

#[test]
fn only_tools_that_can_be_called_are_named_instead() {
    let tool = |server: Option<&str>, name: &str| json!({"server": server, "name": name, "description": "Adds or withdraws a book"});
    let rows = ["add_book", "withdraw_book"].map(|name| tool(Some("gone"), name));
    let call = |servers: &Value| {
        let site = Site::new(servers);
        let tools = site.sandbox.write("tools.json", json!(rows).to_string());
        let ran = site
            .toolroute(&["call", "gone:add_book", "--tools", tools.to_str().unwrap()])
            .assert()
            .code(1);
        String::from_utf8(ran.get_output().stderr.clone()).unwrap()
    };
    let shelf = |names: &[&str]| {
        let tools: Vec<Value> = names.iter().map(|name| tool(None, name)).collect();
        json!({"shelf": {"type": "process", "command": "unused", "tools": tools}})
    };
    let said = call(&shelf(&[]));
    assert!(said.contains("has no server here"), "{said}");
    assert!(!said.contains("withdraw_book") && !said.contains("Nearest"), "{said}");
    let said = call(&shelf(&["add_book"]));
    assert!(said.contains("Nearest: shelf__add_book;"), "{said}");
}

#[test]
fn tools_without_a_name_are_left_out_with_a_word() {
    let tools = json!([{"name": "add"}, {"description": "adds"}, "sub"]);
    let site = Site::new(&json!({"sums": {"type": "process", "command": "x", "tools": tools}}));
    let ran = site.toolroute(&["tools", "list"]).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(said.contains("`sums`: 2 of 3 tools are left out"), "{said}");
    assert!(said.contains("the first is number 2"), "{said}");
}

#[test]
fn what_is_wrong_with_an_entry_is_told_once() {
    let tools = [json!({"name": "add", "description": "adds", "inputSchema": {}})];
    let site = Site::new(&json!({
        "sums": {"type": "process", "command": "no-such-program-here", "tools": tools},
        "unset": {"command": "x", "args": ["${NOT_SET_ANYWHERE}"]},
    }));
    for _ in 0..2 {
        let called = site.toolroute(&["call", "sums:add"]).output().unwrap();
        let said = String::from_utf8(called.stderr).unwrap();
        assert_eq!(said.matches("NOT_SET_ANYWHERE").count(), 1, "{said}");
    }
}

#[test]
fn what_is_missing_is_asked_for_and_what_failed_is_told_in_plain_words() {
    let site = site(json!({}));
    let asked = site.json(&["call", "faulty__fine"]);
    assert_eq!(asked["outcome"], "clarify");
    assert_eq!(asked["clarification"]["missing"][0]["name"], "query");
    let failed = site.toolroute(&["call", "faulty__error", "--args", r#"{"query": "x"}"#]);
    let said = { failed }.assert().code(1).get_output().stderr.clone();
    let said = String::from_utf8(said).unwrap();
    let (message, own) = said.trim_end().split_once('\n').unwrap();
    assert!(message.starts_with("No answer: faulty__error could not do it."), "{said}");
    assert!(!message.contains("RAW-"), "{said}");
    // An agent repairs its call by the server's own words.
    assert_eq!(
        own, "faulty__error said: RAW-error: ECONNREFUSED at line 7, token=[secret]",
        "{said}"
    );
    let id = message.split("under ").nth(1).unwrap().trim().trim_end_matches('.');
    let log = std::fs::read_to_string(site.sandbox.path("state/toolroute/errors.jsonl")).unwrap();
    assert!(
        log.contains(id) && log.contains("RAW-error") && !log.contains("abcdef123456"),
        "{log}"
    );
}

#[test]
fn a_failed_call_is_told_by_its_cause_and_by_what_the_tool_may_have_done() {
    let site = site(json!({}));
    let said = |tool: &str| {
        let failed = site.toolroute(&["call", tool, "--args", r#"{"query": "x"}"#, "--yes"]);
        let said = { failed }.assert().code(1).get_output().stderr.clone();
        String::from_utf8(said).unwrap()
    };
    let crashed = said("faulty__crash");
    assert!(!crashed.contains("changed") && crashed.contains("Try again later"), "{crashed}");
    let odd = said("faulty__odd");
    assert!(odd.contains("answered with something that is no tool result"), "{odd}");
    assert!(said("faulty__write_crash").contains("See whether anything was changed"));
}

#[test]
fn a_number_that_cannot_be_passed_exactly_is_refused_with_the_cure() {
    let site = site(json!({}));
    let large = r#"{"query": 123456789012345678901234567890}"#;
    let refused = site.toolroute(&["call", "faulty__fine", "--args", large]).assert().code(2);
    let said = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    let wanted = "write it as a text; found 123456789012345678901234567890";
    assert!(said.contains(wanted), "{said}");
    let text = r#"{"query": "123456789012345678901234567890"}"#;
    let report = site.json(&["call", "faulty__fine", "--args", text]);
    assert_eq!(report["text"], "fine: 123456789012345678901234567890");
}

#[test]
fn another_tool_answers_where_the_first_does_not() {
    // A server of its own: the one that crashed takes a while to come back.
    let site = site(json!({"other": entry("faulty", &["other"])}));
    let args = r#"{"query": "x"}"#;
    let report = site.json(&["call", "faulty__crash", "--args", args, "--fallback", "other__fine"]);
    assert_eq!((&report["tool"], &report["text"]), (&json!("other__fine"), &json!("fine: x")));
    assert_eq!(report["attempts"][0]["ending"], "failed");
    let refused = site.json(&["call", "faulty__fine", "--args", args, "--deny", "faulty:*"]);
    assert_eq!(refused["attempts"][0]["because"]["skip"], "permission", "{refused}");
    let write = site.json(&["call", "faulty__write_fine", "--args", args, "--read-only"]);
    assert_eq!(write["outcome"], "failed", "{write}");
}

#[test]
fn a_denial_holds_by_id_name_or_server_and_one_that_forbids_nothing_is_told() {
    let site = site(json!({}));
    let call = ["call", "faulty__fine", "--args", r#"{"query": "x"}"#];
    for pattern in ["faulty__fine", "faulty:fine", "fine", "faulty", "*ine"] {
        let done = site.toolroute(&call).args(["--deny", pattern]).assert().code(1);
        let said = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
        assert!(said.contains("is not allowed") && !said.contains("matches none"), "{said}");
    }
    let done = site.toolroute(&call).args(["--deny", "fine", "--deny", "fime"]).assert().code(1);
    let said = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
    assert!(said.contains("`fime` of --allow or --deny matches none"), "{said}");
}

#[test]
fn a_parameter_that_is_missing_may_be_misspelt() {
    let site = site(json!({}));
    let report = site.json(&["call", "faulty__fine", "--args", r#"{"qurey": "x"}"#]);
    let message = report["message"].as_str().unwrap_or_default();
    assert!(message.contains("`qurey` is no parameter of fine; did you mean `query`?"), "{report}");
}

#[test]
fn a_question_that_nobody_could_be_asked_is_told() {
    let site = site(json!({}));
    let asking = entry("asking", &[site.sandbox.path("asked").to_str().unwrap()]);
    site.sandbox.servers(&json!({"asking": asking}));
    let report = site.json(&["call", "asking__order_pizza", "--args", "{}"]);
    let unasked = report["unasked"][0].as_str().unwrap_or_default();
    assert!(unasked.contains("`asking` asked the user") && unasked.contains("nobody"), "{report}");
}

#[test]
fn a_server_sees_only_what_its_entry_names() {
    let site = site(json!({}));
    let mut command = site.toolroute(&["call", "faulty__environment"]);
    let ran = command.env("MY_SECRET", "do-not-pass").assert().success();
    let seen: Value = serde_json::from_slice(&ran.get_output().stdout).unwrap();
    assert_eq!(seen["GIVEN"], "given");
    assert!(seen.get("MY_SECRET").is_none() && seen.get("TOOLROUTE_MODELS").is_none(), "{seen}");
}

#[test]
fn progress_is_told_and_a_timeout_ends_a_call() {
    let site = site(json!({}));
    let ran = site.toolroute(&["call", "faulty__progress"]).assert().success();
    let said = String::from_utf8_lossy(&ran.get_output().stderr).into_owned();
    assert!(said.contains("2 of 3 step 2"), "{said}");
    let slow =
        ["call", "faulty__slow", "--args", r#"{"query": "x"}"#, "--timeout", "1", "--no-fallback"];
    let report = site.json(&slow);
    assert_eq!(report["attempts"][0]["fault"], "timeout");
    assert!(report["took_ms"].as_f64().unwrap() < 4_000.0, "{report}");
}

#[test]
fn what_is_told_with_an_answer_is_told_before_it_and_an_unknown_part_costs_only_itself() {
    let site = site(json!({}));
    let ran = site.toolroute(&["call", "faulty__burst"]).assert().success();
    let said = String::from_utf8_lossy(&ran.get_output().stderr).into_owned();
    let steps: Vec<usize> =
        said.lines().filter_map(|line| line.trim().parse::<usize>().ok()).collect();
    assert_eq!(steps, (1..=40).collect::<Vec<_>>(), "{said}");
    let report = site.json(&["call", "faulty__new_part"]);
    assert_eq!(
        (&report["outcome"], &report["tool"]),
        (&json!("answered"), &json!("faulty__new_part"))
    );
    assert_eq!(report["text"], "known\n{\"type\":\"hologram\",\"of\":\"a cat\"}");
}

#[test]
fn ten_megabytes_are_cut_and_the_rest_can_be_had() {
    let site = site(json!({}));
    let report =
        site.json(&["call", "faulty__huge", "--args", r#"{"query": "x"}"#, "--max-chars", "1000"]);
    let text = report["text"].as_str().unwrap();
    assert!(text.chars().count() <= 1_000 && text.contains("goes on.\n[truncated"), "{text}");
    assert_eq!(report["truncation"]["of_chars"], 10_000_000);
    let handle = report["truncation"]["handle"].as_str().unwrap();
    let mut command = site.sandbox.toolroute();
    let rest = command
        .args(["output", handle, "--offset", "1000", "--chars", "25", "--json"])
        .output()
        .unwrap();
    let rest: Value = serde_json::from_slice(&rest.stdout).unwrap();
    assert_eq!(
        (&rest["text"], &rest["next_offset"]),
        (&json!("A sentence that goes on. "), &json!(1025))
    );
}

#[test]
fn a_server_that_does_not_start_costs_only_its_own_tools() {
    let site = site(json!({
        "dead": entry("faulty", &["dead", "--mode", "dies"]),
        "none": {"command": "/no/such/program"},
        "unset": {"command": "x", "env": {"A": "${NO_SUCH_VARIABLE}"}},
    }));
    let ran = site.toolroute(&["tools", "list", "--json"]).assert().success();
    let listed: Value = serde_json::from_slice(&ran.get_output().stdout).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 19);
    let said = String::from_utf8_lossy(&ran.get_output().stderr).into_owned();
    for expected in
        ["`dead` did not list", "module not found", "`none` did not list", "NO_SUCH_VARIABLE"]
    {
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

#[test]
fn no_process_is_left_however_toolroute_ends() {
    for signal in ["KILL", "TERM", "INT"] {
        let site = site(json!({}));
        let orphan = entry("faulty", &[site.mark(), "--mode", "orphan"]);
        site.sandbox.servers(&json!({ "orphan": orphan }));
        let mut child = std::process::Command::new(crate::support::PROGRAM)
            .args(["call", "orphan__slow", "--args", r#"{"query": "x"}"#, "--servers"])
            .arg(&site.servers)
            .env("XDG_CACHE_HOME", site.sandbox.path("cache"))
            .env("XDG_STATE_HOME", site.sandbox.path("state"))
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The server that lists its tools comes and goes first; the call's own stays.
        let listed = site.sandbox.path("cache/toolroute/servers");
        let ready = || listed.read_dir().is_ok_and(|mut files| files.next().is_some());
        let began = std::time::Instant::now();
        while !(ready() && processes(site.mark()).len() >= 2) {
            assert!(began.elapsed() < Duration::from_secs(300), "{:?}", processes(site.mark()));
            std::thread::sleep(Duration::from_millis(20));
        }
        let pid = child.id().to_string();
        let sent = std::process::Command::new("kill").args(["-s", signal, &pid]).status().unwrap();
        assert!(sent.success());
        child.wait().unwrap();
        let left = left_over(site.mark());
        assert_eq!(left, [] as [&str; 0], "after {signal}");
    }
}

/// The HTTP server of the tests, ended with the test.
struct Http {
    child: Child,
    port: u16,
}

impl Http {
    fn start() -> Self {
        let mut child = std::process::Command::new(python())
            .arg(repo("tests/servers/web.py"))
            .stdout(Stdio::piped())
            .spawn()
            .expect("a server");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, port: line.trim().parse().expect("a port") }
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn streamable_http_and_openapi_go_to_the_entrys_address_with_its_headers() {
    let http = Http::start();
    let base = format!("http://127.0.0.1:{}", http.port);
    let headers = json!({"X-Api-Key": "${TEST_KEY:-k3y-value}"});
    let site = Site::new(&json!({
        "web": {"type": "http", "url": format!("{base}/mcp"), "headers": headers},
        "pet-store": {"type": "openapi", "url": format!("{base}/api"), "headers": headers},
    }));
    let greeted = site.json(&["call", "web__greet", "--args", r#"{"name": "you"}"#]);
    assert_eq!(greeted["text"], "hello you with k3y-value");

    let text = json!({"type": "string"});
    let api = json!({"openapi": "3.0.0", "info": {"title": "Pet Store"}, "servers": [{"url": "https://elsewhere.example"}],
        "paths": {
            "/pets/{id}": {"post": {"operationId": "addNote", "parameters": [
                {"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}},
                {"name": "tags", "in": "query", "schema": {"type": "array", "items": text}},
                {"name": "X-Trace", "in": "header", "schema": text}],
                "requestBody": {"content": {"application/json": {"schema": {"type": "object", "properties": {"note": text}}}}}}},
            "/down": {"get": {"operationId": "down"}}}});
    let api = &site.sandbox.put("api.json", api.to_string());
    let args = r#"{"id": "5", "tags": "a", "X-Trace": "t", "note": "n"}"#;
    let report = site.json(&["call", "addNote", "--args", args, "--tools", api]);
    assert_eq!(
        report["data"],
        json!({"method": "POST", "path": "/api/pets/5", "query": {"tags": ["a"]}, "trace": "t",
            "key": "k3y-value", "body": {"note": "n"}}),
        "{report}"
    );
    let down = site.json(&["call", "down", "--tools", api]);
    assert_eq!(
        (&down["attempts"][0]["fault"], &down["attempts"][0]["tries"]),
        (&json!("busy"), &json!(3))
    );
}

/// A library's API that no test reaches, beside its description.
fn library() -> (Site, String) {
    let entry = json!({"type": "openapi", "url": "http://127.0.0.1:9/api"});
    let site = Site::new(&json!({"library": entry}));
    let text = json!({"type": "string"});
    let id = json!({"name": "bookId", "in": "path", "required": true, "schema": text});
    let api = json!({"openapi": "3.0.0", "info": {"title": "Library"}, "paths": {
        "/books/{bookId}": {"get": {"operationId": "getBook", "parameters": [id]}}}});
    let api = site.sandbox.put("api.json", api.to_string());
    (site, api)
}

#[test]
fn a_call_that_is_refused_here_says_why_and_what_to_give() {
    let (site, api) = library();
    for (id, why) in [
        ("..", "`{bookId}` in the path would become \"..\", which leads to another path"),
        ("", "`bookId` is a part of the path and is empty; give a value"),
    ] {
        let args = json!({"bookId": id}).to_string();
        let call = ["call", "getBook", "--args", &args, "--tools", &api];
        let failed = site.toolroute(&call).assert().code(1).get_output().stderr.clone();
        let said = String::from_utf8(failed).unwrap();
        let wanted = format!("library__getBook was not called, toolroute refused it: {why}");
        assert!(said.contains(&wanted), "{said}");
        let report = site.json(&call);
        assert_eq!(report["attempts"][0]["because"]["skip"], "refused", "{report}");
    }
}

#[test]
fn an_argument_without_a_place_in_the_request_is_asked_about() {
    let http = Http::start();
    let entry = json!({"type": "openapi", "url": format!("http://127.0.0.1:{}/api", http.port)});
    let site = Site::new(&json!({"library": entry}));
    let text = json!({"type": "string"});
    let book = json!({"type": "object", "required": ["title"], "properties": {"title": text, "author": text}});
    let api = json!({"openapi": "3.0.0", "info": {"title": "Library"}, "paths": {"/books": {"post": {
        "operationId": "addBook", "requestBody": {"content": {"application/json": {"schema": book}}}}}}});
    let api = site.sandbox.put("api.json", api.to_string());
    let call = |args: &str| site.json(&["call", "addBook", "--args", args, "--tools", &api]);
    let report = call(r#"{"title": "Emma", "colour": "red"}"#);
    let asked = "`colour` is no parameter of addBook; expected one of title, author";
    assert_eq!(report["clarification"]["unfit"], json!([asked]), "{report}");
    let report = call(r#"{"title": "Emma", "auther": "Austen"}"#);
    let asked = report["clarification"]["unfit"][0].as_str().unwrap();
    assert!(asked.contains("did you mean `author`?"), "{report}");
}

#[test]
fn a_local_program_answers_json_with_json() {
    // It logs more than is kept, and must not be killed for that.
    let code = "import json, sys; sys.stderr.write('log ' * 50000); asked = json.load(sys.stdin); a = asked['arguments']; \
                sys.exit('RAW-no') if a['n'] < 0 else print(json.dumps({'tool': asked['tool'], 'double': a['n'] * 2}))";
    let site = Site::new(
        &json!({"sums": {"type": "process", "command": python(), "args": ["-c", code], "tools": [
        {"name": "double", "description": "Doubles a number",
         "inputSchema": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}}]}}),
    );
    let report = site.json(&["call", "double", "--args", r#"{"n": "21"}"#]);
    assert_eq!(report["data"], json!({"tool": "double", "double": 42}));
    let failed = site.json(&["call", "double", "--args", r#"{"n": -1}"#]);
    assert_eq!(failed["attempts"][0]["ending"], "tool_error", "{failed}");
}

#[test]
fn run_ranks_and_calls_the_first() {
    let site = site(json!({}));
    let report = site.json(&["run", "`environment`", "--min-confidence", "0"]);
    assert_eq!(report["tool"], "faulty__environment", "{report}");
}

#[test]
fn what_calls_come_to_is_logged_summed_up_and_learned_from() {
    let site = site(json!({"other": entry("faulty", &["other"])}));
    let path = |name: &str| site.sandbox.path(name).to_str().unwrap().to_owned();
    let (log, ledger) = (path("log.db"), path("none.sqlite"));
    let metrics = ["metrics", "--feedback", &log, "--ledger", &ledger];
    let said = site.sandbox.fails(5, &metrics);
    assert!(said.contains("log.db; check the path"), "{said}");
    let unnamed = |more: &[&str]| {
        let mut command = site.sandbox.toolroute();
        command.env("XDG_DATA_HOME", path("data")).arg("metrics").args(more);
        String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
    };
    assert!(unnamed(&[]).starts_with("no executions yet"));
    assert!(!site.sandbox.path("log.db").exists(), "to look at nothing makes nothing");
    let none: Value = serde_json::from_str(&unnamed(&["--json"])).unwrap();
    assert_eq!(none, json!({"calls": null, "conductor": null}));

    let args = r#"{"query": "x"}"#;
    let call = |tool: &str, more: &[&str]| {
        let typed = ["call", tool, "--args", args, "--feedback", &log];
        site.json(&[&typed[..], more].concat())
    };
    let first = call("faulty__error", &["--fallback", "other__fine"]);
    assert_eq!(first["tool"], "other__fine", "{first}");
    assert_eq!(first["attempts"][1]["estimate"]["learned"], false);
    call("faulty__huge", &["--max-chars", "1000"]);
    let again = call("other__fine", &[]);
    let estimate = &again["attempts"][0]["estimate"];
    assert_eq!((&estimate["learned"], &estimate["chars"]), (&json!(true), &json!(7)), "{again}");

    let found = &site.sandbox.json(&metrics)["calls"];
    assert_eq!(
        (&found["calls"], &found["failed"], &found["requests"]),
        (&json!(4), &json!(1), &json!(3))
    );
    assert_eq!((&found["first_failed"], &found["fallback_recovery"]), (&json!(1), &json!(1.0)));
    assert_eq!((&found["answers"], &found["truncated"]), (&json!(3), &json!(1)));
    assert_eq!(found["estimated"], 1, "{found}");
    let table = String::from_utf8(site.sandbox.run(&metrics).stdout).unwrap();
    assert!(table.contains("25.0 %") && table.contains("1 of 3"), "{table}");
}
