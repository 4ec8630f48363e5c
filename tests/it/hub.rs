//! `toolroute model pull` against a hub of ours on the loopback address.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use crate::support::Sandbox;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// The files of a repository, served as the hub serves them.
struct Hub {
    address: String,
}

impl Hub {
    fn serve(files: HashMap<&'static str, &'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let files = Arc::new(files);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let files = files.clone();
                std::thread::spawn(move || answer(stream, &files));
            }
        });
        Self { address }
    }
}

fn answer(mut stream: TcpStream, files: &HashMap<&str, &str>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let request = lines.next().and_then(Result::ok).unwrap_or_default();
    let mut range = None;
    for line in lines.map_while(Result::ok).take_while(|line| !line.is_empty()) {
        let line = line.to_lowercase();
        if let Some(bytes) = line.strip_prefix("range: bytes=") {
            let (from, to) = bytes.split_once('-').unwrap();
            range = Some((from.parse::<usize>().unwrap(), to.parse::<usize>().ok()));
        }
    }
    let path = request.split(' ').nth(1).unwrap_or("/").to_owned();
    let (status, body) = if path.starts_with("/api/models/me/tiny") {
        let names: Vec<String> =
            files.keys().map(|name| format!("{{\"rfilename\":\"{name}\"}}")).collect();
        ("200 OK", format!("{{\"sha\":\"{COMMIT}\",\"siblings\":[{}]}}", names.join(",")))
    } else {
        let name = path.split("/resolve/main/").nth(1).unwrap_or("").replace("%2F", "/");
        match files.get(name.as_str()) {
            Some(body) => ("206 Partial Content", (*body).to_owned()),
            None => ("404 Not Found", String::new()),
        }
    };
    let total = body.len();
    let (from, to) =
        range.map_or((0, total), |(from, to)| (from, to.map_or(total, |to| (to + 1).min(total))));
    let body = &body[from.min(total)..to];
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nContent-Range: bytes {from}-{}/{total}\r\n\
         ETag: \"{total}-{}\"\r\nX-Repo-Commit: {COMMIT}\r\nConnection: close\r\n\r\n",
        body.len(),
        to.max(1) - 1,
        path.len()
    );
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).ok();
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
    let hub = Hub::serve(files());
    let store = sandbox.path("store");
    let store_arg = store.to_str().unwrap();
    let args = ["model", "pull", "me/tiny", "--endpoint", &hub.address, "--models", store_arg];
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
    let hub = Hub::serve(files);
    let store = sandbox.path("store");
    let store = store.to_str().unwrap();
    for endpoint in [hub.address.as_str(), "http://127.0.0.1:9"] {
        let args = ["model", "pull", "me/tiny", "--endpoint", endpoint, "--models", store];
        let said = sandbox.fails(4, &args);
        assert!(said.contains("me/tiny") && said.contains("--from DIR"), "{said}");
    }
    let said = sandbox.fails(4, &["model", "pull", "nonsense", "--models", store]);
    assert!(said.contains("all-MiniLM-L6-v2"), "{said}");
}
