//! `toolroute model pull` against a hub of ours on the loopback address.

use std::collections::HashMap;

use crate::http::{answer, listen};
use crate::support::Sandbox;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// Serves the files of a repository as the hub serves them; the address.
fn serve(files: HashMap<&'static str, &'static str>) -> String {
    let port = listen(move |asked, stream| {
        let (status, body) = if asked.path().starts_with("/api/models/me/tiny") {
            let names = files.keys().map(|name| format!("{{\"rfilename\":\"{name}\"}}"));
            let names = names.collect::<Vec<_>>().join(",");
            ("200 OK", format!("{{\"sha\":\"{COMMIT}\",\"siblings\":[{names}]}}"))
        } else {
            let name =
                asked.path().split("/resolve/main/").nth(1).unwrap_or("").replace("%2F", "/");
            match files.get(name.as_str()) {
                Some(body) => ("206 Partial Content", (*body).to_owned()),
                None => ("404 Not Found", String::new()),
            }
        };
        let total = body.len();
        let range =
            asked.header("range").and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
        let (from, to) = range.map_or((0, total), |(from, to)| {
            (from.parse().unwrap(), to.parse().map_or(total, |to: usize| (to + 1).min(total)))
        });
        let more = format!(
            "Content-Range: bytes {from}-{}/{total}\r\nETag: \"{total}-{}\"\r\nX-Repo-Commit: {COMMIT}\r\n",
            to.max(1) - 1,
            asked.path().len()
        );
        answer(stream, status, &more, &body[from.min(total)..to]);
    });
    format!("http://127.0.0.1:{port}")
}

fn files() -> HashMap<&'static str, &'static str> {
    HashMap::from([
        ("config.json", "{\"model_type\": \"bert\"}"),
        ("tokenizer.json", "{}"),
        ("modules.json", "[]"),
        ("1_Pooling/config.json", "{\"pooling_mode_mean_tokens\": true}"),
        ("model.safetensors", "weights"),
        ("README.md", "not fetched"),
    ])
}

#[test]
fn a_model_of_the_hub_is_pinned_by_what_came() {
    let sandbox = Sandbox::new();
    let hub = serve(files());
    let store = sandbox.path("store");
    let store_arg = store.to_str().unwrap();
    let args = ["model", "pull", "me/tiny", "--endpoint", &hub, "--models", store_arg];
    let pulled = sandbox.json(&args);
    assert_eq!((&pulled["name"], &pulled["state"]), (&"tiny".into(), &"installed".into()));
    let list = sandbox.json(&["model", "list", "--models", store_arg]);
    let tiny = list.as_array().unwrap().iter().find(|model| model["name"] == "tiny").unwrap();
    assert_eq!((&tiny["repo"], &tiny["revision"]), (&"me/tiny".into(), &COMMIT.into()));
    assert!(!store.join("tiny/README.md").exists());
    sandbox.json(&["model", "verify", "tiny", "--models", store_arg]);
    std::fs::write(store.join("tiny/model.safetensors"), "Weights").unwrap();
    let said = sandbox.fails(4, &["model", "verify", "tiny", "--models", store_arg]);
    assert!(said.contains("SHA-256"), "{said}");
}

#[test]
fn a_hub_that_lacks_a_file_or_does_not_answer_is_told_with_the_way_around() {
    let sandbox = Sandbox::new();
    let mut files = files();
    files.remove("tokenizer.json");
    let hub = serve(files);
    let store = &sandbox.arg("store");
    for endpoint in [hub.as_str(), "http://127.0.0.1:9"] {
        let args = ["model", "pull", "me/tiny", "--endpoint", endpoint, "--models", store];
        let said = sandbox.fails(4, &args);
        assert!(said.contains("me/tiny") && said.contains("--from DIR"), "{said}");
    }
    let said = sandbox.fails(4, &["model", "pull", "nonsense", "--models", store]);
    assert!(said.contains("all-MiniLM-L6-v2"), "{said}");
}
