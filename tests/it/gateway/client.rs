//! A client of the gateway that speaks JSON-RPC by hand: what it sees is what is on the wire.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http::{Reply, post_with};

/// Longer than anything here may take on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// A gateway on stdin and stdout.
pub struct Client {
    pub child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    number: u64,
    /// Notifications that came while something else was waited for.
    pub heard: Vec<Value>,
    pub born: Instant,
}

impl Client {
    pub fn start(mut command: Command) -> Self {
        let born = Instant::now();
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the gateway starts");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        Self { child, stdin, lines, number: 0, heard: Vec::new(), born }
    }

    /// What the gateway says of itself.
    pub fn shake_hands(&mut self) -> Value {
        self.ask(
            "initialize",
            json!({"protocolVersion": "2025-06-18", "capabilities": {},
                   "clientInfo": {"name": "by-hand", "version": "1"}}),
        )
    }

    /// Shakes hands and says that it is ready; what the gateway says of itself.
    pub fn begin(&mut self) -> Value {
        let about = self.shake_hands();
        self.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        about
    }

    pub fn say(&mut self, message: &Value) {
        self.say_line(&message.to_string());
    }

    pub fn say_line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        writeln!(stdin, "{line}").expect("the gateway reads");
    }

    pub fn send(&mut self, method: &str, params: Value) -> u64 {
        self.number += 1;
        let number = self.number;
        self.say(&json!({"jsonrpc": "2.0", "id": number, "method": method, "params": params}));
        number
    }

    /// The next message, notification or answer.
    pub fn next(&mut self) -> Option<Value> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Some(serde_json::from_str(&line).expect("stdout is the protocol alone")),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("no word in {PATIENCE:?}"),
        }
    }

    pub fn answer_to(&mut self, number: u64) -> Value {
        loop {
            let message = self.next().expect("an answer before the end");
            if message["id"] == number {
                return message;
            }
            self.heard.push(message);
        }
    }

    /// Asks and takes the result; an error of the protocol is a failure of the test.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let number = self.send(method, params);
        let mut answer = self.answer_to(number);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].take()
    }

    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// What `find_tools` answers, as the value that its text holds.
    pub fn find(&mut self, arguments: Value) -> Value {
        let result = self.call("find_tools", arguments);
        serde_json::from_str(text(&result)).expect("a text that is JSON")
    }

    /// Asks again until what is found is so; the last answer otherwise.
    pub fn find_until(&mut self, arguments: Value, so: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            let found = self.find(arguments.clone());
            if so(&found) || began.elapsed() > PATIENCE {
                return found;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits for a notification.
    pub fn hear(&mut self, method: &str) -> Value {
        loop {
            if let Some(at) = self.heard.iter().position(|heard| heard["method"] == method) {
                return self.heard.remove(at);
            }
            let message = self.next().expect("a word before the end");
            self.heard.push(message);
        }
    }

    /// Closes stdin; whether the gateway ended, and well.
    pub fn end(mut self) -> bool {
        drop(self.stdin.take());
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status.success();
            }
            if began.elapsed() > PATIENCE {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The first text of a result.
pub fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {result}"))
}

/// One request over HTTP: the reply, and the messages in it.
pub fn post(port: u16, path: &str, headers: &[(&str, &str)], body: &Value) -> (Reply, Vec<Value>) {
    let accept = [("accept", "application/json, text/event-stream")];
    let reply = post_with(port, path, &[headers, &accept].concat(), body);
    let text = reply.text();
    let lines = text.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
    let messages = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let messages = messages.filter(Value::is_object).collect();
    (reply, messages)
}
