//! Routes one prompt from code: `cargo run --example library -- MODELS TOOLS PROMPT`.
//!
//! `MODELS` is a model store: the folder that `toolroute model list` tells. Nothing is downloaded.

use std::error::Error;
use std::sync::Arc;

use toolroute::catalog::LoadOptions;
use toolroute::embedding::DEFAULT_MODEL;
use toolroute::{BertEmbedder, Catalog, Engine, ModelStore, SelectRequest};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [models, tools, prompt] = arguments.as_slice() else {
        return Err("expected three arguments: MODELS TOOLS PROMPT".into());
    };
    let loaded = Catalog::load(&[tools.into()], &LoadOptions::default())?;
    for problem in &loaded.problems {
        eprintln!("{problem}");
    }
    let model = ModelStore::new(models).open(DEFAULT_MODEL)?;
    let embedder = Arc::new(BertEmbedder::load(&model)?);
    let engine = Engine::builder(loaded.catalog).embedder(embedder).build()?;
    for selected in engine.select(&SelectRequest::new(prompt).limit(3))?.tools {
        println!("{}\t{:.3}\t{}", selected.tool.id, selected.score, selected.explanation.why);
    }
    Ok(())
}
