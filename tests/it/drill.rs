//! The fault drill: many calls, a fifth of them to tools that fail, and what comes of it.
//!
//! The servers are `tests/servers/faulty.py` and, where `TOOLROUTE_DRILL_NPM` names a folder with
//! them (`scripts/fault_drill.sh` makes one), well-known ones of the npm registry.
//! `TOOLROUTE_DRILL_CALLS` says how many calls; the last line is JSON with what was counted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolroute::Tool;
use toolroute_run::execution::{
    Call, Candidate, Entry, Executor, ExecutorOptions, LoopGuard, McpOptions, Origin, Outcome,
    Program, Report, Request, Retries, Servers, ServersFile,
};

use crate::support::repo;

/// Ways in which a primary fails, each a tool of the faulty server.
const FAULTS: [&str; 9] =
    ["crash", "slow", "garbage", "odd", "error", "rpc_error", "liar", "empty", "gone"];

/// Writes that fail after they were made.
const WRITES: [&str; 4] = ["write_crash", "write_slow", "write_error", "write_fine"];

/// Programs whose command line holds a mark, zombies excepted.
pub fn processes(mark: &str) -> Vec<String> {
    let all = std::fs::read_dir("/proc").expect("a proc file system").flatten();
    all.filter_map(|entry| {
        entry.file_name().to_str()?.parse::<u32>().ok()?;
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        (line.contains(mark) && !line.contains("toolroute ")).then_some(line)
    })
    .collect()
}

/// Waits for the processes of a mark to be gone, on a machine that may be busy; those that are left.
pub fn left_over(mark: &str) -> Vec<String> {
    let began = Instant::now();
    loop {
        let left = processes(mark);
        if left.is_empty() || began.elapsed() > Duration::from_secs(30) {
            return left;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

pub fn python() -> &'static str {
    static FOUND: LazyLock<String> = LazyLock::new(|| {
        let found = std::process::Command::new("python3")
            .args(["-c", "import sys; print(sys.executable)"])
            .output();
        let found = found.ok().filter(|found| found.status.success());
        let found = found.expect("python3 runs: the servers of these tests are written in it");
        String::from_utf8(found.stdout).expect("UTF-8").trim().to_owned()
    });
    &FOUND
}

pub fn faulty(mark: &str, more: &[&str]) -> Program {
    let script = repo("tests/servers/faulty.py");
    let fixed = [script.to_str().expect("UTF-8").to_owned(), mark.to_owned()];
    Program {
        command: python().to_owned(),
        args: fixed.into_iter().chain(more.iter().map(|arg| (*arg).to_owned())).collect(),
        ..Program::default()
    }
}

struct Drill {
    executor: Executor,
    journal: PathBuf,
    mark: String,
    npm: Vec<(Arc<Tool>, Value)>,
    _folder: tempfile::TempDir,
}

fn reading(server: &str, name: &str) -> Arc<Tool> {
    tool(server, name, true)
}

fn tool(server: &str, name: &str, reads: bool) -> Arc<Tool> {
    let mut tool = Tool::new(Some(server), name, "");
    tool.hints.read_only = reads.then_some(true);
    let schema = json!({"type": "object", "required": ["query"], "properties": {"query": {"type": "string"}}});
    let raw = serde_json::value::to_raw_value(&schema).expect("JSON");
    tool.input_schema = Some(toolroute_catalog::Schema::new(raw));
    Arc::new(tool)
}

impl Drill {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let journal = folder.path().join("journal");
        // Every program of the drill has a path below the folder in its command line.
        let mark = folder.path().to_str().expect("UTF-8").to_owned();
        let path = journal.to_str().expect("UTF-8");
        let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
        for name in ["primary", "secondary", "writes"] {
            let program = faulty(&mark, &["--journal", path]);
            entries.insert(name.to_owned(), Entry::Stdio(program));
        }
        for mode in ["mute", "garbage", "dies", "orphan"] {
            let program = faulty(&mark, &["--mode", mode]);
            entries.insert(mode.to_owned(), Entry::Stdio(program));
        }
        npm_servers(&mark, folder.path(), &mut entries);
        let file: ServersFile = entries.into_iter().collect();
        // Node takes a while on a busy machine; the mute servers are waited for as long.
        let patience = if entries_of_npm(&file) { 30 } else { 5 };
        let options = McpOptions {
            start_timeout: Duration::from_secs(patience),
            check_timeout: Duration::from_secs(2),
            ..McpOptions::default()
        };
        let (servers, problems) = Servers::open(&file, &options);
        assert_eq!(problems, [] as [&str; 0]);
        let mut executor = ExecutorOptions::default();
        executor.timing.default_timeout = Duration::from_millis(1_500);
        executor.timing.retries =
            Retries { first_pause: Duration::from_millis(20), ..Retries::default() };
        executor.breakers.open_for = Duration::from_millis(400);
        executor.breakers.open_for_at_most = Duration::from_millis(400);
        let npm = npm_tools(&servers, folder.path()).await;
        Self { executor: Executor::new(servers, executor), journal, mark, npm, _folder: folder }
    }

    async fn call(&self, candidates: &[Arc<Tool>], arguments: &Value) -> Report {
        let candidates: Vec<Candidate> = candidates
            .iter()
            .enumerate()
            .map(|(nth, tool)| Candidate {
                tool: Arc::clone(tool),
                origin: if nth == 0 { Origin::Asked } else { Origin::SameType },
                safe_after_write: false,
            })
            .collect();
        let request = Request {
            candidates: &candidates,
            arguments: arguments.as_object().expect("an object"),
            guard: &LoopGuard::default(),
            confirmed: true,
            question: "",
            budget_tokens: None,
            user: None,
            on_event: &|_| {},
        };
        self.executor.call(&request).await
    }
}

fn entries_of_npm(file: &ServersFile) -> bool {
    file.entries.contains_key("everything")
}

/// Real servers, each started by its own script so that the mark stands in the command line.
fn npm_servers(mark: &str, folder: &Path, entries: &mut BTreeMap<String, Entry>) {
    let Some(npm) = std::env::var_os("TOOLROUTE_DRILL_NPM").map(PathBuf::from) else { return };
    let files = folder.join("files");
    std::fs::create_dir_all(&files).expect("a folder");
    std::fs::write(files.join("note.txt"), "a note").expect("a file");
    let scoped = npm.join("node_modules/@modelcontextprotocol");
    for (name, package, argument) in [
        ("everything", "server-everything", "stdio"),
        ("filesystem", "server-filesystem", files.to_str().expect("UTF-8")),
        ("memory", "server-memory", ""),
        ("thinking", "server-sequential-thinking", ""),
    ] {
        let script = scoped.join(package).join("dist/index.js");
        if !script.exists() {
            println!("SKIPPED: {} is not installed", script.display());
            continue;
        }
        let script = script.to_str().expect("UTF-8").to_owned();
        let mut args = vec![script];
        args.extend((!argument.is_empty()).then(|| argument.to_owned()));
        args.push(mark.to_owned());
        // The file server takes every argument for a folder.
        if name == "filesystem" {
            args.pop();
        }
        let memory = folder.join("memory.jsonl");
        let env = [("MEMORY_FILE_PATH", memory.to_str().expect("UTF-8"))];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut program = Program { command: "node".to_owned(), args, env, cwd: None };
        program.env.insert("PATH".to_owned(), path);
        entries.insert(name.to_owned(), Entry::Stdio(program));
    }
}

/// A read of each real server, by what the server itself lists.
async fn npm_tools(servers: &Servers, folder: &Path) -> Vec<(Arc<Tool>, Value)> {
    let note = folder.join("files/note.txt");
    let wanted = [
        ("everything", "echo", json!({"message": "hello"})),
        ("filesystem", "read_text_file", json!({"path": note})),
        ("memory", "read_graph", json!({})),
        (
            "thinking",
            "sequentialthinking",
            json!({"thought": "a", "thoughtNumber": 1,
            "totalThoughts": 1, "nextThoughtNeeded": false}),
        ),
    ];
    let names: Vec<String> = servers.names().map(str::to_owned).collect();
    let asked =
        wanted.iter().map(|(name, ..)| (*name).to_owned()).filter(|name| names.contains(name));
    let listed = servers.list(asked).await;
    let mut tools = Vec::new();
    for (server, name, arguments) in wanted {
        let Some(listed) = listed.get(server) else { continue };
        let listed = listed.as_ref().expect("a real server lists its tools");
        let tool = listed.iter().find(|tool| tool.name == name).expect("a tool of the server");
        let mut tool = tool.clone();
        tool.hints.read_only = Some(true);
        tools.push((Arc::new(tool), arguments));
    }
    tools
}

#[derive(Default)]
struct Counted {
    failed_primaries: usize,
    recovered: usize,
    with_alternative: usize,
    succeeded: usize,
    raw_errors: usize,
    healthy_failed: usize,
    overhead_ms: Vec<f64>,
}

impl Counted {
    fn note(&mut self, report: &Report, primary_fails: bool) {
        let answered = matches!(report.outcome, Outcome::Answered(_));
        let said = report.outcome.message().unwrap_or_default().to_owned();
        let shown = match &report.outcome {
            Outcome::Answered(answer) => answer.output.text.as_str(),
            _ => said.as_str(),
        };
        let raw = ["RAW-", "-32603", "-32602", "ECONN", "Traceback", "McpError"];
        self.raw_errors += usize::from(raw.iter().any(|raw| shown.contains(raw)));
        self.with_alternative += 1;
        self.succeeded += usize::from(answered);
        if primary_fails {
            self.failed_primaries += 1;
            self.recovered += usize::from(answered);
        } else {
            self.healthy_failed += usize::from(!answered);
            // What the pipeline adds to the invoker's own time.
            self.overhead_ms.push(report.took_ms - report.attempts[0].took_ms);
        }
    }

    fn share(part: usize, whole: usize) -> f64 {
        part as f64 / whole.max(1) as f64
    }
}

fn percentile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values
        .get(((values.len() as f64 * share) as usize).min(values.len().saturating_sub(1)))
        .copied()
        .unwrap_or(0.0)
}

/// One call in five goes to a primary that fails, each failure in turn; one in ten of the others
/// to a real server.
async fn reads(drill: &Drill, calls: usize, counted: &mut Counted) {
    let spare = reading("secondary", "fine");
    let modes = ["mute", "garbage", "dies", "orphan"];
    for nth in 0..calls {
        let arguments = json!({ "query": format!("call {nth}") });
        if nth % 5 == 0 {
            let turn = nth / 5;
            // A whole server that never comes up is met less often: its start is waited for.
            let primary = match turn % 20 {
                19 => reading(modes[turn / 20 % modes.len()], "crash"),
                _ => reading("primary", FAULTS[turn % FAULTS.len()]),
            };
            let report = drill.call(&[primary, Arc::clone(&spare)], &arguments).await;
            counted.note(&report, true);
        } else if let Some((tool, arguments)) = drill.npm.get((nth + 39) % 40) {
            counted.note(&drill.call(&[Arc::clone(tool)], arguments).await, false);
        } else {
            let report = drill
                .call(&[reading("secondary", "fine"), reading("writes", "fine")], &arguments)
                .await;
            counted.note(&report, false);
        }
    }
}

/// Writes that fail after they were made, with another tool that would write the same.
async fn writes(drill: &Drill, calls: usize, counted: &mut Counted) -> usize {
    for nth in 0..calls {
        let arguments = json!({ "query": format!("write {nth}") });
        let name = WRITES[nth % WRITES.len()];
        let candidates = [tool("writes", name, false), tool("secondary", "write_fine", false)];
        let report = drill.call(&candidates, &arguments).await;
        let mut alone = Counted::default();
        alone.note(&report, true);
        counted.raw_errors += alone.raw_errors;
    }
    let journal = std::fs::read_to_string(&drill.journal).unwrap_or_default();
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for line in journal.lines().filter(|line| line.starts_with("write ")) {
        *times.entry(line).or_default() += 1;
    }
    assert!(!times.is_empty(), "no write was made at all");
    times.values().filter(|times| **times > 1).count()
}

/// The same tool called past the executor and through it, in turn.
async fn overhead(drill: &Drill, calls: usize) -> (f64, f64, f64) {
    let tool = reading("secondary", "fine");
    let (mut direct, mut through, mut added) = (Vec::new(), Vec::new(), Vec::new());
    for nth in 0..calls {
        let arguments = json!({ "query": format!("healthy {nth}") });
        let invoker = drill.executor.servers().of(&tool).expect("a known server");
        let began = Instant::now();
        let given = arguments.as_object().expect("an object");
        let call =
            Call { tool: &tool, arguments: given, key: None, on_progress: &|_| {}, user: None };
        invoker.invoke(call).await.expect("an answer");
        direct.push(began.elapsed().as_secs_f64() * 1_000.0);
        let report = drill.call(&[Arc::clone(&tool)], &arguments).await;
        through.push(report.took_ms);
        added.push(report.took_ms - report.attempts[0].took_ms);
    }
    (percentile(&mut direct, 0.99), percentile(&mut through, 0.99), percentile(&mut added, 0.99))
}

#[test]
fn a_fifth_of_the_primaries_fail_and_nobody_notices() {
    let calls =
        std::env::var("TOOLROUTE_DRILL_CALLS").ok().and_then(|n| n.parse().ok()).unwrap_or(100);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let (counted, doubles, timed, mark) = runtime.expect("threads").block_on(async {
        let drill = Drill::new().await;
        let mut counted = Counted::default();
        reads(&drill, calls, &mut counted).await;
        let doubles = writes(&drill, (calls / 20).max(8), &mut counted).await;
        let timed = overhead(&drill, (calls / 2).max(50)).await;
        drill.executor.close().await;
        (counted, doubles, timed, drill.mark.clone())
    });
    let leaked = left_over(&mark);
    let mut within = counted.overhead_ms.clone();
    let told = json!({
        "calls": calls,
        "failed_primaries": counted.failed_primaries,
        "recovered_share": Counted::share(counted.recovered, counted.failed_primaries),
        "success_share": Counted::share(counted.succeeded, counted.with_alternative),
        "raw_errors": counted.raw_errors,
        "leaked_processes": leaked.len(),
        "double_writes": doubles,
        "overhead_p99_ms": timed.2,
        "overhead_within_drill_p99_ms": percentile(&mut within, 0.99),
        "direct_p99_ms": timed.0,
        "through_p99_ms": timed.1,
    });
    println!("{told}");
    assert_eq!(counted.healthy_failed, 0, "{told}");
    assert!(Counted::share(counted.recovered, counted.failed_primaries) >= 0.99, "{told}");
    assert_eq!((counted.raw_errors, leaked.len(), doubles), (0, 0, 0), "{told} {leaked:?}");
}
