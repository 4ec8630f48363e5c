//! What a context is about, and tools for prompts that hang on a conversation: how often it is
//! right, on lists that nothing was chosen by. `--nocapture` prints the tables of docs/context.md.

use std::sync::Arc;

use serde::Deserialize;
use toolroute::{
    BertEmbedder, Catalog, Embedder, Engine, EngineConfig, SelectRequest, StaticEmbedder,
};
use toolroute_catalog::{Change, LoadOptions};
use toolroute_eval::Measures;
use toolroute_rank::query::{
    Classifier, Phase, TaskType, Turn, is_follow_up, phase_by_keywords, phase_examples,
    routing_text, task_by_keywords, task_examples,
};
use toolroute_vectors::embedding::Role;

use crate::support::{CommandExt as _, Sandbox, repo, samples};

type Labelled<L> = Vec<(String, Option<L>)>;

/// A list of `# label` headings with a text a line.
fn held_out<L: Copy>(name: &str, label: fn(&str) -> Option<L>) -> Labelled<L> {
    let file = std::fs::read_to_string(repo("tests/data/context").join(name)).unwrap();
    let (mut under, mut texts) = (None, Vec::new());
    for line in file.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("# ") {
            Some(heading) => under = label(heading),
            None => texts.push((line.to_owned(), under)),
        }
    }
    texts
}

fn vectors(model: &dyn Embedder, texts: &[&str]) -> Vec<Vec<f32>> {
    let embedded = model.embed(texts, Role::Query).unwrap();
    embedded.vectors.rows().into_iter().map(|row| row.to_vec()).collect()
}

/// Share of the guesses that are right.
fn accuracy<L: PartialEq>(guesses: &[Option<L>], right: &[Option<L>]) -> f64 {
    let hits = guesses.iter().zip(right).filter(|(guess, right)| guess == right).count();
    hits as f64 / right.len() as f64
}

/// The accuracy of each model and of the keyword rules on the held-out list, which it prints.
fn compare<L: Copy + PartialEq + std::fmt::Debug>(
    examples: Vec<(&'static str, Option<L>)>,
    held_out: &Labelled<L>,
    keywords: impl Fn(&str) -> Option<L>,
) -> [f64; 3] {
    let (texts, labels): (Vec<&str>, Vec<Option<L>>) = examples.into_iter().unzip();
    let (asked, right): (Vec<&str>, Vec<Option<L>>) =
        held_out.iter().map(|(text, label)| (text.as_str(), *label)).unzip();
    for text in &asked {
        assert!(!texts.contains(text), "an example is on the held-out list: {text}");
    }
    let models: [(&str, Box<dyn Embedder>); 2] = [
        ("encoder", Box::new(BertEmbedder::built_in().unwrap())),
        ("static", Box::new(StaticEmbedder::built_in().unwrap())),
    ];
    let of_models = models.map(|(model, embedder)| {
        let (known, new) = (vectors(&*embedder, &texts), vectors(&*embedder, &asked));
        let width = known[0].len();
        let learned = Classifier::new(labels.clone(), known.concat(), width).unwrap();
        let guesses: Vec<_> = new.iter().map(|vector| learned.classify(vector).label).collect();
        let found = accuracy(&guesses, &right);
        eprintln!("| {model} | {found:.3} |");
        found
    });
    let guesses: Vec<_> = asked.iter().map(|text| keywords(text)).collect();
    let words = accuracy(&guesses, &right);
    eprintln!("| keyword rules | {words:.3} |");
    [of_models[0], of_models[1], words]
}

#[test]
fn phases_are_told_better_by_examples_than_by_keywords() {
    let right = held_out("phase.txt", Phase::from_word);
    let keywords = |text: &str| phase_by_keywords(text).map(|found| found.0);
    let [encoder, fast, words] = compare(phase_examples(), &right, keywords);
    assert!(encoder > 0.82 && fast > 0.75, "{encoder} {fast}");
    assert!(fast > words, "{fast} {words}");
}

#[test]
fn kinds_of_work_are_told_better_by_examples_than_by_keywords() {
    let right = held_out("task.txt", TaskType::from_word);
    let keywords = |text: &str| task_by_keywords(text).map(|found| found.0);
    let [encoder, fast, words] = compare(task_examples(), &right, keywords);
    assert!(encoder > 0.77 && fast > 0.64, "{encoder} {fast}");
    assert!(encoder > words, "{encoder} {words}");
}

#[derive(Deserialize)]
struct Dialogue {
    conversation: Vec<Turn>,
    prompt: String,
    gold: Vec<String>,
}

#[test]
fn follow_ups_find_their_tools_with_the_conversation() {
    let path = repo("tests/data/dialogues/dialogues.jsonl");
    let lines = std::fs::read_to_string(path).unwrap();
    let dialogues: Vec<Dialogue> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let tools = [repo("tests/data/dialogues/tools.jsonl")];
    let catalog = Catalog::load(&tools, &LoadOptions::default()).unwrap().catalog;
    assert!(dialogues.len() >= 40 && catalog.len() >= 30);
    let config = EngineConfig { min_confidence: 0.0, ..EngineConfig::default() };
    let model = Arc::new(BertEmbedder::built_in().unwrap());
    let engine = Engine::builder(catalog).config(config).embedder(model).build().unwrap();
    let measure = |dialogue: &Dialogue, text: &str| {
        let found = engine.select(&SelectRequest::new(text).limit(10)).unwrap();
        let ranked: Vec<&str> = found.tools.iter().map(|one| one.tool.id.as_str()).collect();
        Measures::of(&ranked, &dialogue.gold)
    };
    let (follow_ups, own): (Vec<&Dialogue>, Vec<&Dialogue>) =
        dialogues.iter().partition(|dialogue| is_follow_up(&dialogue.prompt));
    let means = |which: &[&Dialogue], with: bool| {
        let one = |dialogue: &&Dialogue| {
            let routed = routing_text(&dialogue.prompt, &dialogue.conversation);
            measure(dialogue, if with { &routed } else { &dialogue.prompt })
        };
        Measures::mean(&which.iter().map(one).collect::<Vec<_>>())
    };
    let all: Vec<&Dialogue> = dialogues.iter().collect();
    for (name, which) in [("all", &all), ("taken for follow-ups", &follow_ups), ("not", &own)] {
        let (without, with) = (means(which, false), means(which, true));
        eprintln!(
            "| {name} | {} | {:.3} | {:.3} | {:.3} | {:.3} |",
            which.len(),
            without.ndcg_at_5,
            with.ndcg_at_5,
            without.recall_at_1,
            with.recall_at_1,
        );
    }
    let (without, with) = (means(&all, false), means(&all, true));
    assert!(with.ndcg_at_5 > without.ndcg_at_5 + 0.1, "{} {}", with.ndcg_at_5, without.ndcg_at_5);
    assert!(with.recall_at_1 > without.recall_at_1 + 0.1);
}

#[test]
fn analyze_tells_the_features_and_how_each_was_found() {
    let sandbox = Sandbox::new();
    let project = sandbox.path("project");
    std::fs::create_dir_all(project.join("tests")).unwrap();
    std::fs::write(project.join("cart.py"), "def total(x):\n    if x:\n        return 1\n")
        .unwrap();
    std::fs::write(project.join("tests/test_cart.py"), "def test_total(): ...\n").unwrap();
    let files = project.to_string_lossy();
    let prompt = "Fix the crash when the cart is empty";
    let answer = sandbox.json(&["analyze", prompt, "--files", &files, "--timings"]);
    assert_eq!(answer["features"]["phase"], "refinement", "{answer}");
    assert_eq!(answer["features"]["task_type"], "bug_fix");
    assert_eq!(answer["features"]["languages"][0], "python");
    assert_eq!(answer["features"]["testing"], "comprehensive_tests");
    assert_eq!(answer["found"]["phase"]["by"], "examples");
    assert_eq!((answer["depth"].as_str(), answer["files"].as_u64()), (Some("deep"), Some(2)));
    assert!(answer["timings_ms"]["total"].as_f64().unwrap() > 0.0);
    let words = sandbox.json(&["analyze", prompt, "--words-only"]);
    assert_eq!(words["found"]["task_type"]["by"], "keywords");
    assert!(words["timings_ms"].is_null());
    let hebrew = sandbox.json(&["analyze", "תקן את הבאג בכניסה"]);
    assert_eq!(hebrew["features"]["task_type"], "bug_fix");
    assert_eq!(hebrew["found"]["task_type"]["by"], "keywords", "its own, before its translation");
    let weather = sandbox.json(&["analyze", "Will it rain in Haifa tomorrow?"]);
    assert!(weather["features"]["phase"].is_null() && weather["features"]["task_type"].is_null());
}

#[test]
fn analyze_takes_a_context_as_json_and_says_what_is_wrong_with_it() {
    let sandbox = Sandbox::new();
    let good = sandbox.write(
        "context.json",
        r#"{"prompt": "and now?", "phase": "completion", "files": [{"path": "a.go", "content": "x"}],
            "conversation": [{"role": "user", "text": "deploy the service to the cluster"}]}"#,
    );
    let answer = sandbox.json(&["analyze", "--context", &good.to_string_lossy()]);
    assert_eq!(answer["features"]["phase"], "completion");
    assert_eq!(answer["found"]["phase"]["by"], "given");
    assert_eq!(answer["features"]["task_type"], "deployment", "{answer}");
    let bad = sandbox.write("bad.json", r#"{"prompt": "x", "files": [{"path": ""}]}"#);
    let said = sandbox.fails(3, &["analyze", "--context", &bad.to_string_lossy()]);
    assert!(said.contains("file 0 of the context has no path"), "{said}");
    let said = sandbox.fails(5, &["analyze", "x", "--files", "/nowhere/at/all"]);
    assert!(said.contains("check --files"), "{said}");
    #[cfg(unix)]
    {
        let said = sandbox.fails(5, &["analyze", "x", "--files", "/dev/zero"]);
        assert!(said.contains("/dev/zero is no regular file"), "{said}");
    }
}

#[test]
fn tools_are_listed_by_facet() {
    let sandbox = Sandbox::new();
    let list = |filters: &[&str]| -> Vec<String> {
        let samples = samples();
        let args = [&["tools", "list", "--tools", &samples], filters].concat();
        let tools = sandbox.json(&args);
        let ids = tools.as_array().unwrap().iter().map(|tool| tool["id"].as_str().unwrap().into());
        ids.collect()
    };
    let all = list(&[]);
    let git = list(&["--category", "git"]);
    assert!(!git.is_empty() && git.len() < all.len());
    let analysis = list(&["--category", "git", "--task-type", "analysis"]);
    assert!(analysis.len() < git.len() && analysis.iter().all(|id| git.contains(id)));
    let either = list(&["--server", "ci", "--server", "sandbox"]);
    assert!(either.contains(&"ci__run_tests".to_owned()), "{either:?}");
    assert!(either.contains(&"sandbox__run_python".to_owned()));
    assert!(list(&["--satisfies", "evidence.tests"]).contains(&"ci__run_tests".to_owned()));
    let shell = list(&["--language", "bash", "--server", "sandbox"]);
    assert_eq!(shell, ["sandbox__run_shell"], "bash is a name of shell; run_python is Python's");
    sandbox
        .toolroute()
        .args(["tools", "list", "--tools", &samples(), "--phase", "refinment"])
        .assert()
        .success()
        .stderr_contains("did you mean refinement?");
}

/// Prints what a change costs among 1,000 tools: those of the sample catalog, ten times over.
#[test]
fn a_change_among_a_thousand_tools_embeds_one_text() {
    let paths = [repo("examples/catalog")];
    let sample = Catalog::load(&paths, &LoadOptions::default()).unwrap().catalog;
    let numbered = |at: usize| {
        let mut tool = sample.tools()[at % sample.len()].as_ref().clone();
        tool.id = format!("{}{at}", tool.id).as_str().into();
        tool.description = format!("{} Number {at}.", tool.description);
        tool
    };
    let catalog = Catalog::from_tools((0..1_000).map(numbered).collect()).catalog;
    assert_eq!(catalog.len(), 1_000);
    let model = Arc::new(StaticEmbedder::built_in().unwrap());
    for (name, model) in [("words", None), ("words and vectors", Some(model))] {
        let mut builder = Engine::builder(catalog.clone());
        if let Some(model) = &model {
            builder = builder.embedder(model.clone());
        }
        let engine = builder.build().unwrap();
        let mut took = Vec::new();
        for at in 1_000..1_010 {
            let report = engine.change(vec![Change::Register(numbered(at))]).unwrap();
            assert_eq!(report.embedded, usize::from(model.is_some()));
            took.push(report.took);
        }
        took.sort_unstable();
        eprintln!("| {name} | {:.1} ms | {:.1} ms |", ms(took[5]), ms(took[0]));
    }
}

fn ms(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
