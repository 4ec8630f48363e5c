//! The bodies of the fuzz targets under samples that were changed at random: what a stable compiler
//! can do of `fuzz/`.
//!
//! `TOOLROUTE_FUZZ_SECONDS=600 cargo test --test it fuzz` gives each target ten minutes, and
//! `TOOLROUTE_FUZZ_SEED` another start. What fails is written to the system's temporary folder.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Sandbox, repo, samples};

mod bodies;

/// Longer than this on one input is a hang.
const LONGEST: Duration = Duration::from_secs(20);
const MOST_BYTES: usize = 1 << 16;

/// What formats trip over.
const TOKENS: [&str; 28] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "null",
    "true",
    "-1",
    "1e999",
    "18446744073709551616",
    "\\ud800",
    "\\u0000",
    "\u{0}",
    "\u{feff}",
    "\u{200b}",
    "\u{1b}]8;;",
    "$ref",
    "#/components/schemas/A",
    "&a *a",
    "<<: *a",
    "${",
    "${A:-${B}}",
    "properties",
    "inputSchema",
    "tools",
    "\n---\n",
];

/// Xorshift: the same changes for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most.max(1) as u64) as usize
    }

    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        start..start + self.below((length - start).min(64) + 1)
    }
}

fn change(data: &mut Vec<u8>, samples: &[Vec<u8>], dice: &mut Dice) {
    let range = dice.range(data.len());
    match dice.below(7) {
        0 if !data.is_empty() => {
            let at = dice.below(data.len());
            data[at] ^= 1 << dice.below(8);
        }
        1 => drop(data.drain(range)),
        2 => {
            let token = TOKENS[dice.below(TOKENS.len())].as_bytes();
            data.splice(range, token.iter().copied());
        }
        3 => {
            let token = TOKENS[dice.below(TOKENS.len())].as_bytes().repeat(1 + dice.below(300));
            data.splice(range.start..range.start, token);
        }
        4 => {
            let other = &samples[dice.below(samples.len())];
            let part = dice.range(other.len());
            data.splice(range, other[part].iter().copied());
        }
        5 => {
            let part = data[range.clone()].repeat(1 + dice.below(8));
            data.splice(range.start..range.start, part);
        }
        _ => data.truncate(range.start),
    }
    data.truncate(MOST_BYTES);
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn drive(name: &str, samples: Vec<Vec<u8>>, body: fn(&[u8])) {
    let mut dice = Dice(number("TOOLROUTE_FUZZ_SEED", 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let until = Instant::now() + Duration::from_secs(number("TOOLROUTE_FUZZ_SECONDS", 2));
    let kept = std::env::temp_dir().join(format!("toolroute-fuzz-{name}"));
    samples.iter().for_each(|sample| body(sample));
    let mut inputs = 0u64;
    while Instant::now() < until {
        let mut data = samples[dice.below(samples.len())].clone();
        for _ in 0..1 + dice.below(6) {
            change(&mut data, &samples, &mut dice);
        }
        let start = Instant::now();
        let failed = std::panic::catch_unwind(|| body(&data)).is_err();
        if failed || start.elapsed() > LONGEST {
            std::fs::write(&kept, &data).unwrap();
            panic!("{name}: an input of {} bytes fails or hangs: {}", data.len(), kept.display());
        }
        inputs += 1;
    }
    eprintln!("{name}: {inputs} inputs");
}

fn files(folder: PathBuf) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.is_file()).collect();
    files.sort();
    let short = |bytes: Vec<u8>| bytes[..bytes.len().min(MOST_BYTES)].to_vec();
    files.iter().map(|path| short(std::fs::read(path).unwrap())).collect()
}

#[test]
fn tools_lists() {
    let samples = ["formats", "captured", "bad"].map(|name| files(repo("tests/data").join(name)));
    drive("tools_list", samples.concat(), bodies::tools_list);
}

#[test]
fn api_descriptions() {
    let names = ["openapi.json", "openapi.yaml"].map(|name| format!("tests/data/formats/{name}"));
    drive(
        "openapi",
        names.map(|name| std::fs::read(repo(&name)).unwrap()).to_vec(),
        bodies::openapi,
    );
}

#[test]
fn configurations() {
    let servers = r#"{"mcpServers": {"a": {"command": "npx", "args": ["-y", "${HOME}/x"], "env": {"K": "${TOKEN:-t}"}},
        "b": {"type": "http", "url": "https://e.org/${env:PATH}", "headers": {"Authorization": "Bearer ${T}"}, "allowPrivate": false},
        "c": {"type": "process", "command": "x", "tools": [{"name": "t"}]}, "d": {"type": "openapi"}}}"#;
    let settings = "strategy = \"hybrid\"\nlimit = 5\n[policy]\nmax_per_server = 3\n[signals]\nurgency = 0.1\n[profiles]\na = [\"x__*\"]\n";
    drive("configuration", vec![servers.into(), settings.into()], bodies::configuration);
}

#[test]
fn snapshots() {
    let sandbox = Sandbox::new();
    let file = sandbox.arg("kept.snapshot");
    sandbox.run(&["index", "--tools", &samples(), "--model", "static", "--index", &file]);
    let whole = std::fs::read(file).unwrap();
    // The header and a little more is what is read before the checksum.
    let start = whole[..whole.len().min(4_096)].to_vec();
    drive("snapshot", vec![start, whole], bodies::snapshot);
}

#[test]
fn filter_bodies() {
    let tool = |name: &str| json!({"type": "function", "function": {"name": name, "description": "Gets it", "parameters": {"type": "object"}}});
    let flat = |name: &str| json!({"name": name, "description": "Gets it", "input_schema": {"type": "object"}});
    let bodies = [
        json!({"model": "m", "messages": [{"role": "user", "content": "get the weather"}],
            "tools": [tool("weather"), tool("news"), tool("mail"), {"type": "web_search"}], "tool_choice": "auto"}),
        json!({"model": "m", "system": "s", "messages": [{"role": "user", "content": [{"type": "text", "text": "read a\u{200b}"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "b", "input": {}}]}],
            "tools": [flat("a"), flat("b"), flat("c"), {"type": "bash_20250124", "name": "bash"}], "tool_choice": {"type": "tool", "name": "c"}}),
        json!({"model": "m", "input": [{"type": "message", "role": "user", "content": "x"}],
            "tools": [{"type": "function", "name": "a"}, {"type": "function", "name": "b"}, {"type": "mcp"}]}),
        json!({"messages": [], "functions": [{"name": "a"}, {"name": "b"}], "function_call": {"name": "a"}}),
    ];
    drive("filter", bodies.map(|body| body.to_string().into_bytes()).to_vec(), bodies::filter);
}
