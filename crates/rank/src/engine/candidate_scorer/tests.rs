use super::super::{CacheSettings, Engine, Observations, RunCounts};
use super::*;
use crate::catalog::{Catalog, IntentSignal, LoadOptions};
use crate::query::Stage;
use crate::selection::Strategy;

fn tool(name: &str, description: &str) -> Tool {
    Tool::new(Some("s"), name, description)
}

/// An engine without a model over tools that all match the prompt "moves data".
fn engine(tools: Vec<Tool>, config: EngineConfig) -> Engine {
    let loaded = Catalog::from_tools(tools);
    assert_eq!(loaded.problems, []);
    Engine::builder(loaded.catalog).config(config).build().unwrap()
}

fn named(names: &[&str]) -> Vec<Tool> {
    names.iter().map(|name| tool(name, "moves data")).collect()
}

fn ids(engine: &Engine, request: &SelectRequest) -> Vec<String> {
    let answer = engine.select(request).unwrap();
    answer.tools.iter().map(|tool| tool.tool.name.clone()).collect()
}

fn ask(context: Context) -> SelectRequest {
    SelectRequest::new("moves data").context(context)
}

#[test]
fn a_chosen_tool_shuts_out_what_conflicts_with_it() {
    let mut tools = named(&["a", "b", "c"]);
    tools[1].routing.conflicts_with = vec!["s:a".into()];
    let engine = engine(tools, EngineConfig::default());
    let answer = engine.select(&SelectRequest::new("moves data")).unwrap();
    assert_eq!(ids(&engine, &SelectRequest::new("moves data")), ["a", "c"]);
    assert_eq!(answer.excluded[0].because.to_string(), "it conflicts with s__a, which fits better");
    engine.set_weights(SignalWeights::OFF);
    assert_eq!(ids(&engine, &SelectRequest::new("moves data")).len(), 3);
}

#[test]
fn no_server_has_more_than_its_share_where_there_are_several() {
    let policy = Policy { max_per_server: Some(2), ..Policy::default() };
    let request = SelectRequest::new("moves data").policy(policy);
    let mut tools = named(&["a", "b", "c", "d"]);
    let alone = engine(tools.clone(), EngineConfig::default());
    assert_eq!(ids(&alone, &request), ["a", "b", "c", "d"]);
    tools.push(Tool::new(Some("other"), "x", "moves data"));
    tools.extend(["y", "z"].map(|name| Tool::new(None, name, "moves data")));
    let engine = engine(tools, EngineConfig::default());
    let mut found = ids(&engine, &request);
    found.sort();
    assert_eq!(found, ["a", "b", "x", "y", "z"]);
    let excluded = engine.select(&request).unwrap().excluded;
    let said = "the answer has 2 tools of `s` already, the most of one server";
    assert!(excluded.iter().all(|tool| tool.because.to_string() == said), "{excluded:?}");
    let all = ids(&engine, &SelectRequest::new("moves data").limit(7));
    assert!(all.contains(&"c".to_owned()), "{all:?}");
}

#[test]
fn an_exclusive_intent_leaves_only_its_tool_unless_that_may_not_stand() {
    let mut tools = named(&["a", "gov"]);
    tools[1].routing.signals = vec![IntentSignal {
        pattern: "official|רשמי".into(),
        weight: 0.8,
        exclusive_intent: Some("gov".into()),
    }];
    let engine = engine(tools, EngineConfig::default());
    for prompt in ["moves official data", "נתונים רשמיים"] {
        let answer = engine.select(&SelectRequest::new(prompt)).unwrap();
        assert_eq!(answer.tools.len(), 1, "{prompt}");
        let explanation = &answer.tools[0].explanation;
        assert_eq!(explanation.matched_signals, ["official|רשמי"]);
        assert!(explanation.parts.iter().any(|part| part.name == "intent"), "{explanation:?}");
    }
    let out = Context { excluded_tools: vec!["*gov".into()], ..Context::default() };
    let request = SelectRequest::new("moves official data").context(out);
    assert_eq!(ids(&engine, &request), ["a"], "else the answer would be empty");
}

#[test]
fn stages_profiles_patterns_and_models_bound_an_answer() {
    let names: Vec<String> = (0..20).map(|at| format!("t{at:02}")).collect();
    let mut tools = named(&names.iter().map(String::as_str).collect::<Vec<_>>());
    tools[3].hints.read_only = Some(true);
    let mut config = EngineConfig { limit: 18, ..EngineConfig::default() };
    config.profiles.insert("few".into(), vec!["s__t0[0-4]".into()]);
    config.profiles.insert("elsewhere".into(), vec!["*".into()]);
    config.profile_servers.insert("elsewhere".into(), vec!["another".into()]);
    let engine = engine(tools, config);
    let with = |context: Context| ids(&engine, &ask(context));
    let context = Context::default;
    assert_eq!(with(Context { stage: Some(Stage::Analysis), ..context() }), ["t03"]);
    assert_eq!(with(Context { profile: Some("few".into()), ..context() }).len(), 5);
    let elsewhere = Context { profile: Some("elsewhere".into()), ..context() };
    assert!(with(elsewhere).is_empty(), "a profile's servers count");
    let both = Context {
        profile: Some("few".into()),
        enabled_tools: Some(vec!["s:t04".into(), "s:t09".into()]),
        ..context()
    };
    assert_eq!(with(both), ["t04"]);
    assert_eq!(with(context()).len(), 18);
    assert_eq!(with(Context { max_tools: Some(15), ..context() }).len(), 15);
    assert_eq!(with(Context { model: Some("gemma:2b".into()), ..context() }).len(), 10);
    assert_eq!(ids(&engine, &SelectRequest::new("moves data")).len(), 18);
    let unknown = ask(Context { profile: Some("many".into()), ..context() });
    let told = engine.select(&unknown).unwrap_err().to_string();
    assert!(told.contains("`many`") && told.contains("few"), "{told}");
}

#[test]
fn critical_tools_are_always_there_but_for_the_policy_and_patterns() {
    let mut tools = named(&["a", "b"]);
    tools.push(tool("clock", "tells hours"));
    tools[2].routing.critical = true;
    let engine = engine(tools, EngineConfig { limit: 2, ..EngineConfig::default() });
    assert_eq!(ids(&engine, &SelectRequest::new("moves data")), ["a", "clock"]);
    let none = SelectRequest::new("nothing of the kind");
    assert_eq!(ids(&engine, &none), ["clock"]);
    let out = Context { excluded_tools: vec!["s__clock".into()], ..Context::default() };
    assert_eq!(ids(&engine, &ask(out)), ["a", "b"]);
    let others = SelectRequest::new("moves data").candidates(["s__a", "s__b"]);
    assert_eq!(ids(&engine, &others), ["a", "b"], "only candidates are ranked");
}

#[test]
fn what_was_seen_what_follows_and_what_is_planned_changes_the_next_answer() {
    let engine = engine(named(&["k", "l", "m"]), EngineConfig::default());
    let first = |context: Context| ids(&engine, &ask(context)).swap_remove(0);
    assert_eq!(first(Context::default()), "k");
    let planned = Context { planned_tools: vec!["m".into()], ..Context::default() };
    assert_eq!(first(planned), "m");
    let counts = r#"{"tools": {"s__l": {"runs": 50, "successes": 50},
                               "s__k": {"runs": 50, "successes": 20},
                               "gone": {"runs": 50, "successes": 50}},
                     "follows": {"s:k": {"m": 1.0}}}"#;
    engine.observe(serde_json::from_str::<RunCounts>(counts).unwrap().into());
    assert_eq!(first(Context::default()), "l", "and no older answer from the cache");
    let after = Context { last_tool: Some("k".into()), ..Context::default() };
    assert_eq!(first(after), "m");
}

#[test]
fn a_cached_answer_is_the_same_and_never_stale() {
    let engine = engine(named(&["a", "b"]), EngineConfig::default());
    let request = SelectRequest::new("moves data");
    let bytes = |request: &SelectRequest| {
        let answer = engine.select(request).unwrap();
        (answer.cached, serde_json::to_string(&answer).unwrap())
    };
    let (first, second) = (bytes(&request), bytes(&request));
    assert_eq!((first.0, second.0, &first.1), (false, true, &second.1));
    let files = |hash: &str| ask(Context::default().file("a.rs", hash));
    for other in [
        files("1"),
        files("2"),
        request.clone().limit(1),
        request.clone().strategy(Strategy::Keyword),
    ] {
        assert!(!bytes(&other).0, "{other:?}");
    }
    assert!(bytes(&files("2")).0);
    let before = engine.set_weights(SignalWeights::OFF);
    assert!(!bytes(&request).0, "other weights");
    engine.set_weights(before);
    engine.observe(Observations::default());
    assert!(!bytes(&request).0, "other observations");
    let text = engine.metrics().text();
    let looked_up = |result: &str, count: usize| {
        let line = format!("toolroute_cache_lookups_total{{result=\"{result}\"}} {count}\n");
        assert!(text.contains(&line), "{line} is not in\n{text}");
    };
    looked_up("hit", 2);
    looked_up("miss", 8 - 1);
    engine.close();
    assert!(!bytes(&request).0, "closed");
    let cache = CacheSettings { ttl_ms: 0, entries: 9 };
    let config = EngineConfig { cache, ..EngineConfig::default() };
    let uncached = super::tests::engine(named(&["a"]), config);
    uncached.select(&request).unwrap();
    assert!(!uncached.select(&request).unwrap().cached);
}

/// The catalog of the ablation; with `bare`, without the declarations that signals read.
#[cfg(feature = "built-in-model")]
fn hybrid(bare: bool, config: EngineConfig) -> Engine {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/signals/tools.jsonl");
    let options = LoadOptions { author_signals: true, ..LoadOptions::default() };
    let loaded = Catalog::load(&[folder], &options).unwrap();
    assert_eq!(loaded.problems, []);
    let mut tools: Vec<Tool> = loaded.catalog.iter().cloned().collect();
    if bare {
        for tool in &mut tools {
            (tool.routing, tool.facets) = Default::default();
            tool.tags.retain(|tag| tag != "web");
        }
    }
    let model = Arc::new(crate::embedding::StaticEmbedder::built_in().unwrap());
    Engine::builder(Catalog::from_tools(tools).catalog)
        .embedder(model)
        .config(config)
        .build()
        .unwrap()
}

#[test]
#[cfg(feature = "built-in-model")]
fn with_signals_off_answers_are_plain_hybrid_to_the_byte() {
    let config = EngineConfig { min_confidence: 0.0, limit: 60, ..EngineConfig::default() };
    let off = EngineConfig { signals: SignalWeights::OFF, ..config.clone() };
    let plain = hybrid(false, off);
    let state = plain.state();
    let tools = state.catalog.tools();
    let model = state.embedder.clone().unwrap();
    let hybrid = state.retrievers.iter().find(|r| r.strategy() == Strategy::Hybrid).unwrap();
    for text in ["translate this urgently", "official data on housing", "`files__read`", "몇 시야"]
    {
        let answer = plain.select(&SelectRequest::new(text)).unwrap();
        let vectors = model.embed(&[text], crate::embedding::Role::Query).unwrap().vectors;
        let reading = super::Reading::verbatim(text);
        let prompt = crate::selection::Prompt {
            readable_share: reading.latin_share,
            ..crate::selection::Prompt::new(&reading, vectors.as_slice(), 60)
        };
        let mut found = hybrid.retrieve(&prompt).unwrap().candidates;
        let best = found.iter().map(Candidate::blend).fold(0.0, f32::max);
        let order = super::Order { policy: &state.order, band: band_of(0.02, 1.0, best) };
        found.sort_by(|a, b| order.better(a, b));
        order.policy.arrange(&mut found, order.band, |_| true);
        let bits = |score: f32| score.to_bits();
        let expected: Vec<_> =
            found.iter().map(|c| (tools[c.row as usize].id.clone(), bits(c.score))).collect();
        let got: Vec<_> = answer.tools.iter().map(|t| (t.tool.id.clone(), bits(t.score))).collect();
        assert_eq!(got, expected, "{text}");
        let parts = answer.tools.iter().flat_map(|t| &t.explanation.parts);
        assert!(
            parts
                .into_iter()
                .all(|p| ["semantic", "keyword", "exact_name", "wording"].contains(&p.name))
        );
    }
}

#[test]
#[cfg(feature = "built-in-model")]
fn a_catalog_that_declares_nothing_is_ranked_as_without_signals() {
    let config = EngineConfig { min_confidence: 0.0, limit: 60, ..EngineConfig::default() };
    let off = EngineConfig { signals: SignalWeights::OFF, ..config.clone() };
    let (on, off) = (hybrid(true, config), hybrid(true, off));
    for text in ["draw a cat", "the latest news, quickly", "delete a file"] {
        // Costs and latencies are still declared, so the prompt must not be urgent.
        let request = SelectRequest::new(text.replace(", quickly", ""));
        let bytes =
            |engine: &Engine| serde_json::to_string(&engine.select(&request).unwrap()).unwrap();
        assert_eq!(bytes(&on), bytes(&off), "{text}");
    }
}

#[test]
#[cfg(feature = "built-in-model")]
fn each_part_of_hybrid_has_its_share_where_shares_are_asked_for() {
    let shares = Some(MinShares { semantic: 3, keyword: 2 });
    let config = EngineConfig {
        min_confidence: 0.0,
        min_shares: shares,
        policy_band: 0.0,
        ..EngineConfig::default()
    };
    let engine = hybrid(false, config);
    for text in ["search the web for facts", "go through a function and write tests", "a backup"] {
        let answer = engine.select(&SelectRequest::new(text).limit(5)).unwrap();
        let all = engine.select(&SelectRequest::new(text).limit(60)).unwrap();
        let raw = |tool: &super::super::SelectedTool, part: &str| {
            tool.explanation.parts.iter().find(|p| p.name == part).map_or(0.0, |p| p.raw)
        };
        let best = |part: &str| {
            let mut raws: Vec<f32> = all.tools.iter().map(|tool| raw(tool, part)).collect();
            raws.sort_by(|a, b| b.total_cmp(a));
            raws[0]
        };
        for part in ["semantic", "keyword"] {
            let has = answer.tools.iter().any(|tool| raw(tool, part) == best(part));
            assert!(has, "{text}: the best by {part} is not there");
        }
        assert!(answer.tools.len() <= 5);
        assert!(answer.tools.windows(2).all(|pair| pair[0].score >= pair[1].score));
    }
}
