//! Which tool answers where the one that was asked for does not: over MCP, HTTP and the command line.

use serde_json::{Value, json};

use crate::gateway::client::{Client, text};
use crate::http::{Server, post};
use crate::support::{Sandbox, entry};

/// A sandbox with a server for each name, whose tools do what is written.
pub fn scripted(servers: &[(&str, Value)]) -> Sandbox {
    let sandbox = Sandbox::new();
    let of_name = |(name, tools): &(&str, Value)| {
        let file = sandbox.write(&format!("{name}.json"), tools.to_string());
        let journal = sandbox.path(&format!("{name}.journal"));
        let [file, journal] = [&file, &journal].map(|path| path.to_str().unwrap());
        let args = [sandbox.mark(), file, "--journal", journal];
        ((*name).to_owned(), entry("scripted", &args))
    };
    sandbox.servers(&servers.iter().map(of_name).collect());
    sandbox
}

/// The calls that reached a server, a line each.
pub fn journal(sandbox: &Sandbox, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(sandbox.path(&format!("{name}.journal")));
    text.unwrap_or_default().lines().map(str::to_owned).collect()
}

/// A gateway over the sandbox's servers that has listed all of them.
pub fn gateway(sandbox: &Sandbox, args: &[&str], tools: usize) -> Client {
    let mut command = sandbox.toolroute();
    command.current_dir(sandbox.dir.path());
    command.args(["mcp", "--model", "static", "--servers"]).arg(sandbox.path("servers.json"));
    let mut client = Client::start({
        command.args(args);
        command
    });
    client.begin();
    let all = json!({"query": "anything at all", "limit": 50, "min_score": -1});
    client.find_until(all, |found| {
        let is_starting =
            found["note"].as_str().is_some_and(|note| note.contains("still starting"));
        !is_starting && (tools == 0 || !found["tools"].is_null())
    });
    client
}

/// Two databases of the same kind that hold other rows; the first crashes.
fn databases() -> Sandbox {
    let tool = |name: &str, does: Value| {
        json!([{
            "name": format!("query_{name}_db"),
            "description": format!("Runs a read-only SQL query on the {name} database"),
            "inputSchema": {"type": "object", "required": ["sql"],
                            "properties": {"sql": {"type": "string"}}},
            "annotations": {"readOnlyHint": true},
            "does": does,
        }])
    };
    scripted(&[
        ("prod", tool("production", json!({"crash": true}))),
        ("staging", tool("staging", json!({"answer": "staging's rows"}))),
    ])
}

const SQL: &str = r#"{"sql": "select 1"}"#;

#[test]
fn a_tool_that_nobody_asked_for_does_not_answer() {
    let sandbox = databases();
    let servers = sandbox.arg("servers.json");
    let mut client = gateway(&sandbox, &[], 2);
    let called =
        json!({"tool_name": "prod__query_production_db", "arguments": {"sql": "select 1"}});
    let by_meta = client.call("call_tool", called);
    let direct = client.call("prod__query_production_db", json!({"sql": "select 1"}));
    for result in [by_meta, direct] {
        assert_eq!(result["isError"], true, "{result}");
        let said = text(&result);
        assert!(said.contains("Nearest: staging__query_staging_db"), "{said}");
        assert!(said.contains("call one of them if that is what you want"), "{said}");
        assert!(result["_meta"].is_null(), "{result}");
    }
    let server = Server::by_static(&sandbox, &["--servers", &servers]);
    let body = json!({"tool": "prod__query_production_db", "arguments": {"sql": "select 1"}});
    let report = post(server.port, "/v1/call", &body).ok();
    assert_eq!(report["outcome"], "failed", "{report}");
    assert_eq!(report["nearest"], json!(["staging__query_staging_db"]));
    let typed = ["call", "prod__query_production_db", "--args", SQL, "--servers", &servers];
    let said = sandbox.fails(1, &typed);
    assert!(said.contains("Nearest: staging__query_staging_db"), "{said}");
    assert_eq!(journal(&sandbox, "staging"), [] as [&str; 0]);
}

#[test]
fn a_tool_answers_by_its_meaning_only_where_that_is_asked_for_and_says_so_first() {
    let sandbox = databases();
    let servers = sandbox.arg("servers.json");
    let mut client = gateway(&sandbox, &["--fallback-by-meaning"], 2);
    let called =
        json!({"tool_name": "prod__query_production_db", "arguments": {"sql": "select 1"}});
    let result = client.call("call_tool", called);
    assert_eq!(result["isError"], false, "{result}");
    let first = text(&result);
    assert!(first.starts_with("[prod__query_production_db gave no answer"), "{first}");
    assert!(first.contains("the answer of staging__query_staging_db"), "{first}");
    assert_eq!(result["_meta"]["answered_by"], "staging__query_staging_db");
    assert_eq!(result["content"][1]["text"], "staging's rows");
    let typed = ["call", "prod__query_production_db", "--args", SQL, "--fallback-by-meaning"];
    let report = sandbox.json(&[&typed[..], &["--servers", &servers]].concat());
    assert_eq!(report["tool"], "staging__query_staging_db");
    assert_eq!(report["attempts"][1]["origin"], "by_meaning");
}

/// The chain of the orchestration document: nothing says of its tools that they only read.
fn chain(first: Value, second: Value) -> Sandbox {
    let tool = |name: &str, does: Value| {
        json!([{
            "name": name, "description": format!("{name} of data"), "does": does,
            "inputSchema": {"type": "object", "required": ["query"],
                            "properties": {"query": {"type": "string"}}},
        }])
    };
    let sandbox = scripted(&[
        ("datagov", tool("datagov_query", first)),
        ("perplexity", tool("perplexity-search", second)),
        ("tavily", tool("tavily-search", json!({"answer": "tavily: {query}"}))),
    ]);
    sandbox.write(
        "overlay.toml",
        "[[overlay]]\nmatch = \"datagov__*\"\n[overlay.routing]\n\
         fallbacks = [\"perplexity__perplexity-search\", \"tavily__tavily-search\"]\n",
    );
    sandbox
}

#[test]
fn a_declared_chain_runs_to_its_end() {
    let down = json!({"error": "500 internal error"});
    for (first, second) in [(down.clone(), down.clone()), (json!({"crash": true}), down)] {
        let sandbox = chain(first, second);
        let overlay = sandbox.arg("overlay.toml");
        let mut client = gateway(&sandbox, &["--overlay", &overlay], 3);
        let arguments = json!({"query": "population of Haifa"});
        let called = json!({"tool_name": "datagov__datagov_query", "arguments": arguments});
        let result = client.call("call_tool", called);
        assert_eq!(result["isError"], false, "{result}");
        assert_eq!(result["content"][1]["text"], "tavily: population of Haifa");
        assert_eq!(result["_meta"]["answered_by"], "tavily__tavily-search");
    }
}

#[test]
fn a_chain_goes_on_after_a_write_only_where_a_fallback_is_declared_safe() {
    let tool = |name: &str, does: Value| json!([{"name": name, "description": format!("{name} by mail"), "does": does}]);
    let sandbox = scripted(&[
        ("first", tool("send_report", json!({"error": "500"}))),
        ("second", tool("send_copy", json!({"answer": "sent twice"}))),
        ("third", tool("log_report", json!({"answer": "logged"}))),
    ]);
    let servers = sandbox.arg("servers.json");
    let call = |fallbacks: &str| {
        let overlay = format!(
            "[[overlay]]\nmatch = \"first__*\"\n[overlay.routing]\nfallbacks = [{fallbacks}]\n"
        );
        let overlay = &sandbox.put("overlay.toml", overlay);
        let typed = ["--servers", &servers, "--overlay", overlay];
        let told = sandbox.run(&[&["tools", "validate"], &typed[..]].concat());
        let mut calling = sandbox.toolroute();
        let output = calling.args(["call", "first__send_report", "--json"]).args(typed).output();
        let report = serde_json::from_slice(&output.unwrap().stdout).expect("a report");
        let report: Value = report;
        (report, String::from_utf8(told.stdout).unwrap())
    };
    let (report, told) = call("\"second__send_copy\"");
    assert_eq!(report["outcome"], "failed", "{report}");
    assert!(told.contains("no fallback is tried") && told.contains("safe_after_write"), "{told}");
    let safe = "{ tool = \"third__log_report\", safe_after_write = true }";
    let (report, told) = call(&format!("\"second__send_copy\", {safe}"));
    assert_eq!(report["tool"], "third__log_report", "{report}");
    assert!(!told.contains("no fallback is tried"), "{told}");
    assert_eq!(journal(&sandbox, "second"), [] as [&str; 0]);
}

#[test]
fn nothing_that_writes_stands_in_for_a_tool_that_reads_unless_a_person_agrees() {
    let tool = |name: &str, reads: bool, does: Value| {
        json!([{"name": name, "description": format!("{name} of the oven"), "does": does,
                "annotations": {"readOnlyHint": reads}}])
    };
    let sandbox = scripted(&[
        ("first", tool("read_state", true, json!({"error": "500"}))),
        ("second", tool("reset_state", false, json!({"answer": "reset"}))),
    ]);
    sandbox.write(
        "overlay.toml",
        "[[overlay]]\nmatch = \"first__*\"\n[overlay.routing]\n\
         fallbacks = [\"second__reset_state\"]\n",
    );
    let [servers, overlay] = ["servers.json", "overlay.toml"]
        .map(|file| sandbox.path(file).to_str().unwrap().to_owned());
    let call = |more: &[&str]| {
        let typed = ["call", "first__read_state", "--json", "--servers", &servers];
        let mut calling = sandbox.toolroute();
        let output = calling.args(typed).args(["--overlay", &overlay]).args(more).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).expect("a report")
    };
    let report = call(&[]);
    assert_eq!(report["outcome"], "failed", "{report:#}");
    assert_eq!(report["attempts"][1]["because"]["skip"], "worse", "{report:#}");
    let message = report["message"].as_str().unwrap();
    assert!(message.contains("may change more than the requested tool"), "{message}");
    assert_eq!(journal(&sandbox, "second"), [] as [&str; 0]);
    assert_eq!(call(&["--yes"])["tool"], "second__reset_state");
    assert_eq!(journal(&sandbox, "second").len(), 1);
}

#[test]
fn who_has_to_give_an_id_is_told_where_it_comes_from() {
    let takes = |required: &[&str]| {
        let properties: serde_json::Map<String, Value> =
            required.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
        json!({"type": "object", "required": required, "properties": properties})
    };
    let sandbox = scripted(&[(
        "library",
        json!([
            {"name": "find_member", "description": "Finds a member of the library by name",
             "inputSchema": takes(&["name"]), "annotations": {"readOnlyHint": true}, "does": {"answer": "M-1"}},
            {"name": "send_notice", "description": "Sends a notice to a member",
             "inputSchema": takes(&["member_id", "text"]), "does": {"answer": "sent"}},
        ]),
    )]);
    let told = "`member_id` is needed; library__find_member gives it";
    let servers = sandbox.arg("servers.json");
    let common = ["--servers", &servers, "--model", "static"];
    let given = ["call", "library:send_notice", "--args", r#"{"text": "hi"}"#];
    let run = ["run", "send a notice saying: hi"];
    let plan = ["run", "--plan", "send a notice saying: hi"];
    for typed in [&given[..], &run, &plan] {
        let output = sandbox.toolroute().args(typed).args(common).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said).unwrap();
        assert!(said.contains(told), "{typed:?}: {said}");
        assert_eq!(output.status.code(), Some(2), "{typed:?}: {said}");
    }
    let mut client = gateway(&sandbox, &[], 2);
    let arguments = json!({"tool_name": "library__send_notice", "arguments": {"text": "hi"}});
    let asked = client.call("call_tool", arguments);
    assert!(text(&asked).contains(told), "{asked}");
}
