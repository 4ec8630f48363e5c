use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ndarray::Array2;
use proptest::prelude::*;

use super::*;
use crate::catalog::Tool;
use crate::embedding::{self, Embedded, Embedder, ModelIdentity, Role};
use crate::engine::{PastPrompt, SnapshotState};
use crate::index::IndexKind;
use crate::selection;

fn tool(name: &str, description: &str) -> Tool {
    Tool::new(Some("s"), name, description)
}

fn change(engine: &Engine, change: Change) -> Result<ChangeReport, Error> {
    engine.change(vec![change])
}

fn register(engine: &Engine, tool: Tool) -> Result<ChangeReport, Error> {
    change(engine, Change::Register(tool))
}

fn update(engine: &Engine, tool: Tool) -> Result<ChangeReport, Error> {
    change(engine, Change::Update(tool))
}

fn remove(engine: &Engine, id: &str) -> Result<ChangeReport, Error> {
    change(engine, Change::Remove(id.to_owned()))
}

fn ids(engine: &Engine, prompt: &str) -> Vec<String> {
    let found = engine.select(&SelectRequest::new(prompt).limit(10)).unwrap();
    found.tools.iter().map(|selected| selected.tool.id.to_string()).collect()
}

/// A model that counts letters, which is enough to distinguish texts, and counts its calls.
struct Letters {
    identity: ModelIdentity,
    embedded: AtomicUsize,
}

impl Letters {
    fn new() -> Arc<Self> {
        let name = "letters".to_owned();
        let identity = ModelIdentity { fingerprint: name.clone(), name, dimension: 26 };
        Arc::new(Self { identity, embedded: AtomicUsize::new(0) })
    }
}

impl Embedder for Letters {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Embedded, embedding::Error> {
        if role == Role::Document {
            self.embedded.fetch_add(texts.len(), Ordering::Relaxed);
        }
        let mut vectors = Array2::from_elem((texts.len(), 26), 0.1);
        for (text, mut row) in texts.iter().zip(vectors.rows_mut()) {
            for letter in text.bytes().filter(u8::is_ascii_lowercase) {
                row[usize::from(letter - b'a')] += 1.0;
            }
            let length: f32 = row.dot(&row);
            row /= length.sqrt();
        }
        Ok(Embedded { vectors, tokenize: Duration::ZERO, tokens: texts.len() })
    }
}

fn engine_of(tools: Vec<Tool>, model: Option<Arc<Letters>>, index: IndexKind) -> Engine {
    let config = EngineConfig { min_confidence: 0.0, index, ..EngineConfig::default() };
    let builder = Engine::builder(Catalog::from_tools(tools).catalog).config(config);
    match model {
        Some(model) => builder.embedder(model).build().unwrap(),
        None => builder.build().unwrap(),
    }
}

#[test]
fn what_was_learned_stays_with_a_tool_that_goes_and_comes_back() {
    let tools = || vec![tool("alpha", "one"), tool("beta", "two")];
    let before = engine_of(tools(), Some(Letters::new()), IndexKind::Auto);
    let mut usage = before.empty_usage().unwrap();
    let past = PastPrompt { prompt: "quick hazy jazz".into(), tools: vec!["s__beta".into()] };
    before.learn(&mut usage, &[past], &|_, _| {}).unwrap();
    let builder = Engine::builder(Catalog::from_tools(tools()).catalog);
    let engine = builder.embedder(Letters::new()).usage(usage).build().unwrap();
    let state = || {
        let report = engine.state().learned.as_ref().unwrap().report;
        let found = engine.select(&SelectRequest::new("jazzy haze")).unwrap().tools;
        let learned = found.iter().filter(|selected| selected.explanation.usage.is_some());
        (report.applied, report.absent, learned.count())
    };
    assert_eq!(state(), (1, 0, 1));
    remove(&engine, "s__beta").unwrap();
    assert_eq!(state(), (0, 1, 0));
    register(&engine, tool("beta", "two")).unwrap();
    assert_eq!(state(), (1, 0, 1));
}

#[test]
fn only_new_texts_go_through_the_model() {
    let model = Letters::new();
    let tools = (0..50).map(|at| tool(&format!("t{at}"), "reads")).collect();
    let engine = engine_of(tools, Some(model.clone()), IndexKind::Auto);
    let built = model.embedded.load(Ordering::Relaxed);
    assert_eq!(register(&engine, tool("new", "writes")).unwrap().embedded, 1);
    let mut dearer = tool("t7", "reads");
    dearer.cost = Some(crate::catalog::Cost::High);
    assert_eq!(update(&engine, dearer).unwrap().embedded, 0, "its text is the same");
    assert_eq!(remove(&engine, "t3").unwrap().embedded, 0);
    assert_eq!(model.embedded.load(Ordering::Relaxed), built + 1);
}

#[test]
fn a_refused_change_changes_nothing() {
    let engine = engine_of(vec![tool("a", "reads")], None, IndexKind::Auto);
    let both = vec![Change::Register(tool("b", "reads")), Change::Remove("nope".into())];
    let refused = engine.change(both).unwrap_err();
    assert!(matches!(refused, Error::Catalog(_)), "{refused}");
    assert_eq!((engine.version(), engine.catalog().len()), (0, 1));
}

#[test]
fn a_graph_stays_where_some_tools_change() {
    let tools = || (0..700).map(|at| tool(&format!("t{at}"), &"xyz".repeat(at % 7 + 1))).collect();
    let linked = engine_of(tools(), Some(Letters::new()), IndexKind::Hnsw);
    assert!(linked.state().is_approximate());
    let report = register(&linked, tool("quick", "jumps over")).unwrap();
    assert_eq!((report.tools, report.linked), (701, 700));
    assert!(linked.state().is_approximate());
    assert_eq!(ids(&linked, "quick jumps")[0], "s__quick");
    update(&linked, tool("t5", "mends a bicycle")).unwrap();
    let report = remove(&linked, "s__t6").unwrap();
    assert_eq!((report.tools, report.linked), (700, 698));
    assert_eq!(ids(&linked, "bicycle mended")[0], "s__t5");
    assert!(!ids(&linked, "t6").contains(&"s__t6".to_owned()));
    let most = (0..699).filter(|at| *at != 6);
    let changes = most.map(|at| Change::Update(tool(&format!("t{at}"), "waters the plants")));
    let report = linked.change(changes.collect()).unwrap();
    assert_eq!(report.linked, 0, "little of the graph is left");
    assert!(!linked.state().is_approximate());
}

#[test]
fn a_graph_that_was_linked_for_an_old_snapshot_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let snapshot = folder.path().join("new folder/s");
    let state = |index| {
        let tools = (0..30).map(|at| tool(&format!("t{at}"), "reads")).collect();
        let config = EngineConfig { index, ..EngineConfig::default() };
        let builder = Engine::builder(Catalog::from_tools(tools).catalog).config(config);
        let engine = builder.embedder(Letters::new()).snapshot(&snapshot).build().unwrap();
        engine.index_report().snapshot.clone()
    };
    let kinds = [IndexKind::Exact, IndexKind::Hnsw, IndexKind::Hnsw, IndexKind::Exact];
    use SnapshotState::{Created, Fresh, Updated};
    assert_eq!(kinds.map(state), [Created, Updated, Fresh, Fresh]);
}

#[test]
fn what_is_held_stays_as_it_was() {
    let engine = engine_of(vec![tool("a", "reads")], None, IndexKind::Auto);
    let held = engine.catalog();
    remove(&engine, "a").unwrap();
    assert_eq!((held.len(), engine.catalog().len()), (1, 0));
    assert!(ids(&engine, "reads").is_empty());
}

/// Runs 10,000 steps on four threads. Each change adds or removes a pair of tools: an answer with
/// half a pair, or with a description that its tool does not have, would come from two states.
#[test]
fn selections_never_see_half_a_change() {
    const STEPS: usize = 10_000;
    const THREADS: usize = 4;
    let engine = engine_of(vec![tool("always", "reads a file")], None, IndexKind::Auto);
    let torn = |thread: usize| {
        for step in 0..STEPS / THREADS {
            match step % 4 {
                0 => {
                    let half = |part| tool(&format!("{part}{thread}"), &format!("pair of {step}"));
                    let pair = ["left", "right"].map(half).map(Change::Register);
                    engine.change(pair.into()).unwrap();
                }
                2 => {
                    let pair = ["left", "right"].map(|part| format!("s__{part}{thread}"));
                    engine.change(pair.map(Change::Remove).into()).unwrap();
                }
                _ => check_pairs(&engine),
            }
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|n| scope.spawn(move || torn(n))).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert_eq!(engine.version(), (STEPS / 2) as u64);
    assert_eq!(
        engine.catalog().len(),
        1 + if (STEPS / THREADS).is_multiple_of(4) { 0 } else { 2 * THREADS }
    );
}

fn check_pairs(engine: &Engine) {
    let found = engine.select(&SelectRequest::new("pair of a file").limit(99)).unwrap();
    let names: HashSet<&str> = found.tools.iter().map(|s| s.tool.name.as_str()).collect();
    assert_eq!(names.len(), found.tools.len(), "a tool twice: {names:?}");
    assert!(names.contains("always"), "{names:?}");
    let (left, right): (Vec<&str>, Vec<&str>) =
        names.iter().filter(|n| **n != "always").partition(|name| name.starts_with("left"));
    assert_eq!(left.len(), right.len(), "half a pair: {names:?}");
    for selected in &found.tools {
        let why = &selected.explanation.why;
        let own = if selected.tool.name == "always" { "file" } else { "pair" };
        assert!(why.contains(own), "{why} is not of {}", selected.tool.id);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Register(u8, u8),
    Update(u8, u8),
    Remove(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0u8..12, 0u8..4).prop_map(|(name, text)| Step::Register(name, text)),
        (0u8..12, 0u8..4).prop_map(|(name, text)| Step::Update(name, text)),
        (0u8..12).prop_map(Step::Remove),
    ]
}

fn change_of(step: &Step) -> Change {
    let tool = |name: u8, text: u8| {
        let words = ["reads files", "writes mail", "plays music", "cooks"];
        tool(&format!("tool{name}"), words[usize::from(text)])
    };
    match *step {
        Step::Register(name, text) => Change::Register(tool(name, text)),
        Step::Update(name, text) => Change::Update(tool(name, text)),
        Step::Remove(name) => Change::Remove(format!("s__tool{name}")),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_changed_engine_answers_as_one_built_anew(steps in prop::collection::vec(step(), 0..30)) {
        let start = vec![tool("tool0", "reads files"), tool("tool1", "cooks")];
        let engine = engine_of(start, Some(Letters::new()), IndexKind::Auto);
        for step in &steps {
            // A refused change leaves everything unchanged.
            let _ = engine.change(vec![change_of(step)]);
        }
        let tools = engine.catalog().iter().cloned().collect();
        let anew = engine_of(tools, Some(Letters::new()), IndexKind::Auto);
        use selection::Strategy::{Hybrid, Keyword, Semantic};
        for strategy in [Keyword, Semantic, Hybrid] {
            for prompt in ["read my mail", "cook with tool3", "play"] {
                let request = SelectRequest::new(prompt).strategy(strategy).limit(20);
                let answers = [&engine, &anew].map(|e| {
                    serde_json::to_string(&e.select(&request).unwrap()).unwrap()
                });
                prop_assert_eq!(&answers[0], &answers[1]);
            }
        }
    }
}
