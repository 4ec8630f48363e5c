//! The conductor on the examples of its documents: `cargo run --example conductor`.
//!
//! Makes `people.sqlite` in this folder, so that `toolroute conduct` can ask it too, and answers
//! `math.json`, `people.json`, `complex.json` and `everything.json` with the tools of `tools.jsonl`.

use std::error::Error;
use std::path::Path;

use toolroute::catalog::LoadOptions;
use toolroute::conductor::{Begin, Builtins, Conductor, Ledger};
use toolroute::{Catalog, Engine};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/conductor");
    make_people(&folder)?;
    let loaded = Catalog::load(&[folder.join("tools.jsonl")], &LoadOptions::default())?;
    let engine = Engine::builder(loaded.catalog).build()?;
    let table = std::fs::read_to_string(folder.join("runners.toml"))?;
    let runners = Builtins::from_toml(&table, &folder)?;
    let scratch = tempfile::tempdir()?;
    let mut ledger = Ledger::open(&scratch.path().join("ledger.sqlite"))?;
    for name in ["math", "people", "complex", "everything"] {
        let request = std::fs::read_to_string(folder.join(name).with_extension("json"))?;
        let mut conductor = Conductor::new(&engine, &runners, &mut ledger);
        let answer = conductor.conduct(&request, Begin::Anew)?;
        println!("{}\n{}\n", answer.utterance, answer.text);
    }
    println!("{} runs are in the ledger", ledger.runs()?.len());
    Ok(())
}

/// A database that is there is left alone.
fn make_people(folder: &Path) -> Result<(), Box<dyn Error>> {
    let path = folder.join("people.sqlite");
    if !path.exists() {
        let made = tempfile::NamedTempFile::new_in(folder)?;
        let people = rusqlite::Connection::open(made.path())?;
        people.execute_batch(&std::fs::read_to_string(folder.join("people.sql"))?)?;
        people.close().map_err(|(_, error)| error)?;
        made.persist(path)?;
    }
    Ok(())
}
