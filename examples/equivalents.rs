//! How near must a tool be in meaning to stand in for another? Measures
//! `execution::MIN_SIMILARITY`.
//!
//! ```text
//! cargo run --release --example equivalents -- TOOLS.jsonl [SNAPSHOT]
//! ```
//!
//! TOOLS are tools of many servers with their schemas. All are taken for tools that only read, as
//! most catalogs do not say; so what decides is the meaning and whether the arguments fit. A proposed
//! tool is held to be right where it is of another server and its name has the same words, two at
//! least, in any order. That misses tools of other names that do the same, so the share of right ones
//! is too low, and most so far down; what counts is where it falls.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use toolroute::catalog::LoadOptions;
use toolroute::execution::{Neighbor, Origin, candidates};
use toolroute::{BertEmbedder, Catalog, Engine, Tool};

/// Tools that are looked at for each, as `toolroute run` does.
const NEIGHBORS: usize = 12;

const THRESHOLDS: [f32; 11] = [0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95];

/// What one threshold comes to.
#[derive(Default)]
struct Row {
    proposed: usize,
    right: usize,
    /// Tools for which something is proposed, and where the first of it is right.
    asked: usize,
    first_right: usize,
    /// Tools that have a twin, and get one.
    found: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut typed = std::env::args().skip(1);
    let tools: PathBuf = typed.next().ok_or("expected a file of tools")?.into();
    let loaded = Catalog::load(&[tools], &LoadOptions::default())?;
    let readers = loaded.catalog.iter().filter(|tool| tool.input_schema.is_some()).cloned();
    let readers: Vec<Tool> = readers.map(reading).collect();
    let mut builder = Engine::builder(Catalog::from_tools(readers).catalog)
        .embedder(Arc::new(BertEmbedder::built_in()?));
    if let Some(snapshot) = typed.next() {
        builder = builder.snapshot(snapshot);
    }
    let engine = builder.build()?;
    eprintln!("{} texts embedded", engine.index_report().embedded);
    measure(&engine);
    Ok(())
}

fn reading(mut tool: Tool) -> Tool {
    tool.hints.read_only = Some(true);
    tool.hints.destructive = None;
    tool
}

/// The words of a name in any order; empty for a name of one word, which says too little.
fn words(tool: &Tool) -> String {
    let name = tool.name.replace(|c: char| !c.is_alphanumeric(), " ");
    let mut words: Vec<String> = Vec::new();
    for part in name.split_whitespace() {
        let mut word = String::new();
        for c in part.chars() {
            if c.is_uppercase() && word.ends_with(char::is_lowercase) {
                words.push(std::mem::take(&mut word));
            }
            word.push(c);
        }
        words.push(word);
    }
    words.iter_mut().for_each(|word| *word = word.to_lowercase());
    words.sort();
    if words.len() > 1 { words.join(" ") } else { String::new() }
}

fn measure(engine: &Engine) {
    let catalog = engine.catalog();
    let mut servers: BTreeMap<String, Vec<&Option<String>>> = BTreeMap::new();
    for tool in catalog.iter() {
        servers.entry(words(tool)).or_default().push(&tool.server);
    }
    servers.remove("");
    let twins = |a: &Tool, b: &Tool| {
        let of = words(a);
        a.server != b.server && !of.is_empty() && of == words(b)
    };
    let mut rows: Vec<Row> = THRESHOLDS.iter().map(|_| Row::default()).collect();
    let mut with_twin = 0;
    for asked in catalog.tools() {
        let near = engine.neighbors(&asked.id, NEIGHBORS).into_iter();
        let near: Vec<Neighbor> =
            near.map(|(tool, similarity)| Neighbor { tool, similarity }).collect();
        let same = servers.get(&words(asked)).into_iter().flatten();
        with_twin += usize::from(same.into_iter().any(|server| **server != asked.server));
        for (row, least) in rows.iter_mut().zip(THRESHOLDS) {
            let proposed = candidates(asked, &[], &near, least);
            let proposed = proposed.iter().filter(|found| found.origin == Origin::Equivalent);
            let right: Vec<bool> = proposed.map(|found| twins(asked, &found.tool)).collect();
            row.proposed += right.len();
            row.right += right.iter().filter(|right| **right).count();
            row.asked += usize::from(!right.is_empty());
            row.first_right += usize::from(right.first() == Some(&true));
            row.found += usize::from(right.contains(&true));
        }
    }
    let share = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
    println!("{} tools, {with_twin} of them with a twin on another server", catalog.len());
    println!("least   proposed   right %   tools with one   first right %   twins found %");
    for (row, least) in rows.iter().zip(THRESHOLDS) {
        let Row { proposed, right, asked, first_right, found } = row;
        println!(
            "{least:<7} {proposed:>8} {:>9.1} {asked:>16} {:>15.1} {:>15.1}",
            share(*right, *proposed),
            share(*first_right, *asked),
            share(*found, with_twin),
        );
    }
}
