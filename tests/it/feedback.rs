//! The log of executions, through the command line and through an engine.

use std::fs;

use serde_json::{Value, json};
use toolroute::{Catalog, Engine, SelectRequest, StaticEmbedder, Tool};
use toolroute_rank::feedback::{Execution, RecordOutcome, StoreOptions};

use crate::support::{CommandExt as _, Sandbox, rows};

/// Runs `feedback` on the sandbox's log.
fn feedback(sandbox: &Sandbox, args: &[&str]) -> Value {
    let log = sandbox.arg("log.db");
    sandbox.json(&[&["feedback", "--feedback", &log], args].concat())
}

fn fails(sandbox: &Sandbox, code: i32, args: &[&str]) -> String {
    let log = sandbox.arg("log.db");
    sandbox.fails(code, &[&["feedback", "--feedback", &log], args].concat())
}

/// Executions of two tools in sessions of two steps, with the signals of their selections.
fn log_rows(sessions: usize) -> String {
    let mut rows = String::new();
    for n in 0..sessions {
        let at = 1_700_000_000_000i64 + n as i64 * 3_600_000;
        let good = f64::from(u32::try_from(n % 10).unwrap()) / 10.0;
        let success = n * 37 % 100 < 20 + (good * 70.0) as usize;
        rows += &serde_json::json!({
            "tool": "git__commit", "success": true, "prompt": format!("commit my work {n}"),
            "at": at, "session": format!("s{n}"), "duration_ms": 40,
            "choice": {"rank": 1, "offered": ["git__commit", "idle"]},
        })
        .to_string();
        rows.push('\n');
        rows += &serde_json::json!({
            "tool": "git__push", "success": success, "prompt": format!("publish it {n}"),
            "at": at + 60_000, "session": format!("s{n}"), "duration_ms": 900,
            "choice": {"rank": 2, "offered": ["greedy", "git__push"],
                       "parts": {"semantic": (n * 31 % 97) as f64 / 97.0, "keyword": good}},
        })
        .to_string();
        rows.push('\n');
    }
    rows
}

/// Old rows are kept: the test's times are fixed.
const FOREVER: [&str; 2] = ["--keep-days", "36500"];

fn filled(sessions: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    let rows = sandbox.put("rows.jsonl", log_rows(sessions));
    let args = ["add", "--no-vectors", "--input", &rows];
    let added = feedback(&sandbox, &[&args[..], &FOREVER].concat());
    assert_eq!(added["added"], 2 * sessions);
    sandbox
}

#[test]
fn one_execution_is_added_and_shown_and_its_prompt_is_not_kept() {
    let sandbox = Sandbox::new();
    let add = |outcome: &str| {
        let args = ["add", "--tool", "mail__send", "--prompt", "the secret prompt", "--outcome"];
        let more = ["--duration-ms", "120", "--session", "s", "--model", "static"];
        feedback(&sandbox, &[&args[..], &[outcome], &more].concat())
    };
    assert_eq!(add("success")["added"], 1);
    add("failure");
    let stats = feedback(&sandbox, &["stats"]);
    let mail = &stats["tools"][0];
    assert_eq!(
        (&mail["id"], &mail["runs"], &mail["successes"]),
        (&"mail__send".into(), &2.into(), &1.into())
    );
    assert_eq!(mail["latency_ms"], 120.0);
    let log = sandbox.path("log.db");
    let shown = sandbox.run(&["feedback", "stats", "--feedback", log.to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&shown.stdout).contains("mail__send"));
    let out = sandbox.path("out.jsonl");
    feedback(&sandbox, &["export", "--output", out.to_str().unwrap()]);
    let rows = rows(&fs::read(&out).unwrap());
    assert_eq!(rows[0]["prompt"], Value::Null);
    assert_eq!(rows[0]["prompt_hash"].as_str().unwrap().len(), 64);
    assert!(rows[0]["vector"]["values"].as_array().unwrap().len() > 100, "the prompt's meaning is");
    let bytes = fs::read(&log).unwrap();
    assert!(!bytes.windows(6).any(|window| window == b"secret"));
}

#[test]
fn an_export_is_an_import() {
    let sandbox = filled(3);
    let (first, second) = (sandbox.path("1.jsonl"), sandbox.path("2.jsonl"));
    let out = feedback(&sandbox, &["export", "--output", first.to_str().unwrap()]);
    assert_eq!(out["executions"], 6);
    let streamed = sandbox.path("log.db");
    let streamed = sandbox.run(&["feedback", "export", "--feedback", streamed.to_str().unwrap()]);
    assert_eq!(streamed.stdout, fs::read(&first).unwrap());
    let mut dashed = sandbox.toolroute();
    dashed.current_dir(sandbox.dir.path()).args(["feedback", "export", "--output", "-"]);
    let dashed = dashed.arg("--feedback").arg(sandbox.path("log.db")).output().unwrap();
    assert_eq!(dashed.stdout, streamed.stdout);
    assert!(!sandbox.path("-").exists());
    assert_eq!(feedback(&sandbox, &["forget", "--all"])["forgotten"], 6);
    let args = ["add", "--input", first.to_str().unwrap()];
    feedback(&sandbox, &[&args[..], &FOREVER].concat());
    feedback(&sandbox, &["export", "--output", second.to_str().unwrap()]);
    assert_eq!(fs::read(first).unwrap(), fs::read(second).unwrap());
}

#[test]
fn an_export_replaces_nothing_unasked_and_never_the_log() {
    let sandbox = filled(2);
    let log = fs::read(sandbox.path("log.db")).unwrap();
    for name in ["log.db", "log.db-wal", "log.db-shm"] {
        let output = sandbox.arg(name);
        let said = fails(&sandbox, 2, &["export", "--overwrite", "-o", &output]);
        assert!(said.contains("which this command reads"), "{name}: {said}");
    }
    assert_eq!(fs::read(sandbox.path("log.db")).unwrap(), log);
    let output = sandbox.write("out.jsonl", "mine");
    let export = ["export", "--output", output.to_str().unwrap()];
    let said = fails(&sandbox, 2, &export);
    assert!(said.contains("replace it with --overwrite"), "{said}");
    assert_eq!(fs::read_to_string(&output).unwrap(), "mine");
    feedback(&sandbox, &[&export[..], &["--overwrite"]].concat());
    assert_eq!(rows(&fs::read(&output).unwrap()).len(), 4);
    #[cfg(unix)]
    assert_eq!(feedback(&sandbox, &["export", "-o", "/dev/null"])["executions"], 4);
}

#[test]
fn bad_rows_are_told_and_nothing_is_logged() {
    let sandbox = Sandbox::new();
    let rows = "{\"tool\":\"a\",\"success\":true,\"prompt\":\"x\"}\n\nno json\n\
                {\"tool\":\"a\",\"success\":true}\n{\"tool\":\"a\",\"sucess\":true,\"prompt\":\"x\"}\n";
    let rows = sandbox.write("rows.jsonl", rows);
    let said = fails(&sandbox, 3, &["add", "--no-vectors", "--input", rows.to_str().unwrap()]);
    for told in
        ["line 3", "line 4: `prompt` of an execution is absent", "line 5: unknown field `sucess`"]
    {
        assert!(said.contains(told), "{told} in {said}");
    }
    assert!(said.contains("nothing is logged, because 3 of 4 rows are invalid"), "{said}");
    assert!(!sandbox.path("log.db").exists());
}

#[test]
fn what_is_beyond_the_retention_is_said_to_be_removed() {
    let sandbox = Sandbox::new();
    let rows = sandbox.put("rows.jsonl", log_rows(2));
    let added = feedback(&sandbox, &["add", "--no-vectors", "--input", &rows]);
    assert_eq!((&added["added"], &added["removed"]), (&4.into(), &4.into()));
}

#[test]
fn workflows_and_recommendations_come_with_their_evidence() {
    let sandbox = filled(40);
    let stats = feedback(&sandbox, &["stats", "--tool", "git__commit"]);
    let next = &stats["tools"][0]["next"][0];
    assert_eq!(next["tool"], "git__push");
    assert!(next["probability"].as_f64().unwrap() > 0.5, "{next}");
    let told = feedback(&sandbox, &["recommend"]);
    let told = told.as_array().unwrap();
    let of = |tool: &str| told.iter().find(|told| told["tool"] == tool).unwrap();
    assert_eq!(of("greedy")["fault"], "attracts_wrong_prompts");
    assert!(of("greedy")["evidence"].as_str().unwrap().contains("served by another tool"));
    assert_eq!(
        (&of("idle")["fault"], &of("idle")["priority"]),
        (&"never_chosen".into(), &"low".into())
    );
    let unknown = fails(&sandbox, 3, &["stats", "--tool", "nobody"]);
    assert!(unknown.contains("no execution of `nobody`"), "{unknown}");
}

#[test]
fn two_tools_that_say_the_same_are_told_of() {
    let sandbox = filled(1);
    let tools = "{\"name\":\"send\",\"description\":\"Sends an email to a person\",\"server\":\"mail\"}\n\
                 {\"name\":\"send\",\"description\":\"Sends an email to a person\",\"server\":\"mail2\"}\n\
                 {\"name\":\"read\",\"description\":\"Reads a file from disk\",\"server\":\"fs\"}\n";
    let tools = sandbox.put("tools.jsonl", tools);
    let told =
        feedback(&sandbox, &["recommend", "--tools", &tools, "--model", "static", "--no-save"]);
    let twins: Vec<_> =
        told.as_array().unwrap().iter().filter(|told| told["fault"] == "duplicate").collect();
    assert_eq!(twins.len(), 1, "{told}");
    assert!(twins[0]["tool"].as_str().unwrap().starts_with("mail"), "{told}");
}

#[test]
fn weights_are_shown_applied_and_taken_back() {
    let sandbox = filled(200);
    let shown = feedback(&sandbox, &["weights", "--dry-run"]);
    assert_eq!((&shown["applied"], &shown["unchanged"]), (&false.into(), &Value::Null), "{shown}");
    assert_eq!(shown, feedback(&sandbox, &["weights"]), "a dry run changes nothing");
    assert!(shown["loss_after"].as_f64() < shown["loss_before"].as_f64(), "{shown}");
    assert!(shown["new"]["keyword"].as_f64() > shown["old"]["keyword"].as_f64(), "{shown}");
    let applied = feedback(&sandbox, &["weights", "--apply"]);
    assert_eq!((&applied["applied"], &applied["new"]), (&true.into(), &shown["new"]));
    assert_eq!(feedback(&sandbox, &["weights"])["old"], shown["new"]);
    assert_eq!(feedback(&sandbox, &["weights", "--revert"])["weights"], Value::Null);
    assert_eq!(feedback(&sandbox, &["weights"]), shown);
    assert!(fails(&sandbox, 1, &["weights", "--revert"]).contains("no older weights"));
    let few = filled(4);
    assert_eq!(feedback(&few, &["weights", "--apply"])["unchanged"], "too_few");
}

#[test]
fn applied_weights_keep_every_signal_and_its_answers() {
    // Nothing but its author's pattern says that the tool fits: without `intent` there is no answer.
    let sandbox = Sandbox::new();
    let tools = sandbox.write(
        "tools.jsonl",
        "{\"name\":\"dispatch\",\"server\":\"ops\",\"description\":\"Opens the hatch of the silo\",\
          \"routing\":{\"signals\":[{\"pattern\":\"kalimera\",\"weight\":1.0}]}}\n\
         {\"name\":\"read\",\"server\":\"fs\",\"description\":\"Reads a file from disk\"}\n",
    );
    let log = sandbox.path("log.db");
    let (tools, log) = (tools.to_str().unwrap(), log.to_str().unwrap());
    let route = || {
        let typed = ["route", "--author-signals", "--tools", tools, "--feedback", log, "kalimera"];
        sandbox.json(&typed)["tools"][0]["id"].clone()
    };
    assert_eq!(route(), "ops__dispatch");
    let signals = "phase language complexity task_type history intent web priority hierarchy \
                   latency cost workflow planned";
    let row = |n: u32| {
        let good = f64::from(n % 10) / 10.0;
        let mut parts = json!({"semantic": good, "keyword": f64::from(n * 31 % 97) / 97.0});
        for (at, signal) in (0u32..).zip(signals.split_whitespace()) {
            parts[signal] = json!(f64::from((n + at) * 37 % 11) / 10.0);
        }
        let success = f64::from(n * 7_919 % 100) / 100.0 < 0.2 + 0.7 * good;
        json!({"tool": format!("s__t{}", n % 50), "prompt": format!("p{n}"), "success": success,
               "session": n.to_string(), "choice": {"parts": parts}})
        .to_string()
    };
    let rows = sandbox.put("rows.jsonl", (0..400).map(row).collect::<Vec<_>>().join("\n"));
    feedback(&sandbox, &["add", "--no-vectors", "--input", &rows]);
    let applied = feedback(&sandbox, &["weights", "--apply"]);
    assert_eq!(applied["applied"], true, "{applied}");
    assert_eq!(
        (&applied["old"]["intent"], &applied["old"]["semantic"]),
        (&json!(0.7), &json!(0.7))
    );
    for (signal, old) in applied["old"].as_object().unwrap() {
        let (old, new) = (old.as_f64().unwrap(), applied["new"][signal].as_f64().unwrap());
        assert!((new - old).abs() <= 0.05 + 1e-9, "{signal}: {old} to {new}");
        assert_eq!(new > 0.0, old > 0.0, "{signal}: {old} to {new}");
    }
    assert_eq!(route(), "ops__dispatch");
    let history = feedback(&sandbox, &["weights", "--history"]);
    assert_eq!((&history[0]["action"], history.as_array().unwrap().len()), (&json!("apply"), 1));
    assert_eq!(history[0]["weights"]["intent"], applied["new"]["intent"]);
}

#[test]
fn a_hundred_lies_move_a_score_by_no_more_than_is_promised() {
    let sandbox = Sandbox::new();
    let prompt = "send a message to a friend";
    let add = |tool: &str, good: u32, runs: u32, session: &str| {
        let row = |n: u32| {
            json!({"tool": tool, "prompt": prompt, "success": n < good,
                   "session": format!("{session} {}", n % 100)})
        };
        let rows: Vec<String> = (0..runs).map(|n| row(n).to_string()).collect();
        let rows = sandbox.put("rows.jsonl", rows.join("\n"));
        let typed = ["add", "--model", "static", "--input", &rows];
        feedback(&sandbox, &typed);
    };
    let log = sandbox.arg("log.db");
    let own = |tool: &str| {
        let typed = ["route", "--tools", &crate::support::samples(), "--model", "static"];
        let ranked = [&typed[..], &["--limit", "50", "--min-confidence", "0"]].concat();
        let answer = sandbox.json(&[&ranked[..], &["--feedback", &log, prompt]].concat());
        let tools = answer["tools"].as_array().unwrap();
        let found = tools.iter().find(|found| found["id"] == tool).unwrap();
        let parts = found["explanation"]["parts"].as_array().unwrap();
        let blend: f64 = parts
            .iter()
            .filter(|part| part["name"] == "semantic" || part["name"] == "keyword")
            .map(|part| part["contribution"].as_f64().unwrap())
            .sum();
        (found["score"].as_f64().unwrap(), blend)
    };
    add("mail__send_email", 8, 10, "honest");
    let (before, _) = own("mail__send_email");
    let lie = |n: u32| json!({"tool": "mail__send_email", "prompt": prompt, "success": true, "session": "liar", "feedback": n.to_string()});
    let rows: Vec<String> = (0..100).map(|n| lie(n).to_string()).collect();
    let rows = sandbox.put("lies.jsonl", rows.join("\n"));
    feedback(&sandbox, &["add", "--model", "static", "--input", &rows]);
    let (after, blend) = own("mail__send_email");
    assert!(after > before, "the lies are read: {before} to {after}");
    assert!(after - before <= 0.034 * blend + 1e-6, "{before} to {after} of {blend}");
    // Honest failures weigh more than any praise: a tool that fails falls below its own score.
    add("mail__send_email", 0, 90, "honest");
    assert!(own("mail__send_email").0 < before);
}

#[test]
fn tools_days_and_everything_can_be_forgotten() {
    let sandbox = filled(30);
    assert_eq!(feedback(&sandbox, &["forget", "--tool", "git__push"])["forgotten"], 30);
    // 2023-11-14 22:13 is the first execution; an hour each.
    assert_eq!(feedback(&sandbox, &["forget", "--before", "2023-11-15"])["forgotten"], 2);
    let left = feedback(&sandbox, &["stats"]);
    assert_eq!((&left["executions"], &left["tools"][0]["id"]), (&28.into(), &"git__commit".into()));
    assert!(fails(&sandbox, 2, &["forget", "--before", "yesterday"]).contains("2026-01-31"));
    fails(&sandbox, 2, &["forget"]);
    fails(&sandbox, 2, &["forget", "--all", "--tool", "x"]);
    assert_eq!(feedback(&sandbox, &["forget", "--all"])["forgotten"], 28);
    assert_eq!(feedback(&sandbox, &["stats"])["executions"], 0);
}

#[test]
fn looking_makes_no_log_and_a_foreign_file_is_left_alone() {
    let sandbox = Sandbox::new();
    assert!(fails(&sandbox, 5, &["stats"]).contains("feedback add` makes one"));
    assert!(!sandbox.path("log.db").exists());
    let notes = sandbox.write("log.db", "these are my notes, and nobody's log");
    let add = ["add", "--tool", "a", "--prompt", "p", "--outcome", "success", "--no-vectors"];
    for args in [&["stats"][..], &["forget", "--all"], &add] {
        assert!(fails(&sandbox, 3, args).contains("is not a log of executions"));
    }
    assert_eq!(fs::read_to_string(notes).unwrap(), "these are my notes, and nobody's log");
}

#[test]
fn the_log_lies_in_the_data_folder_or_where_a_variable_says() {
    let sandbox = Sandbox::new();
    let add =
        ["feedback", "add", "--tool", "a", "--prompt", "p", "--outcome", "success", "--no-vectors"];
    let mut command = sandbox.toolroute();
    command.env_remove("TOOLROUTE_FEEDBACK").env("XDG_DATA_HOME", sandbox.path("data"));
    command.args(add).assert().success();
    assert!(sandbox.path("data/toolroute/feedback.db").exists());
    let mut command = sandbox.toolroute();
    command.env("TOOLROUTE_FEEDBACK", sandbox.path("chosen.db")).args(add).assert().success();
    assert!(sandbox.path("chosen.db").exists());
}

fn engine(sandbox: &Sandbox) -> Engine {
    let catalog = Catalog::from_tools(vec![
        Tool::new(Some("fs"), "read_file", "Reads a file from disk"),
        Tool::new(Some("mail"), "send_email", "Sends an email to a person"),
    ])
    .catalog;
    let model = std::sync::Arc::new(StaticEmbedder::built_in().unwrap());
    let builder = Engine::builder(catalog).embedder(model);
    builder.feedback(sandbox.path("engine.db"), StoreOptions::default()).build().unwrap()
}

#[test]
fn an_engine_records_what_came_of_its_answers_and_learns_of_it() {
    let sandbox = Sandbox::new();
    let engine_a = engine(&sandbox);
    let prompt = "send an email to Dana";
    let selection = engine_a.select(&SelectRequest::new(prompt)).unwrap();
    let tool = selection.tools[0].tool.id.clone();
    for n in 0..20 {
        let mut run = selection.offer(prompt).execution(&tool, true);
        (run.duration_ms, run.session) = (Some(30), Some(format!("s{n}")));
        assert_eq!(engine_a.record(run).unwrap(), RecordOutcome::Queued);
    }
    engine_a.recorder().unwrap().flush().unwrap();
    let observed = engine_a.observed();
    let seen = observed.tool("mail__send_email").unwrap();
    assert_eq!((seen.runs, seen.successes, seen.latency_ms), (20, 20, Some(30.0)));
    assert!(observed.version() > 1);
    assert_eq!(engine_a.recorder().unwrap().counts().written, 20);
    // What cannot be queued is not counted, and the queue is as it is now, not as at the last record.
    let nameless = Execution::new("".into(), prompt, true);
    assert!(engine_a.record(nameless).is_err());
    let counted = engine_a.metrics().text();
    for line in ["executions_total{outcome=\"succeeded\"} 20", "queue_waiting 0"] {
        assert!(counted.contains(line), "{line} is not in\n{counted}");
    }
    // What the last one did not wait for is written all the same.
    engine_a.record(selection.offer(prompt).execution(&tool, false)).unwrap();
    drop(engine_a);
    let engine_b = engine(&sandbox);
    assert_eq!(engine_b.observed().tool("mail__send_email").unwrap().runs, 21);
    let log = sandbox.arg("engine.db");
    let exported = sandbox.run(&["feedback", "export", "--feedback", &log]);
    let first = String::from_utf8(exported.stdout).unwrap();
    let first: Value = serde_json::from_str(first.lines().next().unwrap()).unwrap();
    assert_eq!((&first["choice"]["rank"], &first["prompt"]), (&1.into(), &Value::Null));
    assert!(first["choice"]["parts"]["semantic"].as_f64().unwrap() > 0.0);
    assert!(first["vector"]["values"].is_array(), "embedded in the background");
}

#[test]
fn an_engine_without_a_log_says_so() {
    let engine = Engine::builder(Catalog::default()).build().unwrap();
    let run = toolroute_rank::feedback::Execution::new("a".into(), "p", true);
    assert!(engine.record(run).unwrap_err().to_string().contains("no log of executions"));
    assert_eq!(engine.observed().executions(), 0);
}

#[test]
fn a_prompt_without_words_is_not_logged() {
    let sandbox = Sandbox::new();
    let row = |prompt: &str| json!({"tool": "t", "success": true, "prompt": prompt}).to_string();
    for empty in ["", "?"] {
        let typed = ["add", "--tool", "t", "--prompt", empty, "--outcome", "success"];
        let said = fails(&sandbox, 3, &typed);
        assert!(said.contains("the prompt is empty"), "{said}");
        let rows = sandbox.put("rows.jsonl", row(empty));
        let said = fails(&sandbox, 3, &["add", "--input", &rows]);
        assert!(said.contains("the prompt is empty"), "{said}");
    }
    let none = sandbox.write("none.jsonl", "\n");
    let said = fails(&sandbox, 3, &["add", "--input", none.to_str().unwrap()]);
    assert!(said.contains("found none"), "{said}");
    assert!(!sandbox.path("log.db").exists());
    // Either name, or both with the same text.
    for (more, code) in [("send it", 0), ("other", 3)] {
        let mut both: Value = serde_json::from_str(&row("send it")).unwrap();
        both["query"] = json!(more);
        let rows = sandbox.write("rows.jsonl", both.to_string());
        let log = sandbox.path("log.db");
        let mut command = sandbox.toolroute();
        command.args(["feedback", "add", "--no-vectors", "--input"]).arg(rows);
        command.arg("--feedback").arg(log).assert().code(code);
    }
}
