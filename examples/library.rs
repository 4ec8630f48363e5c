//! Routes one prompt from code: `cargo run --example library -- TOOLS PROMPT`.
//!
//! The model is the built-in one. Nothing is downloaded and nothing is written.

use std::error::Error;
use std::sync::Arc;

use toolroute::catalog::LoadOptions;
use toolroute::{BertEmbedder, Catalog, Engine, SelectRequest};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [tools, prompt] = arguments.as_slice() else {
        return Err("expected two arguments: TOOLS PROMPT".into());
    };
    let loaded = Catalog::load(&[tools], &LoadOptions::default())?;
    for problem in &loaded.problems {
        eprintln!("{problem}");
    }
    let embedder = Arc::new(BertEmbedder::built_in()?);
    let engine = Engine::builder(loaded.catalog).embedder(embedder).build()?;
    for selected in engine.select(&SelectRequest::new(prompt).limit(3))?.tools {
        println!("{}\t{:.3}\t{}", selected.tool.id, selected.score, selected.explanation.why);
    }
    Ok(())
}
