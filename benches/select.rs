//! What a selection costs beyond embedding: `cargo bench --bench select`.
//!
//! A thousand tools: the set of `tests/data/signals`, copied with other names and servers, so that
//! each copy has its facets, patterns, orders and conflicts. The vectors of the prompts are
//! remembered by the engine, so the model runs in none of the timed selections.

mod timing;

use std::path::Path;
use std::sync::Arc;

use toolroute::{Engine, EngineConfig, SelectRequest, StaticEmbedder};
use toolroute_catalog::{Catalog, LoadOptions, Tool, ToolId};
use toolroute_lab::signals::SignalSet;
use toolroute_rank::engine::{CacheSettings, SignalWeights};

const TOOLS: usize = 1_000;

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/signals")
}

fn tools() -> Vec<Tool> {
    let path = folder().join("tools.jsonl");
    let options = LoadOptions { author_signals: true, ..LoadOptions::default() };
    let set = Catalog::load(&[path], &options).unwrap().catalog;
    let copies = (0..).flat_map(|copy| set.iter().map(move |tool| (copy, tool)));
    copies.take(TOOLS).map(|(copy, tool)| renamed(copy, tool)).collect()
}

/// A copy on servers of its own, whose references stay among them.
fn renamed(copy: usize, tool: &Tool) -> Tool {
    let mut tool = tool.clone();
    if copy > 0 {
        let server = format!("{}{copy}", tool.server.as_deref().unwrap_or_default());
        tool.id = ToolId::scoped(Some(&server), &tool.name);
        tool.server = Some(server);
        let routing = &mut *tool.routing;
        let fallbacks = routing.fallbacks.iter_mut().map(|fallback| &mut fallback.tool);
        for id in fallbacks.chain(&mut routing.conflicts_with) {
            *id = id.replacen("__", &format!("{copy}__"), 1);
        }
        // Of so many tools that alone serve an intent, one would be enough.
        routing.signals.iter_mut().for_each(|signal| signal.exclusive_intent = None);
    }
    tool
}

fn engine(signals: SignalWeights, cache: CacheSettings) -> Engine {
    let config = EngineConfig { signals, cache, min_confidence: 0.0, ..EngineConfig::default() };
    let catalog = Catalog::from_tools(tools()).catalog;
    assert_eq!(catalog.len(), TOOLS);
    let model = Arc::new(StaticEmbedder::built_in().unwrap());
    Engine::builder(catalog).embedder(model).config(config).build().unwrap()
}

fn main() {
    let set = SignalSet::read(&folder()).unwrap();
    let full: Vec<SelectRequest> = set
        .rows
        .iter()
        .map(|row| SelectRequest::new(&row.query).context(row.context.clone()))
        .collect();
    let off = CacheSettings { ttl_ms: 0, entries: 0 };
    let time = |name: &str, engine: &Engine| {
        engine.observe(set.observed.clone().into());
        full.iter().for_each(|request| drop(engine.select(request).unwrap()));
        let mut next = full.iter().cycle();
        timing::time(name, || engine.select(next.next().unwrap()).unwrap());
    };
    time("select/1000/signals off", &engine(SignalWeights::OFF, off));
    time("select/1000/signals on", &engine(SignalWeights::measured(), off));
    let kept = CacheSettings { ttl_ms: 3_600_000, entries: 4_096 };
    time("select/1000/cached", &engine(SignalWeights::measured(), kept));
}
