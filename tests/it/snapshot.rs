//! Vectors on disk: kept, reused, and never trusted when they are not what they should be.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{CommandExt as _, Sandbox, ids, model_dir};

const TOOLS: &str = "{\"name\": \"send_email\", \"description\": \"Sends an email to a person\"}\n\
                     {\"name\": \"get_weather\", \"description\": \"Tells the weather of a city\"}\n\
                     {\"name\": \"read_file\", \"description\": \"Reads a file from disk\"}\n";

struct Indexed {
    sandbox: Sandbox,
    tools: String,
    snapshot: String,
}

impl Indexed {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let tools = sandbox.write("tools.jsonl", TOOLS).to_string_lossy().into_owned();
        let snapshot = sandbox.path("kept.snapshot").to_string_lossy().into_owned();
        let this = Self { sandbox, tools, snapshot };
        assert_eq!(this.index()["snapshot"]["state"], "created");
        this
    }

    fn index(&self) -> Value {
        self.sandbox.json(&["index", "--tools", &self.tools, "--index", &self.snapshot])
    }

    fn route(&self) -> Value {
        let args = ["route", "--tools", &self.tools, "--index", &self.snapshot, "mail Dana"];
        self.sandbox.json(&args)
    }
}

#[test]
fn a_second_run_embeds_nothing_and_a_changed_text_alone_is_embedded() {
    let indexed = Indexed::new();
    let again = indexed.index();
    assert_eq!((&again["embedded"], &again["snapshot"]["state"]), (&0.into(), &"fresh".into()));
    fs::write(&indexed.tools, TOOLS.replace("from disk", "from the disk")).unwrap();
    let changed = indexed.index();
    assert_eq!((&changed["embedded"], &changed["reused"]), (&1.into(), &2.into()));
    assert_eq!(changed["snapshot"]["state"], "updated");
    fs::write(&indexed.tools, TOOLS.lines().next().unwrap()).unwrap();
    assert_eq!(indexed.index()["embedded"], 0);
    assert_eq!(indexed.index()["snapshot"]["state"], "fresh");
}

#[test]
fn a_damaged_snapshot_is_rebuilt_and_the_answer_stays() {
    let indexed = Indexed::new();
    let right = indexed.route();
    assert_eq!(ids(&right)[0], "send_email");
    let whole = fs::read(&indexed.snapshot).unwrap();
    let cut = |at: usize| whole[..at].to_vec();
    let flip = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    let version = {
        let mut bytes = whole.clone();
        bytes[8] = 99;
        bytes
    };
    let end = whole.len();
    let damages = [
        cut(0),
        cut(7),
        cut(40),
        cut(end / 2),
        cut(end - 1),
        flip(13),
        flip(60),
        flip(end / 2),
        flip(end - 1),
        version,
        [whole.as_slice(), b"more"].concat(),
    ];
    for (at, damaged) in damages.into_iter().enumerate() {
        fs::write(&indexed.snapshot, damaged).unwrap();
        assert_eq!(indexed.route(), right, "damage {at}");
        assert_eq!(indexed.index()["snapshot"]["state"], "fresh", "damage {at}");
        assert_eq!(fs::read(&indexed.snapshot).unwrap(), whole, "damage {at}");
    }
}

#[test]
fn a_file_that_never_was_a_snapshot_is_refused_where_it_was_named() {
    let indexed = Indexed::new();
    let mut bytes = fs::read(&indexed.snapshot).unwrap();
    bytes[2] ^= 1;
    for foreign in [b"my notes".to_vec(), bytes] {
        fs::write(&indexed.snapshot, &foreign).unwrap();
        for command in [&["index"][..], &["route", "mail Dana"]] {
            let place = ["--tools", &indexed.tools, "--index", &indexed.snapshot];
            let said = indexed.sandbox.fails(3, &[command, &place[..]].concat());
            assert!(said.contains("is not a snapshot"), "{said}");
            assert_eq!(fs::read(&indexed.snapshot).unwrap(), foreign);
        }
    }
}

#[test]
fn a_file_that_never_was_a_snapshot_is_moved_aside_in_the_cache() {
    let sandbox = Sandbox::new();
    let tools = sandbox.write("tools.jsonl", TOOLS).to_string_lossy().into_owned();
    let path = sandbox.json(&["index", "--tools", &tools])["path"].as_str().unwrap().to_owned();
    for (notes, kept) in [("first", ".not-a-snapshot"), ("second", ".not-a-snapshot.2")] {
        fs::write(&path, notes).unwrap();
        let output = sandbox.run(&["index", "--tools", &tools]);
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8(told).unwrap();
        assert_eq!(told.matches("is not a snapshot").count(), 1, "{told}");
        assert_eq!(fs::read_to_string(format!("{path}{kept}")).unwrap(), notes);
    }
}

#[test]
fn the_vectors_of_another_model_are_not_used() {
    let indexed = Indexed::new();
    // The same weights with another pooling are another model.
    let other = indexed.sandbox.path("other");
    copy_folder(&model_dir(), &other);
    let pooling = other.join("1_Pooling/config.json");
    let text = fs::read_to_string(&pooling).unwrap();
    let text = text.replace("cls_token\": false", "cls_token\": true");
    fs::write(&pooling, text.replace("mean_tokens\": true", "mean_tokens\": false")).unwrap();
    let other = other.to_str().unwrap();
    let args = ["index", "--tools", &indexed.tools, "--index", &indexed.snapshot, "--model", other];
    let report = indexed.sandbox.json(&args);
    assert_eq!((&report["embedded"], &report["snapshot"]["state"]), (&3.into(), &"rebuilt".into()));
    assert!(report["snapshot"]["because"].as_str().unwrap().contains("was made by"));
}

#[test]
fn index_fails_where_nothing_can_be_kept_and_a_cache_that_cannot_be_made_costs_a_warning() {
    let sandbox = Sandbox::new();
    let tools = &sandbox.put("tools.jsonl", TOOLS);
    // A file where the folder should be, as on a disk that cannot be written.
    sandbox.write("cache", "");
    let folder = sandbox.dir.path().to_str().unwrap();
    for more in [&[][..], &["--index", folder]] {
        let output = sandbox.run(&[&["route", "--tools", tools, "mail Dana"], more].concat());
        assert!(String::from_utf8(output.stdout).unwrap().contains("send_email"));
        assert!(String::from_utf8_lossy(&output.stderr).contains("the vectors are not kept"));
    }
    let failed = sandbox.toolroute().args(["index", "--tools", tools]).assert().code(5);
    let output = failed.get_output();
    assert!(!String::from_utf8_lossy(&output.stdout).contains(".snapshot"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.matches("the vectors are not kept").count(), 1, "{said}");
    // A variable for other days does not stand in the way of the flag.
    let named = sandbox.path("named");
    let args = ["route", "--no-save", "--tools", tools, "mail Dana"];
    sandbox.toolroute().args(args).env("TOOLROUTE_INDEX", &named).assert().success();
    assert!(!named.exists());
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
