//! `toolroute serve` without a catalog: what comes with a request is ranked, the rest says what it lacks.

use serde_json::{Value, json};

use crate::http::{Sent, Server, get, post};
use crate::support::{Sandbox, ids};

fn tools() -> Value {
    let tool = |name: &str, description: &str| {
        json!({"type": "function", "function": {"name": name, "description": description,
               "parameters": {"type": "object", "properties": {}}}})
    };
    json!([
        tool("read_file", "Reads a file from disk"),
        tool("send_email", "Sends an email to a person"),
        tool("get_weather", "The weather of a city"),
    ])
}

#[test]
fn without_a_catalog_it_ranks_what_comes_with_a_request() {
    let sandbox = Sandbox::new();
    let server = Server::by_static(&sandbox, &[]);
    let port = server.port;
    let ready = get(port, "/readyz").ok();
    assert_eq!(ready["checks"]["catalog"]["healthy"], true, "{ready}");
    let body = json!({"prompt": "the weather in Paris", "tools": tools(), "limit": 1});
    assert_eq!(ids(&post(port, "/v1/select", &body).ok()), ["get_weather"]);
    let many = json!({"prompts": ["send an email", "read a file"], "tools": tools(), "limit": 1});
    let many = post(port, "/v1/select", &many).ok();
    assert_eq!(ids(&many["results"][1]), ["read_file"], "{many}");
    let cut = json!({"messages": [{"role": "user", "content": "send an email"}], "tools": tools()});
    let cut = post(port, "/v1/tools/filter?limit=1", &cut).ok();
    assert_eq!(cut["tools"][0]["function"]["name"], "send_email");
    assert!(post(port, "/v1/embeddings", &json!({"input": "x"})).ok()["data"].is_array());
    let texts = json!({"query": "rain", "texts": ["a song", "rain today"]});
    assert_eq!(post(port, "/rerank", &texts).ok()[0]["index"], 1);
    assert_eq!(get(port, "/v1/tools").ok()["total"], 0);
    assert_eq!(server.log().matches("no catalog").count(), 1, "{}", server.log());
}

#[test]
fn what_needs_a_catalog_says_how_to_give_one() {
    let sandbox = Sandbox::new();
    let server = Server::by_static(&sandbox, &[]);
    let port = server.port;
    let prompt = json!({"prompt": "send an email"});
    let prompts = json!({"prompts": ["send an email"]});
    let arguments = json!({"tool": "send_email", "prompt": "send an email to Dana"});
    for lacking in [
        post(port, "/v1/select", &prompt),
        post(port, "/v1/select", &prompts),
        post(port, "/v1/arguments", &arguments),
        get(port, "/v1/tools/send_email"),
        get(port, "/v1/map"),
        Sent::new(port, "DELETE /v1/tools/send_email", &[], &[]).reply(),
    ] {
        assert_eq!(lacking.error(), (409, "not_configured".to_owned()));
        assert!(lacking.text().contains("--tools PATH"), "{}", lacking.text());
    }
    // A reload reads nothing again, and says nothing again.
    assert_eq!(post(port, "/v1/reload", &json!({})).ok()["tools"], 0);
    assert_eq!(server.log().matches("no catalog").count(), 1, "{}", server.log());
    // Tools that a client adds are a catalog.
    let tool = json!({"name": "send_email", "description": "Sends an email to a person"});
    assert_eq!(post(port, "/v1/tools", &tool).status, 201);
    assert_eq!(ids(&post(port, "/v1/select", &prompt).ok()), ["send_email"]);
    assert_eq!(get(port, "/v1/tools/send_email").ok()["name"], "send_email");
}

#[test]
fn what_belongs_to_a_catalog_asks_for_one_at_the_start() {
    let sandbox = Sandbox::new();
    let vectors = sandbox.arg("vectors.snapshot");
    let overlay = sandbox.put("overlay.toml", "");
    for option in [["--index", &vectors], ["--overlay", &overlay]] {
        let args = [&["serve", "--model", "static", "--addr", "127.0.0.1:0"][..], &option].concat();
        let said = sandbox.fails(2, &args);
        assert!(said.contains("no catalog is named"), "{said}");
    }
}
