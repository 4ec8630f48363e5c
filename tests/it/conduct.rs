//! `toolroute conduct` and `toolroute ledger`: the examples, resuming, and kills.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolroute_conduct::{Ledger, RunStatus, Status};

use crate::drill::left_over;
use crate::support::{CommandExt as _, Sandbox, entry, repo};

mod choice;
mod facts;
mod questions;
mod words;

/// The examples' folder in a sandbox.
pub fn examples(sandbox: &Sandbox) -> String {
    let folder = sandbox.path("conductor");
    std::fs::create_dir_all(&folder).unwrap();
    for entry in std::fs::read_dir(repo("examples/conductor")).unwrap() {
        let from = entry.unwrap().path();
        std::fs::copy(&from, folder.join(from.file_name().unwrap())).unwrap();
    }
    folder.to_str().unwrap().to_owned()
}

/// Tools of a test with what runs them, and a ledger.
struct Desk {
    sandbox: Sandbox,
    fixed: Vec<String>,
}

impl Desk {
    /// The tools of the source documents, and some that note their calls in the file `journal`.
    fn of_the_documents(more: &[Value]) -> Self {
        let sandbox = Sandbox::new();
        let folder = examples(&sandbox);
        for (file, text) in [("tools.jsonl", rows_of(more)), ("runners.toml", journals(more))] {
            let path = format!("{folder}/{file}");
            std::fs::write(&path, std::fs::read_to_string(&path).unwrap() + &text).unwrap();
        }
        Self::of(sandbox, &folder)
    }

    /// Tools that note their calls in the file `journal`.
    fn with(tools: &[Value]) -> Self {
        let sandbox = Sandbox::new();
        sandbox.write("tools.jsonl", rows_of(tools));
        sandbox.write("runners.toml", journals(tools));
        let folder = sandbox.dir.path().to_str().unwrap().to_owned();
        Self::of(sandbox, &folder)
    }

    fn of(sandbox: Sandbox, folder: &str) -> Self {
        let (tools, runners) = (format!("{folder}/tools.jsonl"), format!("{folder}/runners.toml"));
        let ledger = sandbox.arg("ledger.sqlite");
        let fixed = ["--tools", &tools, "--runners", &runners, "--ledger", &ledger];
        let fixed = fixed.map(str::to_owned).to_vec();
        Self { sandbox, fixed }
    }

    /// A file beside those of the tools.
    fn file(&self, name: &str) -> String {
        Path::new(&self.fixed[1]).with_file_name(name).to_str().unwrap().to_owned()
    }

    /// One of the examples.
    fn example(&self, name: &str) -> Value {
        self.conduct(&[&self.file(&format!("{name}.json"))])
    }

    fn arguments<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        let fixed = self.fixed.iter().map(String::as_str);
        ["conduct"].into_iter().chain(more.iter().copied()).chain(fixed).collect()
    }

    /// A request's file.
    fn request(&self, request: &Value) -> String {
        self.sandbox.put("request.json", request.to_string())
    }

    fn conduct(&self, more: &[&str]) -> Value {
        self.sandbox.json(&self.arguments(more))
    }

    /// [`Desk::conduct`] with a request of its own.
    fn ask(&self, request: &Value, more: &[&str]) -> Value {
        let request = self.request(request);
        self.conduct(&[&[request.as_str()], more].concat())
    }

    fn fails(&self, code: i32, more: &[&str]) -> String {
        self.sandbox.fails(code, &self.arguments(more))
    }

    /// The arguments of the calls that were noted.
    fn noted(&self) -> Vec<Value> {
        let journal = std::fs::read_to_string(self.file("journal")).unwrap_or_default();
        let line = |line: &str| serde_json::from_str::<Value>(line).unwrap()["arguments"].clone();
        journal.lines().map(line).collect()
    }
}

fn rows_of(tools: &[Value]) -> String {
    tools.iter().map(|tool| format!("{tool}\n")).collect()
}

fn journals(tools: &[Value]) -> String {
    let runner = |tool: &Value| {
        let name = tool["name"].as_str().unwrap();
        format!("[{name}]\nbuiltin = \"journal\"\nfile = \"journal\"\nwait_ms = 3\n")
    };
    tools.iter().map(runner).collect()
}

/// A tool that changes something, needs these inputs and satisfies `REPORT(set.it)`.
fn setter(name: &str, inputs: &[(&str, &str)]) -> Value {
    let properties: serde_json::Map<String, Value> =
        inputs.iter().map(|(name, kind)| (name.to_string(), json!({"type": kind}))).collect();
    let required: Vec<&str> = inputs.iter().map(|(name, _)| *name).collect();
    let schema = json!({"type": "object", "properties": properties, "required": required});
    json!({"id": name, "name": name, "description": "Sets a value", "input_schema": schema,
        "satisfies": ["REPORT(set.it)"], "hints": {"read_only": false}})
}

/// One obligation.
fn one(what: &str, payload: Value) -> Value {
    json!({"utterance": "x", "obligations": [{"id": "o", "type": what, "payload": payload}]})
}

fn told(answer: &Value) -> &str {
    answer["text"].as_str().unwrap()
}

fn rows(sandbox: &Sandbox, what: &str) -> Vec<Value> {
    let ledger = sandbox.arg("ledger.sqlite");
    let shown = sandbox.json(&["ledger", "show", what, "--ledger", &ledger]);
    shown.as_array().unwrap().clone()
}

#[test]
fn the_documents_own_examples_run_with_real_tools() {
    let desk = Desk::of_the_documents(&[]);
    let math = desk.example("math");
    assert_eq!((&math["text"], &math["complete"]), (&json!("It is 22."), &json!(true)));
    assert_eq!(math["obligations"][0]["source"], "EvalMath");
    assert_eq!(math["obligations"][0]["standing"], "verified");
    let people = desk.example("people");
    assert_eq!(people["text"], "Noa has been there since 2019-03-01.");
    assert_eq!(people["obligations"][0]["source"], "PeopleSQL");
    // Two candidates: the more reliable one is taken, though it costs more and takes longer.
    let complex = desk.example("complex");
    assert_eq!(complex["obligations"][0]["source"], "ComplexTool");
    assert_eq!(complex["obligations"][0]["output"]["rows"][1]["lead"], "Noa");
    let runs = rows(&desk.sandbox, "--runs");
    assert_eq!(runs.len(), 6, "three runs, and each once more to verify");
    assert!(runs.iter().all(|run| run["status"] == "completed"));
    // A finished request is answered again without a run.
    assert_eq!(desk.conduct(&[&desk.file("math.json"), "--resume"]), math);
    assert_eq!(rows(&desk.sandbox, "--runs").len(), 6);
    // The same from a database in a file.
    let made = rusqlite::Connection::open(desk.file("people.sqlite")).unwrap();
    made.execute_batch(&std::fs::read_to_string(desk.file("people.sql")).unwrap()).unwrap();
    let runners = std::fs::read_to_string(desk.file("runners.toml")).unwrap();
    let runners = runners.replace("script = \"people.sql\"", "database = \"people.sqlite\"");
    std::fs::write(desk.file("runners.toml"), runners).unwrap();
    assert_eq!(desk.example("people")["text"], people["text"]);
}

#[test]
fn what_cannot_be_done_is_asked_searched_or_explained() {
    let desk = Desk::of_the_documents(&[]);
    let told = desk.example("everything");
    assert_eq!(told["complete"], false);
    let of = |id: &str| {
        let all = told["obligations"].as_array().unwrap();
        all.iter().find(|obligation| obligation["id"] == id).unwrap().clone()
    };
    let brought = |id: &str| of(id)["brought_about"][0].clone();
    assert_eq!(of("team")["output"]["rows"].as_array().unwrap().len(), 3);
    assert_eq!(of("checked")["output"]["holds"], true);
    assert_eq!(
        (&of("which")["status"], &brought("which")["type"]),
        (&json!("escalated"), &json!("CLARIFY(input)"))
    );
    assert!(brought("which")["note"].as_str().unwrap().contains("what is 2 + 2 * 10"));
    assert_eq!(brought("flight")["type"], "DISCOVER_OP(query.flight)");
    let lacks = &brought("flight")["output"]["near"][0]["lacks"][0];
    assert!(lacks.as_str().unwrap().contains("REPORT(query.flight)"), "{told}");
    assert_eq!(
        (&of("nobody")["status"], &brought("nobody")["type"]),
        (&json!("failed"), &json!("JUSTIFY(failure)"))
    );
    assert!(
        brought("nobody")["output"]["text"].as_str().unwrap().contains("outputs.rows.size() > 0")
    );
    let events = rows(&desk.sandbox, "--events");
    assert_eq!(events[0]["kind"], "user_utterance");
    assert_eq!(events.last().unwrap()["kind"], "final_response");
    assert!(!rows(&desk.sandbox, "--assertions").is_empty());
    let table = desk.sandbox.run(&["ledger", "show", "--ledger", &desk.fixed[5]]).stdout;
    assert!(String::from_utf8(table).unwrap().contains("CLARIFY(input)"));
}

#[test]
fn wrong_requests_and_files_have_codes_of_their_own() {
    let mut desk = Desk::of_the_documents(&[]);
    let write = |desk: &Desk, name: &str, text: &str| -> String {
        desk.sandbox.write(name, text).to_str().unwrap().to_owned()
    };
    let bad = r#"{"utterance": "x", "obligations": [{"type": "DO"}]}"#;
    let said = desk.fails(3, &[&write(&desk, "bad.json", bad)]);
    assert!(said.contains("/obligations/0/type") && said.contains("--schema"), "{said}");
    assert!(desk.fails(3, &[&write(&desk, "text", "what is 2+2?")]).contains("no JSON"));
    desk.fails(5, &[&desk.file("none.json")]);
    let math = desk.file("math.json");
    let ledger = write(&desk, "foreign", &"x".repeat(5_000));
    let ledger = std::mem::replace(&mut desk.fixed[5], ledger);
    assert!(desk.fails(3, &[&math]).contains("not a ledger"));
    desk.fixed[5] = ledger;
    desk.fixed[3] = write(&desk, "runners", "[EvalMath]\nbuiltin = \"shell\"\n");
    assert!(desk.fails(3, &[&math]).contains("math"));
    desk.sandbox.fails(5, &["ledger", "show", "--ledger", &desk.file("none.sqlite")]);
    let schema = desk.sandbox.run(&["conduct", "--schema"]).stdout;
    let schema: Value = serde_json::from_slice(&schema).unwrap();
    assert_eq!(schema["required"], json!(["utterance"]));
}

#[test]
fn the_example_of_a_local_program_runs() {
    let sandbox = Sandbox::new();
    let folder = examples(&sandbox);
    let ledger = sandbox.path("ledger.sqlite");
    let typed = ["conduct", "words.json", "--servers", "servers.json", "--overlay", "overlay.toml"];
    let mut command = sandbox.toolroute();
    command.current_dir(folder).args(typed).arg("--ledger").arg(ledger);
    let ran = command.assert().success();
    assert_eq!(String::from_utf8_lossy(&ran.get_output().stdout), "It has 6 words.\n");
}

#[test]
fn arithmetic_needs_no_setup_beside_servers_either() {
    let sandbox = Sandbox::new();
    let servers = sandbox.servers(&json!({"faulty": entry("faulty", &["x"])}));
    let ledger = sandbox.arg("ledger.sqlite");
    let asked = ["conduct", "what is 17 * 23?", "--ledger", &ledger];
    for more in [&[][..], &["--servers", &servers]] {
        let ran = sandbox.run(&[&asked[..], more].concat());
        assert_eq!(String::from_utf8_lossy(&ran.stdout), "391\n", "{more:?}");
    }
}

/// What a real server's tools discharge: an overlay says which obligations they satisfy.
const OVERLAY: &str = r#"
[[overlay]]
match = ["faulty__crash", "faulty__error", "faulty__fine"]
satisfies = ["REPORT(query.answer)"]
postconditions = ["outputs.text.startsWith('fine')"]

[[overlay]]
match = ["faulty__write_error", "faulty__write_fine"]
satisfies = ["REPORT(query.write)"]

[[overlay]]
match = ["faulty__write_fine"]
reliability = "medium"

[[overlay]]
match = ["faulty__write_error"]
reliability = "high"

[[overlay]]
match = ["faulty__crash"]
reliability = "high"

[[overlay]]
match = ["faulty__fine"]
reliability = "low"
"#;

#[test]
fn tools_of_a_server_discharge_obligations_and_a_write_is_made_once() {
    let sandbox = Sandbox::new();
    let (mark, journal) = (sandbox.mark(), sandbox.path("journal"));
    let server = entry("faulty", &[mark, "--journal", journal.to_str().unwrap()]);
    let servers = sandbox.servers(&json!({ "faulty": server }));
    let overlay = sandbox.put("overlay.toml", OVERLAY);
    let ledger = sandbox.arg("ledger.sqlite");
    let log = sandbox.arg("log.db");
    let conduct = |obligation: &str| {
        let obligations =
            json!([{"id": "o", "type": obligation, "payload": {"query": "w"}, "say": "{text}"}]);
        let request = json!({"utterance": "x", "obligations": obligations}).to_string();
        let request = sandbox.put("request.json", request);
        let typed = ["conduct", &request, "--servers", &servers, "--overlay", &overlay];
        let rest = ["--ledger", &ledger, "-s", "keyword", "--feedback", &log];
        sandbox.json(&[&typed[..], &rest[..]].concat())
    };
    // The first crashes, the second says that it failed, the third answers.
    let answered = conduct("REPORT(query.answer)");
    assert_eq!((&answered["text"], &answered["complete"]), (&json!("fine: w"), &json!(true)));
    assert_eq!(answered["obligations"][0]["source"], "faulty__fine");
    let tools = |runs: &[Value]| -> Vec<String> {
        runs.iter().map(|run| run["tool"].as_str().unwrap().to_owned()).collect()
    };
    let runs = rows(&sandbox, "--runs");
    assert_eq!(tools(&runs), ["faulty__crash", "faulty__error", "faulty__fine"]);
    // A write that says that it failed may have been made: no other tool makes it.
    let written = conduct("REPORT(query.write)");
    assert_eq!(written["obligations"][0]["status"], "failed", "{written}");
    let runs = rows(&sandbox, "--runs");
    assert_eq!(tools(&runs)[3..], ["faulty__write_error"]);
    let noted = std::fs::read_to_string(&journal).unwrap();
    assert_eq!(noted, format!("w key={}\n", runs[3]["key"].as_str().unwrap()));
    assert!(!written.to_string().contains("RAW-"), "{written}");
    let told = sandbox.json(&["metrics", "--ledger", &ledger, "--feedback", &log]);
    let plans = &told["conductor"];
    assert_eq!((&plans["runs"], &plans["failed"]), (&json!(4), &json!(3)), "{told}");
    assert_eq!((&plans["first_failed"], &plans["recovered"]), (&json!(2), &json!(1)), "{told}");
    assert_eq!(
        (&told["calls"]["calls"], &told["calls"]["failed"]),
        (&json!(4), &json!(3)),
        "{told}"
    );
    assert_eq!(left_over(mark), [] as [&str; 0]);
}

/// A plan of 24 obligations, with tools that note each of their calls from outside the ledger.
fn drill() -> (Desk, String) {
    let tools = [("Writer", false, false), ("Setter", false, true), ("Reader", true, true)];
    let desk = Desk::with(&tools.map(|(name, read_only, idempotent)| {
        let hints = json!({"read_only": read_only, "idempotent": idempotent});
        json!({"id": name, "name": name, "description": "Notes its call",
            "satisfies": [format!("REPORT(drill.{name})")], "reliability": "high", "hints": hints})
    }));
    let owed = |n: usize| json!({"type": format!("REPORT(drill.{})", tools[n % 3].0), "payload": {"n": n}});
    let obligations: Vec<Value> = (0..24).map(owed).collect();
    let request = desk.request(&json!({"utterance": "drill", "obligations": obligations}));
    (desk, request)
}

/// How often each call was noted, by its key.
fn noted(sandbox: &Sandbox) -> HashMap<String, usize> {
    let journal = std::fs::read_to_string(sandbox.path("journal")).unwrap_or_default();
    let mut noted = HashMap::new();
    for line in journal.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        *noted.entry(line["key"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    noted
}

#[test]
fn thirty_kills_lose_no_obligation_and_repeat_no_completed_run() {
    let (desk, request) = drill();
    let typed = desk.arguments(&[&request, "--resume", "-s", "keyword", "--json"]);
    let sandbox = &desk.sandbox;
    let mut ended: HashMap<String, usize> = HashMap::new();
    let (mut kills, mut begun) = (0, 0);
    while kills < 30 {
        let mut child = Command::new(crate::support::PROGRAM)
            .args(&typed)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        begun += 1;
        // A sequence that is the same at each run of the test and spreads over 0 to 250 ms.
        let wait = Duration::from_millis(begun * 97 % 251);
        let start = Instant::now();
        while start.elapsed() < wait && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let killed = child.try_wait().unwrap().is_none();
        child.kill().unwrap();
        child.wait().unwrap();
        kills += usize::from(killed);
        if !killed {
            // Done sooner than 30 kills: another ledger, another plan.
            assert_eq!(finished(sandbox), 24);
            for file in ["ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm", "journal"] {
                let _ = std::fs::remove_file(sandbox.path(file));
            }
            ended.clear();
            continue;
        }
        check_after_a_kill(sandbox, &mut ended);
    }
    sandbox.run(&typed);
    assert_eq!(finished(sandbox), 24);
}

/// The ledger as a kill left it, held against what the tools noted themselves.
fn check_after_a_kill(sandbox: &Sandbox, ended: &mut HashMap<String, usize>) {
    let path = sandbox.path("ledger.sqlite");
    // Killed before there was a ledger, or before its tables were there.
    let Ok(ledger) = Ledger::open_read_only(&path) else {
        assert!(noted(sandbox).is_empty(), "a tool ran and there is no ledger");
        return;
    };
    let obligations = ledger.obligations(None).unwrap().len();
    assert!(obligations == 0 || obligations >= 24, "{obligations} obligations");
    let noted = noted(sandbox);
    for run in ledger.runs().unwrap() {
        let times = noted.get(&run.key).copied().unwrap_or_default();
        assert!(run.repeatable || times <= 1, "{run:?} was done {times} times");
        if run.status != RunStatus::Started {
            let before = *ended.entry(run.key.clone()).or_insert(times);
            assert_eq!(times, before, "{run:?} was done again after its end");
        }
    }
}

/// The obligations of a finished plan, all settled.
fn finished(sandbox: &Sandbox) -> usize {
    let ledger = Ledger::open_read_only(sandbox.path("ledger.sqlite")).unwrap();
    let mut obligations = ledger.obligations(None).unwrap();
    assert!(obligations.iter().all(|obligation| obligation.status != Status::Active));
    obligations.retain(|obligation| obligation.parent.is_none());
    for run in ledger.runs().unwrap() {
        assert_ne!(run.status, RunStatus::Started);
    }
    obligations.len()
}
