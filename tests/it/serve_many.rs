//! `POST /v1/select` with many prompts and with tools of its own, and the two names of a prompt.

use serde_json::{Value, json};

use crate::http::{Server, get, post, post_text, post_with};
use crate::support::{Sandbox, ids, samples};

fn serve(sandbox: &Sandbox) -> Server {
    Server::by_static(sandbox, &["--tools", &samples()])
}

const PROMPTS: [&str; 3] =
    ["send an email to Dana", "weather forecast for Haifa", "commit the changes"];

#[test]
fn many_prompts_get_the_answers_of_each() {
    let sandbox = Sandbox::new();
    let server = serve(&sandbox);
    let port = server.port;
    let body = json!({"prompts": PROMPTS, "limit": 2, "min_score": 0.1});
    let many = post(port, "/v1/select", &body).ok();
    let one = |prompt: &str| {
        post(port, "/v1/select", &json!({"prompt": prompt, "limit": 2, "min_score": 0.1})).ok()
    };
    let singles: Vec<Value> = PROMPTS.into_iter().map(one).collect();
    assert_eq!(many, json!({ "results": singles }));
    let short = json!({"prompts": PROMPTS, "explain": false, "excluded": false, "timings": true});
    let short = post(port, "/v1/select", &short).ok();
    assert!(short["results"][2]["tools"][0].get("explanation").is_none(), "{short}");
    assert!(short["results"][2]["timings"]["total_ms"].is_number(), "{short}");
    let git = json!({"prompts": PROMPTS, "server": "git"});
    let git = post(port, "/v1/select", &git).ok();
    let mut all = git["results"].as_array().unwrap().iter().flat_map(ids);
    assert!(all.all(|id| id.starts_with("git__")), "{git}");
    // Only prompts that come one by one are shown as they happen.
    let recent = get(port, "/v1/recent").ok()["recent"].as_array().unwrap().len();
    assert_eq!(recent, PROMPTS.len());
}

#[test]
fn prompts_are_bounded_and_a_wrong_one_is_named() {
    let sandbox = Sandbox::new();
    let server = serve(&sandbox);
    let said = |body: Value| {
        let refused = post(server.port, "/v1/select", &body);
        assert_eq!(refused.error(), (400, "invalid_request".to_owned()), "{body}");
        refused.text()
    };
    assert!(said(json!({"prompts": ["x", " "]})).contains("prompts[1]"));
    assert!(said(json!({"prompts": vec!["x"; 1_001]})).contains("1000"));
    assert!(said(json!({"prompts": []})).contains("found 0; send at least one"));
    said(json!({"prompts": "x"}));
    said(json!({"limit": 1}));
    assert!(said(json!({"prompt": "x", "prompts": ["y"]})).contains("either"));
    assert!(said(json!({"prompts": ["x"], "session": "s"})).contains("session"));
    said(json!({"prompts": ["x", "y"], "context": {"prompt": "x"}}));
    for tools in [json!([]), json!([1]), json!({"tools": []}), json!("x"), json!([{"name": ""}])] {
        let said = said(json!({"prompt": "x", "tools": tools}));
        assert!(!said.contains("error: ") && !said.contains("file"), "{said}");
    }
    assert!(
        said(json!({"prompt": "x", "tools": [{"foo": 1}]}))
            .contains("the tools were not understood: expected")
    );
    let tool = json!({"name": "a", "description": "b"});
    assert!(said(json!({"prompt": "x", "tools": [tool], "server": "s"})).contains("candidates"));
    said(json!({"prompt": "x", "tools": [tool], "candidates": ["none"]}));
    let tools: Vec<Value> =
        (0..4_097).map(|n| json!({"name": format!("t{n}"), "description": ""})).collect();
    assert!(said(json!({"prompt": "x", "tools": tools})).contains("4096"));
}

#[test]
fn tools_of_a_request_are_ranked_as_if_they_were_the_catalog() {
    let sandbox = Sandbox::new();
    let server = serve(&sandbox);
    let formats = [
        json!([
            {"type": "function", "function": {"name": "water", "description": "Waters the orchids"}},
            {"type": "function", "name": "feed", "description": "Feeds the goldfish"},
        ]),
        json!([
            {"name": "water", "description": "Waters the orchids", "input_schema": {"type": "object"}},
            {"name": "feed", "description": "Feeds the goldfish", "input_schema": {"type": "object"}},
        ]),
        json!([
            {"server": "home", "name": "water", "description": "Waters the orchids"},
            {"server": "home", "name": "feed", "description": "Feeds the goldfish"},
        ]),
    ];
    for tools in formats {
        let file = &sandbox.put("tools.json", tools.to_string());
        let prompt = "water the orchids in the hall";
        let routed = sandbox.json(&["route", "--tools", file, "--model", "static", prompt]);
        for _ in 0..2 {
            let body = json!({"prompt": prompt, "tools": tools});
            assert_eq!(post(server.port, "/v1/select", &body).ok(), routed, "{tools}");
        }
        let body = json!({"prompts": [prompt], "tools": tools, "limit": 1});
        let many = post(server.port, "/v1/select", &body).ok();
        assert_eq!(ids(&many["results"][0]), ids(&routed)[..1]);
    }
    // Those of MCP have no server here; in a file its name is that of the server.
    let tools = json!([
        {"name": "water", "description": "Waters the orchids", "inputSchema": {"type": "object"}},
        {"name": "feed", "description": "Feeds the goldfish", "inputSchema": {"type": "object"}},
    ]);
    let body = json!({"prompt": "water the orchids", "tools": tools, "limit": 1});
    assert_eq!(ids(&post(server.port, "/v1/select", &body).ok()), ["water"]);
}

#[test]
fn a_prompt_has_two_names_and_one_text() {
    let sandbox = Sandbox::new();
    let server = serve(&sandbox);
    let port = server.port;
    let rerank = json!({"texts": ["a song", "rain today"]});
    let tool = json!({"tool": "mail__send_email"});
    for (path, body) in [
        ("/v1/select", json!({"limit": 1})),
        ("/v1/analyze", json!({})),
        ("/v1/arguments", tool),
        ("/v1/run", json!({"dry_run": true})),
        ("/rerank", rerank),
    ] {
        let with = |members: Value| {
            let mut body = body.clone();
            body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
            post(port, path, &body)
        };
        let prompt = with(json!({"prompt": "send rain"})).ok();
        assert_eq!(with(json!({"query": "send rain"})).ok(), prompt, "{path}");
        assert_eq!(with(json!({"query": "send rain", "prompt": "send rain"})).ok(), prompt);
        let two = with(json!({"query": "send rain", "prompt": "send snow"}));
        assert_eq!(two.error(), (400, "invalid_request".to_owned()));
        assert!(two.text().contains("both with different texts"), "{}", two.text());
        assert_eq!(with(json!({"query": "x", "prompt": 5})).error().0, 400);
    }
    assert!(get(port, "/v1/map?query=rain").ok()["prompt"]["x"].is_number());
    let document = get(port, "/openapi.json").ok();
    for (schema, names) in [("SelectBody", 3), ("RunBody", 2), ("RerankBody", 2)] {
        let schema = &document["components"]["schemas"][schema];
        assert_eq!(schema["anyOf"].as_array().unwrap().len(), names, "{schema}");
        assert!(
            schema["properties"]["query"].is_object() && schema["properties"]["prompt"].is_object()
        );
    }
    check_document(&document);
}

/// Checks what the document says of bodies, parameters, answers and tokens.
fn check_document(document: &Value) {
    let schemas = &document["components"]["schemas"];
    let execution = schemas["ExecutionDoc"]["properties"].as_object().unwrap();
    for member in ["at", "query", "prompt_hash", "cost", "context", "choice", "vector", "called"] {
        assert!(execution.contains_key(member), "{member}");
    }
    assert_eq!(schemas["ExecutionDoc"]["required"], json!(["tool", "success"]));
    assert_eq!(schemas["FeedbackBody"]["oneOf"].as_array().unwrap().len(), 2);
    assert_eq!(schemas["ToolBody"]["type"], json!(["object", "array"]));
    assert_eq!(schemas["ToolBody"]["items"]["type"], "object");
    assert_eq!(schemas["RerankBody"]["properties"]["top_n"]["minimum"], 0);
    assert_eq!(schemas["ArgumentsBody"]["properties"]["last_result"].get("type"), None);
    for body in ["CallBody", "RunBody"] {
        assert_eq!(schemas[body]["properties"]["confirm"]["type"], "boolean");
    }
    assert_eq!(document["paths"]["/v1/feedback"]["post"]["operationId"], "add_feedback");
    assert_eq!(schemas["TurnDoc"]["required"], json!(["role"]));
    for body in ["CallBody", "ArgumentsBody"] {
        let kinds = &schemas[body]["properties"]["arguments"]["type"];
        assert_eq!(kinds, &json!(["object", "string", "null"]));
    }
    for path in ["/v1/call", "/v1/run"] {
        let answers = &document["paths"][path]["post"]["responses"]["200"]["content"];
        assert!(answers.get("text/event-stream").is_some(), "{path}");
    }
    let parameters = |path: &str, method: &str| {
        let all = document["paths"][path][method]["parameters"].as_array().unwrap().clone();
        let all = all.iter().map(|one| format!("{} {}", one["in"].as_str().unwrap(), one["name"]));
        all.collect::<Vec<_>>().join(", ")
    };
    for path in ["/v1/select", "/v1/call", "/v1/run", "/v1/arguments", "/v1/feedback"] {
        assert!(parameters(path, "post").contains("header \"x-toolroute-session\""), "{path}");
    }
    assert!(parameters("/v1/tools/filter", "post").contains("header \"x-toolroute-limit\""));
    let page = parameters("/v1/outputs/{handle}", "get");
    assert!(page.contains("query \"offset\", query \"chars\""), "{page}");
    assert_eq!(document["security"], json!([{}, {"token": []}]));
}

#[test]
fn the_filter_ranks_for_a_prompt_beside_the_messages_and_says_the_scores() {
    let sandbox = Sandbox::new();
    let server = serve(&sandbox);
    let cut = |body: &str, limit: &str| {
        let path = format!("/v1/tools/filter?limit={limit}&report=body");
        post_text(server.port, &path, body.as_bytes())
    };
    let body = r#"{"messages":[{"role":"user","content":"play some music"}],
        "tools":[{"type":"web_search"},{"name":"mail","description":"Sends an email","input_schema":{}},
        {"name":"rain","description":"The weather of a city","input_schema":{}},
        {"name":"song","description":"Plays music","input_schema":{}}]MORE}"#;
    let kept = |more: &str| cut(&body.replace("MORE", more), "1").ok()["tools"][1]["name"].clone();
    assert_eq!(kept(""), "song");
    assert_eq!(kept(r#","prompt":"send an email to Dana""#), "mail");
    assert_eq!(kept(r#","query":"the weather in Paris""#), "rain");
    assert_eq!(kept(r#","query":"the weather in Paris","prompt":"the weather in Paris""#), "rain");
    assert_eq!(kept(r#","prompt":{"id":"pmpt_1"}"#), "song", "a template of the provider");
    let two = cut(&body.replace("MORE", r#","prompt":"a","query":"b""#), "1");
    assert_eq!(two.error(), (400, "invalid_request".to_owned()));

    let report = cut(&body.replace("MORE", ""), "1").ok()["toolroute"].clone();
    let scores = report["scores"].as_array().unwrap();
    let named: Vec<_> = scores.iter().map(|one| (&one["name"], &one["kept"])).collect();
    let [no, yes] = [json!(false), json!(true)];
    assert_eq!(named, [(&json!("mail"), &no), (&json!("rain"), &no), (&json!("song"), &yes)]);
    let song = scores[2]["score"].as_f64().unwrap();
    assert!(song > scores[0]["score"].as_f64().unwrap_or(0.0), "{report}");
    let select = json!({"prompt": "play some music", "limit": 1, "tools": [
        {"name": "mail", "description": "Sends an email"},
        {"name": "rain", "description": "The weather of a city"},
        {"name": "song", "description": "Plays music"}]});
    let select = post(server.port, "/v1/select", &select).ok();
    assert_eq!(select["tools"][0]["score"], scores[2]["score"], "the same digits as a selection");
    let all = cut(&body.replace("MORE", ""), "3").ok()["toolroute"].clone();
    assert!(all.get("scores").is_none() && all["untouched"].is_string(), "{all}");
    let counts = post_with(
        server.port,
        "/v1/tools/filter?limit=1&report=headers",
        &[],
        &serde_json::from_str(&body.replace("MORE", "")).unwrap(),
    );
    assert_eq!(counts.header("x-toolroute-kept"), Some("2"));
}

#[test]
fn executions_that_are_said_to_be_taken_are_in_the_log() {
    let sandbox = Sandbox::new();
    let log = &sandbox.arg("log.db");
    let args = ["serve", "--tools", &samples(), "--strategy", "keyword", "--feedback", log];
    let mut server = Server::start(&sandbox, &args);
    // More than the queue holds.
    let row = json!({"tool": "git__commit", "success": true, "prompt": "commit my work"});
    let body = json!({"executions": vec![row; 25_000]});
    let told = post(server.port, "/v1/feedback", &body).ok();
    let (taken, dropped) = (told["taken"].as_u64().unwrap(), told["dropped"].as_u64().unwrap());
    assert!(taken >= 16_384 && taken + dropped == 25_000, "{told}");
    let counted = get(server.port, "/metrics").text();
    let runs = format!("toolroute_executions_total{{outcome=\"succeeded\"}} {taken}\n");
    assert!(counted.contains(&runs), "{taken} are not in\n{counted}");
    server.signal("TERM");
    assert!(server.ended(std::time::Duration::from_secs(60)).success());
    assert_eq!(sandbox.json(&["feedback", "stats", "--feedback", log])["executions"], taken);
}
