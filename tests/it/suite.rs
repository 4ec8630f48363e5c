//! `toolroute eval --suite`: many sets, their intervals, and the gate that keeps the ranking from getting
//! worse.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::{CommandExt as _, Sandbox, repo, shared};

/// The least nDCG@5 that the gate lets through.
const GATE: &str = "tests/data/gate.toml";
/// Sets of the gate that are no part of this repository.
const SHARED_SETS: &str = "mcpproxy_golden,mcptoolbenchpp";

/// A suite of the sample catalog with its prompts, under the name `sample`.
fn sample_suite(sandbox: &Sandbox) -> PathBuf {
    let set = sandbox.path("suite").join("sample");
    std::fs::create_dir_all(set.join("tools")).unwrap();
    for entry in std::fs::read_dir(repo("examples/catalog")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, set.join("tools").join(path.file_name().unwrap())).unwrap();
    }
    std::fs::copy(repo("examples/queries.jsonl"), set.join("queries.jsonl")).unwrap();
    sandbox.path("suite")
}

/// A small set beside the sample, with prompts that no tool serves.
fn add_small_set(sandbox: &Sandbox) {
    let set = sandbox.path("suite").join("<small> & odd");
    std::fs::create_dir_all(&set).unwrap();
    let tools = "{\"server\":\"mail\",\"name\":\"send\",\"description\":\"Sends an email\"}\n\
                 {\"server\":\"fs\",\"name\":\"read_file\",\"description\":\"Reads a file\"}\n";
    let queries = "{\"query\":\"write to Dana by email\",\"gold\":[\"mail__send\"]}\n\
                   {\"query\":\"what is in that file\",\"gold\":[\"fs__read_file\"]}\n\
                   no row\n";
    let off_topic = "{\"query\":\"water the tomatoes\",\"gold\":[]}\n{\"query\":\"play chess\"}\n";
    std::fs::write(set.join("tools.jsonl"), tools).unwrap();
    std::fs::write(set.join("queries.jsonl"), queries).unwrap();
    std::fs::write(set.join("offtopic.jsonl"), off_topic).unwrap();
}

fn is_interval(found: &Value) -> bool {
    let [low, mean, high] = ["low", "mean", "high"].map(|name| found[name].as_f64().unwrap());
    low <= mean && mean <= high
}

#[test]
fn the_ranking_is_not_below_the_gate() {
    let sandbox = Sandbox::new();
    let suite = sample_suite(&sandbox);
    let gate = std::fs::read_to_string(repo(GATE)).unwrap();
    let gate: BTreeMap<String, BTreeMap<String, f64>> = toml::from_str(&gate).unwrap();
    let check = |suite: &str, more: &[&str], sets: usize| {
        let report = sandbox.json(&[&["eval", "--suite", suite][..], more].concat());
        let measured = report["sets"].as_array().unwrap();
        assert_eq!(measured.len(), sets);
        for set in measured {
            for (strategy, least) in &gate[set["set"].as_str().unwrap()] {
                let found = set["strategies"][strategy]["ndcg@5"]["mean"].as_f64().unwrap();
                assert!(found >= *least, "{} {strategy}: {found} is below {least}", set["set"]);
            }
        }
    };
    check(suite.to_str().unwrap(), &[], 1);
    if let Some(suite) = shared("data") {
        check(suite.to_str().unwrap(), &["--sets", SHARED_SETS], 2);
    }
}

#[test]
fn a_report_has_every_set_with_intervals_and_the_same_bytes_each_time() {
    let sandbox = Sandbox::new();
    let suite = sample_suite(&sandbox);
    add_small_set(&sandbox);
    let suite = suite.to_str().unwrap();
    let report = sandbox.json(&["eval", "--suite", suite, "--queries-per-set", "40"]);
    let names: Vec<_> =
        report["sets"].as_array().unwrap().iter().map(|set| set["set"].as_str().unwrap()).collect();
    assert_eq!(names, ["<small> & odd", "sample"]);
    let (small, sample) = (&report["sets"][0], &report["sets"][1]);
    assert_eq!(
        (&small["tools"], &small["queries"], &sample["queries"]),
        (&2.into(), &2.into(), &40.into())
    );
    for part in [small, sample, &report["means"][0]] {
        for strategy in ["keyword", "semantic", "hybrid"] {
            for measure in ["ndcg@5", "hit@1", "recall@5", "mrr", "comp@5"] {
                assert!(is_interval(&part["strategies"][strategy][measure]), "{strategy}: {part}");
            }
        }
        let against = &part["hybrid_vs_best"];
        assert!(is_interval(&against["difference"]) && against["verdict"].is_string(), "{part}");
    }
    assert_eq!(
        (&report["means"][0]["over"], &report["means"][0]["sets"]),
        (&"all sets".into(), &2.into())
    );
    let off_topic = &small["off_topic"];
    assert!(is_interval(&off_topic["auroc"]) && is_interval(&off_topic["turned_away_at_3%"]));
    assert_eq!((&off_topic["prompts"], &sample["off_topic"]), (&2.into(), &Value::Null));
    assert_eq!(small["bad"][0]["line"], 3);
    assert_eq!(
        (&report["model"], &report["precision"]),
        (&"toolroute-l6-v1".into(), &"int8".into())
    );
    let again = sandbox.json(&["eval", "--suite", suite, "--queries-per-set", "40"]);
    assert_eq!(again, report);
}

#[test]
fn a_table_for_people() {
    let sandbox = Sandbox::new();
    let suite = sample_suite(&sandbox);
    add_small_set(&sandbox);
    let output = sandbox.run(&["eval", "--suite", suite.to_str().unwrap()]);
    let (table, notes) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    for word in ["sample", "mean of all sets (2)", "hybrid is", "AUROC", "COMP@5", "±"] {
        assert!(table.contains(word), "{word} is missing from\n{table}");
    }
    assert!(notes.contains("set 2 of 2, sample") && notes.contains("queries.jsonl:3:"), "{notes}");
}

#[test]
fn what_cannot_be_measured_is_told_before_any_work() {
    let sandbox = Sandbox::new();
    let suite = sample_suite(&sandbox);
    let suite = suite.to_str().unwrap();
    let none = sandbox.path("none");
    std::fs::create_dir(&none).unwrap();
    let none = none.to_str().unwrap();
    let bare = sandbox.path("bare");
    std::fs::create_dir_all(bare.join("a")).unwrap();
    std::fs::write(bare.join("a/queries.jsonl"), "{\"query\":\"x\",\"gold\":[\"y\"]}").unwrap();
    let bare = bare.to_str().unwrap();
    for (code, more, wanted) in [
        (3, &["--suite", none][..], "holds no set"),
        (3, &["--suite", bare], "/a has queries.jsonl and no tools"),
        (5, &["--suite", "no/where"], "cannot read no/where"),
        (2, &["--suite", suite, "--sets", "sample,b"], "no set `b`; expected one of sample"),
        (2, &["--suite", suite, "--all"], "cannot be used with"),
        (2, &["--suite", suite, "--tools", "x"], "cannot be used with"),
        (2, &["--queries", "x", "--queries-per-set", "1"], "cannot be used with"),
        (2, &["--queries-per-set", "1"], "--suite"),
        (2, &[], "--queries"),
    ] {
        let said = sandbox.fails(code, &[&["eval"], more].concat());
        assert!(said.contains(wanted), "{more:?}: {said}");
    }
    // A variable that names the vectors of one catalog is for that one.
    let args = ["eval", "--suite", suite, "--queries-per-set", "1", "--quiet"];
    let index = sandbox.path("one.snapshot");
    let done = sandbox.toolroute().args(args).env("TOOLROUTE_INDEX", &index).assert().success();
    assert!(done.get_output().stderr.is_empty());
    assert!(!index.exists());
}
