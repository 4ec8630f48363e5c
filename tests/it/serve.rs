//! `toolroute serve`, asked over real connections.

use std::time::{Duration, Instant};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};

use crate::http::{Reply, Sent, Server, get, post, post_text, until};
use crate::support::{Sandbox, entry, ids, samples};

/// A server over the sample catalog with the quick model.
fn serve(sandbox: &Sandbox, more: &[&str]) -> Server {
    Server::by_static(sandbox, &[&["--tools", &samples()], more].concat())
}

fn send(port: u16, head: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
    Sent::new(port, head, headers, body).reply()
}

#[test]
fn a_selection_is_what_route_says() {
    let sandbox = Sandbox::new();
    let server = serve(&sandbox, &[]);
    let prompt = "send an email to Dana about the weather";
    let answer = post(server.port, "/v1/select", &json!({"prompt": prompt, "limit": 3})).ok();
    let tools = samples();
    let routed =
        sandbox.json(&["route", "--tools", &tools, "--model", "static", "--limit", "3", prompt]);
    assert_eq!(answer, routed);
    let short =
        json!({"prompt": prompt, "limit": 2, "explain": false, "excluded": false, "timings": true});
    let short = post(server.port, "/v1/select", &short).ok();
    assert_eq!(ids(&short), ids(&answer)[..2]);
    assert_eq!(short["tools"][0]["score"], answer["tools"][0]["score"], "the same digits");
    assert!(short["tools"][0].get("explanation").is_none() && short.get("excluded").is_none());
    assert!(short["timings"]["total_ms"].as_f64().unwrap() > 0.0, "{short}");
    let strict = json!({"prompt": prompt, "policy": {"max_cost": "tiny"}, "strategy": "keyword"});
    let strict = post(server.port, "/v1/select", &strict).ok();
    assert!(strict["excluded"][0]["because"].as_str().unwrap().contains("cost"), "{strict}");
    let recent = get(server.port, "/v1/recent?limit=1").ok();
    assert_eq!(recent["recent"][0]["prompt"], prompt);
    assert_eq!(recent["recent"].as_array().unwrap().len(), 1);
    assert!(!server.log().contains("Dana"), "a prompt is in the log: {}", server.log());
}

#[test]
fn what_is_wrong_is_told_as_json() {
    let sandbox = Sandbox::new();
    let server = serve(&sandbox, &["--max-body", "2000"]);
    let port = server.port;
    let bad = |body: Value| post(port, "/v1/select", &body).error();
    let invalid = (400, "invalid_request".to_owned());
    assert_eq!(bad(json!({"prompt": "  "})), invalid);
    assert_eq!(bad(json!({"prompt": 5})), invalid);
    assert_eq!(bad(json!({"prompt": "x", "limt": 5})), invalid);
    assert_eq!(bad(json!({"prompt": "x", "strategy": "best"})), invalid);
    let slip = json!({"prompt": "x", "policy": {"max_cots": "low"}});
    assert_eq!(bad(slip), invalid, "a filter that is not understood is not left out in silence");
    assert_eq!(bad(json!({"prompt": "x", "candidates": ["none_such"]})), invalid);
    assert_eq!(bad(json!({"prompt": "x", "context": {"enabled_tools": ["[" ]}})), invalid);
    assert_eq!(bad(json!({"prompt": "x", "profile": "none"})).0, 404);
    assert_eq!(post_text(port, "/v1/select", b"{").error(), invalid);
    assert_eq!(bad(json!({"prompt": "x".repeat(3_000)})), (413, "too_large".to_owned()));
    let plain = [("content-type", "text/plain")];
    assert_eq!(send(port, "POST /v1/select", &plain, b"{}").error().0, 415);
    let packed = [("content-type", "application/json"), ("content-encoding", "gzip")];
    let packed = send(port, "POST /v1/select", &packed, b"\x1f\x8b");
    assert_eq!(packed.error(), (415, "encoded".to_owned()));
    assert_eq!(get(port, "/v1/none").error(), (404, "not_found".to_owned()));
    let unknown = get(port, "/v1/tools/qqqq").text();
    assert!(unknown.contains("GET /v1/tools") && !unknown.contains("find_tools"), "{unknown}");
    let wrong = get(port, "/v1/select");
    assert_eq!((wrong.error().0, wrong.header("allow")), (405, Some("POST")));
    assert_eq!(get(port, "/v1/recent?limit=few").error().0, 400);
    assert_eq!(post(port, "/v1/call", &json!({"tool": "x"})).error().0, 409);
    assert_eq!(post(port, "/v1/conduct", &json!({})).error().0, 409);
    let told = json!({"tool": "email__send_email", "success": true, "prompt": "x"});
    assert_eq!(post(port, "/v1/feedback", &told).error().0, 409);
}

#[test]
fn tools_come_change_and_go_and_are_kept_where_they_are_to_be_kept() {
    let sandbox = Sandbox::new();
    let kept = &sandbox.arg("changes.json");
    let ask = |port| {
        let body = json!({"prompt": "water the orchids in the greenhouse", "limit": 1});
        ids(&post(port, "/v1/select", &body).ok()).first().map(ToString::to_string)
    };
    let tool = json!({"name": "water_orchids", "description": "Waters the orchids of the greenhouse", "inputSchema": {"type": "object"}});
    {
        let server = serve(&sandbox, &["--persist", kept]);
        let port = server.port;
        let before = get(port, "/v1/tools?limit=2").ok();
        assert_eq!(before["tools"].as_array().unwrap().len(), 2);
        let added = post(port, "/v1/tools", &json!({"tools": [tool]}));
        assert_eq!((added.status, &added.json()["kept_in"]), (201, &json!("file")));
        assert_eq!(ask(port).as_deref(), Some("water_orchids"));
        assert_eq!(post(port, "/v1/tools", &tool).error().0, 409);
        assert_eq!(post(port, "/v1/tools", &json!({"name": ""})).error().0, 400);
        let changed =
            json!({"name": "water_orchids", "description": "Waters the orchids of the hall"});
        let json_type = [("content-type", "application/json")];
        let put =
            send(port, "PUT /v1/tools/water_orchids", &json_type, changed.to_string().as_bytes());
        assert_eq!(put.status, 200, "{}", put.text());
        let other = json!({"name": "water_roses", "description": "Waters the roses"}).to_string();
        let put = send(port, "PUT /v1/tools/water_orchids", &json_type, other.as_bytes());
        assert_eq!(put.error().0, 400);
        assert!(put.text().contains("`water_orchids`") && put.text().contains("`water_roses`"));
        let shown = get(port, "/v1/tools/water_orchids").ok();
        assert_eq!(shown["description"], "Waters the orchids of the hall");
        let gone = send(port, "DELETE /v1/tools/git__commit", &[], &[]);
        assert_eq!(gone.ok()["ids"], json!(["git__commit"]));
        let missing = get(port, "/v1/tools/water_orchid");
        assert!(missing.text().contains("did you mean water_orchids?"), "{}", missing.text());
        let gone = get(port, "/v1/tools/git__commit");
        assert!(gone.text().contains("`git__commit` here; GET"), "{}", gone.text());
        let total = get(port, "/v1/tools").ok()["total"].as_u64().unwrap();
        assert_eq!(Some(total), before["total"].as_u64());
        let missing = get(port, "/v1/tools?server=gitt");
        assert_eq!(missing.status, 404);
        assert!(missing.text().contains("git"), "{}", missing.text());
        let git = get(port, "/v1/tools?server=git").ok();
        assert!(git["tools"].as_array().unwrap().iter().all(|tool| tool["server"] == "git"));
    }
    let server = serve(&sandbox, &["--persist", kept]);
    let second = sandbox.fails(5, &["serve", "--tools", &samples(), "--persist", kept]);
    assert!(second.contains("another `toolroute serve` uses it"), "{second}");
    assert_eq!(ask(server.port).as_deref(), Some("water_orchids"));
    assert_eq!(get(server.port, "/v1/tools/git__commit").status, 404);
    let nowhere = sandbox.arg("none/changes.json");
    let refused = sandbox.fails(5, &["serve", "--tools", &samples(), "--persist", &nowhere]);
    assert!(refused.contains("expected --persist with a file in a folder"), "{refused}");
}

#[test]
fn a_reload_that_would_leave_no_tool_leaves_those_there_are() {
    let sandbox = Sandbox::new();
    let file = |text: &str| sandbox.write("tools.jsonl", text);
    let tools = file(r#"{"name": "water_orchids", "description": "Waters the orchids"}"#);
    let server = Server::by_static(&sandbox, &["--tools", tools.to_str().unwrap()]);
    for text in [r#"{"name": "", "description": "x"}"#, "[]"] {
        file(text);
        let refused = post(server.port, "/v1/reload", &json!({}));
        let said = refused.text();
        assert_eq!(refused.status, 422, "{said}");
        assert!(said.contains("expected at least one usable tool"), "{said}");
        assert_eq!(get(server.port, "/v1/tools").ok()["total"], 1);
    }
}

/// A servers file with the one server of `tests/servers` that has this name.
fn servers_of(sandbox: &Sandbox, name: &str) -> String {
    sandbox.servers(&json!({name: entry(name, &[sandbox.mark()])}))
}

#[test]
fn clients_may_only_remove_tools_of_a_server() {
    let sandbox = Sandbox::new();
    let servers = servers_of(&sandbox, "notes");
    let server = Server::by_static(&sandbox, &["--servers", &servers]);
    let port = server.port;
    assert_eq!(send(port, "DELETE /v1/tools/notes__count_notes", &[], &[]).status, 200);
    // What the server says of its tools is not for clients to change, nor under another id: permissions rest on it.
    let json_type = [("content-type", "application/json")];
    let hints = json!({"server": "notes", "name": "delete_note", "hints": {"read_only": true}});
    let put = "PUT /v1/tools/notes__delete_note";
    let refused = send(port, put, &json_type, hints.to_string().as_bytes());
    assert!(refused.text().contains("changed by an overlay"), "{}", refused.text());
    assert_eq!(refused.error(), (409, "servers_tool".to_owned()));
    let alias = json!({"id": "alias", "server": "notes", "name": "delete_note"});
    assert_eq!(post(port, "/v1/tools", &alias).error().0, 409);
    // The call starts the server, which then lists its tools.
    let called = post(port, "/v1/call", &json!({"tool": "notes__illustrate_note"})).ok();
    assert_eq!(called["outcome"], "answered", "{called}");
    let state = || get(port, "/v1/servers").ok()["servers"][0]["state"].clone();
    until("the server has listed its tools", || state() == "ready");
    assert_eq!(get(port, "/v1/tools/notes__count_notes").status, 404);
    assert_eq!(post(port, "/v1/call", &json!({"tool": "notes__count_notes"})).error().0, 404);
    assert_eq!(get(port, "/v1/tools?server=notes").ok()["total"], 6);
}

#[test]
fn other_apis_clients_get_answers_in_their_forms() {
    let sandbox = Sandbox::new();
    let server = serve(&sandbox, &[]);
    let port = server.port;
    let embedded = json!({"model": "text-embedding-3-small", "input": ["a cat", "a dog"]});
    let floats = post(port, "/v1/embeddings", &embedded).ok();
    let first = floats["data"][0]["embedding"].as_array().unwrap();
    assert_eq!((&floats["object"], &floats["data"][1]["index"]), (&json!("list"), &json!(1)));
    assert!(floats["usage"]["total_tokens"].as_u64().unwrap() >= 4, "{floats}");
    let one = json!({"input": "a cat", "encoding_format": "base64", "dimensions": first.len()});
    let one = post(port, "/v1/embeddings", &one).ok();
    let bytes = BASE64_STANDARD.decode(one["data"][0]["embedding"].as_str().unwrap()).unwrap();
    let numbers: Vec<f32> =
        bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    let wanted: Vec<f32> = first.iter().map(|n| n.as_f64().unwrap() as f32).collect();
    assert_eq!(numbers, wanted);
    for wrong in
        [json!([1, 2]), json!([[1, 2]]), json!([]), json!(""), json!(["a", ""]), json!(null)]
    {
        let reply = post(port, "/v1/embeddings", &json!({"input": wrong}));
        assert_eq!(reply.error().0, 400, "{wrong}");
    }
    assert_eq!(post(port, "/v1/embeddings", &json!({"input": "a", "dimensions": 7})).status, 400);
    let models = get(port, "/v1/models").ok();
    assert_eq!((&models["object"], &models["data"][0]["id"]), (&json!("list"), &floats["model"]));
    assert_eq!(models["data"].as_array().unwrap().len(), 1);

    let texts =
        json!({"query": "weather in paris", "texts": ["a song", "rain in Paris today", "a fish"]});
    let tei = post(port, "/rerank", &texts).ok();
    assert_eq!((&tei[0]["index"], tei[0].get("text")), (&json!(1), None));
    let with = json!({"query": "weather in paris", "texts": ["a song", "rain in Paris today"], "return_text": true, "raw_scores": true});
    assert_eq!(post(port, "/rerank", &with).ok()[0]["text"], "rain in Paris today");
    let cohere = json!({"model": "rerank-v3.5", "query": "weather in paris", "top_n": 1, "return_documents": true,
        "documents": [{"text": "a song"}, "rain in Paris today"]});
    let cohere = post(port, "/v1/rerank", &cohere).ok();
    assert_eq!(cohere["results"].as_array().unwrap().len(), 1);
    assert_eq!(cohere["results"][0]["document"]["text"], "rain in Paris today");
    assert_eq!(cohere["results"][0]["index"], 1);
    for wrong in [
        json!({"query": "x"}),
        json!({"query": "x", "texts": []}),
        json!({"query": " ", "texts": ["a"]}),
        json!({"query": "x", "texts": ["a"], "documents": ["b"]}),
        json!({"query": "x", "documents": [{"title": "b"}]}),
    ] {
        assert_eq!(post(port, "/rerank", &wrong).error().0, 400, "{wrong}");
    }
}

#[test]
fn the_tools_of_a_request_are_cut_and_no_other_byte() {
    let sandbox = Sandbox::new();
    let server = serve(&sandbox, &["--keep", "2"]);
    let tool = |name: &str, text: &str| {
        format!(
            r#"{{"type":"function", "function":{{"name":"{name}","description":"{text}","parameters":{{"type":"object","x":1.0e2}}}}}}"#
        )
    };
    let [weather, mail, music] = [
        tool("get_weather", "The weather of a city"),
        tool("send_email", "Sends an email"),
        tool("play_song", "Plays music"),
    ];
    let body = format!(
        "{{ \"n\":1.10,\"messages\":[{{\"role\":\"user\",\"content\":\"the weather in Paris\"}}], \"tools\" : [ {mail} ,\n {weather}, {music} ] }}\n"
    );
    let cut = |path: &str| post_text(server.port, path, body.as_bytes());
    let one = cut("/v1/tools/filter?limit=1&report=headers");
    let wanted = body.replace(&format!("{mail} ,\n "), "").replace(&format!(", {music}"), "");
    assert_eq!(one.text(), wanted);
    let counts = [one.header("x-toolroute-tools"), one.header("x-toolroute-kept")];
    assert_eq!(counts, [Some("3"), Some("1")]);
    let two = cut("/v1/tools/filter?report=body").ok();
    assert_eq!((&two["toolroute"]["kept"], &two["toolroute"]["tools"]), (&json!(2), &json!(3)));
    let json_type = [("content-type", "application/json"), ("x-toolroute-limit", "3")];
    let all = send(server.port, "POST /v1/tools/filter", &json_type, body.as_bytes());
    assert_eq!(all.text(), body);
    assert_eq!(all.header("x-toolroute-kept"), None);
    assert_eq!(post_text(server.port, "/v1/tools/filter", b"[]").error().0, 400);
    assert_eq!(cut("/v1/tools/filter?limit=0").error().0, 400);
}

#[test]
fn hosts_pages_and_tokens_are_looked_at_first() {
    let sandbox = Sandbox::new();
    let file = sandbox.put("token", "0123456789abcdef0123\n");
    let more = ["--token-file", &file, "--allowed-host", "tools.lan"];
    let server = serve(&sandbox, &more);
    let port = server.port;
    let bearer = ("authorization", "Bearer 0123456789abcdef0123");
    let head = "GET /v1/tools?limit=1";
    assert_eq!(send(port, head, &[bearer], &[]).status, 200);
    assert_eq!(send(port, head, &[bearer, ("host", "tools.lan:99")], &[]).status, 200);
    let own = format!("http://127.0.0.1:{port}");
    assert_eq!(send(port, head, &[bearer, ("origin", &own)], &[]).status, 200);
    let refused = send(port, head, &[bearer, ("host", "evil.example")], &[]);
    assert_eq!(refused.error(), (403, "forbidden_host".to_owned()));
    let refused = send(port, head, &[bearer, ("origin", "http://evil.example")], &[]);
    assert_eq!(refused.error(), (403, "forbidden_origin".to_owned()));
    let unknown = send(port, head, &[], &[]);
    assert_eq!((unknown.error().0, unknown.header("www-authenticate")), (401, Some("Bearer")));
    assert_eq!(
        send(port, head, &[("authorization", "Bearer 0123456789abcdef0124")], &[]).status,
        401
    );
    assert_eq!(get(port, "/healthz").ok()["status"], "ok");
    assert_eq!(get(port, "/metrics").status, 401);
    assert!(!server.log().contains("0123456789abcdef0123"));
    // No other page may read an answer.
    let answered = send(port, head, &[bearer], &[]);
    assert_eq!(answered.header("access-control-allow-origin"), None);
    assert_eq!(answered.header("x-content-type-options"), Some("nosniff"));
    let tools = samples();
    let open = ["serve", "--tools", &tools, "--model", "static", "--addr", "0.0.0.0:0"];
    let said = sandbox.fails(2, &open);
    assert!(said.contains("expected a token"), "{said}");
    let short = sandbox.put("short", "abc");
    let open = [&open[..], &["--token-file", &short]].concat();
    assert!(sandbox.fails(2, &open).contains("at least 16"));
}

#[test]
fn the_server_says_how_it_is() {
    let sandbox = Sandbox::new();
    let server = serve(&sandbox, &[]);
    let port = server.port;
    post(port, "/v1/select", &json!({"prompt": "send an email"})).ok();
    let ready = get(port, "/readyz").ok();
    assert_eq!(
        (&ready["healthy"], &ready["checks"]["model"]["healthy"]),
        (&json!(true), &json!(true))
    );
    let metrics = get(port, "/metrics").text();
    for line in [
        "toolroute_selections_total{outcome=\"answered\"} 1",
        "toolroute_http_requests_total{route=\"/v1/select\",status=\"200\"} 1",
        "toolroute_http_waiting 0",
    ] {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
    let map = get(port, "/v1/map?prompt=send%20an%20email").ok();
    let total = get(port, "/v1/tools").ok()["total"].as_u64().unwrap();
    assert_eq!(map["tools"].as_array().unwrap().len() as u64, total);
    assert!(map["prompt"]["x"].is_number() && map["tools"][0]["y"].is_number());
    assert_eq!(get(port, "/v1/map").ok()["tools"], map["tools"]);
    let servers = get(port, "/v1/servers").ok();
    let git = servers["servers"].as_array().unwrap().iter().find(|s| s["name"] == "git").unwrap();
    assert_eq!((&git["state"], &git["breaker"]), (&json!("listed"), &json!("closed")));
    let document = get(port, "/openapi.json").ok();
    for path in ["/v1/select", "/v1/tools/{id}", "/v1/embeddings", "/v1/rerank", "/v1/events"] {
        assert!(document["paths"].get(path).is_some(), "{path}");
    }
    let page = get(port, "/");
    assert!(
        page.text().contains("page.js")
            && page.header("content-type") == Some("text/html; charset=utf-8")
    );
    assert!(page.header("content-security-policy").unwrap().contains("default-src 'self'"));
    assert_eq!([get(port, "/page.css").status, get(port, "/page.js").status], [200, 200]);
    let empty = sandbox.write("none.json", "{\"tools\": []}");
    let empty = ["serve", "--tools", empty.to_str().unwrap(), "--strategy", "keyword"];
    let empty = Server::start(&sandbox, &empty);
    let unready = get(empty.port, "/readyz");
    assert_eq!((unready.status, &unready.json()["healthy"]), (503, &json!(false)));
    assert_eq!(get(empty.port, "/v1/map").error(), (409, "not_configured".to_owned()));
    assert_eq!(post(empty.port, "/v1/embeddings", &json!({"input": "x"})).error().0, 409);
}

#[test]
fn it_is_ready_where_vectors_cannot_be_kept() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("file", "");
    let server = serve(&sandbox, &["--index", file.join("v.idx").to_str().unwrap()]);
    post(server.port, "/v1/select", &json!({"prompt": "send an email"})).ok();
    assert_eq!(get(server.port, "/readyz").ok()["healthy"], true);
}

#[test]
fn what_happens_is_told_as_it_happens() {
    let sandbox = Sandbox::new();
    let mut server = serve(&sandbox, &["--drain", "600"]);
    let mut events = Sent::new(server.port, "GET /v1/events", &[], &[]);
    let head = events.head();
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    let mut next = || String::from_utf8(events.chunk().expect("an event")).unwrap();
    assert!(next().starts_with("event: hello"));
    post(server.port, "/v1/select", &json!({"prompt": "send an email to Dana"})).ok();
    let selection = next();
    assert!(selection.contains("event: selection") && selection.contains("Dana"), "{selection}");
    post(server.port, "/v1/tools", &json!({"name": "new_tool", "description": "new"})).ok();
    let catalog = next();
    assert!(catalog.contains("event: catalog") && catalog.contains("\"version\":1"), "{catalog}");
    // Listeners do not hold up the end.
    server.signal("TERM");
    assert!(server.ended(Duration::from_secs(60)).success());
    // What else happened may still be told; then there is an end.
    while events.chunk().is_some() {}
}

#[test]
fn the_catalog_is_read_again_while_requests_are_answered() {
    let sandbox = Sandbox::new();
    let row = |name: &str, text: &str| {
        format!("{{\"server\":\"s\",\"name\":\"{name}\",\"description\":\"{text}\"}}\n")
    };
    let file = sandbox.write("tools.jsonl", row("read", "Reads a file"));
    let tools = file.to_str().unwrap();
    let server = Server::by_static(&sandbox, &["--tools", tools, "--watch"]);
    let port = server.port;
    post(port, "/v1/tools", &json!({"name": "mine", "description": "A tool of mine"})).ok();
    let total = |port| get(port, "/v1/tools").ok()["total"].as_u64().unwrap();
    std::fs::write(&file, row("read", "Reads a file") + &row("mail", "Sends mail")).unwrap();
    let told = post_text(port, "/v1/reload", b"").ok();
    assert_eq!((&told["changed"], total(port)), (&json!(1), 3), "{told}");
    std::fs::write(&file, row("mail", "Sends mail")).unwrap();
    server.signal("HUP");
    until("SIGHUP", || total(port) == 2);
    std::fs::write(&file, row("mail", "Sends mail") + &row("song", "Plays a song") + &row("b", ""))
        .unwrap();
    until("the file is watched", || total(port) == 4);
    std::fs::write(&file, "no catalog at all").unwrap();
    let refused = post_text(port, "/v1/reload", b"");
    assert_eq!((refused.error().0, total(port)), (422, 4));
    // Another configuration makes another engine; what was changed by hand stays.
    std::fs::write(&file, row("mail", "Sends mail")).unwrap();
    let folder = sandbox.path("config/toolroute");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("toolroute.toml"), "limit = 1\n").unwrap();
    let told = post_text(port, "/v1/reload", b"").ok();
    assert_eq!((&told["changed"], &told["tools"]), (&Value::Null, &json!(2)), "{told}");
    let answer =
        post(port, "/v1/select", &json!({"prompt": "mail of mine", "strategy": "keyword"})).ok();
    assert_eq!(ids(&answer).len(), 1);
}

#[test]
fn a_file_that_breaks_takes_no_tools_away() {
    let sandbox = Sandbox::new();
    let folder = sandbox.path("catalog");
    std::fs::create_dir_all(&folder).unwrap();
    let put = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    let weather =
        "{\"tools\": [{\"name\": \"weather\", \"description\": \"The weather of a city\"}]}";
    let mail = "{\"name\": \"mail\", \"description\": \"Sends mail\"}\n";
    put("weather.json", weather);
    put("mail.jsonl", mail);
    put("notes.json", "{never a catalog");
    let tools = folder.to_str().unwrap();
    let server = Server::start(&sandbox, &["serve", "--tools", tools, "--strategy", "keyword"]);
    let port = server.port;
    let total = || get(port, "/v1/tools").ok()["total"].as_u64().unwrap();
    assert_eq!(total(), 2);
    put("weather.json", &weather[..30]);
    for _ in 0..2 {
        let refused = post_text(port, "/v1/reload", b"");
        assert_eq!((refused.error().0, total()), (422, 2), "{}", refused.text());
        assert!(refused.text().contains("weather.json"), "{}", refused.text());
    }
    // One line is not the file, and what was never understood holds nothing up.
    put("weather.json", weather);
    put("mail.jsonl", &format!("{mail}{{\"description\": \"no name\"}}\n{{broken\n"));
    let reloaded = post_text(port, "/v1/reload", b"").ok();
    assert_eq!((&reloaded["changed"], total()), (&json!(0), 2));
}

/// A request that takes a while: texts for the encoder.
fn slow_body() -> String {
    let texts: Vec<String> =
        (0..600).map(|n| format!("{n} {}", "some words that are not short ".repeat(12))).collect();
    json!({ "input": texts }).to_string()
}

#[test]
fn clients_that_ask_at_the_same_time_are_all_answered_by_one_worker() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &["serve", "--tools", &samples(), "--workers", "1"]);
    let json_type = [("content-type", "application/json")];
    let slow = json!({"input": vec!["some words ".repeat(30); 50]}).to_string();
    let slow = Sent::new(server.port, "POST /v1/embeddings", &json_type, slow.as_bytes());
    let select = json!({"prompt": "send an email"}).to_string();
    let send = |_| Sent::new(server.port, "POST /v1/select", &json_type, select.as_bytes());
    let sent: Vec<Sent> = (0..8).map(send).collect();
    assert_eq!(slow.reply().status, 200);
    assert!(sent.into_iter().all(|sent| sent.reply().status == 200));
}

#[test]
fn beyond_the_queue_requests_are_turned_away_and_those_taken_are_answered() {
    let sandbox = Sandbox::new();
    let tools = samples();
    // However slow the machine is, what is under way has time to end.
    let time = ["--request-timeout", "300", "--drain", "300"];
    let args =
        [&["serve", "--tools", &tools, "--workers", "1", "--queue", "0"][..], &time].concat();
    let mut server = Server::start(&sandbox, &args);
    let port = server.port;
    let json_type = [("content-type", "application/json")];
    let slow = Sent::new(port, "POST /v1/embeddings", &json_type, slow_body().as_bytes());
    let busy = || get(port, "/metrics").text().contains("toolroute_http_working 1");
    until("the slow one is at work", busy);
    let refused = post(port, "/v1/select", &json!({"prompt": "send an email"}));
    assert_eq!(refused.error(), (503, "overloaded".to_owned()));
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert!(server.log().contains("turned away"), "{}", server.log());
    // What watches the server is answered all the same.
    assert_eq!(get(port, "/healthz").status, 200);
    // An orderly end waits for what is under way.
    server.signal("TERM");
    let began = Instant::now();
    let answered = slow.reply().ok();
    assert_eq!(answered["data"].as_array().unwrap().len(), 600);
    assert!(server.ended(Duration::from_secs(60)).success(), "after {:?}", began.elapsed());
}

#[test]
fn tools_are_called_and_feedback_is_taken() {
    let sandbox = Sandbox::new();
    let servers = servers_of(&sandbox, "faulty");
    let log = sandbox.path("feedback.db");
    let flags = ["--servers", &servers, "--feedback", log.to_str().unwrap()];
    let mut server = Server::by_static(&sandbox, &flags);
    let port = server.port;
    let called =
        post(port, "/v1/call", &json!({"tool": "faulty:fine", "arguments": {"query": "x"}})).ok();
    assert_eq!((&called["outcome"], &called["text"]), (&json!("answered"), &json!("fine: x")));
    let text = json!({"tool": "faulty__fine", "arguments": "{\"query\": \"y\"}"});
    assert_eq!(post(port, "/v1/call", &text).ok()["text"], "fine: y");
    let missing = post(port, "/v1/call", &json!({"tool": "faulty__fine"})).ok();
    assert_eq!(missing["outcome"], "clarify");
    assert_eq!(post(port, "/v1/call", &json!({"tool": "faulty__fin"})).error().0, 404);
    let wrong = json!({"tool": "faulty__error", "arguments": {"query": "x"}});
    let wrong = post(port, "/v1/call", &wrong).ok();
    let own = "RAW-error: ECONNREFUSED at line 7, token=[secret]";
    assert_eq!(wrong["attempts"][0]["error_text"], own, "{wrong}");
    // The log is named, and the folder that only this machine has is not.
    let message = wrong["message"].as_str().unwrap();
    assert!(message.contains(" Details are in toolroute/errors.jsonl under e-"), "{message}");
    assert_eq!(
        post(port, "/v1/call", &json!({"tool": "faulty__fine", "arguments": [1]})).error().0,
        400
    );
    let told =
        json!({"tool": "faulty:fine", "success": true, "prompt": "say fine", "duration_ms": 12});
    let taken = post(port, "/v1/feedback", &told);
    assert_eq!((taken.status, &taken.json()["taken"]), (202, &json!(1)));
    let mut both = told.clone();
    both["query"] = json!("say fine");
    let many = json!({"executions": [told, both]});
    let taken = post(port, "/v1/feedback", &many).ok();
    assert_eq!(taken, json!({"taken": 2, "dropped": 0}));
    for wrong in [
        json!({"tool": "faulty:fine"}),
        json!([]),
        json!({"tool": "faulty:fine", "success": true, "prompt": "x", "choice": {"rank": 0}}),
        json!({"tool": "faulty:fine", "success": true, "prompt": "x", "at": 1_790_000_000}),
        json!({"tool": "faulty:fine", "success": true, "prompt": "x", "session": ""}),
        json!({"executions": [told], "session": "s"}),
        json!({"tool": "faulty:fine", "success": true, "prompt": "?"}),
        json!({"tool": "faulty:fine", "success": true, "prompt": "x", "query": "y"}),
    ] {
        assert_eq!(post(port, "/v1/feedback", &wrong).error().0, 400, "{wrong}");
    }
    let second = json!({"executions": [told, {"tool": "faulty:fine"}]});
    let second = post(port, "/v1/feedback", &second).text();
    assert!(second.contains("executions[1]: "), "{second}");
    let unknown = json!({"tool": "none", "success": true, "prompt": "x"});
    assert_eq!(post(port, "/v1/feedback", &unknown).error().0, 404);
    server.signal("TERM");
    assert!(server.ended(Duration::from_secs(60)).success());
    let stats = sandbox.json(&["feedback", "stats", "--feedback", log.to_str().unwrap()]);
    assert!(stats.to_string().contains("faulty__fine"), "{stats}");
    let left = crate::drill::left_over(sandbox.dir.path().to_str().unwrap());
    assert_eq!(left, [] as [&str; 0]);
}

#[cfg(unix)]
#[test]
fn what_never_ends_keeps_no_server_from_ending() {
    let sandbox = Sandbox::new();
    let folder = crate::conduct::examples(&sandbox);
    let conductor = |name: &str| format!("{folder}/{name}");
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i > 0) \
                   SELECT count(*) AS people FROM n";
    let runners =
        format!("[PeopleSQL]\nbuiltin = \"sql\"\nscript = \"people.sql\"\nquery = \"{endless}\"\n");
    std::fs::write(conductor("runners.toml"), runners).unwrap();
    let (tools, runners) = (conductor("tools.jsonl"), conductor("runners.toml"));
    let ledger = sandbox.arg("ledger.sqlite");
    let args = [
        &["serve", "--tools", &tools, "--strategy", "keyword", "--drain", "1", "--conduct"][..],
        &["--runners", &runners, "--ledger", &ledger],
    ];
    let mut server = Server::start(&sandbox, &args.concat());
    let request = std::fs::read(conductor("people.json")).unwrap();
    let json = [("content-type", "application/json")];
    let _asked = Sent::new(server.port, "POST /v1/conduct", &json, &request);
    let status = format!("/proc/{}/stat", server.child.id());
    let used = || {
        let stat = std::fs::read_to_string(&status).unwrap_or_default();
        let after_name = stat.rsplit(')').next().unwrap_or_default().to_owned();
        after_name.split(' ').nth(12).and_then(|ticks| ticks.parse::<u64>().ok()).unwrap_or(100)
    };
    // A tenth of a second of the processor: the query runs.
    let before = used();
    until("the query", || used() >= before + 10 || before == 100);
    server.signal("TERM");
    assert!(server.ended(Duration::from_secs(60)).success());
}
