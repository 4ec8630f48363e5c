//! `toolroute proxy` in front of an upstream of ours, which keeps what it is sent.

use std::io::{BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::http::{Arrived, Sent, Server, answer, get, listen, post_text};
use crate::support::Sandbox;

/// An upstream that answers by the path; `next` lets it go on in the midst of an answer.
struct Upstream {
    port: u16,
    arrived: Receiver<Arrived>,
    next: Sender<()>,
}

impl Upstream {
    fn start() -> Self {
        let ((tell, arrived), (next, wait)) = (channel(), channel());
        let wait = Mutex::new(wait);
        let port = listen(move |arrived, stream| {
            let path = arrived.path().to_owned();
            // Otherwise the test has ended.
            if tell.send(arrived).is_ok() {
                respond(stream, &path, &wait);
            }
        });
        Self { port, arrived, next }
    }

    fn arrived(&self) -> Arrived {
        self.arrived.recv_timeout(Duration::from_secs(60)).expect("a request")
    }
}

const EVENTS: [&str; 3] =
    ["event: a\ndata: {\"x\": \"\u{e9}\"}\n\n", ": ping\n\ndata: 2\r\n\r\n", "data: [DONE]\n\n"];

fn respond(stream: &mut TcpStream, path: &str, wait: &Mutex<Receiver<()>>) -> Option<()> {
    match path {
        "/v1/limited" => {
            let more = "retry-after: 7\r\nx-request-id: abc\r\n";
            answer(stream, "429 Too Many Requests", more, "{\"error\":{}}");
        }
        "/v1/moved" => {
            answer(stream, "307 Temporary Redirect", "location: http://evil.example/\r\n", "");
        }
        "/v1/broken" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf").ok()?;
        }
        path if path.starts_with("/v1/messages") => {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nx-up: 1\r\nkeep-alive: timeout=5\r\n\r\n";
            stream.write_all(head.as_bytes()).ok()?;
            for event in EVENTS {
                stream.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes()).ok()?;
                stream.flush().ok()?;
                wait.lock().unwrap().recv_timeout(Duration::from_secs(60)).ok()?;
            }
            stream.write_all(b"0\r\n\r\n").ok()?;
        }
        _ => answer(stream, "200 OK", "content-type: application/json\r\n", "{ \"ok\" :true}"),
    }
    Some(())
}

fn proxy(sandbox: &Sandbox, upstream: &str, more: &[&str]) -> Server {
    let args = [&["proxy", "--upstream", upstream, "--model", "static", "--keep", "1"], more];
    Server::start(sandbox, &args.concat())
}

fn body() -> String {
    let tool = |name: &str, text: &str| json!({"type": "function", "name": name, "description": text, "parameters": {"type": "object"}});
    let tools =
        [tool("get_weather", "The weather of a city"), tool("send_email", "Sends an email")];
    json!({"model": "m", "stream": true, "input": "the weather in Paris", "tools": tools})
        .to_string()
}

const KEY: (&str, &str) = ("authorization", "Bearer the-clients-key");
const JSON: (&str, &str) = ("content-type", "application/json");

#[test]
fn requests_to_a_model_go_on_with_fewer_tools_and_all_others_as_they_are() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let server = proxy(&sandbox, &format!("http://127.0.0.1:{}", upstream.port), &[]);
    let send = |head: &str, headers: &[(&str, &str)], body: &str| {
        Sent::new(server.port, head, &[headers, &[KEY, JSON]].concat(), body.as_bytes()).reply()
    };
    let reply = send(
        "POST /v1/responses?a=b%20c",
        &[("x-toolroute-report", "headers"), ("x-custom", "1")],
        &body(),
    );
    assert_eq!(reply.text(), "{ \"ok\" :true}");
    assert_eq!(
        (reply.header("x-toolroute-tools"), reply.header("x-toolroute-kept")),
        (Some("2"), Some("1"))
    );
    let arrived = upstream.arrived();
    assert_eq!(arrived.line, "POST /v1/responses?a=b%20c HTTP/1.1");
    let sent = arrived.json();
    assert_eq!(
        (&sent["tools"][0]["name"], &sent["tools"][1]),
        (&json!("get_weather"), &Value::Null)
    );
    assert_eq!(arrived.header("authorization"), Some(KEY.1));
    assert_eq!(arrived.header("x-custom"), Some("1"));
    assert_eq!(arrived.header("host"), Some(&*format!("127.0.0.1:{}", upstream.port)));
    assert!(arrived.headers.iter().all(|(name, _)| !name.starts_with("x-toolroute")));

    // What is not a request to a model, or cannot be read, goes on byte for byte.
    for (path, text) in
        [("/v1/embeddings", body()), ("/v1/chat/completions", "{ no json".to_owned())]
    {
        send(&format!("POST {path}"), &[], &text);
        assert_eq!(upstream.arrived().body, text.as_bytes(), "{path}");
    }
    send("POST /v1/chat/completions", &[("content-encoding", "gzip")], &body());
    assert_eq!(upstream.arrived().body, body().as_bytes());
    let plain = [KEY, ("content-type", "text/plain")];
    let plain = Sent::new(server.port, "POST /v1/responses", &plain, body().as_bytes()).reply();
    assert!(plain.header("x-toolroute-untouched").unwrap().contains("content type"));
    assert_eq!(upstream.arrived().body, body().as_bytes());
    for limit in ["abc", "-3", "0"] {
        let refused = send("POST /v1/responses", &[("x-toolroute-limit", limit)], &body());
        assert_eq!(refused.error(), (400, "invalid_request".to_owned()), "{limit}");
    }
    for path in ["/v1/%2e%2e/admin", "/v1/.%2E/admin", "/v1/x/..%2f..%2fadmin", "/%2e%2e%5cadmin"] {
        assert_eq!(send(&format!("GET {path}"), &[], "").status, 400, "{path}");
    }
    // The next that arrives is the next that was sent.
    send("GET /v1/models", &[], "");
    assert_eq!(upstream.arrived().line, "GET /v1/models HTTP/1.1");
    assert!(!server.log().contains("the-clients-key") && !server.log().contains("Paris"));
}

#[test]
fn a_body_that_is_too_large_goes_on_as_it_is_also_where_it_does_not_say_so() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let to = format!("http://127.0.0.1:{}", upstream.port);
    let server = proxy(&sandbox, &to, &["--max-body", "100"]);
    let text = body();
    assert!(text.len() > 200);
    let whole = Sent::new(server.port, "POST /v1/responses", &[JSON], text.as_bytes()).reply();
    assert_eq!((whole.status, upstream.arrived().body), (200, text.clone().into_bytes()));
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    let head = format!(
        "POST /v1/responses HTTP/1.1\r\nhost: 127.0.0.1:{}\r\ncontent-type: application/json\r\n\
         transfer-encoding: chunked\r\nconnection: close\r\n\r\n",
        server.port
    );
    stream.write_all(head.as_bytes()).unwrap();
    for chunk in text.as_bytes().chunks(60) {
        stream.write_all(format!("{:x}\r\n", chunk.len()).as_bytes()).unwrap();
        stream.write_all(&[chunk, b"\r\n"].concat()).unwrap();
    }
    stream.write_all(b"0\r\n\r\n").unwrap();
    let reply = Sent { reader: BufReader::new(stream) }.reply();
    assert_eq!((reply.status, upstream.arrived().body), (200, text.into_bytes()));
}

#[test]
fn a_stream_comes_through_as_it_is_sent() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let server = proxy(&sandbox, &format!("http://127.0.0.1:{}/v1", upstream.port), &[]);
    let mut sent = Sent::new(server.port, "POST /v1/messages", &[KEY, JSON], body().as_bytes());
    let head = sent.head();
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!((head.header("x-up"), head.header("keep-alive")), (Some("1"), None));
    for event in EVENTS {
        // Each before the upstream goes on.
        assert_eq!(String::from_utf8(sent.chunk().expect("an event")).unwrap(), event);
        upstream.next.send(()).unwrap();
    }
    assert_eq!(sent.chunk(), None);
    assert_eq!(upstream.arrived().line, "POST /v1/messages HTTP/1.1");
}

#[test]
fn what_the_upstream_refuses_is_passed_on_and_what_breaks_is_told() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let server = proxy(&sandbox, &format!("http://127.0.0.1:{}", upstream.port), &[]);
    let limited = get(server.port, "/v1/limited");
    assert_eq!((limited.status, limited.text().as_str()), (429, "{\"error\":{}}"));
    assert_eq!(
        (limited.header("retry-after"), limited.header("x-request-id")),
        (Some("7"), Some("abc"))
    );
    let moved = get(server.port, "/v1/moved");
    assert_eq!((moved.status, moved.header("location")), (307, Some("http://evil.example/")));
    let mut broken = Sent::new(server.port, "GET /v1/broken", &[], &[]);
    assert_eq!(broken.head().status, 200);
    let mut half = Vec::new();
    broken.reader.read_to_end(&mut half).ok();
    assert_eq!(half, b"half");
    let upgrade = [("connection", "upgrade"), ("upgrade", "websocket")];
    assert_eq!(Sent::new(server.port, "GET /v1/realtime", &upgrade, &[]).reply().error().0, 501);
    assert_eq!(get(server.port, "/toolroute/healthz").ok()["status"], "ok");
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = proxy(&sandbox, &format!("http://{nobody}"), &[]);
    let told = post_text(server.port, "/v1/responses", body().as_bytes());
    assert_eq!(told.error(), (502, "upstream".to_owned()));
    assert!(
        sandbox
            .fails(2, &["proxy", "--upstream", "api.openai.com"])
            .contains("expected an address")
    );
}

#[test]
fn the_proxys_own_token_stays_here() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let file = sandbox.put("token", "0123456789abcdef0123");
    let address = format!("http://127.0.0.1:{}", upstream.port);
    let server = proxy(&sandbox, &address, &["--token-file", &file]);
    let ask =
        |headers: &[(&str, &str)]| Sent::new(server.port, "GET /v1/models", headers, &[]).reply();
    assert_eq!(ask(&[KEY]).error().0, 401);
    assert_eq!(
        ask(&[
            KEY,
            ("x-toolroute-token", "0123456789abcdef0123"),
            ("origin", "http://evil.example")
        ])
        .status,
        403
    );
    assert_eq!(ask(&[KEY, ("x-toolroute-token", "0123456789abcdef0123")]).status, 200);
    let arrived = upstream.arrived();
    assert_eq!(arrived.header("authorization"), Some(KEY.1));
    assert_eq!(arrived.header("x-toolroute-token"), None);
}

/// A request with so many tools, of which one is for the weather.
fn long_list(tools: usize) -> String {
    let tool = |at: usize| json!({"type": "function", "name": format!("tool_{at}"), "description": format!("Counts the boxes of shelf {at}"), "parameters": {"type": "object"}});
    let weather = json!({"type": "function", "name": "get_weather", "description": "The weather of a city", "parameters": {"type": "object"}});
    let tools: Vec<Value> = (1..tools).map(tool).chain([weather]).collect();
    json!({"model": "m", "input": "the weather in Paris", "tools": tools}).to_string()
}

/// What a counter of the proxy stands at.
fn counted(port: u16, result: &str) -> usize {
    let metrics = get(port, "/toolroute/metrics").text();
    let name = format!("toolroute_proxy_requests_total{{result=\"{result}\"}} ");
    let line = metrics.lines().find_map(|line| line.strip_prefix(&name));
    line.map_or(0, |count| count.trim().parse().expect("a count"))
}

/// Sends one body so many times at once; of each reply why it went on uncut, if it did.
fn burst(port: u16, body: &str, times: usize) -> Vec<Option<String>> {
    std::thread::scope(|scope| {
        let ask = || {
            let sent = Sent::new(port, "POST /v1/responses", &[JSON], body.as_bytes());
            let reply = sent.reply();
            assert_eq!(reply.status, 200);
            reply.header("x-toolroute-untouched").map(str::to_owned)
        };
        let asked: Vec<_> = (0..times).map(|_| scope.spawn(ask)).collect();
        asked.into_iter().map(|asked| asked.join().unwrap()).collect()
    })
}

#[test]
fn a_burst_on_a_list_that_is_new_is_cut_whole() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let to = format!("http://127.0.0.1:{}", upstream.port);
    let server = proxy(&sandbox, &to, &["--workers", "2"]);
    let uncut = burst(server.port, &long_list(300), 50);
    assert_eq!(uncut, vec![None; 50]);
    for _ in 0..50 {
        let sent = upstream.arrived().json();
        assert_eq!(sent["tools"].as_array().map(Vec::len), Some(1));
        assert_eq!(sent["tools"][0]["name"], "get_weather");
    }
    assert_eq!(counted(server.port, "cut"), 50);
    assert!(!server.log().contains("uncut"), "{}", server.log());
}

#[test]
fn a_request_that_goes_on_uncut_says_why_in_header_log_and_metric() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let to = format!("http://127.0.0.1:{}", upstream.port);
    let server = proxy(&sandbox, &to, &["--max-body", "5000", "--workers", "1", "--queue", "0"]);
    let send = |headers: &[(&str, &str)], body: &str| {
        let headers = [headers, &[JSON]].concat();
        let reply = Sent::new(server.port, "POST /v1/responses", &headers, body.as_bytes()).reply();
        upstream.arrived();
        reply.header("x-toolroute-untouched").map(str::to_owned)
    };
    assert_eq!(send(&[], &body()), None, "one that is cut says nothing");
    let italian = json!({"input": "Chi lavora sabato?", "tools": [{"type": "function", "name": "a"}, {"type": "function", "name": "b"}]});
    let silent = json!({"input": [], "tools": [{"type": "function", "name": "a"}, {"type": "function", "name": "b"}]});
    for (headers, body, said, label) in [
        (&[("content-encoding", "gzip")][..], body(), "the body is compressed", "encoded"),
        (&[], long_list(300), "the body is larger than --max-body", "too_large"),
        (&[], "[]".to_owned(), "the body is not a JSON object", "not_json"),
        (&[], silent.to_string(), "no message of the user says what is wanted", "no_prompt"),
        (
            &[],
            italian.to_string(),
            "the prompt is in a language that the model does not read",
            "language",
        ),
    ] {
        assert_eq!(send(headers, &body).as_deref(), Some(said));
        assert_eq!(counted(server.port, label), 1, "{label}");
        let line = format!("a request goes on uncut: {said}");
        assert!(server.log().contains(&line), "{line}: {}", server.log());
    }
    // Nothing is lost where there is nothing to cut, and the log does not warn of it.
    assert_eq!(send(&[], "{\"input\": \"x\"}").as_deref(), Some("there is no list of tools"));
    assert_eq!(counted(server.port, "no_tools"), 1);
    let log = server.log();
    let line = log.lines().find(|line| line.contains("there is no list of tools"));
    assert!(line.is_some_and(|line| line.contains("INFO")), "{log}");

    // With no place to wait, those beyond the one at work go on uncut, and each is told.
    let sandbox = Sandbox::new();
    let server = proxy(&sandbox, &to, &["--workers", "1", "--queue", "0"]);
    let uncut: Vec<String> =
        burst(server.port, &long_list(300), 20).into_iter().flatten().collect();
    assert!(uncut.iter().all(|said| said.starts_with("too many requests wait")), "{uncut:?}");
    assert_eq!(counted(server.port, "busy"), uncut.len());
    assert_eq!(counted(server.port, "cut"), 20 - uncut.len());
    assert_eq!(server.log().matches("too many requests wait").count(), uncut.len());
}
