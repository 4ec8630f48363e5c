//! A catalog that is searched over a graph: by the engine and from the command line, with filters, and
//! while tools come and go.

use std::collections::HashSet;
use std::sync::Arc;

use toolroute::{Catalog, Context, Engine, EngineConfig, Policy, SelectRequest};
use toolroute_catalog::{Change, Reliability, Tool};
use toolroute_rank::engine::{IndexKind, SnapshotState};
use toolroute_vectors::embedding::StaticEmbedder;

use crate::support::{Sandbox, ids, samples};

/// Above these, the 256 nearest that the engine asks for are found by a walk also where nobody asks for
/// one by name.
const TOOLS: usize = 13_100;

const VERBS: [&str; 13] = [
    "archive",
    "book",
    "cancel",
    "check",
    "copy",
    "count",
    "draw",
    "measure",
    "order",
    "paint",
    "repair",
    "sell",
    "translate",
];
const QUALITIES: [&str; 17] = [
    "ancient", "broken", "cheap", "daily", "electric", "frozen", "green", "heavy", "hidden",
    "loud", "medical", "naval", "private", "royal", "sweet", "urban", "wooden",
];
const THINGS: [&str; 61] = [
    "anchor", "apple", "bank", "barrel", "bicycle", "blanket", "bottle", "bridge", "button",
    "camera", "candle", "castle", "cheese", "circus", "clock", "coffee", "compass", "desert",
    "diamond", "dragon", "engine", "feather", "flower", "forest", "garden", "guitar", "hammer",
    "harbour", "honey", "island", "jacket", "kettle", "ladder", "lantern", "lemon", "library",
    "market", "mirror", "mountain", "needle", "ocean", "orchard", "palace", "parcel", "pencil",
    "piano", "pillow", "planet", "pocket", "rabbit", "river", "rocket", "saddle", "school",
    "shadow", "silver", "stable", "temple", "ticket", "tunnel", "violin",
];

fn tool(at: usize) -> Tool {
    let (verb, quality) = (VERBS[at % 13], QUALITIES[at / 13 % 17]);
    let thing = THINGS[at / (13 * 17) % 61];
    let name = format!("{verb}_{thing}_{at}");
    let text = format!("Can {verb} the {quality} {thing} of a person");
    let mut tool = Tool::new(Some(&format!("s{}", at % 40)), &name, &text);
    // So few that a search for the nearest finds none of them, as a rule.
    tool.reliability = at.is_multiple_of(1_000).then_some(Reliability::High);
    tool
}

fn tools() -> Vec<Tool> {
    (0..TOOLS).map(tool).collect()
}

fn prompts() -> impl Iterator<Item = String> {
    (0..40).map(|at| {
        let (verb, quality) = (VERBS[at * 5 % 13], QUALITIES[at * 3 % 17]);
        format!("please {verb} my {quality} {}", THINGS[at * 7 % 61])
    })
}

fn engine(tools: Vec<Tool>, index: IndexKind, snapshot: Option<&std::path::Path>) -> Engine {
    let config = EngineConfig { min_confidence: 0.0, index, ..EngineConfig::default() };
    let builder = Engine::builder(Catalog::from_tools(tools).catalog).config(config);
    let builder = builder.embedder(Arc::new(StaticEmbedder::built_in().unwrap()));
    let builder = match snapshot {
        Some(path) => builder.snapshot(path),
        None => builder,
    };
    builder.build().unwrap()
}

fn found(engine: &Engine, request: SelectRequest) -> Vec<String> {
    let tools = engine.select(&request.limit(5)).unwrap().tools;
    tools.iter().map(|found| found.tool.id.to_string()).collect()
}

/// How many of the tools that a scan finds a walk finds, over all prompts.
fn recall(walks: &Engine, scans: &Engine) -> f64 {
    let (mut same, mut all) = (0, 0);
    for prompt in prompts() {
        let expected = found(scans, SelectRequest::new(&prompt));
        let near: HashSet<String> = found(walks, SelectRequest::new(&prompt)).into_iter().collect();
        same += expected.iter().filter(|id| near.contains(*id)).count();
        all += expected.len();
    }
    same as f64 / all as f64
}

/// Each filter takes nearly all tools out, and an answer is as full as with a scan.
fn filters_cost_no_tool(walks: &Engine, scans: &Engine) {
    let enabled_tools = Some(vec!["s7__*".to_owned()]);
    let patterns = Context { enabled_tools, ..Context::default() };
    let reliable = Policy { min_reliability: Some(Reliability::High), ..Policy::default() };
    let some: Vec<String> = (0..TOOLS).step_by(997).map(|at| tool(at).id.to_string()).collect();
    for prompt in prompts().step_by(8) {
        let request = SelectRequest::new(&prompt);
        for request in [
            request.clone().policy(reliable),
            request.clone().context(patterns.clone()),
            request.candidates(some.clone()),
        ] {
            let walked = found(walks, request.clone());
            assert_eq!(walked, found(scans, request.clone()), "{request:?}");
            assert_eq!(walked.len(), 5, "{request:?}");
        }
    }
}

#[test]
fn a_graph_is_walked_with_filters_and_while_tools_come_and_go() {
    let sandbox = Sandbox::new();
    let snapshot = sandbox.path("vectors.snapshot");
    let walks = engine(tools(), IndexKind::Hnsw, Some(&snapshot));
    let scans = engine(tools(), IndexKind::Exact, None);
    let report = walks.index_report();
    assert_eq!((report.index, &report.scanned), (Some(IndexKind::Hnsw), &None));
    assert_eq!(report.snapshot, SnapshotState::Created);
    assert!(recall(&walks, &scans) > 0.98, "{}", recall(&walks, &scans));
    filters_cost_no_tool(&walks, &scans);
    from_the_command_line(&sandbox, &snapshot);

    // Some go, some say something else, some are new.
    let mut changes: Vec<Change> =
        (0..300).map(|at| Change::Remove(tool(at * 31).id.to_string())).collect();
    let changed = |at: usize| {
        let mut tool = tool(at * 31 + 1);
        tool.description = format!("Waters the {} with a hose", THINGS[at % 61]);
        tool
    };
    changes.extend((0..200).map(|at| Change::Update(changed(at))));
    let new = |at: usize| Tool::new(Some("new"), &format!("knit_{at}"), "Knits a scarf of wool");
    changes.extend((0..50).map(|at| Change::Register(new(at))));
    let report = walks.change(changes).unwrap();
    assert_eq!((report.tools, report.linked), (TOOLS - 250, TOOLS - 500));
    let now: Vec<Tool> = walks.catalog().iter().cloned().collect();
    let scans = engine(now, IndexKind::Exact, None);
    assert!(recall(&walks, &scans) > 0.98, "{}", recall(&walks, &scans));
    filters_after_a_change(&walks, &scans);
}

fn filters_after_a_change(walks: &Engine, scans: &Engine) {
    for prompt in ["knit me a scarf", "water the ladder with a hose"] {
        let request = SelectRequest::new(prompt);
        let walked = found(walks, request.clone());
        assert_eq!(walked, found(scans, request.clone()), "what is new is found");
        let excluded_tools = vec!["new__*".to_owned(), walked[0].clone()];
        let without = Context { excluded_tools, ..Context::default() };
        let request = request.context(without);
        assert_eq!(found(walks, request.clone()), found(scans, request));
    }
    assert!(walks.catalog().get(tool(31).id.as_str()).is_none());
}

/// The same catalog and its snapshot, whose graph need not be linked again.
fn from_the_command_line(sandbox: &Sandbox, snapshot: &std::path::Path) {
    let catalog: String = Catalog::from_tools(tools()).catalog.to_jsonl();
    let (tools, snapshot) = (sandbox.put("many.jsonl", catalog), snapshot.to_str().unwrap());
    let catalog = ["--tools", &tools, "--model", "static", "--index", snapshot];
    let report = sandbox.json(&[&["index", "--search", "hnsw"], &catalog[..]].concat());
    assert_eq!(report["snapshot"]["state"], "fresh", "{report}");
    assert_eq!(report["index"], "hnsw");
    for more in [&["--limit", "5"][..], &["--min-reliability", "high"], &["--enable", "s7__*"]] {
        let ask = |search: &str| {
            let prompt = ["route", "--search", search, "please repair my wooden bicycle"];
            sandbox.json(&[&prompt[..], &catalog, more].concat())
        };
        let walked = ask("hnsw");
        assert_eq!(ids(&walked), ids(&ask("exact")), "{more:?}");
        assert_eq!(ids(&walked).len(), 5, "{more:?}");
    }
}

#[test]
fn where_a_graph_is_of_no_use_it_is_said_that_all_are_scanned() {
    let sandbox = Sandbox::new();
    let tools = samples();
    let index = ["index", "--tools", &tools, "--model", "static", "--search", "hnsw"];
    let report = sandbox.json(&index);
    let because = report["scanned"].as_str().expect("it says why");
    assert!(because.contains("256 nearest"), "{because}");
    let route =
        ["route", "--tools", &tools, "--model", "static", "--search", "hnsw", "show the log"];
    let said = String::from_utf8(sandbox.run(&route).stderr).unwrap();
    assert!(said.contains("scans all tools here") && said.contains("256 nearest"), "{said}");
    let said = sandbox.run(&[&route[..], &["--blend", "plain"]].concat()).stderr;
    assert!(String::from_utf8(said).unwrap().contains("needs the score of each"));
}
