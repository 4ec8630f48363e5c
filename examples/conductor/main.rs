//! The conductor on the examples of its documents: `cargo run --example conductor`.
//!
//! Answers `math.json`, `people.json`, `complex.json` and `everything.json` with the tools of
//! `tools.jsonl`, then the question that `everything.json` left open, then an utterance.

use std::error::Error;
use std::path::Path;

use serde_json::json;
use toolroute::catalog::LoadOptions;
use toolroute::conductor::{Begin, Builtins, Conductor, Ledger};
use toolroute::embedding::{DEFAULT_MODEL, EncoderOptions, ModelFiles, load};
use toolroute::{Catalog, Engine};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/conductor");
    let loaded = Catalog::load(&[folder.join("tools.jsonl")], &LoadOptions::default())?;
    let model = ModelFiles::built_in(DEFAULT_MODEL).ok_or("the default model is not built in")?;
    let model = load(&model, EncoderOptions::default())?;
    let engine = Engine::builder(loaded.catalog).embedder(model).build()?;
    let table = std::fs::read_to_string(folder.join("runners.toml"))?;
    let runners = Builtins::from_toml(&table, &folder)?;
    let scratch = tempfile::tempdir()?;
    let mut ledger = Ledger::open(scratch.path().join("ledger.sqlite"))?;
    let mut conduct = |request: &str, begin: Begin| -> Result<(), Box<dyn Error>> {
        let answer = Conductor::new(&engine, &runners, &mut ledger).conduct(request, begin)?;
        println!("{}\n{}\n", answer.utterance, answer.text);
        Ok(())
    };
    for name in ["math", "people", "complex", "everything"] {
        let request = std::fs::read_to_string(folder.join(name).with_extension("json"))?;
        conduct(&request, Begin::Anew)?;
    }
    // The latest request, with an answer to what it asked.
    conduct(&json!({"answers": {"expression": "7 * 6"}}).to_string(), Begin::Resume)?;
    let utterance =
        json!({"utterance": "What is 17 * 23? And list the people in the \"mail\" team."});
    conduct(&utterance.to_string(), Begin::Anew)?;
    println!("{} runs are in the ledger", ledger.runs()?.len());
    Ok(())
}
