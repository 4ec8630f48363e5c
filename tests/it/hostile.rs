//! Servers that mean ill, behind the real program: what they send costs nobody else anything.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::drill::left_over;
use crate::http::{Server, answer, get, listen, post, post_text, server_row as state, until};
use crate::support::{Sandbox, entry};

/// A servers file with a hostile server in a mode, and one that behaves well.
fn servers(sandbox: &Sandbox, mode: &[&str]) -> String {
    let hostile = |mode: &[&str]| entry("hostile", &[&[sandbox.mark()], mode].concat());
    sandbox.servers(&json!({"hostile": hostile(mode), "honest": hostile(&["normal"])}))
}

fn serve(sandbox: &Sandbox, servers: &str, more: &[&str]) -> Server {
    let fixed = ["--servers", servers, "--longest-request", "60"];
    Server::by_static(sandbox, &[&fixed[..], more].concat())
}

fn greets(port: u16) -> bool {
    let called = post(port, "/v1/call", &json!({"tool": "honest__greet_person"})).ok();
    called["outcome"] == "answered" && called["text"] == "hello"
}

fn ends(mut server: Server, sandbox: &Sandbox) {
    server.signal("TERM");
    assert!(server.ended(Duration::from_secs(30)).success(), "{}", server.log());
    assert_eq!(left_over(sandbox.mark()), [] as [&str; 0]);
}

/// Bytes of memory that a process has now.
fn memory(server: &Server) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

#[test]
fn a_schema_that_unfolds_without_end_is_refused_and_holds_nobody_up() {
    let sandbox = Sandbox::new();
    let servers = servers(&sandbox, &["bomb"]);
    let server = serve(&sandbox, &servers, &[]);
    let port = server.port;
    until("both have listed", || {
        ["hostile", "honest"].iter().all(|name| state(port, name)["state"] == "ready")
    });
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let tool = format!("hostile__read_{keyword}");
        let called = post(port, "/v1/call", &json!({"tool": tool, "arguments": {"a": "x"}})).ok();
        assert_eq!(called["outcome"], "failed", "{called}");
        let said = called["message"].as_str().unwrap();
        assert!(said.contains("input schema of at most") && said.contains("parts"), "{said}");
        post(port, "/v1/arguments", &json!({"tool": tool, "prompt": "read the file \"x\""}));
    }
    let deep = (0..60).fold(json!({"a": "x"}), |inner, _| json!({ "next": inner }));
    let call = |arguments: &Value| {
        post(port, "/v1/call", &json!({"tool": "hostile__read_again", "arguments": arguments})).ok()
    };
    let refused = call(&deep);
    assert!(refused["message"].as_str().unwrap().contains("take more"), "{refused}");
    assert_eq!(call(&json!({"next": {"a": "x"}}))["outcome"], "answered", "a small one is checked");
    assert_eq!(call(&json!({"next": {"a": 5, "next": 1}}))["outcome"], "clarify");
    assert!(greets(port) && get(port, "/healthz").status == 200);
    // The next start reads the same schemas from what it kept, and says what is wrong.
    assert!(server.log().contains("at most 100000 parts"), "{}", server.log());
    ends(server, &sandbox);
}

#[test]
fn what_is_too_deep_to_be_read_again_is_left_out_and_told() {
    let sandbox = Sandbox::new();
    let servers = servers(&sandbox, &["deep", "110"]);
    let server = serve(&sandbox, &servers, &[]);
    let port = server.port;
    until("it has listed", || state(port, "hostile")["state"] == "ready");
    assert_eq!(get(port, "/v1/tools/hostile__deep").status, 404);
    assert!(server.log().contains("levels"), "{}", server.log());
    let body = |levels: usize| {
        let schema = format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
        format!(r#"{{"name": "deep{levels}", "description": "x", "inputSchema": {schema}}}"#)
    };
    for levels in [99, 100, 101, 120, 126, 127, 128, 129, 1_000, 100_000] {
        let put = post_text(port, "/v1/tools", body(levels).as_bytes());
        assert_eq!(put.status, if levels <= 100 { 201 } else { 400 }, "{levels}: {}", put.text());
        for path in ["/v1/tools", "/v1/tools/deep100", "/v1/map"] {
            let listed = get(port, path);
            assert!(listed.status < 500, "{levels} {path}: {}", listed.text());
        }
        let found = post(port, "/v1/select", &json!({"prompt": "deep x"}));
        assert_eq!(found.status, 200, "{levels}");
    }
    assert!(!server.log().contains("panicked"), "{}", server.log());
    ends(server, &sandbox);
}

#[test]
fn a_server_that_floods_is_dropped_and_its_state_says_so() {
    for mode in ["changes", "requests", "log"] {
        let sandbox = Sandbox::new();
        let begin = sandbox.path("begin");
        let servers = servers(&sandbox, &[mode, begin.to_str().unwrap()]);
        let server = serve(&sandbox, &servers, &[]);
        let port = server.port;
        until("both have listed", || {
            ["hostile", "honest"].iter().all(|name| state(port, name)["state"] == "ready")
        });
        let before = memory(&server);
        std::fs::write(&begin, "").unwrap();
        let because = || state(port, "hostile")["reason"].as_str().unwrap_or_default().to_owned();
        until("it is dropped", || {
            ["it sent", "it asked", "was dropped"].iter().any(|w| because().contains(w))
        });
        let called = post(port, "/v1/call", &json!({"tool": "hostile__greet_person"})).ok();
        assert_eq!(called["outcome"], "failed", "{called}");
        assert!(called["message"].as_str().unwrap().contains("was dropped"), "{called}");
        assert!(greets(port));
        let grown = memory(&server).saturating_sub(before);
        assert!(grown < 64 << 20, "{mode}: {grown} bytes more");
        ends(server, &sandbox);
    }
}

/// An API that is not ours: the paths that it is asked for.
fn upstream() -> (u16, Arc<Mutex<Vec<String>>>) {
    let paths: Arc<Mutex<Vec<String>>> = Arc::default();
    let asked = Arc::clone(&paths);
    let port = listen(move |arrived, stream| {
        asked.lock().unwrap().push(arrived.path().to_owned());
        answer(stream, "200 OK", "", "{\"a\": 12}");
    });
    (port, paths)
}

#[test]
fn no_argument_leads_out_of_an_apis_base() {
    let (port, paths) = upstream();
    let sandbox = Sandbox::new();
    let id = json!({"name": "id", "in": "path", "required": true, "schema": {"type": "string"}});
    let operation = |name: &str| json!({"get": {"operationId": name, "parameters": [id]}});
    let api = json!({"openapi": "3.1.0", "info": {"title": "notes", "version": "1"}, "paths": {
        "/notes/{id}": operation("get_note"), "/{id}/internal/secrets": operation("get_part")}});
    let api = sandbox.put("api.json", api.to_string());
    let entry = json!({"type": "openapi", "url": format!("http://127.0.0.1:{port}/base/v1/")});
    let servers = sandbox.servers(&json!({ "notes": entry }));
    let args = ["--tools", &api];
    let server = serve(&sandbox, &servers, &args);
    // Being asked for tools that it cannot list takes none of them away.
    until("it is asked", || state(server.port, "notes")["state"] == "ready");
    for tool in ["notes__get_note", "notes__get_part"] {
        let call = |id: &str| {
            post(server.port, "/v1/call", &json!({"tool": tool, "arguments": {"id": id}})).ok()
        };
        assert_eq!(call("fine")["outcome"], "answered", "{tool}");
        for id in ["..", ".\t.", "\t..", "\n..", "..\r", "\u{0}..", "\u{7f}..", "../..", "..\\.."] {
            assert_eq!(call(id)["outcome"], "failed", "{tool} {id:?}");
        }
        for id in ["%2e%2e", "..%2f.."] {
            assert_eq!(call(id)["outcome"], "answered", "{tool} {id:?}");
        }
    }
    let paths = paths.lock().unwrap();
    assert_eq!(paths.len(), 6, "{paths:?}");
    for path in &*paths {
        let depth = path.matches('/').count();
        let (note, part) =
            (path.starts_with("/base/v1/notes/"), path.ends_with("/internal/secrets"));
        assert!(path.starts_with("/base/v1/") && !path.contains("//"), "{path}");
        assert!((note && depth == 4) || (part && depth == 5), "{path}");
    }
}

#[test]
fn much_progress_is_no_flood() {
    let sandbox = Sandbox::new();
    let servers = servers(&sandbox, &["progress", "20000"]);
    let server = serve(&sandbox, &servers, &[]);
    let called = post(server.port, "/v1/call", &json!({"tool": "hostile__greet_person"})).ok();
    assert_eq!(called["outcome"], "answered", "{called}");
}

#[test]
fn an_answer_that_is_too_long_or_unreadable_and_an_error_are_told_at_once() {
    let call = |mode: &[&str]| {
        let sandbox = Sandbox::new();
        let servers = servers(&sandbox, mode);
        let mut command = sandbox.toolroute();
        // The timeout is longer than this test may take.
        command.args(["call", "hostile__greet_person", "--servers", &servers]);
        command.args(["--timeout", "120", "--longest-request", "120"]);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.success(), said)
    };
    for mode in ["big", "bigafter"] {
        let (is_well, said) = call(&[mode, "17"]);
        assert!(!is_well && said.contains("longer than what is read"), "{mode}: {said}");
    }
    for text in ["NaN", "1e400", r#"{"content":"#] {
        let (is_well, said) = call(&["raw", text]);
        assert!(!is_well && said.contains("no valid JSON"), "{text}: {said}");
    }
    // Half of a character that was cut costs itself alone.
    let (is_well, said) = call(&["raw", r#"{"content":[{"type":"text","text":"well \ud83d"}]}"#]);
    assert!(is_well && said.contains("well \u{fffd}"), "{said}");
    let (is_well, said) = call(&["error", "-32602"]);
    assert!(
        !is_well && said.contains("could not use the input") && !said.contains("anew"),
        "{said}"
    );
}

#[test]
fn a_list_without_tools_is_no_sound_server() {
    for list in [r#"{"tools": "nope"}"#, "{}"] {
        let sandbox = Sandbox::new();
        let servers = servers(&sandbox, &["list", list]);
        let mut doctor = sandbox.toolroute();
        doctor.args(["doctor", "--model", "static", "--wait", "30", "--servers", &servers]);
        let output = doctor.env("XDG_DATA_HOME", sandbox.path("data")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains("has no list `tools`") && said.contains("`honest` answers"),
            "{said}"
        );
    }
}

/// A server that kills whoever starts it is there at the earliest moment at which that can happen.
#[cfg(target_os = "linux")]
#[test]
fn a_kill_during_a_start_leaves_no_server() {
    let sandbox = Sandbox::new();
    let mark = sandbox.mark();
    let script = "kill -9 $PPID; sleep 600 & wait";
    let server = json!({"command": "/bin/sh", "args": ["-c", script, mark]});
    let servers = sandbox.servers(&json!({"a": server, "b": server, "c": server}));
    for _ in 0..10 {
        let status = std::process::Command::new(crate::support::PROGRAM)
            .args(["tools", "list", "--refresh", "--servers"])
            .arg(&servers)
            .env("XDG_CACHE_HOME", sandbox.path("cache"))
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .status()
            .unwrap();
        assert_eq!(status.code(), None, "it was killed");
    }
    assert_eq!(left_over(mark), [] as [&str; 0]);
}

#[test]
fn a_kept_file_whose_bytes_have_changed_is_told() {
    let sandbox = Sandbox::new();
    let run = |args: &[&str]| sandbox.toolroute().args(args).output().unwrap();
    let change = |path: &std::path::Path, from: &str, to: &str| {
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.contains(from), "{text}");
        std::fs::write(path, text.replace(from, to)).unwrap();
    };
    let tools = crate::support::samples();
    let route = ["route", "send an email to Dana", "--session", "mine", "--tools", &tools];
    let route = [&route[..], &["--model", "static"]].concat();
    assert!(run(&route).status.success() && run(&route).status.success());
    change(&sandbox.path("state/toolroute/sessions/mine.json"), "Dana", "Dona");
    let told = run(&route);
    let said = String::from_utf8_lossy(&told.stderr);
    assert!(!told.status.success() && said.contains("not those that were written"), "{said}");

    let servers = servers(&sandbox, &["normal"]);
    let list = ["tools", "list", "--servers", &servers, "--json"];
    let whole = run(&list);
    let lists = std::fs::read_dir(sandbox.path("cache/toolroute/servers")).unwrap().flatten();
    let list_of = |path: &std::path::PathBuf| path.extension().is_some_and(|end| end == "jsonl");
    let kept = lists.map(|file| file.path()).find(list_of).unwrap();
    change(&kept, "Says hello", "Says hallo");
    let again = run(&list);
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(said.contains("is damaged") && again.stdout == whole.stdout, "{said}");
    assert_eq!(String::from_utf8_lossy(&run(&list).stderr), "", "it was asked anew");
}
