//! A client that sends exactly what it is told to, servers of ours, and `toolroute` as a server.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::Sandbox;

/// An answer.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }

    /// The body of a success.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert!((200..300).contains(&self.status), "{}: {}", self.status, self.text());
        self.json()
    }

    /// Status and type of an error; its message says something.
    #[track_caller]
    pub fn error(&self) -> (u16, String) {
        let body = self.json();
        let message = body["error"]["message"].as_str().unwrap_or_default();
        assert!(message.len() > 10, "{body}");
        (self.status, body["error"]["type"].as_str().expect("a type").to_owned())
    }
}

/// A request under way.
pub struct Sent {
    pub reader: BufReader<TcpStream>,
}

impl Sent {
    /// Sends a request. Without a `host` among the headers it names the server's own.
    pub fn new(port: u16, head: &str, headers: &[(&str, &str)], body: &[u8]) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a server");
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        let mut text = format!("{head} HTTP/1.1\r\nconnection: close\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            text += &format!("host: 127.0.0.1:{port}\r\n");
        }
        if !body.is_empty() {
            text += &format!("content-length: {}\r\n", body.len());
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        stream.write_all(format!("{text}\r\n").as_bytes()).expect("a server that reads");
        // One that refuses by the headers alone may have closed already.
        stream.write_all(body).ok();
        Self { reader: BufReader::new(stream) }
    }

    /// Status and headers.
    pub fn head(&mut self) -> Reply {
        let mut line = String::new();
        self.reader.read_line(&mut line).expect("a status line");
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no status in {line:?}"));
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            self.reader.read_line(&mut line).expect("headers");
            match line.trim_end().split_once(": ") {
                Some((name, value)) => headers.push((name.to_owned(), value.to_owned())),
                None => return Reply { status, headers, body: Vec::new() },
            }
        }
    }

    /// One chunk of a body in chunks; `None` is its end.
    pub fn chunk(&mut self) -> Option<Vec<u8>> {
        let mut line = String::new();
        self.reader.read_line(&mut line).ok()?;
        let length = usize::from_str_radix(line.trim(), 16).ok()?;
        let mut chunk = vec![0; length + 2];
        self.reader.read_exact(&mut chunk).ok()?;
        chunk.truncate(length);
        (length > 0).then_some(chunk)
    }

    pub fn reply(mut self) -> Reply {
        let mut reply = self.head();
        if reply.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk() {
                reply.body.extend(chunk);
            }
        } else {
            self.reader.read_to_end(&mut reply.body).expect("a body");
        }
        reply
    }
}

pub fn get(port: u16, path: &str) -> Reply {
    Sent::new(port, &format!("GET {path}"), &[], &[]).reply()
}

pub fn post(port: u16, path: &str, body: &Value) -> Reply {
    post_text(port, path, body.to_string().as_bytes())
}

/// With headers beside that of the content.
pub fn post_with(port: u16, path: &str, headers: &[(&str, &str)], body: &Value) -> Reply {
    let headers = [headers, &[("content-type", "application/json")]].concat();
    Sent::new(port, &format!("POST {path}"), &headers, body.to_string().as_bytes()).reply()
}

pub fn post_text(port: u16, path: &str, body: &[u8]) -> Reply {
    let json = [("content-type", "application/json")];
    Sent::new(port, &format!("POST {path}"), &json, body).reply()
}

/// `toolroute` that listens; ended with the test.
pub struct Server {
    pub child: Child,
    pub port: u16,
    log: std::path::PathBuf,
}

impl Server {
    /// `serve` with the model that loads at once.
    pub fn by_static(sandbox: &Sandbox, flags: &[&str]) -> Self {
        Self::start(sandbox, &[&["serve", "--model", "static"], flags].concat())
    }

    /// `args` are the command and its flags.
    pub fn start(sandbox: &Sandbox, args: &[&str]) -> Self {
        let mut command = sandbox.toolroute();
        command.args(args).args(["--addr", "127.0.0.1:0"]);
        command.env("XDG_DATA_HOME", sandbox.path("data"));
        Self::spawn(sandbox, command)
    }

    /// A command that listens and says where.
    pub fn spawn(sandbox: &Sandbox, mut command: Command) -> Self {
        let log = sandbox.path("log");
        command.args(["--json", "-v"]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.stderr(std::fs::File::create(&log).unwrap()).spawn().unwrap();
        let mut text = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let told: Value = loop {
            let read = stdout.read_line(&mut text).unwrap();
            assert!(read > 0, "it did not start: {}", std::fs::read_to_string(&log).unwrap());
            if let Ok(told) = serde_json::from_str(&text) {
                break told;
            }
        };
        Self { child, port: told["port"].as_u64().unwrap() as u16, log }
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for its end.
    pub fn ended(&mut self, within: Duration) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(began.elapsed() < within, "it goes on: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A request as a server of ours got it.
pub struct Arrived {
    /// Method, path and version.
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Arrived {
    fn read(stream: &TcpStream) -> Option<Self> {
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            match line.trim_end() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let headers = lines.iter().skip(1).filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let mut arrived = Self { line: lines.first()?.clone(), headers, body: Vec::new() };
        if let Some(length) = arrived.header("content-length").and_then(|text| text.parse().ok()) {
            arrived.body = vec![0; length];
            reader.read_exact(&mut arrived.body).ok()?;
        } else if arrived.header("transfer-encoding") == Some("chunked") {
            let mut sent = Sent { reader };
            while let Some(chunk) = sent.chunk() {
                arrived.body.extend(chunk);
            }
        }
        Some(arrived)
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub fn path(&self) -> &str {
        self.line.split(' ').nth(1).unwrap_or_default()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// A server of ours, which answers each request in a thread of its own; the port.
pub fn listen(answer: impl Fn(Arrived, &mut TcpStream) + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || {
                if let Some(arrived) = Arrived::read(&stream) {
                    answer(arrived, &mut stream);
                }
            });
        }
    });
    port
}

/// A whole answer, with `more` lines in its head.
pub fn answer(stream: &mut TcpStream, status: &str, more: &str, body: &str) {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{more}content-length: {length}\r\n");
    stream.write_all(format!("{head}connection: close\r\n\r\n{body}").as_bytes()).ok();
}

/// What `/v1/servers` says of a server.
pub fn server_row(port: u16, name: &str) -> Value {
    let told = get(port, "/v1/servers").ok();
    let servers = told["servers"].as_array().unwrap();
    servers.iter().find(|server| server["name"] == name).unwrap().clone()
}

/// Waits until something is so.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "not in time: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
