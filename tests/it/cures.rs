//! Messages of the command line and the server that name a cure: the cure is one that works.

use std::net::TcpListener;

use serde_json::json;

use crate::http::{Server, get, post};
use crate::support::{CommandExt as _, Sandbox, entry, samples};

#[test]
fn a_wrong_argument_is_told_with_what_helps() {
    let sandbox = Sandbox::new();
    let tools = samples();
    let route = |more: &[&str]| {
        sandbox.fails(2, &[&["route", "what is 2+2", "--tools", &tools], more].concat())
    };
    let limit = route(&["--limit", "-1"]);
    assert!(limit.contains("a number from 0 up, `auto`") && !limit.contains("-- -1"), "{limit}");
    let complete = route(&["--complete"]);
    let hint = "'--complete' is on by default; '--no-complete' turns it off";
    assert!(complete.contains(hint) && !complete.contains("similar"), "{complete}");
    let (log, output) = (sandbox.path("none.db"), sandbox.path("usage"));
    let (log, output) = (log.to_str().unwrap(), output.to_str().unwrap());
    let learn = sandbox.fails(5, &["learn", "--tools", &tools, "--log", log, "--output", output]);
    assert!(learn.contains("`--log FILE`") && !learn.contains("--feedback "), "{learn}");
    let stats = sandbox.fails(5, &["feedback", "stats", "--feedback", log]);
    assert!(stats.contains("`--feedback FILE`"), "{stats}");
}

#[test]
fn patterns_that_match_nothing_are_told_and_those_that_match_are_left_out() {
    let sandbox = Sandbox::new();
    let tools = samples();
    let route = |more: &[&str]| {
        let args = ["route", "-s", "keyword", "current weather", "--tools", &tools];
        let output = sandbox.run(&[&args[..], more].concat());
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap())
    };
    let [table, notes] = route(&["--exclude", "meteo__*", "--exclude", "nope_*"]);
    assert!(!table.contains("meteo__") && !table.contains("excluded"), "{table}");
    let told = notes.contains("`nope_*` matches none of the 103 tools; ids look like `");
    assert!(told && !notes.contains("`meteo__*`"), "{notes}");
    let [table, notes] = route(&["--enable", "meteo"]);
    assert!(table.contains("no tool is left") && !table.contains("excluded"), "{table}");
    assert!(notes.contains("ids look like `meteo__"), "{notes}");
    let profiles = "[profiles]\nsky = [\"meteo__*\", \"sky__*\"]\n";
    let config = sandbox.put("toolroute.toml", profiles);
    let [_, notes] = route(&["--profile", "sky", "--config", &config, "--json"]);
    assert_eq!(notes.matches("matches none of").count(), 1, "{notes}");
    assert!(notes.contains("`sky__*` matches none"), "{notes}");
}

#[test]
fn a_server_says_what_a_parameter_must_be_and_how_to_listen_elsewhere() {
    let sandbox = Sandbox::new();
    let tools = samples();
    let server = Server::by_static(&sandbox, &["--tools", &tools]);
    let wanted = "expected a whole number from 0 up for the parameter `limit`, found \\\"abc\\\"";
    let filter = post(server.port, "/v1/tools/filter?limit=abc", &json!({}));
    let list = get(server.port, "/v1/tools?limit=abc");
    for reply in [filter, list] {
        assert_eq!(reply.error().0, 400);
        assert!(reply.text().contains(wanted), "{}", reply.text());
    }
    let twice = get(server.port, "/v1/tools?limit=1&limit=2");
    assert!(twice.text().contains("duplicate field `limit`"), "{}", twice.text());
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let serve = ["serve", "--tools", &tools, "--model", "static", "--addr", &address];
    let said = sandbox.fails(5, &serve);
    assert!(said.contains("name another port (--addr 127.0.0.1:0 takes a free one)"), "{said}");
}

#[test]
fn a_member_of_a_wrong_type_is_named_wherever_it_is_read() {
    let sandbox = Sandbox::new();
    let list = |text: &str| {
        let file = sandbox.write("servers.json", text);
        let output = sandbox.toolroute().args(["tools", "list", "--servers"]).arg(file).output();
        String::from_utf8(output.unwrap().stderr).unwrap()
    };
    for (entry, said) in [
        ("3", "server `a`: expected an object, found 3"),
        ("{\"command\": 3}", "server `a`: `command`: expected a text, found 3"),
        ("{\"command\": \"x\", \"args\": \"y\"}", "`args`: expected a list, found \"y\""),
        ("{\"command\": \"x\", \"env\": [1]}", "`env`: expected an object, found a list"),
        ("{\"command\": \"x\", \"timeout\": \"5s\"}", "`timeout`: expected a whole number from 0"),
        ("{\"command\": \"x\", \"disabled\": \"no\"}", "`disabled`: expected true or false"),
        ("{\"command\": \"x\", \"callHints\": {\"x\": 1}}", "`callHints`: unknown field `x`"),
        ("{\"command\": \"/no\", \"excludeTool\": []}", "did you mean `excludeTools`?"),
    ] {
        let told = list(&format!("{{\"mcpServers\": {{\"a\": {entry}}}}}"));
        assert!(told.contains(said), "{told}");
    }
    for (text, said) in [
        ("[]", "found a list;"),
        ("{\"mcpservers\": {}}", "found an object with `mcpservers`;"),
        ("{\"mcpServers\": [1]}", "found one whose `mcpServers` is no object;"),
    ] {
        assert!(list(text).contains(said), "{}", list(text));
    }
    let tools = samples();
    let server = Server::start(&sandbox, &["serve", "--tools", &tools, "--strategy", "keyword"]);
    for (body, said) in [
        (json!({"prompt": 3}), "`prompt`: expected a text, found 3"),
        (json!({"prompts": "x"}), "`prompts`: expected a list, found \"x\""),
        (json!({"prompt": "x", "candidates": "a"}), "`candidates`: expected a list"),
        (json!({"prompt": "x", "context": {"files": "a"}}), "`files`: expected a list"),
        (json!({"prompt": "x", "session": 3}), "`session`: expected a text, found 3"),
    ] {
        let reply = post(server.port, "/v1/select", &body);
        let message = reply.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(reply.status == 400 && message.contains(said), "{message}");
    }
    for (context, said) in
        [("3", "found: expected an object, found 3"), ("{\"files\": 3}", "`files`: ")]
    {
        let file = sandbox.put("context.json", context);
        let route = ["route", "x", "--tools", &tools, "--context", &file];
        let told = sandbox.fails(3, &route);
        assert!(told.contains(said), "{told}");
    }
    let session = sandbox.path("state/toolroute/sessions/mine.json");
    std::fs::create_dir_all(session.parent().unwrap()).unwrap();
    std::fs::write(session, "{\"offers\": 3}").unwrap();
    let route = ["route", "x", "--tools", &tools, "--session", "mine"];
    let route = sandbox.toolroute().args(route).assert().code(3);
    let told = String::from_utf8(route.get_output().stderr.clone()).unwrap();
    assert!(told.contains("(expected a list, found 3"), "{told}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_import_that_finds_nothing_says_where_it_looked() {
    let sandbox = Sandbox::new();
    let import = |more: &[&str]| {
        let mut command = sandbox.toolroute();
        command.env("HOME", sandbox.path("home")).args(["import", "--project"]);
        command.arg(sandbox.path("project")).args(more);
        String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
    };
    let said = import(&[]);
    for place in ["home/.claude.json", "project/.cursor/mcp.json", "name another file with --file"]
    {
        assert!(said.contains(place), "{place}: {said}");
    }
    let report: serde_json::Value =
        serde_json::from_str(&import(&["--json", "--from", "cursor"])).unwrap();
    assert_eq!(report["looked_in"].as_array().map(Vec::len), Some(2), "{report}");
}

#[test]
fn doctor_gives_the_whole_command_that_approves_tools() {
    let sandbox = Sandbox::new();
    let file = sandbox.servers(&json!({"notes": entry("notes", &[sandbox.mark()])}));
    // All tools are held back.
    sandbox.fails(3, &["tools", "list", "--servers", &file, "--pin-mode", "strict"]);
    let doctor = ["doctor", "--servers", &file, "--model", "static"];
    let output = sandbox.toolroute().args(doctor).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    for command in ["`toolroute pins approve --server notes ", "`toolroute pins approve notes__"] {
        assert!(said.contains(command), "{command}: {said}");
    }
    sandbox.run(&["pins", "approve", "--server", "notes"]);
    let output = sandbox.toolroute().args(doctor).output().unwrap();
    assert!(!String::from_utf8(output.stdout).unwrap().contains("held back by pins"));
}
